"""The two layouts of Favorita's ``train.csv``, read block by block into one kind of table."""

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
from typing import IO, TYPE_CHECKING, cast

from unmet.errors import InvalidInput

if TYPE_CHECKING:
    import polars


# --- Bytes of a Favorita file in blocks of whole lines, whatever it is packed in.
#  A block is at most a few megabytes, so memory does not grow with the file. What is wrong with a
# file is said in one sentence with the number of the line.

#: Called with how much of how much has been read, in bytes of the file as it is on disk.
Progress = Callable[[int, int], None]

BLOCK_BYTES = 16 * 2**20

_PARQUET = b"PAR1"
# first bytes → how it is called, and why it is refused
_REFUSED = {
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"\x28\xb5\x2f\xfd": "packed with zstandard",
    b"BZh": "packed with bzip2",
    b"\xfd7zXZ\x00": "packed with xz",
}


@dataclass(frozen=True)
class Block:
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


def check_file(parameter: str, path: Path) -> None:
    """Say so when there is no such file."""
    if not path.exists():
        raise InvalidInput(f"{parameter} must be a file, but {path} does not exist.")
    if not path.is_file():
        raise InvalidInput(f"{parameter} must be a file, but {path} is not one.")


def is_parquet(path: Path) -> bool:
    """Whether a file says of itself that it is Parquet."""
    with path.open("rb") as stream:
        return stream.read(4) == _PARQUET


@contextmanager
def open_lines(path: Path) -> Iterator[tuple[bytes, Iterator[Block], Callable[[], int]]]:
    """Open a CSV file, also inside gzip or zip.

    Yields
    ------
    header : bytes
        The first line without its line break.
    blocks : iterator of Block
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
                yield header.rstrip(b"\r"), _blocks(path, stream, rest), raw.tell
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
        return _only_member(zipfile.ZipFile(raw), path)
    return raw


def _only_member(archive: zipfile.ZipFile, path: Path) -> IO[bytes]:
    names = [name for name in archive.namelist() if not name.endswith("/")]
    if len(names) != 1:
        raise InvalidInput(f"{path} must hold one CSV file, got {len(names)} files.")
    if archive.getinfo(names[0]).flag_bits & 1:
        raise InvalidInput(f"{path} must not need a password.")
    return archive.open(names[0])


def _blocks(path: Path, stream: IO[bytes], rest: bytes) -> Iterator[Block]:
    """Cut the stream after line breaks; what follows the last one waits for the next block."""
    line = 2
    while more := stream.read(BLOCK_BYTES):
        end = rest.rfind(b"\n") + 1
        if len(rest) - end > BLOCK_BYTES:
            raise InvalidInput(f"{path} must be CSV, got a line of more than {BLOCK_BYTES} bytes.")
        if end:
            text = rest[:end]
            _check_utf8(path, text, line)
            yield Block(text, line)
            line += text.count(b"\n")
        rest = rest[end:] + more
    _check_utf8(path, rest, line)
    # empty lines at the end of a file are no rows
    yield Block(rest.rstrip(b"\r\n"), line, is_cut=not rest.endswith(b"\n"))


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

_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def split_header(header: bytes) -> list[str]:
    """Names of the columns."""
    return [name.strip() for name in next(csv.reader([header.decode("utf-8")]))]


def parse(path: Path, names: list[str], block: Block, columns: Sequence[str]) -> polars.DataFrame:
    """Read lines of CSV into the given columns, or say which line is wrong and why."""
    import polars as pl

    if block.is_cut:
        _check_last_line(path, names, block)
    kinds = {name: KINDS[name].dtype for name in columns}
    header = ",".join(names).encode() + b"\n"  # in front of every block: polars counts fields by it
    try:
        table = pl.read_csv(header + block.text, columns=list(columns), schema_overrides=kinds)
    except pl.exceptions.PolarsError as error:
        raise _explained(path, names, block, columns, str(error)) from error
    if has_holes(table):
        raise _explained(path, names, block, columns, "a value is missing or not a number")
    # polars passes over a field too many, as in 1,5 for 1.5; a comma within quotes is none
    if block.text.count(b",") != table.height * (len(names) - 1):
        wrong = _first_wrong_line(path, names, block, columns)
        if wrong:
            raise wrong
    return table.select(columns)


def has_holes(table: polars.DataFrame) -> bool:
    """Missing or infinite values, or text that is no date."""
    import polars as pl

    if any(table.null_count().row(0)):
        return True
    numbers = [column for column in table.iter_columns() if column.dtype == pl.Float64]
    dates = table["date"].unique().to_list() if "date" in table.columns else []
    return not all(column.is_finite().all() for column in numbers) or not all(map(_is_date, dates))


def _check_last_line(path: Path, names: list[str], block: Block) -> None:
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


def _explained(
    path: Path, names: list[str], block: Block, columns: Sequence[str], reason: str
) -> InvalidInput:
    """Name the first line that is wrong, or else what polars says."""
    found = _first_wrong_line(path, names, block, columns)
    if found:
        return found
    summary = reason.partition("\n")[0]
    return InvalidInput(f"{path} cannot be read from line {block.first_line} on: {summary}.")


def _first_wrong_line(
    path: Path, names: list[str], block: Block, columns: Sequence[str]
) -> InvalidInput | None:
    """Look at every line; slow, but only where something is wrong."""
    places = [(names.index(name), name) for name in columns]
    rows = csv.reader(StringIO(block.text.decode("utf-8"), newline=""))
    for number, fields in enumerate(rows, start=block.first_line):
        if len(fields) != len(names):
            return InvalidInput(
                f"{path} must have {len(names)} fields in every line, "
                f"got {len(fields)} in line {number}."
            )
        for place, name in places:
            if not KINDS[name].accepts(fields[place]):
                return InvalidInput(
                    f"{path} must have {KINDS[name].meaning} in the column {name}, "
                    f"got {fields[place]!r} in line {number}."
                )
    return None


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class Kind:
    """What a column holds: polars' type by name, a test of one value's text, and a word for it."""

    type_name: str
    accepts: Callable[[str], object]
    meaning: str

    @property
    def dtype(self) -> type[polars.DataType]:
        """The type itself; polars is imported only when something is read."""
        import polars as pl

        found: type[polars.DataType] = getattr(pl, self.type_name)
        return found


_WHOLE_NUMBER = Kind("Int64", _INTEGER.fullmatch, "whole numbers")
_ANY_NUMBER = Kind("Float64", _NUMBER.fullmatch, "numbers")

#: Every column that is ever looked at.
KINDS = {
    # as text, because polars would also take 02/01/2016 and guess the order
    "date": Kind("String", _is_date, "dates like 2016-01-31"),
    "store_nbr": _WHOLE_NUMBER,
    "item_nbr": _WHOLE_NUMBER,
    "unit_sales": _ANY_NUMBER,
    "sales": _ANY_NUMBER,
    "family": Kind("String", bool, "names"),
    "perishable": _WHOLE_NUMBER,
}


# --- ``items.csv`` of the item-level layout: which items are perishable, and of which family.

_COLUMNS = ("item_nbr", "family", "perishable")


@dataclass(frozen=True, eq=False)
class Items:
    """What is known of the items.

    Attributes
    ----------
    path : Path
        Where it was read.
    known : frozenset of int
        Numbers of all items.
    perishable : polars.DataFrame
        ``item_nbr`` and ``family`` of the perishable ones.
    """

    path: Path
    known: frozenset[int]
    perishable: polars.DataFrame


def read_items(path: Path) -> Items:
    """Read ``items.csv`` and check that every item stands in it once."""
    import polars as pl

    check_file("items", path)
    with open_lines(path) as (header, blocks, _):
        names = split_header(header)
        missing = ", ".join(name for name in _COLUMNS if name not in names)
        if missing:
            raise InvalidInput(f"{path} lacks the columns {missing}.")
        tables = [parse(path, names, block, _COLUMNS) for block in blocks if block.text]
    if not tables:
        raise InvalidInput(f"{path} has a header but no rows.")
    table = pl.concat(tables)
    twice = table.filter(pl.col("item_nbr").is_duplicated())["item_nbr"]
    if len(twice):
        raise InvalidInput(f"{path} must have every item once, got item {twice[0]} twice.")
    odd = table.filter(~pl.col("perishable").is_in([0, 1]))["perishable"]
    if len(odd):
        raise InvalidInput(f"{path} must have 0 or 1 in the column perishable, got {odd[0]}.")
    perishable = table.filter(pl.col("perishable") == 1).select("item_nbr", "family")
    if perishable.is_empty():
        raise InvalidInput(f"{path} must call at least one item perishable.")
    return Items(path, frozenset(table["item_nbr"].to_list()), perishable)


# --- The two layouts of Favorita's ``train.csv``, read block by block into one kind of table.

PARQUET_ROWS = 1_000_000


@dataclass(frozen=True)
class Layout:
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


ITEM_LEVEL = Layout("item", "item_nbr", "unit_sales")
FAMILY_LEVEL = Layout("family", "family", "sales")


def recognise(path: Path, header: Sequence[str]) -> Layout:
    """Tell the layout from the names of the columns, or name those that are missing."""
    names = set(header)
    for layout in (ITEM_LEVEL, FAMILY_LEVEL):
        if names >= set(layout.columns):
            return layout
    if names & {"item_nbr", "unit_sales"}:
        wanted, missing = "item level", _missing(ITEM_LEVEL.columns, names)
    elif names & {"family", "sales"}:
        wanted, missing = "family level", _missing(FAMILY_LEVEL.columns, names)
    else:
        wanted = "item level, or family and sales for family level"
        missing = _missing(ITEM_LEVEL.columns, names)
    raise InvalidInput(f"{path} lacks the columns {missing} for {wanted}.")


def _missing(wanted: Sequence[str], names: set[str]) -> str:
    return ", ".join(name for name in wanted if name not in names)


def read_layout(path: Path) -> Layout:
    """Look at the header alone."""
    check_file("train", path)
    if is_parquet(path):
        return recognise(path, _parquet_columns(path))
    with open_lines(path) as (header, _, _):
        return recognise(path, split_header(header))


def read_tables(
    path: Path, layout: Layout, progress: Progress | None = None
) -> Iterator[polars.DataFrame]:
    """Read a file piece by piece.

    Parameters
    ----------
    path : Path
    layout : Layout
    progress : callable, optional

    Yields
    ------
    polars.DataFrame
        With ``date`` as text (YYYY-MM-DD), ``store_nbr``, the product and ``sales``; no missing and
        no infinite values.
    """
    rename = {layout.sales: "sales"}
    tables = _parquet_tables if is_parquet(path) else _csv_tables
    for table in tables(path, layout, progress):
        yield table.rename(rename)


def _csv_tables(
    path: Path, layout: Layout, progress: Progress | None
) -> Iterator[polars.DataFrame]:
    total = path.stat().st_size
    with open_lines(path) as (header, blocks, position):
        names = split_header(header)
        for block in blocks:
            if block.text:
                yield parse(path, names, block, layout.columns)
            if progress:
                progress(position(), total)


def _parquet_columns(path: Path) -> list[str]:
    import polars as pl

    try:
        return pl.scan_parquet(path).collect_schema().names()
    except pl.exceptions.PolarsError as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> InvalidInput:
    reason = str(error).partition("\n")[0]
    return InvalidInput(f"{path} cannot be read as Parquet ({reason}).")


def _parquet_tables(
    path: Path, layout: Layout, progress: Progress | None
) -> Iterator[polars.DataFrame]:
    """Read some rows at a time; columns of other types are turned into those of a CSV file."""
    import polars as pl

    try:
        lazy = pl.scan_parquet(path).select(layout.columns)
        total = lazy.select(pl.len()).collect().item()
        for start in range(0, total, PARQUET_ROWS):
            piece = lazy.slice(start, PARQUET_ROWS).collect()
            table = piece.with_columns(
                pl.col(name).cast(KINDS[name].dtype) for name in layout.columns if name != "date"
            ).with_columns(pl.col("date").cast(pl.String).str.slice(0, 10))
            if has_holes(table):
                raise InvalidInput(
                    f"{path} must have no missing values and dates like 2016-01-31 in the columns "
                    f"{', '.join(layout.columns)}."
                )
            yield table
            if progress:
                progress(min(start + PARQUET_ROWS, total), total)
    except pl.exceptions.PolarsError as error:
        raise _damaged(path, error) from error
