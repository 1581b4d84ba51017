"""The bank: many kinds of demand and orders with the truth kept, to ask what a diagnosis is worth.

A rule that says "the data can tell" must be right on data that nobody tuned it for. The bank varies
one thing at a time around a plain case, and adds the bundled real series:

- distributions: symmetric, skewed to the right, skewed to the left, with zeros, counts, two humps;
- means: linear in the features, bent in a given feature, multiplicative, with a feature, a trend or
  a shift of the level that nobody recorded;
- orders: none that bind, an exact plane of the features, noisy ones, ones that follow past sales or
  past demand, one constant capacity, and a second delivery at noon;
- sizes from 150 to 20,000 rows, and panels of many series with levels of their own.

The mean is a share of a base level that adds up over the features of a shop::

    mean = level · (1 + series + weekday + price + temperature + promotion)

Kinds with the same demand but other orders share every draw, so orders are compared on the same
days.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from types import MappingProxyType
from typing import Any, Literal, get_args
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, owens_t

from unmet.arrays import Array
from unmet.data.bundled import WEEKDAYS, load_bakery, load_yaz
from unmet.errors import InvalidInput, Unsupported
from unmet.simulate import censor, censoring_lab, history_orders
from unmet.simulate.demand import (
    CATEGORY_EFFECTS,
    FIRST_DAY,
    LEAST_LUCK,
    WEEKDAY_EFFECTS,
    YEAR,
    DemandPart,
    Part,
    Simulated,
    distribution,
    draw_demand,
    retail_rows,
    stocked,
    streams,
    weekday,
)
from unmet.simulate.shop import FIRST_MONDAY
from unmet.validation import Maybe, Number, OneOf, WholeNumber, read_parameters

BankMean = Literal[
    "linear", "kinked", "saturated", "multiplicative", "missing", "trend", "shift", "real"
]
BankOrders = Literal[
    "none", "plane", "noisy", "sales history", "demand history", "capacity", "restocked"
]
Identifiers = Literal["dummies", "number", "absent"]
MEANS: tuple[BankMean, ...] = get_args(BankMean)[:-1]
ORDERS: tuple[BankOrders, ...] = get_args(BankOrders)

_WEEKS_BACK = 4
_DAYS_BACK = 7 * _WEEKS_BACK  # of days before the first row, for orders that follow the past
_REFERENCE = 8  # draws of every row's demand from which the expected share is computed
_CLOSED = 0.2  # share of days without demand of the zero-inflated distribution
_NOISE = 0.5  # scatter of noisy orders, in deviations of demand
_SECOND_CHANCE, _SECOND_SIZE = 0.5, 0.3  # of sold-out rows restocked; size relative to the order
_PANEL_DAYS = 90
_PANEL_LEVELS = 0.6  # standard deviation of the logarithm of a series' level

# shares of the level; not round, so that the means of counts are no whole numbers
_SERIES_EFFECTS = (0.0, 0.3127, -0.1816, 0.1245, -0.2237, 0.2194)
_WEEKDAY_EFFECTS = (0.0, -0.0186, -0.0773, -0.0518, 0.0642, 0.1431, 0.0965)
_PRICES = (0.8, 1.1)
_PRICE_EFFECT, _PROMOTION_EFFECT, _TEMPERATURE_EFFECT = -0.5137, 0.2914, 0.0061
_KINK, _KINK_EFFECT = 0.93, 4.713  # price below which demand rises, and by how much per unit
_MISSING_EFFECT, _MISSING_SHARE = 0.5873, 0.25  # of an event that nobody recorded
_TREND_EFFECT, _SHIFT_EFFECT, _SHIFT_TIME = 0.4126, 0.3271, 0.6  # time is 1 where training ends


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


def _reflected(distribution: Quantile) -> Quantile:
    """Turn a distribution around at its mean: skewed to the left where it was to the right."""

    def quantile(level: Array, mean: Array, deviation: Array) -> Array:
        turned: Array = 2 * mean - distribution(1 - level, mean, deviation)
        return turned

    return quantile


def _inverted(cumulative: Callable[[Array], Array]) -> Quantile:
    """Quantiles of a standardised distribution by bisection within ±12 deviations."""

    def quantile(level: Array, mean: Array, deviation: Array) -> Array:
        low, high = np.full(np.shape(level), -12.0), np.full(np.shape(level), 12.0)
        for _ in range(52):
            middle = (low + high) / 2
            below = cumulative(middle) < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        found: Array = mean + deviation * (low + high) / 2
        return found

    return quantile


def _skew_normal_left(standardised: Array) -> Array:
    """Skew-normal of shape −5: mean δ√(2/π) and variance 1 − 2δ²/π before it is standardised."""
    shape = -5.0
    delta = shape / np.sqrt(1 + shape**2)
    value = delta * np.sqrt(2 / np.pi) + standardised * np.sqrt(1 - 2 * delta**2 / np.pi)
    return np.asarray(ndtr(value) - 2 * owens_t(value, shape))


def _two_humps(standardised: Array) -> Array:
    """Ordinary days (65 in 100) and busy ones, each normal; mean 0 and variance 1 together."""
    busy, width = 0.35, 0.45
    apart = np.sqrt((1 - width**2) / (busy * (1 - busy)))
    ordinary, others = -busy * apart, (1 - busy) * apart
    return np.asarray(
        (1 - busy) * ndtr((standardised - ordinary) / width)
        + busy * ndtr((standardised - others) / width)
    )


def _zero_inflated(level: Array, mean: Array, deviation: Array) -> Array:
    """No demand on a share of days; gamma on the others, whose mean and deviation these are."""
    rest = np.maximum((level - _CLOSED) / (1 - _CLOSED), LEAST_LUCK)
    return np.where(level <= _CLOSED, 0.0, family_quantile("gamma")(rest, mean, deviation))


def _rounded(level: Array, mean: Array, deviation: Array) -> Array:
    """Round normal demand to whole units: the smallest k with P(D < k + ½) ≥ level."""
    return np.ceil(family_quantile("normal")(level, mean, deviation) - 0.5)


DISTRIBUTIONS = MappingProxyType(
    {
        "normal": SHOP_DISTRIBUTIONS["normal"],
        "logistic": Distribution(family_quantile("logistic")),
        "laplace": Distribution(family_quantile("laplace")),
        "student": Distribution(family_quantile("student", 4.0)),
        "two humps": Distribution(_inverted(_two_humps)),
        "gamma": SHOP_DISTRIBUTIONS["gamma"],
        "lognormal": SHOP_DISTRIBUTIONS["lognormal"],
        "gumbel": Distribution(family_quantile("gumbel")),
        "weibull": Distribution(family_quantile("weibull"), spread=0.4, by_level=True),
        "gumbel left": Distribution(_reflected(family_quantile("gumbel"))),
        "gamma left": Distribution(_reflected(family_quantile("gamma_noise", 4.0))),
        "skew-normal left": Distribution(_inverted(_skew_normal_left)),
        "zero-inflated": Distribution(_zero_inflated, spread=0.4, by_level=True),
        "intermittent": SHOP_DISTRIBUTIONS["intermittent"],
        "poisson": SHOP_DISTRIBUTIONS["poisson"],
        "negative binomial": SHOP_DISTRIBUTIONS["negative binomial"],
        "whole normal": Distribution(_rounded, level=25.0, whole=True),
    }
)
REAL = ("bakery", "yaz")
_DISHES = ("shrimp", "chicken", "koefte", "lamb", "steak")  # of the others few are sold
_WEATHER: tuple[str, ...] = (
    "is_holiday",
    "wind",
    "clouds",
    "rain",
    "sunshine",
    "temperature",
)
_SHOP: tuple[str, ...] = (
    "is_holiday",
    "is_holiday_next2days",
    "is_schoolholiday",
    "promotion_currentweek",
    "promotion_lastweek",
    "rain",
    "temperature",
)


# --- kinds ----------------------------------------------------------------------------------------

_CONSTRAINTS = {
    "distribution": OneOf(*DISTRIBUTIONS, *REAL),
    "mean": OneOf(*get_args(BankMean)),
    "orders": OneOf(*ORDERS),
    "size": WholeNumber(100),
    "share": Maybe(Number(above=0, below=1)),
    "factor": Maybe(Number(above=0)),
    "panel": Maybe(OneOf(*get_args(Identifiers))),
}
_SHARED = frozenset({"plane", "noisy", "capacity", "restocked"})
_HISTORIES = MappingProxyType({"sales history": ("sales", 1.15), "demand history": ("demand", 1.0)})


@dataclass(frozen=True, kw_only=True)
class BankKind:
    """A kind of case: what demand is like, and what hides it.

    Attributes
    ----------
    distribution : str
        "normal", "logistic", "laplace", "student", "two humps" (ordinary days and busy ones);
        "gamma", "lognormal", "gumbel", "weibull" (skewed to the right); "gumbel left", "gamma
        left", "skew-normal left"; "zero-inflated" (gamma, no demand on 20% of days),
        "intermittent" (counts, no demand on 55%), "poisson", "negative binomial", "whole normal"
        (rounded to units). Or real demand whose distribution nobody knows: "bakery", "yaz".
    mean : str
        "linear" in the features; "kinked" (demand rises once a given price falls below a
        threshold), "saturated" (and rises no more below it), "multiplicative" (a product of
        effects); "missing" (an event that is not among the features), "trend" and "shift" (of the
        level, neither given nor seasonal); "real" of real demand.
    orders : str
        "none" (nothing is hidden), "plane" (exactly linear in the features), "noisy" (mean plus a
        constant, scattered), "sales history" and "demand history" (see `history_orders`),
        "capacity" (one constant), "restocked" (noisy, and half of the rows that sold out got a
        second delivery, which is part of their order).
    size : int
        Rows to train on.
    share : float, optional
        Expected share of training rows censored, for orders that can choose it (.3).
    factor : float, optional
        Safety factor of orders that follow history (1.15 on sales, 1 on demand).
    panel : {"dummies", "number", "absent"}, optional
        Many series of 90 days with levels of their own, and how features tell them apart.
    """

    distribution: str = "normal"
    mean: BankMean = "linear"
    orders: BankOrders = "noisy"
    size: int = 900
    share: float | None = None
    factor: float | None = None
    panel: Identifiers | None = None

    def __post_init__(self) -> None:
        read_parameters(_CONSTRAINTS, self)
        if (self.distribution in REAL) != (self.mean == "real"):
            raise InvalidInput(
                f'mean must be "real" for the distributions {", ".join(REAL)} and for no other, '
                f'got "{self.mean}" with distribution "{self.distribution}".'
            )
        if self.share is not None and self.orders not in _SHARED:
            raise InvalidInput(f'share must be None with orders="{self.orders}", got {self.share}.')
        if self.factor is not None and self.orders not in _HISTORIES:
            raise InvalidInput(
                f'factor must be None with orders="{self.orders}", got {self.factor}.'
            )
        if self.panel is not None and self.distribution == "yaz":
            raise InvalidInput(f'panel must be None for distribution "yaz", got "{self.panel}".')
        if (
            self.distribution in REAL
            and self.panel is None
            and self.size > _LONGEST[self.distribution]
        ):
            longest = _LONGEST[self.distribution]
            raise InvalidInput(
                f'size must be at most {longest} for distribution "{self.distribution}", got '
                f"{self.size}."
            )
        if self.distribution == "bakery" and self.panel and self.n_series > _PANEL_STORES:
            raise InvalidInput(
                f"size must be at most {_PANEL_STORES * _PANEL_DAYS} for a panel of the bakery, "
                f"got {self.size}."
            )

    @property
    def group(self) -> str:
        """Which part of the bank it belongs to."""
        if self.distribution in REAL:
            return "real"
        if self.panel is not None:
            return "panel"
        return "never censored" if self.never else "censored"

    @property
    def never(self) -> bool:
        """Whether nothing is hidden."""
        return self.orders == "none"

    @property
    def expected_share(self) -> float | None:
        """Expected share of training rows censored; None where it follows from the orders."""
        if self.never:
            return 0.0
        if self.orders in _HISTORIES:
            return None
        return 0.3 if self.share is None else self.share

    @property
    def n_series(self) -> int:
        """How many series the rows belong to."""
        if self.panel is not None:
            return -(-self.size // _PANEL_DAYS)
        if self.distribution in REAL:
            return 1
        return next((count for most, count in _SERIES if self.size <= most), 20)

    @property
    def name(self) -> str:
        """What it is in a few words; no two kinds have the same."""
        panel = [] if self.panel is None else [f"{self.n_series} series ({self.panel})"]
        return ", ".join([self._demand, *panel, self.orders, *self._chosen()])

    @property
    def _demand(self) -> str:
        """What its demand is, whatever the orders: such kinds share their draws."""
        return f"{self.distribution}, {self.mean}, {self.size} rows"

    def _chosen(self) -> list[str]:
        share = [] if self.share is None else [f"{100 * self.share:g}% sold out"]
        return share + ([] if self.factor is None else [f"factor {self.factor:g}"])


_SERIES = ((299, 1), (1999, 3), (5999, 6))  # at most so many rows: so many series
_PANEL_STORES = 20  # that were open on nearly every day
_LONGEST = MappingProxyType({"bakery": 930, "yaz": 600})


@cache
def bank_kinds(which: Literal["curated", "never"] = "curated") -> tuple[BankKind, ...]:
    """List the kinds of the bank.

    Parameters
    ----------
    which : {"curated", "never"}
        "curated": every distribution under no, noisy and plane orders; every mean; every kind of
        orders; sizes; panels; real series. "never": every distribution with every mean, nothing
        hidden.

    Returns
    -------
    tuple of BankKind
        Any other combination is a `BankKind` of your own.

    Examples
    --------
    >>> kinds = bank_kinds()
    >>> len(kinds), kinds[1].name
    (120, 'normal, linear, 900 rows, plane')
    >>> import polars as pl
    >>> pl.DataFrame(kinds).columns
    ['distribution', 'mean', 'orders', 'size', 'share', 'factor', 'panel']
    """
    if OneOf("curated", "never")("which", which) == "never":
        return tuple(
            BankKind(distribution=distribution, mean=mean, orders="none")
            for distribution in DISTRIBUTIONS
            for mean in MEANS
        )
    kind = BankKind
    three: tuple[BankOrders, ...] = ("none", "plane", "noisy")
    others: tuple[BankOrders, ...] = (
        "sales history",
        "demand history",
        "capacity",
        "restocked",
    )
    found = [
        kind(distribution=distribution, orders=orders)
        for distribution, orders in product(DISTRIBUTIONS, three)
    ]
    for mean in MEANS[1:]:
        found += [
            kind(distribution=distribution, mean=mean, orders="none")
            for distribution in ("normal", "gamma")
        ]
        found += [kind(mean=mean, orders=orders) for orders in ("noisy", "sales history")]
    found += [
        kind(distribution=distribution, orders=orders)
        for distribution, orders in product(("normal", "gamma"), others)
    ]
    found += [kind(distribution="poisson", orders=orders) for orders in others[:2]]
    found += [kind(share=0.1), kind(share=0.6), kind(orders="sales history", factor=1.3)]
    sizes = ((150, "none"), (150, "noisy"), (400, "none"), (400, "noisy"), (3000, "none"))
    found += [kind(size=size, orders=orders) for size, orders in sizes]  # type: ignore[arg-type]
    found += [kind(size=3000), kind(size=20_000, orders="none"), kind(size=20_000)]
    for panel in get_args(Identifiers):
        found += [
            kind(distribution="gamma", panel=panel, size=2700, orders=orders)
            for orders in ("none", "noisy", "sales history")
        ]
    found += [
        kind(distribution="poisson", panel="dummies", size=2700, orders=orders)
        for orders in ("none", "sales history")
    ]
    real: Any = {"mean": "real"}
    found += [
        kind(distribution=distribution, size=size, orders=orders, **real)
        for distribution, size in (("bakery", 730), ("yaz", 480))
        for orders in ("none", "sales history", "demand history", "noisy", "capacity")
    ]
    found += [
        kind(distribution="bakery", panel="dummies", size=1080, orders=orders, **real)
        for orders in ("none", "sales history", "demand history")
    ]
    return tuple(found)


# --- cases ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class BankPart(Part):
    """Rows of one period, the truth kept beside what a planner sees.

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_features)
        Weekday dummies, price, temperature, promotion, and what tells series apart; of real demand
        what its table holds.
    feature_names : tuple of str
    dates : ndarray of shape (n_rows,), datetime64[D]
    series : ndarray of shape (n_rows,), str
    demand : ndarray of shape (n_rows,)
        The truth.
    order : ndarray of shape (n_rows,)
        What there was to sell, a second delivery included; ``inf`` where it was more than enough.
    mean, deviation : ndarray of shape (n_rows,)
        Parameters of the distribution, given all that moves demand (not only the features); of
        distributions with zeros those of days with demand. Of real demand the nearest plane of the
        features, and the deviation from it.
    distribution : str
    """

    features: Array
    feature_names: tuple[str, ...]
    dates: NDArray[np.datetime64]
    series: NDArray[np.str_]
    demand: Array
    order: Array
    mean: Array
    deviation: Array
    distribution: str

    @property
    def sales(self) -> Array:
        """The observation, min(demand, order)."""
        return censor(self.demand, self.order)[0]

    @property
    def censored(self) -> NDArray[np.bool_]:
        """Rows whose demand exceeds the order, so that sales hide it."""
        return self.demand > self.order

    def optimum(self, level: float) -> Array:
        """Best decisions with the true distribution known: the row's α-quantile.

        Parameters
        ----------
        level : float
            α in (0, 1).
        """
        read = float(Number(above=0, below=1)("level", level))
        if self.distribution in REAL:
            raise Unsupported(
                f"The distribution of real demand ({self.distribution}) is not known."
            )
        return demand_at(self.distribution, np.full(len(self), read), self.mean, self.deviation)


@dataclass(frozen=True, eq=False)
class BankCase(Simulated[BankPart]):
    """Training and test rows of one kind and seed."""

    kind: BankKind

    @property
    def name(self) -> str:
        """Name of the kind."""
        return self.kind.name

    @property
    def group(self) -> str:
        """Part of the bank that the kind belongs to."""
        return self.kind.group


def bank(kind: BankKind | str = "normal, linear, 900 rows, noisy", seed: int = 0) -> BankCase:
    """Draw a case of the bank.

    Parameters
    ----------
    kind : BankKind or str
        A kind, or the name of one that `bank_kinds` lists.
    seed : int
        Non-negative. Of real demand it chooses series and period.

    Returns
    -------
    BankCase
        With `train`, `test` and `kind`. Testing starts on the day after training. The same kind
        and seed give the same rows.

    Examples
    --------
    >>> case = bank("gumbel left, linear, 900 rows, noisy")
    >>> case.train.features.shape, case.test.features.shape
    ((900, 11), (1500, 11))
    >>> round(case.train.share_censored, 1)
    0.3
    >>> bool(abs((case.test.demand <= case.test.optimum(0.85)).mean() - 0.85) < 0.02)
    True
    """
    if isinstance(kind, str):
        kind = _named(kind)
    elif not isinstance(kind, BankKind):
        raise InvalidInput(f"kind must be a BankKind or the name of one, got {kind!r}.")
    root = WholeNumber(0)("seed", seed)
    generators = streams(
        np.random.SeedSequence([root, crc32(f"{kind._demand}, {kind.n_series}".encode())]), 4
    )
    draw = _real if kind.distribution in REAL else _simulated
    rows, field, reference = draw(kind, root, *generators[:3])
    rows = replace(rows, order=_orders(kind, rows, field == _TRAIN, reference, generators[3]))
    return BankCase(rows.take(field == _TRAIN), rows.take(field == _TEST), root, kind)


_BEFORE, _TRAIN, _TEST, _UNUSED = range(4)  # the field of a row


@cache
def _by_name() -> dict[str, BankKind]:
    return {kind.name: kind for which in ("curated", "never") for kind in bank_kinds(which)}


def _named(name: str) -> BankKind:
    kinds = _by_name()
    if name not in kinds:
        words = set(name.replace(",", " ").split())
        near = max(kinds, key=lambda known: len(words & set(known.replace(",", " ").split())))
        raise InvalidInput(
            f'kind must be a name that bank_kinds() lists, such as "{near}", got "{name}".'
        )
    return kinds[name]


def demand_at(distribution: str, level: Array, mean: Array, deviation: Array) -> Array:
    """Quantiles of demand; what is below zero is no demand."""
    return np.maximum(
        DISTRIBUTIONS[distribution].quantile(np.maximum(level, LEAST_LUCK), mean, deviation), 0.0
    )


def _simulated(
    kind: BankKind,
    seed: int,
    draws: np.random.Generator,
    luck: np.random.Generator,
    again: np.random.Generator,
) -> tuple[BankPart, NDArray[np.int64], Array]:
    """Rows in order of time, every series of a day; their field; demand drawn again and again."""
    distribution, n_series = DISTRIBUTIONS[kind.distribution], kind.n_series
    days = -(-kind.size // n_series)
    n_test = max(1500, kind.size // 4)
    n_rows = (_DAYS_BACK + days) * n_series + n_test
    row = np.arange(n_rows)
    day, series = row // n_series - _DAYS_BACK, row % n_series
    dates = FIRST_DAY + day.astype("timedelta64[D]")
    uniform = draws.random((n_rows, 4))
    price = _PRICES[0] + (_PRICES[1] - _PRICES[0]) * uniform[:, 0]
    promotion = uniform[:, 1] < 0.2
    season = -9.0 * np.cos(2 * np.pi * (day % YEAR) / YEAR)
    temperature = 12.0 + season + 12.0 * (uniform[row - series, 2] - 0.5)
    effect = np.array(_WEEKDAY_EFFECTS)[weekday(dates)] + _PROMOTION_EFFECT * promotion
    effect += _TEMPERATURE_EFFECT * (temperature - 12.0)
    time = np.clip(day / days, 0.0, 1.25)
    if kind.mean == "kinked":
        effect += _KINK_EFFECT * np.maximum(_KINK - price, 0.0)
    elif kind.mean == "saturated":
        effect -= _KINK_EFFECT / 2 * np.maximum(price - _KINK, 0.0)
    else:
        effect += _PRICE_EFFECT * (price - np.mean(_PRICES))
    if kind.mean == "missing":
        effect += _MISSING_EFFECT * ((uniform[:, 3] < _MISSING_SHARE) - _MISSING_SHARE)
    elif kind.mean == "trend":
        effect += _TREND_EFFECT * (time - 0.5)
    elif kind.mean == "shift":
        effect += _SHIFT_EFFECT * ((time > _SHIFT_TIME) - 0.5)
    if kind.panel is not None:
        levels = np.exp(_PANEL_LEVELS * draws.standard_normal(n_series))[series]
        share = levels * (np.exp(effect) if kind.mean == "multiplicative" else 1 + effect)
    else:
        own = np.resize(_SERIES_EFFECTS, n_series)[series]
        share = np.exp(own + effect) if kind.mean == "multiplicative" else 1 + own + effect
        levels = np.ones(n_rows)
    share = np.maximum(share, 0.1)
    grows = share if distribution.by_level or kind.mean == "multiplicative" else levels
    mean, deviation = distribution.level * share, distribution.level * distribution.spread * grows
    codes = series[:, None] == np.arange(1, n_series)
    identifiers = {"number": series[:, None], "absent": codes[:, :0]}.get(kind.panel or "", codes)
    labels = [f"series {number}" for number in range(1, n_series)]
    named = {"number": ["series"], "absent": []}.get(kind.panel or "", labels)
    weekdays = weekday(dates)[:, None] == np.arange(1, len(WEEKDAYS))
    rows = BankPart(
        features=np.hstack(
            [weekdays, np.column_stack([price, temperature, promotion]), identifiers]
        ).astype(np.float64),
        feature_names=(*WEEKDAYS[1:], "price", "temperature", "promotion", *named),
        dates=dates,
        series=np.array([f"series {number}" for number in range(n_series)])[series],
        demand=demand_at(kind.distribution, luck.random(n_rows), mean, deviation),
        order=np.full(n_rows, np.inf),
        mean=mean,
        deviation=deviation,
        distribution=kind.distribution,
    )
    field = np.full(n_rows, _UNUSED)
    field[: _DAYS_BACK * n_series] = _BEFORE
    field[_DAYS_BACK * n_series :][: kind.size] = _TRAIN
    field[(_DAYS_BACK + days) * n_series :] = _TEST
    levels = again.random((_REFERENCE, n_rows))
    reference = np.array([demand_at(kind.distribution, each, mean, deviation) for each in levels])
    return rows, field, reference


def _real(
    kind: BankKind,
    seed: int,
    draws: np.random.Generator,
    luck: np.random.Generator,
    again: np.random.Generator,
) -> tuple[BankPart, NDArray[np.int64], Array]:
    """Real demand: other series for every seed; days without any demand were closed."""
    import polars as pl

    if kind.distribution == "yaz":
        dish = _DISHES[seed % len(_DISHES)]
        table = load_yaz().with_columns(pl.col(dish).alias("demand"), pl.lit(dish).alias("series"))
        extras = _WEATHER
    else:
        stores, chosen = _open_stores(), (101, 109, 110)[seed % 3]
        few = [stores[(seed + number) % len(stores)] for number in range(kind.n_series)]
        table = load_bakery(few, [chosen])
        table = table.with_columns(pl.format("store {}", "store").alias("series"))
        extras = _SHOP
    table = table.filter(pl.col("demand") > 0).sort("date", "series")
    dates, series = table["date"].to_numpy().astype("datetime64[D]"), table["series"].to_numpy()
    names = np.unique(series)
    days, number = np.unique(dates, return_inverse=True)
    per_series = kind.size / len(names)
    # the period moves with the seed, as far as the data go
    n_train, n_test = int(np.ceil(per_series)), 180 if kind.distribution == "bakery" else 90
    spare = max(len(days) - _DAYS_BACK - n_train - n_test - 1, 0)
    start = _DAYS_BACK + (37 * (seed // 3)) % (spare + 1)
    position = number - start
    field = np.select(
        [position < 0, position < n_train, position < n_train + n_test],
        [_BEFORE, _TRAIN, _TEST],
        _UNUSED,
    )
    day = (dates - days[0]).astype(np.int64)
    codes = series[:, None] == names[1:]
    identifiers = {
        "number": np.searchsorted(names, series)[:, None],
        "absent": codes[:, :0],
    }.get(kind.panel or "", codes)
    labels = {"number": ["series"], "absent": []}.get(kind.panel or "", names[1:].tolist())
    months = dates.astype("datetime64[M]").astype(np.int64) % 12
    seasons = np.column_stack([np.cos(np.pi * months / 6), np.sin(np.pi * months / 6)])
    features = np.hstack(
        [
            weekday(dates)[:, None] == np.arange(1, len(WEEKDAYS)),
            seasons,
            (day / YEAR)[:, None],
            np.column_stack([table[name].cast(pl.Float64).to_numpy() for name in extras]),
            identifiers,
        ]
    ).astype(np.float64)
    demand = table["demand"].cast(pl.Float64).to_numpy()
    plane, deviation = _plane(features, demand, field == _TRAIN)
    rows = BankPart(
        features=features,
        feature_names=(*WEEKDAYS[1:], "cosine", "sine", "year", *extras, *labels),
        dates=dates,
        series=series.astype(np.str_),
        demand=demand,
        order=np.full(len(demand), np.inf),
        mean=plane,
        deviation=np.full(len(demand), deviation),
        distribution=kind.distribution,
    )
    return rows, field, demand[None]


@cache
def _open_stores() -> tuple[int, ...]:
    """List stores that were closed on less than one day in twenty."""
    import polars as pl

    closed = load_bakery().group_by("store").agg((pl.col("demand") == 0).mean().alias("closed"))
    return tuple(closed.filter(pl.col("closed") < 0.05).sort("store")["store"].to_list())


# --- the censoring lab ----------------------------------------------------------------------------


def history_lab(
    family: Any, *, n: int, seed: int, on: Any, factor: float = 1.0, scale: Any = None, **rows: Any
) -> Simulated[DemandPart]:
    """`censoring_lab` with orders that follow the last four same weekdays, of demand or of sales.

    `n` must be a whole number of days of nine categories.
    """
    n_categories = len(CATEGORY_EFFECTS)
    assert n % n_categories == 0
    lab = censoring_lab(family, scale=scale, orders="never", n=n, seed=seed, **rows)
    before, share, category = retail_rows(
        _DAYS_BACK * n_categories, FIRST_DAY - np.timedelta64(_DAYS_BACK), 0
    )
    luck = streams(seed, 4)[3]
    before["demand"] = draw_demand(share, category, luck, family=family, scale=scale)["demand"]
    demand, dates, series = (
        np.concatenate([before[name], getattr(lab.train, name), getattr(lab.test, name)])
        for name in ("demand", "dates", "category")
    )
    order = history_orders(demand, dates, series, k=_WEEKS_BACK, factor=factor, on=on)
    order = stocked(lab.train, order[len(share) :])
    train, test = replace(lab.train, order=order[:n]), replace(lab.test, order=order[n:])
    return Simulated(train, test, seed)


# --- orders ---------------------------------------------------------------------------------------


def _plane(features: Array, target: Array, train: NDArray[np.bool_]) -> tuple[Array, float]:
    """Fit the plane of the features nearest to the target, and what is left beside it."""
    columns = np.column_stack([np.ones(len(features)), features])
    found = np.linalg.lstsq(columns[train], target[train], rcond=None)[0]
    fitted = columns @ found
    return fitted, float(np.std((target - fitted)[train]))


def _orders(
    kind: BankKind,
    rows: BankPart,
    train: NDArray[np.bool_],
    reference: Array,
    generator: np.random.Generator,
) -> Array:
    """Give what there was to sell; shift or constant so that the expected share is as stated."""
    if kind.orders == "none":
        return rows.order
    whole = kind.distribution in REAL or DISTRIBUTIONS[kind.distribution].whole
    if kind.orders in _HISTORIES:
        on, factor = _HISTORIES[kind.orders]
        return history_orders(
            rows.demand,
            rows.dates,
            rows.series,
            k=_WEEKS_BACK,
            factor=factor if kind.factor is None else kind.factor,
            on=on,  # type: ignore[arg-type]
            round_up=whole,
        )
    # the same draws whatever the policy
    scatter = _NOISE * rows.deviation * generator.standard_normal(len(rows))
    lucky = generator.random(len(rows)) < _SECOND_CHANCE
    level = {
        "plane": _plane(rows.features, rows.mean, train)[0],
        "capacity": np.zeros(len(rows)),
    }.get(kind.orders, rows.mean + scatter)

    def stocked(shift: float, demand: Array) -> Array:
        first = np.maximum(level + shift, 0.0)
        if whole:
            first = np.ceil(first)
        if kind.orders != "restocked":
            return first
        second = np.where((demand > first) & lucky, _SECOND_SIZE * first, 0.0)
        return first + (np.ceil(second) if whole else second)

    target, reach = kind.expected_share or 0.0, float(np.ptp(reference) + np.ptp(level))
    low, high = -reach - float(level.max()), reach + float(reference.max())
    for _ in range(60):
        middle = (low + high) / 2
        share = np.mean([(each > stocked(middle, each))[train].mean() for each in reference])
        low, high = (middle, high) if share > target else (low, middle)
    return stocked(high, rows.demand)


# --- demand of shops in closed loop

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
