"""Counts: log-likelihood of whole-number observations under S = min(D, Q), row by row.

The truth D is negative binomial with mean exp(location) and size exp(κ), the order Q a rounded
lognormal. With v± = (log(s ± ½) − location − level) / spread, and v₋ = −∞ at s = 0, ::

    seen      ℓ₁ = log P(D = s) + log(π + (1 − π) Φ(−v₊))
    censored  ℓ₂ = log P(D ≥ s) + log(1 − π) + log(Φ(v₊) − Φ(v₋))
    unknown   log(exp ℓ₁ + exp ℓ₂)

These are probabilities, so a zero is an observation like any other and there is no floor. Without
orders a censored row has log P(D ≥ s), every other one log P(D = s).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from unmet.band import Array, Numbers
from unmet.bands.latent.count_answers import (
    count_observed_quantile,
    count_quantile,
    count_share,
)
from unmet.bands.latent.count_laws import (
    LARGEST_SHAPE,
    LEAST_SHAPE,
    Counts,
    equals,
    lasts,
    order_equals,
    order_point,
    reach,
    reach_in_shape,
)
from unmet.bands.latent.likelihood import CENSORED, SEEN, Orders

__all__ = [
    "CountGradient",
    "count_likelihood",
    "count_observed_quantile",
    "count_quantile",
    "count_share",
]

_LEAST_PART = 1e-10  # of a row: the slope of a smaller one is lost in rounding
_HOPELESS = 30.0  # in log-likelihood: a part smaller by so much is lost in rounding
_LEAST_BINDING = 1e-15  # chance of orders that bind, so that it has a logarithm


class CountGradient(NamedTuple):
    """Log-likelihood of each row and its derivatives, each of shape (n_rows,)."""

    value: Array
    location: Array
    """The level of orders held relative to it."""
    shape: Array
    """In κ; 0 where κ is clipped."""
    level: Array
    log_spread: Array
    ample: Array
    """In π; 0 where π is 0."""


class _Truth(NamedTuple):
    """Log-probability of each row but for its order, and the derivatives in location and κ."""

    value: Array
    share: Array
    """Probability of having been seen, given the observation."""
    other: Array
    """That of having been censored."""
    location: Array
    shape: Array


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
    law = Counts.of(count, location, shape)
    inside = (shape >= LEAST_SHAPE) & (shape <= LARGEST_SHAPE)
    if orders is None:
        nothing = np.zeros_like(location)
        closed = np.where(kind == CENSORED, -np.inf, 0.0), np.where(kind == CENSORED, 0.0, -np.inf)
        truth = _mixed(law, *closed)
        in_shape = truth.shape * inside
        return CountGradient(truth.value, truth.location, in_shape, nothing, nothing, nothing)
    point = order_point(count, location + orders.level, orders.spread)
    stock, at = lasts(point, orders), order_equals(count, point, orders.spread)
    binding = max(1.0 - orders.ample, _LEAST_BINDING)
    truth = _mixed(
        law,
        np.where(kind == CENSORED, -np.inf, stock.value),
        np.where(kind == SEEN, -np.inf, at.value + np.log(binding)),
    )
    share, other = truth.share, truth.other
    level = share * stock.level + other * at.level
    log_spread = share * stock.log_spread + other * at.log_spread
    ample = np.zeros_like(level)
    if orders.ample > 0.0:
        ample = share * special.ndtr(point) * np.exp(-stock.value) - other / binding
    in_location, in_shape = truth.location + level, truth.shape * inside
    return CountGradient(truth.value, in_location, in_shape, level, log_spread, ample)


def _mixed(law: Counts, log_seen: Array, log_censored: Array) -> _Truth:
    """Mix P(D = s) and P(D ≥ s) with weights of which the logarithms may be −∞."""
    equal = equals(law)
    seen, censored = log_seen + equal.value, log_censored
    # even with P(D ≥ s) = 1, the other rows cannot have been censored
    rows = np.flatnonzero(censored > seen - _HOPELESS)
    part, part_equal = law.rows(rows), equal.rows(rows)
    reached, left = reach(part, part_equal)
    censored[rows] += reached.value
    value = np.logaddexp(seen, censored)
    share, other = np.exp(seen - value), np.exp(censored - value)
    weight = other[rows]
    left = left[weight[left] > _LEAST_PART]
    slope = reach_in_shape(part.rows(left), part_equal.rows(left), reached.value[left])
    reached.shape[left] = slope
    location, shape = share * equal.location, share * equal.shape
    location[rows] += weight * reached.location
    shape[rows] += weight * reached.shape
    return _Truth(value, share, other, location, shape)
