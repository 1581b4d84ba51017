"""Several problems on the same features: a grid of costs or bands, each from its neighbour."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unmet.costs.kinks import Kinks
from unmet.solvers.exact import solve_exact
from unmet.solvers.problem import Features, HingeProblem, Solution


def solve_path(
    features: Features,
    kinks: Sequence[Kinks],
    *,
    fit_intercept: bool = True,
    ridge: NDArray[np.float64] | None = None,
    lasso: NDArray[np.float64] | None = None,
    tolerance: float = 1e-9,
) -> list[Solution]:
    """Solve one problem per entry of `kinks`, in their order.

    Parameters
    ----------
    features, fit_intercept, ridge, lasso
        As in `HingeProblem`, the same for all problems.
    kinks : sequence of Kinks
        Neighbours should be similar, as along a grid of α or ε.
    tolerance : float, default=1e-9
        Of every problem, as in `solve_exact`.

    Returns
    -------
    list of Solution
    """
    problems = (HingeProblem(features, each, fit_intercept, ridge, lasso) for each in kinks)
    return [solve_exact(problem, tolerance=tolerance) for problem in problems]
