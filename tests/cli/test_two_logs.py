"""Two commands that write one log at the same time: what both have entered is kept."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import date

import polars as pl
import pytest

from unmet.cli.output import write_log
from unmet.planning import DecisionLog

ENTER = """
import sys
from datetime import date
from pathlib import Path
import polars as pl
from unmet.planning import DecisionLog

item, rounds = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for number in range(rounds):
    sheet = pl.DataFrame({"item": [item], "date": [date(2024, 1, 1 + number)], "order": [number]})
    DecisionLog.update(Path("log.parquet"), ["item"], lambda log: log.suggested(sheet))
"""


def test_two_writers_in_a_loop(tmp_path):
    path, rounds = tmp_path / "log.parquet", 20

    def enter(item):
        for number in range(rounds):
            day = [date(2024, 1, 1 + number)]
            sheet = pl.DataFrame({"item": [item], "date": day, "order": [number]})
            DecisionLog.update(path, ["item"], lambda log, sheet=sheet: log.suggested(sheet))

    writers = [threading.Thread(target=enter, args=(item,)) for item in ("tea", "milk")]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    found = DecisionLog.read(path, ["item"]).table
    assert found["item"].value_counts().sort("item").rows() == [("milk", rounds), ("tea", rounds)]


@pytest.mark.slow
def test_two_processes_in_a_loop(tmp_path):
    rounds, both = 25, ["tea", "milk"]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", ENTER, item, str(rounds)],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for item in both
    ]
    for each in writers:
        assert each.stdout.readline() == "ready\n"
    for each in writers:  # at the same moment
        each.stdin.write("go\n")
        each.stdin.flush()
    for each in writers:
        each.communicate(timeout=120)
        assert each.returncode == 0
    found = DecisionLog.read(tmp_path / "log.parquet", ["item"]).table
    expected = [(item, number) for item in sorted(both) for number in range(rounds)]
    assert found.sort("item", "date").select("item", "suggested").rows() == expected
    assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]  # nor a lock


def entered(item, order):
    return pl.DataFrame({"item": [item], "date": [date(2024, 1, 2)], "order": [order]})


def test_a_command_keeps_what_was_entered_while_it_learned(tmp_path):
    """The log is read before a plan learns, and written after: minutes later, perhaps."""
    path = tmp_path / "log.parquet"
    before = entered("tea", 4.0)
    DecisionLog(["item"]).suggested(before).write(path)

    def enter(log):  # as --decided does
        return log.changed(entered("tea", 6.0))

    enter(DecisionLog.read(path, ["item"]))
    other = DecisionLog.read(path, ["item"]).changed(
        pl.DataFrame({"item": ["tea"], "date": [date(2024, 1, 2)], "delivered": [5.0]})
    )
    other.suggested(entered("milk", 9.0)).write(path)
    assert write_log(path, ["item"], enter, entered("rolls", 7.0), "date") == path
    found = DecisionLog.read(path, ["item"]).table.sort("item")
    assert found.select("item", "suggested", "decided", "delivered").rows() == [
        ("milk", 9.0, None, None),
        ("rolls", 7.0, None, None),
        ("tea", 4.0, 6.0, 5.0),
    ]


@pytest.mark.slow
def test_two_plans_at_the_same_time(tmp_path):
    days = pl.date_range(date(2024, 1, 1), date(2024, 2, 29), eager=True)
    for item in ("tea", "milk"):
        sold = [20 + k % 7 for k in range(len(days))]
        pl.DataFrame({"date": days, "item": item, "sales": sold}).write_csv(
            tmp_path / f"{item}.csv"
        )
    words = ["--horizon", "3", "--model", "seasonal", "--series", "item", "--log", "log.parquet"]
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "unmet", "plan", f"{item}.csv", *words, "-o", f"{item}-o.csv"],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
        )
        for item in ("tea", "milk")
    ]
    assert [each.wait(timeout=300) for each in both] == [0, 0]
    found = DecisionLog.read(tmp_path / "log.parquet", ["item"]).table
    assert found["item"].value_counts().sort("item").rows() == [("milk", 3), ("tea", 3)]
