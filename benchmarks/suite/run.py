"""The runner: every method on every scenario, into one file of results and one page.

    python -m benchmarks.suite --quick
    python -m benchmarks.suite --data FOLDER --sets "bakery A;fresh" --methods "tobit;unmet"

A cell is one method, told one thing, on one scenario. It is an `Experiment` whose seeds are the
models of the scenario (a series, or a group of series) or the origins of a plan. In a shop a
decision changes what is seen later, so `run_shop` takes its place. Finished cells are kept, and a
run that was stopped goes on; cells of `unmet` are measured anew once its code has changed, the
chosen ones with `--again`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import warnings
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import Progress
from threadpoolctl import threadpool_limits

import unmet
from benchmarks.suite import page
from benchmarks.suite.data import DATASETS
from benchmarks.suite.methods import METHODS, YARDSTICKS, Method
from benchmarks.suite.scenarios import KNOWN, LEVELS, SCENARIOS, SHOP_LEVEL, Scenario, Shop
from unmet.evaluation.experiment import DataSet, Experiment, Task
from unmet.files import write_text
from unmet.inventory import SupplyRules
from unmet.simulate import run_shop

RESULTS = Path(__file__).parents[1] / "results" / "suite.json"
PACKAGES = ("unmet", "numpy", "scipy", "scikit-learn", "lightgbm", "statsforecast")


class Cell(NamedTuple):
    """One method, told one thing, on one scenario."""

    scenario: Scenario
    known: str
    method: str

    @property
    def key(self) -> str:
        return " | ".join(map(str, self))


class _Decider:
    """A method as an estimator: `fit` decides, so that all of its time counts."""

    def __init__(self, method: Method, level: float, instead: Method) -> None:
        self.method, self.level, self.instead, self.failed = method, level, instead, ""

    def fit(self, unit: Any, observation: Any) -> None:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                decided = unit.read(np.asarray(self.method.decide(unit, self.level), dtype=float))
                if not np.isfinite(decided).all():
                    raise ValueError("a decision is not finite")
            except Exception as error:  # one series must not end the run
                self.failed = f"{type(error).__name__}: {error}"[:200]
                decided = unit.read(self.instead.decide(unit.told("nothing"), self.level))
            self.decision = decided

    def predict(self, unit: Any) -> np.ndarray:
        return self.decision


def measure(cell: Cell, quick: bool) -> dict[str, Any]:
    """Mean cost by unit and level, service level, CPU seconds of a unit, and what failed."""
    units = [each.told(cell.known) for each in cell.scenario.units(quick)]
    methods = METHODS[cell.scenario.form]
    method, instead = methods[cell.method], methods[YARDSTICKS[cell.scenario.form][0]]
    if cell.scenario.form == "shop":
        return live(units[0], method)
    failed: list[str] = []

    def note(task: Task, model: _Decider, decision: np.ndarray) -> float:
        failed.extend([model.failed] * bool(model.failed))
        return float(bool(model.failed))

    found = Experiment(
        data=lambda place: DataSet(units[place], None, None, units[place].truth),
        methods={cell.method: lambda task: _Decider(method, task.level, instead)},
        levels=LEVELS,
        seeds=range(len(units)),
        measures={"failed": note},
        lower=0.0,
    ).run()
    cost, served, seconds = (
        np.array([found.values(cell.method, level, name) for level in LEVELS]).T
        for name in ("cost", "service_level", "cpu_seconds")
    )
    weight = np.array([each.truth.size for each in units], dtype=float)
    said = any(each.said for each in units)
    return {
        "cost": _rounded(cost),
        "served": np.round(weight @ served / weight.sum(), 4).tolist(),
        "seconds": round(float(seconds.sum() / len(units)), 3),
        **({"failed": failed} if failed else {}),
        **({"said": [each.said for each in units]} if cell.known == "nothing" and said else {}),
    }


def live(shop: Shop, method: Method) -> dict[str, Any]:
    """Let a method order for a shop; mean cost of a day by series, after the first four weeks."""
    rules = SupplyRules(shelf_life=1, holding=1 - SHOP_LEVEL, shortage=SHOP_LEVEL, lot=1.0)
    start = process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = run_shop(
            shop.demand,
            {"": method.decide(shop, SHOP_LEVEL)},
            rules,
            n_before=shop.n_before,
            history_stock=shop.stock_before,
            first_day=shop.first_day,
        )
    cost, served = run[""].cost[:, 28:], ~run[""].sold_out[:, 28:]
    return {
        "cost": _rounded(cost.mean(axis=1)[:, None]),
        "served": [round(float(served.mean()), 4)],
        "seconds": round(process_time() - start, 3),
    }


def _rounded(cost: np.ndarray) -> list[list[float]]:
    return [[float(f"{each:.6g}") for each in one] for one in cost]


def describe(scenario: Scenario, quick: bool) -> dict[str, Any]:
    """Units, their rows, the share of days that sold out, and test rows of each unit."""
    units = scenario.units(quick)
    if scenario.form == "shop":
        (shop,) = units
        names = [1] * len(shop.names)
        return {"quick": quick, "units": len(names), "rows": shop.n_before, "weight": names}
    rate = float(np.mean([np.mean(each.censored) for each in units]))
    return {
        "quick": quick,
        "units": len(units),
        "rows": int(np.median([each.sales.size for each in units])),
        "sold_out": round(rate, 3),
        "true": [round(float(np.mean(each.censored)), 4) for each in units],
        "weight": [each.truth.size for each in units],
    }


def cells(sets: str, methods: str, known: str, quick: bool) -> list[Cell]:
    """Cells that were asked for; without both yardsticks nothing can be compared."""

    def among(text: str, asked: str) -> bool:
        parts = [part.strip().lower() for part in asked.split(";") if part.strip()]
        return not parts or any(part in text.lower() for part in parts)

    return [
        Cell(scenario, what, method.name)
        for scenario in SCENARIOS
        if among(str(scenario), sets)
        for method in METHODS[scenario.form].values()
        for what in method.knows
        if not (quick and what in method.full)
        if not scenario.uncensored or what in ("nothing", "truth")
        if method.name in YARDSTICKS[scenario.form]
        or (among(method.name, methods) and (not known or what in known.split(";")))
    ]


@cache
def code() -> str:
    """Short digest of the package: what was measured with other code is measured again."""
    files = sorted(Path(unmet.__file__).parent.rglob("*.py"))
    return sha256(b"".join(each.read_bytes() for each in files)).hexdigest()[:12]


def stale(cell: Cell, kept: dict[str, Any]) -> bool:
    found = kept.get(cell.key)
    return found is None or ("unmet" in cell.method and found.get("code") != code())


def setting() -> dict[str, Any]:
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {"python": platform.python_version(), **versions}


def save(results: dict[str, Any], path: Path) -> None:
    """Write in one step, a line for each cell, so that an interrupted run leaves a whole file."""
    sections = [
        f"{json.dumps(name)}: {{\n"
        + ",\n".join(f"{json.dumps(key)}: {json.dumps(each)}" for key, each in content.items())
        + "\n}"
        for name, content in results.items()
    ]
    write_text(path, "{\n" + ",\n".join(sections) + "\n}\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.suite", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--quick", action="store_true", help="few series; about ten minutes")
    parser.add_argument("--data", help="folder with sets that are not bundled (or UNMET_DATA)")
    parser.add_argument("--sets", default="", help='parts of names, joined by ";"')
    parser.add_argument("--methods", default="", help='parts of names, joined by ";"')
    parser.add_argument("--known", default="", help=f'of {", ".join(KNOWN)}, joined by ";"')
    parser.add_argument("--again", action="store_true", help="measure anew what is there already")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--output", type=Path, default=RESULTS)
    chosen, console = parser.parse_args(), Console(stderr=True)
    if chosen.data:
        os.environ["UNMET_DATA"] = chosen.data
    unknown = set(filter(None, chosen.known.split(";"))) - set(KNOWN)
    if unknown:
        parser.error(f"--known must be of {', '.join(KNOWN)}, got {', '.join(sorted(unknown))}")
    results: dict[str, Any] = {"setting": {}, "scenarios": {}, "cells": {}}
    if chosen.output.exists():
        results = json.loads(chosen.output.read_text(encoding="utf-8"))
    results["setting"] |= setting()
    wanted = cells(chosen.sets, chosen.methods, chosen.known, chosen.quick)
    for name in {str(cell.scenario) for cell in wanted}:
        if results["scenarios"].get(name, {}).get("quick", chosen.quick) != chosen.quick:
            console.print(f"{name}: the results that are there have another size, and go.")
            kept = results["cells"].items()
            results["cells"] = {k: v for k, v in kept if not k.startswith(f"{name} | ")}
    asked, left_out = [], set()
    for cell in wanted:
        missing = METHODS[cell.scenario.form][cell.method].missing()
        if cell.scenario.name in DATASETS:
            missing = missing or DATASETS[cell.scenario.name].missing()
        if missing:
            left_out.add(missing)
        elif chosen.again or stale(cell, results["cells"]):
            asked.append(cell)
    for sentence in sorted(left_out):
        console.print(f"Left out: {sentence}.", style="yellow")
    for scenario in dict.fromkeys(cell.scenario for cell in asked):
        results["scenarios"][str(scenario)] = describe(scenario, chosen.quick)
    workers = Parallel(n_jobs=chosen.jobs, return_as="generator")
    found = workers(delayed(measure)(cell, chosen.quick) for cell in asked)
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("", total=len(asked))
        for cell, measured in zip(asked, found, strict=True):
            results["cells"][cell.key] = measured | {"code": code()}
            save(results, chosen.output)
            bar.update(task, advance=1, description=cell.key)
    page.write(results, chosen.output.with_suffix(".md"))
    console.print(f"{len(asked)} cells measured: {chosen.output.with_suffix('.md')}")
