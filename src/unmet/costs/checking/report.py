"""What trying a cost has shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["kept", "broken", "note"]
_WORDS: dict[str, str] = {"kept": "ok", "broken": "WRONG", "note": "note"}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    about : str
        What was looked at, in a word or two.
    verdict : {"kept", "broken", "note"}
        A note is nothing wrong, but worth knowing.
    sentence : str
        What was found; if it is wrong, where, and what was expected.
    """

    about: str
    verdict: Verdict
    sentence: str


@dataclass(frozen=True)
class CostReport:
    """Everything that `check_cost` has found; print it to read it.

    Attributes
    ----------
    cost : str
        The cost, as it shows itself.
    findings : tuple of Finding
        In the order in which they were made.
    """

    cost: str
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.failures

    @property
    def failures(self) -> tuple[str, ...]:
        """One sentence for each thing that is wrong."""
        return tuple(self._sentences("broken"))

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence for each thing worth knowing."""
        return tuple(self._sentences("note"))

    def _sentences(self, verdict: Verdict) -> Iterator[str]:
        return (each.sentence for each in self.findings if each.verdict == verdict)

    def __str__(self) -> str:
        wrong = len(self.failures)
        if wrong:
            things = "one thing is" if wrong == 1 else f"{wrong} things are"
            heading = f"{self.cost} breaks the contract of a cost: {things} wrong."
        else:
            heading = f"{self.cost} keeps the contract of a cost."
        width = max((len(each.about) for each in self.findings), default=0)
        lines = (
            f"  {_WORDS[each.verdict]:5}  {each.about:{width}}  {each.sentence}"
            for each in self.findings
        )
        return "\n".join([heading, *lines])
