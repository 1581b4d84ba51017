"""From a row for each series and day to arrays: series, days, what series have in common, gaps.

A day of which a table says nothing is unknown; a day on which a shop sold something, but has no
receipt of this item, is a day on which the item sold nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.censoring.hours.hours import (
    HOURS,
    HourlySales,
    Places,
    net_returns,
    opening_hours,
    shop_of,
    sums_by_shop,
)
from unmet.errors import InvalidInput
from unmet.tables.encoding import as_categories
from unmet.tables.reading import numbers, read_dates
from unmet.tables.schema import NAMES, Schema, infer_schema, named

if TYPE_CHECKING:
    import polars

#: A last day that is silent early in all of so many series, while others sell so much after that
#: hour, was not over when the table was written.
_SERIES_OF_A_SHOP, _UNITS_AFTER = 4, 20.0


@dataclass(frozen=True)
class PlacedDays:
    """Which series and day each row of a table is of, and what series have in common.

    Attributes
    ----------
    date : str
    keys : polars.DataFrame
        A row for each series.
    code, day : ndarray of shape (n_rows,)
        Numbers of the series and of the day of each row.
    first_day : datetime.date
    n_days : int
    groups : dict of str to ndarray of shape (n_series,)
    special : ndarray of shape (n_series, n_days) or None
    static : tuple of str
        Columns that do not change within a series.
    """

    date: str
    keys: polars.DataFrame
    code: Places
    day: Places
    first_day: datetime.date
    n_days: int
    groups: dict[str, Places]
    special: Array | None
    static: tuple[str, ...]


def place_days(
    daily: polars.DataFrame,
    date: str | None,
    series: Sequence[str] | None,
    sales: str,
) -> PlacedDays:
    """Find series and days in a table with a row for each series and day."""
    import polars as pl

    schema = infer_schema(
        daily, Schema(date=date, series=series, sales=sales, stock="", sold_out="")
    )
    dates = read_dates(daily, schema.date)
    first = dates.min()
    assert isinstance(first, datetime.date)
    day = (dates - first).dt.total_days().to_numpy().astype(np.intp)
    names = list(schema.series)
    if not names:
        code, keys = np.zeros(daily.height, dtype=np.intp), pl.DataFrame({"series": [0]})
    else:
        text = daily.select(as_categories(daily[name]).alias(name) for name in names)
        number = text.with_columns(pl.struct(names).rank("dense").alias("\0n"))["\0n"]
        code = number.to_numpy().astype(np.intp) - 1
        keys = daily.select(names)[np.unique(code, return_index=True)[1]]
    n_days = int(day.max()) + 1
    if np.unique(code * n_days + day).size < day.size:
        raise InvalidInput(
            "Each series must have one row a day, got several: name the columns that tell them "
            "apart (series=)."
        )
    groups = _groups(daily, (*schema.series, *schema.static), code)
    shape = keys.height, n_days
    special = _promotions(daily, (*schema.known_future, *schema.static), code, day, shape)
    return PlacedDays(schema.date, keys, code, day, first, n_days, groups, special, schema.static)


def assemble(
    days: polars.DataFrame,
    amounts: Array,
    flags: NDArray[np.bool_] | None,
    date: str | None,
    series: Sequence[str] | None,
    window: tuple[int | None, int | None],
    sparse: bool = False,
    notes: Sequence[str] = (),
) -> HourlySales:
    """From a row for each series and day to arrays; `sparse`: days without a row sold nothing."""
    import polars as pl

    said = list(notes)
    amount = "sales" if "sales" not in days.columns else "sales_of_the_day"
    if np.isinf(amounts).any():
        raise InvalidInput("sales must be finite in every hour, got inf.")
    unknown = np.isnan(amounts).all(axis=1)
    gaps = int(np.isnan(amounts[~unknown]).any(axis=1).sum())
    if unknown.all():
        raise InvalidInput("sales must be known of at least one day, got none.")
    if gaps:
        of = "1 day" if gaps == 1 else f"{gaps:,} days"
        said.append(f"Hours of {of} have no number and count as 0 sold.")
    amounts = np.nan_to_num(amounts)
    said += net_returns(amounts[None])
    daily = days.with_columns(pl.Series(amount, np.round(amounts.sum(axis=1), 9)))
    placed = place_days(daily, date, series, amount)
    shape = placed.keys.height, placed.n_days, HOURS
    sales = np.full(shape, np.nan)
    sales[placed.code[~unknown], placed.day[~unknown]] = amounts[~unknown]
    out = None
    if flags is not None:
        out = np.zeros(shape, dtype=np.bool_)
        out[placed.code, placed.day] = flags
    shop = shop_of(placed.groups, shape[0])
    if sparse:
        daily = _add_days_that_sold_nothing(sales, shop, daily, placed, amount, said)
    added = np.zeros(daily.height - unknown.size, dtype=np.bool_)
    daily = daily.filter(pl.Series(~np.append(unknown, added)))
    daily = _leave_out_unfinished(sales, daily, placed, said)
    opened = opening_hours(sums_by_shop(sales, shop), *window)[shop]
    return HourlySales(
        sales,
        placed.first_day,
        placed.keys,
        opened,
        out,
        placed.groups,
        placed.special,
        daily,
        placed.date,
        tuple(said),
    )


def _groups(daily: polars.DataFrame, columns: Sequence[str], code: Places) -> dict[str, Places]:
    """Find what series have in common, of columns that some but not all of them share."""
    found: dict[str, Places] = {}
    first = np.unique(code, return_index=True)[1]
    for name in columns:
        number = daily[name][first].cast(str).rank("dense").fill_null(0).to_numpy().astype(np.intp)
        shared = np.bincount(number)
        if np.count_nonzero(shared) > 1 and (shared >= 2).any():
            found[name] = np.unique(number, return_inverse=True)[1].astype(np.intp)
    return found


def _promotions(
    daily: polars.DataFrame,
    columns: Sequence[str],
    code: Places,
    day: Places,
    shape: tuple[int, int],
) -> Array | None:
    """1 on days with a promotion: a flag, or a price or share that is not near its usual value."""
    import polars as pl

    for name in named(columns, NAMES["promotion"]):
        if not (daily[name].dtype.is_numeric() or daily[name].dtype == pl.Boolean):
            continue
        values = np.full(shape, np.nan)
        values[code, day] = numbers(daily, name, name)
        if np.isin(values[~np.isnan(values)], (0.0, 1.0)).all():
            return np.asarray(np.nan_to_num(values))
        known = ~np.isnan(values).all(axis=1)
        usual = np.ones((shape[0], 1))
        usual[known] = np.nanmedian(values[known], axis=1, keepdims=True)
        return np.asarray(np.abs(values - usual) > 0.1 * np.abs(usual), dtype=np.float64)
    return None


def _add_days_that_sold_nothing(
    sales: Array,
    shop: Places,
    daily: polars.DataFrame,
    placed: PlacedDays,
    amount: str,
    notes: list[str],
) -> polars.DataFrame:
    """Days on which the shop sold something are days on which other items sold nothing.

    Between the first and the last sale of an item: before and after, nobody offered it.
    """
    import polars as pl

    seen = ~np.isnan(sales[:, :, 0])
    anything = np.zeros((int(shop.max()) + 1, sales.shape[1]), dtype=np.bool_)
    np.logical_or.at(anything, shop, seen)
    day = np.arange(sales.shape[1])
    first = seen.argmax(axis=1)[:, None]
    last = sales.shape[1] - 1 - seen[:, ::-1].argmax(axis=1)[:, None]
    empty = ~seen & anything[shop] & (day >= first) & (day <= last)
    count = int(empty.sum())
    if not count:
        return daily
    sales[empty] = 0.0
    notes.append(
        f"{count:,} {'day' if count == 1 else 'days'} on which a shop sold something, but not "
        "this item, count as 0 sold."
    )
    series, at = np.nonzero(empty)
    row = np.unique(placed.code, return_index=True)[1][series]
    alike = [n for n in daily.columns if n in (*placed.keys.columns, *placed.static)]
    dates = np.datetime64(placed.first_day, "D") + at
    more = daily.select(alike)[row].with_columns(
        pl.Series(placed.date, dates).cast(pl.Date), pl.lit(0.0).alias(amount)
    )
    whole = daily.with_columns(read_dates(daily, placed.date).alias(placed.date))
    return pl.concat([whole, more], how="diagonal_relaxed")


def _leave_out_unfinished(
    sales: Array, daily: polars.DataFrame, placed: PlacedDays, notes: list[str]
) -> polars.DataFrame:
    """Leave out a last day that was not over when the table was written: all fall silent at once.

    Otherwise each item of it would look sold out.
    """
    by_hour = np.nansum(sales, axis=0)
    sold = by_hour.sum(axis=1) > 0
    last = by_hour.shape[0] - 1
    others = np.flatnonzero(sold[:last])
    alike = others[(last - others) % 7 == 0]
    if not sold[last] or others.size < 7 or not alike.size:
        return daily
    series = int((np.nansum(sales[:, last], axis=1) > 0).sum())
    end = HOURS - 1 - (by_hour[:, ::-1] > 0).argmax(axis=1)
    after = by_hour[others, end[last] + 1 :].sum(axis=1).mean()
    early = end[last] < end[others].min() and end[last] < end[alike].min()
    unit = np.median(sales[sales > 0])
    if series < _SERIES_OF_A_SHOP or not early or after < _UNITS_AFTER * unit:
        return daily
    sales[:, last] = np.nan
    when = placed.first_day + datetime.timedelta(days=last)
    notes.append(
        f"{when} is left out: all series are silent after {end[last] + 1}:00, so that day was not "
        "over when the table was written."
    )
    return daily.filter(read_dates(daily, placed.date) != when)
