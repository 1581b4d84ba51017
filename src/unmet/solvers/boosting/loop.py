"""The boosting itself: grow a tree, refit its leaves, move the decisions, judge, repeat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unmet.band import Array
from unmet.solvers.boosting.growing import Grower
from unmet.solvers.boosting.monotone import keep_monotone
from unmet.solvers.boosting.objectives import Objective
from unmet.solvers.boosting.settings import Settings
from unmet.solvers.boosting.trees import Trees
from unmet.solvers.problem import Features


@dataclass(frozen=True)
class Part:
    """Rows with what they cost."""

    features: Features
    objective: Objective


@dataclass(frozen=True)
class Boosted:
    """What the boosting has found.

    Attributes
    ----------
    trees : Trees
    n_trees : int
        Trees that were kept: up to the best on held-out rows, where there are any.
    decision : ndarray of shape (n_rows,)
        Of the training rows.
    held_decision : ndarray of shape (n_held,) or None
    cost : ndarray of shape (n_grown + 1,)
        Mean cost of the training rows before the first tree and after each.
    held_cost : ndarray of shape (n_grown + 1,) or None
    importances : ndarray of shape (n_features,)
    """

    trees: Trees
    n_trees: int
    decision: Array
    held_decision: Array | None
    cost: Array
    held_cost: Array | None
    importances: Array


class _Judge:
    """The best number of trees, on held-out rows or else the last."""

    def __init__(self, held: Part | None, start: float, patience: int) -> None:
        self._held, self._patience = held, patience
        self.n_trees = 0
        self.costs: list[float] = []
        self.best = np.empty(0)
        if held is not None:
            self._decision = np.full(held.features.shape[0], start)
            self.best = self._decision
            self.costs.append(held.objective.mean_cost(self._decision))

    def hear(self, grower: Grower) -> bool:
        """Judge the newest tree; whether it is the best so far."""
        if self._held is None:
            self.n_trees = grower.n_trees
            return True
        self._decision = self._decision + grower.newest(self._held.features)
        cost = self._held.objective.mean_cost(self._decision)
        better = cost < min(self.costs)
        self.costs.append(cost)
        if better:
            self.n_trees, self.best = grower.n_trees, self._decision
        return better

    def stops(self, grower: Grower) -> bool:
        """Whether too many trees have brought nothing."""
        return self._held is not None and grower.n_trees - self.n_trees >= self._patience


def boost(
    rows: Part,
    settings: Settings,
    *,
    held: Part | None = None,
    categorical: tuple[int, ...] = (),
    monotone: tuple[int, ...] | None = None,
) -> Boosted:
    """Boost trees on some rows, judged by others where there are any.

    Parameters
    ----------
    rows : Part
        To train on, at least one row.
    settings : Settings
    held : Part, optional
        Rows on whose cost the number of trees is chosen.
    categorical : tuple of int, default=()
        Columns that hold category numbers 0, 1, ...; NaN is missing.
    monotone : tuple of int, optional
        For each column 1 where decisions must not fall with it, −1 where they must not rise, 0.
    """
    objective, rate = rows.objective, settings.learning_rate
    grower = Grower(rows.features, settings, categorical, monotone)
    start = objective.start()
    decision = best = np.full(rows.features.shape[0], start)
    costs = [objective.mean_cost(decision)]
    judge = _Judge(held, start, settings.n_iter_no_change)
    while grower.n_trees < settings.max_iter and not judge.stops(grower):
        leaf = grower.grow(objective.gradient(decision), objective.curvature)
        if leaf is None:
            break
        weight: Array = np.bincount(leaf, objective.weight).astype(np.float64, copy=False)
        value = objective.minimisers(decision, leaf, weight.size)
        value *= rate * weight / (weight + settings.l2_regularization)
        if monotone is not None:
            value = keep_monotone(value, weight, grower.splits(), monotone)
        grower.set_leaves(value)
        decision = decision + value[leaf]
        costs.append(objective.mean_cost(decision))
        if judge.hear(grower):
            best = decision
    return Boosted(
        Trees(grower.text(judge.n_trees), start),
        judge.n_trees,
        best,
        None if held is None else judge.best,
        np.array(costs),
        None if held is None else np.array(judge.costs),
        grower.importances(judge.n_trees),
    )
