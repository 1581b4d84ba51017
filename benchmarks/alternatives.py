"""What people would use instead of unmet: the same rows, decisions evaluated on the true demand.

usage: python benchmarks/alternatives.py [--seeds N] [--cases ...] [--methods ...] [--resume]

Each method decides for test rows at three levels α; the evaluator prices the decisions on the
demand. Results go to results/alternatives.json after each cell, and from there to alternatives.md
and alternatives.svg. A package that is missing is named, and its rows are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import alternatives_report as report
import numpy as np
from alternatives_methods import (
    CASES,
    COSTS,
    DDOP_PYTHON,
    LIMIT,
    METHODS,
    OPTIMUM,
    Elsewhere,
    Method,
    run,
    seeds_of,
)
from gap_cases import Trial, among, parts
from linear import HERE, save, setting
from threadpoolctl import threadpool_limits

PACKAGES = ("unmet", "numpy", "scikit-learn", "statsmodels", "lifelines", "rehline", "lightgbm")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", default="", help="parts of names, joined by ;")
    parser.add_argument("--methods", default="", help="parts of names, joined by ;")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds (3)")
    parser.add_argument("--limit", type=float, default=120, help="seconds for one ddop or R model")
    parser.add_argument("--ddop-python", default="", help="interpreter that has ddop")
    parser.add_argument("--resume", action="store_true", help="keep the cells already measured")
    parser.add_argument("--page", action="store_true", help="only write page and figure again")
    parser.add_argument("--output", type=Path, default=HERE / "results")
    chosen = parser.parse_args()
    chosen.resume |= chosen.page
    try:
        chosen.cases = select("cases", list(CASES), chosen.cases)
        chosen.methods = select("methods", list(METHODS), chosen.methods)
    except ValueError as error:
        parser.error(str(error))
    return chosen


def select(what: str, names: list[str], text: str) -> list[str]:
    """Names that contain one of the parts; all of them without any."""
    wanted = parts(text)
    for part in wanted:
        if not among(names, part):
            raise ValueError(f"{what} must be parts of {'; '.join(names)}; got {part}.")
    chosen = {name for part in wanted for name in among(names, part)}
    return [name for name in names if not wanted or name in chosen]


def measure(method: Method, trial: Trial) -> dict:
    """Mean cost of the test rows at each level, and processor seconds for all levels together."""
    total, rows, seconds = np.zeros(len(COSTS)), 0, 0.0
    for block in trial.blocks:
        start = time.process_time()
        with threadpool_limits(1):
            decided = run(method, block)
        spent = time.process_time() - start
        seconds += decided.seconds if isinstance(decided, Elsewhere) else spent
        total += [
            cost.cost(np.maximum(decision, 0.0), block.demand_test).sum()
            if np.isfinite(decision).all()
            else np.nan  # no answer at this level
            for cost, decision in zip(COSTS, decided, strict=True)
        ]
        rows += len(block.demand_test)
    means = [float(f"{mean:.7g}") if np.isfinite(mean) else None for mean in total / rows]
    if means.count(None) == len(means):
        raise RuntimeError("gives no answer at any α")
    return {"cost": means, "seconds": round(seconds, 4)}


def one(method: Method, trial: Trial) -> dict:
    """Measure a cell, or keep the sentence that says why not."""
    if words := method.missing():
        return {"missing": words}
    try:
        return measure(method, trial)
    except Exception as error:  # one peer's failure must not end the run
        return {"failed": f"{type(error).__name__}: {error}"[:200]}


def versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def measure_all(results: dict, path: Path, chosen: argparse.Namespace) -> None:
    for case in chosen.cases:
        for seed in seeds_of(case, chosen.seeds):
            trial = CASES[case](seed)
            results["trials"][f"{case}|{seed}"] = trial.describe()
            for name in chosen.methods:
                key = f"{case}|{seed}|{name}"
                if name == OPTIMUM and trial.blocks[0].optimum is None:
                    continue
                if "cost" in results["cells"].get(key, {}):
                    continue
                results["cells"][key] = one(METHODS[name], trial)
                save(path, results)
                print(key, results["cells"][key], file=sys.stderr, flush=True)


def main() -> None:
    chosen = arguments()
    os.environ[LIMIT] = str(chosen.limit)
    if chosen.ddop_python:
        os.environ[DDOP_PYTHON] = chosen.ddop_python
    chosen.output.mkdir(parents=True, exist_ok=True)
    path = chosen.output / "alternatives.json"
    results: dict = {"setting": {}, "trials": {}, "cells": {}}
    if chosen.resume and path.exists():
        results = json.loads(path.read_text())
    if not chosen.page:
        # of packages that were measured before and are not here now, the version from then
        before = results["setting"].get("versions", {})
        results["setting"] = {**setting(sys.executable), "versions": {**before, **versions()}}
        measure_all(results, path, chosen)
        save(path, results)
    report.write(results, chosen.output)
    print(chosen.output / "alternatives.md", file=sys.stderr)


if __name__ == "__main__":
    main()
