"""What the location of the truth is linear in: the features, or trees where demand bends.

A plane with boosted trees on what it leaves, as many as rows held out ask for (`grow`); what these
say of the training rows and of any others (`Location`); and the columns of location and scale that
the likelihood sees (`LocationBasis`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from threadpoolctl import ThreadpoolController

from unmet.arrays import Array, Features
from unmet.censoring import constants as tuned
from unmet.censoring.latent.basis import Columns, least_squares
from unmet.censoring.latent.families import normal_terms
from unmet.censoring.latent.fitting import OrthogonalBasis
from unmet.censoring.latent.selection import ScaleName, behind
from unmet.errors import InvalidInput
from unmet.rows import Rows

Folds: TypeAlias = Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]
"""Rows to learn from, and rows held out; every row is held out once."""
_MAX_BINS = 255  # scikit-learn's


def one_thread() -> AbstractContextManager[Any]:
    """Let trees inside the ``with`` use one thread.

    They are small and many, and threads wait for each other several times in each of them: on two
    cores that others use as well, two threads take thirty times as long as one.
    """
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="openmp")
    return limit


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    """Find the loaded libraries, scikit-learn's among them; once, for it takes milliseconds."""
    return ThreadpoolController()


@dataclass(frozen=True)
class Bins:
    """Where a tree may split each column.

    scikit-learn would look for these places in every fit, and slowly where rows have weights.

    Attributes
    ----------
    edges : tuple of ndarray, one for each column
    """

    edges: tuple[Array, ...]

    @classmethod
    def of(cls, features: Array) -> Bins:
        """Between neighbouring values of a column, or between as many of its quantiles."""
        edges = []
        for column in features.T:
            values = np.unique(column)
            if values.size > _MAX_BINS:
                levels = np.linspace(0.0, 1.0, _MAX_BINS + 1)[1:-1]
                edges.append(np.unique(np.quantile(column, levels)))
            else:
                edges.append(np.asarray(0.5 * (values[1:] + values[:-1])))
        return cls(tuple(edges))

    def codes(self, features: Array) -> Array:
        """Give the number of the bin of each entry."""
        columns = zip(self.edges, features.T, strict=True)
        return np.column_stack([np.searchsorted(*each) for each in columns]).astype(np.float64)


@dataclass(frozen=True)
class Grown:
    """A fitted plane with its trees, and what fits that had not seen a row say of it.

    Attributes
    ----------
    bins : Bins
    plane : fitted regressor or None
        None where the trees stand on a constant.
    trees : fitted regressor or None
        None where rows held out ask for none.
    n_trees : int
    held_out : ndarray of shape (n_rows,)
    straight : ndarray of shape (n_rows,)
        The same of the plane, or of the constant, without trees.
    constant : float
        Instead of a plane.
    """

    bins: Bins
    plane: Any
    trees: Any
    n_trees: int
    held_out: Array
    straight: Array
    constant: float

    def to_state(self) -> dict[str, Any]:
        """Give what a saved model holds: nothing of the training rows."""
        return {**vars(self), "held_out": np.empty(0), "straight": np.empty(0)}

    def predict(self, features: Array) -> Array:
        """Prediction for any rows."""
        value = _straight(self.plane, features, self.constant)
        if self.trees is None:
            return value
        return np.asarray(value + self.trees.predict(self.bins.codes(features)))


@dataclass(frozen=True)
class Part:
    """Rows to learn from."""

    features: Array
    codes: Array
    target: Array
    weight: Array

    def take(self, index: NDArray[np.intp]) -> Part:
        """Keep some rows."""
        return Part(*(each[index] for each in vars(self).values()))


def grow(
    features: Array,
    target: Array,
    weight: Array,
    folds: Folds,
    bins: Bins,
    *,
    most: int,
    bends_only: bool = False,
    seed: int = 0,
) -> Grown:
    """Fit a plane and trees to a target; `bends_only` leaves the plane out.

    Boosted trees alone need many steps for a slope, and a plane misses every bend; trees on what
    the plane leaves need few for either. Their number is where the mean squared error of rows held
    out is least.

    Parameters
    ----------
    features, target, weight : ndarray
    folds : Folds
        Empty for a target without noise: then nothing is held out, and all trees are grown.
    bins : Bins
    most : int
        Trees at most.
    """
    rows, limit = Part(features, bins.codes(features), target, weight), most
    stages = np.full((1 + most // tuned.TREES_PER_LOOK, target.size), np.nan)
    for number, (inside, outside) in enumerate(folds):
        others, last = rows.take(outside), 0
        for last, value in enumerate(_staged(rows.take(inside), others, limit, bends_only, seed)):
            stages[last, outside] = value
        stages[last + 1 :, outside] = stages[last, outside]
        if number == 0:
            best = int(np.argmin(_errors(stages[:, outside], others)))
            limit = min(most, tuned.TREES_PER_LOOK * tuned.MORE_TREES * best + tuned.FURTHER_TREES)
    best = int(np.argmin(_errors(stages, rows))) if folds else len(stages) - 1
    plane, constant = _plane(rows, bends_only)
    trees = _boosted(rows, plane, constant, tuned.TREES_PER_LOOK * best, seed) if best else None
    return Grown(bins, plane, trees, tuned.TREES_PER_LOOK * best, stages[best], stages[0], constant)


def grow_again(
    features: Array, target: Array, weight: Array, folds: Folds, grown: Grown, seed: int = 0
) -> Array:
    """Predictions of rows held out, for another target, by as many trees as were grown before."""
    rows = Part(features, grown.bins.codes(features), target, weight)
    found = np.empty(target.size)
    for inside, outside in folds:
        parts = rows.take(inside), rows.take(outside)
        for value in _staged(*parts, grown.n_trees, grown.plane is None, seed):
            found[outside] = value
    return found


def _staged(rows: Part, others: Part, most: int, bends_only: bool, seed: int) -> Iterator[Array]:
    """Predictions of other rows by the plane, and after every few trees."""
    plane, constant = _plane(rows, bends_only)
    base = _straight(plane, others.features, constant)
    yield base
    if not most:
        return
    trees = _boosted(rows, plane, constant, most, seed)
    for number, value in enumerate(trees.staged_predict(others.codes), 1):
        if number % tuned.TREES_PER_LOOK == 0:
            yield base + value


def _errors(stages: Array, rows: Part) -> Array:
    return np.asarray((stages - rows.target) ** 2 @ rows.weight)


def _boosted(rows: Part, plane: Any, constant: float, count: int, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    left = rows.target - _straight(plane, rows.features, constant)
    trees = HistGradientBoostingRegressor(
        learning_rate=tuned.TREE_RATE,
        max_iter=count,
        max_leaf_nodes=tuned.TREE_LEAVES,
        max_bins=_MAX_BINS,
        early_stopping=False,
        random_state=seed,
    )
    equal = bool((rows.weight == rows.weight[0]).all())
    return trees.fit(rows.codes, left, sample_weight=None if equal else rows.weight)


def _plane(rows: Part, bends_only: bool) -> tuple[Any, float]:
    """Least squares, ridged where rows are few; or the mean."""
    from sklearn.linear_model import LinearRegression, Ridge

    if bends_only:
        return None, float(np.average(rows.target, weights=rows.weight))
    n_rows, n_columns = rows.features.shape
    few = n_rows < tuned.MIN_ROWS_PER_COLUMN * n_columns or n_columns > tuned.MAX_COLUMNS
    plane = Ridge(alpha=1.0) if few else LinearRegression()
    return plane.fit(rows.features, rows.target, sample_weight=rows.weight), 0.0


def _straight(plane: Any, features: Array, constant: float) -> Array:
    if plane is None:
        return np.full(features.shape[0], constant)
    return np.asarray(plane.predict(features), dtype=float)


@dataclass(frozen=True)
class Location:
    """Columns that stand for the features.

    Attributes
    ----------
    levels : tuple of fitted regressors
        The first follows the observations; further ones the truth, where it is known which rows are
        censored, and the orders, where ties show them.
    spread : fitted regressor or None
        Follows how far observations lie from the first; its logarithm is the last column.
    least : float
        Smallest sensible spread.
    held_out : ndarray of shape (n_rows, n_columns)
        Columns of the training rows, from fits without them: a fit has seen part of the noise of
        the rows it learned from, and would leave residuals too small and of another shape.
    gain : float
        Share of a plane's squared error, on rows held out, that the trees take away.
    """

    levels: tuple[Any, ...]
    spread: Grown | None
    least: float
    held_out: Array
    gain: float = 0.0

    @property
    def grown(self) -> bool:
        """Whether it is ours, not one that the user gave."""
        return isinstance(self.levels[0], Grown)

    def to_state(self) -> dict[str, Any]:
        """Give what a saved model holds: nothing of the training rows."""
        return {**vars(self), "held_out": np.empty((0, self.held_out.shape[1]))}

    def columns(self, features: Features) -> Array:
        """Columns of any rows."""
        if not self.grown:
            (given,) = self.levels
            return np.asarray(given.predict(features), dtype=float).reshape(-1, 1)
        rows = dense(features)
        with one_thread():
            values = [each.predict(rows) for each in self.levels]
            if self.spread is not None:
                values.append(np.log(np.maximum(self.spread.predict(rows), self.least)))
        return np.column_stack(values)


def looks_for_bends(setting: Any, estimator: Any) -> bool:
    """Whether trees may stand for the features: where asked for, or where the model can bend.

    Linear models have an intercept to fit, others have not.
    """
    if not isinstance(setting, str):
        return False
    bends = estimator is not None and not hasattr(estimator, "fit_intercept")
    return setting == "trees" or (setting == "auto" and bends)


def affordable(sample: Rows) -> bool:
    """Whether there are rows enough for trees, and a table that can be written out."""
    n_rows, n_columns = sample.features.shape
    return bool(n_rows >= tuned.MIN_FOR_TREES and n_rows * n_columns <= tuned.MAX_CELLS)


def find_location(
    sample: Rows,
    setting: Any,
    estimator: Any,
    seed: int,
    censored: NDArray[np.bool_] | None = None,
    order: Array | None = None,
) -> Location | None:
    """Decide what stands for the features; None where they do so themselves.

    Parameters
    ----------
    sample : Rows
    setting : "auto", "trees", regressor or None
    estimator : estimator or None
        The model that will be trained.
    seed : int
    censored : ndarray of bool, shape (n_rows,), optional
        Which rows are censored, where that is known of all.
    order : ndarray of shape (n_rows,), optional
        What was in stock, where that is known of some rows; NaN of others.
    """
    if setting is not None and not (isinstance(setting, str) and setting in ("auto", "trees")):
        return _given(sample, setting, seed)
    if not affordable(sample) or not looks_for_bends(setting, estimator):
        return None
    with one_thread():
        return _grown(sample, seed, censored, order)


def _grown(
    sample: Rows, seed: int, censored: NDArray[np.bool_] | None, order: Array | None
) -> Location | None:
    """Boosted trees, if they explain rows held out clearly better than a plane does."""
    from sklearn.model_selection import KFold

    features, weight, observed = dense(sample.features), sample.weight, sample.observation
    few = sample.n_rows < tuned.SMALL_SAMPLE and censored is None
    n_folds = tuned.MORE_TREE_FOLDS if few else tuned.TREE_FOLDS
    folds = list(KFold(n_folds, shuffle=True, random_state=seed).split(features))
    bins = Bins.of(features)
    level = grow(features, observed, weight, folds, bins, most=tuned.MAX_TREES, seed=seed)
    straight, bent = ((observed - each) ** 2 for each in (level.straight, level.held_out))
    gain, error = behind(straight, bent, weight)
    share = gain / max(float(np.average(straight, weights=weight)), 1e-300)
    if gain <= tuned.CLEARLY * error or share <= tuned.LEAST_GAIN:
        return None
    levels: list[Any] = [level]
    if censored is not None and censored.any():
        levels.append(_of_truth(features, observed, weight, folds, level, censored, seed))
    columns = [each.held_out for each in levels]
    if order is not None:
        levels.append(StockOf.learn(features, order, bins, seed))
        columns.append(levels[-1].predict(features))
    away = np.abs(observed - level.held_out)
    least = tuned.LEAST_TREE_SPREAD * float(np.average(away, weights=weight))
    most = tuned.MAX_SPREAD_TREES
    spread = grow(features, away, weight, folds, bins, most=most, bends_only=True, seed=seed)
    if spread.trees is not None:
        columns.append(np.log(np.maximum(spread.held_out, least)))
    followed = None if spread.trees is None else spread
    return Location(tuple(levels), followed, least, np.column_stack(columns), share)


@dataclass(frozen=True)
class StockOf:
    """Orders of any rows: those of the same features, otherwise what trees make of them.

    Attributes
    ----------
    table : dict from the bytes of a row of features to its order
    trees : fitted regressor
    """

    table: dict[bytes, float]
    trees: Any

    def __getstate__(self) -> dict[str, Any]:
        """Turn the table into two arrays: not every format has keys of bytes."""
        rows = np.frombuffer(b"".join(self.table)).reshape(len(self.table), -1)
        return {"rows": rows, "order": np.array(list(self.table.values())), "trees": self.trees}

    def __setstate__(self, state: dict[str, Any]) -> None:
        table = dict(zip(_keys(state["rows"]), state["order"].tolist(), strict=True))
        vars(self).update(table=table, trees=state["trees"])

    @classmethod
    def learn(cls, features: Array, order: Array, bins: Bins, seed: int) -> StockOf:
        """Read the table off rows whose order is known."""
        known = np.flatnonzero(~np.isnan(order))
        rows, stock = features[known], order[known]
        trees = grow(rows, stock, np.ones(stock.size), (), bins, most=tuned.MAX_TREES, seed=seed)
        return cls(dict(zip(_keys(rows), stock.tolist(), strict=True)), trees)

    def predict(self, features: Array) -> Array:
        """Order of each row."""
        found = np.array([self.table.get(key, np.nan) for key in _keys(features)])
        missing = np.isnan(found)
        if missing.any():
            found[missing] = self.trees.predict(features[missing])
        return found


def _keys(features: Array) -> list[bytes]:
    rows = np.ascontiguousarray(features, dtype=float) + 0.0  # there are two zeros
    return [row.tobytes() for row in rows]


def _of_truth(
    features: Array,
    observed: Array,
    weight: Array,
    folds: Folds,
    level: Grown,
    censored: NDArray[np.bool_],
    seed: int,
) -> Grown:
    """Trees that follow the truth: censored regression with normal noise, by Newton's steps.

    The log-likelihood of a censored row is log S(u), u = (s − location) / scale, with slope λ/scale
    in the location and curvature −λ(λ − u)/scale², λ the hazard. So each step fits a working
    response with these weights, a seen row being its own response with weight one.
    """
    location = level.held_out
    scale = float(np.sqrt(np.average((observed - location) ** 2, weights=weight)))
    for step in range(tuned.TREE_ROUNDS):
        u = (observed - location) / scale
        hazard = normal_terms(u).hazard
        curvature = np.clip(hazard * (hazard - u), tuned.LEAST_CURVATURE, 1.0)
        response = np.where(censored, location + scale * hazard / curvature, observed)
        counts = weight * np.where(censored, curvature, 1.0)
        counts = counts / counts.mean()
        if step < tuned.TREE_ROUNDS - 1:
            location = grow_again(features, response, counts, folds, level, seed)
            scale = _scale(observed, location, scale, censored, weight)
    most = tuned.MAX_TREES
    return grow(features, response, counts, folds, level.bins, most=most, seed=seed)


def _scale(
    observed: Array, location: Array, scale: float, censored: NDArray[np.bool_], weight: Array
) -> float:
    """One step of expectation and maximisation for the scale."""
    u = (observed - location) / scale
    # of a normal truth beyond u the mean square is 1 + uλ
    square = np.where(censored, 1.0 + u * normal_terms(u).hazard, u * u)
    return scale * float(np.sqrt(np.average(square, weights=weight)))


def _given(sample: Rows, regressor: Any, seed: int) -> Location:
    """Fit a copy on all rows; the training rows get predictions of fits that had not seen them."""
    from sklearn.model_selection import KFold, cross_val_predict

    folds = KFold(5, shuffle=True, random_state=seed)
    try:
        found = cross_val_predict(clone(regressor), sample.features, sample.observation, cv=folds)
        fitted = clone(regressor).fit(sample.features, sample.observation)
    except (TypeError, AttributeError, ValueError) as error:
        why = " ".join(str(error).split())[:120].replace(". ", ": ")
        raise InvalidInput(
            "location must be a scikit-learn regressor that can learn from these rows, 'auto', "
            f"'trees' or None, got {regressor!r}: {why}."
        ) from error
    return Location((fitted,), None, 0.0, np.asarray(found, dtype=float).reshape(-1, 1))


def dense(features: Features) -> Array:
    """Write out a sparse table: trees need every number."""
    return np.asarray(features.toarray() if sparse.issparse(features) else features)


@dataclass(frozen=True)
class LocationBasis:
    """How features become those of location and scale.

    Attributes
    ----------
    orthogonal : OrthogonalBasis
    location : Location or None
        What stands for the features.
    level_line : ndarray of shape (n_basis,)
        Least-squares fit of the observations in the basis: the level that the scale may follow.
    level_least, level_mean, level_size : float
        Its smallest sensible value, and mean and deviation of its logarithm.
    """

    orthogonal: OrthogonalBasis
    location: Location | None
    level_line: Array
    level_least: float
    level_mean: float
    level_size: float

    @classmethod
    def of(
        cls, sample: Rows, location: Location | None, random_state: int, *, shrinks: bool = False
    ) -> tuple[LocationBasis, Columns]:
        """Learn from a sample; also gives its basis. Slopes that are shrunk need fewer rows."""
        weight, features = sample.weight, sample.features
        few = not shrinks and sample.n_rows < tuned.MIN_ROWS_PER_COLUMN * features.shape[1]
        if location is None and (features.shape[1] > tuned.MAX_COLUMNS or few):
            from sklearn.linear_model import Ridge

            location = find_location(sample, Ridge(alpha=1.0), None, random_state)
        if location is not None:
            features = location.held_out
        orthogonal = OrthogonalBasis.of(features, weight)
        basis = orthogonal.columns(features)
        line = least_squares(basis, sample.observation, weight)
        level = basis @ line
        least = 0.02 * float(np.mean(np.abs(level))) or 1.0
        logs = np.log(np.maximum(level, least))
        size = float(np.std(logs)) or 1.0
        return cls(orthogonal, location, line, least, float(np.mean(logs)), size), basis

    def basis(self, features: Features) -> Array:
        """Location features of any rows."""
        if self.location is not None:
            features = self.location.columns(features)
        return self.orthogonal.basis(features)

    def scale_basis(self, basis: Columns, name: ScaleName) -> Columns:
        """Scale features of any rows."""
        if name == "constant":
            return np.empty((basis.shape[0], 0))
        if name == "features":
            return basis[:, 1:]
        logs = np.log(np.maximum(basis @ self.level_line, self.level_least))
        return ((logs - self.level_mean) / self.level_size)[:, None]
