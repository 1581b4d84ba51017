"""Parts of a file in the format of skops: objects of scikit-learn, and of classes of a user.

A part is an archive: ``schema.json`` is a tree of nodes, each with the name of a loader, of a
module and of a class; arrays are files beside it. skops checks names of types and lets any loader
make any type that is trusted. Here each loader has its own list, and there are no methods, partial
functions or operators at all. Nothing of ours is in a part: that is a state of our own.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import numpy as np

from unmet.errors import InvalidInput
from unmet.persistence.states import parts_of

# skops walks through all packages of scikit-learn, and these load torch and dask where they are
# installed: seconds that a model does not need. A walk passes over what cannot be imported.
_PASSED_OVER = (
    "sklearn.externals.array_api_compat.torch",
    "sklearn.externals.array_api_compat.dask",
)


def import_skops() -> Any:
    """Import ``skops.io``, where it is not, without what it does not need."""
    modules: Any = sys.modules
    hidden = [] if "skops.io" in modules else [n for n in _PASSED_OVER if n not in modules]
    modules.update(dict.fromkeys(hidden))
    try:
        import skops.io
    finally:
        for name in hidden:
            modules.pop(name, None)
    return skops.io


# --- Types beyond those that skops itself trusts.

# trees of `LatentBand`, which `check_trees` looks at, and sparse tables, which `audit` looks at
_OURS = frozenset(
    {
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        *(f"scipy.sparse._{k}.{k}_{form}" for k in ("csr", "csc") for form in ("array", "matrix")),
    }
)


def read_trusted(trusted: Sequence[str]) -> frozenset[str]:
    """Names that a caller adds: dotted, with the module."""
    if isinstance(trusted, str):
        raise InvalidInput(f"trusted must be a list of names, got the text {trusted!r:.60}.")
    for name in trusted:
        if not isinstance(name, str) or "." not in name:
            raise InvalidInput(
                f"trusted must hold names with their module, such as 'my_costs.MyCost', got "
                f"{name!r:.60}."
            )
    return frozenset(trusted)


# --- Trees of scikit-learn point at each other by number, and nobody checks the numbers.
#
# A forged file could let a tree point outside its own memory, which skops cannot see because the
# types are right. So every tree is looked at before anyone can use it.

_OWNER = "sklearn.ensemble._hist_gradient_boosting.gradient_boosting"


def check_trees(model: Any) -> None:
    """Refuse a loaded model with a boosted tree that points outside itself."""
    for each in parts_of(model):
        if type(each).__module__ == _OWNER:
            _check(each)


def _check(owner: Any) -> None:
    """Children come after their parents, within the tree; columns exist; so do sets of bins."""
    n_columns = getattr(owner, "n_features_in_", 0)
    for stage in getattr(owner, "_predictors", ()):
        for tree in stage:
            bitsets = (tree.raw_left_cat_bitsets, tree.binned_left_cat_bitsets)
            nodes, sets = tree.nodes, min(map(len, bitsets))
            inner = nodes[nodes["is_leaf"] == 0]
            place = np.flatnonzero(nodes["is_leaf"] == 0)
            splits = inner["is_categorical"] == 1
            good = [
                nodes.ndim == 1 and nodes.size > 0,
                (inner["left"] > place).all() and (inner["left"] < nodes.size).all(),
                (inner["right"] > place).all() and (inner["right"] < nodes.size).all(),
                (inner["feature_idx"] >= 0).all() and (inner["feature_idx"] < n_columns).all(),
                (inner["bitset_idx"][splits] < sets).all(),
            ]
            if not all(good):
                raise InvalidInput(
                    "The file was not loaded: it holds a tree that points outside itself, which "
                    "no model has."
                )


# --- Looking at a part before anything is made of it.

_SCHEMA = "schema.json"
_OLDEST_PROTOCOL = 2  # older ones were never written here, and are read by older, laxer loaders


class Refused(Exception):  # noqa: N818 (caught and told as a sentence by those who know the path)
    """A type that a part must not ask for."""

    def __init__(self, name: str, *, may_be_trusted: bool) -> None:
        super().__init__(name)
        self.name = name
        self.may_be_trusted = may_be_trusted


# Loaders of skops, and the types that each of them may make.
_LOADERS: Mapping[str, str] = {
    "JsonNode": r"builtins\.str",
    "DictNode": r"builtins\.dict|collections\.OrderedDict",
    "ListNode": r"builtins\.list",
    "SetNode": r"builtins\.set",
    "TupleNode": r"builtins\.tuple",
    "SliceNode": r"builtins\.slice",
    "BytesNode": r"builtins\.bytes",
    "BytearrayNode": r"builtins\.bytearray",
    "NdArrayNode": r"numpy\..*",
    "MaskedArrayNode": r"numpy\.ma\.(core\.)?MaskedArray",
    "DTypeNode": r"numpy\.dtype",
    "RandomStateNode": r"numpy\.random\.mtrand\.RandomState",
    "RandomGeneratorNode": r"numpy\.random\._generator\.Generator",
    "SparseMatrixNode": r"scipy\.sparse\._(csr\.csr|csc\.csc)_(array|matrix)",
    "LossNode": r"(sklearn\._loss\.)?_loss\.Cy.*",  # scikit-learn before 1.9 names one module
    "TypeNode": r"numpy\..*|builtins\.(str|int|float|bool|list|tuple|set|dict)",
    "FunctionNode": r"(numpy|scipy\.special)\..*",  # of these only the ufuncs that skops knows
    "ObjectNode": r"sklearn\..*",
    "ConstructorFromReduceNode": r"datetime\.(date|datetime|timedelta)",
    "TreeNode": "",  # its numbers are not checked by anybody
}
_BIT_GENERATORS = {"MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"}
_MAY_BE_TRUSTED = {"ObjectNode", "TupleNode", "FunctionNode", "TypeNode", "TreeNode"}
_MAY_BE_TRUSTED |= {"ConstructorFromReduceNode"}


def audit(part: bytes, trusted: frozenset[str], max_bytes: int | None = None) -> list[str]:
    """Refuse a part that names a type it must not.

    Parameters
    ----------
    part : bytes
        An archive of skops.
    trusted : frozenset of str
        Types that are allowed beside those that skops trusts.
    max_bytes : int, optional
        Most that the part may unpack to.

    Returns
    -------
    list of str
        Names that skops may be told to trust.

    Raises
    ------
    Refused
        With the first type that is not allowed.
    """
    with ZipFile(BytesIO(part)) as archive:
        check_size(archive, max_bytes)
        _check_names(json.loads(archive.read(_SCHEMA)), trusted)
        for name in archive.namelist():
            if name != _SCHEMA:
                _check_part(name, archive, max_bytes)
    allowed = _OURS | trusted
    unknown = set(import_skops().get_untrusted_types(data=part)) - allowed
    if unknown:
        raise Refused(min(unknown), may_be_trusted=True)
    return sorted(allowed)


def check_size(archive: ZipFile, max_bytes: int | None) -> None:
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
    if loader not in _LOADERS:
        raise Refused(f"{name} (by {loader})", may_be_trusted=False)
    trustable = loader in _MAY_BE_TRUSTED
    if not re.fullmatch(_LOADERS[loader], name) and not (trustable and name in trusted):
        raise Refused(name, may_be_trusted=trustable and "<" not in name)
    if loader == "RandomGeneratorNode":  # older versions of skops call the name that stands there
        kept = node["content"]["bit_generator"]["content"]["bit_generator"]["content"]
        if json.loads(kept) not in _BIT_GENERATORS:
            raise Refused(f"numpy.random.{json.loads(kept)}", may_be_trusted=False)


def _check_part(name: str, archive: ZipFile, max_bytes: int | None) -> None:
    """See that arrays are as long as they say, and sparse ones point inside themselves."""
    if name.endswith(".npy"):
        _check_array(BytesIO(archive.read(name)))
    elif name.endswith(".npz"):
        content = archive.read(name)
        with ZipFile(BytesIO(content)) as inner:
            check_size(inner, max_bytes)
            for each in inner.namelist():
                _check_array(BytesIO(inner.read(each)))
        _check_sparse(content)
    elif not name.endswith(".bin"):
        raise InvalidInput(f"The file was not loaded: it has a part named {name!r:.60}.")


def _check_array(stream: BytesIO) -> None:
    """Compare the shape in the header with the bytes behind it: memory is taken by the former."""
    major, _ = np.lib.format.read_magic(stream)
    shape, _, dtype = getattr(np.lib.format, f"read_array_header_{major}_0")(stream)
    behind = len(stream.getbuffer()) - stream.tell()
    if dtype.hasobject or int(np.prod([float(n) for n in shape])) * dtype.itemsize != behind:
        raise InvalidInput("The file was not loaded: an array in it is not as long as it says.")


def _check_sparse(content: bytes) -> None:
    from scipy import sparse

    found: Any = sparse.load_npz(BytesIO(content))
    found.check_format(full_check=True)
