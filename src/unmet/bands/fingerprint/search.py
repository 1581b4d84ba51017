"""From an accepted rule to flags: which series follow it, and which rows sold out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import binom, poisson

from unmet.arrays import Array
from unmet.bands.fingerprint.evidence import Evidence, Ordered, Setting, poisson_hazard, weigh
from unmet.bands.fingerprint.lots import Step
from unmet.bands.fingerprint.panel import Mask, Places
from unmet.bands.fingerprint.pileup import best_factors
from unmet.bands.fingerprint.rules import HistoryRule

# --- Search for the order rule of every group of rows: all rules, lots and factors.

# More rows than this do not sharpen the choice between candidates; the best few see all rows.
_ROWS_TO_SCREEN = 40_000
_REFINED = 6
# No p-value survives the correction with fewer rows at the order.
_FEWEST_AT = 8
_NEARLY = 0.002


@dataclass(frozen=True, eq=False)
class Trial:
    """One rule and one way of rounding, at the best factor of every group.

    Attributes
    ----------
    rule : HistoryRule
    step : Step
    factor : ndarray of shape (n_groups,)
    evidence : Evidence
    """

    rule: HistoryRule
    step: Step
    factor: Array
    evidence: Evidence


class Search:
    """Everything that is tried on one panel, and how many hypotheses that were.

    Parameters
    ----------
    setting : Setting
    rules : sequence of HistoryRule
    steps : sequence of Step
    generator : RandomState
        Chooses the rows to screen when there are many.
    """

    def __init__(
        self,
        setting: Setting,
        rules: Sequence[HistoryRule],
        steps: Sequence[Step],
        generator: np.random.RandomState,
    ) -> None:
        self.setting = setting
        self.rules = rules
        self.steps = steps
        self.looked_at = 0
        self.counting = np.flatnonzero(setting.panel.counts)
        self.screened = self.counting
        if self.counting.size > _ROWS_TO_SCREEN:
            chosen = generator.choice(self.counting, _ROWS_TO_SCREEN, replace=False)
            self.screened = np.sort(chosen)

    def together(self) -> list[Trial]:
        """One factor for all rows; best trial first."""
        group = np.zeros(self.setting.panel.n_rows, dtype=np.intp)
        trials = [
            trial
            for rule in self.rules
            for trial in self._trials(rule, self.steps, self.screened, group, 1)
        ]
        trials = _best_first(trials)
        if self.screened.size < self.counting.size:
            best = list(dict.fromkeys(_what(trial) for trial in trials))[:_REFINED]
            again = [trial for trial in trials if _what(trial) not in best]
            for rule, step in best:
                again += self._trials(rule, [step], self.counting, group, 1)
            trials = _best_first(again)
        return trials

    def apart(self, series: Places) -> list[Trial]:
        """Best trial of each of the series that are asked for; place i is series i of them."""
        panel = self.setting.panel
        place = np.full(len(panel.labels), series.size, dtype=np.intp)  # one group for the others
        place[series] = np.arange(series.size)
        group = place[panel.series]
        rows = self.counting[group[self.counting] < series.size]
        best: list[Trial | None] = [None] * series.size
        rank = np.full(series.size, -np.inf)
        for rule in self.rules:
            for trial in self._trials(rule, self.steps, rows, group, series.size + 1):
                found = trial.evidence.rank[:-1]
                for index in np.flatnonzero(found > rank):
                    best[index] = trial
                rank = np.maximum(rank, found)
        return [trial for trial in best if trial is not None]

    def _trials(
        self, rule: HistoryRule, steps: Sequence[Step], rows: Places, group: Places, n_groups: int
    ) -> Iterator[Trial]:
        """Every way of rounding one rule; factors from `rows`, evidence from all rows."""
        s, base = self.setting.panel.s, rule.base(self.setting.panel)
        allowed = max(self.setting.exceptions, 0.01)
        price = (1 - allowed) / allowed
        for step in steps:
            # of a single group every candidate is listed, with how it fails
            fewest = _FEWEST_AT if n_groups > 1 else 0
            piled = best_factors(s[rows], base[rows], group[rows], n_groups, step, price, fewest)
            self.looked_at += piled.looked_at
            factor = piled.factor
            order = step.order(factor[group] * base)
            exact = self._trial(rule, step, factor, order, group)
            yield exact
            if exact.evidence.fits.any():
                # 1.1001 on paper may be 1.1 on a computer
                rounder = np.asarray(np.round(factor, 2), dtype=np.float64)
                rounder = np.where(np.abs(rounder - factor) < _NEARLY * factor, rounder, factor)
                literal = replace(step, literal=True)
                order_of_computer = literal.order(rounder[group] * base)
                if not np.array_equal(order, order_of_computer, equal_nan=True):
                    self.looked_at += int(np.count_nonzero(exact.evidence.fits))
                    yield self._trial(rule, literal, rounder, order_of_computer, group)

    def _trial(
        self, rule: HistoryRule, step: Step, factor: Array, order: Array, group: Places
    ) -> Trial:
        return Trial(rule, step, factor, weigh(self.setting, group, factor.size, order, step))


def _what(trial: Trial) -> tuple[HistoryRule, Step]:
    """Name what was tried, however computers treat multiples."""
    return trial.rule, replace(trial.step, literal=False)


def _best_first(trials: list[Trial]) -> list[Trial]:
    return sorted(trials, key=lambda trial: -float(trial.evidence.rank[0]))


# --- From an accepted rule to flags: which series follow it, and which rows sold out.

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
