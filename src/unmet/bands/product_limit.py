"""The product-limit estimate of Kaplan & Meier (1958), weighted, for many groups at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array

_ROUNDING = 1e-12


class Reached(NamedTuple):
    """Quantiles of several groups, and whether the estimate goes as high as the level asked for."""

    value: Array
    reached: NDArray[np.bool_]


def in_order(value: Array, censored: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Sort by value, seen ones before censored ones where they tie: those were above it."""
    return np.lexsort((censored, value))


def product_limit_quantile(
    value: Array, censored: NDArray[np.bool_], weight: Array, level: Array
) -> Reached:
    """Smallest value at which the estimated distribution of the truth reaches a level.

    For values of a group `in_order` and weights w (Bertsimas & Kallus 2020, for censored data;
    equal ones give the estimate of Kaplan & Meier)::

        1 − F(t) = Π_{j: t_j ≤ t, seen} (1 − w_j / Σ_{l ≥ j} w_l)

    Parameters
    ----------
    value, censored, weight : ndarray of shape (n_groups, n_members)
        Every group in order; non-negative weights, some of them positive in every group.
    level : ndarray of shape (n_groups,)
        Between 0 and 1.

    Returns
    -------
    Reached
        Where the largest values are censored, the estimate may end below the level; then the
        largest value is returned, which is no more than a lower bound.

    Examples
    --------
    >>> values, sold_out = np.array([[3.0, 5.0, 5.0, 8.0]]), np.array([[False, False, True, False]])
    >>> product_limit_quantile(values, sold_out, np.ones((1, 4)), np.array([0.6])).value
    array([8.])
    """
    at_risk = np.cumsum(weight[:, ::-1], axis=1)[:, ::-1]
    factor = np.ones(value.shape)
    np.divide(at_risk - weight, at_risk, out=factor, where=~censored & (weight > 0))
    above = np.cumprod(factor, axis=1)
    enough = above <= (1.0 - level + _ROUNDING)[:, None]
    reached = np.asarray(enough.any(axis=1))
    last = value.shape[1] - 1 - np.argmax(weight[:, ::-1] > 0, axis=1)
    place = np.where(reached, np.argmax(enough, axis=1), last)
    return Reached(value[np.arange(len(value)), place], reached)


def weighted_quantile(value: Array, weight: Array, level: Array) -> Array:
    """Smallest value at which the weights, taken as a distribution, reach a level.

    The same as `product_limit_quantile` when nothing is censored, and the same shapes.
    """
    nothing = np.zeros(value.shape, dtype=np.bool_)
    return product_limit_quantile(value, nothing, weight, level).value
