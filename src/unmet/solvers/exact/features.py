"""Prepare features for a solver: standardise columns, leave out dependent ones, merge equal rows.

**Equal rows.** Categorical features give few distinct rows and many ties. Two exact reductions use
this. Kinks at the same place on the same feature row add up to one kink (their slopes and weights
sum). Distinct kinks on the same feature row share one row of the design matrix.

**Dependent columns.** Prices and their sum, all dummies next to an intercept, or more columns than
rows leave directions of θ free. Training decisions do not depend on these directions, and rounding
alone would determine where an interior point ends up in them. A QR factorisation with pivoting of
the standardised columns finds columns that the others explain. They are left out of the solve, and
their coefficients follow afterwards: of all θ with the same decisions, the one with the least norm
is returned. It does not change if rows are reordered, or repeated instead of weighted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from scipy.linalg import lapack, qr, solve_triangular

from unmet.arrays import Array, Places
from unmet.solvers.problem import Hinges

Keep: TypeAlias = Literal["none", "constant", "all"]

_DEPENDENT = 1e-11  # share of its spread below which a column counts as explained by others


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
    dependence : tuple of (kept, left out, weights) or None
        Columns of which the basis makes use, and those of which it makes none; these are the kept
        ones times the weights, all standardised.
    """

    centre: Array
    scale: Array
    intercept: bool
    basis: Array | None = None
    dependence: tuple[Places, Places, Array] | None = None

    @classmethod
    def of(
        cls, features: Array, intercept: bool, *, rotate: bool = True, keep: Keep = "none"
    ) -> tuple[Standardisation, Array]:
        """Standardise rows: coordinates and design matrix.

        With `rotate`, directions are made nearly uncorrelated where correlations would cost digits
        in the normal matrix, and columns that depend on others are left out; of a sample those may
        be kept that do not vary there, or all. Penalties belong to single coefficients: with them
        nothing is rotated.
        """
        n_rows, n_features = features.shape
        centre, deviation = np.zeros(n_features), features
        if intercept:
            # from the first row, so that the mean of a constant column has no rounding error
            centre = features[0] + (features - features[0]).mean(axis=0)
            deviation = features - centre
        scale = np.sqrt(np.einsum("ij,ij->j", deviation, deviation) / n_rows)
        # What is left of a constant column after centring is rounding, not information.
        flat = np.maximum(np.abs(centre), 1.0)
        standard = cls(centre, np.where(scale > 1e-14 * np.abs(centre), scale, flat), intercept)
        design = standard.design(features)
        if not rotate:
            return standard, design
        rows = design[:, :n_features]
        gram = rows.T @ rows / n_rows
        gram.flat[:: n_features + 1] += 1e-14
        factor, info = lapack.dpotrf(gram, lower=1)
        # the share of its spread that the columns before leave of each column
        if info == 0 and factor.diagonal().min(initial=1.0) > 0.02:
            return standard, design
        triangle, pivots = qr(rows, mode="r", pivoting=True)
        varied = np.abs(triangle.diagonal()) > np.sqrt(n_rows) * _DEPENDENT
        # centred rows add up to zero
        rank = min(int(np.count_nonzero(varied)), n_rows - int(intercept))
        if rank == 0:  # nothing varies: there is only the intercept to find
            return standard, design
        inner = np.asarray(triangle[:rank, :rank], dtype=np.float64)
        kept, others = pivots[:rank].astype(np.intp), pivots[rank:].astype(np.intp)
        weights = solve_triangular(inner, np.asarray(triangle[:rank, rank:], dtype=np.float64))
        stays = np.full(len(others), keep != "none")
        if keep == "constant":
            stays &= ~rows[:, others].any(axis=0)
        still = others[stays]
        basis = np.zeros((n_features, rank + len(still)))
        basis[kept, :rank] = solve_triangular(inner, np.eye(rank))
        basis *= np.sqrt(n_rows)
        basis[still, np.arange(rank, rank + len(still))] = 1.0
        dependence = None if stays.all() else (kept, others[~stays], weights[:, ~stays])
        standard = replace(standard, basis=basis, dependence=dependence)
        return standard, standard.design(features)

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
        inner = theta[:-1] if self.intercept else theta
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

    def penalties(
        self, ridge: Array | None, lasso: Array | None
    ) -> tuple[Array | None, Array | None]:
        """ρ of the interior point, which charges ½ρθ², and ℓ1; zero for the intercept."""
        unpenalised = np.zeros(int(self.intercept))
        if ridge is not None:
            ridge = np.append(2 * ridge / self.scale**2, unpenalised)
        if lasso is not None:
            lasso = np.append(lasso / self.scale, unpenalised)
        return ridge, lasso

    def count_strange(self, features: Array) -> int:
        """Count rows in which a column that was left out is not what those that are kept say."""
        if self.dependence is None:
            return 0
        kept, left_out, weights = self.dependence
        free = np.zeros((len(self.scale), len(left_out)))  # directions that change no decision
        free[left_out, np.arange(len(left_out))] = 1.0
        free[kept] = -weights
        free /= self.scale[:, None]
        rest, terms = features @ free, np.abs(features) @ np.abs(free)
        if self.intercept:
            rest -= self.centre @ free
            terms += np.abs(self.centre) @ np.abs(free)
        return int(np.count_nonzero((np.abs(rest) > _DEPENDENT + 2e-15 * terms).any(axis=1)))

    def with_least_norm(self, coefficients: Array, intercept: float) -> tuple[Array, float]:
        """Give columns that were left out their share: of all θ with the same decisions the least.

        `coefficients` use only the columns that are kept.
        """
        if self.dependence is None:
            return coefficients, intercept
        (kept, left_out, weights), scale, least = self.dependence, self.scale, coefficients
        # rows are spanned by [I, weights] in units of the raw coefficients
        span = np.empty((len(scale), len(kept)))
        span[kept] = np.eye(len(kept))
        span[left_out] = weights.T
        span *= scale[:, None]
        basis = qr(span / np.abs(span).max(), mode="economic")[0]
        for _ in range(2):  # the second time with less to round
            least = basis @ (basis.T @ least)
            # whatever rounding made of the columns that are left out, decisions stay
            others = weights @ (least[left_out] * scale[left_out])
            least[kept] = coefficients[kept] - others / scale[kept]
        return least, intercept + float(self.centre @ (coefficients - least))


# --- Rows that repeat.


RowGroups: TypeAlias = tuple[Places, Places]
"""One row number for each distinct row; and for each row, the place of its equal among these."""


def groups_of(features: Array) -> RowGroups | None:
    """Find groups of equal rows; None where looking for them or using them does not pay.

    It pays where at most 0.7 of the rows are distinct.
    """
    n_rows, n_features = features.shape
    if n_rows < 256:
        return None
    # One number per row: equal rows get equal numbers but for the last bits.
    weights = np.sin(np.arange(1.0, n_features + 1) * 12.9898) * 43758.5453
    looks = [features]
    if n_rows > 8000:  # a first look, at random: categories often cycle with a period
        rows = np.random.default_rng(0).integers(0, n_rows, 2000)
        looks.insert(0, features[np.sort(rows)])
    for look in looks:
        codes = look @ weights
        by_code = np.argsort(codes)
        ordered = codes[by_code]
        step = np.diff(ordered) > 1e-12 * np.abs(ordered[1:])
        if 1 + np.count_nonzero(step) > 0.7 * len(codes):
            return None
    # Equal numbers only bring equal rows together; equality itself is checked on the rows.
    sorted_rows = features[by_code]
    opens = np.empty(n_rows, dtype=bool)
    opens[0] = True
    np.any(sorted_rows[1:] != sorted_rows[:-1], axis=1, out=opens[1:])
    if np.count_nonzero(opens) > 0.7 * n_rows:
        return None
    group = np.empty(n_rows, dtype=np.intp)
    group[by_code] = np.cumsum(opens) - 1
    return by_code[opens], group


def sort_kinks(group: Places, position: Array) -> tuple[Places, Places, tuple[Places, Places]]:
    """Sort kinks by distinct row and position, so that those at the same place become one.

    Parameters
    ----------
    group : ndarray of shape (n_rows,)
        Distinct row of each row.
    position : ndarray of shape (n_kinks,)
        Any number of blocks of one kink per row.

    Returns
    -------
    order, runs : ndarray of int
        Kinks in order, and where each merged kink begins there.
    merged : tuple of ndarray of int
        As `Operator` takes it.
    """
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
    return order, runs, (row[runs], np.flatnonzero(starts_row[runs]))


def merge_kinks(hinges: Hinges, order: Places, runs: Places) -> Hinges:
    """Add up the slopes of kinks at the same place on equal rows.

    The weight is the mean: a heavy kink need not be kept farther from its ends than a light
    one (26 → 18 iterations where half of all sales lie on a plane).
    """
    count = np.diff(np.append(runs, len(order)))
    return Hinges(
        hinges.position[order[runs]],
        np.add.reduceat(hinges.below[order], runs),
        np.add.reduceat(hinges.above[order], runs),
        np.add.reduceat(hinges.weight[order], runs) / count,
    )
