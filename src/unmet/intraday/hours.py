"""Sales by the hour, read from receipts or from a table of hours: series × days × 24 hours.

Hours are those that the clock on the wall shows: a day on which clocks change has 24 of them as any
other, one of them twice as long or empty. A day of which a table says nothing is unknown; a day on
which a shop sold something, but not this item, is a day on which the item sold nothing.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.checks import Maybe, WholeNumber
from unmet.errors import InvalidInput
from unmet.planning.encoding import as_categories
from unmet.planning.reading import (
    as_polars,
    finite,
    numbers,
    read_dates,
    read_flags,
    require_columns,
)
from unmet.planning.roles import NAMES, date_columns, guess_roles, is_id, is_place, named

if TYPE_CHECKING:
    import polars

HOURS = 24
_WINDOW = 0.02  # share of sales before opening and after closing that is taken for none
_WIDE = re.compile(r"^(?:h|hr|hour|std|stunde|sales|sale|sold|qty|units)?[_ ]?(\d{1,2})(?::00)?h?$")
_FEWEST_WIDE = 4  # columns of hours that make a table wide
_UNIT_SHARE, _UNIT_FITS = 0.2, 0.9
_CLOCK_NAMES = ("hour", "stunde", "hr", "heure", "hora")
_TIMES = ("time", "timestamp", "datetime", "sold_at", "created_at", "zeit", "zeitstempel", "when")
_QUANTITY = ("quantity", "qty", "units", "menge", "amount", "count", *NAMES["sales"])
_RECEIPT = (
    "receipt",
    "receipt_id",
    "bon",
    "basket",
    "transaction",
    "invoice",
    "ticket",
    "order_id",
)
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

        amounts = np.array(sales, dtype=np.float64)
        if amounts.ndim != 3 or amounts.shape[2] != HOURS or not amounts.size:
            raise InvalidInput(
                f"sales must have the shape (n_series, n_days, {HOURS}), got {amounts.shape}."
            )
        if np.isinf(amounts).any():
            raise InvalidInput("sales must be finite or missing, got inf.")
        unknown = np.isnan(amounts).any(axis=2)
        amounts[unknown] = np.nan
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
        day = datetime.date.fromisoformat(first_day) if isinstance(first_day, str) else first_day
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
        notes = _net_returns(amounts)
        shop = next((each for name, each in numbered.items() if is_place(name)), None)
        opened = _opening_hours(amounts, shop, opens, closes)
        return cls(amounts, day, names, opened, flags, numbered, notes=tuple(notes))

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
        return np.asarray((np.arange(self.n_days) + self.first_day.weekday()) % 7, dtype=np.intp)

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

    @property
    def unit(self) -> float:
        """What one unit is: 1, or the amount of which nearly all sales are multiples.

        Normalised sales come in multiples of 0.1, say. Where there is no such amount (weights), the
        median of an hour's sales stands for it.
        """
        amounts = self.sales[self.sales > 0]
        if not amounts.size:
            return 1.0
        some = amounts if amounts.size <= 200_000 else amounts[:: amounts.size // 200_000 + 1]
        values, counts = np.unique(np.round(some, 6), return_counts=True)
        common = values[counts >= _UNIT_SHARE * some.size]
        for each in common:
            times = some / each
            if (np.abs(times - np.round(times)) < 0.05).mean() >= _UNIT_FITS:
                return float(each)
        if (some == np.round(some)).all():
            return 1.0
        return float(np.median(some))


# --- Reading tables.


def read_hourly(
    table: Any,
    *,
    date: str | None = None,
    series: Sequence[str] | None = None,
    hour: str | None = None,
    sales: str | None = None,
    stock_out: str | None = None,
    opens: int | None = None,
    closes: int | None = None,
) -> HourlySales:
    """Read sales by the hour from a table, long or wide.

    Parameters
    ----------
    table : table of pandas, polars or pyarrow
        Long: a row for each series, day and hour. Wide: a row for each series and day, with a
        column for each hour (``h6``, ``7``, ``08:00``) or one column of lists of 24 numbers.
    date, hour, sales, stock_out : str, optional
        Columns; what is not said is guessed. In a long table `date` may hold dates with the time
        of day, and needs no `hour`. A column `stock_out` of a long table holds flags, of a wide one
        lists of 24.
    series : sequence of str, optional
        Columns that tell series apart.
    opens, closes : int, optional
        First hour in which shops sell, and the hour at which they close.

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
    import polars as pl

    frame = as_polars(table)
    if not frame.height:
        raise InvalidInput("hours must have at least one row, got none.")
    require_columns(frame, [date, hour, sales], "hours")
    _check_window(opens, closes)
    nested = [name for name in frame.columns if isinstance(frame[name].dtype, pl.List | pl.Array)]
    wide = {int(found[1]): name for name in frame.columns if (found := _WIDE.match(name.lower()))}
    if sales in nested or (sales is None and nested):
        day, amounts, flags = _from_lists(frame, nested, sales, stock_out)
    elif hour is None and sales is None and len(wide) >= _FEWEST_WIDE:
        _refuse_hours(np.array(sorted(wide)), "a column of the wide table")
        amounts = np.zeros((frame.height, HOURS))
        for number, name in wide.items():
            amounts[:, number] = np.nan_to_num(numbers(frame, name, "sales"))
        day, flags = frame.drop(list(wide.values())), None
        if stock_out is not None:
            raise InvalidInput(
                "stock_out of a wide table must be a column of lists of 24 flags, got "
                f"{stock_out!r}: write a long table, one row for each hour."
            )
    else:
        return _from_long(frame, date, series, hour, sales, stock_out, opens, closes)
    return _assemble(day, amounts, flags, date, series, opens, closes, [])


def read_receipts(
    table: Any,
    *,
    time: str | None = None,
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
        Columns; what is not said is guessed. Without a column of quantities a line is one unit.
        Lines that repeat another of the same receipt in every column were exported twice and count
        once.
    series : sequence of str, optional
        Columns that tell series apart; by default those that look like shops and items.
    time_zone : str, optional
        Where the shops are, such as "Europe/Berlin": times with a zone or an offset are brought
        there. Times without one are those of the wall clock.
    opens, closes : int, optional
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
    import polars as pl

    frame = as_polars(table)
    if not frame.height:
        raise InvalidInput("receipts must have at least one row, got none.")
    require_columns(frame, [time, quantity, receipt], "receipts")
    _check_window(opens, closes)
    when_name = time or _one(
        frame, "time", [*named(frame.columns, _TIMES), *named(frame.columns, NAMES["date"])]
    )
    free = [name for name in frame.columns if name != when_name]
    amount_name = quantity or next(
        (each for each in named(free, _QUANTITY) if frame[each].dtype.is_numeric()), None
    )
    free = [name for name in free if name != amount_name]
    ticket = receipt or next(iter(named(free, _RECEIPT)), None)
    notes: list[str] = []
    if ticket is not None:
        once = frame.unique(maintain_order=True)
        if once.height < frame.height:
            again = frame.height - once.height
            notes.append(
                f"{again:,} {'line repeats' if again == 1 else 'lines repeat'} another of the same "
                f"{ticket!r} in every column and count once."
            )
            frame = once
    if series is None:
        keys = [name for name in free if name != ticket and (is_id(name) or is_place(name))]
    else:
        keys = list(series)
    require_columns(frame, keys, "series")
    when = _wall_clock(frame, when_name, time_zone)
    sold = np.ones(frame.height) if amount_name is None else finite(frame, amount_name, "quantity")
    lines = pl.DataFrame(
        {
            "date": when.dt.date(),
            "\0hour": when.dt.hour().cast(pl.Int64),
            "\0sold": sold,
            **{name: frame[name] for name in keys},
        }
    )
    hourly = lines.group_by(["date", "\0hour", *keys], maintain_order=True).agg(
        pl.col("\0sold").sum()
    )
    hourly = hourly.rename({"\0hour": "hour", "\0sold": "sales"})
    return _from_long(
        hourly, "date", keys, "hour", "sales", None, opens, closes, notes, sparse=True
    )


def _one(frame: polars.DataFrame, role: str, found: Sequence[str]) -> str:
    if found:
        return found[0]
    raise InvalidInput(
        f"{role} must be a column of the table; none of {', '.join(frame.columns[:20])} looks like "
        f"it: say which ({role}=)."
    )


def _wall_clock(frame: polars.DataFrame, name: str, time_zone: str | None) -> polars.Series:
    """Read times as the clock on the wall showed them."""
    import polars as pl

    column = frame[name]
    if column.null_count():
        raise InvalidInput(
            f"time must be known in every row, got none in {column.null_count():,} of {name!r}."
        )
    if column.dtype == pl.Date:
        raise InvalidInput(f"time must hold the time of day, got dates alone in column {name!r}.")
    zoned = False
    if column.dtype == pl.Datetime:
        zoned = getattr(column.dtype, "time_zone", None) is not None
    elif column.dtype in (pl.String, pl.Categorical, pl.Enum):
        text = column.cast(pl.String).str.strip_chars()
        if not text.str.contains(r"\d{1,2}:\d{2}").all():
            row = int((~text.str.contains(r"\d{1,2}:\d{2}")).arg_max() or 0)
            raise InvalidInput(
                f"time must hold a date and a time of day such as 2024-05-31 14:05, got "
                f"{text[row]!r} in column {name!r}, row {row}."
            )
        zoned = bool(text.str.contains(r"(?:Z|[+-]\d{2}:?\d{2})$").all())
        try:
            if zoned:
                column = text.str.to_datetime(time_zone="UTC")
            else:
                dates = read_dates(pl.DataFrame({name: text}), name)
                clock = text.str.extract(r"(\d{1,2}):\d{2}", 1).cast(pl.Int64)
                minute = text.str.extract(r"\d{1,2}:(\d{2})", 1).cast(pl.Int64)
                _refuse_hours(clock.to_numpy(), f"column {name!r}")
                column = (
                    dates.cast(pl.Datetime("us"))
                    + pl.DataFrame({"h": clock, "m": minute})
                    .select(pl.duration(hours="h", minutes="m"))
                    .to_series()
                )
        except pl.exceptions.PolarsError:
            raise InvalidInput(
                f"time must hold times such as 2024-05-31 14:05, got {text[0]!r} in {name!r}."
            ) from None
    else:
        raise InvalidInput(f"time must hold dates with the time of day, got {column.dtype}.")
    if not zoned:
        return column
    if time_zone is None and getattr(column.dtype, "time_zone", None) == "UTC":
        raise InvalidInput(
            f"time_zone must be said where times have an offset, as in column {name!r}: such as "
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


def _from_lists(
    frame: polars.DataFrame, nested: list[str], sales: str | None, stock_out: str | None
) -> tuple[polars.DataFrame, Array, NDArray[np.bool_] | None]:
    amounts, flags = lists_of_hours(frame, nested, sales, stock_out)
    return frame.drop(nested), amounts, flags


def lists_of_hours(
    frame: polars.DataFrame, nested: list[str], sales: str | None, stock_out: str | None
) -> tuple[Array, NDArray[np.bool_] | None]:
    """Sales and flags of rows whose hours are lists of 24 numbers, (n_rows, 24) each."""
    flagged = stock_out or next(iter(named(nested, NAMES["sold_out"])), None)
    amount = sales or _one(frame, "sales", [name for name in nested if name != flagged])
    flags = None
    if flagged is not None:
        held = _list_of_hours(frame[flagged], "stock_out")
        if not np.isin(held, (0.0, 1.0)).all():
            raise InvalidInput(f"stock_out must hold 0 and 1, got other numbers in {flagged!r}.")
        flags = held == 1.0
    return _list_of_hours(frame[amount], "sales"), flags


def _list_of_hours(column: polars.Series, role: str) -> Array:
    import polars as pl

    if isinstance(column.dtype, pl.Array):
        column = column.arr.to_list()
    lengths = column.list.len().fill_null(0)
    if (lengths != HOURS).any():
        row = int((lengths != HOURS).arg_max() or 0)
        raise InvalidInput(
            f"{role} must be a list of {HOURS} numbers in every row, got {lengths[row]} in column "
            f"{column.name!r}, row {row}."
        )
    return column.explode().cast(pl.Float64).to_numpy().reshape(len(column), HOURS).copy()


def _from_long(
    frame: polars.DataFrame,
    date: str | None,
    series: Sequence[str] | None,
    hour: str | None,
    sales: str | None,
    stock_out: str | None,
    opens: int | None,
    closes: int | None,
    notes: list[str] | None = None,
    sparse: bool = False,
) -> HourlySales:
    """One row for each series, day and hour; `sparse`: hours without a row sold nothing."""
    import polars as pl

    notes = [] if notes is None else notes
    day = date or _one(frame, "date", date_columns(frame, frame.columns))
    clock = hour or next(iter(named([n for n in frame.columns if n != day], _CLOCK_NAMES)), None)
    if clock is None:
        moments = _wall_clock(frame, day, None)
        hours = moments.dt.hour().cast(pl.Int64).to_numpy()
        frame = frame.with_columns(moments.dt.date().alias(day))
    else:
        hours = finite(frame, clock, "hour")
        if (hours != np.round(hours)).any():
            raise InvalidInput(f"hour must be a whole number from 0 to 23 in column {clock!r}.")
        hours = hours.astype(np.int64)
        frame = frame.with_columns(read_dates(frame, day).alias(day))
    _refuse_hours(hours, f"column {clock or day!r}")
    rest = [name for name in frame.columns if name not in (day, clock)]
    flag = stock_out
    if flag is None:
        flag = next(
            (n for n in named(rest, NAMES["sold_out"]) if n not in (sales, *(series or ()))), None
        )
    require_columns(frame, [flag], "stock_out")
    rest = [name for name in rest if name != flag]
    amount = sales or _one(
        frame, "sales", [name for name in named(rest, _QUANTITY) if frame[name].dtype.is_numeric()]
    )
    rest = [name for name in rest if name != amount]
    keys = list(series) if series is not None else [n for n in rest if is_id(n) or is_place(n)]
    require_columns(frame, keys, "series")
    carried = [name for name in rest if name not in keys]
    sold = np.nan_to_num(numbers(frame, amount, "sales"))
    flags = (
        np.zeros(frame.height) if flag is None else np.nan_to_num(read_flags(frame, flag, False))
    )
    lines = frame.select(day, *keys, *carried).with_columns(
        pl.Series("\0hour", hours), pl.Series("\0sold", sold), pl.Series("\0out", flags)
    )
    twice = lines.select(day, *keys, "\0hour").is_duplicated()
    if twice.any():
        row = int(twice.arg_max() or 0)
        raise InvalidInput(
            f"Each series must have one row for each hour, got several of hour {hours[row]} on "
            f"{frame[day][row]}: add them up, or name the columns that tell them apart (series=)."
        )
    whole = lines.group_by([day, *keys], maintain_order=True).agg(
        pl.col("\0hour"), pl.col("\0sold"), pl.col("\0out"), *(pl.col(n).first() for n in carried)
    )
    place = np.repeat(np.arange(whole.height), whole["\0hour"].list.len().to_numpy())
    at = whole["\0hour"].explode().to_numpy()
    amounts = np.zeros((whole.height, HOURS))
    amounts[place, at] = whole["\0sold"].explode().to_numpy()
    out: NDArray[np.bool_] | None = None
    if flag is not None:
        out = np.zeros((whole.height, HOURS), dtype=np.bool_)
        out[place, at] = whole["\0out"].explode().to_numpy() == 1.0
    days = whole.drop("\0hour", "\0sold", "\0out")
    return _assemble(days, amounts, out, day, keys, opens, closes, notes, sparse=sparse)


def _assemble(
    days: polars.DataFrame,
    amounts: Array,
    flags: NDArray[np.bool_] | None,
    date: str | None,
    series: Sequence[str] | None,
    opens: int | None,
    closes: int | None,
    notes: list[str],
    *,
    sparse: bool = False,
) -> HourlySales:
    """From a row for each series and day to arrays."""
    import polars as pl

    named_sales = "sales" if "sales" not in days.columns else "sales_of_the_day"
    if not np.isfinite(amounts).all():
        raise InvalidInput("sales must be finite in every hour, got inf or nothing.")
    notes += _net_returns(amounts[None])
    daily = days.with_columns(pl.Series(named_sales, np.round(amounts.sum(axis=1), 9)))
    roles = guess_roles(
        daily, date=date, series=series, sales=named_sales, stock="", sold_out="", price=None
    )
    dates = read_dates(daily, roles.date)
    first = dates.min()
    assert isinstance(first, datetime.date)
    day = (dates - first).dt.total_days().to_numpy().astype(np.intp)
    names = list(roles.series)
    if names:
        text = daily.select(as_categories(daily[name]).alias(name) for name in names)
        number = text.with_columns(pl.struct(names).rank("dense").alias("\0n"))["\0n"]
        code = number.to_numpy().astype(np.intp) - 1
        each = np.unique(code, return_index=True)[1]
        keys = daily.select(names)[each]
    else:
        code, keys = np.zeros(daily.height, dtype=np.intp), pl.DataFrame({"series": [0]})
    n_days = int(day.max()) + 1
    if np.unique(code * n_days + day).size < day.size:
        raise InvalidInput(
            "Each series must have one row a day, got several: name the columns that tell them "
            "apart (series=)."
        )
    shape = (keys.height, n_days, HOURS)
    sales = np.full(shape, np.nan)
    sales[code, day] = amounts
    out = None
    if flags is not None:
        out = np.zeros(shape, dtype=np.bool_)
        out[code, day] = flags
    groups = _groups(daily, roles.series, roles.static, code)
    shop = next((each for name, each in groups.items() if is_place(name)), None)
    if sparse:
        _fill_sold_nothing(sales, shop, notes)
    opened = _opening_hours(sales, shop, opens, closes)
    special = _promotions(daily, (*roles.known, *roles.static), code, day, shape[:2])
    return HourlySales(
        sales, first, keys, opened, out, groups, special, daily, roles.date, tuple(notes)
    )


def _groups(
    daily: polars.DataFrame, keys: Sequence[str], static: Sequence[str], code: Places
) -> dict[str, Places]:
    """Find what series have in common, of columns that some but not all of them share."""
    found: dict[str, Places] = {}
    first = np.unique(code, return_index=True)[1]
    for name in (*keys, *static):
        number = daily[name][first].cast(str).rank("dense").fill_null(0).to_numpy().astype(np.intp)
        shared = np.bincount(number)
        if np.count_nonzero(shared) > 1 and (shared >= 2).any():
            found[name] = np.unique(number, return_inverse=True)[1].astype(np.intp)
    return found


def _promotions(
    daily: polars.DataFrame,
    columns: Sequence[str],
    code: Places,
    day: Places,
    shape: tuple[int, int],
) -> Array | None:
    """1 on days with a promotion: a flag, or a price or share that is below its usual value."""
    for name in named(columns, NAMES["promotion"]):
        if not (daily[name].dtype.is_numeric() or daily[name].dtype == bool):
            continue
        values = np.full(shape, np.nan)
        values[code, day] = numbers(daily, name, name)
        if np.isin(values[~np.isnan(values)], (0.0, 1.0)).all():
            return np.asarray(np.nan_to_num(values))
        usual = np.nanmedian(values, axis=1, keepdims=True)
        return np.asarray(np.abs(values - usual) > 0.1 * np.abs(usual), dtype=np.float64)
    return None


def _fill_sold_nothing(sales: Array, shop: Places | None, notes: list[str]) -> None:
    """Days on which the shop sold something are days on which other items sold nothing.

    Between the first and the last receipt of an item: before and after, nobody offered it.
    """
    seen = ~np.isnan(sales[:, :, 0])
    group = np.zeros(sales.shape[0], dtype=np.intp) if shop is None else shop
    anything = np.zeros((int(group.max()) + 1, sales.shape[1]), dtype=np.bool_)
    np.logical_or.at(anything, group, seen)
    day = np.arange(sales.shape[1])
    first = seen.argmax(axis=1)[:, None]
    last = sales.shape[1] - 1 - seen[:, ::-1].argmax(axis=1)[:, None]
    empty = ~seen & anything[group] & (day >= first) & (day <= last)
    sales[empty] = 0.0
    count = int(empty.sum())
    if count:
        notes.append(
            f"{count:,} {'day' if count == 1 else 'days'} on which an item has no receipt and its "
            "shop has count as 0 sold."
        )


def _net_returns(sales: Array) -> list[str]:
    """Take returns off what was sold before on the same day; change `sales` in place."""
    negative = np.argwhere(np.nan_to_num(sales) < 0)
    if not len(negative):
        return []
    lost = 0.0
    for series, day, hour in negative:
        back = -float(sales[series, day, hour])
        sales[series, day, hour] = 0.0
        for earlier in range(int(hour) - 1, -1, -1):
            taken = min(back, max(float(sales[series, day, earlier]), 0.0))
            sales[series, day, earlier] -= taken
            back -= taken
            if back <= 0:
                break
        lost += back
    count = len(negative)
    hours = "1 hour has" if count == 1 else f"{count:,} hours have"
    more = f", but for {lost:g} units that were sold on another day" if lost > 1e-9 else ""
    return [f"{hours} more returned than sold: taken off earlier sales of the day{more}."]


def _opening_hours(
    sales: Array, shop: Places | None, opens: int | None, closes: int | None
) -> NDArray[np.bool_]:
    """Hours in which each series' shop sells, (n_series, 24)."""
    _check_window(opens, closes)
    n_series = sales.shape[0]
    group = np.zeros(n_series, dtype=np.intp) if shop is None else shop
    sums = np.zeros((int(group.max()) + 1, HOURS))
    np.add.at(sums, group, np.nansum(sales, axis=1))
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
    last = np.maximum(last, first)
    hour = np.arange(HOURS)
    return np.asarray((hour >= first[group][:, None]) & (hour <= last[group][:, None]))


def _check_window(opens: int | None, closes: int | None) -> None:
    Maybe(WholeNumber(0, HOURS - 1))("opens", opens)
    Maybe(WholeNumber(1, HOURS))("closes", closes)
    if opens is not None and closes is not None and opens >= closes:
        raise InvalidInput(f"closes must be after opens, got opens={opens} and closes={closes}.")


def _refuse_hours(hours: NDArray[Any], where: str) -> None:
    wrong = (hours < 0) | (hours >= HOURS)
    if wrong.any():
        raise InvalidInput(
            "hour must be a whole number from 0 to 23, got "
            f"{hours[int(wrong.argmax())]:g} in {where}."
        )
