"""What groups know of each other: their levels, and how much the pooled model counts.

**How large a group is** is the one thing that the pooled model must know about it. Stores and items
differ most in their level. The pooled model therefore has one more column, the level of the row's
group: the mean observation of the group, shrunk to what its store and its item would let us
expect (empirical Bayes: by m rows, where m is the variance within groups over that between them). A
group that was never seen has this expectation alone, and a new item has that of its store. If no
observation is negative the expectation is the overall mean times one factor for the store and one
for the item, otherwise plus one term for each. A row's own observation must not be in its own
level, or the pooled model would learn to copy it: in training, the level of a row comes from the
rows of other folds.

**How much a group's own model counts** beside the pooled one: the decision of a group with n rows
is ::

    w · own + (1 − w) · pooled,     w = n / (n + k)

A model of p coefficients fitted to n rows misses the best of its kind by a variance of about
pσ²/n, and the pooled one misses it by some τ² between groups. The combination with the least
squared error weighs them τ² : pσ²/n, which is this w with k = pσ²/τ²: the number of rows from
which a group's own model is the better one (Efron and Morris, 1975, for means). Neither σ² nor τ²
need be known, and costs are not squared errors: k is the one with the least training cost, band
included, of decisions on rows held out, over all groups together. Own and pooled models are
fitted without these rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.censoring.panel import Codes
from unmet.estimators.base import DecisionModel
from unmet.estimators.grouped.keys import GroupIndex
from unmet.estimators.linear import LinearDecision
from unmet.rows import Rows

FOLDS = 5
_MAX_GROUPS = 200  # for one number; 10,000 would hardly tell it better
_GRID = 61
_CROSSED_GROUPS = 10  # from so many groups on a pooled line may learn products with the level


@dataclass(frozen=True)
class Seen:
    """Observations by group.

    Attributes
    ----------
    observation, codes : ndarray of shape (n_rows,)
    index : GroupIndex
        Which entry of each column of `by` a group has.
    overall : float
        Mean observation of all rows. A row has a hand in it, but the same for every row.
    product : bool
        Whether entries are factors of the level rather than terms.
    """

    observation: Array
    codes: Codes
    index: GroupIndex
    overall: float
    product: bool

    @classmethod
    def of(cls, observation: Array, weight: Array, codes: Codes, index: GroupIndex) -> Seen:
        """Look at the rows with weight."""
        overall = float(weight @ observation / weight.sum())
        product = overall > 0 and bool((observation[weight > 0] >= 0).all())
        return cls(observation, codes, index, overall, product)

    def add_up(self, values: Array) -> Array:
        """Sum of values over the rows of each group."""
        return np.asarray(np.bincount(self.codes, values, self.index.n_groups), dtype=np.float64)

    def effects(self, total: Array, summed: Array) -> list[Array]:
        """Factor or term of each entry of each column; none where a column is all there is."""
        if len(self.index.names) == 1:
            return []
        found = []
        for names, entry in zip(self.index.names, self.index.places.T, strict=True):
            weight, values = (np.bincount(entry, each, names.size) for each in (total, summed))
            mean = _mean(values, weight, self.overall)
            found.append(mean / self.overall if self.product else mean - self.overall)
        return found


@dataclass(frozen=True)
class Level:
    """Levels learned from some rows.

    Attributes
    ----------
    overall : float
        Mean observation.
    effects : list of ndarray
        For each column of `by`, the factor or the term of each of its entries.
    group : ndarray of shape (n_groups,)
    product : bool
        Whether effects are factors.
    """

    overall: float
    effects: list[Array]
    group: Array
    product: bool

    @classmethod
    def learn(cls, seen: Seen, weight: Array) -> Level:
        """Means by entry, then by group, of rows with weight."""
        total, summed = seen.add_up(weight), seen.add_up(weight * seen.observation)
        effects = seen.effects(total, summed)
        prior = cls(seen.overall, effects, np.empty(0), seen.product).expected(seen.index.places)
        mean = _mean(summed, total, prior)
        # m, in rows of mean weight: the variance within groups over that between them
        some, n_rows = total > 0, float(np.count_nonzero(weight))
        n_groups, unit = int(np.count_nonzero(some)), float(weight.sum() / n_rows)
        rest = seen.observation - mean[seen.codes]
        within = float(weight @ rest**2) / unit / max(n_rows - n_groups, 1.0)
        noise = within * float(np.mean(unit / total[some]))
        between = float(np.mean((mean - prior)[some] ** 2)) - noise
        own = np.zeros_like(total)  # groups say nothing where they do not differ
        if n_groups > 1 and n_rows != n_groups and between > 1e-12 * within:
            own = _mean(total, total + within / between * unit, 0.0)
        return cls(seen.overall, effects, prior + own * (mean - prior), seen.product)

    def expected(self, places: NDArray[np.int64]) -> Array:
        """Level of groups nobody has seen, from their entries; −1 is an entry nobody has seen."""
        neutral = 1.0 if self.product else 0.0
        level = np.full(len(places), self.overall)
        for column, effect in enumerate(self.effects):
            known = places[:, column]
            each = np.where(known >= 0, effect[np.maximum(known, 0)], neutral)
            level = level * each if self.product else level + each
        return level

    def of(self, group: Codes, entries: NDArray[np.int64]) -> Array:
        """Level of any rows."""
        level = self.group[np.maximum(group, 0)]
        new = group < 0
        if new.any():
            level[new] = self.expected(entries[new])
        return level


def _mean(summed: Any, total: Any, otherwise: Array | float) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, summed / total, otherwise)


def cross_fitted(seen: Seen, weight: Array, folds: NDArray[np.int64]) -> Array:
    """Level of each row from the rows of other folds, of shape (n_rows,)."""
    level = np.empty(folds.size)
    for fold in np.unique(folds).tolist():
        held = folds == fold
        others = Level.learn(seen, np.where(held, 0.0, weight))
        level[held] = others.group[seen.codes[held]]
    return level


def fold_rows(codes: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Fold of each row, every group spread over all folds as evenly as its size allows."""
    order = np.lexsort((np.random.default_rng(seed).random(codes.size), codes))
    folds = np.empty(codes.size, dtype=np.int64)
    folds[order] = np.arange(codes.size) % FOLDS
    return folds


def sample_groups(sizes: NDArray[np.intp], able: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Choose groups of all sizes to learn k from, in increasing order."""
    candidates = np.flatnonzero(able)
    if candidates.size <= _MAX_GROUPS:
        return candidates
    by_size = candidates[np.argsort(sizes[candidates], kind="stable")]
    places = np.linspace(0, by_size.size - 1, _MAX_GROUPS).round().astype(np.intp)
    return np.sort(by_size[places])


def weights(sizes: Array | NDArray[np.intp], k: float) -> Array:
    """Give w = n / (n + k); 0 where k is endless."""
    if np.isinf(k):
        return np.zeros(len(sizes))
    return np.asarray(sizes / np.maximum(sizes + k, 1e-300), dtype=np.float64)


def choose(rows: Rows, own: Array, trained: Array, pooled: Array) -> float:
    """Find the k with the least cost on rows held out.

    Parameters
    ----------
    rows : Rows
    own : ndarray of shape (n_rows,)
        Decisions by models that have not seen these rows; NaN where a fit failed.
    trained : ndarray of shape (n_rows,)
        How many rows of its group the own model of a row has seen.
    pooled : ndarray of shape (n_rows,)
        Decisions by pooled models that have not seen these rows.

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
        costs.append(used.mean_cost(decision))
    return float(grid[int(np.argmin(costs))])


def crosses(pooled: DecisionModel, n_groups: int) -> bool:
    """Whether the pooled model also sees the products of level and features.

    An item that sells ten times as much usually gains ten times as much in a promotion; a line
    cannot know that by itself, trees and networks can. It takes some groups to learn it from.
    """
    return isinstance(pooled, LinearDecision) and n_groups >= _CROSSED_GROUPS


def pooled_columns(features: Array, level: Array, crossed: bool) -> Array:
    """Features, the level of the row's group, and perhaps the products of the two."""
    products = [features * level[:, np.newaxis]] if crossed else []
    return np.column_stack([features, level, *products])


def borrow_idle(
    coef: Array,
    intercept: Array,
    features: Array,
    starts: NDArray[np.intp],
    pooled: LinearDecision,
    level: Array | None,
) -> tuple[Array, Array]:
    """Take the pooled coefficient of columns that never change in a group.

    The intercept makes up for it, so that decisions on the group's own rows stay as they are.
    `features` are those of all groups, which begin at `starts`; `level` is that of each group if
    the pooled model has products with it, otherwise None.
    """
    filled = np.flatnonzero(np.diff(starts) > 0)
    starts = starts[filled]
    value = features[starts]
    idle = np.maximum.reduceat(features, starts) == np.minimum.reduceat(features, starts)
    n_features = features.shape[1]
    theirs = np.broadcast_to(pooled.coef_[:n_features], value.shape)
    if level is not None:  # the model has learned products with it
        theirs = theirs + np.outer(level[filled], pooled.coef_[n_features + 1 :])
    coef, intercept = coef.copy(), intercept.copy()
    mine = coef[filled]
    intercept[filled] += np.where(idle, (mine - theirs) * value, 0.0).sum(axis=1)
    coef[filled] = np.where(idle & np.isfinite(mine), theirs, mine)
    return coef, intercept
