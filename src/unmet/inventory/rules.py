"""Supply rules, the state of the stock, and shelves that fill and empty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.arrays import (
    Array,
    common_rows,
    expand,
    non_negative,
    positive,
    read_array,
    read_numbers,
)
from unmet.errors import InvalidInput
from unmet.validation import Number, OneOf

Unmet: TypeAlias = Literal["lost", "backordered"]

PerSeries: TypeAlias = ArrayLike | str | None
"""A number, one for each series, or the name of a column that has one for each series."""

MAX_PERIODS = 366
"""Longest lead time, review period and shelf life."""
_PERIODS = {"lead_time": 0, "review": 1, "shelf_life": 1}  # whole periods, and the fewest of them
NUMBERS = (
    *_PERIODS,
    *("holding", "shortage", "waste", "fixed", "lot", "minimum", "capacity"),
)
"""Rules that are numbers, which may differ by series."""


class SupplyRules:
    """Rules of supply: when orders arrive, how often you order, and what mistakes cost.

    You place an order between two periods. With a lead time of 0 it arrives when the next period
    begins, with a lead time of 2 when the third one begins. In each period, deliveries come first,
    then demand, then leftovers are counted.

    Each number may differ by series. In an `unmet.planning.OrderPlan` it may also be the name of a
    column; the last row of each series then counts.

    Parameters
    ----------
    lead_time : int, array-like of shape (n_series,), str or mapping, default=0
        Whole periods between an order and the first period that it can serve. Longer lead times
        give larger orders. If it varies, give a mapping from periods to their probabilities, or the
        probabilities of 0, 1, … periods for each series, (n_series, n_leads). A column that varies
        within a series gives the distribution of its values. Orders are assumed not to overtake
        each other.
    review : int, array-like of shape (n_series,) or str, default=1
        Periods from one order to the next. Longer reviews give larger orders.
    holding : float, array-like of shape (n_series,) or str, default=1
        Cost of a unit that is left at the end of a period. Larger values give smaller orders.
    shortage : float, array-like of shape (n_series,) or str, default=9
        Cost of a unit of demand that is not in stock. A backordered unit costs this in each period
        until it is delivered. Larger values give larger orders. A plan takes `holding` and
        `shortage` from its own cost if you do not give `shortage`.
    unmet : {"lost", "backordered"}, default="lost"
        Whether unmet demand is lost or waits.
    shelf_life : int, array-like of shape (n_series,) or str, default=None
        Number of periods in which a unit can be sold; the oldest is sold first. None is no limit.
    waste : float, array-like of shape (n_series,) or str, default=None
        Cost of a unit that spoils. None takes `holding`, which is the newsvendor for a shelf life
        of 1.
    fixed : float, array-like of shape (n_series,) or str, default=None
        Cost of each order, whatever its size. Larger values give fewer and larger orders. None is
        0.
    lot : float, array-like of shape (n_series,), str or None, default="auto"
        Orders are multiples of it. None allows any quantity. "auto" is 1 in a plan whose sales are
        all whole numbers, and None elsewhere.
    minimum : float, array-like of shape (n_series,) or str, default=None
        Orders are 0 or at least this. None is no minimum.
    capacity : float, array-like of shape (n_series,) or str, default=None
        Largest order. None is no limit.
    budget : float, default=None
        Largest sum of all orders together, in units. None is no limit.

    Examples
    --------
    >>> from unmet.inventory import SupplyRules
    >>> rules = SupplyRules(lead_time=3, holding=0.2, shortage=1)
    >>> rules.periods(1)
    4
    """

    def __init__(
        self,
        lead_time: PerSeries | Mapping[int, float] = 0,
        review: PerSeries = 1,
        *,
        holding: PerSeries = None,
        shortage: PerSeries = None,
        unmet: Unmet = "lost",
        shelf_life: PerSeries = None,
        waste: PerSeries = None,
        fixed: PerSeries = None,
        lot: PerSeries = "auto",
        minimum: PerSeries = None,
        capacity: PerSeries = None,
        budget: float | None = None,
    ) -> None:
        OneOf("lost", "backordered")("unmet", unmet)
        self.unmet = unmet
        self.budget = None if budget is None else Number(least=0)("budget", budget)
        self.lead_time = _read_lead_time(lead_time)
        self.review = _read("review", review)
        if holding is not None and shortage is None:
            raise InvalidInput("shortage must be given with holding: add it.")
        self.costs_given = shortage is not None
        self.holding = _read("holding", 1.0 if holding is None else holding)
        self.shortage = _read("shortage", 9.0 if shortage is None else shortage)
        self.shelf_life = _read("shelf_life", shelf_life)
        self.waste = _read("waste", waste)
        self.fixed = _read("fixed", 0.0 if fixed is None else fixed)
        self.auto_lot = isinstance(lot, str) and lot == "auto"
        self.lot = None if self.auto_lot else _read("lot", lot)
        self.minimum = _read("minimum", 0.0 if minimum is None else minimum)
        self.capacity = _read("capacity", capacity)
        common_rows({name: value for name, value in vars(self).items() if np.ndim(value) == 1})

    @property
    def given(self) -> dict[str, Any]:
        """Parameters, as the constructor takes them."""
        kept = {name: getattr(self, name) for name in (*NUMBERS, "unmet", "budget")}
        kept["lot"] = "auto" if self.auto_lot else self.lot
        if not self.costs_given:
            kept |= {"holding": None, "shortage": None}
        return kept

    def __repr__(self) -> str:
        return f"SupplyRules({', '.join(f'{name}={each}' for name, each in self.given.items())})"

    @property
    def columns(self) -> dict[str, str]:
        """Columns that hold numbers, by the name of the number."""
        named = {name: getattr(self, name) for name in NUMBERS}
        return {name: value for name, value in named.items() if isinstance(value, str)}

    def replace(self, **changed: Any) -> SupplyRules:
        """Give the same rules with other numbers."""
        return SupplyRules(**{**self.given, **changed})

    def take(self, rows: NDArray[np.intp], n_series: int) -> SupplyRules:
        """Give the rules of some of the series."""
        own = {}
        for name in NUMBERS:
            value = getattr(self, name)
            if isinstance(value, np.ndarray) and value.ndim and len(value) > (value.ndim > 1):
                _refuse_other_rows(name, value, n_series)
                own[name] = value[rows]
        return self.replace(**own)

    def rows(self, name: str, n_series: int) -> Array:
        """Give one of the numbers, with an entry for each series."""
        if name == "waste" and self.waste is None:
            name = "holding"
        return expand(name, getattr(self, name), n_series)

    def whole(self, name: str, n_series: int) -> NDArray[np.intp]:
        """Give one of the numbers of periods, with an entry for each series."""
        value: NDArray[np.intp] = getattr(self, name)
        if name == "lead_time" and self.varies:  # half of the deliveries are there by then
            value = self.leads(n_series, np.array([0.5]))[:, 0]
        _refuse_other_rows(name, value, n_series)
        return np.broadcast_to(value, n_series)

    @property
    def varies(self) -> bool:
        """Whether lead times are drawn from a distribution."""
        return bool(np.ndim(self.lead_time) > 1)

    def late(self, n_series: int, n_periods: int) -> Array:
        """Give the chance that an order is late in each coming period, (n_series, n_periods)."""
        if not self.varies:
            lead = self.whole("lead_time", n_series)
            return (np.arange(n_periods) < lead[:, None]).astype(np.float64)
        _refuse_other_rows("lead_time", self.lead_time, n_series)
        reached = np.minimum(np.cumsum(self.lead_time, axis=1), 1.0)
        reached[:, -1] = 1.0
        more = max(n_periods - reached.shape[1], 0)
        reached = np.pad(reached, ((0, 0), (0, more)), constant_values=1.0)[:, :n_periods]
        return np.broadcast_to(1.0 - reached, (n_series, n_periods))

    def leads(self, n_series: int, at: Array | int) -> NDArray[np.intp]:
        """Give lead times at levels of their distribution; a number is that many even levels.

        All series have the same levels, in random order.
        """
        if not isinstance(at, np.ndarray):
            at = (np.random.default_rng([at, 1]).permutation(at) + 0.5) / at
        if not self.varies:
            return np.broadcast_to(self.whole("lead_time", n_series)[:, None], (n_series, at.size))
        found = np.zeros((n_series, at.size), dtype=np.intp)
        for late in self.late(n_series, self.longest(n_series)).T:
            found += late[:, None] > 1.0 - at + 1e-12
        return found

    def longest(self, n_series: int) -> int:
        """Give the longest lead time."""
        if not self.varies:
            return int(self.whole("lead_time", n_series).max())
        return int(np.flatnonzero((self.lead_time > 0).any(axis=0)).max())

    def periods(self, n_series: int, reviews: int = 1) -> int:
        """Count the periods that an order depends on: until the next arrives, or it spoils.

        Parameters
        ----------
        n_series : int
            Number of series.
        reviews : int, default=1
            Largest number of reviews that an order may last; more than one with a fixed cost.
        """
        covered = reviews * self.whole("review", n_series)
        if self.shelf_life is not None:
            covered = np.maximum(covered, self.whole("shelf_life", n_series))
        if self.varies:
            return int(self.longest(n_series) + covered.max())
        return int((self.whole("lead_time", n_series) + covered).max())

    @property
    def lasting(self) -> bool:
        """Whether leftovers never spoil."""
        return self.shelf_life is None


def _refuse_other_rows(name: str, value: NDArray[Any], n_series: int) -> None:
    if value.ndim and len(value) not in ((1, n_series) if value.ndim > 1 else (n_series,)):
        raise InvalidInput(
            f"{name} must have one entry for each of {n_series:,} series, got {len(value):,}."
        )


def _read_lead_time(value: PerSeries | Mapping[int, float]) -> Any:
    """Read lead times, or chances of 0, 1, … periods, a row for each series."""
    chances: Any = value
    if isinstance(value, Mapping):
        periods = _read("lead_time", list(value))
        chances = np.zeros((1, int(np.max(periods, initial=0)) + 1))
        np.add.at(chances[0], periods, read_array("lead_time", list(value.values())))
    elif isinstance(value, str) or value is None or np.ndim(value) < 2:
        return _read("lead_time", value)
    chances = np.asarray(chances, dtype=np.float64)
    wrong = ~(chances >= 0) | (np.abs(chances.sum(axis=1, keepdims=True) - 1.0) > 1e-6)
    if chances.ndim != 2 or chances.shape[1] > MAX_PERIODS + 1 or wrong.any():
        raise InvalidInput(
            "lead_time must have chances from 0 to 1 that add up to 1, such as 3:.6,4:.4, got "
            f"{value!r:.60}."
        )
    return chances


def _read(name: str, value: PerSeries) -> Any:
    """Read a number for all series, an array of one for each, or the name of a column."""
    if value is None or isinstance(value, str):
        return value
    if name not in _PERIODS:
        above = name in ("shortage", "lot", "capacity")
        return positive(name, value) if above else non_negative(name, value)
    found = read_array(name, value)
    least = _PERIODS[name]
    if found.ndim > 1:
        raise InvalidInput(f"{name} must be a number or a column, got {found.ndim} dimensions.")
    bad = (found != np.round(found)) | (found < least) | (found > MAX_PERIODS)
    if bad.any():
        raise InvalidInput(
            f"{name} must be a whole number of periods from {least} to {MAX_PERIODS}, got "
            f"{found[bad].flat[0]:g}."
        )
    return found.astype(np.intp)


# --- What is there and on its way.


@dataclass(frozen=True, init=False, eq=False)
class StockState:
    """Stock on hand, and orders on their way by the period in which they arrive.

    Parameters
    ----------
    on_hand : float or array-like of shape (n_series,), default=0
        Units on the shelf. A negative number is backorders.
    on_order : array-like of shape (n_series, n_periods), default=None
        Units that arrive when the first coming period begins, the second, and so on. None is no
        order.

    Examples
    --------
    >>> from unmet.inventory import StockState
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
        """Number of series."""
        return int(self.on_hand.size)

    @property
    def position(self) -> Array:
        """Stock on hand plus all orders on their way."""
        return np.asarray(self.on_hand + self.on_order.sum(axis=1))

    def arrivals(self, n_periods: int) -> Array:
        """Give the units that arrive in each coming period.

        Parameters
        ----------
        n_periods : int
            Number of coming periods.

        Returns
        -------
        ndarray of shape (n_series, n_periods)
            Units.
        """
        found = np.zeros((self.n_series, n_periods))
        width = min(n_periods, self.on_order.shape[1])
        found[:, :width] = self.on_order[:, :width]
        return found

    def check(self, rules: SupplyRules, n_series: int) -> None:
        """Refuse a state that does not fit the rules."""
        if self.n_series != n_series:
            raise InvalidInput(
                f"state must have one entry for each of {n_series:,} series, got {self.n_series:,}."
            )
        if rules.unmet == "lost" and (self.on_hand < 0).any():
            raise InvalidInput(
                "on_hand must be 0 or more if unmet demand is lost, "
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


# --- Shelves that fill and empty: one period of many series, and of many copies of them, at once.


class Shelves:
    """Stock by the number of periods in which it can still be sold, the oldest first.

    Parameters
    ----------
    on_hand : ndarray of shape (n_series, …)
        Units on the shelf, taken to be fresh; a negative number is backorders. Further axes are
        copies of the series, such as sample paths or policies.
    rules : SupplyRules
        Costs, shelf life, and what happens to unmet demand.

    Attributes
    ----------
    stock : ndarray of shape (n_series, …, n_ages)
        Units by the number of periods left.
    owed : ndarray of shape (n_series, …)
        Backorders; zero if unmet demand is lost.
    sold, unmet : ndarray of shape (n_series, …)
        Demand of the last period that was met at once, and that was not.
    spoiled : ndarray of shape (n_series, …)
        Units that spoiled at the end of the last period.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.inventory import SupplyRules
    >>> from unmet.inventory.rules import Shelves
    >>> shelves = Shelves(np.array([5.0]), SupplyRules(holding=0.2, shortage=1))
    >>> shelves.deliver(np.array([3.0]))
    >>> shelves.sell(np.array([10.0]))
    >>> shelves.left, shelves.short, shelves.cost()
    (array([0.]), array([2.]), array([2.]))
    """

    def __init__(self, on_hand: Array, rules: SupplyRules) -> None:
        on_hand = np.asarray(on_hand, dtype=np.float64)
        self.rules = rules
        self._lost = rules.unmet == "lost"
        n_series = on_hand.shape[0]
        ages = 1
        self._fresh = None
        if rules.shelf_life is not None:
            life = rules.whole("shelf_life", n_series)
            ages = int(life.max())
            if (life != ages).any():  # the place of fresh units differs
                marks = np.arange(ages) == life[:, None] - 1
                self._fresh = marks.reshape(n_series, *(1,) * (on_hand.ndim - 1), ages)
        self.stock = np.zeros((*on_hand.shape, ages))
        self.owed = np.zeros(on_hand.shape)
        self.deliver(np.maximum(on_hand, 0.0))
        if not self._lost:
            self.owed = np.maximum(-on_hand, 0.0)

    @property
    def on_hand(self) -> Array:
        """Units on the shelves minus backorders."""
        return np.asarray(self.left - self.owed)

    @property
    def left(self) -> Array:
        """Units on the shelves."""
        return np.asarray(self.stock.sum(axis=-1))

    @property
    def short(self) -> Array:
        """Missing units of the last period; backorders count in each period that they wait."""
        return self.unmet if self._lost else self.owed

    def deliver(self, units: Array) -> None:
        """Serve backorders, and put the remaining fresh units on the shelves.

        Parameters
        ----------
        units : ndarray of shape (n_series, …)
            Delivered units.
        """
        if not self._lost:
            served = np.minimum(self.owed, units)
            self.owed = self.owed - served
            units = units - served
        if self._fresh is None:
            self.stock[..., -1] += units
        else:
            self.stock += self._fresh * np.asarray(units)[..., None]

    def sell(self, demand: Array) -> None:
        """Meet the demand of a period from the oldest units first, and end the period.

        Parameters
        ----------
        demand : ndarray of shape (n_series, …)
            Demanded units.
        """
        if self.rules.lasting:
            there = self.stock[..., 0]
            sold = np.minimum(there, demand)
            left = there - sold
            self.stock = left[..., None]
            unmet, spoiled = demand - sold, np.zeros_like(left)
        else:
            unmet = np.array(np.broadcast_to(demand, self.stock.shape[:-1]), dtype=np.float64)
            rest = np.zeros_like(self.stock)
            for age in range(self.stock.shape[-1]):
                there = self.stock[..., age]
                sold = np.minimum(there, unmet)
                unmet -= sold
                if age:
                    np.subtract(there, sold, out=rest[..., age - 1])
                else:
                    spoiled = there - sold
            self.stock, sold = rest, demand - unmet
        if not self._lost:
            self.owed = self.owed + unmet
        self.sold, self.unmet, self.spoiled = sold, unmet, spoiled

    def cost(self) -> Array:
        """Compute the cost of the last period, without that of orders."""
        axes = (slice(None), *(None,) * (self.sold.ndim - 1))
        n_series = self.sold.shape[0]
        holding, shortage, waste = (
            self.rules.rows(name, n_series)[axes] for name in ("holding", "shortage", "waste")
        )
        return np.asarray(holding * self.left + shortage * self.short + waste * self.spoiled)
