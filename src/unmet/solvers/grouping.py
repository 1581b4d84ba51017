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
class GroupedRows:
    """Distinct feature rows, and their kinks sorted by row.

    Attributes
    ----------
    first : ndarray of shape (n_distinct,)
        For each distinct row, where it first stands in the sorted features.
    hinges : Hinges
    layout : Grouped
    """

    first: NDArray[np.intp]
    hinges: Hinges
    layout: Grouped


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


def group_rows(features: Array, hinges_per_row: Hinges, n_kinks: int) -> GroupedRows:
    """Sort kinks by distinct feature row and merge those at the same place.

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_features)
    hinges_per_row : Hinges
        Flat, ``n_kinks`` blocks of ``n_rows`` each.
    n_kinks : int
    """
    n_rows = len(features)
    by_code = np.argsort(_hash(features), kind="stable")
    ordered = features[by_code]
    # Equal hashes only bring equal rows together; equality itself is checked on the rows.
    opens = np.empty(n_rows, dtype=bool)
    opens[0] = True
    np.any(ordered[1:] != ordered[:-1], axis=1, out=opens[1:])
    first = by_code[opens]
    group = np.empty(n_rows, dtype=np.intp)
    group[by_code] = np.cumsum(opens) - 1

    group_of_kink = np.concatenate([group] * n_kinks)
    position = hinges_per_row.position
    order = np.lexsort((position, group_of_kink))
    sorted_group, sorted_position = group_of_kink[order], position[order]
    fresh = np.empty(len(order), dtype=bool)
    fresh[0] = True
    np.not_equal(sorted_group[1:], sorted_group[:-1], out=fresh[1:])
    fresh[1:] |= sorted_position[1:] != sorted_position[:-1]
    runs = np.flatnonzero(fresh)
    row = sorted_group[runs]
    starts = np.flatnonzero(np.concatenate(([True], row[1:] != row[:-1])))
    merged = Hinges(
        sorted_position[runs],
        np.add.reduceat(hinges_per_row.below[order], runs),
        np.add.reduceat(hinges_per_row.above[order], runs),
        np.add.reduceat(hinges_per_row.weight[order], runs),
    )
    return GroupedRows(first, merged, Grouped(row, starts))
