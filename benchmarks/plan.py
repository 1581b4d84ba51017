"""What `unmet plan` costs beside hand-made plans, LightGBM quantiles and same weekdays.

    python benchmarks/plan.py --freshretail freshretailnet_100series_daily.csv
    python benchmarks/plan.py --scale 50000

Every method learns from the days before a week and orders for it, over several weeks. Fresh food
(FreshRetailNet-50K, CC-BY-4.0; not part of this project) is evaluated on days that did not sell
out, and once more with these weighted for those that did; bakery and restaurant on true demand.
"""

from __future__ import annotations

import argparse
import datetime
import resource
import time
import warnings
from pathlib import Path

import numpy as np
import polars as pl

from unmet import Newsvendor
from unmet.data import load_bakery, load_yaz
from unmet.evaluation import censored_cost
from unmet.planning import OrderPlan, example, read_table
from unmet.planning.candidates import TrainingSet
from unmet.planning.example import EXAMPLE
from unmet.planning.plan_options import plan_from_options

HERE = Path(__file__).parent
HORIZON = 7


def orders_of(sheet: pl.DataFrame, rows: pl.DataFrame, keys: list[str]) -> np.ndarray:
    return (
        rows.select(keys)
        .join(sheet, on=keys, how="left", maintain_order="left")["order"]
        .to_numpy()
    )


def planned(past, coming, keys, cost, **words):
    """`unmet plan` with no options but the costs."""
    plan = OrderPlan(
        horizon=HORIZON, cost=Newsvendor(cost.underage, cost.overage), lot=None, **words
    )
    plan.fit(past)
    return orders_of(plan.orders(), coming, keys), plan


def by_hand(past, coming, cost, **words):
    """`unmet fit` and `unmet decide` with columns that somebody chose."""
    plan = plan_from_options(**words, underage=cost.underage, overage=cost.overage).fit(past)
    return plan.decide(coming, step=None).decision


def lightgbm_quantile(plan, coming, keys, cost):
    """LightGBM's own quantile regression on the same history columns, sales as they are."""
    import lightgbm

    training = TrainingSet(plan.panel_, HORIZON, 0, impute=False)
    names, categories = training.history.names_, training.history.categories_
    model = lightgbm.LGBMRegressor(
        objective="quantile",
        alpha=float(cost.level),
        n_estimators=200,
        learning_rate=0.05,
        num_leaves=15,
        min_child_samples=50,
        colsample_bytree=0.5,
        n_jobs=1,
        random_state=0,
        verbose=-1,
    )
    places = [names.index(name) for name in categories]
    model.fit(training.features, training.value * training.level, categorical_feature=places)
    series, day, gap = plan.targets_
    features, _ = training.history.rows(series, day, gap)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.predict(features)
    sheet = plan.panel_.keys.select(plan.schema_.series)[series].with_columns(
        pl.Series(plan.schema_.date, plan.panel_.date(day)).cast(pl.Date), pl.Series("order", found)
    )
    return orders_of(sheet, coming, keys)


def same_weekday(past, coming, series, date, sales, level):
    """Quantile of the last eight same weekdays of each series, as sold."""
    weekday = pl.col(date).dt.weekday().alias("_weekday")
    latest = (
        past.with_columns(weekday)
        .sort(date)
        .group_by([*series, "_weekday"])
        .agg(pl.col(sales).tail(8).quantile(level, "higher").alias("order"))
    )
    joined = coming.with_columns(weekday).join(
        latest, on=[*series, "_weekday"], how="left", maintain_order="left"
    )
    return joined["order"].to_numpy()


def weeks(table, date, n_weeks):
    """(past, coming) for each of the last weeks, the last one first."""
    end = table[date].max()
    for back in range(n_weeks):
        last = end - datetime.timedelta(HORIZON * back)
        first = last - datetime.timedelta(HORIZON - 1)
        yield (
            table.filter(pl.col(date) < first),
            table.filter(pl.col(date).is_between(first, last)),
        )


def fresh(path: Path, n_weeks: int) -> list[str]:
    table = read_table(path)
    keys, cost = ["store_id", "product_id", "dt"], Newsvendor.at_level(0.75)
    shared = {
        "observed": "sales",
        "features": ["discount", "holiday_flag", "activity_flag"],
        "date": "dt",
        "calendar": ["weekday"],
    }
    pooled = shared | {
        "features": [*shared["features"], "store_id", "product_id"],
        "categories": ["store_id", "product_id"],
    }
    own = shared | {"by": ["store_id", "product_id"]}
    hand = {
        "unmet fit, pooled, flags": pooled | {"censored_column": "oos_at_close"},
        "unmet fit, pooled, sales as they are": pooled | {"band": "none"},
        "unmet fit --by series, flags": own | {"censored_column": "oos_at_close"},
        "unmet fit --by series, sales as they are": own | {"band": "none"},
    }
    decided: dict[str, list] = {}
    rows = []
    for past, coming in weeks(table, "dt", n_weeks):
        start = time.perf_counter()
        order, plan = planned(past, coming, keys, cost)
        print(f"fresh, until {past['dt'].max()}: {time.perf_counter() - start:.1f} s", flush=True)
        print("  ", plan.choice_.why, flush=True)
        found = {"unmet plan": order}
        found["LightGBM quantile, same history"] = lightgbm_quantile(plan, coming, keys, cost)
        found["same weekday, last eight"] = same_weekday(
            past, coming, keys[:2], "dt", "sales", 0.75
        )
        for name, words in hand.items():
            found[name] = by_hand(past, coming, cost, **words)
        for name, each in found.items():
            decided.setdefault(name, []).append(each)
        rows.append(coming)
    truth = [each["sales"].to_numpy() for each in rows]
    flags = [each["oos_at_close"].to_numpy().astype(float) for each in rows]
    every = {name: np.concatenate(each) for name, each in decided.items()}
    weighed = censored_cost(cost, every, np.concatenate(truth), np.concatenate(flags)).cost
    lines = [
        "| method | last week | "
        + " | ".join(f"{k} before" for k in range(1, n_weeks))
        + " | mean of weeks | weighted for sold-out days |",
        "|---|" + "---:|" * (n_weeks + 2),
    ]
    for name, each in decided.items():
        per_week = [
            float(np.mean(cost.cost(order[flag == 0], sold[flag == 0])))
            for order, sold, flag in zip(each, truth, flags, strict=True)
        ]
        cells = [*per_week, float(np.mean(per_week)), weighed[name]]
        lines.append(f"| {name} | " + " | ".join(f"{cell:.4f}" for cell in cells) + " |")
    return lines


def true_demand(name, table, series, date, sales, truth, cost, hand, n_weeks, **words) -> list[str]:
    """Mean cost on true demand, a line for each method."""
    decided: dict[str, list] = {}
    for past, coming in weeks(table, date, n_weeks):
        keys = [*series, date]
        given = past.drop(truth) if truth != sales else past
        order, plan = planned(given, coming, keys, cost, **words)
        print(name, past[date].max(), plan.choice_.why, flush=True)
        found = {"unmet plan": order}
        found["LightGBM quantile, same history"] = lightgbm_quantile(plan, coming, keys, cost)
        found["same weekday, last eight"] = same_weekday(
            past, coming, series, date, sales, float(cost.level)
        )
        for each, how in hand.items():
            found[each] = by_hand(given, coming, cost, **how)
        demand = coming[truth].to_numpy()
        for each, order in found.items():
            decided.setdefault(each, []).append(float(np.mean(cost.cost(order, demand))))
    return [
        f"| {name} | {each} | "
        + " | ".join(f"{cell:.3f}" for cell in costs)
        + f" | {np.mean(costs):.3f} |"
        for each, costs in decided.items()
    ]


def bakery(n_weeks: int) -> list[str]:
    table = load_bakery(stores=[2, 3, 5, 17, 19, 20]).filter(pl.col("date").dt.year() >= 2017)
    columns = ["is_holiday", "is_holiday_next2days", "is_schoolholiday", "promotion_currentweek"]
    hand = {
        "unmet fit --by series, weekday, month and what is known": {
            "observed": "demand",
            "features": columns,
            "date": "date",
            "calendar": ["weekday", "month"],
            "by": ["store", "product"],
            "band": "none",
        }
    }
    return true_demand(
        "bakery",
        table,
        ["store", "product"],
        "date",
        "demand",
        "demand",
        Newsvendor(3, 1),
        hand,
        n_weeks,
    )


def restaurant(n_weeks: int) -> list[str]:
    sales = example().sales
    dishes = sales["dish"].unique().to_list()
    demand = load_yaz().unpivot(dishes, index="date", variable_name="dish", value_name="demand")
    table = sales.join(demand, on=["date", "dish"], how="left", maintain_order="left")
    words = {name: value for name, value in EXAMPLE.items() if name not in ("underage", "overage")}
    hand = {
        "unmet fit, as in the tutorial": words,
        "unmet fit, as in the tutorial, flags": words | {"censored_column": "sold_out"},
    }
    return true_demand(
        "restaurant", table, ["dish"], "date", "sales", "demand", Newsvendor(3, 1), hand, n_weeks
    )


def scale(n_series: int) -> None:
    """Time and memory of a simulated panel of 90 days."""
    generator = np.random.default_rng(0)
    days = 90
    level = generator.lognormal(1.2, 1, (n_series, 1))
    week = 1 + 0.3 * np.sin(2 * np.pi * np.arange(days) / 7)
    demand = generator.poisson(level * week * np.exp(generator.normal(0, 0.2, (n_series, days))))
    stock = generator.poisson(level * 1.3) + 1 + generator.poisson(1, demand.shape)
    table = pl.DataFrame(
        {
            "date": np.tile(np.datetime64("2024-01-01") + np.arange(days), n_series),
            "store": np.repeat(np.arange(n_series) // 100, days),
            "item": np.repeat(np.arange(n_series) % 100, days),
            "sales": np.minimum(demand, stock).ravel(),
            "sold_out": (demand >= stock).ravel(),
        }
    )
    start = time.perf_counter()
    plan = OrderPlan(horizon=HORIZON).fit(table)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{n_series:,} series × {days} days: {time.perf_counter() - start:.0f} s, {memory:.2f} GB, "
        f"{plan.orders().height:,} orders. {plan.choice_.why}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--freshretail", type=Path)
    parser.add_argument("--weeks", type=int, default=5)
    parser.add_argument("--scale", type=int)
    parser.add_argument("--sets", default="fresh,bakery,restaurant")
    arguments = parser.parse_args()
    if arguments.scale is not None:
        scale(arguments.scale)
        return
    sets, n_weeks = arguments.sets.split(","), arguments.weeks
    if "fresh" in sets and arguments.freshretail is not None:
        print("\n".join(fresh(arguments.freshretail, n_weeks)), flush=True)
    for name, run in (("bakery", bakery), ("restaurant", restaurant)):
        if name in sets:
            print("\n".join(run(n_weeks)), flush=True)


if __name__ == "__main__":
    main()
