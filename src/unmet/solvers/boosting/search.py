"""Best values of leaves for a cost of which only values are known.

The cost of a leaf may have jumps and several valleys, with their edges at the ends of the rows'
bands. So candidates are taken from those: 17 quantiles of them, then 17 more between the neighbours
of the best, and at last a golden section between its neighbours for costs that are smooth. What is
returned is the best value that was tried; the first of them is 0, so no leaf is ever made worse,
and a leaf that cannot be made better does not move. About 50 evaluations of all rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array
from unmet.solvers.boosting.leaves import Index, order_within

_CANDIDATES = 17
_ROUNDS = 2
_SECTIONS = 16
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
_ROUNDING = 1e-12


class _Best:
    """The best value of each leaf so far."""

    def __init__(self, price: Callable[[Array], Array], n_leaves: int) -> None:
        self._price = price
        self.value = np.zeros(n_leaves)
        self.cost = price(self.value)

    def offer(self, value: Array) -> Array:
        """Price one value per leaf, and keep those that cost less by more than rounding."""
        cost = self._price(value)
        with np.errstate(invalid="ignore"):
            better = cost < self.cost - _ROUNDING * np.abs(self.cost)
        better |= np.isinf(self.cost) & np.isfinite(cost)
        self.value = np.where(better, value, self.value)
        self.cost = np.where(better, cost, self.cost)
        return cost


def search_minimisers(
    price: Callable[[Array], Array], ends: Array, leaf: Index, n_leaves: int
) -> Array:
    """Search each leaf among the ends of its rows' bands, and between them.

    Parameters
    ----------
    price : callable
        From one value per leaf, shape (n_leaves,), to the cost of each leaf; inf is allowed.
    ends : ndarray of shape (n_ends,)
        Ends of bands, relative to the decision of the row.
    leaf : ndarray of shape (n_ends,)
        To which leaf each of them belongs; none is without any.
    n_leaves : int
    """
    order = order_within(leaf, ends)
    point = ends[order]
    end = np.cumsum(np.bincount(leaf, minlength=n_leaves))
    low: Index = np.concatenate([[0], end[:-1]])
    high: Index = end - 1
    best = _Best(price, n_leaves)
    for _ in range(_ROUNDS):
        low, high = _narrow(best, point, low, high)
    _golden_section(best, point[low], point[high])
    return best.value


def _narrow(best: _Best, point: Array, low: Index, high: Index) -> tuple[Index, Index]:
    """Try points between two of them, and return the neighbours of the cheapest."""
    share = np.linspace(0.0, 1.0, _CANDIDATES)[:, np.newaxis]
    index: NDArray[np.intp] = np.rint(low + share * (high - low)).astype(np.intp)
    costs = np.array([best.offer(point[each]) for each in index])
    cheapest = np.argmin(costs, axis=0)
    leaves = np.arange(low.size)
    at = index[cheapest, leaves]
    before = index[np.maximum(cheapest - 1, 0), leaves]
    after = index[np.minimum(cheapest + 1, _CANDIDATES - 1), leaves]
    # Of few points some are candidates twice: their neighbours are the points next to them.
    return np.maximum(np.minimum(before, at - 1), low), np.minimum(np.maximum(after, at + 1), high)


def _golden_section(best: _Best, low: Array, high: Array) -> None:
    """Shrink all brackets at once."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = best.offer(left), best.offer(right)
    for _ in range(_SECTIONS):
        lower = at_left <= at_right
        low, high = np.where(lower, low, left), np.where(lower, right, high)
        new = np.where(lower, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        at_new = best.offer(new)
        left, right = np.where(lower, new, right), np.where(lower, left, new)
        at_left, at_right = np.where(lower, at_new, at_right), np.where(lower, at_left, at_new)
