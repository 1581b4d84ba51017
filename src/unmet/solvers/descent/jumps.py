"""Best decisions for costs with a jump: for groups, linear models and known distributions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from unmet.arrays import Array, Features
from unmet.costs import Newsvendor
from unmet.costs.replacement import AgeReplacement, JumpCost, PreventiveReplacement
from unmet.errors import SolverFailure, Unsupported
from unmet.rows import Rows
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.losses import Scratch, Units, loss_of
from unmet.solvers.problem import HingeProblem, Solution

# --- The exact optimum, where features do no more than tell groups apart.
#
# A `JumpCost` falls until t and jumps there, so a weighted sum of them in one common decision is
# least at one of the t: sort them, and running sums price all. Where the features allow every group
# of equal rows a decision of its own, each group is such a sum, and the coefficients follow from
# the decisions.

# A decision that rounding lifts above its t is too late: shares of the size by which to lower it.
_SLACKS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)


def best_shift(rows: Rows, base: Array) -> float:
    """Find the amount by which to raise all decisions so that their total cost is least.

    Of several the smallest; rows of equal decisions get the common one that is best. The cost of
    the rows is a `JumpCost`.

    Examples
    --------
    >>> from unmet.costs import AgeReplacement
    >>> cost = AgeReplacement(planned=1, failure=5, rate=0.5)
    >>> rows = Rows(np.zeros((4, 1)), np.array([9.0, 4.0, 12.0, 11.0]), cost)
    >>> best_shift(rows, np.zeros(4))
    9.0
    """
    assert isinstance(rows.cost, JumpCost)
    shift, total = rows.cost.shift_totals(base, rows.observation, rows.band, rows.share)
    best = float(shift[np.argmin(total)])
    if not np.any(base):
        return best
    size = float(np.abs(base).max() + abs(best))
    lowered = [best - slack * size for slack in _SLACKS]
    return min(lowered, key=lambda each: rows.mean_cost(base + each))


def solve_sweep(rows: Rows, *, fit_intercept: bool = True) -> Solution | None:
    """Minimise the mean of a `JumpCost` of linear decisions if features only tell groups apart.

    Parameters
    ----------
    rows : Rows
    fit_intercept : bool

    Returns
    -------
    Solution or None
        The coefficients of all those that give the same decisions which are shortest; None where
        the decisions of groups depend on each other, or there are too many groups to see.
    """
    groups = _groups(rows.features, fit_intercept)
    if groups is None:
        return None
    distinct, place = groups
    decision = np.empty(len(distinct))
    for group in range(decision.size):
        some = rows.take(np.flatnonzero(place == group))
        decision[group] = best_shift(some, np.zeros(some.n_rows))
    size = float(np.abs(decision).max())
    answers = []
    for slack in _SLACKS:
        coefficients, intercept = _solve(distinct, decision - slack * size, fit_intercept)
        value = rows.mean_cost((distinct @ coefficients + intercept)[place])
        answers.append(Solution(coefficients, intercept, value, 0.0, 0.0, 1, 1.0, "sweep"))
    return min(answers, key=lambda answer: answer.objective)


def _groups(features: Features, fit_intercept: bool) -> tuple[Array, NDArray[np.intp]] | None:
    """Distinct rows and the place of each row among them, if each may decide for itself."""
    n_features = features.shape[1]
    if n_features > 1000:  # the rank of more takes too long
        return None
    dense = features if isinstance(features, np.ndarray) else features.toarray()
    # so many distinct rows as parameters can be told apart, and no more
    if len(np.unique(dense[:4000], axis=0)) > n_features + fit_intercept:
        return None
    distinct, place = np.unique(dense, axis=0, return_inverse=True)
    if len(distinct) > n_features + fit_intercept:
        return None
    matrix = np.column_stack([distinct, np.ones(len(distinct))]) if fit_intercept else distinct
    size = np.abs(matrix).max(axis=0)
    scaled = matrix / np.where(size > 0, size, 1.0)
    independent = np.linalg.matrix_rank(scaled, tol=1e-9) == len(distinct)
    return (distinct, place.ravel().astype(np.intp)) if independent else None


def _solve(distinct: Array, decision: Array, fit_intercept: bool) -> tuple[Array, float]:
    """Shortest coefficients that give these decisions."""
    if not fit_intercept:
        return np.asarray(np.linalg.lstsq(distinct, decision, rcond=None)[0], np.float64), 0.0
    if len(distinct) == 1:
        return np.zeros(distinct.shape[1]), float(decision[0])
    # U θ + b = v holds for some b if and only if it holds after centring, without b
    centre = distinct.mean(axis=0)
    found = np.linalg.lstsq(distinct - centre, decision - decision.mean(), rcond=None)[0]
    coefficients = np.asarray(found, np.float64)
    return coefficients, float(decision.mean() - centre @ coefficients)


# --- Linear decisions under a cost with jumps or valleys: smoothed, with a width that shrinks.
#
# The mean of the cost over a box around the decision is smooth even where the cost jumps
# (`unmet.solvers.losses`). L-BFGS minimises it from several starts, first with a wide box,
# in which small valleys do not show, then with narrower ones. Starts are the best constant decision
# and quantile lines, which differ where it matters: in how much they risk.
#
# The last box is as wide as an average over so many rows can resolve, 0.8 n^(−1/5) spreads of the
# observations, as in kernel estimates of a density. A narrower one fits the luck of the few rows
# that are close to their jump. The factor was chosen on four simulated sets of lifetimes, of 400
# and of 3,000 rows: there boxes of 0.025 spreads, followed by an exact shift of all decisions, cost
# new rows in excess of the best twice as much when discounted, and a tenth more at a price of time.
#
# Nothing is proven here: the answer is the best of the local optima found.


def solve_smoothed(rows: Rows, *, ridge: float = 0.0, fit_intercept: bool = True) -> Solution:
    """Minimise mean cost plus ridge · ‖θ‖² for a cost of which nothing is asked but its values.

    Parameters
    ----------
    rows : Rows
    ridge : float, default=0.0
    fit_intercept : bool, default=True

    Returns
    -------
    Solution
        Without a certificate: gap and residual are nan.
    """
    problem = _Problem(rows, ridge, fit_intercept)
    candidates = [each for start in problem.starts() for each in (start, problem.narrow(start))]
    answer = min(candidates, key=problem.smoothed)
    value = problem.value(answer)
    if not np.isfinite(value):
        name = type(rows.cost).__name__
        raise SolverFailure(
            f"The cost {name} must be finite for some linear decisions, got {value}."
        )
    coefficients, intercept = problem.raw(answer)
    unknown = float("nan")
    return Solution(
        coefficients, intercept, value, unknown, unknown, problem.passes, 1.0, "smoothed"
    )


class _Problem:
    """The smoothed problem in scaled units; parameters are the weights, then the intercept."""

    def __init__(self, rows: Rows, ridge: float, fit_intercept: bool) -> None:
        self.rows, self.features, self.ridge = rows, rows.features, ridge
        self.fit_intercept, self.passes = fit_intercept, 0
        # Features are standardised without a copy, and only scaled where there is no intercept.
        mean = np.asarray(self.features.mean(axis=0)).ravel()
        square = np.asarray((self.features * self.features).sum(axis=0)).ravel() / rows.n_rows
        deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
        if not fit_intercept:
            mean, deviation = np.zeros_like(mean), np.sqrt(square)
        constant = deviation <= 1e-12 * np.sqrt(square)
        self.centre, self.scale = mean, np.where(constant, 1.0, deviation)
        self.units = Units.of(rows, "standard")
        self.loss, self.scratch = loss_of([rows], [self.units]), Scratch()
        self.width = 0.8 * rows.n_rows**-0.2  # of the last box, in spreads
        # λ θ², in the units of the scaled cost
        factor = self.units.unit / self.scale
        self.penalty = ridge * factor**2 / (self.units.unit * self.units.steepness)

    def starts(self) -> Iterator[Array]:
        """Best constant decision, and quantile lines."""
        yield self._constant()
        most = min(self.rows.n_rows, 20_000)  # a start need not be exact
        index = np.unique(np.linspace(0, self.rows.n_rows - 1, most).astype(np.intp))
        some = self.rows.take(index)
        top = some.cost.align(0.0, some.observation, some.band).top
        for level in (0.03, 0.1, 0.25, 0.5, 0.8):  # they differ in how much they risk
            kinks = replace(some, observation=top, cost=Newsvendor.at_level(level), band=None)
            line = HingeProblem(some.features, kinks.kinks(), self.fit_intercept)
            found = solve_exact(line, tolerance=1e-4)
            yield self._scaled(found.coefficients, found.intercept)

    def narrow(self, start: Array) -> Array:
        """Follow the smoothed cost through boxes that shrink."""
        point = start
        for factor in (2.0, 1.4, 1.0):
            with np.errstate(over="ignore", invalid="ignore"):
                found = minimize(
                    self._evaluate,
                    point,
                    (factor * self.width,),
                    jac=True,
                    method="L-BFGS-B",
                    options={"maxiter": 80, "ftol": 1e-7},
                )
            if np.isfinite(found.fun) and np.isfinite(found.x).all():
                point = found.x
        return point

    def smoothed(self, theta: Array) -> float:
        """Objective over the last box, in scaled units."""
        with np.errstate(over="ignore", invalid="ignore"):
            value, _ = self._evaluate(theta, self.width)
        return value if np.isfinite(value) else np.inf

    def value(self, theta: Array) -> float:
        """Mean cost plus penalty in the user's units, not smoothed."""
        coefficients, intercept = self.raw(theta)
        cost = self.rows.mean_cost(np.asarray(self.features @ coefficients + intercept))
        total = cost + self.ridge * float(coefficients @ coefficients)
        return total if np.isfinite(total) else np.inf

    def raw(self, theta: Array) -> tuple[Array, float]:
        """Coefficients and intercept in the user's units."""
        coefficients = theta[:-1] * self.units.unit / self.scale
        intercept = self.units.centre + self.units.unit * theta[-1] - self.centre @ coefficients
        return coefficients, float(intercept) if self.fit_intercept else 0.0

    def _scaled(self, coefficients: Array, intercept: float) -> Array:
        theta = coefficients * self.scale / self.units.unit
        raised = (intercept + self.centre @ coefficients - self.units.centre) / self.units.unit
        return np.append(theta, raised)

    def _constant(self) -> Array:
        """Best constant decision of a cost with a jump; of others the mean observation."""
        nothing = np.zeros(self.scale.size)
        if not self.fit_intercept or not isinstance(self.rows.cost, JumpCost):
            return np.append(nothing, 0.0)
        return self._scaled(nothing, best_shift(self.rows, np.zeros(self.rows.n_rows)))

    def _evaluate(self, theta: Array, width: float) -> tuple[float, Array]:
        self.passes += 1
        weights = theta[:-1] / self.scale
        decision = np.asarray(self.features @ weights)
        if self.fit_intercept:
            decision = np.asarray(decision + (theta[-1] - self.centre @ weights))
        else:
            decision = decision - self.units.centre / self.units.unit
        values, slopes = self.loss.smoothed(decision[np.newaxis], np.array([width]), self.scratch)
        total = float(slopes[0].sum())
        collected = (np.asarray(self.features.T @ slopes[0]) - self.centre * total) / self.scale
        penalised = self.penalty * theta[:-1]
        gradient = np.append(collected, total if self.fit_intercept else 0.0)
        gradient[:-1] += 2.0 * penalised
        return float(values[0]) + float(penalised @ theta[:-1]), gradient


# --- Rows whose distribution is known by its quantiles.
#
# At the decision y = q(u), the share u of truths lies below. So everything is an integral over
# levels: E[min(T, y)] = ∫₀ᵘ q(v) dv + (1 − u) q(u), and likewise for what is discounted. One table
# of quantiles prices all levels of all rows, whatever the family.

LEVELS: Array = np.concatenate(
    [np.geomspace(1e-5, 0.05, 70, endpoint=False), np.linspace(0.05, 0.99, 95), [0.995, 0.999]]
)
"""Dense where costly failures put the best decisions: among the early ones."""


class Ages(NamedTuple):
    """Decisions of rows, and what is to be expected of each; arrays of shape (n_rows,)."""

    age: Array
    """inf where waiting for the failure is best."""
    paid: Array
    """Expected cost: of a cycle, or discounted."""
    served: Array
    """E[min(T, age)]."""


def best_ages(cost: JumpCost, quantiles: Array) -> Ages:
    """Find the best decision of each row from quantiles of its truth.

    Parameters
    ----------
    cost : AgeReplacement or PreventiveReplacement
        Without a rate, each row has the age that is best for itself in the long run.
    quantiles : ndarray of shape (n_levels, n_rows)
        At `LEVELS`; what lies below 0 is 0.

    Returns
    -------
    Ages
    """
    time = np.maximum(quantiles, 0.0)
    level = LEVELS[:, np.newaxis]
    if isinstance(cost, AgeReplacement):
        paid = cost.planned * (1.0 - level) + cost.failure * level
        served = _integral(time) + (1.0 - level) * time
        never = np.broadcast_to(cost.failure, time.shape[1:])
        with np.errstate(divide="ignore"):
            value = paid / served if cost.rate is None else paid - cost.rate * served
            last = never / served[-1] if cost.rate is None else never - cost.rate * served[-1]
    elif isinstance(cost, PreventiveReplacement):
        served = _integral(time) + (1.0 - level) * time
        value = paid = _discounted(cost, time)
        last = never = np.asarray(cost.failure) * _integral(np.exp(-(cost.discount * time)))[-1]
    else:
        raise Unsupported(
            f"cost must be AgeReplacement or PreventiveReplacement, got {type(cost).__name__}."
        )
    age, place = _valley(time, value)
    rows = np.arange(time.shape[1])
    waits = (place == len(LEVELS) - 1) | (last < value[place, rows])
    return Ages(
        np.where(waits, np.inf, age),
        np.where(waits, never, np.broadcast_to(paid, time.shape)[place, rows]),
        np.where(waits, served[-1], served[place, rows]),
    )


def _discounted(cost: PreventiveReplacement, time: Array) -> Array:
    level = LEVELS[:, np.newaxis]
    factor = np.exp(-(cost.discount * time))
    failed = _integral(factor)
    if cost.form == "printed":
        return np.asarray(cost.failure * failed + cost.planned * (failed[-1] - failed))
    return np.asarray(cost.failure * failed + cost.planned * (1.0 - level) * factor)


def _integral(values: Array) -> Array:
    """Integral from level 0 to each level, of what is given at the levels."""
    below = LEVELS[0] * values[:1]
    pieces = 0.5 * np.diff(LEVELS)[:, np.newaxis] * (values[1:] + values[:-1])
    return np.concatenate([below, below + np.cumsum(pieces, axis=0)])


def _valley(time: Array, value: Array) -> tuple[Array, Array]:
    """Lowest point of each row: of the parabola through the least value and its neighbours."""
    rows = np.arange(time.shape[1])
    place = np.argmin(value, axis=0)
    middle = np.clip(place, 1, len(LEVELS) - 2)
    left, at, right = (time[middle + step, rows] for step in (-1, 0, 1))
    below, least, above = (value[middle + step, rows] for step in (-1, 0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        fall, rise = (least - below) / (at - left), (above - least) / (right - at)
        bend = (rise - fall) / (right - left)
        vertex = 0.5 * (left + at - fall / bend)
    inside = (bend > 0) & (vertex > left) & (vertex < right) & (place == middle)
    return np.where(inside, vertex, time[place, rows]), place
