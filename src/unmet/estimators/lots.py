"""Rounding decisions to lots the cheaper way.

Lots come in multiples of a step L, and a decision y lies a share f of the way from one lot to the
next. Going down shifts it by −fL, going up by (1 − f)L. What a shift costs is known from the
training rows: M(δ), the mean cost had every decision been larger by δ. Up is cheaper where
M((1 − f)L) < M(−fL), and as M is convex that holds for all f beyond one threshold.

The two limits for a newsvendor of level α show what the threshold means. Where lots are small
against the spread of the truth, M is a parabola near its minimum and the nearest lot is best:
½. Where they are large, the truth is close to y, down costs α·fL and up (1 − α)(1 − f)L: 1 − α.
Between the two, the training rows decide.

A minimum order quantity is the same question once more: a decision below it goes down to 0 or up to
the minimum, whichever shift costs less.
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
    """M: what a common shift of all decisions costs, on a sample of the training rows."""

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

        Of the rows only what evaluates a decision is kept.
        """
        if rows.n_rows > 1000:  # more would slow down small fits for a digit nobody needs
            index = _sample(rows.n_rows)
            rows, decision = rows.take(index), decision[index]
        return cls(_without_features(rows), decision)

    def thresholds(self, step: Array) -> Array:
        """Share of each row's step beyond which the next lot is cheaper."""
        steps, which = np.unique(step, return_inverse=True)
        return lot_thresholds(self._each, steps)[which]

    def take(self, rows: NDArray[np.intp]) -> ShiftCost:  # noqa: ARG002
        """Speak of some of the rows that are decided for: the same for all of them."""
        return self

    def at_each(self, shift: Array) -> Array:
        """M of many shifts, of shape (n_shifts,); beyond a few thousand it is interpolated."""
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
    """Share of each step beyond which the next lot is cheaper; ½ where both cost the same.

    `mean` gives M of one shift for each step, and may be another function for each of them.
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
    """What a common shift of the decisions of a group costs, on some of its training rows.

    Parameters
    ----------
    rows : Rows
        Group after group, all groups together at the end; without features.
    decision : ndarray of shape (n_kept,)
    starts : ndarray of shape (n_groups + 2,)
        Where each group begins among these rows.
    which : ndarray of shape (n_rows,) or None
        Group of each row that is decided for, n_groups for all together.
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
        """Keep a sample of each group, at random since data often cycle; always the same one."""
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
        """Speak of rows of these groups; −1 is a group nobody has seen."""
        last = self.starts.size - 2
        known = np.where(group < 0, last, group)
        empty = np.diff(self.starts)[known] == 0
        which = np.where(empty, last, known)
        return GroupShiftCost(self.rows, self.decision, self.starts, which)

    def take(self, rows: NDArray[np.intp]) -> GroupShiftCost:
        """Speak of some of the rows only."""
        assert self.which is not None
        return GroupShiftCost(self.rows, self.decision, self.starts, self.which[rows])

    def thresholds(self, step: Array) -> Array:
        """Share of each row's step beyond which the next lot is cheaper; as `ShiftCost` has it."""
        return self._once(step, lot_thresholds)

    def at_each(self, shift: Array) -> Array:
        """Mean cost of each row's group had its decisions been off by the row's shift."""
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

    A cost that is convex makes the answer the best of the allowed lots, as its best lot lies next
    to the decision and the cost climbs on both sides of it. With a `minimum`, decisions are 0 or
    at least that; see `DecisionModel.decide`.
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
    """Which decisions are allowed in each row, every array of shape (n_rows,).

    Attributes
    ----------
    step : ndarray or None
        Size of a lot; None where fractions are allowed.
    first, last : ndarray
        Least and greatest decision, multiples of the step; they may be infinite.
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
    """Lots between bounds; refuses rows that have none."""
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
