"""Looking at a payload before anything is made of it.

A payload is an archive: ``schema.json`` is a tree of nodes, each with the name of a loader, of a
module and of a class; arrays are files beside it. skops checks names of types and lets any loader
make any type that is trusted. Here each loader has its own list: classes of ours are only made
from their attributes, nothing of ours is called, and there are no methods, partial functions or
operators at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import numpy as np

from unmet.errors import InvalidInput
from unmet.persistence.names import OURS, SCIKIT_LEARN, SCIPY
from unmet.persistence.skops_package import import_skops

_SCHEMA = "schema.json"
_OLDEST_PROTOCOL = 2  # older ones were never written here, and are read by older, laxer loaders


class Refused(Exception):  # noqa: N818 (caught and told as a sentence by those who know the path)
    """A type that a payload must not ask for."""

    def __init__(self, name: str, *, may_be_trusted: bool, is_module: bool = False) -> None:
        super().__init__(name)
        self.name = name
        self.may_be_trusted = may_be_trusted
        self.is_module = is_module


def _only(*names: str) -> Callable[[str], bool]:
    return frozenset(names).__contains__


_KEYS = ("str", "int", "float", "bool", "list", "tuple", "set", "dict")
_FIXED: Mapping[str, Callable[[str], bool]] = {
    "JsonNode": _only("builtins.str"),
    "DictNode": _only("builtins.dict", "collections.OrderedDict"),
    "ListNode": _only("builtins.list"),
    "SetNode": _only("builtins.set"),
    "TupleNode": lambda name: name == "builtins.tuple" or name in OURS,
    "SliceNode": _only("builtins.slice"),
    "BytesNode": _only("builtins.bytes"),
    "BytearrayNode": _only("builtins.bytearray"),
    "NdArrayNode": lambda name: name.startswith("numpy."),
    "MaskedArrayNode": _only("numpy.ma.core.MaskedArray", "numpy.ma.MaskedArray"),
    "DTypeNode": _only("numpy.dtype"),
    "RandomStateNode": _only("numpy.random.mtrand.RandomState"),
    "RandomGeneratorNode": _only("numpy.random._generator.Generator"),
    "SparseMatrixNode": SCIPY.__contains__,
    "LossNode": lambda name: name.startswith("sklearn._loss._loss.Cy"),
    "TypeNode": lambda name: (
        name.startswith("numpy.") or name in {f"builtins.{key}" for key in _KEYS}
    ),
    # of these only the ufuncs that skops knows
    "FunctionNode": lambda name: name.startswith(("numpy.", "scipy.special.")),
    "ObjectNode": lambda name: name in OURS or name.startswith("sklearn."),
    "ConstructorFromReduceNode": _only("datetime.date", "datetime.datetime", "datetime.timedelta"),
    "TreeNode": lambda _: False,
}
_BIT_GENERATORS = {"MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"}
_MAY_BE_TRUSTED = {
    "ObjectNode",
    "TupleNode",
    "FunctionNode",
    "TypeNode",
    "ConstructorFromReduceNode",
    "TreeNode",
}


def audit(payload: bytes, trusted: frozenset[str], max_bytes: int | None = None) -> list[str]:
    """Refuse a payload that names a type it must not.

    Parameters
    ----------
    payload : bytes
        An archive of skops.
    trusted : frozenset of str
        Types that are allowed beside those of this package and those that skops trusts.
    max_bytes : int, optional
        Most that the payload may unpack to.

    Returns
    -------
    list of str
        Names that skops may be told to trust.

    Raises
    ------
    Refused
        With the first type that is not allowed.
    """
    with ZipFile(BytesIO(payload)) as archive:
        _check_size(archive, max_bytes)
        _check_names(json.loads(archive.read(_SCHEMA)), trusted)
        for name in archive.namelist():
            if name != _SCHEMA:
                _check_part(name, archive, max_bytes)
    allowed = {*OURS, *SCIKIT_LEARN, *SCIPY, *trusted}
    unknown = set(import_skops("models in files").get_untrusted_types(data=payload)) - allowed
    if unknown:
        raise Refused(min(unknown), may_be_trusted=True)
    return sorted(allowed)


def _check_size(archive: ZipFile, max_bytes: int | None) -> None:
    """Refuse to unpack too much; an archive never yields more than its list of parts says."""
    parts = archive.infolist()
    if len({each.filename for each in parts}) != len(parts):
        raise InvalidInput("The file was not loaded: two of its parts have the same name.")
    size = sum(each.file_size for each in parts)
    if max_bytes is not None and size > max_bytes:
        raise InvalidInput(
            f"The file must unpack to at most max_bytes, {max_bytes:,}, got {size:,} bytes."
        )


def _check_names(schema: Any, trusted: frozenset[str]) -> None:
    protocol = schema["protocol"]
    if type(protocol) is not int or protocol < _OLDEST_PROTOCOL:
        raise InvalidInput(f"The file was not loaded: its protocol {protocol!r} is not in use.")
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if "__loader__" in node:
                _check_node(node, trusted)
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _check_node(node: dict[str, Any], trusted: frozenset[str]) -> None:
    loader, name = node["__loader__"], f"{node['__module__']}.{node['__class__']}"
    allowed = _FIXED.get(loader)
    if allowed is None:
        raise Refused(f"{name} (by {loader})", may_be_trusted=False)
    trustable = loader in _MAY_BE_TRUSTED
    if not allowed(name) and not (trustable and name in trusted):
        raise Refused(name, may_be_trusted=trustable and "<" not in name)
    if loader == "RandomGeneratorNode":
        _check_generator(node)


def _check_generator(node: dict[str, Any]) -> None:
    """Look at the name of the bit generator, which older versions of skops call unseen."""
    name = json.loads(node["content"]["bit_generator"]["content"]["bit_generator"]["content"])
    if name not in _BIT_GENERATORS:
        raise Refused(f"numpy.random.{name}", may_be_trusted=False)


def _check_part(name: str, archive: ZipFile, max_bytes: int | None) -> None:
    """See that arrays are as long as they say, and sparse ones point inside themselves."""
    if name.endswith(".npy"):
        _check_array(BytesIO(archive.read(name)))
    elif name.endswith(".npz"):
        content = archive.read(name)
        with ZipFile(BytesIO(content)) as inner:
            _check_size(inner, max_bytes)
            for each in inner.namelist():
                _check_array(BytesIO(inner.read(each)))
        _check_sparse(content)
    elif not name.endswith(".bin"):
        raise InvalidInput(f"The file was not loaded: it has a part named {name!r:.60}.")


def _check_array(stream: BytesIO) -> None:
    """Compare the shape in the header with the bytes behind it: memory is taken by the former."""
    major, _ = np.lib.format.read_magic(stream)
    read = {
        1: np.lib.format.read_array_header_1_0,
        2: np.lib.format.read_array_header_2_0,
    }[major]
    shape, _, dtype = read(stream)
    behind = len(stream.getbuffer()) - stream.tell()
    if dtype.hasobject or int(np.prod([float(n) for n in shape])) * dtype.itemsize != behind:
        raise InvalidInput("The file was not loaded: an array in it is not as long as it says.")


def _check_sparse(content: bytes) -> None:
    from scipy import sparse

    found = sparse.load_npz(BytesIO(content))
    check = getattr(found, "check_format", None)
    if check is not None:
        check(full_check=True)
