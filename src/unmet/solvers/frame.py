"""The coordinates in which a problem is solved: centred and scaled features, explicit intercept."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, qr, solve_triangular

from unmet.solvers.centring import column_means

Array = NDArray[np.float64]

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
