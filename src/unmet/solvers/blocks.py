"""How solvers see data that is too large to copy: block by block.

The screened solver touches the rows only through `Source`, so that the same code serves arrays in
memory and anything else that can hand out blocks of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from unmet.costs.kinks import Kinks

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_BLOCK_BYTES = 1_000_000  # two sweeps over a block should find it in the cache


@dataclass(frozen=True)
class Block:
    """Some rows: where the first one stands, their features and their kinks."""

    first: int
    features: Array
    kinks: Kinks

    def __len__(self) -> int:
        return len(self.features)


class Source(Protocol):
    """Rows of a problem, read in order or by number."""

    n_rows: int
    n_features: int
    n_kinks: int

    def blocks(self) -> Iterator[Block]:
        """Yield every row once, in order."""
        ...

    def take(self, rows: Index) -> Block:
        """Return the given rows (sorted, no repeats) as one block."""
        ...


class ArraySource:
    """Rows of arrays in memory; blocks are views, never copies."""

    def __init__(self, features: Array, kinks: Kinks) -> None:
        self.features = features
        self.kinks = kinks
        self.n_rows, self.n_features = features.shape
        self.n_kinks = len(kinks.position)

    def blocks(self) -> Iterator[Block]:
        """Yield views of about a megabyte of features each."""
        size = max(512, _BLOCK_BYTES // (8 * self.n_features))
        kinks = self.kinks
        for first in range(0, self.n_rows, size):
            part = slice(first, first + size)
            yield Block(
                first,
                self.features[part],
                Kinks(kinks.position[:, part], kinks.below[:, part], kinks.above[:, part]),
            )

    def take(self, rows: Index) -> Block:
        """Copy the given rows."""
        kinks = self.kinks
        return Block(
            0,
            self.features.take(rows, axis=0),
            Kinks(kinks.position[:, rows], columns(kinks.below, rows), columns(kinks.above, rows)),
        )


def columns(values: Array, rows: Index) -> Array:
    """Take columns of an array; a view when all columns are one and the same."""
    if values.strides[1] == 0:
        return values[:, : len(rows)]
    return values[:, rows]


def spread_sample(n_rows: int, size: int, generator: np.random.Generator) -> Index:
    """Sorted row numbers without repeats, one at random from each of ``size`` equal stretches."""
    stretch = n_rows / size
    rows = (np.arange(size) * stretch).astype(np.intp)
    rows += generator.integers(0, max(1, int(stretch)), size)
    return rows
