"""ℓ1 with many columns: solve on a working set and let the rest prove that they stay at zero.

With y the multipliers of the rows, a coefficient is zero at the optimum if |x_j'y| ≤ lasso_j. So a
problem solved on some columns is solved on all of them as soon as no other column violates this;
the violators join the working set until none is left.

**Certificate.** If |x_j'y| ≤ (1 + δ) lasso_j for every column, then y/(1 + δ) is feasible for the
dual of the full problem and loses at most the share δ of the dual value: the gap grows by at most
δ times the objective.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unmet.solvers.problem import Solution

Array = NDArray[np.float64]
Index = NDArray[np.intp]
SolveColumns = Callable[[Index], tuple[Solution, Array]]

_FIRST = 64  # columns in the first working set
_ROUNDS = 50


def pays(n_rows: int, n_features: int, lasso: Array | None) -> bool:
    """Whether a working set is expected to beat all columns at once."""
    return lasso is not None and bool(lasso.any()) and n_features > max(200, n_rows)


def solve_by_columns(
    features: Array, lasso: Array, first_dual: Array, solve: SolveColumns, tolerance: float
) -> Solution | None:
    """Grow a working set of columns until the others are proved to be zero.

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_features)
    lasso : ndarray of shape (n_features,)
    first_dual : ndarray of shape (n_rows,)
        Multipliers at the best constant decision: they rank the columns.
    solve : callable
        From column numbers to the solution on them and the multipliers of the rows.
    tolerance : float
        Relative gap.

    Returns
    -------
    Solution or None
        None when the working set stops growing before the certificate is reached.
    """
    free = lasso <= 0
    weight = np.where(free, 1.0, lasso)
    ratio = np.where(free, np.inf, np.abs(first_dual @ features) / weight)
    working = np.sort(np.argsort(-ratio)[: max(_FIRST, int(free.sum()))])
    iterations = 0
    for _ in range(_ROUNDS):
        part, dual = solve(working)
        iterations += part.iterations
        ratio = np.where(free, 1.0, np.abs(dual @ features) / weight)
        excess = max(0.0, float(ratio.max()) - 1.0)
        gap = part.gap + excess * abs(part.objective)
        outside = np.ones(len(lasso), dtype=bool)
        outside[working] = False
        if gap <= tolerance * abs(part.objective) or not (ratio[outside] > 1.0).any():
            coefficients = np.zeros(len(lasso))
            coefficients[working] = part.coefficients
            return replace(part, coefficients=coefficients, gap=gap, iterations=iterations)
        candidates = np.flatnonzero(outside & (ratio > 1.0))
        worst = candidates[np.argsort(-ratio[candidates])[: len(working)]]
        working = np.sort(np.concatenate([working, worst]))
    return None
