"""Features made ready for a solver: standardised columns, equal rows merged, minimum norm.

**Equal rows.** Categorical features give few distinct rows and many ties. Two exact reductions:
kinks at the same place on the same feature row add up to one kink (their slopes and weights simply
sum), and distinct kinks on the same feature row share one row of the design matrix. Daily sales by
weekday, month and category have 756 distinct rows among 3,294.

**Minimum norm.** With fewer distinct rows than columns the rows leave directions of θ free.
Training decisions do not depend on them, those of other rows do, and where an interior point ends
up in them is an accident of rounding. The least ‖θ‖ is no accident: it does not change when rows
are reordered, or repeated instead of weighted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import lapack, qr, solve_triangular

from unmet.solvers import constants
from unmet.solvers.exact.interior_point import GroupedKinks
from unmet.solvers.exact.units import Size, best_constant, size_of
from unmet.solvers.problem import HingeProblem, Hinges, Solution

Array = NDArray[np.float64]

_FULL = 1e-5  # a pivot above this, on columns of unit length, proves full rank beyond doubt
_DEPENDENT = 1e-11  # share of its spread below which a column counts as explained by others
_TINY = 1e-140


def column_means(features: Array, share: Array | None = None) -> Array:
    """Mean of each column, with no rounding error for a constant one.

    A plain sum of 100,000 times 0.1 is off by 2e-12 of itself. Centring by that leaves a column of
    constant rounding errors, and scaling makes it look like any other column.

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_features)
    share : ndarray of shape (n_rows,), optional
        Weights that sum to one.

    Returns
    -------
    ndarray of shape (n_features,)

    Examples
    --------
    >>> column_means(np.full((100_000, 1), 0.1)) - 0.1
    array([0.])
    """
    n_rows, n_features = features.shape
    first, total = features[0], np.zeros(n_features)
    size = max(1, constants.MEANS_CHUNK // max(n_features, 1))
    for start in range(0, n_rows, size):
        part = slice(start, start + size)
        deviation = features[part] - first
        total += deviation.sum(axis=0) / n_rows if share is None else share[part] @ deviation
    mean: Array = first + total
    return mean


@dataclass(frozen=True)
class Standardisation:
    """The coordinates in which a problem is solved: centred and scaled features, and an intercept.

    Any centre, scale and basis give the same decisions, so they may come from a sample of the
    rows. The last parameter is the intercept, if there is one.

    Attributes
    ----------
    centre, scale : ndarray of shape (n_features,)
    intercept : bool
    basis : ndarray of shape (n_features, rank) or None
        Directions in the scaled features; None for the features themselves.
    """

    centre: Array
    scale: Array
    intercept: bool
    basis: Array | None = None

    @classmethod
    def of(cls, features: Array, intercept: bool) -> Standardisation:
        """Centre (only with an intercept) and scale taken from these rows."""
        n_features = features.shape[1]
        if intercept:
            centre = column_means(features)
            deviation = features - centre
        else:
            centre = np.zeros(n_features)
            deviation = features
        scale = _root_mean_square(deviation)
        if not (np.isfinite(scale) & (scale > _TINY)).all():  # squares overflowed or vanished
            peak = np.abs(deviation).max(axis=0)
            peak[~(peak > 0)] = 1.0
            scale = peak * _root_mean_square(deviation / peak)
        # What is left of a constant column after centring is rounding, not information.
        noise = 1e-14 * np.abs(centre)
        return cls(
            centre, np.where(scale > noise, scale, np.maximum(np.abs(centre), 1.0)), intercept
        )

    @classmethod
    def with_design(
        cls, features: Array, intercept: bool, *, rotate: bool, all_rows: bool = True
    ) -> tuple[Standardisation, Array]:
        """Standardise rows: coordinates and design matrix, rotated where correlations ask for it.

        Penalties belong to single coefficients, so that only a problem without them may rotate.
        """
        standard = cls.of(features, intercept)
        if rotate:
            return standard.orthogonal(features, all_rows=all_rows)
        return standard, standard.design(features)

    @property
    def n_parameters(self) -> int:
        """Number of coefficients, the intercept included."""
        inner = len(self.centre) if self.basis is None else self.basis.shape[1]
        return inner + int(self.intercept)

    def orthogonal(self, features: Array, *, all_rows: bool) -> tuple[Standardisation, Array]:
        """Return these coordinates with nearly uncorrelated directions, if needed, and the design.

        Strongly correlated columns would cost digits in the normal matrix. A column that depends
        on others is dropped if these are all the rows there are: it cannot change a decision.
        In a sample it must stay, for other rows may tell the columns apart.
        """
        design = self.design(features)
        rows = design[:, : len(self.centre)]
        gram = rows.T @ rows / len(rows)
        gram.flat[:: len(gram) + 1] += 1e-14
        factor, info = lapack.dpotrf(gram, lower=1)
        if info == 0 and factor.diagonal().min(initial=1.0) > constants.CORRELATED:
            return self, design
        triangle, order = qr(rows, mode="r", pivoting=True)
        size = np.abs(triangle.diagonal())
        rank = int(np.count_nonzero(size > _DEPENDENT * size.max(initial=0.0)))
        if rank == 0:  # nothing varies: there is only the intercept to find
            return self, design
        inverse = solve_triangular(triangle[:rank, :rank], np.eye(rank) * np.sqrt(len(rows)))
        dependent = order[rank:]
        basis = np.zeros((len(self.centre), rank if all_rows else len(self.centre)))
        basis[order[:rank], :rank] = inverse
        if not all_rows:
            basis[dependent, np.arange(rank, len(self.centre))] = 1.0
        found = replace(self, basis=basis)
        return found, found.design(features)

    def design(self, features: Array) -> Array:
        """Rows of the features in these coordinates, with a column of ones for the intercept."""
        n_features = len(self.centre)
        rows = np.empty((len(features), n_features + int(self.intercept)))
        inner = rows[:, :n_features]
        if self.intercept:
            np.subtract(features, self.centre, out=inner)
            inner /= self.scale
            rows[:, n_features] = 1.0
        else:
            np.divide(features, self.scale, out=inner)
        if self.basis is None:
            return rows
        return np.column_stack([inner @ self.basis, rows[:, n_features:]])

    def to_raw(self, theta: Array) -> tuple[Array, float]:
        """Coefficients and intercept for the features as given."""
        inner = theta[: self.n_parameters - int(self.intercept)]
        coefficients = (inner if self.basis is None else self.basis @ inner) / self.scale
        if not self.intercept:
            return coefficients, 0.0
        return coefficients, float(theta[-1] - self.centre @ coefficients)

    def gradient(self, moments: Array, total: float) -> Array:
        """Turn Σ y_i x_i and Σ y_i into a gradient in these parameters."""
        inner = (moments - total * self.centre if self.intercept else moments) / self.scale
        if self.basis is not None:
            inner = inner @ self.basis
        return np.append(inner, total) if self.intercept else inner

    def penalties(self, per_coefficient: Array | None, power: int) -> Array | None:
        """Weigh |θ_j|^power in these coordinates (without a basis); zero for the intercept."""
        if per_coefficient is None:
            return None
        weights = np.zeros(self.n_parameters)
        weights[: len(self.centre)] = per_coefficient / self.scale**power
        return weights

    def ridge(self, per_coefficient: Array | None) -> Array | None:
        """Return ρ of the interior point, which charges ½ρθ²: twice the ridge penalty."""
        weights = self.penalties(per_coefficient, 2)
        return None if weights is None else 2 * weights


def _root_mean_square(columns: Array) -> Array:
    result: Array = np.sqrt(np.einsum("ij,ij->j", columns, columns) / len(columns))
    return result


# --- Rows that repeat.


@dataclass(frozen=True)
class RowGroups:
    """Which rows are equal.

    Attributes
    ----------
    first : ndarray of shape (n_distinct,)
        One row number for each distinct row.
    group : ndarray of shape (n_rows,)
        For each row, the place of its equal in ``first``.
    """

    first: NDArray[np.intp]
    group: NDArray[np.intp]


def groups_of(features: Array) -> RowGroups | None:
    """Find groups of equal rows; None where looking for them or using them does not pay."""
    n_rows = len(features)
    if n_rows < constants.GROUPING_ROWS:
        return None
    if n_rows > 4 * constants.GROUPING_SAMPLE:  # at random: categories often cycle with a period
        rows = np.random.default_rng(0).integers(0, n_rows, constants.GROUPING_SAMPLE)
        if not _few(np.sort(_hash(features[np.sort(rows)]))):
            return None
    codes = _hash(features)
    by_code = np.argsort(codes)
    if not _few(codes[by_code]):
        return None
    ordered = features[by_code]
    # Equal hashes only bring equal rows together; equality itself is checked on the rows.
    opens = np.empty(n_rows, dtype=bool)
    opens[0] = True
    np.any(ordered[1:] != ordered[:-1], axis=1, out=opens[1:])
    if np.count_nonzero(opens) > constants.GROUPING_SHARE * n_rows:  # alike in their hashes only
        return None
    group = np.empty(n_rows, dtype=np.intp)
    group[by_code] = np.cumsum(opens) - 1
    return RowGroups(by_code[opens], group)


def _hash(features: Array) -> Array:
    """One number per row; equal rows get equal numbers but for the last bits."""
    weights = np.sin(np.arange(1.0, features.shape[1] + 1) * 12.9898) * 43758.5453
    result: Array = features @ weights
    return result


def _few(sorted_codes: Array) -> bool:
    """Whether so few of these codes are distinct that grouping is worth its cost."""
    step = np.diff(sorted_codes) > 1e-12 * np.abs(sorted_codes[1:])
    return 1 + int(np.count_nonzero(step)) <= constants.GROUPING_SHARE * len(sorted_codes)


@dataclass(frozen=True)
class Merging:
    """How kinks at the same place on equal rows become one; depends on positions only.

    Attributes
    ----------
    order : ndarray of shape (n_kinks,)
        Kinks sorted by distinct row, then by position.
    runs : ndarray of shape (n_merged,)
        Where each merged kink begins in that order.
    position : ndarray of shape (n_merged,)
    kink_order : GroupedKinks
    """

    order: NDArray[np.intp]
    runs: NDArray[np.intp]
    position: Array
    kink_order: GroupedKinks

    @classmethod
    def of(cls, groups: RowGroups, position: Array) -> Merging:
        """Sort flat positions: any number of blocks of one kink per row."""
        group = np.tile(groups.group, len(position) // len(groups.group))
        lowest = position.min()
        # One sort for two keys: the fraction stays below one and grows with the position.
        # Positions that rounding makes equal here are told apart below.
        key = (position - lowest) * (0.999 / max(float(position.max() - lowest), 1e-300))
        key += group
        order = np.argsort(key)
        row, place = group[order], position[order]
        fresh = np.empty(len(order), dtype=bool)
        fresh[0] = True
        np.not_equal(row[1:], row[:-1], out=fresh[1:])
        starts_row = fresh.copy()
        fresh[1:] |= place[1:] != place[:-1]
        runs = np.flatnonzero(fresh)
        kink_order = GroupedKinks(row[runs], np.flatnonzero(starts_row[runs]))
        return cls(order, runs, place[runs], kink_order)

    def apply(self, hinges: Hinges) -> Hinges:
        """Add up the slopes of merged kinks.

        The weight is the mean: a heavy kink need not be kept farther from its ends than a light
        one (26 → 18 iterations where half of all sales lie on a plane).
        """
        count = np.diff(np.append(self.runs, len(self.order)))
        return Hinges(
            self.position,
            np.add.reduceat(hinges.below[self.order], self.runs),
            np.add.reduceat(hinges.above[self.order], self.runs),
            np.add.reduceat(hinges.weight[self.order], self.runs) / count,
        )


# --- Minimum norm.


def minimum_norm(problem: HingeProblem, solution: Solution) -> Solution:
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
    if (
        penalised
        or n_rows > constants.NORM_ROWS * n_features
        or n_rows * n_features > constants.NORM_ENTRIES
        or solution.method == "fractions"  # at a vertex, and to the last digit
        or size_of(problem) is Size.WILD  # costs of 1e-320 and 0 look alike, squares overflow
    ):
        return solution
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        return _of_least_norm(problem, solution)


def _of_least_norm(problem: HingeProblem, solution: Solution) -> Solution:
    n_features = problem.features.shape[1]
    features = problem.features
    rows = features if isinstance(features, np.ndarray) else features.toarray()
    centre = column_means(rows) if problem.fit_intercept else np.zeros(n_features)
    varied = rows - centre
    size = float(np.abs(varied).max(initial=0.0))
    if not 1e-140 < size < 1e140:
        return solution
    span = _row_space(varied, 1e-14 * np.abs(centre))
    if span is None:
        return solution
    coefficients = span @ (span.T @ solution.coefficients)
    intercept = solution.intercept
    if problem.fit_intercept:
        intercept += float(centre @ (solution.coefficients - coefficients))
    objective = problem.objective(coefficients, intercept)
    worse = objective - solution.objective
    if not worse <= constants.ZEROS_COST * max(solution.objective, best_constant(problem)):
        return solution  # not a number, or columns too nearly dependent for mere rounding
    return replace(
        solution,
        coefficients=coefficients,
        intercept=intercept,
        objective=objective,
        gap=solution.gap + max(worse, 0.0),
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
