"""The file itself: a zip archive with a header in JSON and the state of a model."""

from __future__ import annotations

import bz2
import json
import lzma
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from unmet.errors import InvalidInput
from unmet.files import write_whole

# --- What a file is that is not one of ours; it is looked at, never opened by what wrote it.

_LOOK = 1 << 16
_OLD_PICKLES = (b"ccopy_reg\n", b"ccopyreg\n", b"(dp0", b"(lp0", b"c__builtin__\n", b"cbuiltins\n")
# what joblib may have packed a pickle with
_UNPACK: tuple[tuple[bytes, Callable[[], Any]], ...] = (
    (b"\x1f\x8b", lambda: zlib.decompressobj(wbits=31)),
    (b"\x78", zlib.decompressobj),
    (b"BZh", bz2.BZ2Decompressor),
    (b"\xfd7zXZ", lzma.LZMADecompressor),
    (b"\x5d\x00\x00", lambda: lzma.LZMADecompressor(lzma.FORMAT_ALONE)),
)


def describe_foreign(path: Path, members: Sequence[str] = ()) -> str:
    """Say in one sentence why a file is not loaded."""
    with path.open("rb") as stream:
        head = stream.read(_LOOK)
    if any(name.endswith((".pkl", ".pickle")) for name in members) or _is_pickle(head):
        return (
            f"{path} is a pickle, as pickle, joblib and torch write them, and was not opened, "
            "because opening a pickle can run any code: use unmet.save to write models."
        )
    # an archive cut short may end in the archive that it held
    if head[30:].startswith(b"header.json") or (head.startswith(b"PK\x03\x04") and not members):
        return f"{path} is cut short: the end of the file is missing."
    if "schema.json" in members:
        return f"{path} was written by skops itself, not by unmet.save: open it with skops.io.load."
    if not head:
        return f"{path} is empty."
    return f"{path} is not a file that unmet.save wrote."


def _is_pickle(head: bytes) -> bool:
    for magic, unpacker in _UNPACK:
        if head.startswith(magic):
            try:
                head = unpacker().decompress(head, 64)
            except (zlib.error, lzma.LZMAError, OSError, EOFError):
                return False
            break
    protocol = head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")
    return protocol or head.startswith(_OLD_PICKLES)


# --- A file of ours.

FORMAT = 2
"""Grows when files change so that older versions of the package could not read them."""
_HEADER, _PAYLOAD, _OLD_PAYLOAD = "header.json", "model.state", "model.skops"
_MARK = "unmet model"
_LONGEST_HEADER = 1 << 20
# what reading a member of a damaged archive ends in: also flags that say "encrypted" or "packed"
_UNREADABLE = (BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, zlib.error)
_PACKAGES = ("numpy", "scipy", "scikit-learn", "skops", "lightgbm")


@dataclass(frozen=True)
class Header:
    """What a file says of itself.

    Attributes
    ----------
    format : int
        Of the file.
    version : str
        Of the package that wrote it.
    packages : dict
        Versions of the packages it was written with.
    model : str
        Name of the saved class: our own without the module.
    sha256 : str
        Of the payload: tells a damaged file, not a forged one.
    unpacked : int
        Bytes that the payload takes when unpacked.
    about : dict
        What the caller of `save` wanted to add.
    """

    format: int
    version: str
    packages: dict[str, str]
    model: str
    sha256: str
    unpacked: int
    about: dict[str, Any]


def write_file(path: Path, payload: bytes, model: str, unpacked: int, about: Any) -> None:
    """Write a whole file or none."""
    header = Header(
        FORMAT, version("unmet"), _versions(), model, sha256(payload).hexdigest(), unpacked, about
    )
    text = json.dumps({"file": _MARK, **asdict(header)}, indent=1, ensure_ascii=False)

    def write(temporary: Path) -> None:
        with ZipFile(temporary, "w", ZIP_STORED) as archive:
            archive.writestr(_HEADER, text)
            archive.writestr(_PAYLOAD, payload)

    if path.is_dir():
        raise InvalidInput(f"path must be a file, got the folder {path}.")
    write_whole(path, write)


def read_file(path: Path, max_bytes: int) -> tuple[Header, bytes]:
    """Read the header and the payload; the payload is whole and as the header says."""
    with _opened(path) as archive:
        header = _header(archive, path)
        if _PAYLOAD not in archive.namelist():
            raise InvalidInput(f"{path} is not a file of unmet: it has no state of a model.")
        stored = archive.getinfo(_PAYLOAD)
        # a payload that is not packed cannot be larger than the file it came in
        if stored.compress_type != ZIP_STORED:
            raise InvalidInput(f"{path} is not as unmet writes files: its payload is packed.")
        size = max(stored.file_size, header.unpacked)
        if size > max_bytes:
            raise InvalidInput(
                f"{path} must unpack to at most max_bytes, {max_bytes:,}, got {size:,} bytes."
            )
        try:
            payload = archive.read(_PAYLOAD)
        except _UNREADABLE:
            raise InvalidInput(_damaged(path)) from None
    if sha256(payload).hexdigest() != header.sha256:
        raise InvalidInput(_damaged(path))
    return header, payload


def read_header(path: str | Path) -> Header:
    """Read what a file says of itself, without loading the model; it needs no extra package.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Header
    """
    with _opened(Path(path)) as archive:
        return _header(archive, Path(path))


def read_about(path: str | Path) -> dict[str, Any]:
    """Read what was given as ``about`` to `save`, without loading the model.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    dict
    """
    return read_header(path).about


def _opened(path: Path) -> ZipFile:
    """Open an archive of ours, or say what the file is instead."""
    if path.is_dir():
        raise InvalidInput(f"path must be a file, got the folder {path}.")
    if not path.exists():
        raise InvalidInput(f"path must be a file that exists, got {path}.")
    try:
        archive = ZipFile(path)
    except BadZipFile:
        raise InvalidInput(describe_foreign(path)) from None
    except OSError as error:
        raise InvalidInput(
            f"path must be a file that can be read, got {path}: {error.strerror}."
        ) from None
    if sorted(archive.namelist()) not in ([_HEADER, _PAYLOAD], [_HEADER, _OLD_PAYLOAD]):
        archive.close()
        raise InvalidInput(describe_foreign(path, archive.namelist()))
    return archive


def _header(archive: ZipFile, path: Path) -> Header:
    wrong = f"{path} is not a file of unmet: its header cannot be read."
    if archive.getinfo(_HEADER).file_size > _LONGEST_HEADER:
        raise InvalidInput(wrong)
    try:
        fields = json.loads(archive.read(_HEADER))
        number = fields["format"]
        if fields.pop("file") != _MARK or type(number) is not int:
            raise InvalidInput(wrong)
        if number > FORMAT:
            raise InvalidInput(
                f"{path} was written by unmet {fields['version']} in format {number}, and this "
                f"version, {version('unmet')}, reads formats up to {FORMAT}: update unmet."
            )
        if number < FORMAT:
            again = fields["about"].get("command") if isinstance(fields["about"], dict) else None
            how = f"run {again!r}" if again else "fit the model and save it"
            raise InvalidInput(
                f"{path} was written by unmet {fields['version']} in format {number}, and this "
                f"version, {version('unmet')}, reads format {FORMAT}: {how} again."
            )
        header = Header(**fields)
    except (ValueError, KeyError, TypeError, RecursionError, *_UNREADABLE) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(wrong) from None
    if type(header.unpacked) is not int or not isinstance(header.about, dict):
        raise InvalidInput(wrong)
    return header


def _damaged(path: Path) -> str:
    return f"{path} is damaged: its content is not what was written (the checksum differs)."


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
