"""Measure one solver on one case: the process that linear.py starts for every pair.

usage: python measure.py CASE PEER BUDGET

Prints one JSON line per event: ready, run (seconds), memory (extra bytes at the peak), done
(objective) or failed. A process of its own keeps the peaks of memory apart, gives every solver
cold caches of its package, and can be stopped when it takes too long.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.metadata
import json
import re
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from cases import CASES, Problem
from peers import PEERS, Peer, run_r

MAX_RUNS, LEAST_RUNS, LONG = 200, 3, 5.0
REFERENCE_RESET = Path("/proc/self/clear_refs")


def say(event: str, **values: object) -> None:
    print(json.dumps({"event": event, **values}), flush=True)


def resident(field: str) -> int:
    """Bytes of memory held now (VmRSS) or at the peak since the last reset (VmHWM)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"{field} is not reported by this system.")


def start_watching() -> int:
    """Forget the peak reached so far; bytes held now."""
    gc.collect()
    if not REFERENCE_RESET.exists():
        unit = 1 if sys.platform == "darwin" else 1024
        return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    REFERENCE_RESET.write_text("5")
    return resident("VmRSS")


def peak() -> int:
    if REFERENCE_RESET.exists():
        return resident("VmHWM")
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def in_python(peer: Peer, problem: Problem, budget: float) -> np.ndarray:
    """Time the peer here: best of several runs, at least three unless they are long."""
    assert peer.prepare is not None
    with contextlib.suppress(Exception):
        # a tiny problem first, so that loading a package counts neither as time nor as memory
        peer.prepare(_tiny(problem))()
    before = start_watching()
    solve = peer.prepare(problem)
    package = peer.needs.split(".")[0]
    say("ready", library="" if package == "unmet" else importlib.metadata.version(_wheel(package)))
    spent, runs = 0.0, 0
    while (runs < LEAST_RUNS and spent < LONG) or (runs < MAX_RUNS and spent < budget):
        wall, cpu = time.perf_counter(), time.process_time()
        theta = solve()
        seconds, cpu = time.perf_counter() - wall, time.process_time() - cpu
        say("run", seconds=seconds, cpu=cpu)
        spent, runs = spent + seconds, runs + 1
    say("memory", bytes=peak() - before)
    return theta


def _tiny(problem: Problem) -> Problem:
    """Return a small dense problem with the same band, levels and column of ones."""
    case = replace(CASES["dense-1e3"], columns=4, banded=problem.banded, levels=problem.levels)
    return case.load(ones=problem.ones)


def _wheel(package: str) -> str:
    return "scikit-learn" if package == "sklearn" else package


def main(case: str, name: str, budget: float) -> None:
    peer = PEERS[name]
    if not peer.installed():
        say("failed", reason="not installed")
        return
    problem = CASES[case].load(ones=peer.ones)
    try:
        if peer.method:
            theta = run_r(problem, peer.method, budget)
        else:
            theta = in_python(peer, problem, budget)
        size = problem.bytes()
        say("done", objective=problem.objective(theta), features=size)
    except MemoryError:
        say("failed", reason="out of memory")
    except Exception as error:  # a peer may fail in any way; the run goes on
        reason = f"{type(error).__name__}: {error}"
        reason = re.sub(r"\S*/\S*", "…", reason)  # no folders of this machine in the results
        if "no package called" in reason:
            reason = "not installed"
        elif "cannot allocate" in reason or "bad_alloc" in reason:
            reason = "out of memory"
        say("failed", reason=reason[:200])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
