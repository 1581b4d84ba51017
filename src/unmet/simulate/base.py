"""What all simulated data share: families of distributions, the calendar, the record of rows.

Mean and deviation mean the same in every family, so a grid over families compares shapes and
nothing else. The quantile functions are those of ``scipy.stats``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from unmet.arrays import Array, PerRow
from unmet.data.bundled import MONTHS, WEEKDAYS
from unmet.errors import InvalidInput
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

#: WholeNumber numbers, so orders are whole numbers, too.
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
        case "gamma_noise":  # skewed like a gamma demand, but not tied to zero
            unit = deviation / np.sqrt(shape)
            return stats.gamma(shape, mean - shape * unit, unit)
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


def check_shape(family: Family, shape: float | None) -> float:
    """Read the shape of a family; 0 for a family without one."""
    if family not in DEFAULT_SHAPES:
        if shape is not None:
            raise InvalidInput(f'shape must be None for family "{family}", got {shape!r}.')
        return 0.0
    default, least = DEFAULT_SHAPES[family], _LEAST_SHAPES[family]
    name = f'shape of family "{family}"'
    return float(Number(above=least)(name, default if shape is None else shape))


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """Rows of one period, the truth kept beside what was observed.

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_features)
        Without an intercept, named by `feature_names`.
    feature_names : tuple of str
    """

    features: Array
    feature_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.features)

    def take(self, rows: slice | NDArray[np.bool_]) -> Self:
        """Keep some rows."""
        kept: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                kept[field.name] = value[rows]
            elif isinstance(value, PerRow):
                kept[field.name] = value.take(rows)
        return replace(self, **kept)

    @property
    def censored(self) -> NDArray[np.bool_]:
        """Rows whose observation hides the truth."""
        raise NotImplementedError

    @property
    def share_censored(self) -> float:
        """Share of rows whose observation hides the truth."""
        return float(self.censored.mean())


@dataclass(frozen=True, eq=False, kw_only=True)
class FamilyPart(Part):
    """Rows whose truth has a distribution of a known family.

    Attributes
    ----------
    mean, deviation : ndarray of shape (n_rows,)
        Of the truth given the features, before clipping.
    family : str
    shape : float
        Of families that have one.
    clip : bool
        Whether what is below zero was clipped.
    """

    mean: Array
    deviation: Array
    family: Family = "normal"
    shape: float = 0.0
    clip: bool = False

    @property
    def distribution(self) -> Distribution:
        """Of the truth given the features, one for each row; before clipping."""
        return distribution(self.family, self.mean, self.deviation, self.shape)

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
class DemandPart(FamilyPart):
    """Demand, orders, and the sales that are left of them.

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_features)
        Dummies (and perhaps price and temperature) without an intercept.
    feature_names : tuple of str
    dates : ndarray of shape (n_rows,), datetime64[D]
    category : ndarray of shape (n_rows,), str
        Which series a row belongs to.
    mean, deviation : ndarray of shape (n_rows,)
        Of demand given the features, before clipping.
    family : str
    shape : float
        Of families that have one.
    demand : ndarray of shape (n_rows,)
        The truth.
    order : ndarray of shape (n_rows,)
        What was in stock.
    sales : ndarray of shape (n_rows,)
        The observation, min(demand, order).
    clip : bool
        Whether demand and order were clipped at zero.
    """

    dates: NDArray[np.datetime64]
    category: NDArray[np.str_]
    demand: Array
    order: Array

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

        return pl.DataFrame(
            {
                "date": self.dates,
                **self._described(),
                "sales": self.sales,
                "demand": self.demand,
                "order": self.order,
            }
        )

    def _described(self) -> dict[str, Any]:
        return {
            "weekday": words(WEEKDAYS, weekday(self.dates)),
            "month": words(MONTHS, month(self.dates)),
            "category": self.category.tolist(),
        }


def words(labels: Sequence[str], codes: NDArray[np.int64]) -> polars.Series:
    """Make a column of labels; an enum, so that sorting by weekday does not start with Friday."""
    import polars as pl

    return pl.Series([labels[code] for code in codes.tolist()], dtype=pl.Enum(labels))


PartT = TypeVar("PartT", bound=Part)


@dataclass(frozen=True, eq=False)
class Simulated(Generic[PartT]):
    """Training and test rows of one seed."""

    train: PartT
    test: PartT
    seed: int
