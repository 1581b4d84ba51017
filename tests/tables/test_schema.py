"""Which column is what: by names, by content, and one sentence where nobody can say."""

import datetime

import polars as pl
import pytest

from unmet.data import load_bakery
from unmet.errors import InvalidInput
from unmet.planning import example
from unmet.tables.schema import Schema, infer_schema


def panel(**more):
    """Two items in two stores on three days, ids as numbers."""
    days = [datetime.date(2024, 5, day) for day in (1, 2, 3)]
    rows = [(day, store, item) for store in (4, 7) for item in (10, 292) for day in days]
    table = pl.DataFrame(rows, schema=["dt", "store_id", "product_id"], orient="row")
    amounts = {"sales": [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]} | more
    return table.with_columns(pl.Series(name, values) for name, values in amounts.items())


def test_what_a_shop_exports():
    flags = [False, True] * 6
    table = panel(
        oos_hours_6_22=[0, 5] * 6,
        first_oos_hour=[-1, 17] * 6,
        oos_at_close=flags,
        monotone_oos=flags,
        discount=[1.0, 0.9, 1.0] * 4,
        returned=[0, 1, 2] * 4,
        first_category_id=[1] * 3 + [2] * 3 + [1] * 3 + [2] * 3,
    )
    found = infer_schema(table)
    assert (found.date, found.sales, found.sold_out) == ("dt", "sales", "oos_at_close")
    assert found.series == ("store_id", "product_id")
    assert found.static == ("first_category_id",)
    assert found.known_future == ("discount",)
    assert {"oos_hours_6_22", "first_oos_hour", "monotone_oos", "returned"} == set(found.left_out)
    assert set(found.left_out.values()) == {"known only afterwards"}
    assert found.ids == ("store_id", "product_id", "first_category_id")


AFTERWARDS = (
    *("left", "Left over", "closing_stock", "stock_end", "Restbestand", "hours_out_of_stock"),
    *("customers", "Kunden", "revenue", "waste", "invendus", "number of guests"),
)


@pytest.mark.parametrize("name", AFTERWARDS)
def test_what_is_known_only_afterwards_is_never_known_beforehand(name):
    table = panel(**{name: [4, 0, 2] * 4})
    found = infer_schema(table)
    assert found.known_future == ()
    assert found.left_out == {name: "known only afterwards"}
    assert infer_schema(table, Schema(known_future=name)).known_future == (name,)


def test_bundled_tables():
    found = infer_schema(load_bakery(stores=[2, 3]))
    assert (found.date, found.series, found.sales) == ("date", ("store", "product"), "demand")
    assert {"is_holiday", "promotion_currentweek"} <= set(found.known_future)
    calendar = dict.fromkeys(("weekday", "month"), "made from the date")
    weather = dict.fromkeys(("rain", "temperature"), "known only afterwards")
    assert found.left_out == calendar | weather
    told = infer_schema(load_bakery(stores=[2, 3]), told=["rain"])
    assert "rain" in told.known_future
    found = infer_schema(example().sales)
    assert (found.series, found.sold_out, found.stock) == (("dish",), "sold_out", "stock")


def test_german_names():
    table = pl.DataFrame(
        {
            "Datum": ["01.02.2024", "02.02.2024", "13.02.2024"] * 2,
            "Artikel-Nr": ["007"] * 3 + ["008"] * 3,
            "Absatz": [3.0, 4, 5, 1, 2, 3],
            "Preis": [1.0, 1.5, 2.0] * 2,
            "Anfangsbestand": [9.0, 9, 9, 9, 9, 9],
            "Umsatz": [3.0, 4, 5, 1, 2, 3],
            "ausverkauft": ["no", "yes"] * 3,
        }
    )
    found = infer_schema(table)
    assert (found.date, found.series, found.sales) == ("Datum", ("Artikel-Nr",), "Absatz")
    assert (found.price, found.stock, found.sold_out) == ("Preis", "Anfangsbestand", "ausverkauft")
    assert found.left_out == {"Umsatz": "known only afterwards"}


def test_stock_at_the_end_is_not_stock_that_was_available():
    few = [0] * 12
    assert infer_schema(panel(stock=few)).stock is None
    assert infer_schema(panel(stock=[20] * 12)).stock == "stock"
    assert infer_schema(panel(stock_end=[20] * 12)).stock is None


def test_a_flag_that_says_the_opposite():
    found = infer_schema(panel(in_stock=[1, 0] * 6))
    assert found.sold_out == "in_stock"
    assert found.sold_out_opposite


def test_what_is_given_is_taken():
    table = panel(units=range(12), sold_out=[0, 1] * 6, rain=[0.5, 2.0, 1.0] * 4)
    keys = ["product_id", "store_id"]
    found = infer_schema(table, Schema(sales="units", sold_out="", known_future=[], series=keys))
    assert (found.sales, found.sold_out, found.known_future) == ("units", None, ())
    assert found.series == ("product_id", "store_id")
    assert found.left_out["rain"] == "not named"


def test_two_that_are_equally_good_are_for_the_user_to_say():
    table = panel().rename({"sales": "north sold"}).with_columns(pl.Series("south sold", range(12)))
    with pytest.raises(
        InvalidInput, match=r"likely ones, 'north sold' \(3, 1, 4\), 'south sold' \(0, 1, 2\): name"
    ):
        infer_schema(table)
    assert infer_schema(table, Schema(sales="south sold")).sales == "south sold"
    days = panel().with_columns(pl.col("dt").alias("order date"), pl.col("dt").alias("due date"))
    assert infer_schema(days.drop("dt")).date == "order date"
    days = days.rename({"due date": "sale date"}).drop("dt")
    later = days.with_columns(pl.col("order date") + pl.duration(days=pl.int_range(pl.len()) % 3))
    assert infer_schema(later).date == "sale date"  # never after the other
    sometimes = later.with_columns(pl.col("sale date") + pl.duration(days=1))
    with pytest.raises(
        InvalidInput, match=r"date must be one column, got .* name one of them \(date=\)"
    ):
        infer_schema(sometimes)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (panel().drop("dt"), r"date must be a column of the table, got no likely one"),
        (panel().drop("sales"), r"sales must be a column of the table, got no likely one"),
    ],
    ids=["date", "sales"],
)
def test_what_cannot_be_found_is_asked_for(table, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        infer_schema(table)


def test_several_rows_a_day():
    lines = panel().drop("store_id")
    assert infer_schema(lines).series == ("product_id",)
    with pytest.raises(InvalidInput, match="Each series must have one row per day, got 2024-05-01"):
        infer_schema(lines, Schema(duplicates="error"))


def test_names_that_are_given_must_be_there():
    with pytest.raises(InvalidInput, match=r"stock must be a column of the table, got 'stok'"):
        infer_schema(panel(), Schema(stock="stok"))
