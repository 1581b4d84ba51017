"""Read tables from files or from memory, and the columns of their rows; each error is one sentence.

The module reads text files (`dialect` recognises their format), Excel and Parquet, and recognises
dates in many forms. It also reads the columns next to features: observations, costs, flags, stock
and dates.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from io import BytesIO
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.errors import InvalidInput, Note, Unsupported
from unmet.files import check_zip
from unmet.rows import STOCK_SLACK
from unmet.tables.dates import read_dates
from unmet.tables.dialect import (
    Dialect,
    above_header,
    as_bytes,
    distinct_names,
    find_header,
    read_text,
    with_types,
    without_noise,
)
from unmet.validation import is_missing

# --- Tables of any kind as polars, the kind in which plans are made.


def as_polars(table: Any) -> pl.DataFrame:
    """Convert a table of pandas, polars or pyarrow to polars.

    The conversion goes column by column, because polars needs pyarrow to read pandas.
    """
    if isinstance(table, pl.DataFrame):
        return table.with_columns(cs.float().fill_nan(None))
    if hasattr(table, "reset_index"):
        # give a table of pandas whose columns have names that are text, no two of them the same
        index = table.index
        if any(name is not None for name in index.names) or hasattr(index, "year"):
            table = table if index.names != [None] else table.rename_axis(index="date")
            table = table.reset_index(allow_duplicates=True)
        names = [
            [str(part) for part in np.atleast_1d(each) if part != ""] for each in table.columns
        ]
        while len({each[0] for each in names if len(each) > 1}) == 1:
            names = [each[1:] if len(each) > 1 else each for each in names]
        table = table.set_axis(distinct_names("table", list(map(" ".join, names)))[0], axis=1)
    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        raise Unsupported(
            f"table must be a table of pandas, polars or pyarrow in memory, "
            f"got {type(table).__name__}."
        ) from None
    return pl.DataFrame({str(name): _column(frame[name], name) for name in frame.columns})


def kind_of(table: Any) -> str:
    """Name the library of a table, such as "pandas"."""
    return str(nw.get_native_namespace(table).__name__)


def like_table(frame: pl.DataFrame, kind: str) -> Any:
    """Convert a polars frame to the kind of table that was given.

    Parameters
    ----------
    frame : polars.DataFrame
        Frame to convert.
    kind : str
        Library, as `kind_of` gives it.
    """
    namespace = nw.Implementation(kind).to_native_namespace()
    if namespace is pl:
        return frame
    columns = {
        name: frame[name].to_list() if frame[name].dtype == pl.String else frame[name].to_numpy()
        for name in frame.columns
    }
    return nw.from_dict(columns, native_namespace=namespace).to_native()


def _column(column: Any, name: Any) -> Any:
    if column.dtype.is_float():
        return pl.Series(column.to_numpy()).fill_nan(None)
    if column.dtype.is_integer() and not column.is_null().any():
        return pl.Series(column.to_numpy())
    if column.dtype == nw.Boolean and not column.is_null().any():
        return pl.Series(column.to_numpy().astype(bool))
    native = column.to_native()
    kind = getattr(native, "dtype", None)
    if type(kind).__name__ == "PeriodDtype":
        return pl.Series(native.dt.to_timestamp().to_numpy())
    if type(kind).__name__ == "ArrowDtype" or getattr(kind, "storage", "") == "pyarrow":
        return pl.Series(column.to_arrow())
    entries = [None if is_missing(each) else each for each in column.to_list()]
    try:
        return pl.Series(entries)
    except (TypeError, pl.exceptions.PolarsError):
        kinds = sorted({type(each).__name__ for each in entries if each is not None})
        raise InvalidInput(
            f"A column must have one kind of value, got {' and '.join(kinds)} in {str(name)!r}."
        ) from None


def require_columns(table: pl.DataFrame, names: Iterable[str | None], field: str) -> None:
    """Refuse a table that lacks a column, and list the columns it has."""
    for name in names:
        if name is not None and name not in table.columns:
            columns = [each for each in table.columns if not each.startswith("\0")]
            close = get_close_matches(name.lower(), [each.lower() for each in columns], 1)
            likely = [each for each in columns if each.lower() in close]
            more = ", …" if len(columns) > 20 else ""
            said = f", which has {', '.join(columns[:20])}{more}."
            said = f": did you mean {likely[0]!r}?" if likely else said
            raise InvalidInput(f"{field} must be a column of the table, got {name!r}{said}")


def row_number(table: pl.DataFrame, row: int) -> int:
    """Count a row as a spreadsheet does: the header is row 1."""
    return int(table["\0row"][row]) if "\0row" in table.columns else row + 2


def numbers(table: pl.DataFrame, name: str, field: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Read a column of numbers; missing ones are NaN, and text is refused with its row."""
    column = table[name]
    if column.dtype == pl.Boolean or column.dtype.is_numeric() or column.dtype == pl.Null:
        return column.cast(pl.Float64).to_numpy().astype(np.float64)
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        raise InvalidInput(f"{field} must have numbers, got {column.dtype} in column {name!r}.")
    text = column.cast(pl.String).str.strip_chars()
    found = text.cast(pl.Float64, strict=False)
    wrong = found.is_null() & text.is_not_null()
    if not wrong.any():
        return found.to_numpy().astype(np.float64)
    row = int(wrong.arg_max() or 0)
    raise InvalidInput(
        f"{field} must have numbers, got {column[row]!r} in row {row_number(table, row)} of column "
        f"{name!r}: correct it, or leave the cell empty."
    )


# --- Tables from files: text in the usual dialects, Excel, Parquet; each complaint one sentence.

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".txt", ".xlsx", ".parquet", ".pq")
"""Names of files that `read_table` reads."""


@dataclass(frozen=True)
class TableFile:
    r"""A table from a file, with the format of the file.

    Attributes
    ----------
    table : polars.DataFrame
        The table, with types.
    cells : polars.DataFrame or None
        For a text file, the same rows as text.
    dialect : Dialect or None
        Format of a text file.
    notes : tuple of str
        Assumptions that were made, one sentence each.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from unmet.tables.reading import read_file
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "sales.csv"
    ...     _ = path.write_text("day;price\n2024-05-01;2,50\n")
    ...     found = read_file(path)
    >>> found.table.row(0), found.cells.row(0)
    ((datetime.date(2024, 5, 1), 2.5), ('2024-05-01', '2,50'))
    """

    table: pl.DataFrame
    cells: pl.DataFrame | None = None
    dialect: Dialect | None = None
    notes: tuple[str, ...] = ()


def read_table(path: str | Path, **how: Any) -> pl.DataFrame:
    r"""Read a table from a CSV, Excel or Parquet file.

    For a CSV file, the function recognises the encoding (UTF-8, UTF-16, cp1252), lines above the
    header, the separator (comma, semicolon, tab, bar), the decimal sign, thousands separators, and
    dates such as 2024-05-31. "NA", "NaN", "null" and empty cells are missing values, and lines
    without any value are no rows. Numbers with a leading zero are names and stay text. Dates in
    other forms stay text as well, because only a whole column shows whether the day or the month
    comes first; `read_dates` reads them. From an Excel file one sheet is read, which may have lines
    above its header.

    Parameters
    ----------
    path : str or Path
        File, with an ending in `SUFFIXES`.
    **how
        Options of `read_file`: text, decimal, sheet, encoding.

    Returns
    -------
    polars.DataFrame
        Table with at least one row and one column; NaN is missing.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from unmet.planning import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "sales.csv"
    ...     _ = path.write_text("day;store;sales\n2024-05-01;007;3\n")
    ...     read_table(path).row(0)
    (datetime.date(2024, 5, 1), '007', 3)
    """
    return read_file(path, **how).table


def read_file(
    path: str | Path,
    *,
    text: Collection[str] = (),
    decimal: str | None = None,
    sheet: str | None = None,
    encoding: str | None = None,
) -> TableFile:
    r"""Read a table, and keep the format of the file.

    Parameters
    ----------
    path : str or Path
        File, with an ending in `SUFFIXES`.
    text : collection of str
        Columns that stay text whatever they look like.
    decimal : {".", ","}, optional
        Decimal sign of numbers in text. None uses all columns of numbers together: 1.501 in a file
        with 2,5 elsewhere is 1501. A file that does not show its decimal sign is refused.
    sheet : str, optional
        Name of a sheet of an Excel file. None takes the first one with a table, and those like it.
    encoding : str, optional
        Python name of the encoding of a text file. None recognises it.

    Returns
    -------
    TableFile
        The table and the format.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from unmet.tables.reading import read_file
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "sales.csv"
    ...     _ = path.write_text("day;price\n2024-05-01;2,50\n")
    ...     read_file(path).dialect.separator
    ';'
    """
    file = Path(path)
    if not file.is_file():
        what = "a folder" if file.is_dir() else "no such file"
        raise InvalidInput(f"{file} must be a CSV, Excel or Parquet file that exists, got {what}.")
    name = file.name.lower()
    if not name.endswith(SUFFIXES):
        raise InvalidInput(f"{file} must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.")
    if not file.stat().st_size:
        raise InvalidInput(f"{file} must have a table, got an empty file.")
    excel, parquet = name.endswith(".xlsx"), name.endswith((".parquet", ".pq"))
    kind = "Excel" if excel else "Parquet" if parquet else "CSV"
    if sheet is not None and not excel:
        raise InvalidInput(f"sheet must not be given for {file}, which is no Excel file.")
    if encoding is not None and (excel or parquet):
        raise InvalidInput(f"encoding must not be given for {file}, which is no text file.")
    try:
        if parquet:
            found = TableFile(pl.read_parquet(file, hive_partitioning=False))
        elif excel:
            found = _read_excel(file, text, decimal, sheet)
        else:
            table, cells, dialect, notes = read_text(file, text, decimal, encoding)
            found = TableFile(table, cells, dialect, tuple(notes))
    except InvalidInput:
        raise
    except pl.exceptions.PanicException:  # of a reader written in Rust; it is no Exception
        raise InvalidInput(f"{file} must be a {kind} file, got a damaged one.") from None
    except Exception as error:  # whatever a reader says of a damaged file
        said = str(error).strip().split("\n")[0]  # the rest advises options that users do not have
        said = said.rstrip(".: ") or type(error).__name__
        raise InvalidInput(f"{file} cannot be read as {kind}: {said}.") from None
    if not found.table.height:
        raise InvalidInput(f"{file} must have at least one row below its header, got none.")
    return replace(found, table=as_polars(found.table))


def _read_excel(
    file: Path, text: Collection[str], decimal: str | None, sheet: str | None
) -> TableFile:
    """Read one sheet; numbers and dates have types there, and text may be either."""
    import fastexcel

    logging.getLogger("fastexcel").setLevel(logging.ERROR)  # on cells whose type it cannot tell
    check_zip(file)
    sheets = fastexcel.read_excel(file).sheet_names
    if not sheets:
        raise InvalidInput(f"{file} must have a sheet, got none.")
    if sheet is not None and sheet not in sheets:
        raise InvalidInput(
            f"sheet must be one of {', '.join(map(repr, sheets))} in {file}, got {sheet!r}."
        )
    # line by line as text, to find the header; counted from the first line of the sheet
    how: dict[str, Any] = {"engine": "calamine", "raise_if_empty": False, "drop_empty_cols": False}
    first_lines: dict[str, list[list[str]]] = {}
    for each in sheets if sheet is None else [sheet]:
        start = pl.read_excel(
            file,
            sheet_name=each,
            has_header=False,
            infer_schema_length=0,
            drop_empty_rows=False,
            read_options={"n_rows": 200, "skip_rows": 0},
            **how,
        )
        first_lines[each] = [[(cell or "").strip() for cell in line] for line in start.iter_rows()]
    rows = {each: sum(map(any, lines)) for each, lines in first_lines.items()}
    chosen = next(each for each in rows if 10 * rows[each] >= max(rows.values()))  # no cover
    if not rows[chosen]:
        raise InvalidInput(f"{file} must have a table in sheet {chosen!r}, got an empty sheet.")

    def read(each: str) -> tuple[pl.DataFrame, list[str]]:
        lines = first_lines[each]
        filled = [place for place, line in enumerate(lines) if any(line)]
        header = filled[find_header([lines[place] for place in filled]) or 0]
        names, notes = distinct_names(file, lines[header], lines[header - 1] if header else ())
        table = pl.read_excel(
            file, sheet_name=each, infer_schema_length=None, read_options={"header_row": header},
            **how,
        )  # fmt: skip
        notes += above_header(header if header > filled[0] else 0, file.name)
        table.columns = names
        table, said = without_noise(table)
        moments = [each for each in table if each.dtype == pl.Datetime]  # Excel knows no dates
        whole = [each for each in moments if (each.dt.truncate("1d") == each).all()]
        return table.with_columns(each.dt.date() for each in whole), notes + said

    table, notes = read(chosen)
    others = [each for each in rows if each != chosen and rows[each]]
    alike = {
        each: more
        for each in others
        if set(first_lines[chosen][0]) == set(first_lines[each][0])
        and (more := read(each)[0]).schema == table.schema
        and not more.equals(table)
    }
    if alike and "sheet" not in table.columns:
        both = {chosen: table, **alike}
        table = pl.concat(each.with_columns(sheet=pl.lit(name)) for name, each in both.items())
        notes.append(f"All {len(both)} sheets of {file.name} with the same columns were read.")
    elif others:
        notes.append(
            Note(f"Only sheet {chosen!r} of {file.name} was read: name another one (sheet=).")
        )
    table, _ = with_types(table, text, decimal, str(file))
    return TableFile(table, notes=tuple(notes))


def table_bytes(table: pl.DataFrame, suffix: str, dialect: Dialect | None = None) -> bytes:
    """Give the content of a file with this ending: Parquet, Excel, or else text in a dialect."""
    content = BytesIO()
    if suffix.lower() in (".parquet", ".pq"):
        table.write_parquet(content)
        return content.getvalue()
    if suffix.lower() != ".xlsx":
        return as_bytes(table, dialect or Dialect())
    import xlsxwriter

    if table.height >= 1_048_576:
        raise InvalidInput(
            f"An Excel file must have fewer than 1,048,576 rows, got {table.height:,}: write CSV."
        )
    # text stays text, whatever it begins with
    plain = dict.fromkeys(("strings_to_formulas", "strings_to_urls", "strings_to_numbers"), False)
    # in memory: otherwise each sheet goes to a temporary file first, and that disk may be full
    how = {**plain, "nan_inf_to_errors": True, "in_memory": True}
    with xlsxwriter.Workbook(content, how) as book:
        table.write_excel(book, "table", autofit=table.height < 10_000)
    return content.getvalue()


# --- What the rows say beside features: observations, costs, flags, stock and dates.

BAD_ROWS = ("drop", "clip", "refuse")
"""What may become of rows that cannot be: negative sales, less stock than sales."""

YES = ("true", "yes", "y", "t", "1", "1.0", "ja", "j", "wahr", "oui", "vrai", "sí", "si")
NO = ("false", "no", "n", "f", "0", "0.0", "nein", "falsch", "non", "faux")
"""Labels of flags; Excel writes WAHR and VRAI where it speaks German and French."""


@dataclass(frozen=True)
class TableRows:
    """Columns of the rows that can be learned from; None for a field without a column."""

    table: pl.DataFrame
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
    table: pl.DataFrame,
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
    bad_rows: str | None = None,
) -> TableRows:
    """Read the column of each field, leaving out rows without an observation.

    Parameters
    ----------
    table : polars.DataFrame
        The table.
    observed, underage, overage, stock, weight, date : str or None
        Names of columns; None for a field without a column.
    flag : str or None
        Column of stock-outs, suspensions or accepted offers: the truth is at least the observation.
    opposite : bool
        Whether the flag means the opposite: true if the truth was seen, such as a failure.
    series : sequence of str
        Columns that identify a series.
    bad_rows : {"drop", "clip", "refuse"} or None
        What to do with rows whose observation is negative or exceeds the stock; None takes them as
        they are.
    """
    require_columns(table, [observed], "observed")
    notes: list[str] = []
    column = table[observed]
    absent = column.null_count()
    if absent == table.height:
        raise InvalidInput(f"observed must have numbers, got none in column {observed!r}.")
    if absent:
        said = f"Rows left out: {absent:,} without a number in {observed!r}."
        notes.append(Note(said, absent / table.height))
        table = table.with_row_index("\0row", 2).filter(column.is_not_null())
    seen = finite(table, observed, "observed")
    fields = ("underage_column", "overage_column", "stock_column", "weight_column")
    named = zip((underage, overage, stock, weight), fields, strict=True)
    for name, field in (*named, (flag, "flags"), (date, "date")):
        require_columns(table, [name], field)
    require_columns(table, series, "series")
    available = None if stock is None else numbers(table, stock, "stock_column")
    if bad_rows is not None:
        names = observed, stock
        kept, seen, available = _possible(table, bad_rows, seen, available, names, notes)
        table = table.filter(kept) if not kept.all() else table
    time, number = _times(table, date, series, notes)
    return TableRows(
        table=table.drop("\0row", strict=False),
        observed=seen,
        underage=_positive(table, underage, "underage_column"),
        overage=_positive(table, overage, "overage_column"),
        stock=available,
        weight=_positive(table, weight, "weight_column", or_zero=True),
        flag=None if flag is None else read_flags(table, flag, opposite),
        time=time,
        series=number,
        notes=tuple(notes),
    )


def _possible(
    table: pl.DataFrame,
    rule: str,
    seen: Array,
    stock: Array | None,
    names: tuple[str, str | None],
    notes: list[str],
) -> tuple[NDArray[np.bool_], Array, Array | None]:
    """Rows to keep, and their observations and stock, where some of them cannot be."""
    negative = seen < 0
    least = np.maximum(seen, 0.0)
    size = np.abs(least) if stock is None else np.fmax(least, np.abs(np.nan_to_num(stock)))
    short = np.zeros(seen.size, dtype=np.bool_)
    if stock is not None:
        short = ~negative & (stock < least - STOCK_SLACK * size)
    for wrong, kind, clipped in (
        (negative, f"{names[0]!r} below 0", "0"),
        (short, f"{names[1]!r} below {names[0]!r}", repr(names[0])),
    ):
        count = int(wrong.sum())
        if not count:
            continue
        row = int(wrong.argmax())
        number = seen[row] if stock is None or wrong is negative else stock[row]
        where = f"{count:,} with {kind}, the first in row {row_number(table, row)} ({number:g})"
        if rule == "refuse":
            raise InvalidInput(
                f"bad_rows must be 'drop' or 'clip' if rows are wrong, got 'refuse' and rows: "
                f"{where}."
            )
        done = "left out" if rule == "drop" else f"set to {clipped}"
        notes.append(Note(f"Rows {done}: {where}.", count / seen.size))
    if rule == "clip":
        if stock is not None:  # what is not known stays so
            stock = np.where(np.isnan(stock), stock, np.maximum(stock, least))
        return np.ones(seen.size, dtype=np.bool_), least, stock
    kept = ~(negative | short)
    if not kept.any():
        raise InvalidInput(f"observed must have numbers of at least 0, got none in {names[0]!r}.")
    return kept, seen[kept], None if stock is None else stock[kept]


def _cell(value: Any) -> str:
    return "an empty cell" if value is None else f"{value}"


def finite(table: pl.DataFrame, name: str, field: str) -> Array:
    """Read a column of finite numbers, none missing."""
    values = numbers(table, name, field)
    wrong = ~np.isfinite(values)
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidInput(
            f"{field} must have a number in every row, got {_cell(table[name][row])} in row "
            f"{row_number(table, row)} of column {name!r}, the first of {int(wrong.sum()):,}."
        )
    return values


def read_flags(table: pl.DataFrame, name: str, opposite: bool) -> Array:
    """Read flags: 1 for yes, 0 for no, NaN if unknown."""
    text = table[name].cast(pl.String).str.strip_chars().str.to_lowercase()
    values = text.replace_strict(
        [*YES, *NO], [1.0] * len(YES) + [0.0] * len(NO), default=None, return_dtype=pl.Float64
    )
    wrong = values.is_null() & text.is_not_null()
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        raise InvalidInput(
            f"The flags in column {name!r} must be yes or no, true or false, 1 or 0, or empty, "
            f"got {table[name][row]!r} in row {row_number(table, row)}."
        )
    flags = values.to_numpy().astype(np.float64)
    return 1.0 - flags if opposite else flags


def _positive(
    table: pl.DataFrame, name: str | None, field: str, *, or_zero: bool = False
) -> Array | None:
    """Column of positive numbers; None where there is no such column."""
    if name is None:
        return None
    values = finite(table, name, field)
    wrong = values < 0 if or_zero else values <= 0
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidInput(
            f"{field} must have numbers {'of at least' if or_zero else 'above'} 0, "
            f"got {values[row]:g} in row {row_number(table, row)} of column {name!r}."
        )
    return values


def _times(
    table: pl.DataFrame, date: str | None, series: Sequence[str], notes: list[str]
) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """Dates and series for rules that look at the past; only where a series has one row a day."""
    if date is None:
        return None, None
    dates = read_dates(table, date)
    number = (
        pl.Series("series", np.zeros(table.height, dtype=np.int64))
        if not series
        else table.select(pl.struct(series).rank("dense").alias("series"))["series"]
    )
    day = pl.DataFrame({"d": dates, "s": number})
    several = day.is_duplicated()
    if several.any():
        notes.append(
            Note(
                "Order rules were not detected, because a series has several rows on the same "
                "date: name the columns that identify a series (series=)."
            )
        )
        repeated = table.filter(several)
        same = repeated.height - repeated.unique().height
        if same:
            notes.append(Note(f"Repeated rows were kept: {same:,}.", same / table.height))
        return None, None
    notes += _gaps(day)
    return dates.to_numpy(), number.to_numpy().astype(np.int64)


def _gaps(day: pl.DataFrame) -> list[str]:
    """Say where days are missing inside of series, on weekdays that a series has at other times."""
    by_weekday = day.group_by("s", pl.col("d").dt.weekday().alias("weekday")).agg(
        ((pl.col("d").max() - pl.col("d").min()).dt.total_days() // 7 + 1 - pl.len()).alias("gap")
    )
    missing = int(by_weekday["gap"].sum())
    if not missing:
        return []
    said = (
        f"Days without a row within a series: {missing:,}. They count as unknown; if nothing was "
        "sold, add rows with 0."
    )
    return [Note(said, missing / (missing + day.height))]
