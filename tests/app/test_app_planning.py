"""Orders for the coming days without a page: the same as `unmet plan`, at any level in a moment."""

import datetime
import shlex
from io import BytesIO

import numpy as np
import polars as pl
import pytest
from sales_panel import sales_panel
from typer.testing import CliRunner

from unmet import Newsvendor
from unmet.app.planning import (
    guess,
    has_history,
    item_of,
    items,
    orders_name,
    plan_command,
    read_uploaded,
    written,
)
from unmet.censoring.text import order_labels
from unmet.cli.main import app
from unmet.planning import OrderPlan, Schema, example, infer_schema
from unmet.report.sentences import item_finding
from unmet.tables.dialect import Dialect, as_bytes
from unmet.tables.reading import read_file, table_bytes

pytestmark = pytest.mark.usefixtures("few_trees")

FIRST = datetime.date(2024, 1, 1)


def sales_table(n_series=4, n_days=60, **how):
    return sales_panel(np.geomspace(5, 80, n_series), n_days, week=0.4, stock=(0.8, 1.5), **how)


@pytest.fixture(scope="module")
def table():
    return sales_table()


@pytest.fixture(scope="module")
def what_if(table):
    return OrderPlan(horizon=3, model="linear").fit(table)


def test_a_rate_that_nothing_tells():
    table = sales_table(flags=False)
    what_if = OrderPlan(horizon=3, model="linear").fit(table)
    none, some = (
        what_if.at(cost=Newsvendor.at_level(0.8), sellout_rate=rate) for rate in (None, 0.4)
    )
    more, fewer = some.orders(), none.orders()
    assert more["order"].sum() > fewer["order"].sum()
    assert more["hidden_demand"].sum() > fewer["hidden_demand"].sum()
    assert none.panel_.hidden is None
    assert any("orders assume that up to" in note for note in none.notes_)
    assert not any("--" in note for note in (*none.notes_, *some.notes_))
    direct = OrderPlan(
        horizon=3, cost=Newsvendor.at_level(0.8), sellout_rate=0.3, model="linear"
    ).fit(table)
    units = more["order"].sum()
    assert abs(units - direct.orders()["order"].sum()) < 0.05 * units


def test_one_item(table, what_if):
    plan = what_if.at(cost=Newsvendor.at_level(0.8))
    place, name = list(items(plan).items())[2]
    assert name == "002"
    found, rows = item_of(plan, place)
    own = table.filter(pl.col("item") == "002")
    past = found["past"]
    assert past["observed"].to_list() == own["sales"].to_list()
    assert past["sold_out"].to_list() == own["sold_out"].to_list()
    assert rows.equals(plan.orders().filter(pl.col("item") == "002"))
    assert found["coming"]["decision"].to_list() == rows["order"].to_list()
    more = past["expected"] - past["observed"]
    assert (more.filter(~past["sold_out"]) == 0).all()
    share = more.sum() / past["expected"].sum()
    assert f"({100 * share:.1f}% hidden)" in item_finding(found, order_labels("day"))


def test_guesses_start_the_page():
    sales = example().sales
    assert has_history(sales)
    assert guess(sales)[0].date == "date"
    assert guess(sales, date="date", sales="sales")[0].series == ("dish",)
    offers = pl.DataFrame(
        {"day": ["2024-05-01", "2024-05-02"], "offer": [3, 4], "accepted": [1, 0]}
    )
    assert not has_history(offers)
    assert has_history(offers.drop("accepted"))
    assert not has_history(pl.DataFrame({"sales": [1, 2]}))


def test_a_german_file_from_bytes_to_bytes():
    table = sales_table(2, 60).with_columns(
        pl.col("date").dt.strftime("%d.%m.%Y"),
        pl.col("sales") + 0.5,
        pl.when(pl.col("sold_out")).then(pl.lit("ja")).otherwise(pl.lit("nein")).alias("sold_out"),
        pl.col("item").replace({"000": "Brötchen", "001": "Öl"}),
    )
    named = table.rename(
        {"date": "Datum", "item": "Artikel", "sales": "Absatz", "sold_out": "Ausverkauft"}
    )
    file = read_uploaded("Umsätze.csv", as_bytes(named, Dialect("utf-8-sig", ";", ",", "\r\n")))
    assert has_history(file.table)
    schema = infer_schema(file.table)
    assert (schema.date, schema.series, schema.sales, schema.sold_out) == (
        *("Datum", ("Artikel",), "Absatz", "Ausverkauft"),
    )
    assert file.table["Absatz"].to_list() == table["sales"].to_list()
    what_if = OrderPlan(horizon=2, model="linear").fit(file.table)
    assert orders_name("Umsätze.csv") == "orders.csv"
    data = written(what_if.at(cost=Newsvendor.at_level(0.8)), file, "orders.csv")
    lines = data.decode("utf-8-sig").split("\r\n")
    assert lines[0].startswith("Artikel;Datum;order;")
    assert lines[1].startswith("Brötchen;01.03.2024;")
    assert "," in lines[1]


def test_orders_as_the_file_was():
    order_table = pl.DataFrame({"item": ["=1+1"], "order": [2.5]})
    assert orders_name("a.parquet") == "orders.parquet"
    assert pl.read_parquet(BytesIO(table_bytes(order_table, ".parquet"))).equals(order_table)
    assert orders_name("A.XLSX") == "orders.xlsx"
    data = table_bytes(order_table, ".xlsx")
    assert read_uploaded("orders.xlsx", data).table["item"].to_list() == ["=1+1"]


def test_the_command_makes_the_same_orders(tmp_path, table, what_if, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table.write_csv("my sales.csv")
    plan = what_if.at(cost=Newsvendor.at_level(0.9))
    command = plan_command(plan, what_if.schema_, "my sales.csv")
    assert command == (
        "unmet plan 'my sales.csv' --horizon 3 --service-level 0.9 --model linear -o orders.csv"
    )
    done = CliRunner().invoke(app, shlex.split(command)[1:])
    assert done.exit_code == 0, done.output
    assert read_file("orders.csv").table["order"].to_list() == plan.orders()["order"].to_list()


def test_the_command_says_what_differs_from_the_guess(table):
    schema = Schema(sold_out="", gaps="zero")
    what_if = OrderPlan(horizon=3, lead_time=1, schema=schema, model="linear").fit(table)
    plan = what_if.at(cost=Newsvendor(3.0, 1.0), sellout_rate=0.2)
    words = shlex.split(
        plan_command(plan, infer_schema(table), "s.csv", future="f.csv", decimal=",")
    )
    said = {word: words[at + 1] for at, word in enumerate(words) if word.startswith("-")}
    assert said == {
        **{"--horizon": "3", "--lead-time": "1", "--underage": "3", "--overage": "1"},
        **{"--sellout-rate": "0.2", "--sold-out": "none", "--gaps": "zero", "--future": "f.csv"},
        **{"--decimal": ",", "--model": "linear", "-o": "orders.csv"},
    }
    everything = plan_command(plan, None)
    for option in ("--date date", "--series item", "--sales sales", "--stock none"):
        assert option in everything
