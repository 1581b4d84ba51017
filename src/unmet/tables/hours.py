"""Sales by the hour, from tables of hours or of receipts: series × days × 24 hours.

Hours are local clock hours. A day on which clocks change has 24 hours like any other, one of them
counted twice or empty. A day without any row is unknown. A day on which the shop sold something,
but has no receipt of an item, is a day on which that item sold nothing.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unmet.arrays import Array, taken
from unmet.errors import InvalidInput, Note
from unmet.tables.dates import read_dates
from unmet.tables.encoding import as_categories, count_rows
from unmet.tables.panel import Places
from unmet.tables.reading import as_polars, finite, numbers, read_flags, require_columns
from unmet.tables.schema import (
    NAMES,
    OPPOSITE,
    TICKET,
    Schema,
    date_columns,
    infer_schema,
    is_item,
    is_place,
    line_columns,
    named,
    series_columns,
)
from unmet.validation import Maybe, WholeNumber

HOURS = 24


@dataclass(frozen=True)
class HourlySales:
    """Sales of each series, day and hour.

    `read_hourly`, `read_receipts` and `HourlySales.from_arrays` make it.

    Attributes
    ----------
    sales : ndarray of shape (n_series, n_days, 24)
        Units sold; NaN on unknown days.
    first_day : datetime.date
        Date of the first day.
    keys : polars.DataFrame
        Columns that identify the series, one row per series.
    open : ndarray of bool, shape (n_series, 24)
        Hours in which the shop sells.
    stock_out : ndarray of bool, shape (n_series, n_days, 24), or None
        True where the shelf was empty, if that was recorded.
    groups : mapping of str to ndarray of shape (n_series,)
        Groups of series: by shop, item, category.
    special : ndarray of shape (n_series, n_days) or None
        1 on days with a promotion, if a column says so.
    static : polars.DataFrame or None
        Other columns that never change within a series, one row per series.
    date : str
        Name of the column of dates.
    notes : tuple of str
        Findings about the table, one sentence each.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.censoring.hours import HourlySales
    >>> sales = np.zeros((1, 2, 24))
    >>> sales[0, :, 9:18] = 2
    >>> hours = HourlySales.from_arrays(sales, "2024-05-31")
    >>> hours.sold
    array([[18., 18.]])
    """

    sales: Array
    first_day: datetime.date
    keys: pl.DataFrame
    open: NDArray[np.bool_]
    stock_out: NDArray[np.bool_] | None = None
    groups: Mapping[str, Places] = field(default_factory=dict)
    special: Array | None = None
    static: pl.DataFrame | None = None
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
        """Make hourly sales from an array.

        Parameters
        ----------
        sales : array-like of shape (n_series, n_days, 24)
            Units sold; NaN where nothing is known of a day. Returns (below 0) are netted within
            their day.
        first_day : date or str
            Date of the first day, such as "2024-05-31".
        stock_out : array-like of the same shape, optional
            True or 1 where the shelf was empty. None if it was not recorded.
        groups : mapping of str to array-like of shape (n_series,), optional
            What series have in common: shop, item, category. Series of a group borrow from each
            other.
        keys : table with n_series rows, optional
            Names of the series. None numbers them.
        opens, closes : int, optional
            First hour in which the shop sells, and the hour at which it closes. None infers them.

        Returns
        -------
        HourlySales
            The sales.

        Examples
        --------
        >>> import numpy as np
        >>> from unmet.censoring.hours import HourlySales
        >>> sales = np.zeros((1, 2, 24))
        >>> sales[0, :, 9:18] = 2
        >>> hours = HourlySales.from_arrays(sales, "2024-05-31")
        >>> hours.n_days, hours.window(0)
        (2, (9, 18))
        """
        amounts = np.array(sales, dtype=np.float64)
        if amounts.ndim != 3 or amounts.shape[2] != HOURS or not amounts.size:
            raise InvalidInput(
                f"sales must have the shape (n_series, n_days, {HOURS}), got {amounts.shape}."
            )
        if np.isinf(amounts).any():
            raise InvalidInput("sales must be finite or missing, got inf.")
        amounts[np.isnan(amounts).any(axis=2)] = np.nan
        flags = None if stock_out is None else np.asarray(stock_out).astype(np.bool_)
        if flags is not None and flags.shape != amounts.shape:
            raise InvalidInput(
                f"stock_out must have the shape of sales, {amounts.shape}, got {flags.shape}."
            )
        n_series = amounts.shape[0]
        names = pl.DataFrame({"series": np.arange(n_series)}) if keys is None else as_polars(keys)
        numbered = {
            name: np.unique(np.asarray(each), return_inverse=True)[1].astype(np.intp)
            for name, each in (groups or {}).items()
        }
        for name, size in (("keys", names.height), *((n, g.size) for n, g in numbered.items())):
            if size != n_series:
                raise InvalidInput(f"{name} must have {n_series} entries, got {size}.")
        first = datetime.date.fromisoformat(str(first_day)[:10])
        notes = _net_returns(amounts)
        opened = _opening_hours(amounts, numbered, opens, closes)
        return cls(amounts, first, names, opened, flags, numbered, notes=tuple(notes))

    @property
    def n_series(self) -> int:
        """Number of series."""
        return int(self.sales.shape[0])

    @property
    def n_days(self) -> int:
        """Number of days, including unknown ones."""
        return int(self.sales.shape[1])

    @property
    def dates(self) -> NDArray[np.datetime64]:
        """Date of each day."""
        return np.datetime64(self.first_day, "D") + np.arange(self.n_days).astype("timedelta64[D]")

    @property
    def weekday(self) -> Places:
        """Weekday of each day, 0 for Monday."""
        days = np.arange(self.n_days) + self.first_day.weekday()
        return np.asarray(days % 7, dtype=np.intp)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Days of which something is known, (n_series, n_days)."""
        return ~np.isnan(self.sales[:, :, 0])

    @property
    def sold(self) -> Array:
        """Sales of each day, (n_series, n_days); NaN where nothing is known."""
        return np.where(self.known, np.nan_to_num(self.sales).sum(axis=2), np.nan)

    @property
    def daily(self) -> pl.DataFrame:
        """Table with the sales of each known series and day, which plans accept."""
        keys = self.keys if self.static is None else self.keys.hstack(self.static)
        return replace(self, keys=keys).table(sales=np.round(self.sold, 9))

    def table(self, **columns: Array) -> pl.DataFrame:
        """Write arrays of series × days as a table with one row for each known day.

        Parameters
        ----------
        **columns : ndarray of shape (n_series, n_days)
            Values by the name of their column.
        """
        made = {name: each.ravel() for name, each in columns.items()}
        dates = pl.Series(np.tile(self.dates, self.n_series)).cast(pl.Date)
        keys = self.keys[np.repeat(np.arange(self.n_series), self.n_days)]
        whole = keys.hstack(pl.DataFrame({self.date: dates, **made}))
        return whole.filter(pl.Series(self.known.ravel()))

    def window(self, series: int) -> tuple[int, int]:
        """Give the first hour in which the shop of a series sells, and the hour at which it closes.

        Parameters
        ----------
        series : int
            Position of the series.
        """
        hours = np.flatnonzero(self.open[series])
        return int(hours[0]), int(hours[-1]) + 1

    def take(self, series: Places) -> HourlySales:
        """Select series.

        Parameters
        ----------
        series : ndarray of int
            Positions of the series to keep.
        """
        groups = {name: each[series] for name, each in self.groups.items()}
        names = ("sales", "keys", "open", "stock_out", "special", "static")
        return replace(self, **taken(self, series, *names), groups=groups)

    @cached_property
    def unit(self) -> float:
        """Amount of one unit: 1, or the amount of which nearly all sales are multiples.

        Normalised sales may come in multiples of 0.1. If there is no such amount (weights), the
        median sale of an hour replaces it.
        """
        amounts = self.sales[self.sales > 0]
        if not amounts.size:
            return 1.0
        some = amounts[:: amounts.size // 200_000 + 1]
        values, counts = np.unique(np.round(some, 6), return_counts=True)
        for each in values[(counts >= 0.2 * some.size) & (values > 0)]:
            times = some / each
            if (np.abs(times - np.round(times)) < 0.05).mean() >= 0.9:
                return float(each)
        # counts of fast sellers have no common value; scales that weigh show more than one decimal
        for unit in (1.0, 0.1):
            if np.isclose(some / unit, np.round(some / unit), rtol=1e-9, atol=1e-6).all():
                return unit
        return float(np.median(some))

    @cached_property
    def kind(self) -> Places:
        """Kind of each day, (n_series or 1, n_days); days of one kind share the shape of a day.

        Kinds distinguish weekends, other opening hours, and promotions if a column marks them.
        """
        sums = np.stack(
            [np.nansum(self.sales[:, self.weekday == day], axis=(0, 1)) for day in range(7)]
        )
        usual = np.flatnonzero(_window(sums.sum(axis=0, keepdims=True))[0])
        kind_of: list[tuple[int, int, int]] = []
        for day in range(7):
            opens, closes = int(usual[0]), int(usual[-1])
            if sums[day].sum() >= 50 * self.unit:  # enough to tell its opening hours
                own = np.flatnonzero(_window(sums[day : day + 1])[0])
                # a shop that closes at noon on Sundays is not one that sells out on Sundays
                opens = int(own[0]) if own[0] - opens >= 2 else opens
                closes = int(own[-1]) if closes - own[-1] >= 2 else closes
            kind_of.append((int(day >= 5), opens, closes))
        number = {each: place for place, each in enumerate(sorted(set(kind_of)))}
        kind = np.array([number[each] for each in kind_of], dtype=np.intp)[self.weekday][None]
        if self.special is None or not 0 < self.special.mean() < 1:
            return kind
        return np.asarray(kind + len(number) * (self.special > 0), dtype=np.intp)

    @property
    def closed(self) -> NDArray[np.bool_]:
        """Days on which a shop sold nothing at all, (n_series, n_days), so it was probably closed.

        These are weekdays on which it never sells. For shops with at least three items that usually
        sell at least eight units, they are all such days.
        """
        shop = _shops(self.groups, self.n_series)
        shape = int(shop.max()) + 1, self.n_days
        units, items = np.zeros(shape), np.zeros(shape)
        np.add.at(units, shop, np.nan_to_num(self.sales).sum(axis=2) / self.unit)
        np.add.at(items, shop, self.known.astype(np.float64))
        nothing = (units == 0) & (items > 0)
        busy = units.sum(axis=1) >= 8.0 * np.maximum((units > 0).sum(axis=1), 1)
        closed = nothing & (items >= 3) & busy[:, None]
        for day in range(7):
            same = self.weekday == day
            times = nothing[:, same].sum(axis=1)
            never = (times == (items[:, same] > 0).sum(axis=1)) & (times >= 2)
            closed[:, same] |= nothing[:, same] & (never & busy)[:, None]
        return np.asarray(closed[shop])


def _shops(groups: Mapping[str, Places], n_series: int) -> Places:
    """Give the number of each series' shop; one shop where no grouping is one of shops."""
    alone = np.zeros(n_series, dtype=np.intp)
    return next((each for name, each in groups.items() if is_place(name)), alone)


def _opening_hours(
    sales: Array, groups: Mapping[str, Places], opens: int | None, closes: int | None
) -> NDArray[np.bool_]:
    """Hours in which the shop of each series sells, (n_series, 24); what is said is believed."""
    Maybe(WholeNumber(0, HOURS - 1))("opens", opens)
    Maybe(WholeNumber(1, HOURS))("closes", closes)
    if opens is not None and closes is not None and opens >= closes:
        raise InvalidInput(f"closes must be after opens, got opens={opens} and closes={closes}.")
    shop = _shops(groups, sales.shape[0])
    sums = np.zeros((int(shop.max()) + 1, HOURS))
    np.add.at(sums, shop, np.nansum(sales, axis=1))
    return _window(sums, opens, closes)[shop]


def _window(sums: Array, opens: int | None = None, closes: int | None = None) -> NDArray[np.bool_]:
    """Hours between the first and the last 2% of the sales of shops, (n_shops, 24)."""
    total = sums.sum(axis=1, keepdims=True)
    until = np.cumsum(sums, axis=1) / np.where(total > 0, total, 1.0)
    first, last = (until > 0.02).argmax(axis=1), (until >= 0.98).argmax(axis=1)
    last = np.where(total[:, 0] > 0, last, HOURS - 1)
    if closes is not None:
        last = np.full_like(last, closes - 1)
    first = np.minimum(first, last) if opens is None else np.full_like(first, opens)
    hour = np.arange(HOURS)
    return np.asarray((hour >= first[:, None]) & (hour <= np.maximum(last, first)[:, None]))


def _net_returns(sales: Array) -> list[str]:
    """Take returns off what was sold before on the same day; change `sales` in place."""
    negative = np.argwhere(np.nan_to_num(sales) < 0)
    lost = 0.0
    for *day, hour in negative:
        row = sales[tuple(day)]
        back, row[hour] = -float(row[hour]), 0.0
        for earlier in range(int(hour) - 1, -1, -1):
            taken = min(back, max(float(row[earlier]), 0.0))
            row[earlier] -= taken
            back -= taken
        lost += back
    if not len(negative):
        return []
    more = f", except {lost:g} units sold on another day" if lost > 1e-9 else ""
    said = f"Hours with more returns than sales: {len(negative):,}. They were subtracted from "
    said += f"earlier sales of the day{more}."
    return [Note(said, len(negative) / sales.size)]


# --- Reading tables.


def read_hourly(
    table: Any,
    *,
    date: str | None = None,
    series: Sequence[str] | None = None,
    hour: str | None = None,
    sales: str | None = None,
    stock_out: str | None = None,
    time_zone: str | None = None,
    opens: int | None = None,
    closes: int | None = None,
) -> HourlySales:
    """Read sales by the hour from a table, long or wide.

    Parameters
    ----------
    table : table of pandas, polars or pyarrow
        A long table has one row for each series, day and hour. If no row is 0, hours without a row
        sold nothing. A wide table has one row for each series and day, with one column per hour
        (``h6``, ``7``, ``08:00``) or one column of lists of 24 numbers.
    date, hour, sales, stock_out : str, optional
        Names of columns. None infers them. In a long table, `date` may hold dates with the time of
        day, and then no `hour` is needed. A column `stock_out` holds flags in a long table and
        lists of 24 flags in a wide one.
    series : sequence of str, optional
        Columns that identify a series. None infers them.
    time_zone : str, optional
        Time zone of the shops, such as "Europe/Berlin". Times with a zone or an offset are
        converted to it. Times without one are local clock times.
    opens, closes : int, optional
        First hour in which shops sell, and the hour at which they close. None infers them.

    Returns
    -------
    HourlySales
        The sales.

    Examples
    --------
    >>> import polars as pl
    >>> from unmet.censoring.hours import read_hourly
    >>> table = pl.DataFrame({"date": ["2024-05-01", "2024-05-02"], "item": ["bun", "bun"],
    ...                       "h8": [3, 4], "h9": [2, 2], "h10": [1, 0], "h11": [0, 2]})
    >>> hours = read_hourly(table)
    >>> hours.sales[0, :, 8:12]
    array([[3., 2., 1., 0.],
           [4., 2., 0., 2.]])
    """
    keys = _names(series)
    frame = _begin(table, "hours", (date, hour, sales, stock_out, *(keys or ())))
    nested = [n for n, kind in frame.schema.items() if isinstance(kind, pl.List | pl.Array)]
    wide = _columns_of_hours(frame) if hour is None and sales is None else {}
    flags, notes, sparse = None, list[str](), False
    if sales in nested or (sales is None and nested):
        flag = stock_out or next(iter(named(nested, NAMES["sold_out"])), None)
        amount = sales or _one(frame, "sales", [name for name in nested if name != flag])
        amounts = _lists_of_hours(frame[amount], "sales")
        if flag is not None:
            held = _lists_of_hours(frame[flag], "stock_out")
            flags = held == (0.0 if named([flag], OPPOSITE) else 1.0)
        frame = frame.drop(nested)
    elif wide:
        if stock_out is not None:
            raise InvalidInput(
                "stock_out of a wide table must be a column of lists of 24 flags, got "
                f"{stock_out!r}: write a long table, one row for each hour."
            )
        amounts = np.zeros((frame.height, HOURS))
        for number, name in wide.items():
            amounts[:, number] = numbers(frame, name, "sales")
        amounts[np.isnan(amounts[:, list(wide)]).all(axis=1)] = np.nan
        frame = frame.drop(list(wide.values()))
    else:
        # read a row for each series, day and hour, or each part of an hour
        day = date or _one(frame, "date", date_columns(frame, frame.columns))
        others = [name for name in frame.columns if name != day]
        clock = hour or next(iter(named(others, _CLOCK_NAMES)), None)
        if clock is None:
            instant, moment = frame[day], _wall_clock(frame[day], time_zone)
            hours, dates = moment.dt.hour().cast(pl.Int64).to_numpy(), moment.dt.date()
        else:
            hours, dates = _hours_of(frame[clock]), read_dates(frame, day)
            since = pl.Series(hours * 3_600_000_000).cast(pl.Duration("us"))
            instant = dates.cast(pl.Datetime("us")) + since
        frame = frame.with_columns(dates.alias(day))
        rest = [name for name in others if name != clock and name not in (keys or ())]
        flag = stock_out or next((n for n in named(rest, NAMES["sold_out"]) if n != sales), None)
        amount = sales or _one(
            frame, "sales", [name for name in _amounts(frame, rest) if name != flag]
        )
        rest = [name for name in rest if name not in (flag, amount)]
        if keys is None:  # one row for each hour of a series, and all that name items and shops
            found = series_columns(frame, rest, instant) or ()
            keys = [name for name in rest if name in found or is_item(name) or is_place(name)]
        twice = frame.select(*keys, instant.alias("\0at")).is_duplicated()
        if twice.any():
            row = int(twice.arg_max() or 0)
            raise InvalidInput(
                f"Each series must have one row per hour, got several for hour {hours[row]} on "
                f"{frame[day][row]}: sum them, or name the columns that identify a series "
                "(series=)."
            )
        sold = numbers(frame, amount, "sales")
        used = [name for name in (clock, flag, amount) if name is not None]
        days, code = _days_of(frame.drop(used), [day, *keys])
        amounts = np.zeros((days.height, HOURS))
        np.add.at(amounts, (code, hours), np.where(np.isnan(sold), 0.0, sold))
        rows, told = np.bincount(code), np.bincount(code, weights=~np.isnan(sold))
        amounts[told == 0] = np.nan
        gaps = int((rows - told)[told > 0].sum())
        if gaps:
            said = f"Hours without a number count as 0 sold: {gaps:,}."
            notes.append(Note(said, gaps / sold.size))
        flags = None
        if flag is not None:
            flags = np.zeros(amounts.shape, dtype=np.bool_)
            empty = read_flags(frame, flag, bool(named([flag], OPPOSITE))) == 1.0
            flags[code[empty], hours[empty]] = True
        sparse = not (sold == 0).any() and bool((rows != rows[0]).any())
        frame, date = days, day
    return _assemble(frame, amounts, flags, date, keys, (opens, closes), sparse, notes)


def read_receipts(
    table: Any,
    *,
    time: str | None = None,
    date: str | None = None,
    series: Sequence[str] | None = None,
    quantity: str | None = None,
    receipt: str | None = None,
    time_zone: str | None = None,
    opens: int | None = None,
    closes: int | None = None,
) -> HourlySales:
    """Read receipts: one row for each line of a receipt, with its time, item and quantity.

    Parameters
    ----------
    table : table of pandas, polars or pyarrow
        Lines of receipts.
    time, quantity, receipt : str, optional
        Names of columns. None infers them. Without a column of quantities, a line is one unit. A
        receipt that begins again after others was exported twice and counts once.
    date : str, optional
        Column of dates, if `time` is only the time of day.
    series : sequence of str, optional
        Columns that identify a series. None takes those that look like shops and items.
    time_zone, opens, closes : optional
        As for `read_hourly`.

    Returns
    -------
    HourlySales
        The sales.

    Examples
    --------
    >>> import polars as pl
    >>> from unmet.censoring.hours import read_receipts
    >>> lines = pl.DataFrame({"time": ["2024-05-01 08:10", "2024-05-01 08:40", "2024-05-02 09:05"],
    ...                       "item": ["bun"] * 3, "quantity": [2, 1, 4]})
    >>> hours = read_receipts(lines)
    >>> hours.sales[0, :, 8:10]
    array([[3., 0.],
           [0., 4.]])
    """
    keys = _names(series)
    given = [each for each in (date, quantity, receipt, *(keys or ())) if each is not None]
    frame = _begin(table, "receipts", (time, *given))
    free = [name for name in frame.columns if name not in given]
    when = time or _one(frame, "time", [*named(free, _TIMES), *date_columns(frame, free)])
    moment, day = _moments(frame, when, date, time_zone)
    free = [name for name in frame.columns if name not in (when, day)]
    amount = quantity or next(iter(_amounts(frame, free)), None)
    free = [name for name in free if name != amount]
    ticket = receipt or next(iter(named(free, TICKET)), None)
    free = [name for name in free if name != ticket]
    notes: list[str] = []
    if keys is None:
        prices = [name for name in named(free, NAMES["price"]) if frame[name].dtype.is_numeric()]
        keys = list(line_columns(frame, free, moment.dt.date(), next(iter(prices), None)))
        if not keys:
            notes.append(Note("All rows are one series, because no column has items (series=)."))
    sold = np.ones(frame.height) if amount is None else finite(frame, amount, "quantity")
    once = ~_exported_twice(frame, ticket, notes)
    returned = int((sold[once] < 0).sum())
    if returned:
        said = f"Returns were subtracted from sales: {count_rows(returned)}."
        notes.append(Note(said, returned / frame.height))
    name = "date" if "date" not in keys else "day"
    lines = frame.select(*keys).with_columns(moment.dt.date().alias(name)).filter(once)
    days, code = _days_of(lines, [name, *keys])
    amounts = np.zeros((days.height, HOURS))
    np.add.at(amounts, (code, moment.dt.hour().to_numpy()[once]), sold[once])
    return _assemble(days, amounts, None, name, keys, (opens, closes), True, notes)


# --- Which column is what.


def has_hours(table: pl.DataFrame) -> bool:
    """Whether a table has sales by the hour: a column of hours, or lists of 24 numbers."""
    for name in named(table.columns, _CLOCK_NAMES, exactly=True):
        hours = table[name]
        if hours.dtype.is_integer() and hours.is_between(0, 23).all() and hours.n_unique() > 6:
            return True
    lists = [each for each in table if isinstance(each.dtype, pl.List | pl.Array)]
    return any((each.list.len() == HOURS).all() for each in lists if each.dtype == pl.List)


_WIDE = re.compile(
    r"^(?:h|hr|hour|std|stunde|uhr|sales|sale|sold|qty|units)?[_ ]?(\d{1,2})(?::00)?(?:h| uhr)?$"
)
_CLOCK_NAMES = ("hour", "stunde", "hr", "heure", "hora", "uhrzeit")
_TIMES = (
    *("time", "timestamp", "datetime", "sold_at", "created_at", "when"),
    *("zeit", "zeitpunkt", "zeitstempel", "uhrzeit"),
)
_QUANTITY = ("quantity", "qty", "units", "menge", "anzahl", "count", "sale", *NAMES["sales"])


def _begin(table: Any, name: str, columns: Sequence[str | None]) -> pl.DataFrame:
    frame = as_polars(table)
    if not frame.height:
        raise InvalidInput(f"{name} must have at least one row, got none.")
    require_columns(frame, columns, name)
    return frame


def _names(series: Sequence[str] | str | None) -> list[str] | None:
    return [series] if isinstance(series, str) else None if series is None else list(series)


def _one(frame: pl.DataFrame, name: str, found: Sequence[str]) -> str:
    if found:
        return found[0]
    raise InvalidInput(
        f"{name} must be a column of the table, got none with a likely name among "
        f"{', '.join(frame.columns[:20])}: name it ({name}=)."
    )


def _amounts(frame: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """Columns that look like units sold; text only where the name says nothing else."""
    others = [name for name in named(columns, _QUANTITY) if frame[name].dtype.is_numeric()]
    return [*named(columns, _QUANTITY, exactly=True), *others]


def _columns_of_hours(frame: pl.DataFrame) -> dict[int, str]:
    """Columns of a wide table by their hours; none where fewer than four look like hours."""
    wide: dict[int, str] = {}
    for name in frame.columns:
        found = _WIDE.match(name.lower().strip())
        if found and int(found[1]) in wide:
            raise InvalidInput(
                f"Each hour must have one column, got {wide[int(found[1])]!r} and {name!r}."
            )
        if found:
            wide[int(found[1])] = name
    if len(wide) < 4:
        return {}
    _refuse_hours(np.array(sorted(wide)), "the columns of the wide table")
    return wide


def _exported_twice(frame: pl.DataFrame, ticket: str | None, notes: list[str]) -> NDArray[np.bool_]:
    """Lines of receipts that stand in the table again.

    Who scans two buns writes two equal lines, one after the other, so equal lines alone say
    nothing. A receipt was exported twice where it begins again after others.
    """
    copies = np.zeros(frame.height, dtype=np.bool_)
    count = frame.height - frame.n_unique()
    if count and ticket is None:
        notes.append(Note(f"Repeated rows were kept: {count:,}.", count / frame.height))
    elif count and ticket is not None:
        numbered = frame.select(
            copy=pl.int_range(pl.len()).over(frame.columns) > 0,
            ticket=pl.col(ticket),
            run=pl.col(ticket).rle_id(),
        )
        again = pl.col("run") > pl.col("run").min().over("ticket")
        copies = numbered.select(pl.col("copy") & again).to_series().to_numpy()
        count = int(copies.sum())
        if count:
            said = f"Receipts that are in the table twice ({ticket!r}) were counted once"
            notes.append(Note(f"{said}: {count_rows(count)}.", count / frame.height))
    return copies


# --- Clocks.

_CLOCK = r"(\d{1,2}):(\d{2})"


def _moments(
    frame: pl.DataFrame, name: str, date: str | None, time_zone: str | None
) -> tuple[pl.Series, str | None]:
    """Read times as the clock on the wall showed them; name the column of dates beside, if any."""
    column = frame[name]
    if column.null_count():
        raise InvalidInput(
            f"time must have a value in every row, got empty cells in "
            f"{count_rows(column.null_count())} of column {name!r}."
        )
    if column.dtype == pl.Time:
        column = column.cast(pl.String)
    if _is_text(column):
        text = column.cast(pl.String).str.strip_chars()
        if text.str.contains(r"^\d{1,2}:\d{2}(?::\d{2}[.\d]*)?(?: ?[AaPp]\.?[Mm]\.?)?$").all():
            others = [each for each in frame.columns if each != name]
            day = date or _one(frame, "date", date_columns(frame, others))
            return read_dates(frame, day).cast(pl.Datetime("us")) + _time_of_day(text, name), day
    return _wall_clock(column, time_zone), None


def _is_text(column: pl.Series) -> bool:
    return column.dtype in (pl.String, pl.Categorical, pl.Enum)


def _time_of_day(text: pl.Series, name: str) -> pl.Series:
    """Read 14:05, or 2:05 PM."""
    hour, minute = (text.str.extract(_CLOCK, place).cast(pl.Int64) for place in (1, 2))
    half = text.str.extract(r"(?i)\d ?([ap])\.?m\b", 1).str.to_lowercase()
    if half.is_not_null().any():
        late = 12 * (half == "p").fill_null(False).cast(pl.Int64)
        hour = (hour % 12).zip_with(half.is_not_null(), hour) + late
    _refuse_hours(hour.to_numpy(), f"column {name!r}")
    return ((hour * 60 + minute) * 60_000_000).cast(pl.Duration("us"))


def _wall_clock(column: pl.Series, time_zone: str | None) -> pl.Series:
    """Read times as the clock on the wall showed them."""
    name = column.name
    if _is_text(column):
        text = column.cast(pl.String).str.strip_chars()
        timed = text.str.contains(_CLOCK)
        if not timed.all():
            row = int((~timed).arg_max() or 0)
            raise InvalidInput(
                "time must have a date and a time of day such as 2024-05-31 14:05, got "
                f"{text[row]!r} in row {row + 2} of column {name!r}."
            )
        zoned = text.str.contains(r"(?:Z|[+-]\d{2}:?\d{2})$").all()
        if not zoned or (time_zone is None and not text.str.contains(r"(?:Z|00:?00)$").all()):
            # an offset that was written down is that of the clock on the wall
            dates = read_dates(text.str.replace(rf"[T ]*{_CLOCK}.*$", "").to_frame(), name)
            return dates.cast(pl.Datetime("us")) + _time_of_day(text, name)
        try:
            column = text.str.to_datetime(time_zone="UTC")
        except pl.exceptions.PolarsError:
            raise InvalidInput(
                "time must have values such as 2024-05-31T14:05:00+02:00, got "
                f"{text[0]!r} in column {name!r}."
            ) from None
    elif column.dtype != pl.Datetime:
        raise InvalidInput(
            f"time must have the time of day, got {column.dtype} in column {name!r}."
        )
    zone = getattr(column.dtype, "time_zone", None)
    if zone is None:
        return column
    if time_zone is None and zone in ("UTC", "Etc/UTC"):
        raise InvalidInput(
            f"time_zone must be given for times in UTC, as in column {name!r}: add the zone of the "
            "shop (time_zone='Europe/Berlin')."
        )
    if time_zone is not None:
        try:
            column = column.dt.convert_time_zone(time_zone)
        except pl.exceptions.PolarsError:
            raise InvalidInput(
                f"time_zone must be a name such as Europe/Berlin, got {time_zone!r}."
            ) from None
    return column.dt.replace_time_zone(None)


def _refuse_hours(hours: NDArray[Any], where: str) -> None:
    wrong = (hours < 0) | (hours >= HOURS) | (hours % 1 > 0)
    if wrong.any():
        raise InvalidInput(
            "hour must be a whole number from 0 to 23, got "
            f"{hours[int(wrong.argmax())]:g} in {where}."
        )


# --- From rows to days of 24 hours.


def _lists_of_hours(column: pl.Series, name: str) -> Array:
    if not isinstance(column.dtype, pl.List | pl.Array):
        raise InvalidInput(
            f"{name} must be a column of lists of {HOURS} numbers, got {column.name!r}."
        )
    column = column.arr.to_list() if isinstance(column.dtype, pl.Array) else column
    lengths = column.list.len().fill_null(0)
    if (lengths != HOURS).any():
        row = int((lengths != HOURS).arg_max() or 0)
        raise InvalidInput(
            f"{name} must be a list of {HOURS} numbers in every row, got {lengths[row]} in row "
            f"{row + 2} of column {column.name!r}."
        )
    flat = column.explode()
    if not (flat.dtype.is_numeric() or flat.dtype == pl.Boolean):
        raise InvalidInput(
            f"{name} must be lists of numbers, got lists of {flat.dtype} in column {column.name!r}."
        )
    return flat.cast(pl.Float64).to_numpy().reshape(len(column), HOURS).copy()


def _days_of(lines: pl.DataFrame, names: Sequence[str]) -> tuple[pl.DataFrame, Places]:
    """First line of each day of each series, and the number of each line's day."""
    code = lines.select(as_categories(lines[name]).alias(name) for name in names)
    number = code.to_struct("\0").rank("dense").to_numpy().astype(np.intp) - 1
    return lines[np.unique(number, return_index=True)[1]], number


def _hours_of(column: pl.Series) -> NDArray[np.int64]:
    """Hours as numbers, or as 08:00."""
    if column.dtype == pl.Time:
        return column.dt.hour().cast(pl.Int64).to_numpy()
    if _is_text(column) and column.str.contains(_CLOCK).all():
        hours = column.str.extract(_CLOCK, 1).cast(pl.Float64).to_numpy()
    else:
        hours = finite(column.to_frame(), column.name, "hour")
    _refuse_hours(hours, f"column {column.name!r}")
    return hours.astype(np.int64)


def _assemble(
    days: pl.DataFrame,
    amounts: Array,
    flags: NDArray[np.bool_] | None,
    date: str | None,
    series: Sequence[str] | None,
    window: tuple[int | None, int | None],
    sparse: bool,
    notes: list[str],
) -> HourlySales:
    """From a row for each series and day to arrays; `sparse`: days without a row sold nothing."""
    if np.isinf(amounts).any():
        raise InvalidInput("sales must be finite in every hour, got inf.")
    unknown = np.isnan(amounts).all(axis=1)
    if unknown.all():
        raise InvalidInput("sales must have numbers on at least one day, got none.")
    gaps = int(np.isnan(amounts[~unknown]).any(axis=1).sum())
    if gaps:
        said = f"Days with hours without a number, which count as 0 sold: {gaps:,}."
        notes.append(Note(said, gaps / len(amounts)))
    amounts = np.nan_to_num(amounts)
    notes += _net_returns(amounts)
    days = days.with_columns(pl.Series("\0sales", amounts.sum(axis=1)))
    given = Schema(date=date, series=series, sales="\0sales", stock="", sold_out="")
    schema = infer_schema(days, given)
    dates = read_dates(days, schema.date)
    first = dates.min()
    assert isinstance(first, datetime.date)
    day = (dates - first).dt.total_days().to_numpy().astype(np.intp)
    keys, code = pl.DataFrame({"series": [0]}), np.zeros(days.height, dtype=np.intp)
    place = np.zeros(1, dtype=np.intp)
    if schema.series:
        keys, code = _days_of(days.select(schema.series), schema.series)
        place = np.unique(code, return_index=True)[1]
    shape = keys.height, int(day.max()) + 1, HOURS
    if np.unique(code * shape[1] + day).size < day.size:
        raise InvalidInput(
            "Each series must have one row per day, got several: name the columns that identify a "
            "series (series=)."
        )
    sales = np.full(shape, np.nan)
    sales[code[~unknown], day[~unknown]] = amounts[~unknown]
    out = None
    if flags is not None:
        out = np.zeros(shape, dtype=np.bool_)
        out[code, day] = flags
    groups: dict[str, Places] = {}
    for name in (*schema.series, *schema.static):  # what some but not all series share
        number = days[name][place].cast(str).rank("dense").fill_null(0).to_numpy().astype(np.intp)
        shared = np.bincount(number)
        if np.count_nonzero(shared) > 1 and (shared >= 2).any():
            groups[name] = np.unique(number, return_inverse=True)[1].astype(np.intp)
    if sparse:
        # days on which the shop sold something are days on which other items sold nothing, between
        # the first and the last sale of an item: before and after, nobody offered it
        seen, shop = ~np.isnan(sales[:, :, 0]), _shops(groups, shape[0])
        anything = np.zeros((int(shop.max()) + 1, shape[1]), dtype=np.bool_)
        np.logical_or.at(anything, shop, seen)
        offered = np.maximum.accumulate(seen, axis=1)
        offered &= np.maximum.accumulate(seen[:, ::-1], axis=1)[:, ::-1]
        empty = ~seen & anything[shop] & offered
        sales[empty] = 0.0
        if empty.any():
            said = f"Days on which a shop sold other items count as 0 sold: {empty.sum():,}."
            notes.append(Note(said, empty.sum() / empty.size))
    _leave_out_unfinished(sales, first, notes)
    promotions = _promotions(days, (*schema.known_future, *schema.static), code, day, shape[:2])
    opened = _opening_hours(sales, groups, *window)
    static = days[place].select(schema.static) if schema.static else None
    return HourlySales(
        sales, first, keys, opened, out, groups, promotions, static, schema.date, tuple(notes)
    )


def _promotions(
    days: pl.DataFrame, columns: Sequence[str], code: Places, day: Places, shape: tuple[int, int]
) -> Array | None:
    """1 on days with a promotion: a flag, or a price or share that is not near its usual value."""
    for name in named(columns, NAMES["promotion"]):
        if not (days[name].dtype.is_numeric() or days[name].dtype == pl.Boolean):
            continue
        values = np.full(shape, np.nan)
        values[code, day] = numbers(days, name, name)
        if np.isin(values[~np.isnan(values)], (0.0, 1.0)).all():
            return np.asarray(np.nan_to_num(values))
        known = ~np.isnan(values).all(axis=1)
        usual = np.ones((shape[0], 1))
        usual[known] = np.nanmedian(values[known], axis=1, keepdims=True)
        return np.asarray(np.abs(values - usual) > 0.1 * np.abs(usual), dtype=np.float64)
    return None


def _leave_out_unfinished(sales: Array, first_day: datetime.date, notes: list[str]) -> None:
    """Leave out a last day that was not over when the table was written: all fall silent at once.

    Otherwise each item of it would look sold out.
    """
    by_hour = np.nansum(sales, axis=0)
    sold = by_hour.sum(axis=1) > 0
    last = by_hour.shape[0] - 1
    others = np.flatnonzero(sold[:last])
    alike = others[(last - others) % 7 == 0]
    if not sold[last] or others.size < 7 or not alike.size:
        return
    end = HOURS - 1 - (by_hour[:, ::-1] > 0).argmax(axis=1)
    after = by_hour[others, end[last] + 1 :].sum(axis=1).mean()
    several = (np.nansum(sales[:, last], axis=1) > 0).sum() >= 4
    if several and end[last] < end[others].min() and after >= 20 * np.median(sales[sales > 0]):
        sales[:, last] = np.nan
        when = first_day + datetime.timedelta(days=last)
        notes.append(
            Note(
                f"{when} was left out, because the day is incomplete: no series has sales after "
                f"{end[last] + 1}:00.",
                1.0 / max(by_hour.shape[0], 1),
            )
        )
