"""Choose how to solve a linear decision problem exactly, and hand back the raw coefficients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unmet.errors import SolverFailure
from unmet.solvers.direct import Result, Start, smallest_scale, flat_hinges, pilot, solve_from
from unmet.solvers.screened import pays, solve_screened
from unmet.solvers.blocks import ArraySource
from unmet.solvers.frame import Frame
from unmet.solvers.grouping import group_rows, rows_repeat
from unmet.solvers.interior_point import Hinges, Operator, Settings
from unmet.solvers.operators import DenseOperator, Layout, OneEach, Stacked
from unmet.solvers.penalties import add_lasso
from unmet.solvers.problem import HingeProblem, Solution

Array = NDArray[np.float64]


def solve_exact(problem: HingeProblem, *, tolerance: float = 1e-9) -> Solution:
    settings = Settings(tolerance=tolerance)
    X = problem.features
    n_rows = X.shape[0]
    n_kinks = len(problem.kinks.position)
    repeat = n_rows >= 256 and rows_repeat(X)
    if not repeat and pays(n_rows, X.shape[1] + problem.fit_intercept):
        S = solve_screened(ArraySource(X, problem.kinks), intercept=problem.fit_intercept, ridge=problem.ridge, lasso=problem.lasso, tolerance=tolerance)
        if S is not None:
            return Solution(S.coefficients, S.intercept, S.objective, S.gap, S.residual, S.iterations, S.passes, "screened interior point")
        print('FALLBACK')
    hinges = flat_hinges(problem.kinks)
    layout: Layout = OneEach() if n_kinks == 1 else Stacked(n_kinks)
    rows = X
    if repeat:
        grouped = group_rows(X, hinges, n_kinks)
        rows, hinges, layout = X[grouped.first], grouped.hinges, grouped.layout
    frame = Frame.of(rows, problem.fit_intercept)
    operator: Operator = DenseOperator(frame.design(rows), layout)
    ridge = frame.penalties(problem.ridge, 2)
    if ridge is not None:
        ridge *= 2
    operator, hinges = add_lasso(operator, hinges, frame.penalties(problem.lasso, 1))
    start = Start(pilot(operator, hinges, ridge, frame.intercept), ridge, smallest_scale(hinges, tolerance))
    result = solve_from(operator, hinges, start, settings)
    coefficients, intercept = frame.to_raw(result.theta)
    return Solution(coefficients, intercept, result.objective, result.gap, result.residual, result.iterations, 0.0, "interior point")
