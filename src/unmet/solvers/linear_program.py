"""A hinge problem as one list of hinges, in units that suit a linear-programming code.

Such codes have absolute tolerances, so columns, kinks and slopes are brought to about one. The ℓ1
penalty λ|θ_j| is a hinge like any other: a kink at 0, with slopes λ on both sides, of a row that
reads off coefficient j alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmet.errors import InvalidInput
from unmet.solvers.problem import HingeProblem

Floats = NDArray[np.float64]
Rows: TypeAlias = "sparse.csr_array[np.float64]"  # quoted: older SciPy cannot subscript it


@dataclass(frozen=True)
class HingeProgram:
    """Hinges in scaled units: row m costs ``below (b − a't)⁺ + above (a't − b)⁺``.

    Attributes
    ----------
    rows : csr_array of shape (n_hinges, n_parameters)
        One row a per hinge; the parameters t are the coefficients and, last, the intercept.
    position, below, above : ndarray of shape (n_hinges,)
        b and the two slopes; no hinge has both slopes zero.
    penalised : ndarray of shape (n_penalised,)
        Parameters under an ℓ1 penalty; their hinges come last, in this order.
    """

    rows: Rows
    position: Floats
    below: Floats
    above: Floats
    penalised: NDArray[np.intp]

    def about(self, point: Floats) -> tuple[HingeProgram, float]:
        """Return the same hinges as seen from ``point``, and the unit they are measured in."""
        position = self.position - self.rows @ point
        slopes = self.below + self.above
        unit = float(slopes @ np.abs(position) / slopes.sum()) or 1.0
        local = HingeProgram(self.rows, position / unit, self.below, self.above, self.penalised)
        return local, unit

    def settle(self, point: Floats, multipliers: Floats) -> Floats:
        """Set coefficients to exactly 0 where the multiplier of their penalty proves it.

        What rounding leaves instead, 1e-19 say, costs something under a steep penalty. The proof
        needs a margin: multipliers are right to about 1e-10, in units of the mean slope.
        """
        start = len(self.position) - len(self.penalised)
        steepness = self.above[start:]
        proven = steepness - np.abs(multipliers[start:]) > 1e-6 + 1e-9 * steepness
        settled = point.copy()
        settled[self.penalised[proven]] = 0.0
        return settled

    def certificate(self, point: Floats, multipliers: Floats) -> tuple[float, float, float]:
        """Objective, duality gap and dual residual; the gap is a sum of terms that are all ≥ 0.

        The residual lets each parameter move by its own size, or by one unit where it is smaller.
        """
        excess = self.rows @ point - self.position
        y = np.clip(multipliers, -self.below, self.above)
        cost = np.where(excess > 0, self.above, -self.below) * excess
        residual = np.abs(np.asarray(self.rows.T @ y)) @ np.maximum(1.0, np.abs(point))
        return float(cost.sum()), float((cost - y * excess).sum()), float(residual)


@dataclass(frozen=True)
class Scale:
    """The way back: θ_j = t_j / column_j and intercept = t_last + shift − centre'θ.

    Costs of the program are those of the problem divided by ``slope``.
    """

    centre: Floats
    column: Floats
    shift: float
    slope: float

    def restore(self, point: Floats, fit_intercept: bool) -> tuple[Floats, float]:
        """Coefficients and intercept in the units of the problem."""
        coefficients = point[: len(self.column)] / self.column
        if not fit_intercept:
            return coefficients, 0.0
        return coefficients, float(point[-1] + self.shift - self.centre @ coefficients)


def assemble(problem: HingeProblem) -> tuple[HingeProgram, Scale]:
    """List the hinges of the kinks that cost anything, then one per penalised coefficient."""
    kinks = problem.kinks
    if not np.isfinite(kinks.position).all():
        raise InvalidInput("kinks.position must be finite, got nan or inf.")
    kept, index = np.nonzero((kinks.below > 0) | (kinks.above > 0))
    position, below, above = (a[kept, index] for a in (kinks.position, kinks.below, kinks.above))
    rows, centre, column = _scaled_columns(problem)
    if len(index) != rows.shape[0] or np.any(np.diff(index) != 1):
        rows = rows[index]
    shift, slope = 0.0, float(np.mean(below + above)) if len(index) else 1.0
    if problem.fit_intercept:
        ones = sparse.csr_array(np.ones((len(index), 1)))
        rows = sparse.hstack([rows, ones], format="csr")
        shift = float(np.median(position)) if len(index) else 0.0
    lasso = np.zeros(len(column)) if problem.lasso is None else problem.lasso / column
    penalised = np.flatnonzero(lasso)
    program = HingeProgram(
        rows=sparse.vstack([rows, unit_rows(penalised, rows.shape[1])], format="csr"),
        position=np.concatenate([position - shift, np.zeros(len(penalised))]),
        below=np.concatenate([below, lasso[penalised]]) / slope,
        above=np.concatenate([above, lasso[penalised]]) / slope,
        penalised=penalised,
    )
    return program, Scale(centre, column, shift, slope)


def unit_rows(columns: NDArray[np.intp], width: int) -> Rows:
    """Rows of the identity matrix of size ``width``."""
    ones, order = np.ones(len(columns)), np.arange(len(columns))
    return sparse.csr_array((ones, (order, columns)), shape=(len(columns), width))


def _scaled_columns(problem: HingeProblem) -> tuple[Rows, Floats, Floats]:
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
    middle, spread = low / 2 + high / 2, high / 2 - low / 2
    offset = (spread < 0.1 * np.abs(middle)) & problem.fit_intercept
    centre = np.where(offset, middle, 0.0)
    column = np.where(offset, spread, np.maximum(np.abs(low), np.abs(high)))
    # rounding noise around a constant is no feature: θ would be huge and mean nothing
    constant = column <= 1e-13 * np.abs(middle)
    column[constant] = 1.0
    rows.data -= centre[rows.indices]
    rows.data /= column[rows.indices]
    rows.data[constant[rows.indices]] = 0.0
    rows.eliminate_zeros()
    return rows, centre, column
