"""Rules on the past that planners order by: means, maxima and exponential smoothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, log
from typing import Any, Literal, TypeAlias

import numpy as np

from unmet.arrays import Array
from unmet.bands.fingerprint.panel import Chains, Panel
from unmet.errors import InvalidInput

Kind: TypeAlias = Literal["mean", "maximum", "smoothing"]

# What is left of the unknown starting value when smoothing is taken at its word.
_STARTING_SHARE = 0.05


@dataclass(frozen=True)
class HistoryRule:
    """What a planner computes from the observations of a series before he multiplies and rounds.

    Attributes
    ----------
    kind : {"mean", "maximum", "smoothing"}
    of : int or float
        How many past rows a mean or maximum takes; the weight of the newest row in smoothing.
    same_weekday : bool
        Whether it looks at the same weekday only, or at all days.

    Examples
    --------
    >>> HistoryRule("mean", 4).name
    'mean of the last 4 same weekdays'
    """

    kind: Kind
    of: float
    same_weekday: bool = True

    def __post_init__(self) -> None:
        if self.kind not in ("mean", "maximum", "smoothing"):
            raise InvalidInput(
                f'kind must be "mean", "maximum" or "smoothing", got {self.kind!r:.40}.'
            )
        if isinstance(self.of, bool) or not isinstance(self.of, int | float | np.number):
            raise InvalidInput(f"of must be a number, got {self.of!r:.40}.")
        if self.kind == "smoothing" and not 0 < self.of <= 1:
            raise InvalidInput(f"of must be above 0 and at most 1 for smoothing, got {self.of}.")
        if self.kind != "smoothing" and not (self.of >= 1 and float(self.of).is_integer()):
            raise InvalidInput(f"of must be a positive whole number of rows, got {self.of}.")

    @property
    def name(self) -> str:
        """In words, as it is printed and as ``rules=`` takes it."""
        days = "same weekdays" if self.same_weekday else "days"
        if self.kind == "smoothing":
            return f"exponential smoothing {self.of:g} of {days}"
        if self.of == 1:
            return "last week's value" if self.same_weekday else "yesterday's value"
        return f"{self.kind} of the last {int(self.of)} {days}"

    @property
    def needs(self) -> int:
        """How many rows of its chain must come before a row it speaks about."""
        if self.kind != "smoothing":
            return int(self.of)
        return 1 if self.of == 1 else ceil(log(_STARTING_SHARE) / log(1 - self.of))

    def base(self, panel: Panel) -> Array:
        """Value of the rule for every row, from earlier rows only; NaN where they are too few."""
        chains = panel.weeks if self.same_weekday else panel.days
        along = panel.s[chains.rows]
        if self.kind == "smoothing":
            value = _smooth(along, chains, float(self.of))
        else:
            value = _look_back(along, chains, int(self.of), self.kind)
        return chains.back(np.where(chains.place >= self.needs, value, np.nan))


def _look_back(along: Array, chains: Chains, count: int, kind: Kind) -> Array:
    """Mean or maximum of the `count` rows before; summed one by one, whole numbers stay exact."""
    value = chains.before(along, 1)
    for lag in range(2, count + 1):
        earlier = chains.before(along, lag)
        value = value + earlier if kind == "mean" else np.maximum(value, earlier)
    return value / count if kind == "mean" else value


def _smooth(along: Array, chains: Chains, weight: float) -> Array:
    """Smoothed value before each row, started at the first row of the chain.

    y_t = (1 − w) y_{t−1} + w s_t is a geometric sum; adding the sum of the 2^j rows before to that
    of the last 2^j doubles its reach, so that a chain of T rows takes log₂ T passes over all chains
    at once.
    """
    total = np.where(chains.place == 0, along, weight * along)
    reach, longest = 1, int(chains.place.max()) + 1
    while reach < longest:
        decay = (1 - weight) ** reach
        if decay < 1e-18:
            break
        total = total + decay * np.nan_to_num(chains.before(total, reach))
        reach *= 2
    return chains.before(total, 1)


#: What is tried unless the user names rules.
DEFAULT_RULES: tuple[HistoryRule, ...] = (
    *(HistoryRule("mean", count) for count in range(1, 9)),
    *(HistoryRule("maximum", count) for count in range(2, 9)),
    *(HistoryRule("mean", count, same_weekday=False) for count in (1, 7, 14, 28)),
    *(HistoryRule("maximum", count, same_weekday=False) for count in (7, 14, 28)),
    *(HistoryRule("smoothing", weight) for weight in (0.1, 0.2, 0.3, 0.5)),
    *(HistoryRule("smoothing", weight, same_weekday=False) for weight in (0.1, 0.2, 0.3, 0.5)),
)


def read_rules(rules: Any) -> Sequence[HistoryRule]:
    """Rules to try: "auto", or rules and names of rules."""
    if isinstance(rules, str):
        if rules == "auto":
            return DEFAULT_RULES
        raise InvalidInput(f'rules must be "auto" or a list of rules, got {rules!r:.60}.')
    if not isinstance(rules, Iterable):
        raise InvalidInput(f'rules must be "auto" or a list of rules, got {rules!r:.60}.')
    known = {rule.name: rule for rule in DEFAULT_RULES}
    chosen: list[HistoryRule] = []
    for rule in rules:
        if isinstance(rule, HistoryRule):
            chosen.append(rule)
        elif isinstance(rule, str) and rule in known:
            chosen.append(known[rule])
        else:
            raise InvalidInput(
                "rules must hold HistoryRule or names such as "
                f"'mean of the last 4 same weekdays', got {rule!r:.60}."
            )
    if not chosen:
        raise InvalidInput("rules must hold at least one rule, got none.")
    return chosen
