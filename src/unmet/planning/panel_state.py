"""What a saved `OrderPlan` holds: the panel, the orders and what explains them; no rows.

Numbers are kept in the smallest type that holds each of them exactly, columns of text as numbers of
their values: what is read back is the same to the last bit, and a file stays small. Features are
not kept; they follow from the panel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unmet.errors import InvalidInput
from unmet.planning.panel import Panel

if TYPE_CHECKING:
    import polars

_FLOATS = (np.float16, np.float32)
_WHOLE = (np.int8, np.int16, np.int32)
_TEXT = ("String", "Categorical", "Enum")
_NUMBERS = (
    *("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"),
    *("Float32", "Float64", "Boolean", "Date"),
)


def compact(values: NDArray[Any]) -> NDArray[Any]:
    """Keep numbers in the smallest type that holds each of them exactly."""
    for kind in _FLOATS if values.dtype.kind == "f" else _WHOLE:
        with np.errstate(over="ignore", invalid="ignore"):
            smaller = values.astype(kind)
        if np.array_equal(smaller.astype(values.dtype), values, equal_nan=values.dtype.kind == "f"):
            return smaller
    return values


def frame_state(frame: polars.DataFrame) -> list[Any]:
    """Plain values and arrays of a table: name, type, and numbers of each column."""
    import polars as pl

    state: list[Any] = []
    for column in frame:
        kind = type(column.dtype).__name__
        missing = column.is_null().to_numpy() if column.null_count() else None
        if kind in _NUMBERS:
            plain = column.to_physical() if kind == "Date" else column
            plain = plain.cast(pl.UInt8) if kind == "Boolean" else plain
            state.append([column.name, kind, compact(plain.fill_null(0).to_numpy()), missing])
            continue
        # text, and what is read as text: a series may be told by anything that can be written
        text = column.cast(pl.String)
        values = text.drop_nulls().unique().sort()
        places = text.fill_null(values[0] if values.len() else "").to_frame("value")
        numbered = pl.DataFrame({"value": values, "place": np.arange(values.len())})
        codes = places.join(numbered, on="value", how="left", maintain_order="left")["place"]
        entry = [values.to_list(), compact(codes.fill_null(0).to_numpy())]
        state.append([column.name, kind if kind in _TEXT else str(column.dtype), entry, missing])
    return state


def frame_of(state: list[Any]) -> polars.DataFrame:
    """Make a table of its state."""
    import polars as pl

    columns = []
    for name, kind, entry, missing in state:
        if kind in _NUMBERS:
            physical = pl.Int32 if kind == "Date" else getattr(pl, kind)
            plain = pl.Series(name, entry.astype(np.int64) if entry.dtype.kind == "i" else entry)
            column = plain.cast(physical)
            column = column.cast(pl.Date) if kind == "Date" else column
        else:
            values, codes = entry
            text = pl.Series(name, values, dtype=pl.String)
            column = text.gather(codes.astype(np.int64)) if values else text.clear(codes.size)
            if kind == "Categorical":
                column = column.cast(pl.Categorical)
            elif kind == "Enum":
                column = column.cast(pl.Enum(values))
        if missing is not None:
            there = pl.Series(~missing)
            column = pl.DataFrame([column]).select(pl.when(there).then(pl.col(name))).to_series()
        columns.append(column.alias(name))
    return pl.DataFrame(columns)


def panel_state(panel: Panel) -> dict[str, Any]:
    """Plain values and arrays of a panel."""
    return {
        "observed": compact(panel.observed),
        "hidden": None if panel.hidden is None else compact(panel.hidden),
        "first_day": panel.first_day,
        "step": panel.step,
        "group": None if panel.group is None else compact(panel.group),
        "static": {name: compact(values) for name, values in panel.static.items()},
        "known": {name: compact(values) for name, values in panel.known.items()},
        "categories": panel.categories,
        "price": panel.price,
        "keys": None if panel.keys is None else frame_state(panel.keys),
        "planned": panel.planned,
    }


def panel_of(state: dict[str, Any]) -> Panel:
    """Make a panel of its state."""

    def numbers(values: NDArray[Any]) -> NDArray[np.float64]:
        return values.astype(np.float64)

    observed, keys = numbers(state["observed"]), state["keys"]
    hidden, group = state["hidden"], state["group"]
    wrong = observed.ndim != 2 or (hidden is not None and hidden.shape != observed.shape)
    if wrong or (group is not None and group.shape != observed.shape[:1]):
        raise InvalidInput("The file was not loaded: the parts of its panel do not fit together.")
    return Panel(
        observed,
        None if hidden is None else numbers(hidden),
        state["first_day"],
        state["step"],
        None if group is None else group.astype(np.intp),
        {name: values.astype(np.int64) for name, values in state["static"].items()},
        {name: numbers(values) for name, values in state["known"].items()},
        state["categories"],
        state["price"],
        None if keys is None else frame_of(keys),
        state["planned"],
    )
