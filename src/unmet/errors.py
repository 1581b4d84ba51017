"""Every error that `unmet` raises on purpose, and the notes that it gives.

::

    UnmetError
    ├── InvalidInput       a value is not allowed (also a ValueError)
    ├── Unsupported        two things that are fine alone do not fit together (also a TypeError)
    ├── SolverFailure      a solver could not reach its tolerance (also a RuntimeError)
    ├── FileFailure        a file could not be written: no room, no permission (also an OSError)
    └── MissingPackage     an optional package is not installed (also an ImportError)

Each carries one sentence: which parameter, what is allowed, what arrived.
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
    """Root of the tree: catch it to catch everything that `unmet` raises on purpose."""


class InvalidInput(UnmetError, ValueError):  # noqa: N818 (reads well in a traceback)
    """A parameter has a value that is not allowed."""


class Unsupported(UnmetError, TypeError):  # noqa: N818
    """A combination lacks something; the sentence names the pair and what is missing."""


class SolverFailure(UnmetError, RuntimeError):  # noqa: N818
    """A solver stopped before its certificate reached the tolerance, or training diverged."""


def wanted(package: str, extra: str) -> str:
    """Give what pip is asked for to get an optional package, such as ``'lightgbm>=4.5'``."""
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
    """A file could not be written to the end; what stood there before still stands."""


class MissingPackage(UnmetError, ImportError):  # noqa: N818
    """An optional package is not installed; the sentence has the command that installs it."""

    @classmethod
    def for_extra(cls, user: str, package: str, extra: str) -> MissingPackage:
        """Name what needs the package, and how to get it.

        The command names the package, not our extra: it works in a clone, and where we came from
        an index.
        """
        return cls(f"{user} needs {package}: install it with pip install {wanted(package, extra)}.")

    @classmethod
    def or_load(cls, user: str, module: str, extra: str) -> Any:
        """Import a module of an optional package, or say how to get the package."""
        try:
            return import_module(module)
        except ImportError:
            raise cls.for_extra(user, module.partition(".")[0], extra) from None
