"""The folder of a run: a row per finished fit, appended and never changed.

::

    settings.json              what the run was asked to do
    fits.jsonl                 one row per fit
    searches.jsonl             one row per ten trials of a search; the last of a search counts
    searches/                  journals of trials, by Optuna
    decisions/1/lr-nvc-0.55.npy    decisions of one fit on the test rows

A row is written after its decisions and flushed to the disk, so a run that is killed loses at most
the fits that were under way. A last line that was cut off is dropped on the next start.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from unmet.band import Array
from unmet.errors import InvalidInput
from unmet.files import prepare_folder, write_whole
from unmet.paper.methods import BY_NAME
from unmet.paper.results import FitRow, SearchRow
from unmet.paper.settings import Settings

Row = TypeVar("Row", FitRow, SearchRow)

_SETTINGS, _FITS, _SEARCHES = "settings.json", "fits.jsonl", "searches.jsonl"


class Ledger:
    """What a folder holds, and where the next row goes.

    Attributes
    ----------
    folder : Path
    fits : list of FitRow
    searches : list of SearchRow
        One per finished piece of a search, in the order in which they were done.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fits = _read(folder / _FITS, FitRow)
        self.searches = _read(folder / _SEARCHES, SearchRow)

    @property
    def journals(self) -> Path:
        """Folder of Optuna's journals."""
        return self.folder / "searches"

    def add_fit(self, row: FitRow, decision: Array) -> None:
        """Keep the decisions, then the row."""
        path = self._decision_path(row.dataset, row.method, row.level)
        path.parent.mkdir(parents=True, exist_ok=True)

        def write(temporary: Path) -> None:
            with temporary.open("wb") as stream:
                np.save(stream, decision)

        write_whole(path, write)
        _append(self.folder / _FITS, row)
        self.fits.append(row)

    def add_search(self, row: SearchRow) -> None:
        """Keep what a search has found so far."""
        _append(self.folder / _SEARCHES, row)
        self.searches.append(row)

    def decision(self, dataset: int, method: str, level: float) -> Array:
        """Decisions of one fit on the test rows."""
        path = self._decision_path(dataset, method, level)
        try:
            decision: Array = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            raise InvalidInput(
                f"{path} must hold the decisions of a finished fit, but cannot be read; "
                "begin again in another folder."
            ) from None
        return decision

    def _decision_path(self, dataset: int, method: str, level: float) -> Path:
        name = f"{BY_NAME[method].slug}-{level:.2f}.npy"
        return self.folder / "decisions" / str(dataset) / name


@contextmanager
def open_ledger(folder: Path, settings: Settings, *, resume: bool) -> Iterator[Ledger]:
    """Begin in an empty folder, or go on in one of the same settings.

    Parameters
    ----------
    folder : Path
        Made when missing.
    settings : Settings
    resume : bool
        Whether to go on where an earlier run stopped; a new folder is begun either way.

    Raises
    ------
    InvalidInput
        If the folder cannot be written to, holds other things, results of other settings, results
        while ``resume`` is False, or is in use; nothing in it has been changed then.
    """
    prepare_folder(folder)
    config = {"unmet": version("unmet"), **settings.as_dict()}
    path = folder / _SETTINGS
    if path.exists():
        _compare(path, config, resume)
    elif any(entry.name != ".lock" for entry in folder.iterdir()):
        raise InvalidInput(
            f"output must be an empty folder or one of an earlier run, got {folder}, which holds "
            "other files."
        )
    with _lock(folder):
        if not path.exists():
            text = json.dumps(config, indent=2)
            write_whole(path, lambda temporary: _write_text(temporary, text))
        for name in (_FITS, _SEARCHES):
            _drop_cut_line(folder / name)
        yield Ledger(folder)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _compare(path: Path, config: dict[str, Any], resume: bool) -> None:
    """Refuse a folder of other settings."""
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
        names = sorted(set(there) | set(config))
        different = [name for name in names if there.get(name) != config.get(name)]
    except (ValueError, TypeError):
        raise InvalidInput(
            f"{path} must be the settings of an earlier run, got other text."
        ) from None
    if not resume:
        raise InvalidInput(
            f"output must be a new folder, got {path.parent}, which holds an earlier run; "
            "--resume goes on with it."
        )
    if different:
        name = different[0]
        raise InvalidInput(
            f"--resume needs the settings of the earlier run in {path.parent}, where {name} was "
            f"{there.get(name)!r}, got {config.get(name)!r}."
        )


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Keep a second run out; the system lets go of the lock when a run is killed."""
    try:
        import fcntl
    except ImportError:  # not on this system: two runs at once are the user's own affair
        yield
        return
    with (folder / ".lock").open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InvalidInput(f"output must not be in use by another run, got {folder}.") from None
        yield


def _append(path: Path, row: FitRow | SearchRow) -> None:
    """Add one whole line, and see it to the disk."""
    line = json.dumps(asdict(row), ensure_ascii=False) + "\n"
    with path.open("ab") as stream:
        stream.write(line.encode())
        stream.flush()
        os.fsync(stream.fileno())


def _drop_cut_line(path: Path) -> None:
    """Forget a last line that a killed run has not finished."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)


def _read(path: Path, kind: type[Row]) -> list[Row]:
    if not path.exists():
        return []
    names = {field.name for field in fields(kind)}
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            values = json.loads(line)
            if set(values) != names:
                raise ValueError
        except (ValueError, TypeError):
            raise InvalidInput(
                f"{path} must hold a row of results in every line, got other text in line {number}."
            ) from None
        rows.append(kind(**values))
    return rows
