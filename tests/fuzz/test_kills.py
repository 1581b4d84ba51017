"""Commands that are killed (`kill -9`) and started again lose nothing: twenty kills of each.

A process runs a command once undisturbed and counts its file operations (open to write, rename,
remove, lock). Other processes are killed before one of them, or after some seconds. Each file that
the command writes must then be the old one, the new one, or absent, and the command that is
started again must end with the same bits.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sales_table import sales_table

pytestmark = [
    pytest.mark.fuzz,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9"),
]
HERE = Path(__file__).resolve()
KILLS = 20
OPERATIONS = {"os.rename", "os.remove", "os.truncate", "os.mkdir", "fcntl.flock"}
COLUMNS = ["--observed", "sales", "--features", "price,store", "--underage", "3", "--overage", "1"]
FILES = ["-o", "orders.csv", "--log", "log.parquet", "--report", "report.html", "--save", "s.unmet"]
COMMANDS = {
    "plan": ["plan", "sales.csv", "--series", "store", "--sold-out", "out", *FILES],
    "replenish": ["replenish", "sales.csv", "--series", "store", "--on-hand", "stock", *FILES],
    "fit": ["fit", "sales.csv", *COLUMNS, "--output", "model.unmet"],
    "decide": ["decide", "fitted.unmet", "sales.csv", "-o", "orders.csv", "--report", "r.html"],
    "reproduce": [],
}


def reproduce() -> None:
    """Search and fit two linear methods of the paper, as `python -m paper reproduce --resume`."""
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
    results = protocol.reproduce(Path("run"), settings, resume=Path("run").exists())
    rows = [{**row, "cpu_seconds": 0} for row in results.found.rows]
    searches = [replace(row, cpu_seconds=0.0) for row in results.searches]
    Path("result.txt").write_text(f"{rows}\n{searches}")


def work(name: str, stop: int) -> None:
    """Run here, and kill this process before its file operation number `stop`, if not 0."""
    done, folder = 0, os.getcwd()

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal done
        if event == "open":
            path, _, flags = arguments
            writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)
            if not (writes and os.path.abspath(str(path)).startswith(folder)):
                return
        elif event not in OPERATIONS:
            return
        done += 1
        if done == stop:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    if name == "reproduce":
        reproduce()
    else:
        from unmet.cli.main import run

        code = run(COMMANDS[name])
        if code:
            sys.exit(code)
    print(f"operations: {done}")


def start(name: str, folder: Path, stop: int = 0, seconds: float | None = None) -> tuple[int, int]:
    """Return the exit code of a run and the number of its file operations."""
    code = f"import test_kills as t; t.work({name!r}, {stop})"
    root = HERE.parents[2]
    paths = [HERE.parent, root / "tests", root / "src", root]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, "-c", code]
    running = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE)
    if seconds is not None:
        time.sleep(seconds)
        running.kill()
    said = running.communicate()[0].decode()
    return running.returncode, 0 if running.returncode else int(said.rpartition(" ")[2])


def files(folder: Path) -> dict[str, bytes]:
    """What stands in a folder, but for what a killed writer may leave."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.is_file() and not path.name.startswith(".unmet-")
    }


def begin(name: str, folder: Path) -> None:
    """Lay out what a command reads, and what it wrote last time, of a shorter table."""
    folder.mkdir()
    if name == "reproduce":
        return
    for n_days in (40, 42):
        sales_table(n_days).drop("demand", "kind", "margin", "weight").write_csv(
            folder / "sales.csv"
        )
        if name == "decide" and n_days == 40:
            assert start("fit", folder)[0] == 0
            (folder / "model.unmet").rename(folder / "fitted.unmet")
        if n_days == 40:
            assert start(name, folder)[0] == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_command_leaves_whole_files_and_ends_alike_when_started_again(name, tmp_path):
    begin(name, tmp_path / "begun")
    before = files(tmp_path / "begun")
    shutil.copytree(tmp_path / "begun", tmp_path / "whole")
    begun = time.monotonic()
    code, operations = start(name, tmp_path / "whole")
    took = time.monotonic() - begun
    assert (code, operations > 1) == (0, True)
    after = files(tmp_path / "whole")
    assert before != after
    killed = tried = 0
    while killed < KILLS:
        tried += 1
        assert tried < 3 * KILLS
        folder = tmp_path / f"{tried}"
        shutil.copytree(tmp_path / "begun", folder)
        if tried % 2:
            code, _ = start(name, folder, seconds=took * (0.4 + 0.6 * killed / KILLS))
        else:
            code, _ = start(name, folder, stop=1 + killed * (operations - 1) // (KILLS - 1))
        killed += code == -signal.SIGKILL
        assert code in (0, -signal.SIGKILL)
        for file, content in files(folder).items():
            assert content in (before.get(file), after[file]), file
        assert before.keys() <= files(folder).keys()
        assert start(name, folder)[0] == 0
        assert files(folder) == after
        shutil.rmtree(folder)
