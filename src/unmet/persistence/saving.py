"""Writing a model."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from unmet.errors import InvalidInput, Unsupported
from unmet.persistence.audit import Refused, audit, import_skops, parts_of, read_trusted
from unmet.persistence.container import write_file

_LOOK = 1 << 16
_WORTH = 0.7  # of its size: what packs to more is kept as it is, for numbers hardly pack
_LEVEL = 1
_MODULE = "torch.nn.modules.module.Module"


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
    The training rows are not saved, but what some rules have learned is as long as these: with
    `LatentBand` a file has about 8 bytes for each number of the training features.

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
    skops = import_skops("saving models")
    added = _read_about(about)
    try:
        _refuse_modules(model)
        payload, unpacked = _packed(skops.dumps(model))
        audit(payload, extra)
    except Refused as refused:
        raise Unsupported(_sentence(model, refused)) from None
    except Exception as error:  # of any type: skops asks objects that it does not know
        why = " ".join(str(error).split())[:200]
        raise Unsupported(f"This {type(model).__name__} cannot be saved safely: {why}") from error
    name = f"{type(model).__module__}.{type(model).__qualname__}"
    write_file(Path(path), payload, name, unpacked, added)
    return Path(path)


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


def _packed(written: bytes) -> tuple[bytes, int]:
    """Pack the members that are worth it; also gives their size unpacked."""
    packed, size = BytesIO(), 0
    with ZipFile(BytesIO(written)) as source, ZipFile(packed, "w") as archive:
        for name in source.namelist():
            content = source.read(name)
            size += len(content)
            look = content[:_LOOK]
            worth = len(zlib.compress(look, _LEVEL)) < _WORTH * len(look)
            archive.writestr(name, content, ZIP_DEFLATED if worth else ZIP_STORED, _LEVEL)
    return packed.getvalue(), size


def _sentence(model: Any, refused: Refused) -> str:
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
