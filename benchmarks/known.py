"""Flags or a sell-out rate on real demand: beside a Tobit model, and what each part is worth.

usage: python benchmarks/known.py [--sets ...] [--methods ...] [--freshretail daily.csv] [--resume]

Real demand is censored by orders that follow the past, so that the truth of later days is known.
Every method is told flags, or only how often it sold out; its decisions for later days are
evaluated on the demand. Share of the gap closed = (line on sales − method) ÷ (line on sales − line
on demand), each a linear newsvendor model of its own for every series, costs summed over series.
Results go to results/known.json after each set, and from there to known.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import polars as pl
from calibration import fresh
from gap_cases import (
    BAKERY_EXTRAS,
    COSTS,
    LEVELS,
    ON_DEMANDS,
    ON_SALES,
    YEAR,
    Block,
    open_stores,
    parts,
    real_block,
    save,
    yaz,
)
from gap_freshretail import features, read
from linear import HERE, setting
from report import head, row
from rich.console import Console
from rich.progress import track
from scipy import optimize, stats
from threadpoolctl import threadpool_limits

from unmet import LinearDecision
from unmet.censoring import LatentBand
from unmet.censoring.latent import stack
from unmet.data import load_bakery
from unmet.simulate import censor, history_orders

Decide = Callable[[Block], list[np.ndarray]]
SALES, DEMAND = "line on sales", "line on demand"
PLAIN = ("Tobit", "Weibull", "lognormal")
LEAST_GAP = 0.02  # of the cost of a line on demand
FACTORS = ("sold-out days × 1.15", "sold-out days × 1.3")


# --- data ---------------------------------------------------------------------------------------


def bakery(orders: dict, first: int) -> list[Block]:
    """Eight stores, three products; two years to train on, half a year to decide for."""
    stores, blocks = open_stores(), []
    for place in range(8):
        table = load_bakery([stores[(3 * place + first) % len(stores)]], (101, 109, 110))
        blocks += [
            real_block(each, "demand", BAKERY_EXTRAS, orders, (2 * YEAR, 2.5 * YEAR))
            for each in table.partition_by("store", "product", maintain_order=True)
        ]
    return blocks


def restaurant(orders: dict) -> list[Block]:
    """Five dishes, from three days on a quarter each."""
    return [block for seed in (0, 4, 8) for block in yaz(seed, orders).blocks]


def short_series(path: Path) -> list[Block]:
    """Fresh food, days that were not sold out of series with 60 of them; the last 20 to decide."""
    blocks = []
    table = read(path).filter(~pl.col("oos_at_close"))
    for rows in table.partition_by("series", maintain_order=True):
        if rows.height < 60:
            continue
        demand, dates = rows["sales"].to_numpy(), rows["dt"].to_numpy()
        order = history_orders(demand, dates, k=2, factor=1.15, on="sales", round_up=False)
        X, train = features(rows, pooled=False), np.arange(demand.size) < demand.size - 20
        X = X[:, np.ptp(X[train], axis=0) > 0]
        sales = censor(demand, order)[0]
        blocks.append(
            Block(
                X=X[train],
                sales=sales[train],
                demand=demand[train],
                order=order[train],
                dates=dates[train],
                series=np.zeros(train.sum(), dtype=int),
                X_test=X[~train],
                demand_test=demand[~train],
            )
        )
    return blocks


SETS: dict[str, Callable[[], list[Block]]] = {
    "bakery, orders on demand": lambda: bakery(ON_DEMANDS, 0),
    "bakery, 1.15 × sales": lambda: bakery(ON_SALES, 1),
    "restaurant, orders on demand": lambda: restaurant(ON_DEMANDS),
    "restaurant, 1.1 × sales": lambda: restaurant({"k": 4, "factor": 1.1, "on": "sales"}),
}


# --- methods ------------------------------------------------------------------------------------


def line(observed: Callable[[Block], np.ndarray]) -> Decide:
    """Integrated estimation and optimisation on a column taken for the truth."""

    def decide(block: Block) -> list[np.ndarray]:
        models = LinearDecision().fit_path(block.X, observed(block), costs=COSTS)
        return [model.predict(block.X_test) for model in models]

    return decide


def plain(distribution: stats.rv_continuous, logarithm: bool) -> Decide:
    """Censored regression by maximum likelihood, as a practitioner would write it."""

    def decide(block: Block) -> list[np.ndarray]:
        mean, size = block.X.mean(axis=0), block.X.std(axis=0)
        size = np.where(size > 0, size, 1.0)
        X, X_test = (
            np.column_stack([np.ones(len(each)), (each - mean) / size])
            for each in (block.X, block.X_test)
        )
        unit = block.sales.std()
        least = block.sales[block.sales > 0].min() / 2 / unit
        point = block.sales / unit
        if logarithm:
            point = np.log(np.maximum(point, least))

        def minus(v: np.ndarray) -> float:
            z = v[-1] * point - X @ v[:-1]
            seen = distribution.logpdf(z) + np.log(v[-1])
            return -float(np.where(block.censored, distribution.logsf(z), seen).sum())

        start = np.zeros(X.shape[1] + 1)
        start[0], start[-1] = point.mean() / point.std(), 1 / point.std()
        bounds = [(None, None)] * X.shape[1] + [(1e-6, None)]
        found = optimize.minimize(
            minus, start, method="L-BFGS-B", bounds=bounds, options={"maxfun": 100_000}
        ).x
        decided = []
        for level in LEVELS:
            value = (X_test @ found[:-1] + distribution.ppf(level)) / found[-1]
            decided.append(unit * (np.exp(np.minimum(value, 50)) if logarithm else value))
        return decided

    return decide


@contextmanager
def constants(**changed: object):
    """Ablation: the same code with other constants."""
    before = {name: getattr(stack, name) for name in changed}
    try:
        for name, value in changed.items():
            setattr(stack, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(stack, name, value)


def ours(known: str, distribution: bool, options: dict | None = None, **changed: object) -> Decide:
    """LatentBand told flags or the rate; decisions by a line, or by the distribution itself."""

    def decide(block: Block) -> list[np.ndarray]:
        rate = float(block.censored.mean()) if known == "rate" else None
        told = {"censored": block.censored} if known == "flags" else {}
        rule = LatentBand(rate, random_state=0, **(options or {}))
        with constants(**changed):
            if distribution:
                rule.fit(COSTS[0], block.X, block.sales, **told)
                return [rule.quantile(block.X_test, level) for level in LEVELS]
            models = LinearDecision().fit_path(
                block.X, block.sales, costs=COSTS, bands=rule, **told
            )
        return [model.predict(block.X_test) for model in models]

    return decide


def factor(times: float) -> Decide:
    return line(lambda block: np.where(block.censored, times * block.sales, block.sales))


NO_RIDGE = (1e-6,)
METHODS: dict[str, tuple[str, Decide]] = {
    SALES: ("nothing", line(lambda block: block.sales)),
    DEMAND: ("the truth", line(lambda block: block.demand)),
    FACTORS[0]: ("flags", factor(1.15)),
    FACTORS[1]: ("flags", factor(1.3)),
    "Tobit": ("flags", plain(stats.norm, False)),
    "Weibull": ("flags", plain(stats.gumbel_l, True)),
    "lognormal": ("flags", plain(stats.norm, True)),
    "unmet, line": ("flags", ours("flags", False)),
    "unmet, distribution": ("flags", ours("flags", True)),
    "unmet, line, rate": ("the sell-out rate", ours("rate", False)),
    "unmet, distribution, rate": ("the sell-out rate", ours("rate", True)),
    "unmet, line, nothing": ("nothing", ours("nothing", False)),
    "normal, no ridge": ("flags", ours("flags", True, {"families": "normal"}, RIDGES=NO_RIDGE)),
    "normal, ridge": ("flags", ours("flags", True, {"families": "normal"})),
    "stack, no ridge": ("flags", ours("flags", True, RIDGES=NO_RIDGE)),
    "line on the distribution alone": ("flags", ours("flags", False, {"blend": 1.0})),
    "line on shifted sales": ("flags", ours("flags", False, {"blend": 0.0})),
}
ABLATION = list(METHODS)[12:]


# --- measuring ----------------------------------------------------------------------------------


def measure(name: str, blocks: list[Block], console: Console, title: str) -> dict:
    """Cost summed over series, service level, and seconds for a series and five levels."""
    total, served, n_test, failed = np.zeros(len(LEVELS)), np.zeros(len(LEVELS)), 0, []
    start = time.process_time()
    for block in track(blocks, f"{title}: {name}", console=console, transient=True):
        try:
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                decided = METHODS[name][1](block)
        except Exception as error:  # one series must not end the run
            failed.append(f"{type(error).__name__}: {error}"[:200])
            decided = METHODS[SALES][1](block)
        bounded = [np.maximum(each, 0.0) for each in decided]
        pairs = zip(COSTS, bounded, strict=True)
        total += [cost.cost(each, block.demand_test).sum() for cost, each in pairs]
        served += [(each >= block.demand_test).sum() for each in bounded]
        n_test += len(block.demand_test)
    return {
        "cost": [float(f"{each:.7g}") for each in total / n_test],
        "served": [round(float(each), 4) for each in served / n_test],
        "seconds": round((time.process_time() - start) / len(blocks), 3),
        **({"failed": failed} if failed else {}),
    }


def closed(cells: dict, of: str, method: str, least: float = LEAST_GAP) -> np.ndarray | None:
    """Share of the gap at every level; nan where there is hardly a gap to close."""
    record = cells.get(f"{of}|{method}")
    if record is None:
        return None
    sales, demand = (np.array(cells[f"{of}|{each}"]["cost"]) for each in (SALES, DEMAND))
    gap = np.where(sales >= (1 + least) * demand, sales - demand, np.nan)
    return 100 * (sales - record["cost"]) / gap


# --- the page -----------------------------------------------------------------------------------


def table(results: dict, methods: list[str], least: float = LEAST_GAP) -> list[str]:
    cells, sets = results["cells"], list(results["sets"])
    lines = [head(["method", "knows", *sets, "mean", "CPU s a series"])]
    for method in methods:
        gaps = [closed(cells, each, method, least) for each in sets]
        if all(gap is None for gap in gaps):
            continue
        means = [None if gap is None else float(np.nanmean(gap[1:])) for gap in gaps]
        seconds = [
            cells[f"{each}|{method}"]["seconds"] for each in sets if f"{each}|{method}" in cells
        ]
        shown = ["" if each is None else f"{each:.0f}%" for each in means]
        mean = np.mean([each for each in means if each is not None])
        name = f"**{method}**" if method.startswith("unmet") else method
        lines.append(
            row([name, METHODS[method][0], *shown, f"{mean:.0f}%", f"{np.mean(seconds):.2f}"])
        )
    return lines


def write(results: dict, folder: Path) -> None:
    sets, cells = results["sets"], results["cells"]
    shown_methods = [name for name in METHODS if name not in (SALES, DEMAND, *ABLATION)]
    lines = [
        "# Flags or a sell-out rate, on real demand",
        "",
        "Made by `benchmarks/known.py`; how to read it: `benchmarks/README.md`. "
        f"{results['setting'].get('processor', '')}",
        "",
        "Share of the gap between a line on sales and the same line on demand that is closed, mean",
        "over α = .65 to .95; costs summed over series. Above 100%: better than a line that saw",
        "the demand, which has neither ridge nor distribution. Levels at which a line on sales "
        "costs less",
        f"than {100 * LEAST_GAP:.0f}% more than one on demand are left out (–).",
        "",
        head(["set", "series", "rows to train on", "sold out"]),
        *(
            row([name, str(each["series"]), str(each["rows"]), f"{100 * each['share']:.0f}%"])
            for name, each in sets.items()
        ),
        "",
        *table(results, shown_methods),
        "",
        "## With every level",
        "",
        "The same means with levels at which there is hardly a gap, or none: on bakery, 1.15 ×",
        "sales, a line on sales is cheaper than one on demand at α = .65, so that being dearer",
        "than it counts for, and being cheaper against. That levels are left out above was decided",
        "after this table had been seen; here a Tobit model is ahead of our line and distribution "
        "on that",
        "set, and a factor of 1.3 ahead of our rate.",
        "",
        *table(results, shown_methods, -1.0),
        "",
        "## What each part is worth",
        "",
        "One change at a time, of the distribution with flags (the last: of the distribution with "
        "a rate).",
        "",
        *table(results, ["Tobit", "unmet, distribution", *ABLATION]),
        "",
        "## By level",
        "",
    ]
    for name in sets:
        lines += [f"### {name}", "", head(["method", *(f"α = {each:g}" for each in LEVELS)])]
        for method in METHODS:
            gap = closed(cells, name, method)
            if gap is not None and method not in (SALES, DEMAND):
                shown = ["–" if np.isnan(each) else f"{each:.0f}%" for each in gap]
                lines.append(row([method, *shown]))
        demand, sales = (cells[f"{name}|{each}"]["cost"] for each in (DEMAND, SALES))
        ratio = [f"{a / b:.3f}" for a, b in zip(sales, demand, strict=True)]
        lines += [row(["*cost on sales ÷ on demand*", *ratio]), ""]
    (folder / "known.md").write_text("\n".join(lines).rstrip() + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="", help="parts of names, joined by ;")
    parser.add_argument("--methods", default="", help="parts of names, joined by ;")
    parser.add_argument("--series", type=int, help="only the first so many of each set")
    parser.add_argument("--freshretail", type=Path, help="daily table of FreshRetailNet-50K")
    parser.add_argument("--resume", action="store_true", help="keep what is measured already")
    parser.add_argument("--output", type=Path, default=HERE / "results")
    chosen, console = parser.parse_args(), Console(stderr=True)
    if chosen.freshretail:
        SETS["fresh food, ten series a model"] = lambda: list(fresh(chosen.freshretail)(0).blocks)
        SETS["fresh food, 1.15 × sales"] = partial(short_series, chosen.freshretail)
    wanted_sets, wanted = parts(chosen.sets), parts(chosen.methods)
    path = chosen.output / "known.json"
    results = {"setting": {}, "sets": {}, "cells": {}}
    if chosen.resume and path.exists():
        results = json.loads(path.read_text())
    results["setting"] = {**setting(sys.executable), "unmet": version("unmet")}
    for name, load in SETS.items():
        if wanted_sets and not any(part in name.lower() for part in wanted_sets):
            continue
        blocks = load()[: chosen.series]
        rows = int(np.median([len(block.sales) for block in blocks]))
        share = float(np.mean(np.concatenate([block.censored for block in blocks])))
        results["sets"][name] = {"series": len(blocks), "rows": rows, "share": share}
        for method in METHODS:
            key = f"{name}|{method}"
            asked = not wanted or any(part in method.lower() for part in wanted)
            if key not in results["cells"] and (asked or method in (SALES, DEMAND)):
                results["cells"][key] = measure(method, blocks, console, name)
                save(path, results)
    write(results, chosen.output)
    console.print(f"{chosen.output / 'known.md'}")


if __name__ == "__main__":
    main()
