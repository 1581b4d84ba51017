"""Reading and giving back long frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from unmet.band import Array
from unmet.costs import Cost
from unmet.errors import InvalidInput
from unmet.models.tables import check_columns, open_table, with_column
from unmet.rows import read_column


@dataclass(frozen=True)
class Named:
    """Names of the columns of a long frame."""

    id_col: str
    time_col: str


def open_frame(frame: Any, named: Named, *more: str | None) -> nw.DataFrame[Any]:
    """Open a frame that has these columns and at least one row."""
    opened = open_table("forecasts", frame)
    wanted = [named.id_col, named.time_col, *(each for each in more if each is not None)]
    check_columns("The frame", opened, wanted)
    if not len(opened):
        raise InvalidInput("The frame must have at least one row, got none.")
    return opened


def numbers(frame: nw.DataFrame[Any], name: str) -> Array:
    """Column of finite numbers."""
    return read_column(name, frame[name].to_native())


def table_of(frame: nw.DataFrame[Any], names: Sequence[str]) -> Array:
    """Columns of finite numbers beside each other, of shape (n_rows, n_columns)."""
    return np.column_stack([numbers(frame, name) for name in names])


def price(
    cost: Any, frame: nw.DataFrame[Any], underage_col: str | None, overage_col: str | None
) -> Cost:
    """Cost of the rows, where columns say so one for each."""
    if not isinstance(cost, Cost):
        raise InvalidInput(
            f"cost must be a Cost such as Newsvendor(underage=3, overage=1), got {cost!r}."
        )
    given = {"underage": underage_col, "overage": overage_col}
    read = {name: None if col is None else numbers(frame, col) for name, col in given.items()}
    return cost.with_rows(**read)


def answer(frame: nw.DataFrame[Any], named: Named, name: str, decision: Array) -> Any:
    """Series, time and decision, as the kind of table that came in."""
    return with_column(frame.select(named.id_col, named.time_col), name, decision).to_native()
