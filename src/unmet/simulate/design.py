"""Features of a retailer: category, weekday, month, and, where asked for, price and temperature.

The mean of demand is linear in the features, with effects given as shares of a base level::

    mean = level · (1 + category + weekday + month [+ price] [+ temperature])

The effects are of the size seen in grocery sales, but no mean falls below .45 of the level, so that
demand is rarely negative at the usual spread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array

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
