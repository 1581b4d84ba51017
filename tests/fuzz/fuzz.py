"""Fits on ordinary and hostile problems by the thousand: `make fuzz`.

usage: python tests/fuzz/fuzz.py [part ...] [--count N] [--first SEED] [--processes N]
                                 [--folder DIR] [--page FILE]

A part is a module of this folder that makes a problem from a seed and evaluates the fit::

    OUTCOMES, FAILURES      what a fit may come to, and which of these must not happen
    COUNT                   how many seeds `make fuzz` takes
    generate(seed)          a problem with `kinds` (words), `simpler()` (smaller problems, which may
                            fail in the same way) and `source()` (text that makes it again)
    evaluate(problem)       a `Verdict`

**A new part** is such a module and its line in `PARTS`. Seeds are worked on in chunks, by several
processes; what is finished stands in the folder, under a name that stands for the code that was
tried, so that a run may be stopped and goes on, and other code begins anew. Failures are shrunk:
rows, columns and parts are dropped as long as the outcome stays. With ``--page`` the counts replace
those between the marks of the part in that file.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import signal
import sys
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

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PARTS = {
    "ordinary": "fuzz_ordinary",
    "bands": "fuzz_bands",
    "models": "fuzz_models",
}
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


def code_name(module: str) -> str:
    """Hash of what decides an outcome: the part, and the modules of ours that it imports."""
    part = import_module(module)
    part.evaluate(part.generate(0))  # some are imported when they are first used
    ours = (each for name, each in sys.modules.items() if name.partition(".")[0] == "unmet")
    files = {Path(each.__file__) for each in [part, *ours] if getattr(each, "__file__", None)}
    content = hashlib.sha256()
    for path in sorted(files):
        content.update(path.name.encode() + path.read_bytes())
    return content.hexdigest()[:10]


def run(name: str, first: int, count: int, processes: int, folder: Path) -> dict[str, Any]:
    """Try all seeds of a part that have not been tried with this code."""
    from unmet.progress import report_progress
    from unmet.runs import append_row, open_run, read_rows

    module = PARTS[name]
    code = code_name(module)
    home = folder / f"{name}-{code}"
    with open_run(home, {"part": name, "code": code, "chunk": CHUNK}, parameter="--folder"):
        path = home / "chunks.jsonl"
        wanted = {
            seed: min(CHUNK, first + count - seed) for seed in range(first, first + count, CHUNK)
        }
        rows = {row["first"]: row for row in read_rows(path, lambda row: "outcomes" in row)}
        rows = {seed: row for seed, row in rows.items() if wanted.get(seed) == row["count"]}
        left = [seed for seed in wanted if seed not in rows]
        # Spawned, not forked: a worker that outlives a killed run must not hold its lock.
        spawned = get_context("spawn")
        with (
            report_progress(left=True) as step,
            ProcessPoolExecutor(processes, mp_context=spawned) as pool,
        ):
            tasks = [pool.submit(try_seeds, module, seed, wanted[seed]) for seed in left]
            for task in as_completed(tasks):
                row = task.result()
                append_row(path, row)
                rows[row["first"]] = row
                done = sum(row["count"] for row in rows.values())
                step(done, count, f"{name}, {_failures(rows)} failures")
                if not sys.stderr.isatty() and len(rows) % 25 == 0:
                    print(f"{done:,} of {count:,}, {_failures(rows)} failures", file=sys.stderr)
    outcomes: Counter[str] = Counter()
    for row in rows.values():
        outcomes.update(row["outcomes"])
    failed = [each for _, row in sorted(rows.items()) for each in row["failed"]]
    slowest = max(tuple(row["slowest"]) for row in rows.values())
    return {
        "part": name,
        "code": code,
        "first": first,
        "count": count,
        "outcomes": outcomes,
        "failed": failed,
        "slowest": slowest,
    }


def _failures(rows: dict[int, dict[str, Any]]) -> int:
    return sum(len(row["failed"]) for row in rows.values())


def show(found: dict[str, Any]) -> None:
    """Print counts, and failures with the seed and the smallest problem that fails alike."""
    part = import_module(PARTS[found["part"]])
    last = found["first"] + found["count"] - 1
    print(f"{found['part']}: seeds {found['first']} to {last}, code {found['code']}")
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
        f"Last run: {date.today().isoformat()}, seeds {found['first']:,} to {last:,}, code "
        f"`{found['code']}`; the slowest fit took {found['slowest'][0]:.1f} s with its evaluation.",
        "",
        "| outcome | fits | share |",
        "|---|---:|---:|",
    ]
    for outcome in (*part.OUTCOMES, "too slow"):
        fits = found["outcomes"].get(outcome, 0)
        failure = outcome in part.FAILURES or outcome == "too slow"
        name = f"{outcome} (a failure)" if failure else outcome
        lines.append(f"| {name} | {fits:,} | {fits / found['count']:.2%} |")
    return "\n".join(lines)


def write_page(page: Path, found: dict[str, Any]) -> None:
    """Put the counts between the marks of the part."""
    put_between(page, f"fuzz {found['part']}", table(found))


def put_between(page: Path, name: str, content: str) -> None:
    """Replace what stands between the marks of that name in a page."""
    begin, end = (f"<!-- {name}: {word} -->" for word in ("begin", "end"))
    text = page.read_text(encoding="utf-8")
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"--page must have the marks {begin} and {end}, got {page}.")
    # a function: what is inserted may hold backslashes
    new = pattern.sub(lambda _: f"{begin}\n{content}\n{end}", text)
    page.write_text(new, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all of them by default")
    parser.add_argument("--count", type=int, help="seeds of each part")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=ROOT / "out" / "fuzz")
    parser.add_argument("--page", type=Path, help="write the counts into this file")
    chosen = parser.parse_args()
    failed = False
    for name in chosen.parts or PARTS:
        count = chosen.count or import_module(PARTS[name]).COUNT
        found = run(name, chosen.first, count, chosen.processes, chosen.folder)
        show(found)
        if chosen.page is not None:
            write_page(chosen.page, found)
        failed = failed or bool(found["failed"])
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
