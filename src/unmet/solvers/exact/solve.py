"""Solve a linear decision problem exactly: choose how, and hand back raw coefficients.

==================================  ================================================================
few rows                            one interior-point solve (`direct`)
rows that repeat                    merged first (`features`)
many rows                           near kinks only (`unmet.solvers.blocks.screening`), all rows
                                    where that fails
more parameters than rows           in the span of the rows; under ℓ1 a working set of columns
sparse features                     Schur complement (`sparse`); HiGHS where that gets too large
numbers of any size                 units by powers of two, or fractions (`units`)
several problems, same features     each from its neighbour (`path`)
==================================  ================================================================

With a wide band the optimum is a set. The interior point approaches its analytic centre, so the
answer is a deterministic inner point of the set, not a vertex: compare objectives of two solvers,
never their coefficients. Dependent columns share their weight by how the factor resolves them;
decisions on the training rows are unaffected.

**More parameters than rows, without ℓ1.** A component of θ orthogonal to every (centred) row
changes no decision, and ridge only charges for it. So the problem is solved in the coordinates of
an orthonormal basis of the span of the rows, of at most n dimensions. (Of all answers that give the
same decisions, `features.minimum_norm` then picks the one of least norm.)

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
from scipy.linalg import qr

from unmet.arrays import Features
from unmet.errors import SolverFailure
from unmet.solvers import constants
from unmet.solvers.blocks.screening import KinkBlock, Screening, pays
from unmet.solvers.exact.direct import (
    StandardProblem,
    best_intercept,
    checked,
    flat_hinges,
    scale_of,
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
    solve_hinges,
    stacked,
)
from unmet.solvers.exact.sparse import SparseOperator, independent_columns, pairs_fit
from unmet.solvers.exact.units import (
    RANGE,
    Scaled,
    Size,
    best_constant,
    cost_of_digits,
    free_constant,
    size_of,
    solve_fractions,
    suits_fractions,
)
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
        size = size_of(problem)
        if size is not Size.WILD:
            found = _attempted(problem, tolerance)
            if found is not None and (size is Size.ORDINARY or _surely(problem, found)):
                return _or_free(problem, found)
        return _or_free(problem, _solve_in_units(problem, tolerance))


def _or_free(problem: HingeProblem, solution: Solution) -> Solution:
    """Decide the same for all rows where that costs nothing, and the answer something."""
    if not solution.objective > 0:
        return solution
    return free_constant(problem) or solution


def _attempted(problem: HingeProblem, tolerance: float) -> Solution | None:
    """Solve with numbers as they are, by HiGHS where nothing else proves its answer.

    Small problems are left to fractions instead: HiGHS does not see how far parameters might move
    along columns that are nearly dependent.
    """
    try:
        if sparse.issparse(problem.features):
            found = _solve_sparse(problem, tolerance)
        else:
            found = _solve_rows(problem, np.asarray(problem.features), tolerance)
        penalised = problem.ridge is not None and problem.ridge.any()
        if found is None and not penalised and not suits_fractions(problem):
            found = proved(problem, solve_highs(problem), tolerance)
    except (ValueError, np.linalg.LinAlgError, SolverFailure):
        return None  # numbers that a library refuses, or a matrix that has no factor
    return found


def _solve_in_units(problem: HingeProblem, tolerance: float) -> Solution:
    """Solve a problem whose numbers are not ordinary, or whose answer could not be proved.

    In units near one it may be ordinary. Where it is not, and small, fractions decide; where it is
    large, a gap must be small beside the cost of one decision for all rows.
    """
    scaled = Scaled.of(problem)
    inner = scaled.problem
    size = size_of(inner)
    found = free_constant(inner) if problem.penalised else None
    if found is None:
        tried = None
        if size is not Size.WILD or not suits_fractions(inner):  # hopeless, and slow to fail
            tried = _attempted(inner, tolerance)
        far = bool(scaled.clipped.any())
        if tried is not None and far and not _surely(inner, tried):
            # gaps were compared with the size of kinks that no decision comes near
            closer = best_constant(inner) / scale_of(flat_hinges(inner.kinks), tolerance).smallest
            tried = _attempted(inner, tolerance * min(closer, 1.0)) or tried
        if tried is not None:
            tried = scaled.without_forbidden(tried)
        sure = tried is not None and not scaled.reaches_clipped(tried)
        plain = size is Size.ORDINARY and not far
        if tried is not None and sure and (plain or _surely(inner, tried)):
            found = tried
        if found is None or (size is Size.WILD and found.objective > 0):
            exact = solve_fractions(scaled, problem.kinks, _guess(inner, tried, tolerance))
            found = found if exact is None else exact
        if found is None and sure and tried is not None and not tried.objective > 0:
            found = tried  # nothing costs less than nothing, as far as float64 can see
    if found is None:
        raise SolverFailure(
            f"no solver could prove an answer for these features, costs and weights; {RANGE}."
        )
    restored = scaled.restore(found)
    if restored is None:
        raise SolverFailure(
            "the best coefficients, their products with features or their cost lie outside what "
            f"float64 holds, 5e-324 to 1.8e308; {RANGE}."
        )
    return restored


def _surely(problem: HingeProblem, solution: Solution) -> bool:
    """Whether doubts are small beside the cost itself, or that of one decision for all rows.

    Among the doubts is what the last digits of the decisions cost: where slopes differ by 1e20, it
    may be more than all the light rows together, and that float64 finds no cost at all is luck.
    """
    constant = best_constant(problem)
    if not (solution.objective > 0 or constant > 0):
        return True
    doubt = max(solution.gap, solution.residual)
    doubt += cost_of_digits(problem, solution.coefficients, solution.intercept)
    return doubt <= constants.ACCEPTABLE_GAP * max(solution.objective, constant)


def solve_program(problem: HingeProblem) -> Solution:
    """Solve by HiGHS, in units near one where numbers ask for it.

    HiGHS has absolute tolerances, and takes columns that are nearly dependent for dependent ones.
    So the answers to small problems are compared with fractions, which are handed back where they
    are better.

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
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        if size_of(problem) is Size.ORDINARY and not suits_fractions(problem):
            return solve_highs(problem)
        scaled = Scaled.of(problem)
        inner, found, guess = scaled.problem, None, None
        try:
            tried = solve_highs(inner)
            guess = tried
            if not scaled.reaches_clipped(tried):
                found = tried if _surely(inner, tried) else None
        except (ValueError, SolverFailure):
            pass  # numbers that HiGHS refuses, or cannot solve
        exact = solve_fractions(scaled, problem.kinks, _guess(inner, guess, 1e-9))
        if found is None or (exact is not None and exact.objective < (1 - 1e-9) * found.objective):
            found = exact
        restored = None if found is None else scaled.restore(found)
    if restored is None:
        raise SolverFailure(f"HiGHS could not prove an answer for these numbers; {RANGE}.")
    return restored


def _guess(problem: HingeProblem, tried: Solution | None, tolerance: float) -> Array:
    """Parameters near the best ones, as far as float64 can tell: where fractions begin."""
    features = problem.features
    if tried is not None:
        return np.append(tried.coefficients, [tried.intercept] * problem.fit_intercept)
    rows = features if isinstance(features, np.ndarray) else features.toarray()
    width = rows.shape[1] + problem.fit_intercept
    try:
        standard, design = Standardisation.with_design(rows, problem.fit_intercept, rotate=False)
        order = stacked(*problem.kinks.position.shape)
        penalties = (None, problem.lasso)
        inner, hinges = Operator(design, order), flat_hinges(problem.kinks)
        whole = StandardProblem.of(inner, hinges, standard, penalties, tolerance)
        near = solve_hinges(
            whole.operator,
            whole.hinges,
            whole.start(),
            whole.scale,
            tolerance=tolerance,
            max_iterations=constants.GUESS_ITERATIONS,
        )
        coefficients, intercept = standard.to_raw(near.theta)
    except (ValueError, np.linalg.LinAlgError, SolverFailure):
        return np.zeros(width)
    return np.append(coefficients, intercept)[:width]


def proved(problem: HingeProblem, solution: Solution, tolerance: float) -> Solution | None:
    """Hand on an answer only with a gap that is acceptable for the problem as it was given.

    Acceptable beside the objective, or, as rounding in the raw coefficients of features far from 0
    alone may cost that much, beside the cost of one decision for all rows.
    """
    hinges = flat_hinges(problem.kinks)
    scale = scale_of(hinges, tolerance)
    constant = scale.reach * float(hinges.below.sum() + hinges.above.sum())
    allowed = constants.ACCEPTABLE_GAP * max(abs(solution.objective), scale.smallest, constant)
    if not solution.gap <= allowed:
        return None
    if not suits_fractions(problem):
        return solution
    # Fractions can do better where that is more than a share of what the best decision for all rows
    # costs, or where one kink is so far away that parameters might move farther than the residual
    # counts.
    if solution.gap > tolerance * abs(solution.objective):
        cost = max(abs(solution.objective), best_constant(problem))
        if not solution.gap <= constants.ACCEPTABLE_GAP * cost:
            return None
    # Parameters move that far along entries that are tiny beside others of their column, too.
    farthest = max(float(np.ptp(hinges.position)), scale.reach * _unevenness(problem.features))
    if solution.residual * farthest > constants.ACCEPTABLE_GAP * solution.objective * scale.reach:
        cost = max(abs(solution.objective), best_constant(problem))
        if solution.residual * farthest > constants.ACCEPTABLE_GAP * cost * scale.reach:
            return None
    if solution.objective > 0 and not problem.penalised and _drops_a_direction(problem, solution):
        return None
    return solution


def _unevenness(features: Features) -> float:
    """How many times larger the largest entry of a column is than its smallest that is not 0."""
    dense = np.abs(features if isinstance(features, np.ndarray) else features.toarray())
    largest = dense.max(axis=0, initial=0.0)
    smallest = dense.min(axis=0, where=dense > 0, initial=np.inf)
    return float((largest / smallest).max(initial=1.0))


def _drops_a_direction(problem: HingeProblem, solution: Solution) -> bool:
    """Whether a column without a coefficient is not quite explained by the others.

    Columns that others explain but for 1e-11 of their spread are left out (`Standardisation`). What
    is left of them may still hold decisions, with coefficients of 1e11.
    """
    left_out = solution.coefficients == 0
    if not left_out.any():
        return False
    features = problem.features
    dense = features if isinstance(features, np.ndarray) else features.toarray()
    centred = dense - column_means(dense) if problem.fit_intercept else dense
    length = np.linalg.norm(centred, axis=0)
    varies = length > constants.EXPLAINED * np.linalg.norm(dense, axis=0)
    unit = centred[:, varies] / length[varies]
    left_out = left_out[varies]
    if not left_out.any() or left_out.all():
        return bool(left_out.any())
    explained = unit[:, ~left_out]
    weights = np.linalg.lstsq(explained, unit[:, left_out], rcond=None)[0]
    rest = np.linalg.norm(unit[:, left_out] - explained @ weights, axis=0)
    return bool((rest > constants.EXPLAINED).any())


# --- Dense features.


def _solve_rows(problem: HingeProblem, features: Array, tolerance: float) -> Solution | None:
    """Dense features: only near kinks where rows are many, else all of them."""
    n_rows, n_features = features.shape
    groups = groups_of(features)
    if groups is None and pays(n_rows, n_features + problem.fit_intercept):
        block, penalties = KinkBlock(features, problem.kinks), (problem.ridge, problem.lasso)
        found = Screening(block, problem.fit_intercept, penalties, tolerance).run()
        if found is not None:
            return found
    solution = solve_dense(problem, features, groups, tolerance)
    return None if solution is None else proved(problem, checked(problem, solution), tolerance)


def solve_dense(
    problem: HingeProblem, features: Array, groups: RowGroups | None, tolerance: float
) -> Solution | None:
    """Solve all rows together, equal ones merged; None if the gap is not acceptable."""
    hinges, order = flat_hinges(problem.kinks), stacked(*problem.kinks.position.shape)
    if groups is not None:
        features = features[groups.first]
        merging = Merging.of(groups, hinges.position)
        hinges, order = merging.apply(hinges), merging.kink_order
    n_rows, n_features = features.shape
    lasso, ridge = problem.lasso, problem.ridge
    if lasso is not None:
        if lasso.any() and n_features > max(200, n_rows):
            found = _solve_by_columns(problem, features, hinges, order, tolerance)
            if found is not None:
                return found
    elif n_features >= n_rows:
        if ridge is None or not ridge.any():
            return _solve_in_span(problem, features, hinges, order, tolerance, None)
        if n_features > constants.RIDGE_COLUMNS and (ridge > 0).all():
            return _solve_in_span(problem, features, hinges, order, tolerance, ridge)
    both = _solve_part(problem, features, hinges, order, tolerance, rotate=True)
    found = None if both is None else both[0]
    if lasso is not None or ridge is None or not (ridge > 0).all():
        return found
    if found is not None and found.gap <= constants.POOR_GAP * abs(found.objective):
        return found
    # columns that are nearly the same, or of which ridge charges some 1e12 times others
    other = _solve_in_span(problem, features, hinges, order, tolerance, ridge, whole=True)
    return min((each for each in (found, other) if each), key=lambda each: each.gap, default=None)


def _solve_part(
    problem: HingeProblem,
    features: Array,
    hinges: Hinges,
    order: KinkOrder,
    tolerance: float,
    rotate: bool = False,
) -> tuple[Solution, Array] | None:
    """Standardise, solve, and return the multipliers of the kinks too; None if there is doubt."""
    penalties = problem.ridge, problem.lasso
    rotate = rotate and problem.ridge is None and problem.lasso is None
    standard, design = Standardisation.with_design(features, problem.fit_intercept, rotate=rotate)
    inner = Operator(design, order)
    return StandardProblem.of(inner, hinges, standard, penalties, tolerance).solve_reliably(
        tolerance
    )


def _solve_in_span(
    problem: HingeProblem,
    features: Array,
    hinges: Hinges,
    order: KinkOrder,
    tolerance: float,
    ridge: Array | None,
    *,
    whole: bool = False,
) -> Solution | None:
    """More columns than rows, or ridge: the coordinates of the span of the rows.

    None if the span must be `whole`, and a direction is so short that it would be left out.
    """
    n_rows, n_features = features.shape
    centre = column_means(features) if problem.fit_intercept else np.zeros(n_features)
    # With ridge, every direction is charged alike in the coordinates √ridge · θ; without, columns
    # of any scale must count alike.
    if ridge is None:
        scale = Standardisation.of(features, problem.fit_intercept).scale
    else:
        scale = np.sqrt(ridge)
    rows = (features - centre) / scale
    # Centred rows have one dimension less than there are rows; what stands in it is rounding, of
    # the size of this noise, and must not be taken for a direction.
    noise = 8 * np.finfo(float).eps * float(np.linalg.norm(centre / scale))
    basis, triangle, _ = qr(rows.T, mode="economic", pivoting=True)
    size = np.abs(triangle.diagonal())
    smallest = max(1e-13 * size.max(initial=0.0), noise, 1e-300)
    most = n_rows - int(problem.fit_intercept)
    rank = min(int(np.count_nonzero(size > smallest)), most)
    if whole and rank < min(most, n_features):
        return None
    basis = np.asarray(basis[:, : max(rank, 1)], dtype=np.float64)
    inside = replace(
        problem,
        features=rows @ basis,
        ridge=None if ridge is None else np.ones(basis.shape[1]),
    )
    both = _solve_part(inside, rows @ basis, hinges, order, tolerance)
    if both is None:
        return None
    coefficients = (basis @ both[0].coefficients) / scale
    intercept = both[0].intercept - float(centre @ coefficients)
    return replace(both[0], coefficients=coefficients, intercept=intercept)


def _solve_by_columns(
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
        both = _solve_part(inside, part, hinges, order, tolerance)
        if both is None:
            return None
        found, dual = both
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


def _solve_sparse(problem: HingeProblem, tolerance: float) -> Solution | None:
    """Sparse features: dense where they are few, else by elimination; None where too large."""
    features = sparse.csr_array(problem.features)
    n_rows, n_features = features.shape
    if n_features <= constants.DENSE_COLUMNS and n_rows * n_features <= constants.DENSE_ENTRIES:
        dense = np.ascontiguousarray(features.toarray())
        return _solve_rows(replace(problem, features=dense), dense, tolerance)
    if not features.has_canonical_format:
        features = features.copy()  # the caller's matrix stays as it is
        features.sum_duplicates()
    design, standard = _sparse_design(features, problem.fit_intercept)
    if not pairs_fit(design):
        return None
    independent = independent_columns(design)
    if design.shape[1] - len(independent) > constants.SCHUR_COLUMNS:
        return None
    operator = SparseOperator(design, stacked(*problem.kinks.position.shape), independent)
    hinges, penalties = flat_hinges(problem.kinks), (problem.ridge, problem.lasso)
    whole = StandardProblem.of(operator, hinges, standard, penalties, tolerance)
    both = whole.solve_reliably(tolerance)
    if both is None:
        return None
    solution = replace(both[0], method="sparse " + both[0].method)
    return proved(problem, checked(problem, solution), tolerance)


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
