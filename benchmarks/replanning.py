"""A shop that lives by its own orders, planned again every week: what does what it knows cost?

    python benchmarks/replanning.py [--sets bakery,restaurant] [--levels .75,.9] [--weeks 13]
        [--fresh freshretailnet_hourly.parquet] [--m5 m5_foods_daily.parquet]

It begins with eight weeks of sales (four of fresh food) that somebody else's orders cut: 1.05 times
the mean of each weekday. Then `OrderPlan` orders by its defaults, week by week, and sees what its
own orders let it see. Costs are divided by those of the same plan that is shown demand. Fresh food
is demand by the hours in stock. Results go to `results/replanning.json` and `.md`.
"""

from __future__ import annotations

import argparse
import datetime
import json
from pathlib import Path

import numpy as np
import polars as pl
from closed_loop import real

from unmet import Newsvendor, OrderPlan
from unmet.planning import DecisionLog

RESULTS = Path(__file__).parent / "results"
FIRST = datetime.date(2024, 1, 1)
KNOWN = {
    "flags": "flags of all days",
    "log": "own log, no flags before",
    "orders": "orders of the last plan (-o)",
    "nothing": "nothing",
}


def demand_of(name, file=None):
    """True demand of series with one row a day, (n_series, n_days)."""
    if name == "fresh":
        return fresh(file)
    if name == "m5":
        wide = pl.read_parquet(file).pivot(on="item", index="date", values="demand").sort("date")
        return np.nan_to_num(wide.drop("date").to_numpy().T.astype(float))
    return real(name)[0]


def fresh(file, n_series=40):
    """Daily demand of FreshRetailNet by the share of a day's usual sales in hours in stock."""
    found = []
    keys = ["store_id", "product_id"]
    table = pl.read_parquet(file).sort(*keys, "dt")
    for _, rows in table.group_by(keys, maintain_order=True):
        sold = np.array(rows["hours_sale"].to_list(), float)
        there = np.array(rows["hours_stock_out"].to_list()) == 0
        clean = there[:, 6:22].all(axis=1)
        if len(sold) != 90 or sold.sum(axis=1).mean() < 1.5 or clean.sum() < 20:
            continue
        usual = np.where((np.arange(24) >= 6) & (np.arange(24) < 22), sold[clean].sum(axis=0), 0)
        share = ((there | (sold > 0)) * usual / usual.sum()).sum(axis=1)
        if (share >= 0.5).mean() >= 0.9:
            found.append(sold.sum(axis=1) / np.maximum(share, 0.3))
    demand = np.round(10 * np.array(found))  # to units
    return demand[:: max(len(demand) // n_series, 1)][:n_series]


def sales_table(sales, flags=None):
    n_series, n_days = sales.shape
    days = [FIRST + datetime.timedelta(day) for day in range(n_days)]
    items = np.repeat([f"{place:03}" for place in range(n_series)], n_days)
    table = pl.DataFrame({"item": items, "date": days * n_series, "sales": sales.ravel()})
    return table if flags is None else table.with_columns(sold_out=flags.ravel())


def run(demand, level, known, n_before, n_weeks):
    """Cost of each week of a shop that knows so much."""
    sales, flags = demand[:, :n_before].copy(), np.zeros((len(demand), n_before), bool)
    for day in range(7 if known != "demand" else 0):
        stock = np.round(1.05 * demand[:, day:n_before:7].mean(axis=1, keepdims=True))
        flags[:, day::7] = (sales[:, day::7] >= stock) & (stock > 0)
        sales[:, day::7] = np.minimum(sales[:, day::7], stock)
    log, costs, cost = None, [], Newsvendor.at_level(level)
    for start in range(n_before, n_before + 7 * n_weeks, 7):
        told = flags if known in ("flags", "demand") else None
        plan = OrderPlan(7, cost).fit(sales_table(sales, told), log=log)
        orders = plan.orders()
        if known == "log":
            log = (log or DecisionLog(["item"])).suggested(orders)
        elif known == "orders":
            log = DecisionLog.of_orders(orders, ["item"], "date")
        series, day, _ = plan.targets_
        order, came = np.zeros((len(demand), 7)), demand[:, start : start + 7]
        order[series, day - start] = orders["order"].to_numpy()
        costs.append(float(cost.cost(order.ravel(), came.ravel()).sum()))
        seen = came if known == "demand" else np.minimum(came, order)
        out = (came >= order) & (order > 0) & (known != "demand")
        sales, flags = np.hstack([sales, seen]), np.hstack([flags, out])
    return costs


def page(kept):
    lines = [
        "# A shop that is planned again every week",
        "",
        "Made by `benchmarks/replanning.py`, which says how. Cost ÷ that of the same plan shown "
        "demand: of all weeks, and after the first four.",
        "",
        "| demand, level | " + " | ".join(KNOWN.values()) + " |",
        "|---|" + "---:|" * len(KNOWN),
    ]
    for name, found in kept.items():
        cells = [f"{found[each]['all']:.3f}, {found[each]['after']:.3f}" for each in KNOWN]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    (RESULTS / "replanning.md").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default="bakery,restaurant")
    parser.add_argument("--levels", default=".75,.9")
    parser.add_argument("--weeks", type=int, default=13)
    parser.add_argument("--fresh")
    parser.add_argument("--m5")
    args = parser.parse_args()
    kept = {}
    for name in args.sets.split(","):
        demand = demand_of(name, getattr(args, name, None))
        n_before = 28 if demand.shape[1] < 120 else 56
        n_weeks = min(args.weeks, (demand.shape[1] - n_before) // 7)
        for level in map(float, args.levels.split(",")):
            shown = run(demand, level, "demand", n_before, n_weeks)
            found = {}
            for known in KNOWN:
                costs = run(demand, level, known, n_before, n_weeks)
                found[known] = {
                    "all": sum(costs) / sum(shown),
                    "after": sum(costs[4:]) / sum(shown[4:]),
                }
                print(name, level, known, found[known], flush=True)
            kept[f"{name}, {level:g}"] = found
    (RESULTS / "replanning.json").write_text(json.dumps(kept, indent=1) + "\n")
    page(kept)


if __name__ == "__main__":
    main()
