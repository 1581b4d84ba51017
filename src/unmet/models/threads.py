"""One BLAS thread inside a fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

_lock = Lock()
_depth = 0
_controller: ThreadpoolController | None = None
_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let the linear algebra inside use one thread.

    The matrices of a solver are small, and threads that wait for each other in every product cost
    more than they bring: on two cores, exact solutions of 20,000 × 50 take twice as long with them.

    Looking up the loaded libraries takes milliseconds, more than a small fit; so it is done once,
    after which entering and leaving take 0.02 ms. The limit holds for the whole process, so of
    fits that overlap in several Python threads the first sets it and the last lifts it.
    """
    global _depth, _controller, _limit
    with _lock:
        if _depth == 0:
            if _controller is None:
                _controller = ThreadpoolController()
            _limit = _controller.limit(limits=1, user_api="blas")
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                _limit.restore_original_limits()
