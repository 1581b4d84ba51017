"""Features of a long frame that has none: weekdays, months and series, as dummies."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from unmet.band import Array
from unmet.forecasting.frames import Named

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
