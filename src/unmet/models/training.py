"""Rows ready for training, and the choice of a solver for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.band import Array, Band, common_rows
from unmet.costs import Cost, HingeCost, JumpCost, Kinks, SquaredError
from unmet.errors import Unsupported
from unmet.rows import read_column, read_features, read_weights
from unmet.solvers.exact import solve_exact
from unmet.solvers.highs import solve_highs
from unmet.solvers.least_squares import solve_least_squares
from unmet.solvers.minibatch import solve_minibatch
from unmet.solvers.minibatch_options import MiniBatchOptions
from unmet.solvers.path import solve_path
from unmet.solvers.problem import Features, HingeProblem, Solution
from unmet.solvers.shortest import shortest
from unmet.solvers.smoothed import solve_smoothed
from unmet.solvers.sweep import solve_sweep

SolverName = Literal["exact", "minibatch", "smoothed", "highs"]
PenaltyName = Literal["l2", "l1", "elasticnet"]
Index: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True)
class Observed:
    """Features and observations of the rows that count, whatever is paid for them.

    Attributes
    ----------
    features : ndarray of shape (n_kept, n_features), or csr_array
    observation : ndarray of shape (n_kept,)
    share : ndarray of shape (n_kept,) or None
        Positive weights that sum to one; None where all rows count the same.
    n_rows : int
        Number of rows given, those without weight among them.
    kept : ndarray of shape (n_kept,) or None
        Which of them have weight; None if all have.
    """

    features: Features
    observation: Array
    share: Array | None
    n_rows: int
    kept: Index | None = None

    @classmethod
    def read(
        cls, X: Any, y: Any, sample_weight: ArrayLike | None, *, at_least: int = 1
    ) -> Observed:
        """Read what `fit` is given, leave out rows without weight, insist on enough of the rest."""
        features = read_features(X, at_least=at_least)
        observation = read_column(
            "y", y, features.shape[0]
        )  # here: it may warn our caller's caller
        return cls.of(features, observation, sample_weight, at_least=at_least)

    @classmethod
    def of(
        cls,
        features: Features,
        observation: Array,
        sample_weight: ArrayLike | None,
        *,
        at_least: int = 1,
    ) -> Observed:
        """Do the same with features and observations that have been read."""
        n_rows = features.shape[0]
        share = read_weights(sample_weight, n_rows, at_least=at_least)
        if share is None or share.all():
            return cls(features, observation, share, n_rows)
        kept = np.flatnonzero(share)
        return cls(features[kept], observation[kept], share[kept], n_rows, kept)

    def raw_weight(self, sample_weight: ArrayLike | None) -> Array | None:
        """Weights of the rows kept as they came, not as shares; None where all count the same."""
        if self.share is None:
            return None
        weight = np.asarray(sample_weight, dtype=np.float64)
        return weight if self.kept is None else weight[self.kept]

    def priced(self, cost: Cost, band: Band | None) -> Training:
        """Add cost and band, whose numbers per row are for the rows given, not for those kept."""
        ends = {} if band is None else band.parameters()
        common_rows({"y": np.broadcast_to(0.0, self.n_rows), **ends, **cost.parameters()})
        if self.kept is not None:
            cost, band = cost.take(self.kept), None if band is None else band.take(self.kept)
        return Training(self.features, self.observation, cost, band, self.share)


@dataclass(frozen=True)
class Training:
    """Everything about the rows that a solver needs; attributes as in `Observed`."""

    features: Features
    observation: Array
    cost: Cost
    band: Band | None
    share: Array | None

    def take(self, index: Index) -> Training:
        """Keep some rows; shares are left as they are."""
        return Training(
            self.features[index],
            self.observation[index],
            self.cost.take(index),
            None if self.band is None else self.band.take(index),
            None if self.share is None else self.share[index],
        )

    def mean_cost(self, decision: Array) -> float:
        """Weighted mean of the loss."""
        loss = self.cost.loss(decision, self.observation, self.band)
        return float(loss.mean() if self.share is None else loss @ self.share)

    def kinks(self) -> Kinks:
        """Write the mean cost as hinges."""
        assert isinstance(self.cost, HingeCost)
        # A number where rows count the same: slopes then stay views that repeat one number.
        share = 1.0 / self.observation.size if self.share is None else self.share
        return self.cost.kinks(self.observation, self.band, share)


@dataclass(frozen=True)
class Method:
    """How to train: a solver, what it adds to the mean cost, and when it stops."""

    solver: SolverName
    penalty: PenaltyName | None
    ridge: float
    lasso: float
    fit_intercept: bool
    tolerance: float
    minibatch: MiniBatchOptions

    def solve(self, training: Training) -> Solution:
        """Minimise mean cost plus penalty."""
        self.check(training)
        if self.solver == "minibatch":
            return self._descend(training)
        if self.solver == "smoothed":
            return self._smooth(training)
        if isinstance(training.cost, JumpCost):
            return self._sweep(training, training.cost)
        if isinstance(training.cost, SquaredError):
            return self._least_squares(training)
        return self._solve_hinges([training])[0]

    def solve_each(self, trainings: Sequence[Training]) -> list[Solution]:
        """Solve several problems on the same features, together where the solver gains by it."""
        for training in trainings:
            self.check(training)
        hinges = all(isinstance(each.cost, HingeCost) for each in trainings)
        if not trainings or self.solver != "exact" or not hinges:
            return [self.solve(training) for training in trainings]
        return self._solve_hinges(trainings)

    def _solve_hinges(self, trainings: Sequence[Training]) -> list[Solution]:
        """Problems on the same features, with HiGHS or exactly."""
        features, kinks = trainings[0].features, [training.kinks() for training in trainings]
        shape, intercept = features.shape[1], self.fit_intercept
        ridge = np.full(shape, self.ridge) if self.ridge else None
        lasso = np.full(shape, self.lasso) if self.lasso else None
        problems = [HingeProblem(features, each, intercept, ridge, lasso) for each in kinks]
        if self.solver == "highs":
            return [solve_highs(problem) for problem in problems]
        return self._solve_exactly(problems)

    def _solve_exactly(self, problems: Sequence[HingeProblem]) -> list[Solution]:
        """Problems that differ in their kinks only."""
        first = problems[0]
        if len(problems) == 1:
            solutions = [solve_exact(first, tolerance=self.tolerance)]
        else:
            solutions = solve_path(
                first.features,
                [problem.kinks for problem in problems],
                fit_intercept=first.fit_intercept,
                ridge=first.ridge,
                lasso=first.lasso,
                tolerance=self.tolerance,
            )
        return [shortest(*both) for both in zip(problems, solutions, strict=True)]

    def check(self, training: Training) -> None:
        """Refuse pairs of things that are fine alone, naming the pair and what is missing."""
        cost, name = training.cost, type(training.cost).__name__
        if self.solver in ("minibatch", "smoothed"):
            if self.lasso:
                missing = "it has no step for absolute values"
                raise self._mismatch(f"penalty {self.penalty!r}", missing, "solver 'exact'")
        elif isinstance(cost, SquaredError) and self.solver == "exact":
            missing = "that is not least squares"
            if training.band is not None and np.any(training.band.width):
                raise self._mismatch(f"cost {name} with a band", missing, "solver 'minibatch'")
            if self.lasso:
                pair = f"cost {name} with the penalty {self.penalty!r}"
                raise self._mismatch(pair, missing, "penalty 'l2'")
        elif isinstance(cost, JumpCost) and self.solver == "exact":
            return  # whether the features allow it shows when they are looked at
        elif not isinstance(cost, HingeCost):
            others = "'exact' or 'minibatch'" if isinstance(cost, SquaredError) else "'smoothed'"
            raise self._mismatch(f"cost {name}", f"{name} has no slopes", f"solver {others}")

    def _mismatch(self, thing: str, missing: str, instead: str) -> Unsupported:
        return Unsupported(
            f"The solver {self.solver!r} and the {thing} do not fit together, "
            f"because {missing}: use the {instead}."
        )

    @property
    def descent_ridge(self) -> float | None:
        """Ridge as mini-batch descent takes it: None leaves it to its options."""
        return None if self.penalty is None else self.ridge

    def _descend(self, training: Training) -> Solution:
        return solve_minibatch(
            training.features,
            training.cost,
            training.observation,
            training.band,
            sample_weight=training.share,
            ridge=self.descent_ridge,
            fit_intercept=self.fit_intercept,
            options=self.minibatch,
        )

    def _sweep(self, training: Training, cost: JumpCost) -> Solution:
        """Solve exactly a cost with a jump, where the features only tell groups apart."""
        penalised = (self.ridge or self.lasso) and np.any(_spread(training.features))
        found = None
        if not penalised:
            found = solve_sweep(
                training.features,
                cost,
                training.observation,
                training.band,
                share=training.share,
                fit_intercept=self.fit_intercept,
            )
        if found is None:
            missing = "a cost with a jump is exact only for groups of equal rows without a penalty"
            raise self._mismatch(f"cost {type(cost).__name__}", missing, "solver 'smoothed'")
        return found

    def _smooth(self, training: Training) -> Solution:
        return solve_smoothed(
            training.features,
            training.cost,
            training.observation,
            training.band,
            share=training.share,
            ridge=self.ridge,
            fit_intercept=self.fit_intercept,
        )

    def _least_squares(self, training: Training) -> Solution:
        target = training.observation
        if training.band is not None:
            target = target + training.band.low
        return solve_least_squares(
            training.features,
            target,
            share=training.share,
            ridge=self.ridge,
            fit_intercept=self.fit_intercept,
            tolerance=self.tolerance,
        )


def _spread(features: Features) -> Array:
    """Range of each column."""
    dense = features if isinstance(features, np.ndarray) else features.toarray()
    return np.asarray(np.ptp(dense, axis=0))
