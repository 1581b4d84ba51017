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
from types import MappingProxyType

import numpy as np

from unmet.checks import WholeNumber
from unmet.simulate.base import DemandPart, Simulated, add_factors, month, weekday

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


def store10(seed: int = 0, *, clip: bool = True) -> Simulated[DemandPart]:
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
    Simulated
        With `train` (3,294 rows) and `test` (1,629 rows), each a `DemandPart`. The same seed gives
        the same numbers on every platform: the noise is NumPy's PCG64, and means are sums of three
        looked-up coefficients in a fixed order, not a matrix product.

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
    generator = np.random.Generator(np.random.PCG64(WholeNumber(0)("seed", seed)))
    # one stream, training rows first: the training year does not depend on how long we test
    train, test = _part(TRAIN_DAYS, generator, clip), _part(TEST_DAYS, generator, clip)
    return Simulated(train, test, int(seed))


def _part(
    days: tuple[np.datetime64, np.datetime64], generator: np.random.Generator, clip: bool
) -> DemandPart:
    first, last = days
    calendar = np.arange(first, last + np.timedelta64(1, "D"))
    n_categories = len(CATEGORY_EFFECTS)
    dates = np.repeat(calendar, n_categories)
    category = np.tile(np.arange(n_categories), len(calendar))
    codes = (category, weekday(dates), month(dates))
    effects = [list(each.values()) for each in _EFFECTS]
    mean, dummies = add_factors(INTERCEPT, zip(codes, effects, strict=True))
    demand = mean + NOISE * generator.standard_normal(len(dates))
    return DemandPart(
        features=np.hstack(dummies),
        feature_names=FEATURE_NAMES,
        dates=dates,
        category=np.array(list(CATEGORY_EFFECTS))[category],
        mean=mean,
        deviation=np.full(len(dates), NOISE),
        demand=np.maximum(demand, 0.0) if clip else demand,
        order=np.maximum(mean, 0.0) if clip else mean.copy(),
        clip=clip,
    )
