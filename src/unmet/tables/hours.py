"""Sales by the hour, from tables of hours or of receipts: series × days × 24 hours.

Hours are those that the clock on the wall shows: a day on which clocks change has 24 of them as any
other, one of them twice as long or empty. A day of which a table says nothing is unknown; a day on
which a shop sold something, but has no receipt of this item, is a day on which the item sold
nothing.
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

from unmet.arrays import Array
from unmet.errors import InvalidInput
from unmet.tables.dates import read_dates
from unmet.tables.encoding import as_categories
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
    static : polars.DataFrame or None
        Other columns that never change in a series, a row for each series.
    date : str
        Name of the column of dates.
    notes : tuple of str
        What a reader should know of the table.
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
        """How many series."""
        return int(self.sales.shape[0])

    @property
    def n_days(self) -> int:
        """How many days, unknown ones included."""
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
        """A row for each series and day that is known, with the day's sales: what plans take."""
        keys = self.keys if self.static is None else self.keys.hstack(self.static)
        return replace(self, keys=keys).table(sales=np.round(self.sold, 9))

    def table(self, **columns: Array) -> pl.DataFrame:
        """Write numbers of series × days as a row for each day that is known."""
        made = {name: each.ravel() for name, each in columns.items()}
        dates = pl.Series(np.tile(self.dates, self.n_series)).cast(pl.Date)
        keys = self.keys[np.repeat(np.arange(self.n_series), self.n_days)]
        whole = keys.hstack(pl.DataFrame({self.date: dates, **made}))
        return whole.filter(pl.Series(self.known.ravel()))

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
            static=None if self.static is None else self.static[series],
        )

    @cached_property
    def unit(self) -> float:
        """What one unit is: 1, or the amount of which nearly all sales are multiples.

        Normalised sales come in multiples of 0.1, say. Where there is no such amount (weights), the
        median of an hour's sales stands for it.
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
        """Kind of each day, (n_series or 1, n_days): days of a kind share the shape of a day.

        Kinds are weekend or not, other opening hours, and promotion or not where a column says so.
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
        """Days on which a shop sold nothing at all: it was closed, or nobody can tell.

        A weekday on which it never sells; or, where it has three items or more and usually sells
        eight units or more, any day. (n_series, n_days)
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
    hours = "1 hour has" if len(negative) == 1 else f"{len(negative):,} hours have"
    more = f", but for {lost:g} units that were sold on another day" if lost > 1e-9 else ""
    return [f"{hours} more returned than sold: taken off earlier sales of the day{more}."]


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
        Long: a row for each series, day and hour; where no row says 0, hours without a row sold
        nothing. Wide: a row for each series and day, with a column for each hour (``h6``, ``7``,
        ``08:00``) or one column of lists of 24 numbers.
    date, hour, sales, stock_out : str, optional
        Columns; what is not said is inferred. In a long table `date` may hold dates with the time
        of day, and needs no `hour`. A column `stock_out` of a long table holds flags, of a wide one
        lists of 24.
    series : sequence of str, optional
        Columns that tell series apart.
    time_zone : str, optional
        Where the shops are, such as "Europe/Berlin": times with a zone or an offset are brought
        there. Times without one are those of the clock on the wall.
    opens, closes : int, optional
        First hour in which shops sell, and the hour at which they close; found out if not said.

    Returns
    -------
    HourlySales

    Examples
    --------
    >>> import polars as pl
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
        columns = date, hour, sales, stock_out
        frame, amounts, flags, date, keys, sparse = _read_long(
            frame, columns, keys, time_zone, notes
        )
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
    """Read receipts: a row for each line of a receipt, with its time, item and quantity.

    Parameters
    ----------
    table : table of pandas, polars or pyarrow
    time, quantity, receipt : str, optional
        Columns; what is not said is inferred. Without a column of quantities a line is one unit. A
        receipt that begins again after others was exported twice and counts once.
    date : str, optional
        Column of dates, where `time` is the time of day alone.
    series : sequence of str, optional
        Columns that tell series apart; by default those that look like shops and items.
    time_zone, opens, closes : optional
        As for `read_hourly`.

    Returns
    -------
    HourlySales

    Examples
    --------
    >>> import polars as pl
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
            notes.append("All lines are one series: no column looks like an item (series=).")
    sold = np.ones(frame.height) if amount is None else finite(frame, amount, "quantity")
    once = ~_exported_twice(frame, ticket, notes)
    returned = int((sold[once] < 0).sum())
    if returned:
        lines_are = "line is a return" if returned == 1 else "lines are returns"
        notes.append(f"{returned:,} {lines_are}: netted with what was sold.")
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
        f"{name} must be a column of the table; none of {', '.join(frame.columns[:20])} looks "
        f"like it: say which ({name}=)."
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
        equal = "line equals" if count == 1 else "lines equal"
        notes.append(
            f"{count:,} {equal} another in every column: without a column of receipts each counts."
        )
    elif count and ticket is not None:
        numbered = frame.select(
            copy=pl.int_range(pl.len()).over(frame.columns) > 0,
            ticket=pl.col(ticket),
            run=pl.col(ticket).rle_id(),
        )
        again = pl.col("run") > pl.col("run").min().over("ticket")
        copies = numbered.select(pl.col("copy") & again).to_series().to_numpy()
        count = int(copies.sum())
        stand = "line stands" if count == 1 else "lines stand"
        if count:
            notes.append(
                f"{count:,} {stand} in the table a second time, by {ticket!r}: counted once."
            )
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
            f"time must be known in every row, got none in {column.null_count():,} of {name!r}."
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
                "time must hold a date and a time of day such as 2024-05-31 14:05, got "
                f"{text[row]!r} in column {name!r}, row {row}."
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
                "time must hold times such as 2024-05-31T14:05:00+02:00, got "
                f"{text[0]!r} in column {name!r}."
            ) from None
    elif column.dtype != pl.Datetime:
        raise InvalidInput(
            f"time must hold the time of day, got {column.dtype} alone in column {name!r}."
        )
    zone = getattr(column.dtype, "time_zone", None)
    if zone is None:
        return column
    if time_zone is None and zone in ("UTC", "Etc/UTC"):
        raise InvalidInput(
            f"time_zone must be said where times are those of UTC, as in column {name!r}: such as "
            "Europe/Berlin, so that hours are those of the clock in the shop."
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
            f"{name} must be a list of {HOURS} numbers in every row, got {lengths[row]} in column "
            f"{column.name!r}, row {row}."
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


def _read_long(
    frame: pl.DataFrame,
    columns: tuple[str | None, str | None, str | None, str | None],
    series: list[str] | None,
    time_zone: str | None,
    notes: list[str],
) -> tuple[pl.DataFrame, Array, NDArray[np.bool_] | None, str, list[str], bool]:
    """Read a row for each series, day and hour, or each part of an hour.

    Hours and days without a row sold nothing if no row says 0, and days have more rows or fewer.
    """
    date, hour, sales, stock_out = columns
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
    rest = [name for name in others if name != clock and name not in (series or ())]
    flag = stock_out or next((n for n in named(rest, NAMES["sold_out"]) if n != sales), None)
    amount = sales or _one(frame, "sales", [name for name in _amounts(frame, rest) if name != flag])
    rest = [name for name in rest if name not in (flag, amount)]
    keys = series
    if keys is None:  # one row for each hour of a series, and all that name items and shops
        found = series_columns(frame, rest, instant) or ()
        keys = [name for name in rest if name in found or is_item(name) or is_place(name)]
    twice = frame.select(*keys, instant.alias("\0at")).is_duplicated()
    if twice.any():
        row = int(twice.arg_max() or 0)
        raise InvalidInput(
            f"Each series must have one row for each hour, got several of hour {hours[row]} on "
            f"{frame[day][row]}: add them up, or name the columns that tell them apart (series=)."
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
        have = "1 hour has" if gaps == 1 else f"{gaps:,} hours have"
        notes.append(f"{have} no number and count as 0 sold.")
    flags = None
    if flag is not None:
        flags = np.zeros(amounts.shape, dtype=np.bool_)
        empty = read_flags(frame, flag, bool(named([flag], OPPOSITE))) == 1.0
        flags[code[empty], hours[empty]] = True
    sparse = not (sold == 0).any() and bool((rows != rows[0]).any())
    return days, amounts, flags, day, keys, sparse


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
        raise InvalidInput("sales must be known of at least one day, got none.")
    gaps = int(np.isnan(amounts[~unknown]).any(axis=1).sum())
    if gaps:
        of = "1 day" if gaps == 1 else f"{gaps:,} days"
        notes.append(f"Hours of {of} have no number and count as 0 sold.")
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
            "Each series must have one row a day, got several: name the columns that tell them "
            "apart (series=)."
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
            notes.append(
                f"{empty.sum():,} {'day' if empty.sum() == 1 else 'days'} on which a shop sold "
                "something, but not this item, count as 0 sold."
            )
    _leave_out_unfinished(sales, first, notes)
    promotions = _promotions(days, (*schema.known_future, *schema.static), code, day, shape[:2])
    opened = _opening_hours(sales, groups, *window)
    static = days[place].select(schema.static) if schema.static else None
    return HourlySales(
        sales, first, keys, opened, out, groups, promotions, static, schema.date, tuple(notes)
    )


def _promotions(
    days: pl.DataFrame,
    columns: Sequence[str],
    code: Places,
    day: Places,
    shape: tuple[int, int],
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
            f"{when} is left out: all series are silent after {end[last] + 1}:00, so that day was "
            "not over when the table was written."
        )
