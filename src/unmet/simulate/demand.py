"""Simulated censored demand with its truth, and the base of all simulated data.

Mean and deviation mean the same in every family, so a grid over families compares only shapes. The
quantile functions are those of ``scipy.stats``.

`censoring_lab` makes data by a grid: demand family × scale × orders × share of censored rows, on
features like those of store 10, with the best decision known in closed form. A band rule that works
on the paper's data may fail on skewed demand, on a spread that varies with the features, or on
scattered orders. The mean of demand is linear in the features of a retailer::

    mean = level · (1 + category + weekday + month)

The effects have the size seen in grocery sales. No mean falls below .45 of the level, so demand is
rarely negative at the usual spread.

`nonlinear_demand` makes demand that no linear decision can follow. Its mean, as a share of the
level, is product + price + temperature + weekday × promotion + season. A markdown adds nothing
until the price falls below a threshold, and soon saturates. Each product has its own best
temperature. A promotion adds little on a Tuesday and much on a Saturday. The season has two peaks a
year.

`history_orders` and `censor` are for demand of your own, such as that of `unmet.data`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Generic, Literal, Self, TypeAlias, TypeVar, get_args

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats
from scipy.optimize import bisect

from unmet.arrays import Array
from unmet.data.bundled import MONTHS, WEEKDAYS
from unmet.errors import InvalidInput
from unmet.evaluation.measures import read_columns
from unmet.validation import Maybe, Number, OneOf, WholeNumber

Family: TypeAlias = str
FAMILIES = (
    *("normal", "logistic", "laplace", "student", "gumbel", "gamma", "gamma_noise"),
    *("lognormal", "weibull", "poisson", "negative_binomial"),
)

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
        Mean and standard deviation of demand. A Poisson demand has only a mean; a negative binomial
        one needs a variance above its mean; positive families need a positive mean.
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
            # exponent k with deviation / mean = `ratio`; it falls in k, so bisection is safe
            ratio = deviation / mean
            target = np.log1p(ratio**2)
            low, high = np.full_like(ratio, np.log(0.1)), np.full_like(ratio, np.log(1e4))
            for _ in range(60):
                middle = (low + high) / 2
                inverse = np.exp(-middle)
                too_wide = (
                    special.gammaln(1 + 2 * inverse) - 2 * special.gammaln(1 + inverse) > target
                )
                low, high = np.where(too_wide, middle, low), np.where(too_wide, high, middle)
            exponent: Array = np.exp((low + high) / 2)
            return stats.weibull_min(exponent, scale=mean / special.gamma(1 + 1 / exponent))
        case "poisson":
            return stats.poisson(mean)
        case _:  # negative binomial: what exceeds the Poisson variance gives the size
            return stats.nbinom(mean**2 / (deviation**2 - mean), mean / deviation**2)


FIRST_DAY = np.datetime64("2016-01-01", "D")
YEAR = 365
LEAST_LUCK = 2.0**-54  # a uniform number of 0 would be a demand of −∞


def weekday(dates: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """Give the weekday, 0 for Monday; day 0 of the epoch was a Thursday."""
    return (dates.astype("datetime64[D]").astype(np.int64) + 3) % 7


def month(dates: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """Give the month, 0 for January."""
    return dates.astype("datetime64[M]").astype(np.int64) % 12


def add_factors(
    start: float, factors: Iterable[tuple[NDArray[np.int64], Sequence[float]]]
) -> tuple[Array, list[Array]]:
    """Add the effects of factors, each given by codes and the effects of the codes, to a start.

    Effects are looked up and summed in a fixed order, without a matrix product, so results are
    equal on every platform. The dummies come with it; the first code of each factor is their
    baseline.
    """
    dummies = []
    summed: Any = start
    for code, effects in factors:
        summed = summed + np.array(effects)[code]
        dummies.append((code[:, None] == np.arange(1, len(effects))).astype(np.float64))
    return summed, dummies


def streams(seed: int | np.random.SeedSequence, count: int) -> list[np.random.Generator]:
    """Give a random stream for each purpose, so that draws of one do not move the others."""
    if not isinstance(seed, np.random.SeedSequence):
        seed = np.random.SeedSequence(WholeNumber(0)("seed", seed))
    return [np.random.Generator(np.random.PCG64(child)) for child in seed.spawn(count)]


class Part:
    """Rows of one period, with the truth next to the observation: a base of dataclasses."""

    features: Array

    def __len__(self) -> int:
        return len(self.features)

    def take(self, rows: slice | NDArray[np.bool_]) -> Self:
        """Select rows.

        Parameters
        ----------
        rows : slice or ndarray of bool
            Rows to keep.
        """
        kept: dict[str, Any] = {}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                kept[field.name] = value[rows]
        return replace(self, **kept)  # type: ignore[type-var]

    censored: Any
    """Rows whose observation hides the truth."""

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
        """Distribution of the truth given the features, one for each row, before clipping."""
        return distribution(self.family, self.mean, self.deviation)

    def optimum(self, level: float) -> Array:
        """Give the best decisions when the distribution of the truth is known (eq. qopt, eq. cp).

        They are the conditional α-quantiles Q*. For counts it is the smallest whole number that
        reaches α; for data that are clipped at zero it is max(0, Q*).

        Parameters
        ----------
        level : float
            Critical ratio α, above 0 and below 1.
        """
        best: Array = self.distribution.ppf(Number(above=0, below=1)("level", level))
        return np.maximum(best, 0.0) if self.clip else best


@dataclass(frozen=True, eq=False, kw_only=True)
class DemandPart(FamilyTruth, Part):
    """Demand, orders, and the sales that remain.

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_features)
        Dummies (and for some data price and temperature) without an intercept.
    feature_names : tuple of str
        Names of the features.
    mean, deviation : ndarray of shape (n_rows,)
        Mean and standard deviation of demand given the features, before clipping.
    dates : ndarray of shape (n_rows,), datetime64[D]
        Date of each row.
    category : ndarray of shape (n_rows,), str
        Series of each row.
    demand : ndarray of shape (n_rows,)
        The truth.
    order : ndarray of shape (n_rows,)
        Available stock.
    sales : ndarray of shape (n_rows,)
        The observation, min(demand, order).
    family : str
        Family of the distribution of demand.
    clip : bool
        Whether demand and order were clipped at zero.
    codes : ndarray of shape (n_rows, n_codes) or None
        For `nonlinear_demand`: the features with categories as whole numbers, for models that
        accept categories.
    code_names : tuple of str
        Columns of `codes`; the first three are categories.

    Examples
    --------
    >>> from unmet.simulate import store10
    >>> train = store10(seed=0).train
    >>> bool((train.sales[train.censored] < train.demand[train.censored]).all())
    True
    >>> train.take(slice(9)).category[:3].tolist()
    ['BREAD/BAKERY', 'DAIRY', 'DELI']
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
        """Observation, min(demand, order)."""
        return np.minimum(self.demand, self.order)

    @property
    def censored(self) -> NDArray[np.bool_]:
        """Rows whose demand exceeds the order, so that sales hide it."""
        return self.demand > self.order

    def to_polars(self) -> pl.DataFrame:
        """Make a table of dates, categories, sales, demand and orders."""
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
    """Training and test rows of one seed.

    Attributes
    ----------
    train, test : DemandPart, PricingPart or ReplacementPart
        Rows for training and rows for testing.
    seed : int
        Seed of the simulation.

    Examples
    --------
    >>> from unmet.simulate import store10
    >>> data = store10(seed=0)
    >>> len(data.train.sales), len(data.test.sales)
    (3294, 1629)
    """

    train: PartT
    test: PartT
    seed: int


# --- Kinds of demand, and what is ordered.

Scale = Literal["constant", "level", "features"]
Policy = Literal["at_mass", "noisy", "never"]

# Shares of the level; the first of each is the baseline of the dummies. Not round, so that the
# means of counts are no whole numbers, at which all rows would sell out together.
CATEGORY_EFFECTS = (0.0, 0.4527, 0.3194, -0.1816, 0.1245, 0.1473, -0.2237, 0.2758, -0.2591)
WEEKDAY_EFFECTS = (0.0, -0.0186, -0.0773, -0.1018, -0.0642, 0.0931, 0.1365)
MONTH_EFFECTS = (
    *(0.0, -0.0218, 0.0107, 0.0492, 0.0381, -0.0094),
    *(-0.0513, -0.0426, 0.0119, -0.0073, -0.0204, 0.0983),
)

PRODUCTS = ("lemonade", "soup", "bread", "salad")


# --- Demand and orders, given the mean of demand as a share of the level.


def draw_demand(
    share: Array,
    category: NDArray[np.int64],
    luck: np.random.Generator,
    *,
    family: Family = "normal",
    scale: Scale | None = None,
    level: float = 100.0,
    spread: float = 0.25,
    clip: bool = True,
) -> dict[str, Any]:
    """Draw demand whose mean is a share of the level; give fields of a `DemandPart`.

    With the scale "features", each category has its own deviation.
    """
    OneOf(*FAMILIES)("family", family)
    Maybe(OneOf(*get_args(Scale)))("scale", scale)
    size = float(Number(above=0)("level", level))
    wide = size * float(Number(above=0)("spread", spread))
    if family == "poisson" and scale is not None:
        raise InvalidInput(f'scale must be None for family "poisson", got {scale!r}.')
    by_category = np.array([1.0, 0.6, 1.5, 0.8, 1.25, 0.5, 1.35, 0.7, 1.3])  # mean 1
    pattern = {
        "constant": np.ones(len(share)),
        "level": share,
        "features": by_category[category],
    }[scale or ("level" if family in POSITIVE else "constant")]
    mean, deviation = size * share, wide * pattern
    if family == "poisson":
        deviation = np.sqrt(mean)
    elif family == "negative_binomial":
        deviation = np.sqrt(mean + deviation**2)
    truth = distribution(family, mean, deviation)
    demand = truth.ppf(np.maximum(luck.random(len(mean)), LEAST_LUCK))
    return {
        "mean": mean,
        "deviation": deviation,
        "demand": np.maximum(demand, 0.0) if clip else demand,
        "family": family,
        "clip": clip,
    }


def stocked(rows: DemandPart, quantity: Array) -> Array:
    """Round orders to what can be ordered: whole units of counts, nothing below zero."""
    whole = np.ceil(quantity) if rows.family in COUNTS else quantity
    return np.maximum(whole, 0.0) if rows.clip else whole


def _with_orders(
    rows: DemandPart,
    n_train: int,
    generator: np.random.Generator,
    orders: Policy,
    share: float | None,
    noise: float,
) -> DemandPart:
    """Order for every row.

    The draws are the same whatever the policy, so policies can be compared seed by seed. The shift
    is chosen on the first `n_train` rows only, so that it does not depend on how long we test.
    """
    OneOf(*get_args(Policy))("orders", orders)
    Number(least=0)("noise", noise)
    Maybe(Number(above=0, below=1))("share", share)
    draws, truth = generator.random((len(rows), 2)), rows.distribution
    if orders == "never":
        if share is not None:
            raise InvalidInput(f'share must be None with orders="never", got {share!r}.')
        # above the .999-quantile, and above demand where it is higher
        plenty = np.maximum(truth.ppf(0.999), rows.demand) + rows.deviation
        return replace(rows, order=stocked(rows, plenty))
    scatter = np.zeros(len(rows))
    if orders == "noisy":
        scatter = noise * rows.deviation * special.ndtri(np.maximum(draws[:, 0], LEAST_LUCK))
    if share is None:
        return replace(rows, order=stocked(rows, rows.mean + scatter))

    def excess(shift: float) -> float:
        """Give the expected share of sold-out training rows beyond what is asked for."""
        sold_out = truth.sf(stocked(rows, rows.mean + shift + scatter))
        return float(sold_out[:n_train].mean()) - float(share)

    # beyond the smallest and largest quantile, plus what scatters, all rows are on one side
    reach = np.abs(truth.ppf([[1e-9], [1 - 1e-9]]) - rows.mean).max()
    most = float(reach + np.abs(scatter).max())
    if excess(-most) < 0:
        raise InvalidInput(
            f"share must be at most {excess(-most) + share:.3f}, "
            f"the share of rows with any demand, got {share}."
        )
    level = rows.mean + float(bisect(excess, -most, most, xtol=1e-8 * most))
    return replace(rows, order=stocked(rows, level + scatter))


# --- Linear demand of a retailer.


def censoring_lab(
    family: Family = "normal",
    *,
    scale: Scale | None = None,
    orders: Policy = "at_mass",
    share: float | None = None,
    noise: float = 0.5,
    n: int = 3294,
    n_test: int = 1629,
    level: float = 100.0,
    spread: float = 0.25,
    clip: bool = True,
    seed: int = 0,
) -> Simulated[DemandPart]:
    """Simulate censored demand whose truth and best decisions are known.

    Parameters
    ----------
    family : str
        Family of demand: "normal", "logistic", "laplace", "student" (5 degrees of freedom),
        "gumbel" (skewed to the right), "gamma", "lognormal", "weibull" (positive), "gamma_noise"
        (mean plus centered gamma noise of shape 2), "poisson" or "negative_binomial" (counts).
    scale : {"constant", "level", "features"}, optional
        Whether the deviation of demand is constant, proportional to the mean, or different by
        category. None is "level" for positive families, which makes their shape constant, and
        "constant" for the others. For a negative binomial demand it is the deviation beyond that of
        a Poisson demand; a Poisson demand has no scale of its own.
    orders : {"at_mass", "noisy", "never"}
        "at_mass" orders the mean of the row plus one shift for all rows. "noisy" adds normal
        scatter. "never" never sells out. For orders that follow the past, use "never" and
        `history_orders`.
    share : float, optional
        Expected share of censored rows, which determines the shift. Larger shares mean smaller
        orders. None is no shift.
    noise : float
        Standard deviation of the scatter of "noisy", in units of the row's deviation of demand.
    n, n_test : int
        Number of training rows and of test rows, nine categories a day. Test rows start on the day
        after the training rows. Months have effects and dummies if training covers a year.
    level : float
        Mean demand of the first category on a Monday in January.
    spread : float
        Deviation of demand there, as a share of `level`. Larger values make demand noisier.
    clip : bool
        Whether to clip demand and order at zero, which changes few rows at the default spread.
    seed : int
        Non-negative seed.

    Returns
    -------
    Simulated
        Data with `train` and `test`. The quantile function of demand transforms uniform numbers of
        NumPy's PCG64. Families and policies of one seed therefore share their randomness, and
        training rows do not depend on the number of test rows.

    Examples
    --------
    >>> from unmet.simulate import censoring_lab
    >>> data = censoring_lab("gamma", orders="noisy", share=0.3)
    >>> data.train.features.shape, data.test.features.shape
    ((3294, 25), (1629, 25))
    >>> round(data.train.share_censored, 1)
    0.3
    >>> round(float((data.test.demand <= data.test.optimum(0.85)).mean()), 2)
    0.85
    """
    n_train, n_rows = WholeNumber(1)("n", n), WholeNumber(1)("n_test", n_test)
    luck, stock = streams(seed, 4)[1:3]
    start = -(-n_train // 9) * 9  # testing starts with a whole day
    columns, means, category = retail_rows(start + n_rows, FIRST_DAY, start)
    drawn = draw_demand(
        means, category, luck, family=family, scale=scale, level=level, spread=spread, clip=clip
    )
    rows = DemandPart(**columns, **drawn, order=np.full(start + n_rows, np.inf))
    rows = _with_orders(rows, n_train, stock, orders, share, noise)
    return Simulated(rows.take(slice(0, n_train)), rows.take(slice(start, None)), int(seed))


def retail_rows(
    n_rows: int, first_day: np.datetime64, n_train: int
) -> tuple[dict[str, Any], Array, NDArray[np.int64]]:
    """Make rows in order of time: every category of a day, then the next day.

    Returns
    -------
    columns : dict
        Fields of a `DemandPart`: features, feature_names, dates and category. Months are features
        if training covers a year.
    share : ndarray of shape (n_rows,)
        Mean demand as a share of the level.
    category : ndarray of shape (n_rows,), int
        Category of each row.
    """
    row, n_categories = np.arange(n_rows), len(CATEGORY_EFFECTS)
    categories = [f"category {number}" for number in range(1, n_categories + 1)]
    dates = first_day + (row // n_categories).astype("timedelta64[D]")
    category = row % n_categories
    factors = [(category, CATEGORY_EFFECTS), (weekday(dates), WEEKDAY_EFFECTS)]
    names = [*categories[1:], *WEEKDAYS[1:]]
    if n_train >= YEAR * n_categories:
        factors.append((month(dates), MONTH_EFFECTS))
        names += MONTHS[1:]
    share, blocks = add_factors(1.0, factors)
    columns = {
        "features": np.hstack(blocks),
        "feature_names": tuple(names),
        "dates": dates,
        "category": np.array(categories)[category],
    }
    return columns, share, category


# --- Demand that bends and interacts.


def nonlinear_demand(
    seed: int = 0,
    *,
    scale: Scale | None = None,
    orders: Policy = "at_mass",
    n: int = 3000,
    n_test: int = 4000,
) -> Simulated[DemandPart]:
    """Simulate demand that is nonlinear in its features, censored by nonlinear orders.

    Parameters
    ----------
    seed : int
        Non-negative seed.
    scale, orders
        As in `censoring_lab`. With the scale "features", each product has its own deviation.
    n, n_test : int
        Number of training rows and of test rows, four products a day. Test rows start on the day
        after the training rows. A year has 1,460 rows; fewer rows do not cover all seasons.

    Returns
    -------
    Simulated
        Data with `train` and `test`. Training rows do not depend on the number of test rows.
        `features` are dummies of product and weekday, promotion, price, temperature and day of the
        year. `codes` are the same with product and weekday as whole numbers.

    Examples
    --------
    A linear decision costs much more than the best one, even if it saw the whole truth:

    >>> from unmet import LinearDecision, Newsvendor
    >>> from unmet.simulate import nonlinear_demand
    >>> data, cost = nonlinear_demand(), Newsvendor.at_level(0.85)
    >>> model = LinearDecision(cost).fit(data.train.features, data.train.demand)
    >>> paid = -model.score(data.test.features, data.test.demand)
    >>> best = cost.cost(data.test.optimum(0.85), data.test.demand).mean()
    >>> bool(paid > 1.5 * best)
    True
    """
    n_train, n_rows = WholeNumber(1)("n", n), WholeNumber(1)("n_test", n_test)
    draws, luck, stock = streams(seed, 3)
    n_products = len(PRODUCTS)
    start = -(-n_train // n_products) * n_products  # testing starts with a whole day
    # rows in order of time, every product of a day; more rows leave the earlier ones alone
    row = np.arange(start + n_rows)
    product = row % n_products
    dates = FIRST_DAY + (row // n_products).astype("timedelta64[D]")
    day_of_week = weekday(dates)
    day = (dates - dates.astype("datetime64[Y]")).astype(np.int64)
    uniform = draws.random((len(row), 3))
    promotion = uniform[:, 0] < 0.3
    price = 0.7 + 0.4 * uniform[:, 1]
    season = -9.0 * np.cos(2 * np.pi * day / YEAR)
    temperature = 13.0 + season + 14.0 * (uniform[row - product, 2] - 0.5)

    # the mean as a share of the level
    base, by_price = np.array([[0.9137, 0.7928, 1.2241, 0.8653], [1.0, 0.45, 0.2, 0.75]])
    markdown = 0.62 * special.expit((0.87 - price) / 0.025)
    # height, best temperature and width of each product's hump
    humps = (0.84, 25.0, 6.0), (0.66, 3.0, 5.0), (0.0, 12.0, 1.0), (0.47, 18.0, 4.0)
    height, best, width = np.array(humps)[product].T
    hump = height * np.exp(-(((temperature - best) / width) ** 2))
    on_the_day = np.array([0.0, -0.0512, -0.0947, -0.0308, 0.1173, 0.2236, 0.0819])[day_of_week]
    lift = np.array([0.1021, 0.0314, 0.0192, 0.0877, 0.5264, 0.7638, 0.3415])[day_of_week]
    share_of_level = base[product] + by_price[product] * markdown + hump + on_the_day
    share_of_level = share_of_level + np.where(promotion, lift, 0.0)
    share_of_level = share_of_level + 0.1483 * np.sin(4 * np.pi * day / YEAR)

    codes = np.column_stack([product, day_of_week, promotion, price, temperature, day])
    code_names = ("product", "weekday", "promotion", "price", "temperature", "day")
    dummies = [
        product[:, None] == np.arange(1, n_products),
        day_of_week[:, None] == np.arange(1, len(WEEKDAYS)),
    ]
    drawn = draw_demand(share_of_level, product, luck, scale=scale, spread=0.2)
    rows = DemandPart(
        features=np.hstack([*dummies, codes[:, 2:]]).astype(np.float64),
        feature_names=(*PRODUCTS[1:], *WEEKDAYS[1:], *code_names[2:]),
        dates=dates,
        category=np.array(PRODUCTS)[product],
        codes=codes,
        code_names=code_names,
        order=np.full(len(row), np.inf),
        **drawn,
    )
    rows = _with_orders(rows, n_train, stock, orders, None, 0.5)
    return Simulated(rows.take(slice(0, n_train)), rows.take(slice(start, None)), int(seed))


# --- Orders that follow a series' own past: to censor real demand.


def censor(demand: ArrayLike, order: ArrayLike) -> tuple[Array, NDArray[np.bool_]]:
    """Censor demand by the available stock.

    Parameters
    ----------
    demand : array-like of shape (n_rows,)
        Demanded units.
    order : array-like of shape (n_rows,)
        Available stock of each row; ``inf`` never runs out.

    Returns
    -------
    sales : ndarray of shape (n_rows,)
        min(demand, order).
    censored : ndarray of shape (n_rows,)
        Whether demand exceeds the order.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.simulate import censor
    >>> censor([5, 8, 3], [6, 6, np.inf])
    (array([5., 6., 3.]), array([False,  True, False]))
    """
    (wanted,) = read_columns(demand=demand)
    stock = np.asarray(order, dtype=np.float64)
    return np.minimum(wanted, stock), wanted > stock


def history_orders(
    demand: ArrayLike,
    date: ArrayLike,
    series: ArrayLike | None = None,
    *,
    k: int = 4,
    factor: float = 1.0,
    on: Literal["demand", "sales"] = "demand",
    round_up: bool = True,
) -> Array:
    """Make orders that are a multiple of the mean of the last `k` same weekdays of the series.

    ::

        order = ⌈factor · (v₁ + … + v_k) / k⌉

    where v are the demands, or the sales that earlier orders left, of the last `k` rows of the
    series on that weekday. Days without a row, on which the store was closed, are skipped.

    Parameters
    ----------
    demand : array-like of shape (n_rows,)
        Demand, with rows in any order.
    date : array-like of shape (n_rows,)
        Dates, such as ``datetime64`` or a column of a table; one row per series and date.
    series : array-like of shape (n_rows,), optional
        Label of the series of each row, such as store and product in one. None is a single series.
    k : int, default=4
        Number of same weekdays to average.
    factor : float, default=1.0
        Safety factor. Larger values give fewer stock-outs.
    on : {"demand", "sales"}, default="demand"
        What the planner averages. With "sales" a sold-out day lowers later orders: the spiral-down
        of Cooper, Homem-de-Mello and Kleywegt (2006).
    round_up : bool, default=True
        Whether to order whole units.

    Returns
    -------
    ndarray of shape (n_rows,)
        Orders; ``inf`` if there are fewer than `k` earlier same weekdays.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.simulate import history_orders
    >>> weeks = np.datetime64("2024-01-01") + np.arange(4) * np.timedelta64(7, "D")
    >>> history_orders([10, 13, 20, 11], weeks, k=2)
    array([inf, inf, 12., 17.])
    >>> history_orders([10, 13, 20, 11], weeks, k=2, on="sales")
    array([inf, inf, 12., 13.])
    """
    (wanted,) = read_columns(demand=demand)
    try:
        days = np.asarray(date).astype("datetime64[D]")
    except (TypeError, ValueError):
        raise InvalidInput(f"date must be dates, got {date!r:.60}.") from None
    labels = np.zeros(wanted.size) if series is None else np.asarray(series)
    if not days.shape == labels.shape == wanted.shape or np.isnat(days).any():
        raise InvalidInput(
            f"date and series must have an entry for each of {wanted.size} rows of demand, got "
            f"shapes {days.shape} and {labels.shape}, or a missing date."
        )
    groups = np.unique(labels, return_inverse=True)[1]
    weeks, multiple = WholeNumber(1)("k", k), Number(above=0)("factor", factor)
    on_sales = OneOf("demand", "sales")("on", on) == "sales"
    rows = np.lexsort((days, weekday(days), groups))
    twice = (np.diff(groups[rows]) == 0) & (np.diff(days[rows]) == np.timedelta64(0, "D"))
    if twice.any():
        day = days[rows][1:][twice][0]
        raise InvalidInput(f"date must not repeat within a series, got {day} twice.")
    starts = np.flatnonzero(np.diff(7 * groups[rows] + weekday(days)[rows])) + 1
    order = np.full(len(wanted), np.inf)
    for same_weekday in np.split(rows, starts):  # of one series, in order of time
        seen: list[float] = []
        for row, value in zip(same_weekday.tolist(), wanted[same_weekday].tolist(), strict=True):
            if len(seen) >= weeks:
                ordered = multiple * (sum(seen[-weeks:]) / weeks)
                if round_up:  # 1.1 is not exact in binary: 1.1 × 50 must not be rounded up to 56
                    ordered = float(np.ceil(ordered - 1e-9 * abs(ordered)))
                order[row] = ordered
            seen.append(min(value, float(order[row])) if on_sales else value)
    return order
