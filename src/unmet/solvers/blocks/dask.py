"""Blocks of Dask collections: every partition is worked on where it lies."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any
from zlib import crc32

import numpy as np
from scipy import sparse

from unmet.errors import InvalidInput, MissingPackage, SolverFailure, UnmetError
from unmet.solvers.blocks.source import BlockSource, Result, RowBlock, dense, given, read_names

_GLANCE = 1.0  # seconds between looks whether all workers are alive
_ALONE = 300.0  # seconds without any worker: a cluster that grows on demand takes some to begin


def import_dask() -> Any:
    """Import dask, or the sentence that says how to get it."""
    return MissingPackage.or_load("DaskBlocks", "dask", "dask")


def active_client() -> Any:
    """Give the client of `dask.distributed` that does Dask's work; None if none does."""
    if import_dask().config.get("scheduler", None) != "dask.distributed":
        return None
    try:
        return import_module("dask.distributed").default_client()
    except (ImportError, ValueError):
        return None


# --- What becomes of a cluster while it works for us.


class LostCluster(SolverFailure):
    """The cluster does not answer any more, or cannot keep its workers alive."""


@contextmanager
def faults_of(client: Any) -> Iterator[None]:
    """Say in one sentence what has become of the cluster; errors of a task stay as they are."""
    try:
        yield
    except UnmetError:
        raise
    except Exception as error:
        distributed = import_module("distributed")
        if isinstance(error, distributed.KilledWorker):
            raise LostCluster(
                "Workers of the Dask cluster must live until their work is done, got a task on "
                f"which {error.allowed_failures + 1} of them died: give them more memory, or make "
                "partitions smaller."
            ) from None
        gone = CancelledError, distributed.comm.CommClosedError
        if isinstance(error, gone) or client.status != "running":
            raise _gone(client) from None
        raise


def _gone(client: Any) -> LostCluster:
    return LostCluster(
        "The Dask cluster must answer until the work is done, got no scheduler any more: its "
        f"client is {client.status}."
    )


def result_of(client: Any, future: Any) -> Any:
    """Wait for the result of a future for as long as there is a cluster that may still give it."""
    alone: float | None = None
    with faults_of(client):
        while True:
            try:
                return future.result(timeout=_GLANCE)
            except TimeoutError:
                if future.done():  # the task's own, or just now
                    return future.result()
            if client.status != "running":
                raise _gone(client)
            now = time.monotonic()
            alone = None if client.nthreads() else alone or now
            if alone is not None and now - alone > _ALONE:
                raise LostCluster(
                    f"The Dask cluster must have a worker, got none for {_ALONE:.0f} seconds."
                )


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
        self._marks: dict[int, int] = {}
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
            for block in _results([build(number, *parts)]):
                self._compare(number, _mark(block))
                yield block

    def run(self, task: Callable[[RowBlock], Result]) -> Iterator[Result]:
        """Run the task on all partitions, and yield what it returns in their order."""
        dask = import_dask()
        # One node of the graph holds the task: it travels once, and again where a worker dies.
        shared = dask.delayed(partial(_work, self.build, task), traverse=False)
        apply = dask.delayed(_apply, pure=False)
        tasks = [apply(shared, number, *parts) for number, parts in enumerate(self.partitions)]
        for number, (mark, result) in enumerate(_results(tasks)):
            self._compare(number, mark)
            yield result

    def count(self) -> int:
        """Count the rows, of a data frame by one of its columns."""
        if self.counted is None:
            return super().count()
        (n_rows,) = _results([self.counted.size])
        return int(n_rows)

    def _compare(self, number: int, mark: int) -> None:
        """Refuse rows that are others than in the pass before: the answer would fit neither."""
        if self._marks.setdefault(number, mark) != mark:
            raise InvalidInput(
                f"data must be the same in every pass, got other rows in partition {number}: were "
                "its files replaced? data.persist() reads them once."
            )

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


def _results(tasks: Sequence[Any]) -> Iterator[Any]:
    """Results of collections in their order, from the active client or from Dask itself."""
    client = active_client()
    if client is None:
        yield from import_dask().compute(*tasks)
        return
    with faults_of(client):
        futures = client.compute(list(tasks))
        # all at once: to fetch them one by one would take a round trip for each
        fetching = client.gather(futures, asynchronous=True)
        answer = asyncio.run_coroutine_threadsafe(fetching, client.loop.asyncio_loop)
    try:
        yield from result_of(client, answer)
    finally:
        answer.cancel()


def _mark(block: RowBlock) -> int:
    """Checksum that tells a block from one with other rows, without a walk through its features.

    It is of bytes: a sum depends on where in memory its numbers begin, which differs by pass.
    """
    ends = dense(block.features[[0, -1]]) if len(block) else np.empty(0)
    return crc32(ends.tobytes(), crc32(block.observation.tobytes()))


def _work(
    build: Callable[..., RowBlock], task: Callable[[RowBlock], Any], number: int, *parts: Any
) -> tuple[int, Any]:
    """Make a block of the parts of a partition, and work on it."""
    block = build(number, *parts)
    return _mark(block), task(block)


def _apply(shared: Callable[..., Any], number: int, *parts: Any) -> Any:
    """Run on a worker."""
    return shared(number, *parts)
