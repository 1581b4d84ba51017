"""Lots for decisions whose truth is known as equally likely values of each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.band import Array
from unmet.costs import Cost
from unmet.models.lots import read_room

Flags: TypeAlias = NDArray[np.bool_]

_AT_ONCE = 4_000_000  # numbers that are priced together
_ROUNDING = 1e-9  # of a lot: a decision this close below one is meant to be that one


@dataclass(frozen=True)
class Outlook:
    """What the truth of each row may be, and what mistakes cost there.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_values)
        Equally likely.
    cost : Cost
        With numbers, or one entry per row.
    """

    values: Array
    cost: Cost

    def mean_cost(self, decision: Array) -> Array:
        """Mean cost of each row's decision, of shape (n_rows,)."""
        n_rows, n_values = self.values.shape
        paid = np.empty(n_rows)
        for rows in chunks(n_rows, n_values):
            each = np.repeat(rows, n_values)
            priced = self.cost.take(each).cost(decision[each], self.values[rows].ravel())
            paid[rows] = priced.reshape(rows.size, n_values).mean(axis=1)
        return paid

    def up_is_cheaper(self, down: Array, up: Array) -> Flags:
        """Whether the upper of two decisions costs less, in each row."""
        return np.asarray(self.mean_cost(up) < self.mean_cost(down))


def rounded(
    decision: Array,
    up_is_cheaper: Callable[[Array, Array], Flags],
    step: ArrayLike | None,
    lower: ArrayLike | None,
    upper: ArrayLike | None,
) -> Array:
    """Of the two lots beside a decision the cheaper one, the lower where both cost the same."""
    room = read_room(step, lower, upper, decision.size)
    inside = np.clip(decision, room.first, room.last)
    if room.step is None:
        return np.asarray(inside)
    down = np.clip(np.floor(inside / room.step + _ROUNDING) * room.step, room.first, room.last)
    up = np.clip(down + room.step, room.first, room.last)
    return np.asarray(np.where(up_is_cheaper(down, up), up, down) + 0.0)


def chunks(n_rows: int, per_row: int) -> list[NDArray[np.intp]]:
    """Rows in portions whose numbers fit into memory together."""
    size = max(_AT_ONCE // max(per_row, 1), 1)
    return [np.arange(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
