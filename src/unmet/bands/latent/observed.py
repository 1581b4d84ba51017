"""What can be read off the observations themselves: units, lattice, floor, and known rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unmet.band import Array
from unmet.bands.latent.families import Space
from unmet.bands.latent.likelihood import (
    BELOW,
    BETWEEN,
    CENSORED,
    FLOOR,
    SEEN,
    UNKNOWN,
    Rows,
)
from unmet.bands.sample import Sample
from unmet.limits import Limits


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
        for name, number in (("seen", SEEN), ("right", CENSORED), ("left", BELOW)):
            kind[names == name] = number
        middle = middle_of(limits)
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
        lattice = find_lattice(observation)
        floor = _find_floor(observation)
        if floor is not None:
            kind[(observation == floor) & (kind != CENSORED)] = FLOOR
        return cls(observation, float(np.std(observation)), lattice, floor, kind)

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

    @property
    def _bottom(self) -> float:
        """Where the floor stands: half a step above its rows, so that rounding is allowed for."""
        assert self.floor is not None
        return self.floor + 0.5 * self.lattice

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
            value = np.where(self.kind == FLOOR, self._bottom, value)
        if space == "linear":
            return value / self.unit
        least = float(self.observation[self.observation > 0].min())
        bottom = 0.5 * least if self.floor == 0.0 and not self.lattice else 1e-300
        return np.log(np.maximum(value, bottom) / self.unit)

    def jacobian(self, space: Space, density: Array) -> Array:
        """Log-derivative of the point in the observation, for the rows that enter by density."""
        if space == "counts":  # a probability, spread over one step
            return np.asarray(-np.log(self.lattice) * density)
        if space == "linear":
            return np.asarray(-np.log(self.unit) * density)
        return np.where(density > 0, -np.log(np.maximum(self.observation, 1e-300)), 0.0)

    @property
    def rows(self) -> Rows:
        """What the likelihood asks."""
        return Rows.of(self.kind)

    def rows_in(self, space: Space) -> Rows:
        """Give the same with the distance of two limits, in the space of a family."""
        if self.limits is None or not (self.kind == BETWEEN).any():
            return self.rows
        top = np.where(self.kind == BETWEEN, self.limits.upper, 0.0)
        return Rows.of(self.kind, self._in_space(space, top) - self.point(space))

    def _in_space(self, space: Space, value: Array) -> Array:
        if space == "linear":
            return value / self.unit
        return np.log(np.maximum(value, 1e-300) / self.unit)


def observe(sample: Sample) -> Observed:
    """Look at what is known of the rows of a sample."""
    if sample.limits is not None:
        return Observed.within(sample.limits)
    return Observed.of(sample.observation, sample.censored)


def middle_of(limits: Limits) -> Array:
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


def _find_floor(observation: Array) -> float | None:
    lowest = float(observation.min())
    ties = int((observation == lowest).sum())
    return lowest if ties > max(5, 0.01 * observation.size) else None
