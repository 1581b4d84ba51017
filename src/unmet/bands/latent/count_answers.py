"""Quantiles of counts, latent and observed, and the share of rows sold out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from unmet.band import Array, Numbers
from unmet.bands.latent.count_laws import Counts, equals, lasts, order_point, reaches
from unmet.bands.latent.likelihood import Orders

_Beyond: TypeAlias = Callable[[Array, NDArray[np.intp]], NDArray[np.bool_]]
_LOG_RARE = np.log(1e12)  # truths this rare are left out of the share
_REACH = 7.0  # a standard normal beyond it is as rare
_EXACT_ORDERS = 256
_ALONG_SHAPE = 16
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(24)


def count_quantile(level: Numbers, location: Array, shape: Numbers) -> Array:
    """Smallest whole number q with P(D ≤ q) ≥ level, for each row.

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
    law = Counts.of(np.zeros_like(location), location, shape)
    allowed = np.broadcast_to(1.0 - level, location.shape)

    def beyond(q: Array, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        return reaches(law.rows(rows)._replace(count=q + 1.0)) > allowed[rows]

    # the gamma of the same two moments is hardly ever more than a few steps away
    scale = 1.0 + law.mean / law.size
    guess = np.floor(special.gammaincinv(law.mean / scale, level) * scale)
    return _smallest(beyond, guess, 1.0 + np.floor(0.02 * np.sqrt(law.mean * scale)))


def count_observed_quantile(
    level: Numbers, location: Array, shape: Numbers, orders: Orders | None
) -> Array:
    """Smallest whole number q with P(S ≤ q) ≥ level, where S = min(D, Q), for each row.

    Parameters as of `count_quantile`, and the orders; without them S is the truth.
    """
    latent = count_quantile(level, location, shape)
    if orders is None:
        return latent
    law = Counts.of(np.zeros_like(location), location, shape)
    allowed, place = np.broadcast_to(1.0 - level, location.shape), location + orders.level

    def beyond(q: Array, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        stock = np.exp(lasts(order_point(q, place[rows], orders.spread), orders).value)
        return reaches(law.rows(rows)._replace(count=q + 1.0)) * stock > allowed[rows]

    ordered = np.exp(np.clip(place + orders.spread * special.ndtri(level), -600.0, 600.0))
    guess = latent if orders.ample > 0.0 else np.minimum(latent, np.floor(ordered + 0.5))
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
    location, shape, weight = _representatives(location, shape, _n_groups(location, shape, orders))
    column = np.reshape(shape, (-1, 1)) if isinstance(shape, np.ndarray) else shape
    law = Counts.of(np.zeros((location.size, 1)), location[:, None], column)
    place, spread = (location + orders.level)[:, None], orders.spread
    lowest, highest = _orders_that_matter(law, place, spread)
    order = lowest + np.arange(min(_EXACT_ORDERS, (highest - lowest).max() + 1.0))
    before = order_point(np.maximum(lowest - 1.0, 0.0), place, spread)
    point = np.hstack([np.where(lowest > 0.0, before, -np.inf), order_point(order, place, spread)])
    below = special.ndtr(point)
    # an order below the lowest that matters surely falls short, or is never placed
    total = below[:, 0] + (np.diff(below, axis=1) * _exceeds(law, order)).sum(axis=1)

    half = 0.5 * np.maximum(order_point(highest, place, spread) - point[:, -1:], 0.0)
    more = np.flatnonzero(half)
    if more.size:
        half, place = half[more], place[more]
        node = point[more, -1:] + half * (1.0 + _NODES)
        larger = np.exp(place + spread * node) + 1.0
        density = half * np.exp(-0.5 * node * node) / np.sqrt(2.0 * np.pi)
        short = reaches(law.rows(more)._replace(count=larger))
        total[more] += (density * short) @ _NODE_WEIGHTS
    return (1.0 - orders.ample) * float(weight @ total)


def _exceeds(law: Counts, order: Array) -> Array:
    """P(D > q) for consecutive orders along the rows: from the first on, less what each takes."""
    mean, size = law.mean, law.size
    first = law._replace(count=order[:, :1])
    factor = mean / (size + mean) * (size + order[:, :-1]) / (order[:, :-1] + 1.0)
    mass = np.hstack([np.exp(equals(first).value), factor])
    return np.asarray(reaches(first) - np.cumsum(np.cumprod(mass, axis=1), axis=1))


def _orders_that_matter(law: Counts, place: Array, spread: float) -> tuple[Array, Array]:
    """Smallest and largest of the orders that are placed and may or may not suffice.

    The truth's tails are bounded as those of a sub-gamma variable (Boucheron, Lugosi and Massart,
    Concentration Inequalities, section 2.4) of its variance and scale 1 + m/k.
    """
    scale = 1.0 + law.mean / law.size
    width = np.sqrt(2.0 * _LOG_RARE * law.mean * scale)
    lowest = np.exp(np.clip(place - _REACH * spread, -600.0, 600.0))
    lowest = np.floor(np.maximum(lowest, law.mean - width))
    highest = np.exp(np.clip(place + _REACH * spread, -600.0, 600.0))
    highest = np.ceil(np.minimum(highest, law.mean + width + _LOG_RARE * scale))
    return lowest, np.maximum(highest, lowest)


def _n_groups(location: Array, shape: Numbers, orders: Orders) -> int:
    """How many groups of rows: more where orders hardly vary and rounding makes the share jump."""
    if orders.spread * np.exp(np.median(location) + orders.level) < 1.0:
        return 256
    return 128 if isinstance(shape, np.ndarray) else 64


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
        mean: Array = np.add.reduceat(values[index], edges) / n_each
        return mean

    kept = means(shape) if isinstance(shape, np.ndarray) else shape
    return means(location), kept, n_each / n_rows
