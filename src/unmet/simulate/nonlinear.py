"""Demand that no linear decision follows: thresholds, humps, cycles and interactions.

The mean of demand, as a share of a base level, adds up ::

    product  +  price  +  temperature  +  weekday × promotion  +  season

A markdown sells nothing more until the price falls below a threshold, and then soon no more than
that. Each product has its own best temperature. A promotion is worth little on a Tuesday and much
on a Saturday. The season has two peaks a year. What the planner ordered moves with the same
features, so that sold-out rows have a point mass on a bent surface.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import expit

from unmet.arrays import Array
from unmet.data.bundled import WEEKDAYS
from unmet.simulate.base import (
    FIRST_DAY,
    YEAR,
    DemandPart,
    Family,
    Simulated,
    streams,
    weekday,
    words,
)
from unmet.simulate.censoring_lab import Market, Scale
from unmet.validation import OneOf, WholeNumber

NonlinearPolicy = Literal["at_mass", "noisy", "mixture", "never"]

PRODUCTS = ("lemonade", "soup", "bread", "salad")
#: Shares of the level: base of each product, and how much of the effect of price it has.
PRODUCT_SHARES = (0.9137, 0.7928, 1.2241, 0.8653)
PRICE_WEIGHTS = (1.0, 0.45, 0.2, 0.75)
PRICE_EFFECT, PRICE_THRESHOLD, PRICE_WIDTH = 0.62, 0.87, 0.025
#: Height, best temperature and width of each product's hump.
TEMPERATURE_HUMPS = ((0.84, 25.0, 6.0), (0.66, 3.0, 5.0), (0.0, 12.0, 1.0), (0.47, 18.0, 4.0))
WEEKDAY_SHARES = (0.0, -0.0512, -0.0947, -0.0308, 0.1173, 0.2236, 0.0819)
PROMOTION_SHARES = (0.1021, 0.0314, 0.0192, 0.0877, 0.5264, 0.7638, 0.3415)
SEASON_EFFECT = 0.1483
CODE_NAMES = ("product", "weekday", "promotion", "price", "temperature", "day")


@dataclass(frozen=True, eq=False, kw_only=True)
class NonlinearPart(DemandPart):
    """One period, the truth kept beside what a planner sees.

    Further attributes are those of `DemandPart`; `category` is the product.

    Attributes
    ----------
    features : ndarray of shape (n_rows, 13)
        Dummies of product and weekday, promotion, price, temperature and day of the year.
    codes : ndarray of shape (n_rows, 6)
        The same with product and weekday as whole numbers, for models that know categories.
    code_names : tuple of str
        Columns of `codes`; the first three are categories.
    """

    codes: Array
    code_names: tuple[str, ...] = CODE_NAMES

    def _described(self) -> dict[str, Any]:
        columns = dict(zip(self.code_names, self.codes.T, strict=True))
        product, day = (self.codes[:, column].astype(np.int64) for column in (0, 1))
        return {
            **columns,
            "product": words(PRODUCTS, product),
            "weekday": words(WEEKDAYS, day),
            "promotion": columns["promotion"] == 1,
        }


def nonlinear_demand(
    seed: int = 0,
    *,
    family: Family = "normal",
    scale: Scale | None = None,
    orders: NonlinearPolicy = "at_mass",
    share: float | None = None,
    quantile: float | None = None,
    noise: float = 0.5,
    unlimited: float = 0.5,
    n: int = 3000,
    n_test: int = 4000,
    level: float = 100.0,
    spread: float = 0.2,
    shape: float | None = None,
    clip: bool = True,
) -> Simulated[NonlinearPart]:
    """Simulate demand that bends and interacts in its features, censored by orders that do, too.

    Parameters
    ----------
    seed : int
        Non-negative.
    family, scale, share, quantile, noise, unlimited, level, spread, shape, clip
        As in `censoring_lab`. Of scale "features" each product has a deviation of its own.
    orders : {"at_mass", "noisy", "mixture", "never"}
        "at_mass": the row's mean of demand plus one shift for all rows, or the row's own quantile.
        "noisy": the same, plus normal scatter. "mixture": the same, but with the probability
        `unlimited` there is more than enough. "never": never sold out.
    n, n_test : int
        Rows to train on and to test on, four products a day. Testing starts on the day after
        training; a year has 1,460 rows, and of fewer some seasons are never seen.

    Returns
    -------
    Simulated
        With `train` and `test`. The training rows do not depend on how many rows we test on.

    Examples
    --------
    A linear decision that saw the whole truth still pays much more than the best one:

    >>> from unmet import LinearDecision, Newsvendor
    >>> data, cost = nonlinear_demand(), Newsvendor.at_level(0.85)
    >>> model = LinearDecision(cost).fit(data.train.features, data.train.demand)
    >>> paid = -model.score(data.test.features, data.test.demand)
    >>> best = cost.cost(data.test.optimum(0.85), data.test.demand).mean()
    >>> bool(paid > 1.5 * best)
    True
    """
    OneOf(*get_args(NonlinearPolicy))("orders", orders)
    market = Market(
        family, scale, level, spread, shape, clip, orders, share, quantile, noise, unlimited
    )
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
    codes = np.column_stack([product, day_of_week, promotion, price, temperature, day])
    dummies = [
        product[:, None] == np.arange(1, n_products),
        day_of_week[:, None] == np.arange(1, len(WEEKDAYS)),
    ]
    rows = NonlinearPart(
        features=np.hstack([*dummies, codes[:, 2:]]).astype(np.float64),
        feature_names=(*PRODUCTS[1:], *WEEKDAYS[1:], *CODE_NAMES[2:]),
        dates=dates,
        category=np.array(PRODUCTS)[product],
        codes=codes,
        order=np.full(len(row), np.inf),
        **market.demand(_share(codes), product, luck),
    )
    rows = replace(rows, order=market.order(rows, n_train, stock))
    train, test = rows.take(slice(0, n_train)), rows.take(slice(start, None))
    return Simulated(train, test, int(seed))


def _share(codes: Array) -> Array:
    """Mean demand as a share of the level."""
    product, day_of_week = codes[:, 0].astype(np.intp), codes[:, 1].astype(np.intp)
    promotion, price, temperature, day = codes[:, 2:].T
    markdown = PRICE_EFFECT * expit((PRICE_THRESHOLD - price) / PRICE_WIDTH)
    height, best, width = np.array(TEMPERATURE_HUMPS).T
    hump = height[product] * np.exp(-(((temperature - best[product]) / width[product]) ** 2))
    on_the_day = np.array(WEEKDAY_SHARES)[day_of_week]
    promoted = np.where(promotion, np.array(PROMOTION_SHARES)[day_of_week], 0.0)
    season = SEASON_EFFECT * np.sin(4 * np.pi * day / YEAR)
    base = np.array(PRODUCT_SHARES)[product] + np.array(PRICE_WEIGHTS)[product] * markdown
    return np.asarray(base + hump + on_the_day + promoted + season)
