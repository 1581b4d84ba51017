"""A bound as a value: its number, its parts, what it rests on, and what it is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Assumption:
    """One thing that a theorem takes for granted, and whether it is so.

    Attributes
    ----------
    name : str
    holds : bool or None
        None where the rows cannot tell, or where nothing hangs on it.
    why : str
        A sentence.
    """

    name: str
    holds: bool | None
    why: str

    def __str__(self) -> str:
        mark = {True: "yes", False: "NO", None: "open"}[self.holds]
        return f"{self.name}: {mark}. {self.why}"


@dataclass(frozen=True)
class Bound:
    """How far the expected cost may lie above the cost on the training rows.

    Both costs are ε-insensitive and on *observations*: the bound says nothing about what decisions
    cost on a truth that was never seen.

    Attributes
    ----------
    value : float
        In units of the cost; the sum of `parts`.
    parts : mapping of str to float
    label : str
        Of the theorem in the paper.
    delta : float
        The bound fails on at most this share of training sets.
    stability : float
        ξ, what one row can move; for networks the distance of two sets of weights.
    ceiling : float
        The largest cost there is: a bound above it is vacuous.
    assumptions : tuple of str
        What the theorem takes for granted.
    caveat : str
        What is wrong with its proof, or left open by it; empty if nothing is.
    n_rows : int
    """

    value: float
    parts: Mapping[str, float]
    label: str
    delta: float
    stability: float
    ceiling: float
    assumptions: tuple[str, ...]
    caveat: str
    n_rows: int
    _again: Callable[[int], Bound] = field(repr=False, compare=False)
    _falls_from: int | None = field(default=1, repr=False, compare=False)
    """The bound falls with the number of rows from here on; None if it never does for good."""

    @property
    def vacuous(self) -> bool:
        """Whether the bound exceeds what any decision could cost, and so says nothing."""
        return self.value >= self.ceiling

    @property
    def falls(self) -> bool:
        """Whether more rows bring it down for good; not for a network with a fixed rate."""
        return self._falls_from is not None

    def at(self, n_rows: int) -> Bound:
        """Give the same bound for another number of rows."""
        return self._again(n_rows)

    def __str__(self) -> str:
        lines = [
            f"{self.label}: with probability {1 - self.delta:g} the expected cost exceeds the cost "
            f"on these {self.n_rows:,} rows by at most {self.value:.4g}."
        ]
        lines += [f"  {name}: {part:.4g}" for name, part in self.parts.items()]
        lines.append(
            f"Stability: one row moves costs (or weights) by at most {self.stability:.4g}."
        )
        if self.vacuous:
            lines.append(
                f"This says nothing: no decision can cost more than {self.ceiling:.4g} anyway."
            )
        else:
            lines.append(f"No decision can cost more than {self.ceiling:.4g}.")
        if self.caveat:
            lines.append(f"Caution: {self.caveat}")
        return "\n".join(lines)


def frozen(parts: dict[str, float]) -> Mapping[str, Any]:
    """Parts that nobody changes later."""
    return MappingProxyType(parts)
