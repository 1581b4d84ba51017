"""Choose how to solve a linear decision problem exactly, and hand back raw coefficients.

==================================  ===========================================================
few rows                            one interior-point solve (`direct`)
rows that repeat                    merged first (`grouping`)
many rows                           near kinks only (`screened`), all rows where that fails
more parameters than rows           in the span of the rows (`wide`); ℓ1: a working set (`columns`)
sparse features                     Schur complement (`sparse`); HiGHS where that gets too large
==================================  ===========================================================

With a wide band the optimum is a set. The interior point approaches its analytic centre, so the
answer is a deterministic inner point of the set, not a vertex: compare objectives of two solvers,
never their coefficients. Dependent columns share their weight by how the factor resolves them;
decisions on the training rows are unaffected.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmet.errors import SolverFailure
from unmet.solvers import columns
from unmet.solvers.blocks import ArraySource
from unmet.solvers.centring import column_means
from unmet.solvers.direct import (
    Result,
    Start,
    best_shift,
    flat_hinges,
    pilot,
    scale_of,
    solve_from,
    solve_shrinking,
    value_at,
)
from unmet.solvers.frame import Frame
from unmet.solvers.grouping import Merging, RowGroups, groups_of
from unmet.solvers.highs import solve_highs
from unmet.solvers.hinges import Hinges, Operator
from unmet.solvers.interior_point import Settings
from unmet.solvers.operators import DenseOperator, Layout, layout_for
from unmet.solvers.penalties import add_lasso, exact_zeros
from unmet.solvers.problem import HingeProblem, Solution
from unmet.solvers.screened import pays, solve_screened
from unmet.solvers.sparse import (
    LARGEST_PAIRS,
    LARGEST_REST,
    SparseOperator,
    count_pairs,
    independent_columns,
)
from unmet.solvers.wide import span_of_rows

Array = NDArray[np.float64]

_SHRINK_FROM = 20_000  # kinks from which fixing settled ones on the way pays
_DENSE_COLUMNS = 100  # sparse features with fewer columns are solved dense,
_DENSE_ENTRIES = 20_000_000  # if they have fewer entries than this
_WORSE = 1e-9  # what setting small coefficients to zero may cost
_ACCEPTABLE = 1e-6  # relative gap that is still handed back when rounding stops the iteration


def solve_exact(problem: HingeProblem, *, tolerance: float = 1e-9) -> Solution:
    """Minimise a `HingeProblem` to a relative duality gap.

    Parameters
    ----------
    problem : HingeProblem
    tolerance : float
        Largest duality gap relative to the objective.

    Returns
    -------
    Solution
        With its certificate.

    Raises
    ------
    SolverFailure
        If no method reaches an acceptable gap.
    """
    if sparse.issparse(problem.features):
        return _solve_sparse(problem, tolerance)
    features = np.asarray(problem.features)
    n_rows, n_features = features.shape
    groups = groups_of(features)
    if groups is None and pays(n_rows, n_features + problem.fit_intercept):
        found = solve_screened(
            ArraySource(features, problem.kinks),
            intercept=problem.fit_intercept,
            ridge=problem.ridge,
            lasso=problem.lasso,
            tolerance=tolerance,
        )
        if found is not None:
            return found
    return _solve_dense(problem, features, groups, tolerance)


def _solve_dense(
    problem: HingeProblem, features: Array, groups: RowGroups | None, tolerance: float
) -> Solution:
    hinges = flat_hinges(problem.kinks)
    n_kinks, n_rows = problem.kinks.position.shape
    layout = layout_for(n_kinks, n_rows)
    if groups is not None:
        features = features[groups.first]
        merging = Merging.of(groups, hinges.position)
        hinges, layout = merging.apply(hinges), merging.layout
    if features.shape[1] >= len(features) and problem.lasso is None:
        return _solve_in_span(problem, features, hinges, layout, tolerance)
    if problem.lasso is not None and columns.pays(len(features), features.shape[1], problem.lasso):
        found = _solve_by_columns(problem, features, hinges, layout, tolerance)
        if found is not None:
            return found
    frame = Frame.of(features, problem.fit_intercept)
    if problem.lasso is None and problem.ridge is None:
        frame = frame.orthogonal(features, all_rows=True)
    inner = DenseOperator(frame.design(features), layout)
    return _solve_in_frame(problem, frame, inner, hinges, tolerance)[0]


def _solve_in_span(
    problem: HingeProblem, features: Array, hinges: Hinges, layout: Layout, tolerance: float
) -> Solution:
    """More columns than rows: the coordinates of the span of the rows."""
    n_features = features.shape[1]
    charged = problem.ridge if problem.ridge is not None and problem.ridge.any() else None
    if charged is not None and not (charged > 0).all():
        frame = Frame.of(features, problem.fit_intercept)
        inner = DenseOperator(frame.design(features), layout)
        return _solve_in_frame(problem, frame, inner, hinges, tolerance)[0]
    centre = column_means(features) if problem.fit_intercept else np.zeros(n_features)
    # In the coordinates √ridge · θ every direction is charged alike.
    scale = np.ones(n_features) if charged is None else np.sqrt(charged)
    rows = (features - centre) / scale
    basis = span_of_rows(rows)
    ridge = None if charged is None else np.ones(basis.shape[1])
    inside = replace(problem, features=rows @ basis, ridge=ridge)
    frame = Frame.of(rows @ basis, problem.fit_intercept)
    inner = DenseOperator(frame.design(rows @ basis), layout)
    solution, _ = _solve_in_frame(inside, frame, inner, hinges, tolerance)
    coefficients = (basis @ solution.coefficients) / scale
    shift = float(centre @ coefficients)
    return replace(solution, coefficients=coefficients, intercept=solution.intercept - shift)


def _solve_by_columns(
    problem: HingeProblem, features: Array, hinges: Hinges, layout: Layout, tolerance: float
) -> Solution | None:
    """Many columns under ℓ1: a working set of them."""
    lasso, ridge = np.asarray(problem.lasso), problem.ridge

    def solve(chosen: NDArray[np.intp]) -> tuple[Solution, Array]:
        part = np.ascontiguousarray(features[:, chosen])
        inside = replace(
            problem,
            features=part,
            lasso=lasso[chosen],
            ridge=None if ridge is None else ridge[chosen],
        )
        frame = Frame.of(part, problem.fit_intercept)
        inner = DenseOperator(frame.design(part), layout)
        solution, dual = _solve_in_frame(inside, frame, inner, hinges, tolerance)
        return solution, layout.collect(dual)

    slope = hinges.below + hinges.above
    shift = best_shift(hinges.position, slope, float(hinges.below.sum()))
    level = shift if problem.fit_intercept else 0.0
    side = np.where(hinges.position < level, hinges.above, -hinges.below)
    return columns.solve_by_columns(features, lasso, layout.collect(side), solve, tolerance)


def _solve_in_frame(
    problem: HingeProblem, frame: Frame, inner: Operator, hinges: Hinges, tolerance: float
) -> tuple[Solution, Array]:
    """Penalties, start, interior point, and back to raw coordinates; with the multipliers."""
    ridge = frame.ridge(problem.ridge)
    lasso = frame.penalties(problem.lasso, 1)
    operator, joined = add_lasso(inner, hinges, lasso)
    theta = pilot(operator, joined, ridge, frame.intercept)
    start = Start(theta, ridge, scale_of(hinges, tolerance))
    result = _reliably(operator, joined, start, Settings(tolerance=tolerance))
    if result is None:
        return _with_highs(problem), np.zeros(len(hinges.position))
    solution = as_solution(rounded(result, operator, joined, ridge, lasso), frame)
    return solution, result.dual[: len(hinges.position)]


def rounded(
    result: Result, operator: Operator, hinges: Hinges, ridge: Array | None, lasso: Array | None
) -> Result:
    """Return a result with exact zeros where ℓ1 made them."""
    theta = exact_zeros(result.theta, result.dual, lasso)
    if theta is result.theta:
        return result
    objective = value_at(operator, hinges, ridge, theta)
    worse = max(0.0, objective - result.objective)
    if worse > _WORSE * abs(result.objective):
        return result
    return replace(result, theta=theta, objective=objective, gap=result.gap + worse)


def as_solution(result: Result, frame: Frame) -> Solution:
    """Return a result in raw coordinates."""
    coefficients, intercept = frame.to_raw(result.theta)
    return Solution(
        coefficients,
        intercept,
        result.objective,
        result.gap,
        result.residual,
        result.iterations,
        0.0,
        "interior point",
    )


def _reliably(
    operator: Operator, hinges: Hinges, start: Start, settings: Settings
) -> Result | None:
    """Solve; with shorter steps if the usual ones stall; None if the gap is not acceptable."""
    solve = solve_shrinking if len(hinges.position) >= _SHRINK_FROM else solve_from
    cautious = replace(
        settings, max_iterations=2 * settings.max_iterations, correctors=0, damping=0.95
    )
    best: Result | None = None
    for attempt in (settings, cautious):
        result = solve(operator, hinges, start, attempt)
        if result.status == "optimal":
            return result
        worst = max(result.gap, result.residual)
        if best is None or worst < max(best.gap, best.residual):
            best = result
    assert best is not None
    allowed = _ACCEPTABLE * max(abs(best.objective), start.scale.smallest)
    return best if max(best.gap, best.residual) <= allowed else None


def _with_highs(problem: HingeProblem) -> Solution:
    if problem.ridge is not None and problem.ridge.any():
        raise SolverFailure(
            "the interior point did not reach its tolerance on these features; "
            "try scaling them or a larger strength of the penalty."
        )
    return solve_highs(problem)


def _solve_sparse(problem: HingeProblem, tolerance: float) -> Solution:
    features = sparse.csr_array(problem.features)
    n_rows, n_features = features.shape
    if n_features <= _DENSE_COLUMNS and n_rows * n_features <= _DENSE_ENTRIES:
        dense = np.ascontiguousarray(features.toarray())
        return solve_exact(replace(problem, features=dense), tolerance=tolerance)
    features.sum_duplicates()
    square = features.multiply(features).sum(axis=0) / n_rows
    scale = np.where(square > 0, np.sqrt(square), 1.0)
    if (features.data == 1).all():
        scale = np.ones(n_features)  # keeps products of entries at one: nothing to multiply
    frame = Frame(np.zeros(n_features), scale, problem.fit_intercept)
    design = sparse.csr_array(features.multiply(1 / scale)) if (scale != 1).any() else features
    if problem.fit_intercept:
        ones = sparse.csr_array(np.ones((n_rows, 1)))
        design = sparse.csr_array(sparse.hstack([design, ones]))
    if count_pairs(design) > LARGEST_PAIRS:
        return _with_highs(problem)
    independent = independent_columns(design)
    if design.shape[1] - len(independent) > LARGEST_REST:
        return _with_highs(problem)
    n_kinks = len(problem.kinks.position)
    operator = SparseOperator(design, layout_for(n_kinks, n_rows), independent)
    hinges = flat_hinges(problem.kinks)
    solution, _ = _solve_in_frame(problem, frame, operator, hinges, tolerance)
    return replace(solution, method="sparse " + solution.method)
