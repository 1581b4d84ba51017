"""The contract of a band rule: what is known goes in, a band for any rows comes out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Self

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array, Band, Features, Limits, PerRow, common_rows
from unmet.bands.diagnosis import Diagnosis
from unmet.costs import Cost
from unmet.errors import InvalidInput, Unsupported
from unmet.rows import read_column, read_features, read_weights

# --- What a band rule learns from: rows that count, and what is known about each of them.


@dataclass(frozen=True)
class Sample:
    """Checked rows, those without weight left out.

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_features), or csr_array
    observation : ndarray of shape (n_rows,)
    cost : Cost
        Its parameters are numbers, or have one entry per row.
    share : ndarray of shape (n_rows,) or None
        Positive weights that sum to one; None where all rows count the same.
    censored : ndarray of shape (n_rows,) or None
        1 where the truth is known to be at least the observation, 0 where it is the observation,
        NaN where nobody knows; None where nothing is known of any row. Stock is already used.
    stock : ndarray of shape (n_rows,) or None
        What was available; NaN where not known.
    time, series : ndarray of shape (n_rows,) or None
        As given.
    limits : Limits or None
        Between what each truth lies, where that is more than flags can say.
    """

    features: Features
    observation: Array
    cost: Cost
    share: Array | None = None
    censored: Array | None = None
    stock: Array | None = None
    time: NDArray[Any] | None = None
    series: NDArray[Any] | None = None
    limits: Limits | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.observation.size

    @property
    def weight(self) -> Array:
        """Weight of each row, one on average."""
        return np.ones(self.n_rows) if self.share is None else self.share * self.n_rows

    @property
    def all_known(self) -> bool:
        """Whether for every row it is known if it is censored."""
        if self.limits is not None:
            return True
        return self.censored is not None and not np.isnan(self.censored).any()

    @classmethod
    def read(
        cls,
        cost: Cost,
        X: Any,
        s: Any,
        *,
        sample_weight: ArrayLike | None = None,
        censored: Any = None,
        stock: Any = None,
        time: Any = None,
        series: Any = None,
    ) -> Sample:
        """Read what a rule is given; each error is one sentence."""
        features = read_features(X)
        n_rows = features.shape[0]
        observation = read_column("y", s, n_rows)
        share = read_weights(sample_weight, n_rows)
        available = None if stock is None else read_missing("stock", stock, n_rows, endless=True)
        limits, flags = None, None
        if isinstance(censored, Limits):
            flags, limits = _read_limits(censored, observation, available)
        elif censored is not None:
            flags = read_flags("censored", censored, n_rows)
        common_rows({"y": observation, **cost.parameters()})
        if available is not None and limits is None:
            flags = _with_stock(flags, observation, available)
        sample = cls(
            features,
            observation,
            cost,
            share,
            None if flags is None or np.isnan(flags).all() else flags,
            available,
            None if time is None else _read_any("time", time, n_rows),
            None if series is None else _read_any("series", series, n_rows),
            limits,
        )
        if share is None or share.all():
            return sample
        return sample.take(np.flatnonzero(share))

    def take(self, index: NDArray[np.intp]) -> Sample:
        """Keep some rows, their shares summing to one again."""
        values = {}
        for field in fields(self):
            value = getattr(self, field.name)
            keeps = value is None or isinstance(value, PerRow)
            values[field.name] = value if keeps else value[index]
        values["cost"] = self.cost.take(index)
        values["limits"] = None if self.limits is None else self.limits.take(index)
        if self.share is not None:
            values["share"] = values["share"] / values["share"].sum()
        return Sample(**values)


def _read_limits(
    limits: Limits, observation: Array, stock: Array | None
) -> tuple[Array | None, Limits | None]:
    """Read flags, where limits say no more than those; otherwise the limits."""
    _check_length("censored", limits.n_rows, observation.size)
    flags = limits.flags(observation)
    if flags is not None:
        return flags, None
    if stock is not None:
        raise InvalidInput(
            "stock and limits of the truth cannot both be given, got both: put what the stock "
            "says into the limits."
        )
    wrong = (limits.lower == limits.upper) & (limits.lower != observation)
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidInput(
            "y must be the truth where both limits are the same, "
            f"got y {observation[row]:g} and limits {limits.lower[row]:g} in row {row}."
        )
    return None, limits


def read_missing(name: str, value: Any, n_rows: int, *, endless: bool = False) -> Array:
    """Column of numbers in which None and NaN stand for what is not known; `endless` allows inf."""
    column = np.array([np.nan if _is_missing(v) else _number(name, v) for v in _entries(value)])
    _check_length(name, column.size, n_rows)
    wrong = np.isinf(column) & ~(endless & (column > 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidInput(f"{name} must hold finite numbers, got {column[row]} in row {row}.")
    return column


def read_flags(name: str, value: Any, n_rows: int) -> Array:
    """1 for true, 0 for false, NaN for missing."""
    array = np.asarray(value)
    if array.dtype.kind == "b" and array.ndim == 1:
        flags = array.astype(np.float64)
        _check_length(name, flags.size, n_rows)
        return flags
    flags = read_missing(name, value, n_rows)
    wrong = ~(np.isnan(flags) | (flags == 0) | (flags == 1))
    if wrong.any():
        row = int(wrong.argmax())
        raise InvalidInput(
            f"{name} must be True, False or missing, got {flags[row]:g} in row {row}."
        )
    return flags


def _with_stock(flags: Array | None, observation: Array, stock: Array) -> Array:
    """Fill in what stock says where no flag does."""
    # Sums of fractions differ in the last digits; a hundred-millionth is no sale.
    slack = 1e-8 * np.fmax(np.abs(observation), np.where(np.isinf(stock), 0.0, np.abs(stock)))
    with np.errstate(invalid="ignore"):
        above = observation > stock + slack
        sold_out = np.where(np.isnan(stock), np.nan, observation >= stock - slack)
    if above.any():
        row = int(above.argmax())
        raise InvalidInput(
            f"stock must not be below the observation, got stock {stock[row]:g} "
            f"and observation {observation[row]:g} in row {row}."
        )
    return sold_out if flags is None else np.where(np.isnan(flags), sold_out, flags)


def _read_any(name: str, value: Any, n_rows: int) -> NDArray[Any]:
    """Column of any type: dates, names or numbers."""
    array = (
        nw.from_native(value, series_only=True).to_numpy()
        if nw.dependencies.is_into_series(value)
        else np.asarray(value)
    )
    if array.ndim != 1:
        raise InvalidInput(f"{name} must have one entry per row, got shape {array.shape}.")
    _check_length(name, array.size, n_rows)
    return array


def _check_length(name: str, count: int, n_rows: int) -> None:
    if count != n_rows:
        raise InvalidInput(
            f"{name} must have one entry per row of X, got {count} for {n_rows} rows."
        )


def _entries(value: Any) -> Iterable[Any]:
    if nw.dependencies.is_into_series(value):
        entries: Iterable[Any] = nw.from_native(value, series_only=True).to_list()
        return entries
    array = np.asarray(value, dtype=object)
    if array.ndim != 1:
        raise InvalidInput(f"Flags and stock must be columns, got shape {array.shape}.")
    return list(array)


def _is_missing(entry: Any) -> bool:
    if entry is None or type(entry).__name__ == "NAType":
        return True
    return isinstance(entry, float | np.floating) and bool(np.isnan(entry))


def _number(name: str, entry: Any) -> float:
    try:
        return float(entry)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must hold numbers or be missing, got {entry!r}.") from None


# --- The contract of a band rule: what is known goes in, a band for any rows comes out.


class BandRule(BaseEstimator, ABC):
    """How far the truth may lie above an observation, learned from the observations.

    A rule of your own is one class with two methods: `_fit` learns from a checked `Sample` and
    returns a `Diagnosis`; `_band` gives the band of any rows for a cost. Constructor parameters are
    stored untouched, as scikit-learn asks. Every model takes a rule as ``band=``; it fits a copy of
    it and keeps the copy as ``band_rule_`` and its diagnosis as ``diagnosis_``.

    Attributes
    ----------
    diagnosis_ : Diagnosis
        What the data say about censoring, and how surely.
    cost_ : Cost
        The cost that `fit` was given.
    n_features_in_ : int
    """

    _takes_limits = False
    """Whether `_fit` learns from limits that flags cannot say."""
    cost_: Cost
    diagnosis_: Diagnosis
    n_features_in_: int

    @abstractmethod
    def _fit(self, sample: Sample, estimator: Any) -> Diagnosis:
        """Learn from rows that have weight; set fitted attributes; say what was found."""

    @abstractmethod
    def _band(self, features: Features, cost: Cost) -> Band:
        """Band of rows with these features, for a cost whose numbers are one, or one per row."""

    def fit(
        self,
        cost: Cost,
        X: Any,
        s: Any,
        *,
        sample_weight: ArrayLike | None = None,
        underage: ArrayLike | None = None,
        overage: ArrayLike | None = None,
        censored: Any = None,
        stock: Any = None,
        time: Any = None,
        series: Any = None,
        estimator: Any = None,
    ) -> Self:
        """Learn from features, observations and whatever else is known.

        Parameters
        ----------
        cost : Cost
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
        s : array-like of shape (n_rows,)
            Observations.
        sample_weight : array-like of shape (n_rows,), optional
        underage, overage : float or array-like of shape (n_rows,), optional
            Instead of those of `cost`.
        censored : array-like of shape (n_rows,), or Limits, optional
            True where the truth is known to be at least the observation, False where it is the
            observation, missing (None, NaN) where nobody knows. Or between what limits the truth of
            each row lies, such as ``Limits.offers(price, accepted)``.
        stock : array-like of shape (n_rows,), optional
            What was available; s ≥ stock means censored, s < stock seen. Missing allowed.
        time, series : array-like of shape (n_rows,), optional
            When an observation was made, and to which series it belongs.
        estimator : estimator, optional
            The model that will be trained, without its band; for rules that must refit it.

        Returns
        -------
        BandRule
            Itself.
        """
        if not isinstance(cost, Cost):
            raise InvalidInput(
                f"cost must be a Cost such as Newsvendor(underage=3, overage=1), got {cost!r}."
            )
        sample = Sample.read(
            cost.with_rows(underage=underage, overage=overage),
            X,
            s,
            sample_weight=sample_weight,
            censored=censored,
            stock=stock,
            time=time,
            series=series,
        )
        if sample.limits is not None and not self._takes_limits:
            raise Unsupported(
                f"{type(self).__name__} can only learn from truths that are seen or at least the "
                "observation, got limits of another kind: use LatentBand()."
            )
        self.cost_ = cost
        self.n_features_in_ = sample.features.shape[1]
        self.diagnosis_ = self._fit(sample, estimator)
        return self

    def diagnosis_for(self, cost: Cost) -> Diagnosis:
        """Diagnosis for another cost than that of `fit`; the same where the rule asks for none."""
        return self.diagnosis_

    def band(
        self,
        X: Any,
        *,
        cost: Cost | None = None,
        underage: ArrayLike | None = None,
        overage: ArrayLike | None = None,
        observation: Any = None,
    ) -> Band:
        """Band of any rows, in the units of the observation.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
        cost : Cost, optional
            Another one than `fit` was given: what was learned about the truth is used again.
        underage, overage : float or array-like of shape (n_rows,), optional
            Instead of those of the cost.
        observation : array-like of shape (n_rows,), optional
            Of these rows, where they are known. A rule that learned from limits of the truth then
            puts each decision where it belongs, whatever was observed; others do not ask.

        Returns
        -------
        Band
        """
        features, used = self._read(X, cost, underage, overage)
        if observation is None:
            return self._band(features, used)
        return self._band_at(
            features, used, read_column("observation", observation, features.shape[0])
        )

    def _band_at(self, features: Features, cost: Cost, observation: Array) -> Band:
        """Band of rows whose observations are known, too."""
        return self._band(features, cost)

    def _read(
        self,
        X: Any,
        cost: Cost | None,
        underage: ArrayLike | None,
        overage: ArrayLike | None,
    ) -> tuple[Features, Cost]:
        """Check rows against those of `fit`, and a cost against the rows."""
        check_is_fitted(self, "diagnosis_")
        features = read_features(X)
        n_rows, n_features = features.shape
        if n_features != self.n_features_in_:
            raise InvalidInput(
                f"X must have {self.n_features_in_} columns as in fit, got {n_features}."
            )
        used = (self.cost_ if cost is None else cost).with_rows(underage=underage, overage=overage)
        count = common_rows(used.parameters())
        if count is not None and count != n_rows:
            raise InvalidInput(
                f"The cost must be the same for all rows or have {n_rows} of them, got {count}."
            )
        return features, used
