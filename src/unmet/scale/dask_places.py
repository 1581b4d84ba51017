"""Objects on the workers of a Dask cluster, each with the partitions that it was given."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any
from urllib.parse import urlparse

from unmet.errors import UnmetError
from unmet.solvers.blocks_rows import RowBlock
from unmet.solvers.places import LostPlace, Places

_GLANCE = 1.0  # seconds between looks whether all workers are alive
_GLANCES = 5
_RESTART = 30.0  # seconds that workers may take to start anew


def active_client() -> Any:
    """Give the client of `dask.distributed` that does Dask's work; None if none does."""
    if import_module("dask").config.get("scheduler", None) != "dask.distributed":
        return None
    try:
        return _distributed().default_client()
    except (ImportError, ValueError):
        return None


def _distributed() -> Any:
    return import_module("dask.distributed")


class DaskPlaces(Places):
    """Actors, one on each worker.

    Partitions go to workers by their number, so that the same cluster has the same rows in the same
    places every time.

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
        known = client.scheduler_info(n_workers=-1)["workers"]
        workers = sorted(known, key=lambda address: (str(known[address]["name"]), address))
        workers = workers[: len(blocks)]
        self._client = client
        self._lost = False
        self._workers = tuple(workers)
        # A nanny starts a dead worker anew at the same address: its folder tells it apart.
        self._folders = {worker: known[worker]["local_directory"] for worker in workers}
        self._pinned: list[Any] = []
        # Trees of two fits at a time would wait for each other.
        self._lock = _distributed().Lock("unmet.scale.dask_places")
        self._lock.acquire()
        try:
            self._start(make, blocks, workers)
        except BaseException:
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
            with import_module("dask").annotate(**where):
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
            if self._lost:
                self._client.cancel(self._pinned, force=True)  # they wait for lost workers
                self._restart()
            else:
                self.ask("close")
        finally:
            self._actors, self._pinned = [], []
            self._lock.release()

    def _ask(self, method: str, actors: Any, given: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Ask some, and tell errors of lost workers from others."""
        try:
            each = zip(actors, given, strict=True)
            answers = [getattr(actor, method)(*arguments) for actor, arguments in each]
            return [self._wait(answer) for answer in answers]
        except UnmetError:
            raise
        except Exception:
            if self._someone_lost():
                raise self._loss() from None
            raise

    def _wait(self, answer: Any) -> Any:
        """Wait for an answer as long as all workers are alive: one may wait for another."""
        while True:
            try:
                return answer.result(timeout=_GLANCE)
            except TimeoutError:
                if len(self._alive()) < len(self._workers):
                    raise self._loss() from None

    def _loss(self) -> LostPlace:
        self._lost = True
        return LostPlace(
            "Workers must live until the fit is done, "
            f"got {len(self._alive())} of {len(self._workers)} that are left."
        )

    def _someone_lost(self) -> bool:
        """Give the scheduler a moment to notice."""
        for _ in range(_GLANCES):
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
