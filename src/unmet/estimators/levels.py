"""Levels at which to ask a distribution so that held-out truths lie below as often as they should.

A distribution says which quantile of the truth a decision should be. Whether truths lie below it as
often as it says is seen on rows that were held out. With flags most of those rows show their truth,
but not a fair sample of it: large truths are hidden more often. Each row that is seen therefore
stands for 1 / P(it would be seen) rows (inverse probability of censoring), and the level is moved
to where the weighted share reaches what is meant. This is split conformal prediction (Vovk,
Gammerman & Shafer 2005) between levels (Chernozhukov, Wüthrich & Zhu 2021) under a known shift of
the distribution (Tibshirani, Barber, Candès & Ramdas 2019), the shift being censoring; Candès, Lei
& Ren (2023) and Gui, Hore, Ren & Barber (2024) do the same for lower bounds of lifetimes.

Derivation. Of a held-out row let u = P(truth < observation) by a distribution learned on other
rows, o the same of its order, and G(t) = P(o ≥ t). The truth is covered by the quantile at level β
where u < β. Nothing can be told of levels that are hardly ever seen, so cut at a ceiling b with
G(b) ≥ g: min(u, b) is seen if the truth was seen or the order reached the ceiling. If u and o are
independent, rows that are seen have the distribution of all rows times G(min(u, b)) up to a
constant; so weights ::

    w = 1 / G(min(u, b))   where min(u, b) is seen,   0 elsewhere,    1 ≤ w ≤ W = 1/g

make them a sample of all rows. G is the product-limit estimate over all rows. The level to ask for
is the smallest β below b with ::

    Σ { w_i : u_i ≤ β }  ≥  α (Σ w_i + 1)

and there is none if that needs the ceiling: α lies beyond what is seen.

Guarantee. Let the weights be known, and a new row be drawn like the held-out ones, whose levels
were learned elsewhere. With S the sum of all weights, the new row's own included, ::

    α (1 − (W − 1) E[1/S])  ≤  P(u_new ≤ β)  ≤  α + W E[1/S]

(the upper end where levels have no ties), since given the set of the n + 1 rows that are seen, the
new one is row i with probability w_i / S. It is row i below β where the weights of the others below
it are less than α (S − w_i + 1), which lies between α (S − W + 1) and α S. So the level is missed
by at most 1 / effective rows, ``effective_rows`` = (Σ w + 1) / W: the service level is right on
average over rows, whatever the distribution was. It is not promised for every feature, nor after
the world has changed, and weights that are estimated add their own error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.base import clone

from unmet.arrays import Array, read_array
from unmet.rows import Rows
from unmet.validation import Number

_LEAST_SEEN = 0.2  # g: levels that fewer rows show are cut off


@dataclass(frozen=True)
class ConformalCorrection:
    """By how much a level was moved, and what held-out rows say about it.

    Attributes
    ----------
    level : float
        α.
    shift : float
        What to add to the level that is asked for; 0 where nothing is corrected.
    reached : float or None
        Estimated share of truths at or below the quantile as it was; None where too little is seen.
    standard_error : float or None
        Of `reached`.
    rows : int
        Held-out rows.
    effective_rows : float
        Rows in units of the largest weight: the level is missed by at most one in so many, if the
        weights are right.
    reason : str
        Why nothing is corrected, a sentence; empty if something is.
    """

    level: float
    shift: float
    reached: float | None
    standard_error: float | None
    rows: int
    effective_rows: float
    reason: str = ""

    @property
    def applied(self) -> bool:
        """Whether the level is moved."""
        return not self.reason

    @property
    def bound(self) -> float:
        """By how much the level may be missed on average over rows, if the weights are right."""
        return 1.0 / self.effective_rows if self.effective_rows > 0 else 1.0


class ConformalLevels:
    """Levels at which to ask a distribution so that the truth is covered as often as one means.

    Parameters
    ----------
    below : ndarray of shape (n_rows,)
        Probability that the truth is below the row's observation, by distributions learned without
        the row.
    censored : ndarray of shape (n_rows,), bool
        True where the truth is at least the observation, False where it is the observation.

    Examples
    --------
    A distribution that is too narrow: what it calls the .9-quantile is exceeded too often.

    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> generator = np.random.default_rng(0)
    >>> demand, stock = generator.normal(0, 1.5, 4000), generator.normal(2.5, 1.5, 4000)
    >>> below = norm.cdf(np.minimum(demand, stock))  # the distribution says: deviation 1
    >>> levels = ConformalLevels(below, demand > stock)
    >>> asked = levels.correction(0.9).level + levels.correction(0.9).shift
    >>> bool(abs(asked - norm.cdf(1.5 * norm.ppf(0.9))) < 0.01)
    True
    """

    def __init__(self, below: Array, censored: NDArray[np.bool_]) -> None:
        self.below = below
        self.censored = censored

    def correction(self, level: float) -> ConformalCorrection:
        """Say how far the level to ask for lies from the level that is meant, and how surely."""
        level = float(Number(above=0, below=1)("level", level))
        distance, n_rows = self.below - level, self.below.size
        # G(t) = P(order ≥ t), by the product limit: hidden rows end at their order, the others
        # before it; where a truth and an order tie, the truth was met and leaves first
        order = np.lexsort((self.censored, distance))
        value, ends = distance[order], self.censored[order]
        at_risk = np.arange(n_rows, 0, -1, dtype=np.float64)
        steps = np.cumprod(np.where(ends, (at_risk - 1.0) / at_risk, 1.0))
        steps = np.concatenate([[1.0], steps])

        def seen(t: Array | float) -> Array:
            return np.asarray(steps[np.searchsorted(value, t, side="left")])

        # The ceiling is the largest distance that is seen with the least probability; it depends on
        # the orders alone, as the guarantee asks. Where no distance goes so far it is the largest,
        # if that is hidden (nothing is known above), and infinite otherwise.
        last = int(np.flatnonzero(steps >= _LEAST_SEEN)[-1])
        ceiling = float(value[min(last, n_rows - 1)])
        if last == n_rows and not ends[value == ceiling].any():
            ceiling = np.inf
        beyond = distance >= ceiling
        shown, cut = beyond | ~self.censored, np.minimum(distance, ceiling)
        weight = np.zeros(n_rows)
        # every row may be rare from the start; then nothing lies below the ceiling
        weight[shown] = 1.0 / np.maximum(seen(cut)[shown], _LEAST_SEEN)
        largest, total = max(float(weight.max(initial=0.0)), 1.0), float(weight.sum())
        effective = (total + 1.0) / largest if total else 0.0
        if effective < 40:
            few = (
                f"Not calibrated: {n_rows} held-out rows are worth {effective:.0f}, "
                "of 40 that are needed."
            )
            return ConformalCorrection(level, 0.0, None, None, n_rows, effective, few)
        reached = error = None
        if ceiling > 0:
            covered = weight * ((distance <= 0.0) & ~beyond)
            reached = float(covered.sum()) / total
            error = float(np.sqrt(np.sum((covered - weight * reached) ** 2))) / total
        order = np.argsort(cut, kind="stable")
        reached_at = np.cumsum((weight * ~beyond)[order])
        enough = np.flatnonzero(reached_at >= level * (total + 1.0) * (1 - 1e-12))
        shift, reason = 0.0, ""
        if enough.size:
            shift = float(cut[order][enough[0]])
        else:
            most = float(reached_at[-1]) / (total + 1.0)
            reason = (
                f"Not calibrated: seen rows reach the {100 * most:.0f}% quantile at most, "
                f"not {100 * level:g}%."
            )
        return ConformalCorrection(level, shift, reached, error, n_rows, effective, reason)

    def asked(self, level: ArrayLike) -> Array:
        """Levels at which the quantiles reach these levels.

        Parameters
        ----------
        level : float or array-like of shape (n_rows,)
            α in (0, 1).

        Returns
        -------
        ndarray of the shape of `level`
            The same level where nothing is corrected. A level above the highest that seen rows
            reach is moved as that one is, in log-odds: what lies beyond is not seen, but a
            distribution that ends too low where it can be seen does not end right where it cannot.
        """
        meant = read_array("level", level)
        different, place = np.unique(meant, return_inverse=True)
        found = np.array([self._one(float(each)) for each in different])
        return np.asarray(found[place].reshape(meant.shape))

    def _one(self, level: float) -> float:
        found = self.correction(level)
        if found.applied:
            # just above the row that it is taken from, which a quantile at its very level may miss
            return min(max(level + found.shift + 1e-9, 1e-9), 1 - 1e-9)
        highest = self.highest
        if highest is None or level <= highest:
            return level
        odds = logit(highest + self.correction(highest).shift) - logit(highest)
        return float(expit(logit(level) + odds))

    @cached_property
    def highest(self) -> float | None:
        """Highest level that seen rows reach, in steps of a hundredth; None where none is."""
        low, high = 0, 99
        while low < high:
            middle = (low + high) // 2
            reached = self.correction((middle + 1) / 100).applied
            low, high = (middle + 1, high) if reached else (low, middle)
        return low / 100 if low else None


def held_out_levels(rule: Any, rows: Rows) -> ConformalLevels | None:
    """Hold rows out in turn, and ask what was learned on the others where their observations lie.

    Parameters
    ----------
    rule : band rule with ``survival(X, value)``
        Such as `LatentBand`; clones of it learn.
    rows : Rows
        Of which it is known whether they are censored; others are learned from, not counted.

    Returns
    -------
    ConformalLevels or None
        None where it is known of no row whether it is censored.

    Notes
    -----
    Rows are held out in four parts, whole weeks in turn where dates are known, so that every fold
    has seen every season; otherwise at random. The guarantee holds for a distribution learned on
    the other folds. The one that is used has learned from all rows and is a little better than
    those, so that levels err to the safe side.
    """
    if rows.censored is None or rows.limits is not None:
        return None
    known = ~np.isnan(rows.censored)
    if not known.any():
        return None
    folds = 4
    fold = np.random.default_rng(0).permutation(np.arange(rows.n_rows) % folds)
    if rows.time is not None and np.asarray(rows.time).dtype.kind == "M":
        day = np.asarray(rows.time).astype("datetime64[D]").astype(np.int64)
        # weeks that have rows, counted one after the other: some may be missing
        weeks, week = np.unique((day - day.min()) // 7, return_inverse=True)
        fold = week % folds if weeks.size >= folds else fold
    below = np.empty(rows.n_rows)
    for number in range(folds):
        held = fold == number
        if not held.any() or held.all():
            return None
        part = rows.take(np.flatnonzero(~held))
        learned = clone(rule).fit_rows(part, part.cost)
        # a hair below: of counts the probability of less than what was observed
        value = rows.observation[held]
        value = value - 1e-9 * np.maximum(np.abs(value), 1.0)
        below[held] = 1.0 - learned.survival(rows.features[held], value)
    return ConformalLevels(below[known], rows.censored[known] > 0.5)
