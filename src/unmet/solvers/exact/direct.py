"""One exact solve in standardised coordinates: penalties, start, fixed kinks, exact zeros.

If there are many kinks, only those whose side is in doubt stay open. The others are lines, with the
certificate of `unmet.solvers.blocks.screening`: reduced gap plus cost of kinks on the wrong side.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unmet.arrays import Array
from unmet.costs.hinge import Kinks
from unmet.solvers.exact.features import Standardisation
from unmet.solvers.exact.interior_point import (
    InteriorPoint,
    Operator,
    Scale,
    analytic_centre,
    follow_central_path,
)
from unmet.solvers.problem import HingeProblem, Hinges, Solution

ACCEPTABLE_GAP = 1e-6
"""Relative gap that is still handed back when rounding stops the iteration."""
CLOSE_COST = 1e-9
"""Share of the cost that exact zeros, or coefficients of least norm, may add."""


def flat_hinges(kinks: Kinks) -> Hinges:
    """One entry per kink, block after block; a kink weighs what its row weighs."""
    slope = kinks.below + kinks.above
    weight = np.broadcast_to(slope.sum(axis=0), kinks.position.shape).ravel()
    below, above = kinks.below.ravel(), kinks.above.ravel()
    if not slope.min() > 0:
        # Kinks that cost nothing have no multiplier; a slope below rounding keeps them harmless.
        idle = slope.ravel() <= 0
        inert = 1e-15 * float(slope.max())
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
    # a cost of zero has no other scale than rounding of the spread, or of the kinks themselves
    size = min(sums) * max(1e-14 * reach, 1e-17 * min(largest))
    return max(size, 1e-290) / tolerance, reach


def best_intercept(position: Array, slope: Array, total_below: float) -> float:
    """Minimise a sum of hinges over one common decision: a weighted quantile."""
    order = np.argsort(position)
    place = int(np.searchsorted(np.cumsum(slope[order]), total_below))
    return float(position[order[min(place, len(order) - 1)]])


def add_lasso(operator: Operator, hinges: Hinges, lasso: Array | None) -> Hinges:
    """Append the hinges lasso_j |θ_j| to a problem; the operator learns of their rows."""
    if lasso is None or not lasso.any():
        return hinges
    operator.penalised = np.flatnonzero(lasso)
    operator.n_lasso = len(operator.penalised)
    slopes = lasso[operator.penalised]
    # The barrier of all penalties together never outweighs that of the rows: a strong penalty
    # would otherwise start the rows much too close to their kinks.
    weight = slopes * min(2.0, float(hinges.weight.sum() / slopes.sum()))
    more = np.zeros(len(slopes)), slopes, slopes, weight
    return Hinges(*map(np.concatenate, zip(hinges, more, strict=True)))


def exact_zeros(theta: Array, dual: Array, lasso: Array | None) -> Array:
    """Set coefficients to zero whose multiplier proves that they are.

    At an optimum the multiplier of |θ_j| lies strictly inside ±lasso_j only where θ_j = 0; an
    interior point comes close to that zero but never reaches it.
    """
    if lasso is None or not lasso.any():
        return theta
    penalised = np.flatnonzero(lasso)
    inside = np.abs(dual[-len(penalised) :]) < 0.999 * lasso[penalised]
    rounded = theta.copy()
    rounded[penalised[inside]] = 0.0
    return rounded


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

    def __init__(
        self,
        operator: Operator,
        hinges: Hinges,
        standard: Standardisation,
        penalties: tuple[Array | None, Array | None],
        tolerance: float,
    ) -> None:
        self.standard, self.operator = standard, operator
        self.scale, self.tolerance = scale_of(hinges, tolerance), tolerance
        self.ridge = self.lasso = None
        self.hinges = hinges
        if penalties[0] is not None or penalties[1] is not None:
            self.ridge, self.lasso = standard.penalties(*penalties)
            self.hinges = add_lasso(operator, hinges, self.lasso)

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
        starts = [operator.factor(slope, self.ridge)(operator.moments(slope * hinges.position))]
        if self.ridge is not None or operator.n_lasso:
            starts.append(np.zeros_like(starts[0]))
        if self.standard.intercept:
            rows = slice(len(slope) - operator.n_lasso)
            below = float(hinges.below[rows].sum())
            for theta in starts:
                residual = (hinges.position - operator.decisions(theta))[rows]
                theta[-1] += best_intercept(residual, slope[rows], below)
        return starts[0] if len(starts) == 1 else min(starts, key=self.value)

    def minimise(self, share: float = 1.0) -> tuple[Solution, Array] | None:
        """Solve to a share of the tolerance, with shorter steps if the usual ones stall.

        Returned with the solution are the multipliers of the rows' kinks; None if the gap is not
        acceptable.
        """
        start, tolerance = self.start(), share * self.tolerance
        result = self.fix_kinks(start, tolerance)
        if result.status != "optimal":
            other = self.fix_kinks(start, tolerance, cautious=True)
            doubts = [max(each.gap, each.residual) for each in (result, other)]
            if other.status == "optimal" or not doubts[0] <= doubts[1]:
                result = other
            allowed = ACCEPTABLE_GAP * max(abs(result.objective), self.scale[0])
            if result.status != "optimal" and not min(doubts) <= allowed:
                return None
        n_rows = len(self.hinges.position) - self.operator.n_lasso
        return self.solution(result), result.dual[:n_rows]

    def fix_kinks(self, theta: Array, tolerance: float, cautious: bool = False) -> InteriorPoint:
        """Solve all kinks; many of them loosely at first, then only those whose side is open.

        A multiplier close to an end of its box says on which side its kink will stay. Kinks that
        end up on the wrong side are opened; where the guess was poor, all are solved together.
        """
        operator, hinges, scale, ridge = self.operator, self.hinges, self.scale, self.ridge
        n_kinks, iterations = len(hinges.position), 0
        if n_kinks >= 20_000:
            first = follow_central_path(
                operator, hinges, theta, scale, ridge=ridge, tolerance=2e-3, cautious=cautious
            )
            theta, iterations = first.theta, first.iterations
            share = (first.dual + hinges.below) / (hinges.below + hinges.above)
            residual = operator.decisions(theta) - hinges.position
            over = share >= 0.5
            near = (share > 0.03) & (share < 0.97)
            near |= over != (residual > 0)
            near[n_kinks - operator.n_lasso :] = True
            fewest = min(30 * operator.n_parameters, n_kinks - 1)
            if near.sum() <= fewest:  # too few would leave the problem unbounded
                distance = np.abs(residual) / operator.leverage()
                near |= distance <= np.partition(distance, fewest)[fewest]
            for _ in range(6):
                if not operator.n_parameters < near.sum() <= 0.6 * n_kinks:
                    break
                lines = np.where(over, hinges.above, -hinges.below)
                lines[near] = 0.0
                kinks = np.flatnonzero(near)
                result = follow_central_path(
                    operator.subset(kinks),
                    hinges.take(kinks),
                    theta,
                    scale,
                    linear=operator.moments(lines),
                    ridge=ridge,
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
                if gap <= tolerance * max(abs(objective), scale[0]):
                    dual = np.where(over, hinges.above, -hinges.below)
                    dual[near] = result.dual
                    if ridge is None and objective <= tolerance * scale[0]:
                        theta = analytic_centre(operator, hinges, theta)
                    return result._replace(
                        theta=theta, objective=objective, gap=gap, dual=dual, iterations=iterations
                    )
                near |= flipped
        result = follow_central_path(
            operator, hinges, theta, scale, ridge=ridge, tolerance=tolerance, cautious=cautious
        )
        return result._replace(iterations=result.iterations + iterations)

    def solution(self, result: InteriorPoint) -> Solution:
        """Return a result in raw coordinates, with exact zeros where ℓ1 made them."""
        theta, objective, gap = result.theta, result.objective, result.gap
        if self.lasso is not None:
            zeros = exact_zeros(theta, result.dual, self.lasso)
            value = self.value(zeros)
            worse = max(0.0, value - objective)
            if worse <= CLOSE_COST * abs(objective):
                theta, objective, gap = zeros, value, gap + worse
        return Solution(
            *self.standard.to_raw(theta),
            objective=objective,
            gap=gap,
            residual=result.residual,
            iterations=result.iterations,
            passes=0.0,
            method="interior point",
        )


# --- What is handed on.


def proved(
    problem: HingeProblem, solution: Solution, standard: Standardisation | None, tolerance: float
) -> Solution | None:
    """Evaluate an answer at its raw coefficients; None where the gap is not acceptable there.

    Columns that `standard` has left out get their coefficients. What the raw coefficients cost more
    than those of the solve is part of the gap. A cost that is nothing beside that of the best
    constant, or beside the observations (which may be equal but for rounding), needs no proof: no
    sum of hinges is below zero.
    """
    raw = solution.coefficients, solution.intercept
    objective, nothing = problem.objective(*raw), -1.0
    doubt = max(solution.gap, solution.residual)
    doubt += max(0.0, objective - solution.objective)
    certain = doubt <= max(tolerance, ACCEPTABLE_GAP) * objective
    if not certain:
        hinges, level = flat_hinges(problem.kinks), 0.0
        slope = hinges.below + hinges.above
        if problem.fit_intercept:
            level = best_intercept(hinges.position, slope, float(hinges.below.sum()))
        constant = problem.kinks.value(np.full(problem.features.shape[0], level))
        size = abs(level) * float(slope.sum())
        nothing = max(1e-8 * float(constant.sum()), 1e-12 * size)
        if not objective <= nothing:
            return None
    if standard is not None and standard.dependence is not None:
        least = standard.with_least_norm(*raw)
        value = problem.objective(*least)
        if value <= max((1 + CLOSE_COST) * objective, nothing):
            raw, objective = least, value
    gap = solution.gap + max(0.0, objective - solution.objective)
    residual = solution.residual
    if not certain:
        gap, residual = min(gap, objective), 0.0
    return replace(
        solution,
        coefficients=raw[0],
        intercept=raw[1],
        objective=objective,
        gap=gap,
        residual=residual,
    )


def free_constant(problem: HingeProblem) -> Solution | None:
    """Return one decision for all rows that costs nothing, in the middle of all such; or None."""
    kinks, level = problem.kinks, 0.0
    for rows in (slice(100), slice(None)):  # where there is none, a few rows mostly show it
        position = kinks.position[:, rows]
        lowest = float(position.max(where=kinks.below[:, rows] > 0, initial=-np.inf))
        highest = float(position.min(where=kinks.above[:, rows] > 0, initial=np.inf))
        if problem.fit_intercept:
            ends = np.array([lowest, highest])
            level = float(ends[np.isfinite(ends)].mean())
        if not lowest <= level <= highest:
            return None
    nothing = np.zeros(problem.features.shape[1])
    return Solution(nothing, level, 0.0, 0.0, 0.0, 0, 1.0, "constant")
