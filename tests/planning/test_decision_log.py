"""The log: suggestions, what planners made of them, deliveries, and what they tell."""

from __future__ import annotations

import datetime
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from unmet import Newsvendor
from unmet.errors import InvalidInput
from unmet.planning.decision_log import DecisionLog
from unmet.tables.panel import read_panel
from unmet.tables.schema import Schema

FIRST = datetime.date(2024, 5, 6)


def order_table(orders: list[float], items: str = "ab", day: int = 0) -> pl.DataFrame:
    date = FIRST + datetime.timedelta(day)
    return pl.DataFrame({"item": list(items), "date": [date] * len(items), "order": orders})


def panel_of(sales: list[list[float]]):
    rows = [
        {"item": item, "date": FIRST + datetime.timedelta(day), "sales": value}
        for item, values in zip("ab", sales, strict=True)
        for day, value in enumerate(values)
    ]
    return read_panel(pl.DataFrame(rows), Schema("date", "item", "sales", known_future=()))[0]


def test_same_suggestion_again_replaces_the_first() -> None:
    log = DecisionLog(["item"]).suggested(order_table([4, 7])).suggested(order_table([5, 7]))
    assert log.table.sort("item")["suggested"].to_list() == [5, 7]


def test_new_suggestion_keeps_what_was_delivered() -> None:
    log = DecisionLog(["item"]).suggested(order_table([4, 7]))
    log = log.changed(order_table([4, 7]).with_columns(delivered=pl.Series([3, 7])))
    again = log.suggested(order_table([6, 6]))
    assert again.table.sort("item")["delivered"].to_list() == [3, 7]


def test_stock_is_delivered_before_decided_before_suggested() -> None:
    log = DecisionLog(["item"]).suggested(order_table([4, 7])).suggested(order_table([1, 2], day=1))
    log = log.changed(order_table([9, 7]))
    log = log.changed(order_table([0], "b").drop("order").with_columns(delivered=pl.Series([5])))
    stock = log.stock(panel_of([[3, 3, 3], [5, 2, 3]]))
    np.testing.assert_array_equal(stock, [[9, 1, np.nan], [5, 2, np.nan]])


def test_flags_know_logged_days_alone() -> None:
    log = DecisionLog(["item"]).suggested(order_table([4, 7]))
    hidden, notes = log.flags(panel_of([[4, 3], [6, 2]]))
    np.testing.assert_array_equal(hidden, [[1, np.nan], [0, np.nan]])
    assert notes == ["Stock of 2 days was read from the log."]


def test_more_sold_than_logged_is_not_known() -> None:
    """Nine were sold of four: something else was there, and nobody knows how much."""
    log = DecisionLog(["item"]).suggested(order_table([4, 7]))
    hidden, notes = log.flags(panel_of([[9, 3], [6, 2]]))
    np.testing.assert_array_equal(hidden, [[np.nan, np.nan], [0, np.nan]])
    assert "Sales exceed that stock on 1 of these days" in notes[1]


def written(orders: list[float], items: str = "ab") -> pl.DataFrame:
    """Orders as a plan writes them."""
    parts = {"usual_sales": 3.0, "hidden_demand": 0.0, "safety": 1.0}
    words = {"based_on": "own history", "outside_data": ""}
    return order_table(orders, items).with_columns(
        *(pl.lit(value).alias(name) for name, value in {**parts, **words}.items())
    )


@pytest.mark.parametrize(
    ("orders", "items", "sales", "told"),
    [
        ([4, 7], "ab", [[4, 3], [6, 2]], [[1, np.nan], [0, np.nan]]),
        ([4, 7], "ab", [[3, 3], [6, 2]], None),  # no order was ever reached
        ([4, 7], "ab", [[4, 3], [9, 2]], None),  # half of the days sold more
        ([4, 7], "ac", [[4, 3], [6, 2]], None),  # a series that the table lacks
    ],
)
def test_written_orders_count_only_if_sales_agree_with_them(orders, items, sales, told) -> None:
    log = DecisionLog.of_orders(written(orders, items), ["item"], "date")
    assert log is not None
    hidden, notes = log.flags(panel_of(sales))
    if told is None:
        assert hidden is None
        assert not notes
    else:
        np.testing.assert_array_equal(hidden, told)
        assert "Stock of 2 days was read from the previous file of orders" in notes[0]


def test_other_tables_are_no_written_orders() -> None:
    assert DecisionLog.of_orders(order_table([4, 7]), ["item"], "date") is None
    assert DecisionLog.of_orders(written([4, 7]), ["store"], "date") is None
    assert DecisionLog.of_orders(written([4, -7]), ["item"], "date") is None


def test_overrides_are_priced_against_suggestions() -> None:
    log = DecisionLog(["item"]).suggested(order_table([4, 7])).changed(order_table([6, 7]))
    panel = panel_of([[6], [7]])
    found = log.overrides(panel, panel.observed, Newsvendor(3, 1))
    assert (found.count, found.known, found.cost) == (1, 1, -6.0)
    assert "cost 6 less" in str(found)
    later = log.overrides(
        panel_of([[np.nan, 2], [7, 3]]), np.full((2, 2), np.nan), Newsvendor(3, 1)
    )
    assert "not known yet" in str(later)


def test_file_is_read_back_whole(tmp_path: Path) -> None:
    file = tmp_path / "log.parquet"
    assert DecisionLog.read(file, ["item"]).table.height == 0
    log = DecisionLog(["item"]).suggested(order_table([4, 7])).changed(order_table([5, 7]))
    log.write(file)
    assert DecisionLog.read(file, ["item"]).table.equals(log.table.sort("item"))
    assert [each.name for each in tmp_path.iterdir()] == ["log.parquet"]


@pytest.mark.skipif(os.name != "posix", reason="links and locks")
def test_writers_who_come_by_a_link_and_by_the_file_all_keep_their_rows(tmp_path: Path) -> None:
    for folder in ("real", "links"):
        (tmp_path / folder).mkdir()
    (tmp_path / "links" / "log.parquet").symlink_to(tmp_path / "real" / "log.parquet")

    def enter(item: str) -> None:
        def slowly(log: DecisionLog) -> DecisionLog:
            time.sleep(0.05)  # long enough for the others to read what is being changed
            return log.suggested(order_table([1, 2], f"{item}x").head(1))

        folder = "links" if item in "ac" else "real"
        DecisionLog.update(tmp_path / folder / "log.parquet", ["item"], slowly)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(enter, "abcd"))
    found = DecisionLog.read(tmp_path / "real" / "log.parquet", ["item"]).table
    assert found["item"].sort().to_list() == ["a", "b", "c", "d"]
    assert (tmp_path / "links" / "log.parquet").is_symlink()


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (order_table([4, -7]), "order must be 0 units or more, got -7"),
        (order_table([4, 7], "aa"), "one row for each series and date, got several of a"),
        (order_table([4, 7]).drop("order"), "a column order, a column delivered"),
        (order_table([4, 7]).drop("item"), "must have the column 'item'"),
    ],
)
def test_bad_tables_are_one_sentence(table: pl.DataFrame, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        DecisionLog(["item"]).changed(table)


def test_other_files_are_no_logs(tmp_path: Path) -> None:
    file = tmp_path / "sales.parquet"
    order_table([4, 7]).write_parquet(file)
    with pytest.raises(
        InvalidInput, match="must be a log of decisions with the column 'suggested'"
    ):
        DecisionLog.read(file, ["item"])
    with pytest.raises(InvalidInput, match="log must be a Parquet file"):
        DecisionLog(["item"]).write(tmp_path / "log.csv")
    with pytest.raises(InvalidInput, match="other names than those of the log"):
        DecisionLog(["date"])
