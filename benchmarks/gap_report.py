"""From costs to a page: the bars, a table of methods for each group, and tables by case."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from gap_bars import Bar, bars
from gap_cases import CASES, GROUPS, LEVELS, NEVER, PAPER, REAL
from gap_methods import METHODS, OPTIMUM, TRUTH, US
from gap_run import (
    HIGH,
    Run,
    closed,
    mean_closed,
    relative,
    worst_closed,
    worst_relative,
)
from report import duration, head, row


def share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def bar_table(run: Run) -> list[str]:
    lines = [head(["where", "known", "what", "bar", "measured", "met"])]
    for bar in bars(run):
        if bar.value is None:
            continue
        measured, bound = (text(bar, value) for value in (bar.value, bar.bound))
        sign, mark = "≥" if bar.at_least else "≤", "✓" if bar.met() else "✗"
        lines.append(row([bar.where, bar.knows, bar.words, f"{sign} {bound}", measured, mark]))
    return lines


def text(bar: Bar, value: float) -> str:
    return f"{100 * value:.1f} %" if bar.percent else f"{value:.4g}"


def group_table(run: Run, group: str) -> list[str]:
    """Methods down: mean over the cases, the worst case, and the worst seed of any case."""
    cases = run.finished(group)
    never = group == NEVER
    columns = ["mean", "worst case", "worst seed", "time"]
    lines = [head(["method", "knows", *columns])]
    for name in run.methods(cases):
        costs = [each for case in cases if len(each := run.four(case, name))]
        if never:
            ratios = [relative(each) for each in costs]
            cells = [f"{np.mean(ratios):.3f}", f"{np.max(ratios):.3f}"]
            cells.append(f"{max(worst_relative(each) for each in costs):.3f}")
        else:
            means = [mean for each in costs if (mean := mean_closed(each)) is not None]
            worst = [least for each in costs if (least := worst_closed(each)) is not None]
            cells = (
                [share(np.mean(means)), share(min(means)), share(min(worst))]
                if means
                else ["–"] * 3
            )
        label = f"**{name}**" if name == US else name
        cells.append(duration(seconds(run, cases, name)))
        lines.append(row([label, METHODS[name].knows, *cells]))
    return lines


def seconds(run: Run, cases: list[str], method: str) -> float:
    """Median time of a trial."""
    records = [run.record(case, seed, method) for case in cases for seed in run.seeds(case)]
    return float(np.median([r["seconds"] for r in records if r and "seconds" in r]))


def case_table(run: Run, case: str) -> list[str]:
    """One case by level: the share of the gap closed, or the cost relative to IEO."""
    never = CASES[case].group == NEVER
    lines = [head(["method", *(f"α = {level:g}" for level in LEVELS), "worst seed"])]
    for name in run.methods([case]):
        costs = run.four(case, name)
        if never:
            cells = [f"{ratio:.3f}" for ratio in relative(costs)]
            cells.append(f"{worst_relative(costs):.3f}")
        else:
            cells = [share(each) for each in closed(costs, LEVELS)] + [share(worst_closed(costs))]
        lines.append(row([f"**{name}**" if name == US else name, *cells]))
    if not never:
        floor = relative(run.four(case, "IEO"), to=2)
        lines.append(row(["*IEO's cost ÷ the floor's*", *(f"{ratio:.3f}" for ratio in floor), ""]))
    return lines


def grid(run: Run, group: str) -> list[str]:
    """Cases down, the methods that know nothing across, and what LatentBand says of itself."""
    cases = run.finished(group)
    names = [
        name
        for name in run.methods(cases)
        if METHODS[name].knows == "nothing" or name in (TRUTH, f"{US}, rate", f"{US}, flags")
    ]
    lines = [head(["case", "censored", *names, "identified"])]
    for case in cases:
        cells = []
        for name in names:
            costs = run.four(case, name)
            if group == NEVER:
                cells.append(f"{relative(costs).max():.3f}" if len(costs) else "")
            else:
                cells.append(share(mean_closed(costs)) if len(costs) else "")
        words = Counter(word for seed in run.seeds(case) for word in run.identified(case, seed, US))
        said = ", ".join(f"{word} {words[word]}" for word in ("yes", "weakly", "no") if words[word])
        lines.append(row([case, share(run.share(case)), *cells, said]))
    return lines


def fingerprint_table(run: Run) -> list[str]:
    lines = [head(["case", "series", "rule accepted", "precision", "recall"])]
    for case in CASES:
        records = [run.record(case, seed, "OrderFingerprint") for seed in run.seeds(case)]
        found = [record for record in records if record and "found" in record]
        if not found:
            continue
        blocks = [block for record in found for block in record["found"]]
        cells = [str(len(blocks)), str(sum(block["accepted"] for block in blocks))]
        for name in ("precision", "recall"):
            values = [record[name] for record in found if record[name] is not None]
            cells.append(f"{np.mean(values):.3f} ({min(values):.3f})" if values else "–")
        lines.append(row([case, *cells]))
    return lines if len(lines) > 1 else []


def page(run: Run) -> str:
    """Return the whole page in Markdown."""
    n_seeds = max((len(run.seeds(case)) for case in CASES), default=0)
    lines = [
        "# Choosing ε: share of the gap closed",
        "",
        "Made by `benchmarks/gap_closed.py`; how to read it: `benchmarks/README.md`.",
        f"Number of seeds: {n_seeds}. {run.setting['cpu']}, Python {run.setting['python']}, "
        f"unmet {run.setting['unmet']}.",
        "",
        "Gap closed = (cost of IEO − cost of the method) ÷ (cost of IEO − floor), on test rows",
        f"whose truth is known. The floor is the {OPTIMUM} where it is known, else the same model",
        f"{TRUTH}. Costs are summed over seeds; means are over α ≥ {HIGH[0]}, but for those where",
        f"even the model {TRUTH} is less than 0.5 % cheaper than IEO (–); the worst seed sums",
        "over the same α. On data that was never censored: cost ÷ IEO's, at all α.",
        "",
        "![Share of the gap closed](gap_closed.svg)",
        "",
        "## What is promised",
        "",
        *bar_table(run),
    ]
    for group in GROUPS:
        if cases := run.finished(group):
            lines += ["", f"## {group[0].upper()}{group[1:]}", "", *group_table(run, group)]
            lines += ["", *grid(run, group)]
            for case in cases if group in (PAPER, REAL) else []:
                censored = f"{100 * run.share(case):.0f} % censored"
                lines += ["", f"### {case} ({censored})", "", *case_table(run, case)]
    if table := fingerprint_table(run):
        lines += ["", "## Order rules found from dates", "", "Mean (worst seed).", "", *table]
    if run.fresh:
        from gap_freshretail import section

        lines += ["", *section(run.fresh)]
    if failures := run.failures():
        lines += ["", "## What did not finish", ""]
        lines += [
            f"- {len(where)} × {words} First: {where[0]}" for words, where in failures.items()
        ]
    return "\n".join(lines) + "\n"


def write(results: dict, folder: Path) -> None:
    """Write gap_closed.md, and gap_closed.svg where matplotlib is present; whole or not at all."""
    run = Run(results)
    fresh = folder / "gap_closed.md.new"
    fresh.write_text(page(run))
    fresh.replace(folder / "gap_closed.md")
    try:
        from gap_figure import draw
    except ImportError:
        return
    draw(run, folder)
