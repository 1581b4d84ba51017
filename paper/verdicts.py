"""Verdicts: what a claim is, how cases decide on it, and how far two runs may lie apart.

Each table of the paper is judged twice. **Direction**: does what the text says of it hold here? A
case is usually one level, with a margin: how far it holds, positive where it does, in relative
units so that margins can be averaged. **Size**: are the numbers the same, as far as chance allows?
A case is one printed number, and its margin is ``1 − |ours − printed| / tolerance``.

The tolerance is what lies between two runs of the same code on other seeds. The paper names neither
its seeds nor the spread over its ten data sets, so that is taken to be ours: with the standard
deviation s of a number over our n data sets, the two means differ by s √(1/n + 1/10), and the
tolerance is that times a quantile of Student's t, chosen so that a table of k numbers fails by
chance one time in twenty (Bonferroni), plus half of the last printed digit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev, variance
from typing import Literal

from scipy.stats import t as student

from paper.published import N_DATASETS

Verdict = Literal["reproduced", "reproduced in part", "not reproduced", "not checked"]
Source = Literal["paper", "slip", "ours"]
Kind = Literal["direction", "size"]

#: What a verdict is called where the claim is not the paper's.
_OWN_WORDS: dict[Verdict, str] = {
    "reproduced": "holds",
    "reproduced in part": "holds in part",
    "not reproduced": "does not hold",
    "not checked": "not checked",
}


#: For those who do not see colours.
SYMBOLS: dict[str, str] = {
    "reproduced": "✓",
    "reproduced in part": "≈",
    "not reproduced": "✗",
    "not checked": "–",
    "not printed": "·",
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
    label : str
        The paper's label of the table or figure that it is about; empty for claims of ours.
    kind : {"direction", "size"}
    """

    number: str
    family: str
    source: Source
    statement: str
    verdict: Verdict
    found: str
    explanation: str
    fails: tuple[str, ...] = ()
    label: str = ""
    kind: Kind = "direction"

    @classmethod
    def judged(
        cls,
        number: str,
        family: str,
        source: Source,
        statement: str,
        cases: Sequence[Case],
        found: str,
        explanation: str,
        label: str = "",
        kind: Kind = "direction",
    ) -> Claim:
        """Let the cases decide."""
        fails = failing(cases)
        words = (statement, judge(cases), found, explanation, fails)
        return cls(number, family, source, *words, label, kind)

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
    - "reproduced in part": more than half of them hold, and the mean margin is positive;
    - "not reproduced": otherwise;
    - "not checked": there is no case.

    Examples
    --------
    >>> judge([Case("α = 0.55", -0.01), Case("α = 0.75", 0.04), Case("α = 0.95", 0.2)])
    'reproduced in part'
    """
    judged = [case for case in cases if not math.isnan(case.margin)]
    if not judged:
        return "not checked"
    holding = sum(case.holds for case in judged)
    if holding == len(judged):
        return "reproduced"
    if 2 * holding > len(judged) and fmean(case.margin for case in judged) > 0:
        return "reproduced in part"
    return "not reproduced"


def by_rule(holds: bool, partly: bool) -> Verdict:
    """Come to a verdict on a claim that has a rule of its own."""
    if holds:
        return "reproduced"
    return "reproduced in part" if partly else "not reproduced"


_WORST: tuple[Verdict, ...] = ("not reproduced", "reproduced in part", "reproduced")


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Give the verdict on a table by those on all that is said of it: the worst that was reached.

    Examples
    --------
    >>> worst(["reproduced", "not checked", "reproduced in part"])
    'reproduced in part'
    """
    reached = set(verdicts)
    return next((each for each in _WORST if each in reached), "not checked")


def failing(cases: Iterable[Case]) -> tuple[str, ...]:
    """Name the cases that do not hold."""
    return tuple(case.where for case in cases if case.margin <= 0)


def cases_at(levels: Sequence[float], margins: Sequence[float]) -> list[Case]:
    """Make a case of each level."""
    return [Case(at(level), value) for level, value in zip(levels, margins, strict=True)]


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


# --- How far two runs may lie apart.

#: A table fails by chance this often, if the paper ran what we run.
CHANCE = 0.05

#: With fewer data sets their spread says too little, and sizes are not checked.
ENOUGH_DATASETS = 5


@dataclass(frozen=True)
class Apart:
    """One printed number beside ours.

    Attributes
    ----------
    where : str
        As in "α = 0.55".
    ours, printed : float
    error : float
        Standard error of the difference between two runs; ``nan`` with too few data sets.
    freedom : float
        Its degrees of freedom.
    digit : float
        Half of the last printed digit.
    """

    where: str
    ours: float
    printed: float
    error: float
    freedom: float
    digit: float = 0.0

    @property
    def distance(self) -> float:
        """Between ours and the printed one."""
        return abs(self.ours - self.printed)

    def tolerance(self, numbers: int) -> float:
        """How far two runs may lie apart, when a table has this many numbers."""
        if math.isnan(self.error):
            return math.nan
        quantile = float(student.ppf(1 - CHANCE / (2 * numbers), self.freedom))
        return quantile * self.error + self.digit

    def case(self, numbers: int) -> Case:
        """Make a case: it holds within the tolerance."""
        # a little more than the tolerance: half a digit is no binary number
        return Case(self.where, 1 + 1e-9 - self.distance / self.tolerance(numbers))


def mean_apart(where: str, values: Sequence[float], printed: float, digit: float) -> Apart:
    """Compare a mean over our data sets with one that is printed without its spread."""
    n = len(values)
    error = stdev(values) * math.sqrt(1 / n + 1 / N_DATASETS) if n >= ENOUGH_DATASETS else math.nan
    return Apart(where, fmean(values), printed, error, n - 1, digit)


def means_apart(where: str, values: Sequence[float], printed: Sequence[float]) -> Apart:
    """Compare means of two samples, both with their own spread (Welch)."""
    n, m = len(values), len(printed)
    if n < ENOUGH_DATASETS:
        return Apart(where, fmean(values), fmean(printed), math.nan, 0)
    parts = variance(values) / n, variance(printed) / m
    total = sum(parts)
    scale = parts[0] ** 2 / (n - 1) + parts[1] ** 2 / (m - 1)
    freedom = total**2 / scale if scale else n + m - 2
    return Apart(where, fmean(values), fmean(printed), math.sqrt(total), freedom, 0.005)


def left_out_apart(
    where: str, whole: float, without: Sequence[float], printed: float, digit: float
) -> Apart:
    """Compare a number that is no mean, by the jackknife: `without` lacks one data set each."""
    n = len(without)
    if n < ENOUGH_DATASETS:
        return Apart(where, whole, printed, math.nan, 0, digit)
    middle = fmean(without)
    own = (n - 1) / n * sum((each - middle) ** 2 for each in without)
    return Apart(where, whole, printed, math.sqrt(own * (1 + n / N_DATASETS)), n - 1, digit)
