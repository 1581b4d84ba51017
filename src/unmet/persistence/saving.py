"""Write a model to a file, and read it.

Objects of scikit-learn, and of your own classes, are stored in the format of skops, an archive
within the archive. skops creates only types that it knows or that you trust, and runs no code.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from scipy import sparse

from unmet.errors import InvalidInput, UnmetError, Unsupported
from unmet.files import check_ordinary, write_whole
from unmet.persistence.states import Reader, Room, Writer, label_of, parts_of

FORMAT = 3
"""Grows when files change so that older versions of the package could not read them."""
_HEADER, _STATE, _ARRAYS, _PART = "header.json", "state.json", "arrays.bin", "part-{}.skops"
_SCHEMA = "schema.json"
_FIELDS = {"format", "version", "packages", "model", "about"}
_PACKAGES = ("numpy", "scipy", "scikit-learn", "skops", "lightgbm")
# types that models hold beside those that skops itself trusts: trees of `LatentBand`, sparse tables
_TRUSTED = (
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    *(f"scipy.sparse._{k}.{k}_{form}" for k in ("csr", "csc") for form in ("array", "matrix")),
)
# of these, compiled code follows what it finds: they are trusted only by name
_COMPILED = ("sklearn.svm.", "sklearn.cluster.", "sklearn.tree.", "sklearn.neighbors.")
_FOREIGN = (
    "{} must be a file that unmet saved, got another or an incomplete one (a pickle is never "
    "opened, because it can run any code)."
)
MAX_BYTES = 256 << 20
"""What a file may take in memory when it is loaded, if nothing else is said."""
_JSON = 32  # bytes in memory of one byte of JSON, at most


def save(
    model: Any,
    path: str | Path,
    *,
    about: dict[str, Any] | None = None,
    trusted: Sequence[str] = (),
) -> Path:
    """Write a model to one file that holds no code.

    Every model and band rule can be saved, fitted or not, alone or in a scikit-learn pipeline. The
    loaded model decides exactly the same. The file is written completely or not at all.

    Parameters
    ----------
    model : estimator
        Model, plan, band rule, or pipeline that ends in a model.
    path : str or Path
        File to write. Any name works; ``.unmet`` is customary. An existing file is replaced.
    about : dict, optional
        Further information to store with the model, as plain JSON: names of columns, dates, a
        comment. `read_about` reads it without loading the model.
    trusted : sequence of str
        Names of your own types in the model, such as ``"my_costs.MyCost"``. `load` needs them, too,
        and must be able to import them.

    Returns
    -------
    Path
        The file.

    Notes
    -----
    A file holds what decisions, the diagnosis and what-if need, without the training rows; it does
    not grow with their number. Two rules keep rows: `AuditedBand` and `SearchedBand`, which search
    again for another cost.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import unmet
    >>> model = unmet.LinearDecision(unmet.Newsvendor(underage=3, overage=1))
    >>> model = model.fit([[1], [2], [3], [4]], [11, 19, 31, 39])
    >>> with TemporaryDirectory() as folder:
    ...     path = unmet.save(model, Path(folder) / "bread.unmet", about={"unit": "loaves"})
    ...     again = unmet.load(path)
    >>> bool((again.predict([[5]]) == model.predict([[5]])).all())
    True
    """
    extra, where, kind = read_trusted(trusted), Path(path), type(model)
    try:
        added = json.loads(json.dumps({} if about is None else about, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"about must be a dictionary of plain JSON: {error}.") from None
    if not isinstance(added, dict):
        raise InvalidInput(f"about must be a dictionary of plain JSON, got {about!r:.60}.")
    header = {
        "format": FORMAT,
        "version": version("unmet"),
        "packages": versions_of(*_PACKAGES),
        "model": label_of(model) or f"{kind.__module__}.{kind.__qualname__}",
        "about": added,
    }
    try:
        writer = Writer()
        state = json.dumps(writer.write(model), separators=(",", ":"))
        members: dict[str, str | bytes] = {
            _HEADER: json.dumps(header, indent=1, ensure_ascii=False),
            _STATE: state,
            _ARRAYS: bytes(writer.arrays),
        }
        for number, each in enumerate(writer.parts):
            part = import_skops().dumps(each)
            _audit(part, json.loads(_unpack(part, Room(sys.maxsize))[_SCHEMA]), extra)
            members[_PART.format(number)] = part
    except _UntrustedType as error:
        named = f"trusted=[{str(error)!r}]"
        raise Unsupported(
            f"This {kind.__name__} cannot be saved safely, because it has the type {error}, which "
            f"is not of unmet: if it is yours, use save(model, path, {named}) and "
            f"load(path, {named})."
        ) from None
    except Exception as error:  # of any type: skops asks objects that it does not know
        said = " ".join(str(error).split())[:200]
        raise Unsupported(f"This {kind.__name__} cannot be saved safely: {said}") from error

    def write(temporary: Path) -> None:
        temporary.write_bytes(_packed(members, ZIP_DEFLATED))

    write_whole(where, write)
    return where


def load(path: str | Path, *, trusted: Sequence[str] = (), max_bytes: int = MAX_BYTES) -> Any:
    """Load a model that `save` wrote, without running code from the file.

    Before any object is created, the function checks that the file is complete, its format, its
    size in memory, every type in it, and that no tree leads out of itself. Of the types of skops,
    it accepts scikit-learn's estimators, arrays of NumPy and SciPy, and plain containers. Of the
    classes of this package, it creates only those of one registry, by their labels; no constructor
    is called.

    Parameters
    ----------
    path : str or Path
        File that `save` wrote.
    trusted : sequence of str
        Names of further types that the file may use, such as ``"my_costs.MyCost"``. They are
        imported and used, so name only types that you know.
    max_bytes : int, default=256 MiB
        Largest size in memory; a larger file is refused. The size counts the unpacked file, arrays
        in the type in which they are read, and 32 bytes for each byte of JSON.

    Returns
    -------
    estimator
        The model as it was saved.

    Notes
    -----
    Checksums detect a damaged file. They are no signature: a person who can write the file
    determines what the model decides, but not what your computer does.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from unmet import Newsvendor, LinearDecision, load, save
    >>> with TemporaryDirectory() as folder:
    ...     path = save(LinearDecision(Newsvendor(3, 1)), Path(folder) / "bread.unmet")
    ...     load(path)
    LinearDecision(cost=Newsvendor(underage=3.0, overage=1.0))
    """
    where, extra, room = Path(path), read_trusted(trusted), Room(max_bytes)
    with _naming(where):
        members = _unpack(_content(where, room), room)
        header = _header(members, where, room)
        try:
            room.take(_JSON * len(members[_STATE]))
            state = json.loads(members[_STATE], parse_int=_whole)
            names = [_PART.format(number) for number in range(len(members) - 3)]
            parts = [_load_part(members[name], extra, room) for name in names]
            made = Reader(members[_ARRAYS], parts, room).read(state)
            for each in parts_of(made):
                _check_compiled(each, extra)
            return made
        except (UnmetError, _UntrustedType):
            raise
        except Exception as error:
            why = " ".join(str(error).split())[:160]
            raise InvalidInput(
                f"unmet {version('unmet')} cannot read it, it was written by "
                f"{header['version']!r:.40}: {type(error).__name__}, {why}"
            ) from error


def read_header(path: str | Path) -> dict[str, Any]:
    """Read the header of a file without loading the model; needs no extra package.

    Parameters
    ----------
    path : str or Path
        File that `save` wrote.

    Returns
    -------
    dict
        ``format`` of the file, ``version`` of the package that wrote it, versions of the
        ``packages`` it was written with, name of the ``model``'s class, and the ``about`` given to
        `save`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from unmet import LinearDecision, Newsvendor, save
    >>> from unmet.persistence.saving import read_header
    >>> with TemporaryDirectory() as folder:
    ...     path = save(LinearDecision(Newsvendor(3, 1)), Path(folder) / "bread.unmet")
    ...     read_header(path)["model"]
    'LinearDecision'
    """
    where, room = Path(path), Room(MAX_BYTES)
    with _naming(where):
        return _header(_unpack(_content(where, room), room, only=_HEADER), where, room)


def read_about(path: str | Path) -> dict[str, Any]:
    """Read the ``about`` that was given to `save`, without loading the model.

    Parameters
    ----------
    path : str or Path
        File that `save` wrote.

    Returns
    -------
    dict
        The information; empty if there is none.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from unmet import LinearDecision, Newsvendor, save
    >>> from unmet.persistence import read_about
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "bread.unmet"
    ...     path = save(LinearDecision(Newsvendor(3, 1)), path, about={"unit": "loaves"})
    ...     read_about(path)
    {'unit': 'loaves'}
    """
    about: dict[str, Any] = read_header(path)["about"]
    return about


class _UntrustedType(Exception):  # noqa: N818 (told as a sentence by those who know the path)
    """A type that skops does not trust, by its name."""


def _audit(part: bytes, schema: Any, trusted: frozenset[str]) -> list[str]:
    """Give the names that skops may be told to trust; raise for the first other one."""
    allowed = {*_TRUSTED, *trusted}
    named = {f"{node.get('__module__')}.{node.get('__class__')}" for node in _nodes(schema)}
    unknown = {name for name in named if name.startswith(_COMPILED)}
    unknown |= set(import_skops().get_untrusted_types(data=part))
    if unknown - allowed:
        raise _UntrustedType(min(unknown - allowed))
    return sorted(allowed)


def _whole(digits: str) -> int:
    """Read a whole number; the hashes of larger ones can be made the same."""
    if len(digits) > 18:
        raise InvalidInput(f"it has the number {digits:.40}.")
    return int(digits)


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """All objects of a schema of skops."""
    waiting = [schema]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)


def _load_part(content: bytes, trusted: frozenset[str], room: Room) -> tuple[Any, int]:
    """Load a part in the format of skops; give what it takes in memory, too.

    It is packed again as it was read here, so that skops meets nothing that declares less than it
    is. Each mention of a file in it is a copy.
    """
    members = {
        name: _packed(_unpack(inner, room)) if name.endswith(".npz") else inner
        for name, inner in _unpack(content, room).items()
    }
    size = _JSON * len(members[_SCHEMA])
    room.take(size)
    schema = json.loads(members[_SCHEMA])
    copied = sum(len(members.get(str(node.get("file")), b"")) for node in _nodes(schema))
    room.take(copied)
    part = _packed(members)
    made = import_skops().loads(part, trusted=_audit(part, schema, trusted))
    return made, size + copied


def _check_compiled(part: Any, trusted: frozenset[str]) -> None:
    """Refuse indexes that compiled code would follow out of what a part holds."""
    if sparse.issparse(part):
        table: Any = part
        table.check_format(full_check=True)
    generator: Any = getattr(part, "_bit_generator", None)
    if generator is not None:
        inner = generator.state["state"]
        place = generator.state | (inner if isinstance(inner, dict) else {})
        if not (0 <= place.get("pos", 0) <= 624 and 0 <= place.get("buffer_pos", 0) <= 4):
            raise InvalidInput("a random generator in it is not as NumPy writes it.")
    iterations = () if _TRUSTED[0] in trusted else getattr(part, "_predictors", ())
    grown = [tree for iteration in iterations for tree in iteration]
    if grown and part._preprocessor is not None:
        raise _UntrustedType(_TRUSTED[0])  # categories: indexes of more than the trees
    for nodes in (tree.nodes for tree in grown):
        inner = nodes["is_leaf"] == 0
        feature = nodes["feature_idx"][inner]
        children = np.array([nodes["left"][inner], nodes["right"][inner]], dtype=np.int64)
        # each node but the first has one parent, which comes before it: there is no circle
        if (
            not len(nodes)
            or not np.array_equal(np.sort(children, axis=None), np.arange(1, len(nodes)))
            or (children <= np.flatnonzero(inner)).any()
            or not ((feature >= 0) & (feature < int(part.n_features_in_))).all()
            or nodes["is_categorical"][inner].any()
        ):
            raise InvalidInput("a tree of scikit-learn in it leads out of itself.")


def read_trusted(trusted: Sequence[str]) -> frozenset[str]:
    """Names that a caller adds: dotted, with the module."""
    if isinstance(trusted, str) or not all(isinstance(n, str) and "." in n for n in trusted):
        raise InvalidInput(
            "trusted must be a list of names with their module, such as 'my_costs.MyCost', got "
            f"{trusted!r:.60}."
        )
    return frozenset(trusted)


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


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Say in one sentence why a file was not loaded."""
    try:
        yield
    except _UntrustedType as error:
        raise InvalidInput(
            f"{path} was not loaded, because it has the type {error}, which no model of unmet has: "
            f"if you trust it, use load(path, trusted=[{str(error)!r}])."
        ) from None
    except UnmetError as error:
        told = str(error)
        raise InvalidInput(
            told if str(path) in told else f"{path} was not loaded: {told}"
        ) from None
    except OSError as error:
        raise InvalidInput(
            f"The model must be a file that can be read, got {path}: {error.strerror}."
        ) from None
    except Exception:  # of any type: also flags that say "encrypted" or "packed otherwise"
        raise InvalidInput(
            f"{path} must be an undamaged file, got another checksum than was written."
        ) from None


def _content(path: Path, room: Room) -> bytes:
    """Bytes of an archive, or what the file is instead."""
    if not path.exists():
        raise InvalidInput(f"The model must be a file that exists, got {path}.")
    check_ordinary(path, "path")
    with path.open("rb") as stream:
        content = stream.read(room.left + 1)
    room.take(len(content))
    if content[:4] != b"PK\3\4" or content[-22:-18] != b"PK\5\6":
        raise InvalidInput(_FOREIGN.format(path))
    return content


def _unpack(content: bytes, room: Room, only: str = "") -> dict[str, bytes]:
    """Members of an archive, none of them longer than it is declared.

    Of the whole archive the end counts, and nothing behind it or in its place: as `save`, skops and
    NumPy write it.
    """
    end, found = content[-22:], {}
    if end[:4] != b"PK\5\6" or content[-42:-38] == b"PK\6\7":
        raise BadZipFile
    room.take(16 * int.from_bytes(end[12:16], "little"))  # its list of members
    with ZipFile(io.BytesIO(content)) as archive:
        for each in archive.infolist():
            if only in ("", each.filename):
                room.take(each.file_size)
                if each.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
                    raise BadZipFile  # others are unpacked to the end, whatever was declared
                with archive.open(each) as member:
                    found[each.filename] = member.read(each.file_size)
    return found


def _packed(members: Mapping[str, str | bytes], how: int = ZIP_STORED) -> bytes:
    """Make an archive."""
    memory = io.BytesIO()
    with ZipFile(memory, "w", how) as archive:
        for name, content in members.items():  # without the time: the same model, the same bits
            archive.writestr(ZipInfo(name), content, how)
    return memory.getvalue()


def _header(members: Mapping[str, bytes], path: Path, room: Room) -> dict[str, Any]:
    wrong = InvalidInput(f"{path} must be a file of unmet, got one with an unreadable header.")
    if _HEADER not in members:
        raise InvalidInput(_FOREIGN.format(path))
    room.take(_JSON * len(members[_HEADER]))
    try:
        fields: dict[str, Any] = json.loads(members[_HEADER])
        number, written, about = fields["format"], fields["version"], fields["about"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise wrong from None
    if type(number) is not int or not isinstance(about, dict):
        raise wrong
    if number != FORMAT:
        how = "update unmet"
        if number < FORMAT:
            again = about.get("command")
            how = f"run {again!r} again" if again else "fit the model and save it again"
        raise InvalidInput(
            f"{path} must have format {FORMAT} of unmet {version('unmet')}, got format {number} of "
            f"unmet {written}: {how}."
        )
    if fields.keys() != _FIELDS:
        raise wrong
    return fields


@cache
def versions_of(*packages: str) -> dict[str, str]:
    """Versions of those packages that are installed."""
    found = {}
    for name in packages:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
