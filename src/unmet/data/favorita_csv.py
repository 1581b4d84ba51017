"""Lines of CSV into columns of known kinds; the first wrong line is named with its number."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from unmet.data.favorita_files import Block
from unmet.errors import InvalidInput

if TYPE_CHECKING:
    import polars

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
