"""Long runs that are killed (`kill -9`) before a file operation and started again lose nothing.

Each run is a function that writes files into a folder and returns its result. A process runs it
once undisturbed and counts its file operations (open to write, rename, remove, lock). Other
processes are killed before one of them. The process that goes on must end with the same result, and
without a temporary file.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = [
    pytest.mark.fuzz,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9"),
]
HERE = Path(__file__).resolve()
OPERATIONS = {"os.rename", "os.remove", "os.truncate", "os.mkdir", "fcntl.flock"}


def searched(folder: Path) -> Any:
    """A search of twelve trials in calls of four, with a storage."""
    from unmet import LinearDecision, Newsvendor
    from unmet.evaluation.search import search

    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 3))
    y = 20 + x @ [3.0, -2.0, 0.0] + rng.gamma(2.0, 3.0, size=80)
    found = search(
        LinearDecision(Newsvendor(4, 1), penalty="l2"),
        lambda trial: {"strength": trial.suggest_float("strength", 1e-4, 10.0, log=True)},
        x,
        y,
        truth=y,
        storage=folder / "journal.jsonl",
        trials=12,
        batch=4,
        cv=2,
        random_state=0,
    )
    return [(trial.params, trial.user_attrs["fold_costs"]) for trial in found.trials]


def reproduced(folder: Path) -> Any:
    """The paper's searches and fits, of two linear methods."""
    from paper import protocol

    names = ("LR-NVC", "LR-NVC exact")
    protocol.METHODS = {name: protocol.METHODS[name] for name in names}
    protocol.READINGS = tuple(
        replace(each, methods=tuple(name for name in each.methods if name in names))
        for each in protocol.READINGS
        if each.key in ("usual", "searched")
    )
    protocol.SEARCHED = {"LR": "LR-NVC"}
    settings = protocol.PaperSettings(datasets=1, levels=(0.65, 0.95), trials=2, folds=1)
    again = (folder / "run").exists()
    results = protocol.reproduce(folder / "run", settings, resume=again)
    rows = [{**row, "cpu_seconds": 0} for row in results.found.rows]
    return rows, [replace(row, cpu_seconds=0.0) for row in results.searches]


def work(name: str, folder: Path, stop: int) -> None:
    """Run here, and kill this process before its file operation number `stop`, if not 0."""
    done = 0

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal done
        if event == "open":
            path, _, flags = arguments
            writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)
            if not (writes and str(path).startswith(str(folder))):
                return
        elif event not in OPERATIONS:
            return
        done += 1
        if done == stop:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    result = {"searched": searched, "reproduced": reproduced}[name](folder)
    sys.stdout.buffer.write(pickle.dumps((result, done)))


def start(name: str, folder: Path, stop: int = 0) -> tuple[int, Any]:
    """Return the exit code of a run, and its result with the number of file operations."""
    folder.mkdir(exist_ok=True)
    code = f"import test_kills as t; t.work({name!r}, t.Path({str(folder)!r}), {stop})"
    paths = [str(HERE.parent), str(HERE.parents[2] / "src"), str(HERE.parents[2])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE)
    return ended.returncode, None if ended.returncode else pickle.loads(ended.stdout)


@pytest.mark.parametrize("name", ["searched", "reproduced"])
def test_a_killed_run_goes_on_to_the_same_result(tmp_path, name):
    code, (expected, operations) = start(name, tmp_path / "whole")
    assert code == 0
    for share in (0.3, 0.6, 0.95):
        folder = tmp_path / f"{share}"
        code, _ = start(name, folder, round(share * operations))
        assert code == -signal.SIGKILL
        code, found = start(name, folder)
        assert (code, found[0]) == (0, expected)
        assert not list(folder.rglob(".unmet-*"))
