"""What holds in a shop: how long deliveries take, what becomes of unmet demand and of leftovers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.arrays import Array, Numbers, common_rows, expand, non_negative, positive, read_array
from unmet.checks import OneOf
from unmet.errors import InvalidInput

Unmet: TypeAlias = Literal["lost", "backordered"]

MAX_PERIODS = 366
"""Longest lead time, review period and shelf life."""


@dataclass(frozen=True, init=False, eq=False)
class SupplyRules:
    """The rules that orders live by.

    An order is placed between two periods. With a lead time of 0 it is there when the next period
    begins, with one of 2 when the third does. Every period, deliveries come first, then demand,
    then leftovers are counted.

    Parameters
    ----------
    lead_time : int or array-like of shape (n_series,), default=0
        Whole periods between an order and the beginning of the first one that it can serve.
    review : int or array-like of shape (n_series,), default=1
        Periods from one order to the next.
    holding, shortage : float or array-like of shape (n_series,), default=1 and 9
        What a unit costs that is left at the end of a period, and one that is asked for and not
        there; a backordered one costs this every period until it is delivered.
    unmet : {"lost", "backordered"}, default="lost"
        What happens to unmet demand.
    shelf_life : int or array-like of shape (n_series,), default=None
        Periods in which a unit can be sold, the oldest being sold first; None: for ever.
    waste : float or array-like of shape (n_series,), default=None
        What a unit costs that spoils, by default `holding`. With a shelf life of 1 that is the
        newsvendor.
    fixed : float or array-like of shape (n_series,), default=0
        What every order costs, whatever its size.
    lot : float or array-like of shape (n_series,), default=None
        Orders are multiples of it.
    minimum : float or array-like of shape (n_series,), default=0
        Orders are nothing or at least this.
    capacity : float or array-like of shape (n_series,), default=None
        Most units of one order.

    Examples
    --------
    >>> from unmet.replenishment import SupplyRules
    >>> rules = SupplyRules(lead_time=3, holding=0.2, shortage=1)
    >>> rules.periods(1)
    4
    >>> SupplyRules(lead_time=1.5)
    Traceback (most recent call last):
    ...
    unmet.errors.InvalidInput: lead_time must be whole periods from 0 to 366, got 1.5.
    """

    lead_time: NDArray[np.intp]
    review: NDArray[np.intp]
    holding: Numbers
    shortage: Numbers
    unmet: Unmet
    shelf_life: NDArray[np.intp] | None
    waste: Numbers
    fixed: Numbers
    lot: Numbers | None
    minimum: Numbers
    capacity: Numbers | None

    def __init__(
        self,
        lead_time: ArrayLike = 0,
        review: ArrayLike = 1,
        *,
        holding: ArrayLike = 1.0,
        shortage: ArrayLike = 9.0,
        unmet: Unmet = "lost",
        shelf_life: ArrayLike | None = None,
        waste: ArrayLike | None = None,
        fixed: ArrayLike = 0.0,
        lot: ArrayLike | None = None,
        minimum: ArrayLike = 0.0,
        capacity: ArrayLike | None = None,
    ) -> None:
        OneOf("lost", "backordered")("unmet", unmet)
        held = non_negative("holding", holding)
        read: dict[str, Any] = {
            "lead_time": _periods("lead_time", lead_time, 0),
            "review": _periods("review", review, 1),
            "holding": held,
            "shortage": positive("shortage", shortage),
            "unmet": unmet,
            "shelf_life": None if shelf_life is None else _periods("shelf_life", shelf_life, 1),
            "waste": held if waste is None else non_negative("waste", waste),
            "fixed": non_negative("fixed", fixed),
            "lot": None if lot is None else positive("lot", lot),
            "minimum": non_negative("minimum", minimum),
            "capacity": None if capacity is None else positive("capacity", capacity),
        }
        common_rows({name: value for name, value in read.items() if np.ndim(value) == 1})
        for name, value in read.items():
            object.__setattr__(self, name, value)

    def rows(self, name: str, n_series: int) -> Array:
        """One of the numbers, with an entry for each series."""
        return expand(name, getattr(self, name), n_series)

    def whole(self, name: str, n_series: int) -> NDArray[np.intp]:
        """One of the numbers of periods, with an entry for each series."""
        value: NDArray[np.intp] = getattr(self, name)
        if value.ndim and value.size != n_series:
            raise InvalidInput(
                f"{name} must have one entry for each of {n_series:,} series, got {value.size:,}."
            )
        return np.broadcast_to(value, n_series)

    def periods(self, n_series: int, reviews: int = 1) -> int:
        """How many coming periods an order depends on: until the next one arrives, or it spoils.

        Parameters
        ----------
        n_series : int
        reviews : int, default=1
            For how many reviews an order may be meant; more than one where it has a fixed cost.
        """
        covered = reviews * self.whole("review", n_series)
        if self.shelf_life is not None:
            covered = np.maximum(covered, self.whole("shelf_life", n_series))
        return int((self.whole("lead_time", n_series) + covered).max())

    @property
    def lasting(self) -> bool:
        """Whether leftovers never spoil."""
        return self.shelf_life is None


def _periods(name: str, value: ArrayLike, least: int) -> NDArray[np.intp]:
    """Read whole numbers of periods."""
    found = read_array(name, value)
    if found.ndim > 1:
        raise InvalidInput(f"{name} must be a number or a column, got {found.ndim} dimensions.")
    bad = (found != np.round(found)) | (found < least) | (found > MAX_PERIODS)
    if bad.any():
        raise InvalidInput(
            f"{name} must be whole periods from {least} to {MAX_PERIODS}, "
            f"got {found[bad].flat[0]:g}."
        )
    return found.astype(np.intp)
