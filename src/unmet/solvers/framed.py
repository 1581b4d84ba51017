"""One interior-point solve in a frame: penalties, start, second attempt, and back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unmet.solvers.direct import (
    Result,
    Start,
    pilot,
    scale_of,
    solve_from,
    solve_shrinking,
    value_at,
)
from unmet.solvers.frame import Frame
from unmet.solvers.hinges import Hinges, Operator
from unmet.solvers.interior_point import Settings
from unmet.solvers.penalties import add_lasso, exact_zeros
from unmet.solvers.problem import HingeProblem, Solution

Array = NDArray[np.float64]

_SHRINK_FROM = 20_000  # kinks from which fixing settled ones on the way pays
_NEGLIGIBLE = 1e-13  # a ridge that costs less than this share of the spread is left out
_WORSE = 1e-9  # what setting small coefficients to zero may cost
_ACCEPTABLE = 1e-6  # relative gap that is still handed back when rounding stops the iteration


def solve_in_frame(
    problem: HingeProblem, frame: Frame, inner: Operator, hinges: Hinges, tolerance: float
) -> tuple[Solution, Array] | None:
    """Solve, and return the multipliers of the kinks too; None if the gap is not acceptable."""
    scale = scale_of(hinges, tolerance)
    ridge = frame.ridge(problem.ridge)
    if ridge is not None:
        total = float(hinges.below.sum() + hinges.above.sum())
        # without an intercept the coefficients must reach from 0 to the kinks, however close
        # these are to each other
        reach = scale.reach if frame.intercept else float(np.abs(hinges.position).max())
        if float(ridge.sum()) * reach <= _NEGLIGIBLE * total:
            ridge = None
    lasso = frame.penalties(problem.lasso, 1)
    operator, joined = add_lasso(inner, hinges, lasso)
    start = Start(pilot(operator, joined, ridge, frame.intercept), ridge, scale)
    result = _reliably(operator, joined, start, Settings(tolerance=tolerance))
    if result is None:
        return None
    solution = as_solution(rounded(result, operator, joined, ridge, lasso), frame)
    return solution, result.dual[: len(hinges.position)]


def _reliably(
    operator: Operator, hinges: Hinges, start: Start, settings: Settings
) -> Result | None:
    """Solve; with shorter steps if the usual ones stall; None if the gap is not acceptable."""
    solve = solve_shrinking if len(hinges.position) >= _SHRINK_FROM else solve_from
    cautious = replace(
        settings, max_iterations=2 * settings.max_iterations, correctors=0, damping=0.95
    )
    best: Result | None = None
    smallest = np.inf
    for attempt in (settings, cautious):
        result = solve(operator, hinges, start, attempt)
        if result.status == "optimal":
            return result
        doubt = max(result.gap, result.residual)
        if doubt < smallest:
            best, smallest = result, doubt
    if best is None:
        return None
    allowed = _ACCEPTABLE * max(abs(best.objective), start.scale.smallest)
    return best if smallest <= allowed else None


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


def checked(problem: HingeProblem, solution: Solution) -> Solution:
    """Evaluate the objective at the raw coefficients; what they cost more is part of the gap."""
    objective = problem.objective(solution.coefficients, solution.intercept)
    gap = solution.gap + max(0.0, objective - solution.objective)
    return replace(solution, objective=objective, gap=gap)
