"""ℓ1 with many columns: solve on a working set and let the rest prove that they stay at zero.

With y the multipliers of the rows, a coefficient is zero at the optimum if |x_j'y| ≤ lasso_j. So a
problem solved on some columns is solved on all of them as soon as no other column violates this;
the violators join the working set until none is left.

**Certificate.** If |x_j'y| ≤ (1 + δ) lasso_j for every column, then y/(1 + δ) is feasible for the
dual of the full problem and loses at most the share δ of the dual value: the gap grows by at most
δ times the objective. A column with ridge may violate the condition; left at zero, it adds
(|x_j'y| − lasso_j)₊² / (4 ridge_j) to the gap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unmet.solvers.problem import Solution

Array = NDArray[np.float64]
Index = NDArray[np.intp]
SolveColumns = Callable[[Index], tuple[Solution, Array] | None]

_FIRST = 64  # columns in the first working set
_ROUNDS = 50


def pays(n_rows: int, n_features: int, lasso: Array | None) -> bool:
    """Whether a working set is expected to beat all columns at once."""
    return lasso is not None and bool(lasso.any()) and n_features > max(200, n_rows)


def solve_by_columns(
    features: Array,
    lasso: Array,
    ridge: Array | None,
    first_dual: Array,
    solve: SolveColumns,
    tolerance: float,
) -> Solution | None:
    """Grow a working set of columns until the others are proved to be zero.

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_features)
        Centred if there is an intercept.
    lasso, ridge : ndarray of shape (n_features,)
        Ridge may be None.
    first_dual : ndarray of shape (n_rows,)
        Multipliers at the best constant decision: they rank the columns.
    solve : callable
        From column numbers to the solution on them and the multipliers of the rows, or None.
    tolerance : float
        Relative gap.

    Returns
    -------
    Solution or None
        None when a part cannot be solved, or the working set stops growing before the proof.
    """
    charged = np.zeros(len(lasso)) if ridge is None else ridge
    free = lasso <= 0
    weight = np.where(free, 1.0, lasso)
    pull = np.abs(first_dual @ features)
    ratio = np.where(free, np.inf, pull / weight)
    working = np.sort(np.argsort(-ratio)[: max(_FIRST, int(free.sum()))])
    iterations = 0
    for _ in range(_ROUNDS):
        found = solve(working)
        if found is None:
            return None
        part, dual = found
        iterations += part.iterations
        pull = np.abs(dual @ features)
        outside = np.ones(len(lasso), dtype=bool)
        outside[working] = False
        beyond = np.where(free, 0.0, np.maximum(pull - lasso, 0.0))
        bare = beyond[charged <= 0] / weight[charged <= 0]
        smooth = outside & (charged > 0)
        gap = part.gap + float(bare.max(initial=0.0)) * abs(part.objective)
        gap += float((beyond[smooth] ** 2 / (4 * charged[smooth])).sum())
        if gap <= tolerance * abs(part.objective):
            coefficients = np.zeros(len(lasso))
            coefficients[working] = part.coefficients
            return replace(part, coefficients=coefficients, gap=gap, iterations=iterations)
        candidates = np.flatnonzero(outside & (beyond > 0))
        if not len(candidates):
            return None
        worst = candidates[np.argsort(-beyond[candidates] / weight[candidates])[: len(working)]]
        working = np.sort(np.concatenate([working, worst]))
    return None
