"""How much a group's own model counts beside the pooled one.

The decision of a group with n rows is ::

    w · own + (1 − w) · pooled,     w = n / (n + k)

A model of p coefficients fitted to n rows misses the best of its kind by a variance of about pσ²/n,
and the pooled one misses it by some τ² between groups. The combination with the least squared error
weighs them τ² : pσ²/n, which is this w with k = pσ²/τ²: the number of rows from which a group's own
model is the better one (Efron and Morris, 1975, for means). Neither σ² nor τ² need be known, and
costs are not squared errors: k is the one with the least training cost, band included, of decisions
on rows held out, over all groups together. Own and pooled models are fitted without these rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array
from unmet.scale.grouped_rows import Rows

FOLDS = 5
_MOST_GROUPS = 200  # for one number; 10,000 would hardly tell it better
_GRID = 61


def fold_rows(codes: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Fold of each row, every group spread over all folds as evenly as its size allows."""
    order = np.lexsort((np.random.default_rng(seed).random(codes.size), codes))
    folds = np.empty(codes.size, dtype=np.int64)
    folds[order] = np.arange(codes.size) % FOLDS
    return folds


def sample_groups(sizes: NDArray[np.intp], able: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Choose groups of all sizes to learn k from, in increasing order."""
    candidates = np.flatnonzero(able)
    if candidates.size <= _MOST_GROUPS:
        return candidates
    by_size = candidates[np.argsort(sizes[candidates], kind="stable")]
    places = np.linspace(0, by_size.size - 1, _MOST_GROUPS).round().astype(np.intp)
    return np.sort(by_size[places])


def weights(sizes: Array | NDArray[np.intp], k: float) -> Array:
    """Give w = n / (n + k); 0 where k is endless."""
    if np.isinf(k):
        return np.zeros(len(sizes))
    return np.asarray(sizes / np.maximum(sizes + k, 1e-300), dtype=np.float64)


def choose(rows: Rows, own: Array, pooled: Array, trained: Array) -> float:
    """Find the k with the least cost on rows held out.

    Parameters
    ----------
    rows : Rows
    own, pooled : ndarray of shape (n_rows,)
        Decisions by models that have not seen these rows; own ones are NaN where a fit failed.
    trained : ndarray of shape (n_rows,)
        How many rows of its group the own model of a row has seen.

    Returns
    -------
    float
        From 0 (own models only) to inf (the pooled one only); of equals the largest.
    """
    good = np.flatnonzero(np.isfinite(own) & (trained > 0))
    if not good.size:
        return np.inf
    used = rows.take(good)
    ends = 1e-2 * trained[good].min(), 1e3 * trained[good].max()
    grid = [np.inf, *np.geomspace(*ends, _GRID)[::-1].tolist(), 0.0]
    costs = []
    for k in grid:
        share = weights(trained[good], k)
        decision = pooled[good] + share * (own[good] - pooled[good])
        loss = used.cost.loss(decision, used.observation, used.band)
        costs.append(float(loss.mean() if used.weight is None else used.weight @ loss))
    return float(grid[int(np.argmin(costs))])
