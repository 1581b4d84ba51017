"""One BLAS thread inside a fit."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]


def one_blas_thread() -> AbstractContextManager[Any]:
    """Let the linear algebra inside the ``with`` use one thread.

    The matrices of a solver are small, and threads that wait for each other in every product cost
    more than they bring: on two cores, exact solutions of 20,000 × 50 take twice as long with them.
    The limit is the process's: of fits that overlap in several Python threads, the first to end
    lifts it.
    """
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limit


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    """Find the loaded libraries: milliseconds, more than a small fit, so only once.

    Setting a limit on them then takes 0.02 ms. NumPy's and SciPy's are loaded by now, since the
    solvers have been imported.
    """
    return ThreadpoolController()
