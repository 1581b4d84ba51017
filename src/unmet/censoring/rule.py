"""The contract of a band rule: what is known goes in, a band for any rows comes out.

`FixedBand` is the simplest rule; `TrainingRule` is for those that train the model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array, Band, Features, common_rows
from unmet.censoring.model import Diagnosis
from unmet.costs import Cost, HingeCost
from unmet.costs.base import A_COST
from unmet.errors import InvalidInput, Unsupported
from unmet.rows import Rows, read_column, read_features
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem


class BandRule(BaseEstimator, ABC):
    """How far the truth may lie above an observation, learned from the observations.

    A rule of your own is one class with two methods: `_fit` learns from a checked `Rows` and
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
    def _fit(self, rows: Rows, estimator: Any) -> Diagnosis:
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
            observation, a number between where that has some probability (`unmet.censoring.hours`),
            missing (None, NaN) where nobody knows. Or between what limits the truth of
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
        A_COST("cost", cost)
        known = sample_weight, censored, stock, time, series
        rows = Rows.read(cost.with_rows(underage=underage, overage=overage), X, s, *known)
        return self.fit_rows(rows, cost, estimator=estimator)

    def fit_rows(self, rows: Rows, cost: Cost, *, estimator: Any = None) -> Self:
        """Learn from rows that have been read, at their own costs: what models call.

        Parameters
        ----------
        rows : Rows
            Those without weight may be among them.
        cost : Cost
            What `band` takes where it is told of no other.
        estimator : estimator, optional
            As in `fit`.
        """
        if rows.limits is not None and not self._takes_limits:
            raise Unsupported(
                f"{type(self).__name__} can only learn from truths that are seen or at least the "
                "observation, got limits of another kind: use LatentBand()."
            )
        self.cost_ = cost
        self.n_features_in_ = rows.features.shape[1]
        self.diagnosis_ = self._fit(rows.counted().settled(), estimator)
        return self

    def to_state(self) -> dict[str, Any]:
        """Give what a saved rule holds; of a cost with one number per row none of these."""
        kept: Any = self.__getstate__()
        state: dict[str, Any] = dict(kept)
        if "cost_" in state:
            state["cost_"] = self.cost_.take(np.empty(0, dtype=np.intp))
        return state

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

    def band_rows(self, rows: Rows) -> Band:
        """Band of rows that have been read, at their cost: what models call."""
        return self._band_at(rows.features, rows.cost, rows.observation)

    def _band_at(self, features: Features, cost: Cost, observation: Array) -> Band:
        """Band of rows whose observations are known, too."""
        return self._band(features, cost)

    def _read(
        self, X: Any, cost: Cost | None, underage: ArrayLike | None, overage: ArrayLike | None
    ) -> tuple[Features, Cost]:
        """Check rows against those of `fit`, and a cost against the rows."""
        features = self._read_features(X)
        n_rows = features.shape[0]
        used = (self.cost_ if cost is None else cost).with_rows(underage=underage, overage=overage)
        count = common_rows(used.parameters())
        if count is not None and count != n_rows:
            raise InvalidInput(
                f"The cost must be the same for all rows or have {n_rows} of them, got {count}."
            )
        return features, used

    def _read_features(self, X: Any) -> Features:
        """Check rows against those of `fit`; what asks for no cost must not mind those of `fit`."""
        check_is_fitted(self, "diagnosis_")
        features = read_features(X)
        if features.shape[1] != self.n_features_in_:
            raise InvalidInput(
                f"X must have {self.n_features_in_} columns as in fit, got {features.shape[1]}."
            )
        return features


class FixedBand(BandRule):
    """The same two numbers for every row.

    Parameters
    ----------
    low, high : float, default=0.0
        ε₂ and ε₁.
    scaled : bool, default=False
        Whether they are shares of the range of the observations, as in the paper's tables.

    Examples
    --------
    >>> from unmet import FixedBand, Newsvendor
    >>> rule = FixedBand(low=0.01, high=0.2, scaled=True)
    >>> rule.fit(Newsvendor(3, 1), [[0], [1], [2]], [10, 20, 60]).band([[5]])
    Band(low=0.5, high=10.0)
    """

    def __init__(
        self, low: ArrayLike = 0.0, high: ArrayLike = 0.0, *, scaled: bool = False
    ) -> None:
        self.low = low
        self.high = high
        self.scaled = scaled

    def _fit(self, rows: Rows, estimator: Any) -> Diagnosis:
        if np.ndim(self.low) or np.ndim(self.high):
            raise InvalidInput(
                "low and high of a FixedBand must be numbers; for one per row use Band(low, high)."
            )
        if self.scaled:
            self.band_ = Band.scaled(self.low, self.high, rows.observation)
        else:
            self.band_ = Band(self.low, self.high)
        return Diagnosis(rule="FixedBand", n_rows=rows.n_rows, notes=("The band was given.",))

    def _band(self, features: Features, cost: Cost) -> Band:
        return self.band_


# --- Rules that must see what a band does to the model.


class LinearRule:
    """Decisions of the exact linear program."""

    def __init__(self, coefficients: Array, intercept: float) -> None:
        self.coefficients, self.intercept = coefficients, intercept

    def predict(self, X: Features) -> Array:
        """Decide for each row."""
        return np.asarray(X @ self.coefficients + self.intercept)


class TrainingRule(BandRule):
    """A rule that trains the model it is given, and searches again for another cost.

    `_fit` calls `_learn`, `_band` calls `_found`. Costs that differ by row belong to the rows of
    `fit`; all that can be said for the costs of other rows is what was learned from those.
    """

    @abstractmethod
    def _search(self, cost: Cost) -> Any:
        """Search for one cost, with `_train`, on `_rows`."""

    def _learn(self, rows: Rows, estimator: Any) -> Any:
        """Search for the cost of `fit`."""
        self._rows, self._estimator = rows, estimator
        found = self._search(rows.cost)
        # pairs, not a dictionary: costs are no keys in the formats that models are saved in
        self._searched: list[tuple[Cost | None, Any]] = [(_key(rows.cost), found)]
        return found

    def _found(self, cost: Cost) -> Any:
        """Look up a cost, and search where it is new."""
        key = _key(cost)
        for known, found in self._searched:
            if known == key:
                return found
        if key is None:
            raise Unsupported(
                f"{type(self).__name__} has learned from one cost for all rows and knows nothing "
                "of costs that differ by row: fit it with them."
            )
        self._searched.append((key, self._search(cost)))
        return self._searched[-1][1]

    def _train(self, rows: Rows, band: Band | None = None) -> Any:
        """Fit a copy of the estimator to rows, at their cost; what is given back predicts.

        An estimator has ``fit(X, y)`` and ``predict(X)``; where it has parameters ``cost`` and
        ``band``, they are set. Without one, decisions are linear, by the exact solver.
        """
        name = type(self).__name__
        if self._estimator is None:
            if not isinstance(rows.cost, HingeCost):
                raise Unsupported(
                    f"{name} without a model solves a linear program, and "
                    f"{type(rows.cost).__name__} has no slopes: give the rule to a model, as band=."
                )
            problem = HingeProblem(rows.features, replace(rows, band=band).kinks())
            solution = solve_exact(problem)
            return LinearRule(solution.coefficients, solution.intercept)
        model = clone(self._estimator)
        known = model.get_params(deep=False)
        if "cost" in known:
            model.set_params(cost=rows.cost)
        if band is not None:
            if "band" not in known:
                raise Unsupported(
                    f"{name} needs a model that takes a band, got {type(model).__name__}."
                )
            model.set_params(band=band)
        weight = {} if rows.share is None else {"sample_weight": rows.share}
        return model.fit(rows.features, rows.observation, **weight)


def _key(cost: Cost) -> Cost | None:
    return cost if common_rows(cost.parameters()) is None else None
