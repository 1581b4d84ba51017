"""Progress and remarks on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class Step(Protocol):
    """Callback that reports progress: ``done`` of ``total``, and the next step."""

    def __call__(self, done: int, total: int, doing: str) -> None:
        """Show it."""
        ...


def silent(done: int, total: int, doing: str) -> None:
    """Show nothing."""


@contextmanager
def report_progress(*, left: bool = False) -> Iterator[Step]:
    """Show a bar on standard error that goes away when the work is done.

    Parameters
    ----------
    left : bool
        Whether to guess the time left, from the last minutes.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    if not console.is_terminal:  # a log file wants no bar, and no empty line of an older rich
        yield silent
        return
    with Progress(
        *columns,
        TimeElapsedColumn(),
        *((TextColumn("left"), TimeRemainingColumn()) if left else ()),
        speed_estimate_period=300,  # tasks may differ much in length
        console=console,
        transient=True,
    ) as progress:
        task = progress.add_task("", total=None)

        def step(done: int, total: int, doing: str) -> None:
            progress.update(task, completed=done, total=total, description=doing)

        yield step
