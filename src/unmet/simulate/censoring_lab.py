"""The censoring lab: demand family × scale × order policy × share censored, the truth kept.

A band rule that works on the paper's data may still fail on skewed demand, on a spread that
varies with the features, or on orders that scatter. The lab makes such data by the grid, on
features like those of store 10, with the best decision known in closed form.

Features of a retailer are category, weekday and month. The mean of demand is linear in them, with
effects given as shares of a base level::

    mean = level · (1 + category + weekday + month)

The effects are of the size seen in grocery sales, but no mean falls below .45 of the level, so
that demand is rarely negative at the usual spread.

Every order policy but "never" starts from a level that moves with the features: the
row's mean of demand plus one shift for all rows, or the row's own quantile of demand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import bisect
from scipy.special import ndtri

from unmet.arrays import Array
from unmet.data.bundled import MONTHS, WEEKDAYS
from unmet.errors import InvalidInput
from unmet.simulate.base import (
    COUNTS,
    FAMILIES,
    FIRST_DAY,
    POSITIVE,
    YEAR,
    DemandPart,
    Distribution,
    Family,
    Simulated,
    add_factors,
    check_shape,
    distribution,
    month,
    streams,
    weekday,
)
from unmet.validation import Maybe, Number, OneOf, WholeNumber, read_parameters

Scale = Literal["constant", "level", "features"]
Policy = Literal["at_mass", "noisy", "mixture", "never"]

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

#: Deviation of each category as a multiple of the spread, for scale "features"; mean 1.
CATEGORY_SPREADS = (1.0, 0.6, 1.5, 0.8, 1.25, 0.5, 1.35, 0.7, 1.3)

N_CATEGORIES = len(CATEGORY_EFFECTS)
CATEGORIES = tuple(f"category {number}" for number in range(1, N_CATEGORIES + 1))

_LEAST_LUCK = 2.0**-54  # 0 is drawn once in 2⁵³ times, and would be a demand of -∞

_CONSTRAINTS = {
    "family": OneOf(*FAMILIES),
    "scale": Maybe(OneOf(*get_args(Scale))),
    "level": Number(above=0),
    "spread": Number(above=0),
    "orders": OneOf(*get_args(Policy)),
    "share": Maybe(Number(above=0, below=1)),
    "quantile": Maybe(Number(above=0, below=1)),
    "noise": Number(least=0),
    "unlimited": Number(least=0, below=1),
}


@dataclass(frozen=True)
class Market:
    """What demand and orders are like, checked; `censoring_lab` says what the numbers mean."""

    family: Family
    scale: Scale | None
    level: float
    spread: float
    shape: float | None
    clip: bool
    orders: Policy
    share: float | None
    quantile: float | None
    noise: float
    unlimited: float

    def __post_init__(self) -> None:
        read_parameters(_CONSTRAINTS, self)
        check_shape(self.family, self.shape)
        if self.family == "poisson" and self.scale is not None:
            raise InvalidInput(f'scale must be None for family "poisson", got {self.scale!r}.')
        for name, value in (("share", self.share), ("quantile", self.quantile)):
            if value is not None and self.orders == "never":
                raise InvalidInput(f'{name} must be None with orders="never", got {value!r}.')
        if self.share is not None and self.quantile is not None:
            raise InvalidInput(
                f"share must be None when quantile says where orders stand, got {self.share}."
            )
        if self.orders == "mixture" and self.share is not None and self.share + self.unlimited >= 1:
            raise InvalidInput(
                f"share must be below 1 - unlimited = {1 - self.unlimited:g}, got {self.share}."
            )

    def demand(
        self, share: Array, category: NDArray[np.int64], luck: np.random.Generator
    ) -> dict[str, Any]:
        """Draw demand whose mean is a share of the level; what it is like comes with it.

        These are fields of a `DemandPart`.
        """
        scale = self.scale or ("level" if self.family in POSITIVE else "constant")
        pattern = {
            "constant": np.ones(len(share)),
            "level": share,
            "features": np.array(CATEGORY_SPREADS)[category],
        }[scale]
        mean, deviation = self.level * share, self.level * self.spread * pattern
        if self.family == "poisson":
            deviation = np.sqrt(mean)
        elif self.family == "negative_binomial":
            deviation = np.sqrt(mean + deviation**2)
        shape = check_shape(self.family, self.shape)
        truth = distribution(self.family, mean, deviation, shape)
        demand = truth.ppf(np.maximum(luck.random(len(mean)), _LEAST_LUCK))
        return {
            "mean": mean,
            "deviation": deviation,
            "demand": np.maximum(demand, 0.0) if self.clip else demand,
            "family": self.family,
            "shape": shape,
            "clip": bool(self.clip),
        }

    def order(self, rows: DemandPart, n_train: int, generator: np.random.Generator) -> Array:
        """Orders of every row.

        The draws are the same whatever the policy, so policies can be compared seed by seed. The
        shift is chosen on the first `n_train` rows only, so that it does not depend on how long we
        test.
        """
        draws, truth = generator.random((len(rows), 2)), rows.distribution
        scatter = np.zeros(len(rows))
        if self.orders == "noisy":
            scatter = self.noise * rows.deviation * ndtri(np.maximum(draws[:, 0], _LEAST_LUCK))
        # stock that never runs out: above the .999-quantile, and above demand where it is higher
        plenty = self.stocked(np.maximum(truth.ppf(0.999), rows.demand) + rows.deviation)
        if self.orders == "never":
            return plenty
        if self.quantile is not None:
            level: Array = truth.ppf(self.quantile)
        elif self.share is None:
            level = rows.mean
        else:
            binding = self.share / (1 - self.unlimited if self.orders == "mixture" else 1.0)
            level = rows.mean + self._shift(binding, truth, rows.mean, scatter, n_train)
        order = self.stocked(level + scatter)
        return (
            np.where(draws[:, 1] < self.unlimited, plenty, order)
            if self.orders == "mixture"
            else order
        )

    def stocked(self, quantity: Array) -> Array:
        """Order what can be ordered: whole units of counts, nothing below zero."""
        whole = np.ceil(quantity) if self.family in COUNTS else quantity
        return np.maximum(whole, 0.0) if self.clip else whole

    def _shift(
        self, share: float, truth: Distribution, mean: Array, scatter: Array, n_train: int
    ) -> float:
        """Shift of all orders at which the expected share of sold-out rows is `share`."""

        def excess(shift: float) -> float:
            sold_out = truth.sf(self.stocked(mean + shift + scatter))
            return float(sold_out[:n_train].mean()) - share

        # beyond the smallest and largest quantile, plus what scatters, every row is on one side
        reach = np.abs(truth.ppf([[1e-9], [1 - 1e-9]]) - mean).max()
        most = float(reach + np.abs(scatter).max())
        if excess(-most) < 0:
            raise InvalidInput(
                f"share must be at most {excess(-most) + share:.3f}, "
                f"the share of rows with any demand, got {share}."
            )
        return float(bisect(excess, -most, most, xtol=1e-8 * most))


def censoring_lab(
    family: Family = "normal",
    *,
    scale: Scale | None = None,
    orders: Policy = "at_mass",
    share: float | None = None,
    quantile: float | None = None,
    noise: float = 0.5,
    unlimited: float = 0.5,
    n: int = 3294,
    n_test: int = 1629,
    level: float = 100.0,
    spread: float = 0.25,
    shape: float | None = None,
    clip: bool = True,
    seed: int = 0,
) -> Simulated[DemandPart]:
    """Simulate censored demand whose truth and best decisions are known.

    Parameters
    ----------
    family : str
        "normal", "logistic", "laplace", "student", "gumbel" (skewed to the right), "gamma",
        "lognormal", "weibull" (positive), "gamma_noise" (mean plus centred gamma noise),
        "poisson" or "negative_binomial" (counts).
    scale : {"constant", "level", "features"}, optional
        Whether the deviation of demand is the same everywhere, proportional to the mean, or
        different by category. Default: "level" for positive families (which makes their shape
        constant), otherwise "constant". Of a negative binomial demand it is the deviation beyond
        that of a Poisson demand; a Poisson demand has no scale of its own.
    orders : {"at_mass", "noisy", "mixture", "never"}
        "at_mass": the mean of the row plus one shift for all rows, or the row's own quantile.
        "noisy": the same, plus normal scatter. "mixture": the same, but with the probability
        `unlimited` there is more than enough. "never": never sold out. For orders that follow
        the past, draw with "never" and use `history_orders`.
    share : float, optional
        Expected share of rows censored; chooses the shift. Default: no shift.
    quantile : float, optional
        Order the row's conditional quantile of demand at this level, instead of mean plus shift.
    noise : float
        Of "noisy": standard deviation of the scatter, in units of the row's deviation of demand.
    unlimited : float
        Of "mixture": probability of more than enough stock.
    n, n_test : int
        Rows to train on and to test on, nine categories a day. Testing starts on the day after
        training. Months matter, and have dummies, when training covers a year.
    level : float
        Mean demand of the first category on a Monday in January.
    spread : float
        Deviation of demand there, as a share of `level`.
    shape : float, optional
        Degrees of freedom of "student" (5; above 2), shape of the noise of "gamma_noise" (2).
    clip : bool
        Clip demand and order at zero, which concerns few rows at the default spread.
    seed : int
        Non-negative.

    Returns
    -------
    Simulated
        With `train` and `test`. Uniform numbers come from NumPy's PCG64 and are turned into
        demand by its quantile function, so families and policies of one seed share their luck,
        and the training rows do not depend on how many rows we test on.

    Examples
    --------
    >>> data = censoring_lab("gamma", orders="noisy", share=0.3)
    >>> data.train.features.shape, data.test.features.shape
    ((3294, 25), (1629, 25))
    >>> round(data.train.share_censored, 1)
    0.3
    >>> round(float((data.test.demand <= data.test.optimum(0.85)).mean()), 2)
    0.85
    """
    market = Market(
        family, scale, level, spread, shape, clip, orders, share, quantile, noise, unlimited
    )
    n_train, n_rows = WholeNumber(1)("n", n), WholeNumber(1)("n_test", n_test)
    luck, stock = streams(seed, 4)[1:3]
    start = -(-n_train // N_CATEGORIES) * N_CATEGORIES  # testing starts with a whole day
    columns, share_of_level, category = retail_rows(start + n_rows, FIRST_DAY, start)
    fields = market.demand(share_of_level, category, luck)
    rows = DemandPart(**columns, **fields, order=np.full(start + n_rows, np.inf))
    rows = replace(rows, order=market.order(rows, n_train, stock))
    train, test = rows.take(slice(0, n_train)), rows.take(slice(start, None))
    return Simulated(train, test, int(seed))


def retail_rows(
    n_rows: int, first_day: np.datetime64, n_train: int
) -> tuple[dict[str, Any], Array, NDArray[np.int64]]:
    """Rows in order of time: every category of a day, then the next day.

    Returns
    -------
    columns : dict
        Fields of a `DemandPart`: features, feature_names, dates and category. Months are among
        the features when training covers a year.
    share : ndarray of shape (n_rows,)
        Mean demand as a share of the level.
    category : ndarray of shape (n_rows,), int
    """
    row = np.arange(n_rows)
    dates = first_day + (row // N_CATEGORIES).astype("timedelta64[D]")
    category = row % N_CATEGORIES
    factors = [(category, CATEGORY_EFFECTS), (weekday(dates), WEEKDAY_EFFECTS)]
    names = [*CATEGORIES[1:], *WEEKDAYS[1:]]
    if n_train >= YEAR * N_CATEGORIES:
        factors.append((month(dates), MONTH_EFFECTS))
        names += MONTHS[1:]
    share, blocks = add_factors(1.0, factors)
    columns = {
        "features": np.hstack(blocks),
        "feature_names": tuple(names),
        "dates": dates,
        "category": np.array(CATEGORIES)[category],
    }
    return columns, share, category
