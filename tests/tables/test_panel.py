"""Tables as panels: dates, ids, gaps, flags, and what is known of coming days."""

import datetime

import numpy as np
import polars as pl
import pytest

from unmet.errors import InvalidInput
from unmet.tables.panel import read_panel
from unmet.tables.schema import Schema, infer_schema

FIRST = datetime.date(2024, 3, 4)


def table(n_days=28, items=("007", "07", "8"), **more):
    rows = [
        (FIRST + datetime.timedelta(day), item, float((day * (place + 3)) % 7 + place + 1))
        for place, item in enumerate(items)
        for day in range(n_days)
    ]
    return pl.DataFrame(rows, schema=["date", "item", "sales"], orient="row").with_columns(
        pl.Series(name, values) for name, values in more.items()
    )


def read(rows, gaps="auto", **how):
    return read_panel(rows, infer_schema(rows, Schema(gaps=gaps)), **how)


def test_ids_with_leading_zeros_are_different_items():
    panel, notes = read(table())
    assert panel.n_series == 3
    assert panel.keys["item"].to_list() == ["007", "07", "8"]
    assert panel.observed.shape == (3, 28)
    assert notes == []


def test_the_order_of_rows_does_not_matter():
    rows = table()
    panel, _ = read(rows)
    shuffled, _ = read(rows.sample(fraction=1.0, shuffle=True, seed=3))
    np.testing.assert_array_equal(panel.observed, shuffled.observed)
    assert panel.keys.equals(shuffled.keys)


def test_duplicates_get_one_sentence_with_an_example():
    rows = pl.concat([table(), table().head(1)])
    with pytest.raises(InvalidInput, match=r"got several for 2024-03-04 for item 007: sum them"):
        read_panel(rows, infer_schema(table()))


def test_gaps_are_unknown_unless_zeros_were_left_out():
    rows = table()
    gappy = rows.filter(~((pl.col("item") == "07") & (pl.col("date").dt.day() == 11)))
    panel, notes = read(gappy)
    assert np.isnan(panel.observed[1, 7])
    assert notes[0].startswith("Days without a row count as unknown: 1.")
    panel, notes = read(gappy, gaps="zero")
    assert panel.observed[1, 7] == 0
    # slow sellers, and nobody ever wrote a zero
    generator = np.random.default_rng(0)
    slow = rows.with_columns(pl.Series("sales", generator.poisson(0.8, rows.height)))
    panel, notes = read(slow.filter(pl.col("sales") > 0))
    assert not np.isnan(panel.observed[:, 5:20]).any()
    assert "count as 0 sold, because no row has 0 and many have 1" in notes[0]


def test_a_weekly_table():
    rows = table(n_days=30).with_columns(
        (pl.lit(FIRST) + pl.duration(days=7 * ((pl.col("date") - FIRST).dt.total_days()))).alias(
            "date"
        )
    )
    panel, _ = read(rows)
    assert (panel.period, panel.n_days) == ("week", 30)
    assert str(panel.date(np.array([30]))[0]) == str(FIRST + datetime.timedelta(210))


@pytest.mark.parametrize(("every", "period"), [("1mo", "month"), ("1q", "quarter"), ("1y", "year")])
@pytest.mark.parametrize("day", [1, 15, 31])
def test_months_quarters_and_years(every, period, day):
    first = datetime.date(2024, 1, day)
    dates = pl.date_range(first, first.replace(year=2032), every, eager=True)
    panel, _ = read(pl.DataFrame({"date": dates[:-3], "sales": range(dates.len() - 3)}))
    assert (panel.period, panel.n_days) == (period, dates.len() - 3)
    places = np.arange(dates.len())
    assert panel.date(places).tolist() == dates.to_list()  # those to come as well
    assert np.array_equal(panel.place(dates.to_numpy()), places)


def test_business_days():
    days = pl.date_range(FIRST, FIRST + datetime.timedelta(60), eager=True)
    dates = days.filter(days.dt.weekday() <= 5)
    panel, _ = read(pl.DataFrame({"date": dates, "sales": range(dates.len())}))
    assert (panel.period, panel.unit, panel.cycle) == ("business day", "day", 5)
    assert panel.n_days == dates.len()
    coming = panel.date(np.arange(panel.n_days, panel.n_days + 5))
    assert [each.weekday() for each in coming.tolist()] == [
        (dates[-1].weekday() + ahead) % 5 for ahead in range(1, 6)
    ]


def test_rare_days_are_refused_or_added_up():
    dates = pl.date_range(FIRST, FIRST.replace(year=FIRST.year + 1), "10d", eager=True)
    rows = pl.DataFrame({"date": dates, "sales": range(dates.len())})
    with pytest.raises(
        InvalidInput, match=r"'date' must have most days .* got 10%: sum rows to weeks"
    ):
        read(rows)


def test_flags_and_stock():
    rows = table(n_days=4, items=("a",), stock=[9.0, None, 0.0, 3.0])
    rows = rows.with_columns(pl.Series("sales", [2.0, 3.0, 0.0, 3.0]))
    panel, _ = read(rows)
    np.testing.assert_array_equal(panel.hidden, [[0.0, np.nan, 1.0, 1.0]])
    flagged = rows.with_columns(pl.Series("sold_out", [None, 1, 0, None]))
    panel, _ = read(flagged)
    np.testing.assert_array_equal(panel.hidden, [[0.0, 1.0, 0.0, 1.0]])


def test_negative_and_missing_sales_are_told():
    rows = table(n_days=6, items=("a",)).with_columns(
        pl.Series("sales", [-2.0, None, 3.0, 4.0, 5.0, 6.0])
    )
    panel, notes = read(rows)
    assert panel.observed[0, 0] == 0
    assert np.isnan(panel.observed[0, 1])
    assert len(notes) == 2
    empty = rows.with_columns(pl.lit(None, pl.Float64).alias("sales"))
    schema = infer_schema(rows)
    with pytest.raises(InvalidInput, match="sales must have numbers, got none"):
        read_panel(empty, schema)


def test_series_that_ended_are_not_planned():
    rows = table(n_days=60)
    ended = rows.filter((pl.col("item") != "8") | (pl.col("date") < FIRST + datetime.timedelta(20)))
    panel, notes = read(ended)
    assert panel.planned.tolist() == [True, True, False]
    assert "Series without a row in the last 28 days have no orders: 1" in " ".join(notes)


def coming(**columns):
    days = [FIRST + datetime.timedelta(28 + day) for day in range(2)]
    return pl.DataFrame({"date": days, **columns})


def test_known_columns_reach_into_the_future():
    rows = table(price=np.linspace(1, 2, 84), mood=["good", "bad"] * 42)
    by_day = coming(price=[5.0, 6.0], mood=["bad", "new"])
    panel, notes = read(rows, coming=by_day, n_coming=2)
    np.testing.assert_array_equal(panel.known["price"][:, 28:], [[5.0, 6.0]] * 3)
    assert panel.categories == ("mood",)
    assert panel.price == "price"
    assert notes == []
    panel, notes = read(rows, n_coming=2)
    assert dict(panel.known) == {}
    assert "Not used as features: price, mood." in notes[0]


def test_known_columns_by_series_and_a_new_item():
    rows = table(price=np.linspace(1, 2, 84))
    days = coming()["date"].to_list()
    later = pl.DataFrame(
        {"date": days * 2, "item": ["07"] * 2 + ["9"] * 2, "price": [5.0, 6.0, 7.0, 8.0]}
    )
    panel, _ = read(rows, coming=later, n_coming=2)
    assert panel.keys["item"].to_list() == ["007", "07", "8", "9"]
    np.testing.assert_array_equal(panel.known["price"][[1, 3], 28:], [[5, 6], [7, 8]])
    assert np.isnan(panel.known["price"][0, 28:]).all()
    assert np.isnan(panel.observed[3]).all()
    assert panel.planned.all()


def test_a_weekday_without_stock_and_sales_is_closed_not_sold_out():
    """Nothing there and nothing sold on all Sundays: nobody was asked for anything."""
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(day) for day in range(70)]
    open_days = [day.weekday() < 6 for day in days]
    table = pl.DataFrame(
        {
            "date": days,
            "sales": [5 if each else 0 for each in open_days],
            "stock": [7 if each else 0 for each in open_days],
        }
    )
    panel, _ = read_panel(table, Schema("date", (), "sales", stock="stock", known_future=()))
    assert np.isnan(panel.hidden[0, 6::7]).all()
    assert np.nanmax(panel.hidden) == 0
    assert not panel.is_open(np.zeros(7, int), np.arange(7))[6]


def test_stock_of_0_with_sales_was_not_kept():
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(day) for day in range(4)]
    table = pl.DataFrame({"date": days, "sales": [5, 5, 5, 0], "stock": [0, 5, 7, 0]})
    panel, _ = read_panel(table, Schema("date", (), "sales", stock="stock", known_future=()))
    np.testing.assert_array_equal(panel.hidden[0], [np.nan, 1, 0, 1])


def test_sales_that_nobody_has_are_refused():
    for size in (1e18, 1e30, 1e74, 1e300):
        rows = table().with_columns(pl.col("sales") * size)
        with pytest.raises(InvalidInput, match=r"^sales must be at most 1e\+15, got .*'sales'"):
            read(rows)


def test_a_mistyped_cell_is_found_in_any_unit():
    for unit in (1e-6, 1.0, 1e6):
        rows = table().with_columns(pl.col("sales") * unit)
        rows = rows.with_columns(pl.Series("sales", [1e6 * unit, *rows["sales"][1:]]))
        panel, notes = read(rows)
        assert np.isnan(panel.observed[0, 0])
        assert np.isnan(panel.observed).sum() == 1
        assert "counts as unknown" in notes[0]


def test_amounts_are_rounded_by_their_unit():
    panel, _ = read(table())
    assert panel.rounded(np.array([1 / 3]))[0] == 0.3333
    small, _ = read(table().with_columns(pl.col("sales") * 1e-6))
    assert small.rounded(np.array([1e-6 / 3]))[0] == pytest.approx(1e-6 / 3, rel=1e-3)


def test_a_column_of_one_value_closes_no_day():
    rows = table(items=("tea",)).with_columns(sales=pl.lit(0.0), shelf=pl.lit("a"))
    schema = Schema(date="date", series=("item",), sales="sales", known_future=("shelf",))
    panel, _ = read_panel(rows, schema)
    assert (panel.observed == 0).all()


def test_a_value_closes_days_only_where_others_are_open():
    """Twenty days without a promotion sold nothing, two with one sold once: that is chance."""
    rows = table(22, items=("tea",)).with_columns(
        sales=pl.Series([0.0] * 20 + [0.0, 12.0]), promo=pl.Series([0] * 20 + [1, 1])
    )
    schema = Schema(date="date", series=(), sales="sales", known_future=("promo",))
    panel, _ = read_panel(rows, schema)
    assert not np.isnan(panel.observed).any()
