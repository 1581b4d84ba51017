"""How often observations sit at an order by chance: two nulls that a rule must beat.

Small counts tie by chance, smooth demand ties more often where it is dense, and a demand that
hardly varies ties with everything that is computed from its past. A row is *at risk* if it reached
its order, s ≥ order.

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
from numpy.typing import NDArray
from scipy.special import expit, gammainc, gammaln, logit, xlogy

from unmet.band import Array
from unmet.bands.fingerprint_lots import ARITHMETIC, STORED, Step
from unmet.bands.fingerprint_panel import Mask, Panel, Places

# A hazard above the order is taken from no fewer rows.
_FEWEST_ABOVE = 10
# Orders are of like size when their number of lots has the same logarithm to base 2.
_SIZES = 32


@dataclass(frozen=True, eq=False)
class Ordered:
    """Rows with an order, in the groups that are still in question.

    Attributes
    ----------
    row : ndarray of shape (n_kept,), int
        Places in the panel.
    group : ndarray of shape (n_kept,), int
    order, gap : ndarray of shape (n_kept,)
        The candidate order, and the observation minus it.
    n_groups : int
    step : Step
    """

    row: Places
    group: Places
    order: Array
    gap: Array
    n_groups: int
    step: Step

    def keep(self, mask: Mask) -> Ordered:
        """Only some of the rows."""
        parts = (self.row[mask], self.group[mask], self.order[mask], self.gap[mask])
        return Ordered(*parts, self.n_groups, self.step)

    @property
    def sizes(self) -> Array:
        """How many rows each group has."""
        return np.asarray(np.bincount(self.group, minlength=self.n_groups), dtype=np.float64)

    def count(self, mask: Mask) -> Array:
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
    step, order = rows.step, rows.order
    # without lots, neighbours are bands of the tolerance's width beside the order's own
    lot = np.full_like(order, step.lot) if step.lot else 2 * step.tolerance * order
    near = STORED if step.lot else 0.5
    size = np.zeros(order.size, dtype=np.intp)
    if step.lot:
        lots = np.maximum(order / step.lot, 1.0)
        size = np.minimum(np.log2(lots) + ARITHMETIC, _SIZES - 1).astype(np.intp)
    cell = rows.group * _SIZES + size

    def hazard(shift: int) -> tuple[Array, NDArray[np.intp]]:
        inside = order + shift * lot > lot / 2
        away = rows.gap - shift * lot
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
    bound = np.where(n_above >= _FEWEST_ABOVE, np.maximum(bound, above), bound)
    return np.asarray(np.minimum(bound, 1.0)[cell])


def exchangeable(panel: Panel, rows: Ordered, order: Array) -> Array:
    """Logarithm of the p-value, per group, if earlier orders fit as well as a row's own.

    `order` is that of all rows of the panel, NaN where there is none.
    """
    observed, at = panel.s[rows.row], rows.gap == 0
    worst = np.full(rows.n_groups, -np.inf)
    for lags in panel.earlier:
        compared, ties = np.zeros(at.size), at.astype(np.float64)
        for earlier in (lag[rows.row] for lag in lags):
            other = np.where(earlier >= 0, order[earlier], np.nan)
            there = other > 0
            compared += there
            ties += there & (rows.step.gap(observed, np.where(there, other, -1.0)) == 0)
        telling = (compared > 0) & (ties > 0)
        chance = np.where(telling, ties / (compared + 1), 0.0)
        found = log_tail(rows.count(telling & at), rows.total(chance), rows.count(telling))
        worst = np.maximum(worst, found)
    return worst
