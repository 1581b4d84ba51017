"""Dense features, all rows in memory: equal rows merged, many columns handled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unmet.solvers import columns
from unmet.solvers.centring import column_means
from unmet.solvers.direct import best_shift, flat_hinges
from unmet.solvers.frame import Frame
from unmet.solvers.framed import solve_in_frame
from unmet.solvers.grouping import Merging, RowGroups
from unmet.solvers.hinges import Hinges
from unmet.solvers.operators import DenseOperator, Layout, layout_for
from unmet.solvers.problem import HingeProblem, Solution
from unmet.solvers.wide import span_of_rows

Array = NDArray[np.float64]

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
    if problem.lasso is not None and columns.pays(n_rows, n_features, problem.lasso):
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
    return columns.solve_by_columns(
        features - centre, lasso, ridge, layout.collect(side), solve, tolerance
    )
