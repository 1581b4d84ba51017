"""Costs that fall until the truth and jump there: what makes them trainable all the same."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.arrays import Array, Band, read_array
from unmet.costs.base import Aligned, Cost


class JumpCost(Cost):
    """A cost that does not rise until t = s + high, jumps up there, and is constant beyond it.

    Two things follow, whatever the details. A sum of such costs in one common decision is least at
    one of the t: between two of them it falls. So `shift_totals` finds the best decision by sorting
    (`unmet.solvers.descent.jumps`). The mean over a box [y − w/2, y + w/2] is known in closed form,
    which a quasi-Newton method can follow where the cost itself has jumps that no gradient sees.
    """

    @abstractmethod
    def in_time(self, rows: Aligned, decision: Array) -> Array:
        """Cost of decisions before t."""

    @abstractmethod
    def in_time_area(self, rows: Aligned, left: Array, right: Array) -> Array:
        """Integral of the part before t over decisions from `left` to `right`."""

    @abstractmethod
    def late(self, rows: Aligned) -> Array:
        """Cost of every decision beyond t."""

    @abstractmethod
    def in_time_totals(self, rows: Aligned, weight: Array, walk: Walk) -> Array:
        """Sum of the part before t over the rows in time, with each shift of the walk added."""

    def box_mean(
        self, decision: ArrayLike, width: float, observation: ArrayLike, band: Band | None = None
    ) -> tuple[Array, Array]:
        """Mean of the loss over decisions within half a `width`, and its slope, for each row.

        Parameters
        ----------
        decision, observation : float or array-like of shape (n_rows,)
        width : float
            Positive.
        band : Band, optional

        Returns
        -------
        mean, slope : ndarray of shape (n_rows,)
        """
        rows = self.align(decision, observation, band)
        left, right = rows.decision - 0.5 * width, rows.decision + 0.5 * width
        edge = np.clip(rows.top, left, right)
        with np.errstate(over="ignore", invalid="ignore"):
            late = self.late(rows)
            mean = (self.in_time_area(rows, left, edge) + late * (right - edge)) / width
            above = np.where(right > rows.top, late, self.in_time(rows, right))
            below = np.where(left > rows.top, late, self.in_time(rows, left))
            return np.asarray(mean), np.asarray((above - below) / width)

    def shift_totals(
        self,
        base: ArrayLike,
        observation: ArrayLike,
        band: Band | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Total cost of the decisions ``base + shift``, at every shift that can be the best.

        Parameters
        ----------
        base, observation : float or array-like of shape (n_rows,)
        band : Band, optional
        sample_weight : float or array-like of shape (n_rows,), optional

        Returns
        -------
        shift, total : ndarray of shape (n_rows,)
            Shifts in ascending order: those that bring a row to its t. Sorting and running sums;
            many different discount rates take a pass each.
        """
        rows = self.align(base, observation, band)
        weight = np.ones(1) if sample_weight is None else read_array("sample_weight", sample_weight)
        weight = np.broadcast_to(weight, rows.decision.shape)
        walk = Walk.of(rows.top - rows.decision)
        late = walk.below(weight * self.late(rows))
        return walk.shift, late + self.in_time_totals(rows, weight, walk)


@dataclass(frozen=True)
class Walk:
    """Shifts in ascending order, and sums over the rows on either side of each.

    Attributes
    ----------
    shift : ndarray of shape (n_rows,)
    order : ndarray of shape (n_rows,)
        Row of each shift.
    first, last : ndarray of shape (n_rows,)
        Where the ties of each shift begin, and end (exclusive).
    """

    shift: Array
    order: NDArray[np.intp]
    first: NDArray[np.intp]
    last: NDArray[np.intp]

    @classmethod
    def of(cls, shift: Array) -> Self:
        """Sort them."""
        order = np.argsort(shift, kind="stable")
        sorted_shift = shift[order]
        first = np.searchsorted(sorted_shift, sorted_shift, side="left")
        last = np.searchsorted(sorted_shift, sorted_shift, side="right")
        return cls(sorted_shift, order, first, last)

    def below(self, values: Array) -> Array:
        """Sum over the rows whose own shift is smaller."""
        return _running(values[self.order])[self.first]

    def not_below(self, values: Array) -> Array:
        """Sum over the rows whose own shift is as large or larger."""
        return _running(values[self.order][::-1])[::-1][self.first]

    def above(self, values: Array) -> Array:
        """Sum over the rows whose own shift is larger."""
        return _running(values[self.order][::-1])[::-1][self.last]


def _running(values: Array) -> Array:
    """Sum of everything before each place, and of all at the end."""
    sums = np.zeros(values.size + 1)
    np.cumsum(values, out=sums[1:])
    return sums
