"""Several problems on the same features: a grid of costs or bands, each from its neighbour.

Along a grid of α or ε the features, their groups and their frame stay, and the decisions move
little: only the kinks closest to the neighbour's decisions are opened (`direct.solve_nearby`).
Where the features are sparse, have more columns than rows or so many rows that screening pays,
nothing would be saved, and each problem is solved on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmet.arrays import Features
from unmet.costs.hinge import Kinks
from unmet.errors import SolverFailure
from unmet.solvers.blocks.screening import KinkBlock, Screening, pays
from unmet.solvers.exact.dense import solve_dense
from unmet.solvers.exact.direct import (
    Result,
    Start,
    as_solution,
    checked,
    flat_hinges,
    pilot,
    rounded,
    scale_of,
    solve_from,
    solve_in_frame,
    solve_nearby,
)
from unmet.solvers.exact.grouping import Merging, groups_of
from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.exact.interior_point import Settings
from unmet.solvers.exact.operators import DenseOperator, Layout, layout_for
from unmet.solvers.exact.scaling import Frame, add_lasso
from unmet.solvers.exact.sparse import SparseOperator, independent_columns, pairs_fit, rest_fits
from unmet.solvers.problem import HingeProblem, Hinges, Solution

# --- Choose how to solve a linear decision problem exactly, and hand back raw coefficients.
#
# ==================================  ===========================================================
# few rows                            one interior-point solve (`direct`)
# rows that repeat                    merged first (`grouping`)
# many rows                           near kinks only (`screened`), all rows where that fails
# more parameters than rows           in the span of the rows (`wide`); ℓ1: a working set
# (`columns`)
# sparse features                     Schur complement (`sparse`); HiGHS where that gets too large
# ==================================  ===========================================================
#
# With a wide band the optimum is a set. The interior point approaches its analytic centre, so the
# answer is a deterministic inner point of the set, not a vertex: compare objectives of two solvers,
# never their coefficients. Dependent columns share their weight by how the factor resolves them;
# decisions on the training rows are unaffected.

Array = NDArray[np.float64]

_DENSE_COLUMNS = 100  # sparse features with fewer columns are solved dense,
_DENSE_ENTRIES = 20_000_000  # if they have fewer entries than this
_ACCEPTABLE = 1e-6  # relative gap up to which an answer is handed on


def solve_exact(problem: HingeProblem, *, tolerance: float = 1e-9) -> Solution:
    """Minimise a `HingeProblem` to a relative duality gap.

    Parameters
    ----------
    problem : HingeProblem
    tolerance : float
        Largest duality gap relative to the objective.

    Returns
    -------
    Solution
        With its certificate.

    Raises
    ------
    SolverFailure
        If no method reaches an acceptable gap.
    """
    # Features of scale 1e200 overflow in places; the certificate tells whether it mattered.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if sparse.issparse(problem.features):
            found = _solve_sparse(problem, tolerance)
        else:
            found = _solve_rows(problem, np.asarray(problem.features), tolerance)
        return _with_highs(problem, tolerance) if found is None else found


def _solve_rows(problem: HingeProblem, features: Array, tolerance: float) -> Solution | None:
    """Dense features: only near kinks where rows are many, else all of them."""
    n_rows, n_features = features.shape
    groups = groups_of(features)
    if groups is None and pays(n_rows, n_features + problem.fit_intercept):
        found = Screening(
            KinkBlock(features, problem.kinks),
            intercept=problem.fit_intercept,
            ridge=problem.ridge,
            lasso=problem.lasso,
            tolerance=tolerance,
        ).run()
        if found is not None:
            return found
    solution = solve_dense(problem, features, groups, tolerance)
    return None if solution is None else _proved(problem, checked(problem, solution), tolerance)


def _with_highs(problem: HingeProblem, tolerance: float) -> Solution:
    """Ask the reference solver, and look at its certificate too."""
    sentence = (
        "no solver could prove an answer for these features and weights; "
        "try bringing them to similar scales, or another strength of the penalty."
    )
    if problem.ridge is not None and problem.ridge.any():
        raise SolverFailure(sentence)
    solution = _proved(problem, solve_highs(problem), tolerance)
    if solution is None:
        raise SolverFailure(sentence)
    return solution


def _proved(problem: HingeProblem, solution: Solution, tolerance: float) -> Solution | None:
    """Hand on an answer only with a gap that is acceptable for the problem as it was given.

    Acceptable beside the objective, or, as rounding in the raw coefficients of features far from 0
    alone may cost that much, beside the cost of one decision for all rows.
    """
    hinges = flat_hinges(problem.kinks)
    scale = scale_of(hinges, tolerance)
    constant = scale.reach * float(hinges.below.sum() + hinges.above.sum())
    allowed = _ACCEPTABLE * max(abs(solution.objective), scale.smallest, constant)
    return solution if solution.gap <= allowed else None


def _solve_sparse(problem: HingeProblem, tolerance: float) -> Solution | None:
    """Sparse features: dense where they are few, else by elimination; None where too large."""
    features = sparse.csr_array(problem.features)
    n_rows, n_features = features.shape
    if n_features <= _DENSE_COLUMNS and n_rows * n_features <= _DENSE_ENTRIES:
        dense = np.ascontiguousarray(features.toarray())
        return _solve_rows(replace(problem, features=dense), dense, tolerance)
    if not features.has_canonical_format:
        features = features.copy()  # the caller's matrix stays as it is
        features.sum_duplicates()
    design, frame = _sparse_design(features, problem.fit_intercept)
    if not pairs_fit(design):
        return None
    independent = independent_columns(design)
    if not rest_fits(design, independent):
        return None
    operator = SparseOperator(design, layout_for(*problem.kinks.position.shape), independent)
    both = solve_in_frame(problem, frame, operator, flat_hinges(problem.kinks), tolerance)
    if both is None:
        return None
    solution = replace(both[0], method="sparse " + both[0].method)
    return _proved(problem, checked(problem, solution), tolerance)


def _sparse_design(features: sparse.csr_array, intercept: bool) -> tuple[sparse.csr_array, Frame]:
    """Scale the columns, centre those without zeros, and add the intercept."""
    n_rows, n_features = features.shape
    centre, data = np.zeros(n_features), features.data
    if intercept:
        full = np.bincount(features.indices, minlength=n_features) == n_rows
        if full.any():
            centre = np.where(full, features.sum(axis=0) / n_rows, 0.0)
            data = data - centre[features.indices]
    peak = np.zeros(n_features)
    np.maximum.at(peak, features.indices, np.abs(data))
    peak[peak <= 0] = 1.0
    scaled = data / peak[features.indices]
    square = np.bincount(features.indices, scaled**2, n_features) / n_rows
    scale = peak * np.sqrt(np.where(square > 0, square, 1.0))
    if (data == 1).all():
        scale = np.ones(n_features)  # keeps products of entries at one: nothing to multiply
    inner = (data / scale[features.indices], features.indices, features.indptr)
    design = sparse.csr_array(inner, shape=features.shape)
    if intercept:
        design = sparse.csr_array(sparse.hstack([design, sparse.csr_array(np.ones((n_rows, 1)))]))
    return design, Frame(centre, scale, intercept)


# --- Several problems on the same features: a grid of costs or bands, each from its neighbour.


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
