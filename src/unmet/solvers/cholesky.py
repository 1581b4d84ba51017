"""Cholesky factors that survive rank deficiency, zero columns and wild scales."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from unmet.errors import SolverFailure

Array = NDArray[np.float64]

_FIRST_SHIFT = 1e-15
_LARGEST_SHIFT = 1.0
_EMPTY = 1e-75


class CholeskyFactor(NamedTuple):
    """Factor of S⁻¹ G S⁻¹ with S the root of G's diagonal."""

    factor: Array
    scale: Array

    def solve(self, right: Array) -> Array:
        """Solve G x = right."""
        if not len(right):
            return right.copy()
        solution: Array = lapack.dpotrs(self.factor, right / self.scale, lower=1)[0]
        solution /= self.scale
        return solution


def factorise(matrix: Array) -> CholeskyFactor:
    """Factor a positive semidefinite matrix.

    The matrix is scaled to a unit diagonal first (Jacobi), so that columns of scale 1e-8 and 1e8
    meet as equals; a shift of a few rounding errors then makes singular matrices (all dummies and
    an intercept, repeated columns) factorable. A zero column gets a unit pivot, so its
    coefficient never moves. The shift grows only when LAPACK refuses.
    """
    size = len(matrix)
    if not size:
        return CholeskyFactor(matrix, np.empty(0))
    scale = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    empty = None
    if not scale.min() > _EMPTY:
        empty = ~(scale > _EMPTY)
        scale[empty] = 1.0
    shift = size * _FIRST_SHIFT
    while shift < _LARGEST_SHIFT:
        scaled = matrix / scale
        scaled /= scale[:, None]
        diagonal = scaled.reshape(-1)[:: size + 1]
        if empty is not None:
            diagonal[empty] = 1.0
        diagonal += shift
        # the matrix is symmetric, so its transpose is a free Fortran-ordered view
        factor, info = lapack.dpotrf(scaled.T, lower=1, overwrite_a=1)
        if info == 0:
            return CholeskyFactor(factor, scale)
        shift *= 100
    raise SolverFailure("the normal matrix could not be factored; the features may overflow.")
