"""``unmet plan`` as a planner runs it, and every wrong use in one sentence."""

import datetime
import json

import polars as pl
import pytest
from sales_panel import sales_panel

import unmet
from unmet.cli.main import run

pytestmark = pytest.mark.usefixtures("few_trees", "sales_are_demand")

FIRST = datetime.date(2024, 1, 1)
QUICK = ["--model", "seasonal", "--horizon", "3"]


def sales():
    table = sales_panel([10, 20, 30], 60, ["007", "008", "7"])
    return table.with_columns(sold_out=pl.col("sales") > 12, returns="sales")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sales().write_csv("sales.csv")
    sales().write_parquet("sales.parquet")
    sales().drop("item").write_csv("repeated.csv")
    sales().head(1).write_csv("one.csv")
    sales().rename({"sales": "north sold"}).with_columns(
        pl.col("north sold").alias("south sold")
    ).write_csv("two.csv")
    return tmp_path


def test_a_table_becomes_a_sheet(folder, capsys):
    words = ["--horizon", "3", "--model", "seasonal,linear", "--report", "r.html"]
    assert run(["plan", "sales.csv", *words, "--save", "plan.unmet"]) == 0
    shown = capsys.readouterr()
    for words in (
        "to change it",
        "--sold-out",
        "Not used: returns (known only afterwards).",
        "180 rows, 3 series, one row per day, 2024-01-01 to 2024-02-29",
        "units for 2024-03-01 to 2024-03-03 (9 orders): ",
        "usual sales",
    ):
        assert words in shown.out
    for word in ("IEO", "p =", "z =", "likelihood", "quantile", "censored"):
        assert word not in shown.out + shown.err
    assert "note: No costs were given, so orders aim at 90% service level" in shown.err
    assert "wrote orders.csv" in shown.err
    sheet = pl.read_csv("orders.csv", infer_schema_length=0)
    assert sheet.columns[:3] == ["item", "date", "order"]
    assert sheet["item"].unique().sort().to_list() == ["007", "008", "7"]
    assert sheet.height == 9
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "--report r.html" in page
    assert "Not used" not in page
    assert [str(each) for each in unmet.load("plan.unmet").orders()["order"]] == list(
        sheet["order"]
    )
    assert unmet.persistence.read_about("plan.unmet")["command"].startswith("unmet plan sales.csv")


def test_json(folder, capsys):
    code = run(["plan", "sales.parquet", *QUICK, "--json", "-o", "sheet.parquet"])
    assert code == 0
    found = json.loads(capsys.readouterr().out)
    assert found["columns"]["series"] == ["item"]
    assert found["service_level"] == pytest.approx(0.9)
    assert found["choice"]["model"] == "seasonal"
    assert found["orders"] == 9
    parts = found["total"]
    total = parts["usual_sales"] + parts["hidden_demand"] + parts["safety"]
    assert total == pytest.approx(parts["order"], abs=1e-2)
    assert found["files"] == ["sheet.parquet"]
    assert pl.read_parquet("sheet.parquet").height == 9


def test_a_new_item_of_the_table_of_coming_days(folder, capsys):
    days = [FIRST + datetime.timedelta(60 + day) for day in range(3)]
    pl.DataFrame({"date": days, "item": ["0099"] * 3}).write_csv("future.csv")
    assert run(["plan", "sales.csv", *QUICK, "--future", "future.csv"]) == 0
    sheet = pl.read_csv("orders.csv", infer_schema_length=0)
    own = sheet.filter(pl.col("item") == "0099")
    assert own["based_on"].to_list() == ["similar series"] * 3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["absent.csv"],
            "absent.csv must be a CSV, Excel or Parquet file that exists, got no such file",
        ),
        (["sales.csv", "--report", "r.pdf"], "--report must end in .html or .htm, got r.pdf"),
        (["sales.csv", "--horizon", "0"], "horizon must be a whole number from 1 to 366, got 0"),
        (["sales.csv", "--underage", "3"], "--overage must be given with --underage"),
        (["sales.csv", "--gaps", "fill"], "gaps must be 'auto', 'missing' or 'zero', got 'fill'"),
        (
            ["sales.csv", "--step", "six"],
            "--step must be a number, such as 6, or 'none', got 'six'",
        ),
        (["sales.csv", "--sales", "sale"], "sales must be a column of the table, got 'sale'"),
        (["sales.csv", "--series", "item,"], "separated by single commas, got 'item,'"),
        (["sales.csv", "--model", "magic"], "model must be 'auto', one of 'seasonal'"),
        (
            ["two.csv"],
            "got several likely ones, 'north sold' (11, 2, 13), 'south sold' (11",
        ),
        (
            ["repeated.csv", "--duplicates", "error"],
            "Each series must have one row per day, got 2024-01-01 several times",
        ),
    ],
)
def test_wrong_uses_get_a_sentence_and_write_nothing(folder, capsys, words, sentence):
    before = {path.name for path in folder.iterdir()}
    assert run(["plan", *words]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("unmet: ")
    assert sentence in shown.err
    assert shown.err.count("\n") == 1
    assert "Traceback" not in shown.err
    assert {path.name for path in folder.iterdir()} == before


def test_all_problems_with_options_are_told_at_once(folder, capsys):
    words = ["--horizon", "0", "--gaps", "fill", "--step", "six", "-o", "orders.txt"]
    assert run(["plan", "absent.csv", *words]) == 2
    said = capsys.readouterr().err
    for part in ("horizon", "gaps", "--step", "--output", "absent.csv"):
        assert part in said


@pytest.mark.parametrize(
    ("form", "step", "first"), [("%-d.%-m.%Y", 1, "1.3.2024"), ("%G-W%V", 7, "2025-W09")]
)
def test_dates_are_written_as_they_were_read(folder, capsys, form, step, first):
    later = pl.duration(days=(pl.col("date") - FIRST).dt.total_days() * step)
    table = sales().with_columns(date=(pl.lit(FIRST) + later).dt.strftime(form))
    table.write_csv("dates.csv", separator=";")
    assert run(["plan", "dates.csv", *QUICK]) == 0
    dates = pl.read_csv("orders.csv", separator=";", infer_schema_length=0)["date"]
    assert dates[0] == first


def test_sheets_and_encodings(folder, capsys):
    excel = pytest.importorskip("xlsxwriter")
    with excel.Workbook("both.xlsx") as book:
        pl.DataFrame({"read": ["me"]}).write_excel(book, "notes")
        sales().write_excel(book, "sales")
    assert run(["plan", "both.xlsx", *QUICK, "--sheet", "sales"]) == 0
    assert pl.read_csv("orders.csv").height == 9
    capsys.readouterr()
    assert run(["plan", "both.xlsx", *QUICK, "--sheet", "May"]) == 2
    assert capsys.readouterr().err == (
        "unmet: --sheet must be one of 'notes', 'sales' in both.xlsx, got 'May'.\n"
    )
    table = sales().with_columns(item=pl.concat_str(pl.lit("Šunka "), "item"))
    (folder / "old.csv").write_bytes(table.write_csv().encode("cp1250"))
    assert run(["plan", "old.csv", *QUICK, "--encoding", "cp1250"]) == 0
    assert "Šunka 007" in (folder / "orders.csv").read_text(encoding="cp1250")


# --- Orders of the last plan, where no log is kept.


TWO_WEEKS = ["--model", "seasonal", "--horizon", "14"]


def sold_by_orders(file, orders, *, item="item", over=0):
    """Two weeks more of sales: demand is far above what was ordered for the first item."""
    days = [FIRST + datetime.timedelta(60 + day) for day in range(14)]
    weeks = []
    for place, name in enumerate(["007", "008", "7"]):
        own = orders.filter(pl.col("item") == name)["order"].to_list()
        sold = [order + over if place == 0 else max(order - 3, 0) for order in own]
        weeks.append(pl.DataFrame({"date": days, "item": [name] * 14, "sales": sold}))
    table = sales_panel([10, 20, 30], 60, ["007", "008", "7"])
    pl.concat([table, pl.concat(weeks).cast(table.schema)]).rename({"item": item}).write_csv(file)


@pytest.fixture
def planned_once(tmp_path, monkeypatch, capsys):
    """A first plan of a table without flags, and its orders."""
    monkeypatch.chdir(tmp_path)
    sales_panel([10, 20, 30], 60, ["007", "008", "7"]).write_csv("sales.csv")
    assert run(["plan", "sales.csv", *TWO_WEEKS]) == 0
    assert "what was there to sell" not in capsys.readouterr().err
    return pl.read_csv("orders.csv", schema_overrides={"item": pl.String})


READ_BACK = "Stock of 42 days was read from the previous file of orders."


def test_orders_of_the_last_plan_tell_what_was_there(planned_once, capsys):
    sold_by_orders("sales.csv", planned_once)
    assert run(["plan", "sales.csv", *TWO_WEEKS, "--demand-output", "d.csv"]) == 0
    said = capsys.readouterr().err
    assert READ_BACK in said
    assert "(--log)" in said
    told = pl.read_csv("d.csv", schema_overrides={"item": pl.String}, try_parse_dates=True)
    late = told.filter(pl.col("date") >= FIRST + datetime.timedelta(60))
    assert (late["stockout"] == (late["item"] == "007")).all()
    assert late.filter(pl.col("item") == "007").select((pl.col("demand") > pl.col("sales")).any())[
        0, 0
    ]
    # the same table again: the file now has coming days only, which say nothing
    assert run(["plan", "sales.csv", *TWO_WEEKS]) == 0
    assert READ_BACK not in capsys.readouterr().err


@pytest.mark.parametrize("why", ["another column", "more was sold", "a log", "another file"])
def test_files_that_do_not_match_are_not_read(planned_once, capsys, why):
    name = "article" if why == "another column" else "item"
    sold_by_orders("sales.csv", planned_once, item=name, over=5 if why == "more was sold" else 0)
    if why == "another file":
        (planned_once.select("item", "order")).write_csv("orders.csv")
    words = ["--log", "log.parquet"] if why == "a log" else []
    assert run(["plan", "sales.csv", *TWO_WEEKS, *words]) == 0
    assert "that is written anew" not in capsys.readouterr().err


def test_a_run_that_fails_leaves_the_orders_of_the_last_plan(planned_once, capsys):
    sold_by_orders("sales.csv", planned_once)
    assert run(["plan", "sales.csv", *TWO_WEEKS, "--country", "nowhere"]) == 2
    capsys.readouterr()
    again = pl.read_csv("orders.csv", schema_overrides={"item": pl.String})
    assert again.equals(planned_once)
