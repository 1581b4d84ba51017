"""Sources of rows that do not fit into memory, and blocks of such rows.

A solver that reads its data through `BlockSource` needs no files and no cluster. It hands a task to
the source, and the source runs it on every block where the block is. Only the result of the task is
transferred: sums, small matrices and a few rows. The first task is the sampling read, which checks
and counts the rows and draws a random part of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmet.arrays import Array, Places
from unmet.errors import InvalidInput
from unmet.rows import SIZES
from unmet.validation import WholeNumber

Result = TypeVar("Result")

SAMPLE_ENTRIES = 40_000_000
"""Entries of the features that a sample of blocks may hold in memory: 320 MB."""
SAMPLE_ROWS = 50_000
"""Rows that it holds at least."""


@dataclass(frozen=True)
class RowBlock:
    """Some rows of the data.

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_features), or csr_array
        float64 or float32 features; converted in parts if a pass needs float64.
    observation : ndarray of shape (n_rows,)
        Observations.
    weight, low, high, underage, overage : ndarray of shape (n_rows,), or None
        Weights, ends of the band and costs by row, if the data have them.
    censored : ndarray of shape (n_rows,) or None
        Flags for a band rule: 1, 0, or NaN if unknown.
    number : int
        Position of the block among all blocks, which seeds random draws from it.
    origin : str
        Name of the block in errors: the file it comes from.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.solvers.blocks import RowBlock
    >>> block = RowBlock(np.zeros((3, 1)), np.array([4.0, 6.0, 5.0]), weight=np.array([1.0, 0, 1]))
    >>> block.counted().observation
    array([4., 5.])
    """

    features: Any
    observation: Array
    weight: Array | None = None
    low: Array | None = None
    high: Array | None = None
    underage: Array | None = None
    overage: Array | None = None
    censored: Array | None = None
    number: int = 0
    origin: str = ""

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def take(self, index: Places | slice) -> RowBlock:
        """Select rows.

        Parameters
        ----------
        index : ndarray of int or bool, or slice
            Rows to keep.
        """
        kept: dict[str, Any] = {name: value[index] for name, value in self._columns().items()}
        return replace(self, features=self.features[index], **kept)

    def counted(self) -> RowBlock:
        """Drop rows of weight 0."""
        if self.weight is None or self.weight.all():
            return self
        return self.take(np.flatnonzero(self.weight))

    def place(self) -> str:
        """Name the block in an error."""
        return self.origin or f"block {self.number}"

    def _columns(self) -> dict[str, Array]:
        values = {name: getattr(self, name) for name in COLUMNS}
        return {name: value for name, value in values.items() if value is not None}


COLUMNS = tuple(
    field.name for field in fields(RowBlock) if field.name not in ("features", "number", "origin")
)


class BlockSource(ABC):
    """Data in blocks, which are the same, in the same order, each time they are read.

    A source of your own defines `blocks`. If the blocks are on another machine, it also defines
    `run`.

    Attributes
    ----------
    n_features : int
        Number of features.
    names : tuple of str, or None
        Names of the features.
    n_rows : int or None
        Number of rows, if it is known without reading them.
    distance : int
        Approximate cost of fetching a row, relative to processing it where it is.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.solvers.blocks import BlockSource, RowBlock
    >>> class Simulated(BlockSource):
    ...     n_features = 2
    ...
    ...     def blocks(self):
    ...         for number in range(3):
    ...             X = np.random.default_rng(number).uniform(size=(500, 2))
    ...             yield RowBlock(X, 5 + X @ [2.0, 1.0], number=number)
    >>> LinearDecision(Newsvendor(3, 1)).fit(Simulated()).coef_.round(3)
    array([2., 1.])
    """

    n_features: int
    names: tuple[str, ...] | None = None
    n_rows: int | None = None
    distance: int = 1

    @abstractmethod
    def blocks(self) -> Iterator[RowBlock]:
        """Yield every row once, in order."""

    def run(self, task: Callable[[RowBlock], Result]) -> Iterator[Result]:
        """Run a task on every block, and yield its results in the order of the blocks.

        Parameters
        ----------
        task : callable
            Function of a `RowBlock`.
        """
        for block in self.blocks():
            yield task(block)

    def count(self) -> int:
        """Count the rows by reading them."""
        return sum(self.run(len))


class ArrayBlocks(BlockSource):
    """Rows of arrays, one block at a time, without a copy of the whole.

    Parameters
    ----------
    features : array of shape (n_rows, n_features)
        Features in NumPy, also memory-mapped (``numpy.load(path, mmap_mode="r")``), or
        scipy.sparse.
    observed : array of shape (n_rows,)
        Observations s.
    weight, underage, overage, censored : array of shape (n_rows,), optional
        As `LinearDecision.fit` takes them.
    low, high : array of shape (n_rows,), optional
        Ends of the band, row by row.
    names : sequence of str, optional
        Names of the features.
    block_rows : int, default=65536
        Number of rows in a block. Smaller blocks need less memory.

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
        block_rows: int = 65_536,
    ) -> None:
        self.features = _read_features(features)
        self.n_rows, self.n_features = self.features.shape
        costs, ends = {"underage": underage, "overage": overage}, {"low": low, "high": high}
        columns = given(observation=observed, weight=weight, **ends, **costs, censored=censored)
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


def dense(features: Any) -> Array:
    """Float64 array of features; not copied when it already is one."""
    matrix: Any = features
    rows = matrix.toarray() if sparse.issparse(features) else features
    return np.asarray(rows, dtype=np.float64)


def stack_blocks(blocks: Sequence[RowBlock], n_features: int) -> RowBlock:
    """Put blocks of rows into one, its features dense."""
    if not blocks:
        return RowBlock(np.empty((0, n_features)), np.empty(0))
    first = blocks[0]
    columns: dict[str, Any] = {}
    for name in COLUMNS:
        given = [getattr(block, name) is not None for block in blocks]
        if any(given) != all(given):
            without = blocks[given.index(False)].place()
            raise InvalidInput(
                f"{name} must be given for every block or for none, got none in {without}."
            )
        if all(given):
            columns[name] = np.concatenate([getattr(block, name) for block in blocks])
    n_rows = sum(map(len, blocks))
    rows = np.empty((n_rows, n_features))
    start = 0
    for block in blocks:
        rows[start : start + len(block)] = dense(block.features)
        start += len(block)
    return replace(first, features=rows, **columns)


# --- The sampling read: how many rows there are, what they weigh, and a random part of them.


@dataclass(frozen=True)
class BlockSample:
    """Result of the sampling read.

    Attributes
    ----------
    rows : RowBlock
        Random rows, or all of them, without those of weight zero; dense features.
    n_rows : int
        Number of all rows with weight.
    total, mean, square : float
        Sum of their weights, mean of their observations and of the squares of these.
    reads : int
        Number of times the data were read.
    """

    rows: RowBlock
    n_rows: int
    total: float
    mean: float
    square: float
    reads: int

    @property
    def complete(self) -> bool:
        """Whether the sample contains all rows."""
        return len(self.rows) == self.n_rows


def _draw(rate: float, block: RowBlock) -> tuple[int, Array, RowBlock]:
    """Task: check a block, count and weigh its rows, and draw a share of them.

    Each row is drawn with the same probability, from a generator of the block's own.
    """
    check_block(block)
    block = block.counted()
    s, weight = block.observation, np.ones(len(block)) if block.weight is None else block.weight
    total = np.array([weight.sum(), weight @ s, weight @ s**2])
    if rate == 1.0:
        return len(block), total, block
    generator = np.random.default_rng([20_211, block.number])
    drawn = np.flatnonzero(generator.random(len(block)) < rate)
    return len(block), total, block.take(drawn)


def sample_size(n_rows: int, n_features: int) -> int:
    """Choose the number of rows to draw, so that sample and uncertain rows together are few.

    After a sample of m rows about n·p^½/m^½ rows are uncertain, so m + n·p^½/m^½ is least at m of
    the order (n·p^½)^(2/3); see `unmet.solvers.blocks.screening`.
    """
    best = 2 * (3 * np.sqrt(n_features + 1.0) * n_rows) ** (2 / 3)
    most = max(SAMPLE_ENTRIES // max(n_features, 1), 1)
    return int(min(max(best, SAMPLE_ROWS), most))


def read_sample(
    source: BlockSource, *, size: int | None = None, in_memory: int | None = None
) -> BlockSample:
    """Read the data once (twice if the number of rows is unknown), and keep a part of them.

    Parameters
    ----------
    source : BlockSource
        The data.
    size : int, optional
        Approximate number of rows to draw.
    in_memory : int, optional
        Number of rows up to which all of them are kept; fewer if the source is far away.
    """
    reads, n_rows, width = 1, source.n_rows, source.n_features
    if n_rows is None:
        n_rows, reads = source.count(), 2
    if in_memory is None:
        in_memory = SAMPLE_ENTRIES // (source.distance * max(width, 1))
    wanted = n_rows if n_rows <= in_memory else size or sample_size(n_rows, width)
    rate = 1.0 if wanted >= n_rows else wanted / n_rows
    parts, total, counted = [], np.zeros(3), 0
    for n_counted, weight, rows in source.run(partial(_draw, rate)):
        counted += n_counted
        total += weight
        if len(rows):
            parts.append(rows)
    if not np.isfinite(total[0]):
        raise InvalidInput(f"sample_weight must have a finite sum, got {total[0]}.")
    whole, mean, square = (total / [1.0, total[0] or 1.0, total[0] or 1.0]).tolist()
    return BlockSample(stack_blocks(parts, width), counted, whole, mean, square, reads)


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
            _check_numbers(name, column, block)
    if block.weight is not None and n_rows and float(block.weight.min()) < 0:
        raise InvalidInput(
            f"weight must be a non-negative number, got {block.weight.min()} in {block.place()}."
        )
    matrix: Any = block.features
    _check_numbers("features", matrix.data if sparse.issparse(block.features) else matrix, block)


def _check_numbers(name: str, values: NDArray[np.floating], block: RowBlock) -> None:
    """Refuse missing, infinite and huge numbers."""
    if not values.size or max(values.max(), -values.min()) <= SIZES[1]:  # False of NaN
        return
    wrong = np.count_nonzero(~np.isfinite(values))
    if wrong:
        raise InvalidInput(
            f"{name} must hold finite numbers, got {wrong} that are not in {block.place()}."
        )
    raise InvalidInput(
        f"{name} must hold numbers up to {SIZES[1]:g} in size, got {np.abs(values).max():.3g} in "
        f"{block.place()}: state it in another unit."
    )
