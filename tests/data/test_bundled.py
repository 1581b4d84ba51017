"""Bundled data: complete, true to its source, and with the right weekdays."""

from __future__ import annotations

import datetime as dt
from importlib.resources import files

import polars as pl
import pytest

from unmet.data import load_bakery, load_yaz
from unmet.errors import InvalidInput

INGREDIENTS = ["calamari", "fish", "shrimp", "chicken", "koefte", "lamb", "steak"]

# sums over the columns of the source, added up with the csv module alone
BAKERY_DEMAND = 12761773.623
YAZ_DEMAND = (3232, 3562, 7615, 23101, 16788, 24046, 17085)


@pytest.fixture(scope="module")
def bakery():
    return load_bakery()


@pytest.fixture(scope="module")
def yaz():
    return load_yaz()


def test_bakery_is_whole(bakery):
    assert bakery.height == 127_575
    assert bakery["store"].n_unique() == 35
    assert bakery["product"].unique().sort().to_list() == [101, 109, 110]
    assert sum(bakery.null_count().row(0)) == 0
    by_series = bakery.group_by("store", "product").agg(
        pl.len().alias("days"),
        pl.col("date").n_unique().alias("different"),
        pl.col("date").min().alias("first"),
        pl.col("date").max().alias("last"),
    )
    assert by_series.height == 105
    assert set(by_series.select("days", "different", "first", "last").rows()) == {
        (1215, 1215, dt.date(2016, 1, 2), dt.date(2019, 4, 30))
    }
    assert bakery.equals(bakery.sort("store", "product", "date"))


def test_bakery_values_as_in_the_source(bakery):
    # read from the archive with a text editor
    first = bakery.row(0, named=True)
    assert (first["store"], first["product"], first["demand"]) == (2, 101, 254.0)
    assert (first["rain"], first["temperature"], first["is_schoolholiday"]) == (11.9, 2.1, True)
    odd = bakery.filter((pl.col("date") == dt.date(2018, 10, 19)) & (pl.col("store") == 3))
    assert odd.filter(pl.col("product") == 110)["demand"].to_list() == [56.063]
    assert bakery["demand"].min() == 0
    assert bakery["demand"].max() == 1783
    assert bakery["demand"].sum() == pytest.approx(BAKERY_DEMAND)
    assert bakery["promotion_currentweek"].sum() == 12_495


def test_choosing_stores_and_products(bakery):
    part = load_bakery(stores=[19, 2], products=(110,))
    assert part.height == 2 * 1215
    expected = bakery.filter(pl.col("store").is_in([2, 19]) & (pl.col("product") == 110))
    assert part.equals(expected)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"stores": [2, 1]}, "stores must be among .2, 3, .*, got 1\\."),
        ({"products": [100]}, "products must be among .101, 109, 110., got 100\\."),
    ],
)
def test_unknown_stores_and_products(options, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        load_bakery(**options)


def test_yaz_is_whole(yaz):
    assert yaz.height == 765
    days = [dt.date(2013, 10, 4) + dt.timedelta(k) for k in range(765)]
    assert yaz["date"].to_list() == days
    assert sum(yaz.null_count().row(0)) == 0
    assert yaz.columns[-7:] == INGREDIENTS
    assert yaz.select(INGREDIENTS).sum().row(0) == YAZ_DEMAND


def test_licence_travels_with_the_data():
    folder = files("unmet.data")
    text = folder.joinpath("LICENSE.ddop.txt").read_text()
    assert "BSD 3-Clause License" in text
    assert "The ddop developers" in text
    for name in ("bakery.parquet", "yaz.parquet"):
        assert name in text
    size = sum(len(folder.joinpath(f"{n}.parquet").read_bytes()) for n in ("bakery", "yaz"))
    assert size < 400_000
