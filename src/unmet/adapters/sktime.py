"""Frames of sktime as long frames, and back.

sktime keeps series and time in the index: the time alone, an instance and the time (a panel), or
several levels of a hierarchy and the time. Forecasts of quantiles and intervals have columns of two
or three levels. Long frames have both in columns, with names that `decide_from_quantiles` reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unmet.errors import InvalidInput, MissingPackage
from unmet.estimators.base import open_frame

_ALONE = "series"  # the name of a series that has none


def from_sktime(
    frame: Any, *, id_col: str = "unique_id", time_col: str = "ds", target_col: str = "y"
) -> Any:
    """Turn a frame of sktime into a long one.

    Parameters
    ----------
    frame : pandas Series or DataFrame
        A target (one series, a panel or a hierarchy), or what ``predict``, ``predict_quantiles`` or
        ``predict_interval`` of a forecaster gave.
    id_col, time_col, target_col : str
        Columns of series, time and target in the answer.

    Returns
    -------
    pandas DataFrame
        A row for each row. Levels of a hierarchy are joined to one name by ``/``; periods become
        the time at which they begin. One column of values is the target; several keep their names.
        Quantiles of the variable ``v`` are columns ``v-q-0.9``, as are both ends of an interval.

    Examples
    --------
    >>> import pandas as pd
    >>> from unmet import Newsvendor
    >>> from unmet.adapters import decide_from_quantiles, from_sktime, to_sktime
    >>> forecast = pd.DataFrame(  # as predict_quantiles(fh, alpha=[0.1, 0.9]) gives it
    ...     [[40.0, 60.0], [42.0, 68.0]],
    ...     index=pd.period_range("2024-05-01", periods=2, freq="D"),
    ...     columns=pd.MultiIndex.from_product([["bread"], [0.1, 0.9]]),
    ... )
    >>> long = from_sktime(forecast)
    >>> long.columns.tolist()
    ['unique_id', 'ds', 'bread-q-0.1', 'bread-q-0.9']
    >>> orders = decide_from_quantiles(long, Newsvendor(underage=3, overage=1), step=5)
    >>> to_sktime(orders, forecast)
                decision
    2024-05-01      55.0
    2024-05-02      60.0
    """
    pandas = MissingPackage.or_load("from_sktime", "pandas", "skpro")
    table = _table(pandas, "frame", frame)
    values = table.set_axis(_names(pandas, table.columns, target_col), axis=1)
    if not values.columns.is_unique:
        raise InvalidInput(
            f"frame must have columns of different names, got {list(values.columns)[:20]}."
        )
    for name in (id_col, time_col):
        if name in values.columns:
            raise InvalidInput(f"frame must not have the column {name!r} beside its index.")
    series, time = _keys(pandas, table.index)
    values = values.reset_index(drop=True)
    values.insert(0, id_col, series)
    values.insert(1, time_col, time)
    return values


def to_sktime(
    frame: Any,
    like: Any,
    *,
    id_col: str = "unique_id",
    time_col: str = "ds",
    target_col: str = "y",
) -> Any:
    """Give a long frame the index of sktime back.

    Parameters
    ----------
    frame : table of pandas, polars or pyarrow
        With the rows of ``from_sktime(like)``, in the same order: decisions from it, or
        ``uncensor(...).training``.
    like : pandas Series or DataFrame
        The frame of sktime it came from.
    id_col, time_col, target_col : str
        Columns of series, time and target.

    Returns
    -------
    pandas DataFrame or Series
        The other columns, with the index of `like`; the target alone is of the kind and has the
        name of `like`.

    Examples
    --------
    >>> import pandas as pd
    >>> from unmet.adapters import from_sktime, to_sktime
    >>> sales = pd.Series([8.0, 9.0], index=pd.RangeIndex(2), name="bread")
    >>> to_sktime(from_sktime(sales), sales).equals(sales)
    True
    """
    pandas = MissingPackage.or_load("to_sktime", "pandas", "skpro")
    table = _table(pandas, "like", like)
    series, time = _keys(pandas, table.index)
    long = open_frame(frame, id_col, time_col).to_native()
    rows = (long if isinstance(long, pandas.DataFrame) else long.to_pandas()).reset_index(drop=True)
    equal = len(rows) == len(table)
    equal = equal and bool((rows[id_col].astype(object).to_numpy() == series).all())
    equal = equal and bool((rows[time_col].to_numpy() == np.asarray(time)).all())
    if not equal:
        raise InvalidInput(
            "frame must have the rows of like in the same order, got other series or times."
        )
    values = rows.drop(columns=[id_col, time_col]).set_axis(table.index)
    if values.columns.tolist() != [target_col] or table.shape[1] != 1:
        return values
    # the target itself: as it came, name and all
    values.columns = table.columns
    return values.iloc[:, 0].rename(like.name) if isinstance(like, pandas.Series) else values


def _table(pandas: Any, name: str, frame: Any) -> Any:
    if isinstance(frame, pandas.Series):
        return frame.to_frame()
    if not isinstance(frame, pandas.DataFrame):
        raise InvalidInput(
            f"{name} must be a Series or DataFrame of pandas, got a {type(frame).__name__}."
        )
    return frame


def _keys(pandas: Any, index: Any) -> tuple[Any, Any]:
    """Name of the series and time of each row."""
    time = index.get_level_values(-1)
    if isinstance(time, pandas.PeriodIndex):
        time = time.to_timestamp()
    levels = [index.get_level_values(each) for each in range(index.nlevels - 1)]
    if not levels:
        return np.full(len(index), _ALONE, dtype=object), time
    if len(levels) == 1:
        return levels[0].to_numpy(dtype=object), time
    joined = ["/".join(map(str, each)) for each in zip(*levels, strict=True)]
    return np.array(joined, dtype=object), time


def _names(pandas: Any, columns: Any, target_col: str) -> list[str]:
    """Names of the columns in a long frame."""
    if not isinstance(columns, pandas.MultiIndex):
        return [target_col] if len(columns) == 1 else [str(each) for each in columns]
    wrong = InvalidInput(
        "frame must have columns as predict_quantiles or predict_interval of sktime gives them, "
        f"got {columns[0]!r}."
    )
    names = []
    for variable, share, *end in columns:
        if not isinstance(share, int | float) or (end and end[0] not in ("lower", "upper")):
            raise wrong
        level = float(share)
        if end:
            level = 0.5 * (1.0 - level if end[0] == "lower" else 1.0 + level)
        if len(end) > 1 or not 0 <= level <= 1:
            raise wrong
        names.append(f"{variable}-q-{level:.12f}".rstrip("0"))
    return names
