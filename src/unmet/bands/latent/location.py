"""What stands for the features where demand bends: boosted trees, judged on rows held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_predict

from unmet.band import Array
from unmet.bands.latent.families import normal_terms
from unmet.bands.latent.race import behind
from unmet.bands.latent.trees import Bins, Folds, Grown, grow, grow_again, grow_freely, one_thread
from unmet.bands.sample import Sample
from unmet.errors import InvalidInput
from unmet.solvers.problem import Features

_FOLDS = 4
_MORE_FOLDS, _SMALL = 8, 2000  # with fewer rows none can be spared, if a pile must still be seen
_FEWEST = 150  # rows that can tell a bend from noise
_MOST_CELLS = 100_000_000  # numbers of a sparse table that may be written out
_TREES, _SPREAD_TREES = 300, 60
_CLEARLY, _GAIN = 3.0, 0.01  # standard errors, and share of the squared error
_LEAST_SPREAD = 0.2  # of the mean of it
_ROUNDS = 3
_LEAST_CURVATURE = 0.02


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


def affordable(sample: Sample) -> bool:
    """Whether there are rows enough for trees, and a table that can be written out."""
    n_rows, n_columns = sample.features.shape
    return bool(n_rows >= _FEWEST and n_rows * n_columns <= _MOST_CELLS)


def find_location(
    sample: Sample,
    setting: Any,
    estimator: Any,
    seed: int,
    censored: NDArray[np.bool_] | None = None,
    order: Array | None = None,
) -> Location | None:
    """Decide what stands for the features; None where they do so themselves.

    Parameters
    ----------
    sample : Sample
    setting : "auto", "trees", regressor or None
    estimator : estimator or None
        The model that will be trained.
    seed : int
    censored : ndarray of bool, shape (n_rows,), optional
        Which rows are censored, where that is known of all.
    order : ndarray of shape (n_rows,), optional
        What was in stock, where that is known of some rows; NaN of others.
    """
    ours = setting is None or (isinstance(setting, str) and setting in ("auto", "trees"))
    if not ours:
        return _given(sample, setting, seed)
    if not affordable(sample) or not looks_for_bends(setting, estimator):
        return None
    with one_thread():
        return _grown(sample, seed, censored, order)


def _grown(
    sample: Sample, seed: int, censored: NDArray[np.bool_] | None, order: Array | None
) -> Location | None:
    """Boosted trees, if they explain rows held out clearly better than a plane does."""
    features, weight, seen = dense(sample.features), sample.weight, sample.observation
    n_folds = _MORE_FOLDS if sample.n_rows < _SMALL and censored is None else _FOLDS
    folds = list(KFold(n_folds, shuffle=True, random_state=seed).split(features))
    bins = Bins.of(features)
    level = grow(features, seen, weight, folds, bins, most=_TREES, seed=seed)
    straight, bent = ((seen - each) ** 2 for each in (level.straight, level.held_out))
    gain, error = behind(straight, bent, weight)
    share = gain / max(float(np.average(straight, weights=weight)), 1e-300)
    if gain <= _CLEARLY * error or share <= _GAIN:
        return None
    levels: list[Any] = [level]
    if censored is not None and censored.any():
        levels.append(_of_truth(features, seen, weight, folds, level, censored, seed))
    columns = [each.held_out for each in levels]
    if order is not None:
        levels.append(StockOf.learn(features, order, bins, seed))
        columns.append(levels[-1].predict(features))
    away = np.abs(seen - level.held_out)
    least = _LEAST_SPREAD * float(np.average(away, weights=weight))
    spread = grow(
        features, away, weight, folds, bins, most=_SPREAD_TREES, bends_only=True, seed=seed
    )
    if spread.trees is None:
        return Location(tuple(levels), None, least, np.column_stack(columns), share)
    columns.append(np.log(np.maximum(spread.held_out, least)))
    return Location(tuple(levels), spread, least, np.column_stack(columns), share)


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
        trees = grow_freely(rows, stock, bins, count=_TREES, seed=seed)
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
    seen: Array,
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
    scale = float(np.sqrt(np.average((seen - location) ** 2, weights=weight)))
    grown = level
    for step in range(_ROUNDS):
        u = (seen - location) / scale
        hazard = normal_terms(u).hazard
        curvature = np.clip(hazard * (hazard - u), _LEAST_CURVATURE, 1.0)
        response = np.where(censored, location + scale * hazard / curvature, seen)
        counts = weight * np.where(censored, curvature, 1.0)
        counts = counts / counts.mean()
        if step < _ROUNDS - 1:
            location = grow_again(features, response, counts, folds, level, seed)
            scale = _scale(seen, location, scale, censored, weight)
        else:
            grown = grow(features, response, counts, folds, level.bins, most=_TREES, seed=seed)
    return grown


def _scale(
    seen: Array, location: Array, scale: float, censored: NDArray[np.bool_], weight: Array
) -> float:
    """One step of expectation and maximisation for the scale."""
    u = (seen - location) / scale
    # of a normal truth beyond u the mean square is 1 + uλ
    square = np.where(censored, 1.0 + u * normal_terms(u).hazard, u * u)
    return scale * float(np.sqrt(np.average(square, weights=weight)))


def _given(sample: Sample, regressor: Any, seed: int) -> Location:
    """Fit a copy on all rows; the training rows get predictions of fits that had not seen them."""
    folds = KFold(5, shuffle=True, random_state=seed)
    try:
        found = cross_val_predict(clone(regressor), sample.features, sample.observation, cv=folds)
        fitted = clone(regressor).fit(sample.features, sample.observation)
    except (TypeError, AttributeError, ValueError) as error:
        why = " ".join(str(error).split())[:120]
        raise InvalidInput(
            "location must be a scikit-learn regressor that can learn from these rows, 'auto', "
            f"'trees' or None, got {regressor!r}: {why}."
        ) from error
    return Location((fitted,), None, 0.0, np.asarray(found, dtype=float).reshape(-1, 1))


def dense(features: Features) -> Array:
    """Write out a sparse table: trees need every number."""
    return np.asarray(features.toarray() if sparse.issparse(features) else features)
