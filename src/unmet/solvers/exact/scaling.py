"""ℓ1 by the same machinery: one hinge at zero per penalised coefficient."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, qr, solve_triangular

from unmet.solvers.problem import Factor, Hinges, Operator

# --- Means of columns that are exact where it matters.

Array = NDArray[np.float64]

_CHUNK = 1 << 18  # entries of the features looked at together: 2 MB


def column_means(features: Array, share: Array | None = None) -> Array:
    """Mean of each column, with no rounding error for a constant one.

    A plain sum of 100,000 times 0.1 is off by 2e-12 of itself. Centring by that leaves a column of
    constant rounding errors, and scaling makes it look like any other column.

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_features)
    share : ndarray of shape (n_rows,), optional
        Weights that sum to one.

    Returns
    -------
    ndarray of shape (n_features,)

    Examples
    --------
    >>> column_means(np.full((100_000, 1), 0.1)) - 0.1
    array([0.])
    """
    n_rows, n_features = features.shape
    first, total = features[0], np.zeros(n_features)
    size = max(1, _CHUNK // max(n_features, 1))
    for start in range(0, n_rows, size):
        part = slice(start, start + size)
        deviation = features[part] - first
        total += deviation.sum(axis=0) / n_rows if share is None else share[part] @ deviation
    mean: Array = first + total
    return mean


# --- The coordinates in which a problem is solved: centred and scaled features, explicit
# intercept.

_CORRELATED = 0.02  # smallest share of a column's spread that the columns before leave unexplained
_DEPENDENT = 1e-11  # the same, below which a column counts as explained
_TINY = 1e-140


@dataclass(frozen=True)
class Frame:
    """An affine change of coordinates of the features.

    Any centre, scale and basis give the same decisions, so they may come from a sample of the
    rows. The last parameter is the intercept, if there is one.

    Attributes
    ----------
    centre, scale : ndarray of shape (n_features,)
    intercept : bool
    basis : ndarray of shape (n_features, rank) or None
        Directions in the scaled features; None for the features themselves.
    """

    centre: Array
    scale: Array
    intercept: bool
    basis: Array | None = None

    @classmethod
    def of(cls, features: Array, intercept: bool) -> Frame:
        """Centre (only with an intercept) and scale taken from these rows."""
        n_features = features.shape[1]
        if intercept:
            centre = column_means(features)
            deviation = features - centre
        else:
            centre = np.zeros(n_features)
            deviation = features
        scale = _root_mean_square(deviation)
        if not (np.isfinite(scale) & (scale > _TINY)).all():  # squares overflowed or vanished
            peak = np.abs(deviation).max(axis=0)
            peak[~(peak > 0)] = 1.0
            scale = peak * _root_mean_square(deviation / peak)
        # What is left of a constant column after centring is rounding, not information.
        noise = 1e-14 * np.abs(centre)
        return cls(
            centre, np.where(scale > noise, scale, np.maximum(np.abs(centre), 1.0)), intercept
        )

    @property
    def n_parameters(self) -> int:
        """Number of coefficients, the intercept included."""
        inner = len(self.centre) if self.basis is None else self.basis.shape[1]
        return inner + int(self.intercept)

    def orthogonal(self, features: Array, *, all_rows: bool) -> tuple[Frame, Array]:
        """Return this frame with nearly uncorrelated directions, if needed, and its design.

        Strongly correlated columns would cost digits in the normal matrix. A column that depends
        on others is dropped if these are all the rows there are: it cannot change a decision.
        In a sample it must stay, for other rows may tell the columns apart.
        """
        design = self.design(features)
        rows = design[:, : len(self.centre)]
        gram = rows.T @ rows / len(rows)
        gram.flat[:: len(gram) + 1] += 1e-14
        factor, info = lapack.dpotrf(gram, lower=1)
        if info == 0 and factor.diagonal().min(initial=1.0) > _CORRELATED:
            return self, design
        triangle, order = qr(rows, mode="r", pivoting=True)
        size = np.abs(triangle.diagonal())
        rank = int(np.count_nonzero(size > _DEPENDENT * size.max(initial=0.0)))
        if rank == 0:  # nothing varies: there is only the intercept to find
            return self, design
        inverse = solve_triangular(triangle[:rank, :rank], np.eye(rank) * np.sqrt(len(rows)))
        dependent = order[rank:]
        basis = np.zeros((len(self.centre), rank if all_rows else len(self.centre)))
        basis[order[:rank], :rank] = inverse
        if not all_rows:
            basis[dependent, np.arange(rank, len(self.centre))] = 1.0
        found = replace(self, basis=basis)
        return found, found.design(features)

    def design(self, features: Array) -> Array:
        """Rows of the features in this frame, with a column of ones for the intercept."""
        if self.basis is not None:
            scaled = (features - self.centre if self.intercept else features) / self.scale
            directions: Array = scaled @ self.basis
            if not self.intercept:
                return directions
            return np.column_stack([directions, np.ones(len(directions))])
        n_features = len(self.centre)
        rows = np.empty((len(features), self.n_parameters))
        inner = rows[:, :n_features]
        if self.intercept:
            np.subtract(features, self.centre, out=inner)
            inner /= self.scale
            rows[:, n_features] = 1.0
        else:
            np.divide(features, self.scale, out=inner)
        return rows

    def to_raw(self, theta: Array) -> tuple[Array, float]:
        """Coefficients and intercept for the features as given."""
        inner = theta[: self.n_parameters - int(self.intercept)]
        coefficients = (inner if self.basis is None else self.basis @ inner) / self.scale
        if not self.intercept:
            return coefficients, 0.0
        return coefficients, float(theta[-1] - self.centre @ coefficients)

    def gradient(self, moments: Array, total: float) -> Array:
        """Turn Σ y_i x_i and Σ y_i into a gradient in the parameters of this frame."""
        inner = (moments - total * self.centre if self.intercept else moments) / self.scale
        if self.basis is not None:
            inner = inner @ self.basis
        return np.append(inner, total) if self.intercept else inner

    def penalties(self, per_coefficient: Array | None, power: int) -> Array | None:
        """Weigh |θ_j|^power in this frame (without a basis); zero for the intercept."""
        if per_coefficient is None:
            return None
        weights = np.zeros(self.n_parameters)
        weights[: len(self.centre)] = per_coefficient / self.scale**power
        return weights

    def ridge(self, per_coefficient: Array | None) -> Array | None:
        """Return ρ of the interior point, which charges ½ρθ²: twice the ridge penalty."""
        weights = self.penalties(per_coefficient, 2)
        return None if weights is None else 2 * weights


def _root_mean_square(columns: Array) -> Array:
    result: Array = np.sqrt(np.einsum("ij,ij->j", columns, columns) / len(columns))
    return result


# --- ℓ1 by the same machinery: one hinge at zero per penalised coefficient.

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
