"""The shortest of many coefficient vectors that give the same decisions.

With fewer distinct rows than columns the rows leave directions of θ free. Training decisions do
not depend on them, those of other rows do, and where an interior point ends up in them is an
accident of rounding. The least ‖θ‖ is no accident: it does not change when rows are reordered, or
repeated instead of weighted.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from unmet.solvers.exact.scaling import column_means
from unmet.solvers.problem import HingeProblem, Solution

Array = NDArray[np.float64]

# Checking costs about as much as one iteration of a solver if rows are few, and more if they are
# many; with many rows, free directions come from dummies, and other rows obey the same identities.
_ROWS_PER_COLUMN = 4
_LARGEST = 20_000_000  # entries of the features, for which a dense copy is acceptable
_FULL = 1e-5  # a pivot above this, on columns of unit length, proves full rank beyond doubt
_WORSE = 1e-9


def shortest(problem: HingeProblem, solution: Solution) -> Solution:
    """Remove from the coefficients what no training decision depends on.

    Parameters
    ----------
    problem : HingeProblem
        Nothing happens if it has a penalty, which leaves no freedom (ridge) or uses it (lasso), or
        many more rows than columns.
    solution : Solution

    Returns
    -------
    Solution
        With the same decisions in all rows of the problem, up to rounding.
    """
    n_rows, n_features = problem.features.shape
    penalised = problem.ridge is not None or problem.lasso is not None
    if penalised or n_rows > _ROWS_PER_COLUMN * n_features or n_rows * n_features > _LARGEST:
        return solution
    features = problem.features
    rows = features if isinstance(features, np.ndarray) else features.toarray()
    centre = column_means(rows) if problem.fit_intercept else np.zeros(n_features)
    span = _row_space(rows - centre, 1e-14 * np.abs(centre))
    if span is None:
        return solution
    coefficients = span @ (span.T @ solution.coefficients)
    intercept = solution.intercept
    if problem.fit_intercept:
        intercept += float(centre @ (solution.coefficients - coefficients))
    objective = problem.objective(coefficients, intercept)
    worse = max(0.0, objective - solution.objective)
    if worse > _WORSE * max(solution.objective, problem.objective(np.zeros(n_features), intercept)):
        return solution  # columns too nearly dependent for this to be a matter of rounding
    return replace(
        solution,
        coefficients=coefficients,
        intercept=intercept,
        objective=objective,
        gap=solution.gap + worse,
    )


def _row_space(rows: Array, noise: Array) -> Array | None:
    """Orthonormal basis of what the rows span; None if that is everything."""
    length = np.sqrt(np.einsum("ij,ij->j", rows, rows) / len(rows))
    idle = length <= noise  # constant columns, but for rounding
    length = np.where(idle, 1.0, length)
    scaled = np.where(idle, 0.0, rows / length)
    n_rows, n_features = rows.shape
    if n_rows > n_features:
        factor, failed = linalg.lapack.dpotrf(scaled.T @ scaled / n_rows, lower=1)
        if not failed and np.diag(factor).min() > _FULL:
            return None
    _, values, right = linalg.svd(scaled, full_matrices=False)
    kept = values > max(rows.shape) * np.finfo(float).eps * values[0]
    if np.count_nonzero(kept) == n_features:
        return None
    basis: Array = np.linalg.qr(right[kept].T * length[:, None])[0]
    return basis
