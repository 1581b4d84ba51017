"""Simulated demand of shops in closed loop: distributions, and patterns that are added to them."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from zlib import crc32

import numpy as np

from unmet.arrays import Array
from unmet.errors import InvalidInput
from unmet.simulate.demand import (
    LEAST_LUCK,
    WEEKDAY_EFFECTS,
    YEAR,
    distribution,
    streams,
    weekday,
)
from unmet.simulate.shop import FIRST_MONDAY
from unmet.validation import Number, OneOf, WholeNumber

Quantile = Callable[[Array, Array, Array], Array]


@dataclass(frozen=True)
class Distribution:
    """A distribution of demand: quantile of (level, mean, deviation), and its usual size."""

    quantile: Quantile
    level: float = 100.0
    spread: float = 0.25
    whole: bool = False
    by_level: bool = False


def family_quantile(name: Any, shape: float | None = None) -> Quantile:
    """Quantile function of a family of `distribution`."""

    def quantile(level: Array, mean: Array, deviation: Array) -> Array:
        if name == "poisson":
            deviation = np.sqrt(mean)
        elif name == "negative_binomial":
            deviation = np.sqrt(mean + deviation**2)
        return np.asarray(distribution(name, mean, deviation, shape).ppf(level))

    return quantile


_IDLE = 0.55  # share of days without demand of intermittent counts


def _intermittent(level: Array, mean: Array, deviation: Array) -> Array:
    """No demand on most days; on the others 1 + Poisson, with the given mean of such days."""
    rest = np.maximum((level - _IDLE) / (1 - _IDLE), LEAST_LUCK)
    some = 1 + family_quantile("poisson")(rest, np.maximum(mean - 1, 0.05), deviation)
    return np.where(level <= _IDLE, 0.0, some)


SHOP_DISTRIBUTIONS: Mapping[str, Distribution] = MappingProxyType(
    {
        "poisson": Distribution(family_quantile("poisson"), level=20.0, whole=True, by_level=True),
        "negative binomial": Distribution(
            family_quantile("negative_binomial"), level=12.0, spread=0.35, whole=True, by_level=True
        ),
        "normal": Distribution(family_quantile("normal")),
        "gamma": Distribution(family_quantile("gamma"), spread=0.4, by_level=True),
        "lognormal": Distribution(family_quantile("lognormal"), spread=0.4, by_level=True),
        "intermittent": Distribution(_intermittent, level=3.0, whole=True, by_level=True),
    }
)


# --- distributions
# -----------------------------------------------------------------------------------------


PATTERNS = ("weekday", "season", "trend", "shift", "promotion")

# shares of the level of a series
_LEVELS = 0.6  # standard deviation of its logarithm
_WEEK = 2.5  # times the effects of the censoring lab, which are those of a whole store
_SEASON = 0.3
_TREND = 0.4  # in a year, up or down
_SHIFT, _SHIFT_BETWEEN = 0.4, (0.3, 0.7)  # up or down, and when, as a share of all periods
_PROMOTION, _PROMOTED = 0.8, 0.1  # rise, and share of weeks
_LEAST = 0.1


def shop_demand(
    kind: str,
    n_series: int,
    n_periods: int,
    seed: int = 0,
    *,
    level: float | None = None,
    first_day: datetime.date = FIRST_MONDAY,
    step: int = 1,
) -> tuple[Array, dict[str, Array]]:
    """Draw demand of many series.

    Parameters
    ----------
    kind : str
        A distribution: "poisson", "negative binomial", "normal", "gamma", "lognormal" or
        "intermittent" (counts, nothing on 55% of days). Patterns may be added:
        "gamma+weekday+promotion". "weekday" is the same for all series, "season" has one peak a
        year, "trend" and "shift" (of the level, once) go up in some series and down in others,
        "promotion" raises weeks that are known beforehand.
    n_series, n_periods : int
    seed : int, default=0
    level : float, optional
        Typical mean of a series; series differ by a factor of about 2 either way. By default what
        is usual for the distribution, from 3 (intermittent, on days with demand) to 100.
    first_day : datetime.date, default=2018-01-01
    step : {1, 7}, default=1
        Days or weeks.

    Returns
    -------
    demand : ndarray of shape (n_series, n_periods)
    features : dict of str to ndarray of shape (n_series, n_periods)
        What is known beforehand: "promotion" where there is one. Series and periods that two kinds
        have in common share their luck.

    Examples
    --------
    >>> demand, features = shop_demand("poisson+promotion", 3, 200, seed=0)
    >>> demand.shape, sorted(features)
    ((3, 200), ['promotion'])
    """
    name, *patterns = (word.strip() for word in str(kind).split("+"))
    OneOf(*SHOP_DISTRIBUTIONS)("kind", name)
    for pattern in patterns:
        OneOf(*PATTERNS)(f"pattern in kind {kind!r}", pattern)
    if step == 7 and "weekday" in patterns:
        raise InvalidInput(f"step must be 1 for a weekday pattern, got 7 with kind {kind!r}.")
    count, length = WholeNumber(1)("n_series", n_series), WholeNumber(1)("n_periods", n_periods)
    distribution = SHOP_DISTRIBUTIONS[name]
    usual = distribution.level if level is None else float(Number(above=0)("level", level))
    sizes, luck, paths, weeks = streams(
        np.random.SeedSequence([WholeNumber(0)("seed", seed), crc32(b"shop")]), 4
    )
    own = np.exp(_LEVELS * sizes.standard_normal(count))[:, None]
    signs = np.where(paths.random((count, 1)) < 0.5, -1.0, 1.0)
    when = length * np.interp(paths.random((count, 1)), (0.0, 1.0), _SHIFT_BETWEEN)
    peak = YEAR * paths.random((count, 1))

    period = np.arange(length)
    day = step * period
    dates = np.datetime64(first_day, "D") + day
    effect = np.zeros((count, length))
    features = {}
    if "weekday" in patterns:
        effect += _WEEK * np.array(WEEKDAY_EFFECTS)[weekday(dates)]
    if "season" in patterns:
        effect += _SEASON * np.cos(2.0 * np.pi * (day - peak) / YEAR)
    if "trend" in patterns:
        effect += signs * _TREND * (day - day.mean()) / YEAR
    if "shift" in patterns:
        effect += signs * _SHIFT * (period >= when)
    if "promotion" in patterns:
        week = day // 7
        promoted = (weeks.random((int(week[-1]) + 1, count)).T < _PROMOTED)[:, week]
        effect += _PROMOTION * promoted
        features["promotion"] = promoted.astype(np.float64)
    share = own * np.maximum(1.0 + effect, _LEAST)
    mean = usual * share
    deviation = (
        usual
        * distribution.spread
        * (share if distribution.by_level else np.broadcast_to(own, share.shape))
    )
    drawn = luck.random((length, count)).T
    demand = distribution.quantile(np.maximum(drawn, LEAST_LUCK), mean, deviation)
    return np.maximum(demand, 0.0), features
