"""Refitted leaves that keep decisions monotone.

LightGBM grows trees whose own leaves are monotone; refitted ones need not be. (For its own quantile
objective, which renews leaves as well, it refuses the constraints.) Two rows that differ only in a
monotone feature take the same path up to a split on that feature, so it is enough that no leaf on
one side of such a split is above any leaf on its other side. Where one is, the leaves that overlap
are drawn to a common bound, their weighted mean. That keeps every order that held before, so each
split needs to be mended only once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array
from unmet.solvers.boosting.growing import Splits


def keep_monotone(value: Array, weight: Array, splits: Splits, monotone: tuple[int, ...]) -> Array:
    """Mend the leaves of a tree.

    Parameters
    ----------
    value, weight : ndarray of shape (n_leaves,)
        Leaves as they were refitted, and the weight of their rows.
    splits : Splits
    monotone : tuple of int
        For each feature 1, −1 or 0.
    """
    value = value.copy()
    below = _leaves_below(splits)
    for split, feature in enumerate(splits.feature.tolist()):
        if not monotone[feature]:
            continue
        lower, upper = below[int(splits.left[split])], below[int(splits.right[split])]
        if monotone[feature] < 0:
            lower, upper = upper, lower
        most, least = value[lower].max(), value[upper].min()
        if most <= least:
            continue
        overlap = np.concatenate([lower[value[lower] > least], upper[value[upper] < most]])
        bound = np.average(value[overlap], weights=weight[overlap])
        value[lower] = np.minimum(value[lower], bound)
        value[upper] = np.maximum(value[upper], bound)
    return value


def _leaves_below(splits: Splits) -> dict[int, NDArray[np.intp]]:
    """Leaves under each node: splits and leaves by their numbers as children."""
    n_leaves = splits.feature.size + 1
    below = {-1 - leaf: np.array([leaf]) for leaf in range(n_leaves)}
    for split in range(n_leaves - 2, -1, -1):
        children = int(splits.left[split]), int(splits.right[split])
        below[split] = np.concatenate([below[child] for child in children])
    return below
