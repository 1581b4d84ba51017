"""What a text file means: its encoding, where its header is, its separators and decimal sign.

Nothing is taken from one cell alone. The separator and the header are those that make the lines
agree, types are those that fit every cell of a column, and whether 1.501 is one and a half or
fifteen hundred is told by all columns of numbers together, or asked.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import zlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from unmet.errors import InvalidInput
from unmet.files import read_gzip

if TYPE_CHECKING:
    import polars

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None")
"""Cells that stand for nothing."""

SEPARATORS = (",", ";", "\t", "|")
DECIMALS = (".", ",")


class DecimalUnknown(InvalidInput):
    """The numbers of a file do not tell their decimal sign: ask for it."""


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    Attributes
    ----------
    encoding : str
        As Python calls it; "utf-8-sig" and "utf-16" begin with a mark that says so.
    separator : str
        Between cells.
    decimal : str
        Point or comma.
    line_end : str
    title_lines : int
        Lines above the header, which are no part of the table.
    """

    encoding: str = "utf-8"
    separator: str = ","
    decimal: str = "."
    line_end: str = "\n"
    title_lines: int = 0


# --- From bytes to cells.

_START = 1 << 16  # bytes that tell the dialect
_RECORDS = 200  # lines of them that must agree
_FURTHEST = 30  # lines that a title may have
_LONGEST_LINE = 1 << 20  # bytes within which the first line must end
MAX_COLUMNS = 2_000
"""Columns that a table in a file may have; more are a table that lies on its side."""


def read_text(
    file: Path,
    text: Collection[str] = (),
    decimal: str | None = None,
    encoding: str | None = None,
) -> tuple[polars.DataFrame, polars.DataFrame, Dialect, list[str]]:
    """Read a table from a text file.

    Every cell is read as text first, and types are found from whole columns. That is faster than to
    let polars look for types in all rows, which it must, since a text in the last row should not
    come as a surprise.

    Parameters
    ----------
    file : Path
        Of text, or of such text in gzip.
    text : collection of str
        Columns that stay text whatever they look like.
    decimal : {".", ","}, optional
        The decimal sign, where it is known.
    encoding : str, optional
        As Python calls it, where it is known.

    Returns
    -------
    table : polars.DataFrame
        With types.
    cells : polars.DataFrame
        The same rows as they were written.
    dialect : Dialect
    notes : list of str
    """
    import polars as pl

    start = _bytes(file, _START)
    if len(start) == _START and not _ends_a_line(start):
        start = _bytes(file, _LONGEST_LINE)
        if len(start) == _LONGEST_LINE and not _ends_a_line(start):
            raise InvalidInput(
                f"{file} must be lines of text, the first of at most {_LONGEST_LINE >> 20} MB, got "
                "no end of a line there."
            )
    guessed = encoding is None
    dialect = _sniff(file, start, _encoding(file, start) if guessed else _said(encoding, start))
    notes: list[str] = []
    try:
        cells = _cells(file, dialect, guessed)
    except pl.exceptions.PolarsError as error:
        why = one_line(error)
        if "utf-8" not in why.lower() or dialect.encoding == "cp1252" or not guessed:
            raise InvalidInput(f"{file} cannot be read as CSV: {why}.") from None
        dialect = replace(dialect, encoding="cp1252")  # a character far below says so
        cells = _cells(file, dialect, guessed)
    if dialect.encoding == "cp1252" and guessed:
        notes.append(f"{file.name} is not in UTF-8 and was read as Windows text (cp1252).")
    if dialect.title_lines:
        lines = "line" if dialect.title_lines == 1 else f"{dialect.title_lines} lines"
        were = "is" if dialect.title_lines == 1 else "are"
        notes.append(f"The first {lines} of {file.name} {were} above the header and not read.")
    # polars leaves quotes inside of a quoted name doubled
    cells = cells.rename({name: name.strip().replace('""', '"') for name in cells.columns})
    cells = _unguarded(cells)
    if cells.width > 1:
        cells = cells.filter(~pl.all_horizontal(pl.all().is_null()))
    table, decimal = with_types(cells, text, decimal, str(file))
    return table, cells, replace(dialect, decimal=decimal), notes


def _ends_a_line(start: bytes) -> bool:
    return b"\n" in start or b"\r" in start


def _cells(file: Path, dialect: Dialect, guessed: bool) -> polars.DataFrame:
    import polars as pl

    source: Path | bytes = file
    if not guessed or dialect.encoding not in ("utf-8", "utf-8-sig") or dialect.title_lines:
        raw = _bytes(file)
        try:
            decoded = raw.decode(dialect.encoding)
        except UnicodeDecodeError:
            if not guessed:
                raise InvalidInput(
                    f"{file} must be text in {dialect.encoding} (encoding), got another encoding."
                ) from None
            raise _another_encoding(file) from None
        if guessed and dialect.encoding == "cp1252" and _mostly_utf8(raw):
            raise _another_encoding(file)
        stream = io.StringIO(decoded, newline="")
        for _ in range(dialect.title_lines):
            stream.readline()
        source = stream.read().encode()
    elif _packed(file):
        source = _bytes(file)  # polars would unpack whatever it is given
    try:
        return pl.read_csv(
            source,
            separator=dialect.separator,
            infer_schema_length=0,
            null_values=list(MISSING),
        )
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {one_line(error)}.") from None
    except pl.exceptions.PanicException:  # of polars itself; it is no Exception
        raise InvalidInput(f"{file} cannot be read as CSV: it is damaged.") from None


def _packed(file: Path) -> bool:
    return file.name.lower().endswith(".gz")


def _bytes(file: Path, most: int = -1) -> bytes:
    try:
        if _packed(file):
            return read_gzip(file, most)
        with file.open("rb") as stream:
            return stream.read(most)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInput(f"{file} cannot be read: {one_line(error)}.") from None


def _encoding(file: Path, start: bytes) -> str:
    """Find the encoding from its mark, or from bytes that no other has; refuse what is no text."""
    if start.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) and not start.startswith(b"\xff\xfe\0\0"):
        return "utf-16"
    control = {byte for byte in set(start) if byte < 9 or 13 < byte < 32}
    if control == {0}:
        # most letters are below 256: every other byte is then 0
        even, odd = start[0::2].count(0), start[1::2].count(0)
        if min(even, odd) * 20 < max(even, odd) > len(start) // 5:
            return "utf-16-le" if odd > even else "utf-16-be"
    if control:
        raise InvalidInput(f"{file} must be text in UTF-8, UTF-16 or cp1252, got something binary.")
    try:
        start.decode()
    except UnicodeDecodeError as error:
        if error.start >= len(start) - 4:  # merely a character cut in two
            return "utf-8"
        try:
            start.decode("cp1252")
        except UnicodeDecodeError:
            raise _another_encoding(file) from None
        return "cp1252"
    return "utf-8"


def _said(encoding: str | None, start: bytes) -> str:
    """Read the name of an encoding; a mark at the beginning of UTF-8 is no part of the text."""
    try:
        "".encode(str(encoding))
        name = codecs.lookup(str(encoding)).name
    except LookupError:
        raise InvalidInput(
            "encoding must be one that Python knows, such as utf-8, cp1252 or "
            f"latin-1, got {encoding!r}."
        ) from None
    return "utf-8-sig" if name == "utf-8" and start.startswith(codecs.BOM_UTF8) else name


def _mostly_utf8(raw: bytes) -> bool:
    """Whether more characters are those of UTF-8 than are none: a file pasted together."""
    shown = raw.decode(errors="replace")
    wrong = shown.count("\ufffd")
    return len(shown) - len(shown.encode("ascii", errors="ignore")) > 2 * wrong


def _another_encoding(file: Path) -> InvalidInput:
    return InvalidInput(
        f"{file} must be text in UTF-8, UTF-16 or cp1252, got another encoding: "
        "save it as 'CSV UTF-8', or name it (encoding=)."
    )


def one_line(error: Exception) -> str:
    """Give the first line of a message: the rest advises options that users do not have."""
    return str(error).strip().split("\n")[0].rstrip(".: ") or type(error).__name__


# --- Separator and header: those that make the lines agree.


def _sniff(file: Path, start: bytes, encoding: str) -> Dialect:
    """Find separator, header and line end from the first lines."""
    shown = start.decode(encoding, errors="ignore")
    if len(start) == _START:  # the last line may be cut in two
        shown = shown[: shown.rfind("\n") + 1] or shown
    agreeing: list[tuple[int, int, int, int, list[str]]] = []
    others: list[tuple[int, int, int, int, list[str]]] = []
    for rank, separator in enumerate(SEPARATORS):
        records, lines = _records(shown, separator)
        if not records:
            return Dialect(encoding)  # nothing but empty lines
        place = find_header(records)
        # without lines that agree, the separator with most names in the first line
        header = records[place or 0]
        found = (place or 0, -len(header), rank, lines[place or 0], header)
        (others if place is None else agreeing).append(found)
    _, _, rank, line, header = min(agreeing or others)
    check_names(file, header)
    line_end = "\r\n" if "\r\n" in shown else "\n"
    return Dialect(encoding, SEPARATORS[rank], ".", line_end, line)


def _records(shown: str, separator: str) -> tuple[list[list[str]], list[int]]:
    """First records that are not empty, and the lines above each of them."""
    reader = csv.reader(io.StringIO(shown, newline=""), delimiter=separator)
    records, lines, above = [], [], 0
    for record in islice(reader, _RECORDS):
        if any(cell.strip() for cell in record):
            records.append([cell.strip().lstrip("\ufeff") for cell in record])
            lines.append(above)
        above = reader.line_num
    return records, lines


def find_header(records: Sequence[Sequence[str]]) -> int | None:
    """Place of the header among records; None where no record has followers of its width.

    The first record is taken unless something speaks against it: titles have another width than
    the table below them, or only their first cells filled. A later one is taken only if it holds
    names, since the first line of a table must not be lost.

    Examples
    --------
    >>> find_header([["day", "sales"], ["Mon", "5"]])
    0
    >>> find_header([["Sales in May", ""], ["day", "sales"], ["Mon", "5"]])
    1
    >>> find_header([["Sales, in thousands"], ["day", "sales"], ["Mon", "5"]])
    1
    """
    for place, record in enumerate(records[:_FURTHEST]):
        width, below = len(record), records[place + 1 :]
        filled = sum(1 for cell in record if cell)
        numbered = width == 2 and not record[0]  # pandas writes no name above the numbers of rows
        if width < 2 or not (2 * filled > width or numbered):
            continue
        if below and len(below[0]) != width:
            continue
        if 2 * Counter(map(len, below))[width] < len(below):
            continue
        if place and (not below or any(map(_VALUE.match, record))):
            continue
        return place
    return None


def check_names(file: Path, header: Sequence[str]) -> None:
    """Refuse two columns of the same name, since nobody could say which is meant, and too many."""
    if len(header) > MAX_COLUMNS:
        raise InvalidInput(
            f"{file} must have at most {MAX_COLUMNS:,} columns, got {len(header):,}: a table has "
            "one row for each observation, so days or items are rows, not columns."
        )
    counts = Counter(name.strip() for name in header)
    twins = sorted(name for name, count in counts.items() if name and count > 1)
    if twins:
        raise InvalidInput(
            f"The columns of {file} must have different names, got two {twins[0]!r}."
        )


# --- Types of columns of text: numbers, yes or no, dates; found from all rows, not from the first.

_VALUE = re.compile(r"[+-]?[\d.,]*\d%?$|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}")
_NUMBER = re.compile(r"[+-]?(\d|[.,]\d|inf)", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_LABELS = {"true": True, "false": False}
_ZONE = r"\s?(Z|[+-]\d{2}:?\d{2})$"
_LONGEST = 18  # digits that a whole number can have
_FIRST = 1000  # cells that are asked before all of them


def with_types(
    cells: polars.DataFrame,
    text: Collection[str] = (),
    decimal: str | None = None,
    name: str = "the table",
) -> tuple[polars.DataFrame, str]:
    """Give each column of text the narrowest type that holds every cell; text where there is none.

    Numbers with a leading zero are names (the store 007 is not 7) and stay text, as do those with
    more digits than a whole number can have.

    Parameters
    ----------
    cells : polars.DataFrame
        Columns of other types than text stay as they are.
    text : collection of str
        Columns that stay text.
    decimal : {".", ","}, optional
        The decimal sign; by default all columns of numbers together must tell it. The other sign,
        spaces and apostrophes may stand between thousands.
    name : str
        Of the file, for complaints.

    Returns
    -------
    table : polars.DataFrame
    decimal : str

    Examples
    --------
    >>> import polars as pl
    >>> sold = pl.DataFrame({"sold": ["1.501", "980"], "price": ["2,5", "3"]})
    >>> with_types(sold)[0].rows()
    [(1501, 2.5), (980, 3.0)]
    >>> with_types(pl.DataFrame({"day": ["2024-05-31"], "store": ["007"]}))[0].dtypes
    [Date, String]
    >>> with_types(pl.DataFrame({"sold": ["1.501"]}))
    Traceback (most recent call last):
    unmet.tables.dialect.DecimalUnknown: The numbers in the table must tell ...
    """
    import polars as pl

    if decimal is not None and decimal not in DECIMALS:
        raise InvalidInput(f"decimal must be '.' or ',', got {decimal!r}.")
    typed: dict[str, polars.Series] = {}
    signed: dict[str, _Signed] = {}
    for column in cells:
        if column.dtype != pl.String:
            typed[column.name] = column
            continue
        found = _type(column) if column.name not in text else stripped(column)
        if isinstance(found, _Signed):
            signed[column.name] = found
        else:
            typed[column.name] = found
    decimal = decimal or _decimal(signed, name)
    for each, readings in signed.items():
        typed[each] = readings.as_number(decimal)
    return pl.DataFrame({column: typed[column] for column in cells.columns}), decimal


def stripped(text: polars.Series) -> polars.Series:
    """Take away spaces around cells, which may have hidden that they stand for nothing."""
    bare = text.str.strip_chars()
    if not (bare.str.len_bytes() != text.str.len_bytes()).any():
        return text
    return bare.set(bare.is_in(MISSING).fill_null(False), None)


def _first(text: polars.Series) -> object:
    """Give the first cell that is not missing; None where all are."""
    return text[int(text.is_not_null().arg_max() or 0)] if len(text) else None


def _type(text: polars.Series) -> polars.Series | _Signed:
    """Typed column, or numbers whose signs are still to be understood."""
    whole = _whole(text)  # first, since numbers without spaces need not be stripped of them
    if whole is not None:
        return whole
    bare = stripped(text)
    first = _first(bare)
    if not isinstance(first, str):  # nothing but missing cells
        return bare
    # a type must fit all cells, so the first one as well
    if _DATE.match(first):
        return _dates(bare)
    if _NUMBER.match(first):
        whole = None if bare is text else _whole(bare)
        return _signed(bare) if whole is None else whole
    if first.lower() in _LABELS:
        return _truths(bare)
    return bare


def _dates(text: polars.Series) -> polars.Series:
    import polars as pl

    day = text.str.to_date("%Y-%m-%d", strict=False)
    if day.null_count() == text.null_count():
        return text if beyond_calendars(day).any() else day
    # a time with a zone is what the clock showed where it was written
    same = text.str.replace("T", " ", literal=True).str.replace(_ZONE, "")
    for form in ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M"):
        moment = same.str.to_datetime(form, strict=False)
        if moment.null_count() == text.null_count():
            return text if beyond_calendars(moment).any() else moment.cast(pl.Datetime("us"))
    return text


YEARS = (1000, 9000)
"""First and last year of dates: Python's begin at 1 and end at 9999, and 24 is not 2024."""


def beyond_calendars(days: polars.Series) -> polars.Series:
    """Which dates or moments lie in years that no table of ours can mean, such as 0000."""
    year = days.dt.year()
    return ((year < YEARS[0]) | (year > YEARS[1])).fill_null(False)


def _truths(text: polars.Series) -> polars.Series:
    import polars as pl

    found = text.str.to_lowercase().replace_strict(
        list(_LABELS), list(_LABELS.values()), default=None, return_dtype=pl.Boolean
    )
    return found if found.null_count() == text.null_count() else text


def _whole(text: polars.Series) -> polars.Series | None:
    """Whole numbers, or text where some of them begin with a zero; None where some are none."""
    import polars as pl

    first = _first(text)
    if not isinstance(first, str) or not _NUMBER.match(first):
        return None
    whole = text.cast(pl.Int64, strict=False)
    if whole.null_count() > text.null_count():
        return None
    names = (text.str.starts_with("0") & (text.str.len_bytes() > 1)).any()
    return text if names else whole


def _signed(text: polars.Series) -> polars.Series | _Signed:
    """Read numbers with each decimal sign; names of too many digits stay text."""
    longest = text.str.len_bytes().max()
    if isinstance(longest, int) and longest > _LONGEST:
        many = text.str.contains(rf"^\d{{{_LONGEST + 1},}}$")
        if many.any():
            return text  # a number would lose the last digits
    return _Signed(text, {sign: _read(text, sign) for sign in DECIMALS})


# --- Points and commas: which of them is the decimal sign.

_GAPS = " '\u2019\u00a0\u202f"  # that may stand between thousands whatever the decimal sign is


def _pattern(decimal: str) -> str:
    """Numbers with this decimal sign; between thousands the other one, a space or an apostrophe."""
    sign = re.escape(decimal)
    other = "," if decimal == "." else "."
    groups = "|".join(rf"(?:{re.escape(gap)}\d{{3}})+" for gap in (other, *_GAPS))
    grouped = rf"(?:\d+|[1-9]\d{{0,2}}(?:{groups}))(?:{sign}\d*)?"
    return rf"^[+-]?(?:(?:{grouped}|{sign}\d+)(?:[eE][+-]?\d+)?|(?i:inf|infinity))$"


_PATTERNS = {sign: _pattern(sign) for sign in DECIMALS}


@dataclass(frozen=True)
class _Signed:
    """Column of numbers with signs in them: what it says if each of the signs is the decimal one.

    Attributes
    ----------
    text : polars.Series
    by_sign : dict from str to polars.Series or None
        None where some cell is no number then.
    """

    text: polars.Series
    by_sign: dict[str, polars.Series | None]

    @property
    def only(self) -> str | None:
        """The decimal sign if only one of them fits."""
        fitting = [sign for sign, found in self.by_sign.items() if found is not None]
        return fitting[0] if len(fitting) == 1 else None

    @property
    def doubtful(self) -> bool:
        """Whether both signs fit, and the numbers differ."""
        point, comma = self.by_sign["."], self.by_sign[","]
        if point is None or comma is None:
            return False
        return not (point == comma).all()

    def as_number(self, decimal: str) -> polars.Series:
        """Numbers where the sign fits, else the text."""
        found = self.by_sign[decimal]
        return self.text if found is None else found


def _read(text: polars.Series, decimal: str) -> polars.Series | None:
    """Numbers of a column if this is the decimal sign; None where some cell is none then."""
    import polars as pl

    if decimal == ".":
        found = text.cast(pl.Float64, strict=False)
        if found.null_count() == text.null_count():
            return found
    pattern = _PATTERNS[decimal]
    # one cell that does not fit is enough, and mostly among the first
    for part in (text.head(_FIRST), text):
        if not part.str.contains(pattern).all():
            return None
    gaps = "".join(("," if decimal == "." else ".", *_GAPS))
    plain = text.str.replace_all(f"[{gaps}]", "").str.replace(decimal, ".", literal=True)
    for kind in (pl.Int64, pl.Float64):
        found = plain.cast(kind, strict=False)
        if found.null_count() == text.null_count():
            return found
    return None


def _decimal(columns: dict[str, _Signed], name: str) -> str:
    """Decimal sign that all columns of numbers together tell; refuse where they do not."""
    told: dict[str, str] = {}
    for column, readings in columns.items():
        if readings.only is not None:
            told.setdefault(readings.only, column)
    if len(told) == 1:
        return next(iter(told))
    which = f"The numbers in {name} must tell whether their decimal sign is a point or a comma"
    say = "say which it is (decimal='.' or decimal=',')"
    if told:
        cells = {sign: _first_against(columns[column].text, sign) for sign, column in told.items()}
        raise DecimalUnknown(
            f"{which}, got {cells['.']!r} in column {told['.']!r} and {cells[',']!r} in column "
            f"{told[',']!r}: {say}; the other column is text then."
        )
    for column, readings in columns.items():
        if readings.doubtful:
            point, comma = readings.by_sign["."], readings.by_sign[","]
            assert point is not None
            assert comma is not None
            row = int((point != comma).fill_null(False).arg_max() or 0)
            raise DecimalUnknown(
                f"{which}, got {readings.text[row]!r} in column {column!r}, which may be "
                f"{point[row]:.10g} or {comma[row]:.10g}: {say}."
            )
    return "."


def _first_against(text: polars.Series, decimal: str) -> str:
    """First cell that is no number with the other sign."""
    other = "," if decimal == "." else "."
    return str(text.filter(~text.str.contains(_PATTERNS[other])).first())


# --- Back to a file, in the dialect that was read.

# What spreadsheets take for a formula: these signs, also in full width, in front of anything but a
# number. A tab or a line end in front is dropped by some of them, and what follows is run.
_FORMULA = r"^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]"
_HARMLESS = r"^[+-]?[\d.,]*\d%?$|^[+-]$"
_GUARDED = rf"^'({_FORMULA[1:]})"


def guarded(table: polars.DataFrame) -> polars.DataFrame:
    """Put an apostrophe in front of text that a spreadsheet would take for a formula.

    Names of columns as well. Numbers stay numbers, also those in columns of text; `read_text` takes
    the apostrophe away again, so that a series keeps its name on the way there and back.

    Examples
    --------
    >>> import polars as pl
    >>> guarded(pl.DataFrame({"item": ["=1+1", "-5", "tea"], "sold": [-1, 2, 3]})).rows()
    [("'=1+1", -1), ('-5', 2), ('tea', 3)]
    """
    import polars as pl
    import polars.selectors as cs

    words = cs.string() | cs.categorical() | cs.enum()
    text = words.cast(pl.String)
    runs = text.str.contains(_FORMULA) & ~text.str.contains(_HARMLESS)
    table = table.with_columns(pl.when(runs).then("'" + text).otherwise(text).name.keep())
    wild = [name for name in table.columns if re.match(_FORMULA, name)]
    return table.rename({name: f"'{name}" for name in wild})


def _unguarded(cells: polars.DataFrame) -> polars.DataFrame:
    """Take away the apostrophes that `guarded` has put."""
    import polars as pl

    some = cells.select(pl.all().str.starts_with("'").any()).row(0) if cells.width else ()
    marked = [name for name, any_ in zip(cells.columns, some, strict=True) if any_]
    cells = cells.with_columns(pl.col(marked).str.replace(_GUARDED, "${1}"))
    names = {name: re.sub(_GUARDED, r"\1", name) for name in cells.columns}
    return cells.rename(names) if len(set(names.values())) == len(names) else cells


def as_text(table: polars.DataFrame, dialect: Dialect) -> str:
    """Give a table as text that is safe to open in a spreadsheet (`guarded`).

    Numbers have the decimal sign of the dialect.
    """
    import polars as pl
    import polars.selectors as cs

    table = guarded(table)
    if dialect.decimal == ",":
        numbers = cs.float().cast(pl.String).str.replace(".", ",", literal=True)
        table = table.with_columns(numbers)
    return table.write_csv(separator=dialect.separator, line_terminator=dialect.line_end)


def as_bytes(table: polars.DataFrame, dialect: Dialect) -> bytes:
    """Give a table as the bytes of a text file."""
    try:
        return as_text(table, dialect).encode(dialect.encoding)
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"The table must have characters of {dialect.encoding} only, in which it was read, got "
            f"{error.object[error.start]!r}."
        ) from None
