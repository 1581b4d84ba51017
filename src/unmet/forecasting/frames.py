"""Reading and giving back long frames."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from unmet.arrays import Array
from unmet.costs import Cost
from unmet.errors import InvalidInput
from unmet.models.base import check_columns, open_table, with_column
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


# --- Which column is which quantile of which model, by the names that forecasting libraries give.
#
# ==================== ============================== ==================================
# name                 means the quantile             written by
# ==================== ============================== ==================================
# ``m-lo-90``          (1 − 0.90) / 2                 statsforecast, mlforecast, neuralforecast
# ``m-hi-90``          (1 + 0.90) / 2                 the same
# ``m-median``         0.5                            neuralforecast
# ``m_ql0.9``          0.9                            neuralforecast, one quantile
# ``m-q-0.9``          0.9                            by hand
# ``m-q-90``           0.9                            by hand, in percent
# ==================== ============================== ==================================
#
# A column ``m`` without more is a mean or a point, not a quantile, and is not used.

_NUMBER = r"(\d+(?:\.\d+)?)"
_INTERVAL = re.compile(rf"^(?P<model>.+)-(?P<side>lo|hi)-{_NUMBER}$")
_MEDIAN = re.compile(r"^(?P<model>.+)-median$")
_QUANTILE = re.compile(rf"^(?P<model>.+)[-_](?:ql|q-|q_|q){_NUMBER}$")


def read_level(name: str) -> tuple[str, float] | None:
    """Model and level of a column; None where the name does not say."""
    if found := _INTERVAL.match(name):
        width = float(found[3]) / 100
        return found["model"], (1 - width) / 2 if found["side"] == "lo" else (1 + width) / 2
    if found := _MEDIAN.match(name):
        return found["model"], 0.5
    if found := _QUANTILE.match(name):
        level = float(found[2])
        return found["model"], level / 100 if level >= 1 else level
    return None


def quantile_columns(names: Sequence[str], model: str | None) -> dict[float, str]:
    """Columns of one model by their level, rising."""
    found: dict[str, dict[float, str]] = {}
    for name in names:
        read = read_level(str(name))
        if read is not None and 0 < read[1] < 1:
            owner, level = read
            found.setdefault(owner, {})[round(level, 12)] = name
    if not found:
        raise InvalidInput(
            "forecasts must have columns of quantiles, such as 'AutoARIMA-hi-90' or "
            f"'AutoARIMA-q-0.95', got {', '.join(map(str, names[:20]))}."
        )
    if model is None and len(found) > 1:
        raise InvalidInput(f"model must be one of {', '.join(sorted(found))}, got None.")
    chosen = next(iter(found)) if model is None else model
    if chosen not in found:
        raise InvalidInput(f"model must be one of {', '.join(sorted(found))}, got {chosen!r}.")
    return dict(sorted(found[chosen].items()))


# --- Features of a long frame that has none: weekdays, months and series, as dummies.

_FEWEST = 10  # rows that a weekday or a month must have to be told apart


def calendar_features(frame: nw.DataFrame[Any], named: Named, *, series: bool) -> Array:
    """Dummies of weekday and month, where times are dates, and of the series if asked for.

    Of each kind one dummy is left out, and those with few rows are not told apart.
    """
    columns = []
    times = frame[named.time_col].to_numpy()
    if np.issubdtype(times.dtype, np.datetime64):
        days = times.astype("datetime64[D]")
        columns.append((days.astype(np.int64) - 4) % 7)
        columns.append(days.astype("datetime64[M]").astype(np.int64) % 12)
    if series:
        columns.append(np.unique(frame[named.id_col].to_numpy(), return_inverse=True)[1])
    parts = [_dummies(np.asarray(column)) for column in columns]
    dummies = np.column_stack(parts) if parts else np.empty((len(frame), 0))
    # a model needs a feature: one that says nothing does no harm
    return dummies if dummies.shape[1] else np.zeros((len(frame), 1))


def _dummies(codes: Array) -> Array:
    names, count = np.unique(codes, return_counts=True)
    told = names[count >= _FEWEST][1:] if (count >= _FEWEST).all() else names[count >= _FEWEST]
    return np.asarray(codes[:, None] == told, dtype=np.float64)
