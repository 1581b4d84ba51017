"""Least squares and ridge regression, for the baselines that estimate first and decide later.

With shares w_i that sum to one, the problem is ::

    min  Σ_i w_i (x_i'θ + c − t_i)²  +  ridge ‖θ‖²

Features and targets are centred (with an intercept), columns scaled to unit length, and the normal
equations Aθ = b, A = X'WX + ridge, summed over chunks of rows. They square the condition of the
features, so the answer is refined: the gradient h = X'Wr + ridge θ is computed from the residuals
r, and θ moves by −A⁻¹h.

**Certificate.** The objective is quadratic, so it exceeds its minimum by exactly h'A⁻¹h.

**Dependent columns** (all dummies beside an intercept, prices and their sum) show in the condition
of A. They are left out, as in `features`, and the answer is the minimiser with the least ‖θ‖. Where
columns are nearly dependent instead, or more than the rows, a QR factorisation of the rows
themselves has twice the digits. An answer whose gap is above 1e-6 of its cost is not handed on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, lsmr

from unmet.arrays import Features
from unmet.errors import SolverFailure
from unmet.solvers import constants
from unmet.solvers.exact.features import Dependence, Standardisation, column_means
from unmet.solvers.problem import Solution

Array = NDArray[np.float64]

_SURE = 1e-10  # reciprocal condition of the scaled matrix below which it cannot be trusted
_NOISE, _NOISE_SPARSE = 1e-14, 1e-6


def solve_least_squares(
    features: Features,
    target: Array,
    *,
    share: Array | None = None,
    ridge: float = 0.0,
    fit_intercept: bool = True,
    tolerance: float = 1e-9,
) -> Solution:
    """Minimise mean squared error plus ridge (eq. MSELoss).

    Parameters
    ----------
    features : ndarray or csr_array of shape (n_rows, n_features)
    target : ndarray of shape (n_rows,)
    share : ndarray of shape (n_rows,), optional
        Weights that sum to one; None counts all rows the same.
    ridge : float, default=0.0
        Coefficient of ‖θ‖², which leaves out the intercept.
    fit_intercept : bool, default=True
    tolerance : float, default=1e-9
        Refine until the objective is within this share of its minimum, or of the mean square of
        the centred target where it is (nearly) zero.

    Returns
    -------
    Solution
        The minimiser of least norm, should there be several. ``gap`` is nan for sparse features
        with thousands of columns, which are left to an iterative method.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [2.0]])
    >>> solution = solve_least_squares(x, np.array([1.0, 3.0, 5.0]))
    >>> solution.coefficients.round(9), round(solution.intercept, 9)
    (array([2.]), 1.0)
    """
    n_rows, n_features = features.shape
    rows = _CentredRows.of(features, target, share, fit_intercept)
    if sparse.issparse(features) and n_features > constants.SQUARES_COLUMNS:
        return _iterate(rows, ridge)
    found = None
    if n_features <= n_rows:
        found = _normal_equations(rows, ridge, tolerance)
    if found is None and not ridge:
        found = _solve_independent(rows, tolerance)
    if found is None:
        if n_rows * n_features > constants.DENSE_ENTRIES and sparse.issparse(features):
            return _iterate(rows, ridge)
        found = _decompose(rows, ridge)
    varied = float(rows.share @ (rows.target - rows.level) ** 2)
    allowed = max(tolerance, constants.ACCEPTABLE_GAP) * found.objective
    if found.gap <= allowed or found.objective <= constants.NO_COST * varied:
        return found
    raise SolverFailure(
        "least squares could not prove an answer to 1e-6 of its cost for these features: look for "
        "cells far larger than the rest of their column, and bring columns to similar units."
    )


@dataclass(frozen=True)
class _CentredRows:
    """Weighted rows and the point that they are centred at."""

    features: Features
    target: Array
    share: Array
    centre: Array
    level: float

    @classmethod
    def of(
        cls, features: Features, target: Array, share: Array | None, fit_intercept: bool
    ) -> _CentredRows:
        """Weighted means as the centre; zero without an intercept."""
        n_rows, n_features = features.shape
        weight = np.broadcast_to(1.0 / n_rows, n_rows) if share is None else share
        if not fit_intercept:
            return cls(features, target, weight, np.zeros(n_features), 0.0)
        if isinstance(features, np.ndarray):
            centre = column_means(features, share)
        else:
            centre = np.asarray(features.T @ weight)
        return cls(features, target, weight, centre, float(weight @ target))

    def chunks(self) -> Iterator[tuple[Array, slice]]:
        """Centred dense features, some rows at a time."""
        n_rows, n_features = self.features.shape
        size = max(1, constants.SQUARES_CHUNK // n_features)
        for first in range(0, n_rows, size):
            part = slice(first, min(first + size, n_rows))
            block = self.features[part]
            dense = block if isinstance(block, np.ndarray) else block.toarray()
            yield dense - self.centre, part

    def normal_matrix(self) -> Array:
        """X'WX of the centred features."""
        n_features = self.features.shape[1]
        if not isinstance(self.features, np.ndarray):
            weighted = self.features.multiply(self.share[:, None])
            product = np.asarray((self.features.T @ weighted).todense())
            shift: Array = np.outer(self.centre, self.centre)
            return product - shift if self.centre.any() else product
        total = np.zeros((n_features, n_features))
        for block, part in self.chunks():
            block *= np.sqrt(self.share[part, None])
            total += block.T @ block
        return total

    def residuals(self, theta: Array) -> Array:
        """Decisions minus targets."""
        decision = self.features @ theta + (self.level - self.centre @ theta)
        return np.asarray(decision - self.target)

    def gradient(self, residuals: Array) -> Array:
        """X'Wr of the centred features."""
        weighted = self.share * residuals
        return np.asarray(self.features.T @ weighted - self.centre * weighted.sum())

    def solution(
        self, theta: Array, residuals: Array, ridge: float, gap: float, passes: float, method: str
    ) -> Solution:
        """Hand back raw coefficients."""
        objective = float(self.share @ residuals**2) + ridge * float(theta @ theta)
        intercept = self.level - float(self.centre @ theta)
        return Solution(theta, intercept, objective, gap, 0.0, 0, passes, method)


def _normal_equations(rows: _CentredRows, ridge: float, tolerance: float) -> Solution | None:
    """Solve and refine; None where the rank is in doubt, or the refined answer not good enough."""
    matrix = rows.normal_matrix()
    dense = isinstance(rows.features, np.ndarray)
    # What is left of a constant column; sparse columns are centred by a difference of squares.
    noise = (_NOISE if dense else _NOISE_SPARSE) ** 2 * rows.centre**2
    matrix[np.diag_indices_from(matrix)] += ridge
    diagonal = np.diag(matrix)
    if not (diagonal > noise).all():
        return None
    scale = np.sqrt(diagonal)
    scaled = matrix / np.outer(scale, scale)
    factor, failed = linalg.lapack.dpotrf(scaled, lower=1, clean=0)
    if failed:
        return None
    norm = np.abs(scaled).sum(axis=0).max()
    if linalg.lapack.dpocon(factor, norm, uplo="L")[0] <= _SURE:
        return None
    theta = np.zeros(len(matrix))
    residuals = rows.level - rows.target
    smallest = 1e-12 * float(rows.share @ residuals**2)
    for turn in range(constants.REFINEMENTS + 2):
        h = rows.gradient(residuals) + ridge * theta
        step = linalg.cho_solve((factor, True), h / scale, check_finite=False) / scale
        gap = max(float(h @ step), 0.0)
        objective = float(rows.share @ residuals**2) + ridge * float(theta @ theta)
        if turn and gap <= tolerance * max(objective, smallest):
            return rows.solution(theta, residuals, ridge, gap, 2.0 * turn + 3, "normal equations")
        theta = theta - step
        residuals = rows.residuals(theta)
    return None


def _solve_independent(rows: _CentredRows, tolerance: float) -> Solution | None:
    """Leave out columns that depend on others in a sample; None if that does not help.

    In every other row they must be what the others say.
    """
    features, intercept = rows.features, bool(rows.centre.any() or rows.level)
    n_rows, n_features = features.shape
    size = max(5000, 100 * n_features)
    few = features
    if n_rows > size:
        few = features[np.sort(np.random.default_rng(0).choice(n_rows, size, replace=False))]
    sample = few if isinstance(few, np.ndarray) else few.toarray()
    standard, _ = Standardisation.of(sample, intercept).orthogonal(sample)
    if standard.dependence is None:
        return None
    for block, _ in rows.chunks():
        block += rows.centre
        if standard.count_strange(block):
            return None
    kept = np.sort(standard.dependence.kept)
    part = features[:, kept]
    inside = replace(rows, features=part, centre=rows.centre[kept])
    found = _normal_equations(inside, 0.0, tolerance)
    if found is None:
        return None
    theta = np.zeros(n_features)
    theta[kept] = found.coefficients
    return _of_least_norm(rows, theta, standard.dependence, standard.scale, found)


def _of_least_norm(
    rows: _CentredRows, theta: Array, dependence: Dependence, scale: Array, found: Solution
) -> Solution:
    """Give columns that were left out their share, where that costs nothing."""
    least = dependence.least_norm(theta, scale)
    residuals = rows.residuals(least)
    other = rows.solution(least, residuals, 0.0, found.gap, found.passes, found.method)
    varied = float(rows.share @ (rows.target - rows.level) ** 2)
    if other.objective <= found.objective * (1 + constants.ZEROS_COST) + 1e-14 * varied:
        return replace(other, gap=found.gap + max(0.0, other.objective - found.objective))
    return replace(found, coefficients=theta)


def _decompose(rows: _CentredRows, ridge: float) -> Solution:
    """QR factorisation of the rows, those of ridge below them: slower, twice the digits."""
    features = rows.features
    dense = features if isinstance(features, np.ndarray) else features.toarray()
    root = np.sqrt(rows.share)
    matrix, goal = (dense - rows.centre) * root[:, None], root * (rows.target - rows.level)
    length = np.sqrt(np.einsum("ij,ij->j", matrix, matrix))
    idle = length <= _NOISE * np.abs(rows.centre)
    matrix[:, idle] = 0.0
    most = len(matrix)
    if ridge:
        matrix = np.vstack([matrix, np.sqrt(ridge) * np.eye(len(length))])
        goal, most = np.append(goal, np.zeros(len(length))), len(matrix)
        length, idle = np.sqrt(length**2 + ridge), np.zeros_like(idle)
    scale = np.where(idle, 1.0, length) / np.sqrt(len(matrix))
    matrix /= scale
    found = Dependence.of(matrix, 8 * np.finfo(float).eps * np.abs(rows.centre / scale), most)
    theta = np.zeros(len(length))
    if not len(found.kept):
        return rows.solution(theta, rows.residuals(theta), ridge, 0.0, 4.0, "QR")
    basis, triangle = linalg.qr(matrix[:, found.kept], mode="economic")
    for _ in range(2):
        step = linalg.solve_triangular(triangle, basis.T @ goal)
        theta[found.kept] += step / scale[found.kept]
        goal = goal - basis @ (triangle @ step)
    residuals = rows.residuals(theta)
    h = (rows.gradient(residuals) + ridge * theta) / scale
    left = linalg.solve_triangular(triangle, h[found.kept], trans="T")
    solution = rows.solution(theta, residuals, ridge, float(left @ left), 4.0, "QR")
    return solution if ridge else _of_least_norm(rows, theta, found, scale, solution)


def _iterate(rows: _CentredRows, ridge: float) -> Solution:
    """LSMR on the scaled and centred rows, which are never formed."""
    features, centre, root = rows.features, rows.centre, np.sqrt(rows.share)
    n_rows, n_features = features.shape
    squares = np.asarray((features * features).T @ rows.share) - centre**2 + ridge
    scale = np.sqrt(np.where(squares > _NOISE_SPARSE**2 * centre**2, squares, 1.0))
    damp = np.sqrt(ridge) / scale

    def forward(theta: Array) -> Array:
        theta = theta.ravel()
        raw = theta / scale
        return np.append(root * (features @ raw - centre @ raw), damp * theta)

    def backward(values: Array) -> Array:
        values = values.ravel()
        weighted = root * values[:n_rows]
        gathered = (features.T @ weighted - centre * weighted.sum()) / scale
        return np.asarray(gathered + damp * values[n_rows:])

    operator = LinearOperator(
        (n_rows + n_features, n_features), matvec=forward, rmatvec=backward, dtype=np.float64
    )
    goal = np.append(root * (rows.target - rows.level), np.zeros(n_features))
    limit = 100 + 20 * n_features
    found, stop, iterations = lsmr(operator, goal, atol=1e-13, btol=1e-13, conlim=0, maxiter=limit)[
        :3
    ]
    if stop == 7:
        raise SolverFailure(f"Least squares did not converge in {limit} iterations of LSMR.")
    theta = found / scale
    residuals = rows.residuals(theta)
    solution = rows.solution(theta, residuals, ridge, float("nan"), 2.0 * iterations, "lsmr")
    return replace(solution, residual=float("nan"), iterations=int(iterations))
