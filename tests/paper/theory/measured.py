"""Measurements of what the theorems claim: how far one row moves costs and parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from paper.theory import Price, count, positive, read_steepness
from unmet.arrays import Array, Band
from unmet.costs import Newsvendor, PiecewiseLinearCost
from unmet.costs.hinge import Kinks
from unmet.errors import InvalidInput
from unmet.rows import read_column, read_features
from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem
from unmet.validation import OneOf

# --- Empirical stability: leave out each row, solve exactly again, and see how far costs move.

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
    >>> from paper.theory import linear_stability
    >>> ones, sales = np.ones((207, 1)), np.repeat([0.0, 100.0], [145, 62])
    >>> moved = leave_one_out(ones, sales, 0.7, largest_truth=100, rows=[0])
    >>> allowed = linear_stability(0.7, n_rows=207, n_features=1, largest_truth=100)
    >>> round(moved.largest, 1), round(allowed, 1)
    (70.0, 0.8)
    """
    features = np.asarray(read_features(X, at_least=2), dtype=np.float64)
    observation, own = read_column("s", s, features.shape[0]), _read_cost(cost)
    top = positive("largest_truth", largest_truth)
    OneOf("costs nothing", "is gone")("left_out", left_out)
    n = observation.size
    chosen = np.arange(n) if rows is None else np.asarray(rows, dtype=np.intp)
    kinks = own.kinks(observation, band, 1.0 / n)
    ridge = np.full(features.shape[1], float(strength)) if strength else None
    problem = HingeProblem(features, kinks, fit_intercept=False, ridge=ridge)
    # the others keep their weight, or share that of the row
    factor = 1.0 if left_out == "costs nothing" else n / (n - 1)

    def solve(task: HingeProblem) -> Array:
        if solver == "highs":
            return solve_highs(task).coefficients
        return solve_exact(task, tolerance=tolerance).coefficients

    def without(row: int) -> HingeProblem:
        kept = np.delete(np.arange(n), row)
        below, above = kinks.below[:, kept] * factor, kinks.above[:, kept] * factor
        less = Kinks(kinks.position[:, kept], below, above)
        return replace(problem, features=np.ascontiguousarray(features[kept]), kinks=less)

    full = solve(problem)
    others = np.array([solve(without(int(row))) for row in chosen])
    longest = float(np.sqrt(np.einsum("ij,ij->i", features, features).max()))
    both = [_changes(features, full, other, own, band, top, longest) for other in others]
    on_rows, anywhere = np.array(both).reshape(-1, 2).T
    return Movement(full, others, on_rows, anywhere)


def _read_cost(cost: Price) -> PiecewiseLinearCost:
    """Cost with two slopes; a number is the level of the normalised newsvendor."""
    read_steepness(cost)
    return cost if isinstance(cost, PiecewiseLinearCost) else Newsvendor.at_level(float(cost))


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


# --- Plain SGD on linear decisions, row by row in a fixed order: what Prop. DNN-UASBound speaks
# of.


def descend_in_order(
    X: Any,
    s: Any,
    cost: Price,
    band: Band | None = None,
    *,
    learning_rate: float,
    epochs: int,
    order: Any = None,
    radius: float | None = None,
) -> Array:
    """K passes of SGD over rows in a fixed order, one row a step, from θ = 0.

    The step is θ − η ℓ'(x'θ) x with the subgradient of Prop. LR-grad, the same order of rows in
    every pass, and a constant rate: what Theorem 3.2 of Bassily et al. (2020) asks for.

    Parameters
    ----------
    X, s : table or array-like
        Features and observations. Decisions are x'θ: for an intercept add a column of ones.
    cost : PiecewiseLinearCost or float
        A number is the level α of the normalised newsvendor.
    band : Band, optional
    learning_rate : float
        η.
    epochs : int
        K.
    order : array-like of int, optional
        A permutation of the rows; by default they are taken as they come.
    radius : float, optional
        Project onto the ball of this radius after each step.

    Returns
    -------
    ndarray of shape (n_rows · epochs + 1, n_features)
        Parameters after each step, the start first.

    Examples
    --------
    >>> path = descend_in_order([[1.0], [1.0]], [5, 9], 0.75, learning_rate=2, epochs=3)
    >>> path.ravel()
    array([0. , 1.5, 3. , 4.5, 6. , 5.5, 7. ])
    """
    features = np.asarray(read_features(X), dtype=np.float64)
    observation, own = read_column("s", s, features.shape[0]), _read_cost(cost)
    rate, passes = positive("learning_rate", learning_rate), count("epochs", epochs)
    n = observation.size
    taken = np.arange(n) if order is None else np.asarray(order)
    if taken.shape != (n,) or not np.array_equal(np.sort(taken), np.arange(n)):
        raise InvalidInput(f"order must be a permutation of the {n} rows, got {order!r:.60}.")
    if radius is not None:
        positive("radius", radius)
    below, above = own.slopes.rows(n)
    low, high = (np.zeros(n), np.zeros(n)) if band is None else band.rows(n)
    path = np.zeros((n * passes + 1, features.shape[1]))
    theta = path[0]
    for step, row in enumerate(np.tile(taken, passes), start=1):
        x, decision = features[row], float(features[row] @ theta)
        slope = 0.0
        if decision > observation[row] + high[row]:
            slope = above[row]
        elif decision < observation[row] + low[row]:
            slope = -below[row]
        path[step] = theta - rate * slope * x
        theta = path[step]
        if radius is not None and (length := float(np.linalg.norm(theta))) > radius:
            theta *= radius / length
    return path


def argument_stability(
    X: Any,
    s: Any,
    cost: Price,
    band: Band | None = None,
    *,
    row: int,
    features: Any,
    observation: float,
    learning_rate: float,
    epochs: int,
    order: Any = None,
    radius: float | None = None,
) -> float:
    """Largest distance of two SGD runs whose data differ in one row (δ of §prop).

    Compare with `descent_stability`, with ``largest_norm`` the length of the longest feature vector
    of both data sets.

    Parameters
    ----------
    X, s, cost, band, learning_rate, epochs, order, radius
        As in `descend_in_order`.
    row : int
        Which row differs.
    features, observation : array-like of shape (n_features,), and float
        What it is in the other data set.

    Returns
    -------
    float
        Largest over all steps, not only at the end.

    Examples
    --------
    >>> import numpy as np
    >>> from paper.theory import descent_stability
    >>> run = {"learning_rate": 0.1, "epochs": 5}
    >>> X, s = np.ones((10, 1)), np.arange(10.0)
    >>> moved = argument_stability(X, s, 0.8, row=0, features=[1.0], observation=9.0, **run)
    >>> bool(0 < moved <= descent_stability(0.8, n_rows=10, **run))
    True
    """
    table = np.array(read_features(X), dtype=np.float64)
    seen = np.array(read_column("s", s, table.shape[0]))
    how: dict[str, Any] = {"learning_rate": learning_rate, "epochs": epochs}
    how |= {"order": order, "radius": radius}
    first = descend_in_order(table, seen, cost, band, **how)
    if not 0 <= row < seen.size:
        raise InvalidInput(f"row must be between 0 and {seen.size - 1}, got {row!r}.")
    table[row], seen[row] = features, observation
    second = descend_in_order(table, seen, cost, band, **how)
    return float(np.linalg.norm(first - second, axis=1).max())
