"""Sales by the hour: a record of series × days × 24 hours, and what follows from it.

Hours are those that the clock on the wall shows: a day on which clocks change has 24 of them as any
other, one of them twice as long or empty.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.errors import InvalidInput
from unmet.tables.reading import as_polars
from unmet.tables.schema import is_place
from unmet.validation import Maybe, WholeNumber

if TYPE_CHECKING:
    import polars

HOURS = 24
_WINDOW = 0.02  # share of sales before opening and after closing that is taken for none
_UNIT_SHARE, _UNIT_FITS = 0.2, 0.9
_MAX_VALUES = 200_000  # sales that tell the unit
_OTHER_WINDOW = 2  # hours by which a weekday's opening hours differ from those of others
_MIN_UNITS = 50.0  # sales of a weekday that tell its opening hours
#: A day without any sale is one on which the shop was closed if it has so many items, and sells so
#: many units on others.
_CLOSED_ITEMS, _CLOSED_UNITS = 3, 8.0
Places = NDArray[np.intp]


@dataclass(frozen=True)
class HourlySales:
    """Sales of each series, day and hour.

    Attributes
    ----------
    sales : ndarray of shape (n_series, n_days, 24)
        NaN on days of which nothing is known.
    first_day : datetime.date
    keys : polars.DataFrame
        The columns that tell series apart, a row for each series.
    open : ndarray of bool, shape (n_series, 24)
        Hours in which the shop sells.
    stock_out : ndarray of bool, shape (n_series, n_days, 24), or None
        True where the shelf was empty, where somebody wrote that down.
    groups : mapping of str to ndarray of shape (n_series,)
        Numbers that series share: of the same shop, item, category.
    special : ndarray of shape (n_series, n_days) or None
        1 on days with a promotion, where a column says so.
    daily : polars.DataFrame or None
        A row for each series and day, with the day's sales: what ``unmet plan`` plans from.
    date : str
        Name of the column of dates.
    notes : tuple of str
        What a reader should know of the table.
    """

    sales: Array
    first_day: datetime.date
    keys: polars.DataFrame
    open: NDArray[np.bool_]
    stock_out: NDArray[np.bool_] | None = None
    groups: Mapping[str, Places] = field(default_factory=dict)
    special: Array | None = None
    daily: polars.DataFrame | None = None
    date: str = "date"
    notes: tuple[str, ...] = ()

    @classmethod
    def from_arrays(
        cls,
        sales: Any,
        first_day: datetime.date | str,
        *,
        stock_out: Any = None,
        groups: Mapping[str, Any] | None = None,
        keys: Any = None,
        opens: int | None = None,
        closes: int | None = None,
    ) -> HourlySales:
        """Take sales as an array.

        Parameters
        ----------
        sales : array-like of shape (n_series, n_days, 24)
            NaN where nothing is known of a day. Returns (below 0) are netted within their day.
        first_day : date or str such as "2024-05-31"
        stock_out : array-like of the same shape, optional
            True or 1 where the shelf was empty.
        groups : mapping of str to array-like of shape (n_series,), optional
            What series have in common: shop, item, category.
        keys : table with n_series rows, optional
            Names of the series.
        opens, closes : int, optional
            First hour in which the shop sells, and the hour at which it closes; found out if not
            said.

        Returns
        -------
        HourlySales

        Examples
        --------
        >>> import numpy as np
        >>> sales = np.zeros((1, 2, 24))
        >>> sales[0, :, 9:18] = 2
        >>> hours = HourlySales.from_arrays(sales, "2024-05-31")
        >>> hours.n_days, hours.window(0)
        (2, (9, 18))
        """
        import polars as pl

        try:
            amounts = np.array(sales, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidInput(
                f"sales must be numbers of the shape (n_series, n_days, {HOURS}), got something "
                "else."
            ) from None
        if amounts.ndim != 3 or amounts.shape[2] != HOURS or not amounts.size:
            raise InvalidInput(
                f"sales must have the shape (n_series, n_days, {HOURS}), got {amounts.shape}."
            )
        if np.isinf(amounts).any():
            raise InvalidInput("sales must be finite or missing, got inf.")
        check_window(opens, closes)
        amounts[np.isnan(amounts).any(axis=2)] = np.nan
        flags = None
        if stock_out is not None:
            given = np.asarray(stock_out)
            if given.shape != amounts.shape:
                raise InvalidInput(
                    f"stock_out must have the shape of sales, {amounts.shape}, got {given.shape}."
                )
            if not np.isin(given, (0, 1)).all():
                raise InvalidInput("stock_out must be True or False in every hour.")
            flags = given.astype(np.bool_)
        n_series = amounts.shape[0]
        names = pl.DataFrame({"series": np.arange(n_series)}) if keys is None else as_polars(keys)
        if names.height != n_series:
            raise InvalidInput(f"keys must have {n_series} rows, got {names.height}.")
        numbered = {
            name: np.unique(np.asarray(each), return_inverse=True)[1].astype(np.intp)
            for name, each in (groups or {}).items()
        }
        for name, each in numbered.items():
            if each.size != n_series:
                raise InvalidInput(
                    f"groups must have {n_series} entries, got {each.size} of {name!r}."
                )
        notes = net_returns(amounts)
        shop = shop_of(numbered, n_series)
        opened = opening_hours(sums_by_shop(amounts, shop), opens, closes)[shop]
        return cls(amounts, _as_date(first_day), names, opened, flags, numbered, notes=tuple(notes))

    @property
    def n_series(self) -> int:
        """How many series."""
        return int(self.sales.shape[0])

    @property
    def n_days(self) -> int:
        """How many days, unknown ones included."""
        return int(self.sales.shape[1])

    @property
    def dates(self) -> NDArray[np.datetime64]:
        """Date of each day."""
        return np.datetime64(self.first_day, "D") + np.arange(self.n_days)

    @property
    def weekday(self) -> Places:
        """Weekday of each day, 0 for Monday."""
        days = np.arange(self.n_days) + self.first_day.weekday()
        return np.asarray(days % 7, dtype=np.intp)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Days of which something is known, (n_series, n_days)."""
        return ~np.isnan(self.sales[:, :, 0])

    def window(self, series: int) -> tuple[int, int]:
        """First hour in which the shop of a series sells, and the hour at which it closes."""
        hours = np.flatnonzero(self.open[series])
        return int(hours[0]), int(hours[-1]) + 1

    def take(self, series: Places) -> HourlySales:
        """Keep some series."""
        return replace(
            self,
            sales=self.sales[series],
            keys=self.keys[series],
            open=self.open[series],
            stock_out=None if self.stock_out is None else self.stock_out[series],
            groups={name: each[series] for name, each in self.groups.items()},
            special=None if self.special is None else self.special[series],
            daily=None,
        )

    @cached_property
    def unit(self) -> float:
        """What one unit is, as `unit_of` finds it."""
        return unit_of(self.sales[self.sales > 0])

    @cached_property
    def kind(self) -> Places:
        """Kind of each day, (n_series or 1, n_days): days of a kind share the shape of a day."""
        sums = np.zeros((7, HOURS))
        for day in range(7):
            sums[day] = np.nansum(self.sales[:, self.weekday == day], axis=(0, 1))
        return kinds_of_days(self.weekday, sums / self.unit, self.special)


def blocks_of_series(shape: tuple[int, ...], most_hours: int) -> list[slice]:
    """Cut series × days into parts to work on at a time, of no more than so many hours each."""
    n_series, n_days = shape
    size = max(most_hours // (n_days * HOURS), 1)
    return [slice(start, min(start + size, n_series)) for start in range(0, n_series, size)]


def table_of_days(
    keys: polars.DataFrame,
    dates: NDArray[np.datetime64],
    date: str,
    sold: Array,
    **columns: Array,
) -> polars.DataFrame:
    """Write numbers of series × days as a row for each day that is known."""
    import polars as pl

    n_series, n_days = sold.shape
    made = pl.DataFrame(
        {
            date: pl.Series(np.tile(dates, n_series)).cast(pl.Date),
            "sold": sold.ravel(),
            **{name: each.ravel() for name, each in columns.items()},
        }
    )
    whole = keys[np.repeat(np.arange(n_series), n_days)].hstack(made)
    return whole.filter(pl.Series(~np.isnan(sold).ravel()))


def _as_date(day: Any) -> datetime.date:
    try:
        return datetime.date.fromisoformat(str(day)[:10])
    except ValueError:
        raise InvalidInput(f"first_day must be a date such as 2024-05-31, got {day!r}.") from None


def unit_of(amounts: Array) -> float:
    """Find what one unit is: 1, or the amount of which nearly all sales are multiples.

    Normalised sales come in multiples of 0.1, say. Where there is no such amount (weights), the
    median of an hour's sales stands for it.
    """
    if not amounts.size:
        return 1.0
    step = amounts.size // _MAX_VALUES + 1
    some = amounts[::step]
    values, counts = np.unique(np.round(some, 6), return_counts=True)
    for each in values[(counts >= _UNIT_SHARE * some.size) & (values > 0)]:
        times = some / each
        if (np.abs(times - np.round(times)) < 0.05).mean() >= _UNIT_FITS:
            return float(each)
    # counts of fast sellers have no common value; scales that weigh show more than one decimal
    for unit in (1.0, 0.1):
        if np.isclose(some / unit, np.round(some / unit), rtol=1e-9, atol=1e-6).all():
            return unit
    return float(np.median(some))


def kinds_of_days(weekday: Places, sums: Array, special: Array | None) -> Places:
    """Tell kinds of days apart: weekend or not, other opening hours, promotion or not where told.

    Parameters
    ----------
    weekday : ndarray of shape (n_days,)
    sums : ndarray of shape (7, 24)
        Units sold by weekday and hour.
    special : ndarray of shape (n_series, n_days) or None

    Returns
    -------
    ndarray of shape (n_series or 1, n_days)
    """
    usual = np.flatnonzero(opening_hours(sums.sum(axis=0, keepdims=True), None, None)[0])
    kind_of: list[tuple[int, int, int]] = []
    for day in range(7):
        opens, closes = int(usual[0]), int(usual[-1])
        if sums[day].sum() >= _MIN_UNITS:
            own = np.flatnonzero(opening_hours(sums[day : day + 1], None, None)[0])
            # a shop that closes at noon on Sundays is not one that sells out on Sundays
            opens = int(own[0]) if own[0] - opens >= _OTHER_WINDOW else opens
            closes = int(own[-1]) if closes - own[-1] >= _OTHER_WINDOW else closes
        kind_of.append((int(day >= 5), opens, closes))
    number = {each: place for place, each in enumerate(sorted(set(kind_of)))}
    kind = np.array([number[each] for each in kind_of], dtype=np.intp)[weekday][None]
    if special is None or not (0 < special.mean() < 1):
        return kind
    return np.asarray(kind + len(number) * (special > 0), dtype=np.intp)


def closed_days(hours: HourlySales) -> NDArray[np.bool_]:
    """Days on which a shop sold nothing at all: it was closed, or nobody can tell.

    A weekday on which it never sells; or, where it has several items and usually sells more than a
    few units, any day.

    Returns
    -------
    ndarray of bool, shape (n_series, n_days)
    """
    shop = shop_of(hours.groups, hours.n_series)
    shape = int(shop.max()) + 1, hours.n_days
    units, items = np.zeros(shape), np.zeros(shape)
    np.add.at(units, shop, np.nan_to_num(hours.sales).sum(axis=2) / hours.unit)
    np.add.at(items, shop, hours.known.astype(np.float64))
    nothing, weekday = (units == 0) & (items > 0), hours.weekday
    busy = units.sum(axis=1) >= _CLOSED_UNITS * np.maximum((units > 0).sum(axis=1), 1)
    closed = nothing & (items >= _CLOSED_ITEMS) & busy[:, None]
    for day in range(7):
        same = weekday == day
        never = nothing[:, same].sum(axis=1) == (items[:, same] > 0).sum(axis=1)
        often = nothing[:, same].sum(axis=1) >= 2
        closed[:, same] |= nothing[:, same] & (never & often & busy)[:, None]
    return np.asarray(closed[shop])


def shop_of(groups: Mapping[str, Places], n_series: int) -> Places:
    """Give the number of each series' shop; one shop where no grouping is one of shops."""
    alone = np.zeros(n_series, dtype=np.intp)
    return next((each for name, each in groups.items() if is_place(name)), alone)


def sums_by_shop(sales: Array, shop: Places) -> Array:
    """Sales by the hour of each shop, (n_shops, 24)."""
    sums = np.zeros((int(shop.max()) + 1, HOURS))
    np.add.at(sums, shop, np.nansum(sales, axis=1))
    return sums


def opening_hours(sums: Array, opens: int | None, closes: int | None) -> NDArray[np.bool_]:
    """Hours in which each shop sells, by its sales, (n_shops, 24); what is said is believed."""
    total = sums.sum(axis=1, keepdims=True)
    until = np.cumsum(sums, axis=1) / np.where(total > 0, total, 1.0)
    first = (until > _WINDOW).argmax(axis=1)
    last = (until >= 1 - _WINDOW).argmax(axis=1)
    first = np.where(total[:, 0] > 0, first, 0) if opens is None else np.full_like(first, opens)
    last = (
        np.where(total[:, 0] > 0, last, HOURS - 1)
        if closes is None
        else np.full_like(last, closes - 1)
    )
    if opens is None:
        first = np.minimum(first, last)
    last = np.maximum(last, first)
    hour = np.arange(HOURS)
    return np.asarray((hour >= first[:, None]) & (hour <= last[:, None]))


def check_window(opens: int | None, closes: int | None) -> None:
    """Refuse opening hours that cannot be."""
    Maybe(WholeNumber(0, HOURS - 1))("opens", opens)
    Maybe(WholeNumber(1, HOURS))("closes", closes)
    if opens is not None and closes is not None and opens >= closes:
        raise InvalidInput(f"closes must be after opens, got opens={opens} and closes={closes}.")


def net_returns(sales: Array) -> list[str]:
    """Take returns off what was sold before on the same day; change `sales` in place."""
    negative = np.argwhere(np.nan_to_num(sales) < 0)
    if not len(negative):
        return []
    lost = 0.0
    for series, day, hour in negative:
        row = sales[series, day]
        back = -float(row[hour])
        row[hour] = 0.0
        for earlier in range(int(hour) - 1, -1, -1):
            taken = min(back, max(float(row[earlier]), 0.0))
            row[earlier] -= taken
            back -= taken
            if back <= 0:
                break
        lost += back
    count = len(negative)
    hours = "1 hour has" if count == 1 else f"{count:,} hours have"
    more = f", but for {lost:g} units that were sold on another day" if lost > 1e-9 else ""
    return [f"{hours} more returned than sold: taken off earlier sales of the day{more}."]
