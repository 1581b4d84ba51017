"""Least squares and ridge regression, for the baselines that estimate first and decide later.

With shares w_i that sum to one, the problem is ::

    min  Σ_i w_i (x_i'θ + c − t_i)²  +  ridge ‖θ‖²

It is solved in the coordinates of `features`, where columns are scaled, uncorrelated and
independent, by the normal equations Aθ = b, A = X'WX + ridge. These square the condition of the
features, so the result is refined: the gradient h = X'Wr + ridge θ is computed from the residuals
r, and θ moves by −A⁻¹h. Of several minimisers, the one with the least ‖θ‖ is returned.

**Certificate.** The objective is quadratic, so it exceeds its minimum by exactly h'A⁻¹h. A result
whose gap is above 1e-6 of its cost is not returned.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import lsmr

from unmet.arrays import Array, Features
from unmet.errors import SolverFailure
from unmet.solvers.exact.direct import ACCEPTABLE_GAP, CLOSE_COST
from unmet.solvers.exact.features import Standardisation
from unmet.solvers.exact.interior_point import factorise, weighted_gram
from unmet.solvers.exact.sparse import DENSE_ENTRIES, standardise_sparse
from unmet.solvers.problem import Solution


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
        Features.
    target : ndarray of shape (n_rows,)
        Values to predict.
    share : ndarray of shape (n_rows,), optional
        Weights that sum to one. None weights all rows equally.
    ridge : float, default=0.0
        Coefficient of ‖θ‖², without the intercept. Larger values shrink coefficients more.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    tolerance : float, default=1e-9
        The result is refined until its objective is within this share of the minimum, or of the
        mean square of the centered target if the minimum is (nearly) zero.

    Returns
    -------
    Solution
        The minimiser of least norm, if there are several. ``gap`` is nan for large sparse features,
        which an iterative method solves.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.solvers.exact.least_squares import solve_least_squares
    >>> x = np.array([[0.0], [1.0], [2.0]])
    >>> solution = solve_least_squares(x, np.array([1.0, 3.0, 5.0]))
    >>> solution.coefficients.round(9), round(solution.intercept, 9)
    (array([2.]), 1.0)
    """
    n_rows, n_features = features.shape
    weight = np.full(n_rows, 1.0 / n_rows) if share is None else share
    if not isinstance(features, np.ndarray):
        if n_rows * n_features > DENSE_ENTRIES:
            return _iterate(features, target, weight, ridge, fit_intercept)
        features = features.toarray()
    parts = [slice(first, first + 50_000) for first in range(0, n_rows, 50_000)]
    sample = features
    if len(parts) > 1:
        rows = np.random.default_rng(0).choice(n_rows, 50_000, replace=False)
        sample = features[np.sort(rows)]
    standard, _ = Standardisation.of(sample, fit_intercept, rotate=not ridge)
    if len(parts) > 1 and any(standard.count_strange(features[part]) for part in parts):
        standard, _ = Standardisation.of(sample, fit_intercept, rotate=not ridge, keep="all")
    charged = standard.penalties(np.full(n_features, ridge), None)[0]
    matrix: Array = np.diag(0.5 * np.asarray(charged)) if ridge else np.zeros(())
    for part in parts:
        matrix = matrix + weighted_gram(standard.design(features[part]), weight[part])
    solve = factorise(matrix)
    theta, level = np.zeros(len(matrix)), float(weight @ target) if fit_intercept else 0.0
    # a constant target leaves rounding only
    varied = max(float(weight @ (target - level) ** 2), 1e-16 * float(weight @ target**2))

    def evaluate(coefficients: Array, intercept: float) -> tuple[Array, float]:
        residual = features @ coefficients + intercept - target
        squares = float(weight @ residual**2)
        return residual, squares + ridge * float(coefficients @ coefficients)

    for turn in range(6):
        raw = standard.to_raw(theta)
        residual, objective = evaluate(*raw)
        weighted = weight * residual
        h = standard.gradient(features.T @ weighted, float(weighted.sum()))
        if ridge:
            h = h + 0.5 * np.asarray(charged) * theta
        step = solve(h)
        gap = max(float(h @ step), 0.0)
        if turn and gap <= tolerance * max(objective, 1e-12 * varied):
            break
        theta = theta - step
    if standard.dependence is not None:
        least = standard.with_least_norm(*raw)
        value = evaluate(*least)[1]
        if value <= objective * (1 + CLOSE_COST) + 1e-14 * varied:
            gap += max(0.0, value - objective)
            raw, objective = least, value
    if not gap <= max(tolerance, ACCEPTABLE_GAP) * objective and objective > 1e-8 * varied:
        raise SolverFailure(
            "least squares could not prove an answer to 1e-6 of its cost for these features: look "
            "for cells far larger than the rest of their column, and bring columns to similar "
            "units."
        )
    return Solution(*raw, objective, gap, 0.0, 0, 2.0 * turn + 3, "normal equations")


def _iterate(
    features: sparse.csr_array, target: Array, weight: Array, ridge: float, fit_intercept: bool
) -> Solution:
    """LSMR on the scaled rows, those of ridge below them."""
    standard, design = standardise_sparse(features, fit_intercept)
    root, level = np.sqrt(weight), float(weight @ target) if fit_intercept else 0.0
    penalty = np.sqrt(ridge) / standard.scale
    charged = np.append(penalty, np.zeros(int(fit_intercept)))
    matrix = sparse.vstack([sparse.diags_array(root) @ design, sparse.diags_array(charged)])
    goal = np.append(root * (target - level), np.zeros(len(charged)))
    limit = 100 + 20 * len(charged)
    found = lsmr(matrix.tocsr(), goal, atol=1e-13, btol=1e-13, conlim=0, maxiter=limit)
    theta, stop, iterations = found[:3]
    if stop == 7:
        raise SolverFailure(f"Least squares did not converge in {limit} iterations of LSMR.")
    coefficients, intercept = standard.to_raw(theta)
    intercept += level
    residual = features @ coefficients + intercept - target
    objective = float(weight @ residual**2) + ridge * float(coefficients @ coefficients)
    nan = float("nan")
    raw = coefficients, intercept
    return Solution(*raw, objective, nan, nan, int(iterations), 2.0 * iterations, "lsmr")
