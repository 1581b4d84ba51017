"""One distribution for a panel, whose groups borrow location, spread and shape from each other.

If it is known which rows sold out, each group g has its own Tobit model, in units of its level and
in a space h in which residuals are alike (linear, root or logarithm)::

    h(d / level_g) = z'β_g + σ_g e,       β_g ~ N(β, T),  T diagonal

Ninety rows of one item determine ten slopes poorly. A thousand other items show the usual slopes
(β) and how much they differ (T). The posterior mean of β_g is a ridge regression towards β with
penalties σ_g² / T, in closed form. Rows that sold out enter with the mean and the variance of the
hidden amount, and β, T and σ_g² are updated from these: expectation and maximisation (Laird & Ware
1982; Vaida, Fitzgerald & DeGruttola 2007 for censored rows). Log-variances of groups are shrunk to
their mean by their sampling error (empirical Bayes). A group with few rows thus has the pooled
distribution and a group with many rows its own. The k of n / (n + k) is σ² / T, without a search.

The shape is common: quantiles of e are halfway between normal ones and those of Kaplan–Meier over
the standardised residuals of all groups. The space is the one that makes held-out rows likeliest.
"""

from __future__ import annotations

from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import special

from unmet.arrays import Array, Numbers
from unmet.censoring.model import CensoringModel, Diagnosis
from unmet.errors import InvalidInput
from unmet.rows import Rows

Codes: TypeAlias = NDArray[np.int64]
Space: TypeAlias = Literal["linear", "root", "shifted", "log"]

_LEAST_VARIANCE = 1e-6


class PanelDistribution(CensoringModel):
    """The distribution of the truth in every group.

    Of the rows that it is given, ``features`` are its columns, ``series`` codes of groups from 0 on
    (−1 for a group that was not there), ``censored`` flags, and ``time`` their order in time.

    Parameters
    ----------
    random_state : int, default=0
        Seed of the rows that choose the space.

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
        Of the coefficients.
    variance : ndarray of shape (n_groups,)
        σ_g².
    usual_variance : float
        That of a group that was not there.
    residual, share : ndarray of shape (n_seen,)
        Standardised residuals of seen rows, increasing, and the share of all rows up to each.
    unit : float or None
        Of all groups alike, where observations may be negative and levels are no units.
    """

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, rows: Rows, level: Array | None = None) -> Self:
        """Learn the distribution of all groups together.

        Parameters
        ----------
        rows : Rows
            Those without weight, and those of which nobody knows whether they are censored, do not
            count. The last rows of each group in time are held out to choose the space; rows at
            random where there is no time.
        level : ndarray of shape (n_groups,), optional
            Observations are taken in units of it, where all of them are positive; default: 1.
        """
        flags = np.zeros(rows.n_rows) if rows.censored is None else rows.censored
        assert rows.series is not None
        weight = rows.weight
        kept = np.flatnonzero(~np.isnan(flags) & (weight > 0))
        kept = kept[np.argsort(rows.series[kept], kind="stable")]
        n_left_out = int(np.isnan(flags[weight > 0]).sum())
        rows, weight, censored = rows.take(kept), weight[kept], flags[kept] == 1
        if censored.all():
            raise InvalidInput("censored must leave some rows seen, got all rows censored.")
        assert rows.series is not None
        observed, group = rows.observation, rows.series.astype(np.int64)
        given = np.ones(int(group.max()) + 1) if level is None else level
        self.level, self.unit = _positive(given, given), None
        spaces: tuple[Space, ...] = get_args(Space)
        if float(observed.min()) <= 0:
            spaces = spaces[:-1]
        if float(observed.min()) < 0 or float(given.mean()) <= 0:
            away = observed - np.average(observed, weights=weight)
            self.unit = float(np.sqrt(np.average(away**2, weights=weight))) or 1.0
            self.level, spaces = np.full(given.size, self.unit), ("linear",)
        told: tuple[Any, ...] = (
            np.asarray(rows.features),
            observed / self.level[group],
            censored,
            weight,
            group,
        )
        self.space = spaces[0]
        if len(spaces) > 1 and observed.size >= 10:
            place = None if rows.time is None else np.unique(rows.time, return_inverse=True)[1]
            self.space = self._best_space(spaces, told, place)
        self._learn(*told)
        share = float(weight[censored].sum() / weight.sum())
        notes = [
            "One distribution of all groups together: of what groups differ by, "
            f"{float(np.mean(self.own_share)):.0%} is known of a group on average; the "
            "rest of its distribution is that of all."
        ]
        if n_left_out:
            notes.append(f"{n_left_out:,} rows of which nothing is known were left out.")
        self.diagnosis_ = Diagnosis(
            rule="LatentBand",
            n_rows=observed.size,
            share_censored=share,
            identified="yes",
            notes=tuple(notes),
            share_is_seen=True,
        )
        return self

    def distribution(self, rows: Rows) -> GroupDistribution:
        """Give the distribution of the truth of rows; a new group has the usual level."""
        assert rows.series is not None
        return self.of(np.asarray(rows.features), rows.series.astype(np.int64))

    def of(self, features: Array, group: Codes, level: Array | None = None) -> GroupDistribution:
        """Give the distribution of the truth of rows in units of the observation.

        Parameters
        ----------
        features : ndarray of shape (n_rows, n_features)
        group : ndarray of shape (n_rows,)
            −1 for groups that were not there.
        level : ndarray of shape (n_rows,), optional
            Of the groups; of those that were not there, what is expected of them.
        """
        if level is None:
            level = np.where(group < 0, float(self.level.mean()), self.level[group])
        unit = np.full(group.size, self.unit) if self.unit else _positive(level, self.level)
        return GroupDistribution(self, *self.predict(features, group), unit)

    def _chance_censored(self, rows: Rows) -> Array:
        """Take rows without a flag as seen: only rows with one were learned from."""
        return np.zeros(rows.n_rows)

    def predict(self, features: Array, group: Codes) -> tuple[Array, Array]:
        """Mean and variance of the truth of any rows, in the space of the distribution."""
        basis = _basis(features, self.middle, self.spread)
        known = group >= 0
        location, variance = basis @ self.common, basis**2 @ self.between + self.usual_variance
        own, rows = group[known], basis[known]
        location[known] = np.einsum("ij,ij->i", rows, self.coefficients[own])
        variance[known] = _leverage(rows, self.covariance, own) + self.variance[own]
        return location, variance

    def deviate(self, at: Numbers) -> Array:
        """Give the quantile of the standardised residual, halfway from normal to observed.

        On held-out real demand the mean of both cost less than either of them.
        """
        level = np.asarray(at, dtype=np.float64)
        normal = special.ndtri(level)
        if self.residual.size < 200:
            return np.asarray(normal)
        place = np.searchsorted(self.share, level)
        found = self.residual[np.minimum(place, self.residual.size - 1)]
        # above what is reached the normal distribution goes on from there
        top = float(self.share[-1])
        beyond = self.residual[-1] + normal - special.ndtri(min(top, 1.0 - 1e-9))
        shown = np.where(place < self.residual.size, found, np.maximum(beyond, self.residual[-1]))
        return np.asarray(0.5 * shown + 0.5 * normal)

    @property
    def own_share(self) -> Array:
        """Shrinkage weight of each group: 1 keeps its own estimate, 0 takes the pooled one."""
        left = np.einsum("gii->g", self.covariance) / self.between.sum()
        return np.asarray(np.clip(1.0 - left, 0.0, 1.0))

    @property
    def shrink(self) -> float:
        """k: rows of a group that count as much as all other groups."""
        return self.usual_variance / float(self.between.sum())

    def _best_space(
        self, spaces: tuple[Space, ...], told: tuple[Any, ...], place: NDArray[Any] | None
    ) -> Space:
        """Space that makes one row in five of each group, the last ones, most likely."""
        generator, n_rows = np.random.default_rng(self.random_state), told[1].size
        if n_rows > 20_000:  # enough to tell spaces apart
            kept = np.sort(generator.choice(n_rows, 20_000, replace=False))
            told, place = tuple(each[kept] for each in told), None if place is None else place[kept]
        group = told[-1]
        drawn = np.random.default_rng(self.random_state).random(group.size)
        by_time = np.lexsort((drawn if place is None else place, group))
        sizes, rank = np.bincount(group, minlength=self.level.size), np.empty(group.size)
        rank[by_time] = np.arange(group.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        held = rank >= 0.8 * sizes[group]
        if not held.any() or told[2][~held].all():
            return spaces[0]
        scores = {}
        for space in spaces:
            self.space = space
            self._learn(*(each[~held] for each in told))
            features, value, censored, weight, codes = (each[held] for each in told)
            location, variance = self.predict(features, codes)
            z = (_into(space, value) - location) / np.sqrt(variance)
            seen = -0.5 * (z * z + np.log(2.0 * np.pi * variance)) + _log_slope(space, value)
            scores[space] = float(weight @ np.where(censored, special.log_ndtr(-z), seen))
        return max(scores, key=scores.__getitem__)

    def _learn(
        self, features: Array, value: Array, censored: Any, weight: Array, group: Codes
    ) -> None:
        """Fit all groups at once, by expectation and maximisation; rows are sorted by group."""
        self.middle = np.average(features, axis=0, weights=weight)
        spread = np.sqrt(np.average((features - self.middle) ** 2, axis=0, weights=weight))
        self.spread = np.where(spread > 0, spread, 1.0)
        basis, value = _basis(features, self.middle, self.spread), _into(self.space, value)
        center = np.average(value, weights=weight)  # sums of squares of small numbers are exact
        value, n_all, size = value - center, self.level.size, basis.shape[1]
        everywhere = np.unique(group, return_index=True)

        def add_up(values: Array, at: tuple[Codes, NDArray[np.intp]]) -> Array:
            """Sum of values over the rows of each group: those present, and where each begins."""
            total = np.zeros((n_all, *values.shape[1:]))
            total[at[0]] = np.add.reduceat(values, at[1], axis=0)
            return total

        gram = np.zeros((n_all, size, size))
        for each, start, stop in zip(*everywhere, [*everywhere[1][1:], None], strict=True):
            own = basis[start:stop]
            gram[each] = (own * weight[start:stop, None]).T @ own
        count = add_up(weight, everywhere)
        filled = count > 0
        n_groups, rows_in_all = max(int(filled.sum()), 1), float(weight.sum())
        total = (basis * weight[:, None]).T @ basis + 1e-6 * rows_in_all * np.eye(size)
        common = np.asarray(np.linalg.solve(total, basis.T @ (weight * value)), dtype=np.float64)
        rest = value - basis @ common
        variance = np.full(n_all, max(float(weight @ rest**2) / rows_in_all, _LEAST_VARIANCE))
        between = np.full(size, 0.5 * variance[0])
        coefficients = np.tile(common, (n_all, 1))
        weak = np.append(np.inf, np.ones(size - 1))  # hardly any penalty on the common slopes
        covariance = np.empty_like(gram)
        # rows that are seen do not change: their sums are enough
        seen_weight = np.where(censored, 0.0, weight)
        seen_moment = add_up(basis * (seen_weight * value)[:, None], everywhere)
        seen_squares = add_up(seen_weight * value**2, everywhere)
        hides, bound, part, share = (each[censored] for each in (basis, value, group, weight))
        hidden = np.unique(part, return_index=True)
        for _ in range(300):
            location = np.einsum("ij,ij->i", hides, coefficients[part])
            deviation = np.sqrt(variance[part])
            z = (bound - location) / deviation
            hazard = np.exp(-0.5 * z * z - special.log_ndtr(-z)) / np.sqrt(2.0 * np.pi)
            full = location + deviation * hazard
            unseen = deviation**2 * np.maximum(1.0 + z * hazard - hazard**2, 0.0)
            moment = seen_moment + add_up(hides * (share * full)[:, None], hidden)
            precision = gram / variance[:, None, None] + np.diag(1.0 / between)
            covariance = np.linalg.inv(precision)
            pull = moment / variance[:, None] + common / between
            coefficients = _times(covariance, pull)
            mean = coefficients[filled].sum(axis=0)
            new = np.asarray(mean / (n_groups + between / weak), dtype=np.float64)
            uncertainty = np.einsum("gii->gi", covariance[filled])
            between = np.maximum(
                ((coefficients[filled] - new) ** 2 + uncertainty).mean(axis=0), _LEAST_VARIANCE
            )
            # of what is left: Σ w (d − z'β)², and what is not known of β and of hidden rows
            squares = seen_squares + add_up(share * (full**2 + unseen), hidden)
            left = _times(gram, coefficients) - 2.0 * moment
            squares += np.einsum("gi,gi->g", coefficients, left)
            squares += np.einsum("gij,gji->g", covariance, gram)
            old, variance = variance, _shrunk(squares, count)
            moved = np.abs(new - common).max() / np.sqrt(old.mean())
            moved = max(moved, float(np.abs(np.log(variance / old)).max()))
            common = new
            if moved < 1e-4:
                break
        location = np.einsum("ij,ij->i", basis, coefficients[group])
        leverage = _leverage(basis, covariance, group)
        # a row has drawn its own location towards itself: what it would be without
        inside = np.maximum(1.0 - weight * leverage / variance[group], 0.05)
        apart = (value - location) / inside / np.sqrt(variance[group] + leverage / inside)
        # seen residuals in order, and the share of all rows up to each (Kaplan and Meier)
        order = np.lexsort((censored, apart))
        unseen, each = censored[order], weight[order]
        at_risk = np.cumsum(each[::-1])[::-1]
        above = np.cumprod(np.where(unseen, 1.0, np.maximum(1.0 - each / at_risk, 0.0)))
        self.residual, self.share = apart[order][~unseen], np.asarray(1.0 - above[~unseen])
        self.usual_variance = float(
            np.exp(np.average(np.log(variance[filled]), weights=count[filled]))
        )
        common[0], coefficients[:, 0] = common[0] + center, coefficients[:, 0] + center
        self.common, self.between, self.variance = common, between, variance
        self.coefficients, self.covariance = coefficients, covariance


class GroupDistribution:
    """Distribution of the truth of some rows of a panel.

    Parameters
    ----------
    panel : PanelDistribution
    location, variance : ndarray of shape (n_rows,)
        In the space of the panel.
    unit : ndarray of shape (n_rows,)
        Of the observation.
    """

    def __init__(
        self, panel: PanelDistribution, location: Array, variance: Array, unit: Array
    ) -> None:
        self._panel, self._location, self._spread = panel, location, np.sqrt(variance)
        self._unit = unit

    def truth(self, level: Numbers) -> Array:
        """Quantile of each row."""
        found = _back(self._panel.space, self._location + self._spread * self._panel.deviate(level))
        return np.asarray((found if self._panel.unit else np.maximum(found, 0.0)) * self._unit)

    def below(self, value: Array) -> Array:
        """Probability of at most a value."""
        levels = np.append(np.linspace(0.002, 0.998, 499), 0.9995)
        deviates = np.maximum.accumulate(self._panel.deviate(levels))
        apart = (_into(self._panel.space, value / self._unit) - self._location) / self._spread
        return np.asarray(np.interp(apart, deviates, levels))


def _leverage(basis: Array, covariance: Array, group: Codes) -> Array:
    """Variance of each row's location, group by group."""
    found, order = np.empty(group.size), np.argsort(group, kind="stable")
    present, first = np.unique(group[order], return_index=True)
    for each, rows in zip(present, np.split(order, first[1:]), strict=False):  # perhaps none
        own = basis[rows]
        found[rows] = np.einsum("ij,ij->i", own @ covariance[each], own)
    return found


def _times(matrices: Array, vectors: Array) -> Array:
    """Product of a matrix and a vector for each group."""
    return np.asarray((matrices @ vectors[..., None])[..., 0])


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


def _basis(features: Array, middle: Array, spread: Array) -> Array:
    """Write features in their own units, a constant first."""
    return np.column_stack([np.ones(len(features)), (features - middle) / spread])


def _positive(level: Array, known: Array) -> Array:
    """Levels to divide by: none so small that a group would have no units."""
    return np.maximum(level, 1e-3 * max(float(np.mean(known)), 1e-300))


def _into(space: Space, value: Array) -> Array:
    if space == "linear":
        return value
    return np.sqrt(np.maximum(value, 0.0)) if space == "root" else np.log(_shift(space) + value)


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
    """Share of a level: with it zero sales have a logarithm, and small ones no weight."""
    return 0.2 if space == "shifted" else 0.0
