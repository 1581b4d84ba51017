"""A shop that lives by its own orders: who spirals down, who learns, and what it costs.

    python benchmarks/closed_loop.py [--kinds …] [--freshretail freshretailnet_100series_daily.csv]

Every policy orders each day for 52 weeks and sees only what its own orders let it see. It begins
with eight weeks of sales that somebody else's orders cut, on record without stock. Costs are set
against those of the oracle: the same model as `unmet`, which is shown true demand. Real demand is
that of the bundled bakery and restaurant; sales of FreshRetailNet (CC-BY-4.0, not part of this
project) are taken for demand. Finished kinds are kept in `results/closed_loop.json` (`--again`
forgets them).
"""

from __future__ import annotations

import argparse
import datetime
import json
import time
import warnings
from pathlib import Path

import numpy as np
import polars as pl
from policies import MeanPlusSafety, SalesQuantile, Tobit
from scenarios import PATTERNS, SHOP_DISTRIBUTIONS, shop_demand

from unmet import LatentBand, LinearDecision, Newsvendor
from unmet.data import load_bakery, load_yaz
from unmet.inventory import SupplyRules, replenish
from unmet.planning.candidates import DemandForecast
from unmet.simulate import run_shop
from unmet.tables.panel import Panel

RESULTS = Path(__file__).parent / "results"
BEFORE, START, DAYS = 56, 56, 364
LEARN_EVERY, WINDOW = 28, 168
N_PATHS = 200
SHOP_KINDS = (  # every distribution, every pattern on counts and on amounts, and all at once
    *SHOP_DISTRIBUTIONS,
    *(
        f"{distribution}+{pattern}"
        for pattern in PATTERNS
        for distribution in ("negative binomial", "gamma")
    ),
    "negative binomial+weekday+season+trend+promotion",
)
LABELS = {
    "sales": "sales taken for demand, learned again",
    "safety": "mean of sales + safety stock",
    "dropped": "sold-out days dropped",
    "tobit": "Tobit with flags",
    "nothing": "unmet, nothing known",
    "log": "unmet with its log",
    "oracle": "oracle: demand seen",
}


class FittedModel:
    """`unmet`: a panel of what was seen, a model of expected demand, the newsvendor step."""

    def __init__(self, rules, sees="log"):
        self.rules, self.sees = rules, sees
        self.oracle = sees == "demand"

    def panel(self, seen):
        start = max(seen.n_periods - WINDOW, 0) // 7 * 7
        values = (seen.demand if self.oracle else seen.sales)[:, start:]
        flags = seen.sold_out[:, start:]
        hidden = flags if self.sees == "log" else None
        known = {name: each[:, start:] for name, each in seen.features.items()}
        return Panel(
            values,
            hidden,
            seen.first_day + datetime.timedelta(days=start * seen.step),
            "day" if seen.step == 1 else "week",
            known=known,
        )

    def learn(self, seen):
        n_periods = self.rules.periods(seen.sales.shape[0])
        self.model = DemandForecast(n_periods, n_jobs=1).fit(self.panel(seen))

    def order(self, seen, state):
        panel = self.panel(seen)
        expected = self.model.expected(panel)
        paths = self.model.distribution_.draw(expected, N_PATHS, seed=seen.seed)
        return replenish(paths, self.rules, state).order


class NothingKnown:
    """`unmet` from sales alone: one latent model of all series, as shares of their level."""

    def __init__(self, level):
        self.cost = Newsvendor.at_level(level)

    def rows(self, seen, days):
        level = np.maximum(np.nanmean(seen.sales[:, -WINDOW:], axis=1), 1e-9)
        weekday = np.eye(7)[days % 7][:, 1:]
        return level, weekday

    def learn(self, seen):
        days = np.arange(max(seen.n_periods - WINDOW, 0), seen.n_periods)
        level, weekday = self.rows(seen, days)
        shares = (seen.sales[:, days] / level[:, None]).ravel()
        self.model = LinearDecision(self.cost, LatentBand(), random_state=0)
        self.model.fit(np.tile(weekday, (level.size, 1)), shares)

    def order(self, seen, state):
        level, weekday = self.rows(seen, np.array([seen.n_periods]))
        wanted = np.maximum(self.model.predict(weekday)[0], 0.0) * level
        return np.maximum(wanted - state.position, 0.0)


def policies(rules, level, names):
    plain = {"rules": rules}
    made = {
        "sales": lambda: FittedModel(rules, "sales"),
        "safety": lambda: MeanPlusSafety(**plain),
        "dropped": lambda: SalesQuantile(**plain, drop_sold_out=True, season=7),
        "tobit": lambda: Tobit(**plain),
        "nothing": lambda: NothingKnown(level),
        "log": lambda: FittedModel(rules),
        "oracle": lambda: FittedModel(rules, "demand"),
    }
    return {name: made[name]() for name in names}


def real(name, file=None):
    """True demand of series with one row a day, (n_series, n_days)."""
    if name == "bakery":
        table = load_bakery(stores=(2, 3, 5, 17)).filter(
            pl.col("date") >= datetime.date(2017, 1, 2)
        )
        wide = table.pivot(on=["store", "product"], index="date", values="demand").sort("date")
        values = wide.drop("date").to_numpy().T
    elif name == "restaurant":
        table = load_yaz().sort("date").filter(pl.col("date") >= datetime.date(2013, 10, 7))
        dishes = ("calamari", "fish", "shrimp", "chicken", "koefte", "lamb", "steak")
        values = table.select(dishes).to_numpy().T
    else:
        table = pl.read_csv(file)
        keys = ["store_id", "product_id"]
        wide = table.pivot(on=keys, index="dt", values="sales").sort("dt")
        values = np.round(10 * wide.drop("dt").to_numpy().T)[::5]  # to units, 20 series
    return np.nan_to_num(np.asarray(values, dtype=float)), {}


def one(kind, args, seed):
    """Run all policies on one kind of demand."""
    if kind in ("bakery", "restaurant", "fresh"):
        demand, features = real(kind, args.freshretail)
        demand = demand[:, : BEFORE + DAYS]
    else:
        demand, features = shop_demand(kind, args.series, BEFORE + DAYS, seed=seed)
    before = BEFORE if demand.shape[1] > 2 * BEFORE else 35
    level = args.level
    life = {"shelf_life": 1} if args.lead == 0 else {}
    whole = bool((demand == np.round(demand)).all())
    rules = SupplyRules(
        args.lead, holding=1 - level, shortage=level, lot=1.0 if whole else None, **life
    )
    # somebody else's orders: the mean of each weekday, and hardly more
    stock = np.empty((demand.shape[0], before))
    for day in range(7):
        stock[:, day::7] = 1.05 * demand[:, day:before:7].mean(axis=1, keepdims=True)
    names = [name for name in LABELS if not (name == "nothing" and args.lead)]
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        deciding = policies(rules, level, names)
        run = run_shop(
            demand,
            deciding,
            rules,
            n_before=before,
            history_stock=np.round(stock) if whole else stock,
            learn_every=LEARN_EVERY,
            features=features,
            first_day=datetime.date(2024, 1, 1),
            seed=seed,
        )
    since = min(START, (demand.shape[1] - before) // 3)
    total, after = run.total(), run.total(since=since)
    shape = {"series": demand.shape[0], "days": demand.shape[1] - before}
    weeks = run.over_time(28)
    return {
        **shape,
        "seconds": time.perf_counter() - start,
        "cost": dict(zip(total["policy"], total["cost"], strict=True)),
        "after": dict(zip(after["policy"], after["cost"], strict=True)),
        "sold_out": {
            name: weeks.filter(pl.col("policy") == name)["sell_out_rate"].to_list()
            for name in names
        },
    }


def page(kept):
    """Write the tables as a page."""
    settings = sorted({key.split(" | ", 1)[1].rsplit(" | ", 1)[0] for key in kept})
    lines = [
        "# A shop in closed loop",
        "",
        "Made by `benchmarks/closed_loop.py`, which says how.",
        "",
    ]
    for setting in settings:
        rows = {key: found for key, found in kept.items() if f" | {setting} | " in key}
        names = [name for name in LABELS if all(name in each["after"] for each in rows.values())]
        lines += [f"## {setting.replace(' | ', ', ')}", ""]
        lines += [
            "Cost after the first eight weeks (a third of the run where it is short), divided by "
            "that of the oracle; in the last column all weeks, `unmet` with its log.",
            "",
            "| demand | "
            + " | ".join(LABELS[each] for each in names if each != "oracle")
            + " | all |",
            "|---|" + "---:|" * len(names),
        ]
        worst = dict.fromkeys(names, 0.0)
        for key, found in rows.items():
            after = {name: found["after"][name] / found["after"]["oracle"] for name in names}
            worst = {name: max(worst[name], after[name]) for name in names}
            cells = [f"{after[name]:.3f}" for name in names if name != "oracle"]
            every = found["cost"]["log"] / found["cost"]["oracle"]
            kind, seed = key.split(" | ")[0], key.rsplit(" ", 1)[1]
            label = kind if seed == "0" else f"{kind}, seed {seed}"
            lines.append(f"| {label} | " + " | ".join(cells) + f" | {every:.3f} |")
        cells = [f"**{worst[name]:.3f}**" for name in names if name != "oracle"]
        lines += ["| worst | " + " | ".join(cells) + " | |", ""]
        below = sum(found["after"]["log"] < found["after"]["sales"] for found in rows.values())
        near = sum(
            found["after"]["log"] <= 1.03 * found["after"]["oracle"] for found in rows.values()
        )
        lines += [
            f"With its log `unmet` is within 1.03 of the oracle on {near} of {len(rows)}, and "
            f"below sales taken for demand on {below}.",
            "",
        ]
    lines += [
        "Days on which nothing was there and nothing was asked for, such as Sundays of the bakery, "
        "count as sold out. Tobit and safety stock know no weekdays. The oracle is no distribution "
        "of nature: on demand without patterns a Tobit model, which averages over more days, may "
        "be below it. One seed each, ten series (twelve of the "
        "bakery, seven of the restaurant, twenty of fresh food, whose run is shorter).",
        "",
    ]
    (RESULTS / "closed_loop.md").write_text("\n".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", default=None)
    parser.add_argument("--series", type=int, default=10)
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--lead", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--freshretail", default=None)
    parser.add_argument("--again", action="store_true")
    args = parser.parse_args()
    kinds = ["bakery", "restaurant", *(["fresh"] if args.freshretail else []), *SHOP_KINDS]
    kinds = args.kinds.split(",") if args.kinds else kinds
    file = RESULTS / "closed_loop.json"
    kept = json.loads(file.read_text()) if file.exists() and not args.again else {}
    for seed in range(args.seeds):
        for kind in kinds:
            key = f"{kind} | level {args.level} | lead {args.lead} | seed {seed}"
            if key in kept or (seed and kind in ("bakery", "restaurant", "fresh")):
                continue
            kept[key] = found = one(kind, args, seed)
            file.write_text(json.dumps(kept, indent=1) + "\n")
            oracle, after = found["cost"]["oracle"], found["after"]["oracle"]
            shown = "  ".join(
                f"{name} {found['cost'][name] / oracle:.2f}/{found['after'][name] / after:.2f}"
                for name in found["cost"]
            )
            print(f"{key} ({found['seconds']:.0f} s): {shown}", flush=True)
    page(kept)


if __name__ == "__main__":
    main()
