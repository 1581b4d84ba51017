"""One exact solve in standardised coordinates: penalties, start, fixing of kinks, exact zeros.

ℓ1 needs no machinery of its own: λ|θ_j| is a hinge at zero like any other, of a row e_j that reads
off coefficient j alone. These rows add their weight to the diagonal of the normal matrix, which is
the place where ridge stands too.

Where kinks are many, only those are open whose side is in doubt. The others are lines, and what
they prove is what is proved in `unmet.solvers.blocks.screening`: reduced gap plus cost of kinks on
the wrong side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unmet.costs.hinge import Kinks
from unmet.solvers import constants
from unmet.solvers.exact.features import Standardisation
from unmet.solvers.exact.interior_point import (
    Factorisation,
    InteriorPoint,
    Operator,
    analytic_centre,
    solve_hinges,
)
from unmet.solvers.problem import HingeProblem, Hinges, Scale, Solution

Array = NDArray[np.float64]

# A loss is measured against the spread of the kinks when it is (nearly) zero: with a band that
# holds everything there is no other scale.
_NEGLIGIBLE = 1e-14
_ROUNDING = 1e-17
_INERT = 1e-15
_EQUAL = 1e-12
_NEGLIGIBLE_RIDGE = 1e-13  # a ridge that costs less than this share of the spread is left out
_INSIDE = 0.999


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


def scale_of(hinges: Hinges, tolerance: float) -> Scale:
    """Measure a whole problem: when its objective counts as zero, how far its kinks are spread.

    Lower and upper ends of bands are looked at apart: an end far away says nothing of the spread.
    What matters of the slopes is the smaller sum: at a level of 1e-6 nothing costs more.
    """
    sums, spreads, largest = [], [], []
    for slope in (hinges.below, hinges.above):
        total, position = 2 * float(slope.sum()), hinges.position
        if total > 0:
            if not slope.min() > 0:
                position = position[slope > 0]
            sums.append(total)
            spreads.append(float(np.abs(position - position.mean()).mean()))
            largest.append(max(float(position.max()), -float(position.min())))
    reach = sum(spreads) / len(spreads)
    size = min(sums) * max(_NEGLIGIBLE * reach, _ROUNDING * min(largest))
    return Scale(max(size, 1e-290) / tolerance, reach)


def best_intercept(residual: Array, slope: Array, total_below: float) -> float:
    """Minimise a sum of hinges over one common change of all decisions: a weighted quantile."""
    order = np.argsort(residual)
    climbed = np.cumsum(slope[order])
    place = int(np.searchsorted(climbed, total_below))
    return float(residual[order[min(place, len(order) - 1)]])


# --- ℓ1.


class WithLasso(Operator):
    """An operator followed by one row e_j for each penalised coefficient."""

    def __init__(self, inner: Operator, n_inner: int, penalised: NDArray[np.intp]) -> None:
        self.inner = inner
        self.n_inner = n_inner
        self.penalised = penalised
        self.n_parameters = inner.n_parameters
        self.n_coefficient_kinks = len(penalised)
        self.correctors = inner.correctors

    def decisions(self, theta: Array) -> Array:
        """Return the decisions, then the penalised coefficients."""
        return np.concatenate([self.inner.decisions(theta), theta[self.penalised]])

    def moments(self, values: Array) -> Array:
        """Return A'values."""
        result = self.inner.moments(values[: self.n_inner])
        result[self.penalised] += values[self.n_inner :]
        return result

    def leverage(self) -> Array:
        """Return that of the decisions, and 1 for the coefficients."""
        inner = np.broadcast_to(self.inner.leverage(), self.n_inner)
        return np.concatenate([inner, np.ones(len(self.penalised))])

    def subset(self, kinks: NDArray[np.intp]) -> WithLasso:
        """Return the operator of some kinks; all coefficient rows must be among the last."""
        inner = kinks[: len(kinks) - len(self.penalised)]
        return WithLasso(self.inner.subset(inner), len(inner), self.penalised)

    def factor(self, weights: Array, ridge: Array | None) -> Factorisation:
        """Factor with the weights of the coefficient rows on the diagonal."""
        diagonal = np.zeros(self.n_parameters) if ridge is None else ridge.copy()
        diagonal[self.penalised] += weights[self.n_inner :]
        return self.inner.factor(weights[: self.n_inner], diagonal)


def add_lasso(operator: Operator, hinges: Hinges, lasso: Array | None) -> tuple[Operator, Hinges]:
    """Append the hinges lasso_j |θ_j| to a problem."""
    if lasso is None or not lasso.any():
        return operator, hinges
    penalised = np.flatnonzero(lasso)
    slopes = lasso[penalised]
    # The barrier of all penalties together never outweighs that of the rows: a strong penalty
    # would otherwise start the rows much too close to their kinks.
    weight = slopes * min(2.0, float(hinges.weight.sum() / slopes.sum()))
    joined = Hinges(
        np.concatenate([hinges.position, np.zeros(len(penalised))]),
        np.concatenate([hinges.below, slopes]),
        np.concatenate([hinges.above, slopes]),
        np.concatenate([hinges.weight, weight]),
    )
    return WithLasso(operator, len(hinges.position), penalised), joined


def exact_zeros(theta: Array, dual: Array, lasso: Array | None) -> Array:
    """Set coefficients to zero whose multiplier proves that they are.

    At an optimum the multiplier of |θ_j| lies strictly inside ±lasso_j only where θ_j = 0; an
    interior point comes close to that zero but never reaches it.
    """
    if lasso is None or not lasso.any():
        return theta
    penalised = np.flatnonzero(lasso)
    inside = np.abs(dual[-len(penalised) :]) < _INSIDE * lasso[penalised]
    rounded = theta.copy()
    rounded[penalised[inside]] = 0.0
    return rounded


@dataclass(frozen=True)
class FixedSigns:
    """Penalties of coefficients that are too far from zero to reach it, as straight lines.

    Their hinges are the far kinks of the penalty. Left open, they would be most of the cost of a
    reduced problem, and its barrier would start much too wide for the near kinks.

    Attributes
    ----------
    lasso, rest : ndarray of shape (n_parameters,)
        All penalties, and those that stay hinges.
    slope : ndarray of shape (n_parameters,)
        lasso_j with the sign of θ_j where that is fixed, else 0.
    cost : float
        What these penalties cost at θ.
    """

    lasso: Array
    rest: Array
    slope: Array
    cost: float

    @classmethod
    def of(cls, theta: Array, lasso: Array, distance: float) -> FixedSigns | None:
        """Fix the signs of coefficients farther from zero than a distance; None if none is."""
        far = (np.abs(theta) > distance) & (lasso > 0)
        if not far.any():
            return None
        slope = np.where(far, np.copysign(lasso, theta), 0.0)
        return cls(lasso, np.where(far, 0.0, lasso), slope, float(slope @ theta))

    def complete(self, result: InteriorPoint) -> InteriorPoint:
        """Give fixed coefficients their multipliers; unbounded if one has lost its sign.

        The slope of a hinge that has become a line is its multiplier.
        """
        status = result.status if (self.slope * result.theta >= 0).all() else "unbounded"
        penalised, open_ = np.flatnonzero(self.lasso), np.flatnonzero(self.rest)
        n_rows = len(result.dual) - len(open_)
        values = self.slope.copy()
        values[open_] = result.dual[n_rows:]
        dual = np.concatenate([result.dual[:n_rows], values[penalised]])
        return replace(result, status=status, dual=dual)


# --- A whole problem.


@dataclass(frozen=True)
class StandardProblem:
    """A hinge problem in standardised coordinates, with its penalties.

    Attributes
    ----------
    operator, hinges
        Of the rows, followed by those of the ℓ1 penalty.
    ridge : ndarray of shape (n_parameters,) or None
        ρ of the interior point: twice the ridge penalty.
    lasso : ndarray of shape (n_parameters,) or None
    scale : Scale
    standard : Standardisation
    """

    operator: Operator
    hinges: Hinges
    ridge: Array | None
    lasso: Array | None
    scale: Scale
    standard: Standardisation

    @classmethod
    def of(
        cls,
        inner: Operator,
        hinges: Hinges,
        standard: Standardisation,
        penalties: tuple[Array | None, Array | None],
        tolerance: float,
    ) -> StandardProblem:
        """Join the rows to their raw penalties, ridge and lasso."""
        scale = scale_of(hinges, tolerance)
        ridge, lasso = standard.ridge(penalties[0]), standard.lasso(penalties[1])
        if ridge is not None:
            total = float(hinges.below.sum() + hinges.above.sum())
            # without an intercept the coefficients must reach from 0 to the kinks, however close
            # these are to each other
            reach = scale.reach if standard.intercept else float(np.abs(hinges.position).max())
            if float(ridge.sum()) * reach <= _NEGLIGIBLE_RIDGE * total:
                ridge = None
        operator, joined = add_lasso(inner, hinges, lasso)
        return cls(operator, joined, ridge, lasso, scale, standard)

    def value(self, theta: Array, residual: Array | None = None) -> float:
        """Objective at some parameters, whose residuals may be known already."""
        if residual is None:
            residual = self.operator.decisions(theta) - self.hinges.position
        over = np.maximum(residual, 0.0)
        value = float(self.hinges.above @ over + self.hinges.below @ (over - residual))
        return value if self.ridge is None else value + 0.5 * float(self.ridge @ theta**2)

    def start(self) -> Array:
        """Weighted least squares on the kinks, then the best common change of all decisions.

        Starting the interior point at the right level saves up to two thirds of its iterations when
        α is near 0 or 1. Where a penalty holds the coefficients down, no coefficients and the best
        constant are a better start.
        """
        hinges, operator = self.hinges, self.operator
        slope = hinges.below + hinges.above
        factor = operator.factor(slope, self.ridge)
        starts = [factor.solve(operator.moments(slope * hinges.position))]
        if self.ridge is not None or operator.n_coefficient_kinks:
            starts.append(np.zeros_like(starts[0]))
        if self.standard.intercept:
            rows = slice(len(slope) - operator.n_coefficient_kinks)
            below = float(hinges.below[rows].sum())
            for theta in starts:
                residual = (hinges.position - operator.decisions(theta))[rows]
                theta[-1] += best_intercept(residual, slope[rows], below)
        return starts[0] if len(starts) == 1 else min(starts, key=self.value)

    def solve(self, theta: Array, tolerance: float, cautious: bool = False) -> InteriorPoint:
        """Solve all kinks together."""
        return solve_hinges(
            self.operator,
            self.hinges,
            theta,
            self.scale,
            ridge=self.ridge,
            tolerance=tolerance,
            cautious=cautious,
        )

    def solve_open(self, theta: Array, tolerance: float, cautious: bool = False) -> InteriorPoint:
        """Solve all kinks loosely, then only those whose side is still open.

        A multiplier close to an end of its box says on which side its kink will stay. Kinks that
        end up on the wrong side are opened; where the guess was poor, all are solved together.
        """
        operator, hinges = self.operator, self.hinges
        first = self.solve(theta, constants.SHRINK_GAP, cautious)
        share = (first.dual + hinges.below) / (hinges.below + hinges.above)
        residual = operator.decisions(first.theta) - hinges.position
        over = share >= 0.5
        near = (share > constants.UNDECIDED) & (share < 1 - constants.UNDECIDED)
        near |= over != (residual > 0)
        near[len(near) - operator.n_coefficient_kinks :] = True
        fewest = min(constants.OPEN_KINKS * operator.n_parameters, len(near) - 1)
        if near.sum() <= fewest:  # too few would leave the problem unbounded
            distance = np.abs(residual) / operator.leverage()
            near |= distance <= np.partition(distance, fewest)[fewest]
        theta, iterations = first.theta, first.iterations
        for _ in range(constants.OPEN_ROUNDS):
            if not operator.n_parameters < near.sum() <= constants.MAX_OPEN * len(near):
                break
            lines = np.where(over, hinges.above, -hinges.below)
            lines[near] = 0.0
            kinks = np.flatnonzero(near)
            result = solve_hinges(
                operator.subset(kinks),
                hinges.take(kinks),
                theta,
                self.scale,
                linear=operator.moments(lines),
                ridge=self.ridge,
                constant=float(lines @ residual),
                tolerance=0.3 * tolerance,
                cautious=cautious,
            )
            iterations += result.iterations
            if result.status != "optimal":
                break
            theta = result.theta
            residual = operator.decisions(theta) - hinges.position
            flipped = ~near & (over != (residual > 0))
            slope = hinges.below[flipped] + hinges.above[flipped]
            gap = result.gap + float(slope @ np.abs(residual[flipped]))
            objective = self.value(theta, residual)
            if gap <= tolerance * max(abs(objective), self.scale.smallest):
                dual = np.where(over, hinges.above, -hinges.below)
                dual[near] = result.dual
                if self.ridge is None and objective <= tolerance * self.scale.smallest:
                    theta = analytic_centre(operator, hinges, theta)
                settled = replace(result, theta=theta, objective=objective, gap=gap, dual=dual)
                return replace(settled, iterations=iterations)
            near |= flipped
        result = self.solve(theta, tolerance, cautious)
        return replace(result, iterations=result.iterations + iterations)

    def minimise(self, tolerance: float) -> tuple[Solution, Array] | None:
        """Solve, with shorter steps if the usual ones stall.

        Returned with the solution are the multipliers of the rows' kinks; None if the gap is not
        acceptable.
        """
        n_rows = len(self.hinges.position) - self.operator.n_coefficient_kinks
        many = len(self.hinges.position) >= constants.SHRINK_KINKS
        solve = self.solve_open if many else self.solve
        start = self.start()
        best: InteriorPoint | None = None
        smallest = np.inf
        for cautious in (False, True):
            result = solve(start, tolerance, cautious)
            if result.status == "optimal":
                return self.solution(result), result.dual[:n_rows]
            doubt = max(result.gap, result.residual)
            if doubt < smallest:
                best, smallest = result, doubt
        if best is None:
            return None
        allowed = constants.ACCEPTABLE_GAP * max(abs(best.objective), self.scale.smallest)
        return (self.solution(best), best.dual[:n_rows]) if smallest <= allowed else None

    def solution(self, result: InteriorPoint) -> Solution:
        """Return a result in raw coordinates, with exact zeros where ℓ1 made them."""
        theta, objective, gap = result.theta, result.objective, result.gap
        zeros = exact_zeros(theta, result.dual, self.lasso)
        if zeros is not theta:
            value = self.value(zeros)
            worse = max(0.0, value - objective)
            if worse <= constants.ZEROS_COST * abs(objective):
                theta, objective, gap = zeros, value, gap + worse
        return Solution(
            *self.standard.to_raw(theta),
            objective,
            gap,
            result.residual,
            result.iterations,
            0.0,
            "interior point",
        )


# --- What is handed on.


def proved(
    problem: HingeProblem, solution: Solution, standard: Standardisation | None, tolerance: float
) -> Solution | None:
    """Evaluate an answer at its raw coefficients; None where the gap is not acceptable there.

    Columns that `standard` has left out get their coefficients. What the raw coefficients cost more
    than those of the solve is part of the gap.
    """
    objective = problem.objective(solution.coefficients, solution.intercept)
    found = _dearer(solution, solution.coefficients, solution.intercept, objective)
    if standard is not None and standard.dependence is not None:
        least = standard.with_least_norm(found.coefficients, found.intercept)
        objective = problem.objective(*least)
        if objective <= max((1 + constants.ZEROS_COST) * found.objective, _nothing(problem)):
            found = _dearer(found, *least, objective)
    share = max(tolerance, constants.ACCEPTABLE_GAP)
    if not found.objective > 0:
        return found
    if max(found.gap, found.residual) + _digits(problem) <= share * found.objective:
        return free_constant(problem) or found
    if found.objective <= _rounding(problem, found):  # no sum of hinges is below zero
        found = replace(found, gap=min(found.gap, found.objective), residual=0.0)
        return free_constant(problem) or found
    return None


def _dearer(
    solution: Solution, coefficients: Array, intercept: float, objective: float
) -> Solution:
    """Move a solution to other coefficients of nearly the same decisions."""
    gap = solution.gap + max(0.0, objective - solution.objective)
    return replace(
        solution, coefficients=coefficients, intercept=intercept, objective=objective, gap=gap
    )


def _digits(problem: HingeProblem) -> float:
    """Bound rounding in a gap: where slopes differ by 1e12, it is all that light rows cost.

    With an intercept multipliers sum to zero, and those of one sign to at most the smaller sum. No
    decision need leave the range of the kinks.
    """
    kinks = problem.kinks
    sums = float(kinks.below.sum()), float(kinks.above.sum())
    most = 2 * min(sums) if problem.fit_intercept else sum(sums)
    reach = float(kinks.position.max() - kinks.position.min())
    return 0.5 * float(np.finfo(float).eps) * most * reach


def _nothing(problem: HingeProblem) -> float:
    """Cost that counts as none: beside that of the best constant, or beside the observations.

    Observations that are equal but for rounding have no other scale than their size.
    """
    hinges, level = flat_hinges(problem.kinks), 0.0
    slope = hinges.below + hinges.above
    if problem.fit_intercept:
        level = best_intercept(hinges.position, slope, float(hinges.below.sum()))
    constant = problem.kinks.value(np.full(problem.features.shape[0], level))
    size = abs(level) * len(slope) * float(np.median(slope))
    return max(constants.NO_COST * float(constant.sum()), _EQUAL * size)


def _rounding(problem: HingeProblem, solution: Solution) -> float:
    """Cost that counts as none: also what the last digits of decisions cost, where that is little.

    Features far from zero, or alike in nine digits, have coefficients whose terms cancel.
    """
    nothing, features, kinks = _nothing(problem), problem.features, problem.kinks
    decision = features @ solution.coefficients + solution.intercept
    terms = abs(features) @ np.abs(solution.coefficients) + abs(solution.intercept)
    miss = 4 * np.finfo(float).eps * terms
    dearer = np.maximum(kinks.value(decision + miss), kinks.value(decision - miss))
    digits = float(np.maximum(dearer - kinks.value(decision), 0.0).sum())
    return max(nothing, min(digits, 10 * nothing))


def free_constant(problem: HingeProblem) -> Solution | None:
    """One decision for all rows, if it costs nothing: then no penalty can change that.

    In the middle of all such decisions.
    """
    kinks, level = problem.kinks, 0.0
    for rows in (slice(100), slice(None)):  # where there is none, a few rows mostly show it
        position = kinks.position[:, rows]
        lowest = float(position.max(where=kinks.below[:, rows] > 0, initial=-np.inf))
        highest = float(position.min(where=kinks.above[:, rows] > 0, initial=np.inf))
        if problem.fit_intercept:
            ends = [end for end in (lowest, highest) if np.isfinite(end)]
            level = sum(end / len(ends) for end in ends)
        if not lowest <= level <= highest:
            return None
    nothing = np.zeros(problem.features.shape[1])
    return Solution(nothing, level, 0.0, 0.0, 0.0, 0, 1.0, "constant")
