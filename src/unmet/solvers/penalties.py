"""ℓ1 by the same machinery: one hinge at zero per penalised coefficient."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Settled:
    """Penalties of coefficients that are too far from zero to reach it, as straight lines.

    Their hinges are the far kinks of the penalty. Left open, they would be most of the cost of a
    reduced problem, and its barrier would start much too wide for the near kinks.

    Attributes
    ----------
    lasso, rest : ndarray of shape (n_parameters,)
        All penalties, and those that stay hinges.
    slope : ndarray of shape (n_parameters,)
        lasso_j with the sign of θ_j where that is settled, else 0.
    cost : float
        What these penalties cost at θ.
    """

    lasso: Array
    rest: Array
    slope: Array
    cost: float

    @classmethod
    def of(cls, theta: Array, lasso: Array, distance: float) -> Settled | None:
        """Settle the signs of coefficients farther from zero than a distance; None if none is."""
        far = (np.abs(theta) > distance) & (lasso > 0)
        if not far.any():
            return None
        slope = np.where(far, np.copysign(lasso, theta), 0.0)
        return cls(lasso, np.where(far, 0.0, lasso), slope, float(slope @ theta))

    def holds(self, theta: Array) -> bool:
        """Whether the signs are still the same."""
        return bool((self.slope * theta >= 0).all())

    def with_all(self, dual: Array) -> Array:
        """Complete multipliers of a problem with the rest to those of all penalties.

        The slope of a hinge that has become a line is its multiplier.
        """
        penalised, open_ = np.flatnonzero(self.lasso), np.flatnonzero(self.rest)
        values = self.slope.copy()
        values[open_] = dual[len(dual) - len(open_) :]
        return np.concatenate([dual[: len(dual) - len(open_)], values[penalised]])
