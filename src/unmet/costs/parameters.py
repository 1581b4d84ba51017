"""Checks that several costs share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unmet.arrays import Band, Numbers, read_numbers
from unmet.errors import InvalidInput


def positive(name: str, value: ArrayLike) -> Numbers:
    """Read a number, or one per row, that must be above zero."""
    return read_numbers(name, value, "a positive number", lambda number: number > 0)


def require_one_end(band: Band, cost: str, equation: str) -> None:
    """Refuse a band with two ends that differ and are not 0, for costs with one ε only."""
    low, high = np.broadcast_arrays(np.atleast_1d(band.low), band.high)
    two = (low > 0) & (low < high)
    if two.any():
        row = int(np.argmax(two))
        where = f" in row {row}" if np.ndim(band.low) or np.ndim(band.high) else ""
        raise InvalidInput(
            f"low of the band must be 0 or equal to high for {cost} (eq. {equation} has one ε, the "
            f"band's high), got low {float(low[row])} and high {float(high[row])}{where}."
        )


def check_dearer_failure(planned: Numbers, failure: Numbers) -> None:
    """Refuse failures that cost no more than planned replacements: nobody would plan any."""
    each_planned, each_failure = np.broadcast_arrays(np.atleast_1d(planned), failure)
    dearer = each_failure > each_planned
    if not dearer.all():
        row = int(np.argmin(dearer))
        where = f" in row {row}" if np.ndim(planned) or np.ndim(failure) else ""
        raise InvalidInput(
            f"failure must be greater than planned, got failure {float(each_failure[row])} and "
            f"planned {float(each_planned[row])}{where}."
        )
