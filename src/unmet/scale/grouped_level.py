"""How large a group is: the one thing the pooled model must know about it.

Stores and items differ most in their level. The pooled model therefore has one more column, the
level of the row's group: the mean observation of the group, drawn toward what its store and its
item would let us expect (empirical Bayes: by m rows, where m is the variance within groups over
that between them). A group that was never seen has this expectation alone, and a new item has that
of its store. If no observation is negative the expectation is the overall mean times one factor for
the store and one for the item, otherwise plus one term for each.

A row's own observation must not be in its own level, or the pooled model would learn to copy it: in
training, the level of a row comes from the rows of other folds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array

Codes: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Seen:
    """Observations by group.

    Attributes
    ----------
    observation, codes : ndarray of shape (n_rows,)
    places : ndarray of shape (n_groups, n_by)
        Which entry of each column of `by` a group has.
    sizes : list of int
        Number of entries of each column of `by`.
    overall : float
        Mean observation of all rows. A row has a hand in it, but the same for every row.
    product : bool
        Whether entries are factors of the level rather than terms.
    """

    observation: Array
    codes: Codes
    places: NDArray[np.int64]
    sizes: list[int]
    overall: float
    product: bool

    @classmethod
    def of(
        cls,
        observation: Array,
        weight: Array,
        codes: Codes,
        places: NDArray[np.int64],
        sizes: list[int],
    ) -> Seen:
        """Look at the rows with weight."""
        overall = float(weight @ observation / weight.sum())
        product = overall > 0 and bool((observation[weight > 0] >= 0).all())
        return cls(observation, codes, places, sizes, overall, product)

    def add_up(self, values: Array) -> Array:
        """Sum of values over the rows of each group."""
        return np.asarray(np.bincount(self.codes, values, len(self.places)), dtype=np.float64)

    def effects(self, total: Array, summed: Array) -> list[Array]:
        """Factor or term of each entry of each column; none where a column is all there is."""
        if len(self.sizes) == 1:
            return []
        found = []
        for column, size in enumerate(self.sizes):
            entry = self.places[:, column]
            weight, values = (np.bincount(entry, each, size) for each in (total, summed))
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
        prior = cls(seen.overall, effects, np.empty(0), seen.product).expected(seen.places)
        mean = _mean(summed, total, prior)
        pull = _pull(seen.observation - mean[seen.codes], weight, mean - prior, total)
        # with an endless pull a group says nothing
        own = _mean(total, total + pull, 0.0) if np.isfinite(pull) else np.zeros_like(total)
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


def _pull(rest: Array, weight: Array, distance: Array, total: Array) -> float:
    """m: the variance within groups over that between them, in rows of mean weight."""
    seen = total > 0
    n_groups, scale = int(np.count_nonzero(seen)), float(weight.sum() / np.count_nonzero(weight))
    rows = float(np.count_nonzero(weight))
    within = float(weight @ rest**2) / scale / max(rows - n_groups, 1.0)
    noise = within * float(np.mean(scale / total[seen]))
    between = float(np.mean(distance[seen] ** 2)) - noise
    if n_groups == 1 or rows == n_groups or between <= 1e-12 * within:
        return np.inf
    return within / between * scale


def cross_fitted(seen: Seen, weight: Array, folds: NDArray[np.int64]) -> Array:
    """Level of each row from the rows of other folds, of shape (n_rows,)."""
    level = np.empty(folds.size)
    for fold in np.unique(folds).tolist():
        held = folds == fold
        others = Level.learn(seen, np.where(held, 0.0, weight))
        level[held] = others.group[seen.codes[held]]
    return level
