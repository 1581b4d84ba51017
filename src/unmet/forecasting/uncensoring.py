"""A censored target, corrected before a forecaster learns from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import narwhals.stable.v1 as nw
import numpy as np
from sklearn.base import clone

from unmet.arrays import Array
from unmet.bands import Diagnosis, LatentBand
from unmet.costs import Cost, Newsvendor
from unmet.errors import InvalidInput
from unmet.forecasting.frames import Named, calendar_features, numbers, open_frame, table_of
from unmet.models.base import with_column
from unmet.rows import Rows, read_flags, read_missing

Amount = Literal["mean"] | float
_NODES = 49
_HIGHEST = 1.0 - 1e-9


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

    A fitted `LatentBand` knows the law of the truth of each row, and how probable it is that the
    row is censored. The target becomes y + p · (E(D | D > y) − y): untouched where the row is
    surely seen, the mean of what may have been where it is surely censored. It is never lowered.

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
        Fit a law for each series, rather than one for all with a level for each.
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
    >>> from unmet.forecasting import uncensor
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
    named = Named(id_col, time_col)
    opened = open_frame(frame, named, target_col, censored_col, stock_col, *(features or ()))
    if rule is not None and not isinstance(rule, LatentBand):
        raise InvalidInput(f"rule must be a LatentBand or None, got {rule!r:.60}.")
    _check_amount(amount)
    rows = _Rows.of(opened, named, target_col, features, censored_col, stock_col, by_series)
    used = LatentBand(random_state=0) if rule is None else rule
    priced = Newsvendor(1.0, 1.0) if cost is None else cost
    if by_series:
        parts, found = rows.parts(), {}
        target, probability = rows.target.copy(), np.zeros(rows.target.size)
        for label, index in parts.items():
            fitted = rows.take(index).fit(used, priced)
            target[index], probability[index] = rows.take(index).correct(fitted, amount)
            found[label] = fitted.diagnosis_
        diagnosis: Diagnosis | dict[Any, Diagnosis] = found
    else:
        fitted = rows.fit(used, priced)
        target, probability = rows.correct(fitted, amount)
        diagnosis = fitted.diagnosis_
    return _result(opened, target_col, rows.target, target, probability, diagnosis)


@dataclass(frozen=True)
class _Rows:
    """What is known of each row."""

    features: Array
    target: Array
    censored: Array | None
    stock: Array | None
    time: Any
    series: Any

    @classmethod
    def of(
        cls,
        frame: nw.DataFrame[Any],
        named: Named,
        target_col: str,
        features: Sequence[str] | None,
        censored_col: str | None,
        stock_col: str | None,
        by_series: bool,
    ) -> _Rows:
        n_rows = len(frame)
        table = (
            calendar_features(frame, named, series=not by_series)
            if features is None
            else table_of(frame, features)
        )
        flags = stock = None
        if censored_col is not None:
            flags = read_flags(censored_col, frame[censored_col].to_native(), n_rows)
        if stock_col is not None:
            stock = read_missing(stock_col, frame[stock_col].to_native(), n_rows, endless=True)
        times, labels = (frame[each].to_numpy() for each in (named.time_col, named.id_col))
        return cls(table, numbers(frame, target_col), flags, stock, times, labels)

    def parts(self) -> dict[Any, Any]:
        """Rows of each series."""
        labels, owner = np.unique(self.series, return_inverse=True)
        return {label: np.flatnonzero(owner == i) for i, label in enumerate(labels.tolist())}

    def take(self, index: Any) -> _Rows:
        """Keep some rows."""
        taken: dict[str, Any] = {k: None if v is None else v[index] for k, v in vars(self).items()}
        return _Rows(**taken)

    def fit(self, rule: LatentBand, cost: Cost) -> LatentBand:
        """Learn the law of the truth."""
        fitted: LatentBand = clone(rule).fit(
            cost,
            self.features,
            self.target,
            censored=self.censored,
            stock=self.stock,
            time=self.time,
            series=self.series,
        )
        return fitted

    def correct(self, rule: LatentBand, amount: Amount) -> tuple[Array, Array]:
        """Corrected targets, and the probability that each row is censored."""
        probability = self._probability(rule)
        below = 1.0 - rule.survival(self.features, self.target)
        quantile = rule.quantile_function(self.features)

        def beyond(share: float) -> Array:
            level = np.clip(below + share * (1.0 - below), 1e-12, _HIGHEST)
            return np.maximum(quantile(level), self.target)

        if amount == "mean":
            shares = (np.arange(_NODES) + 0.5) / _NODES
            hidden = np.mean([beyond(float(share)) for share in shares], axis=0)
        else:
            hidden = beyond(float(amount))
        corrected = self.target + probability * (hidden - self.target)
        return np.maximum(corrected, self.target), probability

    def _probability(self, rule: LatentBand) -> Array:
        """1 and 0 where it is known, otherwise what the law says of the observation."""
        rows = Rows.read(
            rule.cost_, self.features, self.target, censored=self.censored, stock=self.stock
        )
        flags = rows.censored
        chance = np.clip(rule.censored_probability(self.features, self.target), 0.0, 1.0)
        found = rule.fingerprint_
        if found is not None and found.accepted_:
            chance = np.where(np.isnan(found.censored_), chance, found.censored_)
        return chance if flags is None else np.where(np.isnan(flags), chance, flags)


def _check_amount(amount: Any) -> None:
    if isinstance(amount, str) and amount == "mean":
        return
    if isinstance(amount, bool) or not isinstance(amount, float | int) or not 0 < amount < 1:
        raise InvalidInput(
            f"amount must be 'mean' or a level strictly between 0 and 1, got {amount!r:.40}."
        )


def _result(
    frame: nw.DataFrame[Any],
    target_col: str,
    before: Array,
    after: Array,
    probability: Array,
    diagnosis: Diagnosis | dict[Any, Diagnosis],
) -> Uncensored:
    column = nw.new_series(target_col, after, backend=frame.implementation)
    changed = with_column(frame.with_columns(column), f"{target_col}_observed", before)
    changed = with_column(changed, f"{target_col}_censored", probability)
    total = float(np.abs(before).sum())
    return Uncensored(
        changed.to_native(),
        diagnosis,
        probability,
        float(probability.mean()),
        float((after - before).sum()) / total if total else 0.0,
    )
