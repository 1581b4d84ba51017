"""Fit the models of several groups: what one task of a run does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from unmet.band import Array
from unmet.models.base import DecisionModel
from unmet.models.linear import LinearDecision
from unmet.models.parameters import read_method
from unmet.models.threads import one_blas_thread
from unmet.models.training import Method, Observed
from unmet.scale.grouped_rows import Panel, Rows

Own = tuple[Array, float, float] | DecisionModel
"""Coefficients, intercept and objective; or a fitted model that is not linear."""


@dataclass(frozen=True)
class Fitted:
    """What came of some groups.

    Attributes
    ----------
    sentence : ndarray of shape (n_groups,), str
        Why a fit failed; empty where it did not.
    coef : ndarray of shape (n_groups, n_features), or None where models are not linear
    intercept, objective : ndarray of shape (n_groups,)
        NaN where a fit failed.
    models : list of DecisionModel or None, one per group
        Empty where models are linear.
    """

    sentence: NDArray[np.str_]
    coef: Array | None
    intercept: Array
    objective: Array
    models: list[DecisionModel | None]

    @classmethod
    def of(cls, found: list[Own | str], n_features: int, linear: bool) -> Fitted:
        """Put the answers of groups side by side."""
        nothing = (np.full(n_features, np.nan), np.nan, np.nan)
        rows = [each if isinstance(each, tuple) else nothing for each in found]
        return cls(
            np.array([each if isinstance(each, str) else "" for each in found], dtype=np.str_),
            np.array([row[0] for row in rows]).reshape(-1, n_features) if linear else None,
            np.array([row[1] for row in rows]),
            np.array([row[2] for row in rows]),
            [] if linear else [e if isinstance(e, DecisionModel) else None for e in found],
        )

    @classmethod
    def join(cls, parts: list[Fitted]) -> Fitted:
        """Put parts one after the other."""
        linear = parts[0].coef is not None
        return cls(
            np.concatenate([part.sentence for part in parts]),
            np.concatenate([part.coef for part in parts if part.coef is not None])
            if linear
            else None,
            np.concatenate([part.intercept for part in parts]),
            np.concatenate([part.objective for part in parts]),
            [model for part in parts for model in part.models],
        )

    def spread(self, places: NDArray[np.intp], n_groups: int) -> Fitted:
        """Put each entry at its place among all groups; the others have no model."""
        sentence = np.zeros(n_groups, dtype=self.sentence.dtype)
        sentence[places] = self.sentence
        models: list[DecisionModel | None] = []
        if self.coef is None:
            models = [None] * n_groups
            for place, model in zip(places.tolist(), self.models, strict=True):
                models[place] = model
        return Fitted(
            sentence,
            None if self.coef is None else _spread(self.coef, places, n_groups),
            _spread(self.intercept, places, n_groups),
            _spread(self.objective, places, n_groups),
            models,
        )


def _spread(values: Array, places: NDArray[np.intp], n_groups: int) -> Array:
    whole = np.full((n_groups, *values.shape[1:]), np.nan)
    whole[places] = values
    return whole


@dataclass(frozen=True)
class Fitter:
    """Fits a copy of one model to the rows of a group.

    Attributes
    ----------
    model : DecisionModel
        Not fitted.
    own_rule : bool
        Whether every group learns its own band with the rule of the model.
    """

    model: DecisionModel
    own_rule: bool

    @property
    def linear(self) -> bool:
        """Whether answers are coefficients."""
        return type(self.model) is LinearDecision

    def fit_each(self, panel: Panel) -> Fitted:
        """Fit every group; what fails is kept as a sentence."""
        with one_blas_thread():
            found = [self._attempt(rows) for rows in panel.each()]
        return Fitted.of(found, panel.rows.features.shape[1], self.linear)

    def decide_held_out(self, panel: Panel, folds: NDArray[np.int64]) -> Array:
        """Decisions for each row by its group's model without the rows of its fold.

        NaN where that could not be fitted.
        """
        decision = np.full(len(panel.rows), np.nan)
        with one_blas_thread():
            for start, rows in zip(panel.starts[:-1].tolist(), panel.each(), strict=True):
                fold = folds[start : start + len(rows)]
                for number in np.unique(fold).tolist():
                    held = fold == number
                    own = self._attempt(rows.take(~held))
                    if not isinstance(own, str):
                        decision[start + np.flatnonzero(held)] = _decide(own, rows.features[held])
        return decision

    def _attempt(self, rows: Rows) -> Own | str:
        """Fit, or say why not: one group must not end the run of ten thousand."""
        try:
            return self._fit(rows)
        except Exception as error:  # whatever a model of any kind raises
            return " ".join(str(error).split()) or type(error).__name__

    def _fit(self, rows: Rows) -> Own:
        if isinstance(self.model, LinearDecision) and self.linear and not self.own_rule:
            return _solve(read_method(self.model), rows)
        model = clone(self.model).set_params(cost=rows.cost)
        if not self.own_rule:
            model.set_params(band=rows.band)
        model.fit(rows.features, rows.observation, sample_weight=rows.weight, **rows.known)
        if isinstance(model, LinearDecision) and self.linear:
            return model.coef_, model.intercept_, model.solution_.objective
        fitted: DecisionModel = model
        return fitted


def _solve(method: Method, rows: Rows) -> tuple[Array, float, float]:
    """Do what `LinearDecision.fit` does to rows that have been checked: the same answer, sooner."""
    observed = Observed.of(rows.features, rows.observation, rows.weight, at_least=2)
    solution = method.solve(observed.priced(rows.cost, rows.band))
    return solution.coefficients, solution.intercept, solution.objective


def _decide(own: Own, features: Array) -> Array:
    if isinstance(own, tuple):
        return np.asarray(features @ own[0] + own[1])
    return own.predict(features)


def fit_part(fitter: Fitter, panel: Panel) -> Fitted:
    """Task of a worker."""
    return fitter.fit_each(panel)


def hold_out_part(fitter: Fitter, panel: Panel, folds: Any) -> Array:
    """Task of a worker."""
    return fitter.decide_held_out(panel, folds)
