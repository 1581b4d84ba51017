"""What all simulated data share: families of distributions, the calendar, the record of rows.

Mean and deviation mean the same in every family, so a grid over families compares shapes and
nothing else. The quantile functions are those of ``scipy.stats``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from unmet.arrays import Array, PerRow
from unmet.data.bundled import MONTHS, WEEKDAYS
from unmet.validation import Number, WholeNumber

if TYPE_CHECKING:
    import polars

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

# a frozen distribution of scipy.stats with one entry per row: .ppf(level) and .sf(quantity)
Distribution: TypeAlias = Any


def distribution(
    family: Family, mean: Array, deviation: Array, shape: float | None = None
) -> Distribution:
    """Give the conditional distribution of demand, one for each row.

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    mean, deviation : ndarray of shape (n_rows,)
        Of demand. A Poisson demand has only a mean; a negative binomial one needs a variance
        above its mean; positive families need a positive mean.
    shape : float, optional
        Degrees of freedom of "student" (5), shape of the noise of "gamma_noise" (2).

    Examples
    --------
    >>> demand = distribution("laplace", np.array([100.0, 50.0]), np.array([20.0, 5.0]))
    >>> demand.ppf(0.75).round(2)
    array([109.8 ,  52.45])
    """
    match family:
        case "normal":
            return stats.norm(mean, deviation)
        case "logistic":
            return stats.logistic(mean, deviation * np.sqrt(3) / np.pi)
        case "laplace":
            return stats.laplace(mean, deviation / np.sqrt(2))
        case "student":
            freedom = shape or 5.0
            return stats.t(freedom, mean, deviation * np.sqrt((freedom - 2) / freedom))
        case "gumbel":
            unit = deviation * np.sqrt(6) / np.pi
            return stats.gumbel_r(mean - np.euler_gamma * unit, unit)
        case "gamma_noise":  # skewed like a gamma demand, but not tied to zero
            size = shape or 2.0
            unit = deviation / np.sqrt(size)
            return stats.gamma(size, mean - size * unit, unit)
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


FIRST_DAY = np.datetime64("2016-01-01", "D")
YEAR = 365
LEAST_LUCK = 2.0**-54  # a uniform number of 0 would be a demand of −∞


def weekday(dates: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """0 is Monday; day 0 of the epoch was a Thursday."""
    return (dates.astype("datetime64[D]").astype(np.int64) + 3) % 7


def month(dates: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """0 is January."""
    return dates.astype("datetime64[M]").astype(np.int64) % 12


def add_factors(
    start: float, factors: Iterable[tuple[NDArray[np.int64], Sequence[float]]]
) -> tuple[Array, list[Array]]:
    """Add the effects of factors, each given by codes and effects of the codes, to a start.

    Looked up and summed in a fixed order, not a matrix product: the same on every platform. The
    dummies come with it; the first code of each factor is their baseline.
    """
    dummies = []
    summed: Any = start
    for code, effects in factors:
        summed = summed + np.array(effects)[code]
        dummies.append((code[:, None] == np.arange(1, len(effects))).astype(np.float64))
    return summed, dummies


def streams(seed: int | np.random.SeedSequence, count: int) -> list[np.random.Generator]:
    """Give a stream for each purpose: what one of them draws does not move the others."""
    if not isinstance(seed, np.random.SeedSequence):
        seed = np.random.SeedSequence(WholeNumber(0)("seed", seed))
    return [np.random.Generator(np.random.PCG64(child)) for child in seed.spawn(count)]


class Part:
    """Rows of one period, the truth kept beside what was observed: a base of dataclasses."""

    features: Array

    def __len__(self) -> int:
        return len(self.features)

    def take(self, rows: slice | NDArray[np.bool_]) -> Self:
        """Keep some rows."""
        kept: dict[str, Any] = {}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                kept[field.name] = value[rows]
            elif isinstance(value, PerRow):
                kept[field.name] = value.take(rows)
        return replace(self, **kept)  # type: ignore[type-var]

    @property
    def censored(self) -> NDArray[np.bool_]:
        """Rows whose observation hides the truth."""
        raise NotImplementedError

    @property
    def share_censored(self) -> float:
        """Share of rows whose observation hides the truth."""
        return float(self.censored.mean())


class FamilyTruth:
    """Mixin of rows whose truth has a distribution of a known family."""

    mean: Array
    deviation: Array
    family: Family
    clip: bool = False

    @property
    def distribution(self) -> Distribution:
        """Of the truth given the features, one for each row; before clipping."""
        return distribution(self.family, self.mean, self.deviation)

    def optimum(self, level: float) -> Array:
        """Best decisions when the distribution of the truth is known (eq. qopt, eq. cp).

        The conditional α-quantile, for counts the smallest whole number that reaches α; of what is
        clipped at zero max(0, Q*).

        Parameters
        ----------
        level : float
            α in (0, 1).
        """
        best: Array = self.distribution.ppf(Number(above=0, below=1)("level", level))
        return np.maximum(best, 0.0) if self.clip else best


@dataclass(frozen=True, eq=False, kw_only=True)
class DemandPart(FamilyTruth, Part):
    """Demand, orders, and the sales that are left of them.

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_features)
        Dummies (and perhaps price and temperature) without an intercept.
    feature_names : tuple of str
    mean, deviation : ndarray of shape (n_rows,)
        Of demand given the features, before clipping.
    dates : ndarray of shape (n_rows,), datetime64[D]
    category : ndarray of shape (n_rows,), str
        Which series a row belongs to.
    demand : ndarray of shape (n_rows,)
        The truth.
    order : ndarray of shape (n_rows,)
        What was in stock.
    sales : ndarray of shape (n_rows,)
        The observation, min(demand, order).
    family : str
    clip : bool
        Whether demand and order were clipped at zero.
    codes : ndarray of shape (n_rows, n_codes) or None
        Of `nonlinear_demand`: the features with categories as whole numbers, for models that know
        categories.
    code_names : tuple of str
        Columns of `codes`; the first three are categories.
    """

    features: Array
    feature_names: tuple[str, ...]
    mean: Array
    deviation: Array
    dates: NDArray[np.datetime64]
    category: NDArray[np.str_]
    demand: Array
    order: Array
    family: Family = "normal"
    clip: bool = False
    codes: Array | None = None
    code_names: tuple[str, ...] = ()

    @cached_property
    def sales(self) -> Array:
        """The observation, min(demand, order)."""
        return np.minimum(self.demand, self.order)

    @property
    def censored(self) -> NDArray[np.bool_]:
        """Rows whose demand exceeds the order, so that sales hide it."""
        return self.demand > self.order

    def to_polars(self) -> polars.DataFrame:
        """Make a table to look at: the date and what the row is, sales, demand, order."""
        import polars as pl

        # enums, so that sorting by weekday does not start with Friday
        calendar = {
            "weekday": pl.Series(WEEKDAYS, dtype=pl.Enum(WEEKDAYS))[weekday(self.dates)],
            "month": pl.Series(MONTHS, dtype=pl.Enum(MONTHS))[month(self.dates)],
        }
        described: dict[str, Any] = {**calendar, "category": self.category.tolist()}
        if self.codes is not None:
            columns = dict(zip(self.code_names, self.codes.T, strict=True))
            named = {"product": self.category.tolist(), "weekday": calendar["weekday"]}
            described = {**columns, **named, "promotion": columns["promotion"] == 1}
        seen = {"sales": self.sales, "demand": self.demand, "order": self.order}
        return pl.DataFrame({"date": self.dates, **described, **seen})


PartT = TypeVar("PartT", bound=Part)


@dataclass(frozen=True, eq=False)
class Simulated(Generic[PartT]):
    """Training and test rows of one seed."""

    train: PartT
    test: PartT
    seed: int
