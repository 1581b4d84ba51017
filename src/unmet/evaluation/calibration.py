"""Calibration: truths should be covered as often as decisions at a level α promise.

A decision that costs least at level α covers the truth with probability α. Over many rows the
service level reached should therefore be α, at every α; where it is less, the distribution behind
the decisions ends too low (demand was hidden and not found), where it is more, too high.
Calibration says nothing about cost: a constant can be calibrated, and a sharper model need not be.
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
    """Service levels that decisions reached, beside those that were meant.

    Attributes
    ----------
    levels : tuple of float
        α, rising.
    reached : tuple of float
        Share of rows whose decision at that level covers the truth.
    standard_error : tuple of float
        Of `reached`.
    n_rows : int
    """

    levels: tuple[float, ...]
    reached: tuple[float, ...]
    standard_error: tuple[float, ...]
    n_rows: int

    @property
    def gap(self) -> tuple[float, ...]:
        """Reached minus meant, at each level."""
        return tuple(found - level for found, level in zip(self.reached, self.levels, strict=True))

    @property
    def largest_gap(self) -> float:
        """Largest distance from the level, in either direction."""
        return max(abs(each) for each in self.gap)

    @property
    def within_chance(self) -> tuple[bool, ...]:
        """Whether the level is within two standard errors, at each level."""
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
    """Service level that decisions reach at each level they were made for.

    Parameters
    ----------
    decisions : mapping from float to array-like of shape (n_rows,)
        α in (0, 1) → the decisions for it. A single number decides every row.
    truth : array-like of shape (n_rows,)
        Demand, not sales.
    groups : array-like of shape (n_rows,), optional
        Rows that share their luck, such as all rows of a day or of a series: the standard error
        then counts groups instead of rows (the sandwich of Liang & Zeger 1986). Without it rows
        count as independent, which days of one series seldom are.
    sample_weight : array-like of shape (n_rows,), optional
        Non-negative, not all zero.

    Returns
    -------
    Calibration
        Where truths are whole numbers, a decision that is right reaches more than α: the smallest
        number that reaches it.

    Examples
    --------
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
