"""The factor at which observations pile up on a rule's value.

With s = order wherever the order bound, log(s / value) piles up at the logarithm of the safety
factor. Rounding to lots blurs that; but an observation s tells exactly which factors would have
made the order equal to it: an interval. The factor that most intervals share is found exactly,
without a grid, by sorting their ends. What lies above the order speaks against the factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.bands.fingerprint.lots import ARITHMETIC, Step
from unmet.bands.fingerprint.panel import Places

#: Safety factors that are looked at.
SMALLEST, LARGEST = 0.5, 3.0

# All groups share one axis, each its own stretch of it, so that one sort serves them all.
_STRIDE = 4.0
_END = 3.9
_CELLS = 128
_MOST_GROUPS = 20_000  # for which histograms are kept in memory
# Less than what rounding forgives.
_NUDGE, _INWARD = ARITHMETIC / 4, ARITHMETIC / 10

# Steps of round numbers; a rounder factor is preferred if it loses next to nothing.
_ROUND_STEPS = (0.5, 0.25, 0.1, 0.05, 0.01, 0.005, 0.001, 5e-4, 1e-4, 1e-5, 1e-6)
_LOSS = 0.005


@dataclass(frozen=True, eq=False)
class PileUp:
    """The best factor of every group.

    Attributes
    ----------
    factor : ndarray of shape (n_groups,)
        A round number among the best factors; NaN where no factor puts a row at its order.
    gain : ndarray of shape (n_groups,)
        Rows at the order minus `price` for every row above it.
    looked_at : int
        How many factors were compared: the number of hypotheses.
    """

    factor: Array
    gain: Array
    looked_at: int


def best_factors(
    s: Array, base: Array, group: Places, n_groups: int, step: Step, price: float, fewest: int = 0
) -> PileUp:
    """Factor of each group that puts most rows at the order and fewest above it.

    Parameters
    ----------
    s : ndarray of shape (n_rows,)
        Observations.
    base : ndarray of shape (n_rows,)
        The rule's value, before the factor and rounding; rows without one are left out.
    group : ndarray of shape (n_rows,), int
        Rows that share a factor.
    n_groups : int
    step : Step
        How orders are rounded.
    price : float
        What a row above the order costs, in rows at the order.
    fewest : int
        Groups that cannot gain so much need not be looked at closely; they get no factor.
    """
    use = np.flatnonzero((base > 0) & (s > 0))
    ends = _Ends.of(s[use], base[use], group[use], step)
    looked_at = int(np.count_nonzero(ends.tied))
    if fewest and n_groups <= _MOST_GROUPS:
        hopeful = _upper_bound(ends, n_groups, price) >= fewest
        ends = ends.keep(hopeful[ends.group])
    axis = _Axis.of(ends, n_groups, price)
    best, factor = np.full(n_groups, -np.inf), np.full(n_groups, np.nan)
    points = axis.points
    if not points.size:
        return PileUp(factor, best, looked_at)
    owner = (points / _STRIDE).astype(np.intp)
    gain = axis.gain(points + axis.inward, owner)
    starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    best[owner[starts]] = np.maximum.reduceat(gain, starts)
    at_best = np.flatnonzero(gain == best[owner])[::-1]  # the smallest factor among equals is last
    factor[owner[at_best]] = points[at_best] - owner[at_best] * _STRIDE
    promising = np.flatnonzero(best > 0)
    factor[promising] = _round(factor[promising], best[promising], promising, axis)
    return PileUp(np.where(best >= fewest, factor, np.nan) if fewest else factor, best, looked_at)


@dataclass(frozen=True, eq=False)
class _Ends:
    """Factors between which each row is at its order, and below which it is above it.

    `first` and `last` are NaN for rows that no order can equal.
    """

    group: Places
    first: Array
    last: Array
    above: Array
    closed_above: bool

    @classmethod
    def of(cls, s: Array, base: Array, group: Places, step: Step) -> _Ends:
        closed_above = step.rounding in ("up", "none")
        # ends are moved towards the open side, so that arithmetic does not decide what is inside
        scale = (1 + _NUDGE if closed_above else 1 - _NUDGE) / base
        first, last, above = (np.clip(end * scale, 0.0, _END) for end in step.reach(s))
        return cls(group, first, last, above, closed_above)

    @property
    def tied(self) -> NDArray[np.bool_]:
        """Rows that some factor to be looked at puts at their order."""
        return np.asarray((self.last >= SMALLEST) & (self.first <= LARGEST))

    def keep(self, mask: NDArray[np.bool_]) -> _Ends:
        parts = (self.group[mask], self.first[mask], self.last[mask], self.above[mask])
        return _Ends(*parts, self.closed_above)


def _upper_bound(ends: _Ends, n_groups: int, price: float) -> Array:
    """No factor gains a group more than this: intervals that touch a cell, less those all above.

    A histogram in place of a sort, to be rid of hopeless groups in a few passes.
    """
    width = np.log(_END / SMALLEST) / _CELLS

    def cell(end: Array) -> Places:
        inside = np.log(np.maximum(end, SMALLEST) / SMALLEST) / width
        return np.asarray(np.minimum(inside, _CELLS - 1), dtype=np.intp)

    def histogram(where: Places, of: NDArray[np.bool_] | slice) -> Array:
        counts = np.bincount(
            ends.group[of] * (_CELLS + 1) + where, minlength=n_groups * (_CELLS + 1)
        )
        return counts.reshape(n_groups, _CELLS + 1).astype(np.float64)

    tied = ends.last >= SMALLEST
    enter = histogram(cell(ends.first[tied]), tied)
    leave = histogram(cell(ends.last[tied]) + 1, tied)
    touching = np.cumsum(enter - leave, axis=1)[:, :-1]
    above = histogram(cell(ends.above), slice(None))[:, :-1]
    surely_above = above.sum(axis=1, keepdims=True) - np.cumsum(above, axis=1)
    return np.asarray((touching - price * surely_above).max(axis=1))


@dataclass(frozen=True, eq=False)
class _Axis:
    """Sorted ends of all intervals of factors, each group on its own stretch of the axis.

    Intervals are (first, last] when rounding up and when not rounding, else [first, last).
    """

    first: Array
    last: Array
    above: Array
    until: NDArray[np.intp]
    side: Literal["left", "right"]
    price: float

    @classmethod
    def of(cls, ends: _Ends, n_groups: int, price: float) -> _Axis:
        origin = ends.group * _STRIDE
        tied = ends.tied
        return cls(
            first=np.sort((origin + ends.first)[tied]),
            last=np.sort((origin + ends.last)[tied]),
            above=np.sort(origin + ends.above),
            until=np.cumsum(np.bincount(ends.group, minlength=n_groups)),
            side="left" if ends.closed_above else "right",
            price=price,
        )

    @property
    def points(self) -> Array:
        """Where the number of intervals can be largest: at their closed ends, or the range's."""
        ends = self.last if self.side == "left" else self.first
        origin = np.floor(ends / _STRIDE) * _STRIDE
        return np.asarray(origin + np.clip(ends - origin, SMALLEST, LARGEST))

    @property
    def inward(self) -> float:
        """From a closed end into its interval, past open ends at the same factor but for noise."""
        return -_INWARD if self.side == "left" else _INWARD

    def gain(self, points: Array, owner: Places) -> Array:
        """Rows at the order minus the price of those above it, at points of the axis."""
        at = np.searchsorted(self.first, points, self.side) - np.searchsorted(
            self.last, points, self.side
        )
        above = self.until[owner] - np.searchsorted(self.above, points, self.side)
        return np.asarray(at - self.price * above, dtype=np.float64)


def _round(factor: Array, best: Array, owner: Places, axis: _Axis) -> Array:
    """Roundest factor nearby that gains nearly as much: planners order 1.15, not 1.1497, times."""
    rounded = factor.copy()
    todo = np.arange(factor.size)
    for size in _ROUND_STEPS:
        if not todo.size:
            break
        nearest = np.round(np.round(factor[todo] / size) * size, 9)
        gain = axis.gain(owner[todo] * _STRIDE + nearest, owner[todo])
        enough = gain >= best[todo] - np.maximum(_LOSS * best[todo], 1.0)
        rounded[todo[enough]] = nearest[enough]
        todo = todo[~enough]
    return rounded
