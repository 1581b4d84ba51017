"""What is on the shelf and on its way, read and checked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from unmet.arrays import Array, expand, read_array, read_numbers
from unmet.errors import InvalidInput
from unmet.replenishment.rules import SupplyRules


@dataclass(frozen=True, init=False, eq=False)
class StockState:
    """Stock on hand, and orders on the way by the period in which they arrive.

    Parameters
    ----------
    on_hand : float or array-like of shape (n_series,), default=0
        Units on the shelf. Below 0 are backorders, where demand waits.
    on_order : array-like of shape (n_series, n_periods), default=None
        Units that arrive when the first coming period begins, the second, …

    Examples
    --------
    >>> from unmet.replenishment import StockState
    >>> state = StockState(on_hand=[4, 0], on_order=[[0, 6], [2, 0]])
    >>> state.position
    array([10.,  2.])
    """

    on_hand: Array
    on_order: Array

    def __init__(self, on_hand: ArrayLike = 0.0, on_order: ArrayLike | None = None) -> None:
        shelf = read_numbers("on_hand", on_hand)
        coming = np.zeros((np.size(shelf), 0)) if on_order is None else _matrix(on_order)
        if np.ndim(shelf) and np.size(shelf) != len(coming):
            raise InvalidInput(
                f"on_order must have a row for each of {np.size(shelf):,} series, "
                f"got {len(coming):,}."
            )
        object.__setattr__(self, "on_hand", np.array(expand("on_hand", shelf, len(coming))))
        object.__setattr__(self, "on_order", coming)

    @property
    def n_series(self) -> int:
        """How many series."""
        return int(self.on_hand.size)

    @property
    def position(self) -> Array:
        """Stock on hand and all that is on its way."""
        return np.asarray(self.on_hand + self.on_order.sum(axis=1))

    def arrivals(self, n_periods: int) -> Array:
        """Units that arrive in each of the coming periods, (n_series, n_periods)."""
        found = np.zeros((self.n_series, n_periods))
        width = min(n_periods, self.on_order.shape[1])
        found[:, :width] = self.on_order[:, :width]
        return found

    def check(self, rules: SupplyRules, n_series: int) -> None:
        """Refuse a state that does not fit the rules, in one sentence."""
        if self.n_series != n_series:
            raise InvalidInput(
                f"state must have one entry for each of {n_series:,} series, got {self.n_series:,}."
            )
        if rules.unmet == "lost" and (self.on_hand < 0).any():
            raise InvalidInput(
                "on_hand must be 0 or more where unmet demand is lost, "
                f"got {self.on_hand[self.on_hand < 0][0]:g}."
            )


def _matrix(value: ArrayLike) -> Array:
    found = np.asarray(value, dtype=np.float64)
    if found.ndim != 2:
        raise InvalidInput(
            "on_order must have a row for each series and a column for each coming period, "
            f"got {found.ndim} dimensions."
        )
    read_array("on_order", found.ravel())
    if (found < 0).any():
        raise InvalidInput(f"on_order must be 0 or more, got {found[found < 0][0]:g}.")
    return found
