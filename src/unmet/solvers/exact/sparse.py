"""Sparse features: one-hot columns by the thousand.

The normal matrix A'DA of one-hot features has a large diagonal block: the levels of the longest
factor never occur together. With those columns J and the rest C ordered last ::

    A'DA = [ Δ   B ]        Δ diagonal, one entry per level of J
           [ B'  C ]

so eliminating J leaves the Schur complement C − B'Δ⁻¹B, a dense matrix of the size of the rest.
The pattern never changes between iterations: every product of two entries of a row is sent to its
place in (Δ, B, C) by one weighted `bincount`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import blas

from unmet.solvers import constants
from unmet.solvers.exact.interior_point import CholeskyFactor, KinkOrder, Operator, factorise

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_SHIFT = 1e-14
_DEPENDENT = 1e-12


def independent_columns(features: sparse.csr_array) -> Index:
    """Many columns that never occur together in a row.

    Found greedily by degree in a sample of the rows; columns that meet in other rows are left out.
    """
    n_rows, n_columns = features.shape
    sample = features
    if n_rows > constants.SCHUR_SAMPLE:
        rows = np.random.default_rng(0).choice(n_rows, constants.SCHUR_SAMPLE, replace=False)
        sample = features[np.sort(rows)]
    pattern = sparse.csr_array((np.ones(sample.nnz), sample.indices, sample.indptr), sample.shape)
    neighbours = (pattern.T @ pattern).tocsr()
    blocked = np.zeros(n_columns, dtype=bool)
    chosen = np.zeros(n_columns, dtype=bool)
    for column in np.argsort(np.diff(neighbours.indptr), kind="stable"):
        if not blocked[column]:
            chosen[column] = True
            first, last = neighbours.indptr[column], neighbours.indptr[column + 1]
            blocked[neighbours.indices[first:last]] = True
    entries = chosen[features.indices]
    counts = np.add.reduceat(np.append(entries, False), features.indptr[:-1], dtype=np.intp)
    counts[np.diff(features.indptr) == 0] = 0
    for row in np.flatnonzero(counts > 1):
        chosen[features.indices[features.indptr[row] : features.indptr[row + 1]]] = False
    return np.flatnonzero(chosen)


def pairs_fit(design: sparse.csr_array) -> bool:
    """Whether the products of two entries of the same row are few enough to be listed."""
    per_row = np.diff(design.indptr).astype(np.int64)
    return int((per_row * (per_row + 1) // 2).sum()) <= constants.SCHUR_PAIRS


@dataclass(frozen=True)
class SchurFactor:
    """Factor of the normal matrix with the independent block eliminated."""

    independent: Index
    rest: Index
    inverse_root: Array
    coupling: Array
    inner: CholeskyFactor

    def solve(self, right: Array) -> Array:
        """Solve with the normal matrix."""
        head = right[self.independent] * self.inverse_root
        tail = self.inner.solve(right[self.rest] - head @ self.coupling)
        solution = np.empty_like(right)
        solution[self.rest] = tail
        solution[self.independent] = (head - self.coupling @ tail) * self.inverse_root
        return solution


class SparseOperator(Operator):
    """A sparse design matrix (intercept column included) and how its rows stand to the kinks."""

    def __init__(self, rows: sparse.csr_array, order: KinkOrder, independent: Index) -> None:
        super().__init__(rows, order)
        self.correctors = 3
        self.columns = rows.T.tocsr() if rows.nnz < 5_000_000 else rows.T
        self.independent = independent
        outside = np.ones(self.n_parameters, dtype=bool)
        outside[independent] = False
        self.rest = np.flatnonzero(outside)
        # Each pair of entries of a row goes to its place in the flat (Δ, B, C): its place, its row,
        # and the product of the two, which is left out if all entries are 1.
        n_head, n_rest = len(self.independent), len(self.rest)
        number = np.empty(self.n_parameters, dtype=np.int64)
        number[self.independent] = np.arange(n_head)
        number[self.rest] = np.arange(n_rest)
        is_head = ~outside
        places, values = [np.empty(0, dtype=np.int64)], [np.empty(0)]
        pair_rows = [np.empty(0, dtype=np.int32)]
        per_row = np.diff(self.rows.indptr)
        all_ones = bool((self.rows.data == 1).all())
        for count in np.unique(per_row[per_row > 0]):
            row = np.flatnonzero(per_row == count)
            entry = self.rows.indptr[row][:, None] + np.arange(count)
            column, value = self.rows.indices[entry], self.rows.data[entry]
            head, local = is_head[column], number[column]
            for a in range(count):
                for b in range(a, count):
                    left, right = local[:, a], local[:, b]
                    inner = np.maximum(left, right) * n_rest + np.minimum(left, right)
                    place = np.where(
                        head[:, a],
                        np.where(head[:, b], left, n_head + left * n_rest + right),
                        np.where(head[:, b], n_head + right * n_rest + left, 0),
                    )
                    both_rest = ~(head[:, a] | head[:, b])
                    place[both_rest] = n_head + n_head * n_rest + inner[both_rest]
                    places.append(place)
                    pair_rows.append(row.astype(np.int32))
                    if not all_ones:
                        values.append(value[:, a] * value[:, b])
        size = n_head + n_head * n_rest + n_rest * n_rest
        place = np.concatenate(places)
        self.pair_place = place.astype(np.int32) if size < 2**31 else place
        self.pair_row = np.concatenate(pair_rows)
        self.pair_value = None if all_ones else np.concatenate(values)

    def moments(self, values: Array) -> Array:
        """Return A'values."""
        result: Array = self.columns @ self.order.collect(values)
        return result

    def leverage(self) -> Array:
        """Return √(Σ_j x_ij² / Σ_i x_ij²): rows with a rare level are known less well."""
        square = self.rows.copy()
        square.data = square.data**2
        per_column = np.maximum(square.sum(axis=0), 1e-300)
        result: Array = np.sqrt(square @ (1 / per_column))
        return self.order.spread(result)

    def subset(self, kinks: Index) -> SparseOperator:
        """Return the operator of some kinks; the elimination order stays."""
        rows = self.rows[self.order.rows_of(kinks)]
        return SparseOperator(rows, KinkOrder(), self.independent)

    def factor(self, weights: Array, ridge: Array | None) -> SchurFactor:
        """Factor A' diag(weights) A + diag(ridge)."""
        n_head, n_rest = len(self.independent), len(self.rest)
        per_pair = self.order.collect(weights)[self.pair_row]
        if self.pair_value is not None:
            per_pair *= self.pair_value
        flat: Array = np.bincount(
            self.pair_place, weights=per_pair, minlength=n_head + n_head * n_rest + n_rest**2
        ).astype(np.float64, copy=False)
        diagonal = flat[:n_head].copy()
        coupling = flat[n_head : n_head + n_head * n_rest].reshape(n_head, n_rest)
        rest = flat[n_head + n_head * n_rest :].reshape(n_rest, n_rest)
        if ridge is not None:
            diagonal += ridge[self.independent]
            rest.flat[:: n_rest + 1] += ridge[self.rest]
        # The levels of each factor sum to the intercept: without a shift relative to what stood
        # here before the elimination, only rounding would be left of such directions.
        rest.flat[:: n_rest + 1] *= 1 + _DEPENDENT
        largest = max(diagonal.max(initial=0.0), rest.diagonal().max(initial=0.0))
        np.maximum(diagonal, _SHIFT * largest, out=diagonal)
        inverse_root = 1 / np.sqrt(diagonal)
        coupling *= inverse_root[:, None]
        if n_rest:
            # only the lower triangle of ``rest`` is filled, and only it is read
            lower = blas.dsyrk(-1.0, coupling.T, beta=1.0, c=np.asfortranarray(rest), lower=1)
            rest = np.tril(lower) + np.tril(lower, -1).T
        return SchurFactor(self.independent, self.rest, inverse_root, coupling, factorise(rest))
