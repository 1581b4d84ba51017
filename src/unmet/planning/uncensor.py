"""A censored target, corrected before a forecaster learns from it."""

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
from unmet.errors import InvalidInput
from unmet.estimators.base import numbers, open_frame, with_column
from unmet.rows import Rows


@dataclass(frozen=True)
class Uncensored:
    """A frame whose target was corrected.

    Attributes
    ----------
    frame : table of the kind that was given
        The target corrected, and two more columns: what was observed (``y_observed``) and the
        probability that the truth lies above it (``y_censored``).
    diagnosis : Diagnosis
        What the data say about censoring, and how surely.
    probability : ndarray of shape (n_rows,)
        That each row is censored: 1 and 0 where it is known.
    share : float
        Mean of the probabilities.
    added : float
        What the correction adds to the target, as a share of its sum.
    """

    frame: Any
    diagnosis: Diagnosis
    probability: Array
    share: float
    added: float

    @property
    def training(self) -> Any:
        """The frame with its own columns only.

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
    """Correct a target that hides part of the truth, before a forecaster learns from it.

    A fitted `LatentBand` knows the distribution of the truth of each row, and how probable it is
    that the row is censored. The target becomes y + p · (E(D | D > y) − y): untouched where the row
    is surely seen, the mean of what may have been where it is surely censored. It is never lowered.

    Parameters
    ----------
    frame : table of pandas, polars or pyarrow
        Long: series, time and target.
    rule : LatentBand, optional
        None is ``LatentBand(random_state=0)``. If you know about how often it sells out, say so:
        ``LatentBand(sellout_rate=0.3)``.
    features : sequence of str, optional
        Columns of numbers that the truth moves with; by default weekday and month, where times are
        dates, and the series.
    censored_col, stock_col : str, optional
        Columns that say which rows are censored, or how much was available; entries may be missing.
    id_col, time_col, target_col : str
        Columns of series, time and target.

    Returns
    -------
    Uncensored

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
    opened = open_frame(frame, id_col, time_col, target_col, censored_col, stock_col, *chosen)
    if rule is not None and not isinstance(rule, LatentBand):
        raise InvalidInput(f"rule must be a LatentBand or None, got {rule!r:.60}.")
    times, labels = (opened[each].to_numpy() for each in (time_col, id_col))
    table = _calendar_features(times, labels) if features is None else numbers(opened, *chosen)
    observed = numbers(opened, target_col)[:, 0]
    flags: dict[str, Any] = {}
    if censored_col is not None:
        given = opened[censored_col].to_native()
        flags["censored"] = read_flags(censored_col, given, len(opened))
    if stock_col is not None:
        stock = opened[stock_col].to_native()
        flags["stock"] = read_missing(stock_col, stock, len(opened), endless=True)
    cost = Newsvendor(1.0, 1.0)
    fitted: LatentBand = clone(LatentBand(random_state=0) if rule is None else rule)
    fitted.fit(cost, table, observed, **flags, time=times, series=labels)
    asked = Rows.read(cost, table, observed, **flags)
    if fitted.order_rule_ is not None and fitted.order_rule_.accepted_:
        by_rule = fitted.order_rule_.censored_
        if asked.censored is not None:
            by_rule = np.where(np.isnan(asked.censored), by_rule, asked.censored)
        asked = replace(asked, censored=by_rule)
    probability = fitted.model_.probability_censored(asked)
    mean = np.maximum(fitted.model_.imputed(asked), observed)
    target = np.where(probability > 0, mean, observed)
    column = nw.new_series(target_col, target, backend=opened.implementation)
    changed = with_column(opened.with_columns(column), f"{target_col}_observed", observed)
    changed = with_column(changed, f"{target_col}_censored", probability)
    total = float(np.abs(observed).sum())
    return Uncensored(
        changed.to_native(),
        fitted.diagnosis_,
        probability,
        float(probability.mean()),
        float((target - observed).sum()) / total if total else 0.0,
    )


def _calendar_features(times: Any, labels: Any) -> Array:
    """Dummies of weekday and month, where times are dates, and of the series.

    Of each kind one dummy is left out, and those with few rows are not told apart.
    """
    columns = []
    if np.issubdtype(times.dtype, np.datetime64):
        days = times.astype("datetime64[D]")
        columns.append((days.astype(np.int64) - 4) % 7)
        columns.append(days.astype("datetime64[M]").astype(np.int64) % 12)
    columns.append(np.unique(labels, return_inverse=True)[1])
    parts = [np.empty((len(times), 0))]
    for codes in columns:
        names, count = np.unique(codes, return_counts=True)
        often = names[count >= 10]
        parts.append(codes[:, None] == (often[1:] if often.size == names.size else often))
    dummies = np.column_stack(parts).astype(np.float64)
    # a model needs a feature: one that says nothing does no harm
    return dummies if dummies.shape[1] else np.zeros((len(times), 1))
