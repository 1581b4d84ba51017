"""Values of leaves that cost the rows of each leaf least, all leaves at once.

A sum of hinges with kinks at r_k, slopes −b_k below and a_k above, has at t the slope ::

    Σ_{r_k < t} a_k − Σ_{r_k > t} b_k  =  Σ_{r_k < t} (a_k + b_k) − B,    B = Σ_k b_k,

so it is least where the running sum of a + b over the sorted kinks reaches B: at one kink, or
between two neighbours if the sum equals B after the first of them. Squared distances to bands have
a slope that is itself piecewise linear, and the same running sums give its zero.

Sorted once by leaf and position, one running sum serves all leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array

Index = NDArray[np.integer]

_ROUNDING = 1e-10  # a slope this small, as a share of all slopes of the leaf, is zero


@dataclass(frozen=True)
class Intervals:
    """Where the cost of each leaf is least; ends may be infinite.

    Attributes
    ----------
    low, high : ndarray of shape (n_leaves,)
    """

    low: Array
    high: Array

    def nearest_to_zero(self) -> Array:
        """Move no decision further than it must."""
        return np.minimum(np.maximum(self.low, 0.0), self.high)

    def middle(self) -> Array:
        """Halfway between two ends, or the finite one of them."""
        low = np.where(np.isfinite(self.low), self.low, self.high)
        high = np.where(np.isfinite(self.high), self.high, self.low)
        middle = 0.5 * low + 0.5 * high
        return np.where(np.isfinite(middle), middle, 0.0)


def small(leaf: Index, n_leaves: int) -> Index:
    """Leaf numbers in the smallest type that holds them: NumPy sorts those by counting."""
    return leaf.astype(np.min_scalar_type(max(n_leaves - 1, 0)), copy=False)


def order_within(leaf: Index, position: Array) -> NDArray[np.intp]:
    """Sort by leaf, and by position within each: ``lexsort``, four times as fast."""
    by_position = np.argsort(position)
    return by_position[np.argsort(leaf[by_position], kind="stable")]


def hinge_minimisers(
    position: Array, below: Array, jump: Array, leaf: Index, n_leaves: int
) -> Intervals:
    """Minimise a sum of hinges in each leaf.

    Parameters
    ----------
    position : ndarray of shape (n_kinks,)
        Where slopes change, relative to the decision of the row.
    below, jump : ndarray of shape (n_kinks,) or (1,)
        Slope below each kink, and by how much it grows there, non-negative; a single entry holds
        for all kinks.
    leaf : ndarray of shape (n_kinks,)
        To which leaf a kink belongs, of the type that `small` gives.
    n_leaves : int
    """
    order = order_within(leaf, position)
    count = np.bincount(leaf, minlength=n_leaves)
    end = np.cumsum(count)
    if jump.size == 1:
        running = np.arange(1, leaf.size + 1) * jump[0]
        all_below = count * below[0]
    else:
        running = np.cumsum(jump[order])
        all_below = np.bincount(leaf, below, n_leaves)
    before = np.concatenate([[0.0], running])[end - count]
    total = np.concatenate([[0.0], running])[end] - before
    slack = _ROUNDING * total
    first = np.searchsorted(running, before + all_below - slack, side="left")
    last = np.searchsorted(running, before + all_below + slack, side="right")
    at = position[order[np.minimum(np.stack([first, last]), leaf.size - 1)]]
    # Where nothing costs below, or nothing above, one end lies at infinity.
    low = np.where(all_below <= slack, -np.inf, at[0])
    high = np.where(total - all_below <= slack, np.inf, at[1])
    return Intervals(low, high)


def square_minimisers(
    bottom: Array, top: Array, weight: Array, leaf: Index, n_leaves: int
) -> Intervals:
    """Minimise Σ w · (distance of t to [bottom, top])² in each leaf.

    Half its slope is Σ w (t − top)⁺ − Σ w (bottom − t)⁺ = constant + steepness · t: on the far left
    with steepness Σ w, which every bottom lowers by its weight and every top raises.
    """
    position = np.concatenate([bottom, top])
    both = np.concatenate([leaf, leaf])
    order = order_within(both, position)
    point, owner = position[order], both[order]
    change = np.concatenate([-weight, weight])[order]
    end = np.cumsum(np.bincount(both, minlength=n_leaves))
    start = np.concatenate([[0], end[:-1]])
    # Coefficients to the left of each point: those at the far left, and all changes before it.
    steepness = _before(change, start, owner) + np.bincount(leaf, weight, n_leaves)[owner]
    constant = -_before(change * point, start, owner)
    constant -= np.bincount(leaf, weight * bottom, n_leaves)[owner]
    slope = constant + steepness * point
    spread = np.bincount(both, np.concatenate([weight, weight]) * np.abs(position), n_leaves)
    slack = _ROUNDING * spread[owner]
    ends = []
    for reached in (slope >= -slack, slope > slack):
        index = start + np.bincount(owner[~reached], minlength=n_leaves)
        ends.append(_zero(np.minimum(index, end - 1), start, point, constant, steepness))
    return Intervals(ends[0], np.maximum(*ends))


def _zero(index: Index, start: Index, point: Array, constant: Array, steepness: Array) -> Array:
    """Zero of the slope on the piece that ends at the points of `index`."""
    previous = point[np.maximum(index - 1, start)]
    with np.errstate(divide="ignore", invalid="ignore"):
        zero = -constant[index] / steepness[index]
    zero = np.where(np.isfinite(zero), zero, point[index])
    return np.clip(zero, previous, point[index])


def _before(change: Array, start: Index, owner: Index) -> Array:
    """Sum up what stands before each entry in its leaf."""
    running = np.concatenate([[0.0], np.cumsum(change)])
    return np.asarray(running[:-1] - running[start][owner])


def mean_minimisers(position: Array, weight: Array, leaf: Index, n_leaves: int) -> Intervals:
    """Minimise Σ w (t − position)² in each leaf: weighted means."""
    total = np.bincount(leaf, weight, n_leaves)
    mean = np.bincount(leaf, weight * position, n_leaves) / np.where(total > 0, total, 1.0)
    return Intervals(mean, mean)


# --- Best values of leaves for a cost of which only values are known.
#  The cost of a leaf may have jumps and several valleys, with their edges at the ends of the rows'
# bands. So candidates are taken from those: 17 quantiles of them, then 17 more between the
# neighbours of the best, and at last a golden section between its neighbours for costs that are
# smooth. What is returned is the best value that was tried; the first of them is 0, so no leaf is
# ever made worse, and a leaf that cannot be made better does not move. About 50 evaluations of all
# rows.

_CANDIDATES = 17
_ROUNDS = 2
_SECTIONS = 16
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
_SEARCH_ROUNDING = 1e-12


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
            better = cost < self.cost - _SEARCH_ROUNDING * np.abs(self.cost)
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
