"""Level of each day and shape of a day: how much is demanded, and at what time.

Demand of series i in hour h of day d has the mean ``level[i, d] · share[i, k(d), h]``, where k(d)
is the kind of the day: weekend or not, other opening hours, promotion or not. Both are estimated
from hours in which the shelf is known, or likely, to have had stock. An empty shelf therefore
neither lowers a level nor bends a shape.

A series with few sales borrows from others in two ways. Its shape is shrunk to that of its group
and of all series (empirical Bayes). Its level is shrunk to the days around, to the weekday, and to
the other series of the same shop, item or category on that day. A Poisson regression estimates the
weight of each of these, and a day never contributes to its own level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unmet.arrays import Array, slices
from unmet.tables.hours import HOURS
from unmet.tables.panel import Places

_TINY = 1e-12


@dataclass(frozen=True)
class DayShape:
    """Shares of a day's demand by hour.

    Attributes
    ----------
    share : ndarray of shape (n_series, n_kinds, 24)
        Shares that sum to one over the hours in which the shop sells.
    kind : ndarray of shape (n_series or 1, n_days)
        Kind of each day.
    """

    share: Array
    kind: Places

    def of(self, series: slice) -> Array:
        """Give the shares of each day of some series, (n, n_days, 24)."""
        kind = self.kind if self.kind.shape[0] == 1 else self.kind[series]
        share = self.share[series]
        return np.asarray(share[np.arange(share.shape[0])[:, None], kind])


def blocks_of_series(shape: tuple[int, int], most_hours: int = 2_000_000) -> list[slice]:
    """Cut series × days into parts of at most `most_hours` hours, to process one at a time."""
    n_series, n_days = shape
    size = max(most_hours // (n_days * HOURS), 1)
    return slices(n_series, size)


def flat_shape(opened: NDArray[np.bool_], kind: Places) -> DayShape:
    """Give the initial shape: every open hour has the same demand, on days of every kind."""
    share = opened / opened.sum(axis=1, keepdims=True)
    return DayShape(np.repeat(share[:, None], int(kind.max()) + 1, axis=1), kind)


def sums_by_kind(values: Array, shape: DayShape, series: slice) -> Array:
    """Sum the hours of some series over days of the same kind.

    Parameters
    ----------
    values : ndarray of shape (n, n_days, n_hours)
        Values to sum.
    shape : DayShape
        Kind of each day.
    series : slice
        Series of the values.

    Returns
    -------
    ndarray of shape (n, n_kinds, n_hours)
        Sums.
    """
    kind = shape.kind if shape.kind.shape[0] == 1 else shape.kind[series]
    kinds = range(shape.share.shape[1])
    return np.stack([(values * (kind == each)[:, :, None]).sum(axis=1) for each in kinds], axis=1)


def finest(groups: Mapping[str, Places], n_series: int) -> Places | None:
    """Find the grouping with the most groups, each of which still has several series."""
    sizes = {name: int(each.max()) + 1 for name, each in groups.items()}
    good = [name for name in groups if sizes[name] <= max(n_series // 4, 1)]
    return groups[max(good, key=sizes.__getitem__)] if good else None


def fit_shape(
    sold: Array, exposure: Array, opened: NDArray[np.bool_], kind: Places, group: Places | None
) -> DayShape:
    """Estimate the shape of a day from sums over days.

    Parameters
    ----------
    sold, exposure : ndarray of shape (n_series, n_kinds, 24)
        Units sold in hours with stock, and the levels of the days of these hours.
    opened : ndarray of bool, shape (n_series, 24)
        Hours in which the shop sells.
    kind : ndarray of shape (n_series or 1, n_days)
        Kind of each day.
    group : ndarray of shape (n_series,) or None
        Series that share a shape.

    Returns
    -------
    DayShape
        Shrunk shapes.
    """
    # units of exposure of the parent in each shape: 300 and 1,000 for series ranked sold-out days
    # alike
    units = {"kind": 100.0, "group": 200.0, "series": 1000.0}
    everything = sold.sum(axis=(0, 1)) / (exposure.sum(axis=(0, 1)) + _TINY)
    usual = exposure.sum(axis=0) * everything
    factor = (sold.sum(axis=0) + units["kind"] * everything) / (
        usual + units["kind"] * everything + _TINY
    )
    base = np.where(opened, everything, 0.0)
    seen = (exposure * factor).sum(axis=1)
    counted = sold.sum(axis=1)
    if group is not None:
        n_groups = int(group.max()) + 1
        each, over = np.zeros((n_groups, HOURS)), np.zeros((n_groups, HOURS))
        np.add.at(each, group, counted)
        np.add.at(over, group, seen)
        base = ((each + units["group"] * everything) / (over + units["group"]))[group]
    own = (counted + units["series"] * base) / (seen + units["series"])
    share = np.where(opened[:, None], own[:, None] * factor, 0.0)
    # an hour in which nothing was ever sold keeps a trace, so that no shape is empty
    share = np.where(opened[:, None], np.maximum(share, 1e-9), 0.0)
    return DayShape(share / share.sum(axis=2, keepdims=True), kind)


def fit_levels(
    sold: Array,
    exposure: Array,
    weekday: Places,
    groups: Mapping[str, Places],
    teach: Array | None = None,
) -> Array:
    """Estimate the level of each day from other days and other series.

    Parameters
    ----------
    sold : ndarray of shape (n_series, n_days)
        Units sold in hours with stock.
    exposure : ndarray of shape (n_series, n_days)
        Share of the day that these hours are; 0 on unknown days.
    weekday : ndarray of shape (n_days,)
        Weekday of each day.
    groups : mapping of str to ndarray of shape (n_series,)
        Groups of series.
    teach : ndarray of shape (n_series, n_days), optional
        Weight of each day in the levels of other days.

    Returns
    -------
    ndarray of shape (n_series, n_days)
        Expected units of a whole day with stock, without the day itself.
    """
    if teach is not None:
        sold, exposure = sold * teach, exposure * teach
    n_series, n_days = sold.shape
    # from 5 to 20 days of reach the ranking of sold-out days of fresh food moved by less than 0.001
    # in AUC
    weight = weight_of_days(n_days, 7.0)
    overall = (sold.sum() + _TINY) / (exposure.sum() + _TINY)
    mean = (sold.sum(axis=1) + 0.05 * overall) / (exposure.sum(axis=1) + 0.05)
    level = (sold @ weight + 2.0 * mean[:, None]) / (exposure @ weight + 2.0)  # two days' worth
    expected = level * exposure
    columns = [
        np.broadcast_to((weekday == day).astype(np.float64), sold.shape) for day in range(1, 7)
    ]
    everyone = {"\0all": np.zeros(n_series, dtype=np.intp), **groups}
    columns += [np.log(group_effect(each, sold, expected)) for each in everyone.values()]
    teaching = np.flatnonzero(expected.ravel() > 0.02 * max(overall, _TINY))
    if teaching.size < 30:
        return np.asarray(level)
    if teaching.size > 300_000:
        teaching = np.random.default_rng(0).choice(teaching, 300_000, replace=False)
    features = np.stack([each.ravel() for each in columns], axis=1)
    from sklearn.linear_model import PoissonRegressor

    model = PoissonRegressor(alpha=1e-4, solver="newton-cholesky", max_iter=50)
    model.fit(
        features[teaching],
        (sold.ravel()[teaching] / expected.ravel()[teaching]),
        sample_weight=expected.ravel()[teaching],
    )
    # more than four times the level of the days around is an accident of few sales
    times = np.clip(model.predict(features).reshape(level.shape), 0.25, 4.0)
    return np.asarray(level * times)


def group_effect(group: Places, sold: Array, expected: Array) -> Array:
    """Compare the sales of the other series of a group with their usual sales; 1 without others."""
    others, usual = sum_of_others(group, sold), sum_of_others(group, expected)
    return np.asarray((others + 50.0) / (usual + 50.0))  # units of an ordinary day


def sum_of_others(group: Places, values: Array) -> Array:
    """Sum over the other series of the group on each day, (n_series, n_days)."""
    n_series = group.size
    member = sparse.csr_array(
        (np.ones(n_series), (group, np.arange(n_series))), shape=(int(group.max()) + 1, n_series)
    )
    return np.asarray(np.asarray(member @ values)[group] - values)


def weight_of_days(n_days: int, reach: float) -> Array:
    """Weigh each day in the level of others, (n_days, n_days): less with distance, 0 for itself."""
    far = np.abs(np.arange(n_days)[:, None] - np.arange(n_days))
    weight = np.exp(-far / reach)
    np.fill_diagonal(weight, 0.0)
    return np.asarray(weight)


def dispersion(sold: Array, stocked: Array, share: Array) -> tuple[Array, Array]:
    """Measure how much hours vary beyond Poisson, by a Pearson statistic within days.

    Given the total that a day sold in hours with stock, the shape of the day spreads it over its
    hours. The ratio of the sums is 1 for Poisson demand, and larger if people buy several units at
    once.

    Returns
    -------
    squares, expected : ndarray of shape (n_series,)
        Sums of squares, and their expectation.
    """
    seen = (stocked * share).sum(axis=2, keepdims=True)
    total = (stocked * sold).sum(axis=2, keepdims=True)
    within = share / np.maximum(seen, _TINY)
    mean = total * within
    days = (total >= 3) & (seen > 0.3)
    squares = (stocked * (sold - mean) ** 2 * days).sum(axis=(1, 2))
    return squares, (stocked * mean * (1 - within) * days).sum(axis=(1, 2))


def shrunk_to_pooled(part: Array, whole: Array, units: float) -> Array:
    """Shrink the ratio ``part / whole`` of each series to the pooled one, by `units` of `whole`."""
    overall = float(part.sum() / max(float(whole.sum()), _TINY))
    return np.asarray((part + units * overall) / (whole + units + _TINY))


def day_noise(sold: Array, exposure: Array, level: Array, phi: Array) -> Array:
    """Estimate the gamma shape of a day's own factor: ``Var = phi · mean + mean² / shape``.

    Each series is shrunk to all of them; the result has shape (n_series,).
    """
    mean = level * exposure
    days = exposure > 0.1
    beyond = (((sold - mean) ** 2 - phi[:, None] * mean) * days).sum(axis=1)
    square = (mean**2 * days).sum(axis=1)
    units = 30.0 * float(square.sum() / max(int(days.sum()), 1))  # days' worth of all series
    inverse = shrunk_to_pooled(beyond, square, units)
    return np.asarray(1 / np.clip(inverse, 1e-3, 1.0))
