"""Rows that repeat: categorical features give few distinct rows and many ties.

Two exact reductions. Kinks at the same place on the same feature row add up to one kink (their
slopes and weights simply sum), and distinct kinks on the same feature row share one row of the
design matrix. Daily sales by weekday, month and category have 756 distinct rows among 3,294.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unmet.solvers.interior_point import Hinges
from unmet.solvers.operators import Grouped

Array = NDArray[np.float64]
_SAMPLE = 2000
_WORTH_IT = 0.7


@dataclass(frozen=True)
class RowGroups:
    """Which rows are equal.

    Attributes
    ----------
    first : ndarray of shape (n_distinct,)
        One row number for each distinct row.
    group : ndarray of shape (n_rows,)
        For each row, the place of its equal in ``first``.
    """

    first: NDArray[np.intp]
    group: NDArray[np.intp]


def _hash(features: Array) -> Array:
    """One number per row; equal rows get equal numbers but for the last bit."""
    generator = np.random.default_rng(20160101)
    result: Array = features @ generator.standard_normal(features.shape[1])
    return result


def rows_repeat(features: Array) -> bool:
    """Whether a sample of the rows has few enough distinct members to be worth grouping."""
    sample = features
    if len(features) > _SAMPLE:  # at random: categories often cycle with a period
        rows = np.random.default_rng(0).integers(0, len(features), _SAMPLE)
        sample = features[np.sort(rows)]
    codes = np.sort(_hash(sample))
    distinct = 1 + int(np.count_nonzero(np.diff(codes) > 1e-12 * (1 + np.abs(codes[1:]))))
    return distinct <= _WORTH_IT * len(codes)


def group_rows(features: Array) -> RowGroups:
    """Find equal rows."""
    n_rows = len(features)
    by_code = np.argsort(_hash(features))
    ordered = features[by_code]
    # Equal hashes only bring equal rows together; equality itself is checked on the rows.
    opens = np.empty(n_rows, dtype=bool)
    opens[0] = True
    np.any(ordered[1:] != ordered[:-1], axis=1, out=opens[1:])
    group = np.empty(n_rows, dtype=np.intp)
    group[by_code] = np.cumsum(opens) - 1
    return RowGroups(by_code[opens], group)


def merge_kinks(groups: RowGroups, hinges: Hinges, n_kinks: int) -> tuple[Hinges, Grouped]:
    """Sort kinks by distinct row and add up those at the same place.

    Parameters
    ----------
    groups : RowGroups
    hinges : Hinges
        Flat, ``n_kinks`` blocks of one kink per row.
    n_kinks : int
    """
    group = np.tile(groups.group, n_kinks)
    position = hinges.position
    lowest = position.min()
    # One sort for two keys: the fraction stays below one and grows with the position. Positions
    # that rounding makes equal here are told apart below.
    key = (position - lowest) * (0.999 / max(float(position.max() - lowest), 1e-300))
    key += group
    order = np.argsort(key)
    row, position = group[order], position[order]
    fresh = np.empty(len(order), dtype=bool)
    fresh[0] = True
    np.not_equal(row[1:], row[:-1], out=fresh[1:])
    starts_row = fresh.copy()
    fresh[1:] |= position[1:] != position[:-1]
    runs = np.flatnonzero(fresh)
    merged = Hinges(
        position[runs],
        np.add.reduceat(hinges.below[order], runs),
        np.add.reduceat(hinges.above[order], runs),
        np.add.reduceat(hinges.weight[order], runs),
    )
    return merged, Grouped(row[runs], np.flatnonzero(starts_row[runs]))
