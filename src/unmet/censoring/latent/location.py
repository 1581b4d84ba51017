"""Inputs of the location of the truth: the features, or trees where demand bends.

`grow` fits a linear model, and boosted trees on its residuals, as many as held-out rows support.
`Location` gives their predictions for training rows and for any others. `LocationBasis` makes the
columns of location and scale that the likelihood uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from unmet.arrays import Array, Features, Mask
from unmet.censoring.latent.families import NORMAL, ratio
from unmet.censoring.latent.likelihood import Problem, ScaleName, maximise, row_likelihood
from unmet.censoring.latent.observed import Observed
from unmet.censoring.latent.selection import WORTH, behind, first_start
from unmet.rows import Rows
from unmet.validation import one_thread, refusal

Folds: TypeAlias = Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]
"""Rows to learn from, and rows held out; every row is held out once."""

MAX_COLUMNS = 256
"""With more columns the location is that of a ridge regression: p × p matrices would take over."""
_MAX_TREES, _TREES_PER_LOOK = 300, 5


def edges_of(features: Array) -> list[Array]:
    """Where trees may split each column: between its values, or its quantiles where it has many.

    scikit-learn would look for these places in every fit, and slowly where rows have weights.
    """
    edges = []
    for column in features.T:
        values = np.unique(column)
        if values.size > 255:
            quantiles = np.quantile(column, np.linspace(0.0, 1.0, 256)[1:-1])
            edges.append(np.unique(quantiles))
        else:
            edges.append(np.asarray(0.5 * (values[1:] + values[:-1])))
    return edges


class Grown:
    """A linear model, or a constant, and boosted trees on its residuals."""

    def __init__(
        self,
        edges: list[Array],
        features: Array,
        target: Array,
        weight: Array,
        count: int,
        seed: int,
        *,
        plane: bool,
    ) -> None:
        from sklearn.ensemble import HistGradientBoostingRegressor
        from sklearn.linear_model import LinearRegression, Ridge

        self.edges, self.plane, self.count = edges, None, count
        self.constant = float(np.average(target, weights=weight))
        if plane:
            few = len(target) < 5 * features.shape[1] or features.shape[1] > MAX_COLUMNS
            linear = Ridge(alpha=1.0) if few else LinearRegression()
            self.plane = linear.fit(features, target, sample_weight=weight)
        self.trees: Any = None
        if count:
            trees = HistGradientBoostingRegressor(
                learning_rate=0.2,
                max_iter=count,
                max_leaf_nodes=6,
                early_stopping=False,
                random_state=seed,
            )
            left = target - self.straight(features)
            equal = bool((weight == weight[0]).all())
            self.trees = trees.fit(self.codes(features), left, None if equal else weight)

    def codes(self, features: Array) -> Array:
        """Give the number of the bin of each entry."""
        columns = zip(self.edges, features.T, strict=True)
        return np.column_stack([np.searchsorted(*each) for each in columns]).astype(np.float64)

    def straight(self, features: Array) -> Array:
        """Prediction without trees."""
        if self.plane is None:
            return np.full(features.shape[0], self.constant)
        return np.asarray(self.plane.predict(features), dtype=float)

    def predict(self, features: Array) -> Array:
        """Prediction for any rows."""
        value = self.straight(features)
        if self.trees is None:
            return value
        return np.asarray(value + self.trees.predict(self.codes(features)))


def grow(
    features: Array,
    target: Array,
    weight: Array,
    folds: Folds,
    seed: int,
    *,
    most: int = _MAX_TREES,
    plane: bool = True,
) -> tuple[Grown, Array, Array]:
    """Fit a linear model and trees to a target; give held-out predictions with and without trees.

    Boosted trees alone need many steps for a slope, and a linear model misses every bend. Trees on
    the residuals need few steps for either. Their number minimises the mean squared error of
    held-out rows.
    """
    stages, limit = np.full((1 + most // _TREES_PER_LOOK, target.size), np.nan), most
    edges = edges_of(features)
    for number, (inside, outside) in enumerate(folds):
        part = features[inside], target[inside], weight[inside]
        grown = Grown(edges, *part, limit, seed, plane=plane)
        others = features[outside]
        stages[:, outside] = grown.straight(others)
        staged = grown.trees.staged_predict(grown.codes(others)) if limit else ()
        for count, value in enumerate(staged, 1):
            if count % _TREES_PER_LOOK == 0:
                stages[count // _TREES_PER_LOOK :, outside] = stages[0, outside] + value
        if number == 0:  # the others may need twice as many, and some more
            error = (stages[:, outside] - target[outside]) ** 2 @ weight[outside]
            limit = min(most, 2 * _TREES_PER_LOOK * int(np.argmin(error)) + 20)
    best = int(np.argmin((stages - target) ** 2 @ weight))
    found = Grown(edges, features, target, weight, _TREES_PER_LOOK * best, seed, plane=plane)
    return found, stages[best], stages[0]


class Location:
    """Columns that replace the features.

    Attributes
    ----------
    levels : list of fitted regressors
        The first follows the observations; a second one follows the truth, if it is known which
        rows are censored.
    spread : fitted regressor or None
        Follows the distance of observations from the first; its logarithm is the last column.
    least : float
        Smallest sensible spread.
    held_out : ndarray of shape (n_rows, n_columns)
        Columns of the training rows, from fits without them. A fit has seen part of the noise of
        its training rows, and would leave residuals too small and of another shape.
    gain : float
        Share of the linear model's squared error, on held-out rows, that the trees remove.
    """

    def __init__(self, levels: list[Any], columns: list[Array], gain: float = 0.0) -> None:
        self.levels, self.held_out, self.gain = levels, np.column_stack(columns), gain
        self.spread: Grown | None = None
        self.least = 0.0

    def to_state(self) -> dict[str, Any]:
        """Give what a saved model holds: nothing of the training rows."""
        return {**vars(self), "held_out": np.empty((0, self.held_out.shape[1]))}

    def columns(self, features: Features) -> Array:
        """Columns of any rows."""
        if not isinstance(self.levels[0], Grown):  # one that the user gave
            return np.asarray(self.levels[0].predict(features), dtype=float).reshape(-1, 1)
        rows = dense(features)
        with one_thread("openmp"):
            values = [each.predict(rows) for each in self.levels]
            if self.spread is not None:
                values.append(np.log(np.maximum(self.spread.predict(rows), self.least)))
        return np.column_stack(values)


def looks_for_bends(setting: Any, estimator: Any) -> bool:
    """Whether trees may replace the features: if asked for, or if the model can bend.

    Only linear models have an intercept to fit.
    """
    if not isinstance(setting, str):
        return False
    bends = estimator is not None and not hasattr(estimator, "fit_intercept")
    return setting == "trees" or (setting == "auto" and bends)


def find_location(
    sample: Rows,
    setting: Any,
    estimator: Any,
    seed: int,
    notes: list[str],
    censored: Array | None = None,
    *,
    logs: bool = False,
) -> Location | None:
    """Choose the replacement of the features and note it; None if features are used as they are.

    Parameters
    ----------
    sample : Rows
        Training rows.
    setting : "auto", "trees", regressor or None
        Parameter `location` of `LatentBand`.
    estimator : estimator or None
        The model that will be trained.
    seed : int
        Seed of the folds.
    notes : list of str
        Findings, to which the function appends.
    censored : ndarray of shape (n_rows,), optional
        1 if a row is censored, 0 if not, NaN if unknown.
    logs : bool, default=False
        Whether every family uses logarithms, as those of lifetimes do.
    """
    if setting is not None and not (isinstance(setting, str) and setting in ("auto", "trees")):
        notes.append("Predictions of the regressor given as location stand for the features.")
        return _given(sample, setting, seed)
    n_rows, n_columns = sample.features.shape
    # fewer rows cannot tell a bend from noise, and trees need every number of a sparse table
    if not looks_for_bends(setting, estimator) or n_rows < 150 or n_rows * n_columns > 100_000_000:
        return None
    known = None if censored is None or np.isnan(censored).any() else censored == 1
    # trees are small and many: two threads, on two cores that others use, take thirty times as long
    with one_thread("openmp"):
        if sample.limits is not None:
            location = _grown_on_limits(sample, seed)
        elif logs and known is not None:
            location = _grown_on_limits(
                replace(sample, observation=np.log(sample.observation)), seed
            )
        else:
            location = _grown(sample, seed, known)
    if location is not None:
        less = f", {location.gain:.0%} of its squared error less" if location.gain else ""
        notes.append(
            "Boosted trees stand for the features: they explain rows held out better than a "
            f"plane{less}."
        )
    return location


def _grown(sample: Rows, seed: int, censored: Mask | None) -> Location | None:
    """Boosted trees, if they explain rows held out clearly better than a plane does."""
    from sklearn.model_selection import KFold

    features, weight, observed = dense(sample.features), sample.weight, sample.observation
    # of few rows none can be spared if a point mass must still be seen
    few = sample.n_rows < 2000 and censored is None
    folds = list(KFold(8 if few else 4, shuffle=True, random_state=seed).split(observed))
    level, held_out, plane = grow(features, observed, weight, folds, seed)
    straight, bent = (observed - plane) ** 2, (observed - held_out) ** 2
    gain, error = behind(straight, bent, weight)
    share = gain / max(float(np.average(straight, weights=weight)), 1e-300)
    if gain <= 3.0 * error or share <= 0.01:
        return None
    location = Location([level], [held_out], share)
    if censored is not None and censored.any():
        # Trees that follow the truth: censored regression with normal noise, by Newton's steps. The
        # log-likelihood of a censored row is log S(u), u = (s − location) / scale, with slope
        # λ/scale in the location and curvature −λ(λ − u)/scale², λ the hazard. So each step fits a
        # working response with these weights, a seen row being its own response with weight one;
        # the first steps by at most as many trees as follow the observations.
        at, scale = held_out, float(np.sqrt(np.average((observed - held_out) ** 2, weights=weight)))
        for most in (level.count, level.count, _MAX_TREES):
            u = (observed - at) / scale
            hazard = ratio(NORMAL.density(u)[0], NORMAL.log_survival(u))
            curvature = np.clip(hazard * (hazard - u), 0.02, 1.0)
            response = np.where(censored, at + scale * hazard / curvature, observed)
            counts = weight * np.where(censored, curvature, 1.0)
            counts = counts / counts.mean()
            truth, at, _ = grow(features, response, counts, folds, seed, most=most)
            u = (observed - at) / scale
            # of a normal truth beyond u the mean square is 1 + uλ: expectation-maximisation
            hazard = ratio(NORMAL.density(u)[0], NORMAL.log_survival(u))
            square = np.where(censored, 1.0 + u * hazard, u * u)
            scale *= float(np.sqrt(np.average(square, weights=weight)))
        location = Location([level, truth], [held_out, at], share)
    away = np.abs(observed - held_out)
    spread, far, _ = grow(features, away, weight, folds, seed, most=60, plane=False)
    if spread.trees is not None:
        location.spread, location.least = spread, 0.2 * float(np.average(away, weights=weight))
        logs = np.log(np.maximum(far, location.least))
        location.held_out = np.column_stack([location.held_out, logs])
    return location


def _given(sample: Rows, regressor: Any, seed: int) -> Location:
    """Fit a copy on all rows; the training rows get predictions of fits that had not seen them."""
    from sklearn.model_selection import KFold, cross_val_predict

    if not (hasattr(regressor, "fit") and hasattr(regressor, "predict")):
        allowed = "a scikit-learn regressor, 'auto', 'trees' or None"
        raise refusal("location", allowed, regressor)
    folds = KFold(5, shuffle=True, random_state=seed)
    found = cross_val_predict(clone(regressor), sample.features, sample.observation, cv=folds)
    fitted = clone(regressor).fit(sample.features, sample.observation)
    return Location([fitted], [np.asarray(found, dtype=float)])


def _grown_on_limits(sample: Rows, seed: int) -> Location | None:
    """Trees that follow a truth of which only limits are known, if these explain rows better.

    Trees cannot be grown on observations here, for a price that was asked is no truth. They are
    grown on what a normal distribution makes of the limits, step by step: with ℓ the
    log-probability of a row's limits, each step fits the working response location − ℓ'/ℓ'' with
    weight −ℓ''.
    """
    from sklearn.model_selection import KFold

    features, weight, observed = dense(sample.features), sample.weight, Observed.of(sample)
    folds = list(KFold(4, shuffle=True, random_state=seed).split(weight))

    def normal(columns: Array) -> tuple[Array, float, Array, Problem]:
        """Location, scale and scores of the rows by the likeliest normal distribution."""
        _, basis = LocationBasis.learn(replace(sample, features=columns), None, seed, shrinks=True)
        none = {"constant": np.empty((weight.size, 0))}
        rows = Observed(**{**vars(observed), "basis": basis, "scale_bases": none})
        problem = rows.problem(rows.model(NORMAL))
        parameters, _ = maximise(problem, first_start(problem))
        _, location, log_scale = problem.residual(parameters)
        return location, float(np.exp(log_scale[0])), problem.values(parameters), problem

    location, scale, straight, problem = normal(features)
    for _ in range(2):
        u, step, logs = (
            (problem.point - location) / scale,
            1e-4,
            np.full(weight.size, np.log(scale)),
        )
        less, slope, more = (
            row_likelihood(NORMAL, 0.0, None, at, logs, problem.kind, problem.width)[1]
            for at in (u - step, u, u + step)
        )
        curvature = np.clip((less - more) / (2.0 * step), 0.05, 1.0)
        counts = weight * curvature / np.average(curvature, weights=weight)
        response = location - scale * slope / curvature
        grown, held_out, _ = grow(features, response, counts, folds, seed, most=200)
        location, scale, bent, problem = normal(held_out[:, None])
        gain, error = behind(bent, straight, weight)
        if gain <= 0.0:  # no second step makes up for it
            return None
    # the plane has seen the rows that it is scored on, and is favoured by that
    if gain <= 3.0 * error or gain * weight.size <= WORTH:
        return None
    return Location([grown], [held_out])


def dense(features: Features) -> Array:
    """Write out a sparse table: trees need every number."""
    return np.asarray(features.toarray() if sparse.issparse(features) else features)


class LocationBasis:
    """A constant and an orthogonal basis of what the features span, or of what stands for them.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
    turn : ndarray of shape (n_features, n_basis - 1)
        Centred features times this are uncorrelated and of mean square one on the training rows.
    stretch : ndarray of shape (n_basis - 1,)
        Sum of squared slopes of the standardised features that one unit of a basis slope is: what a
        ridge on these must charge.
    level_line : ndarray of shape (n_basis,)
        Least-squares fit of the observations in the basis: the level that the scale may follow.
    level_least, level_mean, level_size : float
        Its smallest sensible value, and mean and deviation of its logarithm.
    location : Location or None
        What stands for the features.
    """

    mean: Array
    turn: Array
    stretch: Array
    level_line: Array
    level_least: float
    level_mean: float
    level_size: float
    location: Location | None = None

    @classmethod
    def learn(
        cls, sample: Rows, location: Location | None, seed: int, *, shrinks: bool
    ) -> tuple[LocationBasis, Array]:
        """Learn from a sample; also gives its basis. Slopes that are shrunk need fewer rows."""
        n_columns = sample.features.shape[1]
        few = not shrinks and sample.n_rows < 5 * n_columns  # held-out rows could tell nothing
        if location is None and (n_columns > MAX_COLUMNS or few):
            from sklearn.linear_model import Ridge

            location = _given(sample, Ridge(alpha=1.0), seed)
        features = sample.features if location is None else location.held_out
        found, weight = cls(), sample.weight
        found.location, share = location, weight / weight.sum()
        found.mean = np.asarray(share @ features)
        second = features.T @ (sparse.diags_array(share) @ features)
        second = np.asarray(second.todense() if sparse.issparse(second) else second)
        covariance = second - np.outer(found.mean, found.mean)
        size = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        # A column counts as constant when its spread is rounding beside its size.
        moves = size > 1e-7 * np.sqrt(np.maximum(np.diag(second), 1e-300))
        size = np.where(moves, size, 1.0)
        scaled = covariance / size[:, None] / size * np.outer(moves, moves)
        values, vectors = np.linalg.eigh(scaled)
        kept = values > 1e-9 * max(float(values[-1]), 1e-300) if values.size else values > 0
        turn = vectors[:, kept] / np.sqrt(values[kept]) / size[:, None]
        found.turn, found.stretch = turn * moves[:, None], 1.0 / values[kept]
        basis, root = found._turned(features), np.sqrt(weight)
        line = np.linalg.lstsq(basis * root[:, None], sample.observation * root, rcond=None)[0]
        found.level_line = np.asarray(line, dtype=np.float64)
        level = basis @ found.level_line
        found.level_least = 0.02 * float(np.mean(np.abs(level))) or 1.0
        logs = np.log(np.maximum(level, found.level_least))
        found.level_mean, found.level_size = float(np.mean(logs)), float(np.std(logs)) or 1.0
        return found, basis

    def basis(self, features: Features) -> Array:
        """Location features of any rows."""
        return self._turned(features if self.location is None else self.location.columns(features))

    def _turned(self, features: Features) -> Array:
        columns = features @ self.turn - self.mean @ self.turn
        return np.column_stack([np.ones(columns.shape[0]), columns])

    def scale_basis(self, basis: Array, name: ScaleName) -> Array:
        """Scale features of any rows."""
        if name == "constant":
            return np.empty((basis.shape[0], 0))
        if name == "features":
            return basis[:, 1:]
        logs = np.log(np.maximum(basis @ self.level_line, self.level_least))
        return np.asarray((logs - self.level_mean) / self.level_size)[:, None]
