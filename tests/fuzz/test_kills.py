"""Long runs that are killed (`kill -9`) before a file operation and started again lose nothing.

Each run is a function that writes files into a folder and returns its result. A process runs it
once undisturbed and counts its file operations (open to write, rename, remove, lock). Other
processes are killed before one of them. The process that goes on must end with the same result.
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

import pytest

pytestmark = [
    pytest.mark.fuzz,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9"),
]
HERE = Path(__file__).resolve()
OPERATIONS = {"os.rename", "os.remove", "os.truncate", "os.mkdir", "fcntl.flock"}


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


def work(folder: Path, stop: int) -> None:
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
    result = reproduced(folder)
    sys.stdout.buffer.write(pickle.dumps((result, done)))


def start(folder: Path, stop: int = 0) -> tuple[int, Any]:
    """Return the exit code of a run, and its result with the number of file operations."""
    folder.mkdir(exist_ok=True)
    code = f"import test_kills as t; t.work(t.Path({str(folder)!r}), {stop})"
    paths = [str(HERE.parent), str(HERE.parents[2] / "src"), str(HERE.parents[2])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE)
    return ended.returncode, None if ended.returncode else pickle.loads(ended.stdout)


def test_a_killed_run_goes_on_to_the_same_result(tmp_path):
    code, (expected, operations) = start(tmp_path / "whole")
    assert code == 0
    for share in (0.3, 0.6, 0.95):
        folder = tmp_path / f"{share}"
        code, _ = start(folder, round(share * operations))
        assert code == -signal.SIGKILL
        code, found = start(folder)
        assert (code, found[0]) == (0, expected)
