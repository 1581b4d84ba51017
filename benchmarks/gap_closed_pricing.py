"""Custom pricing on simulated offers: how much of the gap does each method close?

usage: python benchmarks/gap_closed_pricing.py [--seeds 10] [--jobs 2] [--quick]

Every method learns prices from the same offers and is told what its row of the table says. Prices
for the test rows are evaluated twice: by the cost of eq. cp on the truth, and by the revenue they
are expected to earn under the true distribution. Results go to results/pricing.json and pricing.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from linear import HERE, setting
from report import duration, head, row
from rich.console import Console
from threadpoolctl import threadpool_limits

from unmet import Band, CustomPricing, LatentBand, LinearDecision, SquaredError
from unmet.evaluation import best_price, gap_closed, realised_cost
from unmet.simulate import pricing
from unmet.simulate.pricing import PricingPart
from unmet.simulate.store10 import PUBLISHED_BANDS

LEVELS = (0.55, 0.65, 0.75, 0.85, 0.95)
COSTS = [CustomPricing(level, 1.0 - level) for level in LEVELS]
UNIT_COST = 20.0
N_ROWS = 1500
CASES = {
    "gumbel, random discounts": {"family": "gumbel", "policy": "discounts"},
    "lognormal, personal prices": {"family": "lognormal", "policy": "personal"},
    "normal, half of the others haggle": {
        "family": "normal",
        "policy": "personal",
        "haggling": 0.5,
    },
}
IGNORING, BEST, OFFERED = "IEO", "best under the true distribution", "prices as offered"
# (train, test) → prices of the test rows at every level, and the price meant to earn most
Answer = tuple[list[np.ndarray], np.ndarray | None, str]


@dataclass(frozen=True)
class Method:
    """One row of the tables: what it is told, and how it prices."""

    name: str
    knows: str
    price: Callable[[PricingPart, PricingPart], Answer]


def optimal(train: PricingPart, test: PricingPart) -> Answer:
    return [test.optimum(level) for level in LEVELS], test.best_price(UNIT_COST), ""


def offered(train: PricingPart, test: PricingPart) -> Answer:
    return [test.offer] * len(LEVELS), None, ""


def truth(train: PricingPart, test: PricingPart) -> Answer:
    models = LinearDecision().fit_path(train.features, train.truth, costs=COSTS)
    return [model.predict(test.features) for model in models], None, ""


def ignoring(train: PricingPart, test: PricingPart) -> Answer:
    models = LinearDecision().fit_path(*deals(train), costs=COSTS)
    return [model.predict(test.features) for model in models], None, ""


def squared(train: PricingPart, test: PricingPart) -> Answer:
    model = LinearDecision(SquaredError()).fit(*deals(train))
    return [model.predict(test.features)] * len(LEVELS), None, ""


def published(train: PricingPart, test: PricingPart) -> Answer:
    features, price = deals(train)
    # eq. cp has one ε, the upper end
    highs = [PUBLISHED_BANDS["linear"][level][1] for level in LEVELS]
    bands = [Band.scaled(0.0, high, price) for high in highs]
    models = LinearDecision().fit_path(features, price, costs=COSTS, bands=bands)
    return [model.predict(test.features) for model in models], None, ""


def accepted_only(train: PricingPart, test: PricingPart) -> Answer:
    return latent(LatentBand(random_state=0), test, *deals(train))


def with_rate(train: PricingPart, test: PricingPart) -> Answer:
    """Share of deals at the price asked, which hide what the buyer would have paid."""
    taken = float((train.accepted & ~train.haggled).mean() / train.accepted.mean())
    # where nobody haggles every deal hides the truth: the share of offers accepted stands in
    rate = taken if train.haggled.any() else float(train.accepted.mean())
    return latent(LatentBand(sellout_rate=rate, random_state=0), test, *deals(train))


def with_rejects(train: PricingPart, test: PricingPart) -> Answer:
    rule = LatentBand(random_state=0)
    return latent(rule, test, train.features, train.observation, censored=train.limits)


def latent(rule: LatentBand, test: PricingPart, features, price, **known) -> Answer:
    models = LinearDecision(band=rule).fit_path(features, price, costs=COSTS, **known)
    fitted = models[0].band_rule_
    most = best_price(fitted, test.features, unit_cost=UNIT_COST)
    prices = [model.predict(test.features) for model in models]
    return prices, most, fitted.diagnosis_.identified


def deals(train: PricingPart) -> tuple[np.ndarray, np.ndarray]:
    """What a seller has who keeps deals only."""
    return train.features[train.accepted], train.observation[train.accepted]


METHODS = [
    Method(BEST, "everything", optimal),
    Method("trained on the truth", "the truth", truth),
    Method(OFFERED, "–", offered),
    Method(IGNORING, "accepted prices", ignoring),
    Method("EAS", "accepted prices", squared),
    Method("published ε", "accepted prices", published),
    Method("LatentBand", "accepted prices", accepted_only),
    Method("LatentBand, rate", "and the share accepted", with_rate),
    Method("**LatentBand, rejects**", "and rejected offers", with_rejects),
]


def measure(method: Method, train: PricingPart, test: PricingPart) -> dict:
    """Costs at every level, revenue of the best of these prices, and of the price meant for it."""
    start = time.perf_counter()
    prices, most, identified = method.price(train, test)
    seconds = time.perf_counter() - start
    costs = [realised_cost(*each, test.truth) for each in zip(COSTS, prices, strict=True)]
    revenue = max(test.expected_revenue(each, UNIT_COST) for each in prices)
    meant = None if most is None else test.expected_revenue(most, UNIT_COST)
    return {
        "costs": costs,
        "revenue": revenue,
        "meant": meant,
        "seconds": seconds,
        "identified": identified,
    }


def trial(name: str, seed: int) -> dict[str, dict]:
    """Every method on one case and seed; in a process of its own."""
    data = pricing(**CASES[name], n=N_ROWS, seed=seed)
    with threadpool_limits(1):
        return {
            f"{name}|{seed}|{method.name}": measure(method, data.train, data.test)
            for method in METHODS
        }


def run(n_seeds: int, jobs: int, console: Console) -> dict:
    """Every method on every case and seed."""
    cells: dict[str, dict] = {}
    todo = [(name, seed) for name in CASES for seed in range(n_seeds)]
    with ProcessPoolExecutor(jobs) as pool:
        for (name, seed), found in zip(
            todo, pool.map(trial, *zip(*todo, strict=True)), strict=True
        ):
            console.print(f"{name}, seed {seed}", style="dim")
            cells.update(found)
    return cells


def totals(cells: dict, case: str, method: str, n_seeds: int) -> dict:
    """Mean over the seeds."""
    records = [cells[f"{case}|{seed}|{method}"] for seed in range(n_seeds)]
    meant = [record["meant"] for record in records]
    return {
        "costs": np.mean([record["costs"] for record in records], axis=0),
        "revenue": float(np.mean([record["revenue"] for record in records])),
        "meant": None if meant[0] is None else float(np.mean(meant)),
        "seconds": float(np.median([record["seconds"] for record in records])),
        "identified": [record["identified"] for record in records],
    }


def page(cells: dict, n_seeds: int, setting_words: str) -> str:
    """Write the tables."""
    lines = [
        "# Custom pricing: share of the gap closed",
        "",
        "Made by `benchmarks/gap_closed_pricing.py`. For each seed "
        f"{N_ROWS:,} offers to learn from and 3,000",
        f"buyers to price; number of seeds: {n_seeds}. {setting_words}",
        "",
        "α: gap closed = (cost of IEO − cost of the method) ÷ (cost of IEO − cost of the true",
        "quantile), in the cost of eq. cp, on test rows whose reservation price is known; costs",
        "are summed over seeds. IEO takes accepted prices for what buyers would have paid.",
        "",
        f"Revenue is expected under the true distribution, at a unit cost of {UNIT_COST:g}, as a "
        f"share of",
        "the most that can be earned: of the best of the five quantile prices in hindsight, which",
        "favours those who have nothing else, and of `best_price`, which maximises revenue under",
        "the distribution that was learned. The gap is the one between the prices as offered and "
        "the best",
        "ones; closed by `best_price` where there is one, otherwise by the best quantile price.",
    ]
    for case in CASES:
        lines += ["", f"## {case}", "", *table(cells, case, n_seeds)]
    return "\n".join(lines) + "\n"


def table(cells: dict, case: str, n_seeds: int) -> list[str]:
    """One case: methods down."""
    sums = {method.name: totals(cells, case, method.name, n_seeds) for method in METHODS}
    floor, base, force = sums[BEST], sums[IGNORING], sums[OFFERED]
    levels = [f"α = {level:g}" for level in LEVELS]
    columns = ["method", "knows", *levels, "revenue", "best_price", "gap closed", "identified"]
    lines = [head([*columns, "time"])]
    for method in METHODS:
        own = sums[method.name]
        pairs = zip(own["costs"], base["costs"], floor["costs"], strict=True)
        closed = [f"{100 * gap_closed(*each):.0f} %" for each in pairs]
        earned = own["revenue"] if own["meant"] is None else own["meant"]
        gap = (earned - force["revenue"]) / (floor["meant"] - force["revenue"])
        revenue = f"{100 * own['revenue'] / floor['meant']:.1f} %"
        meant = "–" if own["meant"] is None else f"{100 * own['meant'] / floor['meant']:.1f} %"
        said = ", ".join(
            f"{word} {own['identified'].count(word)}"
            for word in ("yes", "weakly", "no")
            if word in own["identified"]
        )
        cell = [revenue, meant, f"{100 * gap:.0f} %", said or "–", duration(own["seconds"])]
        lines.append(row([method.name, method.knows, *closed, *cell]))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="number of seeds (10)")
    parser.add_argument("--jobs", type=int, default=2, help="processes, one thread each (2)")
    parser.add_argument("--quick", action="store_true", help="two seeds")
    parser.add_argument("--output", type=Path, default=HERE / "results")
    chosen = parser.parse_args()
    n_seeds = 2 if chosen.quick else chosen.seeds
    console = Console(stderr=True)
    write(chosen.output, n_seeds, chosen.jobs, console)


def write(output: Path, n_seeds: int, jobs: int, console: Console) -> None:
    """Measure and write the page."""
    cells = run(n_seeds, jobs, console)
    output.mkdir(parents=True, exist_ok=True)
    where = {**setting(sys.executable), "unmet": version("unmet")}
    (output / "pricing.json").write_text(json.dumps({"setting": where, "cells": cells}, indent=1))
    words = f"Python {where.get('python', '')}, unmet {where['unmet']}."
    (output / "pricing.md").write_text(page(cells, n_seeds, words))
    console.print(f"{output / 'pricing.md'}")


if __name__ == "__main__":
    main()
