"""Linear decisions: a scikit-learn estimator around the solvers, and the choice of a solver."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array, Band
from unmet.censoring.rule import BandRule
from unmet.costs import Cost, HingeCost, SquaredError
from unmet.costs.hinge import Kinks
from unmet.costs.replacement import JumpCost
from unmet.errors import InvalidInput, Unsupported
from unmet.estimators.base import (
    ChosenBand,
    DecisionModel,
    by_partition,
    check_in_memory,
    check_used,
    choose_band,
    is_dask,
    one_blas_thread,
    read_band,
    read_cost,
)
from unmet.estimators.lots import ShiftCost
from unmet.rows import SIZES, Rows, check_sizes, read_features
from unmet.solvers.blocks.dask import DaskBlocks
from unmet.solvers.blocks.source import BlockSource, RowBlock, read_sample
from unmet.solvers.descent.jumps import solve_smoothed, solve_sweep
from unmet.solvers.descent.minibatch import MiniBatchOptions, solve_minibatch
from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.exact.least_squares import solve_least_squares
from unmet.solvers.exact.solve import solve_blocks, solve_exact
from unmet.solvers.problem import HingeProblem, Solution
from unmet.validation import Instance, Maybe, Number, OneOf, TrueOrFalse, read_parameters

SolverName = Literal["exact", "minibatch", "smoothed", "highs"]
PenaltyName = Literal["l2", "l1", "elasticnet"]

_PUBLISHED = MiniBatchOptions()
_PARAMETERS = {
    "solver": OneOf(*get_args(SolverName)),
    "penalty": OneOf(None, *get_args(PenaltyName)),
    "strength": Number(least=0),
    "l1_ratio": Number(least=0, most=1),
    "fit_intercept": TrueOrFalse(),
    "tol": Number(above=0, below=1),
    "minibatch": Maybe(Instance(MiniBatchOptions, "MiniBatchOptions")),
}


class LinearMethod:
    """How to train: the solver, the penalty, and when to stop."""

    def __init__(self, model: LinearDecision) -> None:
        """Read the constructor's parameters, which have not been checked."""
        read = read_parameters(_PARAMETERS, model)
        self.solver, self.penalty = read["solver"], read["penalty"]
        self.fit_intercept, self.tolerance = read["fit_intercept"], read["tol"]
        self.minibatch = read["minibatch"] or _PUBLISHED
        if model.random_state is not None:
            self.minibatch = replace(self.minibatch, random_state=model.random_state)
        strength, ratio = read["strength"], read["l1_ratio"]
        if strength and not SIZES[0] <= strength <= SIZES[1]:
            raise InvalidInput(
                f"strength must be 0 or between {SIZES[0]:g} and {SIZES[1]:g}, got {strength:g}."
            )
        share = {None: 0.0, "l1": 1.0, "l2": 0.0, "elasticnet": ratio}[self.penalty]
        self.lasso = strength * share
        self.ridge = 0.0 if self.penalty is None else strength * (1.0 - share)

    def train(self, rows: Rows) -> Solution:
        """Minimise mean cost plus penalty by the solver that fits the cost."""
        self.check(rows)
        intercept, s, weight = self.fit_intercept, rows.observation, rows.weight
        means = float(np.average(s, weights=weight)), float(np.average(s**2, weights=weight))
        ridge = self.ridge_of(rows.cost, *means)
        if self.solver == "minibatch":  # without a penalty its options have one
            given = None if self.penalty is None else ridge
            return solve_minibatch(
                rows, ridge=given, fit_intercept=intercept, options=self.minibatch
            )
        if self.solver == "smoothed":
            return solve_smoothed(rows, ridge=ridge, fit_intercept=intercept)
        if isinstance(rows.cost, JumpCost):
            features = rows.features
            dense = features if isinstance(features, np.ndarray) else features.toarray()
            found = None
            if not (self.ridge or self.lasso) or not np.ptp(dense, axis=0).any():
                found = solve_sweep(rows, fit_intercept=intercept)
            if found is None:
                cost = f"cost {type(rows.cost).__name__}"
                missing = "a cost with a jump is exact only for groups of equal rows without a "
                raise self.mismatch(cost, missing + "penalty", "solver 'smoothed'")
            return found
        if isinstance(rows.cost, SquaredError):
            return solve_least_squares(
                rows.features,
                rows.observation if rows.band is None else rows.observation + rows.band.low,
                share=rows.share,
                ridge=ridge,
                fit_intercept=intercept,
                tolerance=self.tolerance,
            )
        penalties = self.penalties(rows.features.shape[1], ridge)
        problem = HingeProblem(rows.features, rows.kinks(), intercept, *penalties)
        if self.solver == "highs":
            return solve_highs(problem)
        return solve_exact(problem, tolerance=self.tolerance)

    def penalties(self, size: int, ridge: float) -> tuple[Array | None, Array | None]:
        """Give the ridge and the lasso penalty of each coefficient."""
        each = np.full(size, ridge) if ridge else None
        return each, np.full(size, self.lasso) if self.lasso else None

    def ridge_of(self, cost: Cost, mean: float, square: float) -> float:
        """Give the factor of ‖θ‖² that makes decisions independent of the unit of observations.

        If you multiply observations by c, θ is multiplied by c and ‖θ‖² by c². Squared errors are
        also multiplied by c², costs per unit by c, and costs with a jump stay as they are.

        Parameters
        ----------
        cost : Cost
            Cost of the training.
        mean, square : float
            Mean of the observations and of their squares.
        """
        if isinstance(cost, SquaredError):
            return self.ridge
        size = np.sqrt(square) or 1.0
        unit = np.sqrt(max(square - mean**2, 0.0)) if self.fit_intercept else size
        unit = unit if unit > 1e-6 * size else size  # all observations are the same
        return float(self.ridge / unit ** (2 if isinstance(cost, JumpCost) else 1))

    def check(self, rows: Rows) -> None:
        """Refuse sizes beyond the supported ones, and combinations that do not fit together."""
        check_sizes(rows)
        cost, name = rows.cost, type(rows.cost).__name__
        if self.solver in ("minibatch", "smoothed"):
            if self.lasso:
                missing = "it has no step for absolute values"
                raise self.mismatch(f"penalty {self.penalty!r}", missing, "solver 'exact'")
        elif isinstance(cost, SquaredError) and self.solver == "exact":
            missing = "that is not least squares"
            if rows.band is not None and np.any(rows.band.width):
                raise self.mismatch(f"cost {name} with a band", missing, "solver 'minibatch'")
            if self.lasso:
                pair = f"cost {name} with the penalty {self.penalty!r}"
                raise self.mismatch(pair, missing, "penalty 'l2'")
        elif not isinstance(cost, HingeCost) and not (
            isinstance(cost, JumpCost) and self.solver == "exact"
        ):
            others = "'exact' or 'minibatch'" if isinstance(cost, SquaredError) else "'smoothed'"
            raise self.mismatch(f"cost {name}", f"{name} has no slopes", f"solver {others}")

    def mismatch(self, thing: str, missing: str, instead: str) -> Unsupported:
        """Make the error that names the two things that do not fit together, and an alternative."""
        return Unsupported(
            f"The solver {self.solver!r} and the {thing} do not fit together, "
            f"because {missing}: use the {instead}."
        )


class LinearDecision(DecisionModel):
    """Decisions that are linear in the features, with the least mean cost on the training rows.

    With weights w that sum to one, the model minimises ::

        Σ_i w_i cost(x_i'θ + intercept; s_i, band_i)  +  strength · penalty(θ)

    With a newsvendor cost and a band this is LR-εNVC-R of the paper (eq. in-nvc-norm), without a
    band LR-NVC ("IEO"), and with `SquaredError` LR-MSE ("EAS").

    Parameters
    ----------
    cost : Cost, default=None
        Cost of decisions. None is ``Newsvendor(underage=1, overage=1)``, which gives the median.
    band : Band, band rule, "latent" or "searched", default=None
        Range in which the truth may lie, relative to the observation, or a rule such as
        `LatentBand` that estimates it. None takes observations for the truth.
    solver : {"exact", "minibatch", "smoothed", "highs"}, default="exact"
        How to minimise. "exact" proves its result to `tol`; it uses least squares for
        `SquaredError`, and a sweep for costs with a jump if features only distinguish groups.
        "smoothed" is for costs with jumps or several minima, such as `PreventiveReplacement`: it
        smooths the cost over a window that shrinks. "minibatch" is the paper's gradient descent and
        takes every cost. "highs" solves the paper's linear program.
    penalty : {"l2", "l1", "elasticnet"}, default=None
        ‖θ‖², ‖θ‖₁, or l1_ratio · ‖θ‖₁ + (1 − l1_ratio) · ‖θ‖²; the intercept is never penalised.
        With None the mini-batch solver uses the β of its options, which is the paper's, and the
        other solvers have no penalty.
    strength : float, default=1.0
        Non-negative λ. Larger values shrink coefficients more. It is relative to the mean cost.
        ‖θ‖² is measured in standard deviations of the observations (their root mean square without
        an intercept), so that decisions do not depend on the unit of sales. Next to a squared error
        it is used as it is. Without a penalty it has no effect.
    l1_ratio : float, default=0.5
        Share of ‖θ‖₁ in the elastic net, between 0 and 1. Larger values set more coefficients to 0.
    fit_intercept : bool, default=True
        Whether to fit an intercept. Without one the decision is 0 where all features are 0.
    tol : float, default=1e-9
        The exact solver stops when no decisions can be cheaper by more than this share. Larger
        values stop earlier.
    minibatch : MiniBatchOptions, default=None
        Options of the mini-batch solver. None takes the paper's tuned values.
    random_state : int, RandomState or None, default=None
        Seed of the mini-batch solver, which replaces the one in its options.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Intercept.
    solution_ : Solution
        Objective, duality gap, iterations and passes over the data.
    n_iter_ : int
        Iterations of the solver.
    cost_, band_ : Cost, and Band or None
        Cost and band of the training, with the numbers per row that `fit` was given. For a source
        of blocks they lack these numbers, and there is no band if it differs by row.
    band_rule_, diagnosis_ : BandRule and Diagnosis, or None
        The fitted rule and its diagnosis; None if the band was given.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X is a table whose column names are all text.

    Notes
    -----
    Many decisions may attain the minimum, above all with a wide band. The exact solver then returns
    a point inside that set, near its analytic center, and HiGHS returns a corner of it.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import Band, LinearDecision, Newsvendor
    >>> generator = np.random.default_rng(0)
    >>> X = generator.uniform(size=(400, 2))
    >>> demand = 50 + X @ [30, -20] + generator.normal(scale=8, size=400)
    >>> sales = np.minimum(demand, 58)
    >>> ignoring = LinearDecision(Newsvendor(underage=9, overage=1)).fit(X, sales)
    >>> model = LinearDecision(Newsvendor(underage=9, overage=1), band=Band(low=0, high=12))
    >>> bool(model.fit(X, sales).score(X, demand) > ignoring.score(X, demand))
    True
    >>> model.decide(X[:3], step=5)
    array([65., 60., 60.])
    """

    def __init__(
        self,
        cost: Cost | None = None,
        band: Band | BandRule | str | None = None,
        *,
        solver: SolverName = "exact",
        penalty: PenaltyName | None = None,
        strength: float = 1.0,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        tol: float = 1e-9,
        minibatch: MiniBatchOptions | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.cost = cost
        self.band = band
        self.solver = solver
        self.penalty = penalty
        self.strength = strength
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.minibatch = minibatch
        self.random_state = random_state

    def _fit(self, X: Any, y: Any, costs: dict[str, Any], known: tuple[Any, ...]) -> Self:
        method = LinearMethod(self)
        if is_dask(X):
            # learn from a Dask frame and Dask Series beside it
            weight, censored, *others = known
            for name, value in zip(("stock", "time", "series"), others, strict=True):
                if value is not None:
                    raise InvalidInput(
                        f"{name} must be None where X is a Dask frame, got {type(value).__name__}: "
                        "say by censored which rows sold out, or read a sample by .compute()."
                    )
            numbers = {name: value for name, value in costs.items() if not np.ndim(value)}
            columns = {name: value for name, value in costs.items() if np.ndim(value)}
            cost = read_cost(self.cost).with_rows(**numbers)
            source = DaskBlocks(X, y, weight=weight, censored=censored, **columns)
            with one_blas_thread():
                return self._fit_blocks(source, method, cost)
        if isinstance(X, BlockSource):
            names = *costs, "y", "sample_weight", "censored", "stock"
            for name, value in zip(names, (*costs.values(), y, *known), strict=False):
                if value is not None:
                    raise InvalidInput(
                        f"{name} must be None where X is a source of blocks, which brings its own "
                        f"columns, got {type(value).__name__}."
                    )
            with one_blas_thread():
                return self._fit_blocks(X, method, read_cost(self.cost))
        given, band = self._read(X, y, costs, known)
        with one_blas_thread():
            chosen = choose_band(self, given.cost, band, given)
            rows = given.evaluated(given.cost, chosen[0]).counted()
            self._learn_names(X)
            solution = method.train(rows)
        return self._keep(solution, rows, given.cost, chosen, costs)

    def fit_path(
        self,
        X: Any,
        y: Any,
        *,
        costs: Cost | Iterable[Cost] | None = None,
        bands: Any = None,
        sample_weight: ArrayLike | None = None,
        censored: Any = None,
        stock: Any = None,
        time: Any = None,
        series: Any = None,
    ) -> list[Self]:
        """Fit once for each of several costs or bands, reading rows once and fitting a rule once.

        Parameters
        ----------
        X, y, sample_weight, censored, stock, time, series
            As in `fit`.
        costs : Cost or iterable of Cost, optional
            Costs to fit. None takes the estimator's own.
        bands : Band, rule or None, or an iterable of them, optional
            Bands to fit, paired with the costs; a single cost or band goes with all of the others.
            None takes the estimator's own. A single rule learns once, from the first cost, and
            gives each cost its band.

        Returns
        -------
        list of LinearDecision
            Fitted copies of this estimator, one per pair. The estimator itself is unchanged.

        Examples
        --------
        >>> import numpy as np
        >>> from unmet import LinearDecision, Newsvendor
        >>> x, sales = np.zeros((9, 1)), np.arange(1.0, 10.0)
        >>> costs = [Newsvendor.at_level(alpha) for alpha in (0.3, 0.9)]
        >>> [round(m.predict([[0]])[0]) for m in LinearDecision().fit_path(x, sales, costs=costs)]
        [3, 9]
        """
        own = self.cost if costs is None else costs, self.band if bands is None else bands
        pairs, method = _read_pairs(*own), LinearMethod(self)
        read = {id(band): read_band(band) for _, band in pairs}  # a short name is one rule
        for band in read.values():
            check_used(band, censored=censored, stock=stock)
        known = sample_weight, censored, stock, time, series
        check_in_memory(self, X)
        given = Rows.read(read_cost(None), X, y, *known, at_least=2)  # each cost comes below
        parameters, models = self.get_params(deep=False), list[Self]()
        learned: dict[int, BandRule] = {}
        with one_blas_thread():
            for own_cost, own_band in pairs:
                cost = read_cost(own_cost)
                chosen = choose_band(self, cost, read[id(own_band)], given, learned)
                rows = given.evaluated(cost, chosen[0]).counted()
                model = type(self)(**{**parameters, "cost": own_cost, "band": own_band})
                model._learn_names(X)
                models.append(model._keep(method.train(rows), rows, cost, chosen, {}))
        return models

    @by_partition
    def predict(self, X: Any) -> Array:
        """Decide for each row.

        Parameters
        ----------
        X : table, array-like, sparse matrix or Dask frame of shape (n_rows, n_features)
            Features, with the columns of the training rows.

        Returns
        -------
        ndarray of shape (n_rows,), or Dask Series
            Decisions. A Dask Series is computed partition by partition, when it is needed.
        """
        check_is_fitted(self)
        features = read_features(X)
        self._check_names(X)
        return np.maximum(features @ self.coef_ + self.intercept_, self.least_)

    def _fit_blocks(self, source: BlockSource, method: LinearMethod, cost: Cost) -> Self:
        """Learn from data in blocks.

        A sample of the rows fixes whatever must be known before all rows are seen: units, bins and,
        where a rule asks, the band. Rows that fit into memory are the whole sample: they are
        trained on as if they had come as an array.
        """
        band = read_band(self.band)
        if method.solver != "exact":
            raise Unsupported(
                f"The solver {method.solver!r} and a source of blocks do not fit together, because "
                "it needs all rows at once: use the solver 'exact'."
            )
        if not isinstance(cost, HingeCost):
            name = type(cost).__name__
            missing = f"{name} has no slopes"
            raise method.mismatch(f"cost {name} of blocks", missing, "cost Newsvendor")
        sample = read_sample(source)
        rows = sample.rows
        if len(rows) < 2:
            raise InvalidInput(f"X must have at least two rows with weight, got {sample.n_rows}.")
        if (rows.low is None) != (rows.high is None):
            raise InvalidInput("low and high must be given together, got only one of them.")
        if rows.low is not None and band is not None:
            raise InvalidInput(
                f"band must be None where the source has low and high, got {band!r}."
            )
        if isinstance(band, Band) and np.ndim(band.width):
            raise InvalidInput(
                "band must have one number for each end where X is a source of blocks, got arrays: "
                "give the source the columns low and high."
            )
        check_used(band, censored=rows.censored)
        chosen: ChosenBand = (band if isinstance(band, Band) else None, None, None)
        pricing = BlockCost(cost, band)
        if isinstance(band, BandRule):  # it learns from rows of the sample
            paid = pricing.cost_of(rows)
            given = Rows.read(
                paid, rows.features, rows.observation, rows.weight, censored=rows.censored
            )
            _, rule, found = choose_band(self, paid, band, given)
            pricing, chosen = BlockCost(cost, rule), (None, rule, found)
        # rows at even distances, of which `decide` later draws its thousand
        some = rows
        if len(rows) > 20_000:
            some = rows.take(np.linspace(0, len(rows) - 1, 20_000).astype(np.intp))
        kept = _training_rows(some, pricing)
        check_sizes(kept)
        if sample.complete:
            found_here = method.train(_training_rows(rows, pricing))
            solution = replace(found_here, passes=float(sample.reads))
        else:
            factor = method.ridge_of(cost, sample.mean, sample.square)
            penalties = method.penalties(source.n_features, factor)
            how = method.fit_intercept, penalties, method.tolerance
            solution = solve_blocks(source, pricing, sample, *how)
        self.n_features_in_ = source.n_features
        self.__dict__.pop("feature_names_in_", None)
        if source.names is not None:
            self.feature_names_in_ = np.array(source.names, dtype=object)
        return self._keep(
            solution, kept, cost, chosen, {"underage": rows.underage, "overage": rows.overage}
        )

    def _keep(
        self, solution: Solution, rows: Rows, cost: Cost, chosen: ChosenBand, costs: dict[str, Any]
    ) -> Self:
        """Set the fitted attributes."""
        self.coef_ = solution.coefficients
        self.intercept_ = solution.intercept
        self.solution_ = solution
        self.n_iter_ = solution.iterations
        shift_cost = ShiftCost.of(rows, self.coef_, self.intercept_)
        self._keep_choice(cost, chosen, costs, shift_cost)
        return self


def _read_pairs(costs: Any, bands: Any) -> list[tuple[Cost | None, Any]]:
    """Costs and bands in pairs, a single one with all of the others."""
    sides = []
    for name, value, kinds in (("costs", costs, (Cost,)), ("bands", bands, (Band, BandRule, str))):
        if value is None or isinstance(value, kinds):
            value = [value]
        elif isinstance(value, str) or not isinstance(value, Iterable):
            allowed = f"a {kinds[0].__name__} or several of them"
            raise InvalidInput(f"{name} must be {allowed}, got {value!r}.")
        sides.append(list(value))
    first, second = sides
    if len(first) == 1:
        first *= len(second)
    elif len(second) == 1:
        second *= len(first)
    if len(first) != len(second):
        raise InvalidInput(
            "costs and bands must be of equal length, or one of them single, "
            f"got {len(first)} and {len(second)}."
        )
    return list(zip(first, second, strict=True))


class BlockCost:
    """Kinks of the rows of a block, from their costs, band and weights.

    Parameters
    ----------
    cost : HingeCost
        Cost without numbers per row; those of a block are put in.
    band : Band, BandRule (fitted) or None
        None also if blocks bring the ends of their bands.
    """

    def __init__(self, cost: HingeCost, band: Band | BandRule | None) -> None:
        self.cost = cost
        self.band = band

    def __call__(self, block: RowBlock, factor: float) -> Kinks:
        """Write the costs of the rows as hinges, their weights multiplied by a factor."""
        weight = factor if block.weight is None else block.weight * factor
        cost = self.cost_of(block)
        return cost.kinks(block.observation, self.band_of(block, cost), weight)

    def cost_of(self, block: RowBlock) -> HingeCost:
        """Give the cost of the rows of a block."""
        return self.cost.with_rows(underage=block.underage, overage=block.overage)

    def band_of(self, block: RowBlock, cost: Cost) -> Band | None:
        """Give the band of the rows of a block: their own, the given one, or that of the rule."""
        if block.low is not None and block.high is not None:
            return Band(block.low, block.high)
        if isinstance(self.band, BandRule):
            return self.band.band(block.features, cost=cost, observation=block.observation)
        return self.band


def _training_rows(block: RowBlock, pricing: BlockCost) -> Rows:
    """Rows of a block that have weight as what a model is trained on."""
    cost, weight = pricing.cost_of(block), block.weight
    rows = Rows.of(cost, block.features, block.observation, sample_weight=weight, at_least=2)
    return rows.evaluated(cost, pricing.band_of(block, cost)).counted()
