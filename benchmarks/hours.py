"""The till's clock on real hours with real stock-out flags: recovery, detection, decisions.

Data: hourly sales and hourly stock-out flags, a row for each series and day with lists of 24
(FreshRetailNet-50K, CC-BY-4.0: get it from its publisher). Nothing of it is in this project.

    python benchmarks/hours.py --data freshretailnet_hourly.parquet

*Recovery, flags known*: the published protocol (hours 6 to 22, blocks of 30 days, seed 1024; on
days without stock-out, hours after or before a random one are hidden with probability 0.3, and runs
of days; daily totals of these days are scored), and a fair one, in which hours are
hidden once a stock level is sold. *Detection, flags hidden*: days whose shelf was empty at closing
time.
*Decisions, flags hidden*: cost of `unmet plan` on later days: with nothing known, with the clock,
with a flag for each day, with flags for each hour. *Nothing hidden*: hours that are drawn without
any stock-out.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from unmet.censoring.hours import HourlySales, detect_stockouts, read_hourly, recover
from unmet.costs import Newsvendor
from unmet.evaluation import censored_cost
from unmet.planning import OrderPlan, Schema

RESULTS = Path(__file__).parent / "results"
OPENS, CLOSES = 6, 22
PUBLISHED = {
    "TimesNet": (27.62, 1.43, 0.07),
    "DLinear": (29.99, -1.28, -0.16),
    "iTransformer": (33.30, -2.09, -0.22),
    "ImputeFormer": (35.65, -2.62, -0.26),
}
LEVELS = (0.65, 0.75, 0.85, 0.95)


def published_mask(empty: np.ndarray, chance: float = 0.3, seed: int = 1024) -> np.ndarray:
    """Hours that the published protocol hides, (n_series, n_days, n_hours).

    Blocks of 30 days. Days without any stock-out are clean. Looking back from each day but the
    first eight, a run of 2 to 6 of the days before may be hidden whole (with a tenth of the chance,
    where more days than that have been clean); each clean day may lose the hours from a random one
    on, or up to a random one.
    """
    draw = np.random.RandomState(seed)
    n_series, n_days, n_hours = empty.shape
    blocks = empty.reshape(-1, 30, n_hours)
    n_blocks = blocks.shape[0]
    clean = ~blocks.any(axis=2)
    runs = np.zeros((n_blocks, 30), dtype=bool)
    length = np.zeros(n_blocks, dtype=int)
    back = np.arange(7, 0, -1)
    for day in range(30):
        length = np.where(clean[:, day], length + 1, 0)
        if day > 7:
            size = draw.randint(3, 8, size=n_blocks)
            size = np.where((size < length) & (draw.rand(n_blocks) < chance / 10), size, 0)
            runs[:, day - 6 : day + 1] |= (back <= size[:, None]) & (back > 1)
    some = (draw.rand(n_blocks, 30) < chance) & clean
    start = draw.randint(0, int(n_hours * (1 - chance)), size=(n_blocks, 30))[:, :, None]
    hour = np.arange(n_hours)
    late = draw.rand(n_blocks, 30)[:, :, None] <= 0.5
    part = np.where(late, hour >= start, hour <= n_hours - start)
    hidden = ((part & some[:, :, None]) | runs[:, :, None]) & ~blocks
    return hidden.reshape(n_series, n_days, n_hours)


def cut_by_stock(
    sales: np.ndarray, level: float, spread: float, seed: int, share: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Sell each day's hours until its stock is gone: what was sold, and hours without stock.

    Stock is a quantile of the series' days, times lognormal noise; only a share of days has one.
    """
    draw = np.random.default_rng(seed)
    totals = sales.sum(axis=2)
    usual = np.quantile(totals, level, axis=1, keepdims=True)
    unit = 0.1 if float(sales[sales > 0].min()) < 1 else 1.0
    stock = np.maximum(np.round(usual * draw.lognormal(0, spread, totals.shape) / unit), 1) * unit
    stock = np.where(draw.random(totals.shape) < share, stock, np.inf)
    before = np.cumsum(sales, axis=2) - sales
    left = np.maximum(stock[:, :, None] - before, 0.0)
    return np.minimum(sales, left), left <= 1e-9


def decoupling(hours: HourlySales, demand: np.ndarray, holiday: np.ndarray) -> float:
    """Correlation of hours out of stock with demand, as published: by series, weighed by sales."""
    assert hours.stock_out is not None
    out = hours.stock_out[:, :, OPENS:CLOSES].sum(axis=2)
    sold = hours.sales.sum(axis=2)
    total = weights = 0.0
    for series in range(hours.n_series):
        clean = out[series] == 0
        if not clean.any():
            continue
        weight = float(sold[series][clean].mean())
        for kind in (0, 1):
            rows = (~clean) & (holiday[series] == kind)
            if np.unique(out[series][rows]).size > 3:
                found = np.corrcoef(out[series][rows], demand[series][rows])[0, 1]
                total += weight * float(np.nan_to_num(found))
                weights += weight
    return total / weights


def errors(found: np.ndarray, truth: np.ndarray, rows: np.ndarray) -> tuple[float, float]:
    """Weighted absolute and weighted percentage error, in percent."""
    apart = (found - truth)[rows]
    return 100 * np.abs(apart).sum() / truth[rows].sum(), 100 * apart.sum() / truth[rows].sum()


def recovery(hours: HourlySales, holiday: np.ndarray) -> list[str]:
    """Recover what protocols hide, flags known."""
    assert hours.stock_out is not None
    lines = ["## Recovery, flags known", ""]
    empty = hours.stock_out[:, :, OPENS:CLOSES]
    clean = ~empty.any(axis=2)
    truth = hours.sales.sum(axis=2)
    n_days = hours.n_days // 30 * 30
    hidden = np.zeros_like(empty)
    hidden[:, :n_days] = published_mask(empty[:, :n_days])
    rows = hidden.any(axis=2) & clean
    flags, seen = hours.stock_out.copy(), hours.sales.copy()
    flags[:, :, OPENS:CLOSES] |= hidden
    seen[:, :, OPENS:CLOSES][hidden] = 0.0
    masked = replace(hours, sales=seen, stock_out=flags)
    lines += [
        "| published protocol | WAPE % | WPE % | correlation | seconds |",
        "|---|---|---|---|---|",
    ]
    for busier in (False, True):
        start = time.perf_counter()
        found = recover(masked, busier=busier)
        took = time.perf_counter() - start
        apart, bias = errors(found.demand, truth, rows)
        tied = decoupling(hours, recover(hours, busier=busier).demand, holiday)
        name = "`recover(busier=True)`" if busier else "`recover`"
        lines.append(f"| {name} | {apart:.2f} | {bias:+.2f} | {tied:+.3f} | {took:.1f} |")
        if not busier:
            low, high = found.quantile(0.1), found.quantile(0.9)
            inside = ((truth >= low - 1e-9) & (truth <= high + 1e-9))[rows].mean()
            covered = f"Of the 80% intervals of `recover`, {inside:.0%} hold the truth."
    usual = np.where(clean, truth, np.nan)
    series_mean = np.nan_to_num(np.nanmean(usual, axis=1, keepdims=True))
    sold = seen.sum(axis=2)
    apart, bias = errors(np.maximum(series_mean + 0 * sold, sold), truth, rows)
    lines.append(f"| the series' mean of whole days, by hand | {apart:.2f} | {bias:+.2f} | | |")
    for name, (wape, wpe, tied) in PUBLISHED.items():
        lines.append(f"| {name}, as published (50,000 series) | {wape} | {wpe:+} | {tied:+} | |")
    raw = decoupling(hours, truth, holiday)
    lines += ["", f"{covered} Sales themselves have a correlation of {raw:+.2f}.", ""]
    lines += [
        "Hidden once a stock level is sold (on days that had stock all day):",
        "",
        "| stock | method | WAPE % | WPE % |",
        "|---|---|---|---|",
    ]
    for level, spread in ((0.6, 0.2), (0.8, 0.3)):
        day = np.where(clean[:, :, None], hours.sales, 0.0)
        sold_hours, out = cut_by_stock(day, level, spread, 5, share=0.4)
        flags = hours.stock_out | (out & clean[:, :, None])
        cut = replace(
            hours, sales=np.where(clean[:, :, None], sold_hours, hours.sales), stock_out=flags
        )
        rows = clean & out[:, :, OPENS:CLOSES].any(axis=2) & (sold_hours.sum(axis=2) < truth)
        name = f"quantile {level}, spread {spread}"
        for method, found in (
            ("sales", cut.sales.sum(axis=2)),
            ("`recover`", recover(cut).demand),
            ("`recover(busier=True)`", recover(cut, busier=True).demand),
        ):
            apart, bias = errors(found, truth, rows)
            lines.append(f"| {name} | {method} | {apart:.1f} | {bias:+.1f} |")
    return [*lines, ""]


def detection(hours: HourlySales) -> tuple[list[str], Any]:
    """Find days that were sold out at closing time, flags hidden."""
    from sklearn.metrics import roc_auc_score

    assert hours.stock_out is not None
    start = time.perf_counter()
    reading = detect_stockouts(hours)
    took = time.perf_counter() - start
    label = hours.stock_out[:, :, CLOSES - 1]
    volume = hours.sales.sum(axis=2).mean(axis=1) / hours.unit
    lines = [
        "## Detection, flags hidden",
        "",
        "| units a day | series | sold out | AUC | found at 16% false | p > 0.5: right | found |",
        "|---|---|---|---|---|---|---|",
    ]
    half = float(np.median(volume))
    groups = {
        "all": volume > -1,
        f"lower half (≤ {half:.1f})": volume <= half,
        f"upper half (> {half:.1f})": volume > half,
        "20 and more": volume >= 20,
        "30 and more": volume >= 30,
    }
    for name, kept in groups.items():
        chance, out = reading.probability[kept].ravel(), label[kept].ravel()
        if not (0 < out.mean() < 1):
            continue
        bar = np.quantile(chance[~out], 0.84)
        called = chance > 0.5
        right = f"{out[called].mean():.0%}" if called.any() else "–"
        lines.append(
            f"| {name} | {int(kept.sum())} | {out.mean():.0%} | {roc_auc_score(out, chance):.3f} | "
            f"{(chance[out] > bar).mean():.0%} | {right} | {called[out].mean():.0%} |"
        )
    lines += ["", f"{reading.describe()} ({took:.0f} s)", ""]
    return lines, reading


def decisions(hours: HourlySales, keys: list[str], n_series: int) -> list[str]:
    """Cost of plans on later days, by what is known."""
    lines = ["## Decisions, flags hidden", ""]
    assert hours.stock_out is not None
    clean = ~hours.stock_out[:, :, OPENS:CLOSES].any(axis=2)
    lines += _ladder(
        "later days as they were: evaluated on those without stock-out, weighed for selection",
        hours,
        hours.sales.sum(axis=2),
        clean,
        keys,
        n_series,
    )
    whole = np.flatnonzero(clean.mean(axis=1) > 0.6)
    for level, spread in ((0.6, 0.2), (0.8, 0.3)):
        part = hours.take(whole)
        ok = clean[whole]
        sold, out = cut_by_stock(part.sales, level, spread, 3)
        cut = replace(
            part, sales=np.where(ok[:, :, None], sold, np.nan), stock_out=out & ok[:, :, None]
        )
        lines += _ladder(
            f"days cut at a stock level (quantile {level}, spread {spread}); truth known",
            cut,
            part.sales.sum(axis=2),
            ok,
            keys,
            n_series,
            truth_known=True,
        )
    return lines


def _ladder(
    title: str,
    hours: HourlySales,
    truth: np.ndarray,
    clean: np.ndarray,
    keys: list[str],
    n_series: int,
    truth_known: bool = False,
) -> list[str]:
    """Plans for three weeks, each from the days before."""
    kept = np.sort(np.random.default_rng(0).permutation(hours.n_series)[:n_series])
    hours, truth, clean = hours.take(kept), truth[kept], clean[kept]
    costs: dict[str, list[float]] = {}
    for level in LEVELS:
        sums: dict[str, float] = {}
        mass = 0.0
        for known in (69, 76, 83):
            past = replace(
                hours,
                sales=hours.sales[:, :known],
                stock_out=None if hours.stock_out is None else hours.stock_out[:, :known],
                special=None,
            )
            assert past.stock_out is not None
            there = past.known.ravel()
            n_rows = past.n_series * known
            day = pl.DataFrame(
                {
                    "date": pl.Series(np.tile(past.dates, past.n_series)).cast(pl.Date),
                    "sales": np.round(past.sales.sum(axis=2).ravel() / hours.unit),
                    "sold_out": past.stock_out[:, :, CLOSES - 1].ravel(),
                }
            )
            rows = past.keys.select(keys)[np.repeat(np.arange(past.n_series), known)]
            table = rows.hstack(day).filter(pl.Series(there[:n_rows]))
            in_units = replace(past, sales=past.sales / hours.unit)
            ways: dict[str, dict[str, Any]] = {
                "nothing": {},
                "clock": {"hours": detect_stockouts(replace(in_units, stock_out=None))},
                "flags": {},
                "hours": {"hours": recover(in_units, busier=True)},
            }
            asked = truth[:, known : known + 7] / hours.unit
            seen = clean[:, known : known + 7]
            decided: dict[str, np.ndarray] = {}
            for name, given in ways.items():
                plan = OrderPlan(
                    horizon=7,
                    cost=Newsvendor.at_level(level),
                    model="linear",
                    schema=Schema(sold_out="sold_out" if name == "flags" else "", stock=""),
                    lot=None,
                )
                used = table if name == "flags" else table.drop("sold_out")
                orders = plan.fit(used, **given).orders()
                series, place, _ = plan.targets_
                order = np.full(asked.shape, np.nan)
                assert plan.panel_.keys is not None
                own = {row: n for n, row in enumerate(past.keys.select(keys).cast(str).iter_rows())}
                at = [own[row] for row in plan.panel_.keys.select(keys).cast(str).iter_rows()]
                order[np.array(at)[series], place - known] = orders["order"].to_numpy()
                decided[name] = order
            cost = Newsvendor.at_level(level)
            if truth_known:
                for name, order in decided.items():
                    sums[name] = sums.get(name, 0.0) + float(
                        cost.cost(order[seen], asked[seen]).sum()
                    )
                mass += float(seen.sum())
                continue
            # what was usually there: sales of days that sold out, shrunk to the mean of the series
            units = in_units.sales.sum(axis=2)
            out = past.stock_out[:, :, OPENS:CLOSES].any(axis=2)
            usual = ((units * out).sum(axis=1) + 5 * units.mean(axis=1)) / (out.sum(axis=1) + 5)
            rows_of = np.repeat(np.arange(hours.n_series), 7)
            evaluated = censored_cost(
                cost,
                {name: order.ravel() for name, order in decided.items()},
                asked.ravel(),
                (~seen).ravel(),
                level=usual[rows_of],
                groups=rows_of,
            )
            for name, mean in evaluated.cost.items():
                sums[name] = sums.get(name, 0.0) + float(mean)
            mass += 1.0
        for name, total in sums.items():
            costs.setdefault(name, []).append(total / mass)
    lines = [f"**{title}** ({hours.n_series} series, three weeks, units):", ""]
    lines += ["| known | " + " | ".join(f"{each:.2f}" for each in LEVELS) + " |"]
    lines += ["|---|" + "---|" * len(LEVELS)]
    for name, found in costs.items():
        lines.append(f"| {name} | " + " | ".join(f"{each:.3f}" for each in found) + " |")
    nothing, clock, flags = (np.array(costs[name]) for name in ("nothing", "clock", "flags"))
    best = np.minimum(flags, np.array(costs["hours"]))
    for name, end in (("flags", flags), ("the better of flags and hours", best)):
        with np.errstate(divide="ignore", invalid="ignore"):
            closed = (nothing - clock) / (nothing - end)
        lines.append(
            f"| closed by the clock, nothing to {name} | "
            + " | ".join(
                f"{each:.0%}" if low > high else "–"
                for each, low, high in zip(closed, nothing, end, strict=True)
            )
            + " |"
        )
    return [*lines, ""]


def nothing_hidden(reading: Any) -> list[str]:
    """Hours drawn without stock-outs, at the levels and shapes that were found."""
    lines = [
        "## Nothing hidden",
        "",
        "| hours vary | days vary | p > 0.5 | mean p | demand / sales |",
        "|---|---|---|---|---|",
    ]
    draw = np.random.default_rng(1)
    mean = reading.level[:, :, None] * reading.shape.of(slice(None))
    for phi, noise in ((1.001, 1e6), (1.5, 20.0), (1.5, 5.0), (2.0, 5.0)):
        factor = draw.gamma(noise, 1 / noise, reading.level.shape)[:, :, None]
        counts = draw.negative_binomial(mean * factor / (phi - 1) + 1e-12, 1 / phi)
        made = HourlySales.from_arrays(
            counts, reading.hours.first_day, groups=reading.hours.groups, opens=OPENS, closes=CLOSES
        )
        found = detect_stockouts(made)
        called = (found.probability > 0.5).mean()
        lines.append(
            f"| {phi:.1f} × Poisson | ± {1 / np.sqrt(noise):.0%} | {called:.1%} | "
            f"{found.probability.mean():.3f} | {found.demand.sum() / found.sold.sum():.3f} |"
        )
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--series", type=int, default=300, help="series in the ladder of decisions")
    parser.add_argument("--only", nargs="*", help="recovery, detection, decisions")
    asked = parser.parse_args()
    table = pl.read_parquet(asked.data)
    # blocks of 30 days are numbered as the protocol numbers them: by shop and item
    table = table.sort("store_id", "product_id", "dt")
    keys = ["store_id", "product_id"]
    hours = read_hourly(table, series=keys, opens=OPENS, closes=CLOSES)
    order = hours.keys.with_row_index().sort(keys)["index"].to_numpy()
    held = {row[:2]: row[2] for row in table.group_by(keys).agg("holiday_flag").iter_rows()}
    hours = hours.take(order.astype(np.intp))
    holiday = np.array([held[row] for row in hours.keys.iter_rows()])
    parts = asked.only or ["recovery", "detection", "decisions"]
    lines = ["# The till's clock", "", f"{hours.n_series} series × {hours.n_days} days.", ""]
    if "recovery" in parts:
        lines += recovery(hours, holiday)
    if "detection" in parts:
        found, reading = detection(hours)
        lines += [*found, *nothing_hidden(reading)]
    if "decisions" in parts:
        lines += decisions(hours, keys, asked.series)
    text = "\n".join(lines)
    print(text)
    if not asked.only:
        (RESULTS / "hours.md").write_text(text + "\n")


if __name__ == "__main__":
    main()
