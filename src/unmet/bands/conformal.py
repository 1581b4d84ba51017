"""Quantiles moved until held-out truths lie below them as often as they should, despite censoring.

A law says which quantile of the truth a decision should be. Whether truths lie below it as often as
it says is seen on rows that were held out. With flags most of those rows show their truth, but not
a fair sample of it: large truths are hidden more often. Each row that is seen therefore stands for
1 / P(it would be seen) rows (inverse probability of censoring), and the quantile is moved by one
constant, in units of every row's own scale, to where the weighted share reaches the level. This is
split conformal prediction (Vovk, Gammerman & Shafer 2005) under a known shift of the law
(Tibshirani, Barber, Candès & Ramdas 2019), the shift being censoring; Candès, Lei & Ren (2023) and
Gui, Hore, Ren & Barber (2024) do the same for lower bounds of lifetimes.

Derivation. Let r = (d − q) / σ be the distance of a truth from its quantile q in units of the row's
scale σ, o the same of the order, and G(t) = P(o ≥ t) given the row's features. Nothing can be told
of distances that are hardly ever seen, so cut at a ceiling b with G(b) ≥ g: the distance min(r, b)
is seen if min(r, b) ≤ o, that is, if the truth was seen or the order reached the ceiling. If truth
and order are independent given the features, rows that are seen have the law of all rows times
G(min(r, b)) up to a constant; so weights ::

    w = 1 / G(min(r, b))   where min(r, b) is seen,   0 elsewhere,    1 ≤ w ≤ W = 1/g

make them a sample of all rows. The constant is the smallest c below b with ::

    Σ { w_i : r_i ≤ c }  ≥  α (Σ w_i + 1)

and there is none if that needs the ceiling: α lies beyond what is seen.

Guarantee. Let the weights be known, and a new row be drawn like the held-out ones, whose quantiles
were learned elsewhere. With S the sum of all weights, the new row's own included, ::

    α (1 − (W − 1) E[1/S])  ≤  P(d_new ≤ q_new + c σ_new)  ≤  α + W E[1/S]

(the upper end where distances have no ties), since given the set of the n + 1 rows that are seen,
the new one is row i with probability w_i / S. It is row i below c where the weights of the others
below it are less than α (S − w_i + 1), which lies between α (S − W + 1) and α S. So the level is
missed by at most 1 / effective rows, ``effective_rows`` = (Σ w + 1) / W: the service level is right
on average over rows, whatever the law was. It is not promised for every feature, nor after the
world has changed, and weights that are estimated add their own error.

Without probabilities of one's own, G is the product-limit estimate of the distances of orders over
all rows. It is right if the distances of truths do not depend on the features, which they do not
where location and scale of the law are right; then c is the product-limit quantile of the distances
(Satten & Datta 2001).

A law whose whole distribution is known needs no scale: distances can be taken between levels. Of a
held-out row let u = P(truth < observation) by a law learned on other rows; the truth is covered by
the law's quantile at level β where u < β. So α is reached at the level β at which the weighted
share of u below it is α (distributional conformal prediction: Chernozhukov, Wüthrich & Zhu 2021),
for every α at once: `held_out_levels` and `ConformalLevels`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.base import clone

from unmet.arrays import Array, read_array
from unmet.bands import constants as tuned
from unmet.checks import Maybe, Number, WholeNumber
from unmet.errors import InvalidInput
from unmet.rows import Rows

SeenProbability = Callable[[Array], Array]
"""Of distances, one per held-out row: the probability that the row's order is at least there."""


@dataclass(frozen=True)
class ConformalCorrection:
    """By how much a quantile was moved, and what held-out rows say about it.

    Attributes
    ----------
    level : float
        α.
    shift : float
        What to add to the quantile of a row, in units of its scale; 0 where nothing is corrected.
    reached : float or None
        Estimated share of truths at or below the quantile as it was; None where too little is seen.
    standard_error : float or None
        Of `reached`.
    rows : int
        Held-out rows, and the part of them that tell something.
    effective_rows : float
        Rows in units of the largest weight: the level is missed by at most one in so many, if the
        weights are right.
    reason : str
        Why nothing is corrected, a sentence; empty if something is.

    Examples
    --------
    >>> correction = ConformalCorrection(0.9, 0.25, 0.84, 0.02, 300, 120.0)
    >>> correction.applied, correction.corrected([100.0, 60.0], [20.0, 8.0]).tolist()
    (True, [105.0, 62.0])
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
        """Whether quantiles are moved."""
        return not self.reason

    @property
    def bound(self) -> float:
        """By how much the level may be missed on average over rows, if the weights are right."""
        return 1.0 / self.effective_rows if self.effective_rows > 0 else 1.0

    def corrected(self, quantile: ArrayLike, scale: ArrayLike = 1.0) -> Array:
        """Give quantiles of rows after the correction.

        Parameters
        ----------
        quantile : array-like of shape (n_rows,)
        scale : float or array-like of shape (n_rows,)
            As given to `conformal_correction`, of these rows.
        """
        moved: Array = read_array("quantile", quantile) + self.shift * read_array("scale", scale)
        return moved

    def __str__(self) -> str:
        if self.reason:
            return self.reason
        assert self.reached is not None
        return (
            f"Held-out rows: {100 * self.reached:.0f}% of the truths were at or below the "
            f"{100 * self.level:g}% quantile; it was moved by {self.shift:+.2f} of its scale "
            f"({self.rows} rows, worth {self.effective_rows:.0f})."
        )


def conformal_correction(
    observation: ArrayLike,
    censored: ArrayLike,
    quantile: ArrayLike,
    level: float,
    *,
    scale: ArrayLike = 1.0,
    seen_probability: SeenProbability | None = None,
    least_seen: float = tuned.LEAST_SEEN,
    least_rows: float = tuned.LEAST_EFFECTIVE_ROWS,
    cautious: float | None = None,
) -> ConformalCorrection:
    """Find the constant that brings held-out quantiles to their level.

    Parameters
    ----------
    observation : array-like of shape (n_rows,)
        Of rows that the quantiles were not learned from.
    censored : array-like of shape (n_rows,), bool
        True where the truth is at least the observation, False where it is the observation.
    quantile : array-like of shape (n_rows,)
        The α-quantile of each row's truth, by a law learned on other rows.
    level : float
        α in (0, 1).
    scale : float or array-like of shape (n_rows,)
        Positive: the unit in which a row's quantile is moved, such as its deviation.
    seen_probability : callable, optional
        Takes distances from the quantile in units of the scale, one per row, and gives the
        probability that each row's order is at least so far up. Default: the product-limit
        estimate over all rows.
    least_seen : float
        g: distances that are seen more rarely are cut off. Smaller values reach higher levels and
        make weights, and with them the noise of the constant, larger.
    least_rows : float
        Effective rows below which nothing is corrected.
    cautious : float, optional
        Correct only if the share reached is off by more than so many standard errors. A constant
        from few rows is noisy, too: where a law is good, leaving it alone is better. The guarantee
        is then that of a test, not of the theorem. Default: always correct.

    Returns
    -------
    ConformalCorrection
        With a shift of 0 and the reason where there are too few rows, or where α lies beyond what
        seen rows reach.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(0)
    >>> demand, stock = generator.gamma(4, 5, 2000), generator.gamma(9, 4, 2000)
    >>> sales, sold_out = np.minimum(demand, stock), demand > stock
    >>> guess = np.full(2000, 25.0)  # for the .85-quantile, which is 29.9
    >>> found = conformal_correction(sales, sold_out, guess, 0.85)
    >>> bool(abs(found.corrected(guess)[0] - 29.9) < 1.5)
    True
    >>> conformal_correction(sales[:30], sold_out[:30], guess[:30], 0.85).applied
    False
    """
    level = float(Number(above=0, below=1)("level", level))
    least_seen = float(Number(above=0, most=1)("least_seen", least_seen))
    least_rows = float(Number(least=0)("least_rows", least_rows))
    cautious = Maybe(Number(least=0))("cautious", cautious)
    distance, hidden = _read(observation, censored, quantile, scale)
    n_rows = distance.size
    seen_at = _product_limit(distance, hidden) if seen_probability is None else seen_probability
    ceiling = _ceiling(distance, hidden, seen_at, least_seen)
    beyond = distance >= ceiling
    shown = beyond | ~hidden
    cut = np.minimum(distance, ceiling)
    weight = np.zeros(n_rows)
    # every row may be rare from the start; then nothing lies below the ceiling
    weight[shown] = 1.0 / np.maximum(_probability(seen_at, cut)[shown], least_seen)
    largest = max(float(weight.max(initial=0.0)), 1.0)
    total = float(weight.sum())
    effective = (total + 1.0) / largest if total else 0.0

    def left(
        reason: str, reached: float | None = None, error: float | None = None
    ) -> ConformalCorrection:
        return ConformalCorrection(level, 0.0, reached, error, n_rows, effective, reason)

    if effective < least_rows:
        return left(
            f"Not calibrated: {n_rows} held-out rows are worth {effective:.0f}, "
            f"of {least_rows:.0f} that are needed."
        )
    below = weight * ((distance <= 0.0) & ~beyond)
    reached = error = None
    if ceiling > 0:
        reached = float(below.sum()) / total
        error = float(np.sqrt(np.sum((below - weight * reached) ** 2))) / total
    order = np.argsort(cut, kind="stable")
    reached_at = np.cumsum((weight * ~beyond)[order])
    enough = np.flatnonzero(reached_at >= level * (total + 1.0) * (1 - 1e-12))
    if not enough.size:
        most = float(reached_at[-1]) / (total + 1.0)
        return left(
            f"Not calibrated: seen rows reach the {100 * most:.0f}% quantile at most, "
            f"not {100 * level:g}%.",
            reached,
            error,
        )
    shift = float(cut[order][enough[0]])
    if reached is not None and error is not None and cautious is not None:
        explained = abs(reached - level) <= cautious * error
        if explained:
            return left(
                f"Left as it is: {100 * reached:.0f}% of held-out truths were at or below the "
                f"{100 * level:g}% quantile, which chance explains.",
                reached,
                error,
            )
    return ConformalCorrection(level, shift, reached, error, n_rows, effective)


# --- a whole law at once: levels instead of distances


@dataclass(frozen=True)
class ConformalLevels:
    """Levels at which to ask a law so that the truth is covered as often as one means.

    Attributes
    ----------
    below : ndarray of shape (n_rows,)
        Probability that the truth is below the row's observation, by laws learned without the row.
    censored : ndarray of shape (n_rows,), bool
    cautious : float or None
        As in `conformal_correction`.

    Examples
    --------
    A law that is too narrow: what it calls the .9-quantile is exceeded too often.

    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> generator = np.random.default_rng(0)
    >>> demand, stock = generator.normal(0, 1.5, 4000), generator.normal(2.5, 1.5, 4000)
    >>> below = norm.cdf(np.minimum(demand, stock))  # the law says: deviation 1
    >>> levels = ConformalLevels(below, demand > stock)
    >>> asked = levels.correction(0.9).level + levels.correction(0.9).shift
    >>> bool(abs(asked - norm.cdf(1.5 * norm.ppf(0.9))) < 0.01)
    True
    """

    below: Array
    censored: NDArray[np.bool_]
    cautious: float | None = None

    def correction(self, level: float) -> ConformalCorrection:
        """Say how far the level to ask for lies from the level that is meant, and how surely."""
        return conformal_correction(
            self.below,
            self.censored,
            np.full(self.below.shape, level),
            level,
            cautious=self.cautious,
        )

    def asked(self, level: ArrayLike) -> Array:
        """Levels at which the law's quantiles reach these levels.

        Parameters
        ----------
        level : float or array-like of shape (n_rows,)
            α in (0, 1).

        Returns
        -------
        ndarray of the shape of `level`
            The same level where nothing is corrected. A level above the highest that seen rows
            reach is moved as that one is, in log-odds: what lies beyond is not seen, but a law
            that ends too low where it can be seen does not end right where it cannot.
        """
        meant = read_array("level", level)
        different, place = np.unique(meant, return_inverse=True)
        found = np.array([self._one(float(each)) for each in different])
        return np.asarray(found[place].reshape(meant.shape))

    def _one(self, level: float) -> float:
        found = self.correction(level)
        highest = self.highest
        if not found.applied and highest is not None and level > highest:
            edge = self.correction(highest)
            if not edge.applied:
                return level
            odds = logit(highest + edge.shift) - logit(highest)
            return float(expit(logit(level) + odds))
        # just above the row that it is taken from, which a quantile at its very level may miss
        return _inside(level + found.shift + _TINY) if found.applied else level

    @cached_property
    def highest(self) -> float | None:
        """Highest level that seen rows reach, in steps of a hundredth; None where none is."""
        hundredths = np.arange(1, 100) / 100
        plain = replace(self, cautious=None)
        low, high = 0, hundredths.size
        while low < high:
            middle = (low + high) // 2
            if plain.correction(float(hundredths[middle])).applied:
                low = middle + 1
            else:
                high = middle
        return float(hundredths[low - 1]) if low else None


_TINY = 1e-9


def _inside(level: float) -> float:
    return min(max(level, _TINY), 1 - _TINY)


def held_out_levels(
    rule: Any, rows: Rows, *, n_folds: int = 4, cautious: float | None = None, seed: int = 0
) -> ConformalLevels | None:
    """Hold rows out in turn, and ask laws learned on the others how far up their observations lie.

    Parameters
    ----------
    rule : band rule with ``survival(X, value)``
        Such as `LatentBand`; clones of it learn.
    rows : Rows
        Of which it is known whether they are censored; others are learned from, not counted.
    n_folds : int
        Each takes another fit. Whole weeks are held out together where dates are known, so that
        every fold has seen every season; otherwise rows at random.
    cautious : float, optional
        As in `conformal_correction`.
    seed : int
        Of the folds, where there are no dates.

    Returns
    -------
    ConformalLevels or None
        None where it is known of no row whether it is censored.

    Notes
    -----
    The guarantee holds for a law learned on the other folds. The law that is used has learned from
    all rows and is a little better than those, so that levels err to the safe side.
    """
    folds = WholeNumber(2)("n_folds", n_folds)
    if rows.censored is None or rows.limits is not None:
        return None
    known = ~np.isnan(rows.censored)
    if not known.any():
        return None
    fold = _folds(rows, folds, seed)
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
    return ConformalLevels(below[known], rows.censored[known] > 0.5, cautious)


def _folds(rows: Rows, folds: int, seed: int) -> NDArray[np.int64]:
    """Fold of each row: weeks in turn where there are dates, else at random."""
    if rows.time is not None:
        time = np.asarray(rows.time)
        if time.dtype.kind == "M":
            day = time.astype("datetime64[D]").astype(np.int64)
            # weeks that have rows, counted one after the other: some may be missing, such as
            # those that somebody else holds out
            weeks, week = np.unique((day - day.min()) // 7, return_inverse=True)
            if weeks.size >= folds:
                return np.asarray(week % folds)
    generator = np.random.default_rng(seed)
    return np.asarray(generator.permutation(np.arange(rows.n_rows) % folds))


# --- parts of the computation


def _read(
    observation: ArrayLike, censored: ArrayLike, quantile: ArrayLike, scale: ArrayLike
) -> tuple[Array, NDArray[np.bool_]]:
    """Distances of the observations from their quantiles, and which of them are hidden."""
    seen = read_array("observation", observation)
    if seen.ndim != 1 or not seen.size:
        raise InvalidInput(f"observation must have one number per row, got shape {seen.shape}.")
    columns = []
    for name, value in (("quantile", quantile), ("scale", scale)):
        read = read_array(name, value)
        if read.ndim and read.shape != seen.shape:
            raise InvalidInput(f"{name} must have {seen.size} rows, got {read.size}.")
        columns.append(read)
    if (columns[1] <= 0).any():
        raise InvalidInput(f"scale must be positive, got {float(np.min(columns[1]))}.")
    hidden = np.asarray(censored)
    if hidden.dtype != np.bool_ or hidden.shape != seen.shape:
        raise InvalidInput(
            f"censored must be true or false in each of {seen.size} rows, "
            f"got {hidden.dtype} of shape {hidden.shape}."
        )
    distance: Array = (seen - columns[0]) / columns[1]
    return distance, hidden


def _probability(seen_at: SeenProbability, distance: Array) -> Array:
    found = np.asarray(seen_at(distance), dtype=np.float64)
    if found.shape != distance.shape:
        raise InvalidInput(
            f"seen_probability must give {distance.size} numbers, got shape {found.shape}."
        )
    if not ((found >= 0) & (found <= 1)).all():
        raise InvalidInput("seen_probability must give numbers from 0 to 1.")
    return found


def _ceiling(
    distance: Array, hidden: NDArray[np.bool_], seen_at: SeenProbability, least: float
) -> float:
    """Largest distance at which every row is seen with the least probability, to rounding.

    It depends on the law of the orders alone, as the guarantee asks. Where no distance goes so far
    it is the largest, if that is hidden (nothing is known above), and infinite otherwise.
    """

    def often(value: float) -> bool:
        return bool(_probability(seen_at, np.full(distance.size, value)).min() >= least)

    low, high = float(distance.min()), float(distance.max())
    if often(high):
        return high if hidden[distance == high].any() else np.inf
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if often(middle) else (low, middle)
    return low


def _product_limit(distance: Array, hidden: NDArray[np.bool_]) -> SeenProbability:
    """P(order ≥ t) of all rows alike: hidden rows end at their order, the others before it.

    Where a truth and an order tie, the truth was met: it leaves first.
    """
    order = np.lexsort((hidden, distance))
    value, ends = distance[order], hidden[order]
    at_risk = np.arange(value.size, 0, -1, dtype=np.float64)
    above = np.cumprod(np.where(ends, (at_risk - 1.0) / at_risk, 1.0))
    steps = np.concatenate([[1.0], above])

    def survival(t: Array) -> Array:
        found: Array = steps[np.searchsorted(value, t, side="left")]
        return found

    return survival
