"""Demand on a design: what it is like, and one draw of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from unmet.band import Array
from unmet.errors import InvalidInput
from unmet.evaluation.checks import as_number
from unmet.simulate.demand import (
    COUNTS,
    FAMILIES,
    POSITIVE,
    Distribution,
    Family,
    check_shape,
    distribution,
)
from unmet.simulate.design import SCALES, Design, Scale


@dataclass(frozen=True, eq=False)
class Market:
    """What the policies look at.

    Attributes
    ----------
    distribution : Distribution
        Of demand, one for each row.
    mean, deviation, demand : ndarray of shape (n_rows,)
    n_train : int
        The shift is chosen on the first rows only, so that it does not depend on how long we test.
    clip, counts : bool
        Whether nothing is below zero; whether only whole units are ordered.
    """

    distribution: Distribution
    mean: Array
    deviation: Array
    demand: Array
    n_train: int
    clip: bool
    counts: bool

    def stocked(self, quantity: Array) -> Array:
        """Order what can be ordered: whole units of counts, nothing below zero."""
        whole = np.ceil(quantity) if self.counts else quantity
        return np.maximum(whole, 0.0) if self.clip else whole


@dataclass(frozen=True)
class DemandKind:
    """What demand is like, checked; see `censoring_lab` for what the numbers mean."""

    family: Family
    scale: Scale
    level: float
    spread: float
    shape: float
    clip: bool

    @classmethod
    def read(
        cls,
        family: Family,
        scale: Scale | None,
        level: float,
        spread: float,
        shape: float | None,
        clip: bool,
    ) -> Self:
        """Check what the user gave, and fill in what depends on the family."""
        if family not in FAMILIES:
            raise InvalidInput(f"family must be one of {', '.join(FAMILIES)}, got {family!r}.")
        if family == "poisson" and scale is not None:
            raise InvalidInput(f'scale must be None for family "poisson", got {scale!r}.')
        pattern: Scale = scale or ("level" if family in POSITIVE else "constant")
        if pattern not in SCALES:
            raise InvalidInput(f"scale must be one of {', '.join(SCALES)}, got {scale!r}.")
        for name, value in (("level", level), ("spread", spread)):
            if as_number(name, value) <= 0:
                raise InvalidInput(f"{name} must be a positive number, got {value}.")
        return cls(
            family, pattern, float(level), float(spread), check_shape(family, shape), bool(clip)
        )

    def market(self, design: Design, luck: np.random.Generator, n_train: int) -> Market:
        """Draw demand for the rows of a design."""
        mean = self.level * design.share
        deviation = self.level * self.spread * design.deviation(self.scale)
        if self.family == "poisson":
            deviation = np.sqrt(mean)
        elif self.family == "negative_binomial":
            deviation = np.sqrt(mean + deviation**2)
        truth = distribution(self.family, mean, deviation, self.shape)
        # 0 is drawn once in 2⁵³ times, and would be a demand of -∞
        demand = truth.ppf(np.maximum(luck.random(len(mean)), 2.0**-54))
        return Market(
            distribution=truth,
            mean=mean,
            deviation=deviation,
            demand=np.maximum(demand, 0.0) if self.clip else demand,
            n_train=n_train,
            clip=self.clip,
            counts=self.family in COUNTS,
        )
