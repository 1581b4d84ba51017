"""Counts: log-likelihood of whole-number observations under S = min(D, Q), row by row.

The truth D is negative binomial with mean m = exp(location) and size k = exp(κ), so that its
variance is m + m²/k: Poisson where κ is large. The order Q is a lognormal rounded to a whole
number. With v± = (log(s ± ½) − location − level) / spread, and v₋ = −∞ at s = 0, ::

    seen      ℓ₁ = log P(D = s) + log(π + (1 − π) Φ(−v₊))
    censored  ℓ₂ = log P(D ≥ s) + log(1 − π) + log(Φ(v₊) − Φ(v₋))
    unknown   log(exp ℓ₁ + exp ℓ₂)

These are probabilities, so a zero is an observation like any other and there is no floor. Without
orders a censored row has log P(D ≥ s), every other one log P(D = s).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from unmet.arrays import Array, Index, Numbers
from unmet.censoring.latent.families import COUNT_SHAPES
from unmet.censoring.latent.likelihood import CENSORED, SEEN, Orders

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
_Beyond: TypeAlias = Callable[[Array, NDArray[np.intp]], NDArray[np.bool_]]
_LOG_RARE = np.log(1e12)  # truths this rare are left out of the share
_REACH = 7.0  # a standard normal beyond it is as rare
_EXACT_ORDERS = 256
_ALONG_SHAPE = 16
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(24)
_LEAST_PART = 1e-10  # of a row: the slope of a smaller one is lost in rounding
_HOPELESS = 30.0  # in log-likelihood: a part smaller by so much is lost in rounding
_LEAST_BINDING = 1e-15  # chance of orders that bind, so that it has a logarithm


class Counts(NamedTuple):
    """Counts and the distribution of their truth.

    A count need not be whole: the incomplete beta function joins the whole ones smoothly.
    """

    count: Array  # type: ignore[assignment]  # hides a method of tuples that nobody needs
    mean: Array
    size: Numbers

    @classmethod
    def of(cls, count: Array, location: Array, shape: Numbers) -> Counts:
        """Clip location and κ, then leave the logarithmic scale."""
        mean = np.exp(np.clip(location, -_FURTHEST, _FURTHEST))
        return cls(count, mean, np.exp(np.clip(shape, *COUNT_SHAPES)))

    def rows(self, rows: Index) -> Counts:
        """Keep some rows."""
        return Counts(self.count[rows], self.mean[rows], _rows(self.size, rows))


def _rows(numbers: Numbers, rows: Index) -> Numbers:
    return numbers[rows] if isinstance(numbers, np.ndarray) else numbers


def equals(distribution: Counts) -> tuple[Array, Array, Array]:
    """Logarithm of P(D = s), and its derivatives in location and κ."""
    count, mean, size = distribution
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
    return value, size * residual, shape


def reaches(distribution: Counts) -> Array:
    """P(D ≥ s) = I_p(s, k) = 1 − I_q(k, s) with p = m / (k + m) and q = 1 − p.

    A small q has more digits than 1 − p, but a small difference from 1 loses as many: q is used
    where it is smaller than what it gives.
    """
    count, mean, size = distribution
    some = count > 0.0
    success, failure = mean / (size + mean), size / (size + mean)
    complement = some & (failure < 0.5)
    chance = np.ones(complement.shape)
    special.betainc(size, count, failure, out=chance, where=complement)
    np.subtract(1.0, chance, out=chance, where=complement)
    direct = some & (~complement | (chance < failure))
    special.betainc(count, size, success, out=chance, where=direct)
    return chance


def reach(distribution: Counts, log_equals: Array) -> tuple[Array, Array, Array, NDArray[np.intp]]:
    """Logarithm of P(D ≥ s), and its derivatives in location and κ.

    At last the rows of which the derivative in κ is left for `reach_in_shape`.
    """
    chance, shape = np.zeros_like(distribution.mean), np.zeros_like(distribution.mean)
    small = np.flatnonzero(distribution.count <= _FEW)
    chance[small], shape[small] = _summed(distribution.rows(small))
    left = np.flatnonzero(chance < _LEAST_DIFFERENCE)
    chance = np.maximum(chance, _LEAST_DIFFERENCE)
    value: Array = np.log(chance)
    value[left] = _log_reaches(distribution.rows(left), log_equals[left])
    # a step in the location adds s P(D = s)
    location = distribution.count * np.exp(np.minimum(log_equals - value, 0.0))
    return value, location, shape / chance, left


def reach_in_shape(
    distribution: Counts, log_equals: Array, slope: Array, log_reach: Array
) -> Array:
    """Slope of log P(D ≥ s) in κ, which has no closed form.

    The step takes P(D = s) along its own `slope`, so that far up, where the logarithms are large,
    their rounding is not divided by the step.
    """
    along = log_equals + _SHAPE_STEP * slope
    moved = _log_reaches(distribution._replace(size=distribution.size * np.exp(_SHAPE_STEP)), along)
    return (moved - log_reach) / _SHAPE_STEP


def _summed(distribution: Counts) -> tuple[Array, Array]:
    """P(D ≥ s) = 1 − Σ_{j<s} P(D = j) and its derivative in κ.

    From j to j + 1 the probability grows by the factor p (k + j) / (j + 1), and the derivative of
    its logarithm by k / (k + j) − k / (k + m).
    """
    # rows that still have terms stand first; small integers sort fast
    index = np.argsort((_FEW - distribution.count).astype(np.uint8), kind="stable")
    count, mean, size = distribution.rows(index)
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


def _log_reaches(distribution: Counts, log_equals: Array) -> Array:
    """Logarithm of P(D ≥ s), also where the probability underflows."""
    chance = reaches(distribution)
    value: Array = np.log(np.maximum(chance, _LEAST_CHANCE))
    far = np.flatnonzero(chance <= _LEAST_CHANCE)
    if far.size:
        value[far] = log_equals[far] + np.log(_tail(distribution.rows(far)))
    return value


def _tail(distribution: Counts) -> Array:
    """P(D ≥ s) / P(D = s) far above the mean, by the continued fraction of DLMF 8.17.22."""
    count, mean, size = distribution
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
    return np.asarray((np.log(count + 0.5) - place) / spread)


def lasts(point: Array, orders: Orders) -> tuple[Array, Array, Array]:
    """Chance that the stock lasts, π + (1 − π) Φ(−v₊).

    Given are its logarithm, and the derivatives of that in the level and log-spread of orders.
    """
    near = np.maximum(point, -_SURE)
    ratio = _mills(near)
    value, slope = np.log(ratio) - 0.5 * near * near - _HALF_LOG_TWO_PI, 1.0 / ratio
    if orders.unlimited > 0.0:
        chance = orders.unlimited + (1.0 - orders.unlimited) * np.exp(value)
        value, slope = np.log(chance), slope * (1.0 - orders.unlimited / chance)
    return value, slope / orders.spread, point * slope


def order_equals(count: Array, point: Array, spread: float) -> tuple[Array, Array, Array]:
    """P(Q = s) = Φ(v₊) − Φ(v₋), by Mills' ratios on the side where the tails are small.

    Given are its logarithm, and the derivatives of that in the level and log-spread of orders.
    """
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
    return value, sides / spread, (near - far * fall) / chance


def _mills(point: Array) -> Array:
    """Φ(−x) / φ(x)."""
    return np.asarray(np.sqrt(0.5 * np.pi) * special.erfcx(point / np.sqrt(2.0)))


def count_quantile(
    level: Numbers, location: Array, shape: Numbers, orders: Orders | None = None
) -> Array:
    """Smallest whole number q of each row with P(D ≤ q) ≥ level; with orders, P(S ≤ q) ≥ level.

    Parameters
    ----------
    level : float or ndarray of shape (n_rows,)
        Above 0 and below 1.
    location : ndarray of shape (n_rows,)
        Logarithm of the truth's mean.
    shape : float or ndarray of shape (n_rows,)
        κ, clipped to [−5, 12].
    orders : Orders, optional
        The quantile is then that of the observation S = min(D, Q).

    Examples
    --------
    >>> count_quantile(0.8, np.log([0.1, 2.0, 50.0]), 0.0)
    array([ 0.,  3., 81.])
    """
    distribution = Counts.of(np.zeros_like(location), location, shape)
    allowed = np.broadcast_to(1.0 - level, location.shape)

    def beyond(q: Array, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        chance = reaches(distribution.rows(rows)._replace(count=q + 1.0))
        if orders is not None:
            log_lasts, *_ = lasts(order_point(q, place[rows], orders.spread), orders)
            chance = chance * np.exp(log_lasts)
        return chance > allowed[rows]

    if orders is None:
        # the gamma of the same two moments is hardly ever more than a few steps away
        scale = 1.0 + distribution.mean / distribution.size
        guess = np.floor(special.gammaincinv(distribution.mean / scale, level) * scale)
        return _smallest(beyond, guess, 1.0 + np.floor(0.02 * np.sqrt(distribution.mean * scale)))
    guess, place = count_quantile(level, location, shape), location + orders.level
    if orders.unlimited == 0.0:
        ordered = np.exp(np.clip(place + orders.spread * special.ndtri(level), -600.0, 600.0))
        guess = np.minimum(guess, np.floor(ordered + 0.5))
    return _smallest(beyond, guess, 1.0 + np.floor(0.05 * guess))


def _smallest(beyond: _Beyond, guess: Array, step: Array) -> Array:
    """Smallest whole number ≥ 0 that is not exceeded too often: bracket it, then halve."""
    low, high = np.maximum(guess - step, -1.0), guess.copy()
    rows, stride = np.arange(guess.size), step.copy()
    while (rows := rows[beyond(high[rows], rows)]).size:
        low[rows] = high[rows]
        high[rows] += stride[rows]
        stride[rows] *= 2.0
    rows = np.flatnonzero(low >= 0.0)
    while (rows := rows[~beyond(low[rows], rows)]).size:
        stride[rows] *= 2.0
        high[rows] = low[rows]
        low[rows] = np.maximum(low[rows] - stride[rows], -1.0)
        rows = rows[low[rows] >= 0.0]
    # beyond 2⁵³ neighbours are further apart than 1: there the middle is one of the ends
    while True:
        middle = np.floor(0.5 * (low + high))
        rows = np.flatnonzero((low < middle) & (middle < high))
        if not rows.size:
            return high
        exceeded = beyond(middle[rows], rows)
        low[rows[exceeded]] = middle[rows[exceeded]]
        high[rows[~exceeded]] = middle[rows[~exceeded]]


def count_share(location: Array, shape: Numbers, orders: Orders | None) -> float:
    """Mean over the rows of the probability that the truth exceeds the order.

    It is (1 − π) Σ_q P(Q = q) P(D > q). The sum runs over the 256 smallest orders that matter, an
    integral stands for larger ones, and groups of rows with like locations are summed once.

    Parameters
    ----------
    location : ndarray of shape (n_rows,)
        Logarithm of the truth's mean.
    shape : float or ndarray of shape (n_rows,)
        κ, clipped to [−5, 12].
    orders : Orders or None

    Examples
    --------
    >>> round(count_share(np.log([4.0, 40.0]), 1.0, Orders(level=0.0, spread=0.2)), 4)
    0.3849
    """
    if orders is None:
        return 0.0
    n_groups = 128 if isinstance(shape, np.ndarray) else 64
    if orders.spread * np.exp(np.median(location) + orders.level) < 1.0:
        n_groups = 256  # orders hardly vary, and rounding makes the share jump
    location, shape, weight = _representatives(location, shape, n_groups)
    column = np.reshape(shape, (-1, 1)) if isinstance(shape, np.ndarray) else shape
    distribution = Counts.of(np.zeros((location.size, 1)), location[:, None], column)
    place, spread = (location + orders.level)[:, None], orders.spread
    lowest, highest = _orders_that_matter(distribution, place, spread)
    order = lowest + np.arange(min(_EXACT_ORDERS, (highest - lowest).max() + 1.0))
    before = order_point(np.maximum(lowest - 1.0, 0.0), place, spread)
    point = np.hstack([np.where(lowest > 0.0, before, -np.inf), order_point(order, place, spread)])
    below = special.ndtr(point)
    # P(D > q) for consecutive orders: from the first on, less what each takes
    first = distribution._replace(count=order[:, :1])
    factor = (
        distribution.mean
        / (distribution.size + distribution.mean)
        * (distribution.size + order[:, :-1])
        / (order[:, :-1] + 1.0)
    )
    mass = np.hstack([np.exp(equals(first)[0]), factor])
    exceeds = reaches(first) - np.cumsum(np.cumprod(mass, axis=1), axis=1)
    # an order below the lowest that matters surely falls short, or is never placed
    total = below[:, 0] + (np.diff(below, axis=1) * exceeds).sum(axis=1)

    half = 0.5 * np.maximum(order_point(highest, place, spread) - point[:, -1:], 0.0)
    more = np.flatnonzero(half)
    if more.size:
        half, place = half[more], place[more]
        node = point[more, -1:] + half * (1.0 + _NODES)
        larger = np.exp(place + spread * node) + 1.0
        density = half * np.exp(-0.5 * node * node) / np.sqrt(2.0 * np.pi)
        short = reaches(distribution.rows(more)._replace(count=larger))
        total[more] += (density * short) @ _NODE_WEIGHTS
    return (1.0 - orders.unlimited) * float(weight @ total)


def _orders_that_matter(distribution: Counts, place: Array, spread: float) -> tuple[Array, Array]:
    """Smallest and largest of the orders that are placed and may or may not suffice.

    The truth's tails are bounded as those of a sub-gamma variable (Boucheron, Lugosi and Massart,
    Concentration Inequalities, section 2.4) of its variance and scale 1 + m/k.
    """
    scale = 1.0 + distribution.mean / distribution.size
    width = np.sqrt(2.0 * _LOG_RARE * distribution.mean * scale)
    lowest = np.exp(np.clip(place - _REACH * spread, -600.0, 600.0))
    lowest = np.floor(np.maximum(lowest, distribution.mean - width))
    highest = np.exp(np.clip(place + _REACH * spread, -600.0, 600.0))
    highest = np.ceil(np.minimum(highest, distribution.mean + width + _LOG_RARE * scale))
    return lowest, np.maximum(highest, lowest)


def _representatives(
    location: Array, shape: Numbers, n_groups: int
) -> tuple[Array, Numbers, Array]:
    """Mean location and κ of groups of rows alike in both, and the share of rows in each."""
    n_rows = location.size
    if n_rows <= n_groups:
        return location, shape, np.full(n_rows, 1.0 / n_rows)
    index = np.argsort(location, kind="stable")
    if isinstance(shape, np.ndarray):
        # groups of like locations, each cut again along κ, on which the share depends more
        parts = np.array_split(index, n_groups // _ALONG_SHAPE)
        index = np.concatenate([part[np.argsort(shape[part], kind="stable")] for part in parts])
    edges = np.arange(n_groups) * n_rows // n_groups
    n_each = np.diff(edges, append=n_rows)

    def means(values: Array) -> Array:
        return np.asarray(np.add.reduceat(values[index], edges) / n_each)

    kept = means(shape) if isinstance(shape, np.ndarray) else shape
    return means(location), kept, n_each / n_rows


class CountGradient(NamedTuple):
    """Log-likelihood of each row and its derivatives, each of shape (n_rows,)."""

    value: Array
    location: Array
    """The level of orders held relative to it."""
    shape: Array
    """In κ; 0 where κ is clipped."""
    level: Array
    log_spread: Array
    unlimited: Array
    """In π; 0 where π is 0."""


def count_likelihood(
    shape: Numbers, orders: Orders | None, count: Array, location: Array, kind: Array
) -> CountGradient:
    """Log-likelihood and gradient of each row.

    Parameters
    ----------
    shape : float or ndarray of shape (n_rows,)
        κ, clipped to [−5, 12].
    orders : Orders or None
        Level and spread in units of the logarithm of the count.
    count, location, kind : ndarray of shape (n_rows,)
        Whole numbers ≥ 0; logarithm of the truth's mean; UNKNOWN, CENSORED, SEEN or FLOOR.

    Examples
    --------
    >>> count, location = np.array([0.0, 3.0]), np.log([2.0, 2.0])
    >>> count_likelihood(0.0, None, count, location, np.array([SEEN, CENSORED])).value.round(4)
    array([-1.0986, -1.2164])
    """
    distribution = Counts.of(count, location, shape)
    inside = (shape >= COUNT_SHAPES[0]) & (shape <= COUNT_SHAPES[1])
    log_seen, log_censored = np.zeros_like(location), np.zeros_like(location)
    if orders is not None:
        point = order_point(count, location + orders.level, orders.spread)
        log_seen, *stock = lasts(point, orders)
        binding = max(1.0 - orders.unlimited, _LEAST_BINDING)
        at_order, *at = order_equals(count, point, orders.spread)
        log_censored = at_order + np.log(binding)
    # rows of which nothing is known count as seen where orders are not modelled
    never = kind != CENSORED if orders is None else kind == SEEN
    equal, *equal_slopes = equals(distribution)
    seen = np.where(kind == CENSORED, -np.inf, log_seen) + equal
    censored = np.where(never, -np.inf, log_censored)
    # even with P(D ≥ s) = 1, the other rows cannot have been censored
    rows = np.flatnonzero(censored > seen - _HOPELESS)
    part, part_equal = distribution.rows(rows), equal[rows]
    reached, reached_in_location, reached_in_shape, left = reach(part, part_equal)
    censored[rows] += reached
    value = np.logaddexp(seen, censored)
    # probabilities of having been seen, and of having been censored, given the observation
    share, other = np.exp(seen - value), np.exp(censored - value)
    weight = other[rows]
    left = left[weight[left] > _LEAST_PART]
    reached_in_shape[left] = reach_in_shape(
        part.rows(left), part_equal[left], equal_slopes[1][rows[left]], reached[left]
    )
    in_location, in_shape = (share * slope for slope in equal_slopes)
    in_location[rows] += weight * reached_in_location
    in_shape[rows] += weight * reached_in_shape
    in_shape = in_shape * inside
    if orders is None:
        nothing = np.zeros_like(location)
        return CountGradient(value, in_location, in_shape, nothing, nothing, nothing)
    level, log_spread = (
        share * lasting + other * binds for lasting, binds in zip(stock, at, strict=True)
    )
    unlimited = np.zeros_like(level)
    if orders.unlimited > 0.0:
        unlimited = share * special.ndtr(point) * np.exp(-log_seen) - other / binding
    return CountGradient(value, in_location + level, in_shape, level, log_spread, unlimited)
