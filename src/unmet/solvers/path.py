"""Several problems on the same features: a grid of costs or bands, each from its neighbour.

Along a grid of α or ε the features, their groups and their frame stay, and the decisions move
little: only the kinks closest to the neighbour's decisions are opened (`direct.solve_nearby`).
Where the features are sparse, have more columns than rows or so many rows that screening pays,
nothing would be saved, and each problem is solved on its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmet.costs.kinks import Kinks
from unmet.solvers.direct import (
    Result,
    Start,
    flat_hinges,
    pilot,
    scale_of,
    solve_from,
    solve_nearby,
)
from unmet.solvers.exact import solve_exact
from unmet.solvers.frame import Frame
from unmet.solvers.framed import as_solution, checked, rounded
from unmet.solvers.grouping import Merging, groups_of
from unmet.solvers.hinges import Hinges
from unmet.solvers.interior_point import Settings
from unmet.solvers.operators import DenseOperator, Layout, layout_for
from unmet.solvers.penalties import add_lasso
from unmet.solvers.problem import Features, HingeProblem, Solution
from unmet.solvers.screened import pays

Array = NDArray[np.float64]


def solve_path(
    features: Features,
    kinks: Sequence[Kinks],
    *,
    fit_intercept: bool = True,
    ridge: Array | None = None,
    lasso: Array | None = None,
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
    problems = [HingeProblem(features, each, fit_intercept, ridge, lasso) for each in kinks]
    if len(problems) < 2 or sparse.issparse(features):
        return [solve_exact(problem, tolerance=tolerance) for problem in problems]
    path = _Path(np.asarray(features), problems[0], tolerance)
    if not path.pays:
        return [solve_exact(problem, tolerance=tolerance) for problem in problems]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return [path.solve(problem) for problem in problems]


class _Path:
    """What the problems share, and where the last one ended."""

    def __init__(self, features: Array, first: HingeProblem, tolerance: float) -> None:
        self.groups = groups_of(features)
        self.rows = features if self.groups is None else features[self.groups.first]
        n_rows, n_features = self.rows.shape
        screened = self.groups is None and pays(n_rows, n_features + first.fit_intercept)
        self.pays = n_features < n_rows and not screened
        if not self.pays:
            return
        self.settings = Settings(tolerance=tolerance)
        self.frame = Frame.of(self.rows, first.fit_intercept)
        if first.ridge is None and first.lasso is None:
            self.frame, self.design = self.frame.orthogonal(self.rows, all_rows=True)
        else:
            self.design = self.frame.design(self.rows)
        self.ridge = self.frame.ridge(first.ridge)
        self.lasso = self.frame.penalties(first.lasso, 1)
        self.theta: Array | None = None
        self.merged: tuple[Array, Merging] | None = None

    def solve(self, problem: HingeProblem) -> Solution:
        """Solve the next problem from the end of the last one."""
        hinges, layout = self._arrange(problem.kinks)
        scale = scale_of(hinges, self.settings.tolerance)
        operator, hinges = add_lasso(DenseOperator(self.design, layout), hinges, self.lasso)
        result: Result | None = None
        if self.theta is not None and len(problem.kinks.position) > 1:
            # Without bands a step of α moves decisions past too many kinks for this to pay.
            start = Start(self.theta, self.ridge, scale)
            result = solve_nearby(operator, hinges, start, self.settings)
        if result is None or result.status != "optimal":
            theta = pilot(operator, hinges, self.ridge, self.frame.intercept)
            result = solve_from(operator, hinges, Start(theta, self.ridge, scale), self.settings)
        if result.status != "optimal":
            self.theta = None
            return solve_exact(problem, tolerance=self.settings.tolerance)
        self.theta = result.theta
        result = rounded(result, operator, hinges, self.ridge, self.lasso)
        return checked(problem, as_solution(result, self.frame))

    def _arrange(self, kinks: Kinks) -> tuple[Hinges, Layout]:
        """Flat hinges, merged where rows repeat; a grid of α shares the sorting."""
        hinges = flat_hinges(kinks)
        if self.groups is None:
            return hinges, layout_for(*kinks.position.shape)
        if self.merged is None or not np.array_equal(self.merged[0], hinges.position):
            self.merged = hinges.position, Merging.of(self.groups, hinges.position)
        merging = self.merged[1]
        return merging.apply(hinges), merging.layout
