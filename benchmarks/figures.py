"""Numbers of README and docs: written from `results/` into marked places.

usage: python -m benchmarks.figures          # write them, after results were measured anew

A mark names the number, and what stands in it is replaced::

    <!-- result: recovered; Tobit; flags -->93%<!-- end -->

`FIGURES` has every first word; what follows are its arguments. A test fails where a page and the
results differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from itertools import dropwhile, takewhile
from math import log
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.suite.page import Results, leaderboard, losses

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
MARK = re.compile(r"(<!-- result: (.+?) -->)(.*?)(<!-- end -->)", re.DOTALL)
GROUPS = {
    "real": ("rows", False, ("simulated",)),
    "uncensored": ("rows", True, ("simulated",)),
    "simulated uncensored": ("rows", True, ("bakery", "restaurant", "M5")),
    "plans": ("plan", False, ()),
    "plans uncensored": ("plan", True, ()),
    "shops": ("shop", False, ()),
}
"""Groups of scenarios: their form, whether nothing is hidden, and which sets do not count."""


@cache
def results(name: str) -> Any:
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def suite() -> Results:
    return Results(results("suite.json"))


def scenarios(group: str) -> list[str]:
    """Scenarios of a group that were measured; or the one of that name."""
    if group not in GROUPS:
        return [group]
    form, uncensored, without = GROUPS[group]
    found = suite().scenarios(form, uncensored)
    return [each for each in found if not each.startswith(without or ("-",))]


def _mean(measure: Callable[..., Any], method: str, known: str, group: str) -> float:
    names = scenarios(group)
    values = [value for each in names if (value := measure(each, known, method)) is not None]
    if not values:
        raise SystemExit(f"suite.json must have {method}, told {known}, on {group}: measure it.")
    return fmean(value for value, _ in values)


def recovered(method: str, known: str, group: str = "real") -> str:
    """Share of the avoidable cost recovered, mean over scenarios."""
    return f"{_mean(suite().recovered, method, known, group):.0f}%".replace("-", "−")


def ratio(method: str, known: str, group: str) -> str:
    """Cost divided by the oracle's, mean over scenarios."""
    return f"{_mean(suite().ratio, method, known, group):.2f}"


def best(known: str, group: str, *left_out: str) -> str:
    """The cheapest method that is not ours, with its cost divided by the oracle's."""
    names = [
        each
        for each in suite().methods((known,), scenarios(group))
        if not each.startswith(("unmet", *left_out))
    ]
    costs = {name: _mean(suite().ratio, name, known, group) for name in names}
    name = min(costs, key=costs.__getitem__)
    return f"{name} {costs[name]:.2f}"


def count(group: str) -> str:
    """How many scenarios a group has."""
    return str(len(scenarios(group)))


def verdict(hidden: str, word: str) -> str:
    """How often a diagnosis of sales alone said so, where something is hidden or nothing is."""
    return str(suite().verdicts(uncensored=hidden == "nothing hidden")[word])


def size() -> str:
    """How many series were measured."""
    few = {name.split()[0] for name, each in suite().results["scenarios"].items() if each["quick"]}
    forms = [form for form in ("plan", "shop") if form in few]
    if few - {"plan", "shop"}:
        return "quick form: two or three series or weeks a scenario"
    return f"full form; {' and '.join(f'{form}s' for form in forms)} quick" if few else "full form"


def lost() -> str:
    """In how many scenarios another method is ahead."""
    return str(max(len(losses(suite())) - 2, 0))


def losing() -> str:
    """Table of the scenarios in which another method is ahead, the largest distance first."""
    return "\n\n" + "\n".join(losses(suite())) + "\n\n"


def table(known: str, group: str) -> str:
    """A leaderboard, without a column for each scenario."""
    told, shares = tuple(each.strip() for each in known.split(",")), group == "real"
    lines = leaderboard(suite(), told, scenarios(group), ratio=not shares, wide=False)
    return "\n\n" + "\n".join(lines) + "\n\n"


def seconds(case: str, solver: str = "unmet", digits: str = "2") -> str:
    """Seconds of an exact fit."""
    return f"{min(results('linear.json')['pairs'][f'{case}|{solver}']['seconds']):.{digits}f} s"


SPEED = {
    "least squares": ("least squares",),
    "`unmet`": ("unmet",),
    "R quantreg": ("R fnb", "R pfn", "R sfn"),
    "ReHLine": ("ReHLine",),
    "pyfixest": ("pyfixest fn", "pyfixest pfn"),
    "scipy HiGHS": ("scipy dual highs-ds", "scipy dual highs-ipm"),
    "statsmodels": ("statsmodels",),
    "scikit-learn": ("scikit-learn highs", "scikit-learn highs-ipm"),
}
"""Columns of the table of exact fits; the best of several solvers counts."""
SIZES = {
    "store10": "3,294 × 26, the paper's data",
    "dense-1e5": "100,000 × 50",
    "dense-1e6": "1,000,000 × 50",
    "dense-1e7": "10,000,000 × 20",
    "sparse-1e6": "1,000,000 × 5,000, one-hot",
}


def speed() -> str:
    """Table of the seconds of fits that reach the optimum to 1e-6, with a band in brackets."""
    pairs = results("linear.json")["pairs"]

    def best_of(case: str, solvers: tuple[str, ...]) -> str:
        least = pairs[f"{case}|unmet"]["objective"]
        most = least + 1e-6 * abs(least) if solvers != ("least squares",) else float("inf")
        found = [pairs[f"{case}|{each}"] for each in solvers if f"{case}|{each}" in pairs]
        done = [each for each in found if each.get("seconds")]
        times = [min(each["seconds"]) for each in done if each["objective"] <= most]
        if times:
            time = min(times)
            if time < 0.1:
                return f"{1000 * time:.2g} ms"
            return f"{time:.2g} s" if time < 10 else f"{time:.0f} s"
        limits = [each["limit"] for each in found if each.get("failed") == "limit"]
        return f"over {limits[0]:.0f} s" if limits else ""

    lines = [f"| rows × columns | {' | '.join(SPEED)} |", "|---|" + "---:|" * len(SPEED)]
    for case, size in SIZES.items():
        cells = []
        for solvers in SPEED.values():
            plain, band = (best_of(each, solvers) for each in (case, f"{case}+band"))
            cells.append(f"{plain} ({band})" if plain and band else plain)
        lines.append(f"| {size} | {' | '.join(cells)} |")
    return "\n\n" + "\n".join(lines) + "\n\n"


def wall(case: str) -> str:
    """Seconds of a fit by Dask."""
    return f"{results('scale.json')['cases'][case]['wall']:.0f} s"


def growth(kind: str) -> str:
    """Table of the CPU time and memory of plans against what grows, and by which power."""
    name = "days" if kind == "days" else "series"
    memory = "worker" if kind == "dask" else "bytes"
    found = [each for each in results("plans.json") if each["kind"] == kind]
    found.sort(key=lambda each: int(each[name]))
    size = {"series": "number of series", "days": "days of history"}
    held = "memory of each worker" if kind == "dask" else "memory"
    lines = [f"| {size[name]} | CPU time | power | {held} |"]
    lines.append("|---:|---:|---:|---:|")
    for before, each in zip([None, *found], found, strict=False):
        power = "" if before is None else f"{power_of(each, before, name):.2f}"
        time = f"{each['cpu']:,.1f}" if each["cpu"] < 100 else f"{each['cpu']:,.0f}"
        lines.append(f"| {each[name]:,} | {time} s | {power} | {each[memory] / 1e9:.2f} GB |")
    return "\n\n" + "\n".join(lines) + "\n\n"


def power_of(larger: dict[str, Any], smaller: dict[str, Any], name: str) -> float:
    """By which power of a size CPU time grew."""
    return log(larger["cpu"] / smaller["cpu"]) / log(larger[name] / smaller[name])


def rows_power(smaller: str, larger: str) -> str:
    """By which power of the number of rows the CPU time of a fit on two workers grew."""
    every = results("scale.json")["cases"]
    few, many = ({**every[f"{n} 20 dask2"], "rows": int(n)} for n in (smaller, larger))
    return f"{power_of(many, few, 'rows'):.2f}"


def cell(name: str, start: str, column: str) -> str:
    """A whole percentage in a table of a page that a benchmark wrote: of the row that begins so."""
    rows = (RESULTS / name).read_text(encoding="utf-8").splitlines()
    row = next(row for row in rows if row.startswith(f"| {start.replace('/', ' | ')}"))
    found = row.strip("|").split("|")[int(column)].strip(" *%").replace("−", "-")
    return f"{float(found):.0f}%".replace("-", "−")


def _after(name: str, start: str) -> list[str]:
    """Lines of a page that a benchmark wrote, from the first that begins so."""
    lines = (RESULTS / name).read_text(encoding="utf-8").splitlines()
    place = next((at for at, line in enumerate(lines) if line.startswith(start)), None)
    if place is None:
        raise SystemExit(f"{name} must have a line that begins with {start!r}.")
    return lines[place:]


def copied(name: str, start: str) -> str:
    """The first table after a line that begins so, of a page that a benchmark wrote."""
    lines = dropwhile(lambda line: not line.startswith("|"), _after(name, start))
    return "\n\n" + "\n".join(takewhile(lambda line: line.startswith("|"), lines)) + "\n\n"


def rest(name: str, start: str) -> str:
    """What follows in a line that begins so, of a page that a benchmark wrote."""
    return _after(name, start)[0].removeprefix(start).strip(" .:")


FIGURES: dict[str, Callable[..., str]] = {
    each.__name__: each
    for each in (
        recovered,
        ratio,
        best,
        count,
        verdict,
        size,
        lost,
        losing,
        table,
        speed,
        seconds,
        wall,
        growth,
        rows_power,
        cell,
        copied,
        rest,
    )
}


def renewed(text: str) -> str:
    """Return a page with all marked numbers as the results have them."""

    def replace(mark: re.Match[str]) -> str:
        name, *arguments = (part.strip() for part in mark[2].split(";"))
        return f"{mark[1]}{FIGURES[name](*arguments)}{mark[4]}"

    return MARK.sub(replace, text)


def pages() -> list[Path]:
    """README and every page of the documentation."""
    docs = (ROOT / "docs").rglob("*.md")
    return [ROOT / "README.md", *(each for each in docs if "_build" not in each.parts)]


def main() -> None:
    for path in pages():
        text = path.read_text(encoding="utf-8")
        new = renewed(text)
        if new != text:
            path.write_text(new, encoding="utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
