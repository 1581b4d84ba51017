"""Service level reached against α, linear model and distribution, on scenarios and real demand.

usage: python benchmarks/calibration.py [--quick] [--sets ...] [--seeds 2] [--resume]

Real demand is censored by two order policies that follow the past. Models are told nothing, the
sell-out rate, or the flags; decisions at five levels are compared with true demand, of later days
and of every fourth week that was held out. Results go to results/calibration.json after each block
of rows, and from there to calibration.md and calibration.svg.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import polars as pl
from gap_cases import COSTS, LEVELS, ON_DEMANDS, ON_SALES, Block, bakery, parts, save, yaz
from gap_freshretail import features, read
from linear import HERE, setting
from matplotlib.figure import Figure
from report import head, row
from rich.console import Console
from scenarios import bank
from threadpoolctl import threadpool_limits

from unmet import DistributionDecision, GroupedDecision, LinearDecision
from unmet.censoring import LatentBand
from unmet.estimators.levels import held_out_levels
from unmet.evaluation import calibration
from unmet.evaluation.calibration import Calibration
from unmet.rows import Rows
from unmet.simulate import censor, history_orders

LATER, WEEKS = "later days", "weeks held out"
NOTHING, RATE, FLAGS = "nothing", "the sell-out rate", "flags"
TRUTH = "line on the truth"
LINE, DISTRIBUTION, CALIBRATED, CAUTIOUS = (
    "line",
    "distribution",
    "distribution, calibrated",
    "distribution, calibrated if off",
)
PANEL = "one distribution for all series"
POINTS = 0.03
FRESH = "FreshRetailNet"
POOLED = 25  # series of FreshRetailNet in one model
KINDS = (
    "normal, linear, 900 rows, noisy",
    "gamma, linear, 900 rows, noisy",
    "gumbel left, linear, 900 rows, noisy",
    "two humps, linear, 900 rows, noisy",
    "normal, missing, 900 rows, noisy",
    "normal, kinked, 900 rows, noisy",
    "gamma, linear, 900 rows, sales history",
    "poisson, linear, 900 rows, demand history",
)


@dataclass(frozen=True)
class Set:
    """Blocks of rows, each with its own model, and on which rows they are evaluated."""

    name: str
    split: str
    blocks: Callable[[int], Iterator[Block]]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="", help="parts of names, joined by ;")
    parser.add_argument("--seeds", type=int, help="number of seeds (2)")
    parser.add_argument("--quick", action="store_true", help="two kinds and one policy, one seed")
    parser.add_argument("--resume", action="store_true", help="keep the blocks already measured")
    parser.add_argument("--freshretail", type=Path, help="daily table of FreshRetailNet-50K")
    parser.add_argument("--page", action="store_true", help="only write page and figure again")
    parser.add_argument("--output", type=Path, default=HERE / "results")
    chosen = parser.parse_args()
    chosen.seeds = chosen.seeds or (1 if chosen.quick else 2)
    chosen.resume |= chosen.page
    sets, wanted = all_sets(chosen.freshretail), parts(chosen.sets)
    if chosen.quick:
        sets = [each for each in sets if each.name in (*KINDS[:2], "bakery, 1.15 × sales")]
    chosen.sets = [
        each
        for each in sets
        if not wanted or any(part in f"{each.name}, {each.split}".lower() for part in wanted)
    ]
    if not chosen.sets:
        parser.error("sets must be parts of " + "; ".join(dict.fromkeys(e.name for e in sets)))
    return chosen


# --- rows -----------------------------------------------------------------------------------------


def from_bank(name: str) -> Callable[[int], Iterator[Block]]:
    def blocks(seed: int) -> Iterator[Block]:
        case = bank(name, seed)
        train, test = case.train, case.test
        yield Block(
            X=train.features,
            sales=train.sales,
            demand=train.demand,
            order=train.order,
            dates=train.dates,
            series=train.series,
            X_test=test.features,
            demand_test=test.demand,
        )

    return blocks


def later(trial: Callable[[int], object]) -> Callable[[int], Iterator[Block]]:
    return lambda seed: iter(trial(seed).blocks)


def weeks(trial: Callable[[int], object]) -> Callable[[int], Iterator[Block]]:
    """Every fourth week of the training rows, held out instead of the days that follow."""

    def blocks(seed: int) -> Iterator[Block]:
        return (held_out(block, seed) for block in trial(seed).blocks)

    return blocks


def held_out(block: Block, seed: int) -> Block:
    day = block.dates.astype("datetime64[D]").astype(np.int64)
    held = ((day - day.min()) // 7 + seed) % 4 == 0
    some = {
        name: getattr(block, name)[~held]
        for name in ("X", "sales", "demand", "order", "dates", "series")
    }
    return replace(
        block,
        **some,
        X_test=block.X[held],
        demand_test=block.demand[held],
        series_test=block.series[held],
    )


def fresh(path: Path) -> Callable[[int], object]:
    """Days that were not sold out are the truth; orders that follow its past censor it."""
    from gap_cases import Trial

    table = read(path).filter(~pl.col("oos_at_close"))
    several = [
        part for part in table.partition_by("series", maintain_order=True) if part.height >= 40
    ]

    def trial(seed: int) -> Trial:
        blocks = []
        for start in range(0, len(several), POOLED):
            rows = pl.concat(several[start : start + POOLED]).sort("dt")
            demand, dates = rows["sales"].to_numpy(), rows["dt"].to_numpy()
            order = history_orders(
                demand, dates, rows["series"].to_numpy(), k=2, factor=1.1, round_up=False
            )
            X, last = features(rows, pooled=True), dates.max() - np.timedelta64(21, "D")
            train = dates <= last
            blocks.append(
                Block(
                    X=X[train],
                    sales=censor(demand, order)[0][train],
                    demand=demand[train],
                    order=order[train],
                    dates=dates[train],
                    series=rows["series"].to_numpy()[train],
                    X_test=X[~train],
                    demand_test=demand[~train],
                    series_test=rows["series"].to_numpy()[~train],
                )
            )
        return Trial(tuple(blocks), seed)

    return trial


def all_sets(path: Path | None) -> list[Set]:
    real: dict[str, Callable[[int], object]] = {
        "bakery, past demand": lambda seed: bakery(seed, (101, 109, 110), ON_DEMANDS),
        "bakery, 1.15 × sales": lambda seed: bakery(seed, (101, 110), ON_SALES),
        "restaurant, past demand": lambda seed: yaz(seed, ON_DEMANDS),
    }
    if path is not None:
        real[FRESH] = fresh(path)
    found = [Set(name, WEEKS, weeks(trial)) for name, trial in real.items()]
    found += [Set(name, LATER, later(trial)) for name, trial in real.items()]
    return found + [Set(name, LATER, from_bank(name)) for name in KINDS]


# --- one block ------------------------------------------------------------------------------------


def measured(block: Block, seed: int) -> dict:
    """Share of test rows covered at each level: rung and model → shares."""
    test, truth = block.X_test, block.demand_test
    sold_out = sold_out_rows(block)
    share = float(sold_out.mean())

    def covered(decisions: list[np.ndarray]) -> list[float]:
        return [round(float((truth <= each).mean()), 5) for each in decisions]

    known = {
        NOTHING: ({}, {}),
        RATE: ({"sellout_rate": share}, {}),
        FLAGS: ({}, {"censored": sold_out}),
    }
    plain = LinearDecision().fit_path(block.X, block.demand, costs=COSTS)
    found = {"": {TRUTH: covered([model.predict(test) for model in plain])}}
    for rung, (options, told) in known.items():
        rule = LatentBand(random_state=seed, **options)
        models = LinearDecision().fit_path(block.X, block.sales, costs=COSTS, bands=rule, **told)
        distribution = models[0].band_rule_
        found[rung] = {
            LINE: covered([model.predict(test) for model in models]),
            DISTRIBUTION: covered([distribution.quantile(test, level) for level in LEVELS]),
        }
        if rung == FLAGS:
            rows = Rows.of(COSTS[2], block.X, block.sales, None, sold_out, None, block.dates)
            levels = held_out_levels(rule, rows)
            asked = levels.asked(LEVELS)
            found[rung][CALIBRATED] = covered([distribution.quantile(test, each) for each in asked])
            sure = replace(levels, cautious=2.0).asked(LEVELS)
            found[rung][CAUTIOUS] = covered([distribution.quantile(test, each) for each in sure])
            corrections = [levels.correction(level) for level in LEVELS]
            found["corrections"] = {
                "asked": [round(float(each), 4) for each in asked],
                "applied": [each.applied for each in corrections],
                "reached": [each.reached for each in corrections],
                "highest": levels.highest,
            }
    return {"rows": len(truth), "trained": len(block.sales), "share": share, "covered": found}


def measured_panel(blocks: list[Block], seed: int) -> list[list[float]]:
    """Share of test rows covered in each block by one distribution that knows the flags."""

    def table(parts: list[np.ndarray], series: list[np.ndarray]) -> pl.DataFrame:
        columns = [f"feature {place}" for place in range(parts[0].shape[1])]
        labels = np.concatenate([[f"{n}/{s}" for s in each] for n, each in enumerate(series)])
        return pl.DataFrame(np.concatenate(parts), schema=columns).with_columns(
            pl.Series("series", labels)
        )

    # dummies of series say what the series says
    kept = [own_columns(block) for block in blocks]
    train = table(
        [b.X[:, k] for b, k in zip(blocks, kept, strict=True)], [b.series for b in blocks]
    )
    # a block without them is one series
    asked = [
        np.full(len(b.X_test), b.series[0]) if b.series_test is None else b.series_test
        for b in blocks
    ]
    test = table([b.X_test[:, k] for b, k in zip(blocks, kept, strict=True)], asked)
    sales = np.concatenate([block.sales for block in blocks])
    flags = np.concatenate([sold_out_rows(block) for block in blocks])
    model = GroupedDecision(DistributionDecision(), by=["series"], random_state=seed)
    covered = np.empty((len(LEVELS), test.height))
    truth = np.concatenate([block.demand_test for block in blocks])
    for place, cost in enumerate(COSTS):
        model.set_params(model__cost=cost).fit(train, sales, censored=flags)
        covered[place] = truth <= model.predict(test)
    ends = np.cumsum([len(block.demand_test) for block in blocks])[:-1]
    return [part.mean(axis=1).round(5).tolist() for part in np.split(covered, ends, axis=1)]


def own_columns(block: Block) -> np.ndarray:
    """Which features vary within a series."""
    varies = [np.ptp(block.X[block.series == each], axis=0) for each in np.unique(block.series)]
    return np.max(varies, axis=0) > 0


def sold_out_rows(block: Block) -> np.ndarray:
    """Flags: an empty shelf is what planners see, of whole numbers also one just enough."""
    return block.demand >= np.where(np.isnan(block.order), np.inf, block.order)


def measure(results: dict, path: Path, chosen: argparse.Namespace, console: Console) -> None:
    cells = results["cells"]
    try:
        for seed in range(chosen.seeds):
            for each in chosen.sets:
                for number, block in enumerate(each.blocks(seed)):
                    key = f"{each.name}|{each.split}|{seed}|{number}"
                    if key in cells and "failed" not in cells[key]:
                        continue
                    start = time.perf_counter()
                    with threadpool_limits(1), warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # rules warn of what the tables show
                        try:
                            cells[key] = measured(block, seed)
                        except Exception as error:  # one block must not end the run
                            words = f"{type(error).__name__}: {error}"[:300]
                            cells[key] = {"failed": words}
                    seconds = time.perf_counter() - start
                    cells[key]["seconds"] = round(seconds, 2)
                    save(path, results)
                    console.print(f"{key}  {seconds:.0f} s")
                add_panel(cells, each, seed, path, results, console)
    except KeyboardInterrupt:
        console.print("Interrupted; --resume goes on from here.")


def add_panel(
    cells: dict, each: Set, seed: int, path: Path, results: dict, console: Console
) -> None:
    """Let one distribution of all series of a real set decide, where blocks have been measured."""
    if each.name in KINDS:
        return
    blocks = list(each.blocks(seed))
    keys = [f"{each.name}|{each.split}|{seed}|{number}" for number in range(len(blocks))]
    missing = [
        key for key in keys if PANEL not in cells.get(key, {}).get("covered", {}).get(FLAGS, {})
    ]
    if not missing or any("covered" not in cells.get(key, {}) for key in keys):
        return
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for key, shares in zip(keys, measured_panel(blocks, seed), strict=True):
            cells[key]["covered"][FLAGS][PANEL] = shares
    save(path, results)
    console.print(f"{each.name}, {each.split}, {seed}: {PANEL}")


# --- the page -------------------------------------------------------------------------------------


def pooled(cells: list[dict], rung: str, model: str) -> Calibration | None:
    """All blocks of a set in one; rows of a block share their luck."""
    kept = [cell for cell in cells if model in cell["covered"].get(rung, {})]
    if not kept:
        return None
    met = {
        level: np.concatenate(
            [
                np.arange(cell["rows"]) < round(cell["covered"][rung][model][place] * cell["rows"])
                for cell in kept
            ]
        ).astype(float)
        for place, level in enumerate(LEVELS)
    }
    groups = np.repeat(np.arange(len(kept)), [cell["rows"] for cell in kept])
    truth = np.ones(groups.size)
    return calibration(met, truth, groups=groups if len(kept) > 1 else None)


COLUMNS = [("", TRUTH)] + [(r, m) for r in (NOTHING, RATE) for m in (LINE, DISTRIBUTION)]
COLUMNS += [(FLAGS, model) for model in (LINE, DISTRIBUTION, CALIBRATED, CAUTIOUS, PANEL)]


def write(results: dict, folder: Path) -> None:
    sets: dict[tuple[str, str], list[dict]] = {}
    for key, cell in results["cells"].items():
        if "failed" not in cell:
            sets.setdefault(tuple(key.split("|")[:2]), []).append(cell)
    where = results["setting"]
    lines = [
        "# Calibration: service level reached against α",
        "",
        "Made by `benchmarks/calibration.py`; how to read it: `benchmarks/README.md`.",
        f"{where.get('cpu', '')}, Python {where.get('python', '')}, "
        f"unmet {where.get('unmet', '')}. {where.get('note', '')}".strip(),
        "",
        "Share of test rows whose true demand is covered, in percent, ± a standard error that",
        "takes the rows of a block (one series and period, or one simulation) as one. *Later",
        "days*: half a year after training (restaurant a quarter, FreshRetailNet three weeks);",
        "*weeks held out*: every fourth week of the training period. The *line on the truth* was",
        "trained on true demand: where it misses α, demand has changed, and no treatment of",
        "censoring can help. *Calibrated*: levels moved by held-out rows weighted by their",
        "probability of being seen; *if off*: only where these are off by more than two standard",
        "errors.",
        "",
        "![Service level reached minus α](calibration.svg)",
        "",
        *bars(sets),
    ]
    for (name, split), cells in sets.items():
        share = np.mean([cell["share"] for cell in cells])
        title = f"## {name}: {split} ({100 * share:.0f} % sold out, {len(cells)} blocks)"
        lines += [
            title,
            "",
            head(["knows", "model", *(f"α = {a:g}" for a in LEVELS), "largest gap"]),
        ]
        for rung, model in COLUMNS:
            found = pooled(cells, rung, model)
            if found is None:
                continue
            words = [
                f"{100 * reached:.1f} ± {100 * error:.1f}"
                for reached, error in zip(found.reached, found.standard_error, strict=True)
            ]
            known = "the truth" if model == TRUTH else rung
            lines.append(row([known, model, *words, f"{100 * found.largest_gap:.1f}"]))
        lines.append("")
    failed = {key: c["failed"] for key, c in results["cells"].items() if "failed" in c}
    if failed:
        lines += ["## Failures", "", *(f"- {key}: {words}" for key, words in failed.items()), ""]
    fresh_page = folder / "calibration.new.md"
    fresh_page.write_text("\n".join(lines), encoding="utf-8")
    fresh_page.replace(folder / "calibration.md")
    draw(sets, folder)


def bars(sets: dict[tuple[str, str], list[dict]]) -> list[str]:
    """With flags within three points; beside it, how far the truth's own line is off."""
    titles = [
        "flags",
        "split",
        "bar",
        LINE,
        DISTRIBUTION,
        CALIBRATED,
        CAUTIOUS,
        PANEL,
        TRUTH,
        "met",
    ]
    lines = ["## Bars", "", "Largest distance from α over all levels, in points.", "", head(titles)]
    for (name, split), cells in sets.items():
        found = {m: pooled(cells, FLAGS, m) for m in (LINE, DISTRIBUTION, CALIBRATED, CAUTIOUS)}
        found[TRUTH] = pooled(cells, "", TRUTH)
        if any(each is None for each in found.values()):
            continue
        panel = pooled(cells, FLAGS, PANEL)
        gaps = [each.largest_gap for each in found.values()]
        shown = [f"{100 * gap:.1f}" for gap in gaps]
        shown.insert(4, "" if panel is None else f"{100 * panel.largest_gap:.1f}")
        # of a panel the distribution of the panel is what a plan takes
        met = "✓" if (gaps[1] if panel is None else panel.largest_gap) <= POINTS else "✗"
        lines.append(row([name, split, "≤ 3", *shown, met]))
    return [*lines, ""]


def draw(sets: dict[tuple[str, str], list[dict]], folder: Path) -> None:
    """One panel for each rung and kind of set."""
    panels: dict[str, dict[str, Calibration]] = {}
    groups = {
        "real demand, weeks held out": lambda name, split: split == WEEKS,
        "real demand, later days": lambda name, split: split == LATER and name not in KINDS,
        "the bank": lambda name, split: name in KINDS,
    }
    for group, keep in groups.items():
        cells = [c for (name, split), several in sets.items() if keep(name, split) for c in several]
        for rung in (NOTHING, RATE, FLAGS):
            models = {
                TRUTH: pooled(cells, "", TRUTH),
                **{m: pooled(cells, rung, m) for m in (LINE, DISTRIBUTION, CALIBRATED)},
            }
            kept = {name: found for name, found in models.items() if found is not None}
            if len(kept) > 1:
                panels[f"{group}: knows {rung}"] = kept
    if not panels:
        return
    figure = draw_calibration(panels)
    new = folder / "calibration.new.svg"
    figure.savefig(new, metadata={"Date": None})
    new.replace(folder / "calibration.svg")


_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKS = "osD^vPX"
_POINTS = 0.03


def draw_calibration(
    panels: Mapping[str, Mapping[str, Calibration]] | Mapping[str, Calibration],
) -> Figure:
    """Draw the service level reached minus the level meant; needs matplotlib.

    Parameters
    ----------
    panels : mapping
        Name of a model → its `Calibration`; or title of a panel → such a mapping.

    Returns
    -------
    matplotlib.figure.Figure
        Bars are two standard errors; the strip is three points to either side.
    """
    several: dict[str, Mapping[str, Calibration]] = {}
    for name, value in panels.items():
        if isinstance(value, Calibration):
            several.setdefault("", {})[name] = value  # type: ignore[index]
        else:
            several[name] = value
    columns = min(len(several), 3)
    rows = -(-len(several) // columns)
    size = (3.9 * columns + 0.6, 3.1 * rows + 0.7)
    figure: Figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False)
    names = list(dict.fromkeys(name for models in several.values() for name in models))
    for axes, (title, models) in zip(grid.flat, several.items(), strict=False):
        axes.axhspan(-_POINTS, _POINTS, color="#000000", alpha=0.07, lw=0)
        axes.axhline(0, color="#555555", lw=1)
        for name, found in models.items():
            place = names.index(name)
            # side by side, so that bars do not hide each other
            aside = 0.012 * (place - (len(names) - 1) / 2)
            axes.errorbar(
                [level + aside for level in found.levels],
                found.gap,
                yerr=[2 * error for error in found.standard_error],
                color=_COLOURS[place % len(_COLOURS)],
                marker=_MARKS[place % len(_MARKS)],
                ms=5,
                lw=1.2,
                elinewidth=1,
                label=name,
            )
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_xlabel("level α")
        axes.xaxis.set_major_formatter(lambda level, _: f"{100 * level:.0f}%")
        axes.yaxis.set_major_formatter(lambda gap, _: f"{100 * gap:+.0f}" if gap else "0")
        axes.grid(color="#e6e6e6", lw=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in grid.flat[len(several) :]:
        axes.set_visible(False)
    for axes in grid[:, 0]:
        axes.set_ylabel("reached minus meant, points")
    handles = {
        label: handle
        for axes in grid.flat
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        [handles[name] for name in names],
        names,
        loc="outside lower center",
        ncols=min(len(names), 4),
        frameon=False,
    )
    return figure


def main() -> None:
    chosen, console = arguments(), Console(stderr=True)
    chosen.output.mkdir(parents=True, exist_ok=True)
    path = chosen.output / "calibration.json"
    results: dict = {"setting": {}, "cells": {}}
    if chosen.resume and path.exists():
        results = json.loads(path.read_text())
    if not chosen.page:
        # what was measured before stays, and so must what is said of it
        kept = {name: text for name, text in results["setting"].items() if name == "note"}
        results["setting"] = {**kept, **setting(sys.executable), "unmet": version("unmet")}
        measure(results, path, chosen, console)
    write(results, chosen.output)
    console.print(f"{chosen.output / 'calibration.md'}")


if __name__ == "__main__":
    main()
