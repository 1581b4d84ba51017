"""Solve a linear decision problem exactly: choose how, and hand back raw coefficients.

==================================  ================================================================
few rows                            one interior-point solve (`direct`)
rows that repeat                    merged first (`features`)
many rows                           near kinks only (`unmet.solvers.blocks.screening`), all rows
                                    where that fails
more parameters than rows           in the span of the rows; under ℓ1 a working set of columns
sparse features                     Schur complement (`sparse`); HiGHS where that gets too large
several problems, same features     each from its neighbour (`path`)
==================================  ================================================================

With a wide band the optimum is a set. The interior point approaches its analytic centre, so the
answer is a deterministic inner point of the set, not a vertex: compare objectives of two solvers,
never their coefficients. Columns that depend on others are left out first (`features`). An answer
is handed on only with a gap of at most 1e-6 of its cost; else a `SolverFailure` says so.

**ℓ1 with many columns.** A problem is solved on a working set of columns, and the rest prove that
they stay at zero. With y the multipliers of the rows, a coefficient is zero at the optimum if
|x_j'y| ≤ lasso_j. So a problem solved on some columns is solved on all of them as soon as no other
column violates this; the violators join the working set until none is left. If
|x_j'y| ≤ (1 + δ) lasso_j for every column, then y/(1 + δ) is feasible for the dual of the full
problem and loses at most the share δ of the dual value: the gap grows by at most δ times the
objective. A column with ridge may violate the condition; left at zero, it adds
(|x_j'y| − lasso_j)₊² / (4 ridge_j) to the gap.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmet.errors import SolverFailure
from unmet.solvers import constants
from unmet.solvers.blocks.screening import KinkBlock, Screening, pays
from unmet.solvers.exact.direct import (
    StandardProblem,
    best_intercept,
    flat_hinges,
    free_constant,
    proved,
)
from unmet.solvers.exact.features import (
    Merging,
    RowGroups,
    Standardisation,
    column_means,
    groups_of,
)
from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.exact.interior_point import (
    KinkOrder,
    Operator,
    stacked,
)
from unmet.solvers.exact.sparse import SparseOperator, independent_columns, pairs_fit
from unmet.solvers.problem import HingeProblem, Hinges, Solution

Array = NDArray[np.float64]


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
    # What overflows on the way is no news: the certificate tells whether it mattered.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        try:
            dense = _as_dense(problem)
            if dense is None:
                found = _eliminate_columns(problem, tolerance)
            else:
                groups = groups_of(np.asarray(dense.features))
                found = None if groups is not None else _screen(dense, tolerance)
                found = found or minimise_rows(dense, groups, tolerance)
            if found is None and (problem.ridge is None or not problem.ridge.any()):
                found = _ask_highs(problem, tolerance)
        except (ValueError, np.linalg.LinAlgError, SolverFailure):
            found = None  # numbers that a library refuses, or a matrix that has no factor
        found = found or free_constant(problem)
    if found is None:
        raise SolverFailure(
            f"no solver could prove an answer to {max(tolerance, constants.ACCEPTABLE_GAP):g} of "
            f"its cost for these features, costs and weights: look for cells far larger than the "
            "rest of their column, and bring columns to similar units."
        )
    return found


def solve_program(problem: HingeProblem) -> Solution:
    """Solve by HiGHS.

    Parameters
    ----------
    problem : HingeProblem
        Without ridge.

    Returns
    -------
    Solution

    Raises
    ------
    SolverFailure
        If HiGHS cannot prove its answer.
    """
    found = proved(problem, solve_highs(problem), None, constants.HIGHS_GAP)
    if found is None:
        raise SolverFailure(
            "HiGHS could not prove an answer for these features, costs and weights: use the "
            "solver 'exact'."
        )
    return found


def _ask_highs(problem: HingeProblem, tolerance: float) -> Solution | None:
    """Solve where an interior point fails: steps that jam, sparse features that are too large.

    HiGHS takes columns that are nearly dependent for dependent ones, so it gets other coordinates.
    """
    features, lasso = problem.features, problem.lasso
    n_rows, n_features = features.shape
    if lasso is not None or n_rows * n_features > constants.DENSE_ENTRIES:
        return proved(problem, solve_highs(problem), None, tolerance)
    rows = features if isinstance(features, np.ndarray) else features.toarray()
    standard, design = Standardisation.with_design(rows, problem.fit_intercept)
    size = standard.n_parameters - int(problem.fit_intercept)
    found = solve_highs(replace(problem, features=np.ascontiguousarray(design[:, :size])))
    coefficients, intercept = standard.to_raw(np.append(found.coefficients, found.intercept))
    found = replace(found, coefficients=coefficients, intercept=intercept)
    return proved(problem, found, standard, tolerance)


# --- Dense features.


def _screen(problem: HingeProblem, tolerance: float) -> Solution | None:
    """Solve only what is near kinks, where rows are many enough for that to pay."""
    n_rows, n_features = problem.features.shape
    if not pays(n_rows, n_features + problem.fit_intercept):
        return None
    block, penalties = KinkBlock(problem.features, problem.kinks), (problem.ridge, problem.lasso)
    screening = Screening(block, problem.fit_intercept, penalties, tolerance)
    found = screening.run()
    if found is not None and screening.standard.dependence is not None:
        found = proved(problem, found, screening.standard, tolerance)
    return found


def minimise_rows(
    problem: HingeProblem, groups: RowGroups | None, tolerance: float
) -> Solution | None:
    """Solve all rows together, equal ones merged; None if the gap is not acceptable."""
    features = np.asarray(problem.features)
    hinges, order = flat_hinges(problem.kinks), stacked(*problem.kinks.position.shape)
    if groups is not None:
        features = features[groups[0]]
        merging = Merging.of(groups[1], hinges.position)
        hinges, order = merging.apply(hinges), merging.kink_order
    found, solved = None, [problem]
    if problem.lasso is not None:
        found, solved = _leave_out_columns(problem, features, hinges, order, tolerance), []
    if problem.penalised:
        # where penalties hardly count, the problem without them proves enough: it costs less
        solved.append(replace(problem, ridge=None, lasso=None))
    for each in solved:
        for share in (1.0, constants.CLOSER):  # closer, where little costs anything
            if found is not None:
                return found
            both = _minimise(each, features, hinges, order, tolerance, share)
            if both is None:
                break
            found = proved(problem, both[0], both[2], tolerance)
    return found


def _minimise(
    problem: HingeProblem,
    features: Array,
    hinges: Hinges,
    order: KinkOrder,
    tolerance: float,
    share: float = 1.0,
) -> tuple[Solution, Array, Standardisation] | None:
    """Standardise, solve, and return the multipliers of the kinks too; None if there is doubt.

    `share` of the tolerance is what is aimed at.
    """
    penalties = problem.ridge, problem.lasso
    standard, design = Standardisation.with_design(features, problem.fit_intercept, penalties)
    whole = StandardProblem.of(Operator(design, order), hinges, standard, penalties, tolerance)
    both = whole.minimise(share * tolerance)
    return None if both is None else (*both, standard)


# --- ℓ1.


def _leave_out_columns(
    problem: HingeProblem, features: Array, hinges: Hinges, order: KinkOrder, tolerance: float
) -> Solution | None:
    """Leave out columns that ℓ1 surely holds at zero, then solve some of the others or all.

    Multipliers lie in their boxes, so that |x_j'y| ≤ Σ_i |x_ij| max(below_i, above_i).
    """
    lasso, ridge = np.asarray(problem.lasso), problem.ridge
    centre = column_means(features) if problem.fit_intercept else 0.0
    most = order.collect(np.maximum(hinges.below, hinges.above)) @ np.abs(features - centre)
    open_ = np.flatnonzero(lasso <= most)
    part = np.ascontiguousarray(features[:, open_])
    inside = replace(
        problem, features=part, lasso=lasso[open_], ridge=None if ridge is None else ridge[open_]
    )
    found = None
    if len(open_) > max(200, len(features)):
        found = _grow_columns(inside, part, hinges, order, tolerance)
    if found is None:
        both = _minimise(inside, part, hinges, order, tolerance)
        found = None if both is None else both[0]
    if found is None:
        return None
    coefficients = np.zeros(len(lasso))
    coefficients[open_] = found.coefficients
    return proved(problem, replace(found, coefficients=coefficients), None, tolerance)


def _grow_columns(
    problem: HingeProblem, features: Array, hinges: Hinges, order: KinkOrder, tolerance: float
) -> Solution | None:
    """Grow a working set of columns until the others are proved to be zero.

    None when a part cannot be solved, or the working set stops growing before the proof.
    """
    lasso, ridge = np.asarray(problem.lasso), problem.ridge
    charged = np.zeros(len(lasso)) if ridge is None else ridge
    centre = column_means(features) if problem.fit_intercept else np.zeros(len(lasso))
    centred = features - centre
    # Multipliers at the best constant decision rank the columns.
    slope = hinges.below + hinges.above
    level = 0.0
    if problem.fit_intercept:
        level = best_intercept(hinges.position, slope, float(hinges.below.sum()))
    dual = np.where(hinges.position < level, hinges.above, -hinges.below)
    free = lasso <= 0
    weight = np.where(free, 1.0, lasso)
    ratio = np.where(free, np.inf, np.abs(order.collect(dual) @ centred) / weight)
    working = np.sort(np.argsort(-ratio)[: max(constants.WORKING_SET, int(free.sum()))])
    iterations = 0
    for _ in range(constants.WORKING_SET_ROUNDS):
        part = np.ascontiguousarray(features[:, working])
        inside = replace(
            problem,
            features=part,
            lasso=lasso[working],
            ridge=None if ridge is None else ridge[working],
        )
        both = _minimise(inside, part, hinges, order, tolerance)
        if both is None:
            return None
        found, dual, _ = both
        iterations += found.iterations
        outside = np.ones(len(lasso), dtype=bool)
        outside[working] = False
        pull = np.abs(order.collect(dual) @ centred)
        beyond = np.where(free, 0.0, np.maximum(pull - lasso, 0.0))
        bare = beyond[charged <= 0] / weight[charged <= 0]
        smooth = outside & (charged > 0)
        gap = found.gap + float(bare.max(initial=0.0)) * abs(found.objective)
        gap += float((beyond[smooth] ** 2 / (4 * charged[smooth])).sum())
        if gap <= tolerance * abs(found.objective):
            coefficients = np.zeros(len(lasso))
            coefficients[working] = found.coefficients
            return replace(found, coefficients=coefficients, gap=gap, iterations=iterations)
        candidates = np.flatnonzero(outside & (beyond > 0))
        if not len(candidates):
            return None
        worst = candidates[np.argsort(-beyond[candidates] / weight[candidates])[: len(working)]]
        working = np.sort(np.concatenate([working, worst]))
    return None


# --- Sparse features.


def _as_dense(problem: HingeProblem) -> HingeProblem | None:
    """Return the problem with dense features; None where sparse ones are better left so."""
    if not sparse.issparse(problem.features):
        return problem
    n_rows, n_features = problem.features.shape
    few = n_features <= constants.DENSE_COLUMNS
    free = not problem.penalised and n_rows <= constants.NORM_ROWS * n_features  # directions of θ
    if not (few or free) or n_rows * n_features > constants.DENSE_ENTRIES:
        return None
    return replace(problem, features=np.ascontiguousarray(problem.features.toarray()))


def _eliminate_columns(problem: HingeProblem, tolerance: float) -> Solution | None:
    """Sparse features: eliminate columns that never occur together; None where too large."""
    features = sparse.csr_array(problem.features)
    if not features.has_canonical_format:
        features = features.copy()  # the caller's matrix stays as it is
        features.sum_duplicates()
    design, standard = _sparse_design(features, problem.fit_intercept)
    independent = independent_columns(design)
    if not pairs_fit(design) or design.shape[1] - len(independent) > constants.SCHUR_COLUMNS:
        return None
    operator = SparseOperator(design, stacked(*problem.kinks.position.shape), independent)
    hinges, penalties = flat_hinges(problem.kinks), (problem.ridge, problem.lasso)
    whole = StandardProblem.of(operator, hinges, standard, penalties, tolerance)
    both = whole.minimise(tolerance)
    if both is None:
        return None
    solution = replace(both[0], method="sparse " + both[0].method)
    return proved(problem, solution, None, tolerance)


def _sparse_design(
    features: sparse.csr_array, intercept: bool
) -> tuple[sparse.csr_array, Standardisation]:
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
    return design, Standardisation(centre, scale, intercept)
