"""What a user may ask of the latent model, read and checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, get_args

import numpy as np

from unmet.bands.latent.families import FAMILIES, Family
from unmet.bands.latent.fitting import Rate
from unmet.bands.latent.model import Policy
from unmet.bands.latent.observed import Observed
from unmet.errors import InvalidInput

_FEW_STEPS = 4.0
_LARGE_COUNT = 50  # beyond, steps of one hardly show and the gamma says the same much faster
_EXACT = 0.01  # how far an imposed rate may be missed


@dataclass(frozen=True)
class RateRange:
    """Sell-out rates that are thought possible."""

    low: float
    high: float

    @property
    def imposed(self) -> Rate:
        """The middle; a range is met more loosely than a number."""
        return Rate(0.5 * (self.low + self.high), max(_EXACT, 0.25 * (self.high - self.low)))

    def holds(self, share: float, slack: float = 0.0) -> bool:
        """Whether a share lies in the range."""
        return self.low - slack <= share <= self.high + slack


def read_rate(value: Any) -> RateRange | None:
    """Read a number, or two, in [0, 1)."""
    if value is None:
        return None
    ends = [value, value] if isinstance(value, Real) else list(_pair(value))
    for end in ends:
        if isinstance(end, bool) or not isinstance(end, Real) or not 0 <= float(end) < 1:
            raise _wrong_rate(value)
    low, high = (float(end) for end in ends)
    if low > high:
        raise InvalidInput(
            f"sellout_rate must be a range (low, high) with low <= high, got {value!r}."
        )
    return RateRange(low, high)


def _pair(value: Any) -> Sequence[Any]:
    if isinstance(value, Iterable) and not isinstance(value, str):
        pair = list(value)
        if len(pair) == 2:
            return pair
    raise _wrong_rate(value)


def _wrong_rate(value: object) -> InvalidInput:
    allowed = "a number from 0 to below 1, or a range of two"
    return InvalidInput(f"sellout_rate must be {allowed}, got {value!r}.")


def read_families(value: Any, observed: Observed) -> list[Family]:
    """Families to try; of those that were named, each must be able to explain the observations."""
    if isinstance(value, str) and value == "auto":
        able = [family for family in FAMILIES.values() if _fits(family, observed) is None]
        if observed.counts and observed.unit < _FEW_STEPS * observed.lattice:
            # a density may exceed one per step, and then beats every probability unfairly
            return [family for family in able if family.space == "counts"]
        many = float(np.median(observed.observation)) > _LARGE_COUNT * (observed.lattice or 1.0)
        return [family for family in able if not (many and family.space == "counts")]
    families = []
    for name in _names("families", value):
        if not isinstance(name, str) or name not in FAMILIES:
            known = ", ".join(repr(each) for each in FAMILIES)
            raise InvalidInput(f"families must be 'auto' or some of {known}, got {name!r}.")
        wrong = _fits(FAMILIES[name], observed)
        if wrong is not None:
            raise InvalidInput(f"The family {name!r} {wrong}.")
        families.append(FAMILIES[name])
    if not families:
        raise InvalidInput("families must name at least one family, got none.")
    return families


def _names(parameter: str, value: Any) -> list[Any]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable):
        raise InvalidInput(f"{parameter} must be 'auto', a name or several names, got {value!r}.")
    return list(value)


def _fits(family: Family, observed: Observed) -> str | None:
    """Say why a family cannot explain the observations; None if it can."""
    least = float(observed.observation.min())
    if family.space == "log" and not observed.positive:
        return f"needs positive observations, got {_least(observed):g}"
    if family.space == "counts" and observed.limits is not None:
        return "cannot learn from limits of the truth, got some that flags cannot say"
    if family.space == "counts" and least < 0:
        return f"needs counts from 0 on, got the negative observation {least:g}"
    if family.space == "counts" and not observed.counts:
        return "needs whole numbers, got observations with fractions"
    return None


def _least(observed: Observed) -> float:
    if observed.limits is not None:
        return float(observed.limits.upper.min())
    return float(observed.observation.min())


def read_policies(value: Any) -> tuple[Policy, ...]:
    """Order policies to try."""
    every: tuple[Policy, ...] = get_args(Policy)
    if isinstance(value, str) and value == "auto":
        return every
    names = _names("orders", value)
    wrong = [name for name in names if not isinstance(name, str) or name not in every]
    if wrong or not names:
        known = ", ".join(repr(each) for each in every)
        got = repr(wrong[0]) if wrong else "none"
        raise InvalidInput(f"orders must be 'auto' or some of {known}, got {got}.")
    return tuple(each for each in every if each in names)
