"""The report of replenishment: the most urgent first, and thousands of series in one file."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest
from hand_made_contents import EVIL
from read_page import cards, check_form, drawn, read
from sales_table import refilling

from unmet.planning import DecisionLog
from unmet.report import render, report_data

pytestmark = pytest.mark.usefixtures("few_trees")

FIRST = datetime.date(2024, 1, 1)
SECTIONS = ["decisions-section", "items", "costs", "unknown", "made"]


def table(n_series=5, n_days=56, names=None, step=1):
    generator = np.random.default_rng(0)
    level = np.geomspace(3, 60, n_series)[:, None]
    sales = generator.poisson(level, (n_series, n_days))
    left = generator.integers(0, 5, (n_series, n_days))
    left[:, -1] = np.arange(n_series)[::-1] * 40
    return pl.DataFrame(
        {
            "date": [FIRST + datetime.timedelta(step * day) for day in range(n_days)] * n_series,
            "item": np.repeat(names or [f"tin {place}" for place in range(n_series)], n_days),
            "sales": sales.ravel(),
            "left": left.ravel(),
        }
    )


@pytest.fixture(scope="module")
def plan():
    rows = table()
    last = rows["date"].max()
    arrives = last - datetime.timedelta(4)
    order_table = pl.DataFrame({"item": ["tin 1"], "arrives": [arrives], "order": [3]})
    log = DecisionLog(["item"]).suggested(order_table, "arrives")
    log = log.changed(order_table.with_columns(order=pl.Series([9])), "arrives")
    coming = pl.DataFrame(
        {"item": ["tin 4"], "date": [last + datetime.timedelta(2)], "units": [80]}
    )
    words = {"lead_time": 3, "review": 2, "holding": 0.2, "shortage": 1, "on_hand": "left"}
    return refilling(**words).fit(rows, on_order=coming, log=log)


@pytest.fixture(scope="module")
def page(plan):
    return read(render(report_data(plan, currency="€", command="unmet plan sales.csv")))


def test_the_page_is_well_formed(page):
    check_form(page, SECTIONS)


def test_key_figures_are_those_of_the_sheet(plan, page):
    order_table = plan.orders()
    found = cards(page)
    ordered, out = (order_table["order"] > 0).sum(), order_table["chance_of_running_out"].sum()
    assert found["total order"][0] == f"{order_table['order'].sum():,}"
    assert found["total order"][1] == f"for {ordered} of 5 series"
    assert found["expected stock-outs"][0] == f"{out:.0f} of 5"
    assert found["on hand"] == ["400", "and 80 on order"]


def test_orders_are_listed_the_most_urgent_first(plan, page):
    rows = list(page.one("table", id="orders").one("tbody").all("tr"))
    order_table = plan.orders().sort("expected_loss", descending=True)
    assert [row.one("th").text for row in rows] == order_table["item"].to_list()
    assert page.one("input", id="search-orders")


def test_each_item_has_its_stock_to_come(plan, page):
    names = [each.text for each in page.one("select", id="picker").all("option")]
    item = page.one("details", id=f"item-{names.index('tin 4')}")
    order = plan.orders().filter(pl.col("item") == "tin 4")["order"][0]
    assert f"Order {order}, to arrive on 29 Feb 2024." in item.text
    assert "On hand: 0; on order: 80" in item.text
    sold, stock, chance = (each["parts"] for each in drawn(item))
    assert {"sales", "expected demand"} <= set(sold)
    assert stock["arrivals"][1] == [80, order]
    low, high = stock["80% interval"][1:]
    assert all(one <= other for one, other in zip(low, high, strict=True))
    assert set(chance) == {"stock-out probability"}


def test_what_changing_orders_was_worth(plan, page):
    assert str(plan.overrides_) in page.one("section", id="costs").text
    assert (plan.overrides_.count, plan.overrides_.known) == (1, 1)
    assert "holding 0.2 per unit and day" in page.one("section", id="costs").text


def test_text_never_becomes_markup_and_weeks_are_weeks():
    rows = table(2, 30, names=[EVIL, "<b>bold</b>"], step=7)
    fitted = refilling(service_level=0.8).fit(rows.drop("left"))
    text = render(report_data(fitted, title=EVIL, command=EVIL, notes=[EVIL], currency="€"))
    assert EVIL not in text
    found = read(text)
    assert not list(found.all("b"))
    assert "days" not in found.one("section", id="items").text
    assert "Target: service level 80%." in found.one("section", id="costs").text
    assert "Amounts have no currency (€)" in found.one("section", id="unknown").text
