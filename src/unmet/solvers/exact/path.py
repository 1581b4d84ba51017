"""Several problems on the same features: a grid of costs or bands, each from its neighbours.

Along a grid of α or ε the features, their groups and their coordinates stay, and decisions move
little. So these are prepared once, the problem in the middle is solved as if it were alone, and
from there the others are reached one after the other, outward. Each begins at the better of two
answers, that of its neighbour in the list and the last one whose kinks were in the same places (in
a grid of α × ε the neighbour in the other direction), and goes on with rounded kinks
(`smoothing`), which proves its answer by the same duality gap as the interior point. Where that
does not succeed in a few steps, an interior point solves the problem as if it were alone.

Where the features are sparse, have more columns than rows or so many rows that screening pays,
each problem is solved on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmet.arrays import Features
from unmet.costs.hinge import Kinks
from unmet.solvers.blocks.screening import pays
from unmet.solvers.exact.direct import StandardProblem, flat_hinges, proved
from unmet.solvers.exact.features import Merging, RowGroups, Standardisation, groups_of
from unmet.solvers.exact.interior_point import InteriorPoint, Operator, stacked
from unmet.solvers.exact.smoothing import solve_rounded
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem, Solution

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
    """Solve one problem per entry of `kinks`.

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
        In the order of `kinks`, each with its certificate.
    """
    problems = [HingeProblem(features, each, fit_intercept, ridge, lasso) for each in kinks]
    walk = None
    if len(problems) > 1 and not sparse.issparse(features):
        walk = _Walk.of(problems[0], tolerance)
    if walk is None:
        return [solve_exact(problem, tolerance=tolerance) for problem in problems]
    middle, solutions = len(problems) // 2, {}
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for place in range(middle, len(problems)):
            solutions[place] = walk.solve(problems[place], place)
        for place in reversed(range(middle)):
            solutions[place] = walk.solve(problems[place], place)
    return [solutions[place] for place in range(len(problems))]


@dataclass
class _Visited:
    """Where kinks are: how they merge, and the last answer there."""

    position: Array
    merging: Merging | None
    theta: Array | None = None


class _Walk:
    """From answer to answer, on features that have been prepared once."""

    def __init__(
        self,
        groups: RowGroups | None,
        standard: Standardisation,
        design: Array,
        tolerance: float,
    ) -> None:
        self.groups, self.standard, self.design = groups, standard, design
        self.tolerance = tolerance
        self._visited: dict[int, _Visited] = {}
        self._answers: dict[int, Array] = {}

    @classmethod
    def of(cls, problem: HingeProblem, tolerance: float) -> _Walk | None:
        """Prepare the features; None where problems are better solved alone."""
        rows = np.asarray(problem.features)
        groups = groups_of(rows)
        rows = rows if groups is None else rows[groups.first]
        n_rows, n_features = rows.shape
        screened = groups is None and pays(n_rows, n_features + problem.fit_intercept)
        if n_features >= n_rows or screened:
            return None
        penalties = problem.ridge, problem.lasso
        prepared = Standardisation.with_design(rows, problem.fit_intercept, penalties)
        return cls(groups, *prepared, tolerance)

    def solve(self, problem: HingeProblem, place: int) -> Solution:
        """Solve the problem at some place of the list; one of its neighbours may be solved."""
        hinges, order = flat_hinges(problem.kinks), stacked(*problem.kinks.position.shape)
        visited = self._visit(hinges.position)
        if visited.merging is not None:
            hinges, order = visited.merging.apply(hinges), visited.merging.kink_order
        whole = StandardProblem.of(
            Operator(self.design, order),
            hinges,
            self.standard,
            (problem.ridge, problem.lasso),
            self.tolerance,
        )
        neighbours = (self._answers.get(place - 1), self._answers.get(place + 1), visited.theta)
        result = self._continued(whole, [theta for theta in neighbours if theta is not None])
        if result is None:
            result = whole.solve(whole.start(), self.tolerance)
        found: Solution | None = None
        if result.status == "optimal":
            self._answers[place] = visited.theta = result.theta
            found = proved(problem, whole.solution(result), self.standard, self.tolerance)
        return solve_exact(problem, tolerance=self.tolerance) if found is None else found

    def _continued(
        self, whole: StandardProblem, neighbours: Sequence[Array]
    ) -> InteriorPoint | None:
        """Go on from the better of some answers; None if there is none, or that leads nowhere.

        Where nothing costs anything, the analytic centre is asked for, which is not near here.
        """
        if not neighbours:
            return None
        values = [whole.value(theta) for theta in neighbours]
        best = int(np.argmin(values))
        nothing = self.tolerance * whole.scale.smallest
        if not values[best] > nothing:
            return None
        found = solve_rounded(whole, neighbours[best], self.tolerance)
        return found if found is not None and found.objective > nothing else None

    def _visit(self, position: Array) -> _Visited:
        """Merge kinks, or remember how those in the same places were merged."""
        key = hash(position.tobytes())
        visited = self._visited.get(key)
        if visited is None or not np.array_equal(visited.position, position):
            merging = None if self.groups is None else Merging.of(self.groups, position)
            visited = self._visited[key] = _Visited(position, merging)
        return visited
