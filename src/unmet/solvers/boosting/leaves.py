"""Values of leaves that cost the rows of each leaf least, all leaves at once.

A sum of hinges with kinks at r_k, slopes −b_k below and a_k above, has at t the slope ::

    Σ_{r_k < t} a_k − Σ_{r_k > t} b_k  =  Σ_{r_k < t} (a_k + b_k) − B,    B = Σ_k b_k,

so it is least where the running sum of a + b over the sorted kinks reaches B: at one kink, or
between two neighbours if the sum equals B after the first of them. Squared distances to bands have
a slope that is itself piecewise linear, and the same running sums give its zero.

Sorted once by leaf and position, one running sum serves all leaves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array

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
