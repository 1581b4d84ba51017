"""Data that several benchmarks share: what a planner sees, and the truth used to evaluate.

A recipe with a seed gives a trial: one or more blocks of rows, each with its own model (a block is
one store and product of real data, or all rows of a simulation).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from unmet import Newsvendor
from unmet.data import load_bakery, load_yaz
from unmet.simulate import censor, history_orders

LEVELS = (0.55, 0.65, 0.75, 0.85, 0.95)
COSTS = [Newsvendor.at_level(level) for level in LEVELS]

YEAR = 365.25


@dataclass(frozen=True, eq=False)
class Block:
    """Rows that get one model. Orders are missing (NaN) where stock was more than enough."""

    X: np.ndarray
    sales: np.ndarray
    demand: np.ndarray
    order: np.ndarray
    dates: np.ndarray
    series: np.ndarray
    X_test: np.ndarray
    demand_test: np.ndarray
    optimum: Callable[[float], np.ndarray] | None = None  # of the test rows
    series_test: np.ndarray | None = None  # where a block has several

    @property
    def censored(self) -> np.ndarray:
        return self.demand > self.sales


@dataclass(frozen=True, eq=False)
class Trial:
    blocks: tuple[Block, ...]
    seed: int

    @property
    def share(self) -> float:
        """Share of training rows censored."""
        return float(np.concatenate([block.censored for block in self.blocks]).mean())

    def describe(self) -> dict:
        rows = sum(len(block.sales) for block in self.blocks)
        return {"rows": rows, "columns": self.blocks[0].X.shape[1], "share": self.share}


# --- simulated ----------------------------------------------------------------------------------


def simulated(data, seed: int) -> Trial:
    """One block from the two parts of a simulation."""
    train, test = data.train, data.test
    block = Block(
        X=train.features,
        sales=train.sales,
        demand=train.demand,
        order=train.order,
        dates=train.dates,
        series=train.category,
        X_test=test.features,
        demand_test=test.demand,
        optimum=test.optimum,
    )
    return Trial((block,), seed)


# --- real ---------------------------------------------------------------------------------------


def dummies(column: pl.Series) -> np.ndarray:
    """One column per value but the first."""
    values = column.unique().sort()[1:].to_list()
    return np.column_stack([(column == value).to_numpy().astype(float) for value in values])


def real_block(
    table: pl.DataFrame, demand: str, extras: list[str], orders: dict | None, period: tuple
) -> Block:
    """One series: weekday, month, a trend and the extras; days without demand were closed."""
    table = table.filter(pl.col(demand) > 0)
    dates, wanted = table["date"].to_numpy(), table[demand].cast(pl.Float64).to_numpy()
    order = (
        np.full(len(wanted), np.inf) if orders is None else history_orders(wanted, dates, **orders)
    )
    day = (table["date"] - table["date"].min()).dt.total_days().to_numpy().astype(float)
    X = np.column_stack(
        [dummies(table["weekday"]), dummies(table["month"]), day / YEAR]
        + [table[name].cast(pl.Float64).to_numpy() for name in extras]
    )
    start, end = period
    train, test = day < start, (day >= start) & (day < end)
    sales, _ = censor(wanted, order)
    known = np.where(np.isfinite(order), order, np.nan)
    return Block(
        X=X[train],
        sales=sales[train],
        demand=wanted[train],
        order=known[train],
        dates=dates[train],
        series=np.zeros(train.sum(), dtype=int),
        X_test=X[test],
        demand_test=wanted[test],
    )


BAKERY_EXTRAS = [
    "is_holiday",
    "is_holiday_next2days",
    "is_schoolholiday",
    "promotion_currentweek",
    "promotion_lastweek",
    "rain",
    "temperature",
]
YAZ_EXTRAS = ["is_holiday", "wind", "clouds", "rain", "sunshine", "temperature"]
YAZ_DISHES = ["shrimp", "chicken", "koefte", "lamb", "steak"]  # of the others few are sold
ON_DEMANDS = {"k": 4, "on": "demand"}
ON_SALES = {"k": 4, "factor": 1.15, "on": "sales"}


@cache
def open_stores() -> tuple[int, ...]:
    """Stores that were closed on less than one day in twenty."""
    closed = load_bakery().group_by("store").agg((pl.col("demand") == 0).mean().alias("closed"))
    return tuple(closed.filter(pl.col("closed") < 0.05).sort("store")["store"].to_list())


def bakery(seed: int, products: tuple[int, ...], orders: dict | None) -> Trial:
    """Three stores, other ones for every seed; two years and more to train on, then half a year."""
    stores = open_stores()
    chosen = [stores[(3 * seed + offset) % len(stores)] for offset in range(3)]
    start = (2.0 + 0.2 * (seed % 5)) * YEAR
    table = load_bakery(chosen, products)
    blocks = [
        real_block(part, "demand", BAKERY_EXTRAS, orders, (start, start + YEAR / 2))
        for part in table.partition_by("store", "product", maintain_order=True)
    ]
    return Trial(tuple(blocks), seed)


def yaz(seed: int, orders: dict | None) -> Trial:
    """Five dishes; the start of the quarter we test on moves with the seed."""
    start = 480 + 20 * (seed % 10)
    blocks = [
        real_block(load_yaz(), dish, YAZ_EXTRAS, orders, (start, start + YEAR / 4))
        for dish in YAZ_DISHES
    ]
    return Trial(tuple(blocks), seed)


# --- options and results ------------------------------------------------------------------------


def parts(text: str) -> list[str]:
    return [part.strip().lower() for part in text.split(";") if part.strip()]


def among(names: list[str], part: str) -> list[str]:
    """Names that contain a part; the one that equals it, if there is one."""
    exact = [name for name in names if name.lower() == part]
    return exact or [name for name in names if part in name.lower()]


def save(path: Path, results: dict) -> None:
    """Write in one step, a line for each cell, so that an interrupted run leaves a whole file."""
    fresh = path.with_suffix(".new")
    sections = []
    for name, content in results.items():
        lines = [f"{json.dumps(inner)}: {json.dumps(value)}" for inner, value in content.items()]
        sections.append(f"{json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n}")
    fresh.write_text("{\n" + ",\n".join(sections) + "\n}\n")
    fresh.replace(path)
