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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from unmet.arrays import Array
from unmet.checks import Number, WholeNumber
from unmet.errors import InvalidInput
from unmet.intraday.days import place_days
from unmet.intraday.hours import (
    HOURS,
    HourlySales,
    Places,
    blocks_of_series,
    check_window,
    kinds_of_days,
    net_returns,
    opening_hours,
    shop_of,
    sums_by_shop,
    table_of_days,
    unit_of,
    weekdays,
)
from unmet.intraday.levels import (
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
from unmet.intraday.tables import lists_of_hours, nested_columns
from unmet.planning.panel import DrawnDemand
from unmet.planning.reading import require_columns

if TYPE_CHECKING:
    import polars

_BLOCK = 4_000_000  # hours at a time
_SALES_OF_A_BLOCK = 10_000  # that tell the unit
_PASSES = 2  # over the hours: levels and shapes need each other
#: What a day with hidden hours teaches other days, against a whole one. Such days are busier than
#: others; where a series has no whole days, they are all there is.
_BROKEN = 0.02
_RATIO_UNITS = 50.0
_PHI_UNITS = 100.0
_COLUMNS = ("date", "series", "sales", "stock_out", "opens", "closes")


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


def recover(
    hours: HourlySales | str | Path, *, busier: bool = False, seed: int = 0, **columns: Any
) -> RecoveredDemand:
    """Recover daily demand where it is known in which hours the shelf was empty.

    Parameters
    ----------
    hours : HourlySales with `stock_out`, or the path of a Parquet file
        A file is read in blocks of series, whatever its size: a row for each series and day with
        columns of lists of 24, as for `read_hourly`.
    busier : bool, default=False
        Learn from the hours before a shelf ran empty how much busier such days were, and count on
        it in the hours after. Right where shelves are emptied by demand: on 992 series of fresh
        food, sold-out days had been 40% busier than others. Not right where hours are missing by
        chance, as in the published test of recovery.
    seed : int
    **columns
        Of a file: `date`, `series`, `sales`, `stock_out`, `opens` and `closes` as for
        `read_hourly`.

    Returns
    -------
    RecoveredDemand

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.intraday import HourlySales
    >>> sales = np.full((1, 20, 24), 0.0)
    >>> sales[:, :, 8:18] = 2
    >>> empty = np.zeros(sales.shape, dtype=bool)
    >>> empty[0, 5, 13:] = True
    >>> sales[0, 5, 13:] = 0
    >>> found = recover(HourlySales.from_arrays(sales, "2024-05-01", stock_out=empty))
    >>> float(found.sold[0, 5]), round(float(found.demand[0, 5]))
    (10.0, 20)
    """
    unknown = sorted(set(columns) - set(_COLUMNS))
    if unknown:
        raise InvalidInput(f"columns must be of {', '.join(_COLUMNS)}, got {unknown[0]!r}.")
    if isinstance(hours, str | Path):
        return _recover(_File(Path(hours), **columns), busier, seed)
    if not isinstance(hours, HourlySales):
        raise InvalidInput(
            f"hours must be HourlySales or the path of a Parquet file, got {type(hours).__name__}."
        )
    if columns:
        raise InvalidInput(f"{next(iter(columns))} is of a file, got it with hours in memory.")
    return _recover(_Held(hours), busier, seed)


# --- Hours in blocks of series.


class _Source:
    """Hours of all series, in blocks; what is known of series and days beside them."""

    keys: polars.DataFrame
    dates: NDArray[np.datetime64]
    weekday: Places
    opened: NDArray[np.bool_]
    groups: Mapping[str, Places]
    kind: Places
    unit: float

    def blocks(self) -> Iterator[tuple[slice, Array, NDArray[np.bool_]]]:
        """Series, sales (NaN where unknown) and flags."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.opened.shape[0]), int(self.dates.size)


class _Held(_Source):
    """Hours that are in memory."""

    def __init__(self, hours: HourlySales) -> None:
        if hours.stock_out is None:
            raise InvalidInput(
                "hours must say when shelves were empty (stock_out), got none: without it, the "
                "silence of the till tells (detect_stockouts)."
            )
        self.hours = hours
        self.keys, self.dates, self.weekday = hours.keys, hours.dates, hours.weekday
        self.opened, self.groups, self.unit = hours.open, hours.groups, hours.unit
        self.kind = hours.kind

    def blocks(self) -> Iterator[tuple[slice, Array, NDArray[np.bool_]]]:
        assert self.hours.stock_out is not None
        for part in blocks_of_series(self.shape, _BLOCK):
            yield part, self.hours.sales[part], self.hours.stock_out[part]


class _File(_Source):
    """Hours in a Parquet file that is sorted by series, read again at every pass."""

    def __init__(
        self,
        path: Path,
        *,
        date: str | None = None,
        series: Sequence[str] | None = None,
        sales: str | None = None,
        stock_out: str | None = None,
        opens: int | None = None,
        closes: int | None = None,
    ) -> None:
        import polars as pl

        if not path.is_file():
            raise InvalidInput(f"hours must be a Parquet file, but there is no file {path}.")
        check_window(opens, closes)
        self.path, self.sales, self.stock_out = path, sales, stock_out
        try:
            schema = pl.scan_parquet(path).collect_schema()
        except pl.exceptions.PolarsError:
            raise InvalidInput(f"hours must be a Parquet file, got {path.name}.") from None
        self.nested = nested_columns(schema)
        if not self.nested:
            raise InvalidInput(
                "hours in a file that is read in blocks must be columns of lists of 24 numbers, "
                f"got none among {', '.join(list(schema)[:20])}."
            )
        flat = pl.scan_parquet(path).select(pl.exclude(self.nested)).collect()
        if not flat.height:
            raise InvalidInput("hours must have at least one row, got none.")
        require_columns(flat, [date, *(series or ())], "hours")
        require_columns(pl.DataFrame(schema=schema), [sales, stock_out], "hours")
        placed = place_days(
            flat.with_columns(pl.lit(0.0).alias("\0sales")),
            date,
            series,
            "\0sales",
            in_order=True,
        )
        self.code, self.day, self.n_days = placed.code, placed.day, placed.n_days
        self.starts = np.searchsorted(self.code, np.arange(placed.keys.height + 1))
        self.keys, self.groups = placed.keys, placed.groups
        self.dates = np.datetime64(placed.first_day, "D") + np.arange(placed.n_days)
        self.weekday = weekdays(placed.first_day, placed.n_days)
        self._first_look(placed.special, opens, closes)

    def _first_look(self, special: Array | None, opens: int | None, closes: int | None) -> None:
        """Find opening hours, the unit of sales and kinds of days in a pass of their own."""
        shop = shop_of(self.groups, self.keys.height)
        by_shop, by_weekday = np.zeros((int(shop.max()) + 1, HOURS)), np.zeros((7, HOURS))
        some: list[Array] = []
        for part, sales, _ in self.blocks():
            own = sums_by_shop(sales, shop[part])
            by_shop[: own.shape[0]] += own
            for day in range(7):
                by_weekday[day] += np.nansum(sales[:, self.weekday == day], axis=(0, 1))
            sold = sales[sales > 0]
            some.append(sold[:: sold.size // _SALES_OF_A_BLOCK + 1])
        self.unit = unit_of(np.concatenate(some))
        self.opened = opening_hours(by_shop, opens, closes)[shop]
        self.kind = kinds_of_days(self.weekday, by_weekday / self.unit, special)

    def blocks(self) -> Iterator[tuple[slice, Array, NDArray[np.bool_]]]:
        import polars as pl

        scan = pl.scan_parquet(self.path)
        for part in blocks_of_series((self.keys.height, self.n_days), _BLOCK):
            low, high = int(self.starts[part.start]), int(self.starts[part.stop])
            rows = scan.slice(low, high - low).select(self.nested).collect()
            amounts, flags = lists_of_hours(rows, self.nested, self.sales, self.stock_out)
            if flags is None:
                raise InvalidInput("hours must say when shelves were empty (stock_out), got none.")
            if not np.isfinite(amounts).all():
                raise InvalidInput("sales must be finite in every hour, got inf or nothing.")
            shape = (part.stop - part.start, self.n_days, HOURS)
            sales, out = np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_)
            at = self.code[low:high] - part.start, self.day[low:high]
            sales[at], out[at] = amounts, flags
            net_returns(sales)
            yield part, sales, out


# --- The estimate.


def _recover(source: _Source, busier: bool, seed: int) -> RecoveredDemand:
    shape = flat_shape(source.opened, source.kind)
    level = np.ones(source.shape)
    group = finest(source.groups, source.shape[0])
    for _ in range(_PASSES):
        sums, over = (np.zeros(shape.share.shape) for _ in range(2))
        for part, sales, out in source.blocks():
            stocked = _stocked(sales, out, source.opened[part])
            whole = _whole(stocked, source.opened[part])
            teach = stocked * np.where(whole, 1.0, _BROKEN)[:, :, None]
            sums[part] = sums_by_kind(np.nan_to_num(sales) * teach, shape, part)
            over[part] = sums_by_kind(level[part][:, :, None] * teach, shape, part)
        shape = fit_shape(sums / source.unit, over, source.opened, source.kind, group)
        day = _days(source, shape)
        level = fit_levels(
            day.sold,
            day.exposure,
            source.weekday,
            source.groups,
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
        own * day.without * source.unit,
        day.hidden_sold,
        day.hours_out,
        evidence,
        source.unit,
        phi,
        source.keys,
        source.dates,
        average,
    )


def _stocked(sales: Array, out: NDArray[np.bool_], opened: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Hours with stock, of days that are known, while the shop was open."""
    return np.asarray(~out & ~np.isnan(sales) & opened[:, None])


def _whole(stocked: NDArray[np.bool_], opened: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Days with stock in every open hour."""
    return np.asarray((stocked | ~opened[:, None]).all(axis=2))


@dataclass
class _Days:
    """What the hours of each day add up to; units, but for `total` and `hidden_sold`."""

    whole: NDArray[np.bool_]
    total: Array
    sold: Array
    exposure: Array
    without: Array
    hidden_sold: Array
    hours_out: Array
    before_sold: Array
    before: Array
    squares: Array
    expected: Array

    @classmethod
    def none(cls, shape: tuple[int, int]) -> _Days:
        """Days of which nothing has been added up."""
        by_day = {each.name: np.zeros(shape) for each in fields(cls)}
        of_series = {name: np.zeros(shape[0]) for name in ("squares", "expected")}
        whole: dict[str, Any] = {"whole": np.zeros(shape, dtype=np.bool_)}
        return cls(**(by_day | of_series | whole))


def _days(source: _Source, shape: DayShape) -> _Days:
    day = _Days.none(source.shape)
    for part, sales, out in source.blocks():
        opened = source.opened[part]
        stocked = _stocked(sales, out, opened)
        known = ~np.isnan(sales[:, :, 0])
        amount, share = np.nan_to_num(sales), shape.of(part)
        empty = out & opened[:, None] & known[:, :, None]
        day.total[part] = np.where(known, amount.sum(axis=2), np.nan)
        units = amount / source.unit
        day.sold[part] = (units * stocked).sum(axis=2)
        day.exposure[part] = (share * stocked).sum(axis=2)
        day.without[part] = (share * empty).sum(axis=2)
        day.hidden_sold[part] = (amount * empty).sum(axis=2)
        day.hours_out[part] = empty.sum(axis=2)
        # the hour before a shelf is empty nearly always has a sale: it says nothing of the rate
        after = np.ones_like(stocked)
        after[:, :, :-1] = ~empty[:, :, 1:]
        day.before_sold[part] = (units * (stocked & after)).sum(axis=2)
        day.before[part] = (share * (stocked & after)).sum(axis=2)
        day.whole[part] = _whole(stocked, opened)
        found = dispersion(units, stocked.astype(np.float64), share)
        day.squares[part], day.expected[part] = found
    return day


def _busier(day: _Days, level: Array) -> tuple[float, Array]:
    """How many times the usual sold-out days sold while they had stock: in all, and by series."""
    broken = ~day.whole & (day.hours_out > 0)
    sold = (day.before_sold * broken).sum(axis=1)
    usual = (level * day.before * broken).sum(axis=1)
    average = float((sold.sum() + _RATIO_UNITS) / (usual.sum() + _RATIO_UNITS))
    return average, (sold + _RATIO_UNITS * average) / (usual + _RATIO_UNITS)
