"""Bytes of a Favorita file in blocks of whole lines, whatever it is packed in.

A block is at most a few megabytes, so memory does not grow with the file. What is wrong with a file
is said in one sentence with the number of the line.
"""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from unmet.errors import InvalidInput

#: Called with how much of how much has been read, in bytes of the file as it is on disk.
Progress = Callable[[int, int], None]

BLOCK_BYTES = 16 * 2**20

_PARQUET = b"PAR1"
# first bytes → how it is called, and why it is refused
_REFUSED = {
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"\x28\xb5\x2f\xfd": "packed with zstandard",
    b"BZh": "packed with bzip2",
    b"\xfd7zXZ\x00": "packed with xz",
}


@dataclass(frozen=True)
class Block:
    """Whole lines of a file, without its header.

    Attributes
    ----------
    text : bytes
        UTF-8.
    first_line : int
        Number of the first of these lines in the file; the header is line 1.
    is_cut : bool
        Whether the file ends here without a line break, so that the last line may lack something.
    """

    text: bytes
    first_line: int
    is_cut: bool = False


def check_file(parameter: str, path: Path) -> None:
    """Say so when there is no such file."""
    if not path.exists():
        raise InvalidInput(f"{parameter} must be a file, but {path} does not exist.")
    if not path.is_file():
        raise InvalidInput(f"{parameter} must be a file, but {path} is not one.")


def is_parquet(path: Path) -> bool:
    """Whether a file says of itself that it is Parquet."""
    with path.open("rb") as stream:
        return stream.read(4) == _PARQUET


@contextmanager
def open_lines(path: Path) -> Iterator[tuple[bytes, Iterator[Block], Callable[[], int]]]:
    """Open a CSV file, also inside gzip or zip.

    Yields
    ------
    header : bytes
        The first line without its line break.
    blocks : iterator of Block
    position : callable
        How many bytes of the file on disk have been read.
    """
    with path.open("rb") as raw:
        try:
            with _unpacked(raw, path) as stream:
                first = stream.read(BLOCK_BYTES).removeprefix(b"\xef\xbb\xbf")
                header, _, rest = first.partition(b"\n")
                _check_utf8(path, header, 1)
                if not header.strip():
                    raise InvalidInput(f"{path} is empty or starts with an empty line.")
                yield header.rstrip(b"\r"), _blocks(path, stream, rest), raw.tell
        except (EOFError, gzip.BadGzipFile, zlib.error, zipfile.BadZipFile) as error:
            raise InvalidInput(f"{path} is cut off or damaged ({error}).") from error


def _unpacked(raw: IO[bytes], path: Path) -> IO[bytes]:
    start = raw.read(8)
    raw.seek(0)
    for magic, name in _REFUSED.items():
        if start.startswith(magic):
            raise InvalidInput(
                f"{path} must be CSV (also inside gzip or zip) or Parquet, got {name}: "
                "unpack it first."
            )
    if start.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
    if start.startswith(b"PK\x03\x04"):
        return _only_member(zipfile.ZipFile(raw), path)
    return raw


def _only_member(archive: zipfile.ZipFile, path: Path) -> IO[bytes]:
    names = [name for name in archive.namelist() if not name.endswith("/")]
    if len(names) != 1:
        raise InvalidInput(f"{path} must hold one CSV file, got {len(names)} files.")
    if archive.getinfo(names[0]).flag_bits & 1:
        raise InvalidInput(f"{path} must not need a password.")
    return archive.open(names[0])


def _blocks(path: Path, stream: IO[bytes], rest: bytes) -> Iterator[Block]:
    """Cut the stream after line breaks; what follows the last one waits for the next block."""
    line = 2
    while more := stream.read(BLOCK_BYTES):
        end = rest.rfind(b"\n") + 1
        if len(rest) - end > BLOCK_BYTES:
            raise InvalidInput(f"{path} must be CSV, got a line of more than {BLOCK_BYTES} bytes.")
        if end:
            text = rest[:end]
            _check_utf8(path, text, line)
            yield Block(text, line)
            line += text.count(b"\n")
        rest = rest[end:] + more
    _check_utf8(path, rest, line)
    # empty lines at the end of a file are no rows
    yield Block(rest.rstrip(b"\r\n"), line, is_cut=not rest.endswith(b"\n"))


def _check_utf8(path: Path, text: bytes, first_line: int) -> None:
    if text.isascii():  # all of Favorita is, and this is quicker
        return
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + text.count(b"\n", 0, error.start)
        raise InvalidInput(
            f"{path} must be UTF-8 text, got the byte 0x{text[error.start]:02x} in line {line}."
        ) from error
