"""What speaks for a candidate order: the shape that censoring leaves, and more ties than chance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmet.band import Array
from unmet.bands.fingerprint_lots import Step
from unmet.bands.fingerprint_nulls import (
    Ordered,
    exchangeable,
    log_tail,
    neighbours_hazard,
    poisson_hazard,
)
from unmet.bands.fingerprint_panel import Mask, Panel, Places

# If nearly nothing stays below its order, the series computes itself: growth, not censoring.
_FEWEST_BELOW = 5
_SHARE_BELOW = 0.02
# Median shortfall below the order, in standard deviations of a Poisson variable of its size.
_LEAST_SHORTFALL = 0.4
# Mean squared difference of neighbours, 1 for Poisson counts. A demand that moves by one unit a day
# looks like an order of yesterday's value and one.
_LEAST_UNREST = 0.25


@dataclass(frozen=True, eq=False)
class Setting:
    """What all candidates of one panel have in common.

    Attributes
    ----------
    panel : Panel
    level : ndarray of shape (n_rows,)
        Mean of the weeks around, NaN where there are none.
    unit : float
        What observations are multiples of; 0 where they are not.
    exceptions : float
        Share of the rows that reached their order which may lie above it.
    """

    panel: Panel
    level: Array
    unit: float
    exceptions: float

    @cached_property
    def unrest(self) -> tuple[Array, Array]:
        """How much rows differ from the ones before; see `Panel.unrest`."""
        return self.panel.unrest(self.unit)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What speaks for one candidate, per group of rows.

    Attributes
    ----------
    n_rows, n_at, n_above : ndarray of shape (n_groups,)
        Rows with a positive order or an observation above it; rows at it; rows above it.
    binding : ndarray of shape (n_groups,)
        Of the rows that reached the order, beyond those at it by chance, the share that it bound.
    fits : ndarray of shape (n_groups,), bool
        Whether the observations have the shape that orders leave.
    log_smooth, log_exchangeable : ndarray of shape (n_groups,)
        Logarithms of the p-values under the two nulls; 0 where the shape does not fit.
    """

    n_rows: Array
    n_at: Array
    n_above: Array
    binding: Array
    fits: Mask
    log_smooth: Array
    log_exchangeable: Array

    @property
    def log_p(self) -> Array:
        """The worse of the two: both nulls must be wrong."""
        return np.maximum(self.log_smooth, self.log_exchangeable)

    @property
    def rank(self) -> Array:
        """Larger is better; whatever fits comes before whatever does not."""
        strength = -(self.log_smooth + self.log_exchangeable)
        likeness = self.n_at / (self.n_at + self.n_above + 10.0)
        return np.where(self.fits, 1e12 + strength, likeness)


def weigh(setting: Setting, group: Places, n_groups: int, order: Array, step: Step) -> Evidence:
    """Weigh one candidate order in every group of rows, the cheap questions first.

    Parameters
    ----------
    setting : Setting
    group : ndarray of shape (n_rows,), int
    n_groups : int
    order : ndarray of shape (n_rows,)
        NaN where the past is too short.
    step : Step
        How the order was rounded.
    """
    panel = setting.panel
    gap = step.gap(panel.s, order)
    # nothing ordered and nothing sold says nothing; something sold where nothing was ordered does
    use = np.flatnonzero(panel.counts & ((order > 0) | (gap > 0)))
    rows = Ordered(use, group[use], order[use], gap[use], n_groups, step)
    n_at, n_above = rows.count(rows.gap == 0), rows.count(rows.gap > 0)
    fits = _has_shape(rows, panel.repeats[use], setting)
    binding = np.where(fits, n_at / np.maximum(n_at + n_above, 1.0), 0.0)
    n_rows, log_smooth, log_exchangeable = rows.sizes, np.zeros(n_groups), np.zeros(n_groups)
    rows = rows.keep(fits[rows.group])
    if rows.row.size:
        bound, log_smooth = _beyond_chance(rows, setting)
        binding = np.where(fits, bound, binding)
        fits &= bound >= 1 - setting.exceptions
        rows = rows.keep(fits[rows.group])
    if rows.row.size:
        log_exchangeable = exchangeable(panel, rows, order)
    log_smooth = np.where(fits, log_smooth, 0.0)
    return Evidence(n_rows, n_at, n_above, binding, fits, log_smooth, log_exchangeable)


def _has_shape(rows: Ordered, repeats: Mask, setting: Setting) -> Mask:
    """Next to nothing above the order, something below it, and not too close below it.

    Rows that only repeat the row before are set aside once: a demand that stands still and then
    jumps is at its last value most of the time, but never when it moves.
    """
    at, above = rows.gap == 0, rows.gap > 0
    fits = rows.count(at) > 0
    for part in (np.ones_like(repeats), ~repeats):
        n_at, n_above = rows.count(at & part), rows.count(above & part)
        fits &= n_above <= setting.exceptions * (n_at + n_above)
    n_below = rows.count(rows.gap < 0)
    fits &= n_below >= np.maximum(_FEWEST_BELOW, _SHARE_BELOW * rows.sizes)
    if setting.unit and fits.any():
        fits &= _falls_short(rows, setting.unit)
        fits &= _moves(rows, setting.unrest)
    return fits


def _falls_short(rows: Ordered, unit: float) -> Mask:
    """Whether the median shortfall, in Poisson standard deviations, is large enough."""
    near = rows.gap > -_LEAST_SHORTFALL * np.sqrt(unit) * np.sqrt(rows.order)
    below = rows.gap < 0
    return np.asarray(rows.count(below & near) <= rows.count(below) / 2)


def _moves(rows: Ordered, unrest: tuple[Array, Array]) -> Mask:
    """Whether observations differ from those of the day before, or of the week before."""
    moves = np.zeros(rows.n_groups, dtype=np.bool_)
    for differences in unrest:
        known = np.isfinite(differences[rows.row])
        total = rows.total(np.where(known, differences[rows.row], 0.0))
        moves |= total >= _LEAST_UNREST * np.maximum(rows.count(known), 1.0)
    return moves


def _beyond_chance(rows: Ordered, setting: Setting) -> tuple[Array, Array]:
    """Share of the rows at risk that the order bound, and the p-value under smooth demand."""
    hazard = neighbours_hazard(rows)
    at_risk = rows.gap >= 0
    reached = rows.keep(at_risk)
    level = setting.level[reached.row]
    chance = np.maximum(hazard[at_risk], poisson_hazard(reached.order, level, setting.unit))
    by_chance, n_at = reached.total(chance), reached.count(reached.gap == 0)
    trials = reached.sizes
    spare = trials - by_chance
    binding = np.where(spare > 1e-9, (n_at - by_chance) / np.maximum(spare, 1e-9), 0.0)
    return binding, log_tail(n_at, by_chance, trials)
