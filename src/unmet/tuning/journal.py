"""A journal of Optuna in a file that may have been cut off at any byte."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from typing import Any

from unmet.errors import InvalidInput

_BEGINNING = b'{"op_code"'


def open_journal(optuna: Any, path: Path) -> Any:
    """Open or begin a journal; one that ends within a line loses that line, garbage is refused."""
    _check_place(path)
    lock = _lock(optuna, path)
    if path.exists():
        lock.acquire()
        try:
            _repair(path)
        finally:
            lock.release()
    backend = optuna.storages.journal.JournalFileBackend(str(path), lock_obj=lock)
    try:
        return optuna.storages.JournalStorage(backend)
    except Exception as error:  # whatever Optuna meets when it replays lines of another kind
        raise _unreadable(path) from error


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise InvalidInput(f"storage must be a file, got the folder {path}.")
    if not path.parent.is_dir():
        raise InvalidInput(f"storage must lie in a folder that exists, got {path}.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InvalidInput(f"storage must be a file that can be written to, got {path}.")


def _repair(path: Path) -> None:
    """Cut off a last line that was not written to its end; leave anything else as it is."""
    content = path.read_bytes()
    lines, rest = content.rpartition(b"\n")[0], content.rpartition(b"\n")[2]
    for line in lines.splitlines():
        if not _is_entry(line):
            raise _unreadable(path)
    if not rest:
        return
    if not (rest.startswith(_BEGINNING) or _BEGINNING.startswith(rest)):
        raise _unreadable(path)
    with path.open("r+b") as stream:
        stream.truncate(len(content) - len(rest))


def _is_entry(line: bytes) -> bool:
    try:
        entry = json.loads(line)
    except ValueError:
        return False
    return isinstance(entry, dict) and "op_code" in entry


def _unreadable(path: Path) -> InvalidInput:
    return InvalidInput(f"storage must be a journal of Optuna, got {path}, which is not.")


class _FileLock:
    """Lock of a journal that the system lifts when its holder dies.

    Optuna's own is a file that a killed process leaves behind, and the next one waits half a
    minute for it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stream: Any = None

    def acquire(self) -> bool:
        import fcntl

        self._stream = self._path.open("ab")
        fcntl.flock(self._stream, fcntl.LOCK_EX)
        return True

    def release(self) -> None:
        self._stream.close()


def _lock(optuna: Any, path: Path) -> Any:
    """Give the best lock that the system has."""
    if importlib.util.find_spec("fcntl") is None:  # Windows
        return optuna.storages.journal.JournalFileOpenLock(str(path))
    return _FileLock(path)
