"""Counts: log-likelihood of whole-number observations under S = min(D, Q), row by row.

The truth D is negative binomial with mean m = exp(location) and size k = exp(κ), so that its
variance is m + m²/k: Poisson where κ is large. The order Q is a lognormal rounded to a whole
number. With v± = (log(s ± ½) − location − level) / spread, and v₋ = −∞ at s = 0, ::

    seen      ℓ₁ = log P(D = s) + log(π + (1 − π) Φ(−v₊))
    censored  ℓ₂ = log P(D ≥ s) + log(1 − π) + log(Φ(v₊) − Φ(v₋))
    unknown   log(exp ℓ₁ + exp ℓ₂)

These are probabilities, so a zero is an observation like any other and there is no floor. Without
orders a censored row has log P(D ≥ s), every other one log P(D = s). Orders are a tuple of level,
spread and π.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from unmet.arrays import Array, Index, Numbers
from unmet.censoring.latent.families import FAMILIES

_SHAPES = FAMILIES["negative_binomial"].shapes
_SHAPE_STEP = 1e-6
_HALF_LOG_TWO_PI = 0.5 * np.log(2.0 * np.pi)
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(48)


def moments(location: Array, shape: Numbers) -> tuple[Array, Numbers]:
    """Mean and size; location and κ are clipped to where they mean something."""
    return np.exp(np.clip(location, -650.0, 650.0)), np.exp(np.clip(shape, *_SHAPES))


def _at(numbers: Numbers, rows: Index) -> Numbers:
    return numbers[rows] if isinstance(numbers, np.ndarray) else numbers


def equals(count: Array, mean: Array, size: Numbers) -> tuple[Array, Array, Array]:
    """Logarithm of P(D = s), and its derivatives in location and κ."""
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


def reaches(count: Array, mean: Array, size: Numbers) -> Array:
    """P(D ≥ s) = I_p(s, k) = 1 − I_q(k, s) with p = m / (k + m) and q = 1 − p.

    A small q has more digits than 1 − p, but a small difference from 1 loses as many: q is used
    where it is smaller than what it gives. A count need not be whole: the incomplete beta function
    joins the whole ones smoothly.
    """
    count, mean = np.broadcast_arrays(count, mean)
    some, failure = count > 0.0, size / (size + mean)
    complement = some & (failure < 0.5)
    chance = np.ones(complement.shape)
    special.betainc(size, count, failure, out=chance, where=complement)
    np.subtract(1.0, chance, out=chance, where=complement)
    direct = some & (~complement | (chance < failure))
    special.betainc(count, size, mean / (size + mean), out=chance, where=direct)
    return chance


def log_reaches(count: Array, mean: Array, size: Numbers, log_equals: Array) -> Array:
    """Logarithm of P(D ≥ s); where that underflows, of a geometric tail from P(D = s) on."""
    chance = reaches(count, mean, size)
    factor = np.minimum(mean / (size + mean) * (size + count) / (count + 1.0), 1.0 - 1e-9)
    far = log_equals - np.log1p(-factor)
    return np.where(chance > 1e-280, np.log(np.maximum(chance, 1e-280)), far)


def _reach(
    count: Array, mean: Array, size: Numbers, log_equals: Array, slope: Array
) -> tuple[Array, Array, Array]:
    """Logarithm of P(D ≥ s), and its derivatives in location and κ (`slope`: that of P(D = s)).

    Up to 96 the terms of 1 − Σ_{j<s} P(D = j) cost less than the incomplete beta function: from j
    to j + 1 the probability grows by the factor p (k + j) / (j + 1), and the derivative of its
    logarithm by k / (k + j) − k / (k + m). Other rows, and differences that lose digits, have a
    derivative in κ by a step that takes P(D = s) along its own slope, so that far up, where the
    logarithms are large, their rounding is not divided by the step.
    """
    total, in_shape = np.ones_like(mean), np.zeros_like(mean)
    index = np.flatnonzero(count <= 96)
    index = index[np.argsort(-count[index], kind="stable")]  # rows that still have terms first
    few, m, k = count[index], mean[index], _at(size, index)
    success, pull = m / (k + m), k / (k + m)
    mass, along = np.exp(-k * np.log1p(m / k)), k * (success - np.log1p(m / k))
    below, moved = np.zeros_like(m), np.zeros_like(m)
    for j, n_left in enumerate(np.searchsorted(-few, -np.arange(int(few.max(initial=0.0))))):
        rows = slice(0, n_left)
        own = _at(k, rows)
        below[rows] += mass[rows]
        moved[rows] += mass[rows] * along[rows]
        mass[rows] *= success[rows] * ((own + j) / (j + 1.0))
        along[rows] += own / (own + j) - pull[rows]
    total[index], in_shape[index] = below, -moved
    chance = 1.0 - total
    left = np.flatnonzero(chance < 0.01)
    chance = np.maximum(chance, 0.01)
    value, in_shape = np.log(chance), in_shape / chance
    if left.size:
        some, m, k, log = count[left], mean[left], _at(size, left), log_equals[left]
        value[left] = log_reaches(some, m, k, log)
        step = log_reaches(some, m, k * np.exp(_SHAPE_STEP), log + _SHAPE_STEP * slope[left])
        in_shape[left] = (step - value[left]) / _SHAPE_STEP
    # a step in the location adds s P(D = s)
    return value, count * np.exp(np.minimum(log_equals - value, 0.0)), in_shape


def _lasts(point: Array, spread: float, unlimited: float) -> tuple[Array, Array, Array]:
    """Chance that the stock lasts, π + (1 − π) Φ(−v₊): its logarithm, and slopes of that.

    Slopes are in the level and the log-spread of orders.
    """
    near = np.maximum(point, -9.0)  # a standard normal beyond changes no sum with 1
    mills = _mills(near)
    value, slope = np.log(mills) - 0.5 * near * near - _HALF_LOG_TWO_PI, 1.0 / mills
    if unlimited > 0.0:
        chance = unlimited + (1.0 - unlimited) * np.exp(value)
        value, slope = np.log(chance), slope * (1.0 - unlimited / chance)
    return value, slope / spread, point * slope


def _order_equals(count: Array, point: Array, spread: float) -> tuple[Array, Array, Array]:
    """P(Q = s) = Φ(v₊) − Φ(v₋), by Mills' ratios on the side where the tails are small."""
    positive = count > 0.0
    # log(s + ½) − log(s − ½), without the difference of two nearly equal logarithms; the order 0
    # is infinitely wide on the logarithmic scale, but 0 · width is 0
    width = np.log1p(1.0 / np.where(positive, count - 0.5, 1.0)) / spread
    width = np.where(positive, width, 1e9)
    mirrored = point < 0.5 * width
    near = np.maximum(np.where(mirrored, -point, point - width), -9.0)
    far = np.where(mirrored, width - point, point)
    # probability and far density in units of the density at the near end
    fall, mills = np.exp(-0.5 * width * (near + far)), _mills(near)
    chance = np.maximum(mills - _mills(far) * fall, 1e-16 * mills)
    value = np.log(chance) - 0.5 * near * near - _HALF_LOG_TWO_PI
    sides = np.where(mirrored, fall - 1.0, 1.0 - fall) / chance
    return value, sides / spread, (near - far * fall) / chance


def _mills(point: Array) -> Array:
    """Φ(−x) / φ(x)."""
    return np.asarray(np.sqrt(0.5 * np.pi) * special.erfcx(point / np.sqrt(2.0)))


def count_quantile(level: Numbers, location: Array, shape: Numbers) -> Array:
    """Smallest whole number q of each row with P(D ≤ q) ≥ level.

    Parameters
    ----------
    level : float or ndarray of shape (n_rows,)
        Above 0 and below 1.
    location : ndarray of shape (n_rows,)
        Logarithm of the truth's mean.
    shape : float or ndarray of shape (n_rows,)
        κ, clipped to [−5, 12].

    Examples
    --------
    >>> count_quantile(0.8, np.log([0.1, 2.0, 50.0]), 0.0)
    array([ 0.,  3., 81.])
    """
    mean, size = moments(location, shape)
    allowed = np.broadcast_to(1.0 - level, location.shape)

    def beyond(q: Array, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        return np.asarray(reaches(q + 1.0, mean[rows], _at(size, rows)) > allowed[rows])

    # the gamma of the same two moments is hardly ever more than a few steps away
    scale = 1.0 + mean / size
    high = np.floor(special.gammaincinv(mean / scale, level) * scale)
    stride = 1.0 + np.floor(0.02 * np.sqrt(mean * scale))
    low, rows = np.maximum(high - stride, -1.0), np.arange(high.size)
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
    while True:
        middle = np.floor(0.5 * (low + high))
        rows = np.flatnonzero((low < middle) & (middle < high))
        if not rows.size:
            return high
        exceeded = beyond(middle[rows], rows)
        low[rows[exceeded]] = middle[rows[exceeded]]
        high[rows[~exceeded]] = middle[rows[~exceeded]]


def count_share(location: Array, shape: Numbers, orders: tuple[float, float, float]) -> float:
    """Average over rows the probability that the truth exceeds the order.

    It is (1 − π) Σ_q P(Q = q) P(D > q), with an integral over the orders if they are large.

    Parameters
    ----------
    location : ndarray of shape (n_rows,)
        Logarithm of the truth's mean; of many rows only those at 64 quantiles count.
    shape : float or ndarray of shape (n_rows,)
        κ, clipped to [−5, 12].
    orders : tuple of level, spread and π
        Orders, in units of the logarithm of the count.

    Examples
    --------
    >>> round(count_share(np.log([4.0, 40.0]), 1.0, (0.0, 0.2, 0.0)), 4)
    0.3849
    """
    level, spread, unlimited = orders
    if location.size > 64:
        some = np.argsort(location)[np.linspace(0, location.size - 1, 64).astype(np.intp)]
        location, shape = location[some], _at(shape, some)
    mean, sizes = moments(location[:, None], np.reshape(shape, (-1, 1)))
    size = np.asarray(sizes)
    place = np.clip(location[:, None] + level, -34.0, 34.0)
    # orders beyond are not placed, or surely suffice
    scale = 1.0 + mean / size
    most = np.minimum(
        np.exp(np.minimum(place + 7.0 * spread, 34.0)),
        mean + 10.0 * np.sqrt(mean * scale) + 30.0 * scale,
    )
    order = np.exp(np.minimum(place + spread * _NODES, 34.0))
    short = reaches(order + 1.0, mean, size) @ (_NODE_WEIGHTS / _NODE_WEIGHTS.sum())
    few = np.flatnonzero(most[:, 0] < 1024)
    if few.size:
        order = np.arange(float(most[few].max()) + 1.0)
        below = special.ndtr((np.log(order + 0.5) - place[few]) / spread)
        reached = reaches(order + 1.0, mean[few], size[few] if size.size > 1 else size)
        short[few] = (np.diff(below, axis=1, prepend=0.0) * reached).sum(axis=1)
    return (1.0 - unlimited) * float(short.mean())


def count_likelihood(
    shape: Numbers,
    orders: tuple[float, float, float] | None,
    count: Array,
    location: Array,
    censored: NDArray[np.bool_],
    seen: NDArray[np.bool_],
) -> tuple[Array, list[Array]]:
    """Log-likelihood of each row, and its derivatives.

    These are in location (the level of orders held relative to it), κ (0 where it is clipped), and
    with orders their level, log-spread and π.

    Parameters
    ----------
    shape : float or ndarray of shape (n_rows,)
        κ, clipped to [−5, 12].
    orders : tuple of level, spread and π, or None
        In units of the logarithm of the count.
    count, location : ndarray of shape (n_rows,)
        Whole numbers ≥ 0; logarithm of the truth's mean.
    censored, seen : ndarray of bool, shape (n_rows,)
        Rows known to be so; nothing is known of others.

    Examples
    --------
    >>> count, location = np.array([0.0, 3.0]), np.log([2.0, 2.0])
    >>> at = np.array([False, True])
    >>> count_likelihood(0.0, None, count, location, at, ~at)[0].round(4)
    array([-1.0986, -1.2164])
    """
    mean, size = moments(location, shape)
    inside = (np.asarray(shape) >= _SHAPES[0]) & (np.asarray(shape) <= _SHAPES[1])
    log_seen, log_censored = np.zeros_like(location), np.zeros_like(location)
    if orders is not None:
        level, spread, unlimited = orders
        point = (np.log(count + 0.5) - location - level) / spread
        log_seen, *stock = _lasts(point, spread, unlimited)
        binding = max(1.0 - unlimited, 1e-15)
        at_order, *at = _order_equals(count, point, spread)
        log_censored = at_order + np.log(binding)
    equal, *equal_slopes = equals(count, mean, size)
    if_seen = np.where(censored, -np.inf, log_seen) + equal
    # rows of which nothing is known count as seen where orders are not modelled
    if_censored = np.where(~censored if orders is None else seen, -np.inf, log_censored)
    # even with P(D ≥ s) = 1, rows whose part is smaller by 30 cannot have been censored
    rows = np.flatnonzero(if_censored > if_seen - 30.0)
    reached, in_location, in_shape = _reach(
        count[rows], mean[rows], _at(size, rows), equal[rows], equal_slopes[1][rows]
    )
    if_censored[rows] += reached
    value = np.logaddexp(if_seen, if_censored)
    # probabilities of having been seen, and of having been censored, given the observation
    share, other = np.exp(if_seen - value), np.exp(if_censored - value)
    by_location, by_shape = (share * slope for slope in equal_slopes)
    by_location[rows] += other[rows] * in_location
    by_shape[rows] += other[rows] * in_shape
    if orders is None:
        return value, [by_location, by_shape * inside]
    by_level, by_spread = (share * one + other * two for one, two in zip(stock, at, strict=True))
    by_unlimited = np.zeros_like(location)
    if unlimited > 0.0:
        by_unlimited = share * special.ndtr(point) * np.exp(-log_seen) - other / binding
    return value, [by_location + by_level, by_shape * inside, by_level, by_spread, by_unlimited]
