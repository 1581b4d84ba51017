"""Where a cost is tried: truths, decisions around them, and bands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from unmet.band import Array, Band, common_rows, read_array
from unmet.costs.base import Cost
from unmet.costs.hinge import HingeCost
from unmet.errors import InvalidInput

_ROWS = 120
_RANDOM = 14  # decisions a row, at random
_APART = 1e-3  # decisions on both sides of a kink, in units of the range of the truth
_STEP = 1e-6  # of a difference quotient, in the same units


@dataclass(frozen=True)
class Trial:
    """Rows on which a cost is tried.

    Attributes
    ----------
    cost : Cost
    truth : ndarray of shape (n_rows,)
    unit : float
        A distance that matters: the range of the truth.
    generator : Generator
    """

    cost: Cost
    truth: Array
    unit: float
    generator: np.random.Generator

    @classmethod
    def of(cls, cost: Cost, truth: ArrayLike | None, random_state: int) -> Trial:
        """Read truths, or make some up; a cost with one entry per row needs as many rows."""
        generator = np.random.default_rng(random_state)
        n_rows = common_rows(cost.parameters())
        if truth is None:
            made_up = generator.uniform(1.0, 100.0, n_rows or _ROWS)
            values = np.where(generator.random(made_up.size) < 0.3, np.rint(made_up), made_up)
        else:
            values = np.atleast_1d(read_array("truth", truth)).copy()
            if not values.size:
                raise InvalidInput("truth must have at least one row, got none.")
            if n_rows is not None and n_rows != values.size:
                raise InvalidInput(
                    f"truth must have as many rows as the cost, got {values.size} for {n_rows}."
                )
        unit = float(np.ptp(values)) or float(np.abs(values).max()) or 1.0
        return cls(cost, values, unit, generator)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.truth.size

    @property
    def step(self) -> float:
        """Step of a difference quotient."""
        return _STEP * self.unit

    def bands(self) -> list[Band]:
        """Bands with and without width, the same for all rows and one for each."""
        low, width = self.generator.uniform(0.05, 0.4, (2, self.n_rows)) * self.unit
        return [
            Band(0.0, 0.25 * self.unit),
            Band(0.1 * self.unit, 0.3 * self.unit),
            Band(low, low + width),
        ]

    def kinks(self, band: Band | None = None) -> Array:
        """Decisions at which the slope may change, as far as known: shape (n_kinks, n_rows)."""
        low, high = (0.0, 0.0) if band is None else (band.low, band.high)
        ends = [self.truth + low, self.truth + high]
        if isinstance(self.cost, HingeCost):
            ends = [*ends, *self.cost.kinks(self.truth, band).position]
        return np.unique(np.stack(ends), axis=0)

    def decisions(self, band: Band | None = None) -> Array:
        """Decisions of each row in increasing order: at random, on kinks and beside them."""
        size = (_RANDOM, self.n_rows)
        near = self.truth + self.generator.normal(0.0, 0.3, size) * self.unit
        kinks = self.kinks(band)
        beside = [kinks + sign * _APART * self.unit for sign in (-1.0, 1.0)]
        far = [self.truth - 0.9 * self.unit, self.truth + 1.7 * self.unit]
        return np.sort(np.concatenate([near, kinks, *beside, far]), axis=0)


def place(**values: float) -> str:
    """Say where something happened: numbers by name."""
    said = [f"{name.replace('_', ' ')} {value:.6g}" for name, value in values.items()]
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
