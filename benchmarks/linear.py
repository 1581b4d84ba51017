"""Exact linear decisions against their peers: time, memory and objective in one run.

usage: python benchmarks/linear.py [--quick] [--cases ...] [--peers ...] [--resume]

Every pair of solver and case runs in a process of its own with one thread. Results go to
results/linear.json after each pair, and from there to linear.md and linear.svg.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import json
import os
import platform
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

import report
from cases import CASES, DEFAULT, QUICK, Case, select
from peers import FLOOR, PEERS, US, Peer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

HERE = Path(__file__).resolve().parent
LOADING = 600  # seconds allowed for building a case and for a package's own preparation
THREADS = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", default="", help="names or families, joined by commas")
    parser.add_argument("--peers", default="", help="parts of names, joined by commas")
    parser.add_argument("--quick", action="store_true", help="small cases, limit of 20 seconds")
    parser.add_argument("--limit", type=float, help="seconds for one solve (300)")
    parser.add_argument("--budget", type=float, default=2.0, help="seconds spent on repetitions")
    parser.add_argument("--memory", type=float, default=16.0, help="gigabytes for one process")
    parser.add_argument("--resume", action="store_true", help="keep the pairs already measured")
    parser.add_argument("--python", default=sys.executable, help="interpreter of the solvers")
    parser.add_argument("--r-blas", default="", help="BLAS library to preload into R")
    parser.add_argument("--output", type=Path, default=HERE / "results")
    chosen = parser.parse_args()
    chosen.limit = chosen.limit or (20.0 if chosen.quick else 300.0)
    names = chosen.cases.split(",") if chosen.cases else QUICK if chosen.quick else DEFAULT
    parts = [part.strip().lower() for part in chosen.peers.split(",") if part]
    try:
        chosen.cases = select(names)
        for part in parts:
            if not any(part in name.lower() for name in PEERS):
                raise ValueError(f"peers must be parts of {', '.join(PEERS)}; got {part}.")
    except ValueError as error:
        parser.error(str(error))
    chosen.peers = [
        peer
        for peer in PEERS.values()
        # the yardsticks take part in every run, so that ratios come from one run
        if not parts or peer.name in (FLOOR, US) or any(p in peer.name.lower() for p in parts)
    ]
    return chosen


def start(
    case: Case, peer: Peer, chosen: argparse.Namespace, folder: str, errors: IO
) -> subprocess.Popen:
    """Start the process that measures one pair, in a group of its own."""
    environment = dict(os.environ, **dict.fromkeys(THREADS, "1"))
    environment["PYTHONPATH"] = str(HERE.parent / "src")
    environment["TMPDIR"] = folder
    environment["BENCHMARK_R_BLAS"] = chosen.r_blas
    command = [chosen.python, str(HERE / "measure.py"), case.name, peer.name, str(chosen.budget)]
    most = int(chosen.memory * 2**30)
    return subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=errors,
        start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (most, most)),
    )


def listen(process: subprocess.Popen, limit: float) -> dict:
    """Collect the events of a process; stop it when one solve exceeds the limit."""
    record: dict = {"seconds": [], "cpu": []}
    deadline, text = time.monotonic() + LOADING, b""
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.select(max(deadline - time.monotonic(), 0)):
            # read the descriptor itself: a buffered line would hide from the selector
            fresh = os.read(process.stdout.fileno(), 65_536)
            if not fresh:
                break
            *lines, text = (text + fresh).split(b"\n")
            for line in lines:
                if line.startswith(b'{"event"'):  # packages may print, too
                    take(record, json.loads(line))
                deadline = time.monotonic() + limit
        else:
            record["failed"] = "limit" if "library" in record else f"not ready in {LOADING} s"
    return record


def stop(process: subprocess.Popen) -> None:
    """End a process with everything it started, if it still runs."""
    if process.stdout:
        process.stdout.close()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def take(record: dict, event: dict) -> None:
    kind = event.pop("event")
    if kind == "run":
        record["seconds"].append(event["seconds"])
        record["cpu"].append(event["cpu"])
    elif kind == "memory":
        record["memory"] = event["bytes"]
    elif kind == "failed":
        record["failed"] = event["reason"]
    else:
        record.update(event)


def settled(record: dict | None, limit: float) -> bool:
    """Whether measuring the pair again could tell nothing new."""
    if record is None:
        return False
    return "failed" not in record or (record["failed"] == "limit" and record["limit"] >= limit)


def hopeless(case: Case, peer: Peer, pairs: dict, limit: float) -> str | None:
    """Name of a smaller case of the same kind on which the peer already passed the limit."""
    for other in CASES.values():
        alike = (other.kind, other.banded, len(other.levels)) == (
            case.kind,
            case.banded,
            len(case.levels),
        )
        size, most = other.rows * other.columns, case.rows * case.columns
        record = pairs.get(report.key(other.name, peer.name))
        if alike and size < most and settled(record, limit) and "failed" in record:
            return other.name
    return None


def main() -> None:
    chosen = arguments()
    chosen.output.mkdir(parents=True, exist_ok=True)
    path = chosen.output / "linear.json"
    pairs = json.loads(path.read_text())["pairs"] if chosen.resume and path.exists() else {}
    todo = [
        (case, peer)
        for case in chosen.cases
        for peer in chosen.peers
        if peer.can(case.kind == "sparse", len(case.levels) > 1)
        and not settled(pairs.get(report.key(case.name, peer.name)), chosen.limit)
    ]
    results = {"setting": setting(chosen.python), "pairs": pairs}
    columns = (TextColumn("{task.description:42}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=len(todo))
        try:
            for case, peer in todo:
                progress.update(task, description=f"{case.name}: {peer.name}")
                record = one(case, peer, chosen, pairs)
                pairs[report.key(case.name, peer.name)] = record
                save(path, results)
                words = f"{case.name:18} {peer.name:24} {report.in_words(record)}"
                progress.console.print(words, highlight=False, markup=False)
                progress.advance(task)
        except KeyboardInterrupt:
            progress.console.print("Interrupted; --resume goes on from here.")
    report.write(results, chosen.output)


def one(case: Case, peer: Peer, chosen: argparse.Namespace, pairs: dict) -> dict:
    """Measure a pair, or say why not."""
    if smaller := hopeless(case, peer, pairs, chosen.limit):
        return {"failed": "not tried", "smaller": smaller, "limit": chosen.limit}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as errors:
        process = start(case, peer, chosen, folder, errors)
        try:
            record = listen(process, chosen.limit)
        finally:  # at the limit or when interrupted, R and all
            stop(process)
        if "objective" not in record and "failed" not in record:
            errors.seek(0)
            said = errors.read().decode().strip().splitlines()
            record["failed"] = (said or ["stopped without a word"])[-1][:200]
    record["limit"] = chosen.limit
    record["when"] = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    return record


def setting(python: str) -> dict:
    """What the reader must know about the machine; no names of hosts or folders."""
    cpu = platform.processor()
    if (table := Path("/proc/cpuinfo")).exists():
        models = [row for row in table.read_text().splitlines() if row.startswith("model name")]
        cpu = models[0].split(":")[1].strip() if models else cpu
    asked = [python, "-c", "import platform; print(platform.python_version())"]
    version = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    return {"cpu": cpu, "python": version, "system": platform.system()}


def save(path: Path, results: dict) -> None:
    """Write in one step, so that an interrupted run leaves a whole file."""
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(results, indent=1))
    fresh.replace(path)


if __name__ == "__main__":
    main()
