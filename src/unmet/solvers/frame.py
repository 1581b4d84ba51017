"""The coordinates in which a problem is solved: centred and scaled features, explicit intercept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Frame:
    """An affine change of coordinates of the features.

    Any centre and scale give the same decisions, so both may come from a sample of the rows.
    The last parameter is the intercept, if there is one.

    Attributes
    ----------
    centre, scale : ndarray of shape (n_features,)
    intercept : bool
    """

    centre: Array
    scale: Array
    intercept: bool

    @classmethod
    def of(cls, features: Array, intercept: bool) -> Frame:
        """Centre (only with an intercept) and scale taken from these rows."""
        n_features = features.shape[1]
        if intercept:
            centre = features.mean(axis=0)
            deviation = features - centre
        else:
            centre = np.zeros(n_features)
            deviation = features
        scale = np.sqrt(np.einsum("ij,ij->j", deviation, deviation) / len(features))
        # What is left of a constant column after centring is rounding, not information.
        noise = 1e-14 * np.abs(centre)
        return cls(centre, np.where(scale > noise, scale, np.maximum(np.abs(centre), 1.0)), intercept)

    @property
    def n_parameters(self) -> int:
        """Number of coefficients, the intercept included."""
        return len(self.centre) + int(self.intercept)

    def design(self, features: Array) -> Array:
        """Rows of the features in this frame, with a column of ones for the intercept."""
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
        coefficients = theta[: len(self.centre)] / self.scale
        if not self.intercept:
            return coefficients, 0.0
        return coefficients, float(theta[-1] - self.centre @ coefficients)

    def from_raw(self, coefficients: Array, intercept: float) -> Array:
        """Inverse of `to_raw`."""
        theta = np.empty(self.n_parameters)
        theta[: len(self.centre)] = coefficients * self.scale
        if self.intercept:
            theta[-1] = intercept + self.centre @ coefficients
        return theta

    def gradient(self, moments: Array, total: float) -> Array:
        """Σ y_i x_i and Σ y_i, as a gradient with respect to the parameters of this frame."""
        if not self.intercept:
            return moments / self.scale
        return np.append((moments - total * self.centre) / self.scale, total)

    def penalties(self, per_coefficient: Array | None, power: int) -> Array | None:
        """Penalty weights on |θ_j|^power in this frame; zero for the intercept."""
        if per_coefficient is None:
            return None
        weights = np.zeros(self.n_parameters)
        weights[: len(self.centre)] = per_coefficient / self.scale**power
        return weights
