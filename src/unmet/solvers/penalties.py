"""ℓ1 by the same machinery: one hinge at zero per penalised coefficient."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unmet.solvers.hinges import Factor, Hinges, Operator

Array = NDArray[np.float64]

_INSIDE = 0.999


class WithLasso:
    """An operator followed by one row e_j for each penalised coefficient.

    The rows e_j add their weight to the diagonal of the normal matrix, which is the place where
    ridge stands too, so the inner operator needs to know nothing of them.
    """

    def __init__(self, inner: Operator, n_inner: int, penalised: NDArray[np.intp]) -> None:
        self.inner = inner
        self.n_inner = n_inner
        self.penalised = penalised
        self.n_parameters = inner.n_parameters
        self.n_coefficient_kinks = len(penalised)
        self.correctors = inner.correctors

    def decisions(self, theta: Array) -> Array:
        """Return the decisions, then the penalised coefficients."""
        return np.concatenate([self.inner.decisions(theta), theta[self.penalised]])

    def moments(self, values: Array) -> Array:
        """Return A'values."""
        result = self.inner.moments(values[: self.n_inner])
        result[self.penalised] += values[self.n_inner :]
        return result

    def leverage(self) -> Array:
        """Return that of the decisions, and 1 for the coefficients."""
        inner = np.broadcast_to(self.inner.leverage(), self.n_inner)
        return np.concatenate([inner, np.ones(len(self.penalised))])

    def subset(self, kinks: NDArray[np.intp]) -> WithLasso:
        """Return the operator of some kinks; all coefficient rows must be among the last."""
        inner = kinks[: len(kinks) - len(self.penalised)]
        return WithLasso(self.inner.subset(inner), len(inner), self.penalised)

    def factor(self, weights: Array, ridge: Array | None) -> Factor:
        """Factor with the weights of the coefficient rows on the diagonal."""
        diagonal = np.zeros(self.n_parameters) if ridge is None else ridge.copy()
        diagonal[self.penalised] += weights[self.n_inner :]
        return self.inner.factor(weights[: self.n_inner], diagonal)


def exact_zeros(theta: Array, dual: Array, lasso: Array | None) -> Array:
    """Set coefficients to zero whose multiplier proves that they are.

    At an optimum the multiplier of |θ_j| lies strictly inside ±lasso_j only where θ_j = 0; an
    interior point comes close to that zero but never reaches it.
    """
    if lasso is None or not lasso.any():
        return theta
    penalised = np.flatnonzero(lasso)
    inside = np.abs(dual[-len(penalised) :]) < _INSIDE * lasso[penalised]
    rounded = theta.copy()
    rounded[penalised[inside]] = 0.0
    return rounded


def add_lasso(operator: Operator, hinges: Hinges, lasso: Array | None) -> tuple[Operator, Hinges]:
    """Append the hinges lasso_j |θ_j| to a problem."""
    if lasso is None or not lasso.any():
        return operator, hinges
    penalised = np.flatnonzero(lasso)
    slopes = lasso[penalised]
    # The barrier of all penalties together never outweighs that of the rows: a strong penalty
    # would otherwise start the rows much too close to their kinks.
    weight = slopes * min(2.0, float(hinges.weight.sum() / slopes.sum()))
    joined = Hinges(
        np.concatenate([hinges.position, np.zeros(len(penalised))]),
        np.concatenate([hinges.below, slopes]),
        np.concatenate([hinges.above, slopes]),
        np.concatenate([hinges.weight, weight]),
    )
    return WithLasso(operator, len(hinges.position), penalised), joined
