"""Convert exported sales of any form to one row for each series and period.

This is the only reader of tables of sales, for the command line, the page and `OrderPlan.fit`. It
turns wide tables into long ones, adds up lines of orders and receipts, and leaves out totals. Notes
describe the changes, with counts.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from unmet.errors import InvalidInput, Note
from unmet.tables.dates import find_period, period_date, period_place, read_dates, readings
from unmet.tables.dialect import TOTAL, DecimalUnknown, with_types, without_noise
from unmet.tables.encoding import count_rows
from unmet.tables.reading import as_polars, read_flags, require_columns, row_number
from unmet.tables.schema import (
    NAMES,
    Schema,
    date_columns,
    infer_schema,
    is_id,
    is_item,
    is_whole,
    named,
    plain,
    sales_columns,
    series_columns,
)
from unmet.validation import OneOf

DUPLICATES = ("sum", "error", "last")
"""What becomes of several rows of a series and period: added up, refused, or the last is taken."""


@dataclass(frozen=True)
class SalesTable:
    """A table of sales as plans take it.

    Attributes
    ----------
    table : polars.DataFrame
        One row for each series and period.
    schema : Schema
        Complete: which column is what, and the period.
    notes : tuple of str
        What was done to the table, a sentence each.
    n_rows : int
        Rows of the table as it was given.
    """

    table: pl.DataFrame
    schema: Schema
    notes: tuple[str, ...]
    n_rows: int

    @property
    def n_series(self) -> int:
        """How many series."""
        names = self.schema.series
        return self.table.select(names).n_unique() if names else 1


def read_sales(
    table: Any,
    schema: Schema | None = None,
    *,
    told: Iterable[str] = (),
    beside: Collection[str] = (),
) -> SalesTable:
    """Read a table of sales of any form.

    Parameters
    ----------
    table : table of pandas, polars or pyarrow
    schema : Schema, optional
        What is known of the columns.
    told : iterable of str
        Columns that a table of coming days has.
    beside : collection of str
        Columns that are kept, but are nothing that is inferred.

    Returns
    -------
    SalesTable

    Examples
    --------
    >>> import polars as pl
    >>> wide = pl.DataFrame({"item": ["tea", "bun"], "2024-05-01": [3, 5], "2024-05-02": [4, 6],
    ...                      "2024-05-03": [2, 9]})
    >>> found = read_sales(wide)
    >>> found.schema.date, found.schema.series, found.schema.sales, found.table.height
    ('date', ('item',), 'sales', 6)
    >>> found.notes
    ('3 columns, 2024-05-01 to 2024-05-03, were read as days of sales.',)
    """
    if isinstance(table, SalesTable):
        return table
    given = schema or Schema()
    OneOf(*DUPLICATES)("duplicates", given.duplicates)
    rows, notes, wide = as_long(table, given)
    if given.sales not in (None, *rows.columns):
        given = replace(given, sales="sales")
    free = rows.drop(set(beside) & set(rows.columns))
    found = infer_schema(free, given, told)
    labels = [name for name in found.known_future if free[name].dtype == pl.String]
    if "date" in wide and not found.series and labels:  # each row of a wide table is a series
        found = infer_schema(free, replace(given, series=labels[:1]), told)
    found = replace(found, why={**found.why, **wide})
    n_rows = rows.height
    dates = read_dates(rows, found.date, found.date_format)
    rows = _without_totals(rows.with_columns(dates.alias(found.date)), found, notes)
    rows = _without_strays(rows, found, notes)
    sold = rows[found.sales]
    if sold.dtype.is_numeric() and 10 * (sold > 0).sum() + 2 < (sold < 0).sum():
        rows = rows.with_columns(-pl.col(found.sales))
        notes.append(
            Note(f"The signs of {found.sales!r} were changed, because nearly all are negative.")
        )
    if found.period is None:
        found = replace(found, period=find_period(rows[found.date], found.date))
    rows, found, said = add_up(rows, found, beside)
    notes += said
    if _looks_like_money(rows[found.sales]):
        notes.append(
            Note(
                f"Orders are money, because {found.sales!r} looks like money: name a column of "
                "units if there is one (sales=)."
            )
        )
    return SalesTable(rows, found, tuple(notes), n_rows)


# --- From any form to long.


def as_long(
    table: Any, schema: Schema | None = None
) -> tuple[pl.DataFrame, list[str], dict[str, str]]:
    """Bring a table into the long form, with a column of dates and one of sales.

    A long table stays as it is. Otherwise columns of days, weeks or months become rows, columns of
    year and month become one of dates, and lines without a quantity count as one unit.

    Parameters
    ----------
    table : table of pandas, polars or pyarrow
    schema : Schema, optional
        What is known of the columns. Several names in `Schema.sales` are those of items.

    Returns
    -------
    table : polars.DataFrame
    notes : list of str
    wide : dict of str to str
        Where columns became rows, what tells so: of "date" or of "series".
    """
    given = schema or Schema()
    rows, notes = without_noise(as_polars(table))
    if not rows.height:
        raise InvalidInput("table must have at least one row below the header, got none.")
    words = [name for name, kind in rows.schema.items() if kind == pl.String]
    amounts = named(words, (*NAMES["sales"], *NAMES["stock"], *NAMES["price"]))
    ids = [
        name
        for name in words
        if is_id(name)
        or named([name], NAMES["date"])
        or (name not in amounts and rows[name].str.contains(r"^\d+$").all())
    ]
    sold = [each for each in words if each == given.sales] or named(words, NAMES["sales"])
    for name in sold:
        odd = (~rows[name].str.contains(r"^[^\p{L}]*\d[^\p{L}]*$")).fill_null(False)
        if 0 < 20 * odd.sum() <= odd.len():  # a few words among numbers, such as "closed"
            quoted = ", ".join(map(repr, rows[name].filter(odd).unique().sort().head(3)))
            said = (
                f"Cells of {name!r} without a number count as missing: {quoted}, the first in row "
            )
            said += f"{row_number(rows, int(odd.arg_max() or 0))}."
            notes.append(Note(said, float(odd.mean())))  # type: ignore[arg-type]
            rows = rows.with_columns(rows[name].set(odd, None))
    with suppress(DecimalUnknown):  # columns of text that may be numbers stay text
        rows, _ = with_types(rows, ids)
    # a pivot table names a group in its first row only
    for name in [each for each in words if is_id(each) or each == rows.columns[0]]:
        names = rows[name].drop_nulls()
        if 2 * names.len() <= rows.height and rows[name][0] is not None and names.is_unique().all():
            rows = rows.with_columns(pl.col(name).forward_fill())
            notes.append(f"Empty cells of {name!r} were filled with the value above.")
    if given.sales is not None and given.sales not in rows.columns:
        items = given.sales.split(",") if isinstance(given.sales, str) else list(given.sales)
        items = [name.strip() for name in items]
        require_columns(rows, items, "sales")
        notes.append(f"{len(items)} columns were read as items, one series each.")
        return _items_as_rows(rows, items), notes, {"series": f"{len(items)} columns"}
    wide: dict[str, str] = {}
    if given.date is None:
        rows, wide = _melted(rows, notes)
    dates = [given.date] if given.date else date_columns(rows, rows.columns)
    if not dates:
        rows, dates = _joined_dates(rows, notes)
    if given.sales is None and len(dates) == 1:
        free = [name for name in rows.columns if name != dates[0]]
        amounts = sales_columns(rows, free)
        asked = rows, free, dates[0], given.date_format
        if not (amounts or "".join(free).isdigit()) and _has_lines(*asked):
            name = "sales" if "sales" not in rows.columns else "units"
            rows = rows.with_columns(pl.lit(1).alias(name))
            notes.append(
                Note("Each row counts as one unit sold, because no column has quantities (sales=).")
            )
        elif _are_items(rows, free, amounts) and not _has_lines(*asked):
            amounts = sales_columns(rows, free, coded=True)
            shown = f"{len(amounts)} columns, {amounts[0]} to {amounts[-1]}"
            notes.append(
                Note(
                    f"{shown}, were read as items: if one is the column of sales, name it (sales=)."
                )
            )
            rows, wide = _items_as_rows(rows, amounts), {"series": shown}
    return rows, notes, wide


def _are_items(rows: pl.DataFrame, free: list[str], amounts: list[str]) -> bool:
    """Whether columns of numbers are items: three of unknown names, or two beside their sum."""
    if len(amounts) < 2 or named(amounts, NAMES["sales"]) or any(map(is_item, free)):
        return False
    sums = [name for name in free if name not in amounts and rows[name].dtype.is_numeric()]
    total = rows.select(pl.sum_horizontal(amounts)).to_series()
    return len(amounts) > 2 or any(bool((rows[name] == total).all()) for name in sums)


def _items_as_rows(rows: pl.DataFrame, items: list[str]) -> pl.DataFrame:
    index = [name for name in rows.columns if name not in items]
    long = rows.unpivot(items, index=index, variable_name="item", value_name="sales")
    return long.filter(pl.col("sales").is_not_null())


def _has_lines(rows: pl.DataFrame, free: list[str], date: str, form: str | None) -> bool:
    """Whether rows of the same day are told apart by no columns of items and places."""
    try:
        return series_columns(rows, free, read_dates(rows, date, form)) is None
    except InvalidInput:
        return False


_NUMBERED = re.compile(
    r"^(?P<kind>(?=(?:19|20)\d\d$)|w|kw|cw|wk|week|woche|semaine|d|day|tag|m|month|monat)"
    r"[ _.-]?(?P<number>\d{1,4})$",
    re.IGNORECASE,
)


def _melted(rows: pl.DataFrame, notes: list[str]) -> tuple[pl.DataFrame, dict[str, str]]:
    """Turn columns of periods into rows; a table without such stays as it is."""
    names = [name for name, kind in rows.schema.items() if kind.is_numeric() or kind == pl.Null]
    by_measure, form = _period_columns(names)
    columns = [name for each in by_measure.values() for name in each]
    rest = [name for name in rows.columns if name not in columns]
    dated = date_columns(rows, rest)
    most = max(map(len, by_measure.values()), default=0)
    if most < 3 or (dated and (form == "numbered" or most < 6)):
        return rows, {}
    rows = _ungrouped(rows, rest, list(next(iter(by_measure.values()))), notes)
    rest = [name for name in rows.columns if name not in columns]
    years = [name for name in named(rest, ("year", "jahr"), exactly=True) if form == "numbered"]
    index = [
        name for name in rest if not rows[name].dtype.is_numeric() or is_id(name) or name in years
    ]
    if not index:
        index = [name for name in rest if rows[name].n_unique() == rows.height][:1]
    if not index and rows.height > 1:
        rows, index = rows.with_row_index("row"), ["row"]
    date = "date" if "date" not in rest else "period"
    made: pl.DataFrame | None = None
    for measure, dates in by_measure.items():
        long = rows.with_row_index("\0row").unpivot(
            list(dates), index=["\0row", *index], variable_name="\0name", value_name=measure
        )
        told = long["\0name"].replace_strict(
            list(dates), list(dates.values()), return_dtype=pl.Date
        )
        long = long.with_columns(told.alias(date)).drop("\0name")
        if made is not None:
            long = made.join(long.select("\0row", date, measure), on=["\0row", date], how="left")
        made = long
    assert made is not None
    first = next(iter(by_measure))
    made = made.drop("\0row").filter(pl.col(first).is_not_null())
    if years:
        shift = made[years[0]].cast(pl.Int32) - made[date].dt.year()
        moved = pl.DataFrame({"d": made[date], "y": shift}).select(
            pl.col("d").dt.offset_by(pl.format("{}y", "y"))
        )
        made = made.with_columns(moved.to_series().alias(date)).drop(years[0])
        index.remove(years[0])
    made = made.with_columns(
        pl.col(name).cast(pl.String) for name in index if made[name].dtype.is_numeric()
    )
    shown = list(by_measure[first])
    unit = "period"
    with suppress(InvalidInput):  # dates may be far from all others
        unit = find_period(made[date], date).split()[-1]
    if form == "numbered" and not years:
        notes.append(
            f"The columns of {unit}s have no year: the first was dated {made[date].min()!s}."
        )
    dropped = [name for name in rest if name not in (*index, *years)]
    if dropped:
        listed = ", ".join(dropped[:5]) + (" and others" if len(dropped) > 5 else "")
        notes.append(f"Columns of numbers that are no {unit}s were not used: {listed}.")
    which = f"{len(shown)} columns, {shown[0]} to {shown[-1]}"
    notes.append(f"{which}, were read as {unit}s of {' and '.join(by_measure)}.")
    return made.select(*index, date, *by_measure), {"date": which}


def _ungrouped(
    rows: pl.DataFrame, rest: list[str], periods: list[str], notes: list[str]
) -> pl.DataFrame:
    """Leave out the first row of each group, if it is the sum of the others and names the group.

    That is how a pivot table shows two fields in one column: a shop, and below it its items.
    """
    labels = [name for name in rest if rows[name].dtype == pl.String]
    if len(labels) != 1:
        return rows
    bare = rows.filter(~rows[labels[0]].str.contains(TOTAL).fill_null(False))
    cells = bare.select(periods).fill_null(0).to_numpy().astype(np.float64)
    head = np.zeros(bare.height, dtype=np.bool_)
    place = 0
    while place < bare.height:
        sums = np.cumsum(cells[place + 1 : place + 1000], axis=0)
        same = np.flatnonzero(np.isclose(sums, cells[place]).all(axis=1))
        if not same.size or not cells[place].any():
            return rows
        head[place], place = True, place + int(same[0]) + 2
    if head.sum() < 2 or 3 * head.sum() > bare.height:  # or rows that are the same
        return rows
    group = pl.when(pl.Series(head)).then(labels[0]).forward_fill().alias("group")
    which = f"{head.sum()} rows of {labels[0]!r}"
    notes.append(f"{which} are sums of the rows below: their names became the column 'group'.")
    return bare.with_columns(group).filter(~head)


def _period_columns(names: list[str]) -> tuple[dict[str, dict[str, datetime.date]], str]:
    """Columns that are called like periods, with their dates, by what they measure; and how.

    "2024-05-01", "Jan-98" and "2024-W05" are dated, "W23", "Jan" and "d_1" are numbered.
    """
    found: dict[str, dict[str, datetime.date]] = {}
    if not names:
        return found, ""
    # R puts an X before numbers; _ and . between digits stand for other signs
    bare = [
        re.sub(r"(?<=\d)_(?=\d)", "-", re.sub(r"^X(?=\d)|[ T]00:00(:00)?Z?$", "", name))
        for name in names
    ]
    measures, parts = zip(*map(_split, bare), strict=True)
    # numbers of parts that are names of months, alone
    number = {
        word: place + 1 for place, each in enumerate(_MONTHS.split("|")) for word in each.split()
    }
    plainly = {part: part.lower().rstrip(".") for part in parts}
    months = {part: number[word] for part, word in plainly.items() if word in number}
    starts = [
        datetime.date(_year_of(months[part], 12), months[part], 1) if part in months else None
        for part in parts
    ]
    for form, told, of in (
        ("dated", _days_named(bare), ["sales"] * len(names)),
        ("dated", _days_named(parts), measures),
        ("numbered", starts, measures),
    ):
        if len(names) - list(told).count(None) >= 3:
            for name, day, measure in zip(names, told, of, strict=True):
                if day is not None:
                    found.setdefault(measure, {})[name] = day
            return found, form
    numbered = {
        name: match
        for name, text in zip(names, bare, strict=True)
        if (match := _NUMBERED.match(text.strip()))
    }
    initials = {each["kind"][:1].lower() for each in numbered.values()}
    kinds = {{"": "year", "d": "day", "t": "day", "m": "month"}.get(x, "week") for x in initials}
    numbers = [int(each["number"]) for each in numbered.values()]
    steps = np.diff(numbers)
    if len(numbers) < 3 or len(kinds) != 1 or not ((steps == 1) | (steps < -40)).all():
        return {}, ""
    kind = str(kinds.pop())
    count = np.concatenate([[0], np.cumsum(np.where(steps > 0, steps, 1))])
    last, of_year = numbers[-1], {"week": 53, "month": 12}.get(kind, 0)
    begins = datetime.date(2001, 1, 1)  # a Monday, where nothing tells
    if kind == "year":
        begins = datetime.date(numbers[0], 1, 1)
    elif 1 <= last <= of_year:
        year, count = _year_of(last, of_year), count - count[-1]
        week = datetime.date.fromisocalendar(year, min(last, 52), 1)
        begins = week if kind == "week" else datetime.date(year, last, 1)
    dates = period_date(begins, kind, count).tolist()
    form = "dated" if kind == "year" else "numbered"
    return {"sales": dict(zip(numbered, dates, strict=True))}, form


def _days_named(texts: Sequence[str]) -> list[datetime.date | None]:
    """Dates of names, in the form that fits most of them."""
    found = readings(pl.Series(texts, dtype=pl.String)).values()
    return min(found, key=lambda each: each.null_count()).to_list()


def _split(name: str) -> tuple[str, str]:
    """Take a measure off the name of a period: "Units Jan-98" is ("units", "Jan-98")."""
    before = re.match(r"^([A-Za-z][A-Za-z _]*?)[ _:-]+(\S.*\d.*|[A-Za-zä]{3,9})$", name)
    after = re.match(r"^(\S*\d\S*|[A-Za-zä]{3,9})[ _:-]+([A-Za-z][A-Za-z _]*)$", name)
    if before and named([before[1]], (*NAMES["sales"], *NAMES["stock"], *NAMES["price"])):
        return plain(before[1]), before[2]
    if after and named([after[2]], (*NAMES["sales"], *NAMES["stock"], *NAMES["price"])):
        return plain(after[2]), after[1]
    return "sales", name.strip()


_MONTHS = (
    "jan january januar janvier janv|feb february februar février févr fevrier|mar march märz mrz "
    "mars|apr april avril avr|may mai|jun june juni juin|jul july juli juillet juil|aug august août"
    "|sep sept september septembre|oct october okt oktober octobre|nov november novembre|"
    "dec december dez dezember décembre déc"
)


def _year_of(last: int, of_year: int) -> int:
    """Year whose period of this number is the latest that may be over."""
    today = datetime.datetime.now(tz=datetime.UTC).date()
    now = today.month if of_year == 12 else today.isocalendar().week
    return today.year if last <= now else today.year - 1


def _joined_dates(rows: pl.DataFrame, notes: list[str]) -> tuple[pl.DataFrame, list[str]]:
    """Make a column of dates from those of the year and of the month, week or quarter."""

    def column(*names: str) -> str:
        return next(iter(named(rows.columns, names, exactly=True)), "")

    year = column("year", "jahr", "yr")
    parts = {
        "month": column("month", "monat", "mois"),
        "week": column("week", "woche", "kw"),
        "quarter": column("quarter", "quartal"),
    }
    unit = next((unit for unit, name in parts.items() if name), "")
    if not year or not unit or rows[year].null_count() or rows[parts[unit]].null_count():
        return rows, []
    years, part = (rows[name].cast(pl.String).str.strip_chars() for name in (year, parts[unit]))
    day = column("day", "day_of_month", "tag") if unit == "month" else ""
    joined = part + " " + years
    if unit == "week":
        joined = years + "-W" + part
    elif unit == "quarter":
        joined = years + "-Q" + part.str.replace("(?i)q", "")
    elif part.str.contains(r"^\d{1,2}(?:\.0)?$").all():
        joined = years + "-" + part.str.replace(r"\.0$", "").str.zfill(2)
        if day:
            joined = joined + "-" + rows[day].cast(pl.String).str.zfill(2)
    name = "date" if "date" not in rows.columns else "period"
    used = [each for each in (year, parts[unit], day) if each]
    made = rows.drop(used).with_columns(joined.alias(name))
    try:
        read_dates(made, name)
    except InvalidInput:
        return rows, []
    notes.append(f"{' and '.join(used)} were joined to one column of dates.")
    return made, [name]


# --- Rows that are sums of others.


def _without_totals(rows: pl.DataFrame, schema: Schema, notes: list[str]) -> pl.DataFrame:
    """Leave out series that are called total, and are about the sum of the others.

    A shop may have a brand of that name: then its sales are not those of all others.
    """
    total = rf"{TOTAL}|^(?i)(?:all|alle|tous)\b"
    for name in schema.series:
        if rows[name].dtype != pl.String:
            continue
        called = rows[name].str.contains(total).fill_null(False)
        if not called.any() or called.all():
            continue
        of = rows.filter(called).select(pl.col(schema.series).cast(pl.String).str.contains(total))
        keys = [schema.date, *(each for each in schema.series if not of[each].all())]
        sums = (
            rows.with_columns(called.alias("\0total"))
            .group_by(keys)
            .agg(
                pl.col(schema.sales).filter("\0total").max().alias("total"),
                pl.col(schema.sales).filter(~pl.col("\0total")).sum().alias("others"),
            )
            .drop_nulls()
        )
        if not sums.height or not sums["others"].sum() > 0:
            continue
        near = (sums["total"] - sums["others"]).abs() <= 0.1 * sums["others"].abs() + 1e-9
        if float(near.mean() or 0.0) < 0.7:  # type: ignore[arg-type]
            continue
        labels = ", ".join(repr(each) for each in rows[name].filter(called).unique().sort().head(3))
        count = int(called.sum())
        notes.append(f"Totals left out: {labels} in {name!r} ({count_rows(count)}).")
        rows = rows.filter(~called)
    return rows


def _without_strays(rows: pl.DataFrame, schema: Schema, notes: list[str]) -> pl.DataFrame:
    """Leave out rows that a long gap parts from all others: mistyped dates, or what has ended.

    A gap is long above two years, or above half a year and half of all time. Each series counts
    the same. After the gap less than a twentieth is left out; before it less than four fifths, if
    three dates or more follow.
    """
    for most, later in ((0.05, True), (0.8, False)):
        dates = rows[schema.date].to_numpy()
        days = np.unique(dates)
        apart = np.diff(days).astype(np.int64)
        long = (apart > 730) | ((apart > 180) & (2 * apart > apart.sum()))
        gap = int(np.flatnonzero(long).max(initial=-1)) + 1
        off = (dates >= days[gap]) == later
        share = rows.select(1.0 / pl.len().over(*schema.series, pl.lit(0))).to_series().to_numpy()
        if gap and share[off].sum() < most * share.sum() and (later or days.size >= gap + 3):
            said = (
                f"Rows left out: {off.sum():,} dated {dates[off].min()} to {dates[off].max()}, "
                f"{apart[gap - 1]:,} days from all others. Correct the dates if they are wrong."
            )
            notes.append(Note(said, off.sum() / off.size))
            rows = rows.filter(~off)
    return rows


# --- Several rows of a series and period.


def add_up(
    rows: pl.DataFrame, schema: Schema, beside: Collection[str] = ()
) -> tuple[pl.DataFrame, Schema, list[str]]:
    """Bring a table to one row for each series and period.

    Sales are added up, whatever their sign: returns are taken off what was sold. A period sold out
    if any of its rows says so; prices and other numbers are means, and of the rest the last counts.
    """
    dates = rows[schema.date]
    first = dates.min()
    assert isinstance(first, datetime.date)
    period = str(schema.period)
    place = pl.Series("\0place", period_place(first, period, dates.to_numpy()))
    keys = [*schema.series, "\0place"]
    placed = rows.with_columns(place)
    n_groups = placed.select(keys).n_unique()
    if n_groups == rows.height or schema.duplicates == "error":
        return rows, schema, []
    unit = period.split()[-1]
    merged = rows.height - n_groups
    if schema.duplicates == "last":
        kept = placed.unique(keys, keep="last", maintain_order=True).drop("\0place")
        note = f"Rows left out: {merged:,} with a later row of the same series and {unit}."
        return kept, schema, [Note(note, merged / rows.height)]
    sales = pl.col(schema.sales)
    made = [pl.when(sales.count() > 0).then(sales.sum()).alias(schema.sales)]
    if schema.sold_out is not None:
        flags = read_flags(rows, schema.sold_out, schema.sold_out_opposite)
        placed = placed.with_columns(pl.Series(schema.sold_out, flags).fill_nan(None))
        made.append(pl.col(schema.sold_out).max())
        schema = replace(schema, sold_out_opposite=False)
    for name in (*schema.known_future, *schema.static, schema.stock, schema.on_hand, *beside):
        if name in rows.columns and name not in (schema.sales, *schema.series):
            numeric = rows[name].dtype.is_numeric() and name in schema.known_future
            made.append(pl.col(name).mean() if numeric else pl.col(name).last())
    returned = int((rows[schema.sales] < 0).sum())
    found = placed.group_by(keys, maintain_order=True).agg(*made)
    days = period_date(first, period, found["\0place"].to_numpy())
    found = found.with_columns(pl.Series(schema.date, days).cast(pl.Date)).drop("\0place")
    notes = [f"{rows.height:,} rows were summed to {found.height:,}, one per series and {unit}."]
    if returned:
        said = f"Returns were subtracted from sales of the same {unit}: {count_rows(returned)}."
        notes.append(Note(said, returned / rows.height))
    written = rows[schema.sales]
    if schema.gaps == "auto" and 50 * merged >= rows.height and not (written == 0).any():
        schema = replace(schema, gaps="zero")  # lines of what was sold: no line, nothing sold
    return found, schema, notes


# --- Tables that no plan can be right for.


def refuse_senseless(sales: SalesTable) -> None:
    """Refuse a table of which no plan can be right: a column was taken for what it is not.

    Raises
    ------
    InvalidInput
        Where most series have fewer than three rows, there is a series for every three rows, most
        series end years before the last date, or memory does not suffice.
    """
    schema, rows = sales.schema, sales.table
    dates, names = rows[schema.date], list(schema.series)
    n_series, n_dates = sales.n_series, dates.n_unique()
    why, advice = "", "name the columns that identify a series (series=)"
    if names and n_series >= 10 and n_dates >= 6:
        counts = rows.group_by(names).agg(pl.len())["len"]
        few = int((counts < 3).sum())
        by = " and ".join(map(repr, names))
        if 2 * few > n_series:
            why = f"{few:,} of {n_series:,} series ({by}) have fewer than three rows"
        elif 3 * n_series > sales.n_rows:
            why = f"{sales.n_rows:,} rows have {n_series:,} series ({by})"
    last = dates.to_numpy().max()
    ends = rows.group_by(names or pl.lit(0)).agg(pl.col(schema.date).max())[schema.date].sort()
    middle = ends.to_numpy()[(n_series - 1) // 2]
    if not why and (last - middle).astype(np.int64) > 730 and schema.period != "year":
        why = f"the last date is {last}, but most series end {middle}"
        advice = "correct or delete rows with wrong dates"
    n_periods = int(period_place(dates.min(), str(schema.period), last)) + 1
    needed = 200.0 * n_series * n_periods
    if not why and needed > (there := _free_memory()):
        why = f"{n_series:,} series need about {needed / 1e9:.1f} GB of {there / 1e9:.1f} GB"
        advice = "use fewer series or a shorter history"
    if why:
        raise InvalidInput(
            f"The table looks wrong, because {why}: {advice}, or plan anyway (force=True)."
        )


def _free_memory() -> float:
    """Bytes that are free; infinite where the system does not tell."""
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return np.inf


def _looks_like_money(sales: pl.Series) -> bool:
    """Whether most sales have two decimals: prices have, units and weights seldom."""
    values = sales.drop_nulls().head(10_000).to_numpy()
    if not sales.dtype.is_float() or values.size < 20 or is_whole(sales):
        return False
    cents, dimes = (np.isclose(values * each % 1, [[0.0], [1.0]]).any(axis=0) for each in (100, 10))
    return bool(cents.mean() > 0.99 and dimes.mean() < 0.5 and np.median(values) > 10)
