"""Kaplan–Meier weights: what similar rows say about the truth, without any family."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmet.arrays import Array, Band, Features
from unmet.bands.classic.shared import Flagged, LinearQuantiles, levels_of
from unmet.bands.diagnosis import Diagnosis, Identified
from unmet.bands.refitting import positive_integer
from unmet.bands.rule import BandRule
from unmet.costs import Cost
from unmet.errors import InvalidInput
from unmet.rows import Rows
from unmet.solvers.exact.grouping import groups_of

# --- The product-limit estimate of Kaplan & Meier (1958), weighted, for many groups at once.

_ROUNDING = 1e-12


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


# --- Kaplan–Meier weights: what similar rows say about the truth, without any family.

Similarity: TypeAlias = Literal["nearest", "kernel", "tree"]

_CHUNK = 1 << 21  # neighbours looked at together: 16 MB per array
_LOOKED_AT = 500  # training rows for which the diagnosis checks how high the estimate goes


class _Part(NamedTuple):
    """ε of some rows, and whether the estimate reaches their level."""

    shift: Array
    reached: NDArray[np.bool_]


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

    def _fit(self, sample: Rows, estimator: Any) -> Diagnosis:
        level = levels_of(sample.cost, "KaplanMeierBand", sample.n_rows)
        self._check()
        rows = Flagged.of(sample, "KaplanMeierBand")
        value = rows.sample.observation
        if self.centred:
            median = np.full(value.size, 0.5)
            value = value - LinearQuantiles(rows.sample).predict(rows.sample.features, median)
        order = in_order(value, rows.censored)
        self._value, self._censored = value[order], rows.censored[order]
        self._weight = rows.sample.weight[order]
        features = rows.sample.features[order]
        if self.similarity == "tree":
            self._similar = Leaf.of(features, self._value, self._weight, self.neighbours)
        else:
            falling = self.similarity == "kernel"
            self._similar = Nearest.of(features, self.neighbours, falling=falling)
        return self._diagnosis(rows, sample.features, level)

    def _band(self, features: Features, cost: Cost) -> Band:
        level = levels_of(cost, "KaplanMeierBand", features.shape[0])
        groups = None
        if isinstance(features, np.ndarray) and not np.ptp(level):
            groups = groups_of(features)  # categories repeat: decide once for equal rows
        if groups is not None:
            features, level = features[groups.first], level[groups.first]
        shift = np.concatenate([part.shift for part in self._parts(features, level)])
        if groups is not None:
            shift = shift[groups.group]
        return Band(low=shift, high=shift)

    def _parts(self, features: Features, level: Array) -> Iterator[_Part]:
        """Go through the rows, some at a time."""
        n_rows = features.shape[0]
        size = max(1, _CHUNK // self._similar.most)
        for first in range(0, n_rows, size):
            part = slice(first, first + size)
            index, weight = self._similar.rows(features[part])
            weight = weight * self._weight[index]
            value = self._value[index]
            truth = product_limit_quantile(value, self._censored[index], weight, level[part])
            observed = weighted_quantile(value, weight, level[part])
            yield _Part(np.maximum(truth.value - observed, 0.0), truth.reached)

    def _diagnosis(self, rows: Flagged, features: Features, level: Array) -> Diagnosis:
        """Say in how many rows the estimate ends below the level."""
        some = np.unique(np.linspace(0, level.size - 1, _LOOKED_AT).astype(np.intp))
        reached = np.concatenate(
            [part.reached for part in self._parts(features[some], level[some])]
        )
        short = 1.0 - float(reached.mean())
        if not short:
            return rows.diagnosis("KaplanMeierBand")
        note = (
            f"In {max(short, 0.01):.0%} of the rows the estimate ends below the level of the cost, "
            "because the largest values of similar rows are censored; ε is a lower bound there."
        )
        identified: Identified = "weakly" if short < 0.5 else "no"
        return rows.diagnosis("KaplanMeierBand", note, identified=identified)

    def _check(self) -> None:
        positive_integer("neighbours", self.neighbours)
        if self.similarity not in get_args(Similarity):
            raise InvalidInput(
                f"similarity must be 'nearest', 'kernel' or 'tree', got {self.similarity!r}."
            )
        if not isinstance(self.centred, bool | np.bool_):
            raise InvalidInput(f"centred must be True or False, got {self.centred!r}.")

    _similar: Similar
    _value: Array
    _censored: NDArray[np.bool_]
    _weight: Array
