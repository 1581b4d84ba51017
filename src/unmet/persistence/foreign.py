"""What a file is that is not one of ours; it is looked at, never opened by what wrote it."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

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
