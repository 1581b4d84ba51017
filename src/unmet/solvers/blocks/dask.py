"""Blocks of Dask collections: every partition is worked on where it lies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from unmet.errors import InvalidInput, MissingPackage
from unmet.solvers.blocks.source import BlockSource, Result, RowBlock, given, read_names


def import_dask() -> Any:
    """Import dask, or the sentence that says how to get it."""
    return MissingPackage.or_load("DaskBlocks", "dask", "dask")


class DaskBlocks(BlockSource):
    """Partitions of a Dask array or data frame.

    A pass sends its task (a few vectors and small matrices) to the partitions and gets back sums
    and the few rows that are near the decision; all other rows stay on their workers. The work is
    done by the client of `dask.distributed` that is active, or by Dask's own threads without one.
    A worker that dies costs the work that it had done, not the answer: Dask does it again.

    Parameters
    ----------
    data : dask array of shape (n_rows, n_features), or dask data frame
        Every pass computes it anew; ``data.persist()`` keeps it on the workers.
    observed : dask array of shape (n_rows,), or name of a column
    features : sequence of str, optional
        Of a data frame: columns of numbers. Of an array: names for its columns.
    weight, underage, overage, low, high, censored : dask array, or name of a column, optional
        As in `ArrayBlocks`.

    Examples
    --------
    >>> import dask.array as da
    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.solvers.blocks import DaskBlocks
    >>> x = da.arange(12, chunks=5).reshape(-1, 1)
    >>> source = DaskBlocks(x, 2.0 * x[:, 0] + 1)
    >>> LinearDecision(Newsvendor(underage=4, overage=1)).fit(source).predict([[20]]).round(3)
    array([41.])
    """

    distance = 20

    def __init__(
        self,
        data: Any,
        observed: Any,
        *,
        features: Sequence[str] | None = None,
        weight: Any = None,
        underage: Any = None,
        overage: Any = None,
        low: Any = None,
        high: Any = None,
        censored: Any = None,
    ) -> None:
        import_dask()
        columns = given(
            observation=observed,
            weight=weight,
            underage=underage,
            overage=overage,
            low=low,
            high=high,
            censored=censored,
        )
        if hasattr(data, "npartitions") and hasattr(data, "columns"):
            self._read_frame(data, columns, features)
        elif hasattr(data, "to_delayed") and getattr(data, "ndim", 0) == 2:
            self._read_arrays(data, columns, features)
        else:
            raise InvalidInput(
                "data must be a Dask array with two dimensions or a Dask data frame, "
                f"got {type(data).__name__}."
            )

    def blocks(self) -> Iterator[RowBlock]:
        """Fetch one partition after the other."""
        build = import_dask().delayed(self.build)
        for number, parts in enumerate(self.partitions):
            yield from import_dask().compute(build(number, *parts))

    def run(self, task: Callable[[RowBlock], Result]) -> Iterator[Result]:
        """Run the task on all partitions, and yield what it returns in their order."""
        dask = import_dask()
        # One node of the graph holds the task: it travels once, and again where a worker dies.
        shared = dask.delayed(partial(_work, self.build, task), traverse=False)
        apply = dask.delayed(_apply, pure=False)
        tasks = [apply(shared, number, *parts) for number, parts in enumerate(self.partitions)]
        yield from dask.compute(*tasks)

    def count(self) -> int:
        """Count the rows, of a data frame by one of its columns."""
        if self.counted is None:
            return super().count()
        (n_rows,) = import_dask().compute(self.counted.size)
        return int(n_rows)

    def _read_arrays(
        self, data: Any, columns: dict[str, Any], features: Sequence[str] | None
    ) -> None:
        if data.numblocks[1] > 1:
            data = data.rechunk({1: -1})
        self.n_features = int(data.shape[1])
        self.names = read_names(features, self.n_features)
        known = not np.isnan(data.shape[0])
        self.n_rows = int(data.shape[0]) if known else None
        self.counted: Any = None
        parts = [data.to_delayed()[:, 0]]
        for name, column in columns.items():
            if getattr(column, "ndim", 0) != 1 or not hasattr(column, "to_delayed"):
                raise InvalidInput(f"{name} must be a Dask array with one dimension.")
            if known and column.shape[0] != self.n_rows:
                raise InvalidInput(
                    f"{name} must have one entry per row, "
                    f"got {column.shape[0]} for {self.n_rows} rows."
                )
            if known and column.chunks[0] != data.chunks[0]:
                column = column.rechunk((data.chunks[0],))
            if len(column.chunks[0]) != data.numblocks[0]:
                raise InvalidInput(f"{name} must have the chunks of data, got others.")
            parts.append(column.to_delayed())
        self.partitions = list(zip(*parts, strict=True))
        self.build: Callable[..., RowBlock] = partial(_from_arrays, tuple(columns))

    def _read_frame(
        self, data: Any, columns: dict[str, Any], features: Sequence[str] | None
    ) -> None:
        if features is None:
            raise InvalidInput("features must name the columns of the data frame, got None.")
        wanted = (*features, *columns.values())
        for name in wanted:
            if not isinstance(name, str) or name not in data.columns:
                found = ", ".join(map(str, data.columns))
                raise InvalidInput(f"data must have a column {name!r:.60}, got {found:.160}.")
            kind = data.dtypes[name]
            if getattr(kind, "kind", "O") not in "biuf":
                raise InvalidInput(f"data must have numbers in column {name!r}, got {kind}.")
        self.names = tuple(features)
        self.n_features = len(self.names)
        part = data[list(dict.fromkeys(wanted))]
        self.partitions = [(each,) for each in part.to_delayed()]
        self.build = partial(_from_frame, self.names, columns)
        self.counted = data[wanted[-1]]


def _from_arrays(names: tuple[str, ...], number: int, features: Any, *columns: Any) -> RowBlock:
    if not sparse.issparse(features):
        features = np.asarray(features)
        if features.dtype not in (np.float32, np.float64):
            features = features.astype(np.float64)
    floats = {
        name: np.asarray(column, dtype=np.float64)
        for name, column in zip(names, columns, strict=True)
    }
    return RowBlock(features, number=number, origin=f"partition {number}", **floats)


def _from_frame(
    names: tuple[str, ...], columns: dict[str, str], number: int, frame: Any
) -> RowBlock:
    def floats(wanted: Any) -> Any:
        return frame[wanted].to_numpy(dtype=np.float64, na_value=np.nan)

    others = {name: floats(column) for name, column in columns.items()}
    return RowBlock(floats(list(names)), number=number, origin=f"partition {number}", **others)


def _work(
    build: Callable[..., RowBlock], task: Callable[[RowBlock], Any], number: int, *parts: Any
) -> Any:
    """Make a block of the parts of a partition, and work on it."""
    return task(build(number, *parts))


def _apply(shared: Callable[..., Any], number: int, *parts: Any) -> Any:
    """Run on a worker."""
    return shared(number, *parts)
