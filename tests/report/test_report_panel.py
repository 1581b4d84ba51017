"""The report of a panel's plan: what a planner reads, at every size, and text that stays text."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest
from hand_made_contents import EVIL
from read_page import cards, check_form, drawn, read, section
from sales_panel import sales_panel

from unmet import Newsvendor, OrderPlan
from unmet.planning import Schema
from unmet.report import render, report_data, write_report

pytestmark = pytest.mark.usefixtures("few_trees")

FIRST = datetime.date(2024, 1, 1)
SECTIONS = ["decisions-section", "items", "hidden", "costs", "unknown", "statistics", "made"]


def sales_table(n_series=4, n_days=60, names=None, **how):
    names = names or [f"bread {place}" for place in range(n_series)]
    levels = np.geomspace(5, 200, n_series)
    return sales_panel(levels, n_days, names, week=0.3, stock=(0.8, 1.5), **how)


@pytest.fixture(scope="module")
def plan():
    words = {"cost": Newsvendor(4, 1), "model": ["seasonal", "linear"]}
    return OrderPlan(horizon=3, **words).fit(sales_table())


@pytest.fixture(scope="module")
def page(plan):
    return read(render(report_data(plan, currency="€", command="unmet plan sales.csv")))


def test_the_page_is_well_formed(plan, page):
    assert render(report_data(plan)) == render(report_data(plan))
    check_form(page, SECTIONS)


def test_key_figures_add_up(plan, page):
    found = {
        name: float(lines[0].replace(",", "").replace("−", "-")) if "%" not in lines[0] else None
        for name, lines in cards(page).items()
    }
    total = plan.orders()["order"].sum()
    assert found["total order"] == pytest.approx(total)
    parts = found["usual sales"] + found["hidden demand"] + found["safety stock"]
    assert parts == pytest.approx(total, rel=0.01)
    assert page.one("header").text.count(f"Order {total:,} units for 4 series and 3 days") == 1


def test_orders_by_item_and_day_with_totals(plan, page):
    table = page.one("table", id="orders")
    assert len(list(table.one("tbody").all("tr"))) == 4
    foot = [each.text for each in table.one("tfoot").one("tr").children]
    assert foot[1] == f"{plan.orders()['order'].sum():,}"
    by_day = plan.orders().group_by("date").agg(pl.col("order").sum()).sort("date")["order"]
    assert foot[2:] == [f"{each:,}" for each in by_day]
    assert page.one("input", id="search-orders")


def test_each_item_has_its_history_and_what_its_orders_consist_of(plan, page):
    options = [each.text for each in page.one("select", id="picker").all("option")]
    assert options == [f"bread {place}" for place in range(4)]
    item = page.one("details", id="item-3")
    own = plan.orders().filter(pl.col("item") == "bread 3")
    assert f"Order {own['order'].sum()} for the next 3 days" in item.text
    assert " usual sales + " in item.text
    (chart,) = drawn(item)
    assert set(chart["parts"]) == {"sales", "expected demand", "sold out", "order"}
    assert chart["parts"]["order"][1] == own["order"].to_list()


def test_the_choice_in_plain_words_and_money(plan, page):
    said = section(page, "costs").text
    assert plan.choice_.why in said
    assert "from underage 4 and overage 1" in said
    (chart,) = drawn(page.one("figure", id="chart-costs"))
    names = [row["name"] for row in chart["datasets"]["rows"]]
    assert all("€" in name for name in names)
    assert any("less" in name or "more" in name for name in names)
    for place in ("decisions-section", "items", "hidden", "costs"):
        for word in ("quantile", "likelihood", "inverse", "p ="):
            assert word not in section(page, place).text


def test_what_is_hidden_is_counted(plan, page):
    share = np.nanmean(plan.panel_.hidden)
    assert f"{share:.0%} of the days with a flag were stock-outs." in section(page, "hidden").text


def test_nothing_known_and_a_range_of_rates():
    rows = sales_table(flags=False)
    fitted = OrderPlan(horizon=2, model="linear", sellout_rate=(0.1, 0.3)).fit(rows)
    page = read(render(report_data(fitted)))
    low, high = (fitted.orders()[name].sum() for name in ("low", "high"))
    assert cards(page)["range by sell-out rate"] == [f"{low:,} to {high:,}"]
    assert "The given sell-out rate is 10% to 30%" in section(page, "hidden").text
    fitted = OrderPlan(horizon=2, model="linear").fit(rows)
    told = section(read(render(report_data(fitted))), "hidden").text
    assert "No column tells which days sold out. The notes say which sell-out rate" in told


def test_text_never_becomes_markup():
    rows = sales_table(2, names=[EVIL, "<b>bold</b>"]).rename({"item": "decision"})
    fitted = OrderPlan(horizon=2, model="linear", schema=Schema(series=["decision"])).fit(rows)
    text = render(report_data(fitted, title=EVIL, currency="<i>", command=EVIL, notes=[EVIL]))
    assert EVIL not in text
    assert text.count("<script>") == 3
    page = read(text)
    assert not list(page.all("b"))
    assert not list(page.all("i"))
    assert page.one("h1").text == EVIL
    assert EVIL in [each.text for each in page.one("table", id="orders").all("th")]


def test_thousands_of_series_fit_a_mail(plan, tmp_path):
    """Contents of 2,500 series: totals of 2,000 can be searched, the 100 largest be picked."""
    rows = sales_table(2500, 21, flags=False)
    fitted = OrderPlan(horizon=7, model="seasonal").fit(rows)
    path = write_report(fitted, tmp_path / "report.html")
    assert path.stat().st_size < 2_000_000
    page = read(path.read_text(encoding="utf-8"))
    table = page.one("table", id="orders")
    assert len(list(table.one("tbody").all("tr"))) == 2000
    assert table.one("caption").text == "Orders by item, the 2,000 largest of 2,500"
    foot = [each.text for each in table.one("tfoot").one("tr").children]
    assert foot[:2] == ["total", f"{fitted.orders()['order'].sum():,}"]
    assert len(list(page.one("select", id="picker").all("option"))) == 100
    said = section(page, "items").text
    assert "The 100 largest of 2,500 series are shown" in said
