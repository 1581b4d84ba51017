"""Run the tasks of a grouped fit one after the other, in processes, or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import joblib

from unmet.errors import InvalidInput, MissingPackage

Task: TypeAlias = tuple[Any, ...]
"""Arguments of one call."""


class Progress(Protocol):
    """Told how far the work is: ``done`` of ``total`` groups, and what is being done."""

    def __call__(self, done: int, total: int, doing: str) -> Any:
        """Show it, or whatever the caller likes."""
        ...


BACKENDS = ("loky", "threading", "dask")


def run_tasks(
    function: Callable[..., Any], tasks: Sequence[Task], n_jobs: int | None, backend: str | None
) -> Iterator[Any]:
    """Results of all tasks in their order, each as soon as it and all before it are there.

    Parameters
    ----------
    function : callable
        Of a module, so that it can be sent to another process.
    tasks : sequence of tuple
    n_jobs : int or None
        As joblib means it: None is one unless a ``joblib.parallel_config`` says otherwise, −1 is
        all cores.
    backend : str or None
        One of `BACKENDS`; None is joblib's own choice, "dask" the cluster of the running client.
    """
    if not tasks:
        return
    if backend == "dask":
        yield from _on_cluster(function, tasks)
    elif joblib.effective_n_jobs(n_jobs) == 1:
        yield from (function(*task) for task in tasks)
    else:
        # Copies, no memory maps: parts are small, and costs want arrays that are theirs.
        parallel = joblib.Parallel(
            n_jobs=n_jobs, backend=backend, return_as="generator", max_nbytes=None
        )
        yield from parallel(joblib.delayed(function)(*task) for task in tasks)


def _on_cluster(function: Callable[..., Any], tasks: Sequence[Task]) -> Iterator[Any]:
    """Let the cluster of the running client work; it repeats what a lost worker had."""
    try:
        from distributed import get_client
    except ImportError:
        raise MissingPackage.for_extra("backend 'dask'", "dask", "dask") from None
    try:
        client = get_client()
    except ValueError:
        raise InvalidInput(
            "backend 'dask' needs a running client: make one with dask.distributed.Client()."
        ) from None
    futures: list[Any] = [client.submit(function, *task, pure=False) for task in tasks]
    try:
        for place, future in enumerate(futures):
            result = future.result()
            futures[place] = None  # the cluster may forget it
            yield result
    finally:
        for future in futures:
            if future is not None:
                future.cancel()
