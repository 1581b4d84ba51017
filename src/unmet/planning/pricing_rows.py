"""What decisions cost: on the truth, on its law as estimated, or on the observations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array
from unmet.costs import AgeReplacement, Cost
from unmet.errors import InvalidInput
from unmet.evaluation import fill_rate, realised_revenue, service_level
from unmet.planning.results import Basis, MethodCost

_LEVELS = (np.arange(41) + 0.5) / 41  # of the law: a mean over them is an expectation


@dataclass(frozen=True)
class Judge:
    """Prices decisions of the same rows, whoever made them.

    Attributes
    ----------
    cost : Cost
        With the numbers of these rows, where they differ.
    truth : ndarray of shape (n_rows,) or (n_levels, n_rows)
        The truth, the observations, or equally likely values of the truth of each row.
    basis : {"truth", "estimate", "observation"}
    revenue : bool
        Whether minus the revenue above `unit_cost` is the cost.
    """

    cost: Cost
    truth: Array
    basis: Basis
    revenue: bool = False
    unit_cost: float = 0.0

    def mean_cost(self, decision: Array, rows: Any = slice(None)) -> float:
        """Mean cost of some rows."""
        values, chosen = np.atleast_2d(self.truth)[:, rows], decision[rows]
        if self.revenue:
            each = [realised_revenue(chosen, value, unit_cost=self.unit_cost) for value in values]
            return -float(np.mean(each))
        if isinstance(self.cost, AgeReplacement):
            everywhere = np.broadcast_to(chosen, values.shape).ravel()
            return float(self.cost.rate_of(everywhere, values.ravel()))
        cost = self.cost.take(np.arange(decision.size)[rows])
        return float(np.mean([cost.cost(chosen, value).mean() for value in values]))

    def price(
        self, method: str, label: str, decision: Array, folds: Sequence[NDArray[np.intp]] = ()
    ) -> MethodCost:
        """Measures of one method; shares only where the truth is known."""
        known = self.basis == "truth"
        finite = bool(np.isfinite(decision).all())
        orders = known and finite and not self.revenue
        plain = orders and not isinstance(self.cost, AgeReplacement)
        return MethodCost(
            method=method,
            label=label,
            cost=self.mean_cost(decision),
            decision=float(np.mean(decision)),
            service_level=service_level(decision, self.truth) if orders else None,
            fill_rate=fill_rate(decision, self.truth) if plain and self.truth.sum() > 0 else None,
            by_fold=tuple(self.mean_cost(decision, fold) for fold in folds),
        )


def expected_truth(rule: Any, features: Any) -> Array:
    """Equally likely values of the truth of each row under the law that a rule has learned."""
    if not callable(getattr(rule, "quantile_function", None)):
        raise InvalidInput("Pricing on an estimate needs the law of a LatentBand, got none.")
    quantile = rule.quantile_function(features)
    return np.stack([quantile(float(level)) for level in _LEVELS])
