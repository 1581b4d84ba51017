"""Empirical stability: leave out each row, solve exactly again, and see how far costs move."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from unmet.band import Array, Band
from unmet.costs import Kinks, Newsvendor, PiecewiseLinearCost
from unmet.errors import InvalidInput
from unmet.rows import read_column, read_features
from unmet.solvers.exact import solve_exact
from unmet.solvers.highs import solve_highs
from unmet.solvers.problem import HingeProblem
from unmet.theory.parameters import Price, positive_number, read_steepness

LeftOut = Literal["costs nothing", "is gone"]
SolverName = Literal["exact", "highs"]


@dataclass(frozen=True)
class Movement:
    """How far one row moves the costs of linear decisions.

    Attributes
    ----------
    coefficients : ndarray of shape (n_features,)
        Fitted to all rows.
    without : ndarray of shape (n_left_out, n_features)
        Fitted without the row.
    on_rows : ndarray of shape (n_left_out,)
        Largest change of cost among the given feature vectors, over all observations in [0, D̄].
    anywhere : ndarray of shape (n_left_out,)
        Likewise, also at the feature vector that feels the change most among those as long as the
        longest one given.
    """

    coefficients: Array
    without: Array
    on_rows: Array
    anywhere: Array

    @property
    def largest(self) -> float:
        """Largest change of all."""
        return float(self.anywhere.max())


def leave_one_out(
    X: Any,
    s: Any,
    cost: Price,
    band: Band | None = None,
    *,
    largest_truth: float,
    strength: float = 0.0,
    rows: Any = None,
    left_out: LeftOut = "costs nothing",
    solver: SolverName = "exact",
    tolerance: float = 1e-11,
) -> Movement:
    """Leave out one row after the other and measure how far costs move (Definition us).

    Linear decisions x'θ without an intercept, as the theorems have them: give X a column of ones.
    Without a penalty the optimum may be a set, and then the answer depends on which point is taken:
    the exact solver takes one near the analytic centre, HiGHS a vertex.

    Parameters
    ----------
    X, s : table or array-like
        Features and observations.
    cost : PiecewiseLinearCost or float
        A number is the level α of the normalised newsvendor.
    band : Band, optional
    largest_truth : float
        D̄: costs are compared at observations in [0, D̄].
    strength : float
        λ of λ‖θ‖², beside the mean cost.
    rows : array-like of int, optional
        Which rows to leave out; by default each in turn.
    left_out : {"costs nothing", "is gone"}
        Whether the other rows keep their weight 1/n, as in the proofs, or the mean is taken over
        the n − 1 that are left, as by any model that is fitted again. With a penalty the second can
        move costs up to twice as far.
    solver : {"exact", "highs"}
        HiGHS only without a penalty.
    tolerance : float
        Relative duality gap of the exact solver.

    Returns
    -------
    Movement

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.theory import linear_stability
    >>> ones, sales = np.ones((207, 1)), np.repeat([0.0, 100.0], [145, 62])
    >>> moved = leave_one_out(ones, sales, 0.7, largest_truth=100, rows=[0])
    >>> allowed = linear_stability(0.7, n_rows=207, n_features=1, largest_truth=100)
    >>> round(moved.largest, 1), round(allowed, 1)
    (70.0, 0.8)
    """
    features = np.asarray(read_features(X, at_least=2), dtype=np.float64)
    observation = read_column("s", s, features.shape[0])
    read_steepness(cost)
    own = cost if isinstance(cost, PiecewiseLinearCost) else Newsvendor.at_level(float(cost))
    top = positive_number("largest_truth", largest_truth)
    if left_out not in ("costs nothing", "is gone"):
        raise InvalidInput(f"left_out must be 'costs nothing' or 'is gone', got {left_out!r}.")
    n = observation.size
    chosen = np.arange(n) if rows is None else np.asarray(rows, dtype=np.intp)
    problem = _problem(features, own, observation, band, strength)
    full = _solve(problem, solver, tolerance)
    others = np.array(
        [_solve(_without(problem, int(row), left_out), solver, tolerance) for row in chosen]
    )
    longest = float(np.sqrt(np.einsum("ij,ij->i", features, features).max()))
    both = [_changes(features, full, other, own, band, top, longest) for other in others]
    on_rows, anywhere = np.array(both).reshape(-1, 2).T
    return Movement(full, others, on_rows, anywhere)


def _problem(
    features: Array,
    cost: PiecewiseLinearCost,
    observation: Array,
    band: Band | None,
    strength: float,
) -> HingeProblem:
    kinks = cost.kinks(observation, band, 1.0 / observation.size)
    ridge = np.full(features.shape[1], float(strength)) if strength else None
    return HingeProblem(features, kinks, fit_intercept=False, ridge=ridge)


def _without(problem: HingeProblem, row: int, left_out: LeftOut) -> HingeProblem:
    """Leave a row out; the others keep their weight, or share that of the row."""
    n = problem.kinks.position.shape[1]
    kept = np.delete(np.arange(n), row)
    factor = 1.0 if left_out == "costs nothing" else n / (n - 1)
    kinks = problem.kinks
    less = Kinks(
        kinks.position[:, kept], kinks.below[:, kept] * factor, kinks.above[:, kept] * factor
    )
    features = np.ascontiguousarray(np.asarray(problem.features)[kept])
    return replace(problem, features=features, kinks=less)


def _solve(problem: HingeProblem, solver: SolverName, tolerance: float) -> Array:
    if solver == "highs":
        return solve_highs(problem).coefficients
    return solve_exact(problem, tolerance=tolerance).coefficients


def _changes(
    features: Array,
    full: Array,
    other: Array,
    cost: PiecewiseLinearCost,
    band: Band | None,
    top: float,
    longest: float,
) -> tuple[float, float]:
    """Largest change of cost on the given feature vectors, and on any that are as long."""
    change = other - full
    size = float(np.linalg.norm(change))
    on_rows = largest_change(features @ full, features @ other, cost, band, top)
    if not size > 0:
        return on_rows, on_rows
    direction = change * (longest / size)
    extreme = np.vstack([direction, -direction])
    return on_rows, max(on_rows, largest_change(extreme @ full, extreme @ other, cost, band, top))


def largest_change(
    first: Array, second: Array, cost: PiecewiseLinearCost, band: Band | None, top: float
) -> float:
    """Largest |ℓ(s, y₁) − ℓ(s, y₂)| over pairs of decisions and all s in [0, D̄], exactly.

    As a function of s the difference is piecewise linear, with kinks where a decision meets an end
    of its band; so it is largest at one of them or at 0 or D̄.
    """
    # Costs and bands per row belong to training rows; each is tried against all decisions.
    slopes = cost.slopes
    below, above = np.atleast_1d(slopes.below), np.atleast_1d(slopes.above)
    low, high = (0.0, 0.0) if band is None else (band.low, band.high)
    ends = np.broadcast_arrays(below, above, np.atleast_1d(low), np.atleast_1d(high))
    greatest = 0.0
    for u, o, bottom, upper in {tuple(map(float, each)) for each in zip(*ends, strict=True)}:
        kinks = [decision - end for decision in (first, second) for end in (bottom, upper)]
        places = np.clip(np.stack([*kinks, 0 * first, 0 * first + top]), 0.0, top)
        costs = [
            u * np.maximum(places + bottom - decision, 0.0)
            + o * np.maximum(decision - places - upper, 0.0)
            for decision in (first, second)
        ]
        greatest = max(greatest, float(np.abs(costs[0] - costs[1]).max()))
    return greatest
