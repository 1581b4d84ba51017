"""Prices and ages as `unmet fit` and `unmet decide` give them, beside a plain model.

usage: python benchmarks/plain_models.py [--seeds 5] [--page]

Ages: 400 parts, half of them suspended, five kinds, and 1,000 parts whose lives bend in the
features; a Weibull regression stands beside. Share by which the cost rate of the fleet exceeds the
best one. Prices: 500 offers, six shapes of what buyers would pay and four ways to make offers; a
logistic regression stands beside. Share of the best revenue that is lost. Both are expectations
under the true distribution. Shapes on which nothing was chosen, and 3,000 offers, come after.
Numbers go to results/plain_models.json, from which --page writes results/plain_models.md.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console
from scipy import optimize, special, stats
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from unmet.costs import AgeReplacement
from unmet.lifetimes import Weibull, expected_cost
from unmet.planning.plan_options import plan_from_options
from unmet.simulate import replacement
from unmet.simulate.demand import Simulated
from unmet.simulate.replacement import FEATURES, ReplacementPart

HERE = Path(__file__).resolve().parent
COST = AgeReplacement(planned=1, failure=8)
KINDS = {
    "Weibull, ages around one": ("weibull", "noisy"),
    "Weibull, one fixed age": ("weibull", "fixed"),
    "Weibull, ages by features": ("weibull", "features"),
    "lognormal, ages around one": ("lognormal", "noisy"),
    "lognormal, ages by features": ("lognormal", "features"),
}
BENT = "bent lives"
UNIT_COST, SPREAD = 20.0, 15.0
PRICES = np.linspace(20, 140, 601)


class Two:
    """Two kinds of buyers, which features do not tell apart; `share` are of the first."""

    def __init__(self, first: Any, second: Any, share: float = 0.5) -> None:
        self.both, self.share = (first, second), share

    def sf(self, z: np.ndarray) -> np.ndarray:
        return self.share * self.both[0].sf(z) + (1 - self.share) * self.both[1].sf(z)

    def rvs(self, size: int, random_state: np.random.Generator) -> np.ndarray:
        drawn = [each.rvs(size=size, random_state=random_state) for each in self.both]
        return np.where(random_state.random(size) < self.share, *drawn)


SHAPES: dict[str, Any] = {
    "normal": stats.norm(),
    "logistic": stats.logistic(scale=0.55),
    "Gumbel": stats.gumbel_r(loc=-0.45, scale=0.78),
    "lognormal": stats.lognorm(0.5, loc=-1.9, scale=1.7),
    "uniform": stats.uniform(-1.73, 3.46),
    "two humps": Two(stats.norm(-0.95, 0.4), stats.norm(0.95, 0.4)),
}
OTHERS: dict[str, Any] = {
    "Student, 3": stats.t(3, scale=0.577),
    "Weibull": stats.weibull_min(1.5, loc=-1.47, scale=1.63),
    "two exponentials": Two(stats.expon(-0.81, 0.51), stats.expon(-0.81, 1.52), 0.7),
    "unequal humps": Two(stats.norm(-0.75, 0.4), stats.norm(1.35, 0.5), 0.64),
    "spread by features": stats.norm(),
}
ALL = SHAPES | OTHERS
OFFERS: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "wide": lambda chance, mean: chance.uniform(35, 95, mean.size),
    "personal": lambda chance, mean: mean * np.exp(0.2 * chance.standard_normal(mean.size)),
    "four prices": lambda chance, mean: chance.choice([45.0, 55.0, 65.0, 80.0], mean.size),
    "narrow": lambda chance, mean: 0.85 * mean * np.exp(0.06 * chance.standard_normal(mean.size)),
}


# --- ages -----------------------------------------------------------------------------------------


def bent_lives(seed: int) -> Simulated[ReplacementPart]:
    """Lives that are shortest in the middle of one feature and on both sides of another."""
    chance = np.random.default_rng(seed)

    def part(n: int) -> ReplacementPart:
        columns = chance.random(n), chance.standard_normal(n), *(chance.random((2, n)) < 0.4)
        X = np.column_stack(columns).astype(float)
        bends = 0.6 * np.sin(2 * np.pi * X[:, 0]) - 0.7 * np.abs(X[:, 1]) - 0.3 * X[:, 2]
        scale = 1650 * np.exp(bends)
        distribution = Weibull(3.0, scale)
        return ReplacementPart(
            features=X,
            feature_names=FEATURES,
            distribution=distribution,
            lifetimes=distribution.quantile(chance.random(n)),
            intervals=0.85 * scale * np.exp(0.4 * chance.standard_normal(n)),
        )

    return Simulated(part(1000), part(2000), seed)


def rate(part: ReplacementPart, age: np.ndarray) -> float:
    """Cost rate of the fleet under the true distributions."""
    at = np.clip(age, 0.0, 1e6)
    paid = expected_cost(COST.at_rate(0.0), part.distribution, at)
    return float(paid.sum() / part.distribution.interval_mean(at).sum())


def weibull(train: ReplacementPart, test: ReplacementPart) -> np.ndarray:
    """Weibull regression by its likelihood, and the best ages of the fleet under it."""
    X = np.column_stack([np.ones(len(train)), train.features])
    y, suspended = np.log(train.times), train.censored

    def minus(theta: np.ndarray) -> tuple[float, np.ndarray]:
        shape = np.exp(theta[-1])
        z = shape * (y - X @ theta[:-1])
        hazard = np.exp(np.clip(z, -50, 50))
        seen = ~suspended
        value = seen * (theta[-1] + z) - hazard
        slope = seen - hazard
        return -value.sum(), np.append(shape * (slope @ X), -(slope @ z + seen.sum()))

    start = np.append([y.mean(), *np.zeros(X.shape[1] - 1)], 0.5)
    found = optimize.minimize(minus, start, jac=True, method="BFGS").x
    scale = np.exp(np.column_stack([np.ones(len(test)), test.features]) @ found[:-1])
    fitted = replace(test, distribution=Weibull(float(np.exp(found[-1])), scale))
    return fitted.optimum(COST, together=True)


def our_ages(train: ReplacementPart, test: ReplacementPart) -> np.ndarray:
    costs = {"problem": "replacement", "planned": 1.0, "failure": 8.0}
    plan = plan_from_options("time", list(FEATURES), **costs, censored_column="suspended")
    return plan.fit(train.to_polars()).decide(test.to_polars(), None).decision


def ages(kind: str, seed: int) -> dict[str, tuple[float, float]]:
    if kind == BENT:
        data = bent_lives(seed)
    else:
        family, policy = KINDS[kind]
        data = replacement(family, policy=policy, share=0.5, n=400, n_test=2000, seed=seed)
    best, found = rate(data.test, data.test.optimum(COST, together=True)), {}
    for name, decide in (("plain", weibull), ("unmet", our_ages)):
        start = time.process_time()
        age = decide(data.train, data.test)
        found[name] = rate(data.test, age) / best - 1, time.process_time() - start
    return found


# --- prices ---------------------------------------------------------------------------------------


def buyers(shape: str, offers: str, n: int, seed: int) -> tuple[np.ndarray, ...]:
    """Features, prices asked, whether they were accepted, and mean and spread of worths."""
    chance = np.random.default_rng([seed, list(ALL).index(shape), list(OFFERS).index(offers)])
    columns = chance.uniform(-1, 1, n), chance.random(n) < 0.5, chance.standard_normal(n)
    X = np.column_stack(columns).astype(float)
    mean, spread = 60 + 10 * X[:, 0] - 6 * X[:, 1], np.full(n, SPREAD)
    if shape == "spread by features":
        spread = SPREAD * np.exp(0.5 * X[:, 0] + 0.4 * X[:, 1] - 0.2)
    worth = mean + spread * ALL[shape].rvs(size=n, random_state=chance)
    price = OFFERS[offers](chance, mean).round(2)
    return X, price, price <= worth, mean, spread


def logit(X: np.ndarray, price: np.ndarray, accepted: np.ndarray, Z: np.ndarray) -> np.ndarray:
    model = LogisticRegression(C=1e4, max_iter=500).fit(np.column_stack([price / 20, X]), accepted)
    slope, *others = model.coef_[0]
    index = Z @ others + model.intercept_[0]
    earned = (PRICES - UNIT_COST)[:, None] * special.expit(slope * PRICES[:, None] / 20 + index)
    return PRICES[earned.argmax(axis=0)]


def our_prices(X: np.ndarray, price: np.ndarray, accepted: np.ndarray, Z: np.ndarray) -> np.ndarray:
    names = ["a", "b", "c"]
    asked, coming = (pl.DataFrame(each, schema=names) for each in (X, Z))
    table = asked.with_columns(price=pl.Series(price), accepted=pl.Series(accepted))
    goal = {"problem": "pricing", "goal": "revenue", "unit_cost": UNIT_COST}
    plan = plan_from_options("price", names, **goal, accepted_column="accepted")
    return plan.fit(table).decide(coming, None).decision


def prices(shape: str, offers: str, seed: int, n: int = 500) -> dict[str, tuple[float, float]]:
    X, price, accepted, *_ = buyers(shape, offers, n, seed)
    Z, _, _, mean, spread = buyers(shape, offers, 1000, 1000 + seed)

    def earned(asked: np.ndarray) -> np.ndarray:
        return (asked - UNIT_COST) * ALL[shape].sf((asked - mean) / spread)

    best, found = np.max([earned(each) for each in PRICES], axis=0).mean(), {}
    for name, decide in (("plain", logit), ("unmet", our_prices)):
        start = time.process_time()
        asked = decide(X, price, accepted, Z)
        found[name] = 1 - earned(asked).mean() / best, time.process_time() - start
    return found


# --- the page -------------------------------------------------------------------------------------

TITLES = {
    "ages": "Ages: cost rate above the best, beside a Weibull regression",
    "prices": "Prices, 500 offers: revenue lost, beside a logistic regression",
    "other shapes": "Prices, 500 offers, shapes on which nothing was chosen",
    "3,000 offers": "Prices, 3,000 offers",
}


def page(results: dict[str, Any]) -> str:
    """Mean over seeds, its standard error and the worst seed of both, case by case and over all."""
    lines = [
        "# Prices and ages beside plain models",
        "",
        "Made by `benchmarks/plain_models.py` from `plain_models.json`; the first lines of the "
        f"script say what is measured. Python {results['python']}, unmet {results['unmet']}. "
        "Seconds are of the processor.",
    ]
    for part, title in TITLES.items():
        cases = results[part]
        seeds = results["seeds"][part]
        lines += ["", f"## {title}", "", f"Seeds {seeds[0]} to {seeds[-1]}.", ""]
        lines += ["| case | plain | worst | unmet | worst | time |", "| --- " * 6 + "|"]
        everything = [each for several in cases.values() for each in several]
        for case, several in (cases | {"all": everything}).items():
            cells = []
            for name in ("plain", "unmet"):
                lost = 100 * np.array([each[name][0] for each in several])
                error = f" ± {lost.std(ddof=1) / lost.size**0.5:.1f}" if lost.size > 1 else ""
                cells += [f"{lost.mean():.1f}{error} %", f"{lost.max():.1f} %"]
            spent = np.mean([each["unmet"][1] for each in several])
            lines.append(f"| {' | '.join([case, *cells, f'{spent:.1f} s'])} |")
    return "\n".join(lines) + "\n"


def measure(n_seeds: int, console: Console) -> dict[str, Any]:
    """Everything that the page shows."""
    few = max(1, n_seeds // 2)
    seeds = {
        "ages": list(range(10, 10 + n_seeds)),
        "prices": list(range(10, 10 + n_seeds)),
        "other shapes": list(range(20, 20 + n_seeds)),
        "3,000 offers": list(range(20, 20 + few)),
    }
    found: dict[str, Any] = {part: defaultdict(list) for part in seeds}
    for part, listed in seeds.items():
        for seed in listed:
            for kind in (*KINDS, BENT) if part == "ages" else ():
                found[part][kind].append(ages(kind, seed))
            for shape in {"ages": (), "other shapes": OTHERS}.get(part, SHAPES):
                for offers in OFFERS:
                    n = 3000 if part == "3,000 offers" else 500
                    found[part][f"{shape}, {offers}"].append(prices(shape, offers, seed, n))
            console.print(f"{part}, seed {seed}", style="dim")
    return {"python": platform.python_version(), "unmet": version("unmet"), "seeds": seeds, **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds (5)")
    parser.add_argument("--page", action="store_true", help="write the page alone")
    parser.add_argument("--output", type=Path, default=HERE / "results")
    chosen, console = parser.parse_args(), Console(stderr=True)
    numbers = chosen.output / "plain_models.json"
    if not chosen.page:
        chosen.output.mkdir(parents=True, exist_ok=True)
        with threadpool_limits(1):
            results = measure(chosen.seeds, console)
        numbers.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    written = page(json.loads(numbers.read_text(encoding="utf-8")))
    (chosen.output / "plain_models.md").write_text(written, encoding="utf-8")
    console.print(f"{chosen.output / 'plain_models.md'}")


if __name__ == "__main__":
    main()
