"""Every rule for choosing ε on data whose truth is known: how much of the gap does it close?

usage: python benchmarks/gap_closed.py [--quick] [--cases ...] [--methods ...] [--resume]

Every method is given the same training rows and is told what its row of the table says; its
decisions for the test rows are priced on the truth. Results go to results/gap_closed.json after
each trial (a case and a seed), and from there to gap_closed.md and gap_closed.svg.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.metadata import version
from pathlib import Path

import gap_report
from gap_cases import CASES, QUICK, Case, Trial, among, select
from gap_methods import METHODS, YARDSTICKS
from gap_report import key
from linear import HERE, setting
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from threadpoolctl import threadpool_limits


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", default="", help="parts of names or groups, joined by ;")
    parser.add_argument("--methods", default="", help="parts of names, joined by ;")
    parser.add_argument("--seeds", type=int, help="number of seeds (10)")
    parser.add_argument("--quick", action="store_true", help="a few cases, two seeds")
    parser.add_argument("--jobs", type=int, default=1, help="processes, one thread each (1)")
    parser.add_argument("--resume", action="store_true", help="keep the cells already measured")
    parser.add_argument("--again", action="store_true", help="but measure the chosen ones anew")
    parser.add_argument("--freshretail", type=Path, help="daily table of FreshRetailNet-50K")
    parser.add_argument("--pricing", action="store_true", help="prices instead of orders")
    parser.add_argument("--page", action="store_true", help="only write page and figure again")
    parser.add_argument("--output", type=Path, default=HERE / "results")
    chosen = parser.parse_args()
    chosen.seeds = chosen.seeds or (2 if chosen.quick else 10)
    chosen.resume |= chosen.again or chosen.page
    try:
        chosen.cases = cases(chosen)
        chosen.methods = methods(parts(chosen.methods))
    except ValueError as error:
        parser.error(str(error))
    return chosen


def parts(text: str) -> list[str]:
    return [part.strip().lower() for part in text.split(";") if part.strip()]


def cases(chosen: argparse.Namespace) -> list[Case]:
    if chosen.cases:
        return select(parts(chosen.cases))
    return [CASES[name] for name in QUICK] if chosen.quick else list(CASES.values())


def methods(wanted: list[str]) -> list[str]:
    """Names of the methods; the yardsticks take part in every run."""
    chosen = set(YARDSTICKS) if wanted else set(METHODS)
    for part in wanted:
        found = among(list(METHODS), part)
        if not found:
            raise ValueError(f"methods must be parts of {'; '.join(METHODS)}; got {part}.")
        chosen.update(found)
    return [name for name in METHODS if name in chosen]


def one(method: str, trial: Trial) -> dict:
    """Measure a cell, or keep the sentence that says why not."""
    try:
        with threadpool_limits(1):
            return METHODS[method].run(trial)
    except Exception as error:  # one method's failure must not end the run
        return {"failed": f"{method}: {type(error).__name__}: {error}"[:300]}


def measured(name: str, seed: int, names: list[str]) -> tuple[dict, dict[str, dict]]:
    """Build a trial and measure the methods on it; runs in a process of its own if asked."""
    case = CASES[name]
    trial = case.load(seed)
    chosen = [method for method in names if METHODS[method].fits(case, trial)]
    return trial.describe(), {key(name, seed, method): one(method, trial) for method in chosen}


def missing(case: Case, seed: int, chosen: argparse.Namespace, cells: dict) -> list[str]:
    """Methods still to be measured on a trial."""

    def settled(name: str) -> bool:
        record = cells.get(key(case.name, seed, name))
        anew = chosen.again and name not in YARDSTICKS
        return record is not None and "failed" not in record and not anew

    return [name for name in chosen.methods if METHODS[name].available and not settled(name)]


def measure(results: dict, path: Path, chosen: argparse.Namespace, console: Console) -> None:
    """Measure what is missing, trial by trial; an interruption loses nothing that is finished."""
    todo = [
        (case.name, seed, names)
        for seed in range(chosen.seeds)
        for case in chosen.cases
        if (names := missing(case, seed, chosen, results["cells"]))
    ]
    columns = (TextColumn("{task.description:44}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("", total=len(todo))
        try:
            for (name, seed, _), (trial, cells) in finished(todo, chosen.jobs, progress, task):
                results["trials"][f"{name}|{seed}"] = trial
                results["cells"].update(cells)
                save(path, results)
                progress.advance(task)
        except KeyboardInterrupt:
            progress.console.print("Interrupted; --resume goes on from here.")


def finished(todo: list[tuple], jobs: int, progress: Progress, task: TaskID) -> Iterator[tuple]:
    """Trials with their results, as they come; with one job in this very process."""
    if jobs == 1:
        for each in todo:
            progress.update(task, description=f"{each[0]}, seed {each[1]}")
            yield each, measured(*each)
        return
    pool = ProcessPoolExecutor(jobs)
    try:
        running = {pool.submit(measured, *each): each for each in todo}
        for future in as_completed(running):
            progress.update(task, description=f"{running[future][0]}, seed {running[future][1]}")
            yield running[future], future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def save(path: Path, results: dict) -> None:
    """Write in one step, a line for each cell, so that an interrupted run leaves a whole file."""
    fresh = path.with_suffix(".new")
    sections = []
    for name, content in results.items():
        lines = [f"{json.dumps(inner)}: {json.dumps(value)}" for inner, value in content.items()]
        sections.append(f"{json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n}")
    fresh.write_text("{\n" + ",\n".join(sections) + "\n}\n")
    fresh.replace(path)


def main() -> None:
    chosen, console = arguments(), Console(stderr=True)
    chosen.output.mkdir(parents=True, exist_ok=True)
    if chosen.pricing:
        from gap_closed_pricing import write

        write(chosen.output, chosen.seeds, chosen.jobs, console)
        return
    path = chosen.output / "gap_closed.json"
    results = {"setting": {}, "trials": {}, "cells": {}}
    if chosen.resume and path.exists():
        results = json.loads(path.read_text())
    if not chosen.page:
        results["setting"] = {**setting(sys.executable), "unmet": version("unmet")}
        absent = sorted({m.needs for m in METHODS.values() if not m.available})
        if absent:
            console.print(f"Not in unmet.bands, left out: {', '.join(absent)}.")
        measure(results, path, chosen, console)
        if chosen.freshretail:
            from gap_freshretail import compare

            results["freshretail"] = compare(chosen.freshretail, console)
        save(path, results)
    gap_report.write(results, chosen.output)
    console.print(f"{chosen.output / 'gap_closed.md'}")


if __name__ == "__main__":
    main()
