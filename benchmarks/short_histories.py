"""Orders of `unmet plan` with no options, from three days to thirty.

    python benchmarks/short_histories.py [--items 1 2 10 …] [--days 3 4 …] [--seeds 5] [--horizon 7]
    python benchmarks/short_histories.py --real [--freshretail freshretailnet_100series_daily.csv]

Independent Poisson(5) sales of each item, of which 8 a day are right at a service level of .9. A
total above three times or below a third of that, or a refusal, is a failure: the exit code is 1.
With `--real`, windows are cut out of real demand, and what the orders of the week after them cost
is set against the quantile of the same weekdays of the window (of all its days, where it has none).
"""

from __future__ import annotations

import argparse
import datetime
import sys

import numpy as np
import polars as pl

from unmet.data import load_bakery, load_yaz
from unmet.errors import UnmetError
from unmet.planning import OrderPlan

RATE, RIGHT, LEVEL = 5.0, 8.0, 0.9
ITEMS, DAYS = (1, 2, 10, 30, 100, 2000), range(3, 31)
WINDOWS, WINDOWS_EACH, WEEK = (5, 10, 14, 21), 6, 7


def poisson_sales(n_items: int, n_days: int, seed: int) -> pl.DataFrame:
    """Sales that nothing explains."""
    dates = [datetime.date(2024, 1, 1) + datetime.timedelta(day) for day in range(n_days)]
    return pl.DataFrame(
        {
            "item": np.repeat([f"item {place:04d}" for place in range(n_items)], n_days),
            "date": dates * n_items,
            "sales": np.random.default_rng(seed).poisson(RATE, n_items * n_days),
        }
    )


def against_right(n_items: int, n_days: int, seed: int, horizon: int) -> float:
    """Total order over what is right; NaN where the plan refuses."""
    try:
        plan = OrderPlan(horizon=horizon, n_jobs=1).fit(poisson_sales(n_items, n_days, seed))
    except UnmetError as error:
        print(f"{n_items} items, {n_days} days, seed {seed}: {error}")
        return np.nan
    return float(plan.orders()["order"].sum()) / (RIGHT * horizon * n_items)


def sweep(items, days, n_seeds: int, horizon: int) -> int:
    """Print least and largest totals of the seeds over what is right; give how many fail."""
    print(f"| days | {' | '.join(f'{each:,} items' for each in items)} |")
    print("|---" * (len(items) + 1) + "|", flush=True)
    failed = 0
    for n_days in days:
        cells = []
        for n_items in items:
            found = np.array(
                [against_right(n_items, n_days, seed, horizon) for seed in range(n_seeds)]
            )
            failed += int((~((found >= 1 / 3) & (found <= 3))).sum())
            cells.append(f"{found.min():.2f} to {found.max():.2f}")
        print(f"| {n_days} | {' | '.join(cells)} |", flush=True)
    print(f"{failed} of {len(items) * len(days) * n_seeds} plans fail (horizon {horizon}).")
    return failed


# --- Real demand.


def real_tables(fresh: str | None) -> dict[str, pl.DataFrame]:
    """Demand in the columns item, date, sales."""
    yaz = load_yaz()
    dishes = yaz.columns[yaz.columns.index("calamari") :]
    bakery = load_bakery().select(
        pl.format("{} {}", "store", "product").alias("item"), "date", sales="demand"
    )
    found = {
        "bakery": bakery,
        "restaurant": yaz.unpivot(dishes, index="date", variable_name="item", value_name="sales"),
    }
    if fresh is not None:
        rows = pl.read_csv(fresh, try_parse_dates=True)
        item = pl.format("{} {}", "store_id", "product_id").alias("item")
        found["fresh food"] = rows.select(item, "sales", date="dt")
    return found


def pinball(order: np.ndarray, demand: np.ndarray) -> float:
    missing = demand - order
    return float(np.where(missing > 0, LEVEL * missing, (LEVEL - 1.0) * missing).sum())


def same_weekdays(past: pl.DataFrame, coming: pl.DataFrame) -> np.ndarray:
    """Quantile of the same weekdays of each item; of all its days where it has none."""
    weekday = pl.col("date").dt.weekday().alias("weekday")
    quantile = pl.col("sales").quantile(LEVEL, "higher")
    same = past.group_by("item", weekday).agg(quantile.alias("same"))
    every = past.group_by("item").agg(quantile.alias("every"))
    asked = coming.with_columns(weekday)
    for other, keys in ((same, ["item", "weekday"]), (every, ["item"])):
        asked = asked.join(other, on=keys, how="left", maintain_order="left")
    return asked.select(pl.coalesce("same", "every").alias("order"))["order"].to_numpy()


def real(fresh: str | None) -> None:
    """Print costs of short windows against those of same weekdays."""
    print(f"| data | {' | '.join(f'{days} days' for days in WINDOWS)} |")
    print("|---" * (len(WINDOWS) + 1) + "|", flush=True)
    for name, table in real_tables(fresh).items():
        first, last = table["date"].min(), table["date"].max()
        generator = np.random.default_rng(0)
        cells = []
        for n_days in WINDOWS:
            ours = theirs = 0.0
            for back in generator.integers(0, (last - first).days - n_days - WEEK, WINDOWS_EACH):
                start = first + datetime.timedelta(int(back))
                end = start + datetime.timedelta(n_days)
                week = end + datetime.timedelta(WEEK)
                past = table.filter(pl.col("date").is_between(start, end, "left"))
                coming = table.filter(pl.col("date").is_between(end, week, "left"))
                coming = coming.join(past.select("item").unique(), on="item", how="semi")
                plan = OrderPlan(horizon=WEEK, lot=None, n_jobs=1).fit(past)
                sheet = plan.orders().select("item", "date", "order")
                order = coming.join(sheet, on=["item", "date"], how="left", maintain_order="left")
                demand = coming["sales"].to_numpy()
                ours += pinball(order["order"].fill_null(0).to_numpy(), demand)
                theirs += pinball(same_weekdays(past, coming), demand)
            cells.append(f"{ours / theirs:.2f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, nargs="+", default=ITEMS)
    parser.add_argument("--days", type=int, nargs="+", default=DAYS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--horizon", type=int, default=7)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--freshretail")
    asked = parser.parse_args()
    if asked.real:
        real(asked.freshretail)
        return 0
    return int(sweep(asked.items, asked.days, asked.seeds, asked.horizon) > 0)


if __name__ == "__main__":
    sys.exit(main())
