"""Files that somebody brings: small enough, tables, and with numbers in them."""

from __future__ import annotations

from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from unmet.errors import InvalidInput
from unmet.planning import SUFFIXES, read_table

if TYPE_CHECKING:
    import polars

MOST_MEGABYTES = 50
MOST_BYTES = MOST_MEGABYTES * 1024 * 1024
"""Larger files are for the command line."""

_LONGEST = 100  # characters of a file's name


def read_upload(name: str, data: bytes) -> polars.DataFrame:
    """Read a table from the bytes of a file.

    Parameters
    ----------
    name : str
        Of the file; its ending says what it is.
    data : bytes
        At most `MOST_BYTES`.

    Returns
    -------
    polars.DataFrame
    """
    short = PurePath(name.replace("\\", "/")).name[-_LONGEST:]
    if len(data) > MOST_BYTES:
        raise InvalidInput(
            f"{short} must not be larger than {MOST_MEGABYTES} MB, got "
            f"{len(data) / 1024 / 1024:,.0f} MB: use the command line (unmet fit) for such files."
        )
    if not short.lower().endswith(SUFFIXES):
        raise InvalidInput(f"{short or 'The file'} must end in one of {', '.join(SUFFIXES)}.")
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"table{_suffix(short)}"
        file.write_bytes(data)
        try:
            return read_table(file)
        except InvalidInput as error:
            raise InvalidInput(str(error).replace(str(file), short)) from None


def _suffix(name: str) -> str:
    return next(each for each in sorted(SUFFIXES, key=len) if name.lower().endswith(each))
