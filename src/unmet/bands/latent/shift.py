"""ε of rows under one explanation: the best decision for the truth less that for what is seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array, Features, Numbers
from unmet.bands.latent.learn import Learned
from unmet.bands.latent.selection import Runner
from unmet.costs import (
    AgeReplacement,
    Cost,
    PiecewiseLinearCost,
    PreventiveReplacement,
    SquaredError,
)
from unmet.rows import Rows
from unmet.solvers.descent.jumps import LEVELS, best_ages

N_NODES = 49
"""Quantiles by which an expectation is taken."""
_CHUNK = 500
_OFTEN, _TOP = 3.0, 0.995


def shifts(learned: Learned, runner: Runner, features: Features, cost: Cost) -> Array:
    """ε of each row, never below 0; where limits are known the truth may lie to either side."""
    if learned.limited:
        truth, seen = decisions(learned, runner, features, cost)
        return truth - seen
    if runner.share == 0.0:
        return np.zeros(features.shape[0])
    truth, seen = decisions(learned, runner, features, cost)
    return np.clip(truth - seen, 0.0, _most(learned, runner, features, cost, seen))


def targets(learned: Learned, runner: Runner, features: Features, cost: Cost) -> Array:
    """Best decision of each row for the truth that was learned."""
    return decisions(learned, runner, features, cost)[0]


def _most(
    learned: Learned, runner: Runner, features: Features, cost: Cost, seen: Array
) -> Array | float:
    """Bound ε where little is censored: it must not be made of estimation error.

    If a share c of the rows is censored, P(D ≤ y) ≥ P(S ≤ y) − c, so the truth's α-quantile is at
    most the observation's at α + c. Rows may be censored more often than on average: three times.
    """
    if not isinstance(cost, PiecewiseLinearCost):
        return np.inf
    level = np.asarray(cost.level + _OFTEN * runner.share)
    if float(level.max()) >= _TOP:
        return np.inf
    above = learned.seen.quantile(
        learned.frame.basis(features), level if level.ndim else float(level)
    )
    return np.maximum(above - seen, 0.0)


def decisions(
    learned: Learned, runner: Runner, features: Features, cost: Cost
) -> tuple[Array, Array]:
    """Best decisions of each row: if the truth were seen, and if only the observation is."""
    if isinstance(cost, PiecewiseLinearCost):
        truth = RowQuantiles(learned, runner, features).truth(cost.level)
        return truth, learned.seen.quantile(learned.frame.basis(features), cost.level)
    n_rows = features.shape[0]
    both = np.empty((2, n_rows))
    for start in range(0, n_rows, _CHUNK):
        index = np.arange(start, min(start + _CHUNK, n_rows))
        part = RowQuantiles(learned, runner, features[index])
        priced = cost.take(index)
        for place, quantile in enumerate((part.truth, part.observed)):
            both[place, index] = _decision(priced, part, quantile)
    return both[0], both[1]


def _decision(cost: Cost, rows: RowQuantiles, quantile: Callable[[float], Array]) -> Array:
    """Best decisions under one law of each row."""
    if not isinstance(cost, AgeReplacement | PreventiveReplacement):
        return _best(cost, rows.nodes(quantile))
    table = np.stack([quantile(float(level)) for level in LEVELS])
    ages: Array = best_ages(cost, table).age
    return np.where(np.isinf(ages), table[-1], ages)  # never is as late as can be told


class RowQuantiles:
    """Conditional quantiles of some rows under one explanation.

    Training rows may be asked for by their `index`: trees that stand for the features are then
    those that had not seen the row, and residuals are what they will be.
    """

    def __init__(
        self,
        learned: Learned,
        runner: Runner,
        features: Features,
        index: NDArray[np.intp] | None = None,
    ) -> None:
        self._answer = learned.answer(runner)
        if index is None or learned.frame.location is None:
            self._rows = learned.rows(runner, features)
        else:
            self._rows = learned.located(runner).take(index)
        self._order = None if learned.pile is None else learned.pile.level(features)
        self._ample = learned.ample

    def truth(self, level: Numbers) -> Array:
        """Quantile of the truth."""
        return self._answer.truth_quantile(self._rows, level)

    def observed(self, level: Numbers) -> Array:
        """Quantile of the observation."""
        floor = self._answer.floor
        order = self._order
        if order is not None and floor is not None:
            order = np.maximum(order, floor)
        return self._answer.observed_quantile(self._rows, level, order, self._ample)

    def below(self, value: Array) -> Array:
        """Probability that the truth is at most a value."""
        return self._answer.below(self._rows, value)

    @staticmethod
    def nodes(quantile: Callable[[float], Array], count: int = N_NODES) -> Array:
        """Equally likely values of each row, of shape (count, n_rows)."""
        levels = (np.arange(count) + 0.5) / count
        return np.stack([quantile(float(level)) for level in levels])


def mean_cost(cost: Cost, decision: Array, nodes: Array) -> Array:
    """Average the cost of each row's decision over its equally likely truths."""
    count, n_rows = nodes.shape
    if isinstance(cost, AgeReplacement) and cost.rate is None:  # each row's own cost rate
        paid = np.where(decision > nodes, cost.failure, cost.planned).mean(axis=0)
        served = np.minimum(decision, nodes).mean(axis=0)
        return np.asarray(paid / np.maximum(served, np.finfo(np.float64).tiny))
    rows = np.tile(np.arange(n_rows), count)
    paid = cost.take(rows).cost(np.tile(decision, count), nodes.ravel())
    return np.asarray(paid.reshape(count, n_rows).mean(axis=0))


def _best(cost: Cost, nodes: Array) -> Array:
    """Cheapest decision among the nodes; their mean for a squared error."""
    if isinstance(cost, SquaredError):
        return np.asarray(nodes.mean(axis=0))
    paid = np.stack([mean_cost(cost, candidate, nodes) for candidate in nodes])
    return np.asarray(np.take_along_axis(nodes, paid.argmin(axis=0)[None], axis=0)[0])


# --- A few rows that stand for all of them when a diagnosis averages.

_TYPICAL = 400  # rows over which the numbers of a diagnosis are averaged


@dataclass(frozen=True)
class TypicalRows:
    """Rows spread evenly over the observations; all that a fitted rule keeps of its features.

    Attributes
    ----------
    sample : Rows
        The rows themselves.
    index : ndarray of shape (n_typical,)
        Their places among all rows.
    n_rows : int
        Number of all rows.
    """

    sample: Rows
    index: NDArray[np.intp]
    n_rows: int

    @classmethod
    def of(cls, sample: Rows) -> TypicalRows:
        """Choose them."""
        if sample.n_rows <= _TYPICAL:
            return cls(sample, np.arange(sample.n_rows), sample.n_rows)
        order = np.argsort(sample.observation, kind="stable")
        index = np.sort(order[np.linspace(0, order.size - 1, _TYPICAL).astype(int)])
        return cls(sample.take(index), index, sample.n_rows)

    def priced(self, cost: Cost) -> TypicalRows:
        """Let them cost something else: a number, or one for each of all rows."""
        return replace(self, sample=replace(self.sample, cost=cost.take(self.index)))
