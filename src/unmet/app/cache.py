"""What users of the page share: results of the same table, and turns to compute.

Twenty users who open one table want one fit, not twenty. Results are kept by what they follow from
(the content of the files, the columns, what was asked), a bounded number of them; who asks for one
that is being computed waits for it. Other fits take turns, few at once, in the order in which they
were asked for, and a visitor who waits sees how many are before. Nothing here needs streamlit.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

_Result = TypeVar("_Result")
Tell = Callable[[int], object]
"""Is told how many fits are before your own, again and again while one waits; may raise to give
up, as streamlit does where a page was closed."""

MAX_FITS = 2
"""Fits at once: more only slow each other down on the few cores of an office."""
MAX_KEPT = 24
"""Results kept; a fit of the page has some megabytes."""
_PATIENCE = 0.25  # seconds until somebody who waits is told again


class _Computing:
    """A result that somebody computes and others may wait for."""

    def __init__(self) -> None:
        self.done = False
        self.result: Any = None


class SharedFits:
    """Results by key, computed once, a few at a time.

    Parameters
    ----------
    most_fits : int
        Computed at once.
    most_kept : int
        Kept; those that were not asked for the longest go first.

    Examples
    --------
    >>> fits = SharedFits()
    >>> fits.get("two", lambda: 1 + 1)
    2
    >>> fits.get("two", lambda: 1 / 0)
    2
    """

    def __init__(self, most_fits: int = MAX_FITS, most_kept: int = MAX_KEPT) -> None:
        self._most_fits, self._most_kept = most_fits, most_kept
        self._changed = threading.Condition()
        self._kept: OrderedDict[str, Any] = OrderedDict()
        self._computing: dict[str, _Computing] = {}
        self._waiting: deque[object] = deque()
        self._running = 0

    def get(self, key: str, make: Callable[[], _Result], tell: Tell | None = None) -> _Result:
        """Give a result, made once however many ask for it.

        Parameters
        ----------
        key : str
            Says all that the result follows from.
        make : callable
            Makes it. What it raises reaches the one who made it; others then try themselves.
        tell : callable, optional
            See `Tell`.
        """
        while True:
            with self._changed:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    return self._kept[key]  # type: ignore[no-any-return]
                computing = self._computing.get(key)
                if computing is None:
                    mine = self._computing[key] = _Computing()
                    break
            self._wait(lambda computing=computing: computing.done, lambda: 0, tell)  # type: ignore[misc]
            if computing.result is not None:
                return computing.result  # type: ignore[no-any-return]
        try:
            with self.turn(tell):
                mine.result = make()
            return mine.result  # type: ignore[no-any-return]
        finally:
            with self._changed:
                mine.done = True
                del self._computing[key]
                if mine.result is not None:
                    self._kept[key] = mine.result
                    while len(self._kept) > self._most_kept:
                        self._kept.popitem(last=False)
                self._changed.notify_all()

    @contextmanager
    def turn(self, tell: Tell | None = None) -> Iterator[None]:
        """Wait for one's turn to compute, in the order in which it was asked for."""
        ticket = object()
        with self._changed:
            self._waiting.append(ticket)
        try:
            self._wait(
                lambda: self._waiting[0] is ticket and self._running < self._most_fits,
                lambda: self._waiting.index(ticket) + self._running,
                tell,
                self._begin,
            )
        except BaseException:
            with self._changed:
                self._waiting.remove(ticket)
                self._changed.notify_all()
            raise
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def _begin(self) -> None:
        self._waiting.popleft()
        self._running += 1
        self._changed.notify_all()

    def _wait(
        self,
        ready: Callable[[], bool],
        before: Callable[[], int],
        tell: Tell | None,
        then: Callable[[], None] | None = None,
    ) -> None:
        """Wait until something is ready, then do what must be done before anybody else looks."""
        while True:
            with self._changed:
                if not ready():
                    self._changed.wait(_PATIENCE)
                if ready():
                    if then is not None:
                        then()
                    return
                place = before()
            if tell is not None:  # not with the lock: it may take its time, or raise
                tell(place)


FITS = SharedFits()
"""Of all users of this process."""
