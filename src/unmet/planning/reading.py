"""Tables: from files or from memory, and what their rows say; each complaint one sentence.

CSV in the usual dialects, and Parquet; types of columns found from all rows; dates recognised
whatever they look like; and the roles of columns beside features: observations, costs, flags, stock
and dates.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.checks import is_missing
from unmet.data.bundled import MONTHS, WEEKDAYS
from unmet.errors import InvalidInput, Unsupported

if TYPE_CHECKING:
    import polars


# --- Types of columns of text: numbers, yes or no, dates; found from all rows, not from the
# first.

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None")
"""Cells that stand for nothing."""

_NUMBER = re.compile(r"[+-]?(\d|[.,]\d|inf)", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_WORDS = {"true": True, "false": False}


def typed(text: polars.Series, *, decimal_comma: bool = False) -> polars.Series:
    """Column of the narrowest type that holds every cell; text where there is none.

    Parameters
    ----------
    text : polars.Series
        Of strings.
    decimal_comma : bool, default=False
        Whether 1,5 is one and a half.

    Examples
    --------
    >>> import polars as pl
    >>> typed(pl.Series(["1", " 2", None])).to_list()
    [1, 2, None]
    >>> typed(pl.Series(["1", "2,5"]), decimal_comma=True).to_list()
    [1.0, 2.5]
    >>> typed(pl.Series(["2024-05-31"])).dtype
    Date
    >>> typed(pl.Series(["1", "two"])).to_list()
    ['1', 'two']
    """
    text = stripped(text)
    sample = text.drop_nulls()
    if not sample.len():
        return text
    first = sample[0]  # a type must fit all cells, so this one as well
    if _DATE.match(first):
        return _dates(text)
    if _NUMBER.match(first):
        return _numbers(text, decimal_comma)
    if first.lower() in _WORDS:
        return _truths(text)
    return text


def stripped(text: polars.Series) -> polars.Series:
    """Take away spaces around cells, which may have hidden that they stand for nothing."""
    if not text.str.contains(r"^\s|\s$").any():
        return text
    bare = text.str.strip_chars()
    return bare.set(bare.is_in(MISSING).fill_null(False), None)


def _numbers(text: polars.Series, decimal_comma: bool) -> polars.Series:
    import polars as pl

    plain = text.str.replace(",", ".", literal=True) if decimal_comma else text
    for kind in (pl.Int64, pl.Float64):
        found = plain.cast(kind, strict=False)
        if found.null_count() == text.null_count():
            return found
    return text


def _dates(text: polars.Series) -> polars.Series:
    import polars as pl

    day = text.str.to_date("%Y-%m-%d", strict=False)
    if day.null_count() == text.null_count():
        return day
    same = text.str.replace("T", " ", literal=True)
    for form in ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M"):
        moment = same.str.to_datetime(form, strict=False)
        if moment.null_count() == text.null_count():
            return moment.cast(pl.Datetime("us"))
    return text


def _truths(text: polars.Series) -> polars.Series:
    import polars as pl

    found = text.str.to_lowercase().replace_strict(
        list(_WORDS), list(_WORDS.values()), default=None, return_dtype=pl.Boolean
    )
    return found if found.null_count() == text.null_count() else text


# --- Tables of any kind as polars, the kind in which plans are made.


def as_polars(table: Any) -> polars.DataFrame:
    """Take a table of pandas, polars or pyarrow as one of polars.

    Column by column, since polars itself needs pyarrow to read pandas.
    """
    import polars as pl
    import polars.selectors as cs

    if isinstance(table, pl.DataFrame):
        return table.with_columns(cs.float().fill_nan(None))
    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        raise Unsupported(
            f"table must be a table of pandas, polars or pyarrow in memory, "
            f"got {type(table).__name__}."
        ) from None
    return pl.DataFrame({str(name): _column(frame[name], name) for name in frame.columns})


def _column(column: Any, name: Any) -> Any:
    import polars as pl

    if column.dtype.is_float():
        return pl.Series(column.to_numpy()).fill_nan(None)
    if column.dtype.is_integer() and not column.is_null().any():
        return pl.Series(column.to_numpy())
    entries = [None if is_missing(each) else each for each in column.to_list()]
    try:
        return pl.Series(entries)
    except (TypeError, pl.exceptions.PolarsError):
        kinds = sorted({type(each).__name__ for each in entries if each is not None})
        raise InvalidInput(
            f"A column must hold one kind of value, got {' and '.join(kinds)} in {str(name)!r}."
        ) from None


def require_columns(table: polars.DataFrame, names: Iterable[str | None], role: str) -> None:
    """Refuse a table that lacks a column, with the names it has."""
    for name in names:
        if name is not None and name not in table.columns:
            known = ", ".join(table.columns[:20]) + (", …" if table.width > 20 else "")
            raise InvalidInput(
                f"{role} must name columns of the table, got {name!r}; it has {known}."
            )


def numbers(table: polars.DataFrame, name: str, role: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Column of numbers; missing ones are NaN, text is refused with the first such row."""
    import polars as pl

    column = table[name]
    if column.dtype == pl.Boolean or column.dtype.is_numeric() or column.dtype == pl.Null:
        return column.cast(pl.Float64).to_numpy().astype(np.float64)
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        raise InvalidInput(f"{role} must hold numbers, got {column.dtype} in column {name!r}.")
    text = column.cast(pl.String).str.strip_chars()
    found = text.cast(pl.Float64, strict=False)
    wrong = found.is_null() & text.is_not_null()
    if not wrong.any():
        return found.to_numpy().astype(np.float64)
    row = int(wrong.arg_max() or 0)
    raise InvalidInput(
        f"{role} must hold numbers, got {column[row]!r} in column {name!r}, row {row}."
    )


# --- Tables from files: CSV in the usual dialects, and Parquet; each complaint one sentence.

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".txt", ".parquet", ".pq")
"""Names of files that `read_table` reads."""

_SEPARATORS = (",", ";", "\t", "|")
_DECIMAL_COMMA = re.compile(r"^-?\d+,\d+$")
_DECIMAL_POINT = re.compile(r"^-?\d+\.\d+$")


def read_table(
    path: str | Path, *, text: Collection[str] = (), most_bytes: int | None = None
) -> polars.DataFrame:
    """Read a table from a CSV or Parquet file.

    The separator of a CSV file (comma, semicolon, tab, bar), a decimal comma and dates such as
    2024-05-31 are recognised; "NA", "NaN", "null" and empty cells are missing values, and lines
    without any value are no rows. Dates in other forms stay text, since only a whole column can
    tell day from month: `read_dates` reads them.

    Parameters
    ----------
    path : str or Path
        Ends in one of `SUFFIXES`.
    text : collection of str
        Columns of a CSV file that stay text whatever they look like: the store 007 is not 7.
    most_bytes : int, optional
        Larger files are refused.

    Returns
    -------
    polars.DataFrame
        At least one row and one column; NaN has become missing.
    """
    file = Path(path)
    if file.is_dir():
        raise InvalidInput(f"{file} must be a CSV or Parquet file, got a folder.")
    if not file.exists():
        raise InvalidInput(f"{file} must be a CSV or Parquet file, but there is no such file.")
    if not file.name.lower().endswith(SUFFIXES):
        raise InvalidInput(f"{file} must end in one of {', '.join(SUFFIXES)}.")
    size = file.stat().st_size
    if most_bytes is not None and size > most_bytes:
        raise InvalidInput(
            f"{file.name} must not be larger than {most_bytes / 1e6:,.0f} MB, "
            f"got {size / 1e6:,.1f} MB."
        )
    if size == 0:
        raise InvalidInput(f"{file} must hold a table, got an empty file.")
    parquet = file.name.lower().endswith((".parquet", ".pq"))
    table = _read_parquet(file) if parquet else _read_csv(file, text)
    if not table.height:
        raise InvalidInput(f"{file} must have at least one row below its header, got none.")
    return as_polars(table)


def _read_parquet(file: Path) -> polars.DataFrame:
    import polars as pl

    try:
        return pl.read_parquet(file, hive_partitioning=False)
    except pl.exceptions.PolarsError as error:
        raise InvalidInput(f"{file} cannot be read as Parquet: {_one_line(error)}.") from None


def _read_csv(file: Path, text: Collection[str]) -> polars.DataFrame:
    """Read every cell as text, and find types from whole columns.

    That is faster than to let polars look for types in all rows, which it must, since a text in the
    last row should not come as a surprise.
    """
    import polars as pl

    separator, decimal_comma = _sniff(file)
    try:
        table = pl.read_csv(
            file, separator=separator, infer_schema_length=0, null_values=list(MISSING)
        )
    except pl.exceptions.PolarsError as error:
        why = _one_line(error)
        if "utf-8" in why.lower():
            raise _another_encoding(file) from None
        raise InvalidInput(f"{file} cannot be read as CSV: {why}.") from None
    except OSError as error:  # gzip that ends too early
        raise InvalidInput(f"{file} cannot be read: {_one_line(error)}.") from None
    table = table.rename({name: name.strip() for name in table.columns})
    if table.width > 1:
        table = table.filter(~pl.all_horizontal(pl.all().is_null()))
    return table.with_columns(
        stripped(column) if column.name in text else typed(column, decimal_comma=decimal_comma)
        for column in table
    )


def _sniff(file: Path) -> tuple[str, bool]:
    """Find separator and decimal comma from the first lines; refuse what is no text."""
    lines = _start(file).splitlines()
    header = next((line for line in lines if line.strip()), "")
    fields = {each: next(csv.reader([header], delimiter=each), []) for each in _SEPARATORS}
    separator = max(_SEPARATORS, key=lambda each: len(fields[each]))
    names = [name.strip() for name in fields[separator]]
    twins = sorted({name for name in names if name and names.count(name) > 1})
    if twins:  # nobody could say which is meant
        raise InvalidInput(
            f"The columns of {file} must have different names, got two {twins[0]!r}."
        )
    cells = [cell.strip().strip('"') for line in lines[1:] for cell in line.split(separator)]
    comma = any(map(_DECIMAL_COMMA.match, cells)) and not any(map(_DECIMAL_POINT.match, cells))
    return separator, separator != "," and comma


def _start(file: Path) -> str:
    """First lines of a text file."""
    zipped = file.name.lower().endswith(".gz")
    try:
        with gzip.open(file, "rb") if zipped else file.open("rb") as stream:
            start = stream.read(1 << 16)
    except (OSError, EOFError) as error:
        raise InvalidInput(f"{file} cannot be read: {_one_line(error)}.") from None
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _another_encoding(file)
    if b"\0" in start:
        raise InvalidInput(f"{file} must be text in UTF-8, got something binary.")
    try:
        return start.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start < len(start) - 4:  # not merely a character cut in two
            raise _another_encoding(file) from None
        return start.decode("utf-8-sig", errors="ignore")


def _another_encoding(file: Path) -> InvalidInput:
    return InvalidInput(
        f"{file} must be text in UTF-8, got another encoding: save it as 'CSV UTF-8'."
    )


def _one_line(error: Exception) -> str:
    """Give the first line of a message: the rest advises options that users do not have."""
    return str(error).strip().split("\n")[0].rstrip(".: ") or type(error).__name__


# --- Dates: recognised whatever they look like, and turned into calendar features on request.

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


# --- What the rows say beside features: observations, costs, flags, stock and dates.

_YES = ("true", "yes", "y", "t", "1", "1.0")
_NO = ("false", "no", "n", "f", "0", "0.0")


@dataclass(frozen=True)
class TableRows:
    """Columns of the rows that can be learned from; None where no column has the role."""

    table: polars.DataFrame
    observed: Array
    underage: Array | None
    overage: Array | None
    stock: Array | None
    weight: Array | None
    flag: Array | None
    time: NDArray[Any] | None
    series: NDArray[Any] | None
    notes: tuple[str, ...]


def read_rows(
    table: polars.DataFrame,
    observed: str,
    *,
    underage: str | None = None,
    overage: str | None = None,
    stock: str | None = None,
    weight: str | None = None,
    date: str | None = None,
    flag: str | None = None,
    opposite: bool = False,
    series: Sequence[str] = (),
) -> TableRows:
    """Take the column of each role, leaving out rows without an observation.

    Parameters
    ----------
    table : polars.DataFrame
    observed, underage, overage, stock, weight, date : str or None
        Names of columns; None where no column has the role.
    flag : str or None
        Stock-outs, suspensions, or accepted offers: the truth is at least the observation.
    opposite : bool
        Whether the flag says the opposite: true where the truth was seen, such as a failure.
    series : sequence of str
        Columns that tell series apart.
    """
    require_columns(table, [observed], "observed")
    notes: list[str] = []
    column = table[observed]
    absent = column.null_count()
    if absent == table.height:
        raise InvalidInput(f"observed must have numbers, got none in column {observed!r}.")
    if absent:
        count = "1 row has" if absent == 1 else f"{absent:,} rows have"
        were = "was" if absent == 1 else "were"
        notes.append(f"{count} no number in {observed!r} and {were} left out.")
        table = table.filter(column.is_not_null())
    seen = finite(table, observed, "observed")
    for name, role in (
        (underage, "underage_column"),
        (overage, "overage_column"),
        (stock, "stock_column"),
        (weight, "weight_column"),
        (flag, "the column of flags"),
        (date, "date"),
    ):
        require_columns(table, [name], role)
    require_columns(table, series, "series")
    time, number = _times(table, date, series, notes)
    return TableRows(
        table=table,
        observed=seen,
        underage=_positive(table, underage, "underage_column"),
        overage=_positive(table, overage, "overage_column"),
        stock=None if stock is None else numbers(table, stock, "stock_column"),
        weight=_positive(table, weight, "weight_column", or_zero=True),
        flag=None if flag is None else read_flags(table, flag, opposite),
        time=time,
        series=number,
        notes=tuple(notes),
    )


def finite(table: polars.DataFrame, name: str, role: str) -> Array:
    """Column of finite numbers, none missing."""
    values = numbers(table, name, role)
    wrong = ~np.isfinite(values)
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidInput(
            f"{role} must have a number in every row, got {table[name][row]} in "
            f"{int(wrong.sum()):,} rows of column {name!r}, first in row {row}."
        )
    return values


def read_flags(table: polars.DataFrame, name: str, opposite: bool) -> Array:
    """1 for yes, 0 for no, NaN where nobody knows."""
    import polars as pl

    text = table[name].cast(pl.String).str.strip_chars().str.to_lowercase()
    values = text.replace_strict(
        [*_YES, *_NO], [1.0] * len(_YES) + [0.0] * len(_NO), default=None, return_dtype=pl.Float64
    )
    wrong = values.is_null() & text.is_not_null()
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        raise InvalidInput(
            f"The flags in column {name!r} must be yes or no, true or false, 1 or 0, or empty, "
            f"got {table[name][row]!r} in row {row}."
        )
    flags = values.to_numpy().astype(np.float64)
    return 1.0 - flags if opposite else flags


def _positive(
    table: polars.DataFrame, name: str | None, role: str, *, or_zero: bool = False
) -> Array | None:
    """Column of positive numbers; None where there is no such column."""
    if name is None:
        return None
    values = finite(table, name, role)
    wrong = values < 0 if or_zero else values <= 0
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidInput(
            f"{role} must hold numbers {'of at least' if or_zero else 'above'} 0, "
            f"got {values[row]:g} in column {name!r}, row {row}."
        )
    return values


def _times(
    table: polars.DataFrame, date: str | None, series: Sequence[str], notes: list[str]
) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """Dates and series for rules that look at the past; only where a series has one row a day."""
    import polars as pl

    if date is None:
        return None, None
    dates = read_dates(table, date)
    number = (
        pl.Series("series", np.zeros(table.height, dtype=np.int64))
        if not series
        else table.select(pl.struct(series).rank("dense").alias("series"))["series"]
    )
    if pl.DataFrame({"d": dates, "s": number}).is_duplicated().any():
        notes.append(
            "Some dates occur several times in a series, so no order rule was looked for: "
            "name the columns that tell series apart (series)."
        )
        return None, None
    return dates.to_numpy(), number.to_numpy().astype(np.int64)
