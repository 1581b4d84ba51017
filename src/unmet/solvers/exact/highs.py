"""The paper's linear program, solved by HiGHS: slow, independent, and the reference.

Without ridge, the training problem of `HingeProblem` is a linear program. Write every hinge,
including those of the ℓ1 penalty, as a row a of the design with a position b and slopes l (below)
and h (above). The paper's program is LP.εLR. Here the constraints on u and o are the right way
round; as printed they are exchanged with respect to the weights, and the program optimises 1 − α::

    minimise    Σ l u + Σ h o          over θ free, u ≥ 0, o ≥ 0
    subject to  a'θ + u  ≥  b,   a'θ − o  ≤  b

HiGHS gets its dual. A hinge is max { y (a'θ − b) : −l ≤ y ≤ h }, so the dual is ::

    minimise  b'y   subject to  A'y = 0,  −l ≤ y ≤ h

whose equality constraints, one per parameter, have θ as their multipliers. The dual is several
times faster than the primal without a band, and as fast with a wide one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from unmet.arrays import Array
from unmet.errors import InvalidInput, SolverFailure, Unsupported
from unmet.solvers.exact.direct import proved
from unmet.solvers.problem import HingeProblem, Solution

Rows: TypeAlias = "sparse.csr_array[np.float64]"  # quoted: older SciPy cannot subscript it


@dataclass(frozen=True)
class HingeProgram:
    """A hinge problem as one list of hinges, in units that suit a linear-programming code.

    Such codes have absolute tolerances, so columns, kinks and slopes are scaled to about one. Row m
    costs ``below (b − a't)⁺ + above (a't − b)⁺``. The original parameters are θ_j = t_j / column_j
    and intercept = t_last + level − centre'θ. The ℓ1 penalty λ|θ_j| is a hinge like any other: a
    kink at 0 with slopes λ on both sides, of a row that selects coefficient j.

    Attributes
    ----------
    rows : csr_array of shape (n_hinges, n_parameters)
        One row a per hinge; the parameters t are the coefficients and, last, the intercept.
    position, below, above : ndarray of shape (n_hinges,)
        b and the two slopes; no hinge has both slopes zero.
    penalised : ndarray of shape (n_penalised,)
        Parameters with an ℓ1 penalty; their hinges come last, in this order.
    centre, column : ndarray of shape (n_features,)
        Values that were subtracted from the columns, and by which they were then divided.
    level : float
        Value that was subtracted from the positions.
    slope : float
        Costs of the program are those of the problem divided by this.
    """

    rows: Rows
    position: Array
    below: Array
    above: Array
    penalised: NDArray[np.intp]
    centre: Array
    column: Array
    level: float
    slope: float

    def about(self, point: Array) -> tuple[HingeProgram, float]:
        """Return the same hinges as seen from ``point``, and the unit they are measured in."""
        position = self.position - self.rows @ point
        slopes = self.below + self.above
        unit = float(slopes @ np.abs(position) / slopes.sum()) or 1.0
        return replace(self, position=position / unit), unit

    def with_zeros(self, point: Array, multipliers: Array) -> Array:
        """Set coefficients to exactly 0 where the multiplier of their penalty proves it.

        What rounding leaves instead, 1e-19 say, costs something under a steep penalty. The proof
        needs a margin: multipliers are right to about 1e-10, in units of the mean slope.
        """
        start = len(self.position) - len(self.penalised)
        steepness = self.above[start:]
        proven = steepness - np.abs(multipliers[start:]) > 1e-6 + 1e-9 * steepness
        point = point.copy()
        point[self.penalised[proven]] = 0.0
        return point

    def certificate(self, point: Array, multipliers: Array) -> tuple[float, float, float]:
        """Objective, duality gap and dual residual; the gap is a sum of terms that are all ≥ 0.

        The residual lets each parameter move by its own size, or by how far kinks are spread where
        that is more.
        """
        excess = self.rows @ point - self.position
        y = np.clip(multipliers, -self.below, self.above)
        cost = np.where(excess > 0, self.above, -self.below) * excess
        reach = np.abs(self.position).mean() if len(y) else 0.0
        residual = np.abs(np.asarray(self.rows.T @ y)) @ np.maximum(reach, np.abs(point))
        return float(cost.sum()), float((cost - y * excess).sum()), float(residual)

    def restore(self, point: Array, fit_intercept: bool) -> tuple[Array, float]:
        """Coefficients and intercept in the units of the problem."""
        coefficients = point[: len(self.column)] / self.column
        if not fit_intercept:
            return coefficients, 0.0
        return coefficients, float(point[-1] + self.level - self.centre @ coefficients)


def assemble(problem: HingeProblem) -> HingeProgram:
    """List the hinges of the kinks that cost anything, then one per penalised coefficient."""
    kinks = problem.kinks
    if not np.isfinite(kinks.position).all():
        raise InvalidInput("kinks.position must be finite, got nan or inf.")
    kept, index = np.nonzero((kinks.below > 0) | (kinks.above > 0))
    position, below, above = (a[kept, index] for a in (kinks.position, kinks.below, kinks.above))
    rows, centre, column = _scaled_columns(problem)
    if len(index) != rows.shape[0] or np.any(np.diff(index) != 1):
        rows = rows[index]
    level, slope = 0.0, float(np.mean(below + above)) if len(index) else 1.0
    if problem.fit_intercept:
        ones = sparse.csr_array(np.ones((len(index), 1)))
        rows = sparse.hstack([rows, ones], format="csr")
        level = float(np.median(position)) if len(index) else 0.0
    lasso = np.zeros(len(column)) if problem.lasso is None else problem.lasso / column
    penalised = np.flatnonzero(lasso)
    return HingeProgram(
        rows=sparse.vstack([rows, sparse.eye_array(rows.shape[1]).tocsr()[penalised]]).tocsr(),
        position=np.concatenate([position - level, np.zeros(len(penalised))]),
        below=np.concatenate([below, lasso[penalised]]) / slope,
        above=np.concatenate([above, lasso[penalised]]) / slope,
        penalised=penalised,
        centre=centre,
        column=column,
        level=level,
        slope=slope,
    )


def _scaled_columns(problem: HingeProblem) -> tuple[Rows, Array, Array]:
    """Columns with entries of at most about one, their centres and their divisors.

    Only columns far from zero for their spread are centred (a year among indicators, say), so
    that zeros stay zeros; without an intercept none are.
    """
    features = problem.features
    n_rows, n_features = features.shape
    if n_rows == 0 or n_features == 0:
        empty: Rows = sparse.csr_array((n_rows, n_features), dtype=np.float64)
        return empty, np.zeros(n_features), np.ones(n_features)
    rows: Rows = features.copy() if sparse.issparse(features) else sparse.csr_array(features)
    rows.sum_duplicates()
    low, high = (np.asarray(e.todense()).ravel() for e in (rows.min(axis=0), rows.max(axis=0)))
    midrange, spread = low / 2 + high / 2, high / 2 - low / 2
    offset = (spread < 0.1 * np.abs(midrange)) & problem.fit_intercept
    centre = np.where(offset, midrange, 0.0)
    column = np.where(offset, spread, np.maximum(np.abs(low), np.abs(high)))
    # rounding noise around a constant is no feature: θ would be huge and mean nothing
    constant = column <= 1e-13 * np.abs(midrange)
    column[constant] = 1.0
    rows.data -= centre[rows.indices]
    rows.data /= column[rows.indices]
    rows.data[constant[rows.indices]] = 0.0
    rows.eliminate_zeros()
    return rows, centre, column


def solve_highs(problem: HingeProblem) -> Solution:
    """Solve a hinge problem as a linear program (LP.εLR, corrected) with HiGHS.

    Columns, kinks and slopes are scaled first, because HiGHS's tolerances are absolute. If the
    optimum is still not certified to 1e-10 of the objective, the program is solved once more around
    the first result, in units of the rest.

    Parameters
    ----------
    problem : HingeProblem
        Problem with ``lasso`` but without ``ridge``.

    Returns
    -------
    Solution
        A vertex of the set of minimisers, with the gap between both programs.

    Raises
    ------
    Unsupported
        If the problem has a ridge penalty, which makes it a quadratic program.
    SolverFailure
        If HiGHS stops without an optimum, or with one that it cannot prove.

    Examples
    --------
    Underage costs three times overage, so the result is the .75-quantile:

    >>> import numpy as np
    >>> from unmet.costs.hinge import Kinks
    >>> from unmet.solvers.exact.highs import solve_highs
    >>> from unmet.solvers.problem import HingeProblem
    >>> sales = np.array([[2.0, 3.0, 5.0, 11.0, 7.0]])
    >>> kinks = Kinks(sales, np.full((1, 5), 0.75 / 5), np.full((1, 5), 0.25 / 5))
    >>> solution = solve_highs(HingeProblem(np.empty((5, 0)), kinks))
    >>> round(solution.intercept, 9), round(solution.objective, 9)
    (7.0, 1.15)
    """
    if problem.ridge is not None and np.any(problem.ridge > 0):
        raise Unsupported(
            "The solver 'highs' and a ridge penalty do not fit together, because SciPy's HiGHS "
            "solves linear programs only: use the exact solver, or the penalty 'l1'."
        )
    program = assemble(problem)
    n_hinges, n_parameters = program.rows.shape
    point, multipliers = np.zeros(n_parameters), np.zeros(n_hinges)
    unit, iterations = np.inf, 0
    while n_hinges and n_parameters:
        local, finer = program.about(point)
        if finer > 0.1 * unit:  # what is left is hardly smaller than before: nothing to gain
            break
        unit = finer
        step, multipliers, used = _run(local)
        point = program.with_zeros(point + unit * step, multipliers)
        iterations += used
        objective, gap, _ = program.certificate(point, multipliers)
        if gap <= 1e-10 * objective:
            break
    objective, gap, residual = program.certificate(point, multipliers)
    if not n_parameters:
        gap = 0.0  # nothing to choose
    solution = Solution(
        *program.restore(point, problem.fit_intercept),
        objective=objective * program.slope,
        gap=gap * program.slope,
        residual=residual * program.slope,
        iterations=iterations,
        passes=2.0,  # one to build the program, one to evaluate the answer
        method="highs-ds",
    )
    found = proved(problem, solution, None, 1e-10)
    if found is None:
        raise SolverFailure(
            "HiGHS could not prove an answer for these features, costs and weights: use the "
            "solver 'exact'."
        )
    return found


def _run(program: HingeProgram) -> tuple[Array, Array, int]:
    """Parameters, one multiplier per hinge, iterations; at the tightest tolerance that works."""
    message = ""
    # HiGHS accepts none below 1e-10; the looser ones are for problems on which it gives up
    for tolerance in (1e-10, 1e-9, 1e-7):
        arguments: Any = {
            "A_eq": program.rows.T,
            "b_eq": np.zeros(program.rows.shape[1]),
            "bounds": np.column_stack([-program.below, program.above]),
            "options": {f"{side}_feasibility_tolerance": tolerance for side in ("primal", "dual")},
        }
        result = linprog(program.position, method="highs-ds", **arguments)
        if result.status == 0:
            # θ are the multipliers: ∂(optimum)/∂(right-hand side)
            return np.asarray(result.eqlin.marginals), np.asarray(result.x), int(result.nit)
        message = " ".join(str(result.message).split()).rstrip(".")
    raise SolverFailure(f"HiGHS found no optimum: {message}.")
