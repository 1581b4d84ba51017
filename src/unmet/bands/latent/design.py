"""Features of location and scale: centred, uncorrelated, of size one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from unmet.band import Array
from unmet.solvers.problem import Features

FEWEST_ROWS = 5
"""With fewer rows for each column the same is done: held-out rows could not judge anything."""
MOST_COLUMNS = 256
"""With more columns the location is that of a ridge regression: p × p matrices would take over."""


def is_rest(part: Array, basis: Array) -> bool:
    """Whether an array is all columns of a basis but its constant: a view, not a copy."""
    rest = basis[:, 1:]
    same = part.shape == rest.shape and part.strides == rest.strides and part.size > 0
    return same and part.ctypes.data == rest.ctypes.data


@dataclass(frozen=True)
class Design:
    """A constant, then an orthogonal basis of what the features span.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
    turn : ndarray of shape (n_features, n_basis - 1)
        Centred features times this are uncorrelated and of mean square one on the training rows.
    """

    mean: Array
    turn: Array

    @classmethod
    def of(cls, features: Features, weight: Array) -> Design:
        """Read a basis off the training rows."""
        share = weight / weight.sum()
        mean = np.asarray(share @ features)
        second = features.T @ (sparse.diags_array(share) @ features)
        second = np.asarray(second.todense() if sparse.issparse(second) else second)
        covariance = second - np.outer(mean, mean)
        size = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        # A column counts as constant when its spread is rounding beside its size.
        moves = size > 1e-7 * np.sqrt(np.maximum(np.diag(second), 1e-300))
        size = np.where(moves, size, 1.0)
        scaled = covariance / size[:, None] / size * np.outer(moves, moves)
        values, vectors = np.linalg.eigh(scaled)
        kept = values > 1e-9 * max(float(values[-1]), 1e-300) if values.size else values > 0
        turn = vectors[:, kept] / np.sqrt(values[kept]) / size[:, None]
        return cls(mean, turn * moves[:, None])

    def basis(self, features: Features) -> Array:
        """Give any rows the features of the training rows."""
        columns = features @ self.turn - self.mean @ self.turn
        return np.column_stack([np.ones(columns.shape[0]), columns])
