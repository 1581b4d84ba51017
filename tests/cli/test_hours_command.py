"""``unmet hours``, and hours of the till in plans and diagnoses, as a user types them."""

import datetime
import json

import numpy as np
import polars as pl
import pytest

from unmet.cli.main import run

FIRST = datetime.date(2024, 1, 1)
N_DAYS = 42
ITEMS = ("001", "002", "003", "004")


def hourly():
    """Four items whose shelves are emptied on every fifth day, and when."""
    generator = np.random.default_rng(0)
    sales = generator.poisson(np.geomspace(1.5, 6, 4)[:, None, None], (4, N_DAYS, 12))
    out = np.zeros(sales.shape, dtype=bool)
    out[:, 2::5, 6:] = True
    sales[out] = 0
    rows = [
        (
            FIRST + datetime.timedelta(day),
            item,
            8 + hour,
            int(sales[at, day, hour]),
            out[at, day, hour],
        )
        for at, item in enumerate(ITEMS)
        for day in range(N_DAYS)
        for hour in range(12)
    ]
    names = ["date", "item", "hour", "sales", "out_of_stock"]
    return pl.DataFrame(rows, schema=names, orient="row")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clock")
    flagged = hourly()
    plain = flagged.drop("out_of_stock")
    flagged.write_csv(folder / "flags.csv")
    plain.write_csv(folder / "hours.csv")
    moment = pl.col("date").cast(pl.Datetime) + pl.duration(hours=pl.col("hour"), minutes=7)
    lines = plain.filter(pl.col("sales") > 0).select(
        moment.alias("time"), "item", pl.col("sales").alias("quantity")
    )
    lines.with_columns(pl.col("time").dt.strftime("%Y-%m-%d %H:%M")).write_csv(
        folder / "receipts.csv"
    )
    lines.with_columns(pl.col("time").dt.strftime("%Y-%m-%dT%H:%M:00Z")).write_csv(
        folder / "utc.csv"
    )
    sums = plain.group_by("date", "item", maintain_order=True).agg(pl.col("sales").sum())
    sums.write_csv(folder / "sales.csv")
    sums.filter(pl.col("item") > "002").write_csv(folder / "few.csv")
    sums.rename({"item": "sku"}).write_csv(folder / "other.csv")
    sums.group_by("date", maintain_order=True).agg(pl.col("sales").sum()).write_csv(
        folder / "total.csv"
    )
    plain.with_columns(pl.col("hour") + 10).write_csv(folder / "late.csv")
    plain.with_columns(sales=pl.lit(0)).write_csv(folder / "zero.csv")
    return folder


@pytest.fixture
def folder(files, monkeypatch):
    monkeypatch.chdir(files)
    return files


def test_days_that_the_clock_gave_away(folder, capsys):
    assert run(["hours", "hours.csv", "-o", "days.csv"]) == 0
    said = capsys.readouterr()
    assert "about 21% of 168 days" in said.out
    assert "Days with the most lost sales:" in said.out
    assert "wrote days.csv" in said.err
    days = pl.read_csv(folder / "days.csv", schema_overrides={"item": pl.String})
    assert days.columns == ["item", "date", "sold", "sold_out", "hours_out", "demand"]
    assert days["item"].unique().sort().to_list() == list(ITEMS)
    fast = days.filter(pl.col("item") == "004").sort("date")["sold_out"].to_numpy()
    assert (fast[2::5] > 0.9).all()
    assert np.delete(fast, np.arange(2, N_DAYS, 5)).max() < 0.5


def test_plans_and_diagnoses_take_hours(folder, capsys):
    plain = ["plan", "sales.csv", "--model", "linear", "--horizon", "3", "-o"]
    assert run([*plain, "plain.csv", "--sellout-rate", "0"]) == 0
    assert run([*plain, "clock.csv", "--hourly", "hours.csv"]) == 0
    assert "note: Stock-outs, detected by hours without sales" in capsys.readouterr().err
    assert run([*plain, "flagged.csv", "--hourly", "flags.csv"]) == 0
    assert "note: Stock-outs: " in capsys.readouterr().err
    alone = ["plan", "--receipts", "receipts.csv", "--model", "linear", "--horizon", "3"]
    assert run([*alone, "-o", "alone.csv", "--json", "--report", "report.html"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"]["series"] == ["item"]
    orders = {
        name: pl.read_csv(folder / f"{name}.csv") for name in ("plain", "clock", "flagged", "alone")
    }
    hidden = {name: each["hidden_demand"].sum() for name, each in orders.items()}
    assert hidden["plain"] == 0 < min(hidden["clock"], hidden["flagged"])
    assert orders["alone"]["order"].equals(orders["clock"]["order"])


@pytest.mark.slow
def test_a_diagnosis_says_which_days_the_clock_gave_away(folder, capsys):
    words = [*DIAGNOSE.replace("sales.csv", "few.csv").split(), "--receipts", "utc.csv"]
    assert run([*words, "--time-zone", "Europe/Berlin"]) == 0
    said = capsys.readouterr().out
    assert "Stock-outs, detected by hours without sales" in said
    assert "Days with the most lost sales:" in said


DIAGNOSE = "diagnose sales.csv --observed sales --features item"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("hours absent.csv", "that exists, got no such file"),
        ("hours late.csv", "from 0 to 23, got 24 in column 'hour'"),
        ("hours zero.csv", "must have sales, got none"),
        ("hours hours.csv --receipts", "--date must have the time of day"),
        ("hours hours.csv --series shop", "got 'shop', which has date, item, hour, sales"),
        ("hours hours.csv --opens 20 --closes 8", "closes must be after opens"),
        ("hours hours.csv -o hours.csv", "must not be another file of this command"),
        ("hours utc.csv --receipts", "--time-zone must be given for times in UTC"),
        ("hours receipts.csv --receipts --hour time", "--hour must not be given with --receipts"),
        ("plan", "Give a table of sales, or hourly sales with --hourly or --receipts"),
        ("plan sales.csv --hourly hours.csv --receipts receipts.csv", "must not both be given"),
        ("plan sales.csv --closes 20", "add --hourly or --receipts"),
        ("plan other.csv --hourly hours.csv", "got 'sku'"),
        ("plan total.csv --hourly hours.csv", "several for hour 8 on 2024-01-01"),
        (
            "plan --hourly hours.csv --holding 1 --shortage 3",
            "--holding is an option of unmet replenish",
        ),
        (f"{DIAGNOSE} --opens 3", "add --hourly or --receipts"),
    ],
)
def test_wrong_uses_get_one_sentence(folder, capsys, line, sentence):
    before = sorted(path.name for path in folder.iterdir())
    assert run(line.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("unmet: ")
    assert said.err.count("\n") == 1
    assert sentence in said.err
    assert sorted(path.name for path in folder.iterdir()) == before
