"""Tasks that wait for each other, on a few processes.

Answers never depend on the number of processes: each task is a pure function of its arguments.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Hashable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

from unmet.errors import SolverFailure


@dataclass(frozen=True)
class Task:
    """Something to compute.

    Attributes
    ----------
    key : hashable
    call : callable
        Returns a function that can be pickled and its arguments; called when everything in
        ``after`` is done, so that the arguments may depend on its results.
    after : tuple of hashable
        Keys of tasks that must be done before.
    weight : float
        Rough seconds, to estimate the time left.
    """

    key: Hashable
    call: Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]
    after: tuple[Hashable, ...] = ()
    weight: float = 1.0


def run_tasks(tasks: Sequence[Task], jobs: int) -> Generator[tuple[Task, Any], None, None]:
    """Run tasks, earlier ones first where they can, and yield each with its result when done.

    Parameters
    ----------
    tasks : sequence of Task
    jobs : int
        Processes.

    Yields
    ------
    task, result
        In the order of completion; whatever the caller does with a result is done before tasks
        that wait for it are called.
    """
    waiting, done = list(tasks), set[Hashable]()
    if not waiting:
        return
    # spawned, not forked: a fork of a process with threads may hang
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin_worker)
    others = set(multiprocessing.active_children())
    running: dict[Future[Any], Task] = {}
    try:
        while waiting or running:
            for task in [task for task in waiting if done.issuperset(task.after)]:
                if len(running) >= jobs:
                    break
                function, arguments = task.call()
                running[pool.submit(function, *arguments)] = task
                waiting.remove(task)
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                task = running.pop(future)
                yield task, future.result()
                done.add(task.key)
    except BrokenProcessPool:
        raise SolverFailure(
            "a worker process was ended from outside, perhaps for want of memory; finished fits "
            "are kept, and --resume goes on."
        ) from None
    finally:
        for worker in set(multiprocessing.active_children()) - others if running else ():
            worker.terminate()  # leaving early: nobody wants their answers any more
        pool.shutdown(wait=True, cancel_futures=True)


def _begin_worker() -> None:
    """Leave interrupts to the parent, and end with it even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)
