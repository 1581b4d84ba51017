"""Checks that several costs share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unmet.band import Band, Numbers, read_numbers
from unmet.errors import InvalidInput


def positive(name: str, value: ArrayLike) -> Numbers:
    """Read a number, or one per row, that must be above zero."""
    return read_numbers(name, value, "a positive number", lambda number: number > 0)


def require_low_zero(band: Band, cost: str, equation: str) -> None:
    """Refuse a band that starts above the observation, for costs with one ε only."""
    lows = np.atleast_1d(band.low)
    if lows.any():
        row = int(np.argmax(lows > 0))
        where = f" in row {row}" if np.ndim(band.low) else ""
        raise InvalidInput(
            f"low of the band must be 0 for {cost} (eq. {equation} has one ε, the band's high), "
            f"got {float(lows[row])}{where}."
        )
