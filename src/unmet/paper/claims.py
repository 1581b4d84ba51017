"""Each claim of §Results as code: a verdict, our figures, and why.

A claim is a list of cases, usually one per level, each with a margin: how far it holds, positive
where it does, in relative units so that margins can be averaged. The verdict follows from them
alone (:func:`judge`); the explanation is chosen by what was found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

Verdict = Literal["reproduced", "reproduced in direction", "not reproduced", "not checked"]
Source = Literal["paper", "slip", "ours"]

#: What a verdict is called where the claim is not the paper's.
_OWN_WORDS: dict[Verdict, str] = {
    "reproduced": "holds",
    "reproduced in direction": "holds mostly",
    "not reproduced": "does not hold",
    "not checked": "not checked",
}


@dataclass(frozen=True)
class Case:
    """One instance of a claim.

    Attributes
    ----------
    where : str
        As in "α = 0.55".
    margin : float
        Positive where the claim holds; ``nan`` where there is nothing to judge.
    """

    where: str
    margin: float

    @property
    def holds(self) -> bool:
        """Whether the claim holds here."""
        return self.margin > 0


@dataclass(frozen=True)
class Claim:
    """What was claimed, and what came out.

    Attributes
    ----------
    number : str
        In the order of the paper; letters for parts.
    family : str
        "LR", "NN", "Boosted", or empty for all.
    source : {"paper", "slip", "ours"}
        Claimed in §Results; a slip of the paper that we claim; a claim of ours.
    statement : str
    verdict : Verdict
    found : str
        Our figures.
    explanation : str
    fails : tuple of str
        Where it does not hold.
    """

    number: str
    family: str
    source: Source
    statement: str
    verdict: Verdict
    found: str
    explanation: str
    fails: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As in "2 LR"."""
        return f"{self.number} {self.family}".strip()

    @property
    def word(self) -> str:
        """Verdict in words: claims of ours hold or not, there is nothing to reproduce."""
        return self.verdict if self.source == "paper" else _OWN_WORDS[self.verdict]


def judge(cases: Iterable[Case]) -> Verdict:
    """Come to a verdict.

    - "reproduced": every case holds;
    - "reproduced in direction": more than half of them hold, and the mean margin is positive;
    - "not reproduced": otherwise;
    - "not checked": there is no case.

    Examples
    --------
    >>> judge([Case("α = 0.55", -0.01), Case("α = 0.75", 0.04), Case("α = 0.95", 0.2)])
    'reproduced in direction'
    """
    judged = [case for case in cases if not math.isnan(case.margin)]
    if not judged:
        return "not checked"
    holding = sum(case.holds for case in judged)
    if holding == len(judged):
        return "reproduced"
    if 2 * holding > len(judged) and fmean(case.margin for case in judged) > 0:
        return "reproduced in direction"
    return "not reproduced"


def failing(cases: Iterable[Case]) -> tuple[str, ...]:
    """Name the cases that do not hold."""
    return tuple(case.where for case in cases if case.margin <= 0)


def at(level: float) -> str:
    """Name a level."""
    return f"α = {level:g}"


def series(levels: Sequence[float], values: Sequence[float | None], form: str) -> str:
    """Print values with their levels, as in "0.55: 1.2%, 0.65: 2.3%"."""
    return ", ".join(
        f"{level:g}: {'–' if value is None or math.isnan(value) else signed(value, form)}"
        for level, value in zip(levels, values, strict=True)
    )


def signed(value: float, form: str) -> str:
    """Print a number with a minus sign, not a hyphen."""
    return f"{value:{form}}".replace("-", "−")


def span(values: Sequence[float], form: str) -> str:
    """Print the smallest and the largest."""
    low, high = signed(min(values), form), signed(max(values), form)
    return low if low == high else f"{low} to {high}"


def listed(words: Sequence[str]) -> str:
    """Join as in "a, b and c"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
