"""Page and figure of `alternatives.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from alternatives_methods import CASES, IGNORING, LEVELS, METHODS, OPTIMUM, TRUTH, WORDS

FEATURES = (
    # what a package does with rows like these, as used here and as its documentation says
    ("", "sales that hide demand, not known where", "flags", "costs per row", "says how sure",
     "exact line", "trees, networks", "more rows than memory"),
    ("unmet", "yes, if the data can tell", "yes", "yes", "yes: identified or not, interval, range",
     "yes", "yes", "yes"),
    ("mean + safety stock", "no", "no", "no", "no", "least squares", "no", "no"),
    ("scikit-learn", "no", "no", "no", "no", "yes", "yes, without flags", "no"),
    ("statsmodels", "no", "Tobit, to be written", "no", "standard errors, not of what is hidden",
     "to 1e-8", "no", "no"),
    ("lifelines", "no", "yes, also left and interval", "no",
     "standard errors, tests, plots; not of what is hidden", "no (assumes a distribution)", "no",
     "no"),
    ("R quantreg", "no", "yes (`crq`)", "no", "rich inference; not of what is hidden", "yes", "no",
     "no"),
    ("ddop", "no", "no", "no", "no", "yes, by a generic solver", "forests, a network", "no"),
    ("ReHLine", "no", "no", "yes, by hinges", "no", "to a ridge", "no", "no"),
    ("LightGBM", "no", "no", "no", "no", "no", "trees", "partly"),
)  # fmt: skip


class Run:
    """Costs of a case: sums over seeds before anything is divided."""

    def __init__(self, results: dict) -> None:
        self.setting, self.cells = results["setting"], results["cells"]
        self.trials = results["trials"]

    def seeds(self, case: str) -> list[str]:
        return [key.split("|")[1] for key in self.trials if key.startswith(f"{case}|")]

    def records(self, case: str, method: str) -> list[dict]:
        keys = [f"{case}|{seed}|{method}" for seed in self.seeds(case)]
        return [self.cells[key] for key in keys if key in self.cells]

    def cost(self, case: str, method: str) -> np.ndarray | None:
        """Mean cost at each level (nan: no answer); None unless all seeds are there."""
        found = self.records(case, method)
        if not found or len(found) < len(self.seeds(case)) or any("cost" not in r for r in found):
            return None
        return np.mean(np.array([record["cost"] for record in found], dtype=float), axis=0)

    def seconds(self, case: str, method: str) -> float:
        return float(np.mean([record["seconds"] for record in self.records(case, method)]))

    def floor(self, case: str) -> np.ndarray | None:
        best = self.cost(case, OPTIMUM)
        return self.cost(case, TRUTH) if best is None else best

    def closed(self, case: str, method: str) -> float | None:
        """Share of the gap between ignoring censoring and the floor, over all levels together."""
        cost, ignoring, floor = self.cost(case, method), self.cost(case, IGNORING), self.floor(case)
        if cost is None or ignoring is None or floor is None:
            return None
        share = float((ignoring - cost).sum() / (ignoring - floor).sum())
        return share if np.isfinite(share) else None


def number(value: float) -> str:
    return f"{value:.3g}" if value < 1 else f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def table(run: Run, case: str) -> list[str]:
    heads = ["method", "knows", *(f"α = {level:g}" for level in LEVELS), "gap closed", "CPU s"]
    lines = [f"| {' | '.join(heads)} |", "| --- | --- |" + " ---: |" * (len(heads) - 2)]
    for name, method in METHODS.items():
        cost = run.cost(case, name)
        if cost is None:
            continue
        share = run.closed(case, name)
        shown = f"**{name}**" if method.ours else name
        cells = [
            shown,
            method.knows,
            *("none" if np.isnan(value) else f"{value:.2f}" for value in cost),
        ]
        cells += [
            "–" if share is None else f"{round(100 * share)} %",
            number(run.seconds(case, name)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def left_out(run: Run) -> list[str]:
    said: dict[str, list[str]] = {}
    for key, record in run.cells.items():
        if "cost" not in record:
            case, seed, name = key.split("|")
            words = record.get("missing") or record["failed"]
            said.setdefault(f"{name}: {words}", []).append(f"{case}, seed {seed}")
    return [f"- {words} ({'; '.join(where)})" for words, where in said.items()]


def page(run: Run) -> str:
    packages = ", ".join(f"{name} {number}" for name, number in run.setting["versions"].items())
    lines = [
        "# Alternatives on the same rows",
        "",
        "Made by `benchmarks/alternatives.py`; how to read it: `benchmarks/README.md`.",
        f"{run.setting['cpu'].split(' Processor')[0]}, Python {run.setting['python']}; {packages}.",
        "",
        "Cost: mean of a test row on its true demand, underage α and overage 1 − α. Gap closed:",
        "share of the way from a line that takes sales for demand (IEO) to the true quantile,",
        "where it is known, else to the same line trained on demand; costs are summed over the",
        "three α and over seeds first. More than 100 % is possible where the floor is a line and",
        "demand is none. CPU seconds are for all three α together, one thread, nine models for",
        "the bakery; the machine had other work, so factors below two mean little.",
        "",
        "![Gap closed by each method](alternatives.svg)",
    ]
    for case in CASES:
        if not run.seeds(case):
            continue
        trials = [run.trials[f"{case}|{seed}"] for seed in run.seeds(case)]
        share = np.mean([trial["share"] for trial in trials])
        words = f"{len(trials)} seeds" if len(trials) > 1 else "one history"
        lines += ["", f"## {case}", ""]
        lines += [
            f"{WORDS[case][0].upper()}{WORDS[case][1:]}. {trials[0]['rows']:,} rows, "
            f"{trials[0]['columns']} columns, {100 * share:.0f} % sold out; {words}.",
            "",
        ]
        lines += table(run, case)
    lines += ["", "A Tobit model without flags is the same as mean + safety stock.", ""]
    lines += ["## What each can do", ""]
    lines += ["Read from documentation, as far as we know it; this table is not measured.", ""]
    lines += [f"| {' | '.join(FEATURES[0])} |"]
    lines += ["|" + " --- |" * len(FEATURES[0])]
    lines += [f"| {' | '.join(row)} |" for row in FEATURES[1:]]
    if words := left_out(run):
        lines += ["", "## What is not in the tables", "", *words]
    return "\n".join(lines) + "\n"


def write(results: dict, folder: Path) -> None:
    """Write alternatives.md, and the figure where matplotlib is present; whole or not at all."""
    run = Run(results)
    fresh = folder / "alternatives.md.new"
    fresh.write_text(page(run))
    fresh.replace(folder / "alternatives.md")
    try:
        from alternatives_figure import draw
    except ImportError:
        return
    draw(run, folder)
