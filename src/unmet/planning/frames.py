"""Tables of any kind as polars, the kind in which plans are made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw
import numpy as np

from unmet.errors import InvalidInput, Unsupported

if TYPE_CHECKING:
    import polars


def as_polars(table: Any) -> polars.DataFrame:
    """Take a table of pandas, polars or pyarrow as one of polars.

    Column by column, since polars itself needs pyarrow to read pandas.
    """
    import polars as pl
    import polars.selectors as cs

    if isinstance(table, pl.DataFrame):
        return table.with_columns(cs.float().fill_nan(None))
    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError:
        raise Unsupported(
            f"table must be a table of pandas, polars or pyarrow in memory, "
            f"got {type(table).__name__}."
        ) from None
    return pl.DataFrame({str(name): _column(frame[name], name) for name in frame.columns})


def _column(column: Any, name: Any) -> Any:
    import polars as pl

    if column.dtype.is_float():
        return pl.Series(column.to_numpy()).fill_nan(None)
    if column.dtype.is_integer() and not column.is_null().any():
        return pl.Series(column.to_numpy())
    entries = [None if _is_missing(each) else each for each in column.to_list()]
    try:
        return pl.Series(entries)
    except (TypeError, pl.exceptions.PolarsError):
        kinds = sorted({type(each).__name__ for each in entries if each is not None})
        raise InvalidInput(
            f"A column must hold one kind of value, got {' and '.join(kinds)} in {str(name)!r}."
        ) from None


def _is_missing(entry: Any) -> bool:
    """Whether pandas would call it missing: None, NaN, NaT, NA."""
    return entry is None or type(entry).__name__ in ("NAType", "NaTType") or entry != entry


def require_columns(table: polars.DataFrame, names: Iterable[str | None], role: str) -> None:
    """Refuse a table that lacks a column, with the names it has."""
    for name in names:
        if name is not None and name not in table.columns:
            known = ", ".join(table.columns[:20]) + (", …" if table.width > 20 else "")
            raise InvalidInput(
                f"{role} must name columns of the table, got {name!r}; it has {known}."
            )


def numbers(table: polars.DataFrame, name: str, role: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Column of numbers; missing ones are NaN, text is refused with the first such row."""
    import polars as pl

    column = table[name]
    if column.dtype == pl.Boolean or column.dtype.is_numeric() or column.dtype == pl.Null:
        return column.cast(pl.Float64).to_numpy().astype(np.float64)
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        raise InvalidInput(f"{role} must hold numbers, got {column.dtype} in column {name!r}.")
    text = column.cast(pl.String).str.strip_chars()
    found = text.cast(pl.Float64, strict=False)
    wrong = found.is_null() & text.is_not_null()
    if not wrong.any():
        return found.to_numpy().astype(np.float64)
    row = int(wrong.arg_max() or 0)
    raise InvalidInput(
        f"{role} must hold numbers, got {column[row]!r} in column {name!r}, row {row}."
    )
