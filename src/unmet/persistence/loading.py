"""Reading a model."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from unmet.errors import InvalidInput, UnmetError
from unmet.persistence.audit import Refused, audit, check_trees, import_skops, read_trusted
from unmet.persistence.container import Header, read_file

_MOST = 4 << 30


def load(path: str | Path, *, trusted: Sequence[str] = (), max_bytes: int = _MOST) -> Any:
    """Load a model that `save` wrote, without running code from the file.

    Checked before anything is made of the file: that it is one of ours and whole (checksum), its
    format, its size when unpacked, and every type that it names. Types are those that models of
    this package consist of, named one by one, and those that skops trusts: scikit-learn's
    estimators, NumPy's and SciPy's arrays, and plain containers.

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
    The checksum tells a damaged file from a whole one. It is no signature: whoever can write the
    file decides what the model says, though not what your computer does.
    """
    where, extra = Path(path), read_trusted(trusted)
    header, payload = read_file(where, max_bytes)
    skops = import_skops("loading models")
    try:
        model = skops.loads(payload, trusted=audit(payload, extra, max_bytes))
        check_trees(model)
    except Refused as refused:
        raise InvalidInput(_sentence(where, refused)) from None
    except UnmetError:
        raise
    except Exception as error:
        raise InvalidInput(_unreadable(where, header, error)) from error
    return model


def _sentence(path: Path, refused: Refused) -> str:
    asks = f"{path} was not loaded: it asks for {refused.name}, which models of unmet do not hold"
    if not refused.may_be_trusted:
        return f"{asks}."
    return f"{asks}; if you know and trust that type, load(path, trusted=[{refused.name!r}])."


def _unreadable(path: Path, header: Header, error: Exception) -> str:
    why = " ".join(str(error).split())[:160]
    return (
        f"{path} cannot be read by unmet {version('unmet')}, it was written by {header.version}: "
        f"{type(error).__name__}, {why}"
    )
