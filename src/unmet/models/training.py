"""Rows ready for training, and the choice of a solver for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import _num_features, validate_data

from unmet.arrays import Array, Band, Features
from unmet.bands import BandRule, Diagnosis, LatentBand, SearchedBand
from unmet.checks import number, one_of, true_or_false
from unmet.costs import Cost, HingeCost, JumpCost, Newsvendor, SquaredError
from unmet.errors import InvalidInput, Unsupported
from unmet.rows import Rows
from unmet.solvers.descent.jumps import solve_sweep
from unmet.solvers.descent.minibatch import MiniBatchOptions, solve_minibatch
from unmet.solvers.descent.smoothed import solve_smoothed
from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.exact.least_squares import solve_least_squares
from unmet.solvers.exact.minimum_norm import shortest
from unmet.solvers.exact.solve import solve_exact, solve_path
from unmet.solvers.problem import HingeProblem, Solution

SolverName = Literal["exact", "minibatch", "smoothed", "highs"]
PenaltyName = Literal["l2", "l1", "elasticnet"]
Index: TypeAlias = NDArray[np.intp]


def raw_weight(given: Rows, sample_weight: ArrayLike | None) -> Array | None:
    """Weights of the rows that have some as they came, not as shares; None where all are alike."""
    if given.share is None:
        return None
    return np.asarray(sample_weight, dtype=np.float64)[given.share > 0]


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

    def solve(self, rows: Rows) -> Solution:
        """Minimise mean cost plus penalty."""
        self.check(rows)
        if self.solver == "minibatch":
            return self._descend(rows)
        if self.solver == "smoothed":
            return self._smooth(rows)
        if isinstance(rows.cost, JumpCost):
            return self._sweep(rows, rows.cost)
        if isinstance(rows.cost, SquaredError):
            return self._least_squares(rows)
        return self._solve_hinges([rows])[0]

    def solve_each(self, several: Sequence[Rows]) -> list[Solution]:
        """Solve several problems on the same features, together where the solver gains by it."""
        for rows in several:
            self.check(rows)
        hinges = all(isinstance(rows.cost, HingeCost) for rows in several)
        if not several or self.solver != "exact" or not hinges:
            return [self.solve(rows) for rows in several]
        return self._solve_hinges(several)

    def _solve_hinges(self, several: Sequence[Rows]) -> list[Solution]:
        """Problems on the same features, with HiGHS or exactly."""
        features, kinks = several[0].features, [rows.kinks() for rows in several]
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

    def check(self, rows: Rows) -> None:
        """Refuse pairs of things that are fine alone, naming the pair and what is missing."""
        cost, name = rows.cost, type(rows.cost).__name__
        if self.solver in ("minibatch", "smoothed"):
            if self.lasso:
                missing = "it has no step for absolute values"
                raise self._mismatch(f"penalty {self.penalty!r}", missing, "solver 'exact'")
        elif isinstance(cost, SquaredError) and self.solver == "exact":
            missing = "that is not least squares"
            if rows.band is not None and np.any(rows.band.width):
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

    def _descend(self, rows: Rows) -> Solution:
        return solve_minibatch(
            rows.features,
            rows.cost,
            rows.observation,
            rows.band,
            sample_weight=rows.share,
            ridge=self.descent_ridge,
            fit_intercept=self.fit_intercept,
            options=self.minibatch,
        )

    def _sweep(self, rows: Rows, cost: JumpCost) -> Solution:
        """Solve exactly a cost with a jump, where the features only tell groups apart."""
        penalised = (self.ridge or self.lasso) and np.any(_spread(rows.features))
        found = None
        if not penalised:
            found = solve_sweep(
                rows.features,
                cost,
                rows.observation,
                rows.band,
                share=rows.share,
                fit_intercept=self.fit_intercept,
            )
        if found is None:
            missing = "a cost with a jump is exact only for groups of equal rows without a penalty"
            raise self._mismatch(f"cost {type(cost).__name__}", missing, "solver 'smoothed'")
        return found

    def _smooth(self, rows: Rows) -> Solution:
        return solve_smoothed(
            rows.features,
            rows.cost,
            rows.observation,
            rows.band,
            share=rows.share,
            ridge=self.ridge,
            fit_intercept=self.fit_intercept,
        )

    def _least_squares(self, rows: Rows) -> Solution:
        target = rows.observation
        if rows.band is not None:
            target = target + rows.band.low
        return solve_least_squares(
            rows.features,
            target,
            share=rows.share,
            ridge=self.ridge,
            fit_intercept=self.fit_intercept,
            tolerance=self.tolerance,
        )


def _spread(features: Features) -> Array:
    """Range of each column."""
    dense = features if isinstance(features, np.ndarray) else features.toarray()
    return np.asarray(np.ptp(dense, axis=0))


# --- Where a model's band comes from: given, or learned by a rule from what is known.


@dataclass(frozen=True)
class ChosenBand:
    """A band, and the rule that gave it where one did."""

    band: Band | None
    rule: BandRule | None = None
    diagnosis: Diagnosis | None = None


def choose_bands(
    model: BaseEstimator, pairs: Sequence[tuple[Cost, Band | BandRule | None]], given: Rows
) -> list[ChosenBand]:
    """Band for each cost; a rule that occurs several times learns once, from its first cost.

    A copy of the rule learns, from all rows given; the estimator's own stays as it is.
    """
    learned: dict[int, BandRule] = {}
    chosen = []
    for cost, band in pairs:
        if not isinstance(band, BandRule):
            chosen.append(ChosenBand(band))
            continue
        rows, first = given.priced(cost), id(band) not in learned
        if first:
            bare = clone(model).set_params(band=None)
            learned[id(band)] = clone(band).fit_rows(rows, cost, estimator=bare)
        rule = learned[id(band)]
        found = rule.diagnosis_ if first else rule.diagnosis_for(cost)
        chosen.append(ChosenBand(rule.band_rows(rows), rule, found))
    return chosen


def without_rule(band: Band | BandRule | None) -> Band | None:
    """Refuse a rule where rows arrive in portions."""
    if isinstance(band, BandRule):
        raise Unsupported(
            f"partial_fit and the rule {band!r} do not fit together, because a rule learns "
            "from all rows: use its band, rule.fit(...).band(X)."
        )
    return band


def check_used(band: Band | BandRule | None, **known: Any) -> None:
    """Refuse flags that nobody reads: a silent mistake. Dates and series do no harm."""
    for name, value in known.items():
        if value is not None and not isinstance(band, BandRule):
            raise InvalidInput(
                f"{name} is only used by a band rule such as LatentBand(), got band={band!r}."
            )


# --- Rows with a known truth that early stopping watches.


def read_validation_pair(given: Any, X: Any, by_row: tuple[str, ...]) -> tuple[Any, Any]:
    """Check a pair (X, truth) against the features that are trained on, names included.

    Parameters
    ----------
    given : object
    X : table, array-like or sparse matrix
        Features that are trained on.
    by_row : tuple of str
        Costs that `fit` was given one by one; they say nothing about other rows.
    """
    if not isinstance(given, tuple) or len(given) != 2:
        raise InvalidInput(f"validation must be a pair (X, truth) or None, got {given!r:.60}.")
    if by_row:
        raise InvalidInput(f"validation needs one {by_row[0]} for all rows, got one each.")
    reader = BaseEstimator()
    validate_data(reader, X, skip_check_array=True)
    found = _num_features(given[0])
    if found != reader.n_features_in_:
        raise InvalidInput(
            f"validation must have {reader.n_features_in_} features, as X has, got {found}."
        )
    try:
        validate_data(reader, given[0], reset=False, skip_check_array=True)
    except ValueError as error:
        words = " ".join(str(error).split()).replace("BaseEstimator", "the estimator")
        raise InvalidInput(f"validation must have the features of X: {words}") from None
    return given


# --- Reading an estimator's constructor parameters when `fit` needs them.

_EVEN = Newsvendor(underage=1.0, overage=1.0)
_PUBLISHED = MiniBatchOptions()
_SHORT_NAMES: dict[str, type[BandRule]] = {"latent": LatentBand, "searched": SearchedBand}


def read_cost(cost: Cost | None) -> Cost:
    """Cost of an estimator; None is the median's."""
    if cost is None:
        return _EVEN
    if not isinstance(cost, Cost):
        raise InvalidInput(
            f"cost must be a Cost such as Newsvendor(underage=3, overage=1), or None, got {cost!r}."
        )
    return cost


def read_band(band: Any) -> Band | BandRule | None:
    """Band or rule of an estimator; None is no band, a short name is the rule as it comes."""
    if band is None or isinstance(band, Band | BandRule):
        return band
    if isinstance(band, str) and band in _SHORT_NAMES:
        return _SHORT_NAMES[band]()
    raise InvalidInput(
        "band must be a Band, a band rule such as LatentBand(), 'latent', 'searched' or None, "
        f"got {band!r}."
    )


class Trainable(Protocol):
    """Constructor parameters of an estimator that the solvers of this package train."""

    solver: SolverName
    penalty: PenaltyName | None
    strength: float
    l1_ratio: float
    fit_intercept: bool
    tol: float
    minibatch: MiniBatchOptions | None
    random_state: int | np.random.RandomState | None


def read_method(model: Trainable) -> Method:
    """How to train, from parameters that may hold anything."""
    one_of("solver", model.solver, get_args(SolverName))
    penalty = model.penalty
    if penalty is not None:
        one_of("penalty", penalty, (None, *get_args(PenaltyName)))
    largest = float(np.finfo(float).max)
    strength = number("strength", model.strength, "a finite non-negative number", 0.0, largest)
    ratio = number("l1_ratio", model.l1_ratio, "a number between 0 and 1", 0.0, 1.0)
    allowed = "a number above 0 and below 1"
    ridge = {"l2": strength, "elasticnet": strength * (1.0 - ratio)}
    lasso = {"l1": strength, "elasticnet": strength * ratio}
    return Method(
        solver=model.solver,
        penalty=penalty,
        ridge=ridge.get(penalty or "", 0.0),
        lasso=lasso.get(penalty or "", 0.0),
        fit_intercept=true_or_false("fit_intercept", model.fit_intercept),
        tolerance=number("tol", model.tol, allowed, 1e-300, 1 - 1e-16),
        minibatch=_options(model.minibatch, model.random_state),
    )


def read_pairs(
    costs: Cost | Iterable[Cost | None] | None,
    bands: Any,
) -> list[tuple[Cost | None, Any]]:
    """Costs and bands in pairs, a single one with all of the others."""
    all_costs: list[Cost | None] = _listed("costs", costs, Cost)
    all_bands = _listed("bands", bands, Band, BandRule, str)
    if len(all_costs) == 1:
        all_costs *= len(all_bands)
    elif len(all_bands) == 1:
        all_bands *= len(all_costs)
    if len(all_costs) != len(all_bands):
        raise InvalidInput(
            "costs and bands must be of equal length, or one of them single, "
            f"got {len(all_costs)} and {len(all_bands)}."
        )
    return list(zip(all_costs, all_bands, strict=True))


def _listed(name: str, value: Any, *kinds_allowed: type) -> list[Any]:
    if value is None or isinstance(value, kinds_allowed):
        return [value]
    if isinstance(value, str) or not isinstance(value, Iterable):
        kinds = f"a {kinds_allowed[0].__name__} or several of them"
        raise InvalidInput(f"{name} must be {kinds}, got {value!r}.")
    return list(value)


def _options(
    minibatch: MiniBatchOptions | None, random_state: int | np.random.RandomState | None
) -> MiniBatchOptions:
    if minibatch is not None and not isinstance(minibatch, MiniBatchOptions):
        raise InvalidInput(f"minibatch must be MiniBatchOptions or None, got {minibatch!r}.")
    options = _PUBLISHED if minibatch is None else minibatch
    return options if random_state is None else replace(options, random_state=random_state)
