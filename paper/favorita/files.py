"""Favorita's own files, read block by block: both layouts of ``train.csv``, and ``items.csv``.

Polars parses blocks of whole lines, of a few megabytes each, so memory does not grow with the file,
whatever it is packed in. Blocks, and not a scan of the file by polars: that passes over a field too
many (1,5 for 1.5 would be 1), names no line, and does not look into zip. What is wrong with a file
is said in one sentence with the number of the line; every line is looked at only then.
"""

from __future__ import annotations

import csv
import gzip
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from io import StringIO
from pathlib import Path
from typing import IO, Any, cast

import polars as pl

from unmet.errors import InvalidInput

#: Called with how much of how much has been read, in bytes of the file as it is on disk.
Progress = Callable[[int, int], None]

BLOCK_BYTES = 16 * 2**20
PARQUET_ROWS = 1_000_000


# --- What the columns hold, and which of them a layout has.


def _is_date(text: str) -> bool:
    try:
        return bool(re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) and date.fromisoformat(text))
    except ValueError:
        return False


# type of polars, test of the text of one value, and a word for it
_WHOLE = (pl.Int64, re.compile(r"[+-]?\d+").fullmatch, "whole numbers")
_NUMBER = (pl.Float64, re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?").fullmatch, "numbers")

#: Every column that is ever looked at.
_KINDS: dict[str, tuple[Any, Callable[[str], object], str]] = {
    # as text, because polars would also take 02/01/2016 and guess the order
    "date": (pl.String, _is_date, "dates like 2016-01-31"),
    "store_nbr": _WHOLE,
    "item_nbr": _WHOLE,
    "unit_sales": _NUMBER,
    "sales": _NUMBER,
    "family": (pl.String, bool, "names"),
    "perishable": _WHOLE,
}


@dataclass(frozen=True)
class TrainLayout:
    """How a file tells what was sold.

    Attributes
    ----------
    name : str
        "item" or "family".
    product, sales : str
        Columns that say what was sold, and how much.
    """

    name: str
    product: str
    sales: str

    @property
    def columns(self) -> tuple[str, ...]:
        """What the file must have; other columns are not looked at."""
        return ("date", "store_nbr", self.product, self.sales)


ITEM_LEVEL = TrainLayout("item", "item_nbr", "unit_sales")
FAMILY_LEVEL = TrainLayout("family", "family", "sales")


def read_layout(path: Path) -> TrainLayout:
    """Tell the layout from the names of the columns, or name those that are missing."""
    _check_file("train", path)
    if _is_parquet(path):
        with _reading_parquet(path):
            names = set(pl.scan_parquet(path).collect_schema().names())
    else:
        with _open_lines(path) as (header, _, _):
            names = set(header)
    for layout in (ITEM_LEVEL, FAMILY_LEVEL):
        if names >= set(layout.columns):
            return layout
    wanted, layout = "item level, or family and sales for family level", ITEM_LEVEL
    if names & {"item_nbr", "unit_sales"}:
        wanted = "item level"
    elif names & {"family", "sales"}:
        wanted, layout = "family level", FAMILY_LEVEL
    missing = ", ".join(name for name in layout.columns if name not in names)
    raise InvalidInput(f"{path} lacks the columns {missing} for {wanted}.")


def _check_file(parameter: str, path: Path) -> None:
    if not path.exists():
        raise InvalidInput(f"{parameter} must be a file, but {path} does not exist.")
    if not path.is_file():
        raise InvalidInput(f"{parameter} must be a file, but {path} is not one.")


# --- The files, piece by piece.


def read_items(path: Path) -> pl.DataFrame:
    """Read ``items.csv`` and check that every item stands in it once.

    Returns
    -------
    polars.DataFrame
        ``item_nbr``, ``family``, ``perishable`` (0 or 1).
    """
    _check_file("items", path)
    columns = ("item_nbr", "family", "perishable")
    with _open_lines(path) as (names, blocks, _):
        missing = ", ".join(name for name in columns if name not in names)
        if missing:
            raise InvalidInput(f"{path} lacks the columns {missing}.")
        tables = [_parse(path, names, block, columns) for block in blocks if block.text]
    if not tables:
        raise InvalidInput(f"{path} has a header but no rows.")
    table = pl.concat(tables)
    twice = table.filter(pl.col("item_nbr").is_duplicated())["item_nbr"]
    if len(twice):
        raise InvalidInput(f"{path} must have every item once, got item {twice[0]} twice.")
    odd = table.filter(~pl.col("perishable").is_in([0, 1]))["perishable"]
    if len(odd):
        raise InvalidInput(f"{path} must have 0 or 1 in the column perishable, got {odd[0]}.")
    if not (table["perishable"] == 1).any():
        raise InvalidInput(f"{path} must call at least one item perishable.")
    return table


def read_tables(
    path: Path, layout: TrainLayout, progress: Progress | None = None
) -> Iterator[pl.DataFrame]:
    """Read a file piece by piece.

    Parameters
    ----------
    path : Path
    layout : TrainLayout
    progress : callable, optional

    Yields
    ------
    polars.DataFrame
        With ``date`` as text (YYYY-MM-DD), ``store_nbr``, the product and ``sales``; no missing and
        no infinite values.
    """
    pieces = _parquet_pieces if _is_parquet(path) else _csv_pieces
    for table, done, total in pieces(path, layout.columns):
        if table is not None:
            yield table.rename({layout.sales: "sales"})
        if progress:
            progress(done, total)


_Pieces = Iterator[tuple[pl.DataFrame | None, int, int]]


def _csv_pieces(path: Path, columns: Sequence[str]) -> _Pieces:
    total = path.stat().st_size
    with _open_lines(path) as (names, blocks, position):
        for block in blocks:
            table = _parse(path, names, block, columns) if block.text else None
            yield table, position(), total


def _is_parquet(path: Path) -> bool:
    """Whether a file says of itself that it is Parquet."""
    with path.open("rb") as stream:
        return stream.read(4) == b"PAR1"


@contextmanager
def _reading_parquet(path: Path) -> Iterator[None]:
    try:
        yield
    except pl.exceptions.PolarsError as error:
        reason = str(error).partition("\n")[0]
        raise InvalidInput(f"{path} cannot be read as Parquet ({reason}).") from error


def _parquet_pieces(path: Path, columns: Sequence[str]) -> _Pieces:
    """Read some rows at a time; columns of other types are turned into those of a CSV file."""
    with _reading_parquet(path):
        lazy = pl.scan_parquet(path).select(columns)
        total = lazy.select(pl.len()).collect().item()
        for start in range(0, total, PARQUET_ROWS):
            table = (
                lazy.slice(start, PARQUET_ROWS)
                .collect()
                .with_columns(pl.col(name).cast(_KINDS[name][0]) for name in columns)
                .with_columns(pl.col("date").str.slice(0, 10))
            )
            if _has_holes(table):
                raise InvalidInput(
                    f"{path} must have no missing values and dates like 2016-01-31 in the columns "
                    f"{', '.join(columns)}."
                )
            yield table, min(start + PARQUET_ROWS, total), total


def _has_holes(table: pl.DataFrame) -> bool:
    """Missing or infinite values, or text that is no date."""
    numbers = [column for column in table.iter_columns() if column.dtype == pl.Float64]
    dates = table["date"].unique().to_list() if "date" in table.columns else []
    return (
        any(table.null_count().row(0))
        or not all(column.is_finite().all() for column in numbers)
        or not all(map(_is_date, dates))
    )


# --- Blocks of whole lines.

# first bytes → how it is called, and why it is refused
_REFUSED = {
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"\x28\xb5\x2f\xfd": "packed with zstandard",
    b"BZh": "packed with bzip2",
    b"\xfd7zXZ\x00": "packed with xz",
}


@dataclass(frozen=True)
class _Block:
    """Whole lines of a file, without its header.

    Attributes
    ----------
    text : bytes
        UTF-8.
    first_line : int
        Number of the first of these lines in the file; the header is line 1.
    is_cut : bool
        Whether the file ends here without a line break, so that the last line may lack something.
    """

    text: bytes
    first_line: int
    is_cut: bool = False


@contextmanager
def _open_lines(path: Path) -> Iterator[tuple[list[str], Iterator[_Block], Callable[[], int]]]:
    """Open a CSV file, also inside gzip or zip.

    Yields
    ------
    names : list of str
        Of the columns.
    blocks : iterator of _Block
    position : callable
        How many bytes of the file on disk have been read.
    """
    with path.open("rb") as raw:
        try:
            with _unpacked(raw, path) as stream:
                first = stream.read(BLOCK_BYTES).removeprefix(b"\xef\xbb\xbf")
                header, _, rest = first.partition(b"\n")
                _check_utf8(path, header, 1)
                if not header.strip():
                    raise InvalidInput(f"{path} is empty or starts with an empty line.")
                names = [name.strip() for name in next(csv.reader([header.rstrip().decode()]))]
                yield names, _blocks(path, stream, rest), raw.tell
        except (EOFError, gzip.BadGzipFile, zlib.error, zipfile.BadZipFile) as error:
            raise InvalidInput(f"{path} is cut off or damaged ({error}).") from error


def _unpacked(raw: IO[bytes], path: Path) -> IO[bytes]:
    start = raw.read(8)
    raw.seek(0)
    for magic, name in _REFUSED.items():
        if start.startswith(magic):
            raise InvalidInput(
                f"{path} must be CSV (also inside gzip or zip) or Parquet, got {name}: "
                "unpack it first."
            )
    if start.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
    if start.startswith(b"PK\x03\x04"):
        archive = zipfile.ZipFile(raw)
        names = [name for name in archive.namelist() if not name.endswith("/")]
        if len(names) != 1:
            raise InvalidInput(f"{path} must hold one CSV file, got {len(names)} files.")
        if archive.getinfo(names[0]).flag_bits & 1:
            raise InvalidInput(f"{path} must not need a password.")
        return archive.open(names[0])
    return raw


def _blocks(path: Path, stream: IO[bytes], rest: bytes) -> Iterator[_Block]:
    """Cut the stream after line breaks; what follows the last one waits for the next block."""
    line = 2
    while more := stream.read(BLOCK_BYTES):
        end = rest.rfind(b"\n") + 1
        if len(rest) - end > BLOCK_BYTES:
            raise InvalidInput(f"{path} must be CSV, got a line of more than {BLOCK_BYTES} bytes.")
        if end:
            text = rest[:end]
            _check_utf8(path, text, line)
            yield _Block(text, line)
            line += text.count(b"\n")
        rest = rest[end:] + more
    _check_utf8(path, rest, line)
    # empty lines at the end of a file are no rows
    yield _Block(rest.rstrip(b"\r\n"), line, is_cut=not rest.endswith(b"\n"))


def _check_utf8(path: Path, text: bytes, first_line: int) -> None:
    if text.isascii():  # all of Favorita is, and this is quicker
        return
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + text.count(b"\n", 0, error.start)
        raise InvalidInput(
            f"{path} must be UTF-8 text, got the byte 0x{text[error.start]:02x} in line {line}."
        ) from error


# --- Lines of CSV into columns of known kinds; the first wrong line is named with its number.


def _parse(path: Path, names: list[str], block: _Block, columns: Sequence[str]) -> pl.DataFrame:
    """Read lines of CSV into the given columns, or say which line is wrong and why."""
    if block.is_cut:
        _check_last_line(path, names, block)
    kinds = {name: _KINDS[name][0] for name in columns}
    header = ",".join(names).encode() + b"\n"  # in front of every block: polars counts fields by it
    reason = "a value is missing or not a number"
    try:
        table = pl.read_csv(header + block.text, columns=list(columns), schema_overrides=kinds)
        # polars passes over a field too many; a comma within quotes is none
        commas = block.text.count(b",") == table.height * (len(names) - 1)
        if not _has_holes(table) and (commas or not _wrong_line(path, names, block, columns)):
            return table.select(columns)
    except pl.exceptions.PolarsError as error:
        reason = str(error).partition("\n")[0]
    sentence = f"{path} cannot be read from line {block.first_line} on: {reason}."
    raise InvalidInput(_wrong_line(path, names, block, columns) or sentence)


def _check_last_line(path: Path, names: list[str], block: _Block) -> None:
    """Refuse a file whose last line ends too early: the download has stopped half-way."""
    start = block.text.rfind(b"\n") + 1
    fields = next(csv.reader([block.text[start:].decode("utf-8")]), [])
    half_a_word = names[-1] == "onpromotion" and any(
        word.startswith(fields[-1]) and word != fields[-1] for word in ("True", "False")
    )
    if len(fields) < len(names) or (fields[-1] and half_a_word):
        line = block.first_line + block.text.count(b"\n")
        raise InvalidInput(
            f"{path} is cut off in its last line, {line}: "
            f"got {len(fields)} of {len(names)} fields, the last one {fields[-1]!r}."
        )


def _wrong_line(path: Path, names: list[str], block: _Block, columns: Sequence[str]) -> str | None:
    """Look at every line, and say what is wrong with the first that is; slow."""
    rows = csv.reader(StringIO(block.text.decode("utf-8"), newline=""))
    for number, fields in enumerate(rows, start=block.first_line):
        if len(fields) != len(names):
            return (
                f"{path} must have {len(names)} fields in every line, "
                f"got {len(fields)} in line {number}."
            )
        for name in columns:
            value, (_, accepts, meaning) = fields[names.index(name)], _KINDS[name]
            if not accepts(value):
                return (
                    f"{path} must have {meaning} in the column {name}, "
                    f"got {value!r} in line {number}."
                )
    return None
