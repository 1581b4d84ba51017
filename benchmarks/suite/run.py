"""The runner: every method on every scenario, into one file of results and one page.

    python -m benchmarks.suite --quick
    python -m benchmarks.suite --data FOLDER --sets "bakery A;fresh" --methods "tobit;unmet"

A cell is one method, told one thing, on one scenario. It is an `Experiment` whose seeds are the
models of the scenario (a series, or a group of series). Finished cells are kept, so that a run that
was stopped goes on; `--again` measures the chosen ones anew.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import Progress
from threadpoolctl import threadpool_limits

from benchmarks.suite import page
from benchmarks.suite.data import DATASETS
from benchmarks.suite.methods import ORACLE, ROWS, SALES, Method
from benchmarks.suite.scenarios import KNOWN, LEVELS, SCENARIOS, rows
from unmet.evaluation.experiment import DataSet, Experiment, Task
from unmet.files import write_text

RESULTS = Path(__file__).parents[1] / "results" / "suite.json"
PACKAGES = ("unmet", "numpy", "scipy", "scikit-learn", "lightgbm", "statsforecast")


class Cell(NamedTuple):
    """One method, told one thing, on one scenario."""

    name: str
    policy: str
    known: str
    method: str

    @property
    def scenario(self) -> str:
        return f"{self.name} {self.policy}"

    @property
    def key(self) -> str:
        return " | ".join((self.scenario, self.known, self.method))


class _Decider:
    """A method as an estimator: `fit` decides, so that all of its time counts."""

    def __init__(self, method: Method, task: Task, instead: Method) -> None:
        self.method, self.task, self.instead = method, task, instead
        self.failed = ""

    def fit(self, told: Any, observation: Any) -> None:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                decided = np.asarray(self.method.decide(told, self.task.level), dtype=float)
                if not np.isfinite(decided).all():
                    raise ValueError("a decision is not finite")
            except Exception as error:  # one series must not end the run
                self.failed = f"{type(error).__name__}: {error}"[:200]
                decided = self.instead.decide(told, self.task.level)
            self.decision = np.ravel(decided)

    def predict(self, told: Any) -> np.ndarray:
        return self.decision


def measure(cell: Cell, quick: bool) -> dict[str, Any]:
    """Mean cost of each model and level, service level, seconds, and what failed."""
    blocks = [each.told(cell.known) for each in rows(cell.name, cell.policy, quick)]
    failed: list[str] = []

    def note(task: Task, model: _Decider, decision: np.ndarray) -> float:
        failed.extend([model.failed] * bool(model.failed))
        return float(bool(model.failed))

    method, instead = ROWS[cell.method], ROWS[SALES]
    found = Experiment(
        data=lambda place: DataSet(blocks[place], None, None, blocks[place].demand_test),
        methods={cell.method: lambda task: _Decider(method, task, instead)},
        levels=LEVELS,
        seeds=range(len(blocks)),
        measures={"failed": note},
        lower=0.0,
    ).run()
    values = {
        name: np.array([found.values(cell.method, level, name) for level in LEVELS]).T
        for name in ("cost", "service_level", "cpu_seconds")
    }
    weight = np.array([each.demand_test.size for each in blocks], dtype=float)
    return {
        "cost": [[float(f"{each:.6g}") for each in one] for one in values["cost"]],
        "served": np.round(weight @ values["service_level"] / weight.sum(), 4).tolist(),
        "seconds": round(float(values["cpu_seconds"].sum() / len(blocks)), 3),
        **({"failed": failed} if failed else {}),
    }


def describe(name: str, policy: str, quick: bool) -> dict[str, Any]:
    blocks = rows(name, policy, quick)
    hidden = np.concatenate([each.censored for each in blocks])
    return {
        "models": len(blocks),
        "rows": int(np.median([each.sales.size for each in blocks])),
        "sold_out": round(float(hidden.mean()), 3),
        "weight": [each.demand_test.size for each in blocks],
    }


def cells(sets: str, methods: str, known: str) -> list[Cell]:
    """Cells that were asked for; without both yardsticks nothing can be compared."""

    def among(text: str, asked: str) -> bool:
        parts = [part.strip().lower() for part in asked.split(";") if part.strip()]
        return not parts or any(part in text.lower() for part in parts)

    return [
        Cell(name, policy, what, method.name)
        for name, policy in SCENARIOS
        if among(f"{name} {policy}", sets)
        for method in ROWS.values()
        for what in method.knows
        if policy != "none" or what in ("nothing", "truth")
        if method.name in (SALES, ORACLE)
        or (among(method.name, methods) and (not known or what in known.split(";")))
    ]


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
        before = json.loads(chosen.output.read_text(encoding="utf-8"))
        if before["setting"]["quick"] == chosen.quick:
            results = before
        else:
            console.print("The results that are there have another size: all is measured anew.")
    results["setting"] |= {"quick": chosen.quick} | setting()
    asked, left_out = [], set()
    for cell in cells(chosen.sets, chosen.methods, chosen.known):
        missing = ROWS[cell.method].missing()
        if cell.name in DATASETS:
            missing = missing or DATASETS[cell.name].missing()
        if missing:
            left_out.add(missing)
        elif chosen.again or cell.key not in results["cells"]:
            asked.append(cell)
    for sentence in sorted(left_out):
        console.print(f"Left out: {sentence}.", style="yellow")
    for name, policy in dict.fromkeys((cell.name, cell.policy) for cell in asked):
        results["scenarios"][f"{name} {policy}"] = describe(name, policy, chosen.quick)
    workers = Parallel(n_jobs=chosen.jobs, return_as="generator")
    found = workers(delayed(measure)(cell, chosen.quick) for cell in asked)
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("", total=len(asked))
        for cell, measured in zip(asked, found, strict=True):
            results["cells"][cell.key] = measured
            save(results, chosen.output)
            bar.update(task, advance=1, description=cell.key)
    page.write(results, chosen.output.with_suffix(".md"))
    console.print(f"{len(asked)} cells measured: {chosen.output.with_suffix('.md')}")
