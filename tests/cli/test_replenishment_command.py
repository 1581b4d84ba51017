"""``unmet replenish``, and the log of both commands, as a planner runs them."""

import datetime
import json

import numpy as np
import polars as pl
import pytest
from sales_panel import sales_panel

import unmet
from unmet.cli.main import run
from unmet.planning import DecisionLog

pytestmark = pytest.mark.usefixtures("few_trees", "sales_are_demand")

FIRST = datetime.date(2024, 1, 1)
N_DAYS = 56
LAST = FIRST + datetime.timedelta(N_DAYS - 1)
STOCK = ["--lead-time", "2", "--holding", ".2", "--shortage", "1", "--on-hand", "left"]
QUICK = ["--model", "seasonal", "--horizon", "2"]


def sales():
    table = sales_panel([10, 20, 30], N_DAYS, ["007", "008", "7"])
    left = np.random.default_rng(0).integers(0, 9, table.height)
    return table.with_columns(pack=6, days=2, left=left)


def on_its_way(form="%Y-%m-%d"):
    date = (LAST + datetime.timedelta(1)).strftime(form)
    return pl.DataFrame({"item": ["008"], "date": [date], "units": [400]})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sales().write_csv("sales.csv")
    on_its_way().write_csv("way.csv")
    return tmp_path


def test_one_order_for_each_series(folder, capsys):
    words = [*STOCK, "--on-order", "way.csv", "--levels", "levels.csv", "--projection", "s.csv"]
    assert run(["replenish", "sales.csv", *words, "--report", "r.html"]) == 0
    shown = capsys.readouterr()
    for part in (
        "to change it",
        "on hand   left",
        "168 rows, 3 series, one row per day, 2024-01-01 to 2024-02-25",
        "units for 2 of 3 series.",
        "chance of running out",
    ):
        assert part in shown.out
    sheet = pl.read_csv("orders.csv", infer_schema_length=0)
    assert sheet["item"].to_list() == ["007", "008", "7"]
    assert sheet["arrives"].unique().to_list() == ["2024-02-28"]
    assert sheet["order"][1] == "0"
    assert sheet["on_order"].cast(float).to_list() == [0, 400, 0]
    levels = pl.read_csv("levels.csv", infer_schema_length=0)
    assert levels.columns == ["item", "reorder_point", "order_up_to", "minimum", "lot"]
    assert pl.read_csv("s.csv").height == 9
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "Projected stock" in page
    for file in ("orders.csv", "levels.csv", "s.csv", "r.html"):
        assert f"wrote {file}" in shown.err


def test_lead_times_that_vary_are_chances_or_deliveries(folder, capsys):
    stock = ["--on-hand", "left", "--holding", ".2", "--shortage", "1"]
    assert run(["replenish", "sales.csv", *stock, "--lead-time", "1:.75,4:.25", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert 0 < found["expected_to_run_out"] <= 3
    total = found["total"]
    assert total["expected_loss"] == pytest.approx(total["expected_shortage"])  # a unit costs 1
    rows = [("007", "2024-01-01", "2024-01-03"), ("007", "2024-01-08", "2024-01-13")]
    names = ["item", "ordered", "received"]
    pl.DataFrame([*rows, ("007", "2024-02-20", None)], names, orient="row").write_csv("past.csv")
    words = ["replenish", "sales.csv", *stock, "--deliveries", "past.csv", "--save", "p.unmet"]
    assert run(words) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "orders cover that: 1 to 4 days, 2.5 on average. Not used: 1 row" in said
    again, kept = unmet.load("p.unmet"), pl.read_csv("orders.csv", infer_schema_length=0)
    assert kept["order"].cast(int).to_list() == again.orders()["order"].to_list()
    assert run([*words, "--lead-time", "2"]) == 2
    assert "--deliveries needs supply rules without --lead-time" in capsys.readouterr().err
    assert run(["replenish", "sales.csv", "--lead-time", "1:.5,4:.2"]) == 2
    assert "--lead-time must have chances" in " ".join(capsys.readouterr().err.split())


def test_a_plan_is_kept_loaded_and_watched(folder, capsys):
    before = sales().filter(pl.col("date") <= LAST - datetime.timedelta(14))
    before.write_csv("before.csv")
    assert run(["replenish", "before.csv", *STOCK, "--save", "plan.unmet"]) == 0
    assert "wrote plan.unmet" in capsys.readouterr().err
    again = unmet.load("plan.unmet")
    written = pl.read_csv("orders.csv", infer_schema_length=0)
    assert written["order"].cast(int).to_list() == again.orders()["order"].to_list()
    assert run(["monitor", "plan.unmet", "sales.csv"]) in (0, 4)
    shown = capsys.readouterr().out
    assert "42 new rows, 2024-02-12 to 2024-02-25." in shown
    assert "stock-outs" in shown


def test_json_and_the_log_of_lasting_stock(folder, capsys):
    words = ["replenish", "sales.csv", *STOCK, "--log", "log.parquet", "--json"]
    assert run(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["orders"] == 3
    assert found["overrides"]["count"] == 0
    assert found["files"] == ["orders.csv", "log.parquet"]
    log = pl.read_parquet("log.parquet")
    assert log["date"].unique().to_list() == [LAST + datetime.timedelta(3)]
    assert log["suggested"].sum() == found["total"]["order"]
    pl.read_csv("orders.csv", infer_schema_length=0).with_columns(order=pl.lit("99")).write_csv(
        "mine.csv"
    )
    assert run([*words, "--decided", "mine.csv", "-o", "next.csv"]) == 0
    assert json.loads(capsys.readouterr().out)["overrides"]["count"] == 3
    assert pl.read_parquet("log.parquet")["decided"].to_list() == [99, 99, 99]


def test_logged_orders_are_on_their_way_the_next_day(folder, capsys):
    before = sales().filter(pl.col("date") < LAST)
    before.write_csv("before.csv")
    assert run(["replenish", "before.csv", *STOCK, "--log", "log.parquet"]) == 0
    assert "of the log" not in capsys.readouterr().err
    ordered = pl.read_csv("orders.csv", infer_schema_length=0)["order"].cast(float)
    placed = int((ordered > 0).sum())
    assert run(["replenish", "sales.csv", *STOCK, "--log", "log.parquet", "-o", "next.csv"]) == 0
    said = f"{placed} orders of the log with {ordered.sum():g} units."
    assert said in " ".join(capsys.readouterr().err.split())
    sheet = pl.read_csv("next.csv", infer_schema_length=0)
    assert sheet["on_order"].cast(float).to_list() == ordered.to_list()


def test_the_log_of_single_days(folder, capsys):
    table = sales()
    known = table.filter(pl.col("date") <= LAST - datetime.timedelta(2))
    known.write_csv("before.csv")
    assert run(["plan", "before.csv", *QUICK, "--log", "log.parquet"]) == 0
    assert "changed" not in capsys.readouterr().out
    log = pl.read_parquet("log.parquet")
    assert (log.height, log["decided"].null_count()) == (6, 6)
    mine = pl.read_csv("orders.csv", infer_schema_length=0).select(
        "item", "date", pl.col("order").cast(int) + 3, delivered=pl.col("order").cast(int) + 1
    )
    mine.write_csv("mine.csv")
    words = [*QUICK, "--log", "log.parquet", "--decided", "mine.csv", "--report", "r.html"]
    words.append("--details")
    assert run(["plan", "sales.csv", *words]) == 0
    shown = capsys.readouterr()
    assert "Changed orders: 6" in shown.out
    assert "Stock of 6 days was read from the log." in shown.err
    log = pl.read_parquet("log.parquet")
    assert log.height == 12
    assert log["delivered"].null_count() == 6
    assert "Changed orders: 6" in (folder / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--lead-time", "1.5"], "--lead-time must be a whole number of periods from 0 to 366"),
        (["--horizon", "7"], "--horizon is an option of unmet plan, for orders of single days"),
        (["--holding", "1"], "--shortage must be given with --holding"),
        (["--unmet", "gone"], "--unmet must be 'lost' or 'backordered', got 'gone'"),
        (["--service-level", ".9", "--holding", "1"], "--service-level must not be given with"),
        (["--on-hand", "shelf"], "--on-hand must be a column of the table, got 'shelf'"),
        (["--levels", "sales.csv"], "--levels must not be another file"),
        (["--shelf-life", "3", "--levels", "l.csv"], "--levels must not be given with"),
        (["--decided", "way.csv"], "--decided needs --log"),
        (["--log", "log.csv"], "--log must end in .parquet, got log.csv"),
        (["--log", "l.parquet", "--decided", "way.csv"], "a column order, a column delivered"),
        (["--review", "days", "--minimum", "few"], "--minimum must be a column of the table"),
    ],
)
def test_wrong_uses_get_a_sentence_and_write_nothing(folder, capsys, words, sentence):
    before = {path.name for path in folder.iterdir()}
    assert run(["replenish", "sales.csv", *words]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("unmet: ")
    assert sentence in shown.err
    assert shown.err.count("\n") == 1
    assert {path.name for path in folder.iterdir()} == before


def row_of(item, order):
    return pl.DataFrame({"item": [item], "date": [FIRST], "order": [order]})


def test_a_command_keeps_what_was_entered_while_it_learned(tmp_path):
    """The log is read before a plan learns, and written after: minutes later, perhaps."""
    path = tmp_path / "log.parquet"
    before = row_of("tea", 4.0)
    DecisionLog(["item"]).suggested(before).write(path)

    def enter(log):  # as --decided does
        return log.changed(row_of("tea", 6.0))

    enter(DecisionLog.read(path, ["item"]))
    other = DecisionLog.read(path, ["item"]).changed(
        pl.DataFrame({"item": ["tea"], "date": [FIRST], "delivered": [5.0]})
    )
    other.suggested(row_of("milk", 9.0)).write(path)
    DecisionLog.update(path, ["item"], lambda log: enter(log).suggested(row_of("rolls", 7.0)))
    found = DecisionLog.read(path, ["item"]).table.sort("item")
    assert found.select("item", "suggested", "decided", "delivered").rows() == [
        ("milk", 9.0, None, None),
        ("rolls", 7.0, None, None),
        ("tea", 4.0, 6.0, 5.0),
    ]
