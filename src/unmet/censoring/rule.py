"""The contract of a band rule: it learns from all that is known and gives a band for any rows.

`FixedBand` is the simplest rule. `TrainingRule` is the base class of rules that train the model.
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
    """Base class of rules that estimate a band from the observations.

    To write a rule of your own, derive from this class and define two methods. ``_fit(rows,
    estimator)`` learns from checked `Rows` and returns a `Diagnosis`. ``_band(features, cost)``
    returns the band of any rows. Store constructor parameters without changes, as scikit-learn
    requires. Every model takes a rule as ``band=``. It fits a copy, keeps the copy as
    ``band_rule_``, and shows the diagnosis as ``diagnosis_``.

    Attributes
    ----------
    diagnosis_ : Diagnosis
        Result of the rule.
    cost_ : Cost
        The cost that `fit` was given.
    n_features_in_ : int
        Number of features of the training rows.

    Examples
    --------
    A rule that adds 10% of the mean sales:

    >>> from unmet import Band, LinearDecision, Newsvendor
    >>> from unmet.censoring import BandRule, Diagnosis
    >>> class TenPercent(BandRule):
    ...     def _fit(self, rows, estimator):
    ...         self.shift_ = 0.1 * rows.observation.mean()
    ...         return Diagnosis("TenPercent", rows.n_rows, shift=self.shift_)
    ...
    ...     def _band(self, features, cost):
    ...         return Band(low=self.shift_, high=self.shift_)
    >>> model = LinearDecision(Newsvendor(1, 1), band=TenPercent())
    >>> model.fit([[0.0], [0.0], [0.0]], [9.0, 10.0, 11.0]).predict([[0.0]])
    array([11.])
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
        """Learn from features, observations and everything else that is known.

        Parameters
        ----------
        cost : Cost
            Cost of decisions.
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
            Features.
        s : array-like of shape (n_rows,)
            Observations, such as sales.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows. None weights all rows equally.
        underage, overage : float or array-like of shape (n_rows,), optional
            Costs that replace those of `cost`. None keeps those of `cost`.
        censored : array-like of shape (n_rows,), or Limits, optional
            True if the truth is at least the observation, False if the truth is the observation, a
            probability in between (`unmet.censoring.hours` gives such), and None or NaN if unknown.
            `Limits` give a lower and an upper limit of each truth, such as ``Limits.offers(price,
            accepted)``.
        stock : array-like of shape (n_rows,), optional
            Available stock. s ≥ stock means censored, s < stock means seen, NaN means unknown.
        time, series : array-like of shape (n_rows,), optional
            Date and series of each observation. `LatentBand` searches them for an order rule.
        estimator : estimator, optional
            The model that will be trained, without its band. Rules that must refit the model need
            it.

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
        """Learn from checked rows at their own costs; models call this method.

        Parameters
        ----------
        rows : Rows
            Training rows. Rows of weight zero are allowed.
        cost : Cost
            Cost that `band` uses by default.
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
        """Give what a saved rule holds, without costs that have one number per row."""
        kept: Any = self.__getstate__()
        state: dict[str, Any] = dict(kept)
        if "cost_" in state:
            state["cost_"] = self.cost_.take(np.empty(0, dtype=np.intp))
        return state

    def diagnosis_for(self, cost: Cost) -> Diagnosis:
        """Give the diagnosis for another cost; unchanged if the rule ignores costs."""
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
        """Give the band of any rows, in the units of the observation.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
            Features.
        cost : Cost, optional
            Another cost than that of `fit`. The rule reuses what it learned about the truth. None
            takes the cost of `fit`.
        underage, overage : float or array-like of shape (n_rows,), optional
            Costs that replace those of the cost. None keeps those of the cost.
        observation : array-like of shape (n_rows,), optional
            Observations of these rows, if known. A rule that learned from limits then puts each
            decision at its target, whatever was observed. Other rules ignore them.

        Returns
        -------
        Band
            Low and high of each row.
        """
        features, used = self._read(X, cost, underage, overage)
        if observation is None:
            return self._band(features, used)
        return self._band_at(
            features, used, read_column("observation", observation, features.shape[0])
        )

    def band_rows(self, rows: Rows) -> Band:
        """Give the band of checked rows at their cost; models call this method."""
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
    """The same band for every row.

    Parameters
    ----------
    low, high : float, default=0.0
        Ends of the band above the observation: ε₂ and ε₁ of the paper. Larger values give larger
        decisions.
    scaled : bool, default=False
        Whether low and high are shares of the range of the observations, as in the paper's tables.

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
    """Base class of rules that train the model, and search again for another cost.

    `_fit` calls `_learn`, and `_band` calls `_found`. Costs that differ by row belong to the
    training rows. For the costs of other rows, the rule only knows what it learned from those.
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
