"""Training the model that a rule is given, for rules that must see what a band does to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from sklearn.base import clone

from unmet.arrays import Array, Band, Features, common_rows
from unmet.costs import Cost, HingeCost
from unmet.errors import Unsupported
from unmet.rows import Rows
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem

Prediction = TypeVar("Prediction")
Found = TypeVar("Found", covariant=True)


@dataclass(frozen=True)
class LinearRule:
    """Decisions of the exact linear program."""

    coefficients: Array
    intercept: float

    def predict(self, X: Features) -> Array:
        """Decide for each row."""
        return np.asarray(X @ self.coefficients + self.intercept)


@dataclass(frozen=True)
class Trainer:
    """Fits copies of an estimator; without one, linear decisions by the exact solver.

    Attributes
    ----------
    rule : str
        Who trains, for the sentence of the error.
    estimator : estimator or None
        Any that has ``fit(X, y)`` and ``predict(X)``; where it has parameters ``cost`` and
        ``band``, they are set.
    """

    rule: str
    estimator: Any = None

    def train(self, rows: Rows, band: Band | None = None) -> Any:
        """Fit on some rows, with their cost, weights and a band; what is given back predicts."""
        if self.estimator is None:
            if not isinstance(rows.cost, HingeCost):
                raise Unsupported(
                    f"{self.rule} without a model solves a linear program, and "
                    f"{type(rows.cost).__name__} has no slopes: give the rule to a model, as band=."
                )
            problem = HingeProblem(rows.features, replace(rows, band=band).kinks())
            solution = solve_exact(problem)
            return LinearRule(solution.coefficients, solution.intercept)
        model = clone(self.estimator)
        known = model.get_params(deep=False)
        if "cost" in known:
            model.set_params(cost=rows.cost)
        if band is not None:
            if "band" not in known:
                name = type(model).__name__
                raise Unsupported(f"{self.rule} needs a model that takes a band, got {name}.")
            model.set_params(band=band)
        weight = {} if rows.share is None else {"sample_weight": rows.share}
        return model.fit(rows.features, rows.observation, **weight)


class PredictionSearch(Protocol[Found]):
    """Looks for the answer to a cost."""

    def run(self, cost: Cost) -> Found:
        """Search for one cost."""


class PredictionsByCost(Generic[Prediction]):
    """What a rule has learned, cost by cost, for rules that must search again for another cost.

    Costs that differ by row belong to the rows of `fit`; all that can be said for the costs of
    other rows is what was learned from those.

    Parameters
    ----------
    rule : str
        Who learns, for the sentence of the error.
    search : PredictionSearch
        From a cost to an answer.
    """

    def __init__(self, rule: str, search: PredictionSearch[Prediction]) -> None:
        self._rule = rule
        self._search = search
        # pairs, not a dictionary: costs are no keys in the formats that models are saved in
        self._answers: list[tuple[Cost | None, Prediction]] = []

    def first(self, cost: Cost) -> Prediction:
        """Learn from the cost of `fit`."""
        answer = self._search.run(cost)
        self._answers.append((_key(cost), answer))
        return answer

    def of(self, cost: Cost) -> Prediction:
        """Look up a cost, and learn from it where it is new."""
        key = _key(cost)
        for known, answer in self._answers:
            if known == key:
                return answer
        if key is None:
            raise Unsupported(
                f"{self._rule} has learned from one cost for all rows and knows nothing of costs "
                "that differ by row: fit it with them."
            )
        return self.first(cost)


def _key(cost: Cost) -> Cost | None:
    return cost if common_rows(cost.parameters()) is None else None
