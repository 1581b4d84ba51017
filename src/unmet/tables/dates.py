"""Recognise dates in many forms, and the periods that they belong to.

A column of dates has one form in all rows, which shows whether the day or the month comes first. A
table has one period: a row for each day, business day, week, month, quarter or year of a series.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unmet.data.bundled import MONTHS, WEEKDAYS
from unmet.errors import InvalidInput
from unmet.tables.dialect import YEARS, beyond_calendars

PARTS = ("weekday", "weekend", "month", "quarter", "day", "season", "trend")
"""Calendar features: names of weekday and month, whether it is a weekend, the quarter, the day of
the month, two waves a year, and years since the first training day."""

_FORMATS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d"),
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y"),
    # the month is told by its name
    *("%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d %b %y", "%d. %b %Y", "%d/%b/%Y", "%d%b%Y"),
    *("%b %d, %Y", "%b %d %Y", "%Y-%b-%d", "%b-%d-%Y", "%b-%d-%y"),
)
_OF_MONTHS = (
    *("%Y-%m", "%Y/%m", "%m/%Y", "%m.%Y", "%m-%Y", "%m/%y", "%Y%m", "%YM%m"),
    *("%b-%y", "%b %y", "%b-%Y", "%b %Y", "%b/%Y", "%b%y", "%b%Y", "%y-%b", "%Y-%b", "%Y %b"),
)
_WEEKS = "%G-W%V-%u"
_WEEK = r"(?i)^(\d{4})[- ]?(?:W|KW|CW|S) ?(\d{1,2})(?:-?([1-7]))?$"
_WEEK_FIRST = r"(?i)^(?:W|KW|CW|Week|Woche|Semaine|S)[ .]?(\d{1,2})[-/., ]+(\d{4})$"
_QUARTERS = "%Y-Q"
_QUARTER = r"(?i)^(\d{4})[- ]?Q([1-4])$"
_QUARTER_FIRST = r"(?i)^Q([1-4])[-/ ]*(\d{4})$"
_ZONE = r"(Z|[+-]\d{2}:?\d{2}|[A-Z]{3,4})"
_CLOCK = rf"[T ,]+\d{{1,2}}:\d{{2}}(:\d{{2}}([.,]\d+)?)?\s?([AaPp]\.?[Mm]\.?)?\s?{_ZONE}?$"
_LETTERS = "[a-zäöüéèû]*"
_WEEKDAY = (
    r"(?i)^(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*|die(?:nstag)?|mit(?:twoch)?|don(?:nerstag)?"
    r"|fre(?:itag)?|sam(?:stag|edi)?|sonn?(?:tag|abend)?|lundi|mardi|mercredi|jeudi|vendredi"
    r"|dimanche|mo|di|mi|do|fr|sa|so)[., ]\s*"
)
_MONTH_NAMES = {
    **{"Jan": "jan", "Feb": "feb|fév|fev", "Mar": "mar|mär|mrz", "Apr": "apr|avr|abr"},
    **{"May": "may|mai", "Jun": "jun|juin", "Jul": "jul|juil", "Aug": "aug|aoû|ago"},
    **{"Sep": "sep", "Oct": "oct|okt", "Nov": "nov", "Dec": "dec|dez|déc|dic"},
}
_COUNTED = (  # least and largest number, the one of 1970-01-01, milliseconds of one
    (20_000, 80_000, 25_569, 86_400_000),  # days as Excel counts them, 1954 to 2119
    (800_000_000, 4_200_000_000, 0, 1000),  # seconds, 1995 to 2103
    (800_000_000_000, 4_200_000_000_000, 0, 1),
)
_YEAR = 365.25


def read_dates(table: pl.DataFrame, name: str, form: str | None = None) -> pl.Series:
    """Column of dates, also from text in one of the usual forms.

    02-Jan-23, Friday, 26 October 2012, weeks such as 2023-W05 or KW 5/2023, months such as Jan-98,
    quarters such as 2023-Q1, days as Excel numbers them (45292) and seconds since 1970 are dates as
    well; a week is its Monday, a month or a quarter its first day, a moment the day that the clock
    showed where it was written, whatever its zone.

    Parameters
    ----------
    table : polars.DataFrame
    name : str
    form : str, optional
        Form of the text, such as "%d/%m/%Y", where it is known from other rows (`date_form`) or
        given: it settles what a few rows alone cannot, which is day and which is month.

    Returns
    -------
    polars.Series
        Of dates, none missing.

    Examples
    --------
    >>> import polars as pl
    >>> days = pl.DataFrame({"day": ["Friday, 26 October 2012", "Saturday, 27 October 2012"]})
    >>> read_dates(days, "day").to_list()
    [datetime.date(2012, 10, 26), datetime.date(2012, 10, 27)]
    >>> read_dates(pl.DataFrame({"month": ["Jan-98", "Feb-98"]}), "month").to_list()
    [datetime.date(1998, 1, 1), datetime.date(1998, 2, 1)]
    """
    column = table[name]
    if column.null_count():
        row = int(column.is_null().arg_max() or 0)
        raise InvalidInput(
            f"The date column {name!r} must have a date in every row, got an empty cell in row "
            f"{row + 2}, the first of {column.null_count():,}."
        )
    if column.dtype in (pl.Date, pl.Datetime):
        beyond = beyond_calendars(column)
        if beyond.any():
            row = int(beyond.arg_max() or 0)
            raise InvalidInput(
                f"The date column {name!r} must have dates from {YEARS[0]} to {YEARS[1]}, got the "
                f"year {column.dt.year()[row]} in row {row + 2}."
            )
        return column.dt.date() if column.dtype == pl.Datetime else column
    if column.dtype.is_float() and (column == column.round()).all():
        column = column.cast(pl.Int64)
    if column.dtype.is_integer():
        counted = _counted(column)
        if counted is not None:
            return counted
        column = column.cast(pl.String)
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        raise InvalidInput(f"The date column {name!r} must have dates, got {column.dtype}.")
    return _parse(_bare(column), name, form)


def _counted(column: pl.Series) -> pl.Series | None:
    """Dates of whole numbers that count days as Excel does, or seconds since 1970."""
    for low, high, zero, length in _COUNTED:
        if column.is_between(low, high).all():
            return ((column.cast(pl.Int64) - zero) * length).cast(pl.Datetime("ms")).dt.date()
    return None


def date_form(table: pl.DataFrame, name: str) -> str | None:
    """Form of the text of a column of dates; None where it is no text, or several forms fit."""
    if table[name].dtype not in (pl.String, pl.Categorical, pl.Enum):
        return None
    fitting = fitting_forms(_bare(table[name]))
    return next(iter(fitting)) if len(fitting) == 1 else None


def could_be_dates(column: pl.Series) -> bool:
    """Whether a few cells can be read as dates, even if day and month could be exchanged."""
    if column.dtype.is_integer() and _counted(column) is not None:
        return True
    return bool(fitting_forms(_bare(column.drop_nulls())))


def dates_as_read(dates: pl.Series, column: pl.Series) -> pl.Series:
    """Write dates as a column wrote its own, such as 02.01.2023 or 2023-W05.

    Parameters
    ----------
    dates : polars.Series
        To be written.
    column : polars.Series
        Dates as they were read: text, numbers such as 20230102, or dates.

    Returns
    -------
    polars.Series
        Of text; of dates where the column has such, or has no single form.
    """
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum) and not column.dtype.is_integer():
        return dates
    text = _bare(column.drop_nulls())
    fitting = fitting_forms(text)
    if not fitting:
        return dates
    form, known = next(iter(fitting.items()))
    if form == _QUARTERS:
        return dates.dt.year().cast(pl.String) + "-Q" + dates.dt.quarter().cast(pl.String)
    written = [form, form.replace("%d", "%-d").replace("%m", "%-m")]
    written += [each.replace("%b", "%B") for each in written]
    written += [f"%A, {each}" for each in written]
    if form == _WEEKS:
        written += ["%G-W%V", "%GW%V", "%GW%V%u"]  # without a day, or without signs
    exact = [each for each in written if (known.dt.strftime(each) == text).all()]
    return dates.dt.strftime(exact[0] if exact else form)


def _bare(column: pl.Series) -> pl.Series:
    """Text without spaces around it and without the time of day."""
    text = column.cast(pl.String).str.strip_chars()
    return text.str.replace(_CLOCK, "") if text.head(1000).str.contains(":").any() else text


def fitting_forms(text: pl.Series) -> dict[str, pl.Series]:
    """Forms that fit every row, with the dates; the year 24 is not 2024."""
    each = text.unique(maintain_order=True)
    found = {form: dates for form, dates in readings(each).items() if not dates.null_count()}
    if each.len() == text.len():
        return found
    return {
        form: text.replace_strict(each, dates, return_dtype=pl.Date)
        for form, dates in found.items()
    }


def readings(text: pl.Series) -> dict[str, pl.Series]:
    """Dates of text in every form; missing where a cell does not fit the form."""
    if text.str.contains("(?i)[a-z]").any():
        text = text.str.replace(_WEEKDAY, "")
        for month, names in _MONTH_NAMES.items():
            text = text.str.replace(rf"(?i)(^|[^a-z])(?:{names}){_LETTERS}\.?", f"${{1}}{month}")
    cells = pl.col("text").str.extract(r"^(\d{6}|\d{8}|.*\D.*)$")  # 10003 is no March of 1000
    asked = {form: (cells, form) for form in _FORMATS}
    asked |= {form: (cells + " 01", f"{form} %d") for form in _OF_MONTHS}
    weeks = cells.str.replace(_WEEK_FIRST, "${2}-W${1}").str.replace(_WEEK, "${1}-W${2}-${3}")
    asked[_WEEKS] = weeks.str.replace("-$", "-1").str.replace(r"-W(\d)-", "-W0${1}-"), _WEEKS
    quarters = cells.str.replace(_QUARTER_FIRST, "${2}-Q${1}")
    first = (3 * quarters.str.extract(_QUARTER, 2).cast(pl.Int64) - 2).cast(pl.String)
    asked[_QUARTERS] = quarters.str.extract(_QUARTER, 1) + "-" + first + "-01", "%Y-%m-%d"
    read = {form: each.str.to_date(how, strict=False) for form, (each, how) in asked.items()}
    found = (
        text.alias("text")
        .to_frame()
        .select(
            pl.when(each.dt.year().is_between(*YEARS)).then(each).alias(form)
            for form, each in read.items()
        )
    )
    return {form: found[form] for form in read}


def _parse(text: pl.Series, name: str, known: str | None) -> pl.Series:
    """Take the one form that fits every row; refuse where day and month could be exchanged."""
    fitting = fitting_forms(text)
    if known in fitting:
        return fitting[known].cast(pl.Date)
    if known is not None and not fitting:
        own = text.str.to_date(known, strict=False)
        fitting = {} if own.null_count() else {known: own}
    if not fitting:
        first = text.str.to_date(_FORMATS[0], strict=False)
        row = int((first.is_null() | beyond_calendars(first)).arg_max() or 0)
        raise InvalidInput(
            f"The date column {name!r} must have dates such as 2024-05-31, got {text[row]!r} in "
            f"row {row + 2}."
        )
    first_form, *others = fitting
    if not all(fitting[form].equals(fitting[first_form]) for form in others):
        raise InvalidInput(
            f"The dates in column {name!r} must have one format, got {text[0]!r}, which fits "
            f"{' and '.join(fitting)}: name the right one (date_format={first_form!r})."
        )
    return fitting[first_form].cast(pl.Date)


def calendar(dates: pl.Series, part: str, first_day: Any) -> pl.DataFrame:
    """Columns of one calendar feature.

    Parameters
    ----------
    dates : polars.Series
    part : str
        One of `PARTS`.
    first_day : datetime.date
        Where the trend starts.
    """
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


def _named(number: pl.Series, names: Any) -> pl.Series:
    return number.replace_strict(range(1, len(names) + 1), names, return_dtype=pl.String)


# --- Periods: what a row of a series is for.

PERIODS = ("day", "business day", "week", "month", "quarter", "year")
"""What one row of a series may be for."""
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
LENGTH = {"day": 1, "business day": 1.4, "week": 7, "month": 30, "quarter": 91, "year": 365}
"""Days that a period has."""
CYCLE = {"day": 7, "business day": 5, "week": 1, "month": 12, "quarter": 4, "year": 1}
"""Periods after which similar ones come again: the same weekday, month or quarter."""


def find_period(dates: pl.Series, name: str) -> str:
    """Find the period of a table: that of which most have rows.

    Parameters
    ----------
    dates : polars.Series
    name : str
        Of the column, for complaints.

    Examples
    --------
    >>> import datetime
    >>> import polars as pl
    >>> first, last = datetime.date(2024, 1, 31), datetime.date(2024, 12, 31)
    >>> find_period(pl.date_range(first, last, "1mo", eager=True), "date")
    'month'
    """
    days = np.unique(dates.to_numpy().astype("datetime64[D]"))
    if days.size < 2:
        return "day"
    apart = np.diff(days).astype(np.int64)
    month = days.astype("datetime64[M]").astype(np.int64)
    if np.median(apart) >= 27 and np.unique(month).size == month.size:
        months = int(np.gcd.reduce(np.diff(month)))
        found = "year" if months % 12 == 0 else "quarter" if months % 3 == 0 else "month"
    elif int(np.gcd.reduce(apart)) % 7 == 0:
        found = "week"
    else:
        weekday = (days.astype(np.int64) + 3) % 7
        in_week = np.unique(weekday[weekday < 5]).size
        found = "day" if (weekday >= 5).any() or in_week < 5 or days.size < 10 else "business day"
    share = days.size / (int(period_place(days[0], found, days[-1:])[0]) + 1)
    if share < 1 / 3:
        larger = "month" if found == "week" else "week"
        far = f"correct such dates as {days[int(apart.argmax()) + 1]}, or "
        wrong = far if 2 * apart.max() > apart.sum() else ""
        raise InvalidInput(
            f"The date column {name!r} must have most {found}s between its first and last date, "
            f"got {share:.0%}: {wrong}sum rows to {larger}s (period='{larger}')."
        )
    return found


def period_place(first: Any, period: str, dates: Any) -> NDArray[np.intp]:
    """Count the period that each date is in, from the one that begins on a day.

    Parameters
    ----------
    first : date
    period : str
        Of `PERIODS`.
    dates : array of dates
    """
    start, days = np.datetime64(first, "D"), np.asarray(dates).astype("datetime64[D]")
    if period in _MONTHS:
        months = days.astype("datetime64[M]") - start.astype("datetime64[M]")
        return np.asarray(months.astype(np.int64) // _MONTHS[period], dtype=np.intp)
    if period == "business day":
        return np.asarray(np.busday_count(start, days), dtype=np.intp)
    apart = (days - start).astype(np.int64)
    return np.asarray(apart // (7 if period == "week" else 1), dtype=np.intp)


def period_date(first: Any, period: str, place: Any) -> NDArray[np.datetime64]:
    """Date of periods by their number: the inverse of `period_place`.

    A month that was dated by its last day is dated so again.
    """
    start, place = np.datetime64(first, "D"), np.asarray(place)
    if period in _MONTHS:
        month = start.astype("datetime64[M]")
        months = month + (place * _MONTHS[period]).astype("timedelta64[M]")
        last = (months + np.timedelta64(1, "M")).astype("datetime64[D]") - np.timedelta64(1, "D")
        if (start + np.timedelta64(1, "D")).astype("datetime64[M]") > month:
            return np.asarray(last)
        of_month = start - month.astype("datetime64[D]")
        return np.asarray(np.minimum(months.astype("datetime64[D]") + of_month, last))
    if period == "business day":
        return np.asarray(np.busday_offset(start, place, roll="forward"))
    return np.asarray(start + (place * (7 if period == "week" else 1)).astype("timedelta64[D]"))
