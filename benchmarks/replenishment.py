"""Orders with a lead time beside the best base-stock level and the best (s, S), found by search.

    python benchmarks/replenishment.py [--quick] [--output FOLDER]
    python benchmarks/replenishment.py --risk [--data FOLDER]

Stationary demand, its distribution known: Poisson of mean 1, 5 and 30, normal of mean 50 and
deviation 15. `replenish` is given fresh paths of that distribution in every period, 400 where sales
are lost and 1,000 where demand waits (there it is a base-stock policy whose level is estimated, and
nothing but the noise of the paths is measured); `order_up_to` is given paths once. All levels of a
grid, whole units for counts and a twentieth of a deviation for normal demand, are tried on the same
demand (common random numbers), and the cheapest is the reference: chosen in hindsight, so that it
is even a little too good. The dynamics of the reference are written here once more, in plain
arithmetic, so that shelves are checked as well.

Where `stockpyl` can be imported, its optimal levels and costs stand beside ours. Results go to
results/replenishment.md.

With `--risk`: whether as many series run out as are expected to, and what orders cost. Real demand
(the bundled bakery in weeks, as it is and thinned to one unit in fifty, the bundled restaurant in
days; from FOLDER food of M5 in days and weeks, and car parts in months) and that of simulated
shops is cut at several origins. Forecasts, orders and chances are made of what was before, and
followed on what came, for lead times of 1 to 4 and reviews of 1 and 2. Stock on hand is drawn, from
nothing to 1.3 times what is usually asked for until the order arrives. Results go to
results/risk.md.
"""

from __future__ import annotations

import argparse
import datetime
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import polars as pl
from policies import BaseStock
from scipy.special import ndtri
from scipy.stats import poisson
from shop_demand import shop_demand
from weekly import demand as bakery_weeks

from unmet.data import load_yaz
from unmet.inventory import (
    DemandDistribution,
    StockState,
    SupplyRules,
    order_up_to,
    project,
    replenish,
)
from unmet.planning.candidates import DemandForecast
from unmet.simulate import run_shop
from unmet.simulate.shop import Seen
from unmet.tables.panel import Panel

BAR = 1.01
HOLDING = 1.0
RATIOS = (2.0, 5.0, 9.0, 19.0)
LEADS = (0, 1, 2, 3, 4)
WARM_UP = 40
NOTE = """\
Where demand waits, `replenish` is a base-stock policy whose level is estimated, so that ratios
above 1 are the noise of its paths: with 400 instead of 1,000 of them, 3 of 80 such settings
were above the bar (low counts, up to 1.017). Where sales are lost, what a leftover
costs (`CARRIED`) was chosen on the same distributions with other draws; base-stock levels have no
such constant.
"""


@dataclass(frozen=True)
class Demand:
    """Independent demand of one distribution."""

    name: str
    mean: float
    deviation: float
    whole: bool

    def draw(self, generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        if self.whole:
            return generator.poisson(self.mean, size=shape).astype(np.float64)
        return np.maximum(generator.normal(self.mean, self.deviation, size=shape), 0.0)

    def spread(self, generator: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
        """Paths that are evenly spread in every period, as those of `DemandDistribution` are."""
        uniform = generator.permuted(np.tile(np.arange(shape[0]) + 0.5, (shape[1], 1)), axis=1)
        level = uniform.T / shape[0]
        if self.whole:
            table = poisson.cdf(np.arange(int(self.mean + 12 * self.deviation) + 3), self.mean)
            return np.searchsorted(table, level).astype(np.float64)
        return np.maximum(self.mean + self.deviation * ndtri(level), 0.0)

    def grid(self, periods: int) -> np.ndarray:
        """Levels among which the best one lies."""
        middle, reach = self.mean * periods, self.deviation * np.sqrt(periods)
        low, high = max(middle - 4.0 * reach, 0.0), middle + 5.0 * reach
        if self.whole:
            return np.arange(np.floor(low), np.ceil(high) + 1)
        return np.arange(low, high, self.deviation / 20.0)


DEMANDS = (
    *(Demand(f"Poisson {mean}", mean, np.sqrt(mean), True) for mean in (1, 5, 30)),
    Demand("normal 50, 15", 50.0, 15.0, False),
)


class Fed:
    """Orders by `replenish`, given fresh paths of the true distribution."""

    def __init__(self, demand: Demand, rules: SupplyRules, n_paths: int, periods: int) -> None:
        self.demand, self.rules, self.shape = demand, rules, (n_paths, periods)

    def learn(self, seen: Seen) -> None:
        """Nothing: the distribution is known."""

    def order(self, seen: Seen, state: StockState) -> np.ndarray:
        paths = self.demand.spread(np.random.default_rng(seen.seed), self.shape)
        every = np.broadcast_to(paths, (state.n_series, *self.shape))
        return replenish(every, self.rules, state).order


def by_levels(
    demand: np.ndarray, rules: SupplyRules, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Mean cost of a period of each pair (s, S): order up to S at or below s; plain arithmetic."""
    lead, lost = int(rules.lead_time), rules.unmet == "lost"
    shape = (upper.size, demand.shape[0])
    stock = np.repeat(upper[:, None], shape[1], axis=1)
    coming = [np.zeros(shape) for _ in range(lead)]
    top, at = upper[:, None], lower[:, None]
    total = np.zeros(upper.size)
    for period in range(demand.shape[1]):
        position = stock + sum(coming)
        order = np.where(position <= at, np.maximum(top - position, 0.0), 0.0)
        coming.append(order)
        stock = stock + coming.pop(0)
        short = np.maximum(demand[:, period] - stock, 0.0)
        left = np.maximum(stock - demand[:, period], 0.0)
        stock = left if lost else stock - demand[:, period]
        if period >= WARM_UP:
            cost = float(rules.holding) * left + float(rules.shortage) * short
            total += (cost + float(rules.fixed) * (order > 0)).mean(axis=1)
    return total / (demand.shape[1] - WARM_UP)


def our_cost(demand: np.ndarray, policy: object, rules: SupplyRules, level: float) -> float:
    """Mean cost of a period of one policy in the simulated shop."""
    state = StockState(np.full(demand.shape[0], level))
    run = run_shop(demand, {"ours": policy}, rules, n_before=0, state=state, learn_every=10**6)
    return float(run["ours"].cost[:, WARM_UP:].mean())


def base_stock(
    distribution: Demand, lead: int, unmet: str, ratio: float, size: tuple[int, int, int]
) -> dict:
    """One setting: the best level in hindsight, `replenish`, and the level of `order_up_to`."""
    copies, n_periods, n_paths = size
    rules = SupplyRules(lead, holding=HOLDING, shortage=ratio, unmet=unmet)
    generator = np.random.default_rng([int(distribution.mean), lead, int(ratio), unmet == "lost"])
    demand = distribution.draw(generator, (copies, n_periods + WARM_UP))
    grid = distribution.grid(lead + 1)
    costs = by_levels(demand, rules, np.full(grid.size, np.inf), grid)
    best = int(costs.argmin())
    assert 0 < best < grid.size - 1 or grid[best] == 0, "the best level must lie within the grid"
    fed = our_cost(demand, Fed(distribution, rules, n_paths, lead + 1), rules, grid[best])
    level = float(
        order_up_to(distribution.draw(generator, (1, 4000, lead + 1)), rules).order_up_to[0]
    )
    return {
        "distribution": distribution.name,
        "lead": lead,
        "unmet": unmet,
        "ratio": ratio,
        "level": float(grid[best]),
        "cost": float(costs[best]),
        "replenish": fed / costs[best],
        "our_level": level,
        "order_up_to": our_cost(demand, BaseStock(level), rules, level) / costs[best],
    }


def with_fixed(
    distribution: Demand, lead: int, unmet: str, fixed: float, size: tuple[int, int, int]
) -> dict:
    """One setting with a fixed cost: the best (s, S) in hindsight beside ours."""
    copies, n_periods, n_paths = size
    rules = SupplyRules(lead, holding=HOLDING, shortage=9.0, unmet=unmet, fixed=fixed)
    generator = np.random.default_rng([int(distribution.mean), lead, int(fixed), unmet == "lost"])
    demand = distribution.draw(generator, (copies, n_periods + WARM_UP))
    unit = max(1.0, round(distribution.deviation / 5.0))
    points = np.unique(np.round(distribution.grid(lead + 1) / unit) * unit)
    points = points[
        points <= distribution.mean * (lead + 1) + 3.0 * distribution.deviation * np.sqrt(lead + 1)
    ]
    most = np.sqrt(2.0 * fixed * distribution.mean / HOLDING) * 1.8 + distribution.mean
    gaps = np.arange(0.0, most + unit, unit)
    pairs = np.array(list(product(points, gaps)))
    lower, upper = pairs[:, 0], pairs.sum(axis=1)
    costs = by_levels(demand, rules, lower, upper)
    best = int(costs.argmin())
    periods = lead + 12
    fed = our_cost(demand, Fed(distribution, rules, n_paths, periods), rules, upper[best])
    levels = order_up_to(distribution.draw(generator, (1, 2000, periods)), rules)
    s, top = levels.reorder_point, levels.order_up_to
    return {
        "distribution": distribution.name,
        "lead": lead,
        "unmet": unmet,
        "fixed": fixed,
        "best": (float(lower[best]), float(upper[best])),
        "cost": float(costs[best]),
        "replenish": fed / costs[best],
        "ours": (float(s[0]), float(top[0])),
        "levels": float(by_levels(demand, rules, s, top)[0]) / costs[best],
    }


def beside_stockpyl() -> list[str]:
    """Optimal levels and costs of stockpyl, where it is installed."""
    try:
        from stockpyl.newsvendor import newsvendor_normal, newsvendor_poisson
        from stockpyl.ss import s_s_discrete_exact
    except ImportError:
        return ["`stockpyl` was not installed when this page was made."]
    lines = [
        "Base stock with backorders, shortage 9: levels from 20,000 paths, and the cost of the",
        "level in a simulated shop of 200,000 periods.",
        "",
        "| demand | lead | stockpyl: level | `order_up_to` | stockpyl: cost | shop | ratio |",
        "| --- | --: | --: | --: | --: | --: | --: |",
    ]
    for distribution, lead in product(DEMANDS, (0, 2, 4)):
        rules = SupplyRules(lead, holding=1.0, shortage=9.0, unmet="backordered")
        periods = lead + 1
        if distribution.whole:
            theirs, cost = newsvendor_poisson(1.0, 9.0, distribution.mean * periods)
        else:
            spread = distribution.deviation * np.sqrt(periods)
            theirs, cost = newsvendor_normal(1.0, 9.0, distribution.mean * periods, spread)
        generator = np.random.default_rng(1)
        level = float(
            order_up_to(distribution.draw(generator, (1, 20_000, periods)), rules).order_up_to[0]
        )
        demand = distribution.draw(generator, (500, 400 + WARM_UP))
        ours = our_cost(demand, BaseStock(level), rules, level)
        lines.append(
            f"| {distribution.name} | {lead} | {theirs:.1f} | {level:.1f} | {cost:.3f} | "
            f"{ours:.3f} | {ours / cost:.3f} |"
        )
    lines += [
        "",
        "(s, S) with backorders, shortage 9, lead time 0, Poisson demand:",
        "",
        "| demand | fixed | stockpyl: s, S | `order_up_to` | stockpyl: cost | ours | ratio |",
        "| --- | --: | --: | --: | --: | --: | --: |",
    ]
    for distribution, fixed in product(DEMANDS[:3], (10.0, 50.0, 200.0)):
        low, top, cost = s_s_discrete_exact(1.0, 9.0, fixed, True, demand_mean=distribution.mean)
        rules = SupplyRules(0, holding=1.0, shortage=9.0, unmet="backordered", fixed=fixed)
        generator = np.random.default_rng(2)
        levels = order_up_to(distribution.draw(generator, (1, 4000, 20)), rules)
        demand = distribution.draw(generator, (500, 400 + WARM_UP))
        ours = float(by_levels(demand, rules, levels.reorder_point, levels.order_up_to)[0])
        s, up = levels.reorder_point[0], levels.order_up_to[0]
        lines.append(
            f"| {distribution.name} | {fixed:g} | {low:.0f}, {top:.0f} | {s:.0f}, {up:.0f} | "
            f"{cost:.3f} | {ours:.3f} | {ours / cost:.3f} |"
        )
    return lines


def timings(n_series: int) -> list[str]:
    """Seconds of one planning round of many series."""
    generator = np.random.default_rng(0)
    distribution = DemandDistribution.poisson(n_series)
    mean = generator.gamma(2.0, 10.0, size=(n_series, 1))
    state = StockState(generator.poisson(mean[:, 0]), generator.poisson(np.repeat(mean, 3, axis=1)))
    lines = ["| what | seconds |", "| --- | --: |"]

    def measured(name: str, call: object) -> object:
        start = time.perf_counter()
        found = call()  # type: ignore[operator]
        lines.append(f"| {name} | {time.perf_counter() - start:.1f} |")
        return found

    paths = measured(
        "200 paths of 4 periods", lambda: distribution.draw(np.repeat(mean, 4, axis=1))
    )
    measured("`replenish`, lost sales", lambda: replenish(paths, SupplyRules(3), state))
    waits = SupplyRules(3, unmet="backordered")
    measured("`replenish`, backorders", lambda: replenish(paths, waits, state))
    week = distribution.draw(np.repeat(mean, 8, axis=1))
    spoils = SupplyRules(3, shelf_life=5)
    measured("`replenish`, shelf life 5", lambda: replenish(week, spoils, state))
    long = distribution.draw(np.repeat(mean, 11, axis=1))
    measured("`replenish`, fixed cost", lambda: replenish(long, SupplyRules(3, fixed=50), state))
    measured("`order_up_to`, lost sales", lambda: order_up_to(paths, SupplyRules(3)))
    return lines


def page(plain: list[dict], fixed: list[dict], times: list[str], n_series: int) -> str:
    worst = {key: max(each[key] for each in plain) for key in ("replenish", "order_up_to")}
    lines = [
        "# Orders with a lead time",
        "",
        "Made by `benchmarks/replenishment.py`, which says how it is measured.",
        "",
        "## Beside the best base-stock level",
        "",
        f"Promised: at most {BAR:g} times the cost of the best level, everywhere. Of {len(plain)} "
        "settings the worst ratio is",
        f"{worst['replenish']:.3f} for `replenish`, {worst['order_up_to']:.3f} for the levels of "
        f"`order_up_to`; {sum(each['replenish'] > BAR for each in plain)} and "
        f"{sum(each['order_up_to'] > BAR for each in plain)} settings are above the bar.",
        "",
        *NOTE.splitlines(),
        "",
        "Ratios of cost, shortage at 2, 5, 9 and 19 times holding:",
        "",
        "| demand | unmet | lead | `replenish` | `order_up_to` | best level | our level |",
        "| --- | --- | --: | --- | --- | --- | --- |",
    ]
    for key in dict.fromkeys((each["distribution"], each["unmet"], each["lead"]) for each in plain):
        some = [
            each for each in plain if (each["distribution"], each["unmet"], each["lead"]) == key
        ]
        columns = [
            " ".join(f"{each[name]:{digits}}" for each in some)
            for name, digits in (
                ("replenish", ".3f"),
                ("order_up_to", ".3f"),
                ("level", ".0f"),
                ("our_level", ".0f"),
            )
        ]
        lines.append(f"| {' | '.join(map(str, key))} | {' | '.join(columns)} |")
    lines += [
        "",
        "## With a fixed cost of an order",
        "",
        "Shortage 9, the best (s, S) of a grid in hindsight:",
        "",
        "| demand | unmet | lead | fixed | best s, S | cost | `replenish` | our s, S | ratio |",
        "| --- | --- | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for each in fixed:
        best, ours = (", ".join(f"{value:.0f}" for value in each[key]) for key in ("best", "ours"))
        lines.append(
            f"| {each['distribution']} | {each['unmet']} | {each['lead']} | {each['fixed']:g} | "
            f"{best} "
            f"| {each['cost']:.2f} | {each['replenish']:.3f} | {ours} | {each['levels']:.3f} |"
        )
    lines += ["", "## Beside stockpyl", "", *beside_stockpyl()]
    lines += ["", f"## {n_series:,} series", "", "One thread.", "", *times, ""]
    return "\n".join(lines)


# --- Whether as many run out as are expected to.

CASES = ((1, 1), (3, 1), (2, 2), (4, 2))  # lead time and review


def demand_sets(folder: Path | None) -> Iterator[tuple[str, np.ndarray, str, list[int], dict]]:
    """Name, demand, period, how many periods before the end to order, and what is known."""
    yield "bakery", bakery_weeks(1.0), "week", [6, 14, 22, 30, 38], {}
    yield "bakery, thinned", bakery_weeks(0.02), "week", [6, 16, 28], {}
    dishes = load_yaz().sort("date").filter(pl.col("date") >= datetime.date(2013, 10, 7))
    served = dishes.select("calamari", "fish", "shrimp", "chicken", "koefte", "lamb", "steak")
    yield "restaurant", served.to_numpy().T.astype(float), "day", list(range(6, 306, 30)), {}
    for kind in ("negative binomial+weekday+trend", "gamma+season", "intermittent"):
        yield f"shop: {kind}", *shop_of(kind)
    if folder is None:
        return
    table = pl.read_parquet(folder / "m5_foods_daily.parquet").cast({"item": pl.String})
    wide = table.pivot(on="item", index="date", values="demand").sort("date")
    days = wide.drop("date").to_numpy().T.astype(float)
    yield "M5 food", days[:, -500:], "day", list(range(6, 186, 30)), {}
    weeks = days[:, days.shape[1] % 7 :].reshape(len(days), -1, 7).sum(axis=2)
    yield "M5 food", weeks, "week", list(range(6, 54, 8)), {}
    parts = pl.read_csv(folder / "carparts_monthly_wide.csv.gz").drop("Part").drop_nulls()
    some = np.random.default_rng(0).permutation(parts.height)[:600]
    yield "car parts", parts.to_numpy().astype(float)[some], "month", [6, 9, 12], {}


def shop_of(kind: str) -> tuple[np.ndarray, str, list[int], dict]:
    demand, known = shop_demand(kind, 100, 200, seed=3)
    return demand, "day", [6, 20, 34], known


def followed(demand: np.ndarray, period: str, back: int, known: dict) -> np.ndarray:
    """Order and follow: series expected to run out and seen to, units short, cost; both ways."""
    now, total = demand.shape[1] - back, np.zeros(6)
    for lead, review in CASES:
        ahead = lead + review
        coming = {name: each[:, : now + ahead] for name, each in known.items()}
        panel = Panel(demand[:, :now], None, datetime.date(2018, 1, 1), period, known=coming)
        model = DemandForecast(ahead, seasons=panel.tells_seasons, n_jobs=1).fit(panel)
        paths = model.distribution_.draw(model.expected(), 400)
        generator = np.random.default_rng([lead, review])
        usual = demand[:, now - 13 : now].mean(axis=1) * generator.uniform(0, 1.3, len(demand))
        state = StockState(np.round(usual * (lead + 1)))
        lot = 1.0 if panel.counted else None
        rules = SupplyRules(lead, review, holding=0.2, shortage=1.0, lot=lot)
        found = replenish(paths, rules, state)
        came = project(demand[:, None, now : now + ahead], rules, state, found.order)
        for place, each in enumerate((found.projection, came)):
            chance, short = each.until_next(rules)
            total[place::2] += chance.sum(), short.sum(), each.cost.sum()
    return total


def risk(folder: Path | None, output: Path) -> None:
    lines = [
        "# Whether as many run out as are expected to",
        "",
        "Made by `benchmarks/replenishment.py --risk`, which says how it is measured.",
        "",
        "| demand | period | series × cases | expected to run out | did | ratio | units short, "
        "seen / expected | cost |",
        "| --- | --- | --: | --: | --: | --: | --: | --: |",
    ]
    for name, demand, period, backs, known in demand_sets(folder):
        sums = sum(followed(demand, period, back, known) for back in backs)
        count = len(demand) * len(backs) * len(CASES)
        lines.append(
            f"| {name} | {period} | {count:,} | {sums[0]:,.0f} | {sums[1]:,.0f} | "
            f"{sums[1] / sums[0]:.2f} | {sums[3] / sums[2]:.2f} | {sums[5]:,.0f} |"
        )
        print(lines[-1], flush=True)
    (output / "risk.md").write_text("\n".join([*lines, ""]), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few settings, small samples")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--risk", action="store_true", help="whether as many run out as expected")
    parser.add_argument("--data", type=Path, help="folder of data that the project does not hold")
    chosen = parser.parse_args()
    if chosen.risk:
        risk(chosen.data, chosen.output)
        return
    start = time.perf_counter()
    leads, ratios = ((0, 2), (9.0,)) if chosen.quick else (LEADS, RATIOS)
    copies, length = (8, 150) if chosen.quick else (16, 250)
    n_paths = {"lost": 400, "backordered": 1000}
    plain = [
        base_stock(distribution, lead, unmet, ratio, (copies, length, n_paths[unmet]))
        for distribution, unmet, lead, ratio in product(
            DEMANDS, ("lost", "backordered"), leads, ratios
        )
    ]
    print(f"base stock: {time.perf_counter() - start:.0f} s", flush=True)
    fixed = [
        with_fixed(distribution, lead, unmet, cost, (8, 200, 200))
        for distribution, unmet, lead, cost in product(
            DEMANDS[1:2] if chosen.quick else DEMANDS[1::2],
            ("lost", "backordered"),
            (0, 2),
            (50.0,) if chosen.quick else (50.0, 200.0),
        )
    ]
    print(f"fixed cost: {time.perf_counter() - start:.0f} s", flush=True)
    n_series = 1000 if chosen.quick else 10_000
    text = page(plain, fixed, timings(n_series), n_series)
    print(f"all: {time.perf_counter() - start:.0f} s", flush=True)
    chosen.output.mkdir(parents=True, exist_ok=True)
    (chosen.output / "replenishment.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
