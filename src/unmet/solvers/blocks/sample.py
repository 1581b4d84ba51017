"""The sampling read: how many rows there are, what they weigh, and a random part of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmet.errors import InvalidInput
from unmet.solvers.blocks.source import COLUMNS, BlockSource, RowBlock, stacked

Array = NDArray[np.float64]

_SAMPLE_ENTRIES = 40_000_000  # of the features in memory: 320 MB
_FEWEST = 50_000
_SEED = 20_211


@dataclass(frozen=True)
class BlockSample:
    """What the sampling read found.

    Attributes
    ----------
    rows : RowBlock
        Rows drawn at random, or all of them, those without weight left out; dense features.
    n_rows : int
        Number of all rows with weight.
    total : float
        Sum of their weights.
    reads : int
        How often the data were read.
    """

    rows: RowBlock
    n_rows: int
    total: float
    reads: int

    @property
    def complete(self) -> bool:
        """Whether the sample is all there is."""
        return len(self.rows) == self.n_rows


@dataclass(frozen=True)
class _Drawn:
    n_rows: int
    total: float
    rows: RowBlock


@dataclass(frozen=True)
class Draw:
    """Task: check a block, count and weigh its rows, and draw a share of them."""

    rate: float
    seed: int = _SEED

    def __call__(self, block: RowBlock) -> _Drawn:
        """Draw each row with the same probability, from a generator of the block's own."""
        check_block(block)
        block = block.counted()
        total = float(len(block) if block.weight is None else block.weight.sum())
        if self.rate < 1.0:
            generator = np.random.default_rng([self.seed, block.number])
            rows = block.take(np.flatnonzero(generator.random(len(block)) < self.rate))
        else:
            rows = block
        return _Drawn(len(block), total, rows)


def sample_size(n_rows: int, n_features: int) -> int:
    """Rows to draw so that the sample and the rows that stay uncertain after it are few.

    After a sample of m rows about n·p^½/m^½ rows are uncertain, so that m + n·p^½/m^½ is least at
    m of the order (n·p^½)^(2/3), see `unmet.solvers.blocks.screening`.
    """
    best = 2 * (3 * np.sqrt(n_features + 1.0) * n_rows) ** (2 / 3)
    most = max(_SAMPLE_ENTRIES // max(n_features, 1), 1)
    return int(min(max(best, _FEWEST), most))


def read_sample(
    source: BlockSource, *, size: int | None = None, in_memory: int | None = None
) -> BlockSample:
    """Read the data once (twice if nobody knows the number of rows), and keep a part of them.

    Parameters
    ----------
    source : BlockSource
    size : int, optional
        Rows to draw, about.
    in_memory : int, optional
        Number of rows up to which all of them are kept; fewer of a source that is far away.
    """
    reads, n_rows, width = 1, source.n_rows, source.n_features
    if n_rows is None:
        n_rows, reads = source.count(), 2
    if in_memory is None:
        in_memory = _SAMPLE_ENTRIES // (source.distance * max(width, 1))
    wanted = n_rows if n_rows <= in_memory else size or sample_size(n_rows, width)
    rate = 1.0 if wanted >= n_rows else wanted / n_rows
    parts, total, counted = [], 0.0, 0
    for drawn in source.run(Draw(rate)):
        total += drawn.total
        counted += drawn.n_rows
        if len(drawn.rows):
            parts.append(drawn.rows)
    if not np.isfinite(total):
        raise InvalidInput(f"sample_weight must have a finite sum, got {total}.")
    return BlockSample(stacked(parts, width), counted, total, reads)


def check_block(block: RowBlock) -> None:
    """Refuse columns of the wrong length, missing and infinite numbers, and negative weights."""
    n_rows = len(block)
    if n_rows and not block.observation.size:
        raise InvalidInput("observed must be given to learn from a source of blocks, got None.")
    for name in COLUMNS:
        column = getattr(block, name)
        if column is None:
            continue
        if column.shape != (n_rows,):
            raise InvalidInput(
                f"{name} must have one entry per row, got shape {column.shape} for {n_rows} rows "
                f"in {block.place()}."
            )
        if name != "censored":
            _check_finite(name, column, block)
    if block.weight is not None and n_rows and float(block.weight.min()) < 0:
        raise InvalidInput(
            f"weight must be a non-negative number, got {block.weight.min()} in {block.place()}."
        )
    matrix: Any = block.features
    _check_finite("features", matrix.data if sparse.issparse(block.features) else matrix, block)


def _check_finite(name: str, values: NDArray[np.floating], block: RowBlock) -> None:
    # One number tells whether anything is wrong; entries beyond 1e154 are looked at one by one.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    wrong = np.count_nonzero(~np.isfinite(values))
    if wrong:
        raise InvalidInput(
            f"{name} must hold finite numbers, got {wrong} that are not in {block.place()}."
        )
