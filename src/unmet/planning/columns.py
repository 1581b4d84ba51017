"""What the rows of a table say beside features: observations, costs, flags, stock and dates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.errors import InvalidInput
from unmet.planning.reading import numbers, read_dates, require_columns

if TYPE_CHECKING:
    import polars


_YES = ("true", "yes", "y", "t", "1", "1.0")
_NO = ("false", "no", "n", "f", "0", "0.0")


@dataclass(frozen=True)
class Roles:
    """Which column plays which part; None where no column does.

    Attributes
    ----------
    observed, underage, overage, stock, weight, date : str or None
    flag : str or None
        Stock-outs, suspensions, or accepted offers: the truth is at least the observation.
    opposite : bool
        Whether the flag says the opposite: true where the truth was seen, such as a failure.
    series : tuple of str
        Columns that tell series apart.
    """

    observed: str
    underage: str | None = None
    overage: str | None = None
    stock: str | None = None
    weight: str | None = None
    date: str | None = None
    flag: str | None = None
    opposite: bool = False
    series: tuple[str, ...] = ()


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


def read_rows(table: polars.DataFrame, roles: Roles) -> TableRows:
    """Take each role's column, leaving out rows without an observation."""
    require_columns(table, [roles.observed], "observed")
    notes: list[str] = []
    table = _seen(table, roles.observed, notes)
    observed = finite(table, roles.observed, "observed")
    for name, role in ((roles.underage, "underage_column"), (roles.overage, "overage_column")):
        require_columns(table, [name], role)
    require_columns(table, [roles.stock], "stock_column")
    require_columns(table, [roles.weight], "weight_column")
    require_columns(table, [roles.flag], "the column of flags")
    require_columns(table, [roles.date], "date")
    require_columns(table, roles.series, "series")
    time, series = _times(table, roles, notes)
    return TableRows(
        table=table,
        observed=observed,
        underage=_positive(table, roles.underage, "underage_column"),
        overage=_positive(table, roles.overage, "overage_column"),
        stock=None if roles.stock is None else numbers(table, roles.stock, "stock_column"),
        weight=_positive(table, roles.weight, "weight_column", or_zero=True),
        flag=None if roles.flag is None else read_flags(table, roles.flag, roles.opposite),
        time=time,
        series=series,
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


def _seen(table: polars.DataFrame, observed: str, notes: list[str]) -> polars.DataFrame:
    """Leave out rows without an observation."""
    column = table[observed]
    absent = column.null_count()
    if not absent:
        return table
    if absent == table.height:
        raise InvalidInput(f"observed must have numbers, got none in column {observed!r}.")
    count = "1 row has" if absent == 1 else f"{absent:,} rows have"
    notes.append(
        f"{count} no number in {observed!r} and {'was' if absent == 1 else 'were'} left out."
    )
    return table.filter(column.is_not_null())


def _times(
    table: polars.DataFrame, roles: Roles, notes: list[str]
) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """Dates and series for rules that look at the past; only where a series has one row a day."""
    import polars as pl

    if roles.date is None:
        return None, None
    dates = read_dates(table, roles.date)
    series = (
        pl.Series("series", np.zeros(table.height, dtype=np.int64))
        if not roles.series
        else table.select(pl.struct(roles.series).rank("dense").alias("series"))["series"]
    )
    if pl.DataFrame({"d": dates, "s": series}).is_duplicated().any():
        notes.append(
            "Some dates occur several times in a series, so no order rule was looked for: "
            "name the columns that tell series apart (series)."
        )
        return None, None
    return dates.to_numpy(), series.to_numpy().astype(np.int64)
