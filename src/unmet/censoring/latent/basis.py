"""Columns of location and scale that are mostly zero before they are turned: never written out.

Features of a table with stores and items are mostly columns of 0 and 1. Their orthogonal basis
B = C M has no zeros at all, but C, a constant and the features, has: a product with B costs as many
steps as C has entries. A fit asks for thousands of such products.

What a fit asks of columns is a product from either side, some of the rows, and `second_moments`;
plain arrays give the same answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy import linalg, sparse

from unmet.arrays import Array, Features
from unmet.censoring import constants as tuned
from unmet.solvers.exact.features import groups_of

_FEW_NUMBERS = 1_000_000  # that a singular value decomposition takes no time for
_FULL_RANK = 1e-3  # smallest pivot of columns of length one that are surely independent


@dataclass(frozen=True, eq=False)
class SparseBasis:
    """The product of a sparse matrix and a small one.

    Attributes
    ----------
    cells : csr_array of shape (n_rows, n_cells)
    mixing : ndarray of shape (n_cells, n_basis)
    """

    cells: Any
    mixing: Array

    __array_ufunc__ = None  # a row vector times this is ours to compute, not NumPy's
    ndim = 2

    @classmethod
    def of(cls, features: Features, mean: Array, turn: Array) -> SparseBasis | None:
        """Make a constant and centred features times `turn`; None where that saves nothing.

        Columns that are hardly ever 0 are centred before: sums of squares of a year would lose what
        is small beside it.
        """
        cells = thinned(features)
        if not sparse.issparse(cells):
            return None
        n_rows, n_columns = features.shape
        entries = np.bincount(cells.indices, minlength=n_columns)
        full = entries > 0.5 * n_rows
        centre = np.where(full, mean, 0.0)
        thin = cells[:, np.flatnonzero(~full)]
        thick = cells[:, np.flatnonzero(full)].toarray() - centre[full]
        dense = sparse.csr_array(np.column_stack([np.ones(n_rows), thick]))
        joined = sparse.csr_array(sparse.hstack([dense, thin]))
        order = np.concatenate([np.flatnonzero(full), np.flatnonzero(~full)])
        mixing = np.zeros((1 + n_columns, 1 + turn.shape[1]))
        mixing[0, 0] = 1.0
        mixing[0, 1:] = -(mean - centre) @ turn
        mixing[1:, 1:] = turn[order]
        return cls(joined, mixing)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.cells.shape[0], self.mixing.shape[1]

    @cached_property
    def _across(self) -> Any:
        """The cells of each column together: products from the left are quicker with these."""
        return self.cells.T.tocsr()

    def __matmul__(self, columns: Array) -> Array:
        return np.asarray(self.cells @ (self.mixing @ columns))

    def __rmatmul__(self, rows: Array) -> Array:
        return np.asarray((self._across @ rows.T).T @ self.mixing)

    def __getitem__(self, index: Any) -> SparseBasis:
        """Keep some rows, or some columns of all rows."""
        if isinstance(index, tuple):
            return replace(self, mixing=self.mixing[:, index[1]])
        return replace(self, cells=self.cells[index])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.cells @ self.mixing, dtype=dtype)


Columns: TypeAlias = Array | SparseBasis
"""Columns of location or scale, written out or not."""


def thinned(features: Features) -> Features:
    """Features without their zeros, where most of them are zero and columns are many."""
    n_rows, n_columns = features.shape
    if n_columns < tuned.MIN_SPARSE_COLUMNS:
        return features
    entries = features.nnz if sparse.issparse(features) else np.count_nonzero(features)
    if entries > tuned.SPARSE * n_rows * n_columns:
        return features
    return sparse.csr_array(features)


def ready_to_solve(features: Features) -> Features:
    """Give features to a solver without their zeros, unless it would rather merge equal rows."""
    thin = thinned(features)
    if sparse.issparse(features) or not sparse.issparse(thin):
        return features
    return thin if groups_of(features) is None else features


def second_moments(left: Columns, right: Columns, weight: Array) -> Array:
    """Weighted sum over rows of the outer products of two sets of columns.

    Two that are both sparse must be made of the same cells.
    """
    if isinstance(left, SparseBasis) and isinstance(right, SparseBasis):
        cells = left.cells
        scaled = sparse.csr_array(
            (cells.data * np.repeat(weight, np.diff(cells.indptr)), cells.indices, cells.indptr),
            shape=cells.shape,
        )
        return np.asarray(left.mixing.T @ (left._across @ scaled).toarray() @ right.mixing)
    if isinstance(left, SparseBasis):
        return np.asarray((right * weight[:, None]).T @ left).T
    return np.asarray((left * weight[:, None]).T @ right)


def least_squares(columns: Columns, target: Array, weight: Array) -> Array:
    """Coefficients of the least squared distance; the smallest ones where several have it.

    Many numbers by the normal equations: orthogonal columns lose no digits by them.
    """
    if not isinstance(columns, SparseBasis) and columns.size <= _FEW_NUMBERS:
        counts = weight > 0
        root = np.sqrt(weight[counts])
        rows = columns[counts] * root[:, None], target[counts] * root
        return np.asarray(np.linalg.lstsq(*rows, rcond=None)[0], dtype=np.float64)
    outer = second_moments(columns, columns, weight)
    size = np.sqrt(np.maximum(np.diag(outer), np.finfo(np.float64).tiny))
    scaled, product = outer / size[:, None] / size, ((weight * target) @ columns) / size
    try:
        factor = linalg.cho_factor(scaled, lower=True)
        if float(np.min(np.diag(factor[0]))) > _FULL_RANK:
            return np.asarray(linalg.cho_solve(factor, product) / size)
    except linalg.LinAlgError:
        pass  # columns that depend on each other
    values, vectors = np.linalg.eigh(scaled)
    kept = values > 1e-10 * max(float(values[-1]), np.finfo(np.float64).tiny)
    across = vectors[:, kept]
    return np.asarray(across @ ((across.T @ product) / values[kept]) / size)
