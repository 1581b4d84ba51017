"""Writing a model to a file, and reading it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from unmet.errors import InvalidInput, MissingPackage, UnmetError, Unsupported
from unmet.persistence.container import read_file, write_file
from unmet.persistence.parts import (
    Refused,
    audit,
    check_size,
    check_trees,
    import_skops,
    read_trusted,
)
from unmet.persistence.states import Reader, Writer, check_labels, label_of, parts_of

_STATE, _ARRAYS, _PART = "state.json", "arrays.bin", "part-{}.skops"
_LOOK = 1 << 16
_WORTH = 0.9  # of its size: what packs to more is kept as it is, for numbers hardly pack
_LEVEL = 6
_MODULE = "torch.nn.modules.module.Module"
_MOST = 4 << 30


def save(
    model: Any,
    path: str | Path,
    *,
    about: dict[str, Any] | None = None,
    trusted: Sequence[str] = (),
) -> Path:
    """Write a model to one file that holds no code.

    Every model and band rule can be saved, fitted or not, alone or in a scikit-learn pipeline; what
    `load` gives back decides the same, to the last bit. The file is written whole or not at all.

    Parameters
    ----------
    model : estimator
    path : str or Path
        Any name; ``.unmet`` is customary. A file that is there is replaced.
    about : dict, optional
        Whatever should travel with the model, in plain JSON: names of columns, dates, a comment.
        `read_about` reads it without loading the model.
    trusted : sequence of str
        Names of types of your own that the model holds, such as ``"my_costs.MyCost"``. `load` must
        be given them, too, and must be able to import them.

    Returns
    -------
    Path
        Where it was written.

    Notes
    -----
    A file holds what deciding, diagnosing and what-if need, not the training rows; it does not grow
    with their number. Two rules keep rows: `AuditedBand` and `SearchedBand`, which search again for
    another cost.

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
    ...     unmet.persistence.read_about(path)
    {'unit': 'loaves'}
    >>> bool((again.predict([[5]]) == model.predict([[5]])).all())
    True
    """
    extra = read_trusted(trusted)
    added = _read_about(about)
    try:
        _refuse_modules(model)
        writer = Writer()
        state = json.dumps(writer.write(model), allow_nan=False, separators=(",", ":"))
        members = {_STATE: state.encode(), _ARRAYS: bytes(writer.arrays)}
        for number, each in enumerate(writer.parts):
            part = import_skops(f"saving a {type(each).__name__}").dumps(each)
            audit(part, extra)
            members[_PART.format(number)] = part
    except Refused as refused:
        raise Unsupported(_cannot_save(model, refused)) from None
    except MissingPackage:
        raise
    except Exception as error:  # of any type: skops asks objects that it does not know
        why = " ".join(str(error).split())[:200]
        raise Unsupported(f"This {type(model).__name__} cannot be saved safely: {why}") from error
    name = label_of(model) or f"{type(model).__module__}.{type(model).__qualname__}"
    unpacked = sum(len(content) for content in members.values())
    write_file(Path(path), _packed(members), name, unpacked, added)
    return Path(path)


def load(path: str | Path, *, trusted: Sequence[str] = (), max_bytes: int = _MOST) -> Any:
    """Load a model that `save` wrote, without running code from the file.

    Checked before anything is made of the file: that it is one of ours and whole (checksum), its
    format, its size when unpacked, and every class that it names. Allowed are those of our models,
    by their labels, and in parts of others what skops trusts: scikit-learn's estimators, NumPy's
    and SciPy's arrays, and plain containers.

    Parameters
    ----------
    path : str or Path
    trusted : sequence of str
        Names of further types that the file may ask for, such as ``"my_costs.MyCost"``: they are
        imported and used, so name only what you know.
    max_bytes : int, default=4 GiB
        Files that would unpack to more are refused.

    Returns
    -------
    estimator
        As it was saved.

    Notes
    -----
    The checksum tells a damaged file from a whole one. It is no signature: a person who can write
    the file decides what the model says, though not what your computer does.
    """
    where, extra = Path(path), read_trusted(trusted)
    header, payload = read_file(where, max_bytes)
    try:
        with ZipFile(BytesIO(payload)) as archive:
            check_size(archive, max_bytes)
            names = archive.namelist()
            wanted = [_STATE, _ARRAYS, *map(_PART.format, range(len(names) - 2))]
            strange = sorted(set(names) - set(wanted))
            if strange:
                raise InvalidInput(
                    f"The file was not loaded: it has a part named {strange[0]!r:.60}."
                )
            state, arrays = json.loads(archive.read(_STATE)), archive.read(_ARRAYS)
            check_labels(state)
            written = [archive.read(name) for name in wanted[2:]]
        allowed = [audit(part, extra, max_bytes) for part in written]
        both = zip(written, allowed, strict=True)
        parts = [
            import_skops("loading this model").loads(part, trusted=names) for part, names in both
        ]
        check_trees(parts)
        return Reader(arrays, parts).read(state)
    except Refused as refused:
        raise InvalidInput(_cannot_load(where, refused)) from None
    except MissingPackage:
        raise
    except UnmetError as error:
        raise InvalidInput(str(error).replace("The file was", f"{where} was", 1)) from None
    except Exception as error:
        why = " ".join(str(error).split())[:160]
        raise InvalidInput(
            f"{where} cannot be read by unmet {version('unmet')}, it was written by "
            f"{header.version}: {type(error).__name__}, {why}"
        ) from error


def _read_about(about: dict[str, Any] | None) -> dict[str, Any]:
    if about is None:
        return {}
    try:
        added = json.loads(json.dumps(about, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"about must be a dictionary of plain JSON: {error}.") from None
    if not isinstance(added, dict):
        raise InvalidInput(f"about must be a dictionary of plain JSON, got {about!r:.60}.")
    return added


def _refuse_modules(model: Any) -> None:
    """Name a module of torch, on which skops stumbles without a word."""
    for each in parts_of(model):
        for kind in type(each).__mro__:
            if f"{kind.__module__}.{kind.__name__}" == _MODULE:
                name = f"{type(each).__module__}.{type(each).__qualname__}"
                raise Refused(name, may_be_trusted=False, is_module=True)


def _packed(members: dict[str, bytes]) -> bytes:
    """One archive, the members that are worth it packed."""
    packed = BytesIO()
    with ZipFile(packed, "w") as archive:
        for name, content in members.items():
            look = content[:_LOOK]
            worth = len(zlib.compress(look, _LEVEL)) < _WORTH * len(look)
            archive.writestr(name, content, ZIP_DEFLATED if worth else ZIP_STORED, _LEVEL)
    return packed.getvalue()


def _cannot_save(model: Any, refused: Refused) -> str:
    holds = f"This {type(model).__name__} cannot be saved safely: it holds {refused.name}"
    if refused.is_module:
        return (
            f"{holds}, a module of torch, which is code as much as numbers: keep its "
            "state_dict() with torch.save."
        )
    if not refused.may_be_trusted:
        return f"{holds}, which a file without code cannot hold."
    return (
        f"{holds}, which is not of unmet: if it is yours, save(model, path, "
        f"trusted=[{refused.name!r}]) saves it and load(path, trusted=[{refused.name!r}]) loads it."
    )


def _cannot_load(path: Path, refused: Refused) -> str:
    asks = f"{path} was not loaded: it asks for {refused.name}, which models of unmet do not hold"
    if not refused.may_be_trusted:
        return f"{asks}."
    return f"{asks}; if you know and trust that type, load(path, trusted=[{refused.name!r}])."
