"""Files that are whole or absent, progress on standard error."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from unmet.errors import InvalidInput

Cell = str | int | float | None


class Step(Protocol):
    """Tell how far the work is: ``done`` of ``total``, and what comes next."""

    def __call__(self, done: int, total: int, doing: str) -> None:
        """Show it."""
        ...


def prepare_folder(folder: Path) -> None:
    """Make the folder, or say why nothing can be written there."""
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"output must be a folder, got the file {folder}.")
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise InvalidInput(f"output must be a folder that can be written to, got {folder}.")


@contextmanager
def report_progress() -> Iterator[Step]:
    """Show a bar on standard error that goes away when the work is done."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(
        *columns,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,  # a log file wants no bar
    ) as progress:
        task = progress.add_task("", total=None)

        def step(done: int, total: int, doing: str) -> None:
            progress.update(task, completed=done, total=total, description=doing)

        yield step


def report_missing(error: ModuleNotFoundError, what: str) -> None:
    """Say in one sentence what was left out for want of an optional package."""
    Console(stderr=True, soft_wrap=True).print(
        f"unmet: {what} was left out, because {error.name} is not installed; "
        "pip install 'unmet[report]' adds it.",
        markup=False,
        highlight=False,
    )


def write_whole(path: Path, write: Callable[[Path], None]) -> Path:
    """Let ``write`` fill a temporary file beside ``path``, then rename it: never half a file."""
    with NamedTemporaryFile(
        dir=path.parent, prefix=".", suffix=path.suffix, delete=False
    ) as reserved:
        temporary = Path(reserved.name)
    try:
        write(temporary)
        temporary.chmod(0o666 & ~_umask())  # a temporary file is private, a result is not
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def write_csv(path: Path, rows: Sequence[Mapping[str, Cell]]) -> Path:
    """Write rows that share their keys; None is an empty cell."""

    def write(temporary: Path) -> None:
        with temporary.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)

    return write_whole(path, write)


def _umask() -> int:
    """Mask of new files; the system tells it only to those who set it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
