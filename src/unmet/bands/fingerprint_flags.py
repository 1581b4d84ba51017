"""From an accepted rule to flags: which series follow it, and which rows sold out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, poisson

from unmet.band import Array
from unmet.bands.fingerprint_evidence import Setting
from unmet.bands.fingerprint_nulls import Ordered, poisson_hazard
from unmet.bands.fingerprint_panel import Mask
from unmet.bands.fingerprint_search import Trial

# A series leaves the common rule if what it shows is less likely than this under the rule.
_UNLIKELY = 0.01
# It must be sold out at least this part as often as all series together, but for chance.
_SUPPORT = 1 / 3


@dataclass(eq=False)
class Flags:
    """Orders and flags of all rows of a panel; NaN where nothing is known.

    Attributes
    ----------
    setting : Setting
    order : ndarray of shape (n_rows,)
    censored : ndarray of shape (n_rows,)
        1 at the order, 0 below it. Above it the order was another one, and nothing is known; nor
        where nothing was ordered.
    """

    setting: Setting
    order: Array
    censored: Array

    @classmethod
    def unknown(cls, setting: Setting) -> Flags:
        """Nothing known yet."""
        n_rows = setting.panel.n_rows
        return cls(setting, np.full(n_rows, np.nan), np.full(n_rows, np.nan))

    def mark(self, trial: Trial, factor: Array) -> None:
        """Flag rows by the rule of a trial; `factor` has one entry per series, NaN for others."""
        panel = self.setting.panel
        order = trial.step.order(factor[panel.series] * trial.rule.base(panel))
        gap = trial.step.gap(panel.s, order)
        mine = np.isfinite(order)
        self.order[mine] = order[mine]
        known = mine & (order > 0) & (gap <= 0)
        self.censored[known] = gap[known] == 0


def followers(setting: Setting, trial: Trial) -> Mask:
    """Series in which a rule that all rows together obey shows itself, or is too short to tell.

    A series does not follow it if it lies above its orders more often than the allowed exceptions
    explain, or is hardly ever at them.
    """
    panel, n_series = setting.panel, len(setting.panel.labels)
    order = trial.step.order(trial.factor[0] * trial.rule.base(panel))
    gap = trial.step.gap(panel.s, order)
    use = np.flatnonzero(panel.counts & ((order > 0) | (gap > 0)))
    rows = Ordered(use, panel.series[use], order[use], gap[use], n_series, trial.step)
    n_at, n_above = rows.count(rows.gap == 0), rows.count(rows.gap > 0)
    reached = rows.keep(rows.gap >= 0)
    chance = poisson_hazard(reached.order, setting.level[reached.row], setting.unit)
    tolerated = setting.exceptions * reached.total(1 - chance)
    share = n_at.sum() / max(use.size, 1)
    above_too_often = poisson.sf(n_above - 1, tolerated) < _UNLIKELY
    hardly_at = binom.cdf(n_at, rows.sizes, _SUPPORT * share) < _UNLIKELY
    return np.asarray(~above_too_often & ~hardly_at)
