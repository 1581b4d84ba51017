"""Files that somebody brings, and which of their columns is probably what.

A guess is a start that the user corrects.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from unmet.errors import InvalidInput
from unmet.planning import SUFFIXES, read_table
from unmet.planning.reading import read_dates

if TYPE_CHECKING:
    import polars


MOST_MEGABYTES = 50
MOST_BYTES = MOST_MEGABYTES * 1024 * 1024
"""Larger files are for the command line."""

_LONGEST = 100  # characters of a file's name
_MOST_FEATURES = 12
_MOST_VALUES = 60  # a text column with more is a name, not a category

_OBSERVED = {
    "newsvendor": ("sales", "sold", "units_sold", "quantity", "qty", "units", "y", "observed"),
    "pricing": ("price", "offer", "offered", "offered_price", "quote", "observed"),
    "replacement": ("time", "age", "hours", "days", "lifetime", "duration", "km", "observed"),
}
_FLAGS = {
    "newsvendor": ("sold_out", "soldout", "stockout", "stock_out", "censored", "out_of_stock"),
    "pricing": ("accepted", "sold", "won", "bought"),
    "replacement": ("failed", "failure", "event", "suspended", "censored"),
}
_FLAG_VALUES = {"0", "1", "true", "false", "yes", "no", "0.0", "1.0"}
_OPPOSITE = ("failed", "failure", "event")
_STOCK = ("stock", "available", "inventory", "on_hand", "supply")
_TRUTH = ("demand", "truth", "true_demand", "lifetime", "reservation_price", "worth")
_DATES = ("date", "ds", "day", "datetime", "timestamp", "week")
_COSTS = {
    "underage_column": ("underage", "underage_cost", "margin"),
    "overage_column": ("overage", "overage_cost"),
}


def read_upload(name: str, data: bytes, decimal: str | None = None) -> polars.DataFrame:
    """Read a table from the bytes of a file.

    Parameters
    ----------
    name : str
        Of the file; its ending says what it is.
    data : bytes
        At most `MOST_BYTES`.
    decimal : {".", ","}, optional
        Decimal sign, where the file cannot tell.

    Returns
    -------
    polars.DataFrame
    """
    short = PurePath(name.replace("\\", "/")).name[-_LONGEST:]
    if len(data) > MOST_BYTES:
        raise InvalidInput(
            f"{short} must not be larger than {MOST_MEGABYTES} MB, got "
            f"{len(data) / 1024 / 1024:,.0f} MB: use the command line (unmet fit) for such files."
        )
    if not short.lower().endswith(SUFFIXES):
        raise InvalidInput(f"{short or 'The file'} must end in one of {', '.join(SUFFIXES)}.")
    suffix = next(each for each in sorted(SUFFIXES, key=len) if short.lower().endswith(each))
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"table{suffix}"
        file.write_bytes(data)
        try:
            return read_table(file, decimal=decimal)
        except InvalidInput as error:
            raise InvalidInput(str(error).replace(str(file), short)) from None


def guess_plan(table: polars.DataFrame, problem: str = "newsvendor") -> dict[str, Any]:
    """Guess words of a `Plan` from names and kinds of columns.

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
    flag = _named(table.columns, _FLAGS[problem])
    if flag is not None:
        values = table[flag].drop_nulls().unique().head(4).to_list()
        found = {str(each).strip().lower() for each in values}
        flag = flag if found and found <= _FLAG_VALUES else None
    kept = [name for name in numeric if name != flag]
    if not kept:
        raise InvalidInput("The table must have a column of numbers to learn from, got none.")
    observed = _named(kept, _OBSERVED[problem]) or kept[-1]
    date = _date(table)
    stock = _named(kept, _STOCK) if problem == "newsvendor" else None
    words: dict[str, Any] = {"observed": observed, "date": date}
    if problem != "replacement":
        costs = {role: _named(kept, names) for role, names in _COSTS.items()}
        words |= {role: column for role, column in costs.items() if column is not None}
    # what became of a row is no feature, whatever the problem
    telling = {*_STOCK, *_TRUTH, *(name for group in _FLAGS.values() for name in group)}
    used = {flag, stock, *words.values()}
    words["features"] = _features(
        table, [name for name in table.columns if name not in used and _plain(name) not in telling]
    )
    words["series"] = () if date is None else _series(table, date)
    if flag is not None and problem == "pricing":
        words["accepted_column"] = flag
    elif flag is not None:
        words["failed_column" if _plain(flag) in _OPPOSITE else "censored_column"] = flag
    if stock is not None and stock != observed:
        words["stock_column"] = stock
    return words


def guess_truth(table: polars.DataFrame) -> str | None:
    """Guess which column holds what nobody knew beforehand; None where no name says so."""
    found = _named(table.columns, _TRUTH)
    return found if found is not None and table[found].dtype.is_numeric() else None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _named(columns: list[str], names: tuple[str, ...]) -> str | None:
    """Give the first column that has one of the names, in the order of the names."""
    for name in names:
        for column in columns:
            if _plain(column) == name:
                return column
    return None


def _date(table: polars.DataFrame) -> str | None:
    for name, kind in table.schema.items():
        if kind.is_temporal() and not table[name].null_count():
            return name
    named = _named(table.columns, _DATES)
    if named is None:
        return None
    try:
        read_dates(table, named)
    except InvalidInput:
        return None
    return named


def _features(table: polars.DataFrame, columns: list[str]) -> tuple[str, ...]:
    """Take columns that vary: numbers, and text of few values."""
    import polars as pl

    chosen = []
    for name in columns:
        column = table[name]
        number = column.dtype.is_numeric() or column.dtype == pl.Boolean
        text = column.dtype in (pl.String, pl.Categorical, pl.Enum)
        values = column.drop_nulls().n_unique() if number or text else 0
        if values > 1 and (number or values <= _MOST_VALUES):
            chosen.append(name)
    return tuple(chosen[:_MOST_FEATURES])


def _series(table: polars.DataFrame, date: str) -> tuple[str, ...]:
    """Find the fewest text columns that leave one row a day in each series."""
    import polars as pl

    text = [name for name, kind in table.schema.items() if kind == pl.String and name != date]
    for names in ([], *([name] for name in text), text):
        if not table.select(date, *names).is_duplicated().any():
            return tuple(names)
    return ()
