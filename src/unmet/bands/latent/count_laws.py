"""Laws of counts: a negative binomial truth and a rounded lognormal order, with their slopes.

The truth D has mean m = exp(location) and size k = exp(κ), so that its variance is m + m²/k:
Poisson where κ is large. The order Q is a lognormal rounded to a whole number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from unmet.band import Array, Index, Numbers
from unmet.bands.latent.likelihood import Orders

LEAST_SHAPE, LARGEST_SHAPE = -5.0, 12.0
_FURTHEST = 650.0  # the mean, and the size over the mean, stay finite
_SHAPE_STEP = 1e-6
_FEW = 96  # so many terms cost less than the incomplete beta function
_LEAST_DIFFERENCE = 0.01  # from 1: smaller ones lose digits
_LEAST_CHANCE = 1e-280  # logarithms of smaller ones come from the tail's continued fraction
_TAIL_DEPTH = 6  # of that fraction: where chances are so small, five give every digit
_HALF_LOG_TWO_PI = 0.5 * np.log(2.0 * np.pi)
_SURE = 9.0  # a standard normal beyond it changes no sum with 1
_ENDLESS = 1e9  # width of the order 0 on the logarithmic scale: infinite, but 0 · width is 0
_ROUNDING = 1e-16  # least difference of two ratios: their logarithm must exist


class Counts(NamedTuple):
    """Counts and the law of their truth.

    A count need not be whole: the incomplete beta function joins the whole ones smoothly.
    """

    count: Array  # type: ignore[assignment]  # hides a method of tuples that nobody needs
    mean: Array
    size: Numbers

    @classmethod
    def of(cls, count: Array, location: Array, shape: Numbers) -> Counts:
        """Clip location and κ, then leave the logarithmic scale."""
        mean = np.exp(np.clip(location, -_FURTHEST, _FURTHEST))
        return cls(count, mean, np.exp(np.clip(shape, LEAST_SHAPE, LARGEST_SHAPE)))

    def rows(self, rows: Index) -> Counts:
        """Keep some rows."""
        return Counts(self.count[rows], self.mean[rows], _rows(self.size, rows))


class TruthSlopes(NamedTuple):
    """Logarithm of a probability of the truth, and its derivatives in location and κ."""

    value: Array
    location: Array
    shape: Array

    def rows(self, rows: Index) -> TruthSlopes:
        """Keep some rows."""
        return TruthSlopes(self.value[rows], self.location[rows], self.shape[rows])


class OrderSlopes(NamedTuple):
    """Logarithm of a probability of the order, and its derivatives in level and log-spread."""

    value: Array
    level: Array
    log_spread: Array


def _rows(numbers: Numbers, rows: Index) -> Numbers:
    return numbers[rows] if isinstance(numbers, np.ndarray) else numbers


def equals(law: Counts) -> TruthSlopes:
    """P(D = s)."""
    count, mean, size = law
    log_failure = -np.log1p(mean / size)
    value = (
        special.gammaln(count + size)
        - special.gammaln(size)
        - special.gammaln(count + 1.0)
        + size * log_failure
        - count * np.log1p(size / mean)
    )
    residual = (count - mean) / (size + mean)
    shape = size * (special.psi(count + size) - special.psi(size) + log_failure - residual)
    return TruthSlopes(value, size * residual, shape)


def reaches(law: Counts) -> Array:
    """P(D ≥ s) = I_p(s, k) = 1 − I_q(k, s) with p = m / (k + m) and q = 1 − p.

    A small q has more digits than 1 − p, but a small difference from 1 loses as many: q is used
    where it is smaller than what it gives.
    """
    count, mean, size = law
    some = count > 0.0
    success, failure = mean / (size + mean), size / (size + mean)
    complement = some & (failure < 0.5)
    chance = np.ones(complement.shape)
    special.betainc(size, count, failure, out=chance, where=complement)
    np.subtract(1.0, chance, out=chance, where=complement)
    direct = some & (~complement | (chance < failure))
    special.betainc(count, size, success, out=chance, where=direct)
    return chance


def reach(law: Counts, equal: TruthSlopes) -> tuple[TruthSlopes, NDArray[np.intp]]:
    """P(D ≥ s), and the rows of which the derivative in κ is left for `reach_in_shape`."""
    chance, shape = np.zeros_like(law.mean), np.zeros_like(law.mean)
    small = np.flatnonzero(law.count <= _FEW)
    chance[small], shape[small] = _summed(law.rows(small))
    left = np.flatnonzero(chance < _LEAST_DIFFERENCE)
    chance = np.maximum(chance, _LEAST_DIFFERENCE)
    value: Array = np.log(chance)
    value[left] = _log_reaches(law.rows(left), equal.value[left])
    # a step in the location adds s P(D = s)
    location = law.count * np.exp(np.minimum(equal.value - value, 0.0))
    return TruthSlopes(value, location, shape / chance), left


def reach_in_shape(law: Counts, equal: TruthSlopes, log_reach: Array) -> Array:
    """Slope of log P(D ≥ s) in κ, which has no closed form.

    The step takes P(D = s) along its own slope, so that far up, where the logarithms are large,
    their rounding is not divided by the step.
    """
    along = equal.value + _SHAPE_STEP * equal.shape
    moved = _log_reaches(law._replace(size=law.size * np.exp(_SHAPE_STEP)), along)
    return (moved - log_reach) / _SHAPE_STEP


def _summed(law: Counts) -> tuple[Array, Array]:
    """P(D ≥ s) = 1 − Σ_{j<s} P(D = j) and its derivative in κ.

    From j to j + 1 the probability grows by the factor p (k + j) / (j + 1), and the derivative of
    its logarithm by k / (k + j) − k / (k + m).
    """
    # rows that still have terms stand first; small integers sort fast
    index = np.argsort((_FEW - law.count).astype(np.uint8), kind="stable")
    count, mean, size = law.rows(index)
    success, pull = mean / (size + mean), size / (size + mean)
    slope = size * (success - np.log1p(mean / size))
    mass = np.exp(-size * np.log1p(mean / size))
    total, in_shape = np.zeros_like(mean), np.zeros_like(mean)
    last = int(count.max(initial=0.0))
    for j, n_left in enumerate(np.searchsorted(-count, -np.arange(last))):
        rows = slice(0, n_left)
        k = _rows(size, rows)
        total[rows] += mass[rows]
        in_shape[rows] += mass[rows] * slope[rows]
        mass[rows] *= success[rows] * ((k + j) / (j + 1.0))
        slope[rows] += k / (k + j) - pull[rows]
    chance, slope = np.empty_like(mean), np.empty_like(mean)
    chance[index], slope[index] = 1.0 - total, -in_shape
    return chance, slope


def _log_reaches(law: Counts, log_equals: Array) -> Array:
    """Logarithm of P(D ≥ s), also where the probability underflows."""
    chance = reaches(law)
    value: Array = np.log(np.maximum(chance, _LEAST_CHANCE))
    far = np.flatnonzero(chance <= _LEAST_CHANCE)
    if far.size:
        value[far] = log_equals[far] + np.log(_tail(law.rows(far)))
    return value


def _tail(law: Counts) -> Array:
    """P(D ≥ s) / P(D = s) far above the mean, by the continued fraction of DLMF 8.17.22."""
    count, mean, size = law
    success = mean / (size + mean)
    fraction = np.ones_like(mean)
    for j in range(_TAIL_DEPTH, -1, -1):
        twice = count + 2 * j
        odd = (count + j) * (count + size + j) * success / (twice * (twice + 1))
        even = (j + 1) * (size - j - 1) * success / ((twice + 1) * (twice + 2))
        fraction = 1.0 - odd / (1.0 + even / fraction)
    return 1.0 / fraction


def order_point(count: Array, place: Array, spread: float) -> Array:
    """v₊: an order, lognormal around its place, is ≤ s up to this standard normal number."""
    point: Array = (np.log(count + 0.5) - place) / spread
    return point


def lasts(point: Array, orders: Orders) -> OrderSlopes:
    """Chance that the stock lasts: π + (1 − π) Φ(−v₊)."""
    near = np.maximum(point, -_SURE)
    ratio = _mills(near)
    value, slope = np.log(ratio) - 0.5 * near * near - _HALF_LOG_TWO_PI, 1.0 / ratio
    if orders.ample > 0.0:
        chance = orders.ample + (1.0 - orders.ample) * np.exp(value)
        value, slope = np.log(chance), slope * (1.0 - orders.ample / chance)
    return OrderSlopes(value, slope / orders.spread, point * slope)


def order_equals(count: Array, point: Array, spread: float) -> OrderSlopes:
    """P(Q = s) = Φ(v₊) − Φ(v₋), by Mills' ratios on the side where the tails are small."""
    positive = count > 0.0
    # log(s + ½) − log(s − ½), without the difference of two nearly equal logarithms
    width = np.log1p(1.0 / np.where(positive, count - 0.5, 1.0)) / spread
    width = np.where(positive, width, _ENDLESS)
    mirrored = point < 0.5 * width
    near = np.maximum(np.where(mirrored, -point, point - width), -_SURE)
    far = np.where(mirrored, width - point, point)
    # probability and far density in units of the density at the near end
    fall = np.exp(-0.5 * width * (near + far))
    ratio = _mills(near)
    chance = np.maximum(ratio - _mills(far) * fall, _ROUNDING * ratio)
    value = np.log(chance) - 0.5 * near * near - _HALF_LOG_TWO_PI
    sides = np.where(mirrored, fall - 1.0, 1.0 - fall) / chance
    return OrderSlopes(value, sides / spread, (near - far * fall) / chance)


def _mills(point: Array) -> Array:
    """Φ(−x) / φ(x)."""
    ratio: Array = np.sqrt(0.5 * np.pi) * special.erfcx(point / np.sqrt(2.0))
    return ratio
