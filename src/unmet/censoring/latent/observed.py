"""What can be read off the observations themselves, and what a user may ask of them.

Units, lattice, floor and known rows (`Observed`); which rows a latent model can learn from; rates,
families and order policies as users write them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from unmet.arrays import Array, Limits
from unmet.censoring import constants as tuned
from unmet.censoring.latent.families import FAMILIES, Family, Space
from unmet.censoring.latent.fitting import Policy
from unmet.censoring.latent.likelihood import (
    BELOW,
    BETWEEN,
    CENSORED,
    FLOOR,
    SEEN,
    UNKNOWN,
    RowKinds,
)
from unmet.errors import InvalidInput
from unmet.rows import Rows
from unmet.validation import Number, refusal

_LOG_TWO = float(np.log(2.0))


@dataclass(frozen=True)
class Observed:
    """Observations in units of their spread, and what is known of each row.

    Attributes
    ----------
    observation : ndarray of shape (n_rows,)
        As given.
    unit : float
        Their standard deviation; of limits that are all the same, their size.
    lattice : float
        Observations are multiples of it; 0 where of nothing.
    floor : float or None
        Lowest observation where many rows share it: the truth may lie below (no negative sales).
    kind : ndarray of int
        UNKNOWN, CENSORED, SEEN, FLOOR, BELOW or BETWEEN.
    limits : Limits or None
        Of the truths, where they say more than flags.
    """

    observation: Array
    unit: float
    lattice: float
    floor: float | None
    kind: Array
    limits: Limits | None = None

    @classmethod
    def within(cls, limits: Limits) -> Observed:
        """Look at limits of the truth: their lattice and their ties say nothing of it."""
        names = limits.kinds
        kind = np.full(names.size, BETWEEN)
        for name, number in (("exact", SEEN), ("right", CENSORED), ("left", BELOW)):
            kind[names == name] = number
        middle = midpoints(limits)
        # a price that never varied has no spread of its own
        unit = float(np.std(middle)) or float(np.abs(middle).mean()) or 1.0
        return cls(middle, unit, 0.0, None, kind, limits)

    @classmethod
    def of(cls, observation: Array, censored: Array | None) -> Observed:
        """Look at the observations."""
        kind = np.full(observation.size, UNKNOWN)
        if censored is not None:
            kind[censored == 1] = CENSORED
            kind[censored == 0] = SEEN
        lowest = float(observation.min())
        at_lowest = observation == lowest
        floor = lowest if at_lowest.sum() > max(5, 0.01 * observation.size) else None
        if floor is not None:
            kind[at_lowest & (kind != CENSORED)] = FLOOR
        unit, lattice = float(np.std(observation)), find_lattice(observation)
        return cls(observation, unit, lattice, floor, kind)

    @property
    def positive(self) -> bool:
        """Whether a logarithmic scale makes sense."""
        if self.limits is not None:
            return bool((self.limits.upper > 0).all())
        low = float(self.observation.min())
        return low > 0 or (low == 0 and self.floor == 0.0)

    @property
    def counts(self) -> bool:
        """Whether these are whole numbers from 0 on."""
        if self.limits is not None:
            return False
        return self.lattice >= 1.0 and self.lattice % 1.0 == 0 and self.observation.min() >= 0

    def unit_of(self, space: Space) -> float:
        """Give the unit in which a family sees the observations: a lattice step for counts."""
        return self.lattice if space == "counts" else self.unit

    def point(self, space: Space) -> Array:
        """Observations in the space of a family; of limits the lower, or the only one."""
        if self.limits is not None:
            low = np.where(self.kind == BELOW, self.limits.upper, self.limits.lower)
            return self._in_space(space, low)
        if space == "counts":
            return np.round(self.observation / self.lattice)
        value = self.observation
        if self.floor is not None:
            # half a step above its rows, so that rounding is allowed for
            value = np.where(self.kind == FLOOR, self.floor + 0.5 * self.lattice, value)
        if space != "log":
            return self._in_space(space, value)
        least = float(self.observation[self.observation > 0].min())
        bottom = 0.5 * least if self.floor == 0.0 and not self.lattice else 1e-300
        return np.log(np.maximum(value, bottom) / self.unit)

    def jacobian(self, space: Space, density: Array) -> Array:
        """Log-derivative of the point in the observation, for the rows that enter by density."""
        if space == "counts":  # a probability, spread over one step
            return np.asarray(-np.log(self.lattice) * density)
        if space == "linear":
            return np.asarray(-np.log(self.unit) * density)
        if space == "root":  # nothing is flatter than half a step, or a thousandth of the unit
            least = max(0.5 * self.lattice, 1e-3 * self.unit)
            steep = 0.5 * np.log(np.maximum(self.observation, least) * self.unit)
            return np.where(density > 0, -_LOG_TWO - steep, 0.0)
        return np.where(density > 0, -np.log(np.maximum(self.observation, 1e-300)), 0.0)

    def rows_in(self, space: Space) -> RowKinds:
        """Give the kinds of rows, with the distance of two limits in the space of a family."""
        if self.limits is None or not (self.kind == BETWEEN).any():
            return RowKinds.of(self.kind)
        top = np.where(self.kind == BETWEEN, self.limits.upper, 0.0)
        return RowKinds.of(self.kind, self._in_space(space, top) - self.point(space))

    def _in_space(self, space: Space, value: Array) -> Array:
        if space == "linear":
            return value / self.unit
        if space == "root":
            return np.sqrt(np.maximum(value, 0.0) / self.unit)
        return np.log(np.maximum(value, 1e-300) / self.unit)


def observe(sample: Rows) -> Observed:
    """Look at what is known of the rows of a sample."""
    if sample.limits is not None:
        return Observed.within(sample.limits)
    return Observed.of(sample.observation, sample.censored)


def midpoints(limits: Limits) -> Array:
    """Middle of two limits, or the only one: what stands for an observation."""
    low = np.where(np.isinf(limits.lower), limits.upper, limits.lower)
    high = np.where(np.isinf(limits.upper), limits.lower, limits.upper)
    return low + 0.5 * (high - low)


def find_lattice(observation: Array) -> float:
    """Largest step of which all observations are multiples; 0 if they look continuous."""
    values = np.unique(observation)
    if values.size < 2 or values.size > 0.9 * observation.size + 10:
        return 0.0
    if np.abs(values).max() < 2**53 and np.all(values == np.round(values)):
        return float(np.gcd.reduce(values.astype(np.int64)))
    step = float(np.diff(values).min())
    multiples = values / step
    if np.abs(values).max() / step < 1e7 and np.all(np.abs(multiples - np.round(multiples)) < 1e-6):
        return step
    return 0.0


def mostly_known(sample: Rows, notes: list[str]) -> Rows:
    """Leave out the few rows of which nothing is known, so that orders need no model."""
    if sample.censored is None:
        return sample
    known = ~np.isnan(sample.censored)
    share = float(known.mean())
    both = (sample.censored == 1).any() and (sample.censored == 0).any()
    if share == 1.0 or share < tuned.MOSTLY_KNOWN or not both:
        return sample
    notes.append(f"{(~known).sum():,} rows of which nothing is known were left out.")
    return sample.take(np.flatnonzero(known))


def usable(sample: Rows, notes: list[str]) -> Rows:
    """Rows of whose truth something is known; what no likelihood can explain is refused."""
    if sample.limits is not None:
        sample = _within_limits(sample, sample.limits, notes)
    observed = sample.observation
    if observed.size < 2 or (sample.limits is None and float(np.ptp(observed)) == 0.0):
        raise InvalidInput(
            f"y must hold at least two different observations for a latent model, "
            f"got {observed.size} of {observed[0]:g}."
        )
    if sample.censored is not None and (sample.censored == 1).all():
        raise InvalidInput(
            "censored must leave some rows seen or unknown, got all rows censored: "
            "nothing is then known of the truth but a lower bound."
        )
    return sample


def _within_limits(sample: Rows, limits: Limits, notes: list[str]) -> Rows:
    """Rows of whose truth something is known, the middle of limits standing for observations."""
    silent = limits.kinds == "nothing"
    if silent.all():
        raise InvalidInput("censored must limit the truth in some row, got no limit in any.")
    if silent.any():
        notes.append(f"{silent.sum():,} rows of whose truth nothing is known were left out.")
        kept = np.flatnonzero(~silent)
        sample, limits = sample.take(kept), limits.take(kept)
    for name, side in (("right", "at least"), ("left", "below")):
        if (limits.kinds == name).all():
            raise InvalidInput(
                f"censored must bound the truth from both sides, got only truths {side} their "
                "limit: how far they lie beyond is then not known at all."
            )
    return replace(sample, observation=midpoints(limits))


def check_orders(policies: Sequence[Policy], sample: Rows, imposed: bool) -> None:
    """Refuse orders that never bind where some row is known to have sold out."""
    flagged = sample.censored is not None and (sample.censored == 1).any()
    if set(policies) == {"absent"} and (imposed or flagged):
        why = "a sell-out rate above 0" if imposed else "rows that are flagged as censored"
        raise InvalidInput(f"orders must be 'noisy' or 'mixture' with {why}, got 'absent'.")


@dataclass(frozen=True)
class RateRange:
    """Sell-out rates that are thought possible."""

    low: float
    high: float

    @property
    def imposed(self) -> tuple[float, float]:
        """The middle, and how far it may be missed: a range more than a number."""
        slack = max(tuned.RATE_SLACK, 0.25 * (self.high - self.low))
        return 0.5 * (self.low + self.high), slack


def read_rate(value: Any) -> RateRange | None:
    """Read a number, or two, in [0, 1)."""
    if value is None:
        return None
    listed = isinstance(value, Iterable) and not isinstance(value, str)
    ends = list(value) if listed else [value, value]
    inside = Number(least=0, below=1)
    try:
        low, high = (inside("sellout_rate", end) for end in ends)
    except ValueError:
        allowed = "a number from 0 to below 1, or a range of two"
        raise refusal("sellout_rate", allowed, value) from None
    if low > high:
        raise refusal("sellout_rate", "a range (low, high) with low <= high", value)
    return RateRange(low, high)


LIFETIMES = ("weibull", "lognormal")
"""Families that are usual for lifetimes."""


def read_families(value: Any, observed: Observed) -> list[Family]:
    """Families to try; of those that were named, each must be able to explain the observations."""
    if isinstance(value, str) and value == "auto":
        able = [each for each in FAMILIES.values() if not each.left]
        able = [family for family in able if _fits(family, observed) is None]
        if observed.counts and observed.unit < tuned.FEW_STEPS * observed.lattice:
            # a density may exceed one per step, and then beats every probability unfairly
            return [family for family in able if family.space == "counts"]
        many = float(np.median(observed.observation)) > tuned.LARGE_COUNT * (
            observed.lattice or 1.0
        )
        return [family for family in able if not (many and family.space == "counts")]
    families = []
    named = LIFETIMES if isinstance(value, str) and value == "lifetimes" else value
    for name in _names("families", named, FAMILIES):
        wrong = _fits(FAMILIES[name], observed)
        if wrong is not None:
            raise InvalidInput(f"The family {name!r} {wrong}.")
        families.append(FAMILIES[name])
    return families


def _names(parameter: str, value: Any, known: Collection[str]) -> list[str]:
    """Read one known name, or several."""
    if not isinstance(value, Iterable):
        raise refusal(parameter, "'auto', a name or several names", value)
    names = [value] if isinstance(value, str) else list(value)
    wrong = [name for name in names if not isinstance(name, str) or name not in known]
    if wrong or not names:
        some = ", ".join(repr(each) for each in known)
        got = repr(wrong[0]) if wrong else "none"
        raise InvalidInput(f"{parameter} must be 'auto' or some of {some}, got {got}.")
    return names


def _fits(family: Family, observed: Observed) -> str | None:
    """Say why a family cannot explain the observations; None if it can."""
    least = float(observed.observation.min())
    if family.space == "log" and not observed.positive:
        lowest = least if observed.limits is None else float(observed.limits.upper.min())
        return f"needs positive observations, got {lowest:g}"
    if family.space == "counts" and observed.limits is not None:
        return "cannot learn from limits of the truth, got some that flags cannot say"
    if family.space == "counts" and least < 0:
        return f"needs counts from 0 on, got the negative observation {least:g}"
    if family.space == "counts" and not observed.counts:
        return "needs whole numbers, got observations with fractions"
    return None


def read_policies(value: Any) -> tuple[Policy, ...]:
    """Order policies to try."""
    every: tuple[Policy, ...] = get_args(Policy)
    if isinstance(value, str) and value == "auto":
        return every
    names = _names("orders", value, every)
    return tuple(each for each in every if each in names)
