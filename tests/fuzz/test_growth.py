"""Five hundred fits and plans in one process: memory, open files and threads do not grow."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.fuzz,
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc"),
]
ROUNDS, WARM, MOST = 100, 20, 16  # of five fits each; megabytes


def held() -> tuple[float, int, int]:
    """Megabytes, open files and threads of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    megabytes = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    return megabytes, len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))


def work() -> None:
    """Fit each model and a plan in turn, and print what is held early and at the end."""
    import test_determinism
    from sales_table import sales_table

    from unmet import OrderPlan

    table = sales_table(30).drop("demand", "kind", "margin", "weight")
    early = held()
    for number in range(ROUNDS):
        if number == WARM:
            early = held()
        for name in ("exact", "minibatch", "neural", "boosted"):
            test_determinism.fitted(name)
        OrderPlan(random_state=0).fit(table).orders()
    print(*early, *held())


def test_five_hundred_fits_and_plans_do_not_grow():
    tests = Path(__file__).resolve().parents[1]
    paths = [tests / "fuzz", tests / "properties", tests, tests.parent / "src"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, "-c", "import test_growth as t; t.work()"]
    said = subprocess.check_output(command, env=environment, text=True).split()
    before, after = said[:3], said[3:]
    print(f"megabytes, files, threads: {before} after {5 * WARM} fits, {after} at the end")
    assert float(after[0]) - float(before[0]) < MOST
    assert after[1:] == before[1:]
