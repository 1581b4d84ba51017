"""The matrix A of a hinge problem in its dense storages, and how rows become kinks."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from unmet.errors import SolverFailure

# --- Cholesky factors that survive rank deficiency, zero columns and wild scales.

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


# --- The matrix A of a hinge problem in its dense storages, and how rows become kinks.

Index = NDArray[np.intp]

_CHUNK_BYTES = 600_000  # of one scaled chunk: it should stay in the second-level cache


def weighted_gram(rows: Array, weights: Array) -> Array:
    """Return rows' diag(weights) rows, chunk by chunk, so that the scaled copy stays in cache."""
    n_rows, n_columns = rows.shape
    root = np.sqrt(weights)
    chunk = max(256, _CHUNK_BYTES // (8 * max(n_columns, 1)))
    if n_rows <= chunk:
        scaled = rows * root[:, None]
        gram: Array = scaled.T @ scaled
        return gram
    total = np.zeros((n_columns, n_columns))
    buffer = np.empty((chunk, n_columns))
    for first in range(0, n_rows, chunk):
        part = rows[first : first + chunk]
        scaled = np.multiply(part, root[first : first + chunk, None], out=buffer[: len(part)])
        total += scaled.T @ scaled
    return total


class Layout(Protocol):
    """How the rows of the features stand to the kinks."""

    def spread(self, values: Array) -> Array:
        """From one value per row to one per kink."""
        ...

    def collect(self, values: Array) -> Array:
        """Sum the values of a row's kinks."""
        ...

    def rows_of(self, kinks: Index) -> Index:
        """Return the row of each of these kinks."""
        ...


class OneEach:
    """One kink per row, in the order of the rows."""

    def spread(self, values: Array) -> Array:
        """Return the values themselves."""
        return values

    def collect(self, values: Array) -> Array:
        """Return the values themselves."""
        return values

    def rows_of(self, kinks: Index) -> Index:
        """Return the numbers themselves."""
        return kinks


class Stacked:
    """The same number of kinks for every row: all first kinks, then all second kinks."""

    def __init__(self, n_kinks: int, n_rows: int) -> None:
        self.n_kinks = n_kinks
        self.n_rows = n_rows

    def spread(self, values: Array) -> Array:
        """Repeat the block of rows."""
        return np.concatenate([values] * self.n_kinks)

    def collect(self, values: Array) -> Array:
        """Sum over the blocks."""
        total: Array = values.reshape(self.n_kinks, -1).sum(axis=0)
        return total

    def rows_of(self, kinks: Index) -> Index:
        """Count within the block."""
        return kinks % self.n_rows


class Grouped:
    """Kinks sorted by row, any positive number of them per row."""

    def __init__(self, row: Index, starts: Index) -> None:
        self.row = row
        self.starts = starts

    def spread(self, values: Array) -> Array:
        """Repeat each row's value."""
        return values.take(self.row)

    def collect(self, values: Array) -> Array:
        """Sum each row's run."""
        total: Array = np.add.reduceat(values, self.starts)
        return total

    def rows_of(self, kinks: Index) -> Index:
        """Look the rows up."""
        return self.row[kinks]


def layout_for(n_kinks: int, n_rows: int) -> Layout:
    """Layout of kinks that come in blocks, one block per kink of a row."""
    return OneEach() if n_kinks == 1 else Stacked(n_kinks, n_rows)


class DenseOperator:
    """A dense design matrix (intercept column included) and a layout."""

    def __init__(self, rows: Array, layout: Layout) -> None:
        self.rows = rows
        self.layout = layout
        self.n_coefficient_kinks = 0
        self.n_parameters = rows.shape[1]
        self.correctors = 0 if self.n_parameters < 40 else 1 if self.n_parameters < 100 else 2

    def decisions(self, theta: Array) -> Array:
        """Return Aθ."""
        return self.layout.spread(self.rows @ theta)

    def moments(self, values: Array) -> Array:
        """Return A'values."""
        result: Array = self.layout.collect(values) @ self.rows
        return result

    def leverage(self) -> float:
        """Return 1: dense rows are taken to be alike."""
        return 1.0

    def subset(self, kinks: Index) -> DenseOperator:
        """Return the operator of some kinks, in the given order."""
        return DenseOperator(self.rows[self.layout.rows_of(kinks)], OneEach())

    def factor(self, weights: Array, ridge: Array | None) -> CholeskyFactor:
        """Factor A' diag(weights) A + diag(ridge)."""
        gram = weighted_gram(self.rows, self.layout.collect(weights))
        if ridge is not None:
            gram.flat[:: len(gram) + 1] += ridge
        return factorise(gram)
