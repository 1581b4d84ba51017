"""The level a cost asks for, and linear quantiles of the observations at any level."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from unmet.band import Array, Band
from unmet.bands.sample import Sample
from unmet.costs import Cost, Newsvendor, PiecewiseLinearCost
from unmet.errors import InvalidInput, Unsupported
from unmet.solvers.path import solve_path
from unmet.solvers.problem import Features, HingeProblem
from unmet.solvers.shortest import shortest

Levels: TypeAlias = NDArray[np.float64]

_MOST_LEVELS = 25  # more levels than these are interpolated between lines


def levels_of(cost: Cost, rule: str, n_rows: int) -> Levels:
    """Level α of each row: which quantile of the truth costs least.

    Parameters
    ----------
    cost : Cost
    rule : str
        Who asks, for the sentence of the error.
    n_rows : int
    """
    if not isinstance(cost, PiecewiseLinearCost):
        raise Unsupported(
            f"{rule} needs a cost whose best decision is a quantile, such as Newsvendor, "
            f"and {type(cost).__name__} has no level: use AuditedBand."
        )
    level = np.broadcast_to(np.asarray(cost.level, dtype=np.float64), (n_rows,))
    inside = (level > 0) & (level < 1)
    if not inside.all():
        row = int(np.argmin(inside))
        raise InvalidInput(
            f"{rule} needs a cost whose level lies strictly between 0 and 1, got {level[row]}."
        )
    return level


def shift_band(truth: Array, observed: Array) -> Band:
    """Band without width, at the distance between two quantiles of a row; never below 0."""
    shift = np.maximum(truth - observed, 0.0)
    return Band(low=shift, high=shift)


class LinearQuantiles:
    """Linear quantile regressions of the observations, solved exactly when first asked for.

    A linear model trained on observations + ε, with ε = (any linear function) − (the line of its
    own level), returns that function: quantile regression is equivariant. So for linear models a
    rule that subtracts these lines gives exactly its own estimate of the truth's quantile, and
    other models keep what they know about the observations beyond a line.

    Parameters
    ----------
    sample : Sample
        Kept by reference, for levels that nobody has asked for yet.
    """

    def __init__(self, sample: Sample) -> None:
        self._features = sample.features
        self._observation = sample.observation
        self._share = sample.share
        self._lines: dict[float, Array] = {}

    def lines(self, levels: Levels) -> Array:
        """Coefficients of each level, the intercept last: shape (n_levels, n_features + 1)."""
        missing = sorted({float(level) for level in levels} - self._lines.keys())
        share = 1.0 / self._observation.size if self._share is None else self._share
        kinks = [
            Newsvendor.at_level(level).kinks(self._observation, None, share) for level in missing
        ]
        solutions = solve_path(self._features, kinks)
        for level, each, solution in zip(missing, kinks, solutions, strict=True):
            found = shortest(HingeProblem(self._features, each), solution)
            self._lines[level] = np.append(found.coefficients, found.intercept)
        return np.array([self._lines[float(level)] for level in levels])

    def predict(self, features: Features, level: Levels) -> Array:
        """Quantile of each row at its own level, shape (n_rows,)."""
        knots, place = np.unique(level, return_inverse=True)
        if knots.size > _MOST_LEVELS:
            return self._between(features, level)
        values = evaluate(self.lines(knots), features)
        return values[np.arange(level.size), place]

    def _between(self, features: Features, level: Levels) -> Array:
        """Interpolate in the normal score between lines: smoother there than in the level."""
        score = ndtri(level)
        knots = np.linspace(score.min(), score.max(), _MOST_LEVELS)
        position = np.interp(score, knots, np.arange(_MOST_LEVELS))
        left = np.minimum(position.astype(np.intp), _MOST_LEVELS - 2)
        values, rows = (
            evaluate(self.lines(np.asarray(ndtr(knots))), features),
            np.arange(level.size),
        )
        share = position - left
        mixed: Array = (1.0 - share) * values[rows, left] + share * values[rows, left + 1]
        return mixed


def evaluate(lines: Array, features: Features) -> Array:
    """Value of every line in every row, shape (n_rows, n_lines)."""
    values: Array = features @ lines[:, :-1].T + lines[:, -1]
    return values
