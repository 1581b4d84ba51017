"""The page of a history without a browser: guesses, controls, orders, and files of every kind."""

import pytest
from sales_panel import sales_panel

pytest.importorskip("streamlit", reason="streamlit is not installed")

import datetime
import re

import polars as pl
from shown_page import control, metrics, open_page, select, texts, upload

from unmet import Newsvendor, OrderPlan

pytestmark = pytest.mark.usefixtures("few_trees")

EVIL = "<b onclick=alert(1)>x</b> ![p](http://a/b.png) :red[w]"
STATISTICS = re.compile(
    r"IEO|EAS|log-likelihood|p = |z = |estimated distribution|quantile|identif", re.I
)


def sales_table(n_days=60):
    """Two items, one of which sells out on many days."""
    return sales_panel([20, 6], n_days, ["bread", EVIL], stock=[22, 30], seed=1)


def number(page, label):
    return float(metrics(page)[label].replace(",", "").replace("−", "-"))


@pytest.fixture(scope="module")
def page():
    return open_page()


def test_the_example_starts_with_the_guesses_of_the_command_line(page, tables):
    assert not page.error
    assert not page.exception
    assert page.title[0].value == "Orders for the coming days"
    guesses = {
        "Date": "date",
        "Sales": "sales",
        "Series: columns that identify one": ["dish"],
        "Sold out: yes or no": "sold_out",
        "Available stock": "stock",
    }
    assert {label: select(page, label).value for label in guesses} == guesses
    assert {"Total order", "Hidden demand", "Safety stock", "Sold-out days"} <= set(metrics(page))
    assert metrics(page)["Sold-out days"] == f"{tables.sales['sold_out'].mean():.0%}"
    first = page.number_input[0]
    assert (first.label, first.value) == ("Days to order for", 7)
    assert page.slider[0].value == 90
    assert not STATISTICS.search(texts(page))


def test_what_is_moved_moves_orders(page, tables):
    before = number(page, "Total order")
    control(page, "-level").set_value(97).run()
    higher = number(page, "Total order")
    assert higher > before
    assert "--service-level 0.97" in page.code[0].value
    assert "in a backtest on" in texts(page)  # as it was compared
    again = OrderPlan(cost=Newsvendor.at_level(0.97)).fit(tables.sales)
    assert higher == again.orders()["order"].sum()
    control(page, "-days").set_value(2)
    control(page, "-lead").set_value(3).run()
    assert number(page, "Total order") < higher
    assert page.dataframe[0].value.shape == (3, 4)
    assert "--horizon 2 --lead-time 3" in page.code[0].value
    control(page, "-costs").set_value(True).run()
    control(page, "-underage").set_value(1.0)
    control(page, "-overage").set_value(4.0).run()
    assert number(page, "Safety stock") < 0
    assert "--underage 1 --overage 4" in page.code[0].value
    select(page, "Item").set_value(1).run()
    assert not page.error
    assert not page.exception


def test_a_file_of_ones_own_and_its_text_stays_text():
    page = upload(sales_table().rename({"item": EVIL}))
    assert not page.error
    assert not page.exception
    assert select(page, "Series: columns that identify one").value == [EVIL]
    shown = texts(page)
    assert not re.search(r"(?<!\\)[<\[]", shown)
    assert page.dataframe[0].value.shape == (3, 9)
    page.text_input(key="find").set_value("BREAD").run()
    assert page.dataframe[0].value.iloc[:, 0].tolist() == ["bread"] * 7
    page.text_input(key="find").set_value("nothing <b>").run()
    assert "No item has this text in its name." in texts(page)
    assert not page.exception
    page.text_input(key="find").set_value("").run()
    known = number(page, "Total order")
    select(page, "Sold out: yes or no").set_value("–").run()
    assert metrics(page)["Sold-out days"] == "?"
    assert number(page, "Total order") < known
    assert "--sold-out none" in page.code[0].value
    control(page, "-rate").set_value(0.3).run()
    assert number(page, "Hidden demand") > 0
    assert "--sellout-rate 0.3" in page.code[0].value
    select(page, "Series: columns that identify one").set_value([]).run()
    assert not page.error
    assert "rows were summed to" in texts(page)


@pytest.mark.slow
def test_what_is_known_of_coming_days_is_used():
    promoted = (pl.col("date").dt.day() % 3 == 0).cast(int).alias("promo")
    page = upload(sales_table().with_columns(promoted))
    assert "Not used as features: promo" in texts(page).replace("\\", "")
    days = [datetime.date(2024, 3, 1) + datetime.timedelta(day) for day in range(7)]
    future = pl.DataFrame({"date": days}).with_columns(promoted).write_csv().encode()
    place = next(each for each in page.file_uploader if (each.key or "").endswith("-future"))
    place.upload("next week.csv", future, "text/csv").run()
    assert not page.error
    assert "promo is not used" not in texts(page).replace("\\", "")
    assert "--future 'next week.csv'" in page.code[0].value


def test_columns_that_are_equally_good_are_asked_for():
    page = upload(sales_table().with_columns(pl.col("sales").alias("Sales")))
    assert "several likely ones" in page.error[0].value
    select(page, "Sales").set_value("sales").run()
    assert not page.error
    assert number(page, "Total order") > 0
    assert "--sales sales" in page.code[0].value
