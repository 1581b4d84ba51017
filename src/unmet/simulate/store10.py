"""The paper's synthetic data: store 10 of Corporación Favorita (§Data, Table LRstore10).

Demand is a linear model of product category, day of week and month of year plus normal noise; the
store ordered the mean; sales are the smaller of the two::

    D = β'x + N(0, 46.57²)      Q = β'x      S = min(D, Q)

Train on 2016, test on the first half of 2017, nine categories a day. Two remarks on the text:
2016 has 366 × 9 = 3,294 rows (the paper says 3,286), and the generator as printed gives negative
means and demands, while the theory assumes d ≥ 0. Clipping demand and order at zero mends that and
brings fits closer to the pattern of Table wilcoxon-result-lr, so it is the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from unmet.arrays import Array
from unmet.errors import InvalidInput
from unmet.evaluation.price import as_number
from unmet.simulate.base import month, weekday

if TYPE_CHECKING:
    import polars


#: Levels α at which the paper reports results.
PUBLISHED_LEVELS = (0.55, 0.65, 0.75, 0.85, 0.95)

#: Table epsilonSearchResults: model ("linear" is LR-εNVC, "neural" NN-εNVC) → α → (low, high) =
#: (ε₂, ε₁), in units of sales that were scaled to [0, 1] by their minimum and maximum.
PUBLISHED_BANDS: Mapping[str, Mapping[float, tuple[float, float]]] = MappingProxyType(
    {
        "linear": MappingProxyType(
            {
                0.55: (0.0022, 0.1976),
                0.65: (0.0022, 0.1976),
                0.75: (0.0022, 0.1976),
                0.85: (0.0022, 0.1976),
                0.95: (0.0083, 0.1827),
            }
        ),
        "neural": MappingProxyType(dict.fromkeys(PUBLISHED_LEVELS, (0.0022, 0.1976))),
    }
)

# Table LRstore10. The first of each is the baseline of the dummies: its effect is in INTERCEPT.
INTERCEPT = 113.40
NOISE = 46.57
CATEGORY_EFFECTS: Mapping[str, float] = MappingProxyType(
    {
        "BREAD/BAKERY": 0.0,
        "DAIRY": 192.23,
        "DELI": 151.66,
        "EGGS": -57.30,
        "MEATS": 51.56,
        "POULTRY": 55.42,
        "PREPARED FOODS": -76.14,
        "PRODUCE": 130.65,
        "SEAFOOD": -106.29,
    }
)
WEEKDAY_EFFECTS: Mapping[str, float] = MappingProxyType(
    {
        "Monday": 0.0,
        "Tuesday": -3.64,
        "Wednesday": -25.41,
        "Thursday": -29.90,
        "Friday": -32.75,
        "Saturday": 21.15,
        "Sunday": 38.13,
    }
)
MONTH_EFFECTS: Mapping[str, float] = MappingProxyType(
    {
        "January": 0.0,
        "February": -3.46,
        "March": 1.57,
        "April": 11.94,
        "May": 7.88,
        "June": -1.58,
        "July": -13.21,
        "August": -11.90,
        "September": 1.96,
        "October": -1.67,
        "November": -3.48,
        "December": 20.03,
    }
)
_EFFECTS = (CATEGORY_EFFECTS, WEEKDAY_EFFECTS, MONTH_EFFECTS)

#: The 25 dummies in the paper's order (eq. LRGenerate), and their coefficients.
FEATURE_NAMES = tuple(name for effects in _EFFECTS for name in list(effects)[1:])
COEFFICIENTS = tuple(value for effects in _EFFECTS for value in list(effects.values())[1:])

TRAIN_DAYS = (np.datetime64("2016-01-01", "D"), np.datetime64("2016-12-31", "D"))
TEST_DAYS = (np.datetime64("2017-01-01", "D"), np.datetime64("2017-06-30", "D"))


@dataclass(frozen=True, eq=False)
class Store10Part:
    """One period: nine rows a day, the truth kept beside what a planner sees.

    Attributes
    ----------
    features : ndarray of shape (n_rows, 25)
        Dummies without an intercept, in the order of `feature_names`.
    feature_names : tuple of 25 str
    dates : ndarray of shape (n_rows,), datetime64[D]
    category : ndarray of shape (n_rows,), str
    mean : ndarray of shape (n_rows,)
        β'x, never clipped.
    demand : ndarray of shape (n_rows,)
        The truth.
    order : ndarray of shape (n_rows,)
        What was in stock.
    sales : ndarray of shape (n_rows,)
        The observation, min(demand, order).
    clip : bool
        Whether demand and order were clipped at zero.
    """

    features: Array
    feature_names: tuple[str, ...]
    dates: NDArray[np.datetime64]
    category: NDArray[np.str_]
    mean: Array
    demand: Array
    order: Array
    sales: Array
    clip: bool

    def __len__(self) -> int:
        return len(self.sales)

    @property
    def censored(self) -> NDArray[np.bool_]:
        """Rows whose demand exceeds the order, so that sales hide it."""
        return self.demand > self.order

    def optimum(self, level: float) -> Array:
        """Best decisions when the distribution of demand is known (eq. qopt).

        Q* = β'x + 46.57 Φ⁻¹(α), the conditional α-quantile of demand; of clipped demand it is
        max(0, Q*).

        Parameters
        ----------
        level : float
            α in (0, 1).
        """
        alpha = as_number("level", level)
        if not 0 < alpha < 1:
            raise InvalidInput(f"level must lie strictly between 0 and 1, got {alpha}.")
        return _clipped(self.mean + NOISE * float(ndtri(alpha)), self.clip)

    def to_polars(self) -> polars.DataFrame:
        """Make a table to look at: date, weekday, month, category, sales, demand, order."""
        import polars as pl

        weekdays, months = list(WEEKDAY_EFFECTS), list(MONTH_EFFECTS)
        return pl.DataFrame(
            {
                "date": self.dates,
                "weekday": [weekdays[day] for day in weekday(self.dates)],
                "month": [months[each] for each in month(self.dates)],
                "category": self.category.tolist(),
                "sales": self.sales,
                "demand": self.demand,
                "order": self.order,
            },
            # enums, so that sorting by weekday does not start with Friday
            schema_overrides={"weekday": pl.Enum(weekdays), "month": pl.Enum(months)},
        )


@dataclass(frozen=True, eq=False)
class Store10:
    """The training year and the test half-year of one seed."""

    train: Store10Part
    test: Store10Part
    seed: int
    clip: bool


def store10(seed: int = 0, *, clip: bool = True) -> Store10:
    """Simulate the paper's data.

    Parameters
    ----------
    seed : int
        Non-negative. The paper uses ten seeds and does not name them.
    clip : bool
        Clip demand and order at zero (default). ``False`` is the text as printed; noise and means
        are the same.

    Returns
    -------
    Store10
        With `train` (3,294 rows) and `test` (1,629 rows). The same seed gives the same numbers
        on every platform: the noise is NumPy's PCG64, and means are sums of three looked-up
        coefficients in a fixed order, not a matrix product.

    Examples
    --------
    >>> data = store10(seed=0)
    >>> data.train.features.shape, data.test.features.shape
    ((3294, 25), (1629, 25))
    >>> round(float(data.train.censored.mean()), 2)
    0.48
    >>> bool((data.train.sales <= data.train.demand).all())
    True
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidInput(f"seed must be a non-negative integer, got {seed!r}.")
    generator = np.random.Generator(np.random.PCG64(int(seed)))
    # one stream, training rows first: the training year does not depend on how long we test
    train = _part(TRAIN_DAYS, generator, clip)
    test = _part(TEST_DAYS, generator, clip)
    return Store10(train, test, int(seed), clip)


def _part(
    days: tuple[np.datetime64, np.datetime64], generator: np.random.Generator, clip: bool
) -> Store10Part:
    first, last = days
    calendar = np.arange(first, last + np.timedelta64(1, "D"))
    n_categories = len(CATEGORY_EFFECTS)
    dates = np.repeat(calendar, n_categories)
    categories = np.tile(np.arange(n_categories), len(calendar))
    codes = (categories, weekday(dates), month(dates))
    mean = _mean(codes)
    demand = _clipped(mean + NOISE * generator.standard_normal(len(dates)), clip)
    order = _clipped(mean, clip)
    return Store10Part(
        features=_dummies(codes),
        feature_names=FEATURE_NAMES,
        dates=dates,
        category=np.array(list(CATEGORY_EFFECTS))[categories],
        mean=mean,
        demand=demand,
        order=order,
        sales=np.minimum(demand, order),
        clip=clip,
    )


def _mean(codes: tuple[NDArray[np.int64], ...]) -> Array:
    mean = np.full(len(codes[0]), INTERCEPT)
    for code, effects in zip(codes, _EFFECTS, strict=True):
        mean += np.array(list(effects.values()))[code]
    return mean


def _dummies(codes: tuple[NDArray[np.int64], ...]) -> Array:
    blocks = [
        code[:, None] == np.arange(1, len(effects))
        for code, effects in zip(codes, _EFFECTS, strict=True)
    ]
    return np.hstack(blocks).astype(np.float64)


def _clipped(values: Array, clip: bool) -> Array:
    return np.maximum(values, 0.0) if clip else values.copy()
