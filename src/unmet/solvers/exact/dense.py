"""Dense features, all rows in memory: equal rows merged, many columns handled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from unmet.solvers.exact.direct import best_shift, flat_hinges, solve_in_frame
from unmet.solvers.exact.grouping import Merging, RowGroups
from unmet.solvers.exact.operators import DenseOperator, Layout, layout_for
from unmet.solvers.exact.scaling import Frame, column_means
from unmet.solvers.problem import HingeProblem, Hinges, Solution

# --- More parameters than rows, without ℓ1: solve in the span of the rows.
#
# A component of θ orthogonal to every (centred) row changes no decision, and ridge only charges for
# it. So the problem is solved in the coordinates of an orthonormal basis of that span, of at most n
# dimensions. (Of all answers that give the same decisions, `shortest` then picks the shortest.)

Array = NDArray[np.float64]


def span_of_rows(features: Array, largest_rank: int, noise: float) -> Array:
    """Orthonormal basis of the span of the rows, shape (n_features, rank).

    Centred rows have one dimension less than there are rows; what stands in it is rounding, of the
    size ``noise``, and must not be taken for a direction.
    """
    basis, triangle, _ = qr(features.T, mode="economic", pivoting=True)
    size = np.abs(triangle.diagonal())
    smallest = max(1e-13 * size.max(initial=0.0), noise, 1e-300)
    rank = min(int(np.count_nonzero(size > smallest)), largest_rank)
    return np.asarray(basis[:, : max(rank, 1)], dtype=np.float64)


# --- ℓ1 with many columns: solve on a working set and let the rest prove that they stay at zero.
#  With y the multipliers of the rows, a coefficient is zero at the optimum if |x_j'y| ≤ lasso_j. So
# a problem solved on some columns is solved on all of them as soon as no other column violates
# this; the violators join the working set until none is left.
#
# **Certificate.** If |x_j'y| ≤ (1 + δ) lasso_j for every column, then y/(1 + δ) is feasible for the
# dual of the full problem and loses at most the share δ of the dual value: the gap grows by at most
# δ times the objective. A column with ridge may violate the condition; left at zero, it adds
# (|x_j'y| − lasso_j)₊² / (4 ridge_j) to the gap.

Index = NDArray[np.intp]
SolveColumns = Callable[[Index], tuple[Solution, Array] | None]

_FIRST = 64  # columns in the first working set
_ROUNDS = 50


def pays(n_rows: int, n_features: int, lasso: Array | None) -> bool:
    """Whether a working set is expected to beat all columns at once."""
    return lasso is not None and bool(lasso.any()) and n_features > max(200, n_rows)


def solve_by_columns(
    features: Array,
    lasso: Array,
    ridge: Array | None,
    first_dual: Array,
    solve: SolveColumns,
    tolerance: float,
) -> Solution | None:
    """Grow a working set of columns until the others are proved to be zero.

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_features)
        Centred if there is an intercept.
    lasso, ridge : ndarray of shape (n_features,)
        Ridge may be None.
    first_dual : ndarray of shape (n_rows,)
        Multipliers at the best constant decision: they rank the columns.
    solve : callable
        From column numbers to the solution on them and the multipliers of the rows, or None.
    tolerance : float
        Relative gap.

    Returns
    -------
    Solution or None
        None when a part cannot be solved, or the working set stops growing before the proof.
    """
    charged = np.zeros(len(lasso)) if ridge is None else ridge
    free = lasso <= 0
    weight = np.where(free, 1.0, lasso)
    pull = np.abs(first_dual @ features)
    ratio = np.where(free, np.inf, pull / weight)
    working = np.sort(np.argsort(-ratio)[: max(_FIRST, int(free.sum()))])
    iterations = 0
    for _ in range(_ROUNDS):
        found = solve(working)
        if found is None:
            return None
        part, dual = found
        iterations += part.iterations
        pull = np.abs(dual @ features)
        outside = np.ones(len(lasso), dtype=bool)
        outside[working] = False
        beyond = np.where(free, 0.0, np.maximum(pull - lasso, 0.0))
        bare = beyond[charged <= 0] / weight[charged <= 0]
        smooth = outside & (charged > 0)
        gap = part.gap + float(bare.max(initial=0.0)) * abs(part.objective)
        gap += float((beyond[smooth] ** 2 / (4 * charged[smooth])).sum())
        if gap <= tolerance * abs(part.objective):
            coefficients = np.zeros(len(lasso))
            coefficients[working] = part.coefficients
            return replace(part, coefficients=coefficients, gap=gap, iterations=iterations)
        candidates = np.flatnonzero(outside & (beyond > 0))
        if not len(candidates):
            return None
        worst = candidates[np.argsort(-beyond[candidates] / weight[candidates])[: len(working)]]
        working = np.sort(np.concatenate([working, worst]))
    return None


# --- Dense features, all rows in memory: equal rows merged, many columns handled.

_DIRECT_RIDGE = 600  # columns up to which ridge with few rows is solved with all columns


def solve_dense(
    problem: HingeProblem, features: Array, groups: RowGroups | None, tolerance: float
) -> Solution | None:
    """Solve all rows together; None if the gap is not acceptable."""
    hinges = flat_hinges(problem.kinks)
    layout = layout_for(*problem.kinks.position.shape)
    if groups is not None:
        features = features[groups.first]
        merging = Merging.of(groups, hinges.position)
        hinges, layout = merging.apply(hinges), merging.layout
    n_rows, n_features = features.shape
    if problem.lasso is not None and pays(n_rows, n_features, problem.lasso):
        found = _solve_by_columns(problem, features, hinges, layout, tolerance)
        if found is not None:
            return found
    elif n_features >= n_rows and problem.lasso is None:
        charged = problem.ridge is not None and bool(problem.ridge.any())
        if not charged:
            return _solve_in_span(problem, features, hinges, layout, tolerance, None)
        if n_features > _DIRECT_RIDGE and (np.asarray(problem.ridge) > 0).all():
            return _solve_in_span(problem, features, hinges, layout, tolerance, problem.ridge)
    frame = Frame.of(features, problem.fit_intercept)
    if problem.lasso is None and problem.ridge is None:
        frame, design = frame.orthogonal(features, all_rows=True)
    else:
        design = frame.design(features)
    inner = DenseOperator(design, layout)
    both = solve_in_frame(problem, frame, inner, hinges, tolerance)
    return None if both is None else both[0]


def _solve_in_span(
    problem: HingeProblem,
    features: Array,
    hinges: Hinges,
    layout: Layout,
    tolerance: float,
    ridge: Array | None,
) -> Solution | None:
    """More columns than rows: the coordinates of the span of the rows."""
    n_features = features.shape[1]
    centre = column_means(features) if problem.fit_intercept else np.zeros(n_features)
    # With ridge, every direction is charged alike in the coordinates √ridge · θ; without, columns
    # of any scale must count alike.
    scale = Frame.of(features, problem.fit_intercept).scale if ridge is None else np.sqrt(ridge)
    rows = (features - centre) / scale
    noise = 8 * np.finfo(float).eps * float(np.linalg.norm(centre / scale))
    basis = span_of_rows(rows, len(rows) - int(problem.fit_intercept), noise)
    inside = replace(
        problem,
        features=rows @ basis,
        ridge=None if ridge is None else np.ones(basis.shape[1]),
    )
    frame = Frame.of(rows @ basis, problem.fit_intercept)
    inner = DenseOperator(frame.design(rows @ basis), layout)
    both = solve_in_frame(inside, frame, inner, hinges, tolerance)
    if both is None:
        return None
    coefficients = (basis @ both[0].coefficients) / scale
    shift = float(centre @ coefficients)
    return replace(both[0], coefficients=coefficients, intercept=both[0].intercept - shift)


def _solve_by_columns(
    problem: HingeProblem, features: Array, hinges: Hinges, layout: Layout, tolerance: float
) -> Solution | None:
    """Many columns under ℓ1: a working set of them."""
    lasso, ridge = np.asarray(problem.lasso), problem.ridge
    centre = column_means(features) if problem.fit_intercept else np.zeros(features.shape[1])

    def solve(chosen: NDArray[np.intp]) -> tuple[Solution, Array] | None:
        part = np.ascontiguousarray(features[:, chosen])
        inside = replace(
            problem,
            features=part,
            lasso=lasso[chosen],
            ridge=None if ridge is None else ridge[chosen],
        )
        frame = Frame.of(part, problem.fit_intercept)
        inner = DenseOperator(frame.design(part), layout)
        both = solve_in_frame(inside, frame, inner, hinges, tolerance)
        return None if both is None else (both[0], layout.collect(both[1]))

    slope = hinges.below + hinges.above
    shift = best_shift(hinges.position, slope, float(hinges.below.sum()))
    level = shift if problem.fit_intercept else 0.0
    side = np.where(hinges.position < level, hinges.above, -hinges.below)
    return solve_by_columns(features - centre, lasso, ridge, layout.collect(side), solve, tolerance)
