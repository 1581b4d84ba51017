"""Every error that `unmet` raises on purpose, and the notes that it gives.

::

    UnmetError
    ├── InvalidInput       a value is not allowed (also a ValueError)
    ├── Unsupported        two things that are valid alone do not fit together (also a TypeError)
    ├── SolverFailure      a solver did not reach its tolerance (also a RuntimeError)
    ├── FileFailure        a file could not be written: disk full, no permission (also an OSError)
    └── MissingPackage     an optional package is not installed (also an ImportError)

Each message is one sentence that names the parameter, the allowed values and the value that was
given.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any


class Note(str):
    """A sentence on what was done with the data, where that may change orders.

    A note that is an ordinary text is information: no order depends on it.

    Attributes
    ----------
    share : float
        About which share of the units, and so of the money, it concerns; 0 where that is unknown.
    """

    share: float

    def __new__(cls, text: str, share: float = 0.0) -> Note:
        """Make one from its text."""
        found = super().__new__(cls, text)
        found.share = share
        return found


class UnmetError(Exception):
    """Base class of every error that `unmet` raises on purpose.

    Examples
    --------
    >>> from unmet import Newsvendor
    >>> from unmet.errors import UnmetError
    >>> try:
    ...     Newsvendor(underage=-3, overage=1)
    ... except UnmetError as error:
    ...     print(type(error).__name__)
    InvalidInput
    """


class InvalidInput(UnmetError, ValueError):  # noqa: N818 (reads well in a traceback)
    """A parameter has a value that is not allowed.

    Examples
    --------
    >>> from unmet import Band
    >>> Band(low=5, high=2)
    Traceback (most recent call last):
    unmet.errors.InvalidInput: ...
    """


class Unsupported(UnmetError, TypeError):  # noqa: N818
    """Two things that are valid alone do not fit together; the message names what is missing.

    Examples
    --------
    >>> from unmet import LinearDecision, PreventiveReplacement
    >>> cost = PreventiveReplacement(planned=1, failure=5)
    >>> LinearDecision(cost, solver="highs").fit([[0.0], [1.0]], [5.0, 6.0])
    Traceback (most recent call last):
    unmet.errors.Unsupported: ...
    """


class SolverFailure(UnmetError, RuntimeError):  # noqa: N818
    """A solver stopped before its certificate reached the tolerance, or training diverged.

    Examples
    --------
    >>> from unmet.errors import SolverFailure
    >>> issubclass(SolverFailure, RuntimeError)
    True
    """


def wanted(package: str, extra: str) -> str:
    """Give what pip should install for an optional package, such as ``'lightgbm>=4.5'``."""
    from importlib.metadata import PackageNotFoundError, requires  # slow, and rarely needed

    try:
        listed = requires("unmet") or []
    except PackageNotFoundError:  # not installed, only on the path
        listed = []
    for each in listed:
        found = re.match(rf"({re.escape(package)}\b[^;]*)", each)
        if found:
            return f"'{found[1].strip()}'"
    return f"'unmet[{extra}]'" if listed else package


class FileFailure(UnmetError, OSError):  # noqa: N818
    """A file could not be written completely; the file that was there before is unchanged.

    Examples
    --------
    >>> from unmet.errors import FileFailure
    >>> issubclass(FileFailure, OSError)
    True
    """


class MissingPackage(UnmetError, ImportError):  # noqa: N818
    """An optional package is not installed; the message contains the command that installs it.

    Examples
    --------
    >>> from unmet.errors import MissingPackage
    >>> issubclass(MissingPackage, ImportError)
    True
    """

    @classmethod
    def for_extra(cls, user: str, package: str, extra: str) -> MissingPackage:
        """Name the feature that needs the package, and the command that installs the package.

        The command names the package and not an extra of unmet, so it also works in a clone.
        """
        return cls(f"{user} needs {package}: install it with pip install {wanted(package, extra)}.")

    @classmethod
    def or_load(cls, user: str, module: str, extra: str) -> Any:
        """Import a module of an optional package, or raise with the install command."""
        try:
            return import_module(module)
        except ImportError:
            raise cls.for_extra(user, module.partition(".")[0], extra) from None
