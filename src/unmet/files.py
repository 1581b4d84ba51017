"""Write files completely or not at all, resume stopped runs, and check packed files.

`unmet` writes each file under a temporary name next to its place, flushes it to the disk and
renames it. A full disk, a power cut or a second writer therefore leave the old file or the new one,
never a part of one.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import stat
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np

from unmet.errors import FileFailure, InvalidInput

try:
    import fcntl
except ImportError:  # Windows
    _flock: Any = None
else:
    _flock = fcntl.flock

Cell = str | int | float | None


def prepare_folder(folder: Path, name: str = "output") -> None:
    """Make the folder that a caller knows by `name`, or say why nothing can be written there."""
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{name} must be a folder, got the file {folder}.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"{name} must be a folder that can be made, got {folder}: {error.strerror}."
        ) from None
    if not os.access(folder, os.W_OK):
        raise InvalidInput(f"{name} must be a folder that can be written to, got {folder}.")


def check_ordinary(path: Path, name: str = "output") -> None:
    """Refuse to write over a device, a pipe or a folder, which renaming would replace."""
    try:
        kind = path.stat().st_mode
    except OSError:  # there is nothing yet
        return
    if not stat.S_ISREG(kind):
        what = "folder" if stat.S_ISDIR(kind) else "device or pipe"
        raise InvalidInput(f"{name} must be an ordinary file, got the {what} {path}.")


def write_whole(path: Path, write: Callable[[Path], None]) -> Path:
    """Let ``write`` fill a temporary file beside ``path``, then rename it: never half a file.

    A link stays a link: the file that it points to is replaced.
    """
    check_ordinary(path, "A file to write")
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    temporary: Path | None = None
    try:
        with NamedTemporaryFile(
            dir=target.parent, prefix=".unmet-", suffix=target.suffix, delete=False
        ) as made:
            temporary = Path(made.name)
        write(temporary)
        mask = os.umask(0o022)  # the system tells it only to those who set it
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # a temporary file is private, a result is not
        with temporary.open("rb+") as stream:
            os.fsync(stream.fileno())  # a full disk may show only here
        temporary.replace(target)
    except FileFailure:
        raise
    except OSError as error:
        why = (error.strerror or str(error) or type(error).__name__).rstrip(".")
        raise FileFailure(f"{path} cannot be written: {why}.") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
    return path


@contextmanager
def alone_in(folder: Path, wait: bool = True) -> Iterator[None]:
    """Let only one process at a time run the block for a folder; others wait.

    Use it for files that are read, changed and written. The system ends the block of a process that
    dies. Systems without locks keep nobody out.

    Raises
    ------
    BlockingIOError
        If another process is inside and `wait` is False.
    """
    handle = os.open(folder, os.O_RDONLY) if _flock is not None else None
    try:
        if handle is not None:
            try:
                _flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                raise
            except OSError:  # a file system without locks
                pass
        yield
    finally:
        if handle is not None:
            os.close(handle)


def write_content(path: Path, content: bytes) -> Path:
    """Write bytes, whole or not at all."""

    def write(temporary: Path) -> None:
        temporary.write_bytes(content)

    return write_whole(path, write)


def write_text(path: Path, text: str) -> Path:
    """Write a text file, whole or not at all, with the same line ends on every platform."""
    return write_content(path, text.encode())


def write_csv(path: Path, rows: Sequence[Mapping[str, Cell]]) -> Path:
    """Write rows that share their keys; None is an empty cell."""

    def write(temporary: Path) -> None:
        with temporary.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)

    return write_whole(path, write)


# --- Runs that may be stopped at any moment, and go on later as if they had not been.
#
# What a run has finished stands in a folder, and nothing else does: run.json says what the run is
# about and never changes, rows are appended to *.jsonl and seen to the disk, arrays stand in *.npz,
# each whole or absent.


@contextmanager
def open_run(
    folder: Path, about: Mapping[str, Any], *, parameter: str, resume_by: str | None = None
) -> Iterator[None]:
    """Start a run in an empty folder, or resume the same run, and lock the folder meanwhile.

    Parameters
    ----------
    folder : Path
        Folder of the run; created if necessary.
    about : mapping
        Settings that identify the run, by name, in plain JSON.
    parameter : str
        The caller's name of the folder, for errors.
    resume_by : str, optional
        Name of the option that resumes a run. If given, a folder with a run is refused with a
        message that names it.

    Raises
    ------
    InvalidInput
        If the folder cannot be written to, is in use, or holds other files or a run with other
        settings. Nothing in it has been changed then.
    """
    prepare_folder(folder, parameter)
    path = folder / "run.json"
    here = json.loads(json.dumps({"unmet": version("unmet"), **about}))
    if path.exists():
        try:
            there = dict(json.loads(path.read_text(encoding="utf-8"))["about"])
        except (ValueError, TypeError, KeyError):
            raise InvalidInput(
                f"{path} must say what an earlier run is about, got other text."
            ) from None
        if resume_by is not None:
            raise InvalidInput(
                f"{parameter} must be a new folder, got {folder}, which holds an earlier run; "
                f"{resume_by} goes on with it."
            )
        other = [
            f"{name} ({there.get(name)!r:.40}, not {here.get(name)!r:.40})"
            for name in {**here, **there}
            if here.get(name) != there.get(name)
        ]
        if other:
            raise InvalidInput(
                f"{parameter} holds a run with another {', '.join(other)}, got {folder}: use "
                "another folder."
            )
    elif any(not entry.name.startswith(".unmet-") for entry in folder.iterdir()):
        raise InvalidInput(
            f"{parameter} must be empty or that of the same run, got {folder}, which holds other "
            "files."
        )
    try:
        with alone_in(folder, wait=False):
            if not path.exists():
                write_text(path, json.dumps({"about": here}, indent=2))
            yield
    except BlockingIOError:
        raise InvalidInput(
            f"{parameter} must not be in use by another run, got {folder}."
        ) from None


def append_row(path: Path, row: Mapping[str, Any]) -> None:
    """Append one complete line and flush it to the disk."""
    with path.open("ab") as stream:
        stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        stream.flush()
        os.fsync(stream.fileno())


def read_rows(path: Path, is_row: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    """Read all rows; drop a last line that was not written completely."""
    if not path.exists():
        return []
    content = path.read_bytes()
    *lines, rest = content.split(b"\n")
    rows = []
    lines += [rest] if rest and not rest.startswith(b"{") else []
    for number, line in enumerate(lines, start=1):
        row = None
        with suppress(ValueError):
            row = json.loads(line)
        if not isinstance(row, dict) or not is_row(row):
            raise InvalidInput(
                f"{path} must hold a row of results in every line, got other text in line {number}."
            )
        rows.append(row)
    if rest.startswith(b"{"):
        os.truncate(path, len(content) - len(rest))
    return rows


def write_arrays(path: Path, **arrays: Any) -> None:
    """Write arrays into one file, whole or not at all."""

    def write(temporary: Path) -> None:
        with temporary.open("wb") as stream:
            np.savez(stream, **arrays)

    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, write)


def read_arrays(path: Path, advice: str) -> dict[str, Any]:
    """Read arrays by name, or raise an error with advice about a damaged file."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        raise InvalidInput(
            f"{path} must hold a finished part of a run, but cannot be read: {advice}."
        ) from None


# --- Packed files, unpacked within a limit.

MAX_UNPACKED = 2 << 30
"""Bytes that a packed file may unpack to."""


def read_gzip(file: Path, most: int = -1) -> bytes:
    """Unpack a gzip file, or so many bytes of its content; refuse one that unpacks to too much."""
    with gzip.open(file) as stream:
        content = stream.read(MAX_UNPACKED + 1 if most < 0 else most)
    _check_unpacked(file, len(content))
    return content


def check_zip(file: Path) -> None:
    """Refuse a zip file, such as of Excel, that unpacks to too much."""
    with zipfile.ZipFile(file) as archive:
        _check_unpacked(file, sum(member.file_size for member in archive.infolist()))


def _check_unpacked(file: Path, unpacked: int) -> None:
    if unpacked > MAX_UNPACKED:
        raise InvalidInput(
            f"{file} must not unpack to more than {MAX_UNPACKED >> 20:,} MB: unpack it yourself if "
            "that is meant."
        )
