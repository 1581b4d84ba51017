"""Correct a censored target before a forecasting model learns from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.base import clone

from unmet.arrays import Array, read_flags, read_missing
from unmet.censoring import Diagnosis, LatentBand
from unmet.costs import Newsvendor
from unmet.errors import InvalidInput, Unsupported
from unmet.estimators.base import numbers, open_frame, with_column
from unmet.planning.on_dask import DaskTable, frame_of, is_dask
from unmet.progress import silent
from unmet.rows import Rows
from unmet.tables.schema import Schema

MAX_SERIES = 5_000
"""Series of a Dask frame that are learned from."""


@dataclass(frozen=True)
class Uncensored:
    """A table with a corrected target.

    Attributes
    ----------
    frame : table of the given kind
        Table with the corrected target and two more columns: the observation (``y_observed``) and
        the probability that the truth lies above it (``y_censored``).
    diagnosis : Diagnosis
        How much the observations hide, and how certain that is.
    probability : ndarray of shape (n_rows,)
        Probability that each row is censored: 1 or 0 if it is known.
    share : float
        Mean of the probabilities.
    added : float
        Amount that the correction adds to the target, as a share of its sum.

    Examples
    --------
    >>> import polars as pl
    >>> from unmet import LatentBand
    >>> from unmet.planning import uncensor
    >>> table = pl.DataFrame(
    ...     {"unique_id": "bread", "ds": range(8), "y": [4.0, 6, 8, 9, 9, 7, 5, 9],
    ...      "sold_out": [0, 0, 0, 1, 1, 0, 0, 1]}
    ... )
    >>> found = uncensor(table, LatentBand(families="normal"), censored_col="sold_out", features=[])
    >>> found.share, found.added > 0
    (0.375, True)
    """

    frame: Any
    diagnosis: Diagnosis
    probability: Array
    share: float
    added: float

    @property
    def training(self) -> Any:
        """Table with the original columns only.

        Forecasting libraries take every further column for a feature.
        """
        frame = nw.from_native(self.frame, eager_only=True)
        return frame.select(frame.columns[:-2]).to_native()


def uncensor(
    frame: Any,
    rule: LatentBand | None = None,
    *,
    features: Sequence[str] | None = None,
    censored_col: str | None = None,
    stock_col: str | None = None,
    id_col: str = "unique_id",
    time_col: str = "ds",
    target_col: str = "y",
) -> Uncensored:
    """Correct a target that hides part of the truth, before a forecasting model learns from it.

    A fitted `LatentBand` gives the distribution of the truth of each row, and the probability p
    that the row is censored. The target becomes y + p · (E(D | D > y) − y). A row that was surely
    seen stays as it is, and a row that was surely censored gets the mean of the possible truths.
    The target is never lowered.

    Parameters
    ----------
    frame : table of pandas, polars or pyarrow, or a Dask dataframe
        Long table: series, time and target. For a Dask dataframe, up to 5,000 series are sampled to
        learn from, and each partition is corrected where it is. Without `features`, the target of
        each series is then in units of its own mean. `probability` is lazy; `share` and `added` are
        those of the sampled series.
    rule : LatentBand, optional
        Rule that estimates the distribution. None is ``LatentBand(random_state=0)``. If you know
        roughly how often an item sells out, give ``LatentBand(sellout_rate=0.3)``.
    features : sequence of str, optional
        Numeric columns that the truth depends on. None takes weekday and month, if times are dates,
        and the series.
    censored_col, stock_col : str, optional
        Columns of flags that mark censored rows, or of available stock; entries may be missing.
    id_col, time_col, target_col : str
        Columns of series, time and target.

    Returns
    -------
    Uncensored
        The corrected table, and the diagnosis.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from unmet.planning import uncensor
    >>> demand = np.random.default_rng(0).normal(100, 20, 700)
    >>> frame = pd.DataFrame(
    ...     {
    ...         "unique_id": "bread",
    ...         "ds": pd.date_range("2022-01-01", periods=700),
    ...         "y": np.minimum(demand, 105),
    ...         "sold_out": demand > 105,
    ...     }
    ... )
    >>> corrected = uncensor(frame, censored_col="sold_out")
    >>> [round(float(each.mean())) for each in (frame["y"], corrected.frame["y"], demand)]
    [94, 100, 100]
    """
    chosen = tuple(features or ())
    if rule is not None and not isinstance(rule, LatentBand):
        raise InvalidInput(f"rule must be a LatentBand or None, got {rule!r:.60}.")
    task = _Task(chosen, censored_col, stock_col, id_col, time_col, target_col)
    fitted: LatentBand = clone(LatentBand(random_state=0) if rule is None else rule)
    if is_dask(frame):
        return _on_dask(frame, fitted, task)
    opened = task.open(frame)
    times, labels = (opened[each].to_numpy() for each in (time_col, id_col))
    table = numbers(opened, *chosen) if chosen else _calendar_features(times, labels)
    return _correct(opened, fitted, task, table)


@dataclass(frozen=True)
class _Task:
    """Names of columns, as for `uncensor`."""

    features: tuple[str, ...]
    censored_col: str | None
    stock_col: str | None
    id_col: str
    time_col: str
    target_col: str

    def open(self, frame: Any) -> Any:
        named = (self.id_col, self.time_col, self.target_col, self.censored_col, self.stock_col)
        return open_frame(frame, *named, *self.features)

    def rows(self, opened: Any, scale: Array | float = 1.0) -> dict[str, Any]:
        """Words of a fit: observations in units of a scale, flags and stock."""
        found: dict[str, Any] = {"observed": numbers(opened, self.target_col)[:, 0] / scale}
        if self.censored_col is not None:
            given = opened[self.censored_col].to_native()
            found["censored"] = read_flags(self.censored_col, given, len(opened))
        if self.stock_col is not None:
            stock = opened[self.stock_col].to_native()
            stock = read_missing(self.stock_col, stock, len(opened), endless=True)
            found["stock"] = stock / scale
        return found


def _correct(
    opened: Any, fitted: LatentBand, task: _Task, table: Array, scale: Array | float = 1.0
) -> Uncensored:
    """Learn from all rows of a frame, and correct them."""
    cost, known = Newsvendor(1.0, 1.0), task.rows(opened, scale)
    observed = known.pop("observed")
    times, labels = (opened[each].to_numpy() for each in (task.time_col, task.id_col))
    fitted.fit(cost, table, observed, **known, time=times, series=labels)
    asked = Rows.read(cost, table, observed, **known)
    if fitted.order_rule_ is not None and fitted.order_rule_.accepted_:
        by_rule = fitted.order_rule_.censored_
        if asked.censored is not None:
            by_rule = np.where(np.isnan(asked.censored), by_rule, asked.censored)
        asked = replace(asked, censored=by_rule)
    frame, probability = _corrected(opened, fitted, task, asked, scale)
    observed = numbers(opened, task.target_col)[:, 0]
    total = float(np.abs(observed).sum())
    target = numbers(nw.from_native(frame, eager_only=True), task.target_col)[:, 0]
    return Uncensored(
        frame,
        fitted.diagnosis_,
        probability,
        float(probability.mean()),
        float((target - observed).sum()) / total if total else 0.0,
    )


def _corrected(
    opened: Any, fitted: LatentBand, task: _Task, asked: Rows, scale: Array | float
) -> tuple[Any, Array]:
    """Give the frame with its target corrected, and the probability that each row is censored."""
    probability = fitted.model_.probability_censored(asked)
    mean = np.maximum(fitted.model_.imputed(asked), asked.observation)
    observed = numbers(opened, task.target_col)[:, 0]
    target = np.where(probability > 0, np.maximum(mean * scale, observed), observed)
    column = nw.new_series(task.target_col, target, backend=opened.implementation)
    changed = with_column(opened.with_columns(column), f"{task.target_col}_observed", observed)
    return with_column(changed, f"{task.target_col}_censored", probability).to_native(), probability


# --- Frames of Dask: a sample of series is learned from, partitions are corrected where they lie.


def _on_dask(frame: Any, fitted: LatentBand, task: _Task) -> Uncensored:
    wanted = (task.id_col, task.time_col, task.target_col, task.censored_col, task.stock_col)
    lacking = [each for each in (*wanted, *task.features) if each and each not in frame.columns]
    if lacking:
        raise InvalidInput(
            f"frame must have the column {lacking[0]!r}, got {', '.join(frame.columns)}."
        )
    schema = Schema(date=task.time_col, series=(task.id_col,), sales=task.target_col)
    table = DaskTable(frame, schema, 0, silent)
    sample = table.sample(MAX_SERIES)[0].sort(task.id_col, task.time_col)
    opened = task.open(sample.to_pandas())
    days = [np.unique(codes) for codes in _calendar(opened[task.time_col].to_numpy())]
    found = _correct(opened, fitted, task, *_asked_of(opened, task, days))
    if fitted.order_rule_ is not None and fitted.order_rule_.accepted_:
        raise Unsupported(
            "Stock-outs can be read off the sales of series in memory only: name a column of flags "
            "(censored_col=) or of stock (stock_col=), or correct parts of the frame in memory."
        )
    lazy = frame_of(table.map(_correct_part, fitted, task, days), found.frame.iloc[:0])
    return replace(found, frame=lazy, probability=lazy[f"{task.target_col}_censored"])


def _correct_part(part: Any, fitted: LatentBand, task: _Task, days: list[Any]) -> Any:
    """Correct one partition."""
    opened = task.open(part)
    dummies, scale = _asked_of(opened, task, days)
    known = task.rows(opened, scale)
    asked = Rows.read(Newsvendor(1.0, 1.0), dummies, known.pop("observed"), **known)
    return _corrected(opened, fitted, task, asked, scale)[0]


def _asked_of(opened: Any, task: _Task, days: list[Any]) -> tuple[Array, Array | float]:
    """Features of rows, and the unit of each: the mean of its series, where none are given."""
    if task.features:
        return numbers(opened, *task.features), 1.0
    parts = [np.zeros((len(opened), 1))]
    for codes, values in zip(_calendar(opened[task.time_col].to_numpy()), days, strict=True):
        parts.append(codes[:, None] == values[1:])
    sold = np.nan_to_num(numbers(opened, task.target_col)[:, 0])
    _, place = np.unique(opened[task.id_col].to_numpy(), return_inverse=True)
    mean = np.bincount(place, np.abs(sold)) / np.bincount(place)
    return np.column_stack(parts).astype(np.float64), np.where(mean > 0, mean, 1.0)[place]


def _calendar(times: Any) -> list[Any]:
    """Weekdays and months, where times are dates."""
    if not np.issubdtype(times.dtype, np.datetime64):
        return []
    days = times.astype("datetime64[D]")
    return [(days.astype(np.int64) - 4) % 7, days.astype("datetime64[M]").astype(np.int64) % 12]


def _calendar_features(times: Any, labels: Any) -> Array:
    """Dummies of weekday and month, where times are dates, and of the series.

    Of each kind one dummy is left out, and those with few rows are not told apart.
    """
    columns = _calendar(times)
    columns.append(np.unique(labels, return_inverse=True)[1])
    parts = [np.empty((len(times), 0))]
    for codes in columns:
        names, count = np.unique(codes, return_counts=True)
        often = names[count >= 10]
        parts.append(codes[:, None] == (often[1:] if often.size == names.size else often))
    dummies = np.column_stack(parts).astype(np.float64)
    # a model needs a feature: one that says nothing does no harm
    return dummies if dummies.shape[1] else np.zeros((len(times), 1))
