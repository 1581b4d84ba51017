"""Reading the numbers that bounds are made of: each is refused in one sentence."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from unmet.band import Band
from unmet.costs import Newsvendor, PiecewiseLinearCost
from unmet.errors import InvalidInput, Unsupported

_MOST = 10**100  # floats can still divide by its square

#: A cost that is linear on either side of the truth, or the level α of a normalised newsvendor.
Price: TypeAlias = PiecewiseLinearCost | float


class Steepness(NamedTuple):
    """The extreme slopes of a cost over all its rows.

    In the paper's units underage is α and overage 1 − α; then `steeper` is α ∨ (1 − α) and
    `flatter` is α ∧ (1 − α).
    """

    underage: float
    overage: float
    flatter: float

    @property
    def steeper(self) -> float:
        """The largest slope on either side."""
        return max(self.underage, self.overage)


def read_steepness(cost: Any) -> Steepness:
    """Slopes of a cost, or of the normalised newsvendor at a level; of many rows the worst."""
    if isinstance(cost, Real) and not isinstance(cost, bool):
        cost = Newsvendor.at_level(float(cost))
    if not isinstance(cost, PiecewiseLinearCost):
        raise Unsupported(
            "The bounds need a cost with two slopes, such as Newsvendor(underage=3, overage=1) or "
            f"a level between 0 and 1, got {cost!r}."
        )
    below, above = cost.slopes.below, cost.slopes.above
    least = float(min(np.min(below), np.min(above)))
    return Steepness(float(np.max(below)), float(np.max(above)), least)


def read_ends(band: Band | None) -> tuple[float, float]:
    """Low and high of a band; of many rows the worst: the largest low, the smallest high.

    A cost is largest just below the band of largest low, and just above that of smallest high.
    """
    if band is None:
        return 0.0, 0.0
    if not isinstance(band, Band):
        raise InvalidInput(f"band must be a Band or None, got {band!r}.")
    return float(np.max(band.low)), float(np.min(band.high))


def positive_number(name: str, value: Any) -> float:
    """Read a finite number above zero."""
    if isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < np.inf:
        return float(value)
    raise InvalidInput(f"{name} must be a positive number, got {value!r}.")


def share(name: str, value: Any) -> float:
    """Read a number strictly between 0 and 1."""
    if isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < 1:
        return float(value)
    raise InvalidInput(f"{name} must be strictly between 0 and 1, got {value!r}.")


def count(name: str, value: Any) -> int:
    """Read a whole number of at least 1."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 1:
        raise InvalidInput(f"{name} must be a whole number of at least 1, got {value!r}.")
    if int(value) > _MOST:
        raise InvalidInput(
            f"{name} must be at most 1e100, got a number of {len(str(value))} digits."
        )
    return int(value)
