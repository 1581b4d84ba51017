"""How far the reproduction is, and what it took."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from time import perf_counter

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from unmet.paper.results import Results
from unmet.paper.run import Standing

_PACKAGES = ("unmet", "numpy", "scipy", "scikit-learn", "lightgbm", "optuna", "matplotlib")


@contextmanager
def report_standing() -> Iterator[Callable[[Standing], None]]:
    """Show bars with the time left on a terminal; a line every twentieth of the work elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(console)
        return
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        speed_estimate_period=300,  # tasks differ much in length
    ) as progress:
        work = progress.add_task("all work, percent", total=100)
        trials = progress.add_task("trials of searches", total=None)
        fits = progress.add_task("fits", total=None)

        def step(standing: Standing) -> None:
            progress.update(work, completed=int(100 * standing.share))
            progress.update(trials, completed=standing.trials, total=standing.all_trials)
            progress.update(fits, completed=standing.fits, total=standing.all_fits)

        yield step


class _Lines:
    """For log files."""

    def __init__(self, console: Console) -> None:
        self._console, self._begun, self._next = console, perf_counter(), 0.0

    def __call__(self, standing: Standing) -> None:
        if standing.share < self._next:
            return
        self._next = min(standing.share + 0.05, 1.0 if standing.share < 1 else 2.0)
        elapsed = perf_counter() - self._begun
        left = ""
        if standing.share > 0:
            left = f", about {elapsed / standing.share * (1 - standing.share) / 60:.0f} min left"
        self._console.print(
            f"unmet: {standing.share:.0%} of what was to do, {standing.trials} of "
            f"{standing.all_trials} trials, {standing.fits} of {standing.all_fits} fits{left}",
            highlight=False,
            soft_wrap=True,
        )


def facts(results: Results, begun: float, jobs: int) -> dict[str, str]:
    """Lines on how the results were computed.

    Parameters
    ----------
    results : Results
    begun : float
        When this call began, by `time.perf_counter`.
    jobs : int
    """
    searching = sum(row.seconds for row in results.searches)
    # one fit may serve several levels
    fits = {(row.dataset, row.method, row.fit_seconds) for row in results.fits}
    fitting = sum(seconds for *_, seconds in fits)
    return {
        "time": f"{_minutes(perf_counter() - begun)} for this call with {jobs} processes; in all "
        f"{_minutes(searching)} of searches and {_minutes(fitting)} of fits, added up over "
        "processes",
        "memory": _memory(jobs),
        "versions": ", ".join(
            [f"Python {platform.python_version()}"]
            + [f"{package} {version(package)}" for package in _PACKAGES]
        ),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def _memory(jobs: int) -> str:
    """Peak memory, where the system counts it."""
    try:
        import resource
    except ImportError:
        return "not counted on this system"
    unit = 1024**2 if sys.platform == "darwin" else 1024  # bytes there, kibibytes elsewhere
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / unit
    return (
        f"at most {own + jobs * largest:.0f} MiB: the peak of the main process, {own:.0f}, plus "
        f"{jobs} times that of the largest worker, {largest:.0f}"
    )
