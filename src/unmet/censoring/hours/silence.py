"""Which days sold out, by the hours of sales: silence after the last sale is a soft flag.

A shelf runs empty by a sale, not by itself: of 992 series of fresh food, 96% of all stock-outs
began right after an hour with a sale. So each day is a chain of two states, stock or none. After an
hour with a sale the shelf may be empty, the likelier the more of a usual day has been sold; an
empty shelf sells nothing and is rarely filled again before the next morning; a full one sells by
the level of the day and its usual shape. Forward and backward through the hours, at several levels
of the day, that gives the probability of stock in each hour. Levels, shapes, the chance to run
empty and that of being filled again are estimated from the same hours in turn (EM): nothing needs
to be flagged.

What it cannot tell it does not claim. A shelf that ran empty an hour before closing, or an item
that sells twice a day, is silent either way: the probability then stays near what is usual.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import optimize, stats
from scipy.special import gammaln

from unmet.arrays import Array
from unmet.censoring.hours.hours import (
    HourlySales,
    Places,
    blocks_of_series,
    closed_days,
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
    sum_of_others,
    sums_by_kind,
    weight_of_days,
)
from unmet.errors import InvalidInput, MissingPackage
from unmet.tables.panel import DrawnDemand
from unmet.validation import Instance, WholeNumber

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure

_BLOCK = 2_000_000  # hours at a time
_STEPS = 5  # of EM; the ranking of days hardly moves after three
_NODES = 5  # levels of a day that are tried
#: Hours vary more than their dispersion says where shapes are not quite right. 1 called 2.1% of
#: days sold out where none was; 1.5 found fewer of those that were.
_SLACK = 1.2
_SOLD = np.array([0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.35, 1.75, 2.5])  # parts of a usual day
_EDGES = np.array([0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0])
_PARTS = 6  # of the day, each with its own chance to run empty
_FIRST_CHANCE = 0.03  # to run empty with a sale, after a usual day's sales
_UNSOLD = 0.002  # to run empty without a sale: spoiled, taken off the shelf
_LEAK = 0.03  # to sell in an hour that counts as empty: it was empty for a part of it
_MORE = 0.25  # chance that such a sale was the last
_REFILL, _REFILL_HOURS = 0.01, 10_000.0  # chance to be filled in an hour, and how surely
_OF_SERIES, _OF_DAYS, _OF_GROUP = 3.0, 1.0, 1.0  # stock-outs' worth of the parent
_DAYS_AROUND = 4.0
_SLOPE, _SLOPE_SURE, _PART_SURE = 1.0, 50.0, 10.0
_MOST = 0.7
_PHI_UNITS = 30.0  # units' worth of all series in the dispersion of each
#: Shape of the distribution of a day's factor at most: sold-out days are left out of what tells it.
_MAX_NOISE = 5.0
_NIGHT = 0.002  # share of sales that makes an hour count, also outside opening hours
_LEAST_STOCK = 0.3  # of each day's demand that is taken to have met stock


@dataclass(frozen=True)
class DetectedStockouts:
    """What hours of sales say of each day.

    Attributes
    ----------
    probability : ndarray of shape (n_series, n_days)
        That the shelf was empty when the shop closed; NaN where nothing is known of the day, 0 on
        days on which the shop itself was closed.
    stock : ndarray of shape (n_series, n_days, 24)
        Probability that there was stock in each hour; 1 while the shop is closed.
    sold : ndarray of shape (n_series, n_days)
    level : ndarray of shape (n_series, n_days)
        Units that a whole day with stock is expected to ask for, told by other days.
    shape : DayShape
    noise, phi : ndarray of shape (n_series,)
        Shape of the gamma distribution of a day's own factor; dispersion of hours.
    unit : float
        Size of a unit.
    hours : HourlySales
    """

    probability: Array
    stock: Array
    sold: Array
    level: Array
    shape: DayShape
    noise: Array
    phi: Array
    unit: float
    hours: HourlySales

    @property
    def hours_out(self) -> Array:
        """Expected hours without stock while the shop was open, (n_series, n_days)."""
        return np.asarray(((1 - self.stock) * self.hours.open[:, None]).sum(axis=2))

    @property
    def demand(self) -> Array:
        """Expected demand of each day, given its hours, (n_series, n_days)."""
        seen, lost = self._exposures(None)
        own, _ = self._own_level(seen)
        return np.asarray(self.sold + own * lost * self.unit)

    def draws(self, n_draws: int, seed: int = 0) -> Array:
        """Demand drawn given the hours of each day, (n_draws, n_series, n_days).

        Each draw settles first in which hours there was stock, then the level of the day, then what
        the hours without stock would have sold.
        """
        WholeNumber(1)("n_draws", n_draws)
        generator = np.random.default_rng(seed)
        drawn = np.empty((n_draws, *self.sold.shape))
        for each in range(n_draws):
            # one number a day: hours are empty where stock is less likely than it, so that each
            # hour is empty as often as it should be, and hours of a day go together
            seen, lost = self._exposures(generator.random(self.sold.shape))
            own, evidence = self._own_level(seen)
            units = generator.negative_binomial(
                *distribution_of_units(own * lost, evidence, self.phi)
            )
            drawn[each] = self.sold + np.where(lost > 0, units, 0) * self.unit
        return drawn

    def _exposures(self, cut: Array | None) -> tuple[Array, Array]:
        """Shares of the day with and without stock: expected, or with stock as likely as `cut`."""
        seen, lost = np.zeros(self.sold.shape), np.zeros(self.sold.shape)
        for part in blocks_of_series(self.sold.shape, _BLOCK):
            stock, share = self.stock[part], self.shape.of(part)
            had = stock if cut is None else (stock >= cut[part][:, :, None])
            seen[part] = (share * had).sum(axis=2)
            lost[part] = (share * (1 - had)).sum(axis=2)
        return seen, lost

    def _own_level(self, seen: Array) -> tuple[Array, Array]:
        """Level of each day, given its own hours, and the shape of its gamma distribution."""
        units = np.nan_to_num(self.sold) / self.unit
        return own_level(self.level, units, seen, self.noise, self.phi)

    def table(self) -> polars.DataFrame:
        """One row for each series and day that is known."""
        return table_of_days(
            self.hours.keys,
            self.hours.dates,
            self.hours.date,
            self.sold,
            sold_out=np.round(self.probability, 4),
            hours_out=np.round(self.hours_out, 2),
            demand=np.round(self.demand, 4),
        )

    def drawn_demand(self, n_draws: int, seed: int = 0) -> DrawnDemand:
        """Give what `unmet.planning.OrderPlan` takes as ``hours=``."""
        lost = self.draws(n_draws, seed) - self.sold
        chance: Array = np.round(self.probability, 3).astype(np.float64)
        first, note = self.hours.first_day, self.describe()
        return DrawnDemand(self.hours.keys, first, chance, lost, note)

    def describe(self) -> str:
        """Say in a few sentences what the hours say."""
        known = self.hours.known
        chance = self.probability[known]
        sure, likely = float((chance > 0.9).mean()), float((chance > 0.5).mean())
        open_ = float(((chance > 0.1) & (chance < 0.9)).mean())
        hidden = float(np.nansum(self.demand) / max(float(np.nansum(self.sold)), 1e-300) - 1)
        count = int(known.sum())
        days = "1 day" if count == 1 else f"{count:,} days"
        return (
            f"By the hours of the till, {likely:.0%} of {days} sold out more likely than not "
            f"({sure:.0%} almost surely); of {open_:.0%} the hours cannot tell. About "
            f"{chance.mean():.0%} sold out in all, and {hidden:.0%} more was asked for than sold."
        )


def detect_stockouts(
    hours: HourlySales,
    *,
    progress: Callable[[int, int, str], object] | None = None,
) -> DetectedStockouts:
    """Read from the hours of each day whether, and since when, its shelf was empty.

    Parameters
    ----------
    hours : HourlySales
        Flags that it has are not looked at: `recover` does.
    progress : callable, optional
        Is told how far the work is: ``progress(done, total, doing)``.

    Returns
    -------
    DetectedStockouts

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.censoring.hours import HourlySales, detect_stockouts
    >>> generator = np.random.default_rng(0)
    >>> sales = np.zeros((1, 60, 24))
    >>> sales[:, :, 8:20] = generator.poisson(4, (1, 60, 12))
    >>> sales[0, ::5, 14:] = 0  # every fifth day the shelf is empty from two o'clock on
    >>> reading = detect_stockouts(HourlySales.from_arrays(sales, "2024-05-01"))
    >>> found = reading.probability[0] > 0.9
    >>> bool(found[::5].all()), int(found.sum())
    (True, 12)
    """
    Instance(HourlySales, "HourlySales, as read_hourly gives them")("hours", hours)
    if not np.nansum(hours.sales) > 0:
        raise InvalidInput("hours must have sales, got none.")
    chain = _Chain(hours)
    for step in range(_STEPS):
        if progress is not None:
            progress(step, _STEPS, "reading the hours")
        chain.expect()
        if step + 1 < _STEPS:
            chain.learn()
    known = hours.known
    stock = np.where(chain.open[:, None], chain.stock, 1.0)
    last = hours.open.shape[1] - 1 - hours.open[:, ::-1].argmax(axis=1)
    closing = stock[np.arange(hours.n_series), :, last]
    if progress is not None:
        progress(_STEPS, _STEPS, "done")
    return DetectedStockouts(
        np.where(known, 1 - closing.astype(np.float64), np.nan),
        stock,
        np.where(known, np.nan_to_num(hours.sales).sum(axis=2), np.nan),
        chain.level,
        chain.shape,
        chain.noise,
        chain.phi,
        hours.unit,
        hours,
    )


class _Chain:
    """Two states through the hours of each day, and what EM knows of them.

    Counts are in units, closed hours left out: hours run from the first in which any shop sells to
    the last.
    """

    def __init__(self, hours: HourlySales) -> None:
        self.hours = hours
        # who sells at night as well gives away more: an empty shelf stays empty after hours
        whole = np.nansum(hours.sales, axis=(0, 1))
        self.open = hours.open | (whole > _NIGHT * whole.sum())
        used = np.flatnonzero(self.open.any(axis=0))
        self.first, self.last = int(used[0]), int(used[-1]) + 1
        self.n_hours = self.last - self.first
        # on a day on which the shop was closed nothing ran empty
        self.known = hours.known & ~closed_days(hours)
        self.group = finest(hours.groups, hours.n_series)
        self.items = _narrowest(hours)
        self.unit = hours.unit
        n_series, n_days = self.known.shape
        self.stock = np.ones((n_series, n_days, hours.open.shape[1]), dtype=np.float32)
        self.shape = flat_shape(self.open, hours.kind)
        self.level = np.ones((n_series, n_days))
        self.phi, self.noise = np.full(n_series, 1.5), np.full(n_series, 8.0)
        self.table = _FIRST_CHANCE * np.repeat(_SOLD[None], _PARTS, axis=0)
        self.times = np.ones((n_series, n_days))  # as likely as usual to run empty
        self.refill = np.full(self.n_hours, _REFILL)
        self.start = np.full(n_series, 0.05)
        self._days()
        self._shape_and_level()
        self._days()

    # --- What is summed over hours.

    def _block(self, part: slice) -> tuple[Array, Array, Array]:
        """Give counts, shares and probabilities of stock in the hours of some series."""
        window = slice(self.first, self.last)
        counts = np.round(np.nan_to_num(self.hours.sales[part, :, window]) / self.unit)
        counts = np.where(self.open[part, None, window], counts, 0.0)
        return counts, self.shape.of(part)[:, :, window], self.stock[part, :, window].astype(float)

    def _days(self) -> None:
        """Sales and exposure of each day, sums by kind of day and hour, dispersion."""
        n_series, n_days = self.known.shape
        self.sold, self.exposure = np.zeros((n_series, n_days)), np.zeros((n_series, n_days))
        self.sums, self.over = (np.zeros(self.shape.share.shape) for _ in range(2))
        squares, expected = np.zeros(n_series), np.zeros(n_series)
        for part in blocks_of_series(self.known.shape, _BLOCK):
            counts, share, stock = self._block(part)
            stock = stock * self.known[part][:, :, None]
            # a sale in an hour that looks empty is a sale all the same
            counted = counts * np.maximum(stock, 0.5 * (counts > 0))
            self.sold[part] = counted.sum(axis=2)
            self.exposure[part] = (share * stock).sum(axis=2)
            window = slice(self.first, self.last)
            levels = self.level[part][:, :, None] * stock
            self.sums[part, :, window] = sums_by_kind(counts * stock, self.shape, part)
            self.over[part, :, window] = sums_by_kind(levels, self.shape, part)
            squares[part], expected[part] = dispersion(counts, stock, share)
        if expected.sum() > 0:
            own = shrunk_to_pooled(squares, expected, _PHI_UNITS)
            self.phi = 1 + _SLACK * np.maximum(own - 1, 0.02)

    def _shape_and_level(self) -> None:
        self.shape = fit_shape(self.sums, self.over, self.open, self.hours.kind, self.group)
        # of what cannot be told, not all is lost: without a floor, levels of items that hardly sell
        # and chances to be empty raise each other from step to step
        exposure = np.where(self.known, np.maximum(self.exposure, _LEAST_STOCK), 0.0)
        self.level = fit_levels(self.sold, exposure, self.hours.weekday, self.hours.groups)
        noise = day_noise(self.sold, self.exposure, self.level, self.phi)
        self.noise = np.minimum(noise, _MAX_NOISE)

    # --- The two steps of EM.

    def expect(self) -> None:
        """Go forward and backward through the hours of each day."""
        n_series, n_days = self.known.shape
        self.emptied, self.at_risk = np.zeros((n_series, n_days)), np.zeros((n_series, n_days))
        self.number = np.zeros((_PARTS, _SOLD.size))
        self.base = np.zeros((_PARTS, _SOLD.size))
        self.filled, self.empty = np.zeros(self.n_hours), np.zeros(self.n_hours)
        self.out_first = np.zeros(n_series)
        part_of_day = np.minimum(np.arange(self.n_hours) * _PARTS // self.n_hours, _PARTS - 1)
        for part in blocks_of_series(self.known.shape, _BLOCK):
            counts, share, _ = self._block(part)
            level = self.level[part][:, :, None]
            so_far = np.digitize(np.cumsum(counts, axis=2) / np.maximum(level, 1e-9), _EDGES)
            sale = counts > 0
            usual = self.table[part_of_day, so_far]
            chance = np.where(
                sale, np.clip(usual * self.times[part][:, :, None], 1e-4, _MOST), _UNSOLD
            )
            stock, emptied, filled = _forward_backward(
                counts,
                level * share,
                chance,
                self.refill,
                self.start[part],
                _levels_of_a_day(self.noise[part]),
                self.phi[part],
            )
            known = self.known[part][:, :, None]
            self.stock[part, :, self.first : self.last] = np.where(known, stock, 1.0)
            # what the M step needs; the last hour leads nowhere
            sold_then = (sale & known)[:, :, :-1]
            run_out = np.where(sold_then, emptied[:, :, :-1], 0.0)
            risk = np.where(sold_then, stock[:, :, :-1], 0.0)
            cell = (part_of_day * _SOLD.size + so_far)[:, :, :-1].ravel()
            size = self.table.size
            self.number += np.bincount(cell, run_out.ravel(), size).reshape(self.table.shape)
            weighed = risk * self.times[part][:, :, None]
            self.base += np.bincount(cell, weighed.ravel(), size).reshape(self.table.shape)
            self.emptied[part] = run_out.sum(axis=2)
            self.at_risk[part] = (risk * usual[:, :, :-1]).sum(axis=2)
            self.filled += (filled * known).sum(axis=(0, 1))
            self.empty += ((1 - stock) * known).sum(axis=(0, 1))
            self.out_first[part] = ((1 - stock[:, :, 0]) * self.known[part]).sum(axis=1)

    def learn(self) -> None:
        """Estimate all that the chain needs from what is now likely."""
        before = self.table
        self.table = _chances(self.number, self.base)
        risk = self.at_risk * (self.table.sum() / before.sum())
        weight = weight_of_days(self.known.shape[1], _DAYS_AROUND)
        own = (self.emptied.sum(axis=1) + _OF_SERIES) / (risk.sum(axis=1) + _OF_SERIES)
        times = (self.emptied @ weight + _OF_DAYS * own[:, None]) / (risk @ weight + _OF_DAYS)
        if self.items is not None:
            expected = risk * times
            others = sum_of_others(self.items, self.emptied)
            usual = sum_of_others(self.items, expected)
            times = times * np.clip((others + _OF_GROUP) / (usual + _OF_GROUP), 0.2, 5.0)
        self.times = times
        pull = _REFILL * _REFILL_HOURS
        self.refill = (self.filled + pull) / (self.empty + _REFILL_HOURS)
        self.start = (self.out_first + 1.0) / (self.known.sum(axis=1) + 20.0)
        self._days()
        self._shape_and_level()


def _narrowest(hours: HourlySales) -> Places | None:
    """Find the grouping with most groups: the same item runs short in several shops at once."""
    if not hours.groups:
        return None
    return max(hours.groups.values(), key=lambda each: int(each.max()))


def _levels_of_a_day(noise: Array) -> Array:
    """Equally likely factors of the level of a day, gamma distributed, (n_nodes, n_series)."""
    middle = (np.arange(_NODES) + 0.5)[:, None] / _NODES
    factor = stats.gamma.ppf(middle, noise) / noise
    return np.asarray(factor / factor.mean(axis=0))


def _chances(number: Array, base: Array) -> Array:
    """Chance to run empty with a sale, by part of the day and by what was sold so far.

    ``log chance = part + slope · log(sold so far / level)``, slope ≥ 0: a Poisson regression on
    a table of sums, each part shrunk to the mean of all and the slope to 1.
    """
    place = np.log(_SOLD)

    def objective(parameters: Array) -> tuple[float, Array]:
        parts, slope = parameters[:-1], parameters[-1]
        log = parts[:, None] + slope * place
        mean = base * np.exp(log)
        apart = parts - parts.mean()
        value = (mean - number * log).sum()
        value += 0.5 * _PART_SURE * (apart**2).sum() + 0.5 * _SLOPE_SURE * (slope - _SLOPE) ** 2
        error = mean - number
        gradient = error.sum(axis=1) + _PART_SURE * apart
        steeper = (error * place).sum() + _SLOPE_SURE * (slope - _SLOPE)
        return float(value), np.append(gradient, steeper)

    start = np.append(np.full(_PARTS, np.log(_FIRST_CHANCE)), _SLOPE)
    limits = [(-9.0, -0.3)] * _PARTS + [(0.0, 3.0)]
    best = optimize.minimize(objective, start, jac=True, bounds=limits, method="L-BFGS-B").x
    return np.asarray(np.minimum(np.exp(best[:-1, None] + best[-1] * place), _MOST))


def _forward_backward(
    counts: Array,
    rate: Array,
    chance: Array,
    refill: Array,
    start: Array,
    factor: Array,
    phi: Array,
) -> tuple[Array, Array, Array]:
    """Probability of stock in each hour, of running empty after it, and of being filled after it.

    Parameters
    ----------
    counts, rate, chance : ndarray of shape (n_series, n_days, n_hours)
        Units sold; units expected with stock at the usual level; chance to be empty after the hour.
    refill : ndarray of shape (n_hours,)
    start : ndarray of shape (n_series,)
        Chance to open with an empty shelf.
    factor : ndarray of shape (n_nodes, n_series)
        Levels of a day that are equally likely, as factors.
    phi : ndarray of shape (n_series,)
        With stock, counts are negative binomial with the variance ``phi · mean``.

    Returns
    -------
    stock, emptied, filled : ndarray of shape (n_series, n_days, n_hours)
    """
    n_hours = counts.shape[2]
    positive = counts > 0
    many = counts[positive]
    constant = gammaln(many + 1)
    wide = phi[:, None, None]
    rarer = np.broadcast_to(np.log((wide - 1) / wide), counts.shape)[positive]
    of_none = np.full(counts.shape, np.log1p(-_LEAK))
    of_none[positive] = np.log(_LEAK * _MORE) + (many - 1) * np.log1p(-_MORE)
    likelihood, parts = [], []
    for each in factor:
        size = np.maximum(rate * each[:, None, None], 1e-6) / (wide - 1)
        log = -size * np.log(wide)
        some = size[positive]
        log[positive] += gammaln(many + some) - gammaln(some) - constant
        log[positive] += many * rarer
        # selling more than expected is never a sign of an empty shelf
        log_none = np.where(positive, np.minimum(of_none, log + np.log1p(-_LEAK)), of_none)
        # both are tiny where many are sold at once: only their ratio counts
        largest_log = np.maximum(log, log_none)
        with_stock, with_none = np.exp(log - largest_log), np.exp(log_none - largest_log)
        ahead = np.empty((n_hours, *counts.shape[:2]))
        first = (1 - start)[:, None] * with_stock[:, :, 0]
        other = start[:, None] * with_none[:, :, 0]
        total = first + other
        log_sum = np.log(total) + largest_log.sum(axis=2)
        ahead[0] = first / total
        for hour in range(1, n_hours):
            had, gone = ahead[hour - 1], chance[:, :, hour - 1]
            back = refill[hour - 1]
            full = (had * (1 - gone) + (1 - had) * back) * with_stock[:, :, hour]
            none = (had * gone + (1 - had) * (1 - back)) * with_none[:, :, hour]
            total = full + none
            log_sum = log_sum + np.log(total)
            ahead[hour] = full / total
        stock, emptied = np.empty(counts.shape), np.zeros(counts.shape)
        filled = np.zeros(counts.shape)
        stock[:, :, -1] = ahead[-1]
        later_full, later_none = np.ones(counts.shape[:2]), np.ones(counts.shape[:2])
        for hour in range(n_hours - 2, -1, -1):
            had, gone, back = ahead[hour], chance[:, :, hour], refill[hour]
            to_full = with_stock[:, :, hour + 1] * later_full
            to_none = with_none[:, :, hour + 1] * later_none
            ran_out = had * gone * to_none
            came_back = (1 - had) * back * to_full
            total = ran_out + came_back + had * (1 - gone) * to_full
            total = total + (1 - had) * (1 - back) * to_none
            emptied[:, :, hour], filled[:, :, hour] = ran_out / total, came_back / total
            from_full = (1 - gone) * to_full + gone * to_none
            from_none = back * to_full + (1 - back) * to_none
            largest = np.maximum(from_full, from_none)
            later_full, later_none = from_full / largest, from_none / largest
            weighed = had * later_full
            stock[:, :, hour] = weighed / (weighed + (1 - had) * later_none)
        likelihood.append(log_sum)
        parts.append((stock, emptied, filled))
    logs = np.array(likelihood)
    weight = np.exp(logs - logs.max(axis=0))
    weight /= weight.sum(axis=0)
    stock, emptied, filled = (
        np.einsum("ksd,ksdh->sdh", weight, np.array([each[which] for each in parts]))
        for which in range(3)
    )
    return stock, emptied, filled


# --- An item's days in a plot: sales by the hour, silent hours shaded.

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_ROW = 0.34  # inches of a day
_SHADES = (0.1, 0.3, 0.5, 0.7, 0.9)  # least probabilities of an empty shelf, each a shade darker


def draw_days(reading: DetectedStockouts, series: int = 0, *, n_days: int = 21) -> Figure:
    """Draw the last days of an item, an hour a bar; hours that were likely empty are shaded.

    Parameters
    ----------
    reading : DetectedStockouts
    series : int
        Row of ``reading.hours.keys``.
    n_days : int

    Returns
    -------
    matplotlib.figure.Figure
        Not known to pyplot: save it with ``figure.savefig``.
    """
    WholeNumber(1)("n_days", n_days)
    hours = reading.hours
    if not 0 <= series < hours.n_series:
        raise InvalidInput(f"series must be from 0 to {hours.n_series - 1}, got {series}.")
    module = MissingPackage.or_load("draw_days()", "matplotlib.figure", "report")
    days = np.flatnonzero(hours.known[series])[-n_days:]
    opens, closes = hours.window(series)
    hour = np.arange(opens, closes)
    sold = hours.sales[series][days][:, opens:closes]
    stock = reading.stock[series][days][:, opens:closes]
    most = max(float(sold.max()), 1e-12)
    lost = (reading.demand - reading.sold)[series]
    figure = module.Figure(figsize=(7.2, 1.5 + _ROW * days.size), layout="constrained")
    axes = figure.subplots()
    for row, day in enumerate(days):
        base = days.size - 1 - row
        for place, at in enumerate(hour):
            empty = 1 - float(stock[row, place])
            shade = sum(empty > each for each in _SHADES) / len(_SHADES)
            if shade:
                axes.fill_between(
                    [at, at + 1], base, base + 0.92, color="#d95f02", alpha=0.5 * shade, lw=0
                )
        axes.bar(
            hour + 0.5, 0.86 * sold[row] / most, width=0.8, bottom=base, color="#1b4965", zorder=3
        )
        axes.axhline(base, color="0.85", lw=0.6, zorder=1)
        chance = float(reading.probability[series, day])
        told = f"{sold[row].sum():g} sold"
        if chance > 0.5:
            told += f"; sold out (p = {chance:.2f}), about {lost[day]:.2g} more asked for"
        axes.text(closes + 0.2, base + 0.3, told, fontsize=7.5, va="center")
    labels = [str(np.datetime_as_string(hours.dates[day], unit="D")) for day in days[::-1]]
    names = [
        f"{_WEEKDAYS[hours.weekday[day]]} {label}"
        for day, label in zip(days[::-1], labels, strict=True)
    ]
    axes.set_yticks(np.arange(days.size) + 0.4, names, fontsize=7.5)
    step = 2 if closes - opens > 10 else 1
    axes.set_xticks(np.arange(opens, closes + 1, step))
    axes.set_xlim(opens, closes)
    axes.set_ylim(0, days.size)
    axes.set_xlabel("hour of the day", fontsize=8.5)
    axes.tick_params(axis="x", labelsize=8)
    axes.tick_params(length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    key = ", ".join(str(part) for part in hours.keys.row(series))
    axes.set_title(f"Sales by the hour: {key}", loc="left", fontsize=10)
    handle: Any = [
        axes.bar(0, 0, color="#1b4965", label=f"sales of an hour (tallest: {most:g})"),
        axes.fill_between([0], 0, 0, color="#d95f02", alpha=0.5, label="shelf likely empty"),
    ]
    figure.legend(handles=handle, loc="outside lower left", ncols=2, fontsize=8, frameon=False)
    return figure  # type: ignore[no-any-return]
