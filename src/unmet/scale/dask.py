"""Blocks of Dask collections: every partition is worked on where it lies.

What must live longer than a task, such as the trees of a boosted model, lives on the workers as
actors, each with the partitions that it was given.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from typing import Any
from urllib.parse import urlparse
from zlib import crc32

import numpy as np
from scipy import sparse

from unmet.errors import InvalidInput, MissingPackage, SolverFailure, UnmetError
from unmet.scale.arrays import given, read_names
from unmet.solvers.blocks.source import (
    BlockSource,
    LostWorker,
    Result,
    RowBlock,
    Workers,
    dense,
)

_GLANCE = 1.0  # seconds between looks whether all workers are alive
_GLANCES = 5
_RESTART = 30.0  # seconds that workers may take to start anew
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


class DaskWorkers(Workers):
    """Actors, one on each worker.

    Partitions go to workers by their number, so that the same cluster has the same rows in the same
    workers every time.

    Parameters
    ----------
    client : dask.distributed.Client
    make : callable
        From blocks and the number of their rows with weight to an object.
    blocks : sequence of callables
        Each gives the block of one partition as a Delayed of its own.
    """

    def __init__(
        self, client: Any, make: Callable[[Iterable[RowBlock], int], Any], blocks: Sequence[Any]
    ) -> None:
        with faults_of(client):
            known = client.scheduler_info(n_workers=-1)["workers"]
        if not known:
            raise LostCluster("The Dask cluster must have a worker, got none.")
        workers = sorted(known, key=lambda address: (str(known[address]["name"]), address))
        workers = workers[: len(blocks)]
        self._client = client
        self._lost = False
        self._workers = tuple(workers)
        # A nanny starts a dead worker anew at the same address: its folder tells it apart.
        self._folders = {worker: known[worker]["local_directory"] for worker in workers}
        self._pinned: list[Any] = []
        # Trees of two fits at a time would wait for each other.
        self._lock = import_module("dask.distributed").Lock("unmet.scale.dask")
        with faults_of(client):
            self._lock.acquire()
            try:
                self._start(make, blocks, workers)
            except BaseException:
                if self._there():
                    client.cancel(self._pinned, force=True)
                    if self._lost:
                        self._wait_for_all()
                    self._lock.release()
                raise
        self.hosts = tuple(str(urlparse(worker).hostname) for worker in workers)
        self.threads = tuple(int(known[worker]["nthreads"]) for worker in workers)

    def _start(self, make: Any, blocks: Sequence[Any], workers: Sequence[str]) -> None:
        client = self._client
        shared = client.scatter([make], hash=False)[0]
        share = -(-len(blocks) // len(workers))
        futures = []
        for number, worker in enumerate(workers):
            where = {"workers": [worker], "allow_other_workers": False}
            # Only the blocks are tied to the worker: were what they are made of tied as well, it
            # would wait for a worker that is lost whenever the same data are used again.
            with import_dask().annotate(**where):
                part = [block() for block in blocks[number * share : (number + 1) * share]]
            held = client.compute(part, optimize_graph=False)
            self._pinned += held
            futures.append(client.submit(_make, shared, held, actor=True, pure=False, **where))
        self._pinned += futures
        self._actors = [self._wait(future) for future in futures]
        del self._pinned[: len(blocks)]

    def ask_each(self, method: str, given: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Ask all, and look now and then whether they are still there."""
        return self._ask(method, self._actors, given)

    def ask_first(self, method: str, *given: Any) -> Any:
        """Ask the first worker."""
        return self._ask(method, self._actors[:1], [given])[0]

    def keep(self, wanted: Sequence[bool]) -> None:
        """Let go of actors."""
        kept = [number for number, each in enumerate(wanted) if each]
        for name in ("_actors", "hosts", "threads", "_workers"):
            every = getattr(self, name)
            setattr(self, name, type(every)(every[number] for number in kept))

    def leave(self) -> None:
        """Let the actors go."""
        try:
            if self._there() and self._lost:
                self._client.cancel(self._pinned, force=True)  # they wait for lost workers
                self._restart()
            elif self._there():
                self.ask("close")
        finally:
            self._actors, self._pinned = [], []
            if self._there():
                self._lock.release()

    def _there(self) -> bool:
        """Whether there is a cluster: where there is none, nothing of ours is left to free."""
        return bool(self._client.status == "running")

    def _ask(self, method: str, actors: Any, given: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Ask some, and tell errors of lost workers from others."""
        try:
            each = zip(actors, given, strict=True)
            answers = [getattr(actor, method)(*arguments) for actor, arguments in each]
            return [self._wait(answer) for answer in answers]
        except UnmetError:
            raise
        except Exception:
            with faults_of(self._client):
                if self._someone_lost():
                    raise self._loss() from None
                raise

    def _wait(self, answer: Any) -> Any:
        """Wait for an answer as long as all workers are alive: one may wait for another."""
        while True:
            try:
                return answer.result(timeout=_GLANCE)
            except TimeoutError:
                if not self._there():
                    raise _gone(self._client) from None
                if len(self._alive()) < len(self._workers):
                    raise self._loss() from None

    def _loss(self) -> LostWorker:
        self._lost = True
        return LostWorker(
            "Workers must live until the fit is done, "
            f"got {len(self._alive())} of {len(self._workers)} that are left."
        )

    def _someone_lost(self) -> bool:
        """Give the scheduler a moment to notice."""
        for _ in range(_GLANCES):
            if not self._there():
                raise _gone(self._client)
            if len(self._alive()) < len(self._workers):
                return True
            time.sleep(_GLANCE)
        return False

    def _alive(self) -> list[str]:
        known = self._client.scheduler_info(n_workers=-1)["workers"]
        return [
            worker
            for worker in self._workers
            if worker in known and known[worker]["local_directory"] == self._folders[worker]
        ]

    def _restart(self) -> None:
        """Start the other workers anew: LightGBM might wait there for ever."""
        with suppress(ValueError, TimeoutError):  # workers without a nanny cannot
            self._client.restart_workers(self._alive(), timeout=_RESTART)
        self._wait_for_all()

    def _wait_for_all(self) -> None:
        """Wait until there are as many workers as before, or for as long as that may take."""
        with suppress(TimeoutError):
            self._client.wait_for_workers(len(self._workers), timeout=_RESTART)


def _make(make: Any, blocks: list[RowBlock]) -> Any:
    """Run on a worker: an object with these blocks."""
    return make(blocks, sum(len(block.counted()) for block in blocks))


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
    >>> from unmet.scale import DaskBlocks
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

    def distribute(self, make: Callable[[Iterable[RowBlock], int], Any], n_rows: int) -> Workers:
        """Make one object on each worker of the active client; without a client, one here."""
        client = active_client()
        if client is None:
            return super().distribute(make, n_rows)
        build = import_dask().delayed(self.build, pure=False)
        blocks = [partial(build, number, *parts) for number, parts in enumerate(self.partitions)]
        return DaskWorkers(client, make, blocks)

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
