"""Sample paths of coming demand: a distribution for each period, and the correlation of periods.

The distribution of a period has the mean that a model expects and a variance a μ + b μ². A factor
of each series multiplies the variance; it is shrunk to 1 as far as the series' own errors allow
(empirical Bayes). Counts are negative binomial, or rounded gamma if they vary less than Poisson
counts (`_regular`). Other demand is gamma. Days of another kind, such as those on which a shop was
closed, do not affect the spread of the others.

Errors of one forecast are correlated: a level that was missed is missed in every period. The normal
scores of two periods have the correlation c + (1 − c) φ^lag, with c and φ from held-out errors. Too
large a correlation costs money, because stock then covers years that never come.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special, stats

from unmet.arrays import Array
from unmet.errors import InvalidInput

_OTHER_KIND = 0.05  # share of periods that may be of another kind: anywhere, whatever is expected
_TABLE = 40.0  # mean below which counts are looked up in a table
_LEAST_MEAN = 1e-6
_MAX_COMMON, _MAX_DECAY = 0.95, 0.95
_LARGEST_FACTOR = 4.0  # of the variance of a series
_MAX_LIKELIHOODS = 20_000  # rows: two numbers need no more
_LARGEST_SQUARE = 9.0  # of an error in its standard deviations: what is beyond is chance
_STEEPEST = 1.5  # growth of the variance over the horizon


@dataclass(frozen=True, eq=False)
class DemandDistribution:
    """Distribution of demand around its expectation.

    `DemandDistribution.fit` estimates it from forecasts and the demand that followed.

    Attributes
    ----------
    linear, quadratic : float
        a and b of the variance a μ + b μ².
    factor : ndarray of shape (n_series,)
        Factor of the variance of each series.
    growth : ndarray of shape (n_periods,)
        Factor of the variance of each period ahead.
    common, decay : float
        c and φ of the correlation between periods.
    counted : bool
        Whether demand is in whole units.
    overall, drawn : float
        Mean squared error of all series in standard deviations, and the number of periods of it
        that count as much as those of a series itself.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.inventory import DemandDistribution
    >>> sold = np.random.default_rng(0).poisson(20, size=(10, 30, 3))
    >>> distribution = DemandDistribution.fit(np.full((10, 30, 3), 20.0), sold, counted=True)
    >>> paths = distribution.draw(np.full((10, 3), 20.0), n_paths=500)
    >>> paths.shape, round(float(paths.mean()))
    ((10, 500, 3), 20)
    """

    linear: float
    quadratic: float
    factor: Array
    growth: Array
    common: float = 0.0
    decay: float = 0.0
    counted: bool = True
    overall: float = 0.0
    drawn: float = 0.0

    @classmethod
    def fit(cls, expected: ArrayLike, truth: ArrayLike, *, counted: bool) -> DemandDistribution:
        """Estimate the distribution from forecasts and the demand that followed.

        The forecasts must not have seen this demand.

        Parameters
        ----------
        expected, truth : array-like of shape (n_series, n_origins, n_periods)
            Forecast at each origin for the periods ahead, and the demand that followed; NaN if
            unknown.
        counted : bool
            Whether demand is in whole units.

        Returns
        -------
        DemandDistribution
            The fitted distribution.

        Examples
        --------
        >>> import numpy as np
        >>> from unmet.inventory import DemandDistribution
        >>> generator = np.random.default_rng(0)
        >>> level = generator.gamma(20, 1 / 20, size=(50, 30, 1))  # the same error in all periods
        >>> distribution = DemandDistribution.fit(np.full((50, 30, 4), 40.0),
        ...                     generator.poisson(40 * np.repeat(level, 4, axis=2)), counted=True)
        >>> round(distribution.quadratic, 2), round(distribution.common, 1)
        (0.04, 0.7)
        """
        mean = np.asarray(expected, dtype=np.float64)
        usual = np.nan_to_num(mean).sum() / max(mean.size, 1)
        mean = np.maximum(mean, _LEAST_MEAN * min(1.0, usual or 1.0))
        came = np.asarray(truth, dtype=np.float64)
        if mean.shape != came.shape or mean.ndim != 3:
            raise InvalidInput(
                "expected and truth must have the same shape (n_series, n_origins, n_periods), "
                f"got {mean.shape} and {came.shape}."
            )
        known = ~np.isnan(came) & ~np.isnan(expected)
        n_series, _, n_periods = mean.shape
        if known.sum() < 2 * n_periods:
            spread = 1.0 if counted else 0.0
            return cls(spread, 0.25, np.ones(n_series), np.ones(n_periods), counted=counted)
        linear, quadratic = _variance(mean[known], came[known], counted)
        scaled = np.zeros_like(mean)
        variance = linear * mean + quadratic * mean**2
        scaled[known] = (came[known] - mean[known]) / np.sqrt(variance[known])
        squares = np.minimum(scaled**2, _LARGEST_SQUARE)
        # mean squared error of all series, and how many periods of it a series is shrunk by
        count = known.sum(axis=(1, 2)).astype(np.float64)
        sums = np.where(known, squares, 0.0).sum(axis=(1, 2))
        overall = float(sums.sum() / max(count.sum(), 1.0))
        own = np.where(count > 0, sums / np.maximum(count, 1.0), overall)
        # periods of one forecast hang together, and say less than as many apart: sum them up first
        of_origins = np.where(known, squares - overall, 0.0).sum(axis=2)
        fourth = float((of_origins**2).sum() / max(count.sum(), 1.0))
        noise = fourth / np.maximum(count, 1.0)
        between = float(np.mean((own - overall) ** 2 - noise))
        drawn = max(fourth / max(between, 1e-3 * overall**2, 1e-300), 1e-12)
        factor = _factors(squares, known, overall, drawn)
        scaled /= np.sqrt(factor)[:, None, None]
        growth = _growth(np.minimum(scaled**2, _LARGEST_SQUARE), known)
        scaled /= np.sqrt(growth)
        common, decay = _dependence(scaled, known)
        return cls(linear, quadratic, factor, growth, common, decay, counted, overall, drawn)

    def for_series(self, expected: Array, truth: Array) -> DemandDistribution:
        """Adapt the distribution to other series, by forecasts of them.

        Parameters
        ----------
        expected, truth : array-like of shape (n_series, n_origins, n_periods)
            As in `fit`.
        """
        mean = np.maximum(expected, self._least_mean)
        known = ~np.isnan(truth) & ~np.isnan(expected)
        variance = self.linear * mean + self.quadratic * mean**2
        squares = np.where(known, truth - mean, 0.0) ** 2 / variance
        squares = np.minimum(squares, _LARGEST_SQUARE)
        return replace(self, factor=_factors(squares, known, self.overall, self.drawn))

    def variance(self, mean: Array) -> Array:
        """Give the variance of demand for an expected demand.

        Parameters
        ----------
        mean : ndarray of shape (n_series, …, n_periods)
            Expected demand.
        """
        axes = (slice(None), *(None,) * (mean.ndim - 1))
        periods = mean.shape[-1]
        growth = self.growth[np.minimum(np.arange(periods), self.growth.size - 1)]
        return np.asarray(
            self.factor[axes] * growth * (self.linear * mean + self.quadratic * mean**2)
        )

    def quantile(
        self, mean: Array, series: NDArray[np.intp], period: NDArray[np.intp], level: float
    ) -> Array:
        """Give a quantile of the demand of single periods.

        Parameters
        ----------
        mean : ndarray of shape (n_rows,)
            Expected demand.
        series, period : ndarray of int, shape (n_rows,)
            Position of the series, and of the period ahead, the first being 0.
        level : float
            Level between 0 and 1.
        """
        expected, variance = self._moments(mean, series, period)
        at = min(max(level, 1e-9), 1.0 - 1e-9)
        shape = np.maximum(expected**2 / np.maximum(variance, 1e-12 * expected**2), 1e-3)
        amount = expected * special.gammaincinv(shape, at) / shape
        if not self.counted:
            return np.asarray(amount)
        counts = stats.nbinom.ppf(at, *_binomial(expected, variance))
        return np.where(_regular(expected, variance), np.ceil(amount - 0.5), counts)

    def reached(
        self, value: Array, mean: Array, series: NDArray[np.intp], period: NDArray[np.intp]
    ) -> Array:
        """Give the probability that the demand of single periods is at most a value.

        Parameters
        ----------
        value : ndarray of shape (n_rows,)
            Values.
        mean, series, period
            As in `quantile`.
        """
        expected, variance = self._moments(mean, series, period)
        shape = np.maximum(expected**2 / np.maximum(variance, 1e-12 * expected**2), 1e-3)
        if not self.counted:
            return np.asarray(special.gammainc(shape, shape * value / expected))
        whole = np.floor(value + 1e-9)
        size, chance = _binomial(expected, variance)
        return np.where(
            _regular(expected, variance),
            special.gammainc(shape, shape * np.maximum(whole + 0.5, 0.0) / expected),
            special.betainc(size, whole + 1.0, chance),
        )

    @property
    def _least_mean(self) -> float:
        """The least mean that is not 0; `linear` has the unit of demand."""
        return _LEAST_MEAN * (1.0 if self.counted else min(1.0, self.linear or 1.0))

    def _moments(
        self, mean: Array, series: NDArray[np.intp], period: NDArray[np.intp]
    ) -> tuple[Array, Array]:
        """Mean and variance of single periods."""
        expected = np.maximum(mean, self._least_mean)
        factor = self.factor[series] * self.growth[np.minimum(period, self.growth.size - 1)]
        return expected, factor * (self.linear * expected + self.quadratic * expected**2)

    def draw(self, mean: ArrayLike, n_paths: int = 200, *, seed: int = 0) -> Array:
        """Draw sample paths of demand.

        Parameters
        ----------
        mean : array-like of shape (n_series, n_periods)
            Expected demand of each period.
        n_paths : int, default=200
            Number of paths per series. More paths give more precise orders and take longer.
        seed : int, default=0
            Seed of the paths.

        Returns
        -------
        ndarray of shape (n_series, n_paths, n_periods)
            Paths.
        """
        expected = np.maximum(np.asarray(mean, dtype=np.float64), self._least_mean)
        if expected.ndim != 2 or expected.shape[0] != self.factor.size:
            raise InvalidInput(
                f"mean must have a row for each of {self.factor.size:,} series and a column for "
                f"each period, got shape {expected.shape}."
            )
        n_series, n_periods = expected.shape
        scores = self._scores(n_paths, n_periods, seed)
        variance = self.variance(expected)
        paths = np.empty((n_series, n_paths, n_periods))
        for period in range(n_periods):
            levels = special.ndtr(scores[:, period])
            paths[:, :, period] = _quantiles(
                expected[:, period], variance[:, period], levels, self.counted
            )
        return paths

    def _scores(self, n_paths: int, n_periods: int, seed: int) -> Array:
        """Draw normal scores, (n_paths, n_periods): evenly spread in a period, correlated across.

        All series have the same ones: only what happens to one series matters to its order.
        """
        generator = np.random.default_rng(seed)
        apart = np.abs(np.subtract.outer(np.arange(n_periods), np.arange(n_periods)))
        matrix = self.common + (1.0 - self.common) * np.power(float(self.decay), apart)
        np.fill_diagonal(matrix, 1.0)
        raw = generator.standard_normal((n_paths, n_periods)) @ np.linalg.cholesky(matrix).T
        rank = np.argsort(np.argsort(raw, axis=0, kind="stable"), axis=0, kind="stable")
        return np.asarray(special.ndtri((rank + 0.5) / n_paths))


# --- Moments.


def _variance(mean: Array, came: Array, counted: bool) -> tuple[float, float]:
    """Find a and b of the variance a μ + b μ² that make what came most likely.

    By likelihood and not by squared errors, which one week of a promotion can rule; and a share of
    the periods may be anywhere up to five times what was expected. Without that share,
    closed days (5 and 10% of the rows of two samples of bakeries) made orders 15 to 27% dearer.
    """
    if mean.size > _MAX_LIKELIHOODS:
        some = np.random.default_rng(0).choice(mean.size, _MAX_LIKELIHOODS, replace=False)
        mean, came = mean[some], came[some]
    counted = counted and bool(np.median(mean) < 1000.0)  # thousands, which may be packs, are not
    unit = 1.0 if counted else max(float(np.mean(mean)), 1e-300)
    mean, came = mean / unit, came / unit
    other = _OTHER_KIND / (5.0 * mean + (1.0 if counted else 0.0))
    positive = np.maximum(came, 1e-3 * mean)  # nothing sold has no density of its own
    log_came = special.gammaln(came + 1.0) if counted else np.log(positive)

    def unlikely(logs: Array) -> float:
        linear, quadratic = np.exp(logs)
        variance = linear * mean + quadratic * mean**2
        if counted:
            size, chance = _binomial(mean, variance)
            found = (
                special.gammaln(came + size)
                - special.gammaln(size)
                - log_came
                + size * np.log(chance)
                + came * np.log1p(-chance)
            )
            few = _regular(mean, variance)
            shape, rate = mean[few] ** 2 / variance[few], mean[few] / variance[few]
            inside = special.gammainc(shape, rate * (came[few] + 0.5))
            inside -= special.gammainc(shape, rate * np.maximum(came[few] - 0.5, 0.0))
            found[few] = np.log(np.maximum(inside, 1e-300))
        else:
            shape = mean**2 / variance
            rate = shape / mean
            found = (
                shape * np.log(rate)
                - special.gammaln(shape)
                + (shape - 1.0) * log_came
                - rate * positive
            )
        found = np.log((1.0 - _OTHER_KIND) * np.exp(np.minimum(found, 700.0)) + other)
        return -float(found.mean()) + 1e-6 * float(logs @ logs)

    best = optimize.minimize(
        unlikely,
        np.log([1.2 if counted else 0.2, 0.1]),
        method="Nelder-Mead",
        bounds=[(-12.0, 6.0), (-12.0, 3.0)],
        options={"xatol": 1e-2, "fatol": 1e-7, "maxiter": 120},
    )
    linear, quadratic = (float(each) for each in np.exp(best.x))
    return linear * unit, quadratic


def _factors(squares: Array, known: NDArray[np.bool_], overall: float, drawn: float) -> Array:
    """Mean squared error of each series, shrunk to 1 by as much as chance explains."""
    count = known.sum(axis=(1, 2)).astype(np.float64)
    if overall <= 0:  # forecasts that never erred
        return np.ones(count.size)
    sums = np.where(known, squares, 0.0).sum(axis=(1, 2))
    factor = (sums + drawn * overall) / (count + drawn) / max(overall, 1e-12)
    return np.asarray(np.clip(factor, 1.0 / _LARGEST_FACTOR, _LARGEST_FACTOR))


def _growth(squares: Array, known: NDArray[np.bool_]) -> Array:
    """Variance of each period ahead against the mean one: a straight line, never falling."""
    n_periods = squares.shape[2]
    count = known.sum(axis=(0, 1)).astype(np.float64)
    own = np.where(known, squares, 0.0).sum(axis=(0, 1)) / np.maximum(count, 1.0)
    if n_periods < 2 or (count < 10).any():
        return np.ones(n_periods)
    ahead = np.arange(n_periods) - (n_periods - 1) / 2.0
    slope = float(ahead @ (own - own.mean()) / (ahead @ ahead)) / max(own.mean(), 1e-12)
    steepest = (_STEEPEST - 1.0) / n_periods
    return np.asarray(1.0 + min(max(slope, 0.0), steepest) * ahead)


def _dependence(scaled: Array, known: NDArray[np.bool_]) -> tuple[float, float]:
    """Correlation of errors of one forecast: a common part, and one that fades with the lag."""
    n_periods = scaled.shape[2]
    if n_periods < 2:
        return 0.0, 0.0
    values = np.where(known, np.clip(scaled, -4.0, 4.0), 0.0)
    found, weights = [], []
    for lag in range(1, n_periods):
        both = known[..., lag:] & known[..., :-lag]
        if both.sum() < 20:
            break
        early, late = values[..., :-lag][both], values[..., lag:][both]
        spread = np.sqrt((early @ early) * (late @ late))
        found.append(float(early @ late / spread) if spread > 0 else 0.0)
        weights.append(float(both.sum()))
    if not found:
        return 0.0, 0.0
    if len(found) == 1:
        return min(max(found[0], 0.0), _MAX_COMMON), 0.0
    lags = np.arange(1, len(found) + 1)
    best = (np.inf, 0.0, 0.0)
    for decay in np.linspace(0.0, _MAX_DECAY, 20):
        fading = decay**lags
        rest = 1.0 - fading
        weight = np.array(weights)
        common = float((weight * rest) @ (np.array(found) - fading) / ((weight * rest) @ rest))
        common = min(max(common, 0.0), _MAX_COMMON)
        error = float(weight @ (common + (1.0 - common) * fading - found) ** 2)
        if error < best[0] - 1e-12:
            best = (error, common, float(decay))
    return best[1], best[2]


# --- Distributions of one period.


def _binomial(mean: Array, variance: Array) -> tuple[Array, Array]:
    """Parameters of the negative binomial distribution with these moments, at least Poisson."""
    extra = np.maximum(variance - mean, 1e-3 * mean)
    return mean**2 / extra, mean / (mean + extra)


def _regular(mean: Array, variance: Array) -> NDArray[np.bool_]:
    """Where counts vary less than those of a Poisson distribution: a standing order, say."""
    return np.asarray((variance < mean) & (mean > 1.0))


def _quantiles(mean: Array, variance: Array, levels: Array, counted: bool) -> Array:
    """Quantiles at all levels for each series, (n_series, n_levels)."""
    small = counted & (mean < _TABLE) & ~_regular(mean, variance)
    found = np.empty((mean.size, levels.size))
    if not small.all():
        rows = ~small
        values = _gamma(mean[rows], variance[rows], levels)
        found[rows] = np.round(values) if counted else values
    if small.any():
        found[small] = _counts(mean[small], variance[small], levels)
    return found


def _gamma(mean: Array, variance: Array, levels: Array) -> Array:
    """Gamma quantiles by the cube of a normal one (Wilson & Hilferty 1931); exact where skewed."""
    shape = np.maximum(mean**2 / np.maximum(variance, 1e-12 * mean**2), 1e-3)[:, None]
    scores = special.ndtri(levels)
    cube = 1.0 - 1.0 / (9.0 * shape) + scores / (3.0 * np.sqrt(shape))
    found = mean[:, None] * np.maximum(cube, 0.0) ** 3
    skewed = np.flatnonzero(shape[:, 0] < 6.0)
    if skewed.size:
        exact = special.gammaincinv(shape[skewed], levels)
        found[skewed] = mean[skewed, None] * exact / shape[skewed]
    return np.asarray(found)


def _counts(mean: Array, variance: Array, levels: Array) -> Array:
    """Quantiles of counts: the distribution function, one count after another, for all series."""
    size, chance = _binomial(mean, variance)
    most = int(np.ceil((mean + 9.0 * np.sqrt(np.maximum(variance, mean))).max())) + 10
    probability = np.exp(size * np.log(chance))
    reached = np.empty((mean.size, most))
    total = probability.copy()
    reached[:, 0] = total
    for count in range(1, most):
        probability = probability * (size + count - 1.0) / count * (1.0 - chance)
        total = total + probability
        reached[:, count] = total
    # rows one after another are in ascending order: one search for all of them
    start = np.arange(mean.size)[:, None]
    line = (np.minimum(reached, 1.0) + 2.0 * start).ravel()
    place = np.searchsorted(line, (levels + 2.0 * start).ravel())
    found = place.reshape(mean.size, -1) - most * start
    return np.asarray(np.minimum(found, most - 1.0))
