"""Blocks of arrays: in memory, mapped from a file, or sparse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from unmet.errors import InvalidInput
from unmet.solvers.blocks.source import BlockSource, RowBlock
from unmet.validation import WholeNumber

_BLOCK_ROWS = 65_536


class ArrayBlocks(BlockSource):
    """Rows of arrays, a block at a time; nothing is copied as a whole.

    Parameters
    ----------
    features : array of shape (n_rows, n_features)
        NumPy, also memory-mapped (``numpy.load(path, mmap_mode="r")``), or scipy.sparse.
    observed : array of shape (n_rows,)
        The observations s.
    weight, underage, overage, censored : array of shape (n_rows,), optional
        As `LinearDecision.fit` takes them.
    low, high : array of shape (n_rows,), optional
        Ends of the band, row by row.
    names : sequence of str, optional
        Names of the features.
    block_rows : int, default=65536

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.solvers.blocks import ArrayBlocks
    >>> generator = np.random.default_rng(0)
    >>> x = generator.uniform(size=(1000, 2))
    >>> source = ArrayBlocks(x, 5 + x @ [2, 1] + generator.normal(size=1000), block_rows=300)
    >>> model = LinearDecision(Newsvendor(underage=9, overage=1)).fit(source)
    >>> bool(model.solution_.gap <= 1e-9 * model.solution_.objective), model.solution_.passes
    (True, 1.0)
    """

    def __init__(
        self,
        features: Any,
        observed: Any,
        *,
        weight: Any = None,
        underage: Any = None,
        overage: Any = None,
        low: Any = None,
        high: Any = None,
        censored: Any = None,
        names: Sequence[str] | None = None,
        block_rows: int = _BLOCK_ROWS,
    ) -> None:
        self.features = _read_features(features)
        self.n_rows, self.n_features = self.features.shape
        columns = given(
            observation=observed,
            weight=weight,
            low=low,
            high=high,
            underage=underage,
            overage=overage,
            censored=censored,
        )
        self.columns = {name: self._read_column(name, each) for name, each in columns.items()}
        self.names = read_names(names, self.n_features)
        self.block_rows = WholeNumber(1)("block_rows", block_rows)

    def blocks(self) -> Iterator[RowBlock]:
        """Yield views, or copies of sparse rows."""
        assert self.n_rows is not None
        for number, first in enumerate(range(0, self.n_rows, self.block_rows)):
            part = slice(first, first + self.block_rows)
            columns: dict[str, Any] = {
                name: np.asarray(value[part], dtype=np.float64)
                for name, value in self.columns.items()
            }
            features = self.features[part]
            if not sparse.issparse(features):
                features = np.asarray(features)
                if features.dtype.kind in "biu":
                    features = features.astype(np.float64)
            yield RowBlock(features, number=number, **columns)

    def _read_column(self, name: str, value: Any) -> Any:
        column = value if isinstance(value, np.ndarray) else np.asarray(value)
        if column.shape != (self.n_rows,):
            raise InvalidInput(
                f"{name} must have one entry per row, got shape {column.shape} "
                f"for {self.n_rows} rows."
            )
        if column.dtype.kind not in "biuf":
            raise InvalidInput(f"{name} must hold numbers, got entries of type {column.dtype}.")
        return column


def given(**columns: Any) -> dict[str, Any]:
    """Columns that are not None."""
    return {name: value for name, value in columns.items() if value is not None}


def _read_features(features: Any) -> Any:
    matrix: Any = features
    if sparse.issparse(features):
        return sparse.csr_array(matrix, dtype=np.float64)
    if not isinstance(features, np.ndarray):
        features = np.asarray(features)
    if features.ndim != 2 or not features.shape[1]:
        raise InvalidInput(
            f"features must have two dimensions, rows and columns, got shape {features.shape}."
        )
    if features.dtype.kind not in "biuf":
        raise InvalidInput(f"features must hold numbers, got entries of type {features.dtype}.")
    return features


def read_names(names: Sequence[str] | None, n_features: int) -> tuple[str, ...] | None:
    """Names of the features, one each."""
    if names is None:
        return None
    listed = tuple(str(name) for name in names)
    if len(listed) != n_features:
        raise InvalidInput(
            f"names must have one entry per feature, got {len(listed)} for {n_features}."
        )
    return listed
