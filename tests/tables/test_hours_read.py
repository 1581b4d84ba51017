"""Hours and receipts as tills export them: read right, or refused in one sentence."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from unmet.censoring.hours import HourlySales, detect_stockouts, read_hourly, read_receipts
from unmet.errors import InvalidInput

FIRST = datetime.date(2024, 5, 1)
N_DAYS = 9
SHOPS, ITEMS = ("Ulm", "Aalen"), ("bun", "roll")


def sold():
    """Sales of 2 shops × 2 items, (4, N_DAYS, 24): Aalen opens at 6, Ulm at 9."""
    sales = np.zeros((4, N_DAYS, 24))
    sales[:, :, 9:18] = np.random.default_rng(0).poisson(4, (4, N_DAYS, 9)) + 1
    sales[:2, :, 6:9] = 3  # rows are in the order of names: Aalen first
    return sales


def keys():
    return [(shop, item) for shop in sorted(SHOPS) for item in ITEMS]


def long_table(sales, hours=range(24)):
    rows = [
        (FIRST + datetime.timedelta(day), shop, item, hour, sales[place, day, hour])
        for place, (shop, item) in enumerate(keys())
        for day in range(sales.shape[1])
        for hour in hours
    ]
    return pl.DataFrame(rows, schema=["date", "shop", "item", "hour", "sales"], orient="row")


def daily_rows(sales):
    dates = [FIRST + datetime.timedelta(day) for day in range(sales.shape[1])]
    return {
        "date": dates * len(sales),
        "shop": np.repeat([shop for shop, _ in keys()], len(dates)),
        "item": np.repeat([item for _, item in keys()], len(dates)),
    }


def wide_table(sales, name):
    flat = sales.reshape(-1, 24)
    return pl.DataFrame({**daily_rows(sales), **{name(hour): flat[:, hour] for hour in range(24)}})


def receipts(times, **more):
    return pl.DataFrame({"time": times, "item": ["bun"] * len(times), **more})


def complaint(call, *arguments, **named):
    with pytest.raises(InvalidInput) as caught:
        call(*arguments, **named)
    said = str(caught.value)
    assert said.endswith(".")
    assert "\n" not in said
    return said


# --- The same hours in every form.


def test_long_wide_and_lists_are_the_same_hours():
    sales = sold()
    tables = [
        long_table(sales),
        long_table(sales).sample(fraction=1.0, shuffle=True, seed=3),
        wide_table(sales, lambda hour: f"h{hour}"),
        wide_table(sales, str),
        wide_table(sales, lambda hour: f"{hour:02}:00"),
        pl.DataFrame({**daily_rows(sales), "sold": list(sales.reshape(-1, 24))}),
        pl.DataFrame({**daily_rows(sales), "sold": sales.reshape(-1, 24).tolist()}),
        pd.DataFrame({**daily_rows(sales), "sold": list(sales.reshape(-1, 24))}),
        pd.DataFrame({**daily_rows(sales), "sold": sales.reshape(-1, 24).tolist()}),
        long_table(sales).to_pandas(),
    ]
    for table in tables:
        hours = read_hourly(table)
        np.testing.assert_array_equal(hours.sales, sales)
        assert hours.keys.rows() == keys()
        assert hours.first_day == FIRST
        assert hours.notes == ()
        # each shop has its own hours
        assert [hours.window(series) for series in (0, 3)] == [(6, 18), (9, 18)]
        assert set(hours.groups) == {"shop", "item"}
        daily = hours.daily.sort("shop", "item", "date")
        np.testing.assert_array_equal(daily["sales"], sales.sum(axis=2).ravel())


def test_receipts_add_up_to_hours():
    sales = sold()
    table = long_table(sales).filter(pl.col("sales") > 0)
    generator = np.random.default_rng(1)
    lines = []
    for date, shop, item, hour, amount in table.iter_rows():
        first = int(generator.integers(0, amount + 1))
        for part in (first, amount - first):
            if part:
                minute = int(generator.integers(60))
                moment = datetime.datetime(date.year, date.month, date.day, hour, minute)
                lines.append((moment, shop, item, part))
    frame = pl.DataFrame(lines, schema=["sold_at", "shop", "item", "quantity"], orient="row")
    hours = read_receipts(frame.sample(fraction=1.0, shuffle=True, seed=1))
    np.testing.assert_array_equal(hours.sales, sales)
    assert hours.keys.rows() == keys()


def test_date_and_time_of_day_in_two_columns():
    lines = {"item": ["bun"] * 3, "quantity": [2, 1, 4]}
    dates = ["31.05.2024", "31.05.2024", "01.06.2024"]
    for clock in (
        ["08:10", "08:40", "17:05"],
        ["08:10:33", "08:40:01", "17:05:59"],
        ["8:10 AM", "8:40 AM", "5:05 PM"],
        [datetime.time(8, 10), datetime.time(8, 40), datetime.time(17, 5)],
    ):
        hours = read_receipts(pl.DataFrame({"date": dates, "time": clock, **lines}))
        assert hours.first_day == datetime.date(2024, 5, 31)
        assert (hours.sales[0, 0, 8], hours.sales[0, 1, 17], hours.sales.sum()) == (3, 4, 7)


def test_sparse_hours_and_days_without_a_sale():
    sales = sold()
    sales[0, 3] = 0.0  # a day on which the shop sold other things
    sales[0, 0] = 0.0  # before the first sale of the item
    sales[:, 5] = 0.0  # nobody sold anything
    hours = read_hourly(long_table(sales).filter(pl.col("sales") > 0))
    assert hours.known[0].tolist() == [False, *[True] * 4, False, *[True] * 3]
    np.testing.assert_array_equal(hours.sales[hours.known], sales[hours.known])
    assert hours.notes == ("Days on which a shop sold other items count as 0 sold: 1.",)
    daily = hours.daily.filter((pl.col("shop") == "Aalen") & (pl.col("item") == "bun"))
    assert (
        daily.sort("date")["sales"].to_list()
        == sales[0].sum(axis=1)[[1, 2, 3, 4, 6, 7, 8]].tolist()
    )
    # where rows say 0, a day without rows is unknown
    dense = long_table(sales).filter(
        (pl.col("date") != FIRST + datetime.timedelta(3)) | (pl.col("shop") != "Aalen")
    )
    assert not read_hourly(dense).known[0, 3]


# --- Returns, copies, gaps.


def test_returns_are_netted_with_a_note():
    lines = receipts(
        ["2024-05-01 08:10", "2024-05-01 09:40", "2024-05-01 11:05", "2024-05-02 08:00"],
        quantity=[5, 2, -3, -1],
    )
    hours = read_receipts(lines)
    np.testing.assert_array_equal(hours.sales[0, 0, 8:12], [4, 0, 0, 0])
    assert hours.sales[0, 1].sum() == 0
    assert hours.notes == (
        "Returns were subtracted from sales: 2 rows.",
        "Hours with more returns than sales: 2. They were subtracted from earlier sales of the "
        "day, except 1 units sold on another day.",
    )


def test_receipts_exported_twice_count_once():
    times = ["2024-05-01 08:10", "2024-05-01 08:10", "2024-05-01 09:40", "2024-05-01 11:05"]
    lines = receipts(times, quantity=[1, 1, 2, 3], receipt=[1, 1, 2, 3])
    # two lines for two buns are two buns
    assert read_receipts(lines).sales.sum() == 7
    again = pl.concat([lines, lines[2:]])
    hours = read_receipts(again)
    assert hours.sales.sum() == 7
    assert hours.notes == (
        "Receipts that are in the table twice ('receipt') were counted once: 2 rows.",
    )
    assert read_receipts(lines.drop("receipt")).notes == ("Repeated rows were kept: 1.",)


def test_missing_numbers_count_as_nothing_with_a_note():
    sales = sold()
    table = long_table(sales).with_columns(
        sales=pl.when((pl.col("hour") == 10) & (pl.col("shop") == "Ulm"))
        .then(None)
        .otherwise("sales")
    )
    hours = read_hourly(table)
    assert hours.notes == (f"Hours without a number count as 0 sold: {2 * N_DAYS}.",)
    assert (hours.sales[2:, :, 10] == 0).all()
    unknown = long_table(sales).with_columns(
        sales=pl.when(pl.col("date") == FIRST).then(None).otherwise("sales")
    )
    assert not read_hourly(unknown).known[:, 0].any()
    wide = wide_table(sales, str).with_columns(
        pl.when(pl.col("shop") == "Ulm").then(None).otherwise("10").alias("10")
    )
    assert read_hourly(wide).notes == (
        f"Days with hours without a number, which count as 0 sold: {2 * N_DAYS}.",
    )


def test_a_last_day_that_is_not_over_is_left_out():
    sales = np.repeat(sold(), 3, axis=1)
    sales[:, -1, 12:] = 0
    hours = read_hourly(long_table(sales))
    assert not hours.known[:, -1].any()
    assert hours.known[:, :-1].all()
    assert hours.notes == (
        "2024-05-27 was left out, because the day is incomplete: no series has sales after 12:00.",
    )
    assert hours.daily["date"].max() == datetime.date(2024, 5, 26)
    sales[1, -1, 15] = 2  # one that sold later tells that the day was over
    assert read_hourly(long_table(sales)).known.all()


# --- Clocks: zones, offsets, daylight saving.


def test_offsets_and_zones_give_the_clock_of_the_shop():
    written = ["2024-05-31T14:05:00+02:00", "2024-05-31T15:05:00+02:00"]
    for given, zone in (
        (written, None),
        (written, "Europe/Berlin"),
        (["2024-05-31T12:05:00Z", "2024-05-31T13:05:00Z"], "Europe/Berlin"),
        (["2024-05-31T08:05:00-04:00", "2024-05-31T09:05:00-04:00"], "Europe/Berlin"),
    ):
        hours = read_receipts(receipts(given), time_zone=zone)
        assert np.flatnonzero(hours.sales[0, 0]).tolist() == [14, 15]
    moments = pd.to_datetime(["2024-05-31 12:05", "2024-05-31 13:05"]).tz_localize("UTC")
    frame = pd.DataFrame({"time": moments, "item": ["bun"] * 2})
    hours = read_receipts(frame, time_zone="Europe/Berlin")
    assert np.flatnonzero(hours.sales[0, 0]).tolist() == [14, 15]
    local = frame.assign(time=moments.tz_convert("Europe/Berlin"))
    assert np.flatnonzero(read_receipts(local).sales[0, 0]).tolist() == [14, 15]


def test_days_on_which_clocks_change():
    # 25 hours in October, 23 in March: one sale an hour, told in UTC
    for first, hours_of_day in (("2024-10-27", 25), ("2024-03-31", 23)):
        start = pd.Timestamp(first, tz="Europe/Berlin").tz_convert("UTC")
        moments = start + pd.to_timedelta(np.arange(hours_of_day + 24), unit="h")
        for table in (
            read_receipts(
                pd.DataFrame({"time": moments, "item": "bun"}), time_zone="Europe/Berlin"
            ),
            read_hourly(
                pd.DataFrame({"date": moments, "sales": np.ones(moments.size)}),
                time_zone="Europe/Berlin",
            ),
        ):
            assert table.sales.shape == (1, 2, 24)
            twice = {25: 2.0, 23: 0.0}[hours_of_day]
            np.testing.assert_array_equal(table.sales[0, 0], [1, 1, twice, *[1] * 21])
            np.testing.assert_array_equal(table.sales[0, 1], np.ones(24))


def test_shops_that_close_early_on_sundays_do_not_sell_out_on_sundays():
    generator = np.random.default_rng(4)
    sales = np.zeros((6, 84, 24))
    sales[:, :, 7:19] = generator.poisson(3, (6, 84, 12))
    first = datetime.date(2024, 5, 6)  # a Monday
    sales[:, 6::7, 12:] = 0
    hours = HourlySales.from_arrays(sales, first)
    assert np.unique(hours.kind).size == 3
    chance = detect_stockouts(hours).probability
    assert (chance[:, 6::7] > 0.5).mean() < 0.02
    # the same silence on days of no weekday in particular is a sold-out shelf
    other = np.zeros((6, 84, 24))
    other[:, :, 7:19] = generator.poisson(3, (6, 84, 12))
    empty = generator.permuted(np.arange(84) % 7 == 6)
    other[:, empty, 12:] = 0
    assert (
        detect_stockouts(HourlySales.from_arrays(other, first)).probability[:, empty] > 0.9
    ).all()


def test_days_on_which_a_shop_is_closed_are_not_sold_out():
    generator = np.random.default_rng(4)
    sales = np.zeros((6, 84, 24))
    sales[:, :, 7:19] = generator.poisson(2, (6, 84, 12))
    shops = np.repeat([0, 1], 3)
    sales[:3, 6::7] = 0  # the first shop is closed on Sundays,
    sales[3:, 40] = 0  # the second on a holiday
    sales[3, 50] = 0  # and one of its items has no stock on another day
    reading = detect_stockouts(HourlySales.from_arrays(sales, "2024-05-06", groups={"shop": shops}))
    assert (reading.probability[:3, 6::7] == 0).all()
    assert (reading.demand[:3, 6::7] == 0).all()
    assert (reading.probability[3:, 40] == 0).all()
    assert reading.probability[3, 50] > 0.9
    # a single item can only tell of weekdays
    alone = detect_stockouts(HourlySales.from_arrays(sales[:1], "2024-05-06"))
    assert (alone.probability[0, 6::7] == 0).all()


# --- Units.


def test_flags_of_hours_and_their_opposite():
    sales = sold()
    out = np.zeros(sales.shape, dtype=bool)
    out[:, ::4, 15:] = True
    table = long_table(sales).with_columns(stock_out=pl.Series(out.ravel()))
    np.testing.assert_array_equal(read_hourly(table).stock_out, out)
    other = table.drop("stock_out").with_columns(in_stock=pl.Series(~out.ravel()))
    np.testing.assert_array_equal(read_hourly(other).stock_out, out)
    lists = pl.DataFrame(
        {
            **daily_rows(sales),
            "sold": list(sales.reshape(-1, 24)),
            "stockout": list(out.reshape(-1, 24).astype(int)),
        }
    )
    np.testing.assert_array_equal(read_hourly(lists).stock_out, out)


# --- What cannot be read.


def test_bad_tables_of_hours_get_one_sentence():
    sales = sold()
    long, wide = long_table(sales), wide_table(sales, lambda hour: f"h{hour}")
    at_24 = long.with_columns(hour=pl.when(pl.col("hour") == 23).then(24).otherwise("hour"))
    assert "hour must be a whole number from 0 to 23, got 24 in column 'hour'" in complaint(
        read_hourly, at_24
    )
    assert "got -1" in complaint(read_hourly, long.with_columns(pl.col("hour") - 1))
    assert "got 0.5" in complaint(read_hourly, long.with_columns(pl.col("hour") + 0.5))
    assert "got 24 in the columns of the wide table" in complaint(
        read_hourly, wide.rename({"h23": "h24"})
    )
    assert "got 'h6' and '06:00'" in complaint(
        read_hourly, wide.with_columns(pl.col("h6").alias("06:00"))
    )
    assert "several for hour 0 on 2024-05-01" in complaint(read_hourly, pl.concat([long, long]))
    assert "at least one row" in complaint(read_hourly, long.head(0))
    assert "got 'nope'" in complaint(read_hourly, long, sales="nope")
    assert "got 'nope'" in complaint(read_hourly, long, series=["nope"])
    assert "sales must be a column of the table" in complaint(read_hourly, long.drop("sales"))
    assert "time must have the time of day" in complaint(read_hourly, long.drop("hour"))
    words = long.with_columns(sales=pl.lit("many"))
    assert "got 'many' in row 2 of column 'sales'" in complaint(read_hourly, words, sales="sales")
    assert "got inf" in complaint(read_hourly, long.with_columns(sales=pl.lit(np.inf)))
    assert "got inf" in complaint(read_hourly, wide.with_columns(h8=pl.lit(np.inf)))
    assert "at least one day" in complaint(
        read_hourly, long.with_columns(sales=pl.lit(None, float))
    )
    assert "lists of 24 flags" in complaint(
        read_hourly, wide.with_columns(out=pl.lit(1)), stock_out="out"
    )
    lists = pl.DataFrame({**daily_rows(sales), "sold": list(sales.reshape(-1, 24)[:, 1:])})
    assert "a list of 24 numbers in every row, got 23 in row 2 of column 'sold'" in complaint(
        read_hourly, lists
    )
    lists = lists.with_columns(sold=pl.lit(["x"] * 24))
    assert "lists of numbers, got lists of String" in complaint(read_hourly, lists)
    assert "one row per day" in complaint(
        read_hourly, pl.concat([wide, wide]), series=["shop", "item"]
    )
    assert "closes must be after opens" in complaint(read_hourly, long, opens=9, closes=9)
    assert "opens must be a whole number" in complaint(read_hourly, long, opens=24)


def test_bad_receipts_get_one_sentence():
    good = ["2024-05-31 14:05", "2024-05-31 15:05"]
    assert "at least one row" in complaint(read_receipts, receipts(good).head(0))
    assert "time must be a column of the table" in complaint(
        read_receipts, receipts(good).drop("time")
    )
    assert "got '2024-05-31' in row 3 of column 'time'" in complaint(
        read_receipts, receipts([good[0], "2024-05-31"])
    )
    assert "from 0 to 23, got 24" in complaint(
        read_receipts, receipts([good[0], "2024-05-31 24:00"])
    )
    assert "the time of day, got Date in column" in complaint(
        read_receipts, receipts([FIRST, FIRST])
    )
    assert "empty cells in 1 row of column 'time'" in complaint(
        read_receipts, receipts([good[0], None])
    )
    assert "must have a number in every row" in complaint(
        read_receipts, receipts(good, quantity=[1, None])
    )
    assert "time_zone must be given" in complaint(
        read_receipts, receipts(["2024-05-31T14:05:00Z", "2024-05-31T15:05:00Z"])
    )
    assert "got 'Mars/Crater'" in complaint(
        read_receipts, receipts(["2024-05-31T14:05:00Z"] * 2), time_zone="Mars/Crater"
    )
    assert "got 'nope'" in complaint(read_receipts, receipts(good), receipt="nope")
    assert "date must be a column of the table" in complaint(
        read_receipts, receipts(["08:00", "09:00"])
    )


def test_days_that_are_added_carry_the_columns_of_their_series():
    rows = [
        (item, f"kind {item}", FIRST + datetime.timedelta(day), hour, None if unknown else 1.0)
        for item in ("a", "b", "c")
        for day in range(6)
        for unknown in [item == "a" and day != 0]
        for hour in (range(8, 20, 2) if day % 2 else range(9, 20, 3))
        if not (item == "b" and day == 3)
    ]
    table = pl.DataFrame(rows, schema=["item", "kind", "date", "hour", "sales"], orient="row")
    daily = read_hourly(table).daily
    assert daily.filter(sales=0)["item"].to_list() == ["b"]
    assert (daily["kind"] == "kind " + daily["item"]).all()
