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

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from unmet.arrays import Array, Places
from unmet.solvers.exact.features import Standardisation
from unmet.solvers.exact.interior_point import Factor, Operator, factorise

DENSE_ENTRIES = 20_000_000
"""Entries up to which sparse features may be made dense."""
SCHUR_COLUMNS = 6000
"""Columns left for the dense factor."""
SCHUR_PAIRS = 400_000_000
"""Products of two entries of a row, 8 bytes each at least."""


def standardise_sparse(
    features: sparse.csr_array, intercept: bool
) -> tuple[Standardisation, sparse.csr_array]:
    """Scale the columns, centre those without zeros, and add the intercept."""
    n_rows, n_features = features.shape
    centre, data, column = np.zeros(n_features), features.data, features.indices
    if intercept:
        full = np.bincount(column, minlength=n_features) == n_rows
        if full.any():
            centre = np.where(full, features.sum(axis=0) / n_rows, 0.0)
            data = data - centre[column]
    scale = np.sqrt(np.bincount(column, data**2, n_features) / n_rows)
    scale[scale <= 0] = 1.0
    if (data == 1).all():
        scale = np.ones(n_features)  # keeps products of entries at one: nothing to multiply
    inner = data / scale[column], column, features.indptr
    design = sparse.csr_array(inner, shape=features.shape)
    if intercept:
        ones = sparse.csr_array(np.ones((n_rows, 1)))
        design = sparse.csr_array(sparse.hstack([design, ones]))
    return Standardisation(centre, scale, intercept), design


def independent_columns(features: sparse.csr_array) -> Places:
    """Many columns that never occur together in a row.

    Found greedily by degree in a sample of the rows; columns that meet in other rows are left out.
    """
    n_rows, n_columns = features.shape
    sample = features
    if n_rows > 100_000:
        rows = np.random.default_rng(0).choice(n_rows, 100_000, replace=False)
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
    return int((per_row * (per_row + 1) // 2).sum()) <= SCHUR_PAIRS


class SparseOperator(Operator):
    """A sparse design matrix (intercept column included) and its rows as kinks."""

    def __init__(self, rows: sparse.csr_array, independent: Places, blocks: int = 1) -> None:
        super().__init__(rows, blocks)
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

    def times(self, values: Array) -> Array:
        """Return rows'values."""
        return np.asarray(self.columns @ values)

    def leverage(self) -> Array:
        """Return √(Σ_j x_ij² / Σ_i x_ij²): rows with a rare level are known less well."""
        square = self.rows.copy()
        square.data = square.data**2
        per_column = np.maximum(square.sum(axis=0), 1e-300)
        result: Array = np.sqrt(square @ (1 / per_column))
        return np.concatenate([*[result] * self.blocks, np.ones(self.n_lasso)])

    def with_rows(self, rows: sparse.csr_array) -> SparseOperator:
        """Return the operator of other rows; the elimination order stays."""
        other = SparseOperator(rows, self.independent)
        other.penalised, other.n_lasso = self.penalised, self.n_lasso
        return other

    def factor_rows(self, weights: Array, ridge: Array | None) -> Factor:
        """Factor rows' diag(weights) rows + diag(ridge), the independent block eliminated."""
        n_head, n_rest = len(self.independent), len(self.rest)
        per_pair = weights[self.pair_row]
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
        rest.flat[:: n_rest + 1] *= 1 + 1e-12
        largest = max(diagonal.max(initial=0.0), rest.diagonal().max(initial=0.0))
        np.maximum(diagonal, 1e-14 * largest, out=diagonal)
        inverse_root = 1 / np.sqrt(diagonal)
        coupling *= inverse_root[:, None]
        if n_rest:
            # only the lower triangle of ``rest`` is filled, and only it is read
            lower = blas.dsyrk(-1.0, coupling.T, beta=1.0, c=np.asfortranarray(rest), lower=1)
            rest = np.tril(lower) + np.tril(lower, -1).T
        solve_rest = factorise(rest)

        def solve(right: Array) -> Array:
            head = right[self.independent] * inverse_root
            tail = solve_rest(right[self.rest] - head @ coupling)
            solution = np.empty_like(right)
            solution[self.rest] = tail
            solution[self.independent] = (head - coupling @ tail) * inverse_root
            return solution

        return solve
