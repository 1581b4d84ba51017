"""The page where stock lasts, without a browser: controls, orders, plots, the same command."""

import pytest
from sales_panel import sales_panel

pytest.importorskip("streamlit", reason="streamlit is not installed")

import datetime
import re
import shlex

import polars as pl
from sales_table import refilling
from shown_page import control, metrics, select, texts, upload

from unmet.app.planning import plan_command
from unmet.cli.main import run
from unmet.planning import infer_schema

pytestmark = pytest.mark.usefixtures("few_trees")

EVIL = "<b onclick=alert(1)>x</b> ![p](http://a/b.png) :red[w]"
LEFT = "Stock on hand, if stock is kept"
FIRST, N_DAYS = datetime.date(2024, 1, 1), 60
LAST = FIRST + datetime.timedelta(N_DAYS - 1)


def sales_table(step=1):
    """Bread runs out on many days, the other item has plenty."""
    how = {"stock": [22, 60], "seed": 1, "flags": False, "left": True}
    return sales_panel([20, 6], N_DAYS, ["bread", EVIL], step=step, **how)


def on_its_way():
    arrives = LAST + datetime.timedelta(1)
    return pl.DataFrame({"item": ["bread"], "date": [arrives], "units": [500]})


def opened(table, column="left"):
    page = upload(table)
    select(page, LEFT).set_value(column).run()
    return page


@pytest.fixture(scope="module")
def page():
    return opened(sales_table())


def test_orders_for_arrival_and_who_runs_empty(page):
    assert not page.error
    assert not page.exception
    assert page.title[0].value == "Orders for today"
    order_table = refilling(on_hand="left").fit(sales_table()).orders()  # with all defaults
    assert list(metrics(page)) == [
        *("Total order", "Expected stock-outs", "On hand", "Expected demand")
    ]
    assert metrics(page)["Total order"] == str(order_table["order"].sum())
    expected = order_table["chance_of_running_out"].sum()
    assert metrics(page)["Expected stock-outs"] == f"{expected:.0f} of 2"
    shown = page.dataframe[0].value
    assert shown["item"].tolist()[0] == "bread"
    assert shown["order"].sum() == order_table["order"].sum()
    assert page.code[0].value == (
        "unmet replenish mine.csv --lead-time 0 --review 1 --on-hand left --service-level 0.9 "
        "-o orders.csv"
    )
    assert f"to arrive on {(LAST + datetime.timedelta(1)):%-d %b %Y}" in texts(page).replace(
        "\\", ""
    )
    assert not re.search(r"IEO|quantile|identif|--", texts(page).replace("\\", ""), re.I)


def test_what_is_moved_moves_orders(page):
    before = float(metrics(page)["Total order"])
    control(page, "-level").set_value(99).run()
    higher = float(metrics(page)["Total order"])
    assert higher > before
    control(page, "-lead").set_value(3)
    control(page, "-days").set_value(7).run()
    assert float(metrics(page)["Total order"]) > 3 * higher
    assert "--lead-time 3 --review 7" in page.code[0].value
    assert "in the next 10 days" in texts(page)
    control(page, "-costs").set_value(True).run()
    control(page, "-underage").set_value(0.3)
    control(page, "-overage").set_value(0.3).run()
    assert float(metrics(page)["Total order"]) < 3 * higher
    assert "--holding 0.3 --shortage 0.3" in page.code[0].value
    assert not page.error


def test_what_is_on_its_way_is_taken_off():
    page = opened(sales_table())
    way = on_its_way().write_csv().encode()
    control(page, "-on-order").upload("way.csv", way, "text/csv").run()
    assert not page.error
    assert "on order\\: 500" in texts(page)
    rows = page.dataframe[0].value.set_index("item")
    assert rows.loc["bread", "order"] == 0
    assert "--on-order way.csv" in page.code[0].value
    late = on_its_way().with_columns(date=pl.lit(FIRST)).write_csv().encode()
    control(page, "-on-order").upload("late.csv", late, "text/csv").run()
    assert "on\\_order must have dates from 2024\\-03\\-01 on" in page.error[0].value
    assert not page.exception


@pytest.mark.slow
def test_weeks_and_a_column_that_was_taken_for_stock():
    stocked = sales_table(7).rename({"left": "stock"}).with_columns(pl.col("stock") + 90)
    page = opened(stocked, "stock")
    assert not page.error
    assert select(page, "Available stock").value == "–"
    labels = [each.label for each in page.number_input]
    assert labels == ["Weeks between orders", "Weeks until an order arrives"]
    assert "--on-hand stock" in page.code[0].value
    select(page, LEFT).set_value("–").run()
    assert page.title[0].value == "Orders for the coming days"


def test_the_command_makes_the_same_orders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = sales_table()
    table.write_csv("my sales.csv")
    on_its_way().write_csv("way.csv")
    plan = refilling(lead_time=2, review=3, holding=0.2, shortage=1, on_hand="left")
    plan.fit(table, on_order=on_its_way())
    guess = refilling(on_hand="left").columns(table)
    command = plan_command(plan, guess, "my sales.csv", on_order="way.csv")
    assert command == (
        "unmet replenish 'my sales.csv' --lead-time 2 --review 3 --on-hand left --holding 0.2 "
        "--shortage 1 --on-order way.csv -o orders.csv"
    )
    assert run(shlex.split(command)[1:]) == 0
    assert pl.read_csv("orders.csv")["order"].to_list() == plan.orders()["order"].to_list()
    flagged = table.with_columns(sold_out=pl.col("left") == 0)
    without = refilling(on_hand="left", sold_out="").fit(flagged)
    said = plan_command(without, infer_schema(flagged), "s.csv", decimal=",")
    assert "--sold-out none" in said
    assert "--decimal ," in said
