"""Weekly orders with a lead time: `unmet` beside rules that shops use.

    python benchmarks/weekly.py

Real demand: the bundled bakery, 105 series added up to 173 weeks, as it is (700 a week), thinned
to one unit in fifty (14 a week; each unit is kept by chance), and with the units of each series
shared by chance among four shops (420 series). An order placed after a week arrives
two weeks later, unmet demand is lost, a unit left over costs .2 a week, a missing one 1. Three runs
of eight weeks, one after another, each begun with a week and a half on the shelf and two on their
way. The first two weeks, which no order can change, do not count; orders that arrive after the
last week cost nothing.
"""

from __future__ import annotations

import datetime
import time
from pathlib import Path

import numpy as np
import polars as pl

from unmet.data import load_bakery
from unmet.inventory import StockState, SupplyRules, order_up_to, replenish
from unmet.planning.candidates import DemandForecast
from unmet.simulate.shop import run_shop
from unmet.tables.panel import Panel

HERE = Path(__file__).parent
FIRST = datetime.date(2016, 1, 4)
WEEKS, LEAD, RUNS, WINDOW = 8, 2, 3, 168
RULES = SupplyRules(LEAD, holding=0.2, shortage=1.0, lot=1.0)
LABELS = {
    "season": "seasonal mean of 13 weeks, up to 4 weeks of it",
    "quantile": "quantile of past sums of 3 weeks",
    "levels": "unmet, order-up-to levels",
    "unmet": "unmet, the newsvendor step",
    "today": "the same, told the stock of the last week only",
}


class SeasonalMean:
    """Mean of 13 weeks without its season, put back on; order up to four weeks of it."""

    def learn(self, seen):
        total = seen.sales.sum(axis=0)
        usual = np.convolve(total, np.ones(53) / 53, mode="same")
        weeks = np.arange(26, total.size - 26)
        self.factor = np.ones(52)
        for week in range(52):
            same = weeks[weeks % 52 == week]
            if same.size:
                self.factor[week] = np.mean(total[same] / usual[same])

    def order(self, seen, state):
        now = seen.n_periods
        past, ahead = np.arange(now - 13, now), np.arange(now, now + 4)
        mean = (seen.sales[:, -13:] / self.factor[past % 52]).mean(axis=1)
        return np.maximum(mean * self.factor[ahead % 52].sum() - state.position, 0.0)


class PastSums:
    """Quantile of what was sold in three weeks running, over a year."""

    def learn(self, seen):
        pass

    def order(self, seen, state):
        year = seen.sales[:, -52:]
        sums = np.lib.stride_tricks.sliding_window_view(year, LEAD + 1, axis=1).sum(axis=2)
        return np.maximum(np.quantile(sums, 1 / 1.2, axis=1) - state.position, 0.0)


class Weekly:
    """`unmet` on weeks, seasons included: a model of expected demand, then the newsvendor step."""

    def __init__(self, levels=False, today=False):
        self.levels, self.today = levels, today

    def panel(self, seen):
        """Take today's stock, where asked to, as a planner's table has it: in the last rows."""
        start = max(seen.n_periods - WINDOW, 0) // 7 * 7
        sales, flags = seen.sales[:, start:], None
        if self.today:
            flags = np.full(sales.shape, np.nan)
            flags[:, -1] = np.nan_to_num(seen.sold_out[:, -1])  # before the run it is demand
        first = seen.first_day + datetime.timedelta(days=start * seen.step)
        return Panel(sales, flags, first, "week")

    def learn(self, seen):
        self.model = DemandForecast(LEAD + 1, seasons=True, n_jobs=1).fit(self.panel(seen))

    def order(self, seen, state):
        expected = self.model.expected(self.panel(seen))
        n_paths = 400 if self.levels else 200
        paths = self.model.distribution_.draw(expected, n_paths, seed=seen.seed)
        if not self.levels:
            return replenish(paths, RULES, state).order
        return np.maximum(order_up_to(paths, RULES).order_up_to - state.position, 0.0)


def demand(share, n_shops=1, seed=0):
    """Weeks that are whole, (n_series, n_weeks)."""
    week = (pl.col("date") - FIRST).dt.total_days() // 7
    weeks = (
        load_bakery()
        .with_columns(week=week)
        .filter(pl.col("week") >= 0)
        .group_by("store", "product", "week")
        .agg(pl.col("demand").sum(), days=pl.len())
        .filter(pl.col("days") == 7)
        .sort("week")
        .pivot(on="week", index=["store", "product"], values="demand")
        .sort("store", "product")
    )
    values = np.round(weeks.drop("store", "product").to_numpy().astype(float))
    generator, counts = np.random.default_rng(seed), values.astype(int)
    if n_shops > 1:
        split = generator.multinomial(counts, np.full(n_shops, 1.0 / n_shops))
        return np.concatenate(np.moveaxis(split, -1, 0)).astype(float)
    return values if share == 1 else generator.binomial(counts, share).astype(float)


def main():
    lines = ["# Weekly orders with a lead time", "", "Made by `benchmarks/weekly.py`.", ""]
    for share, n_shops in ((1.0, 1), (0.02, 1), (1.0, 4)):
        truth = demand(share, n_shops)
        total = dict.fromkeys(LABELS, 0.0)
        start = time.perf_counter()
        for back in range(RUNS):
            begin = truth.shape[1] - WEEKS * (back + 1)
            usual = np.round(truth[:, begin - 4 : begin].mean(axis=1))
            run = run_shop(
                truth[:, : begin + WEEKS],
                {
                    "season": SeasonalMean(),
                    "quantile": PastSums(),
                    "levels": Weekly(levels=True),
                    "unmet": Weekly(),
                    "today": Weekly(today=True),
                },
                RULES,
                n_before=begin,
                learn_every=WEEKS,
                state=StockState(np.round(1.5 * usual), np.repeat(usual[:, None], LEAD, axis=1)),
                first_day=FIRST,
                step=7,
            )
            found = run.total(since=LEAD)
            for name, cost in zip(found["policy"], found["cost"], strict=True):
                total[name] += cost
            print(share, n_shops, begin, {name: round(total[name]) for name in total}, flush=True)
        mean = truth.mean()
        lines += [
            f"## {truth.shape[0]} series, {mean:.0f} units a week in the mean",
            "",
            "| rule | cost | against the first |",
            "|---|---:|---:|",
            *(
                f"| {LABELS[name]} | {cost:,.0f} | {cost / total['season']:.3f} |"
                for name, cost in total.items()
            ),
            "",
            f"{time.perf_counter() - start:.0f} s in all.",
            "",
        ]
    (HERE / "results" / "weekly.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
