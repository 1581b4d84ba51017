"""Reading the time of each row: only its order matters here."""

from __future__ import annotations

from datetime import date, datetime
from numbers import Real
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from unmet.errors import InvalidInput

_ALLOWED = "numbers, dates or ISO text such as '2024-05-01'"


def read_times(time: Any, n_rows: int) -> tuple[NDArray[np.intp], int]:
    """Place of each row's time among the distinct times in order, and how many those are."""
    column = _comparable(_plain(time))
    if column.size != n_rows:
        raise InvalidInput(
            f"time must have one entry per row of X, got {column.size} for {n_rows} rows."
        )
    try:
        distinct, place = np.unique(column, return_inverse=True)
    except TypeError:
        raise InvalidInput(f"time must hold {_ALLOWED}, got entries that mix them.") from None
    return place.reshape(-1).astype(np.intp), distinct.size


def _plain(time: Any) -> NDArray[Any]:
    """One-dimensional array of whatever the column holds."""
    if nw.dependencies.is_into_series(time):
        column = nw.from_native(time, series_only=True)
        if getattr(column.dtype, "time_zone", None) is not None:
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        array = np.asarray(column.to_numpy())
    elif isinstance(time, list | tuple):
        array = np.fromiter(time, dtype=object, count=len(time))
    else:
        array = np.asarray(time)
    if array.ndim != 1:
        found = f"shape {array.shape}" if array.ndim else f"{time!r:.40}"
        raise InvalidInput(f"time must have one entry per row, got {found}.")
    return array


def _comparable(column: NDArray[Any]) -> NDArray[Any]:
    """Entries that sort as time does, none of them missing."""
    if column.dtype.kind == "U" or (
        column.dtype.kind == "O" and any(isinstance(entry, str) for entry in column)
    ):
        read = [_from_text(row, entry) for row, entry in enumerate(column.tolist())]
        return np.fromiter(read, dtype=object, count=len(read))
    if column.dtype.kind in "iu":
        return column
    if column.dtype.kind not in "fMO":
        raise InvalidInput(f"time must hold {_ALLOWED}, got entries of type {column.dtype}.")
    for row, entry in enumerate(column) if column.dtype.kind == "O" else ():
        if entry is None or type(entry).__name__ == "NAType" or _differs(entry):
            raise InvalidInput(f"time must not be missing, got {entry} in row {row}.")
        if isinstance(entry, bool) or not isinstance(entry, Real | date | np.datetime64):
            raise InvalidInput(f"time must hold {_ALLOWED}, got {entry!r:.40} in row {row}.")
    if column.dtype.kind in "fM":
        missing = np.isnat(column) if column.dtype.kind == "M" else np.isnan(column)
        if missing.any():
            row = int(missing.argmax())
            raise InvalidInput(f"time must not be missing, got {column[row]} in row {row}.")
    return column


def _differs(entry: Any) -> bool:
    """Whether it is NaN or NaT, which do not equal themselves; pandas' NA cannot be asked."""
    return isinstance(entry, Real | date | np.datetime64) and bool(entry != entry)


def _from_text(row: int, entry: Any) -> datetime:
    """Only ISO text is read, and months such as "2024-05": other dates would have to be guessed."""
    text = entry if isinstance(entry, str) else ""
    for whole in (text, f"{text}-01"):
        try:
            return datetime.fromisoformat(whole)
        except ValueError:
            continue
    raise InvalidInput(f"time must hold {_ALLOWED}, got {entry!r:.40} in row {row}.")
