"""Observations piled up on a plane: orders that were exactly linear in the features.

Observations never exceed the order. If orders are linear in the features, the rows that sold out
lie exactly on a plane, and every quantile of the observations at a level between the chance of not
selling out and one *is* that plane. So a few exact linear fits find it, and with it the flags.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array
from unmet.costs import Newsvendor
from unmet.errors import SolverFailure
from unmet.solvers.exact import solve_exact
from unmet.solvers.problem import Features, HingeProblem, Solution

_LEVELS = (0.9, 0.65, 0.4)
_CERTAIN = 6.0  # standard errors
_NEARLY_ALL = 0.8


@dataclass(frozen=True)
class Pile:
    """Plane on which observations pile up.

    Attributes
    ----------
    coefficients : ndarray of shape (n_features,)
    intercept : float
    on, above : ndarray of bool, shape (n_rows,)
        Training rows that lie on it and above it.
    mean, size : float
        Mean and deviation of the plane over the training rows.
    width : float
        How far from it rounding may put a row.
    """

    coefficients: Array
    intercept: float
    on: NDArray[np.bool_]
    above: NDArray[np.bool_]
    mean: float
    size: float
    width: float

    def basis(self, features: Features) -> Array:
        """Give a constant and the orders, centred and of size one on the training rows."""
        orders = (self.level(features) - self.mean) / self.size
        return np.column_stack([np.ones(orders.size), orders])

    def holds(self, features: Features, observation: Array) -> NDArray[np.bool_]:
        """Whether rows lie on the plane."""
        return np.asarray(np.abs(observation - self.level(features)) <= self.width)

    def level(self, features: Features) -> Array:
        """Orders of any rows."""
        return np.asarray(features @ self.coefficients + self.intercept)


def find_pile(
    features: Features, observation: Array, lattice: float, counts: NDArray[np.bool_]
) -> Pile | None:
    """Look for a plane that more rows lie on than chance allows; None if there is none.

    Parameters
    ----------
    features, observation
    lattice : float
        Observations are multiples of it; 0 if of nothing.
    counts : ndarray of bool
        Rows to look at: not those at the bottom of what can be observed.
    """
    rows = np.flatnonzero(counts)
    if rows.size < 4 * (features.shape[1] + 1):
        return None
    inside, seen = features[rows], observation[rows]
    best: Pile | None = None
    for level in _LEVELS:
        kinks = Newsvendor.at_level(level).kinks(seen, None, 1.0 / rows.size)
        try:
            plane = solve_exact(HingeProblem(inside, kinks))
        except SolverFailure:
            continue
        pile = _read(features, observation, plane, lattice, counts)
        if pile is not None and (best is None or pile.on.sum() > best.on.sum()):
            best = pile
        if best is not None:
            break
    return best


def _read(
    features: Features,
    observation: Array,
    solution: Solution,
    lattice: float,
    counts: NDArray[np.bool_],
) -> Pile | None:
    """Count rows on the plane, and compare with what rounding or chance would put there."""
    coefficients, intercept = solution.coefficients, solution.intercept
    plane = features @ coefficients + intercept
    distance = observation - plane
    # the mean: where most rows lie on the plane, the median is but rounding
    spread = float(np.abs(distance[counts]).mean())
    most = float(np.quantile(np.abs(distance[counts]), 0.9))
    if most > 1e-9 * spread:
        spread = min(spread, 10.0 * most)  # one absurd row must not widen the plane
    if spread <= 1e-9 * float(np.abs(observation[counts]).max()):
        return None  # everything lies on a plane: nothing is left to explain
    width = 1e-6 * spread
    on = (np.abs(distance) <= width) & counts
    # A fit passes through as many rows as it has parameters, and their copies with them.
    copies = 1.0 if lattice else _copies(observation[counts & ~on])  # ties of a lattice: below
    chance = (coefficients.size + 1.0) * copies
    if lattice:
        chance += _tied(distance, lattice, width)
        if on.sum() > _NEARLY_ALL * counts.sum():
            return None  # of few whole numbers one is nearly always the most frequent
    if on.sum() <= chance + _CERTAIN * np.sqrt(chance) + 0.02 * counts.sum():
        return None
    above = (distance > width) & counts
    size = float(plane.std()) or 1.0
    return Pile(coefficients, intercept, on, above, float(plane.mean()), size, width)


def _copies(observation: Array) -> float:
    """How often a row off the plane shares its observation, in the mean over rows."""
    if not observation.size:
        return 1.0
    counts = np.unique(observation, return_counts=True)[1]
    return float((counts**2).sum() / counts.sum())


def _tied(distance: Array, lattice: float, width: float) -> float:
    """Rows that tie on the plane because observations are multiples of a lattice.

    As many as lie one step off, at the bottom too; and where a few steps are all there is, as many
    as may follow on those one and two steps below: a log-concave law has pₖ ≤ pₖ₋₁² / pₖ₋₂.
    """
    above, below, further = (
        float((np.abs(distance - step * lattice) <= width).sum()) for step in (1, -1, -2)
    )
    return max(above + below, (below + 1.0) ** 2 / (further + 1.0))
