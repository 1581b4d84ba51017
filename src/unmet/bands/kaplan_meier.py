"""Kaplan–Meier weights: what similar rows say about the truth, without any family."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array, Band
from unmet.bands.diagnosis import Diagnosis, Identified
from unmet.bands.flags import Flagged
from unmet.bands.iteration import positive_integer
from unmet.bands.levels import LinearQuantiles, levels_of
from unmet.bands.product_limit import in_order, product_limit_quantile, weighted_quantile
from unmet.bands.rule import BandRule
from unmet.bands.sample import Sample
from unmet.bands.similar import Leaf, Nearest, Similar
from unmet.costs import Cost
from unmet.errors import InvalidInput
from unmet.solvers.grouping import groups_of
from unmet.solvers.problem import Features

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

    def _fit(self, sample: Sample, estimator: Any) -> Diagnosis:
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
