"""Demand on a design: what it is like, and one draw of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from unmet.arrays import Array
from unmet.errors import InvalidInput
from unmet.evaluation.price import as_number

# --- Families of demand, each given by the mean and the standard deviation of every row.
#
# Mean and deviation mean the same in every family, so a grid over families compares shapes and
# nothing else. The quantile functions are those of ``scipy.stats``.

Family = Literal[
    "normal",
    "logistic",
    "laplace",
    "student",
    "gumbel",
    "gamma",
    "gamma_noise",
    "lognormal",
    "weibull",
    "poisson",
    "negative_binomial",
]
FAMILIES: tuple[Family, ...] = get_args(Family)

#: Whole numbers, so orders are whole numbers, too.
COUNTS = frozenset({"poisson", "negative_binomial"})

#: Never negative: the spread of these grows with the mean unless something else is asked for.
POSITIVE = COUNTS | {"gamma", "lognormal", "weibull"}

#: What `shape` means: the degrees of freedom of Student's t, the shape of the gamma noise.
DEFAULT_SHAPES: Mapping[str, float] = MappingProxyType({"student": 5.0, "gamma_noise": 2.0})
_LEAST_SHAPES = {"student": 2.0, "gamma_noise": 0.0}

# a frozen distribution of scipy.stats with one entry per row: .ppf(level) and .sf(quantity)
Distribution: TypeAlias = Any


def distribution(family: Family, mean: Array, deviation: Array, shape: float = 0.0) -> Distribution:
    """Give the conditional distribution of demand, one for each row.

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    mean, deviation : ndarray of shape (n_rows,)
        Of demand. A Poisson demand has only a mean; a negative binomial one needs a variance
        above its mean; positive families need a positive mean.
    shape : float
        Of "student" and "gamma_noise" only, see `DEFAULT_SHAPES`.

    Examples
    --------
    >>> demand = distribution("laplace", np.array([100.0, 50.0]), np.array([20.0, 5.0]))
    >>> demand.ppf(0.75).round(2)
    array([109.8 ,  52.45])
    """
    if family in POSITIVE:
        return _positive(family, mean, deviation)
    return _location_scale(family, mean, deviation, shape)


def check_shape(family: Family, shape: float | None) -> float:
    """Read the shape of a family; 0 for a family without one."""
    if family not in DEFAULT_SHAPES:
        if shape is not None:
            raise InvalidInput(f'shape must be None for family "{family}", got {shape!r}.')
        return 0.0
    least = _LEAST_SHAPES[family]
    given = as_number("shape", DEFAULT_SHAPES[family] if shape is None else shape)
    if given <= least:
        raise InvalidInput(f'shape must be above {least:g} for family "{family}", got {shape!r}.')
    return given


def _location_scale(family: str, mean: Array, deviation: Array, shape: float) -> Distribution:
    """Families with a location and a scale."""
    match family:
        case "normal":
            return stats.norm(mean, deviation)
        case "logistic":
            return stats.logistic(mean, deviation * np.sqrt(3) / np.pi)
        case "laplace":
            return stats.laplace(mean, deviation / np.sqrt(2))
        case "student":
            return stats.t(shape, mean, deviation * np.sqrt((shape - 2) / shape))
        case "gumbel":
            unit = deviation * np.sqrt(6) / np.pi
            return stats.gumbel_r(mean - np.euler_gamma * unit, unit)
        case _:  # gamma noise: skewed like a gamma demand, but not tied to zero
            unit = deviation / np.sqrt(shape)
            return stats.gamma(shape, mean - shape * unit, unit)


def _positive(family: str, mean: Array, deviation: Array) -> Distribution:
    """Families that live above zero."""
    match family:
        case "gamma":
            return stats.gamma((mean / deviation) ** 2, scale=deviation**2 / mean)
        case "lognormal":
            variance = np.log1p((deviation / mean) ** 2)
            return stats.lognorm(np.sqrt(variance), scale=mean * np.exp(-variance / 2))
        case "weibull":
            exponent = _weibull_exponent(deviation / mean)
            return stats.weibull_min(exponent, scale=mean / special.gamma(1 + 1 / exponent))
        case "poisson":
            return stats.poisson(mean)
        case _:  # negative binomial: what exceeds the Poisson variance gives the size
            return stats.nbinom(mean**2 / (deviation**2 - mean), mean / deviation**2)


def _weibull_exponent(ratio: Array) -> Array:
    """Exponent k with deviation / mean = `ratio`; it falls in k, so bisection is safe.

    1 + ratio² = Γ(1 + 2/k) / Γ(1 + 1/k)².
    """
    target = np.log1p(ratio**2)
    low, high = np.full_like(ratio, np.log(0.1)), np.full_like(ratio, np.log(1e4))
    for _ in range(60):
        middle = (low + high) / 2
        inverse = np.exp(-middle)
        too_wide = special.gammaln(1 + 2 * inverse) - 2 * special.gammaln(1 + inverse) > target
        low, high = np.where(too_wide, middle, low), np.where(too_wide, high, middle)
    exponent: Array = np.exp((low + high) / 2)
    return exponent


# --- Features of a retailer: category, weekday, month, and, where asked for, price and
# temperature.
#
# The mean of demand is linear in the features, with effects given as shares of a base level::
#
#     mean = level · (1 + category + weekday + month [+ price] [+ temperature])
#
# The effects are of the size seen in grocery sales, but no mean falls below .45 of the level, so
# that demand is rarely negative at the usual spread.

FIRST_DAY = np.datetime64("2016-01-01", "D")
YEAR = 365

# Shares of the level; the first of each is the baseline of the dummies. Not round, so that the
# means of counts are no whole numbers, at which all rows would sell out together.
CATEGORY_EFFECTS = (0.0, 0.4527, 0.3194, -0.1816, 0.1245, 0.1473, -0.2237, 0.2758, -0.2591)
WEEKDAY_EFFECTS = (0.0, -0.0186, -0.0773, -0.1018, -0.0642, 0.0931, 0.1365)
MONTH_EFFECTS = (
    0.0,
    -0.0218,
    0.0107,
    0.0492,
    0.0381,
    -0.0094,
    -0.0513,
    -0.0426,
    0.0119,
    -0.0073,
    -0.0204,
    0.0983,
)
PRICE_EFFECT = -0.6  # per unit of relative price, around its mean
TEMPERATURE_EFFECT = 0.004  # per degree, around its mean

#: Deviation of each category as a multiple of the spread, for scale "features"; mean 1.
CATEGORY_SPREADS = (1.0, 0.6, 1.5, 0.8, 1.25, 0.5, 1.35, 0.7, 1.3)

N_CATEGORIES = len(CATEGORY_EFFECTS)
CATEGORIES = tuple(f"category {number}" for number in range(1, N_CATEGORIES + 1))
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)

Scale = Literal["constant", "level", "features"]
SCALES: tuple[Scale, ...] = get_args(Scale)


@dataclass(frozen=True, eq=False)
class Design:
    """Rows in order of time: every category of a day, then the next day.

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_features)
    feature_names : tuple of str
    dates : ndarray of shape (n_rows,), datetime64[D]
    category : ndarray of shape (n_rows,), int
    share : ndarray of shape (n_rows,)
        Mean demand as a share of the level.
    """

    features: Array
    feature_names: tuple[str, ...]
    dates: NDArray[np.datetime64]
    category: NDArray[np.int64]
    share: Array

    def deviation(self, scale: Scale) -> Array:
        """Give the pattern of the spread, 1 at the base level and, by category, on average."""
        if scale == "constant":
            return np.ones(len(self.share))
        if scale == "level":
            return self.share.copy()
        return np.array(CATEGORY_SPREADS)[self.category]


def weekday(dates: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """0 is Monday; day 0 of the epoch was a Thursday."""
    return (dates.astype("datetime64[D]").astype(np.int64) + 3) % 7


def month(dates: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """0 is January."""
    return dates.astype("datetime64[M]").astype(np.int64) % 12


def retail_design(
    n_rows: int,
    generator: np.random.Generator,
    *,
    seasonal: bool,
    continuous: bool,
    first_day: np.datetime64 = FIRST_DAY,
) -> Design:
    """Build `n_rows` rows from `first_day` on.

    More rows leave the earlier ones as they are: draws are made row by row.
    """
    row = np.arange(n_rows)
    dates = first_day + (row // N_CATEGORIES).astype("timedelta64[D]")
    category = row % N_CATEGORIES
    factors = [
        (category, CATEGORY_EFFECTS, CATEGORIES),
        (weekday(dates), WEEKDAY_EFFECTS, WEEKDAYS),
    ]
    if seasonal:
        factors.append((month(dates), MONTH_EFFECTS, MONTHS))
    share = np.ones(n_rows)
    blocks: list[Array] = []
    names: list[str] = []
    for code, effects, labels in factors:
        share += np.array(effects)[code]
        blocks.append((code[:, None] == np.arange(1, len(effects))).astype(np.float64))
        names += labels[1:]
    if continuous:
        price, temperature = _price_and_temperature(dates, generator)
        share += PRICE_EFFECT * (price - 0.9) + TEMPERATURE_EFFECT * (temperature - 12.0)
        blocks.append(np.column_stack([price, temperature]))
        names += ["price", "temperature"]
    return Design(np.hstack(blocks), tuple(names), dates, category, share)


def _price_and_temperature(
    dates: NDArray[np.datetime64], generator: np.random.Generator
) -> tuple[Array, Array]:
    """Relative prices between 0.8 and 1, one per row; one temperature a day, warm in summer."""
    draws = generator.random((len(dates), 2))
    first_of_day = np.arange(len(dates)) // N_CATEGORIES * N_CATEGORIES
    day_of_year = (dates - dates.astype("datetime64[Y]")).astype(np.int64)
    season = -9.0 * np.cos(2 * np.pi * day_of_year / YEAR)
    temperature = 12.0 + season + 12.0 * (draws[first_of_day, 1] - 0.5)
    return 0.8 + 0.2 * draws[:, 0], temperature


# --- Demand on a design: what it is like, and one draw of it.


@dataclass(frozen=True, eq=False)
class Market:
    """What the policies look at.

    Attributes
    ----------
    distribution : Distribution
        Of demand, one for each row.
    mean, deviation, demand : ndarray of shape (n_rows,)
    n_train : int
        The shift is chosen on the first rows only, so that it does not depend on how long we test.
    clip, counts : bool
        Whether nothing is below zero; whether only whole units are ordered.
    """

    distribution: Distribution
    mean: Array
    deviation: Array
    demand: Array
    n_train: int
    clip: bool
    counts: bool

    def stocked(self, quantity: Array) -> Array:
        """Order what can be ordered: whole units of counts, nothing below zero."""
        whole = np.ceil(quantity) if self.counts else quantity
        return np.maximum(whole, 0.0) if self.clip else whole


@dataclass(frozen=True)
class DemandKind:
    """What demand is like, checked; see `censoring_lab` for what the numbers mean."""

    family: Family
    scale: Scale
    level: float
    spread: float
    shape: float
    clip: bool

    @classmethod
    def read(
        cls,
        family: Family,
        scale: Scale | None,
        level: float,
        spread: float,
        shape: float | None,
        clip: bool,
    ) -> Self:
        """Check what the user gave, and fill in what depends on the family."""
        if family not in FAMILIES:
            raise InvalidInput(f"family must be one of {', '.join(FAMILIES)}, got {family!r}.")
        if family == "poisson" and scale is not None:
            raise InvalidInput(f'scale must be None for family "poisson", got {scale!r}.')
        pattern: Scale = scale or ("level" if family in POSITIVE else "constant")
        if pattern not in SCALES:
            raise InvalidInput(f"scale must be one of {', '.join(SCALES)}, got {scale!r}.")
        for name, value in (("level", level), ("spread", spread)):
            if as_number(name, value) <= 0:
                raise InvalidInput(f"{name} must be a positive number, got {value}.")
        return cls(
            family, pattern, float(level), float(spread), check_shape(family, shape), bool(clip)
        )

    def market(self, design: Design, luck: np.random.Generator, n_train: int) -> Market:
        """Draw demand for the rows of a design."""
        mean = self.level * design.share
        deviation = self.level * self.spread * design.deviation(self.scale)
        if self.family == "poisson":
            deviation = np.sqrt(mean)
        elif self.family == "negative_binomial":
            deviation = np.sqrt(mean + deviation**2)
        truth = distribution(self.family, mean, deviation, self.shape)
        # 0 is drawn once in 2⁵³ times, and would be a demand of -∞
        demand = truth.ppf(np.maximum(luck.random(len(mean)), 2.0**-54))
        return Market(
            distribution=truth,
            mean=mean,
            deviation=deviation,
            demand=np.maximum(demand, 0.0) if self.clip else demand,
            n_train=n_train,
            clip=self.clip,
            counts=self.family in COUNTS,
        )
