"""Calibration: compare the share of covered truths with the level that decisions promise.

A decision that costs least at level α covers the truth with probability α. Over many rows the
reached service level should therefore be α, for every α. If it is lower, the distribution behind
the decisions ends too low: some hidden demand was not found. If it is higher, the distribution ends
too high. Calibration does not measure cost: a constant can be calibrated, and a sharper model need
not be.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.errors import InvalidInput
from unmet.evaluation.measures import read_columns, service_level
from unmet.validation import Number


@dataclass(frozen=True)
class Calibration:
    """Reached service levels next to the intended ones.

    Attributes
    ----------
    levels : tuple of float
        Intended levels α, ascending.
    reached : tuple of float
        Share of rows whose decision at that level covers the truth.
    standard_error : tuple of float
        Standard error of `reached`.
    n_rows : int
        Number of rows.

    Examples
    --------
    >>> from unmet.evaluation import calibration
    >>> found = calibration({0.5: 10, 0.75: [12, 12, 9, 20]}, [8, 12, 11, 15])
    >>> found.gap, found.largest_gap
    ((-0.25, 0.0), 0.25)
    """

    levels: tuple[float, ...]
    reached: tuple[float, ...]
    standard_error: tuple[float, ...]
    n_rows: int

    @property
    def gap(self) -> tuple[float, ...]:
        """Reached minus intended level, for each level."""
        return tuple(found - level for found, level in zip(self.reached, self.levels, strict=True))

    @property
    def largest_gap(self) -> float:
        """Largest distance from the intended level, in either direction."""
        return max(abs(each) for each in self.gap)

    @property
    def within_chance(self) -> tuple[bool, ...]:
        """Whether the intended level is within two standard errors, for each level."""
        return tuple(
            abs(gap) <= 2 * error for gap, error in zip(self.gap, self.standard_error, strict=True)
        )

    def __str__(self) -> str:
        rows = zip(self.levels, self.reached, self.standard_error, strict=True)
        parts = [f"{100 * a:g}% → {100 * r:.1f} ± {100 * e:.1f}" for a, r, e in rows]
        return f"service level, {self.n_rows:,} rows: " + "; ".join(parts)


def calibration(
    decisions: Mapping[float, ArrayLike],
    truth: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Calibration:
    """Compute the service level that decisions reach at each level they were made for.

    Parameters
    ----------
    decisions : mapping from float to array-like of shape (n_rows,)
        Decisions by their level α, above 0 and below 1. A single number decides every row.
    truth : array-like of shape (n_rows,)
        Demand, not sales.
    groups : array-like of shape (n_rows,), optional
        Groups of dependent rows, such as all rows of a day or of a series. The standard error then
        counts groups instead of rows (the sandwich of Liang & Zeger 1986). None takes rows as
        independent, which days of one series seldom are.
    sample_weight : array-like of shape (n_rows,), optional
        Non-negative weights, not all zero. None weights all rows equally.

    Returns
    -------
    Calibration
        Intended and reached levels. If truths are whole numbers, even correct decisions reach more
        than α, because they are the smallest number that reaches it.

    Examples
    --------
    >>> from unmet.evaluation import calibration
    >>> found = calibration({0.5: 10, 0.75: [12, 12, 9, 20]}, [8, 12, 11, 15])
    >>> found.reached
    (0.25, 0.75)
    >>> print(found)
    service level, 4 rows: 50% → 25.0 ± 25.0; 75% → 75.0 ± 25.0
    """
    if not isinstance(decisions, Mapping) or not decisions:
        raise InvalidInput(
            "decisions must be a mapping from levels to decisions, with one at least."
        )
    allowed = Number(above=0, below=1)
    levels = sorted(float(allowed("each level of decisions", level)) for level in decisions)
    (actual,) = read_columns(truth=truth)
    weight = np.ones(actual.size)
    if sample_weight is not None:
        _, weight = read_columns(truth=truth, sample_weight=sample_weight)
    labels = _read_groups(groups, actual.size)
    reached, errors = [], []
    for level in levels:
        _, chosen = read_columns(truth=actual, decision=decisions[level])
        share = service_level(chosen, actual, sample_weight=sample_weight)
        reached.append(share)
        met = (chosen >= actual).astype(np.float64)
        # of a weighted mean, deviations summed within groups; √(g / (g − 1)) for their number g
        deviation = met - share
        sums = np.bincount(labels, weights=weight * deviation)
        count = np.unique(labels).size
        spread = math.sqrt(float(np.sum(sums**2))) / float(weight.sum())
        errors.append(spread * math.sqrt(count / (count - 1)) if count > 1 else math.nan)
    return Calibration(tuple(levels), tuple(reached), tuple(errors), int(actual.size))


def _read_groups(groups: ArrayLike | None, n_rows: int) -> NDArray[np.intp]:
    if groups is None:
        return np.arange(n_rows)
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise InvalidInput(f"groups must have {n_rows} rows like truth, got shape {labels.shape}.")
    return np.asarray(np.unique(labels, return_inverse=True)[1])
