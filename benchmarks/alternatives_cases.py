"""Data of `alternatives.py`: what a planner sees, and the demand that only the judge sees."""

from __future__ import annotations

import numpy as np
import polars as pl
from gap_cases import ON_DEMANDS, Block, Trial, bakery, dummies, simulated

from unmet.data import load_yaz
from unmet.planning import example
from unmet.planning.example import DISHES
from unmet.simulate import store10

LEVELS = (0.65, 0.75, 0.9)
STORE, RESTAURANT, BAKERY = "store-10", "restaurant (YAZ)", "bakery, nine series"
WORDS = {
    STORE: "the paper's simulated store; orders are the mean of demand",
    RESTAURANT: "real demand of five dishes in one model; orders are 1.15 × past sales. The tables "
    "of `unmet demo`",
    BAKERY: "real demand, a model per series; orders are the mean of past demand",
}


def restaurant(seed: int) -> Trial:
    """Read the tables of the tutorial with its features; they are the same for every seed."""
    tables = example()
    whole = pl.concat([tables.sales, tables.coming], how="diagonal")
    wanted = load_yaz().unpivot(
        DISHES, index="date", variable_name="dish", value_name="demand"
    )  # the judge's column
    whole = whole.join(wanted, on=["date", "dish"], how="left", maintain_order="left")
    X = np.column_stack(
        [dummies(whole[name]) for name in ("weekday", "month", "dish")]
        + [whole[name].cast(pl.Float64).to_numpy() for name in ("is_holiday", "temperature")]
    )
    demand, n = whole["demand"].cast(pl.Float64).to_numpy(), tables.sales.height
    block = Block(
        X=X[:n],
        sales=tables.sales["sales"].cast(pl.Float64).to_numpy(),
        demand=demand[:n],
        order=tables.sales["stock"].cast(pl.Float64).fill_null(np.nan).to_numpy(),
        dates=tables.sales["date"].to_numpy(),
        series=tables.sales["dish"].to_numpy(),
        X_test=X[n:],
        demand_test=demand[n:],
    )
    return Trial((block,), seed)


CASES = {
    STORE: lambda seed: simulated(store10(seed), seed),
    RESTAURANT: restaurant,
    BAKERY: lambda seed: bakery(seed, (101, 109, 110), ON_DEMANDS),
}


def seeds_of(case: str, number: int) -> range:
    """Seeds of a case: the restaurant has only one history."""
    return range(1 if case == RESTAURANT else number)
