"""``unmet monitor`` as a scheduler runs it: exit codes, a table, and wrong uses in one sentence."""

import datetime
import json

import numpy as np
import polars as pl
import pytest

from unmet.cli.main import run

pytestmark = pytest.mark.usefixtures("sales_are_demand")

FIRST = datetime.date(2024, 1, 1)
PAST, DAYS = 70, 28


def sales(change=1.0):
    generator = np.random.default_rng(0)
    mean = np.array([[10.0], [20.0], [40.0]]) * np.ones(PAST + DAYS)
    mean[:, PAST:] *= change
    sold = generator.poisson(mean)
    return pl.DataFrame(
        {
            "date": [FIRST + datetime.timedelta(day) for day in range(PAST + DAYS)] * 3,
            "item": np.repeat(["007", "008", "7"], PAST + DAYS),
            "sales": sold.ravel(),
        }
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory, sales_are_demand):
    folder = tmp_path_factory.mktemp("monitor")
    last = FIRST + datetime.timedelta(PAST - 1)
    old = sales().filter(pl.col("date") <= last)
    old.write_csv(folder / "sales.csv")
    sales().write_csv(folder / "same.csv")
    sales(2.0).write_csv(folder / "doubled.csv")
    sales().rename({"sales": "quantity"}).write_csv(folder / "other.csv")
    (folder / "text.unmet").write_text("no plan")
    words = ["--model", "seasonal", "--horizon", "7"]
    saved = ["-o", str(folder / "orders.csv"), "--save", str(folder / "plan.unmet")]
    assert run(["plan", str(folder / "sales.csv"), *words, *saved]) == 0
    fit = ["--observed", "sales", "--features", "item", "--underage", "3", "--overage", "1"]
    model = ["--band", "none", "--model", "linear", "-o", str(folder / "model.unmet")]
    assert run(["fit", str(folder / "sales.csv"), *fit, *model]) == 0
    return folder


@pytest.fixture
def folder(files, monkeypatch):
    monkeypatch.chdir(files)
    return files


def test_all_is_as_planned(folder, capsys):
    assert run(["monitor", "plan.unmet", "same.csv"]) == 0
    shown = capsys.readouterr().out
    assert "84 new rows, 2024-03-11 to 2024-04-07." in shown
    assert shown.splitlines()[2].split() == ["what", "expected", "seen", "verdict"]
    assert shown.endswith("Keep the plan: sales and stock-outs are as planned.\n")


def test_a_plan_that_no_longer_holds_has_its_own_exit_code(folder, capsys):
    assert run(["monitor", "plan.unmet", "doubled.csv"]) == 4
    shown = capsys.readouterr().out
    assert "plan again" in shown
    assert "Total sales are above the forecast of the plan. Significant since 2024-03" in shown
    assert shown.endswith("Plan again with the new rows: the change is significant.\n")


def test_json_has_everything(folder, capsys):
    assert run(["monitor", "plan.unmet", "doubled.csv", "--level", ".05", "--json"]) == 4
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "plan again"
    assert found["level"] == 0.05
    checks = {each["name"]: each for each in found["checks"]}
    assert set(checks) == {"sell_outs", "level", "series", "assortment", "weekdays"}
    assert checks["level"]["first_day"] <= "2024-03-25"
    assert checks["level"]["details"]["needed"] == pytest.approx(60)
    assert checks["sell_outs"]["verdict"] == "not known"


def test_a_log(folder, capsys):
    orders = pl.read_csv("orders.csv", schema_overrides={"item": pl.String})
    log = orders.select("item", pl.col("date").str.to_date(), suggested=pl.col("order") * 1.0)
    log.with_columns(decided=None, delivered=None).write_parquet("log.parquet")
    assert run(["monitor", "plan.unmet", "same.csv", "--log", "log.parquet"]) == 0
    shown = capsys.readouterr()
    assert "stock-outs, by the log" in shown.out
    assert "note: Stock of 21 days was read from the log." in shown.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["text.unmet", "same.csv"], "text.unmet must be a file that unmet saved"),
        (
            ["model.unmet", "same.csv"],
            "unmet plan --save wrote, got a DecisionPlan",
        ),
        (["plan.unmet", "absent.csv"], "that exists, got no such file"),
        (
            ["plan.unmet", "sales.csv"],
            "table must have rows after the plan's last day, 2024-03-10, got none after 2024-03-10",
        ),
        (
            ["plan.unmet", "other.csv"],
            "table must have the columns of the plan, got no 'sales' but date,",
        ),
        (["plan.unmet", "same.csv", "--level", "5"], "--level must be a number above 0 and below"),
        (
            ["plan.unmet", "same.csv", "--log", "no.parquet"],
            "--log must be a file that exists, got no.parquet",
        ),
        (["plan.unmet", "same.csv", "--log", "same.csv"], "must be a log of decisions with the"),
    ],
)
def test_wrong_uses_get_a_sentence(folder, capsys, words, sentence):
    assert run(["monitor", *words]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("unmet: ")
    assert sentence in shown.err
    assert shown.err.count("\n") == 1
    assert not shown.out
