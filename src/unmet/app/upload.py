"""Files that somebody brings, and which of their columns is probably what.

A guess is a start that the user corrects.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from unmet.errors import InvalidInput
from unmet.tables.reading import SUFFIXES, TableFile, read_dates, read_file
from unmet.tables.schema import (
    NAMES,
    OPPOSITE,
    date_columns,
    holds_flags,
    is_afterwards,
    named,
    plain,
    series_columns,
)

if TYPE_CHECKING:
    import polars


MAX_MEGABYTES = 50
MAX_BYTES = MAX_MEGABYTES * 1024 * 1024
"""Larger files are for the command line."""

_LONGEST = 100  # characters of a file's name
_MAX_FEATURES = 12
_MAX_VALUES = 60  # a text column with more is a name, not a category

_OBSERVED = {
    "newsvendor": NAMES["sales"],
    "pricing": ("price", "offer", "offered", "offered_price", "quote", "observed"),
    "replacement": ("time", "age", "hours", "days", "lifetime", "duration", "km", "observed"),
}
_FLAGS = {
    "newsvendor": NAMES["sold_out"],
    "pricing": ("accepted", "sold", "won", "bought"),
    "replacement": ("failed", "failure", "event", "suspended", "censored"),
}
OTHER_FLAGS = (*_FLAGS["pricing"], *_FLAGS["replacement"][:-1])
"""Flags of tables that are no history of sales."""
_OPPOSITE = ("failed", "failure", "event")
_TRUTH = ("demand", "truth", "true_demand", "lifetime", "reservation_price", "worth")
_COSTS = {
    "underage_column": ("underage", "underage_cost", "margin"),
    "overage_column": ("overage", "overage_cost"),
}


def read_uploaded(
    name: str, data: bytes, decimal: str | None = None, *, text: Collection[str] = ()
) -> TableFile:
    """Read a table from the bytes of a file, and remember how it was written.

    Parameters
    ----------
    name : str
        Of the file; its ending says what it is.
    data : bytes
        At most `MAX_BYTES`.
    decimal : {".", ","}, optional
        Decimal sign, where the file cannot tell.
    text : collection of str
        Columns that stay text whatever they look like.

    Returns
    -------
    TableFile
    """
    short = PurePath(name.replace("\\", "/")).name[-_LONGEST:]
    if len(data) > MAX_BYTES:
        raise InvalidInput(
            f"{short} must not be larger than {MAX_MEGABYTES} MB, got "
            f"{len(data) / 1024 / 1024:,.0f} MB: use the command line (unmet plan) for such files."
        )
    if not short.lower().endswith(SUFFIXES):
        raise InvalidInput(f"{short or 'The file'} must end in one of {', '.join(SUFFIXES)}.")
    suffix = next(each for each in sorted(SUFFIXES, key=len) if short.lower().endswith(each))
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"table{suffix}"
        file.write_bytes(data)
        try:
            found = read_file(file, text=text, decimal=decimal)
        except InvalidInput as error:
            raise type(error)(str(error).replace(str(file), short)) from None
    return replace(found, notes=tuple(each.replace(file.name, short) for each in found.notes))


def guess_plan(table: polars.DataFrame, problem: str = "newsvendor") -> dict[str, Any]:
    """Guess labels of a `DecisionPlan` from names and kinds of columns.

    Parameters
    ----------
    table : polars.DataFrame
    problem : {"newsvendor", "pricing", "replacement"}

    Returns
    -------
    dict of str to Any
        Column names; costs are not guessed, but columns that hold them are.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"Shop": ["a", "b"], "Price": [1.0, 2.0], "Sold out": [0, 1],
    ...                       "Units sold": [5, 7]})
    >>> found = guess_plan(table)
    >>> found["observed"], found["features"], found["censored_column"]
    ('Units sold', ('Shop', 'Price'), 'Sold out')
    """
    numeric = [name for name, kind in table.schema.items() if kind.is_numeric()]
    flags = [
        name
        for name in named(table.columns, _FLAGS[problem])
        if holds_flags(table[name]) and plain(name) not in OPPOSITE
    ]
    flag = flags[0] if flags else None
    kept = [name for name in numeric if name != flag]
    if not kept:
        raise InvalidInput("The table must have a column of numbers to learn from, got none.")
    observed = next(iter(named(kept, _OBSERVED[problem], exactly=True)), kept[-1])
    date = next(iter(date_columns(table, table.columns)), None)
    stocked = [name for name in named(kept, NAMES["stock"], exactly=True) if name != observed]
    stock = stocked[0] if stocked and problem == "newsvendor" else None
    labels: dict[str, Any] = {"observed": observed, "date": date}
    if problem != "replacement":
        costs = {
            field: next(iter(named(kept, names, exactly=True)), None)
            for field, names in _COSTS.items()
        }
        labels |= {field: column for field, column in costs.items() if column is not None}
    # what became of a row is no feature, whatever the problem
    telling = {*NAMES["stock"], *_TRUTH, *(name for group in _FLAGS.values() for name in group)}
    used = {flag, stock, *labels.values()}
    labels["features"] = _features(
        table,
        [
            name
            for name in table.columns
            if name not in used
            and plain(name) not in telling
            and not (problem == "newsvendor" and is_afterwards(name))
        ],
    )
    labels["series"] = () if date is None else _series(table, date)
    if flag is not None and problem == "pricing":
        labels["accepted_column"] = flag
    elif flag is not None:
        labels["failed_column" if plain(flag) in _OPPOSITE else "censored_column"] = flag
    if stock is not None:
        labels["stock_column"] = stock
    return labels


def guess_truth(table: polars.DataFrame) -> str | None:
    """Guess which column holds what nobody knew beforehand; None where no name says so."""
    found = next(iter(named(table.columns, _TRUTH, exactly=True)), None)
    return found if found is not None and table[found].dtype.is_numeric() else None


def _features(table: polars.DataFrame, columns: list[str]) -> tuple[str, ...]:
    """Take columns that vary: numbers, and text of few values."""
    import polars as pl

    chosen = []
    for name in columns:
        column = table[name]
        number = column.dtype.is_numeric() or column.dtype == pl.Boolean
        text = column.dtype in (pl.String, pl.Categorical, pl.Enum)
        values = column.drop_nulls().n_unique() if number or text else 0
        if values > 1 and (number or values <= _MAX_VALUES):
            chosen.append(name)
    return tuple(chosen[:_MAX_FEATURES])


def _series(table: polars.DataFrame, date: str) -> tuple[str, ...]:
    """Columns that leave one row a day in each series; none where it is hard to say."""
    try:
        dates = read_dates(table, date)
    except InvalidInput:
        return ()
    return series_columns(table, table.columns, dates) or ()
