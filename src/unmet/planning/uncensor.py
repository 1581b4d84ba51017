"""A censored target, corrected before a forecaster learns from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.base import clone

from unmet.arrays import Array, read_flags, read_missing
from unmet.censoring import Diagnosis, LatentBand
from unmet.costs import Cost, Newsvendor
from unmet.errors import InvalidInput
from unmet.estimators.base import numbers, open_frame, with_column
from unmet.rows import Rows

Amount = Literal["mean"] | float
_NODES = 49  # quantiles whose mean stands for that of a hidden truth
_HIGHEST = 1.0 - 1e-9
_FEWEST = 10  # rows that a weekday or a month must have to be told apart


@dataclass(frozen=True)
class Uncensored:
    """A frame whose target was corrected.

    Attributes
    ----------
    frame : table of the kind that was given
        The target corrected, and two more columns: what was observed (``y_observed``) and the
        probability that the truth lies above it (``y_censored``).
    diagnosis : Diagnosis, or dict of them by series
        What the data say about censoring, and how surely.
    probability : ndarray of shape (n_rows,)
        That each row is censored: 1 and 0 where it is known.
    share : float
        Mean of the probabilities.
    added : float
        What the correction adds to the target, as a share of its sum.
    """

    frame: Any
    diagnosis: Diagnosis | dict[Any, Diagnosis]
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
    cost: Cost | None = None,
    rule: LatentBand | None = None,
    *,
    features: Sequence[str] | None = None,
    censored_col: str | None = None,
    stock_col: str | None = None,
    by_series: bool = False,
    amount: Amount = "mean",
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
    cost : Cost, optional
        Only for the diagnosis; None is ``Newsvendor(1, 1)``.
    rule : LatentBand, optional
        None is ``LatentBand(random_state=0)``. If you know about how often it sells out, say so:
        ``LatentBand(sellout_rate=0.3)``.
    features : sequence of str, optional
        Columns of numbers that the truth moves with; by default weekday and month, where times are
        dates, and the series.
    censored_col, stock_col : str, optional
        Columns that say which rows are censored, or how much was available; entries may be missing.
    by_series : bool, default=False
        Fit a distribution for each series, rather than one for all with a level for each.
    amount : "mean" or float, default="mean"
        What stands for a hidden truth: its mean, or a quantile of this level.
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
    number = isinstance(amount, float | int) and not isinstance(amount, bool) and 0 < amount < 1
    if not number and not (isinstance(amount, str) and amount == "mean"):
        raise InvalidInput(
            f"amount must be 'mean' or a level strictly between 0 and 1, got {amount!r:.40}."
        )
    times, labels = (opened[each].to_numpy() for each in (time_col, id_col))
    if features is None:
        table = _calendar_features(times, None if by_series else labels)
    else:
        table = numbers(opened, *chosen)
    observed = numbers(opened, target_col)[:, 0]
    known: dict[str, Any] = {"time": times, "series": labels}
    if censored_col is not None:
        flags = opened[censored_col].to_native()
        known["censored"] = read_flags(censored_col, flags, len(opened))
    if stock_col is not None:
        stock = opened[stock_col].to_native()
        known["stock"] = read_missing(stock_col, stock, len(opened), endless=True)
    parts: dict[Any, Any] = {None: np.arange(len(opened))}
    if by_series:
        names, owner = np.unique(labels, return_inverse=True)
        parts = {name: np.flatnonzero(owner == i) for i, name in enumerate(names.tolist())}
    target, probability, found = observed.copy(), np.zeros(len(opened)), {}
    for name, rows in parts.items():
        told = {column: values[rows] for column, values in known.items()}
        fitted: LatentBand = clone(LatentBand(random_state=0) if rule is None else rule)
        fitted.fit(
            Newsvendor(1.0, 1.0) if cost is None else cost, table[rows], observed[rows], **told
        )
        target[rows], probability[rows] = _correct(
            fitted, table[rows], observed[rows], told, amount
        )
        found[name] = fitted.diagnosis_
    column = nw.new_series(target_col, target, backend=opened.implementation)
    changed = with_column(opened.with_columns(column), f"{target_col}_observed", observed)
    changed = with_column(changed, f"{target_col}_censored", probability)
    total = float(np.abs(observed).sum())
    return Uncensored(
        changed.to_native(),
        found if by_series else found[None],
        probability,
        float(probability.mean()),
        float((target - observed).sum()) / total if total else 0.0,
    )


def _correct(
    rule: LatentBand, features: Array, target: Array, told: dict[str, Any], amount: Amount
) -> tuple[Array, Array]:
    """Corrected targets, and the probability that each row is censored."""
    # 1 and 0 where it is known, otherwise what the distribution says of the observation
    flags = Rows.read(
        rule.cost_, features, target, censored=told.get("censored"), stock=told.get("stock")
    ).censored
    chance = np.clip(rule.censored_probability(features, target), 0.0, 1.0)
    found = rule.order_rule_
    if found is not None and found.accepted_:
        chance = np.where(np.isnan(found.censored_), chance, found.censored_)
    if flags is not None:
        chance = np.where(np.isnan(flags), chance, flags)
    below = 1.0 - rule.survival(features, target)
    quantile = rule.quantile_function(features)

    def beyond(share: float) -> Array:
        level = np.clip(below + share * (1.0 - below), 1e-12, _HIGHEST)
        return np.maximum(quantile(level), target)

    if amount == "mean":
        shares = (np.arange(_NODES) + 0.5) / _NODES
        hidden = np.mean([beyond(float(share)) for share in shares], axis=0)
    else:
        hidden = beyond(float(amount))
    return np.maximum(target + chance * (hidden - target), target), chance


def _calendar_features(times: Any, labels: Any) -> Array:
    """Dummies of weekday and month, where times are dates, and of the series if given.

    Of each kind one dummy is left out, and those with few rows are not told apart.
    """
    columns = []
    if np.issubdtype(times.dtype, np.datetime64):
        days = times.astype("datetime64[D]")
        columns.append((days.astype(np.int64) - 4) % 7)
        columns.append(days.astype("datetime64[M]").astype(np.int64) % 12)
    if labels is not None:
        columns.append(np.unique(labels, return_inverse=True)[1])
    parts = [np.empty((len(times), 0))]
    for codes in columns:
        names, count = np.unique(codes, return_counts=True)
        often = names[count >= _FEWEST]
        parts.append(codes[:, None] == (often[1:] if often.size == names.size else often))
    dummies = np.column_stack(parts).astype(np.float64)
    # a model needs a feature: one that says nothing does no harm
    return dummies if dummies.shape[1] else np.zeros((len(times), 1))
