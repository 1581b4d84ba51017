"""Writing a model to a file, and reading it.

Objects of scikit-learn, and of classes of a user, are parts in the format of skops, an archive of
its own: skops makes nothing but types that it knows or is told to trust, and runs no code.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from unmet.errors import InvalidInput, UnmetError, Unsupported
from unmet.files import write_whole
from unmet.persistence.states import Reader, Writer, label_of

FORMAT = 3
"""Grows when files change so that older versions of the package could not read them."""
_HEADER, _STATE, _ARRAYS, _PART = "header.json", "state.json", "arrays.bin", "part-{}.skops"
_FIELDS = {"format", "version", "packages", "model", "about"}
_PACKAGES = ("numpy", "scipy", "scikit-learn", "skops", "lightgbm")
# types that models hold beside those that skops itself trusts: trees of `LatentBand`, sparse tables
_TRUSTED = (
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    *(f"scipy.sparse._{k}.{k}_{form}" for k in ("csr", "csc") for form in ("array", "matrix")),
)
# what reading a damaged archive ends in: also flags that say "encrypted" or "packed otherwise"
_DAMAGED = (BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, zlib.error)


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
    extra, where, kind = read_trusted(trusted), Path(path), type(model)
    header = {
        "format": FORMAT,
        "version": version("unmet"),
        "packages": versions_of(*_PACKAGES),
        "model": label_of(model) or f"{kind.__module__}.{kind.__qualname__}",
        "about": _read_about(about),
    }
    if where.is_dir():
        raise InvalidInput(f"path must be a file, got the folder {where}.")
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
            _audit(part, extra)
            members[_PART.format(number)] = part
    except _UntrustedType as error:
        named = f"trusted=[{str(error)!r}]"
        raise Unsupported(
            f"This {kind.__name__} cannot be saved safely: it holds {error}, which is not of "
            f"unmet: if it is yours, save(model, path, {named}) saves it and load(path, {named}) "
            "loads it."
        ) from None
    except Exception as error:  # of any type: skops asks objects that it does not know
        said = " ".join(str(error).split())[:200]
        raise Unsupported(f"This {kind.__name__} cannot be saved safely: {said}") from error

    def write(temporary: Path) -> None:
        with ZipFile(temporary, "w", ZIP_DEFLATED) as archive:
            for name, content in members.items():  # without the time: the same model, the same bits
                archive.writestr(ZipInfo(name), content, ZIP_DEFLATED)

    write_whole(where, write)
    return where


def load(path: str | Path, *, trusted: Sequence[str] = (), max_bytes: int = 4 << 30) -> Any:
    """Load a model that `save` wrote, without running code from the file.

    Checked before anything is made: that the file is one of ours and whole, its format, its size
    when unpacked, and every type in parts of others. There skops decides: scikit-learn's
    estimators, NumPy's and SciPy's arrays, and plain containers. Of our own classes only those of
    one registry are made, by their labels; no constructor is called.

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
    Checksums tell a damaged file from a whole one. They are no signature: a person who can write
    the file decides what the model says, though not what your computer does.
    """
    where, extra = Path(path), read_trusted(trusted)
    with _opened(where) as archive:
        header = _header(archive, where)
        try:
            size = sum(each.file_size for each in archive.infolist())
            if size > max_bytes:
                raise InvalidInput(
                    f"The file must unpack to at most max_bytes, {max_bytes:,}, got {size:,} bytes."
                )
            state, arrays = archive.read(_STATE), archive.read(_ARRAYS)
            n_parts = len(archive.namelist()) - 3
            written = [archive.read(_PART.format(number)) for number in range(n_parts)]
            parts = [import_skops().loads(part, trusted=_audit(part, extra)) for part in written]
            return Reader(arrays, parts).read(json.loads(state))
        except _UntrustedType as error:
            raise InvalidInput(
                f"{where} was not loaded: it asks for {error}, which models of unmet do not hold; "
                f"if you know and trust that type, load(path, trusted=[{str(error)!r}])."
            ) from None
        except UnmetError as error:
            raise InvalidInput(str(error).replace("The file was", f"{where} was", 1)) from None
        except (BadZipFile, zlib.error):
            raise InvalidInput(_damaged(where)) from None
        except Exception as error:
            why = " ".join(str(error).split())[:160]
            raise InvalidInput(
                f"{where} cannot be read by unmet {version('unmet')}, it was written by "
                f"{header['version']}: {type(error).__name__}, {why}"
            ) from error


def read_header(path: str | Path) -> dict[str, Any]:
    """Read what a file says of itself, without loading the model; it needs no extra package.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    dict
        ``format`` of the file, ``version`` of the package that wrote it, versions of the
        ``packages`` it was written with, name of the ``model``'s class (our own without the
        module), and what was given as ``about`` to `save`.
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
    about: dict[str, Any] = read_header(path)["about"]
    return about


class _UntrustedType(Exception):  # noqa: N818 (told as a sentence by those who know the path)
    """A type that skops does not trust, by its name."""


def _audit(part: bytes, trusted: frozenset[str]) -> list[str]:
    """Give the names that skops may be told to trust; raise for the first other one."""
    allowed = {*_TRUSTED, *trusted}
    unknown = set(import_skops().get_untrusted_types(data=part)) - allowed
    if unknown:
        raise _UntrustedType(min(unknown))
    return sorted(allowed)


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


def _opened(path: Path) -> ZipFile:
    """Open an archive of ours, or say what the file is instead."""
    if path.is_dir():
        raise InvalidInput(f"path must be a file, got the folder {path}.")
    if not path.exists():
        raise InvalidInput(f"path must be a file that exists, got {path}.")
    try:
        archive = ZipFile(path)
        if _HEADER in archive.namelist():
            return archive
        archive.close()
    except BadZipFile:
        pass
    except OSError as error:
        raise InvalidInput(
            f"path must be a file that can be read, got {path}: {error.strerror}."
        ) from None
    raise InvalidInput(
        f"{path} is not a file that unmet.save wrote, or its end is missing; a pickle, as pickle, "
        "joblib and torch write them, is never opened, because opening a pickle can run any code."
    )


def _header(archive: ZipFile, path: Path) -> dict[str, Any]:
    wrong = InvalidInput(f"{path} is not a file of unmet: its header cannot be read.")
    try:
        fields: dict[str, Any] = json.loads(archive.read(_HEADER))
        number, written, about = fields["format"], fields["version"], fields["about"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise wrong from None
    except _DAMAGED:
        raise InvalidInput(_damaged(path)) from None
    if type(number) is not int or not isinstance(about, dict):
        raise wrong
    if number != FORMAT:
        how = "update unmet"
        if number < FORMAT:
            again = about.get("command")
            how = f"run {again!r} again" if again else "fit the model and save it again"
        raise InvalidInput(
            f"{path} was written by unmet {written} in format {number}, and this version, "
            f"{version('unmet')}, reads format {FORMAT}: {how}."
        )
    if fields.keys() != _FIELDS:
        raise wrong
    return fields


def _damaged(path: Path) -> str:
    return f"{path} is damaged: its content is not what was written (the checksum differs)."


def _read_about(about: dict[str, Any] | None) -> dict[str, Any]:
    try:
        added = json.loads(json.dumps({} if about is None else about, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"about must be a dictionary of plain JSON: {error}.") from None
    if not isinstance(added, dict):
        raise InvalidInput(f"about must be a dictionary of plain JSON, got {about!r:.60}.")
    return added


def versions_of(*packages: str) -> dict[str, str]:
    """Versions of those packages that are installed."""
    found = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
