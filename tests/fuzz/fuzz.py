"""Fits on ordinary problems by the thousand: `make fuzz`.

usage: python tests/fuzz/fuzz.py [part ...] [--count N] [--first SEED] [--processes N]
                                 [--page FILE]

A part is a module of this folder that makes a problem from a seed and evaluates the fit::

    OUTCOMES, FAILURES      what a fit may come to, and which of these must not happen
    COUNT                   how many seeds `make fuzz` takes
    generate(seed)          a problem with `kinds` (words), `simpler()` (smaller problems, which may
                            fail in the same way) and `source()` (text that makes it again)
    evaluate(problem)       a `Verdict`

**A new part** is such a module and its line in `PARTS`. Several processes work on chunks of seeds.
Failures are shrunk: rows, columns and parts are dropped as long as the outcome stays. With
``--page`` the counts replace those between the marks of the part in that file.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from datetime import date
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before NumPy is imported: processes share the cores

PARTS = {"ordinary": "fuzz_ordinary", "tables": "fuzz_tables", "models": "fuzz_models"}
CHUNK = 200
LONGEST = 30  # seconds of computing for one fit together with its evaluation
SHRINKING = 20  # seconds for one failure
SHOWN = 20  # failures that are shrunk and printed


class Verdict(NamedTuple):
    """What became of a fit, and what there is to say of it."""

    outcome: str
    detail: str = ""


class TooSlow(BaseException):
    """No `Exception`: code that catches errors of other libraries must not catch it."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TooSlow` inside the block when it computes for longer, where the system can.

    Seconds of this process, not of the clock: a busy machine is no failure.
    """
    if not hasattr(signal, "SIGPROF"):
        yield
        return

    def stop(*_: Any) -> None:
        raise TooSlow(f"took longer than {seconds} seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def outcome_of(part: Any, problem: Any) -> Verdict:
    """Evaluate one problem; what takes too long is an outcome, too."""
    try:
        with at_most(LONGEST):
            verdict: Verdict = part.evaluate(problem)
    except TooSlow as error:
        return Verdict("too slow", str(error))
    return verdict


def try_seeds(module: str, first: int, count: int) -> dict[str, Any]:
    """Try a chunk of seeds: how often which outcome, and what failed."""
    part = import_module(module)
    outcomes: Counter[str] = Counter()
    failed, slowest = [], (0.0, first)
    for seed in range(first, first + count):
        start = time.process_time()
        problem = part.generate(seed)
        outcome, detail = outcome_of(part, problem)
        slowest = max(slowest, (time.process_time() - start, seed))
        outcomes[outcome] += 1
        if outcome in part.FAILURES or outcome == "too slow":
            kinds = ", ".join(problem.kinds)
            failed.append({"seed": seed, "outcome": outcome, "detail": detail, "kinds": kinds})
    return {
        "first": first,
        "count": count,
        "outcomes": outcomes,
        "failed": failed,
        "slowest": slowest,
    }


def shrink(part: Any, problem: Any, outcome: str, seconds: float = SHRINKING) -> Any:
    """Drop what can be dropped while the outcome stays."""
    end = time.monotonic() + seconds
    smaller = True
    while smaller:
        smaller = False
        for candidate in problem.simpler():
            if time.monotonic() > end:
                return problem
            if outcome_of(part, candidate).outcome == outcome:
                problem, smaller = candidate, True
                break
    return problem


def run(name: str, first: int, count: int, processes: int) -> dict[str, Any]:
    """Try all seeds of a part."""
    from unmet.progress import report_progress

    starts = range(first, first + count, CHUNK)
    rows = []
    with (
        report_progress(left=True) as step,
        ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool,
    ):
        tasks = [
            pool.submit(try_seeds, PARTS[name], seed, min(CHUNK, first + count - seed))
            for seed in starts
        ]
        for task in as_completed(tasks):
            rows.append(task.result())
            failures = sum(len(row["failed"]) for row in rows)
            step(sum(row["count"] for row in rows), count, f"{name}, {failures} failures")
    rows.sort(key=lambda row: row["first"])
    return {
        "part": name,
        "first": first,
        "count": count,
        "outcomes": sum((row["outcomes"] for row in rows), Counter()),
        "failed": [each for row in rows for each in row["failed"]],
        "slowest": max(row["slowest"] for row in rows),
    }


def show(found: dict[str, Any]) -> None:
    """Print counts, and failures with the seed and the smallest problem that fails alike."""
    part = import_module(PARTS[found["part"]])
    last = found["first"] + found["count"] - 1
    print(f"{found['part']}: seeds {found['first']} to {last}")
    for outcome in (*part.OUTCOMES, "too slow"):
        print(f"  {outcome:14}{found['outcomes'].get(outcome, 0):>9,}")
    print(f"  slowest: {found['slowest'][0]:.1f} s, seed {found['slowest'][1]}")
    for each in found["failed"][:SHOWN]:
        print(f"seed {each['seed']} ({each['kinds']}): {each['outcome']}: {each['detail']}")
        smallest = shrink(part, part.generate(each["seed"]), each["outcome"])
        print(f"    {smallest.source()}")
    if len(found["failed"]) > SHOWN:
        print(f"and {len(found['failed']) - SHOWN} more: {[e['seed'] for e in found['failed']]}")


def table(found: dict[str, Any]) -> str:
    """Counts as Markdown, with what made them."""
    part = import_module(PARTS[found["part"]])
    last = found["first"] + found["count"] - 1
    lines = [
        f"Last run: {date.today().isoformat()}, with the random seeds {found['first']:,} to "
        f"{last:,}. The slowest case took {found['slowest'][0]:.1f} s, including its evaluation.",
        "",
        "| outcome | cases | share |",
        "|---|---:|---:|",
    ]
    allowed = [each for each in part.OUTCOMES if each not in part.FAILURES]
    failures = (*part.FAILURES, "too slow")
    rows = {each: [each] for each in allowed} | {f"failures: {', '.join(failures)}": failures}
    for name, outcomes in rows.items():
        cases = sum(found["outcomes"].get(each, 0) for each in outcomes)
        lines.append(f"| {name} | {cases:,} | {cases / found['count']:.2%} |")
    return "\n".join(lines)


def write_page(page: Path, found: dict[str, Any]) -> None:
    """Put the counts between the marks of the part."""
    begin, end = (f"<!-- fuzz {found['part']}: {word} -->" for word in ("begin", "end"))
    text = page.read_text(encoding="utf-8")
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"--page must have the marks {begin} and {end}, got {page}.")
    # a function: what is inserted may hold backslashes
    new = pattern.sub(lambda _: f"{begin}\n{table(found)}\n{end}", text)
    page.write_text(new, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all of them by default")
    parser.add_argument("--count", type=int, help="seeds of each part")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--page", type=Path, help="write the counts into this file")
    chosen = parser.parse_args()
    failed = False
    for name in chosen.parts or PARTS:
        count = chosen.count or import_module(PARTS[name]).COUNT
        found = run(name, chosen.first, count, chosen.processes)
        show(found)
        if chosen.page is not None:
            write_page(chosen.page, found)
        failed = failed or bool(found["failed"])
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
