"""Orders by item and day, item by item, and what is left out."""

from __future__ import annotations

from datetime import date, timedelta

import polars as pl
import pytest
from hand_made_contents import content
from read_page import drawn, read

from unmet.censoring.text import labels_for
from unmet.report import render
from unmet.report.sentences import money
from unmet.report.tables import MAX_ITEMS, items_of

FIRST = date(2024, 3, 4)


def table(n_items, n_days):
    """Item number i orders i + 1 on the first day, and one more each day."""
    rows = [
        (f"item {item}", FIRST + timedelta(days=day), float(item + day), float(item + day + 1))
        for day in range(n_days)
        for item in range(n_items)
    ]
    return pl.DataFrame(rows, schema=["item", "date", "ignoring", "decision"], orient="row")


def history(n_items, expected=30.0):
    rows = [
        (f"item {item}", FIRST - timedelta(days=day + 1), 20.0, expected, day == 0)
        for item in range(n_items)
        for day in range(10)
    ]
    names = ["item", "date", "observed", "expected", "sold_out"]
    return pl.DataFrame(rows, schema=names, orient="row", schema_overrides={"expected": pl.Float64})


def made(n_items, n_days, **more):
    decided = table(n_items, n_days)
    return content(decisions=decided, date="date", series=("item",), **more)


def cells(page, name="orders"):
    whole = page.one("table", id=name)
    return [[cell.text for cell in row.children] for row in whole.all("tr")]


def test_few_days_stand_side_by_side_with_totals():
    rows = cells(read(render(made(3, 4))))
    assert rows[0] == ["item", "total", "Mon 4 Mar", "Tue 5 Mar", "Wed 6 Mar", "Thu 7 Mar"]
    assert rows[1] == ["item 0", "10", "1", "2", "3", "4"]
    assert rows[-1] == ["total", "42", "6", "9", "12", "15"]


def test_many_days_are_put_together_into_weeks():
    rows = cells(read(render(made(2, 40))))
    assert rows[0][:3] == ["item", "total", "week of 4 Mar 2024"]
    assert rows[1][:3] == ["item 0", "820", "28"]
    assert rows[-1][:3] == ["total", "1,680", "63"]
    assert len(rows[0]) == 8


def test_names_lead_to_items_and_one_is_open():
    page = read(render(made(3, 4, history=history(3))))
    folds = [each for each in page.all("details") if each.attributes.get("class") == "item"]
    assert [each.one("summary").text for each in folds] == ["item 0", "item 1", "item 2"]
    assert ["open" in each.attributes for each in folds] == [True, False, False]
    links = [each.attributes["href"] for each in page.one("table", id="orders").all("a")]
    assert links == [f"#{each.attributes['id']}" for each in folds]
    told = folds[1].one("figcaption").text
    assert "Order 14 for the next 4 days (3.50 a day), 40% more than if sales are taken" in told
    assert "Sales of the last 10 days: 200; expected demand: 300 (33% hidden)." in told
    (chart,) = drawn(folds[1])
    assert set(chart["parts"]) == {
        "expected demand",
        "sales",
        "sold out",
        "order quantity",
    }
    assert chart["parts"]["order quantity"] == [10, [2, 3, 4, 5]]


def test_the_largest_items_are_kept_and_the_others_named():
    whole = made(MAX_ITEMS + 20, 2, history=history(MAX_ITEMS + 20))
    items, left_out = items_of(
        whole["decisions"],
        whole["history"],
        labels_for("newsvendor"),
        when="date",
        series=("item",),
    )
    assert len(items) == MAX_ITEMS
    assert left_out == [f"item {at}" for at in range(19, -1, -1)]
    text = render(whole)
    assert "The 200 largest of 220 items are shown" in text
    assert "Left out: item 19, item 18" in text
    assert "and 8 more." in text
    assert len(text) < 2_000_000


@pytest.mark.parametrize("currency", ["", "€", "EUR"])
def test_money_is_counted_in_a_currency(currency):
    text = read(render(content(currency=currency))).one("main").text
    assert ("€8,700" in text) == (currency == "€")
    assert ("8,700\u00a0EUR" in text) == (currency == "EUR")
    assert ("in the units of your costs" in text) == (not currency)
    assert money(0.0, currency).strip("€EUR\u00a0") == "0"
