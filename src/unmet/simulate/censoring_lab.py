"""The censoring lab: demand family × scale × order policy × share censored, the truth kept.

A band rule that works on the paper's data may still fail on skewed demand, on a spread that
varies with the features, or on orders that scatter. The lab makes such data by the grid, on a
design like that of store 10, with the best decision known in closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.errors import InvalidInput
from unmet.evaluation.price import as_number
from unmet.simulate.base import (
    CATEGORIES,
    FIRST_DAY,
    N_CATEGORIES,
    WEEKDAYS,
    YEAR,
    DemandKind,
    Design,
    Family,
    Market,
    Scale,
    distribution,
    retail_design,
    weekday,
)
from unmet.simulate.orders import History, Policy, Rule, history_orders, policy_orders

if TYPE_CHECKING:
    import polars


_WEEKS_BACK = 4
# so that the first order has something to look back at
_DAYS_BEFORE = FIRST_DAY - np.arange(7 * _WEEKS_BACK, 0, -1)


@dataclass(frozen=True, eq=False)
class LabPart:
    """One period, the truth kept beside what a planner sees.

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_features)
        Dummies (and price and temperature) without an intercept, named by `feature_names`.
    feature_names : tuple of str
    dates : ndarray of shape (n_rows,), datetime64[D]
    category : ndarray of shape (n_rows,), str
        Which series a row belongs to.
    mean, deviation : ndarray of shape (n_rows,)
        Of demand given the features, before clipping.
    demand : ndarray of shape (n_rows,)
        The truth.
    order : ndarray of shape (n_rows,)
        What was in stock.
    sales : ndarray of shape (n_rows,)
        The observation, min(demand, order).
    family : str
    shape : float
        Of families that have one.
    clip : bool
        Whether demand and order were clipped at zero.
    """

    features: Array
    feature_names: tuple[str, ...]
    dates: NDArray[np.datetime64]
    category: NDArray[np.str_]
    mean: Array
    deviation: Array
    demand: Array
    order: Array
    sales: Array
    family: Family
    shape: float
    clip: bool

    def __len__(self) -> int:
        return len(self.sales)

    @property
    def censored(self) -> NDArray[np.bool_]:
        """Rows whose demand exceeds the order, so that sales hide it."""
        return self.demand > self.order

    @property
    def share_censored(self) -> float:
        """Share of rows whose sales hide demand."""
        return float(self.censored.mean())

    def optimum(self, level: float) -> Array:
        """Best decisions when the distribution of demand is known (eq. qopt).

        The conditional α-quantile of demand, for counts the smallest whole number that reaches α.

        Parameters
        ----------
        level : float
            α in (0, 1).
        """
        alpha = as_number("level", level)
        if not 0 < alpha < 1:
            raise InvalidInput(f"level must lie strictly between 0 and 1, got {alpha}.")
        best: Array = distribution(self.family, self.mean, self.deviation, self.shape).ppf(alpha)
        return np.maximum(best, 0.0) if self.clip else best

    def to_polars(self) -> polars.DataFrame:
        """Make a table to look at: date, weekday, category, sales, demand, order."""
        import polars as pl

        return pl.DataFrame(
            {
                "date": self.dates,
                "weekday": [WEEKDAYS[day] for day in weekday(self.dates)],
                "category": self.category.tolist(),
                "sales": self.sales,
                "demand": self.demand,
                "order": self.order,
            },
            # an enum, so that sorting by weekday does not start with Friday
            schema_overrides={"weekday": pl.Enum(WEEKDAYS)},
        )


@dataclass(frozen=True, eq=False)
class CensoringLab:
    """Training and test rows of one seed."""

    train: LabPart
    test: LabPart
    seed: int


def censoring_lab(
    family: Family = "normal",
    *,
    scale: Scale | None = None,
    orders: Policy = "piled",
    share: float | None = None,
    quantile: float | None = None,
    noise: float = 0.5,
    ample: float = 0.5,
    factor: float = 1.0,
    on: History = "demand",
    n: int = 3294,
    n_test: int = 1629,
    level: float = 100.0,
    spread: float = 0.25,
    shape: float | None = None,
    continuous: bool = False,
    clip: bool = True,
    seed: int = 0,
) -> CensoringLab:
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
    orders : {"piled", "noisy", "mixture", "history", "never"}
        "piled": the mean of the row plus one shift for all rows, or the row's own quantile.
        "noisy": the same, plus normal scatter. "mixture": the same, but with probability `ample`
        there is more than enough. "history": `factor` times the mean of the last four same
        weekdays of the category, rounded up (see `history_orders`). "never": never sold out.
    share : float, optional
        Expected share of rows censored; chooses the shift. Default: no shift.
    quantile : float, optional
        Order the row's conditional quantile of demand at this level, instead of mean plus shift.
    noise : float
        Of "noisy": standard deviation of the scatter, in units of the row's deviation of demand.
    ample : float
        Of "mixture": probability of more than enough stock.
    factor, on : float, {"demand", "sales"}
        Of "history": safety factor; whether past demands or past sales are averaged.
    n, n_test : int
        Rows to train on and to test on, nine categories a day. Testing starts on the day after
        training. Months matter, and have dummies, when training covers a year.
    level : float
        Mean demand of the first category on a Monday in January.
    spread : float
        Deviation of demand there, as a share of `level`.
    shape : float, optional
        Degrees of freedom of "student" (5; above 2), shape of the noise of "gamma_noise" (2).
    continuous : bool
        Add a price and a temperature, with effects.
    clip : bool
        Clip demand and order at zero, which concerns few rows at the default spread.
    seed : int
        Non-negative.

    Returns
    -------
    CensoringLab
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
    rule = Rule(orders, share, quantile, noise, ample, factor, on)
    kind = DemandKind.read(family, scale, level, spread, shape, clip)
    n_train, n_rows = _whole("n", n), _whole("n_test", n_test)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidInput(f"seed must be a non-negative integer, got {seed!r}.")
    # a stream for each purpose: what one of them draws does not move the others
    features, luck, stock, past = (
        np.random.Generator(np.random.PCG64(child))
        for child in np.random.SeedSequence(int(seed)).spawn(4)
    )
    start = -(-n_train // N_CATEGORIES) * N_CATEGORIES  # testing starts with a whole day
    seasonal = start >= YEAR * N_CATEGORIES
    design = retail_design(start + n_rows, features, seasonal=seasonal, continuous=continuous)
    market = kind.market(design, luck, n_train)
    if rule.policy == "history":
        before = retail_design(
            len(_DAYS_BEFORE) * N_CATEGORIES,
            past,
            seasonal=seasonal,
            continuous=continuous,
            first_day=_DAYS_BEFORE[0],
        )
        order = _history(rule, (before, design), (kind.market(before, past, 1), market))
    else:
        order = policy_orders(rule, market, stock)
    train, test = slice(0, n_train), slice(start, start + n_rows)
    return CensoringLab(
        _part(kind, design, market, order, train),
        _part(kind, design, market, order, test),
        int(seed),
    )


def _history(rule: Rule, designs: tuple[Design, Design], markets: tuple[Market, Market]) -> Array:
    """Orders on the past of each category; four weeks before the first row start it."""
    before = len(markets[0].demand)
    order = history_orders(
        np.concatenate([market.demand for market in markets]),
        np.concatenate([design.dates for design in designs]),
        np.concatenate([design.category for design in designs]),
        k=_WEEKS_BACK,
        factor=rule.factor,
        on=rule.on,
    )
    return markets[1].stocked(order[before:])


def _part(kind: DemandKind, design: Design, market: Market, order: Array, rows: slice) -> LabPart:
    return LabPart(**part_fields(kind, design, market, order, rows, CATEGORIES))


def part_fields(
    kind: DemandKind,
    design: Design,
    market: Market,
    order: Array,
    rows: slice,
    categories: Sequence[str],
) -> dict[str, Any]:
    """Give the fields of a `LabPart`: some rows of a market, and what was sold there."""
    return {
        "features": design.features[rows],
        "feature_names": design.feature_names,
        "dates": design.dates[rows],
        "category": np.array(categories)[design.category[rows]],
        "mean": market.mean[rows],
        "deviation": market.deviation[rows],
        "demand": market.demand[rows],
        "order": order[rows],
        "sales": np.minimum(market.demand[rows], order[rows]),
        "family": kind.family,
        "shape": kind.shape,
        "clip": kind.clip,
    }


def _whole(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InvalidInput(f"{name} must be a positive integer, got {value!r}.")
    return int(value)
