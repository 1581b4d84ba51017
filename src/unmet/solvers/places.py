"""Objects that live where their rows lie, and are asked all at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from unmet.errors import SolverFailure


class LostPlace(SolverFailure):
    """A place does not answer any more; what was made there has to be made again."""


class Places(ABC):
    """One object for each place that holds rows: this process, or the workers of a cluster.

    What is asked may make the objects talk to each other, so all of them are asked before the first
    answer is waited for.

    Attributes
    ----------
    hosts : tuple of str
        Address of the machine of each place.
    threads : tuple of int or None
        Threads that each place has to work with; None where the caller decides.
    """

    hosts: tuple[str, ...]
    threads: tuple[int | None, ...]

    @abstractmethod
    def ask_each(self, method: str, given: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method of all objects, each with its own arguments."""

    @abstractmethod
    def ask_first(self, method: str, *given: Any) -> Any:
        """Call a method of the first object only."""

    @abstractmethod
    def keep(self, wanted: Sequence[bool]) -> None:
        """Let go of some of the objects."""

    def ask(self, method: str, *given: Any) -> list[Any]:
        """Call a method of all objects with the same arguments."""
        return self.ask_each(method, [given] * len(self.hosts))

    @abstractmethod
    def leave(self) -> None:
        """Free what the places hold."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.leave()


class OnePlace(Places):
    """An object in this process."""

    def __init__(self, thing: Any) -> None:
        self._thing = thing
        self.hosts, self.threads = ("127.0.0.1",), (None,)

    def ask_each(self, method: str, given: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call the one object."""
        return [getattr(self._thing, method)(*each) for each in given]

    def ask_first(self, method: str, *given: Any) -> Any:
        """Call the one object."""
        return getattr(self._thing, method)(*given)

    def keep(self, wanted: Sequence[bool]) -> None:
        """Keep the one object."""

    def leave(self) -> None:
        """Let go of the one object."""
        self._thing = None
