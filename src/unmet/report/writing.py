"""A report as a file, whole or absent."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from unmet.errors import InvalidInput
from unmet.files import write_whole
from unmet.planning.results import ReportContent
from unmet.report.page import render

__all__ = ["write_report"]


def write_report(content: ReportContent, path: str | PathLike[str]) -> Path:
    """Write a report to a file; one that was there is replaced, but never by half a report.

    Parameters
    ----------
    content : ReportContent
    path : path
        In a folder that exists.

    Returns
    -------
    Path
    """
    target = Path(path)
    if target.is_dir():
        raise InvalidInput(f"path of the report must be a file, got the folder {target}.")
    if not target.parent.is_dir():
        raise InvalidInput(f"path of the report must be in a folder that exists, got {target}.")
    page = render(content).encode("utf-8")

    def write(temporary: Path) -> None:
        temporary.write_bytes(page)

    try:
        return write_whole(target, write)
    except OSError as error:
        raise InvalidInput(
            f"path of the report must be one that can be written, got {target}: {error.strerror}."
        ) from None
