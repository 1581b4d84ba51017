"""Quantiles of the observations as they are: what a decision model makes of them without a band."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from unmet.band import Array, Numbers
from unmet.costs import Newsvendor
from unmet.solvers.exact import solve_exact
from unmet.solvers.problem import HingeProblem

_LEVELS = 12
"""Levels at which a varying one is solved for; others are interpolated."""


@dataclass(frozen=True)
class SeenQuantiles:
    """Linear quantiles of the observations in the features of the location.

    The likelihood also says what the quantiles of the observation are, but it takes orders to move
    with the truth. Real ones do not on every day: a promotion lifts demand and not the order. The
    observations themselves know that.

    Attributes
    ----------
    basis : ndarray of shape (n_rows, n_basis)
        A constant first.
    observation, weight : ndarray of shape (n_rows,)
    """

    basis: Array
    observation: Array
    weight: Array
    solved: dict[float, Array] = field(default_factory=dict, repr=False, compare=False)

    def quantile(self, basis: Array, level: Numbers) -> Array:
        """Conditional quantile of any rows, at one level or at one for each row."""
        if np.ndim(level) == 0:
            return np.asarray(basis @ self._line(float(level)))
        levels, back = np.unique(level, return_inverse=True)
        if levels.size > _LEVELS:
            levels = np.linspace(levels[0], levels[-1], _LEVELS)
            return self._between(basis, np.asarray(level), levels)
        lines = np.stack([self._line(float(each)) for each in levels])
        return np.asarray(np.einsum("ij,ij->i", basis, lines[back]))

    def _between(self, basis: Array, level: Array, levels: Array) -> Array:
        values = np.stack([basis @ self._line(float(each)) for each in levels])
        right = np.clip(np.searchsorted(levels, level), 1, levels.size - 1)
        rows = np.arange(level.size)
        share = (level - levels[right - 1]) / (levels[right] - levels[right - 1])
        return np.asarray((1 - share) * values[right - 1, rows] + share * values[right, rows])

    def _line(self, level: float) -> Array:
        """Coefficients of one quantile, the constant first; solved once."""
        if level not in self.solved:
            share = self.weight / self.weight.sum()
            kinks = Newsvendor.at_level(level).kinks(self.observation, None, share)
            found = solve_exact(HingeProblem(np.ascontiguousarray(self.basis[:, 1:]), kinks))
            self.solved[level] = np.append(found.intercept, found.coefficients)
        return self.solved[level]
