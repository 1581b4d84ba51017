"""Tables of hours and receipts: read once into `HourlySales`, or refused in one sentence."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.censoring.hours.days import assemble
from unmet.censoring.hours.hours import HOURS, HourlySales, check_window
from unmet.errors import InvalidInput
from unmet.tables.reading import (
    as_polars,
    finite,
    numbers,
    read_dates,
    read_flags,
    require_columns,
)
from unmet.tables.schema import (
    NAMES,
    OPPOSITE,
    date_columns,
    is_id,
    is_item,
    is_place,
    named,
    series_columns,
)

if TYPE_CHECKING:
    import polars

_WIDE = re.compile(
    r"^(?:h|hr|hour|std|stunde|uhr|sales|sale|sold|qty|units)?[_ ]?(\d{1,2})(?::00)?(?:h| uhr)?$"
)
_MIN_WIDE = 4  # columns of hours that make a table wide
_CLOCK_NAMES = ("hour", "stunde", "hr", "heure", "hora", "uhrzeit")
_TIMES = (
    *("time", "timestamp", "datetime", "sold_at", "created_at", "when"),
    *("zeit", "zeitpunkt", "zeitstempel", "uhrzeit"),
)
_QUANTITY = ("quantity", "qty", "units", "menge", "anzahl", "count", *NAMES["sales"])
_RECEIPT = (
    *("receipt", "receipt_id", "basket", "transaction", "invoice", "ticket", "order_id"),
    *("bon", "beleg", "kassenbon"),
)
_NOT_SERIES = ("customer", "kunde", "cashier", "kassierer", "till", "kasse", "line", "zeile", "pos")
_CLOCK = r"(\d{1,2}):(\d{2})"
_OFFSET = r"(?:Z|[+-]\d{2}:?\d{2})$"


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
        Columns; what is not said is guessed. In a long table `date` may hold dates with the time
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
    series = _names(series)
    columns = (date, hour, sales, stock_out, *(series or ()))
    frame = _begin(table, "hours", columns, (opens, closes), time_zone)
    nested = nested_columns(frame.schema)
    wide = _wide(frame) if hour is None and sales is None else {}
    if sales in nested or (sales is None and nested):
        amounts, flags = lists_of_hours(frame, nested, sales, stock_out)
        days = frame.drop(nested)
    elif wide:
        amounts = np.zeros((frame.height, HOURS))
        for number, name in wide.items():
            amounts[:, number] = numbers(frame, name, "sales")
        amounts[np.isnan(amounts[:, list(wide)]).all(axis=1)] = np.nan
        days, flags = frame.drop(list(wide.values())), None
        if stock_out is not None:
            raise InvalidInput(
                "stock_out of a wide table must be a column of lists of 24 flags, got "
                f"{stock_out!r}: write a long table, one row for each hour."
            )
    else:
        window = opens, closes
        return _read_long(frame, date, series, hour, sales, stock_out, time_zone, window)
    return assemble(days, amounts, flags, date, series, (opens, closes))


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
        Columns; what is not said is guessed. Without a column of quantities a line is one unit. A
        receipt that stands in the table a second time was exported twice and counts once.
    date : str, optional
        Column of dates, where `time` is the time of day alone.
    series : sequence of str, optional
        Columns that tell series apart; by default those that look like shops and items.
    time_zone : str, optional
        Where the shops are, such as "Europe/Berlin": times with a zone or an offset are brought
        there. Times without one are those of the clock on the wall.
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

    series = _names(series)
    columns = (time, date, quantity, receipt, *(series or ()))
    frame = _begin(table, "receipts", columns, (opens, closes), time_zone)
    taken = [each for each in (date, quantity, receipt, *(series or ())) if each is not None]
    free = [name for name in frame.columns if name not in taken]
    when_name = time or _one(frame, "time", [*named(free, _TIMES), *date_columns(frame, free)])
    when, day_name = _moments(frame, when_name, date, time_zone)
    free = [name for name in frame.columns if name not in (when_name, day_name)]
    amount_name = quantity or next(iter(_amounts(frame, free)), None)
    free = [name for name in free if name != amount_name]
    ticket = receipt or next(iter(named(free, _RECEIPT)), None)
    free = [name for name in free if name != ticket]
    notes: list[str] = []
    keys = _series_of_lines(frame, free, notes) if series is None else list(series)
    sold = np.ones(frame.height) if amount_name is None else finite(frame, amount_name, "quantity")
    copies = _exported_twice(frame, ticket, notes)
    returned = int((sold[~copies] < 0).sum())
    if returned:
        lines_are = "line is a return" if returned == 1 else "lines are returns"
        notes.append(f"{returned:,} {lines_are}: netted with what was sold.")
    lines = frame.select(
        *keys,
        when.dt.date().alias("\0day"),
        when.dt.hour().cast(pl.Int64).alias("\0hour"),
        pl.Series("\0sold", sold),
    )
    whole = lines.filter(pl.Series(~copies)).group_by(["\0day", *keys], maintain_order=True)
    days = whole.agg(pl.col("\0hour"), pl.col("\0sold"))
    amounts = _spread(days["\0hour"], days["\0sold"])
    date_name = "date" if "date" not in keys else "day"
    days = days.drop("\0hour", "\0sold").rename({"\0day": date_name})
    return assemble(days, amounts, None, date_name, keys, (opens, closes), True, notes)


# --- Which column is what.


def _begin(
    table: Any,
    field: str,
    columns: Sequence[str | None],
    window: tuple[int | None, int | None],
    time_zone: str | None,
) -> polars.DataFrame:
    """Read a table, and refuse what is wrong before any of its columns is looked at."""
    frame = as_polars(table)
    if not frame.height:
        raise InvalidInput(f"{field} must have at least one row, got none.")
    require_columns(frame, columns, field)
    check_window(*window)
    _check_zone(time_zone)
    return frame


def _one(frame: polars.DataFrame, field: str, found: Sequence[str]) -> str:
    if found:
        return found[0]
    raise InvalidInput(
        f"{field} must be a column of the table; none of {', '.join(frame.columns[:20])} looks "
        f"like it: say which ({field}=)."
    )


def _amounts(frame: polars.DataFrame, columns: Sequence[str]) -> list[str]:
    """Columns that look like units sold; text only where the name says nothing else."""
    exact = named(columns, _QUANTITY, exactly=True)
    others = [name for name in named(columns, _QUANTITY) if frame[name].dtype.is_numeric()]
    return [*exact, *others]


def _names(series: Sequence[str] | str | None) -> list[str] | None:
    return [series] if isinstance(series, str) else None if series is None else list(series)


def nested_columns(schema: Mapping[str, Any]) -> list[str]:
    """Columns that hold lists."""
    import polars as pl

    return [name for name, kind in schema.items() if isinstance(kind, pl.List | pl.Array)]


def _wide(frame: polars.DataFrame) -> dict[int, str]:
    """Columns of a wide table by their hours; none where the table is not wide."""
    wide: dict[int, str] = {}
    for name in frame.columns:
        found = _WIDE.match(name.lower().strip())
        if not found:
            continue
        if int(found[1]) in wide:
            raise InvalidInput(
                f"Each hour must have one column, got {wide[int(found[1])]!r} and {name!r}."
            )
        wide[int(found[1])] = name
    if len(wide) < _MIN_WIDE:
        return {}
    _refuse_hours(np.array(sorted(wide)), "the columns of the wide table")
    return wide


def _series_of_lines(
    frame: polars.DataFrame, columns: Sequence[str], notes: list[str]
) -> list[str]:
    """Columns of shops and items; of other numbers and names where there are none."""
    import polars as pl

    found = [name for name in columns if is_item(name) or is_place(name)]
    if not any(map(is_item, found)):
        others = set(named(columns, _NOT_SERIES))
        found += [n for n in columns if is_id(n) and n not in others and n not in found]
    words = [name for name in columns if frame[name].dtype == pl.String]
    if not found and words:
        notes.append(
            f"All lines are taken for one series, since none of {', '.join(words[:5])} looks like "
            "an item or a shop: say which column does (series=)."
        )
    return found


def _exported_twice(
    frame: polars.DataFrame, ticket: str | None, notes: list[str]
) -> NDArray[np.bool_]:
    """Lines of receipts that stand in the table again.

    Who scans two buns writes two equal lines, one after the other, so equal lines alone say
    nothing. A receipt was exported twice where it begins again after others, or where each of its
    several lines stands there as often as the others.
    """
    import polars as pl

    copies = np.zeros(frame.height, dtype=np.bool_)
    again = frame.is_duplicated()
    if not again.any():
        return copies
    if ticket is None:
        count = frame.height - frame.n_unique()
        equal = "line equals" if count == 1 else "lines equal"
        notes.append(
            f"{count:,} {equal} another in every column: without a column of receipts each counts."
        )
        return copies
    counted = frame.with_columns(
        pl.col(ticket).rle_id().alias("\0run"),
        pl.int_range(pl.len()).over(frame.columns).alias("\0copy"),
        pl.len().over(frame.columns).alias("\0often"),
    )
    repeats = counted.select(
        copy=pl.col("\0copy") > 0,
        later=pl.col("\0run") > pl.col("\0run").min().over(ticket),
        often=pl.col("\0often"),
        kinds=(pl.col("\0copy") == 0).sum().over(ticket),
        whole=(pl.col("\0often").n_unique().over(ticket) == 1)
        & (pl.col("\0run").n_unique().over(ticket) == 1),
    )
    doubled = repeats["whole"] & (repeats["often"] > 1)
    many = doubled & (repeats["kinds"] > 1)
    # where most receipts stand there twice, those with one line do as well
    sorted_twice = doubled if int(doubled.sum()) > frame.height / 2 else many
    copies = (repeats["copy"] & (repeats["later"] | sorted_twice)).to_numpy()
    count = int(copies.sum())
    if count:
        stand = "line stands" if count == 1 else "lines stand"
        notes.append(f"{count:,} {stand} in the table a second time, by {ticket!r}: counted once.")
    return copies


# --- Clocks.


def _moments(
    frame: polars.DataFrame, name: str, date: str | None, time_zone: str | None
) -> tuple[polars.Series, str | None]:
    """Read times as the clock on the wall showed them; name the column of dates beside, if any."""
    import polars as pl

    column = frame[name]
    if column.null_count():
        raise InvalidInput(
            f"time must be known in every row, got none in {column.null_count():,} of {name!r}."
        )
    text = column.cast(pl.String).str.strip_chars() if _is_text(column) else None
    alone = column.dtype == pl.Time or (
        text is not None
        and text.str.contains(r"^\d{1,2}:\d{2}(?::\d{2}[.\d]*)?(?: ?[AaPp]\.?[Mm]\.?)?$").all()
    )
    if not alone:
        return _wall_clock(column, time_zone), None
    day = date or _one(frame, "date", date_columns(frame, [n for n in frame.columns if n != name]))
    clock = column.cast(pl.String).str.slice(0, 8) if text is None else text
    return read_dates(frame, day).cast(pl.Datetime("us")) + _time_of_day(clock, name), day


def _is_text(column: polars.Series) -> bool:
    import polars as pl

    return column.dtype in (pl.String, pl.Categorical, pl.Enum)


def _time_of_day(text: polars.Series, name: str) -> polars.Series:
    """Read 14:05, or 2:05 PM."""
    import polars as pl

    hour = text.str.extract(_CLOCK, 1).cast(pl.Int64)
    minute = text.str.extract(_CLOCK, 2).cast(pl.Int64)
    half = text.str.extract(r"(?i)\d ?([ap])\.?m\b", 1).str.to_lowercase()
    if half.is_not_null().any():
        hour = pl.select(
            pl.when(half == "p")
            .then(hour % 12 + 12)
            .when(half == "a")
            .then(hour % 12)
            .otherwise(hour)
        ).to_series()
    _refuse_hours(hour.to_numpy(), f"column {name!r}")
    return ((hour * 60 + minute) * 60_000_000).cast(pl.Duration("us"))


def _wall_clock(column: polars.Series, time_zone: str | None) -> polars.Series:
    """Read times as the clock on the wall showed them."""
    import polars as pl

    name = column.name
    if column.dtype == pl.Date:
        raise InvalidInput(f"time must hold the time of day, got dates alone in column {name!r}.")
    if _is_text(column):
        text = column.cast(pl.String).str.strip_chars()
        timed = text.str.contains(_CLOCK)
        if not timed.all():
            row = int((~timed).arg_max() or 0)
            raise InvalidInput(
                "time must hold a date and a time of day such as 2024-05-31 14:05, got "
                f"{text[row]!r} in column {name!r}, row {row}."
            )
        zoned = text.str.contains(_OFFSET)
        if zoned.any() and not zoned.all():
            row = int((~zoned).arg_max() or 0)
            raise InvalidInput(
                "time must have an offset in every row or in none, got "
                f"{text[row]!r} in column {name!r}, row {row}."
            )
        if zoned.any() and (time_zone is not None or text.str.contains(r"(?:Z|00:?00)$").all()):
            try:
                column = text.str.to_datetime(time_zone="UTC")
            except pl.exceptions.PolarsError:
                raise InvalidInput(
                    "time must hold times such as 2024-05-31T14:05:00+02:00, got "
                    f"{text[0]!r} in column {name!r}."
                ) from None
        else:  # an offset that was written down is that of the clock on the wall
            dates = read_dates(text.str.replace(rf"[T ]*{_CLOCK}.*$", "").to_frame(), name)
            return dates.cast(pl.Datetime("us")) + _time_of_day(text, name)
    elif column.dtype != pl.Datetime:
        raise InvalidInput(f"time must hold dates with the time of day, got {column.dtype}.")
    zone = getattr(column.dtype, "time_zone", None)
    if zone is None:
        return column
    if time_zone is None and zone in ("UTC", "Etc/UTC"):
        raise InvalidInput(
            f"time_zone must be said where times are those of UTC, as in column {name!r}: such as "
            "Europe/Berlin, so that hours are those of the clock in the shop."
        )
    if time_zone is not None:
        column = column.dt.convert_time_zone(time_zone)
    return column.dt.replace_time_zone(None)


def _check_zone(time_zone: str | None) -> None:
    import polars as pl

    if time_zone is None:
        return
    try:
        pl.Series([datetime.datetime(2024, 1, 1)]).dt.replace_time_zone(str(time_zone))
    except pl.exceptions.PolarsError:
        raise InvalidInput(
            f"time_zone must be a name such as Europe/Berlin, got {time_zone!r}."
        ) from None


def _refuse_hours(hours: NDArray[Any], where: str) -> None:
    wrong = (hours < 0) | (hours >= HOURS)
    if wrong.any():
        raise InvalidInput(
            "hour must be a whole number from 0 to 23, got "
            f"{hours[int(wrong.argmax())]:g} in {where}."
        )


# --- From rows to days of 24 hours.


def lists_of_hours(
    frame: polars.DataFrame, nested: Sequence[str], sales: str | None, stock_out: str | None
) -> tuple[Array, NDArray[np.bool_] | None]:
    """Sales and flags of rows whose hours are lists of 24 numbers, (n_rows, 24) each."""
    flagged = stock_out or next(iter(named(nested, NAMES["sold_out"])), None)
    if flagged is not None and flagged not in nested:
        raise InvalidInput(
            f"stock_out must be a column of lists of {HOURS} flags, as sales are, got {flagged!r}."
        )
    amount = sales or _one(frame, "sales", [name for name in nested if name != flagged])
    flags = None
    if flagged is not None:
        held = _list_of_hours(frame[flagged], "stock_out")
        if not np.isin(held, (0.0, 1.0)).all():
            raise InvalidInput(f"stock_out must hold 0 and 1, got other numbers in {flagged!r}.")
        flags = held == (0.0 if named([flagged], OPPOSITE) else 1.0)
    return _list_of_hours(frame[amount], "sales"), flags


def _list_of_hours(column: polars.Series, field: str) -> Array:
    import polars as pl

    if isinstance(column.dtype, pl.Array):
        column = column.arr.to_list()
    lengths = column.list.len().fill_null(0)
    if (lengths != HOURS).any():
        row = int((lengths != HOURS).arg_max() or 0)
        raise InvalidInput(
            f"{field} must be a list of {HOURS} numbers in every row, got {lengths[row]} in column "
            f"{column.name!r}, row {row}."
        )
    flat = column.explode()
    if not (flat.dtype.is_numeric() or flat.dtype == pl.Boolean):
        raise InvalidInput(
            f"{field} must be lists of numbers, got lists of {flat.dtype} in column "
            f"{column.name!r}."
        )
    return flat.cast(pl.Float64).to_numpy().reshape(len(column), HOURS).copy()


def _spread(hour: polars.Series, values: polars.Series) -> Array:
    """Add up values by hour in rows that hold lists of both, (n_rows, 24); NaN adds nothing."""
    place = np.repeat(np.arange(len(hour)), hour.list.len().to_numpy())
    sums = np.zeros((len(hour), HOURS))
    np.add.at(
        sums,
        (place, hour.explode().to_numpy()),
        np.nan_to_num(values.explode().to_numpy(), posinf=np.inf, neginf=-np.inf),
    )
    return sums


def _read_long(
    frame: polars.DataFrame,
    date: str | None,
    series: Sequence[str] | None,
    hour: str | None,
    sales: str | None,
    stock_out: str | None,
    time_zone: str | None,
    window: tuple[int | None, int | None],
) -> HourlySales:
    """Read a row for each series, day and hour, or each part of an hour.

    Hours and days without a row sold nothing if no row says 0, and days have more rows or fewer.
    """
    import polars as pl

    day = date or _one(frame, "date", date_columns(frame, frame.columns))
    others = [name for name in frame.columns if name != day]
    clock = hour or next(iter(named(others, _CLOCK_NAMES)), None)
    if clock is None:
        moment = _wall_clock(frame[day], time_zone)
        hours = moment.dt.hour().cast(pl.Int64).to_numpy()
        instant = frame[day]
        frame = frame.with_columns(moment.dt.date().alias(day))
    else:
        hours = _hours_of(frame[clock])
        frame = frame.with_columns(read_dates(frame, day).alias(day))
        since = pl.Series(hours * 3_600_000_000).cast(pl.Duration("us"))
        instant = frame[day].cast(pl.Datetime("us")) + since
    _refuse_hours(hours, f"column {clock or day!r}")
    rest = [name for name in others if name != clock and name not in (series or ())]
    flag = stock_out or next(
        (name for name in named(rest, NAMES["sold_out"]) if name != sales), None
    )
    amount = sales or _one(frame, "sales", [name for name in _amounts(frame, rest) if name != flag])
    rest = [name for name in rest if name not in (flag, amount)]
    keys = list(series) if series is not None else _keys(frame, rest, instant)
    twice = frame.select(*keys, instant.alias("\0at")).is_duplicated()
    if twice.any():
        row = int(twice.arg_max() or 0)
        raise InvalidInput(
            f"Each series must have one row for each hour, got several of hour {hours[row]} on "
            f"{frame[day][row]}: add them up, or name the columns that tell them apart (series=)."
        )
    carried = [name for name in rest if name not in keys]
    sold = numbers(frame, amount, "sales")
    out = np.zeros(frame.height)
    if flag is not None:
        out = np.nan_to_num(read_flags(frame, flag, bool(named([flag], OPPOSITE))))
    lines = frame.select(day, *keys, *carried).with_columns(
        pl.Series("\0hour", hours), pl.Series("\0sold", sold), pl.Series("\0out", out)
    )
    whole = lines.group_by([day, *keys], maintain_order=True).agg(
        pl.col("\0hour", "\0sold", "\0out"), *(pl.col(name).first() for name in carried)
    )
    amounts = _spread(whole["\0hour"], whole["\0sold"])
    told = whole["\0sold"].list.eval(pl.element().is_not_nan()).list.sum().to_numpy()
    amounts[told == 0] = np.nan
    rows = whole["\0hour"].list.len()
    sparse = bool(not (sold == 0).any() and rows.n_unique() > 1)
    flags = _spread(whole["\0hour"], whole["\0out"]) > 0 if flag is not None else None
    notes = []
    gaps = int(np.isnan(sold).sum() - rows.filter(pl.Series(told == 0)).sum())
    if gaps:
        have = "1 hour has" if gaps == 1 else f"{gaps:,} hours have"
        notes.append(f"{have} no number and count as 0 sold.")
    days = whole.drop("\0hour", "\0sold", "\0out")
    return assemble(days, amounts, flags, day, keys, window, sparse, notes)


def _hours_of(column: polars.Series) -> NDArray[np.int64]:
    """Hours as numbers, or as 08:00."""
    import polars as pl

    if column.dtype == pl.Time:
        return column.dt.hour().cast(pl.Int64).to_numpy()
    if _is_text(column) and column.str.contains(_CLOCK).all():
        return column.str.extract(_CLOCK, 1).cast(pl.Int64).to_numpy()
    hours = finite(column.to_frame(), column.name, "hour")
    if (hours != np.round(hours)).any():
        raise InvalidInput(
            f"hour must be a whole number from 0 to 23, got {hours[hours % 1 > 0][0]:g} in column "
            f"{column.name!r}."
        )
    return hours.astype(np.int64)


def _keys(frame: polars.DataFrame, columns: Sequence[str], instant: polars.Series) -> list[str]:
    """Columns that leave one row for each hour of a series, and all that name items and shops."""
    found = series_columns(frame, columns, instant)
    wanted = {*(found or ()), *(n for n in columns if is_item(n) or is_place(n))}
    return [name for name in frame.columns if name in wanted]
