"""Format of a text file: its encoding, header, separators and decimal sign.

No single cell decides. The separator and the header are those with which the lines agree, and types
are those that fit every cell of a column. Whether 1.501 is one and a half or fifteen hundred
follows from all columns of numbers together; otherwise the user must say.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path

import polars as pl
import polars.selectors as cs

from unmet.errors import InvalidInput, Note
from unmet.files import read_gzip

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None")
"""Cells that stand for nothing."""

SEPARATORS = (",", ";", "\t", "|")
DECIMALS = (".", ",")


class DecimalUnknown(InvalidInput):
    """The numbers of a file do not show their decimal sign, so the user must give it."""


@dataclass(frozen=True)
class Dialect:
    """Format of a text file.

    Attributes
    ----------
    encoding : str
        Python name of the encoding; "utf-8-sig" and "utf-16" begin with a byte order mark.
    separator : str
        Character between cells.
    decimal : str
        Decimal sign, point or comma.
    line_end : str
        Characters at the end of a line.
    title_lines : int
        Number of lines above the header, which are not part of the table.

    Examples
    --------
    >>> from unmet.tables.dialect import Dialect
    >>> Dialect(separator=";", decimal=",").encoding
    'utf-8'
    """

    encoding: str = "utf-8"
    separator: str = ","
    decimal: str = "."
    line_end: str = "\n"
    title_lines: int = 0


# --- From bytes to cells.


def read_text(
    file: Path, text: Collection[str] = (), decimal: str | None = None, encoding: str | None = None
) -> tuple[pl.DataFrame, pl.DataFrame, Dialect, list[str]]:
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
    raw = read_gzip(file) if file.name.lower().endswith(".gz") else file.read_bytes()
    decoded, name, notes = _decoded(file, raw, encoding)
    dialect, names, said = _sniff(file, decoded[: 1 << 16], name)
    notes += said
    notes += above_header(dialect.title_lines, file.name)
    cells = pl.read_csv(
        decoded.split("\n", dialect.title_lines)[-1].encode(),
        separator=dialect.separator,
        infer_schema_length=0,
        null_values=list(MISSING),
    )
    cells.columns = names[: cells.width]
    cells, said = without_noise(_unguarded(cells))
    notes += said
    table, decimal = with_types(cells, text, decimal, str(file))
    return table, cells, replace(dialect, decimal=decimal), notes


def _decoded(file: Path, raw: bytes, encoding: str | None) -> tuple[str, str, list[str]]:
    """Text, its encoding, and what was taken for granted: UTF-8 or UTF-16, else cp1252."""
    marked = raw.startswith(codecs.BOM_UTF8)
    if encoding is not None:
        try:
            known = codecs.lookup(encoding).name
            return raw.decode("utf-8-sig" if marked and known == "utf-8" else known), known, []
        except UnicodeDecodeError:
            raise InvalidInput(f"encoding must be that of {file}, got {encoding!r}.") from None
        except LookupError:
            raise InvalidInput(
                f"encoding must be a known one, such as utf-8, cp1252 or latin-1, got {encoding!r}."
            ) from None
    if not raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and b"\0" in raw[: 1 << 16]:
        raise InvalidInput(f"{file} must be a text file, got binary data: export it as CSV UTF-8.")
    wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    for each in ("utf-16",) if wide else ("utf-8-sig" if marked else "utf-8", "cp1252"):
        try:
            old = [f"{file.name} was read as Windows text (cp1252), because it is not UTF-8."]
            return raw.decode(each), each, old if each == "cp1252" else []
        except UnicodeDecodeError:
            continue
    raise InvalidInput(
        f"{file} must be text in UTF-8, UTF-16 or cp1252, got another encoding: "
        "save it as 'CSV UTF-8', or name its encoding (encoding=)."
    )


# --- Separator and header: those that make the lines agree.


def _sniff(file: Path, shown: str, encoding: str) -> tuple[Dialect, list[str], list[str]]:
    """Find separator, header and line end from the first lines; names of columns, and notes."""
    shown = shown[: shown.rfind("\n") + 1] or shown  # the last line may be cut in two
    agreeing: list[tuple[int, int, int, int, list[str]]] = []
    others: list[tuple[int, int, int, int, list[str]]] = []
    for rank, separator in enumerate(SEPARATORS):
        # first records that are not empty, and the lines above each of them
        reader = csv.reader(io.StringIO(shown, newline=""), delimiter=separator)
        records, lines, above = [], [], 0
        for record in islice(reader, 200):
            if any(cell.strip() for cell in record):
                records.append([cell.strip() for cell in record])
                lines.append(above)
            above = reader.line_num
        if not records:
            return Dialect(encoding), [], []  # nothing but empty lines
        place = find_header(records)
        # without lines that agree, the separator with most names in the first line
        header = records[place or 0]
        last = len(SEPARATORS) if place is not None and not rank else rank  # a comma may be decimal
        found = (place or 0, -len(header), last, lines[place or 0], header)
        (others if place is None else agreeing).append(found)
    _, _, rank, line, header = min(agreeing or others)
    line_end = "\r\n" if "\r\n" in shown else "\n"
    separator = SEPARATORS[rank % len(SEPARATORS)]
    return Dialect(encoding, separator, ".", line_end, line), *distinct_names(file, header)


def find_header(records: Sequence[Sequence[str]]) -> int | None:
    """Place of the header among records; None where no record has followers of its width.

    The first record is taken unless something speaks against it: titles have another width than
    the table below them, or only their first cells filled. A later one, among the first 30, is
    taken only if it holds names, since the first line of a table must not be lost.

    Examples
    --------
    >>> find_header([["day", "sales"], ["Mon", "5"]])
    0
    >>> find_header([["Sales in May", ""], ["day", "sales"], ["Mon", "5"]])
    1
    >>> find_header([["Sales, in thousands"], ["day", "sales"], ["Mon", "5"]])
    1
    """
    value = re.compile(r"[+-]?[\d.,]*\d%?$|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}")
    day = r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([ T]00:00:00Z?)?$|(19|20)\d\d([-./]?\d\d){0,2}$"
    date, counted = re.compile(day), re.compile(rf"{day}|[2-7]\d{{4}}$")  # as Excel counts days
    most = max((len("\0".join(each).rstrip("\0").split("\0")) for each in records), default=0)
    for place, record in enumerate(records[:30]):
        width, below = len(record), records[place + 1 :]
        filled = sum(1 for cell in record if cell)
        numbered = width == 2 and not record[0]  # pandas writes no name above the numbers of rows
        if width < 2 or not (2 * filled > min(width, most) or numbered):
            continue
        if below and len(below[0]) != width:
            continue
        if 2 * Counter(map(len, below))[width] < len(below):
            continue
        dated = [cell for cell in record if date.match(cell)]
        periods = len(set(dated)) >= 3 and not any(map(date.match, below[0] if below else ()))
        values = sum(1 for cell in record if value.match(cell))
        dates = sum(1 for row in below if counted.match(row[0]))
        if not value.match(record[0]) and 10 * dates > 9 * len(below):  # there may be a total
            values = 0  # numbers of items, beside a column of dates
        if place and (not below or (values and not (periods and values == len(dated)))):
            continue
        return place
    return None


def distinct_names(
    file: Path | str, header: Sequence[str], above: Sequence[str] = ()
) -> tuple[list[str], list[str]]:
    """Names of columns of which no two are the same, and notes; too many columns are refused.

    A name that comes again has that of its group before it, where a line above the header has one
    (a merged cell), else a number behind it.
    """
    if len(header) > 4_000:
        raise InvalidInput(
            f"{file} must have at most 4,000 columns, got {len(header):,}: write one row per "
            "series and day."
        )
    names = [name.strip() for name in header]
    groups = [cell.strip() for cell in above[: len(names)]]
    for place in range(1, len(groups)):
        groups[place] = groups[place] or groups[place - 1]
    counts = Counter(names)
    whole = [
        f"{group} {name}".strip() if name and counts[name] > 1 else name
        for name, group in zip_longest(names, groups, fillvalue="")
    ]
    counts = Counter()
    made = []
    for name in whole:
        counts[name] += 1
        made.append(name if counts[name] == 1 else f"{name} ({counts[name]})".strip())
    renamed = [name for name, old in zip(made, names, strict=True) if name != old and old]
    listed = ", ".join(map(repr, renamed[:3])) + (" and so on" if len(renamed) > 3 else "")
    return made, [f"Columns with the same name were renamed: {listed}."] * bool(renamed)


def above_header(count: int, name: str) -> list[str]:
    """Note on lines of a file that are above its header, if there are any."""
    return [f"Lines above the header of {name} were not read: {count}."] * bool(count)


# --- Rows that are no data: totals, repeated headers, notes below the table.

TOTAL = (
    r"(?i)^\W*(?:(?:grand|sub|zwischen|gesamt|net)[- ]?)?"
    r"(?:totals?|totale?s?|summe|sum|gesamt(?:ergebnis)?|somme|suma|ergebnis|overall)\b"
    r"|\s(?:total|summe|gesamt|ergebnis)\W*$"
)
"""Cells that name a total."""


def without_noise(cells: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Leave out rows that are no data, and say which; and columns without a name and a value.

    That are empty rows, headers that are repeated, totals in a row that lacks what other rows have
    or stands where dates or numbers should, and notes: rows with one cell, or with few cells of
    which one does not fit its column.

    Examples
    --------
    >>> import polars as pl
    >>> day, sold = ["2024-05-01", "day", "2024-05-02", "Total"], ["3", "sold", "4", "7"]
    >>> kept, notes = without_noise(pl.DataFrame({"day": day, "sold": sold}))
    >>> kept.rows()
    [('2024-05-01', '3'), ('2024-05-02', '4')]
    >>> notes
    ["Rows left out, because they are totals or remarks: 'day, sold' and 'Total, 7'."]
    """
    if cells.width < 2 or not cells.height:
        return cells, []
    cells = cells.drop(
        each.name for each in cells if each.name[:1] in ("", "(") and each.null_count() == len(each)
    )
    filled = cells.select(pl.sum_horizontal(pl.all().is_not_null())).to_series()
    words = [name for name, kind in cells.schema.items() if kind == pl.String]
    if not words:
        return cells.filter(filled > 0), []
    text = cells.select(pl.col(words).str.strip_chars())
    same = text.select(pl.sum_horizontal(pl.col(name) == name for name in words)).to_series()
    header = (same >= max(2, (cells.width + 1) // 2)).fill_null(False)
    total = text.select(pl.col(words).str.contains(TOTAL).fill_null(False))
    named = total.select(pl.any_horizontal(pl.all())).to_series() & ~header
    few = (2 * filled <= cells.width) & ~header
    noise = header | (filled == 0)
    if cells.width > 2:
        alone = filled == 1
        if alone.any():
            spoken = text.select(pl.any_horizontal(~pl.all().str.contains(_VALUE))).to_series()
            noise |= alone & spoken.fill_null(False)
    if (named | few).any():
        rest = ~(named | few | noise)
        usual = cells.filter(rest)
        if not usual.height:
            return cells, []
        full = [name for name in cells.columns if usual[name].null_count() <= 0.05 * usual.height]
        lacks = cells.select(pl.any_horizontal(pl.col(full).is_null())).to_series()
        misfit = pl.Series([False]).new_from_index(0, cells.height)
        for name in words:
            sample = text[name].filter(rest).drop_nulls().head(200)
            if sample.len() and sample.str.contains(_VALUE).all():
                misfit |= (text[name].is_not_null() & ~text[name].str.contains(_VALUE)).fill_null(
                    False
                )
        noise |= (named & (lacks | misfit)) | (few & misfit)
    count = int((noise & (filled > 0)).sum())
    if not noise.any() or noise.all():
        return cells, []
    notes: list[str] = []
    if count:
        quoted = [
            ", ".join(str(cell) for cell in row if cell is not None)
            for row in cells.filter(noise & (filled > 0)).head(2).iter_rows()
        ]
        listed = " and ".join(repr(each[:60]) for each in quoted)
        more = f" and {count - 2:,} more" if count > 2 else ""
        said = f"Rows left out, because they are totals or remarks: {listed}{more}."
        notes.append(Note(said, count / cells.height))
    return cells.filter(~noise), notes


# Dates and numbers, in whatever dress: what a note or the word total is not.
_VALUE = (
    r"(?i)^\W*(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\W+)?\d[\d\s.,:'/\-TWQ%()€$£]*"
    r"(?:(?:jan|feb|m[aä]r|apr|may|mai|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-z]*)?[\d\s.,:'/\-%)€$£]*"
    r"(?:[ap]m|Z|[A-Z]{3})?$|^(?:jan|feb|m[aä]r|apr|may|mai|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-z]*"
    r"[-. /]*\d[\d ,]*$|^(?:KW|W|Q)[ .]?\d"
)


# --- Types of columns of text: numbers, yes or no, dates; found from all rows, not from the first.


def with_types(
    cells: pl.DataFrame,
    text: Collection[str] = (),
    decimal: str | None = None,
    name: str = "the table",
) -> tuple[pl.DataFrame, str]:
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
    unmet.tables.dialect.DecimalUnknown: The numbers in the table must have one decimal sign, ...
    """
    if decimal is not None and decimal not in DECIMALS:
        raise InvalidInput(f"decimal must be '.' or ',', got {decimal!r}.")
    typed = {column.name: column for column in cells}
    dressed: set[str] = set()  # money may have another sign than the other numbers
    signed: dict[str, dict[str, pl.Series | None]] = {}
    for column in cells:
        if column.dtype != pl.String:
            continue
        bare = column.str.strip_chars()
        bare = bare.set(bare.is_in(MISSING).fill_null(False), None)
        typed[column.name] = bare
        if column.name in text:
            continue
        plain, share = _undressed(bare)
        found = _type(plain)
        if plain is not bare:
            dressed.add(column.name)
        if found is None:
            by_sign = {sign: _read(plain, sign) for sign in DECIMALS}
            signed[column.name] = {
                sign: None if each is None else each / 100.0 if share else each
                for sign, each in by_sign.items()
            }
        elif found.dtype != pl.String:
            typed[column.name] = found / 100.0 if share else found
    others = {each: by_sign for each, by_sign in signed.items() if each not in dressed}
    tells = any(
        sum(found is not None for found in by_sign.values()) == 1 for by_sign in others.values()
    )
    decimal = decimal or _decimal(others if tells else signed, typed, name)
    for each, by_sign in signed.items():
        number = by_sign[decimal]
        if number is None and each in dressed:
            number = by_sign["," if decimal == "." else "."]
        typed[each] = typed[each] if number is None else number
    return pl.DataFrame(typed), decimal


_MONEY = r"(?:US\$|R\$|[$€£¥₹]|USD|EUR|GBP|CHF|Fr\.|kr\.?|zł|Kč)"
_DRESSED = (
    rf"^(?:\()?[+-]?\s?{_MONEY}?\s?[+-]?\s?((?:\d[\d.,'’\s]*)?[.,]?\d)\s?(?:{_MONEY}|%)?-?\)?$"
)


def _undressed(text: pl.Series) -> tuple[pl.Series, bool]:
    """Take money and percent signs off numbers; brackets and a minus behind make them negative.

    Returns
    -------
    text : polars.Series
        As it was, where some cell is no such number.
    share : bool
        Whether the numbers are percent.
    """
    signs = text.str.contains(rf"{_MONEY}|%|^\(.*\)$|\d-$|^[-–—]$").fill_null(False)
    if not signs.any():
        return text, False
    nothing = text.is_in(["-", "–", "—"]).fill_null(False)  # how accounts write none
    text_ = text.set(nothing, None)
    digits = text_.str.extract(_DRESSED, 1)
    if digits.null_count() > text_.null_count() or digits.null_count() == digits.len():
        return text, False
    minus = text_.str.contains(r"^\(|-").fill_null(False)
    signed = pl.DataFrame({"d": digits, "m": minus}).select(
        pl.when("m").then("-" + pl.col("d")).otherwise("d").alias(text.name)
    )
    return signed.to_series(), bool(text_.str.ends_with("%").any())


def _type(text: pl.Series) -> pl.Series | None:
    """Typed column; None where it looks like numbers whose signs are still to be understood."""
    first = text.drop_nulls().first()
    if not isinstance(first, str):  # nothing but missing cells
        return text
    # a type must fit all cells, so the first one as well
    if re.match(r"\d{4}-\d{2}-\d{2}", first):
        return _dates(text)
    if re.match(r"[+-]?(\d|[.,]\d|inf)", first, re.IGNORECASE):
        whole = text.cast(pl.Int64, strict=False)
        if whole.null_count() == text.null_count():
            named = (text.str.starts_with("0") & (text.str.len_bytes() > 1)).any()
            return text if named else whole
        # a number would lose the last digits of so long a name
        return text if text.str.contains(r"^\d{19,}$").any() else None
    if first.lower() in ("true", "false"):
        lower = text.str.to_lowercase()
        if lower.is_in(["true", "false"]).all():
            return lower == "true"
    return text


def _dates(text: pl.Series) -> pl.Series:
    day = text.str.to_date("%Y-%m-%d", strict=False)
    if day.null_count() == text.null_count():
        return text if beyond_calendars(day).any() else day
    # a time with a zone is what the clock showed where it was written
    same = text.str.replace("T", " ", literal=True).str.replace(r"\s?(Z|[+-]\d{2}:?\d{2})$", "")
    for form in ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M"):
        moment = same.str.to_datetime(form, strict=False)
        if moment.null_count() == text.null_count():
            return text if beyond_calendars(moment).any() else moment.cast(pl.Datetime("us"))
    return text


YEARS = (1000, 9000)
"""First and last year of dates: Python's begin at 1 and end at 9999, and 24 is not 2024."""


def beyond_calendars(days: pl.Series) -> pl.Series:
    """Which dates or moments lie in years that no table of ours can mean, such as 0000."""
    year = days.dt.year()
    return ((year < YEARS[0]) | (year > YEARS[1])).fill_null(False)


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


def _read(text: pl.Series, decimal: str) -> pl.Series | None:
    """Numbers of a column if this is the decimal sign; None where some cell is none then."""
    if decimal == ".":
        found = text.cast(pl.Float64, strict=False)
        if found.null_count() == text.null_count():
            return found
    if not text.str.contains(_PATTERNS[decimal]).all():
        return None
    gaps = "".join(("," if decimal == "." else ".", *_GAPS))
    plain = text.str.replace_all(f"[{gaps}]", "").str.replace(decimal, ".", literal=True)
    for kind in (pl.Int64, pl.Float64):
        found = plain.cast(kind, strict=False)
        if found.null_count() == text.null_count():
            return found
    return None


def _decimal(
    signed: dict[str, dict[str, pl.Series | None]], text: dict[str, pl.Series], name: str
) -> str:
    """Decimal sign that all columns of numbers together tell; refuse where they do not."""
    told: dict[str, str] = {}
    for column, by_sign in signed.items():
        fitting = [sign for sign, found in by_sign.items() if found is not None]
        if len(fitting) == 1:
            told.setdefault(fitting[0], column)
    if len(told) == 1:
        return next(iter(told))
    which = f"The numbers in {name} must have one decimal sign"
    say = "name it (decimal='.' or decimal=',')"
    if told:
        against = {
            sign: text[column].filter(~text[column].str.contains(_PATTERNS[other])).first()
            for (sign, column), other in zip(sorted(told.items()), (".", ","), strict=True)
        }
        raise DecimalUnknown(
            f"{which}, got {against['.']!r} in column {told['.']!r} and {against[',']!r} in column "
            f"{told[',']!r}: {say}."
        )
    if any(text[column].str.contains(r"[$£]").any() for column in signed):
        return "."  # where dollars and pounds are used, so is the point
    for column, by_sign in signed.items():
        point, comma = by_sign["."], by_sign[","]
        if point is not None and comma is not None and point.n_unique() >= 10:
            # that all numbers are thousands is less likely than three decimals
            if (point % 1000 == 0).all():
                return ","
            if (comma % 1000 == 0).all():
                return "."
        if point is not None and comma is not None and not (point == comma).all():
            row = int((point != comma).fill_null(False).arg_max() or 0)
            raise DecimalUnknown(
                f"{which}, got {text[column][row]!r} in column {column!r}, which is "
                f"{point[row]:.10g} or {comma[row]:.10g}: {say}."
            )
    return "."


# --- Back to a file, in the dialect that was read.


# What spreadsheets take for a formula: these signs, also in full width, in front of anything but a
# number. A tab or a line end in front is dropped by some of them, and what follows is run.
_FORMULA = r"^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]"
_HARMLESS = r"^[+-]?[\d.,]*\d%?$|^[+-]$"
_GUARDED = rf"^'({_FORMULA[1:]})"


def guarded(table: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe in front of text that a spreadsheet would take for a formula.

    Names of columns as well. Numbers stay numbers, also those in columns of text; `read_text` takes
    the apostrophe away again, so that a series keeps its name on the way there and back.

    Examples
    --------
    >>> import polars as pl
    >>> guarded(pl.DataFrame({"item": ["=1+1", "-5", "tea"], "sold": [-1, 2, 3]})).rows()
    [("'=1+1", -1), ('-5', 2), ('tea', 3)]
    """
    words = cs.string() | cs.categorical() | cs.enum()
    text = words.cast(pl.String)
    runs = text.str.contains(_FORMULA) & ~text.str.contains(_HARMLESS)
    table = table.with_columns(pl.when(runs).then("'" + text).otherwise(text).name.keep())
    wild = [name for name in table.columns if re.match(_FORMULA, name)]
    return table.rename({name: f"'{name}" for name in wild})


def _unguarded(cells: pl.DataFrame) -> pl.DataFrame:
    """Take away the apostrophes that `guarded` has put."""
    some = cells.select(pl.all().str.starts_with("'").any()).row(0) if cells.width else ()
    marked = [name for name, any_ in zip(cells.columns, some, strict=True) if any_]
    cells = cells.with_columns(pl.col(marked).str.replace(_GUARDED, "${1}"))
    names = {name: re.sub(_GUARDED, r"\1", name) for name in cells.columns}
    return cells.rename(names) if len(set(names.values())) == len(names) else cells


def as_text(table: pl.DataFrame, dialect: Dialect) -> str:
    """Give a table as text that is safe to open in a spreadsheet (`guarded`).

    Numbers have the decimal sign of the dialect.
    """
    table = guarded(table)
    if dialect.decimal == ",":
        numbers = cs.float().cast(pl.String).str.replace(".", ",", literal=True)
        table = table.with_columns(numbers)
    return table.write_csv(separator=dialect.separator, line_terminator=dialect.line_end)


def as_bytes(table: pl.DataFrame, dialect: Dialect) -> bytes:
    """Give a table as the bytes of a text file."""
    try:
        return as_text(table, dialect).encode(dialect.encoding)
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"The table must have only characters of its encoding {dialect.encoding}, got "
            f"{error.object[error.start]!r}."
        ) from None
