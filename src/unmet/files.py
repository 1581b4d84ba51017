"""Files that are whole or absent."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from unmet.errors import InvalidInput

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


def write_text(path: Path, text: str) -> Path:
    """Write a text file, whole or not at all, with the same line ends on every platform."""

    def write(temporary: Path) -> None:
        temporary.write_bytes(text.encode())

    return write_whole(path, write)


def write_figure(figure: Any, stem: Path, *, dpi: int = 150) -> list[Path]:
    """Write a figure of matplotlib as SVG and PNG, without dates and names of programs in them.

    For the same SVG every time, draw and write it with a fixed ``svg.hashsalt``.
    """
    metadata = {".svg": {"Date": None, "Creator": None}, ".png": {"Software": None}}
    return [
        write_whole(
            stem.with_name(stem.name + suffix),
            partial(figure.savefig, dpi=dpi, metadata=about),
        )
        for suffix, about in metadata.items()
    ]


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
