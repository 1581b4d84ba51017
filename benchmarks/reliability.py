"""Is a verdict worth its name? LatentBand, told nothing, on a bank of cases with known truth.

usage: python benchmarks/reliability.py [--quick] [--never] [--kinds ...] [--seeds 5] [--resume]

Every kind of `scenarios.bank` is drawn with several seeds; `LatentBand` sees features and
sales and says how much is hidden, in which interval, and whether the data can tell. Its decisions
and those of who ignores censoring are evaluated on the true demand of later days. Results go to
results/reliability.json after each case, and from there to reliability.md and reliability.svg.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import polars as pl
from gap_cases import COSTS, parts, save
from gap_freshretail import features, read
from linear import HERE, setting
from report import head, row
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from scenarios import BankKind, bank, bank_kinds
from threadpoolctl import threadpool_limits

from unmet import LinearDecision
from unmet.censoring import LatentBand

NOTHING = 0.02  # "yes" with a share below this says that nothing is hidden
HIDDEN = 0.05  # and is wrong if the true share is at least this
VERDICTS = ("yes", "weakly", "no")
FRESH = "FreshRetailNet"
LEAST_ROWS = 60  # of a single series
QUICK = (
    "normal, linear, 900 rows, none",
    "normal, linear, 900 rows, noisy",
    "gamma, linear, 900 rows, none",
    "gumbel left, linear, 900 rows, none",
    "gumbel left, linear, 900 rows, noisy",
    "normal, saturated, 900 rows, none",
    "normal, linear, 900 rows, capacity",
    "gamma, linear, 2700 rows, 30 series (dummies), sales history",
    "bakery, real, 730 rows, none",
    "bakery, real, 730 rows, sales history",
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", default="", help="parts of names, joined by ;")
    parser.add_argument(
        "--never", action="store_true", help="also every distribution × mean, never sold out"
    )
    parser.add_argument("--seeds", type=int, help="number of seeds (5)")
    parser.add_argument("--quick", action="store_true", help="ten kinds, two seeds")
    parser.add_argument("--dates", action="store_true", help="tell dates and series as well")
    parser.add_argument("--jobs", type=int, default=1, help="processes, one thread each (1)")
    parser.add_argument("--resume", action="store_true", help="keep the cases already measured")
    parser.add_argument("--freshretail", type=Path, help="daily table of FreshRetailNet-50K")
    parser.add_argument("--series", type=int, default=30, help="of FreshRetailNet, alone (30)")
    parser.add_argument("--page", action="store_true", help="only write page and figure again")
    parser.add_argument("--output", type=Path, default=HERE / "results")
    chosen = parser.parse_args()
    chosen.seeds = chosen.seeds or (2 if chosen.quick else 5)
    chosen.resume |= chosen.page
    known = {kind.name: kind for kind in bank_kinds()}
    if chosen.never or chosen.kinds:
        known.update({kind.name: kind for kind in bank_kinds("never")})
    wanted = parts(chosen.kinds)
    names = QUICK if chosen.quick else tuple(known)
    chosen.names = [n for n in (known if wanted else names) if not wanted or matches(n, wanted)]
    if not chosen.names:
        parser.error(f"kinds must be parts of names that bank_kinds() lists; got {chosen.kinds}.")
    return chosen


def matches(name: str, wanted: list[str]) -> bool:
    return any(name.lower() == part or part in name.lower() for part in wanted)


# --- one case -------------------------------------------------------------------------------------


def measured(name: str, seed: int, dates: bool) -> dict:
    """Draw a case and ask; an error is kept as a sentence."""
    case = bank(name, seed)
    train, test = case.train, case.test
    known = {"time": train.dates, "series": train.series} if dates else {}
    record: dict = {"true": train.share_censored, "rows": len(train)}
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rules warn of what the tables show
            start = time.perf_counter()
            rule = LatentBand(random_state=seed)
            ours = LinearDecision().fit_path(
                train.features, train.sales, costs=COSTS, bands=rule, **known
            )
            record["seconds"] = round(time.perf_counter() - start, 3)
            record.update(finding(ours[0].diagnosis_))
            for words, observation in (("ignoring", train.sales), ("truth", train.demand)):
                models = LinearDecision().fit_path(train.features, observation, costs=COSTS)
                record[words] = paid(models, test)
            record["cost"] = paid(ours, test)
    except Exception as error:  # one case must not end the run
        return {**record, "failed": f"{type(error).__name__}: {error}"[:300]}
    return record


def paid(models: list[LinearDecision], test: Any) -> list[float]:
    """Mean realised cost at each level."""
    return [float(f"{-model.score(test.features, test.demand):.7g}") for model in models]


def finding(diagnosis: Any) -> dict:
    """What was said: verdict, share, interval, and the explanation that the band follows."""
    first, ends = diagnosis.chosen, diagnosis.interval
    return {
        "identified": diagnosis.identified,
        "share": diagnosis.share_censored,
        "interval": None if ends is None else [float(end) for end in ends],
        "explanation": f"{first.truth}, {first.scale}, {first.orders}" if first else "",
    }


def fresh_cells(path: Path, n_series: int, console: Console) -> Iterator[tuple[str, dict]]:
    """Real stock-outs with the flags hidden: pooled with ids in three ways, and series by series.

    The truth of the orders is not known here, only whether a day was sold out at closing time.
    """
    table = read(path)
    several = [
        part
        for part in table.partition_by("series", maintain_order=True)
        if part.height >= LEAST_ROWS
    ]
    table = pl.concat(several)
    number = table["series"].rank("dense").cast(pl.Float64).to_numpy()
    plain = features(table, pooled=False)
    tables: list[tuple[str, pl.DataFrame, np.ndarray]] = [
        ("pooled, ids as dummies", table, features(table, pooled=True)),
        ("pooled, ids as a number", table, np.column_stack([number, plain])),
        ("pooled, no ids", table, plain),
    ]
    step = max(len(several) // n_series, 1)
    tables += [
        (f"series {part['series'][0]}", part, features(part, pooled=False))
        for part in several[::step][:n_series]
    ]
    for words, rows, X in tables:
        console.print(f"{FRESH}, {words}")
        flags, sales = rows["oos_at_close"].to_numpy(), rows["sales"].to_numpy()
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                start = time.perf_counter()
                model = LinearDecision(COSTS[2], band=LatentBand(random_state=0)).fit(X, sales)
                seconds = round(time.perf_counter() - start, 3)
                found = {"seconds": seconds, **finding(model.diagnosis_)}
            except Exception as error:  # one series must not end the run
                found = {"failed": f"{type(error).__name__}: {error}"[:300]}
        yield f"{FRESH}, {words}|0", {"true": float(flags.mean()), "rows": len(sales), **found}


# --- the run --------------------------------------------------------------------------------------


def measure(results: dict, path: Path, chosen: argparse.Namespace, console: Console) -> None:
    """Measure what is missing; an interruption loses nothing that is finished."""
    cells = results["cells"]
    todo = [
        (name, seed, chosen.dates)
        for seed in range(chosen.seeds)
        for name in chosen.names
        if f"{name}|{seed}" not in cells or "failed" in cells[f"{name}|{seed}"]
    ]
    columns = (TextColumn("{task.description:66}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("", total=len(todo))
        try:
            for (name, seed, _), record in finished(todo, chosen.jobs):
                progress.update(task, description=f"{name}, seed {seed}"[:66])
                cells[f"{name}|{seed}"] = record
                save(path, results)
                progress.advance(task)
        except KeyboardInterrupt:
            progress.console.print("Interrupted; --resume goes on from here.")


def finished(todo: list[tuple], jobs: int) -> Iterator[tuple[tuple, dict]]:
    if jobs == 1:
        for each in todo:
            yield each, measured(*each)
        return
    pool = ProcessPoolExecutor(jobs)
    try:
        running = {pool.submit(measured, *each): each for each in todo}
        for future in as_completed(running):
            yield running[future], future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


# --- measures -------------------------------------------------------------------------------------


class Cell:
    """One case and what was said of it."""

    def __init__(self, key: str, record: dict) -> None:
        self.kind, _, seed = key.rpartition("|")
        self.seed = int(seed)
        self.record = record
        self.true: float = record["true"]
        self.verdict: str = record["identified"]
        self.share: float = record["share"] or 0.0

    @property
    def says_nothing(self) -> bool:
        """Sure that nothing is hidden."""
        return self.verdict == "yes" and self.share < NOTHING

    @property
    def covered(self) -> bool:
        ends = self.record["interval"]
        return ends is not None and ends[0] - 1e-9 <= self.true <= ends[1] + 1e-9

    @property
    def relative(self) -> np.ndarray | None:
        """Cost relative to ignoring censoring, at each level."""
        if "cost" not in self.record:
            return None
        return np.divide(self.record["cost"], self.record["ignoring"])


def read_cells(results: dict) -> list[Cell]:
    return [Cell(key, r) for key, r in results["cells"].items() if "failed" not in r]


def rate(values: Iterable[bool]) -> str:
    found = list(values)
    return f"{100 * np.mean(found):.1f} % of {len(found)}" if found else "–"


def summed(cells: list[Cell]) -> np.ndarray | None:
    """Cost relative to ignoring, of a kind: summed over seeds before it is divided."""
    evaluated = [cell.record for cell in cells if "cost" in cell.record]
    if not evaluated:
        return None
    total: np.ndarray = np.sum([r["cost"] for r in evaluated], axis=0)
    return total / np.sum([r["ignoring"] for r in evaluated], axis=0)


def by_kind(cells: list[Cell]) -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(cell.kind, []).append(cell)
    return found


def group_of(name: str) -> str:
    if name.startswith(FRESH):
        return FRESH
    kinds = GROUPS or {k.name: k for which in ("curated", "never") for k in bank_kinds(which)}
    GROUPS.update(kinds)
    kind: BankKind = kinds[name]
    return f"{kind.group}, never" if kind.never and kind.group in ("real", "panel") else kind.group


GROUPS: dict[str, BankKind] = {}


# --- the page -------------------------------------------------------------------------------------


def write(results: dict, folder: Path) -> None:
    cells = read_cells(results)
    if not cells:
        raise SystemExit("No case was measured.")
    lines = [*preface(results, cells), *bars(cells), *verdicts(cells), *groups(cells)]
    lines += [*kinds_table(cells), *failures(results)]
    fresh = folder / "reliability.new.md"
    fresh.write_text("\n".join(lines) + "\n", encoding="utf-8")
    fresh.replace(folder / "reliability.md")
    draw(cells, folder)


def preface(results: dict, cells: list[Cell]) -> list[str]:
    where = results["setting"]
    return [
        "# Reliability: are verdicts worth their name?",
        "",
        "Made by `benchmarks/reliability.py`; how to read it: `benchmarks/README.md`.",
        f"{len(cells)} cases of {len(by_kind(cells))} kinds. {where.get('cpu', '')}, "
        f"Python {where.get('python', '')}, unmet {where.get('unmet', '')}.",
        "",
        "`LatentBand` was told nothing but features and sales. *True share*: of the training rows",
        "whose demand exceeded the order (FreshRetailNet: of days recorded as sold out at close).",
        f"*Yes, nothing*: “yes” with an estimated share below {100 * NOTHING:.0f} %; it is wrong",
        f"if the true share is at least {100 * HIDDEN:.0f} %. *Covered*: the true share lies in",
        "the interval of the diagnosis. Costs are realised on later days, relative to the same",
        "model on sales; of a kind they are summed over seeds before they are divided.",
        "",
        "![Estimated against true share, and cost by verdict](reliability.svg)",
        "",
    ]


def bars(cells: list[Cell]) -> list[str]:
    sure = [cell for cell in cells if cell.verdict == "yes"]
    nothing = [cell for cell in sure if cell.says_nothing]
    outside = [not cell.covered for cell in sure]
    wrong = [cell.true >= HIDDEN for cell in nothing]
    never = {
        kind: several
        for kind, several in by_kind(cells).items()
        if max(cell.true for cell in several) == 0 and summed(several) is not None
    }
    means = {kind: float(summed(several).max()) for kind, several in never.items()}
    worst = {
        kind: max(float(cell.relative.max()) for cell in several if cell.relative is not None)
        for kind, several in never.items()
    }
    missed = [not cell.covered for cell in cells]
    table = [
        (
            "of “yes”, true share outside the interval",
            "≤ 5 %",
            rate(outside),
            below(outside, 0.05),
        ),
        ("of “yes, nothing is hidden”, wrong", "≤ 2 %", rate(wrong), below(wrong, 0.02)),
        (
            "interval covers, every verdict",
            "≥ 95 %",
            rate(c.covered for c in cells),
            below(missed, 0.05),
        ),
        extreme("never censored, cost ÷ ignoring, worst kind and α", "≤ 1.01", means, 1.01),
        extreme("never censored, cost ÷ ignoring, worst seed and α", "≤ 1.05", worst, 1.05),
    ]
    lines = ["## Bars", "", head(["what", "bar", "measured", "met"])]
    for what, bar, found, met in table:
        lines.append(row([what, bar, found, "" if met is None else "✓" if met else "✗"]))
    return [*lines, ""]


def below(values: list[bool], limit: float) -> bool | None:
    """Whether so few are true; None where there are none to say."""
    return bool(np.mean(values) <= limit) if values else None


def extreme(what: str, bar: str, values: dict[str, float], limit: float) -> tuple:
    if not values:
        return what, bar, "–", None
    kind = max(values, key=values.__getitem__)
    above = sum(value > limit for value in values.values())
    words = f"{values[kind]:.3f} ({kind}); above in {above} of {len(values)} kinds"
    return what, bar, words, above == 0


def verdicts(cells: list[Cell]) -> list[str]:
    """One row for each verdict: how often it came, was covered, and cost more than ignoring."""
    rows: list[tuple[str, Callable[[Cell], bool]]] = [
        ("yes, nothing is hidden", lambda cell: cell.says_nothing),
        ("yes, so much", lambda cell: cell.verdict == "yes" and not cell.says_nothing),
        ("weakly", lambda cell: cell.verdict == "weakly"),
        ("no", lambda cell: cell.verdict == "no"),
    ]
    titles = ["verdict", "cases", "covered", "true share", "estimated"]
    titles += ["cost > 1.01 × ignoring at some α", "mean ÷ ignoring", "worst"]
    lines = ["## By verdict", "", head(titles)]
    for words, keep in rows:
        kept = [cell for cell in cells if keep(cell)]
        if kept:
            lines.append(row([words, str(len(kept)), *described(kept)]))
    return [*lines, ""]


def described(cells: list[Cell]) -> list[str]:
    ratios = [cell.relative for cell in cells if cell.relative is not None]
    costs = ["–", "–", "–"]
    if ratios:
        highest = [float(each.max()) for each in ratios]
        costs = [rate(value > 1.01 for value in highest), f"{np.mean(ratios):.3f}"]
        costs.append(f"{max(highest):.3f}")
    shares = [
        f"{100 * np.mean([getattr(c, name) for c in cells]):.0f} %" for name in ("true", "share")
    ]
    return [rate(cell.covered for cell in cells), *shares, *costs]


def groups(cells: list[Cell]) -> list[str]:
    titles = ["group", "cases", "yes / weakly / no", "covered", "true share", "estimated"]
    titles += ["cost > 1.01 × ignoring at some α", "mean ÷ ignoring", "worst"]
    lines = ["## By group", "", head(titles)]
    names = dict.fromkeys(group_of(cell.kind) for cell in cells)
    for name in names:
        kept = [cell for cell in cells if group_of(cell.kind) == name]
        lines.append(row([name, str(len(kept)), counts(kept), *described(kept)]))
    return [*lines, ""]


def counts(cells: list[Cell]) -> str:
    return " / ".join(str(sum(cell.verdict == word for cell in cells)) for word in VERDICTS)


def kinds_table(cells: list[Cell]) -> list[str]:
    titles = ["kind", "true share", "yes / weakly / no", "yes, nothing", "estimated", "covered"]
    titles += ["cost ÷ ignoring, worst α", "worst seed and α", "trained on the truth"]
    lines = ["## By kind", "", head(titles)]
    for kind, several in by_kind(cells).items():
        costs = ["–", "–", "–"]
        relative = summed(several)
        if relative is not None:
            worst = max(float(c.relative.max()) for c in several if c.relative is not None)
            records = [c.record for c in several if "truth" in c.record]
            truth = np.sum([r["truth"] for r in records], axis=0) / np.sum(
                [r["ignoring"] for r in records], axis=0
            )
            costs = [f"{relative.max():.3f}", f"{worst:.3f}", f"{truth.min():.3f}"]
        shares = [
            "–".join(
                dict.fromkeys(
                    f"{100 * f([getattr(c, name) for c in several]):.0f}" for f in (min, max)
                )
            )
            + " %"
            for name in ("true", "share")
        ]
        nothing = sum(cell.says_nothing for cell in several)
        covered = f"{sum(cell.covered for cell in several)} of {len(several)}"
        lines.append(
            row([kind, shares[0], counts(several), str(nothing), shares[1], covered, *costs])
        )
    return [*lines, ""]


def failures(results: dict) -> list[str]:
    failed = {key: r["failed"] for key, r in results["cells"].items() if "failed" in r}
    if not failed:
        return []
    return ["## Failures", "", *(f"- {key}: {words}" for key, words in failed.items()), ""]


# --- the figure -----------------------------------------------------------------------------------

LOOKS = {"yes": ("#D55E00", "o"), "weakly": ("#0072B2", "s"), "no": ("#999999", "^")}
HIGHEST = 1.6  # of the axis of costs


def draw(cells: list[Cell], folder: Path) -> None:
    figure, panels = plt.subplots(
        1, 4, figsize=(13.5, 4.2), layout="constrained", width_ratios=[1, 1, 1, 1.25]
    )
    for panel, verdict in zip(panels, VERDICTS, strict=False):
        tone, mark = LOOKS[verdict]
        kept = [cell for cell in cells if cell.verdict == verdict]
        panel.plot([0, 0.7], [0, 0.7], color="#888888", linewidth=1, linestyle=":")
        for cell in kept:
            ends = cell.record["interval"]
            shade = 0.55 if cell.covered else 0.95
            if ends is not None:
                panel.plot([cell.true] * 2, ends, color=tone, linewidth=0.9, alpha=shade * 0.5)
            face = "white" if cell.covered else tone
            panel.plot(
                cell.true,
                cell.share,
                mark,
                color=tone,
                markerfacecolor=face,
                markersize=4.5,
                alpha=0.85,
            )
        inside = rate(cell.covered for cell in kept)
        panel.set_title(f"“{verdict}”: covered {inside}", loc="left", fontsize=10)
        panel.set_xlabel("true share sold out")
        panel.set_xlim(-0.03, 0.73)
        panel.set_ylim(-0.03, 0.73)
    panels[0].set_ylabel("estimated share, and its interval")
    generator = np.random.default_rng(0)
    for place, verdict in enumerate(VERDICTS):
        tone, mark = LOOKS[verdict]
        for offset, never in ((-0.18, True), (0.18, False)):
            values = [
                float(cell.relative.max())
                for cell in cells
                if cell.verdict == verdict
                and cell.relative is not None
                and (cell.true == 0) == never
            ]
            x = place + offset + 0.07 * generator.standard_normal(len(values))
            face = tone if never else "white"
            panels[3].plot(
                x,
                np.minimum(values, HIGHEST),
                mark,
                color=tone,
                markersize=4,
                alpha=0.7,
                markerfacecolor=face,
            )
    panels[3].axhline(1, color="#888888", linewidth=1)
    panels[3].set_xticks(range(len(VERDICTS)), VERDICTS)
    panels[3].set_ylim(top=HIGHEST + 0.03)
    panels[3].set_title(
        "cost ÷ ignoring at the worst α\n(filled: nothing was hidden)", loc="left", fontsize=10
    )
    for panel in panels:
        panel.grid(color="#e4e4e4", linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    figure.suptitle(
        "open marks: the true share lies in the interval", fontsize=9, x=0.01, ha="left"
    )
    fresh = folder / "reliability.new.svg"
    figure.savefig(fresh, metadata={"Date": None})
    fresh.replace(folder / "reliability.svg")
    plt.close(figure)


def main() -> None:
    chosen, console = arguments(), Console(stderr=True)
    chosen.output.mkdir(parents=True, exist_ok=True)
    path = chosen.output / "reliability.json"
    results: dict = {"setting": {}, "cells": {}}
    if chosen.resume and path.exists():
        results = json.loads(path.read_text())
    if not chosen.page:
        results["setting"] = {**setting(sys.executable), "unmet": version("unmet")}
        measure(results, path, chosen, console)
        if chosen.freshretail:
            for key, record in fresh_cells(chosen.freshretail, chosen.series, console):
                results["cells"][key] = record
                save(path, results)
    write(results, chosen.output)
    console.print(f"{chosen.output / 'reliability.md'}")


if __name__ == "__main__":
    main()
