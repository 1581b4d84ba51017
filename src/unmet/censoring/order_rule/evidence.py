"""What speaks for a candidate order: the shape that censoring leaves, and more ties than chance.

Small counts tie by chance, smooth demand ties more often where it is dense, and a demand that
hardly varies ties with everything that is computed from its past. A row is *at risk* if it reached
its order, s ≥ order. A rule must beat two nulls:

smooth demand
    The chance that s = order given s ≥ order, a hazard, is at most the largest of: the hazard of a
    Poisson variable with the mean of the weeks around (counts of independent customers spread that
    much, real demand more); the hazards one and two lots below the order, continued to the order by
    their own growth; and the hazard one lot above it.
exchangeable orders
    The orders of the three rows before, along weeks and along days, would have fitted as well as a
    row's own. Given with how many of the four the observation ties, each is equally likely to be
    one of them. A demand that stands still for a while ties with all four and is no evidence.

Both are sums of independent yes/no variables with bounds on their chances, for which Chernoff's
inequality holds; by Hoeffding (1956, Ann. Math. Statist. 27, 713-721) unequal chances may be
replaced by their mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammainc, gammaln, logit, xlogy

from unmet.arrays import Array
from unmet.censoring import constants as tuned
from unmet.censoring.order_rule.lots import ARITHMETIC, STORED, Mask, Places, Rounding
from unmet.censoring.order_rule.rules import Histories

# Orders are of like size when their number of lots has the same logarithm to base 2.
_SIZES = 32


@dataclass(frozen=True, eq=False)
class Ordered:
    """Rows with an order, in the groups that are still in question.

    Attributes
    ----------
    row : ndarray of shape (n_kept,), int
        Places in the histories.
    group : ndarray of shape (n_kept,), int
    order, gap : ndarray of shape (n_kept,)
        The candidate order, and the observation minus it.
    n_groups : int
    rounding : Rounding
    """

    row: Places
    group: Places
    order: Array
    gap: Array
    n_groups: int
    rounding: Rounding

    @classmethod
    def of(
        cls, histories: Histories, group: Places, n_groups: int, order: Array, rounding: Rounding
    ) -> Ordered:
        """Rows that say something of their order.

        Nothing ordered and nothing sold says nothing; something sold where nothing was ordered
        does.
        """
        gap = rounding.gap(histories.s, order)
        use = np.flatnonzero(histories.counts & ((order > 0) | (gap > 0)))
        return cls(use, group[use], order[use], gap[use], n_groups, rounding)

    def keep(self, mask: Mask) -> Ordered:
        """Only some of the rows."""
        parts = (self.row[mask], self.group[mask], self.order[mask], self.gap[mask])
        return Ordered(*parts, self.n_groups, self.rounding)

    def count(self, mask: Mask | slice = slice(None)) -> Array:
        """How many of the rows, per group."""
        counts = np.bincount(self.group[mask], minlength=self.n_groups)
        return np.asarray(counts, dtype=np.float64)

    def total(self, values: Array) -> Array:
        """Sum of one value per row, per group."""
        totals = np.bincount(self.group, weights=values, minlength=self.n_groups)
        return np.asarray(totals, dtype=np.float64)


def log_tail(successes: Array, expected: Array, trials: Array) -> Array:
    """Bound on the logarithm of P(at least so many successes); 0 if not more than expected.

    Chernoff's −n KL(successes/n ‖ expected/n).
    """
    failures, misses = trials - successes, trials - expected
    with np.errstate(invalid="ignore", divide="ignore"):
        divergence = (
            xlogy(successes, successes)
            - xlogy(successes, expected)
            + xlogy(failures, failures)
            - xlogy(failures, misses)
        )
    bound = -np.maximum(np.nan_to_num(divergence), 0.0)
    return np.where((successes > expected) & (trials > 0), bound, 0.0)


def poisson_hazard(order: Array, level: Array, unit: float) -> Array:
    """P(N = c) / P(N ≥ c) of Poisson counts of units; 1 where there is no level to compare with.

    Without a unit, observations do not tie by chance.
    """
    if not unit:
        return np.where(np.isfinite(level), 0.0, 1.0)
    count, mean = np.round(order / unit), np.nan_to_num(level) / unit
    log_mass = xlogy(count, mean) - mean - gammaln(count + 1)
    tail = np.where(count > 0, gammainc(np.maximum(count, 1.0), mean), 1.0)
    known = np.isfinite(level) & (tail > 1e-290)
    hazard = np.exp(log_mass) / np.where(known, tail, 1.0)
    return np.where(known, np.minimum(hazard, 1.0), 1.0)


def neighbours_hazard(rows: Ordered) -> Array:
    """Bound on the hazard at the order by those one and two lots off, orders of like size together.

    Continuing the hazard by its growth in log-odds is generous: it grows more slowly for Poisson,
    negative binomial and normal variables.
    """
    rounding, order = rows.rounding, rows.order
    # without lots, neighbours are bands of the tolerance's width beside the order's own
    lot = np.full_like(order, rounding.lot) if rounding.lot else 2 * rounding.tolerance * order
    near = STORED if rounding.lot else 0.5
    size = np.zeros(order.size, dtype=np.intp)
    if rounding.lot:
        lots = np.maximum(order / rounding.lot, 1.0)
        size = np.minimum(np.log2(lots) + ARITHMETIC, _SIZES - 1).astype(np.intp)
    cell = rows.group * _SIZES + size

    def hazard(lots_off: int) -> tuple[Array, Places]:
        inside = order + lots_off * lot > lot / 2
        away = rows.gap - lots_off * lot
        tie = inside & (np.abs(away) <= near * lot)
        reached = tie | (inside & (away > 0))
        ties, trials = (
            np.bincount(cell[which], minlength=_SIZES * rows.n_groups) for which in (tie, reached)
        )
        return np.asarray((ties + 0.5) / (trials + 1.0)), trials

    (two_below, _), (below, n_below), (above, n_above) = hazard(-2), hazard(-1), hazard(1)
    growth = np.maximum(logit(below) - logit(two_below), 0.0)
    bound = expit(logit(below) + growth) + 2 * np.sqrt(below * (1 - below) / (n_below + 1.0))
    bound = np.where(n_below > 0, bound, 0.0)  # orders of one lot: the Poisson hazard must do
    bound = np.where(n_above >= tuned.MIN_ABOVE, np.maximum(bound, above), bound)
    return np.asarray(np.minimum(bound, 1.0)[cell])


def exchangeable(histories: Histories, rows: Ordered, order: Array) -> Array:
    """Logarithm of the p-value, per group, if earlier orders fit as well as a row's own.

    `order` is that of all rows of the histories, NaN where there is none.
    """
    observed, at = histories.s[rows.row], rows.gap == 0
    worst = np.full(rows.n_groups, -np.inf)
    for lags in histories.earlier:
        compared, ties = np.zeros(at.size), at.astype(np.float64)
        for lag in lags:
            earlier = lag[rows.row]
            other = np.where(earlier >= 0, order[earlier], np.nan)
            there = other > 0
            compared += there
            ties += there & (rows.rounding.gap(observed, np.where(there, other, -1.0)) == 0)
        telling = (compared > 0) & (ties > 0)
        chance = np.where(telling, ties / (compared + 1), 0.0)
        found = log_tail(rows.count(telling & at), rows.total(chance), rows.count(telling))
        worst = np.maximum(worst, found)
    return worst


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


def weigh(
    histories: Histories,
    group: Places,
    n_groups: int,
    order: Array,
    rounding: Rounding,
    exceptions: float,
) -> Evidence:
    """Weigh one candidate order in every group of rows, the cheap questions first.

    Parameters
    ----------
    histories : Histories
    group : ndarray of shape (n_rows,), int
    n_groups : int
    order : ndarray of shape (n_rows,)
        NaN where the past is too short.
    rounding : Rounding
        Of the order.
    exceptions : float
        Share of the rows that reached their order which may lie above it.
    """
    rows = Ordered.of(histories, group, n_groups, order, rounding)
    n_rows, n_at, n_above = rows.count(), rows.count(rows.gap == 0), rows.count(rows.gap > 0)
    fits = _has_shape(rows, histories, exceptions)
    binding = np.where(fits, n_at / np.maximum(n_at + n_above, 1.0), 0.0)
    log_smooth, log_exchangeable = np.zeros(n_groups), np.zeros(n_groups)
    rows = rows.keep(fits[rows.group])
    if rows.row.size:
        bound, log_smooth = _beyond_chance(rows, histories)
        binding = np.where(fits, bound, binding)
        fits &= bound >= 1 - exceptions
        rows = rows.keep(fits[rows.group])
    if rows.row.size:
        log_exchangeable = exchangeable(histories, rows, order)
    log_smooth = np.where(fits, log_smooth, 0.0)
    return Evidence(n_rows, n_at, n_above, binding, fits, log_smooth, log_exchangeable)


def _has_shape(rows: Ordered, histories: Histories, exceptions: float) -> Mask:
    """Next to nothing above the order, something below it, and not too close below it.

    Rows that only repeat the row before are set aside once: a demand that stands still and then
    jumps is at its last value most of the time, but never when it moves.
    """
    at, above, below = rows.gap == 0, rows.gap > 0, rows.gap < 0
    repeats = histories.repeats[rows.row]
    fits = rows.count(at) > 0
    for part in (np.ones_like(repeats), ~repeats):
        n_at, n_above = rows.count(at & part), rows.count(above & part)
        fits &= n_above <= exceptions * (n_at + n_above)
    n_below = rows.count(below)
    fits &= n_below >= np.maximum(tuned.MIN_BELOW, tuned.SHARE_BELOW * rows.count())
    if not histories.unit or not fits.any():
        return fits
    # the median shortfall, in Poisson standard deviations, must be large enough
    shortfall = tuned.LEAST_SHORTFALL * np.sqrt(histories.unit) * np.sqrt(rows.order)
    fits &= rows.count(below & (rows.gap > -shortfall)) <= n_below / 2
    # and observations must differ from those of the day before, or of the week before
    moves = np.zeros(rows.n_groups, dtype=np.bool_)
    for differences in (each[rows.row] for each in histories.unrest):
        known = np.isfinite(differences)
        total = rows.total(np.where(known, differences, 0.0))
        moves |= total >= tuned.LEAST_UNREST * np.maximum(rows.count(known), 1.0)
    return fits & moves


def _beyond_chance(rows: Ordered, histories: Histories) -> tuple[Array, Array]:
    """Share of the rows at risk that the order bound, and the p-value under smooth demand."""
    at_risk = rows.gap >= 0
    hazard = neighbours_hazard(rows)[at_risk]
    reached = rows.keep(at_risk)
    level = histories.local_level[reached.row]
    chance = np.maximum(hazard, poisson_hazard(reached.order, level, histories.unit))
    by_chance = reached.total(chance)
    n_at, trials = reached.count(reached.gap == 0), reached.count()
    spare = trials - by_chance
    binding = np.where(spare > 1e-9, (n_at - by_chance) / np.maximum(spare, 1e-9), 0.0)
    return binding, log_tail(n_at, by_chance, trials)
