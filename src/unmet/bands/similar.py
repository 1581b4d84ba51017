"""Which training rows are like a row, and how much each of them counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmet.band import Array
from unmet.solvers.problem import Features

Index: TypeAlias = NDArray[np.intp]

_ROWS_AT_A_TIME = 1 << 13


class Similar(Protocol):
    """Finds training rows for other rows."""

    @property
    def most(self) -> int:
        """Largest number of them for one row."""

    def rows(self, features: Features) -> tuple[Index, Array]:
        """Find indices of training rows, rising in each line, and weights: (n_rows, most)."""


@dataclass(frozen=True)
class Nearest:
    """The nearest rows, in features scaled to unit variance."""

    search: Any
    scale: Array
    falling: bool
    """Whether weights fall with the distance (Cleveland's tricube) or are equal."""

    @classmethod
    def of(cls, features: Features, neighbours: int, *, falling: bool) -> Nearest:
        """Learn the training rows."""
        scale = _deviation(features)
        count = min(neighbours, features.shape[0])
        return cls(_search(_divided(features, scale), count), scale, falling)

    @property
    def most(self) -> int:
        """Largest number of similar rows."""
        return int(self.search.n_neighbors)

    def __getstate__(self) -> dict[str, Any]:
        """Keep the rows; the search, which is compiled, is built from them again."""
        return {**vars(self), "search": (self.search._fit_X, self.most)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "search": _search(*state["search"])})

    def rows(self, features: Features) -> tuple[Index, Array]:
        """Find indices and weights, as `Similar` says."""
        distance, index = self.search.kneighbors(_divided(features, self.scale))
        order = np.argsort(index, axis=1)
        index = np.take_along_axis(index, order, axis=1)
        if not self.falling:
            return index, np.ones(index.shape)
        farthest = distance[:, -1:]
        share = np.divide(distance, farthest, out=np.zeros_like(distance), where=farthest > 0)
        # rows at the very distance of the last still count a little, should all be there
        weight = np.maximum((1.0 - share**3) ** 3, 1e-6)
        return index, np.take_along_axis(weight, order, axis=1)


@dataclass(frozen=True)
class Splits:
    """A grown regression tree as arrays, of shape (n_nodes,); it can be saved without its library.

    Attributes
    ----------
    feature : ndarray of int
        Column that a node asks for; negative for a leaf.
    threshold : ndarray
        Rows up to it go left.
    left, right : ndarray of int
        The nodes below.
    """

    feature: Index
    threshold: Array
    left: Index
    right: Index

    @classmethod
    def of(cls, tree: Any) -> Splits:
        """Read a fitted tree of scikit-learn."""
        grown = tree.tree_
        return cls(grown.feature, grown.threshold, grown.children_left, grown.children_right)

    def apply(self, features: Features) -> Index:
        """Leaf of each row. The tree was grown on single precision, and so decides in it."""
        n_rows = features.shape[0]
        node = np.zeros(n_rows, dtype=np.intp)
        for start in range(0, n_rows, _ROWS_AT_A_TIME):
            part = features[start : start + _ROWS_AT_A_TIME]
            rows = np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float32)
            node[start : start + _ROWS_AT_A_TIME] = self._walk(rows)
        return node

    def _walk(self, rows: NDArray[np.float32]) -> Index:
        node = np.zeros(rows.shape[0], dtype=np.intp)
        moving = np.flatnonzero(self.feature[node] >= 0)
        for _ in range(self.feature.size):
            if not moving.size:
                break
            at = node[moving]
            goes_left = rows[moving, self.feature[at]] <= self.threshold[at]
            node[moving] = np.where(goes_left, self.left[at], self.right[at])
            moving = moving[self.feature[node[moving]] >= 0]
        return node


@dataclass(frozen=True)
class Leaf:
    """Rows in the same leaf of a regression tree."""

    tree: Splits
    members: Index
    """Training rows of each leaf, rising, padded to the same length."""
    counts: NDArray[np.bool_]
    """Which entries of `members` are no padding."""
    number: dict[int, int]
    """Line of `members` for each leaf of the tree."""

    @classmethod
    def of(cls, features: Features, target: Array, weight: Array, least: int) -> Leaf:
        """Grow a tree; it is the same every time."""
        from sklearn.tree import DecisionTreeRegressor  # slow to import, seldom needed

        tree = DecisionTreeRegressor(min_samples_leaf=least, random_state=0)
        leaf = tree.fit(features, target, sample_weight=weight).apply(features)
        names, line, size = np.unique(leaf, return_inverse=True, return_counts=True)
        counts = np.arange(size.max()) < size[:, None]
        members = np.zeros(counts.shape, dtype=np.intp)
        # sorting is stable, so the rows of a leaf stay in their order
        members[counts] = np.argsort(line, kind="stable")
        number = {int(name): at for at, name in enumerate(names)}
        return cls(Splits.of(tree), members, counts, number)

    @property
    def most(self) -> int:
        """Largest number of similar rows."""
        return int(self.members.shape[1])

    def rows(self, features: Features) -> tuple[Index, Array]:
        """Find indices and weights, as `Similar` says; padding comes last and has weight 0."""
        line = np.array([self.number[int(leaf)] for leaf in self.tree.apply(features)])
        return self.members[line], self.counts[line].astype(np.float64)


def _search(rows: Any, count: int) -> Any:
    from sklearn.neighbors import NearestNeighbors  # slow to import, seldom needed

    return NearestNeighbors(n_neighbors=count).fit(rows)


def _deviation(features: Features) -> Array:
    """Measure how much each column varies, 1 where it does not."""
    if isinstance(features, np.ndarray):
        peak = np.abs(features).max(axis=0)
        peak[peak == 0] = 1.0  # squares of huge features would overflow
        deviation = peak * (features / peak).std(axis=0)
    else:
        mean = features.mean(axis=0)
        square = features.multiply(features).mean(axis=0)
        deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
        peak = abs(features).max(axis=0).toarray().ravel()
    varies = deviation > 1e-14 * peak
    return np.where(varies, deviation, 1.0)


def _divided(features: Features, scale: Array) -> Any:
    if isinstance(features, np.ndarray):
        return features / scale
    return sparse.csr_array(features.multiply(1.0 / scale))
