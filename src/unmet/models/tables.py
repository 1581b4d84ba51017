"""Tables in, the same kind of tables out, with one more column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import narwhals.stable.v1 as nw

from unmet.band import Array
from unmet.errors import InvalidInput, Unsupported


def open_table(name: str, table: Any) -> nw.DataFrame[Any]:
    """Take a table of pandas, polars or pyarrow that is in memory."""
    if nw.dependencies.is_into_dataframe(table):
        frame: nw.DataFrame[Any] = nw.from_native(table, eager_only=True)
        return frame
    if nw.dependencies.is_polars_lazyframe(table):
        raise Unsupported(
            f"{name} must be a table in memory, got a lazy one of polars: call its collect()."
        )
    raise Unsupported(
        f"{name} must be a table of pandas, polars or pyarrow, got {type(table).__name__}."
    )


def check_columns(name: str, frame: nw.DataFrame[Any], wanted: Iterable[Any]) -> None:
    """Refuse a table that lacks a column."""
    missing = [each for each in wanted if each not in frame.columns]
    if missing:
        raise InvalidInput(
            f"{name} must have the column {missing[0]!r}, got the columns "
            f"{', '.join(map(str, frame.columns[:20]))}."
        )


def with_column(frame: nw.DataFrame[Any], name: str, values: Array) -> nw.DataFrame[Any]:
    """Add one column of numbers at the end; refuses a name that is taken."""
    if not isinstance(name, str):
        raise InvalidInput(f"name must be the text over a column, got {name!r}.")
    if name in frame.columns:
        raise InvalidInput(f"name must be that of a new column, got {name!r}, which is there.")
    column = nw.new_series(name, values, backend=frame.implementation)
    return frame.with_columns(column)


def pick_features(
    frame: nw.DataFrame[Any], features: Sequence[str] | None, known: Sequence[str] | None
) -> Any:
    """Take the columns that are asked for, or those a model knows, or all.

    As a table, or as an array for a model that was fitted without names.
    """
    if isinstance(features, str):
        raise InvalidInput(f"features must be a list of names, got the text {features!r}.")
    wanted = known if features is None else features
    check_columns("table", frame, wanted or ())
    picked = frame if wanted is None else frame.select(list(wanted))
    return picked.to_numpy() if known is None else picked.to_native()
