"""Guesses, uploads and commands: what stands between a file and a plan."""

import gzip
import shlex
from io import BytesIO

import polars as pl
import pytest

from unmet.app.planning import MAX_BYTES, guess_plan, read_uploaded
from unmet.errors import InvalidInput
from unmet.planning import example
from unmet.planning.plan_options import command_of, plan_from_options
from unmet.tables.reading import table_bytes

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


def test_uploads():
    told = read_uploaded("sales.csv", b"day;sales\nMon;1.501\n", decimal=",").table
    assert told["sales"].to_list() == [1501]
    table = read_uploaded("folder\\Sales (1).CSV", b"day;sales\nMon;1,5\nTue;2,5\n").table
    assert table["sales"].to_list() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("cat.csv", PNG, "cat.csv must be a text file"),
        ("table.parquet", b"nothing of the kind", "table.parquet cannot be read as Parquet"),
        ("../../cat.png", PNG, "cat.png must end in"),
        ("", b"a", "The file must end in"),
    ],
    ids=["plot", "parquet", "ending", "nameless"],
)
def test_wrong_files_get_a_sentence_without_our_folders(name, data, sentence):
    with pytest.raises(InvalidInput) as caught:
        read_uploaded(name, data)
    assert str(caught.value).startswith(sentence)
    assert "tmp" not in str(caught.value)


def test_huge_files_are_refused():
    with pytest.raises(InvalidInput, match=r"huge.csv must not be larger than 50 MB, got 50 MB"):
        read_uploaded("huge.csv", bytes(MAX_BYTES + 1))


@pytest.mark.parametrize("name", ["bomb.csv.gz", "bomb.parquet", "bomb.xlsx"])
def test_small_files_that_unpack_to_too_much_are_refused(name, monkeypatch):
    """They would fill the memory, and end the sessions of all users."""
    table, data = pl.DataFrame({"sales": [1] * 60_000}), BytesIO()
    if name.endswith("gz"):
        data.write(gzip.compress(table.write_csv().encode()))
    else:
        data.write(table_bytes(table, f".{name.rpartition('.')[2]}"))
    assert read_uploaded(name, data.getvalue()).table.height == 60_000
    monkeypatch.setattr("unmet.app.planning.MAX_UNPACKED", 50_000)
    with pytest.raises(InvalidInput, match=f"{name} must not unpack to more than 50,000"):
        read_uploaded(name, data.getvalue())


def test_commands_name_everything_that_a_plan_can_say():
    plan = plan_from_options(
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
        seed=7,
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
    assert "--underage" not in found
    assert options(decide) == {"--step": "none", "--lower": "2", "-o": "orders.csv"}
