"""Kaplan–Meier weights: what similar rows say about the truth, without any family.

The product-limit estimate of Kaplan & Meier (1958), weighted, for many groups of rows at once, and
which training rows are like a row: the nearest, or those in the same leaf of a tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmet.arrays import Array, Band, Features
from unmet.bands import constants as tuned
from unmet.bands.classic.quantiles import Flagged, LinearQuantiles, levels_of, shift_band
from unmet.bands.diagnosis import Diagnosis, Identified
from unmet.bands.rule import BandRule
from unmet.checks import OneOf, TrueOrFalse, WholeNumber, read_parameters
from unmet.costs import Cost
from unmet.rows import Rows
from unmet.solvers.exact.features import groups_of

Similarity: TypeAlias = Literal["nearest", "kernel", "tree"]

_ROUNDING = 1e-12
_PARAMETERS = {
    "neighbours": WholeNumber(1),
    "similarity": OneOf("nearest", "kernel", "tree"),
    "centred": TrueOrFalse(),
}


class Reached(NamedTuple):
    """Quantiles of several groups, and whether the estimate goes as high as the level asked for."""

    value: Array
    reached: NDArray[np.bool_]


def in_order(value: Array, censored: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Sort by value, seen ones before censored ones where they tie: those were above it."""
    return np.lexsort((censored, value))


def product_limit_quantile(
    value: Array, censored: NDArray[np.bool_], weight: Array, level: Array
) -> Reached:
    """Smallest value at which the estimated distribution of the truth reaches a level.

    For values of a group `in_order` and weights w (Bertsimas & Kallus 2020, for censored data;
    equal ones give the estimate of Kaplan & Meier)::

        1 − F(t) = Π_{j: t_j ≤ t, seen} (1 − w_j / Σ_{l ≥ j} w_l)

    Parameters
    ----------
    value, censored, weight : ndarray of shape (n_groups, n_members)
        Every group in order; non-negative weights, some of them positive in every group.
    level : ndarray of shape (n_groups,)
        Between 0 and 1.

    Returns
    -------
    Reached
        Where the largest values are censored, the estimate may end below the level; then the
        largest value is returned, which is no more than a lower bound.

    Examples
    --------
    >>> values, sold_out = np.array([[3.0, 5.0, 5.0, 8.0]]), np.array([[False, False, True, False]])
    >>> product_limit_quantile(values, sold_out, np.ones((1, 4)), np.array([0.6])).value
    array([8.])
    """
    at_risk = np.cumsum(weight[:, ::-1], axis=1)[:, ::-1]
    factor = np.ones(value.shape)
    np.divide(at_risk - weight, at_risk, out=factor, where=~censored & (weight > 0))
    above = np.cumprod(factor, axis=1)
    enough = above <= (1.0 - level + _ROUNDING)[:, None]
    reached = np.asarray(enough.any(axis=1))
    last = value.shape[1] - 1 - np.argmax(weight[:, ::-1] > 0, axis=1)
    place = np.where(reached, np.argmax(enough, axis=1), last)
    return Reached(value[np.arange(len(value)), place], reached)


def weighted_quantile(value: Array, weight: Array, level: Array) -> Array:
    """Smallest value at which the weights, taken as a distribution, reach a level.

    The same as `product_limit_quantile` when nothing is censored, and the same shapes.
    """
    nothing = np.zeros(value.shape, dtype=np.bool_)
    return product_limit_quantile(value, nothing, weight, level).value


# --- Which training rows are like a row, and how much each of them counts.


@dataclass(frozen=True)
class Nearest:
    """The nearest rows, in features scaled to unit variance.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_features), or csr_array
        Training rows, scaled.
    most : int
        Number of similar rows.
    scale : ndarray of shape (n_features,)
    falling : bool
        Whether weights fall with the distance (Cleveland's tricube) or are equal.
    """

    rows: Any
    most: int
    scale: Array
    falling: bool

    @classmethod
    def of(cls, features: Features, neighbours: int, *, falling: bool) -> Nearest:
        """Learn the training rows."""
        if isinstance(features, np.ndarray):
            peak = np.abs(features).max(axis=0)
            peak[peak == 0] = 1.0  # squares of huge features would overflow
            deviation = peak * (features / peak).std(axis=0)
        else:
            mean, square = features.mean(axis=0), features.multiply(features).mean(axis=0)
            deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
            peak = abs(features).max(axis=0).toarray().ravel()
        scale = np.where(deviation > 1e-14 * peak, deviation, 1.0)  # 1 where a column is constant
        count = min(neighbours, features.shape[0])
        return cls(_divided(features, scale), count, scale, falling)

    @cached_property
    def _search(self) -> Any:
        from sklearn.neighbors import NearestNeighbors  # slow to import, seldom needed

        return NearestNeighbors(n_neighbors=self.most).fit(self.rows)

    def similar(self, features: Features) -> tuple[NDArray[np.intp], Array]:
        """Find indices of training rows, rising in each line, and weights: (n_rows, most)."""
        distance, index = self._search.kneighbors(_divided(features, self.scale))
        order = np.argsort(index, axis=1)
        index = np.take_along_axis(index, order, axis=1)
        if not self.falling:
            return index, np.ones(index.shape)
        farthest = distance[:, -1:]
        share = np.divide(distance, farthest, out=np.zeros_like(distance), where=farthest > 0)
        # rows at the very distance of the last still count a little, should all be there
        weight = np.maximum((1.0 - share**3) ** 3, 1e-6)
        return index, np.take_along_axis(weight, order, axis=1)


def _divided(features: Features, scale: Array) -> Any:
    if isinstance(features, np.ndarray):
        return features / scale
    return sparse.csr_array(features.multiply(1.0 / scale))


@dataclass(frozen=True)
class TreeArrays:
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

    feature: NDArray[np.intp]
    threshold: Array
    left: NDArray[np.intp]
    right: NDArray[np.intp]

    def apply(self, features: Features) -> NDArray[np.intp]:
        """Leaf of each row. The tree was grown on single precision, and so decides in it."""
        node, size = np.zeros(features.shape[0], dtype=np.intp), tuned.DENSE_ROWS_AT_A_TIME
        for start in range(0, node.size, size):
            part = features[start : start + size]
            rows = np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float32)
            here = node[start : start + size]
            moving = np.flatnonzero(self.feature[here] >= 0)
            while moving.size:
                at = here[moving]
                goes_left = rows[moving, self.feature[at]] <= self.threshold[at]
                here[moving] = np.where(goes_left, self.left[at], self.right[at])
                moving = moving[self.feature[here[moving]] >= 0]
        return node


@dataclass(frozen=True)
class Leaf:
    """Rows in the same leaf of a regression tree.

    Attributes
    ----------
    tree : TreeArrays
    members : ndarray of shape (n_leaves, most)
        Training rows of each leaf, rising, padded to the same length.
    counts : ndarray of bool
        Which entries of `members` are no padding.
    names : ndarray of shape (n_leaves,)
        What the tree calls each leaf, rising.
    """

    tree: TreeArrays
    members: NDArray[np.intp]
    counts: NDArray[np.bool_]
    names: NDArray[np.intp]

    @classmethod
    def of(cls, features: Features, target: Array, weight: Array, least: int) -> Leaf:
        """Grow a tree; it is the same every time."""
        from sklearn.tree import DecisionTreeRegressor  # slow to import, seldom needed

        model = DecisionTreeRegressor(min_samples_leaf=least, random_state=0)
        leaf = model.fit(features, target, sample_weight=weight).apply(features)
        names, line, size = np.unique(leaf, return_inverse=True, return_counts=True)
        counts = np.arange(size.max()) < size[:, None]
        members = np.zeros(counts.shape, dtype=np.intp)
        # sorting is stable, so the rows of a leaf stay in their order
        members[counts] = np.argsort(line, kind="stable")
        grown = model.tree_
        ends = grown.children_left, grown.children_right
        return cls(TreeArrays(grown.feature, grown.threshold, *ends), members, counts, names)

    @property
    def most(self) -> int:
        """Largest number of similar rows."""
        return int(self.members.shape[1])

    def similar(self, features: Features) -> tuple[NDArray[np.intp], Array]:
        """Find indices and weights, as `Nearest` does; padding comes last and has weight 0."""
        line = np.searchsorted(self.names, self.tree.apply(features))
        return self.members[line], self.counts[line].astype(np.float64)


class KaplanMeierBand(BandRule):
    """Conditional quantiles of the truth from flagged rows, by Kaplan–Meier weights.

    Bertsimas & Kallus (2020) decide for a row by weights on the training rows that are like it, and
    correct the weights for censoring by the product-limit estimate of Kaplan & Meier (1958). ε of a
    row is the α-quantile of the truth under the corrected weights minus that of the observations
    under the plain ones; it is never below 0.

    Assumes that flags are right, and that among similar rows censoring does not depend on the
    truth. No family is assumed, so nothing is known above the largest value that was seen: where
    orders were always the same for the same features, no truth above them was ever seen, and the
    estimate ends there. The diagnosis says so; ε is then a lower bound.

    Parameters
    ----------
    neighbours : int, default=200
        Number of similar rows, at most all of them; for "tree" the least in a leaf.
    similarity : {"nearest", "kernel", "tree"}, default="nearest"
        "nearest" gives the nearest rows equal weights, in features scaled to unit variance;
        "kernel" lets the weights fall with the distance (tricube, zero at the last neighbour);
        "tree" takes the leaf of a regression tree.
    centred : bool, default=True
        Compare deviations from a linear median of the observations, so that rows may be like each
        other whose levels are not. False compares observations, as in the paper; then rows count
        as similar only if the level is, too, and wide neighbourhoods do harm.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.bands import KaplanMeierBand
    >>> generator = np.random.default_rng(0)
    >>> X = generator.uniform(size=(1000, 1))
    >>> demand = 50 + 30 * X[:, 0] + generator.gamma(4, 5, size=1000)
    >>> stock = 60 + generator.gamma(4, 10, size=1000)
    >>> model = LinearDecision(Newsvendor(underage=3, overage=1), band=KaplanMeierBand())
    >>> model.fit(X, np.minimum(demand, stock), stock=stock).predict([[0.5]]).round()  # truth: 91
    array([91.])
    """

    def __init__(
        self,
        neighbours: int = 200,
        *,
        similarity: Similarity = "nearest",
        centred: bool = True,
    ) -> None:
        self.neighbours = neighbours
        self.similarity = similarity
        self.centred = centred

    def _fit(self, rows: Rows, estimator: Any) -> Diagnosis:
        level = levels_of(rows.cost, "KaplanMeierBand", rows.n_rows)
        read_parameters(_PARAMETERS, self)
        flagged = Flagged.of(rows, "KaplanMeierBand")
        value = flagged.rows.observation
        if self.centred:
            median = np.full(value.size, 0.5)
            value = value - LinearQuantiles(flagged.rows).predict(flagged.rows.features, median)
        order = in_order(value, flagged.censored)
        self._value, self._censored = value[order], flagged.censored[order]
        self._weight = flagged.rows.weight[order]
        features = flagged.rows.features[order]
        self._similar: Nearest | Leaf
        if self.similarity == "tree":
            self._similar = Leaf.of(features, self._value, self._weight, self.neighbours)
        else:
            falling = self.similarity == "kernel"
            self._similar = Nearest.of(features, self.neighbours, falling=falling)
        # in how many rows the estimate ends below the level
        some = np.unique(np.linspace(0, level.size - 1, tuned.ROWS_LOOKED_AT).astype(np.intp))
        reached = [truth.reached for truth, _ in self._parts(rows.features[some], level[some])]
        short = 1.0 - float(np.concatenate(reached).mean())
        if not short:
            return flagged.diagnosis("KaplanMeierBand")
        note = (
            f"In {max(short, 0.01):.0%} of the rows the estimate ends below the level of the cost, "
            "because the largest values of similar rows are censored; ε is a lower bound there."
        )
        identified: Identified = "weakly" if short < 0.5 else "no"
        return flagged.diagnosis("KaplanMeierBand", note, identified=identified)

    def _band(self, features: Features, cost: Cost) -> Band:
        level = levels_of(cost, "KaplanMeierBand", features.shape[0])
        groups = None
        if isinstance(features, np.ndarray) and not np.ptp(level):
            groups = groups_of(features)  # categories repeat: decide once for equal rows
        if groups is not None:
            features, level = features[groups.first], level[groups.first]
        parts = [(truth.value, seen) for truth, seen in self._parts(features, level)]
        truth, seen = (np.concatenate(each) for each in zip(*parts, strict=True))
        if groups is not None:
            truth, seen = truth[groups.group], seen[groups.group]
        return shift_band(truth, seen)

    def _parts(self, features: Features, level: Array) -> Iterator[tuple[Reached, Array]]:
        """Quantiles of truth and observation, some rows at a time."""
        size = max(1, tuned.NEIGHBOURS_AT_A_TIME // self._similar.most)
        for first in range(0, features.shape[0], size):
            part = slice(first, first + size)
            index, weight = self._similar.similar(features[part])
            weight = weight * self._weight[index]
            value = self._value[index]
            truth = product_limit_quantile(value, self._censored[index], weight, level[part])
            yield truth, weighted_quantile(value, weight, level[part])
