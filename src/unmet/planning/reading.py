"""Tables from files: CSV in the usual dialects, and Parquet; each complaint one sentence."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unmet.errors import InvalidInput
from unmet.planning.cells import MISSING, stripped, typed

if TYPE_CHECKING:
    import polars

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
    return _nan_is_missing(table)


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

    dialect = _sniff(file)
    try:
        table = pl.read_csv(
            file, separator=dialect.separator, infer_schema_length=0, null_values=list(MISSING)
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
        stripped(column)
        if column.name in text
        else typed(column, decimal_comma=dialect.decimal_comma)
        for column in table
    )


@dataclass(frozen=True)
class _Dialect:
    separator: str
    decimal_comma: bool


def _sniff(file: Path) -> _Dialect:
    """Find separator and decimal comma from the first lines; refuse what is no text."""
    lines = _start(file).splitlines()
    header = next((line for line in lines if line.strip()), "")
    fields = {each: next(csv.reader([header], delimiter=each), []) for each in _SEPARATORS}
    separator = max(_SEPARATORS, key=lambda each: len(fields[each]))
    _refuse_twins(file, fields[separator])
    cells = [cell.strip().strip('"') for line in lines[1:] for cell in line.split(separator)]
    comma = any(map(_DECIMAL_COMMA.match, cells)) and not any(map(_DECIMAL_POINT.match, cells))
    return _Dialect(separator, separator != "," and comma)


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


def _refuse_twins(file: Path, fields: list[str]) -> None:
    """Refuse two columns of one name: nobody could say which is meant."""
    names = [name.strip() for name in fields]
    twins = sorted({name for name in names if name and names.count(name) > 1})
    if twins:
        raise InvalidInput(
            f"The columns of {file} must have different names, got two {twins[0]!r}."
        )


def _nan_is_missing(table: polars.DataFrame) -> polars.DataFrame:
    import polars.selectors as cs

    return table.with_columns(cs.float().fill_nan(None))


def _one_line(error: Exception) -> str:
    """Give the first line of a message: the rest advises options that users do not have."""
    return str(error).strip().split("\n")[0].rstrip(".: ") or type(error).__name__
