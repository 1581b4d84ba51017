"""Round decisions to lots in the cheaper direction.

Lots are multiples of a step L, and a decision y lies a share f of the way from one lot to the next.
Rounding down shifts it by −fL, rounding up by (1 − f)L. The training rows give the cost of a shift:
M(δ) is the mean cost if every decision had been larger by δ. Up is cheaper where
M((1 − f)L) < M(−fL). Because M is convex, this holds for all f beyond one threshold.

Two limits for a newsvendor of level α explain the threshold. If lots are small against the spread
of the truth, M is a parabola near its minimum and the nearest lot is best: ½. If they are large,
the truth is close to y, down costs α·fL and up (1 − α)(1 − f)L: 1 − α. In between, the training
rows decide.

A minimum order quantity is the same question again: a decision below it goes down to 0 or up to the
minimum, whichever shift costs less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.arrays import Array, Mask, expand, non_negative, read_numbers, require
from unmet.rows import Rows

ROUNDING = 1e-9  # a decision this close to a lot, in lots, is meant to be that lot


@dataclass(frozen=True)
class ShiftCost:
    """M: the cost of a common shift of all decisions, on a sample of the training rows."""

    rows: Rows
    decision: Array

    @classmethod
    def of(cls, rows: Rows, coefficients: Array, intercept: float) -> ShiftCost:
        """Decide linearly, for a sample of the rows."""
        some = rows if rows.n_rows <= 1000 else rows.take(_sample(rows.n_rows))
        return cls.at(some, np.asarray(some.features @ coefficients + intercept))

    @classmethod
    def at(cls, rows: Rows, decision: Array) -> ShiftCost:
        """Take the decisions of all training rows, of shape (n_rows,), and keep a sample.

        The sample holds only what is needed to evaluate a decision.
        """
        if rows.n_rows > 1000:  # more would slow down small fits for a digit nobody needs
            index = _sample(rows.n_rows)
            rows, decision = rows.take(index), decision[index]
        return cls(_without_features(rows), decision)

    def thresholds(self, step: Array) -> Array:
        """Give the share of each row's step beyond which the next lot is cheaper."""
        steps, which = np.unique(step, return_inverse=True)
        return lot_thresholds(self._each, steps)[which]

    def take(self, rows: NDArray[np.intp]) -> ShiftCost:  # noqa: ARG002
        """Select rows to decide; M is the same for all of them."""
        return self

    def at_each(self, shift: Array) -> Array:
        """Evaluate M at many shifts, of shape (n_shifts,); interpolate beyond a few thousand."""
        different, back = np.unique(shift, return_inverse=True)
        if different.size <= 4096:
            return self._each(different)[back]
        grid = np.linspace(different[0], different[-1], 4096)
        return np.interp(shift, grid, self._each(grid))

    def _each(self, shift: Array) -> Array:
        return np.array([self.rows.mean_cost(self.decision + one) for one in shift.tolist()])


def _without_features(rows: Rows) -> Rows:
    return Rows(np.empty((rows.n_rows, 0)), rows.observation, rows.cost, rows.share, rows.band)


@lru_cache(maxsize=16)
def _sample(n_rows: int) -> NDArray[np.intp]:
    """Choose rows at random, since data often cycle with a period; always the same ones."""
    index = np.sort(np.random.default_rng(0).integers(0, n_rows, 1000))
    index.flags.writeable = False
    return index


def lot_thresholds(mean: Callable[[Array], Array], step: Array) -> Array:
    """Give the share of each step beyond which the next lot is cheaper; ½ if both cost the same.

    `mean` gives M at one shift per step, and may be another function for each step.
    """
    rounding = 1e-12 * np.maximum(mean(step), mean(-step))

    def first(more_than: Array) -> Array:
        """Least share from which going up gains more than that, by bisection; 1 if none does."""

        def gains(share: Array) -> Mask:
            return np.asarray(mean(-share * step) - mean((1 - share) * step) > more_than)

        low, high = np.zeros(step.size), np.ones(step.size)
        at_once = gains(low)
        for _ in range(0 if at_once.all() else 40):
            middle = 0.5 * (low + high)
            good = gains(middle)
            low, high = np.where(good, low, middle), np.where(good, middle, high)
        return np.where(at_once, 0.0, high)

    # not dearer to go up: a gain of minus the rounding will do
    not_dearer = first(np.nextafter(-rounding, -np.inf))
    return np.minimum(np.maximum(0.5, not_dearer), first(rounding))


# --- Groups with a spread of their own.
#
# A lot of 12 is small for an item that sells by the hundred and large for one that sells by the
# piece, so the threshold is that of the row's group: all groups are bisected at once. Groups that
# have no training rows, or too few, take that of all groups together.

Codes: TypeAlias = NDArray[np.int64]
Mean: TypeAlias = Callable[[Array], Array]
"""M of several groups as a function of one shift for each."""


class GroupShiftCost:
    """Cost of a common shift of the decisions of a group, on some of its training rows.

    Parameters
    ----------
    rows : Rows
        Rows group after group, then all groups together; without features.
    decision : ndarray of shape (n_kept,)
        Decisions of these rows.
    starts : ndarray of shape (n_groups + 2,)
        Where each group begins among these rows.
    which : ndarray of shape (n_rows,) or None
        Group of each row to decide; n_groups means all groups together.
    """

    def __init__(
        self, rows: Rows, decision: Array, starts: NDArray[np.int64], which: Codes | None = None
    ) -> None:
        self.rows, self.decision = rows, decision
        self.starts, self.which = starts, which

    @classmethod
    def of(
        cls, rows: Rows, starts: NDArray[np.intp], decision: Array, fewest: int
    ) -> GroupShiftCost:
        """Keep a random sample of each group, because data often cycle; it is always the same."""
        per_group = 50  # what a shift costs is a mean, and a few digits of it decide
        random = np.random.default_rng(0).permutation(decision.size)
        sizes = np.diff(starts)
        codes = np.repeat(np.arange(sizes.size), sizes)[random]
        order = random[np.argsort(codes, kind="stable")]  # in each group at random
        rank = np.arange(order.size) - np.repeat(starts[:-1], sizes)
        kept = order[(rank < per_group) & (np.repeat(sizes, sizes) >= fewest)]
        counts = np.where(sizes >= fewest, np.minimum(sizes, per_group), 0)
        index = np.concatenate([kept, random[:1000]])
        ends = np.concatenate([[0], np.cumsum(counts), [index.size]]).astype(np.int64)
        return cls(_without_features(rows.take(index)), decision[index], ends)

    def among(self, group: Codes) -> GroupShiftCost:
        """Select rows of these groups; −1 is an unseen group."""
        last = self.starts.size - 2
        known = np.where(group < 0, last, group)
        empty = np.diff(self.starts)[known] == 0
        which = np.where(empty, last, known)
        return GroupShiftCost(self.rows, self.decision, self.starts, which)

    def take(self, rows: NDArray[np.intp]) -> GroupShiftCost:
        """Select rows to decide."""
        assert self.which is not None
        return GroupShiftCost(self.rows, self.decision, self.starts, self.which[rows])

    def thresholds(self, step: Array) -> Array:
        """Give the share of each row's step beyond which the next lot is cheaper."""
        return self._once(step, lot_thresholds)

    def at_each(self, shift: Array) -> Array:
        """Give the mean cost of each row's group, had its decisions been off by the row's shift."""
        return self._once(shift, lambda mean, value: mean(value))

    def _once(self, value: Array, answer: Callable[[Mean, Array], Array]) -> Array:
        """Ask for every pair of group and value once, block by block."""
        assert self.which is not None
        pairs, back = np.unique(
            np.stack([self.which.astype(np.float64), value]), axis=1, return_inverse=True
        )
        groups = pairs[0].astype(np.int64)
        counts = np.diff(self.starts)[groups]
        block = np.cumsum(counts) // 1_000_000  # rows that are shifted at once
        found = np.empty(groups.size)
        for number in np.unique(block):
            inside = block == number
            found[inside] = answer(self._mean(groups[inside], counts[inside]), pairs[1][inside])
        return found[back.reshape(-1)]

    def _mean(self, groups: Codes, counts: NDArray[np.int64]) -> Mean:
        """M of several groups as a function of one shift for each."""
        begin = np.cumsum(counts) - counts
        index = np.arange(counts.sum()) + np.repeat(self.starts[groups] - begin, counts)
        rows, decision = self.rows.take(index), self.decision[index]
        weight = np.ones(index.size) if rows.share is None else rows.share
        total = np.add.reduceat(weight, begin)

        def mean(shift: Array) -> Array:
            moved = decision + np.repeat(shift, counts)
            loss = rows.cost.loss(moved, rows.observation, rows.band)
            return np.asarray(np.add.reduceat(weight * loss, begin) / total)

        return mean


# --- Lots, bounds and minimum order quantities.


def to_lots(
    decision: Array,
    shift_cost: ShiftCost | GroupShiftCost,
    step: ArrayLike | None,
    lower: ArrayLike | None,
    upper: ArrayLike | None,
    minimum: ArrayLike | None = None,
) -> Array:
    """Round decisions to multiples of `step` between `lower` and `upper`; None is no limit.

    For a convex cost the result is the best allowed lot, because the best lot lies next to the
    decision and the cost rises on both sides. With a `minimum`, decisions are 0 or at least the
    minimum; see `DecisionModel.decide`.
    """
    n_rows = decision.size
    if minimum is None:
        room = read_room(step, lower, upper, n_rows)
        return _rounded(decision, shift_cost, room)
    least = expand("minimum", non_negative("minimum", minimum), n_rows)
    room = read_room(step, np.maximum(_limit("lower", lower, 0.0, n_rows), 0.0), upper, n_rows)
    start = room.up(least)  # the smallest order that is one
    lots = _rounded(decision, shift_cost, room)
    must = room.first > 0  # nothing is no choice
    rule = "minimum must leave a decision up to upper where lower is above 0"
    require(~must | (start <= room.last), rule, minimum=least, upper=room.last)
    # What is below the minimum goes up to it where that fits and costs less than going down to 0.
    small = np.flatnonzero((lots < start) & (start > 0))
    lots[small] = np.where(must[small], start[small], 0.0)
    choice = small[~must[small] & (start[small] <= room.last[small])]
    shifts = shift_cost.take(choice)
    up, down = shifts.at_each(start[choice] - decision[choice]), shifts.at_each(-decision[choice])
    worth = choice[up < down * (1.0 - 1e-12)]
    lots[worth] = start[worth]
    return lots


@dataclass(frozen=True)
class Room:
    """Range of allowed decisions of each row; every array has shape (n_rows,).

    Attributes
    ----------
    step : ndarray or None
        Size of a lot; None if fractions are allowed.
    first, last : ndarray
        Smallest and largest decision, multiples of the step; they may be infinite.
    """

    step: Array | None
    first: Array
    last: Array

    def up(self, value: Array) -> Array:
        """Round up to a lot."""
        return value if self.step is None else _whole(value / self.step, up=True) * self.step


def read_room(
    step: ArrayLike | None, lower: ArrayLike | None, upper: ArrayLike | None, n_rows: int
) -> Room:
    """Read lots and bounds; refuse rows without an allowed decision."""
    least = _limit("lower", lower, -np.inf, n_rows)
    most = _limit("upper", upper, np.inf, n_rows)
    if step is None:
        require(least <= most, "lower must be at most upper", lower=least, upper=most)
        return Room(None, least, most)
    lot = read_numbers("step", step, "a positive number or None", lambda number: number > 0)
    each = expand("step", lot, n_rows)
    first, last = _whole(least / each, up=True), _whole(most / each, up=False)
    rule = "lower and upper must have a multiple of step between them"
    require(first <= last, rule, lower=least, upper=most)
    return Room(each, first * each, last * each)


def _rounded(decision: Array, shift_cost: ShiftCost | GroupShiftCost, room: Room) -> Array:
    """Take the cheaper of the two lots beside a decision, as far as there is room."""
    each = room.step
    if each is None:
        return np.clip(decision, room.first, room.last)
    number = decision / each
    whole = _whole(number, up=False)
    slack = _slack(number)
    rounded = whole + (number - whole > np.maximum(shift_cost.thresholds(each), slack))
    lots: Array = np.clip(rounded * each, room.first, room.last)
    return lots + 0.0  # no negative zeros


def _limit(name: str, value: ArrayLike | None, none: float, n_rows: int) -> Array:
    if value is None:
        return np.full(n_rows, none)
    return expand(name, read_numbers(name, value, "a finite number or None"), n_rows)


def _slack(number: Array) -> Array:
    return ROUNDING * np.maximum(np.abs(number), 1.0)


def _whole(number: Array, *, up: bool) -> Array:
    """Count lots; what lies within rounding of a whole one is that one."""
    finite = np.where(np.isfinite(number), number, 0.0)
    whole = np.ceil(finite - _slack(finite)) if up else np.floor(finite + _slack(finite))
    return np.where(np.isfinite(number), whole, number)
