"""Files that are whole or absent, and archives that unpack to no more than they may.

Whatever `unmet` writes is filled in beside its place, flushed to the disk and renamed: a full disk,
a power cut or a second writer at the same moment leave the old file or the new one, never half of
one. What a killed writer has left beside it is removed by the next one in that folder. Whatever is
read packed (gzip, and zip inside of Excel files) is counted while it is unpacked, so that a small
file cannot fill the memory.
"""

from __future__ import annotations

import csv
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any

from unmet.errors import FileFailure, InvalidInput

try:
    import fcntl
except ImportError:  # Windows
    CAN_LOCK = False
else:
    CAN_LOCK = True

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
    """Refuse to write over a device, a pipe or a folder: to rename onto it would replace it."""
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
        with _reserved(target) as temporary:
            write(temporary)
            temporary.chmod(0o666 & ~_umask())  # a temporary file is private, a result is not
            _to_disk(temporary)  # a full disk may show only here
            temporary.replace(target)
    except FileFailure:
        raise
    except OSError as error:
        raise FileFailure(f"{path} cannot be written: {_reason(error)}.") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
    return path


# --- Temporary files, which say themselves whether their writer lives: it holds their lock.

TEMPORARY = ".unmet-"
"""How the names of temporary files begin."""
_swept: set[Path] = set()


@contextmanager
def _reserved(target: Path) -> Iterator[Path]:
    """Make an empty file beside the target, of a name that nobody else uses, and hold its lock."""
    folder = target.parent.absolute()
    if folder not in _swept:  # once in the life of a process: folders may be large
        _swept.add(folder)
        sweep(folder)
    while True:
        with NamedTemporaryFile(
            dir=folder, prefix=TEMPORARY, suffix=target.suffix, delete=False
        ) as made:
            _lock(made)
            # somebody may have swept it away in the moment before it was locked
            if os.path.exists(made.name):
                if not CAN_LOCK:
                    made.close()  # Windows wants to open it anew
                yield Path(made.name)
                return


def sweep(folder: Path) -> None:
    """Remove the temporary files that killed writers have left in a folder."""
    with suppress(OSError):  # the writer will say what is wrong
        for entry in list(os.scandir(folder)):
            if entry.name.startswith(TEMPORARY) and entry.is_file(follow_symlinks=False):
                with suppress(OSError), open(entry.path, "rb") as stream:
                    if _lock(stream, wait=False):
                        os.unlink(entry.path)


def _lock(stream: Any, wait: bool = True) -> bool:
    """Lock an open file or folder for as long as it is open; False where that cannot be."""
    if CAN_LOCK:
        # some file systems of networks have no locks: there everything is done without
        with suppress(OSError):
            fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            return True
    return False


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Wait until nobody else is inside of such a block for the folder, and keep others out of it.

    For files that are read, changed and written. The system ends a block whose process dies. Where
    it has no locks, nobody is kept out.
    """
    handle = os.open(folder, os.O_RDONLY) if CAN_LOCK else None
    try:
        if handle is not None:
            _lock(handle)
        yield
    finally:
        if handle is not None:
            os.close(handle)


class FileLock:
    """Lock that the system lifts when its holder dies; no lock at all where there is none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stream: Any = None

    def acquire(self, wait: bool = True) -> bool:
        """Take the lock; False if somebody else has it and one does not want to wait."""
        self._stream = self._path.open("ab")
        if CAN_LOCK:
            try:
                fcntl.flock(self._stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                self.release()
                return False
            except OSError:  # a file system without locks
                pass
        return True

    def release(self) -> None:
        """Let go of it."""
        self._stream.close()


def _to_disk(path: Path) -> None:
    """Wait until the system has put a file on the disk, or says that it cannot."""
    with path.open("rb+") as stream:
        os.fsync(stream.fileno())


def _reason(error: OSError) -> str:
    return (error.strerror or str(error) or type(error).__name__).rstrip(".")


def write_content(path: Path, content: bytes) -> Path:
    """Write bytes, whole or not at all."""

    def write(temporary: Path) -> None:
        temporary.write_bytes(content)

    return write_whole(path, write)


def write_text(path: Path, text: str) -> Path:
    """Write a text file, whole or not at all, with the same line ends on every platform."""
    return write_content(path, text.encode())


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


# --- Archives, unpacked within limits.

MAX_UNPACKED = 2 << 30
"""Bytes that a packed file may unpack to."""
MAX_RATIO = 200
"""How many times larger than the file its content may be; tables reach 5 to 50."""
RATIO_FROM = 64 << 20
"""Bytes below which nobody asks for the ratio."""
LONGEST_LINE = 64 << 20
"""Bytes that a line of text may have."""
_PIECE = 1 << 20


def read_gzip(file: Path, most: int = -1) -> bytes:
    """Unpack a gzip file of text, piece by piece, and refuse it as soon as it is too much.

    Parameters
    ----------
    file : Path
    most : int
        Bytes of the content that are wanted; by default all.

    Returns
    -------
    bytes
    """
    content = bytearray()
    with file.open("rb") as stream:
        if stream.read(2) != b"\x1f\x8b":
            raise OSError("Not a gzipped file")
        stream.seek(0)
        for piece in _within_lines(file, _members(stream)):
            content += piece
            _check_unpacked(file, len(content), file.stat().st_size)
            if 0 <= most <= len(content):
                return bytes(content[:most])
    return bytes(content)


def check_lines(file: Path) -> None:
    """Refuse a file of text with a line that is too long, before anything reads it whole."""
    if file.stat().st_size > LONGEST_LINE:
        with file.open("rb") as stream:
            for _ in _within_lines(file, iter(partial(stream.read, _PIECE), b"")):
                pass


def _within_lines(file: Path, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Pass pieces on as long as no line is too long."""
    length = 0  # of the line that the piece begins in
    for piece in pieces:
        end = piece.find(b"\n")
        if length + (end if end >= 0 else len(piece)) > LONGEST_LINE:
            raise InvalidInput(
                f"{file} must be lines of text of at most {LONGEST_LINE >> 20} MB each, got a "
                "longer one."
            )
        length = length + len(piece) if end < 0 else len(piece) - piece.rfind(b"\n") - 1
        yield piece


def _members(stream: IO[bytes]) -> Iterator[bytes]:
    """Content of the members of a gzip file, in pieces of bounded size."""
    packed = b""
    while packed or (packed := stream.read(_PIECE)):
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
        while not unpacker.eof:
            packed = packed or stream.read(_PIECE)
            if not packed:
                raise EOFError("Compressed file ended before the end-of-stream marker was reached")
            yield unpacker.decompress(packed, _PIECE)
            packed = unpacker.unconsumed_tail
        packed = unpacker.unused_data.lstrip(b"\0")  # zeros may stand behind the last member


def check_zip(file: Path) -> None:
    """Refuse a zip file, such as of Excel, that unpacks beyond the limits.

    What its members unpack to is counted, whatever they say of themselves.
    """
    unpacked, packed = 0, file.stat().st_size
    with zipfile.ZipFile(file) as archive, file.open("rb") as stream:
        for member in archive.infolist():
            stream.seek(member.header_offset)
            header = stream.read(30)  # of which the last four bytes are lengths of what follows
            name, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
            stream.seek(name + extra, os.SEEK_CUR)
            if member.compress_type != zipfile.ZIP_DEFLATED:
                unpacked += member.compress_size
                continue
            unpacker, piece = zlib.decompressobj(-zlib.MAX_WBITS), b""
            while not unpacker.eof and (piece := piece or stream.read(_PIECE)):
                unpacked += len(unpacker.decompress(piece, _PIECE))
                piece = unpacker.unconsumed_tail
                _check_unpacked(file, unpacked, packed)
    _check_unpacked(file, unpacked, packed)


def _check_unpacked(file: Path, unpacked: int, packed: int) -> None:
    if unpacked <= RATIO_FROM:
        return
    ratio = unpacked / max(packed, 1)
    if unpacked > MAX_UNPACKED or ratio > MAX_RATIO:
        raise InvalidInput(
            f"{file} must not unpack to more than {MAX_UNPACKED >> 20:,} MB, nor, beyond "
            f"{RATIO_FROM >> 20} MB, to more than {MAX_RATIO} times its size, got "
            f"{unpacked >> 20:,} MB so far, {ratio:,.0f} times its size: unpack it yourself if "
            "that is meant."
        )
