"""One distribution for a panel: groups borrow location, spread and shape from each other.

Where it is known which rows sold out, every group g has a Tobit model of its own, in units of its
level and in a space h in which residuals are alike (as they are, root, logarithms)::

    h(d / level_g) = z'β_g + σ_g e,       β_g ~ N(β, T),  T diagonal

Ninety rows of one item say little about ten slopes; a thousand other items say how slopes usually
are (β) and how much they differ (T). The posterior mean of β_g is a ridge regression towards β with
penalties σ_g² / T, in closed form; rows that sold out enter with the mean and the variance of what
they hide, and β, T and σ_g² are updated from these: expectation and maximisation (Laird & Ware
1982; Vaida, Fitzgerald & DeGruttola 2007 for censored rows). Log-variances of groups are shrunk to
their mean by as much as their sampling error asks (empirical Bayes). A group of few rows thus has
the pooled distribution, one of many its own, and k of n / (n + k) is σ² / T, found and not searched
for.

The shape is common: quantiles of e are halfway between normal ones and those of Kaplan and Meier
over the standardised residuals of all groups. Of the spaces the one is taken that makes rows held
out most likely.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import special

from unmet.arrays import Array, Numbers
from unmet.errors import InvalidInput

Codes: TypeAlias = NDArray[np.int64]
Space: TypeAlias = Literal["linear", "root", "shifted", "log"]

_LOG_SHIFT = 0.2  # of a level: with it zero sales have a logarithm, and small ones no weight
_LEAST_LEVEL = 1e-3  # of the overall one
_ITERATIONS, _CONVERGED = 300, 1e-4
_HELD_OUT = 5  # one row in so many tells which space is best
_ENOUGH_FOR_SPACE = 20_000  # rows that this is asked of: fits of more take minutes
_WEAK = 1.0  # variance of the common slopes, in spreads of the features: hardly any penalty
_LEAST_VARIANCE = 1e-6
#: How much of the shape is what residuals show; the rest is normal. On eight trials with real
#: demand at four levels, 1 was up to 20% dearer than the best of 0, ½ and 1, 0 up to 9% and ½ up
#: to 7%.
_SHAPE_SEEN = 0.5
_MIN_FOR_SHAPE = 200  # seen rows below which quantiles are normal


@dataclass(frozen=True)
class PanelDistribution:
    """The distribution of the truth in every group.

    Attributes
    ----------
    space : {"linear", "root", "shifted", "log"}
        As observations are, their root, or their logarithm, with a fifth of a level added or not.
    middle, spread : ndarray of shape (n_features,)
        Features are taken in these units.
    level : ndarray of shape (n_groups,)
    common : ndarray of shape (n_features + 1,)
        β, the constant first.
    between : ndarray of shape (n_features + 1,)
        T: variances of coefficients between groups.
    coefficients : ndarray of shape (n_groups, n_features + 1)
        Posterior means of β_g.
    covariance : ndarray of shape (n_groups, n_features + 1, n_features + 1)
        Standard errors of these.
    variance : ndarray of shape (n_groups,)
        σ_g².
    usual_variance : float
        That of a group nobody has seen.
    residual, share : ndarray of shape (n_seen,)
        Standardised residuals of seen rows, increasing, and the share of all rows up to each.
    unit : float or None
        Of all groups alike, where observations may be negative and levels are no units.
    """

    space: Space
    middle: Array
    spread: Array
    level: Array
    common: Array
    between: Array
    coefficients: Array
    covariance: Array
    variance: Array
    usual_variance: float
    residual: Array
    share: Array
    unit: float | None = None

    def quantile(self, features: Array, group: Codes, level: Array, at: Numbers) -> Array:
        """Quantile of the truth of any rows.

        Parameters
        ----------
        features : ndarray of shape (n_rows, n_features)
        group : ndarray of shape (n_rows,)
            −1 for groups that were not there.
        level : ndarray of shape (n_rows,)
            Of the groups; of those that were not there, what is expected of them.
        at : float or ndarray of shape (n_rows,)
            Between 0 and 1.
        """
        location, variance = self.predict(features, group)
        value = location + np.sqrt(variance) * self.deviate(at)
        found = _back(self.space, value)
        if self.unit is not None:
            return np.asarray(found * self.unit)
        return np.asarray(np.maximum(found, 0.0) * _positive(level, self.level))

    def predict(self, features: Array, group: Codes) -> tuple[Array, Array]:
        """Mean and variance of the truth of any rows, in the space of the distribution."""
        basis = _basis(features, self.middle, self.spread)
        known = group >= 0
        location, variance = basis @ self.common, basis**2 @ self.between + self.usual_variance
        own, rows = group[known], basis[known]
        location[known] = np.einsum("ij,ij->i", rows, self.coefficients[own])
        uncertainty = np.empty(own.size)
        for start in range(0, own.size, 50_000):  # a matrix for each row: not for all at once
            part = slice(start, start + 50_000)
            uncertainty[part] = np.einsum(
                "ij,ijk,ik->i", rows[part], self.covariance[own[part]], rows[part]
            )
        variance[known] = uncertainty + self.variance[own]
        return location, variance

    def deviate(self, at: Numbers) -> Array:
        """Quantile of the standardised residual: halfway between the normal one and that seen."""
        level = np.asarray(at, dtype=np.float64)
        normal = special.ndtri(level)
        if self.residual.size < _MIN_FOR_SHAPE:
            return np.asarray(normal)
        place = np.searchsorted(self.share, level)
        found = self.residual[np.minimum(place, self.residual.size - 1)]
        # above what is reached the normal distribution goes on from there
        top = float(self.share[-1])
        beyond = self.residual[-1] + normal - special.ndtri(min(top, 1.0 - 1e-9))
        shown = np.where(place < self.residual.size, found, np.maximum(beyond, self.residual[-1]))
        return np.asarray(_SHAPE_SEEN * shown + (1.0 - _SHAPE_SEEN) * normal)

    def above(self, features: Array, group: Codes, observation: Array, at: Array) -> Array:
        """Quantiles of truths that are known to be at least the observation.

        Parameters
        ----------
        features : ndarray of shape (n_rows, n_features)
        group : ndarray of shape (n_rows,)
        observation : ndarray of shape (n_rows,)
            In units of the levels of groups.
        at : ndarray of shape (n_rows, n_quantiles)
            Between 0 and 1, of what is left of the distribution above the observation.

        Returns
        -------
        ndarray of shape (n_rows, n_quantiles)
            In the same units.
        """
        location, variance = self.predict(features, group)
        spread = np.sqrt(variance)
        levels = np.append(np.linspace(0.002, 0.998, 499), 0.9995)
        deviates = np.maximum.accumulate(self.deviate(levels))
        below = np.interp((_into(self.space, observation) - location) / spread, deviates, levels)
        asked = below[:, None] + (1.0 - below)[:, None] * at
        drawn = np.interp(asked, levels, deviates)
        found = _back(self.space, location[:, None] + spread[:, None] * drawn)
        return np.asarray(np.maximum(found, observation[:, None]))

    @property
    def own_share(self) -> Array:
        """How much of what groups differ by is known of each of them."""
        left = np.einsum("gii->g", self.covariance) / self.between.sum()
        return np.asarray(np.clip(1.0 - left, 0.0, 1.0))

    @property
    def shrink(self) -> float:
        """k: rows of a group that count as much as all other groups."""
        return self.usual_variance / float(self.between.sum())


def fit_panel_distribution(
    features: Array,
    observation: Array,
    censored: NDArray[np.bool_],
    weight: Array,
    group: Codes,
    level: Array,
    place: NDArray[np.intp] | None,
    seed: int,
) -> PanelDistribution:
    """Learn the distribution of all groups together.

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_features)
    observation, weight : ndarray of shape (n_rows,)
        Weights are one on average; rows without weight do not count.
    censored : ndarray of bool, shape (n_rows,)
    group : ndarray of shape (n_rows,)
    level : ndarray of shape (n_groups,)
        Observations are taken in units of it, where all of them are positive.
    place : ndarray of shape (n_rows,) or None
        Order of the rows in time: the last of each group are held out to choose the space. Without
        it, rows at random.
    seed : int
        Of these.
    """
    if censored[weight > 0].all():
        raise InvalidInput("censored must leave some rows seen, got all rows censored.")
    order = np.argsort(group, kind="stable")
    order = order[weight[order] > 0]
    rows = _Rows(
        features[order],
        observation[order],
        censored[order],
        weight[order],
        group[order],
        _positive(level, level),
    )
    spaces: tuple[Space, ...] = get_args(Space)
    if float(rows.observation.min()) <= 0:
        spaces = spaces[:-1]
    unit: float | None = None
    if float(rows.observation.min()) < 0 or float(level.mean()) <= 0:
        away = rows.observation - np.average(rows.observation, weights=rows.weight)
        unit = float(np.sqrt(np.average(away**2, weights=rows.weight))) or 1.0
        rows = replace(rows, level=np.full(level.size, unit))
        spaces = ("linear",)
    if len(spaces) > 1 and rows.observation.size >= 2 * _HELD_OUT:
        where = None if place is None else place[order]
        few, where = _some_rows(rows, where, seed)
        held = _held_out(few, where, seed)
        if held.any() and not few.censored[~held].all():
            scores = {space: _score(few, held, space) for space in spaces}
            spaces = (max(scores, key=scores.__getitem__),)
    return replace(_fit(rows, spaces[0]), unit=unit)


@dataclass(frozen=True)
class _Rows:
    """Rows in the order of their groups; all of shape (n_rows,) but features and levels."""

    features: Array
    observation: Array
    censored: NDArray[np.bool_]
    weight: Array
    group: Codes
    level: Array

    def level_of(self) -> Array:
        """Level of each row's group."""
        found: Array = self.level[self.group]
        return found

    def take(self, index: Any) -> _Rows:
        """Keep some rows of all groups."""
        return _Rows(
            self.features[index],
            self.observation[index],
            self.censored[index],
            self.weight[index],
            self.group[index],
            self.level,
        )

    def add_up(self, values: Array) -> Array:
        """Sum of values over the rows of each group, whatever they are made of."""
        total = np.zeros((self.level.size, *values.shape[1:]))
        present, first = np.unique(self.group, return_index=True)
        total[present] = np.add.reduceat(values, first, axis=0)
        return total


def _some_rows(
    rows: _Rows, place: NDArray[np.intp] | None, seed: int
) -> tuple[_Rows, NDArray[np.intp] | None]:
    """Rows that are enough to tell spaces apart, still in the order of their groups."""
    if rows.group.size <= _ENOUGH_FOR_SPACE:
        return rows, place
    generator = np.random.default_rng(seed)
    kept = np.sort(generator.choice(rows.group.size, _ENOUGH_FOR_SPACE, replace=False))
    return rows.take(kept), None if place is None else place[kept]


def _held_out(rows: _Rows, place: NDArray[np.intp] | None, seed: int) -> NDArray[np.bool_]:
    """One row in five: the last of each group, or some at random."""
    n_rows = rows.group.size
    drawn = np.random.default_rng(seed).random(n_rows)
    by_time = np.lexsort((drawn if place is None else place, rows.group))
    sizes = np.bincount(rows.group, minlength=rows.level.size)
    rank = np.empty(n_rows)
    rank[by_time] = np.arange(n_rows) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.asarray(rank >= (1.0 - 1.0 / _HELD_OUT) * sizes[rows.group])


def _score(rows: _Rows, held: NDArray[np.bool_], space: Space) -> float:
    """Log-likelihood of rows held out, in the units of the observation."""
    distribution, others = _fit(rows.take(~held), space), rows.take(held)
    location, variance = distribution.predict(others.features, others.group)
    unit = others.level_of()
    value = others.observation / unit
    z = (_into(space, value) - location) / np.sqrt(variance)
    seen = -0.5 * (z * z + np.log(2.0 * np.pi * variance)) + _log_slope(space, value) - np.log(unit)
    return float(others.weight @ np.where(others.censored, special.log_ndtr(-z), seen))


def _fit(rows: _Rows, space: Space) -> PanelDistribution:
    """Fit all groups at once, by expectation and maximisation."""
    middle = np.average(rows.features, axis=0, weights=rows.weight)
    spread = np.sqrt(np.average((rows.features - middle) ** 2, axis=0, weights=rows.weight))
    spread = np.where(spread > 0, spread, 1.0)
    basis = _basis(rows.features, middle, spread)
    n_rows, size = basis.shape
    value = _into(space, rows.observation / rows.level_of())
    weight, group = rows.weight, rows.group
    gram = np.zeros((rows.level.size, size, size))
    for place in range(size):  # column by column: the whole would be a matrix for each row
        gram[:, place] = rows.add_up(basis * (weight * basis[:, place])[:, None])
    count = rows.add_up(weight[:, None])[:, 0]
    n_groups = max(int(np.count_nonzero(count)), 1)
    filled = count > 0

    rows_in_all = float(weight.sum())
    total = (basis * weight[:, None]).T @ basis + 1e-6 * rows_in_all * np.eye(size)
    common = np.asarray(np.linalg.solve(total, basis.T @ (weight * value)), dtype=np.float64)
    rest = value - basis @ common
    variance = np.full(rows.level.size, max(float(weight @ rest**2) / rows_in_all, _LEAST_VARIANCE))
    between = np.full(size, 0.5 * variance[0])
    coefficients = np.tile(common, (rows.level.size, 1))
    weak = np.append(np.inf, np.full(size - 1, _WEAK))
    covariance = np.empty_like(gram)
    for _ in range(_ITERATIONS):
        location = np.einsum("ij,ij->i", basis, coefficients[group])
        deviation = np.sqrt(variance[group])
        z = (value - location) / deviation
        hazard = np.exp(-0.5 * z * z - special.log_ndtr(-z)) / np.sqrt(2.0 * np.pi)
        full = np.where(rows.censored, location + deviation * hazard, value)
        unseen = np.where(
            rows.censored, deviation**2 * np.maximum(1.0 + z * hazard - hazard**2, 0.0), 0.0
        )
        moment = rows.add_up(basis * (weight * full)[:, None])
        precision = gram / variance[:, None, None] + np.diag(1.0 / between)
        covariance = np.linalg.inv(precision)
        pull = moment / variance[:, None] + common / between
        coefficients = np.einsum("gij,gj->gi", covariance, pull)
        mean = coefficients[filled].sum(axis=0)
        new = np.asarray(mean / (n_groups + between / weak), dtype=np.float64)
        uncertainty = np.einsum("gii->gi", covariance[filled])
        between = np.maximum(
            ((coefficients[filled] - new) ** 2 + uncertainty).mean(axis=0), _LEAST_VARIANCE
        )
        location = np.einsum("ij,ij->i", basis, coefficients[group])
        squares = rows.add_up((weight * ((full - location) ** 2 + unseen))[:, None])[:, 0]
        squares += np.einsum("gij,gji->g", covariance, gram)
        old, variance = variance, _shrunk(squares, count)
        moved = np.abs(new - common).max() / np.sqrt(old.mean())
        moved = max(moved, float(np.abs(np.log(variance / old)).max()))
        common = new
        if moved < _CONVERGED:
            break

    leverage = np.empty(n_rows)
    for start in range(0, n_rows, 50_000):
        part = slice(start, start + 50_000)
        leverage[part] = np.einsum(
            "ij,ijk,ik->i", basis[part], covariance[group[part]], basis[part]
        )
    # a row has drawn its own location towards itself: what it would be without
    inside = np.maximum(1.0 - weight * leverage / variance[group], 0.05)
    apart = (value - location) / inside / np.sqrt(variance[group] + leverage / inside)
    residual, share = _shape(apart, rows.censored, weight)
    usual = float(np.exp(np.average(np.log(variance[filled]), weights=count[filled])))
    return PanelDistribution(
        space,
        middle,
        spread,
        rows.level,
        common,
        between,
        coefficients,
        covariance,
        variance,
        usual,
        residual,
        share,
    )


def _shrunk(squares: Array, count: Array) -> Array:
    """Variances of groups from sums of squares, their logarithms shrunk to the mean of all.

    The logarithm of a variance from n rows has a variance of about 2 / n; what groups differ by
    beyond that is theirs.
    """
    filled = count > 0
    pooled = max(float(squares.sum() / count.sum()), _LEAST_VARIANCE)
    own = np.log(np.maximum(squares[filled] / count[filled], 1e-3 * pooled))
    noise = 2.0 / np.maximum(count[filled], 1.0)
    mean = float(np.average(own, weights=count[filled]))
    between = float(np.average((own - mean) ** 2 - noise, weights=count[filled]))
    drawn = np.full(count.size, mean)
    if between > 0:
        drawn[filled] = mean + between / (between + noise) * (own - mean)
    return np.asarray(np.maximum(np.exp(drawn), _LEAST_VARIANCE))


def _shape(residual: Array, censored: NDArray[np.bool_], weight: Array) -> tuple[Array, Array]:
    """Seen residuals in order, and the share of all rows up to each (Kaplan and Meier)."""
    order = np.lexsort((censored, residual))
    value, hidden, each = residual[order], censored[order], weight[order]
    at_risk = np.cumsum(each[::-1])[::-1]
    above = np.cumprod(np.where(hidden, 1.0, np.maximum(1.0 - each / at_risk, 0.0)))
    return value[~hidden], np.asarray(1.0 - above[~hidden], dtype=np.float64)


def _basis(features: Array, middle: Array, spread: Array) -> Array:
    """Write features in their own units, a constant first."""
    return np.column_stack([np.ones(len(features)), (features - middle) / spread])


def _positive(level: Array, known: Array) -> Array:
    """Levels to divide by: none so small that a group would have no units."""
    return np.maximum(level, _LEAST_LEVEL * max(float(np.mean(known)), 1e-300))


def _into(space: Space, value: Array) -> Array:
    if space == "linear":
        return value
    return np.sqrt(value) if space == "root" else np.log(_shift(space) + value)


def _back(space: Space, value: Array) -> Array:
    if space == "linear":
        return value
    if space == "root":
        return np.maximum(value, 0.0) ** 2
    return np.maximum(np.exp(np.minimum(value, 300.0)) - _shift(space), 0.0)


def _log_slope(space: Space, value: Array) -> Array:
    """Logarithm of the derivative of the space, as densities need it."""
    if space == "linear":
        return np.zeros(value.size)
    if space == "root":
        return np.asarray(-np.log(2.0 * np.sqrt(np.maximum(value, 1e-3))))
    return np.asarray(-np.log(_shift(space) + value))


def _shift(space: Space) -> float:
    return _LOG_SHIFT if space == "shifted" else 0.0
