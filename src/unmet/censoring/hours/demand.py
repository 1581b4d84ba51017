"""Estimate from hourly sales how likely each shelf ran empty, and the demand of each day.

Demand of series i in hour h of day d has mean ``level[i, d] · share[i, k(d), h]``, where k(d) is
the kind of the day (`levels.py`). Hours are negative binomial, and each day has a gamma factor of
its own.

**Flags of hours** (`recover`). Hours with stock show how busy the day was, and the shape of a day
shows what the other hours would have sold. The factor of a day has a gamma distribution around 1
whose spread is estimated. A day with few hours of stock therefore relies on the days around it and
on other series, and a day with many hours relies on itself:

    ``level · (k + sold / φ) / (k + level · exposure / φ)``

where k is the shape of the gamma distribution and φ is the dispersion of hours. The formula also
holds for a shelf that its own sales emptied, because the likelihood uses only what was sold until
then and how long it took.

**Silence** (`detect_stockouts`). Each day is a chain of two states, stock or no stock. A shelf runs
empty by a sale: in series of fresh food, nearly all stock-outs began right after an hour with a
sale. After an hour with a sale the shelf may be empty, and the more of a usual day has been sold,
the likelier that is. An empty shelf sells nothing and is rarely filled before the next morning. A
full shelf sells by the level of the day and its usual shape. Forward and backward passes through
the hours, at several levels of the day, give the probability of stock in each hour. The same hours
give levels, shapes, and the chances of running empty and of being filled (EM). No flags are needed.

Some stock-outs cannot be seen: a shelf that ran empty an hour before closing, or an item that sells
twice a day. The probability then stays near its usual value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import optimize, stats
from scipy.special import gammaln

from unmet.arrays import Array
from unmet.censoring.hours.levels import (
    DayShape,
    blocks_of_series,
    day_noise,
    dispersion,
    finest,
    fit_levels,
    fit_shape,
    flat_shape,
    shrunk_to_pooled,
    sum_of_others,
    sums_by_kind,
    weight_of_days,
)
from unmet.errors import InvalidInput, Note
from unmet.tables.encoding import as_categories
from unmet.tables.hours import HourlySales
from unmet.tables.panel import Panel
from unmet.validation import Instance, Number, WholeNumber

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True)
class HourlyDemand:
    """Probability of a stock-out and demand of each series and day, estimated from hours.

    `detect_stockouts` and `recover` return it.

    Attributes
    ----------
    hours : HourlySales
        The hourly sales that were read.
    probability : ndarray of shape (n_series, n_days)
        Probability that the shelf ran empty. NaN if nothing is known of the day, 0 if the shop
        itself was closed.
    stock : ndarray of shape (n_series, n_days, 24)
        Probability of stock in each hour; 1 while the shop is closed.
    level : ndarray of shape (n_series, n_days)
        Expected demand of a whole day with stock, estimated from other days.
    shape : DayShape
        Shares of a day's demand by hour.
    noise, phi : ndarray of shape (n_series,)
        Shape of the gamma distribution of a day's factor, and dispersion of hours.
    units : ndarray of shape (n_series, n_days)
        Units sold while there was stock, which show how busy the day was.
    sold_empty : ndarray of shape (n_series, n_days) or float
        Units sold in hours without stock, that is in the hour in which the shelf ran empty.
    busier : float
        How many times busier days with hidden hours were before, on average; 1 if not estimated.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.censoring.hours import HourlySales, recover
    >>> sales = np.zeros((1, 20, 24))
    >>> sales[:, :, 8:18] = 2
    >>> empty = np.zeros(sales.shape, dtype=bool)
    >>> sales[0, 5, 13:], empty[0, 5, 13:] = 0, True
    >>> found = recover(HourlySales.from_arrays(sales, "2024-05-01", stock_out=empty))
    >>> round(float(found.hours_out[0, 5])), round(float(found.demand[0, 5]))
    (5, 20)
    """

    hours: HourlySales
    probability: Array
    stock: Array
    level: Array
    shape: DayShape
    noise: Array
    phi: Array
    units: Array
    sold_empty: Array | float = 0.0
    busier: float = 1.0

    @property
    def sold(self) -> Array:
        """Sales of each day; NaN where nothing is known."""
        return self.hours.sold

    @property
    def hours_out(self) -> Array:
        """Expected hours without stock while the shop was open, (n_series, n_days)."""
        return np.asarray(((1 - self.stock) * self.hours.open[:, None]).sum(axis=2))

    @property
    def demand(self) -> Array:
        """Expected demand of each day, given its hours, (n_series, n_days)."""
        mean, _ = self._hidden(None)
        return self._with_hidden(mean)

    def quantile(self, level: float) -> Array:
        """Give a quantile of the demand of each day, given its hours.

        The result is exact if flags mark the hours with stock. Otherwise it comes from 200 samples.

        Parameters
        ----------
        level : float
            Level between 0 and 1.

        Returns
        -------
        ndarray of shape (n_series, n_days)
            Quantiles.
        """
        Number(above=0, below=1)("level", level)
        if not self._certain:
            return np.asarray(np.quantile(self.sample(200), level, axis=0))
        mean, evidence = self._hidden(None)
        return self._with_hidden(stats.nbinom.ppf(level, *self._units(mean, evidence)))

    def sample(self, n: int, seed: int = 0) -> Array:
        """Draw the demand of each day, given its hours.

        Each draw first settles which hours had stock, then the level of the day, then what the
        hours without stock would have sold.

        Parameters
        ----------
        n : int
            Number of draws per day.
        seed : int, default=0
            Seed of the draws.

        Returns
        -------
        ndarray of shape (n, n_series, n_days)
            Draws.
        """
        WholeNumber(1)("n", n)
        generator = np.random.default_rng(seed)
        drawn = np.empty((n, *self.level.shape))
        for each in drawn:
            # one number a day: hours are empty where stock is less likely than it, so that each
            # hour is empty as often as it should be, and hours of a day go together
            cut = None if self._certain else generator.random(self.level.shape)
            units = generator.negative_binomial(*self._units(*self._hidden(cut)))
            each[:] = self._with_hidden(units)
        return drawn

    @property
    def _certain(self) -> bool:
        return bool(((self.stock == 0) | (self.stock == 1)).all())

    def _hidden(self, cut: Array | None) -> tuple[Array, Array]:
        """Mean of the units that hours without stock hid, and the gamma shape of the level.

        With the expected exposure, or with stock where it is as likely as `cut`.
        """
        seen, lost = np.zeros(self.level.shape), np.zeros(self.level.shape)
        for part in blocks_of_series(self.level.shape):
            share, had = self.shape.of(part), self.stock[part]
            if cut is not None:
                had = (had >= cut[part][:, :, None]).astype(np.float64)
            seen[part] = (share * had).sum(axis=2)
            lost[part] = (share * (1 - had)).sum(axis=2)
        noise, phi = self.noise[:, None], self.phi[:, None]
        evidence = noise + self.units / phi
        own = self.level * evidence / (noise + self.level * seen / phi)
        return own * lost, evidence

    def _units(self, mean: Array, evidence: Array) -> tuple[Array, Array]:
        """Size and chance of a negative binomial: the spread of the level, and that of hours."""
        mean = np.maximum(mean, 1e-12)
        within = np.maximum(self.phi - 1, 1e-3)[:, None] * mean
        size = mean**2 / (within + mean**2 / np.maximum(evidence, 1e-9))
        return size, size / (size + mean)

    def _with_hidden(self, units: Any) -> Array:
        """Demand of days on which so many units were hidden."""
        empty = (self.stock < 1).any(axis=2)
        hidden = np.where(empty, units, 0.0) * self.hours.unit
        return np.asarray(self.sold - self.sold_empty + np.maximum(hidden, self.sold_empty))

    def table(self, *, interval: float | None = None) -> polars.DataFrame:
        """Write a row for each known series and day: sales, stock-out probability and demand.

        Parameters
        ----------
        interval : float, optional
            Probability between 0 and 1 of an interval of demand, for example 0.8; adds its limits.
            None adds no limits.
        """
        limits = {}
        if interval is not None:
            Number(above=0, below=1)("interval", interval)
            limits["low"] = self.quantile((1 - interval) / 2)
            limits["high"] = self.quantile((1 + interval) / 2)
        return self.hours.table(
            sold=self.sold,
            sold_out=np.round(self.probability, 4),
            hours_out=np.round(self.hours_out, 2),
            demand=np.round(self.demand, 4),
            **limits,
        )

    def describe(self) -> str:
        """Summarise the result in a few sentences."""
        known = self.hours.known
        chance = self.probability[known]
        hidden = float(np.nansum(self.demand) / max(float(np.nansum(self.sold)), 1e-300) - 1)
        if self._certain:
            return (
                f"Stock-outs: {chance.mean():.0%} of the days. Estimated demand is {hidden:.0%} "
                "above sales."
            )
        sure, likely = float((chance > 0.9).mean()), float((chance > 0.5).mean())
        open_ = float(((chance > 0.1) & (chance < 0.9)).mean())
        days = "1 day" if known.sum() == 1 else f"{known.sum():,} days"
        return (
            f"Stock-outs, detected by hours without sales before closing: about "
            f"{chance.mean():.0%} of {days}. {likely:.0%} are likely, {sure:.0%} almost certain, "
            f"{open_:.0%} unclear. Estimated demand is {hidden:.0%} above sales."
        )

    def on_panel(
        self, panel: Panel, names: Sequence[str], n: int, seed: int = 0
    ) -> tuple[Panel, list[str]]:
        """Add the probability of a stock-out, and samples of demand, to the days of a panel.

        Parameters
        ----------
        panel : Panel
            Sales by series and period.
        names : sequence of str
            Columns that identify its series.
        n : int
            Number of samples per day.
        seed : int, default=0
            Seed of the samples.

        Returns
        -------
        panel : Panel
            The panel with both added. Flags of the panel take precedence: a day that is known not
            to have sold out lost nothing.
        notes : list of str
            Findings, one sentence each.
        """
        keys = self.hours.keys
        if [each for each in names if each not in keys.columns] or (not names and keys.height > 1):
            raise InvalidInput(
                f"hours must have the series of the table, "
                f"{', '.join(names) or 'nothing'}; got {', '.join(keys.columns)}."
            )
        if panel.unit != "day":
            raise InvalidInput(
                f"hours needs a table with one row per day, got one row per {panel.unit}."
            )
        place = np.zeros(panel.n_series, dtype=np.intp)
        if names:
            assert panel.keys is not None
            given, wanted = (
                frame.select(as_categories(frame[name]).alias(name) for name in names)
                for frame in (keys, panel.keys)
            )
            known = {row: number for number, row in enumerate(given.iter_rows())}
            if len(known) < given.height:
                raise InvalidInput(
                    f"hours must have one series for each of {', '.join(names)}, got several: sum "
                    "them, or add their columns to the table."
                )
            place = np.array([known.get(row, -1) for row in wanted.iter_rows()], dtype=np.intp)
        dates = panel.date(np.arange(panel.n_days))
        day = (dates - np.datetime64(self.hours.first_day, "D")).astype(np.intp)
        there = (day >= 0) & (day < self.hours.n_days)
        cells, own = np.ix_(place >= 0, there), np.ix_(place[place >= 0], day[there])
        chance = np.full(panel.observed.shape, np.nan)
        chance[cells] = np.round(self.probability, 3).astype(np.float64)[own]
        lost = np.zeros((n, *panel.observed.shape))
        for each, sample in zip(lost, self.sample(n, seed) - self.sold, strict=True):
            each[cells] = np.nan_to_num(sample[own])
        if np.isnan(chance[~np.isnan(panel.observed)]).all():
            raise InvalidInput("hours must have days and series of the table, got none of them.")
        if panel.hidden is not None:
            chance = np.where(np.isnan(panel.hidden), chance, panel.hidden)
            lost[:, panel.hidden == 0.0] = 0.0
        chance = np.where(np.isnan(panel.observed), np.nan, chance)
        notes = [self.describe()]
        if (place < 0).any():
            without = f"{(place < 0).sum():,} of {panel.n_series:,}"
            share = float((place < 0).mean())
            notes.append(Note(f"Series without hourly sales: {without}.", share))
        return replace(panel, hidden=chance, drawn=panel.observed + lost), notes


def recover(hours: HourlySales, *, busier: bool = False) -> HourlyDemand:
    """Estimate daily demand from hourly sales with flags of empty shelves.

    Parameters
    ----------
    hours : HourlySales
        Sales with `stock_out`, which marks the hours in which the shelf was empty.
    busier : bool, default=False
        Whether to learn from the hours before a stock-out how much busier such days were, and to
        apply that factor to the hidden hours. True suits shelves that demand emptied. False suits
        hours that are missing by chance.

    Returns
    -------
    HourlyDemand
        Demand and probability of a stock-out for each day.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.censoring.hours import HourlySales, recover
    >>> sales = np.full((1, 20, 24), 0.0)
    >>> sales[:, :, 8:18] = 2
    >>> empty = np.zeros(sales.shape, dtype=bool)
    >>> empty[0, 5, 13:] = True
    >>> sales[0, 5, 13:] = 0
    >>> found = recover(HourlySales.from_arrays(sales, "2024-05-01", stock_out=empty))
    >>> float(found.sold[0, 5]), round(float(found.demand[0, 5]))
    (10.0, 20)
    """
    Instance(HourlySales, "HourlySales, as read_hourly gives them")("hours", hours)
    if hours.stock_out is None:
        raise InvalidInput(
            "hours must say when shelves were empty (stock_out), got none: without it, the "
            "silence of the till tells (detect_stockouts)."
        )
    opened, unit, known = hours.open[:, None], hours.unit, hours.known
    empty = np.asarray(hours.stock_out & opened & known[:, :, None])
    had = np.asarray(~hours.stock_out & opened & known[:, :, None])
    whole = (had | ~opened).all(axis=2)
    # What a day with hidden hours teaches other days, against a whole one. Such days are busier
    # than others; where a series has no whole days, they are all there is.
    teach = np.where(whole, 1.0, 0.02)
    sales = np.nan_to_num(hours.sales)
    shape, group = flat_shape(hours.open, hours.kind), finest(hours.groups, hours.n_series)
    level = np.ones(known.shape)
    sold = (sales * had).sum(axis=2) / unit
    for _ in range(2):  # levels and shapes need each other
        sums, over = (np.zeros(shape.share.shape) for _ in range(2))
        for part in blocks_of_series(known.shape):
            weight = had[part] * teach[part][:, :, None]
            sums[part] = sums_by_kind(sales[part] * weight / unit, shape, part)
            over[part] = sums_by_kind(level[part][:, :, None] * weight, shape, part)
        shape = fit_shape(sums, over, hours.open, hours.kind, group)
        exposure, before, before_sold = (np.zeros(known.shape) for _ in range(3))
        squares, expected = np.zeros(hours.n_series), np.zeros(hours.n_series)
        for part in blocks_of_series(known.shape):
            share = shape.of(part)
            exposure[part] = (share * had[part]).sum(axis=2)
            squares[part], expected[part] = dispersion(
                sales[part] / unit, had[part].astype(np.float64), share
            )
            # the hour before a shelf is empty nearly always has a sale: it says nothing of the rate
            early = had[part].copy()
            early[:, :, :-1] &= ~empty[part][:, :, 1:]
            before[part] = (share * early).sum(axis=2)
            before_sold[part] = (sales[part] * early).sum(axis=2) / unit
        level = fit_levels(sold, exposure, hours.weekday, hours.groups, teach)
    phi = np.maximum(shrunk_to_pooled(squares, expected, 100.0), 1.0)
    noise = day_noise(sold, exposure, level, phi)
    average = 1.0
    if busier:
        broken = ~whole & empty.any(axis=2)
        usual, told = (level * before * broken).sum(axis=1), (before_sold * broken).sum(axis=1)
        average = float((told.sum() + 50) / (usual.sum() + 50))
        ratio = (told + 50 * average) / (usual + 50)  # 50 units' worth of all series
        level = np.where(whole, level, level * ratio[:, None])
    chance = np.where(known, empty.any(axis=2) * 1.0, np.nan)
    sold_empty = (sales * empty).sum(axis=2)
    stock = (~empty).astype(np.float64)
    return HourlyDemand(hours, chance, stock, level, shape, noise, phi, sold, sold_empty, average)


# --- Silence after the last sale.

_STEPS = 5  # of EM; the ranking of days hardly moves after three
_SOLD = np.array([0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.35, 1.75, 2.5])  # parts of a usual day
_EDGES = np.array([0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0])
_PARTS = 6  # of the day, each with its own chance to run empty
_FIRST_CHANCE, _MOST = 0.03, 0.7  # to run empty with a sale, after a usual day's sales; at most


def detect_stockouts(
    hours: HourlySales, *, progress: Callable[[int, int, str], object] | None = None
) -> HourlyDemand:
    """Estimate from hourly sales whether, and since when, each shelf was empty.

    Parameters
    ----------
    hours : HourlySales
        Sales. Flags of empty shelves are ignored; `recover` uses them.
    progress : callable, optional
        Called as ``progress(done, total, doing)`` during the work. None reports nothing.

    Returns
    -------
    HourlyDemand
        Demand and probability of a stock-out for each day.

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
    stock = np.where(chain.open[:, None], chain.stock, 1.0)
    last = hours.open.shape[1] - 1 - hours.open[:, ::-1].argmax(axis=1)
    closing = stock[np.arange(hours.n_series), :, last].astype(np.float64)
    if progress is not None:
        progress(_STEPS, _STEPS, "done")
    chance = np.where(hours.known, 1 - closing, np.nan)
    units = np.nan_to_num(hours.sold) / hours.unit
    return HourlyDemand(
        hours, chance, stock, chain.level, chain.shape, chain.noise, chain.phi, units
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
        self.open = hours.open | (whole > 0.002 * whole.sum())
        used = np.flatnonzero(self.open.any(axis=0))
        self.first, self.last = int(used[0]), int(used[-1]) + 1
        self.n_hours = self.last - self.first
        # on a day on which the shop was closed nothing ran empty
        self.known = hours.known & ~hours.closed
        self.group = finest(hours.groups, hours.n_series)
        # the grouping with most groups: the same item runs short in several shops at once
        self.items = max(hours.groups.values(), key=lambda each: int(each.max()), default=None)
        self.unit = hours.unit
        n_series, n_days = self.known.shape
        self.stock = np.ones((n_series, n_days, hours.open.shape[1]), dtype=np.float32)
        self.shape = flat_shape(self.open, hours.kind)
        self.level = np.ones((n_series, n_days))
        self.phi, self.noise = np.full(n_series, 1.5), np.full(n_series, 8.0)
        self.table = _FIRST_CHANCE * np.repeat(_SOLD[None], _PARTS, axis=0)
        self.times = np.ones((n_series, n_days))  # as likely as usual to run empty
        self.refill = np.full(self.n_hours, 0.01)
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
        for part in blocks_of_series(self.known.shape):
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
            own = shrunk_to_pooled(squares, expected, 30.0)
            # Hours vary more than their dispersion says where shapes are not quite right. 1 called
            # 2.1% of days sold out where none was; 1.5 found fewer of those that were.
            self.phi = 1 + 1.2 * np.maximum(own - 1, 0.02)

    def _shape_and_level(self) -> None:
        self.shape = fit_shape(self.sums, self.over, self.open, self.hours.kind, self.group)
        # of what cannot be told, not all is lost: without a floor, levels of items that hardly sell
        # and chances to be empty raise each other from step to step
        exposure = np.where(self.known, np.maximum(self.exposure, 0.3), 0.0)
        self.level = fit_levels(self.sold, exposure, self.hours.weekday, self.hours.groups)
        noise = day_noise(self.sold, self.exposure, self.level, self.phi)
        self.noise = np.minimum(noise, 5.0)  # sold-out days are left out of what tells it

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
        for part in blocks_of_series(self.known.shape):
            counts, share, _ = self._block(part)
            level = self.level[part][:, :, None]
            so_far = np.digitize(np.cumsum(counts, axis=2) / np.maximum(level, 1e-9), _EDGES)
            sale = counts > 0
            usual = self.table[part_of_day, so_far]
            # without a sale a shelf is rarely emptied: spoiled, taken off the shelf
            with_sale = np.clip(usual * self.times[part][:, :, None], 1e-4, _MOST)
            chance = np.where(sale, with_sale, 0.002)
            # equally likely factors of the level of a day, (n_nodes, n_series)
            middle = (np.arange(5) + 0.5)[:, None] / 5
            factor = np.asarray(stats.gamma.ppf(middle, self.noise[part]))
            factor = factor / factor.mean(axis=0)
            stock, emptied, filled = self._run_days(part, counts, level * share, chance, factor)
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

    def _run_days(
        self, part: slice, counts: Array, rate: Array, chance: Array, factor: Array
    ) -> tuple[Array, Array, Array]:
        """Run forward and backward through the hours of each day.

        With stock, counts are negative binomial with the variance ``phi · mean``.

        Parameters
        ----------
        part : slice
            Of the series.
        counts, rate, chance : ndarray of shape (n_series, n_days, n_hours)
            Units sold; units expected with stock at the usual level; chance to be empty after the
            hour.
        factor : ndarray of shape (n_nodes, n_series)
            Levels of a day that are equally likely, as factors.

        Returns
        -------
        stock, emptied, filled : ndarray of shape (n_series, n_days, n_hours)
            Probability of stock in each hour, of running empty after it, and of being filled after
            it.
        """
        n_hours = counts.shape[2]
        positive = counts > 0
        many = counts[positive]
        constant = gammaln(many + 1)
        refill, start, wide = self.refill, self.start[part], self.phi[part][:, None, None]
        rarer = np.broadcast_to(np.log((wide - 1) / wide), counts.shape)[positive]
        # an hour that counts as empty may have been so for a part of it: it then sells with a
        # chance of 3%, and each sale is the last with a chance of 1/4
        leak, last = 0.03, 0.25
        of_none = np.full(counts.shape, np.log1p(-leak))
        of_none[positive] = np.log(leak * last) + (many - 1) * np.log1p(-last)
        likelihood, parts = [], []
        for each in factor:
            size = np.maximum(rate * each[:, None, None], 1e-6) / (wide - 1)
            log = -size * np.log(wide)
            some = size[positive]
            log[positive] += gammaln(many + some) - gammaln(some) - constant
            log[positive] += many * rarer
            # selling more than expected is never a sign of an empty shelf
            log_none = np.where(positive, np.minimum(of_none, log + np.log1p(-leak)), of_none)
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

    def learn(self) -> None:
        """Estimate all that the chain needs from what is now likely."""
        before = self.table
        self.table = _chances(self.number, self.base)
        risk = self.at_risk * (self.table.sum() / before.sum())
        weight = weight_of_days(self.known.shape[1], 4.0)
        # of each series, shrunk to all by three stock-outs; of days around, shrunk to the series
        own = (self.emptied.sum(axis=1) + 3.0) / (risk.sum(axis=1) + 3.0)
        times = (self.emptied @ weight + own[:, None]) / (risk @ weight + 1.0)
        if self.items is not None:
            expected = risk * times
            others = sum_of_others(self.items, self.emptied)
            usual = sum_of_others(self.items, expected)
            times = times * np.clip((others + 1.0) / (usual + 1.0), 0.2, 5.0)
        self.times = times
        self.refill = (self.filled + 100.0) / (self.empty + 10_000.0)  # 1% in an hour, and surely
        self.start = (self.out_first + 1.0) / (self.known.sum(axis=1) + 20.0)
        self._days()
        self._shape_and_level()


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
        value += 5.0 * (apart**2).sum() + 25.0 * (slope - 1.0) ** 2
        error = mean - number
        gradient = error.sum(axis=1) + 10.0 * apart
        steeper = (error * place).sum() + 50.0 * (slope - 1.0)
        return float(value), np.append(gradient, steeper)

    start = np.append(np.full(_PARTS, np.log(_FIRST_CHANCE)), 1.0)
    limits = [(-9.0, -0.3)] * _PARTS + [(0.0, 3.0)]
    best = optimize.minimize(objective, start, jac=True, bounds=limits, method="L-BFGS-B").x
    return np.asarray(np.minimum(np.exp(best[:-1, None] + best[-1] * place), _MOST))
