"""Linear decisions: a scikit-learn estimator around the solvers, and which of them it takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from unmet.arrays import Array, Band
from unmet.censoring.rule import BandRule
from unmet.costs import Cost, HingeCost, JumpCost, SquaredError
from unmet.errors import InvalidInput, Unsupported
from unmet.estimators.base import (
    ChosenBand,
    DecisionModel,
    check_used,
    choose_bands,
    costs_by_row,
    one_blas_thread,
    raw_weight,
    read_band,
    read_cost,
    without_rule,
)
from unmet.estimators.lots import ShiftCost
from unmet.rows import SIZES, Rows, check_sizes, read_features
from unmet.solvers.blocks.source import BlockSource
from unmet.solvers.descent.jumps import solve_smoothed, solve_sweep
from unmet.solvers.descent.minibatch import (
    DescentState,
    MiniBatchOptions,
    choose_units,
    one_epoch,
    solve_minibatch,
)
from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.exact.least_squares import solve_least_squares
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.losses import Units
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
    """How to train: a solver, what it adds to the mean cost, and when it stops."""

    def __init__(self, model: LinearDecision) -> None:
        """Read the constructor's parameters, which may hold anything."""
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
        # None leaves the ridge of mini-batch descent to its options
        self.descent_ridge = None if self.penalty is None else self.ridge

    def train(self, rows: Rows) -> Solution:
        """Minimise mean cost plus penalty by the solver that fits them."""
        self.check(rows)
        intercept = self.fit_intercept
        if self.solver == "minibatch":
            return solve_minibatch(
                rows, ridge=self.descent_ridge, fit_intercept=intercept, options=self.minibatch
            )
        if self.solver == "smoothed":
            return solve_smoothed(rows, ridge=self.ridge, fit_intercept=intercept)
        if isinstance(rows.cost, JumpCost):
            features = rows.features
            dense = features if isinstance(features, np.ndarray) else features.toarray()
            found = None
            if not (self.ridge or self.lasso) or not np.ptp(dense, axis=0).any():
                found = solve_sweep(rows, fit_intercept=intercept)
            if found is None:
                cost = f"cost {type(rows.cost).__name__}"
                missing = "a cost with a jump is exact only for groups of equal rows without a "
                raise self._mismatch(cost, missing + "penalty", "solver 'smoothed'")
            return found
        if isinstance(rows.cost, SquaredError):
            return solve_least_squares(
                rows.features,
                rows.observation if rows.band is None else rows.observation + rows.band.low,
                share=rows.share,
                ridge=self.ridge,
                fit_intercept=intercept,
                tolerance=self.tolerance,
            )
        problem = HingeProblem(
            rows.features, rows.kinks(), intercept, *self.penalties(rows.features.shape[1])
        )
        if self.solver == "highs":
            return solve_highs(problem)
        return solve_exact(problem, tolerance=self.tolerance)

    def penalties(self, size: int) -> tuple[Array | None, Array | None]:
        """Ridge and lasso of each coefficient."""
        ridge = np.full(size, self.ridge) if self.ridge else None
        return ridge, np.full(size, self.lasso) if self.lasso else None

    def check(self, rows: Rows) -> None:
        """Refuse sizes beyond what is promised, and pairs of things that are fine alone."""
        check_sizes(rows, "a linear decision")
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
        elif not isinstance(cost, HingeCost) and not (
            isinstance(cost, JumpCost) and self.solver == "exact"
        ):
            others = "'exact' or 'minibatch'" if isinstance(cost, SquaredError) else "'smoothed'"
            raise self._mismatch(f"cost {name}", f"{name} has no slopes", f"solver {others}")

    def _mismatch(self, thing: str, missing: str, instead: str) -> Unsupported:
        return Unsupported(
            f"The solver {self.solver!r} and the {thing} do not fit together, "
            f"because {missing}: use the {instead}."
        )


def _descends(model: Any) -> bool:
    """Whether `partial_fit` is there; scikit-learn shows the sentence below a missing attribute."""
    if model.solver != "minibatch":
        raise Unsupported(
            f"partial_fit and the solver {model.solver!r} do not fit together, because only "
            "'minibatch' learns from some rows at a time."
        )
    return True


class LinearDecision(DecisionModel):
    """Decisions that are linear in the features, with the least mean cost on the training rows.

    Minimises, with weights w that sum to one, ::

        Σ_i w_i cost(x_i'θ + intercept; s_i, band_i)  +  strength · penalty(θ)

    With a newsvendor cost and a band this is LR-εNVC-R of the paper (eq. in-nvc-norm), without a
    band LR-NVC ("IEO"), and with `SquaredError` LR-MSE ("EAS").

    Parameters
    ----------
    cost : Cost, default=None
        What a decision costs. None is ``Newsvendor(underage=1, overage=1)``: the median.
    band : Band, band rule, "latent" or "searched", default=None
        Where the truth may lie, relative to the observation: given, or learned from the data by a
        rule such as `LatentBand`. None takes observations for truth.
    solver : {"exact", "minibatch", "smoothed", "highs"}, default="exact"
        "exact" proves its answer to `tol` (least squares for `SquaredError`, a sweep for
        costs with a jump where features only tell groups apart); "smoothed" is for costs with jumps
        or valleys, such as `PreventiveReplacement`, smoothed by a box whose width shrinks;
        "minibatch" is the paper's gradient descent and takes every cost; "highs" is the paper's
        linear program.
    penalty : {"l2", "l1", "elasticnet"}, default=None
        ‖θ‖², ‖θ‖₁, or l1_ratio · ‖θ‖₁ + (1 − l1_ratio) · ‖θ‖²; never on the intercept. With None
        the mini-batch solver takes the β of its options, the paper's; the others penalise nothing.
    strength : float, default=1.0
        λ, beside the mean cost and in its units. Without a penalty it means nothing.
    l1_ratio : float, default=0.5
        Of the elastic net, between 0 and 1.
    fit_intercept : bool, default=True
    tol : float, default=1e-9
        The exact solver stops when no decisions can be cheaper by more than this share.
    minibatch : MiniBatchOptions, default=None
        Options of the mini-batch solver; None is the paper's tuned values.
    random_state : int, RandomState or None, default=None
        Seed of the mini-batch solver, instead of the one in its options.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    solution_ : Solution
        Objective, duality gap, iterations and passes over the data.
    n_iter_ : int
        Iterations of the solver.
    cost_, band_ : Cost, and Band or None
        What was trained on, with the numbers per row that `fit` was given; without those
        of a source of blocks, and no band where it differs by row of it.
    band_rule_, diagnosis_ : BandRule and Diagnosis, or None
        The fitted rule, and what it says about censoring; None if the band was given.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Of a table whose column names are all text.

    Notes
    -----
    The minimum may be attained by many decisions, above all with a wide band: the exact solver then
    returns a point inside that set, near its analytic centre, HiGHS a corner of it.

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

    _descent: DescentState | None

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

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        underage: ArrayLike | None = None,
        overage: ArrayLike | None = None,
        censored: Any = None,
        stock: Any = None,
        time: Any = None,
        series: Any = None,
    ) -> Self:
        """Learn from features and observations.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features), or BlockSource
            pandas, polars, numpy or scipy.sparse; finite numbers, at least two rows. Or a source of
            `unmet.solvers.blocks`, for data that do not fit into memory: it brings observations,
            weights and whatever else is known, and all other arguments stay away.
        y : array-like of shape (n_rows,)
            The observations s: sales, accepted prices, replacement times. (The name is
            scikit-learn's; the y of the paper is the decision.)
        sample_weight : array-like of shape (n_rows,), optional
            Non-negative; only ratios matter, and rows of weight 0 do not count at all.
        underage, overage : float or array-like of shape (n_rows,), optional
            Instead of those of `cost`, usually one per row.
        censored : array-like of shape (n_rows,), or Limits, optional
            For a band rule: True where the truth is known to be at least the observation, False
            where it is the observation, missing (None, NaN) where nobody knows. Or between what
            limits each truth lies.
        stock : array-like of shape (n_rows,), optional
            For a band rule: what was available. s ≥ stock means censored, s < stock seen.
        time, series : array-like of shape (n_rows,), optional
            For a band rule: the date of a row, and the series it belongs to.

        Returns
        -------
        LinearDecision
            Itself.
        """
        method, cost, band = self._read(underage, overage)
        if isinstance(X, BlockSource):
            from unmet.estimators.blocks import check_alone, fit_blocks

            check_alone(y=y, sample_weight=sample_weight, underage=underage, overage=overage)
            check_alone(censored=censored, stock=stock)
            with one_blas_thread():
                solution, rows, chosen, by_row = fit_blocks(self, X, method, cost, band)
            self._take_names(X)
            self._descent = None
            return self._keep(solution, rows, cost, chosen, by_row)
        check_used(band, censored=censored, stock=stock)
        known = sample_weight, censored, stock, time, series
        given = Rows.read(cost, X, y, *known, at_least=2)
        with one_blas_thread():
            (chosen,) = choose_bands(self, [(cost, band)], given)
            rows = given.evaluated(cost, chosen.band).counted()
            self._learn_names(X)
            solution = method.train(rows)
        self._descent = None
        return self._keep(solution, rows, cost, chosen, costs_by_row(underage, overage))

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
        """Learn once for each of several costs or bands; rows are read once, a rule learns once.

        Parameters
        ----------
        X, y, sample_weight, censored, stock, time, series
            As in `fit`.
        costs : Cost or iterable of Cost, optional
        bands : Band, rule or None, or an iterable of them, optional
            Taken in pairs; a single one goes with all of the others. What is left out is the
            estimator's own. A single rule learns once, from the first cost, and gives each cost
            its band.

        Returns
        -------
        list of LinearDecision
            Fitted copies of this estimator, one per pair; it is itself left as it is.

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
        evaluated = [(read_cost(cost), read[id(band)]) for cost, band in pairs]
        for _, band in evaluated:
            check_used(band, censored=censored, stock=stock)
        known = sample_weight, censored, stock, time, series
        given = Rows.read(read_cost(None), X, y, *known, at_least=2)  # each cost comes below
        with one_blas_thread():
            chosen = choose_bands(self, evaluated, given)
            used = [(cost, each) for (cost, _), each in zip(evaluated, chosen, strict=True)]
            features = given.counted().features  # once for all, not once for each cost
            bare = replace(given, features=np.empty((given.n_rows, 0)))
            several = [
                replace(bare.evaluated(cost, each.band).counted(), features=features)
                for cost, each in used
            ]
            solutions = [method.train(rows) for rows in several]
        models: list[Self] = []
        parameters = self.get_params(deep=False)
        for own, final, rows, solution in zip(pairs, used, several, solutions, strict=True):
            names = dict(zip(("cost", "band"), own, strict=True))
            model = type(self)(**{**parameters, **names})
            if models:  # looking at X once is enough
                for name in {"n_features_in_", "feature_names_in_"} & vars(models[0]).keys():
                    setattr(model, name, getattr(models[0], name))
            else:
                model._learn_names(X)
            model._descent = None
            models.append(model._keep(solution, rows, *final))
        return models

    @available_if(_descends)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: ArrayLike | None = None,
        underage: ArrayLike | None = None,
        overage: ArrayLike | None = None,
    ) -> Self:
        """Go once more through some rows with the mini-batch solver, from where it stands.

        The rows of the first call fix the units in which it descends, also after a `fit`.

        Parameters
        ----------
        X, y, sample_weight, underage, overage
            As in `fit`; a single row is enough. Weights are used as they are, so that they mean
            the same in every call, and `solution_` speaks of these rows only.

        Returns
        -------
        LinearDecision
            Itself.
        """
        method, cost, read = self._read(underage, overage)
        band = without_rule(read)
        given = Rows.read(cost, X, y, sample_weight=sample_weight)
        rows = given.evaluated(cost, band).counted()
        method.check(rows)
        if not hasattr(self, "coef_"):
            self._learn_names(X)
            self._descent = None
        else:
            self._check_names(X)
            if self._descent is None:  # from where `fit` left off, in units of these rows
                units = Units()
                if method.minibatch.scale_observation:
                    units = choose_units(rows, rows.weight, method.fit_intercept)
                self._descent = DescentState(self.coef_, self.intercept_, units)
        ridge = method.descent_ridge
        with one_blas_thread():
            # weights as they came: a share of one batch means nothing to the next
            self._descent = new = one_epoch(
                rows,
                raw_weight(given, sample_weight),
                state=self._descent,
                ridge=ridge,
                fit_intercept=method.fit_intercept,
                options=method.minibatch,
            )
        if ridge is None:  # β of the options is in scaled units
            ridge = method.minibatch.penalty * new.units.steepness / new.units.unit
        cost_now = rows.mean_cost(np.asarray(rows.features @ new.coefficients + new.intercept))
        solution = Solution(
            new.coefficients,
            new.intercept,
            objective=cost_now + ridge * float(new.coefficients @ new.coefficients),
            gap=float("nan"),
            residual=float("nan"),
            iterations=new.epochs,
            passes=1.0,
            method="mini-batch",
        )
        return self._keep(solution, rows, cost, ChosenBand(band), costs_by_row(underage, overage))

    def predict(self, X: Any) -> Array:
        """Decide for each row.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        features = read_features(X)
        self._check_names(X)
        return np.maximum(features @ self.coef_ + self.intercept_, self.least_)

    def _read(
        self, underage: ArrayLike | None, overage: ArrayLike | None
    ) -> tuple[LinearMethod, Cost, Band | BandRule | None]:
        cost = read_cost(self.cost)
        if underage is not None or overage is not None:
            cost = cost.with_rows(underage=underage, overage=overage)
        return LinearMethod(self), cost, read_band(self.band)

    def _keep(
        self,
        solution: Solution,
        rows: Rows,
        cost: Cost,
        chosen: ChosenBand,
        by_row: tuple[str, ...] = (),
    ) -> Self:
        """Set the fitted attributes."""
        self.coef_ = solution.coefficients
        self.intercept_ = solution.intercept
        self.solution_ = solution
        self.n_iter_ = solution.iterations
        shift_cost = ShiftCost.of(rows, self.coef_, self.intercept_)
        self._keep_choice(cost, chosen, by_row, shift_cost)
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
