"""Solve a linear decision problem exactly: choose the method, and return raw coefficients.

==================================  ================================================================
few rows                            one interior-point solve (`direct`)
repeated rows                       merged first (`features`)
many rows                           near kinks only (`unmet.solvers.blocks.screening`), all rows
                                    if that fails
more parameters than rows           in the span of the rows; with ℓ1 a working set of columns
sparse features                     Schur complement (`sparse`)
==================================  ================================================================

With a wide band the optimum is a set. The interior point approaches its analytic center, so the
result is a deterministic inner point of the set and not a vertex. Compare the objectives of two
solvers, never their coefficients. Columns that depend on others are left out first (`features`). A
result has a gap of at most 1e-6 of its cost; otherwise a `SolverFailure` is raised.

**ℓ1 with many columns.** A problem is solved on a working set of columns, and the other columns
prove that their coefficients are zero. With the multipliers y of the rows, a coefficient is zero at
the optimum if |x_j'y| ≤ lasso_j. A problem solved on some columns is therefore solved on all of
them once no other column violates this condition. Violators join the working set until there are
none. If |x_j'y| ≤ (1 + δ) lasso_j for every column, then y/(1 + δ) is feasible for the dual of the
full problem and loses at most the share δ of the dual value: the gap grows by at most δ times the
objective. A column with ridge may violate the condition. If its coefficient stays zero, it adds
(|x_j'y| − lasso_j)₊² / (4 ridge_j) to the gap.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial

import numpy as np
from scipy import sparse

from unmet.arrays import Array
from unmet.errors import SolverFailure, Unsupported
from unmet.solvers.blocks.screening import KinkBlock, Price, Screening, pays, run_evaluated
from unmet.solvers.blocks.source import BlockSample, BlockSource, read_sample
from unmet.solvers.exact.direct import (
    ACCEPTABLE_GAP,
    StandardProblem,
    best_intercept,
    flat_hinges,
    free_constant,
    proved,
)
from unmet.solvers.exact.features import (
    RowGroups,
    Standardisation,
    groups_of,
    merge_kinks,
    sort_kinks,
)
from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.exact.interior_point import Operator
from unmet.solvers.exact.sparse import (
    DENSE_ENTRIES,
    SCHUR_COLUMNS,
    SparseOperator,
    independent_columns,
    pairs_fit,
    standardise_sparse,
)
from unmet.solvers.problem import HingeProblem, Hinges, Solution


def solve_exact(problem: HingeProblem, *, tolerance: float = 1e-9) -> Solution:
    """Minimise a `HingeProblem` to a relative duality gap.

    Parameters
    ----------
    problem : HingeProblem
        Hinges, features and penalties.
    tolerance : float, default=1e-9
        Largest duality gap relative to the objective. Larger values stop earlier.

    Returns
    -------
    Solution
        Minimiser and certificate.

    Raises
    ------
    SolverFailure
        If no method reaches an acceptable gap.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import Newsvendor
    >>> from unmet.solvers.exact.solve import solve_exact
    >>> from unmet.solvers.problem import HingeProblem
    >>> sales = np.array([2.0, 3.0, 5.0, 11.0, 7.0])
    >>> kinks = Newsvendor(3, 1).kinks(sales, sample_weight=np.full(5, 0.2))
    >>> solution = solve_exact(HingeProblem(np.arange(5.0)[:, None], kinks))
    >>> solution.coefficients.round(6), round(solution.objective, 6)
    (array([3.]), 2.4)
    """
    # What overflows on the way is no news: the certificate tells whether it mattered.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        found = free_constant(problem)
        try:
            if found is None and sparse.issparse(problem.features):
                n_rows, n_features = problem.features.shape
                few = n_features <= 100
                # few rows a column leave directions of θ free, which dense solves find
                loose = not problem.penalised and n_rows <= 4 * n_features
                if (few or loose) and n_rows * n_features <= DENSE_ENTRIES:
                    dense = np.ascontiguousarray(problem.features.toarray())
                    problem = replace(problem, features=dense)
                else:
                    found = _eliminate_columns(problem, tolerance)
            if found is None and isinstance(problem.features, np.ndarray):
                groups = groups_of(problem.features)
                found = None if groups is not None else _screen(problem, tolerance)
                found = found or minimise_rows(problem, groups, tolerance)
            if found is None and problem.ridge is None:
                found = _program(problem, tolerance)  # steps jam, say where weights span 15 digits
        except (np.linalg.LinAlgError, SolverFailure):
            found = None  # a matrix that has no factor
    if found is None:
        raise SolverFailure(
            f"no solver could prove an answer to {max(tolerance, ACCEPTABLE_GAP):g} of "
            f"its cost for these features, costs and weights: look for cells far larger than the "
            "rest of their column, and bring columns to similar units."
        )
    return found


def solve_blocks(
    source: BlockSource,
    price: Price,
    sample: BlockSample,
    intercept: bool,
    penalties: tuple[Array | None, Array | None],
    tolerance: float = 1e-9,
) -> Solution:
    """Minimise the mean cost of all rows of a source, plus penalties, to a relative duality gap.

    Near kinks are solved alone. If guesses from the sample do not separate them from far ones (half
    of all observations lie exactly on a plane, or a band holds everything), and the rows fit, they
    are read into memory.

    Parameters
    ----------
    source : BlockSource
        The rows.
    price : callable
        Function from rows with weight, and a factor of their weights, to `Kinks`. On a cluster it
        is sent to the workers.
    sample : BlockSample
        Result of the sampling read; at least a few thousand rows.
    intercept : bool
        Whether to fit an intercept.
    penalties : tuple of ndarray of shape (n_features,) or None
        Ridge and lasso penalties; None is 0.
    tolerance : float
        Largest duality gap relative to the objective.

    Returns
    -------
    Solution
        Its ``passes`` are reads of the data, including the sampling read.

    Raises
    ------
    SolverFailure
        If the gap is not reached.
    """
    if source.n_features > 2000:
        raise Unsupported(
            f"Blocks and {source.n_features} features do not fit together, because the matrices "
            "of a pass would not: use at most 2000, or the solver 'minibatch'."
        )
    rows, factor = sample.rows, 1.0 / sample.total
    few = KinkBlock(rows.features, price(rows, factor * sample.n_rows / len(rows)))
    blocks = partial(run_evaluated, source, price, factor)
    screening = Screening(
        few, intercept, penalties, tolerance, blocks, sample.n_rows, float(sample.reads)
    )
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = screening.run()
    if found is not None:
        return found
    if sample.n_rows * source.n_features > 100_000_000:  # 800 MB
        raise SolverFailure(
            "the solver over blocks could not prove an answer for these features and weights; "
            "try bringing them to similar scales, or another strength of the penalty."
        )
    every = read_sample(source, in_memory=sys.maxsize)
    kinks = price(every.rows, 1.0 / every.total)
    problem = HingeProblem(every.rows.features, kinks, intercept, *penalties)
    together = solve_exact(problem, tolerance=tolerance)
    return replace(together, passes=screening.passes + every.reads)


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
    hinges, operator = flat_hinges(problem.kinks), Operator(features, len(problem.kinks.position))
    if groups is not None:
        order, runs, merged = sort_kinks(groups[1], hinges.position)
        hinges = merge_kinks(hinges, order, runs)
        operator = Operator(features[groups[0]], merged=merged)
    if problem.lasso is not None:
        found = _grow_columns(problem, operator, hinges, tolerance)
        return None if found is None else proved(problem, found, None, tolerance)
    for share in (1.0, 1e-3):  # closer, where little costs anything
        whole = _standardise(problem, operator, hinges, tolerance)
        both = whole.minimise(share)
        if both is None:
            return None
        found = proved(problem, both[0], whole.standard, tolerance)
        if found is not None:
            return found
    return None


def _program(problem: HingeProblem, tolerance: float) -> Solution | None:
    """Solve with HiGHS, whose proof allows for parameters of about one: in such coordinates."""
    features, lasso = problem.features, problem.lasso
    if sparse.issparse(features):
        return solve_highs(problem)
    standard, design = Standardisation.of(features, problem.fit_intercept, rotate=lasso is None)
    penalties = standard.penalties(None, lasso)
    found = solve_highs(HingeProblem(design, problem.kinks, False, *penalties))
    raw = standard.to_raw(found.coefficients)
    found = replace(found, coefficients=raw[0], intercept=raw[1])
    return proved(problem, found, standard, tolerance)


def _standardise(
    problem: HingeProblem, raw: Operator, hinges: Hinges, tolerance: float
) -> StandardProblem:
    """Bring rows and penalties to standardised coordinates."""
    standard, design = Standardisation.of(
        raw.rows, problem.fit_intercept, rotate=problem.ridge is None and problem.lasso is None
    )
    operator = Operator(design, raw.blocks, raw.merged)
    penalties = problem.ridge, problem.lasso
    return StandardProblem(operator, hinges, standard, penalties, tolerance)


def _grow_columns(
    problem: HingeProblem, operator: Operator, hinges: Hinges, tolerance: float
) -> Solution | None:
    """Grow a working set of columns under ℓ1 until the others are proved to be zero.

    Multipliers lie in their boxes, so that |x_j'y| ≤ Σ_i |x_ij| max(below_i, above_i): columns
    with a larger lasso_j never join. Of many others, those begin that pull most at the best
    constant decision. None when a part cannot be solved, or the set stops growing before the proof.
    """
    lasso, ridge, features = np.asarray(problem.lasso), problem.ridge, operator.rows
    charged = np.zeros(len(lasso)) if ridge is None else ridge
    centred, level = features, 0.0
    if problem.fit_intercept:
        centred, slope = features - features.mean(axis=0), hinges.below + hinges.above
        level = best_intercept(hinges.position, slope, float(hinges.below.sum()))
    free = lasso <= 0
    weight = np.where(free, 1.0, lasso)
    most = operator.collect(np.maximum(hinges.below, hinges.above)) @ np.abs(centred)
    working = np.flatnonzero(lasso <= most)
    if len(working) > max(200, len(features)):
        dual = np.where(hinges.position < level, hinges.above, -hinges.below)
        pull = np.abs(operator.collect(dual) @ centred)
        ratio = np.where(free, np.inf, pull / weight)
        working = np.sort(np.argsort(-ratio)[: max(64, int(free.sum()))])
    iterations = 0
    for _ in range(50):
        inside = replace(
            problem, lasso=lasso[working], ridge=None if ridge is None else ridge[working]
        )
        part = Operator(
            np.ascontiguousarray(features[:, working]), operator.blocks, operator.merged
        )
        both = _standardise(inside, part, hinges, tolerance).minimise()
        if both is None:
            return None
        found, dual = both
        iterations += found.iterations
        outside = np.ones(len(lasso), dtype=bool)
        outside[working] = False
        pull = np.abs(operator.collect(dual) @ centred)
        beyond = np.where(free, 0.0, np.maximum(pull - lasso, 0.0))
        bare, smooth = outside & (charged <= 0), outside & (charged > 0)
        excess = float((beyond[bare] / weight[bare]).max(initial=0.0))
        gap = found.gap + excess * abs(found.objective)
        gap += float((beyond[smooth] ** 2 / (4 * charged[smooth])).sum())
        candidates = np.flatnonzero(outside & (beyond > 0))
        if gap <= tolerance * abs(found.objective) or not len(candidates):
            coefficients = np.zeros(len(lasso))
            coefficients[working] = found.coefficients
            return replace(found, coefficients=coefficients, gap=gap, iterations=iterations)
        worst = candidates[np.argsort(-beyond[candidates] / weight[candidates])[: len(working)]]
        working = np.sort(np.concatenate([working, worst]))
    return None


def _eliminate_columns(problem: HingeProblem, tolerance: float) -> Solution | None:
    """Sparse features: eliminate columns that never occur together; None where too large."""
    features = sparse.csr_array(problem.features)
    if not features.has_canonical_format:
        features = features.copy()  # the caller's matrix stays as it is
        features.sum_duplicates()
    standard, design = standardise_sparse(features, problem.fit_intercept)
    independent = independent_columns(design)
    if not pairs_fit(design) or design.shape[1] - len(independent) > SCHUR_COLUMNS:
        raise Unsupported(
            "The solver 'exact' and sparse features with thousands of columns that occur together "
            "do not fit together, because its matrices would be too large: use the solver "
            "'minibatch' or 'highs'."
        )
    operator = SparseOperator(design, independent, len(problem.kinks.position))
    hinges, penalties = flat_hinges(problem.kinks), (problem.ridge, problem.lasso)
    both = StandardProblem(operator, hinges, standard, penalties, tolerance).minimise()
    if both is None:
        return None
    solution = replace(both[0], method="sparse " + both[0].method)
    return proved(problem, solution, None, tolerance)
