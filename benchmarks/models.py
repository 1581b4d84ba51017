"""Neural and boosted decisions against their peers: cost, time, memory and size in one run.

usage: python benchmarks/models.py [--quick] [--sections ...] [--fresh]

Every measurement runs in a process of its own; peers in environments that this script makes.
Results go to results/models.json after each, and from there to models.md and models.svg. What is
already there is not measured again, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import models_data
import models_environments
import models_report
from linear import HERE, THREADS, save, setting, stop
from models_environments import NotMadeError
from models_tasks import OURS, SECTIONS, Task, tasks
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sections", default="", help=f"of {', '.join(SECTIONS)}; commas between")
    parser.add_argument("--names", default="", help="parts of names, joined by ; (all)")
    parser.add_argument("--quick", action="store_true", help="one small fit of each kind")
    parser.add_argument("--fresh", action="store_true", help="measure the chosen ones anew")
    parser.add_argument("--page", action="store_true", help="only write page and figure again")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds for one process")
    parser.add_argument(
        "--environments",
        type=Path,
        default=HERE.parent / "build" / "environments",
        help="folder of the peers' environments (build/environments)",
    )
    parser.add_argument("--output", type=Path, help="folder of the results (benchmarks/results)")
    chosen = parser.parse_args()
    chosen.sections = [each.strip() for each in chosen.sections.split(",") if each.strip()]
    for section in chosen.sections:
        if section not in SECTIONS:
            parser.error(f"sections must be of {', '.join(SECTIONS)}; got {section}.")
    chosen.sections = chosen.sections or list(SECTIONS)
    # a quick run must not overwrite what a whole one measured
    quick = HERE.parent / "build" / "quick"
    chosen.output = chosen.output or (quick if chosen.quick else HERE / "results")
    try:
        chosen.tasks = named(chosen.sections, chosen.names, chosen.quick)
    except ValueError as error:
        parser.error(str(error))
    return chosen


def named(sections: list[str], names: str, quick: bool) -> list[Task]:
    """Tasks of some sections whose names contain one of the parts."""
    parts = [part.strip().lower() for part in names.split(";") if part.strip()]
    every = list(tasks(sections, quick))
    for part in parts:
        if not any(part in task.name.lower() for task in every):
            known = "; ".join(dict.fromkeys(task.name for task in every))
            raise ValueError(f"names must be parts of {known}; got {part}.")
    return [task for task in every if not parts or any(part in task.name.lower() for part in parts)]


def measured(task: Task, chosen: argparse.Namespace, data: Path) -> dict:
    """Measure one task, or keep the sentence that says why not."""
    try:
        python = (
            Path(sys.executable)
            if task.environment == OURS
            else models_environments.python_of(task.environment, chosen.environments)
        )
    except NotMadeError as error:
        return {"failed": str(error)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        request = dict(
            task.request,
            threads=task.threads,
            answer=str(folder / "answer.json"),
            decisions=str(folder / "decisions.npz"),
        )
        if task.data:
            request["data"] = str(models_data.write(task.data[0], data, **task.data[1]))
        (folder / "request.json").write_text(json.dumps(request))
        failed = run(python, task, folder, chosen.limit)
        if failed:
            return {"failed": failed}
        record = json.loads((folder / "answer.json").read_text())
        if (folder / "decisions.npz").exists():
            evaluated = models_data.evaluator(
                Path(request["data"]), request["levels"], folder / "decisions.npz"
            )
            for fit, costs in zip(record["fits"], evaluated, strict=True):
                fit.update(costs)
    return record


def run(python: Path, task: Task, folder: Path, limit: float) -> str | None:
    """Run the process of a task to its end; why it has no answer, if so."""
    leaking = (*THREADS, "PYTHONPATH")
    environment = {name: value for name, value in os.environ.items() if name not in leaking}
    environment.update(TMPDIR=str(folder), KERAS_HOME=str(folder))
    if task.environment == OURS:
        environment["PYTHONPATH"] = str(HERE.parent / "src")
    if task.threads:
        environment.update(dict.fromkeys(THREADS, str(task.threads)))
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [str(python), str(HERE / task.script), str(folder / "request.json")],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
            preexec_fn=one_core if task.threads == 1 else None,
        )
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            return f"not finished in {limit:g} s"
        finally:  # when interrupted, too, with everything it started
            stop(process)
        if process.returncode == 0:
            return None
        errors.seek(0)
        said = errors.read().decode().strip().splitlines()
    reason = (said or ["stopped without a word"])[-1]
    return re.sub(r"\S*/\S*", "…", reason)[:200]  # no folders of this machine in the results


def one_core() -> None:
    """Keep a process on one core: XLA takes no notice of the variables that others read."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def measure(results: dict, path: Path, chosen: argparse.Namespace, console: Console) -> None:
    records = results["records"]
    if chosen.fresh:  # forgotten at once, so that an interrupted run goes on with the rest
        for task in chosen.tasks:
            records.pop(task.key, None)
    todo = [
        task for task in chosen.tasks if task.key not in records or "failed" in records[task.key]
    ]
    columns = (TextColumn("{task.description:60}"), BarColumn(), MofNCompleteColumn())
    with (
        Progress(*columns, TimeElapsedColumn(), console=console) as progress,
        tempfile.TemporaryDirectory() as data,
    ):
        bar = progress.add_task("", total=len(todo))
        try:
            for task in todo:
                progress.update(bar, description=task.key.replace("|", ", "))
                record = records[task.key] = measured(task, chosen, Path(data))
                save(path, results)
                if "failed" in record:
                    said = f"{task.key}: {record['failed']}"
                    progress.console.print(said, highlight=False, markup=False)
                progress.advance(bar)
        except KeyboardInterrupt:
            progress.console.print("Interrupted; without --fresh it goes on from here.")


def sizes(folder: Path) -> dict[str, int]:
    """Bytes of every environment that could be made."""
    found = {}
    for name in models_environments.REQUIREMENTS:
        try:
            models_environments.python_of(name, folder)
        except NotMadeError:
            continue
        found[name] = models_environments.installed_bytes(name, folder)
    return found


def main() -> None:
    chosen, console = arguments(), Console(stderr=True)
    chosen.output.mkdir(parents=True, exist_ok=True)
    path = chosen.output / "models.json"
    if chosen.page and not path.exists():
        raise SystemExit("There are no results yet: run without --page first.")
    results = json.loads(path.read_text()) if path.exists() else {"records": {}}
    if not chosen.page:
        results["setting"] = {**setting(sys.executable), "unmet": version("unmet")}
        results["setting"]["cores"] = os.cpu_count()
        measure(results, path, chosen, console)
        if "network" in chosen.sections:
            results["sizes"] = sizes(chosen.environments)
        save(path, results)
    models_report.write(results, chosen.output)
    models_report.show(results, console)


if __name__ == "__main__":
    main()
