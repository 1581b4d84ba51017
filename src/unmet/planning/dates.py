"""Dates: recognised whatever they look like, and turned into calendar features on request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unmet.data.bundled import MONTHS, WEEKDAYS
from unmet.errors import InvalidInput

if TYPE_CHECKING:
    import polars

PARTS = ("weekday", "weekend", "month", "quarter", "day", "season", "trend")
"""Calendar features: names of weekday and month, whether it is a weekend, the quarter, the day of
the month, two waves a year, and years since the first training day."""

_FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y")
_YEAR = 365.25


def read_dates(table: polars.DataFrame, name: str, form: str | None = None) -> polars.Series:
    """Column of dates, also from text in one of the usual forms.

    Parameters
    ----------
    table : polars.DataFrame
    name : str
    form : str, optional
        Form of the text, such as "%d/%m/%Y", where it is known from other rows (`date_form`): it
        settles what a few rows alone cannot, which is day and which is month.

    Returns
    -------
    polars.Series
        Of dates, none missing.
    """
    import polars as pl

    column = table[name]
    if column.null_count():
        row = int(column.is_null().arg_max() or 0)
        raise InvalidInput(
            f"The date column {name!r} must have a date in every row, got none in "
            f"{column.null_count():,} rows, first in row {row}."
        )
    if column.dtype == pl.Date:
        return column
    if column.dtype == pl.Datetime:
        return column.dt.date()
    if column.dtype.is_integer():
        column = column.cast(pl.String)
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        raise InvalidInput(f"The date column {name!r} must hold dates, got {column.dtype}.")
    return _parse(_bare(column), name, form)


def date_form(table: polars.DataFrame, name: str) -> str | None:
    """Form of the text of a column of dates; None where it is no text, or several forms fit."""
    import polars as pl

    if table[name].dtype not in (pl.String, pl.Categorical, pl.Enum):
        return None
    fitting = fitting_forms(_bare(table[name]))
    return next(iter(fitting)) if len(fitting) == 1 else None


def _bare(column: polars.Series) -> polars.Series:
    """Text without spaces around it and without midnight."""
    import polars as pl

    text = column.cast(pl.String).str.strip_chars()
    return text.str.replace(r"[T ]00:00(:00(\.0*)?)?$", "")


def fitting_forms(text: polars.Series) -> dict[str, polars.Series]:
    """Forms that fit every row, with the dates; the year 24 is not 2024."""
    import datetime

    fitting = {}
    for form in _FORMATS:
        dates = text.str.to_date(form, strict=False)
        if not dates.null_count() and (dates >= datetime.date(1000, 1, 1)).all():
            fitting[form] = dates
    return fitting


def _parse(text: polars.Series, name: str, known: str | None) -> polars.Series:
    """Take the one form that fits every row; refuse where day and month could be exchanged."""
    import polars as pl

    fitting = fitting_forms(text)
    if known in fitting:
        return fitting[known].cast(pl.Date)
    if not fitting:
        first = text.str.to_date(_FORMATS[0], strict=False)
        row = int(first.is_null().arg_max() or 0)
        raise InvalidInput(
            f"The date column {name!r} must hold dates such as 2024-05-31, "
            f"got {text[row]!r} in row {row}."
        )
    first_form, *others = fitting
    if not all(fitting[form].equals(fitting[first_form]) for form in others):
        raise InvalidInput(
            f"The dates in column {name!r} must tell day from month, such as 2024-05-31, "
            f"got {text[0]!r}, which fits {' and '.join(fitting)}."
        )
    return fitting[first_form].cast(pl.Date)


def calendar(dates: polars.Series, part: str, first_day: Any) -> polars.DataFrame:
    """Columns of one calendar feature.

    Parameters
    ----------
    dates : polars.Series
    part : str
        One of `PARTS`.
    first_day : datetime.date
        Where the trend starts.
    """
    import polars as pl

    if part == "weekday":
        columns = {part: _named(dates.dt.weekday(), WEEKDAYS)}
    elif part == "month":
        columns = {part: _named(dates.dt.month(), MONTHS)}
    elif part == "quarter":
        columns = {part: _named(dates.dt.quarter(), ("Q1", "Q2", "Q3", "Q4"))}
    elif part == "weekend":
        columns = {part: (dates.dt.weekday() >= 6).cast(pl.Float64)}
    elif part == "day":
        columns = {part: dates.dt.day().cast(pl.Float64)}
    elif part == "trend":
        days = (dates - first_day).dt.total_days()
        columns = {part: days.cast(pl.Float64) / _YEAR}
    else:
        angle = 2.0 * np.pi * dates.dt.ordinal_day().to_numpy() / _YEAR
        columns = {
            f"season {wave} {times}": pl.Series(function(times * angle))
            for times in (1, 2)
            for wave, function in (("sin", np.sin), ("cos", np.cos))
        }
    return pl.DataFrame(columns)


def _named(number: polars.Series, names: Any) -> polars.Series:
    import polars as pl

    return number.replace_strict(range(1, len(names) + 1), names, return_dtype=pl.String)
