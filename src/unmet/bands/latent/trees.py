"""A plane, and boosted trees on what it leaves, as many as rows held out ask for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from unmet.band import Array
from unmet.bands.latent.design import FEWEST_ROWS, MOST_COLUMNS

Folds: TypeAlias = Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]
"""Rows to learn from, and rows held out; every row is held out once."""
_LEAVES = 6
_RATE = 0.2
_EVERY = 5  # trees between two looks at the rows held out
_MORE, _FURTHER = 2, 20  # how many more trees than in the first fold the others may need
_MOST_BINS = 255  # scikit-learn's


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
        return cls(tuple(_edges(column) for column in features.T))

    def codes(self, features: Array) -> Array:
        """Give the number of the bin of each entry."""
        columns = zip(self.edges, features.T, strict=True)
        return np.column_stack([np.searchsorted(*each) for each in columns]).astype(np.float64)


def _edges(column: Array) -> Array:
    values = np.unique(column)
    if values.size > _MOST_BINS:
        levels = np.linspace(0.0, 1.0, _MOST_BINS + 1)[1:-1]
        return np.unique(np.quantile(column, levels))
    return np.asarray(0.5 * (values[1:] + values[:-1]))


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

    def predict(self, features: Array) -> Array:
        """Prediction for any rows."""
        value = _straight(self.plane, features, self.constant)
        return (
            value if self.trees is None else value + self.trees.predict(self.bins.codes(features))
        )


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
    bins : Bins
    most : int
        Trees at most.
    """
    rows, limit = Part(features, bins.codes(features), target, weight), most
    stages = np.empty((1 + most // _EVERY, target.size))
    for number, (inside, outside) in enumerate(folds):
        others, last = rows.take(outside), 0
        for last, value in enumerate(_staged(rows.take(inside), others, limit, bends_only, seed)):
            stages[last, outside] = value
        stages[last + 1 :, outside] = stages[last, outside]
        if number == 0:
            best = int(np.argmin(_errors(stages[:, outside], others)))
            limit = min(most, _EVERY * _MORE * best + _FURTHER)
    best = int(np.argmin(_errors(stages, rows)))
    plane, constant = _plane(rows, bends_only)
    trees = _boosted(rows, plane, constant, _EVERY * best, seed) if best else None
    return Grown(bins, plane, trees, _EVERY * best, stages[best], stages[0], constant)


def grow_freely(features: Array, target: Array, bins: Bins, *, count: int, seed: int = 0) -> Grown:
    """Fit a plane and so many trees to a target without noise, where nothing need be held out."""
    rows = Part(features, bins.codes(features), target, np.ones(target.size))
    plane, constant = _plane(rows, False)
    trees = _boosted(rows, plane, constant, count, seed)
    nothing = np.empty(0)
    return Grown(bins, plane, trees, count, nothing, nothing, constant)


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
        if number % _EVERY == 0:
            yield base + value


def _errors(stages: Array, rows: Part) -> Array:
    return np.asarray((stages - rows.target) ** 2 @ rows.weight)


def _boosted(rows: Part, plane: Any, constant: float, count: int, seed: int) -> Any:
    left = rows.target - _straight(plane, rows.features, constant)
    trees = HistGradientBoostingRegressor(
        learning_rate=_RATE,
        max_iter=count,
        max_leaf_nodes=_LEAVES,
        max_bins=_MOST_BINS,
        early_stopping=False,
        random_state=seed,
    )
    equal = bool((rows.weight == rows.weight[0]).all())
    return trees.fit(rows.codes, left, sample_weight=None if equal else rows.weight)


def _plane(rows: Part, bends_only: bool) -> tuple[Any, float]:
    """Least squares, ridged where rows are few; or the mean."""
    if bends_only:
        return None, float(np.average(rows.target, weights=rows.weight))
    n_rows, n_columns = rows.features.shape
    few = n_rows < FEWEST_ROWS * n_columns or n_columns > MOST_COLUMNS
    plane = Ridge(alpha=1.0) if few else LinearRegression()
    return plane.fit(rows.features, rows.target, sample_weight=rows.weight), 0.0


def _straight(plane: Any, features: Array, constant: float) -> Array:
    if plane is None:
        return np.full(features.shape[0], constant)
    return np.asarray(plane.predict(features), dtype=float)
