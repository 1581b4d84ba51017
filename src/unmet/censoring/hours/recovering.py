"""What empty shelves hid, where it is known when they were: daily demand with its uncertainty.

The hours with stock say how busy a day was, the shape of a day says what the others would have
sold. A day's own factor has a gamma distribution around 1 whose spread is estimated, so that a day
with few hours left leans on days around and on other series, and a day with many on itself:

    ``level · (k + sold / φ) / (k + level · exposure / φ)``

where φ is the dispersion of hours. That is right also for a shelf that was emptied by its own
sales: what was sold until then and how long it took is all that the likelihood sees, whatever
stopped it.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from unmet.arrays import Array
from unmet.censoring.hours.hours import (
    HourlySales,
    blocks_of_series,
    table_of_days,
)
from unmet.censoring.hours.levels import (
    DayShape,
    day_noise,
    dispersion,
    distribution_of_units,
    finest,
    fit_levels,
    fit_shape,
    flat_shape,
    own_level,
    shrunk_to_pooled,
    sums_by_kind,
)
from unmet.errors import InvalidInput
from unmet.tables.panel import DrawnDemand
from unmet.validation import Number, WholeNumber

if TYPE_CHECKING:
    import polars

_BLOCK = 4_000_000  # hours at a time
_PASSES = 2  # over the hours: levels and shapes need each other
#: What a day with hidden hours teaches other days, against a whole one. Such days are busier than
#: others; where a series has no whole days, they are all there is.
_BROKEN = 0.02
_RATIO_UNITS = 50.0
_PHI_UNITS = 100.0


@dataclass(frozen=True)
class RecoveredDemand:
    """Demand of each series and day, with what the shelf hid.

    Attributes
    ----------
    sold : ndarray of shape (n_series, n_days)
        Sales of the day; NaN where nothing is known.
    hidden : ndarray of shape (n_series, n_days)
        Expected demand of the hours without stock.
    hidden_sold : ndarray of shape (n_series, n_days)
        What was sold in these hours all the same: in the hour in which the shelf ran empty.
    hours_out : ndarray of shape (n_series, n_days)
        Hours without stock while the shop was open.
    evidence : ndarray of shape (n_series, n_days)
        Shape of the gamma distribution of the day's level, given its hours with stock.
    unit : float
        Size of a unit.
    phi : ndarray of shape (n_series,)
        Dispersion of hours.
    keys : polars.DataFrame
    dates : ndarray of datetime64
    busier : float
        How many times busier days with hidden hours were before, on average; 1 where that was not
        asked for.
    """

    sold: Array
    hidden: Array
    hidden_sold: Array
    hours_out: Array
    evidence: Array
    unit: float
    phi: Array
    keys: polars.DataFrame
    dates: NDArray[np.datetime64]
    busier: float = 1.0

    @property
    def demand(self) -> Array:
        """Expected demand, (n_series, n_days)."""
        return np.asarray(self.sold - self.hidden_sold + np.maximum(self.hidden, self.hidden_sold))

    def quantile(self, level: float) -> Array:
        """Quantile of each day's demand: what was sold, and a quantile of what was hidden."""
        Number(above=0, below=1)("level", level)
        units = stats.nbinom.ppf(level, *self._distribution()) * self.unit
        hidden = np.where(self.hidden > 0, np.nan_to_num(units), 0.0)
        return np.asarray(self.sold - self.hidden_sold + np.maximum(hidden, self.hidden_sold))

    def draws(self, n_draws: int, seed: int = 0) -> Array:
        """Demand drawn from its distribution, (n_draws, n_series, n_days)."""
        WholeNumber(1)("n_draws", n_draws)
        size, chance = self._distribution()
        generator = np.random.default_rng(seed)
        drawn = generator.negative_binomial(size, chance, (n_draws, *size.shape)) * self.unit
        hidden = np.where(self.hidden > 0, drawn, 0.0)
        return np.asarray(self.sold - self.hidden_sold + np.maximum(hidden, self.hidden_sold))

    def drawn_demand(self, n_draws: int, seed: int = 0) -> DrawnDemand:
        """Give what `unmet.planning.OrderPlan` takes as ``hours=``."""
        lost = self.draws(n_draws, seed) - self.sold
        return DrawnDemand(self.keys, self.dates[0].item(), self._out, lost, self.describe())

    @property
    def _out(self) -> Array:
        """1 on days with an empty shelf, 0 on others, NaN where nothing is known."""
        return np.where(np.isnan(self.sold), np.nan, (self.hours_out > 0).astype(np.float64))

    def describe(self) -> str:
        """Say in a sentence what the flags gave away."""
        more = float(np.nansum(self.demand) / max(float(np.nansum(self.sold)), 1e-300) - 1)
        return (
            f"Shelves were empty for hours on {np.nanmean(self._out):.0%} of the days; "
            f"{more:.0%} more was asked for than sold."
        )

    def _distribution(self) -> tuple[Array, Array]:
        """Distribution of hidden units."""
        return distribution_of_units(
            np.nan_to_num(self.hidden) / self.unit, self.evidence, self.phi
        )

    def table(self, *, interval: float = 0.8) -> polars.DataFrame:
        """One row for each series and day: sold, demand, an interval of it, hours out of stock."""
        low, high = (self.quantile(each) for each in ((1 - interval) / 2, (1 + interval) / 2))
        return table_of_days(
            self.keys,
            self.dates,
            "date",
            self.sold,
            demand=np.round(self.demand, 4),
            low=low,
            high=high,
            hours_out=self.hours_out,
        )


def recover(hours: HourlySales, *, busier: bool = False, seed: int = 0) -> RecoveredDemand:
    """Recover daily demand where it is known in which hours the shelf was empty.

    Parameters
    ----------
    hours : HourlySales
        With `stock_out`.
    busier : bool, default=False
        Learn from the hours before a shelf ran empty how much busier such days were, and count on
        it in the hours after. Right where shelves are emptied by demand: on 992 series of fresh
        food, sold-out days had been 40% busier than others. Not right where hours are missing by
        chance, as in the published test of recovery.
    seed : int

    Returns
    -------
    RecoveredDemand

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.censoring.hours import HourlySales
    >>> sales = np.full((1, 20, 24), 0.0)
    >>> sales[:, :, 8:18] = 2
    >>> empty = np.zeros(sales.shape, dtype=bool)
    >>> empty[0, 5, 13:] = True
    >>> sales[0, 5, 13:] = 0
    >>> found = recover(HourlySales.from_arrays(sales, "2024-05-01", stock_out=empty))
    >>> float(found.sold[0, 5]), round(float(found.demand[0, 5]))
    (10.0, 20)
    """
    if not isinstance(hours, HourlySales):
        raise InvalidInput(
            "hours must be HourlySales, such as read_hourly makes of a table or a file, got "
            f"{type(hours).__name__}."
        )
    if hours.stock_out is None:
        raise InvalidInput(
            "hours must say when shelves were empty (stock_out), got none: without it, the "
            "silence of the till tells (detect_stockouts)."
        )
    opened, kind, unit = hours.open, hours.kind, hours.unit
    shape = flat_shape(opened, kind)
    level = np.ones((hours.n_series, hours.n_days))
    group = finest(hours.groups, hours.n_series)
    for _ in range(_PASSES):
        sums, over = (np.zeros(shape.share.shape) for _ in range(2))
        for part in blocks_of_series(level.shape, _BLOCK):
            sales = hours.sales[part]
            stocked = _stocked(sales, hours.stock_out[part], opened[part])
            whole = _whole(stocked, opened[part])
            teach = stocked * np.where(whole, 1.0, _BROKEN)[:, :, None]
            sums[part] = sums_by_kind(np.nan_to_num(sales) * teach, shape, part)
            over[part] = sums_by_kind(level[part][:, :, None] * teach, shape, part)
        shape = fit_shape(sums / unit, over, opened, kind, group)
        day = _days(hours, shape)
        level = fit_levels(
            day.sold,
            day.exposure,
            hours.weekday,
            hours.groups,
            np.where(day.whole, 1.0, _BROKEN),
            seed,
        )
    phi = np.maximum(shrunk_to_pooled(day.squares, day.expected, _PHI_UNITS), 1.0)
    noise = day_noise(day.sold, day.exposure, level, phi)
    average = 1.0
    if busier:
        average, ratio = _busier(day, level)
        level = np.where(day.whole, level, level * ratio[:, None])
    own, evidence = own_level(level, day.sold, day.exposure, noise, phi)
    return RecoveredDemand(
        day.total,
        own * day.without * unit,
        day.hidden_sold,
        day.hours_out,
        evidence,
        unit,
        phi,
        hours.keys,
        hours.dates,
        average,
    )


def _stocked(sales: Array, out: NDArray[np.bool_], opened: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Hours with stock, of days that are known, while the shop was open."""
    return np.asarray(~out & ~np.isnan(sales) & opened[:, None])


def _whole(stocked: NDArray[np.bool_], opened: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Days with stock in every open hour."""
    return np.asarray((stocked | ~opened[:, None]).all(axis=2))


def _days(hours: HourlySales, shape: DayShape) -> SimpleNamespace:
    """Add up the hours of each day, in units; `total` and `hidden_sold` as they were sold."""
    assert hours.stock_out is not None
    parts: list[dict[str, NDArray[Any]]] = []
    for part in blocks_of_series((hours.n_series, hours.n_days), _BLOCK):
        opened, sales, out = hours.open[part], hours.sales[part], hours.stock_out[part]
        stocked = _stocked(sales, out, opened)
        known = ~np.isnan(sales[:, :, 0])
        amount, share = np.nan_to_num(sales), shape.of(part)
        empty = out & opened[:, None] & known[:, :, None]
        units = amount / hours.unit
        # the hour before a shelf is empty nearly always has a sale: it says nothing of the rate
        after = np.ones_like(stocked)
        after[:, :, :-1] = ~empty[:, :, 1:]
        squares, expected = dispersion(units, stocked.astype(np.float64), share)
        parts.append(
            {
                "whole": _whole(stocked, opened),
                "total": np.where(known, amount.sum(axis=2), np.nan),
                "sold": (units * stocked).sum(axis=2),
                "exposure": (share * stocked).sum(axis=2),
                "without": (share * empty).sum(axis=2),
                "hidden_sold": (amount * empty).sum(axis=2),
                "hours_out": empty.sum(axis=2).astype(np.float64),
                "before_sold": (units * (stocked & after)).sum(axis=2),
                "before": (share * (stocked & after)).sum(axis=2),
                "squares": squares,
                "expected": expected,
            }
        )
    return SimpleNamespace(
        **{name: np.concatenate([each[name] for each in parts]) for name in parts[0]}
    )


def _busier(day: SimpleNamespace, level: Array) -> tuple[float, Array]:
    """How many times the usual sold-out days sold while they had stock: in all, and by series."""
    broken = ~day.whole & (day.hours_out > 0)
    sold = (day.before_sold * broken).sum(axis=1)
    usual = (level * day.before * broken).sum(axis=1)
    average = float((sold.sum() + _RATIO_UNITS) / (usual.sum() + _RATIO_UNITS))
    return average, (sold + _RATIO_UNITS * average) / (usual + _RATIO_UNITS)
