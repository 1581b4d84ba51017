"""Several problems on the same features: a grid of costs or bands, each from its neighbours.

Along a grid of α or ε the features, their groups and their coordinates stay, and decisions move
little. So these are prepared once, the problem in the middle is solved as if it were alone, and
from there the others are reached one after the other, outward. Each begins at the better of two
answers, that of its neighbour in the list and the last one whose kinks were in the same places (in
a grid of α × ε the neighbour in the other direction), and goes on with rounded kinks
(`solve_rounded`), which proves its answer by the same duality gap as the interior point. Where that
does not succeed in a few steps, an interior point solves the problem as if it were alone.

Where the features are sparse, have more columns than rows or so many rows that screening pays,
each problem is solved on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import lapack

from unmet.arrays import Features
from unmet.costs.hinge import Kinks
from unmet.errors import SolverFailure
from unmet.solvers.blocks.screening import pays
from unmet.solvers.exact.direct import StandardProblem, flat_hinges, free_constant, proved
from unmet.solvers.exact.features import Standardisation, groups_of, merge_kinks, sort_kinks
from unmet.solvers.exact.interior_point import (
    Factor,
    InteriorPoint,
    Operator,
    doubt_of,
    weighted_gram,
)
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem, Solution

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def solve_path(
    features: Features,
    kinks: Sequence[Kinks],
    *,
    fit_intercept: bool = True,
    ridge: Array | None = None,
    lasso: Array | None = None,
    tolerance: float = 1e-9,
) -> list[Solution]:
    """Solve one problem per entry of `kinks`.

    Parameters
    ----------
    features, fit_intercept, ridge, lasso
        As in `HingeProblem`, the same for all problems.
    kinks : sequence of Kinks
        Neighbours should be similar, as along a grid of α or ε.
    tolerance : float, default=1e-9
        Of every problem, as in `solve_exact`.

    Returns
    -------
    list of Solution
        In the order of `kinks`, each with its certificate.
    """
    problems = [HingeProblem(features, each, fit_intercept, ridge, lasso) for each in kinks]
    prepared = None
    if len(problems) > 1 and not sparse.issparse(features):
        prepared = _prepare(problems[0])
    if prepared is None:
        return [solve_exact(problem, tolerance=tolerance) for problem in problems]
    group, standard, design = prepared
    mergings: dict[bytes, Any] = {}  # by where kinks are,
    latest: dict[bytes, Array] = {}  # as is the last answer there
    answers: dict[int, Array] = {}
    solutions: dict[int, Solution] = {}
    middle = len(problems) // 2
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for place in (*range(middle, len(problems)), *reversed(range(middle))):
            problem = problems[place]
            free = free_constant(problem)
            if free is not None:
                solutions[place] = free
                continue
            hinges, blocks, merged = flat_hinges(problem.kinks), len(problem.kinks.position), None
            there = hinges.position.tobytes()
            if group is not None:
                if there not in mergings:
                    mergings[there] = sort_kinks(group, hinges.position)
                order, runs, merged = mergings[there]
                hinges = merge_kinks(hinges, order, runs)
            operator = Operator(design, blocks, merged)
            whole = StandardProblem(operator, hinges, standard, (ridge, lasso), tolerance)
            neighbours = answers.get(place - 1), answers.get(place + 1), latest.get(there)
            starts = [theta for theta in neighbours if theta is not None]
            result = _continue_from(whole, starts, tolerance)
            if result is None:
                result = whole.fix_kinks(whole.start(), tolerance)
            found = None
            if result.status == "optimal":
                answers[place] = latest[there] = result.theta
                found = proved(problem, whole.solution(result), standard, tolerance)
            solutions[place] = found or solve_exact(problem, tolerance=tolerance)
    return [solutions[place] for place in range(len(problems))]


def _prepare(problem: HingeProblem) -> tuple[Index | None, Standardisation, Array] | None:
    """Group and standardise the rows; None where problems are better solved alone."""
    rows = np.asarray(problem.features)
    groups = groups_of(rows)
    rows = rows if groups is None else rows[groups[0]]
    n_rows, n_features = rows.shape
    screened = groups is None and pays(n_rows, n_features + problem.fit_intercept)
    if n_features >= n_rows or screened:
        return None
    rotate = problem.ridge is None and problem.lasso is None
    prepared = Standardisation.of(rows, problem.fit_intercept, rotate=rotate)
    return None if groups is None else groups[1], *prepared


def _continue_from(
    whole: StandardProblem, starts: Sequence[Array], tolerance: float
) -> InteriorPoint | None:
    """Go on from the best of some answers; None if there is none, or that leads nowhere.

    Where nothing costs anything, the analytic centre is asked for, which is not near here.
    """
    if not starts:
        return None
    values = [whole.value(theta) for theta in starts]
    best = int(np.argmin(values))
    nothing = tolerance * whole.scale[0]
    if not values[best] > nothing:
        return None
    found = solve_rounded(whole, starts[best], tolerance)
    return found if found is not None and found.objective > nothing else None


# --- From a good guess to the exact answer: Newton's method on hinges with rounded kinks.
#
# An interior point needs about as many iterations from a neighbour's answer as from anywhere,
# because it must first come back to the middle of its path. A sum of *rounded* hinges, quadratic
# within γ/2 of their kinks, has no such path: Newton needs the more steps, the more kinks change
# their zone (inside, or a line on either side), and from a neighbour these are few. A step is also
# cheaper: it has no slacks, and only kinks within a window around the decisions take part. The
# others are lines, with the certificate of `unmet.solvers.blocks.screening`.
#
# Around a point of the dual, ŷ, with c = below + above the slope that a kink adds, ::
#
#     y(θ) = clip(ŷ + (c/γ)(Aθ − b), −below, above)
#
# are the slopes of the rounded hinges, and A'y(θ) + ρθ is the gradient of their sum (letters as in
# `interior_point`). For a Newton step only the kinks inside, with y between its ends, count as
# curved. What makes it exact is what Madsen and Nielsen (A finite smoothing algorithm for linear
# ℓ1 estimation, SIAM J. Optimization 3, 1993) and Chen (A finite smoothing algorithm for quantile
# regression, J. Computational and Graphical Statistics 16, 2007) noticed: γ need not go to zero.
#
# - A Newton step changes y, too. Where the changed y stays in its box it solves the dual equation,
#   so that it is a point of the dual problem, whatever γ is.
# - Its partner is θ moved onto the kinks inside, by least squares with the same factor. If these
#   can all be met, and no other kink is passed on the way, both are optimal, and the gap says so,
#   as in `interior_point`. With ridge θ is where Newton put it.
# - Else ŷ becomes that y (the method of multipliers), γ a tenth, and the steps go on.
#
# Where the kinks inside do not fix all coefficients the next step of Newton would be endless; then
# kinks outside count as a little curved, the less, the farther outside they are.


def solve_rounded(whole: StandardProblem, theta: Array, tolerance: float) -> InteriorPoint | None:
    """Minimise a sum of hinges from parameters that are nearly best.

    Parameters
    ----------
    whole : StandardProblem
    theta : ndarray of shape (n_parameters,)
        Where to begin.
    tolerance : float
        Largest gap relative to the objective.

    Returns
    -------
    InteriorPoint or None
        With the certificate of one; None where it takes too many steps, or rounding stops it.
    """
    decision = whole.operator.decisions(theta)
    width = _first_width(whole, decision)
    window = max(0.2 * whole.scale[1], 3 * width)
    used = 0
    for _ in range(6):
        value = whole.value(theta, decision - whole.hinges.position)
        part = _NearKinks(whole, theta, decision, window, width, value, tolerance)
        found = part.solve(40 - used)
        used += part.steps
        if found is None or found.status == "optimal":
            return None if found is None else found._replace(iterations=used)
        # kinks beyond the window were passed: it opens around where that led to
        theta, decision, width = found.theta, found.change, part.width
    return None


def _first_width(whole: StandardProblem, decision: Array) -> float:
    """Width within which some kinks a parameter lie, so that they fix all of them."""
    distance = np.abs(decision - whole.hinges.position)
    place = min(4 * whole.operator.n_parameters, len(distance) - 1)
    return max(0.0005 * whole.scale[1], float(np.partition(distance, place)[place]))


class _NearKinks:
    """The kinks near some decisions, rounded; the others are lines."""

    def __init__(
        self,
        whole: StandardProblem,
        theta: Array,
        decision: Array,
        window: float,
        width: float,
        value: float,
        tolerance: float,
    ) -> None:
        self.whole, self.theta, self.tolerance = whole, theta, tolerance
        self.width, self.window, self.steps = width, window, 0
        self.target = 0.3 * tolerance * max(value, whole.scale[0])
        operator, hinges = whole.operator, whole.hinges
        residual = decision - hinges.position
        near = np.abs(residual) <= window
        near[len(near) - operator.n_lasso :] = True
        self.near: Index | None = None
        self.lines, self.linear = np.zeros(len(near)), np.zeros(operator.n_parameters)
        if np.count_nonzero(near) <= 0.6 * len(near):
            self.near = np.flatnonzero(near)
            self.lines = np.where(residual > 0, hinges.above, -hinges.below)
            self.lines[self.near] = 0.0
            self.linear = operator.moments(self.lines)
            operator, hinges = _of_kinks(operator, self.near), hinges.take(self.near)
            decision = decision[self.near]
        self.operator, self.decision = operator, decision
        self.position, self.above, self.floor = hinges.position, hinges.above, -hinges.below
        self.slope = hinges.below + hinges.above
        self.anchor = 0.5 * (self.above + self.floor)

    def solve(self, most: int) -> InteriorPoint | None:
        """Return an optimum, or where kinks beyond the window make it none; None after `most`."""
        operator, ridge, floor, above = self.operator, self.whole.ridge, self.floor, self.above
        doubtful, stiffness = True, self.slope / self.width
        while self.steps < most:
            self.steps += 1
            residual = self.decision - self.position
            pull = stiffness * residual
            pull += self.anchor
            dual = np.maximum(pull, floor)
            np.minimum(dual, above, out=dual)
            inside = dual == pull
            gradient = operator.moments(dual)
            gradient += self.linear
            if ridge is not None:
                gradient += ridge * self.theta
            curved = stiffness * inside
            faint = 1e-9 * stiffness  # keeps the factor regular where kinks inside suffice
            try:
                if not doubtful:
                    factor = _factored(operator, np.where(inside, stiffness, faint), ridge)
                    step = -factor(gradient)
                    change = operator.decisions(step)
                    doubtful = not np.abs(change).max() <= self.window
                if doubtful:
                    outside = np.abs(pull - dual)
                    outside += self.slope
                    faint = 0.005 * stiffness * self.slope / outside
                    factor = _factored(operator, np.where(inside, stiffness, faint), ridge)
                    step = -factor(gradient)
                    change = operator.decisions(step)
            except SolverFailure:
                return None
            better = curved * change
            better += dual
            if (better >= floor).all() and (better <= above).all():
                guesses = [self.theta + step]
                if ridge is None:  # rather onto the kinks inside
                    onto = factor(operator.moments(curved * residual))
                    guesses.insert(0, self.theta - onto)
                found, follow = self._evaluated(guesses, better)
                if found is not None:
                    return found
                doubtful = False
                if follow:
                    stiffness = self.slope / self.width
                    continue
            share = self._share(pull, stiffness * change, change, step, gradient)
            if share is None:
                return None
            doubtful = share < 0.99
            self.theta = self.theta + share * step
            self.decision = self.decision + share * change
        return None

    def _evaluated(self, guesses: list[Array], dual: Array) -> tuple[InteriorPoint | None, bool]:
        """Return the certificate of all kinks where that of the near ones is good enough.

        Else, whether the dual equation holds: steps then go on around this point, more narrowly.
        """
        ridge, rest = self.whole.ridge, self.operator.moments(dual) + self.linear
        below, above = dual - self.floor, self.above - dual
        best, smallest, decision = guesses[0], np.inf, self.decision
        for theta in guesses:
            there = self.operator.decisions(theta)
            residual = there - self.position
            over = np.maximum(residual, 0.0)
            gap = float(above @ over + below @ (over - residual))
            if gap < smallest:
                best, smallest, decision = theta, gap, there
            if gap <= self.target:
                break
        size = np.maximum(np.abs(best), self.whole.scale[1])
        off = np.abs(rest if ridge is None else rest + ridge * best)
        if not float(off @ size) <= self.target:
            return None, False
        if smallest <= self.target:
            full = dual
            if self.near is not None:
                full = self.lines.copy()
                full[self.near] = dual
            return _certified(self.whole, best, full, self.tolerance), False
        self.theta, self.decision, self.anchor = best, decision, dual
        self.width *= 0.1
        return None, True

    def _share(
        self, pull: Array, faster: Array, change: Array, step: Array, gradient: Array
    ) -> float | None:
        """Share of a step that leaves a third of its slope; None where it does not go down."""
        first = float(gradient @ step)
        if not first < 0:
            return None
        steady, rising = float(self.linear @ step), 0.0
        if self.whole.ridge is not None:
            steady += float(self.whole.ridge @ (self.theta * step))
            rising = float(self.whole.ridge @ (step * step))
        low, high = 0.0, np.inf
        share = min(1.0, self.window / float(np.abs(change).max()))
        slope_low, slope_high = first, 0.0
        for _ in range(30):
            moved = share * faster
            moved += pull
            np.maximum(moved, self.floor, out=moved)
            np.minimum(moved, self.above, out=moved)
            slope = float(moved @ change) + steady + share * rising
            if abs(slope) <= -0.3 * first:
                return share
            if slope < 0:
                low, slope_low = share, slope
            elif slope > 0:
                high, slope_high = share, slope
            else:
                return None  # not a number
            if np.isinf(high):
                share *= 3
            else:
                part = slope_low / (slope_low - slope_high)
                share = low + (high - low) * min(max(part, 0.1), 0.9)
        return share


def _factored(operator: Operator, weights: Array, ridge: Array | None) -> Factor:
    """Factor the normal matrix in the fewest calls, or as an interior point does where that fails.

    The shift is that of `factorise`: a few rounding errors of each diagonal entry.
    """
    if operator.penalised is None:
        gram = weighted_gram(operator.rows, operator.collect(weights))
        diagonal = gram.reshape(-1)[:: len(gram) + 1]
        if ridge is not None:
            diagonal += ridge
        diagonal *= 1 + len(gram) * 1e-15
        factor, info = lapack.dpotrf(gram.T, lower=1, overwrite_a=1)
        if info == 0:
            return lambda right: lapack.dpotrs(factor, right, lower=1)[0]  # columns are alike
    return operator.factor(weights, ridge)


def _of_kinks(operator: Operator, kinks: Index) -> Operator:
    """Return the operator of some kinks, given in increasing order; rows stay shared."""
    if operator.merged is None or not len(kinks):
        return operator.subset(kinks)
    row = operator.merged[0][kinks[: len(kinks) - operator.n_lasso]]
    opens = np.empty(len(row), dtype=bool)
    opens[:1] = True
    np.not_equal(row[1:], row[:-1], out=opens[1:])
    starts = np.flatnonzero(opens)
    merged = np.cumsum(opens) - 1, starts
    return Operator(operator.rows[row[starts]], merged=merged, penalised=operator.penalised)


def _certified(
    whole: StandardProblem, theta: Array, dual: Array, tolerance: float
) -> InteriorPoint:
    """Objective, gap and residual of a pair, as in `interior_point`."""
    operator, hinges, ridge = whole.operator, whole.hinges, whole.ridge
    decision = operator.decisions(theta)
    residual = decision - hinges.position
    over = np.maximum(residual, 0.0)
    under = over - residual
    objective = float(hinges.above @ over + hinges.below @ under)
    gap = float((hinges.above - dual) @ over + (dual + hinges.below) @ under)
    pull = operator.moments(dual)
    if ridge is not None:
        objective += 0.5 * float(ridge @ theta**2)
        pull += ridge * theta
    charged, off = doubt_of(pull, theta, ridge, whole.scale[1])
    gap += charged
    target = tolerance * max(abs(objective), whole.scale[0])
    status = "optimal" if gap <= target and off <= target else "iteration limit"
    return InteriorPoint(theta, dual, decision, objective, gap, off, 0, status)
