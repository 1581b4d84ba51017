"""Features made ready for a solver: standardised columns, dependent ones left out, rows merged.

**Equal rows.** Categorical features give few distinct rows and many ties. Two exact reductions:
kinks at the same place on the same feature row add up to one kink (their slopes and weights simply
sum), and distinct kinks on the same feature row share one row of the design matrix. Daily sales by
weekday, month and category have 756 distinct rows among 3,294.

**Dependent columns.** Prices and their sum, all dummies beside an intercept, more columns than
rows: these leave directions of θ free. Training decisions do not depend on them, and where an
interior point ends up in them is an accident of rounding. A QR factorisation with pivoting of the
standardised columns finds columns that the others explain. They are left out of the solve, and
their coefficients follow afterwards: of all θ with the same decisions, the one of least norm is
handed back. It does not change when rows are reordered, or repeated instead of weighted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, qr, solve_triangular

from unmet.solvers import constants
from unmet.solvers.exact.interior_point import GroupedKinks
from unmet.solvers.problem import Hinges

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Keep = Literal["none", "constant", "all"]
"""Columns that stay although they depend on others in the rows at hand."""

_DEPENDENT = 1e-11  # share of its spread below which a column counts as explained by others
_LAST_DIGITS = 8 * np.finfo(float).eps  # of a column far from 0, what is left by others is rounding


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
    dependence : Dependence or None
        Columns that others explain, of which the basis makes no use.
    """

    centre: Array
    scale: Array
    intercept: bool
    basis: Array | None = None
    dependence: Dependence | None = None

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
        scale = np.sqrt(np.einsum("ij,ij->j", deviation, deviation) / len(deviation))
        # What is left of a constant column after centring is rounding, not information.
        noise = 1e-14 * np.abs(centre)
        return cls(
            centre, np.where(scale > noise, scale, np.maximum(np.abs(centre), 1.0)), intercept
        )

    @classmethod
    def with_design(
        cls,
        features: Array,
        intercept: bool,
        penalties: tuple[Array | None, Array | None] = (None, None),
        keep: Keep = "none",
    ) -> tuple[Standardisation, Array]:
        """Standardise rows: coordinates and design matrix, rotated where correlations ask for it.

        `penalties` are ridge and lasso. Absolute values belong to single coefficients, so that with
        lasso nothing is rotated.
        """
        standard, (ridge, lasso) = cls.of(features, intercept), penalties
        uneven = ridge is not None and not (ridge > 0).all()
        if lasso is not None or uneven or (ridge is not None and keep == "all"):
            return standard, standard.design(features)
        return standard.orthogonal(features, ridge, keep)

    @property
    def n_parameters(self) -> int:
        """Number of coefficients, the intercept included."""
        inner = len(self.centre) if self.basis is None else self.basis.shape[1]
        return inner + int(self.intercept)

    def orthogonal(
        self, features: Array, ridge: Array | None = None, keep: Keep = "none"
    ) -> tuple[Standardisation, Array]:
        """Return these coordinates with nearly uncorrelated directions, if needed, and the design.

        Strongly correlated columns would cost digits in the normal matrix. Columns that depend on
        others are left out; of a sample those stay that do not vary there, or all of them. With
        ridge the directions are such that it stays a sum of squares.
        """
        design = self.design(features)
        rows = design[:, : len(self.centre)]
        gram = rows.T @ rows / len(rows)
        gram.flat[:: len(gram) + 1] += 1e-14
        factor, info = lapack.dpotrf(gram, lower=1)
        if info == 0 and factor.diagonal().min(initial=1.0) > constants.CORRELATED:
            return self, design
        most = len(rows) - int(self.intercept)  # centred rows add up to zero
        found = Dependence.of(rows, _LAST_DIGITS * np.abs(self.centre / self.scale), most)
        rank = len(found.kept)
        if rank == 0:  # nothing varies: there is only the intercept to find
            return self, design
        still = found.left_out
        if keep != "all":
            still = still[~rows[:, still].any(axis=0) & (keep == "constant")]
        basis = np.zeros((len(self.centre), rank + len(still)))
        if ridge is None:
            basis[found.kept, :rank] = solve_triangular(found.triangle, np.eye(rank))
        else:
            basis[:, :rank] = found.ridge_directions(self.scale / np.sqrt(ridge))
        basis *= np.sqrt(len(rows))
        basis[still, np.arange(rank, rank + len(still))] = 1.0
        new = replace(self, basis=basis, dependence=found.without(still))
        return new, new.design(features)

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

    def count_strange(self, features: Array) -> int:
        """Count rows in which a column that was left out is not what those that are kept say."""
        if self.dependence is None:
            return 0
        free = self.dependence.free_directions(self.scale)
        rest = features @ free
        if self.intercept:
            rest -= self.centre @ free
        strange = np.flatnonzero((np.abs(rest) > _DEPENDENT).any(axis=1))
        if len(strange):  # more than rounding of the terms?
            terms = np.abs(features[strange]) @ np.abs(free)
            if self.intercept:
                terms += np.abs(self.centre) @ np.abs(free)
            strange = strange[(np.abs(rest[strange]) > _LAST_DIGITS * terms).any(axis=1)]
        return len(strange)

    def to_raw(self, theta: Array) -> tuple[Array, float]:
        """Coefficients and intercept for the features as given."""
        inner = theta[: self.n_parameters - int(self.intercept)]
        coefficients = (inner if self.basis is None else self.basis @ inner) / self.scale
        if not self.intercept:
            return coefficients, 0.0
        return coefficients, float(theta[-1] - self.centre @ coefficients)

    def with_least_norm(self, coefficients: Array, intercept: float) -> tuple[Array, float]:
        """Give columns that were left out their share, so that decisions stay."""
        if self.dependence is None:
            return coefficients, intercept
        least = self.dependence.least_norm(coefficients, self.scale)
        return least, intercept + float(self.centre @ (coefficients - least))

    def gradient(self, moments: Array, total: float) -> Array:
        """Turn Σ y_i x_i and Σ y_i into a gradient in these parameters."""
        inner = (moments - total * self.centre if self.intercept else moments) / self.scale
        if self.basis is not None:
            inner = inner @ self.basis
        return np.append(inner, total) if self.intercept else inner

    def ridge(self, per_coefficient: Array | None) -> Array | None:
        """Return ρ of the interior point, which charges ½ρθ²: twice the ridge penalty."""
        if per_coefficient is None:
            return None
        charged = 2 * per_coefficient / self.scale**2
        if self.basis is not None:
            charged = charged @ self.basis**2
        return np.append(charged, 0.0) if self.intercept else charged

    def lasso(self, per_coefficient: Array | None) -> Array | None:
        """Weigh |θ_j| in these coordinates (without a basis); zero for the intercept."""
        if per_coefficient is None:
            return None
        charged = per_coefficient / self.scale
        return np.append(charged, 0.0) if self.intercept else charged


# --- Rows that repeat.


RowGroups: TypeAlias = tuple[Index, Index]
"""One row number for each distinct row; and for each row, the place of its equal among these."""


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
    return by_code[opens], group


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
    def of(cls, group: Index, position: Array) -> Merging:
        """Sort flat positions: any number of blocks of one kink per row."""
        group = np.tile(group, len(position) // len(group))
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


# --- Columns that depend on others.


@dataclass(frozen=True)
class Dependence:
    """Which of the standardised columns are explained by others, and how.

    Attributes
    ----------
    kept, left_out : ndarray of int
        Column numbers; each column is in one of the two.
    triangle : ndarray of shape (n_kept, n_kept)
        R of the QR factorisation of the columns that are kept.
    weights : ndarray of shape (n_kept, n_left_out)
        Standardised columns that are left out are those that are kept times these.
    """

    kept: Index
    left_out: Index
    triangle: Array
    weights: Array

    @classmethod
    def of(cls, rows: Array, rounding: Array, most: int) -> Dependence:
        """Factor standardised columns; `rounding` is what the last digits of each amount to.

        At most so many are kept.
        """
        limit = np.sqrt(len(rows)) * np.maximum(rounding, _DEPENDENT)
        order, doubtful = np.arange(rows.shape[1]), np.empty(0, dtype=np.intp)
        while True:
            triangle, pivots = qr(rows[:, order], mode="r", pivoting=True)
            order = order[pivots]
            size = np.abs(triangle.diagonal())
            rank = min(int(np.count_nonzero(size > np.sqrt(len(rows)) * _DEPENDENT)), most)
            rounded = size[:rank] <= limit[order[:rank]]
            if not rounded.any():
                break
            doubtful = np.concatenate([order[:rank][rounded], doubtful])
            order = np.delete(order, np.flatnonzero(rounded))
        if len(doubtful):
            order = np.concatenate([order, doubtful])
            triangle = qr(rows[:, order], mode="r")[0]
        inner: Array = np.asarray(triangle[:rank, :rank], dtype=np.float64)
        others: Array = np.asarray(triangle[:rank, rank:], dtype=np.float64)
        weights: Array = solve_triangular(inner, others) if rank else others
        return cls(order[:rank], order[rank:], inner, weights)

    def without(self, columns: Index) -> Dependence | None:
        """Return the same without some of the columns that are left out; None if none remains."""
        rest = ~np.isin(self.left_out, columns)
        if not rest.any():
            return None
        return replace(self, left_out=self.left_out[rest], weights=self.weights[:, rest])

    def free_directions(self, scale: Array) -> Array:
        """Return raw coefficients, one column for each direction that changes no decision."""
        free = np.zeros((len(scale), len(self.left_out)))
        free[self.left_out, np.arange(len(self.left_out))] = 1.0
        free[self.kept] = -self.weights
        return free / scale[:, None]

    def ridge_directions(self, scale: Array) -> Array:
        """Return orthonormal directions of the columns in which also ridge is a sum of squares.

        With X = QR the columns in units of √ridge, and R' = UΣV', ridge of Xθ = QV w is ‖w/Σ‖².
        `scale` are the lengths of those columns. Jacobi's method finds small Σ to all their digits,
        where columns are charged very differently.
        """
        span = np.empty((len(scale), len(self.kept)))
        span[self.kept] = self.triangle.T
        span[self.left_out] = (self.triangle @ self.weights).T
        span *= scale[:, None]
        values, directions, _, work, _, info = lapack.dgejsv(span, joba=2)
        if info:
            raise np.linalg.LinAlgError("the singular values of the columns were not found.")
        values = values * (work[0] / work[1])
        directions = directions[:, : len(values)] / values
        return np.asarray(directions * scale[:, None])

    def least_norm(self, coefficients: Array, scale: Array) -> Array:
        """Of all coefficients with the same decisions, those of least norm.

        `coefficients` use only the columns that are kept.
        """
        kept, left_out, least = self.kept, self.left_out, coefficients
        # rows are spanned by [I, weights] in units of the raw coefficients
        span = np.empty((len(scale), len(kept)))
        span[kept] = np.eye(len(kept))
        span[left_out] = self.weights.T
        span *= scale[:, None]
        basis = qr(span / np.abs(span).max(), mode="economic")[0]
        for _ in range(2):  # the second time with less to round
            least = basis @ (basis.T @ least)
            # whatever rounding made of the columns that are left out, decisions stay
            others = self.weights @ (least[left_out] * scale[left_out])
            least[kept] = coefficients[kept] - others / scale[kept]
        return least
