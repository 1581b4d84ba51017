"""Real demand whose truth is known: one loader for each set.

A new set is a function with `@dataset` that returns `Series`. Files that are not part of this
project are looked for in the folder `UNMET_DATA`; a set whose file is absent is left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from unmet.data import load_bakery, load_yaz

OPENS, CLOSES = 6, 22  # hours of the fresh-food shops
MIN_EXPOSURE = 0.5
"""Days of which less than this share of usual sales fell into hours in stock are no truth."""


@dataclass(frozen=True, eq=False)
class Series:
    """Demand of one item, a day a row.

    Attributes
    ----------
    name : str
    dates : ndarray of datetime64[D]
    demand : ndarray
        The truth.
    columns : mapping of str to ndarray
        More that is known when decisions are made, such as promotions.
    open : ndarray of bool
        Days on which the shop was open.
    sales : ndarray, optional
        Where days really sold out; otherwise an order policy makes sales.
    flags : ndarray of bool, optional
        Whether they did.
    sure : ndarray of bool, optional
        Days whose demand is known well enough to evaluate decisions on.
    group : int, optional
        Series of one group share a model.
    """

    name: str
    dates: np.ndarray
    demand: np.ndarray
    columns: dict[str, np.ndarray] = field(default_factory=dict)
    open: np.ndarray = field(default_factory=lambda: np.array(True))
    sales: np.ndarray | None = None
    flags: np.ndarray | None = None
    sure: np.ndarray | None = None
    group: int | None = None


@dataclass(frozen=True)
class Loader:
    """A set: how it is read, and from which file."""

    read: Callable[..., list[Series]]
    file: str | None

    def path(self) -> Path | None:
        return self.file and Path(os.environ.get("UNMET_DATA", "")) / self.file

    def missing(self) -> str:
        """One sentence where the file is absent."""
        if self.file is None or ("UNMET_DATA" in os.environ and self.path().is_file()):
            return ""
        return f"{self.file} is not in the folder that --data or UNMET_DATA names"

    def load(self) -> list[Series]:
        return self.read() if self.file is None else self.read(self.path())


DATASETS: dict[str, Loader] = {}


def dataset(name: str, file: str | None = None) -> Callable:
    def add(read: Callable[..., list[Series]]) -> Callable[..., list[Series]]:
        DATASETS[name] = Loader(read, file)
        return read

    return add


def _numbers(table: pl.DataFrame, names: list[str]) -> dict[str, np.ndarray]:
    return {name: table[name].cast(pl.Float64).to_numpy() for name in names}


@dataset("bakery")
def bakery() -> list[Series]:
    """Three products of eight bakery stores that hardly ever close (`unmet.data`)."""
    extras = [
        *("is_holiday", "is_holiday_next2days", "is_schoolholiday"),
        *("promotion_currentweek", "promotion_lastweek", "rain", "temperature"),
    ]
    table = load_bakery(products=(101, 109, 110))
    closed = table.group_by("store").agg((pl.col("demand") == 0).mean().alias("closed"))
    stores = closed.filter(pl.col("closed") < 0.05).sort("store")["store"].to_list()
    series = []
    for store in stores[::3][:8]:
        for one in table.filter(pl.col("store") == store).partition_by("product"):
            demand = one["demand"].cast(pl.Float64).to_numpy()
            name = f"{store}/{one['product'][0]}"
            dates = one["date"].to_numpy()
            series.append(Series(name, dates, demand, _numbers(one, extras), demand > 0))
    return series


@dataset("restaurant")
def restaurant() -> list[Series]:
    """Five dishes of a restaurant (`unmet.data`)."""
    table = load_yaz().sort("date")
    extras = _numbers(table, ["is_holiday", "wind", "clouds", "rain", "sunshine", "temperature"])
    dates, series = table["date"].to_numpy(), []
    for dish in ("shrimp", "chicken", "koefte", "lamb", "steak"):
        demand = table[dish].cast(pl.Float64).to_numpy()
        series.append(Series(dish, dates, demand, extras, demand > 0))
    return series


@dataset("M5 foods", "m5_foods_daily.parquet")
def m5(path: Path) -> list[Series]:
    """Daily unit sales of food items (M5 competition), which nothing censored."""
    table = pl.read_parquet(path).with_columns(pl.col("item").cast(pl.String)).sort("item", "date")
    return [
        Series(
            one["item"][0],
            one["date"].to_numpy().astype("datetime64[D]"),
            one["demand"].cast(pl.Float64).to_numpy(),
        )
        for one in table.partition_by("item", maintain_order=True)
    ]


def exposure(
    sold: np.ndarray, out: np.ndarray, weekend: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Share of a day's usual sales that falls into hours in stock, and the demand it implies.

    Parameters
    ----------
    sold, out : ndarray of shape (n_days, 24)
        Sales and stock-outs by hour, of similar series.
    weekend : ndarray of bool, shape (n_days,)

    Returns
    -------
    share, demand : ndarray of shape (n_days,)
        Where little was in stock, demand is shrunk to the mean.
    """
    whole, share = out[:, OPENS:CLOSES].sum(axis=1) == 0, np.ones(len(sold))
    for rows in (weekend, ~weekend):
        usual = sold[whole & rows].sum(axis=0)
        usual[:OPENS], usual[CLOSES:] = 0.0, 0.0
        share[rows] = (((out == 0) | (sold > 0))[rows] * (usual / usual.sum())).sum(axis=1)
    sales = sold.sum(axis=1)
    mean = np.nanmean(np.where(share > 0.3, sales / np.maximum(share, 0.3), np.nan))
    weight = share / (share + 0.15)
    usual_rate = weight * sales / np.maximum(share, 0.05) + (1 - weight) * mean
    return share, sales + np.maximum((1 - share) * usual_rate, 0.0)


@dataset("fresh food", "freshretailnet_hourly.parquet")
def fresh_food(path: Path) -> list[Series]:
    """FreshRetailNet-50K by hours (CC-BY-4.0): demand from the hours in stock.

    Ten series of one category and of similar sales are a group. Demand of a day is what its hours
    in stock imply; days with an exposure below one half are no truth. Weather is left out: ninety
    days of spring have a trend in it.
    """
    keys = ["store_id", "product_id"]
    table = pl.read_parquet(path).sort(*keys, "dt")
    total = table.with_columns(pl.col("hours_sale").list.sum().alias("sold"))
    order = (
        total.group_by("first_category_id", *keys)
        .agg(pl.col("sold").mean())
        .filter(pl.len().over("first_category_id") >= 10)
        .sort("first_category_id", "sold", *keys)
    )
    extras, series = ["discount", "holiday_flag", "activity_flag"], []
    by_key = table.partition_by(keys, as_dict=True)
    for _, category in order.group_by("first_category_id", maintain_order=True):
        for start in range(0, category.height - 9, 10):
            ten = [by_key[key] for key in category.select(keys)[start : start + 10].rows()]
            rows = pl.concat(ten)
            sold, out = (
                np.array(rows[name].to_list(), dtype=float)
                for name in ("hours_sale", "hours_stock_out")
            )
            share, demand = exposure(sold, out, rows["dt"].dt.weekday().to_numpy() >= 6)
            for place, one in enumerate(ten):
                part = slice(place * one.height, (place + 1) * one.height)
                series.append(
                    Series(
                        f"{one['store_id'][0]}/{one['product_id'][0]}",
                        one["dt"].to_numpy(),
                        demand[part],
                        _numbers(one, extras),
                        sales=sold[part].sum(axis=1),
                        flags=share[part] < 1 - 1e-9,
                        sure=share[part] >= MIN_EXPOSURE,
                        group=len(series) // 10,
                    )
                )
    return series


@dataset("pizza", "pizzaplace_receipts.csv.gz")
def pizza(path: Path) -> list[Series]:
    """Pizzas of a restaurant by name and day, 2015, added up from receipts."""
    table = pl.read_csv(path, try_parse_dates=True)
    days = pl.DataFrame({"date": np.arange("2015-01-01", "2016-01-01", dtype="datetime64[D]")})
    series = []
    for one in table.partition_by("name", maintain_order=True):
        sold = one.group_by("date").len("demand")
        whole = days.join(sold, on="date", how="left", maintain_order="left").fill_null(0)
        demand = whole["demand"].cast(pl.Float64).to_numpy()
        series.append(Series(one["name"][0], whole["date"].to_numpy(), demand))
    return sorted(series, key=lambda each: each.name)
