"""Two commands that write one log at the same time: what both have entered is kept."""

from __future__ import annotations

import threading
from datetime import date

import polars as pl
import pytest

from unmet.planning import DecisionLog


@pytest.mark.fuzz
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
    DecisionLog.update(path, ["item"], lambda log: enter(log).suggested(entered("rolls", 7.0)))
    found = DecisionLog.read(path, ["item"]).table.sort("item")
    assert found.select("item", "suggested", "decided", "delivered").rows() == [
        ("milk", 9.0, None, None),
        ("rolls", 7.0, None, None),
        ("tea", 4.0, 6.0, 5.0),
    ]
