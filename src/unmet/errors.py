"""Every error that `unmet` raises on purpose.

::

    UnmetError
    ├── InvalidInput       a value is not allowed (also a ValueError)
    ├── Unsupported        two things that are fine alone do not fit together (also a TypeError)
    └── SolverFailure      a solver could not reach its tolerance (also a RuntimeError)

Each carries one sentence: which parameter, what is allowed, what arrived.
"""

from __future__ import annotations


class UnmetError(Exception):
    """Root of the tree: catch it to catch everything that `unmet` raises on purpose."""


class InvalidInput(UnmetError, ValueError):  # noqa: N818 (reads well in a traceback)
    """A parameter has a value that is not allowed."""


class Unsupported(UnmetError, TypeError):  # noqa: N818
    """A combination lacks something; the sentence names the pair and what is missing."""


class SolverFailure(UnmetError, RuntimeError):  # noqa: N818
    """A solver stopped before its certificate reached the tolerance."""
