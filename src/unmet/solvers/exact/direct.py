"""One interior-point solve in a frame: penalties, start, second attempt, and back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unmet.costs.hinge import Kinks
from unmet.errors import SolverFailure
from unmet.solvers.exact.interior_point import Settings, solve_hinges
from unmet.solvers.exact.scaling import Frame, add_lasso, exact_zeros
from unmet.solvers.problem import HingeProblem, Hinges, Operator, Scale, Solution

# --- The middle of a flat optimum of zero cost.
#
# When a band holds everything, every θ with all decisions inside their bands costs nothing. The
# answer then is the analytic centre of that set: the point that maximises ::
#
#     Σ_i w_i log(slack_i)
#
# over the distances of the decisions from the ends of their bands. It is unique in its decisions,
# does not depend on the start, and keeps away from every end.

Array = NDArray[np.float64]

_STEPS = 100
_CLOSE = 1e-10  # squared Newton decrement, relative to the sum of the weights


def analytic_centre(operator: Operator, hinges: Hinges, theta: Array) -> Array:
    """Move a point of zero cost to the middle of all such points; unchanged where there is none.

    Newton steps, shortened until they stay inside and gain.
    """
    one_sided = (hinges.below > 0) != (hinges.above > 0)
    if operator.n_coefficient_kinks or not one_sided.all():
        return theta
    sign = np.where(hinges.above > 0, 1.0, -1.0)  # +1: an upper end, the decision lies below
    weight = hinges.weight / hinges.weight.max()
    middle = theta
    slack = sign * (hinges.position - operator.decisions(middle))
    if not slack.min() > 0:
        return theta
    for _ in range(_STEPS):
        gradient = operator.moments(-sign * weight / slack)
        try:
            step = operator.factor(weight / slack**2, None).solve(gradient)
        except SolverFailure:
            return middle
        decrement = float(gradient @ step)
        if not decrement > _CLOSE * float(weight.sum()):
            break
        moved = _longest_gain(slack, -sign * operator.decisions(step), weight)
        if moved == 0.0:
            break
        middle = middle + moved * step
        slack = sign * (hinges.position - operator.decisions(middle))
    return middle


def _longest_gain(slack: Array, change: Array, weight: Array) -> float:
    """Share of a step that stays inside and raises Σ w log(slack); 0 if there is none."""
    shrinking = float((change / slack).min())
    share = 1.0 if shrinking > -0.9 else -0.9 / shrinking
    for _ in range(40):
        if float(weight @ np.log1p(share * change / slack)) > 0:
            return share
        share *= 0.5
    return 0.0


# --- All rows in memory, one interior-point solve: small and medium problems.

# A loss is measured against the spread of the kinks when it is (nearly) zero: with a band that
# holds everything there is no other scale.
_NEGLIGIBLE = 1e-14
_ROUNDING = 1e-17
_INERT = 1e-15

_LOOSE = 2e-3  # gap at which most kinks have chosen their side
_UNDECIDED = 0.03  # share of its box by which a multiplier must be off the end to count as open
_TOO_MANY = 0.6  # open kinks beyond which fixing the rest does not pay
_NEAREST = 0.1  # share of the kinks that is open at first when a similar problem was solved
_ENOUGH = 30  # open kinks per parameter, at least
_ROUNDS = 6


@dataclass(frozen=True)
class Start:
    """Where a solve begins and what surrounds its hinges.

    Attributes
    ----------
    theta : ndarray of shape (n_parameters,)
    ridge : ndarray of shape (n_parameters,) or None
        ρ of the interior point: twice the ridge penalty.
    linear : ndarray of shape (n_parameters,) or None
        What kinks outside the problem contribute to the gradient.
    constant : float
        What they contribute to the objective at ``theta``.
    scale : Scale
        Of the whole problem, not only of the kinks that are open.
    leash : float
        Root mean square change of the decisions beyond which to give up.
    """

    theta: Array
    ridge: Array | None
    scale: Scale
    linear: Array | None = None
    constant: float = 0.0
    leash: float = np.inf


@dataclass(frozen=True)
class Result:
    """Parameters in the frame of the design matrix, with their certificate.

    ``moved`` is the root mean square change of the decisions since the start.
    """

    theta: Array
    objective: float
    gap: float
    residual: float
    iterations: int
    moved: float
    status: str
    dual: Array


def flat_hinges(kinks: Kinks) -> Hinges:
    """One entry per kink, block after block; a kink weighs what its row weighs."""
    slope = kinks.below + kinks.above
    weight = np.broadcast_to(slope.sum(axis=0), kinks.position.shape).ravel()
    below, above = kinks.below.ravel(), kinks.above.ravel()
    if not slope.min() > 0:
        # Kinks that cost nothing have no multiplier; a slope below rounding keeps them harmless.
        idle = slope.ravel() <= 0
        inert = _INERT * float(slope.max())
        below, above = np.where(idle, inert, below), np.where(idle, inert, above)
        weight = np.where(weight > 0, weight, 2 * inert)
    return Hinges(kinks.position.ravel(), below, above, weight)


def pilot(operator: Operator, hinges: Hinges, ridge: Array | None, intercept: bool) -> Array:
    """Weighted least squares on the kinks, then the best common shift of all decisions.

    Starting the interior point at the right level saves up to two thirds of its iterations when
    α is near 0 or 1. Where a penalty holds the coefficients down, no coefficients and the best
    constant are a better start.
    """
    slope = hinges.below + hinges.above
    factor = operator.factor(slope, ridge)
    theta = factor.solve(operator.moments(slope * hinges.position))
    theta = _shifted(operator, hinges, slope, theta, intercept)
    if ridge is None and not operator.n_coefficient_kinks:
        return theta
    constant = _shifted(operator, hinges, slope, np.zeros_like(theta), intercept)
    return min(theta, constant, key=lambda start: value_at(operator, hinges, ridge, start))


def _shifted(
    operator: Operator, hinges: Hinges, slope: Array, theta: Array, intercept: bool
) -> Array:
    """Move all decisions together to the best place; coefficients stay."""
    if intercept:
        rows = slice(len(slope) - operator.n_coefficient_kinks)
        residual = (hinges.position - operator.decisions(theta))[rows]
        theta[-1] += best_shift(residual, slope[rows], float(hinges.below[rows].sum()))
    return theta


def value_at(operator: Operator, hinges: Hinges, ridge: Array | None, theta: Array) -> float:
    """Objective at some parameters."""
    return _value(hinges, operator.decisions(theta) - hinges.position, ridge, theta)


def _value(hinges: Hinges, residual: Array, ridge: Array | None, theta: Array) -> float:
    """Objective where the residuals are known already."""
    over = np.maximum(residual, 0.0)
    value = float(hinges.above @ over + hinges.below @ (over - residual))
    return value if ridge is None else value + 0.5 * float(ridge @ theta**2)


def best_shift(residual: Array, slope: Array, total_below: float) -> float:
    """Minimise a sum of hinges over one common shift: a weighted quantile."""
    order = np.argsort(residual)
    climbed = np.cumsum(slope[order])
    place = int(np.searchsorted(climbed, total_below))
    return float(residual[order[min(place, len(order) - 1)]])


def scale_of(hinges: Hinges, tolerance: float) -> Scale:
    """Measure a whole problem: when its objective counts as zero, how far its kinks are spread."""
    slope = hinges.below + hinges.above
    total = float(slope.sum())
    middle = float(slope @ hinges.position) / total
    spread = float(slope @ np.abs(hinges.position - middle))
    largest = float(np.abs(hinges.position).max())
    smallest = max(_NEGLIGIBLE * spread, _ROUNDING * total * largest, 1e-290) / tolerance
    return Scale(smallest, spread / total)


def solve_from(operator: Operator, hinges: Hinges, start: Start, settings: Settings) -> Result:
    """Solve for the step δ away from the start.

    Moving the origin to the start keeps a large common offset of the observations out of the
    iteration. Ridge becomes ½ρ(start + δ)², that is a linear term, a constant and ½ρδ².
    """
    theta = start.theta
    level = operator.decisions(theta)
    shifted = Hinges(hinges.position - level, hinges.below, hinges.above, hinges.weight)
    linear, constant = start.linear, start.constant
    if start.ridge is not None:
        pull = start.ridge * theta
        linear = pull if linear is None else linear + pull
        constant += 0.5 * float(pull @ theta)
    outcome = solve_hinges(
        operator,
        shifted,
        start=np.zeros_like(theta),
        linear=linear,
        ridge=start.ridge,
        constant=constant,
        scale=start.scale,
        leash=start.leash,
        settings=settings,
    )
    end = theta + outcome.theta
    target = settings.tolerance * start.scale.smallest
    if linear is None and constant == 0 and outcome.objective <= target:
        end = analytic_centre(operator, hinges, end)
        # no sum of hinges is below zero: such an objective is its own certificate
        outcome = replace(outcome, gap=outcome.objective, residual=0.0, status="optimal")
    return Result(
        theta=end,
        objective=outcome.objective,
        gap=outcome.gap,
        residual=outcome.residual,
        iterations=outcome.iterations,
        moved=float(np.sqrt(np.mean(outcome.decisions**2))),
        status=outcome.status,
        dual=outcome.dual,
    )


def solve_shrinking(operator: Operator, hinges: Hinges, start: Start, settings: Settings) -> Result:
    """Solve all kinks loosely, then only those whose side is still open.

    A multiplier close to an end of its box says on which side its kink will stay.
    """
    first = solve_from(operator, hinges, start, replace(settings, tolerance=_LOOSE))
    share = (first.dual + hinges.below) / (hinges.below + hinges.above)
    residual = operator.decisions(first.theta) - hinges.position
    over = share >= 0.5
    near = (share > _UNDECIDED) & (share < 1 - _UNDECIDED)
    near |= over != (residual > 0)
    begin = replace(start, theta=first.theta)
    result = _settle(operator, hinges, begin, settings, residual, near, over)
    return replace(result, iterations=result.iterations + first.iterations)


def solve_nearby(operator: Operator, hinges: Hinges, start: Start, settings: Settings) -> Result:
    """Solve from the solution of a similar problem: only the kinks closest to it are open."""
    residual = operator.decisions(start.theta) - hinges.position
    distance = np.abs(residual)
    place = int(_NEAREST * len(distance))
    near = distance <= np.partition(distance, place)[place]
    return _settle(operator, hinges, start, settings, residual, near, residual > 0)


def _settle(
    operator: Operator,
    hinges: Hinges,
    start: Start,
    settings: Settings,
    residual: Array,
    near: NDArray[np.bool_],
    over: NDArray[np.bool_],
) -> Result:
    """Solve the near kinks with the others fixed on their sides; open those that end up wrong.

    ``start`` holds a whole problem (no linear term), and ``residual`` belongs to its θ. The
    certificate is that of `unmet.solvers.blocks.screening`: reduced gap plus cost of kinks on the
    wrong side. Where the guess was poor, all kinks are solved together.
    """
    near[len(near) - operator.n_coefficient_kinks :] = True
    slope = hinges.below + hinges.above
    if near.sum() < _ENOUGH * operator.n_parameters:  # too few would leave the problem unbounded
        distance = np.abs(residual) / operator.leverage()
        place = min(_ENOUGH * operator.n_parameters, len(distance) - 1)
        near |= distance <= np.partition(distance, place)[place]
    iterations = 0
    for _ in range(_ROUNDS):
        if not operator.n_parameters < near.sum() <= _TOO_MANY * len(near):
            break
        result = _solve_open(operator, hinges, start, settings, residual, near, over)
        iterations += result.iterations
        if result.status != "optimal":
            break
        theta = result.theta
        start = replace(start, theta=theta)
        residual = operator.decisions(theta) - hinges.position
        flipped = ~near & (over != (residual > 0))
        gap = result.gap + float(slope[flipped] @ np.abs(residual[flipped]))
        objective = _value(hinges, residual, start.ridge, theta)
        if gap <= settings.tolerance * max(abs(objective), start.scale.smallest):
            dual = np.where(over, hinges.above, -hinges.below)
            dual[near] = result.dual
            if start.ridge is None and objective <= settings.tolerance * start.scale.smallest:
                theta = analytic_centre(operator, hinges, theta)
            return replace(
                result, theta=theta, objective=objective, gap=gap, iterations=iterations, dual=dual
            )
        near |= flipped
    result = solve_from(operator, hinges, start, settings)
    return replace(result, iterations=result.iterations + iterations)


def _solve_open(
    operator: Operator,
    hinges: Hinges,
    start: Start,
    settings: Settings,
    residual: Array,
    near: NDArray[np.bool_],
    over: NDArray[np.bool_],
) -> Result:
    """Solve the near kinks, the others fixed on their sides."""
    slope = np.where(over, hinges.above, -hinges.below)
    slope[near] = 0.0
    kinks = np.flatnonzero(near)
    inner = replace(start, linear=operator.moments(slope), constant=float(slope @ residual))
    tighter = replace(settings, tolerance=0.3 * settings.tolerance)
    return solve_from(operator.subset(kinks), hinges.take(kinks), inner, tighter)


# --- One interior-point solve in a frame: penalties, start, second attempt, and back.

_SHRINK_FROM = 20_000  # kinks from which fixing settled ones on the way pays
_NEGLIGIBLE_COEFFICIENT = 1e-13  # a ridge that costs less than this share of the spread is left out
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
        if float(ridge.sum()) * reach <= _NEGLIGIBLE_COEFFICIENT * total:
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
