"""Runs that may be stopped at any moment, and go on later as if they had not been.

What a run has finished stands in a folder, and nothing else does::

    run.json      what the run is about, written first and never changed
    *.jsonl       rows, appended one by one and seen to the disk
    *.npz         arrays; each file is whole or absent, and never changed

A run that goes on must be about the same: what differs is named, and nothing is touched. A last
line that was not written to its end is forgotten. Only one process at a time works in a folder.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from unmet.errors import InvalidInput
from unmet.files import TEMPORARY, FileLock, prepare_folder, sweep, write_text, write_whole

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


# --- What a run is about.


class Digest(str):
    """Hash that stands for something too large to be kept or shown."""

    __slots__ = ()


def digest(value: Any) -> Digest:
    """Hash what a value holds: all numbers of arrays and tables; equal in every process."""
    import joblib

    return Digest(joblib.hash(_plain(value)))


def _plain(value: Any) -> Any:
    """Arrays and texts instead of tables, sparse matrices and objects in arrays."""
    import narwhals.stable.v1 as nw
    from scipy import sparse

    if nw.dependencies.is_into_dataframe(value):
        table = nw.from_native(value, eager_only=True)
        return [(name, _plain(table[name].to_numpy())) for name in table.columns]
    if nw.dependencies.is_into_series(value):
        return _plain(nw.from_native(value, series_only=True).to_numpy())
    if sparse.issparse(value):
        rows: Any = value.tocsr()  # type: ignore[attr-defined]
        return rows.shape, rows.data, rows.indices, rows.indptr
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return value.shape, [stable_text(each) for each in value.ravel()]
    return value


def stable_text(thing: object) -> str:
    """Give a representation without addresses, which differ from process to process."""
    return _ADDRESS.sub("", repr(thing))


def differing(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """Name what two runs differ in, as in "X, trials (5, not 50) and y"; empty if in nothing."""
    words = []
    for name in {**here, **there}:
        old, new = there.get(name), here.get(name)
        if old != new:
            words.append(name if isinstance(new, Digest) else f"{name} ({old!r}, not {new!r})")
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


@contextmanager
def open_run(
    folder: Path,
    about: Mapping[str, Any],
    *,
    parameter: str,
    resume_by: str | None = None,
) -> Iterator[None]:
    """Begin in an empty folder, or go on in that of the same run; keep all others out meanwhile.

    Parameters
    ----------
    folder : Path
        Made when missing.
    about : mapping of str to str, number, bool, None or list of those
        What makes two runs the same, by name; a `Digest` for what is too large.
    parameter : str
        What the caller calls the folder, for complaints.
    resume_by : str, optional
        Refuse to go on, and say that this word would.

    Raises
    ------
    InvalidInput
        If the folder cannot be written to, is in use, holds other things or a run about something
        else; nothing in it has been changed then.
    """
    prepare_folder(folder, parameter)
    path = folder / "run.json"
    about = {"unmet": version("unmet"), **about}
    if path.exists():
        _compare(path, about, parameter, resume_by)
    elif any(
        # a run may have been killed while it wrote down what it is about, or be about to
        not (entry.name == ".lock" or entry.name.startswith(TEMPORARY))
        for entry in folder.iterdir()
    ):
        raise InvalidInput(
            f"{parameter} must be empty or that of the same run, got {folder}, which holds other "
            "files."
        )
    lock = FileLock(folder / ".lock")
    if not lock.acquire(wait=False):
        raise InvalidInput(f"{parameter} must not be in use by another run, got {folder}.")
    try:
        sweep(folder)
        if not path.exists():
            write_text(path, json.dumps({"about": about}, indent=2))
        yield
    finally:
        lock.release()


def _compare(path: Path, about: Mapping[str, Any], parameter: str, resume_by: str | None) -> None:
    """Refuse to go on with a run about something else."""
    try:
        other = differing(json.loads(path.read_text(encoding="utf-8"))["about"], about)
    except (ValueError, TypeError, AttributeError, KeyError):
        raise InvalidInput(
            f"{path} must say what an earlier run is about, got other text."
        ) from None
    if resume_by is not None:
        raise InvalidInput(
            f"{parameter} must be a new folder, got {path.parent}, which holds an earlier run; "
            f"{resume_by} goes on with it."
        )
    if other:
        raise InvalidInput(
            f"{parameter} holds a run with another {other}, got {path.parent}: use another folder."
        )


# --- What a run has finished.


def append_row(path: Path, row: Mapping[str, Any]) -> None:
    """Add one whole line, and see it to the disk."""
    with path.open("ab") as stream:
        stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        stream.flush()
        os.fsync(stream.fileno())


def read_rows(
    path: Path, is_row: Callable[[dict[str, Any]], bool], begins: bytes = b'{"'
) -> list[dict[str, Any]]:
    """Read all rows; a last line that was not written to its end is cut off, garbage refused."""
    if not path.exists():
        return []
    content = path.read_bytes()
    *lines, rest = content.split(b"\n")
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict) or not is_row(row):
            raise _other_text(path, number)
        rows.append(row)
    if rest:
        if not (rest.startswith(begins) or begins.startswith(rest)):
            raise _other_text(path, len(lines) + 1)
        os.truncate(path, len(content) - len(rest))
    return rows


def _other_text(path: Path, line: int) -> InvalidInput:
    return InvalidInput(
        f"{path} must hold a row of results in every line, got other text in line {line}."
    )


def write_arrays(path: Path, **arrays: Any) -> None:
    """Write arrays into one file, whole or not at all."""

    def write(temporary: Path) -> None:
        with temporary.open("wb") as stream:
            np.savez(stream, **arrays)

    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, write)


def read_arrays(path: Path, advice: str) -> dict[str, Any]:
    """Read arrays by name, or say what to do with a file that is damaged."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, ValueError, EOFError, BadZipFile):
        raise InvalidInput(
            f"{path} must hold a finished part of a run, but cannot be read: {advice}."
        ) from None
