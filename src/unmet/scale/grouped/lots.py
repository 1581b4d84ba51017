"""Rounding to lots where every group has a spread of its own.

A lot of 12 is small for an item that sells by the hundred and large for one that sells by the
piece, so the threshold of `unmet.models.lots` is that of the row's group: all groups are bisected
at once. Groups that have no training rows, or too few, take that of all groups together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.models.lots import lot_thresholds
from unmet.rows import Rows
from unmet.scale.grouped.keys import Codes

Mean: TypeAlias = Callable[[Array], Array]
"""M of several groups as a function of one shift for each."""

_PER_GROUP = 50  # rows; what a shift costs is a mean, and a few digits of it decide
_OVERALL = 1000
_BLOCK = 1_000_000  # rows that are shifted at once


@dataclass(frozen=True)
class GroupShiftCost:
    """What a common shift of the decisions of a group costs, on some of its training rows.

    Attributes
    ----------
    rows : Rows
        Group after group, all groups together at the end; without features.
    decision : ndarray of shape (n_kept,)
    starts : ndarray of shape (n_groups + 2,)
        Where each group begins among these rows.
    which : ndarray of shape (n_rows,) or None
        Group of each row that is decided for, n_groups for all together.
    """

    rows: Rows
    decision: Array
    starts: NDArray[np.int64]
    which: Codes | None = None

    @classmethod
    def of(
        cls, rows: Rows, starts: NDArray[np.intp], decision: Array, fewest: int
    ) -> GroupShiftCost:
        """Keep a sample of each group, at random since data often cycle; always the same one."""
        order = np.random.default_rng(0).permutation(decision.size)
        sizes = np.diff(starts)
        codes = np.repeat(np.arange(sizes.size), sizes)[order]
        order = order[np.argsort(codes, kind="stable")]  # in each group at random
        rank = np.arange(order.size) - np.repeat(starts[:-1], sizes)
        kept = order[(rank < _PER_GROUP) & (np.repeat(sizes, sizes) >= fewest)]
        overall = np.random.default_rng(0).permutation(decision.size)[:_OVERALL]
        counts = np.where(sizes >= fewest, np.minimum(sizes, _PER_GROUP), 0)
        index = np.concatenate([kept, overall])
        taken = rows.take(index)
        bare = Rows(
            np.empty((index.size, 0)), taken.observation, taken.cost, taken.share, taken.band
        )
        ends = np.concatenate([[0], np.cumsum(counts), [index.size]]).astype(np.int64)
        return cls(bare, decision[index], ends)

    def among(self, group: Codes) -> GroupShiftCost:
        """Speak of rows of these groups; −1 is a group nobody has seen."""
        last = self.starts.size - 2
        known = np.where(group < 0, last, group)
        empty = np.diff(self.starts)[known] == 0
        return replace(self, which=np.where(empty, last, known))

    def take(self, rows: NDArray[np.intp]) -> GroupShiftCost:
        """Speak of some of the rows only."""
        return replace(self, which=self._groups[rows])

    def thresholds(self, step: Array) -> Array:
        """Share of each row's step beyond which the next lot is cheaper; as `ShiftCost` has it."""
        return self._once(step, lot_thresholds)

    def at_each(self, shift: Array) -> Array:
        """Mean cost of each row's group had its decisions been off by the row's shift."""
        return self._once(shift, lambda mean, value: mean(value))

    @property
    def _groups(self) -> Codes:
        assert self.which is not None
        return self.which

    def _once(self, value: Array, answer: Callable[[Mean, Array], Array]) -> Array:
        """Ask for every pair of group and value once, block by block."""
        pairs, back = np.unique(
            np.stack([self._groups.astype(np.float64), value]), axis=1, return_inverse=True
        )
        groups = pairs[0].astype(np.int64)
        counts = np.diff(self.starts)[groups]
        block = np.cumsum(counts) // _BLOCK
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
