"""Guesses, uploads and commands: what stands between a file and a plan."""

import os
import shlex
import sys

import polars as pl
import pytest

from unmet.app.upload import MAX_BYTES, guess_plan, guess_truth, read_uploaded
from unmet.errors import InvalidInput
from unmet.planning import DecisionPlan, example
from unmet.planning.decision_report import command_of
from unmet.planning.example import EXAMPLE

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


def options(line):
    """Labels after each option of a command."""
    words = shlex.split(line)
    return {word: words[at + 1] for at, word in enumerate(words) if word.startswith("-")}


def test_guesses_of_the_example_keep_what_tells_the_answer_out_of_the_features():
    found = guess_plan(example().sales)
    assert found["observed"] == "sales"
    assert found["date"] == "date"
    assert found["series"] == ("dish",)
    assert found["censored_column"] == "sold_out"
    assert found["stock_column"] == "stock"
    assert {"weekday", "dish", "temperature"} <= set(found["features"])
    assert not {"sales", "sold_out", "stock", "date"} & set(found["features"])


def test_guesses_of_other_problems():
    offers = pl.DataFrame({"size": [1.0, 2.0], "offer": [3.0, 4.0], "accepted": ["yes", "no"]})
    found = guess_plan(offers, "pricing")
    assert found["observed"] == "offer"
    assert found["accepted_column"] == "accepted"
    assert found["features"] == ("size",)
    parts = pl.DataFrame({"load": [1.0, 2.0], "Hours": [3.0, 4.0], "Failed": [1, 0]})
    found = guess_plan(parts, "replacement")
    assert (found["observed"], found["failed_column"]) == ("Hours", "Failed")
    assert guess_plan(parts.rename({"Failed": "suspended"}), "replacement")["censored_column"] == (
        "suspended"
    )


def test_guesses_use_kinds_where_names_say_nothing():
    table = pl.DataFrame(
        {
            "a": ["2024-05-01", "2024-05-02", "2024-05-03"],
            "id": ["x1", "x2", "x3"],
            "constant": [1, 1, 1],
            "b": [4, 2, 5],
            "c": [5.0, 6.0, 7.0],
            "demand": [8, 9, 9],
        }
    ).with_columns(pl.col("a").str.to_date())
    found = guess_plan(table.drop("demand"))
    assert (found["observed"], found["date"], found["series"]) == ("c", "a", ())
    assert found["features"] == ("id", "b")
    assert "demand" not in guess_plan(table)["features"]
    assert guess_truth(table) == "demand"
    assert guess_truth(table.drop("demand")) is None


def test_a_flag_that_holds_no_flags_is_none():
    table = pl.DataFrame({"x": [1.0, 2.0], "sales": [1, 2], "stockout": ["Monday", "Tuesday"]})
    assert "censored_column" not in guess_plan(table)


def test_a_table_without_numbers_is_refused():
    with pytest.raises(InvalidInput, match="a column of numbers"):
        guess_plan(pl.DataFrame({"a": ["x", "y"]}))


def test_uploads():
    told = read_uploaded("sales.csv", b"day;sales\nMon;1.501\n", decimal=",").table
    assert told["sales"].to_list() == [1501]
    table = read_uploaded("folder\\Sales (1).CSV", b"day;sales\nMon;1,5\nTue;2,5\n").table
    assert table["sales"].to_list() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("cat.csv", PNG, "cat.csv must be text in UTF-8"),
        ("empty.csv", b"", "empty.csv must hold a table, got an empty file"),
        ("header.csv", b"a,b\n", "header.csv must have at least one row"),
        ("table.parquet", b"nothing of the kind", "table.parquet cannot be read as Parquet"),
        ("../../cat.png", PNG, "cat.png must end in one of"),
        ("", b"a", "The file must end in one of"),
    ],
    ids=["plot", "empty", "header", "parquet", "ending", "nameless"],
)
def test_wrong_files_get_a_sentence_without_our_folders(name, data, sentence):
    with pytest.raises(InvalidInput) as caught:
        read_uploaded(name, data)
    assert str(caught.value).startswith(sentence)
    assert "tmp" not in str(caught.value)


@pytest.mark.skipif(os.name != "posix", reason="a script instead of Python")
def test_a_file_that_ends_its_reader_does_not_end_the_page(tmp_path, monkeypatch):
    dying = tmp_path / "python"
    dying.write_text("#!/bin/sh\nkill -ABRT $$\n")
    dying.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(dying))
    for name in ("a.xlsx", "a.parquet", "a.csv.gz"):
        with pytest.raises(InvalidInput, match=rf"^{name} cannot be read: the process that read"):
            read_uploaded(name, b"whatever")


def test_huge_files_are_refused():
    with pytest.raises(InvalidInput, match=r"huge.csv must not be larger than 50 MB, got 50 MB"):
        read_uploaded("huge.csv", bytes(MAX_BYTES + 1))


def test_commands_name_what_differs_from_the_defaults():
    fit, decide = command_of(DecisionPlan(**EXAMPLE), "my sales.csv").splitlines()
    assert fit.startswith("unmet fit 'my sales.csv' --observed sales ")
    assert options(fit) == {
        "--observed": "sales",
        "--features": "weekday,month,dish,is_holiday,temperature",
        "--date": "date",
        "--series": "dish",
        "--underage": "3",
        "--overage": "1",
        "-o": "model.unmet",
    }
    assert decide == "unmet decide model.unmet next.csv -o orders.csv"


def test_commands_name_everything_that_a_plan_can_say():
    plan = DecisionPlan(
        "it's $(sold)",
        ["a b", "c"],
        underage_column="margin",
        overage=0.1 + 0.2,
        model="boosted",
        band=(0.0, 2.5),
        stock_column="stock",
        date="day",
        calendar=["weekday", "month"],
        categories=["c"],
        by=["shop"],
        weight_column="weight",
        random_state=7,
    )
    fit, decide = command_of(plan, step=None, lower=2).splitlines()
    found = options(fit)
    assert found["--observed"] == "it's $(sold)"
    assert found["--features"] == "a b,c"
    assert found["--underage-column"] == "margin"
    assert found["--overage"] == "0.3"
    assert found["--band"] == "0,2.5"
    assert (found["--model"], found["--by"], found["--calendar"]) == (
        "boosted",
        "shop",
        "weekday,month",
    )
    assert (found["--weight-column"], found["--seed"]) == ("weight", "7")
    assert "--underage" not in found
    assert options(decide) == {"--step": "none", "--lower": "2", "-o": "orders.csv"}


def test_commands_of_the_other_problems():
    ages = DecisionPlan(
        "h", problem="replacement", planned=1.0, failure=7.5, failed_column="failed"
    )
    found = options(command_of(ages).splitlines()[0])
    assert found["--problem"] == "replacement"
    assert (found["--planned"], found["--failure"], found["--failed-column"]) == (
        "1",
        "7.5",
        "failed",
    )
    assert "--step" not in command_of(ages, step=None)
    assert options(command_of(ages, step=1).splitlines()[1])["--step"] == "1"
    prices = DecisionPlan("p", ["x"], problem="pricing", goal="revenue", sellout_rate=(0.2, 0.4))
    found = options(command_of(prices).splitlines()[0])
    assert (found["--goal"], found["--unit-cost"], found["--sellout-rate"]) == (
        "revenue",
        "0",
        "0.2,0.4",
    )
