"""Rows that cannot be, days without rows, rows read twice: a note and a rule, or one sentence."""

import datetime

import numpy as np
import polars as pl
import pytest
from sales_table import sales_table

from unmet.errors import InvalidInput
from unmet.planning.plan_options import plan_from_options

WORDS = {"observed": "sales", "features": ["price"], "underage": 3, "overage": 1}
STOCK = {**WORDS, "stock_column": "stock"}


@pytest.fixture(scope="module")
def table():
    """Row 5 has returns, row 8 less stock than sales, row 9 both, row 11 unknown stock."""
    row = pl.int_range(pl.len())
    return sales_table(40).with_columns(
        sales=pl.when(row.is_in([5, 9])).then(-4.0).otherwise("sales"),
        stock=pl.when(row == 8)
        .then(2.0)
        .when(row == 9)
        .then(-7.0)
        .when(row == 11)
        .then(None)
        .otherwise("stock"),
    )


def test_dropped_rows_are_as_if_they_had_never_been(table):
    rows = plan_from_options(**STOCK).rows(table)
    clean = table.filter(~pl.int_range(pl.len()).is_in([5, 8, 9]))
    expected = plan_from_options(**STOCK, bad_rows="refuse").rows(clean)
    np.testing.assert_array_equal(rows.observed, expected.observed)
    np.testing.assert_array_equal(rows.stock, expected.stock)
    assert rows.table.equals(expected.table)
    assert expected.notes == ()
    assert rows.notes == (
        "Rows left out: 2 with 'sales' below 0, the first in row 7 (-4).",
        "Rows left out: 1 with 'stock' below 'sales', the first in row 10 (2).",
    )


def test_clipped_rows_are_possible(table):
    rows = plan_from_options(**STOCK, bad_rows="clip").rows(table)
    assert rows.observed.size == table.height
    assert rows.observed[[5, 9]].tolist() == [0.0, 0.0]
    assert rows.stock[8] == rows.observed[8] == table["sales"][8]
    assert (rows.stock[9], rows.stock[5]) == (0.0, table["stock"][5])
    assert np.isnan(rows.stock[11])
    others = np.setdiff1d(np.arange(table.height), [5, 8, 9, 11])
    np.testing.assert_array_equal(rows.stock[others], table["stock"].to_numpy()[others])
    assert rows.notes[0].startswith("Rows set to 0: 2 with 'sales' below 0")
    assert rows.notes[1].startswith("Rows set to 'sales': 1 with 'stock' below 'sales'")


def test_refused_tables(table):
    with pytest.raises(InvalidInput, match=r"2 with 'sales' below 0, the first in row 7 \(-4\)"):
        plan_from_options(**WORDS, bad_rows="refuse").rows(table)
    with pytest.raises(InvalidInput, match="bad_rows must be 'drop', 'clip' or 'refuse'"):
        plan_from_options(**WORDS, bad_rows="impute").check()
    with pytest.raises(InvalidInput, match="got none in 'sales'"):
        plan_from_options(**WORDS).rows(table.with_columns(sales=-1.0))


# --- Dates.


def dated(table, **words):
    return plan_from_options(**WORDS, date="date", series=["store"], **words).rows(table)


def test_gaps_in_dates_are_told():
    table = sales_table(40)
    assert dated(table).notes == ()
    day = pl.col("date")
    closed = table.filter(day.dt.weekday() != 7)  # never open on Sundays: nothing is missing
    assert dated(closed).notes == ()
    lost = closed.filter(
        ~((day == datetime.date(2024, 1, 10)) & (pl.col("store") == "north")),
        day != datetime.date(2024, 1, 16),
    )
    (note,) = dated(lost).notes
    assert note.startswith("Days without a row within a series: 4")
    assert dated(lost).time.size == lost.height


def test_rows_that_were_read_twice_are_told():
    table = sales_table(40)
    twice = pl.concat([table, table.head(6)])
    rows = dated(twice)
    assert rows.time is None
    assert "Repeated rows were kept: 6." in rows.notes
    assert any("several rows on the same date" in note for note in rows.notes)
    assert not any(
        "Repeat" in note for note in plan_from_options(**WORDS, date="date").rows(table).notes
    )


# --- A service level instead of two costs.


def test_a_service_level_is_two_costs():
    table = sales_table(40)
    words = {"observed": "sales", "features": ["price"], "band": "none"}
    plan = plan_from_options(**words, service_level=0.9).fit(table)
    same = plan_from_options(**words, underage=9, overage=1).fit(table)
    np.testing.assert_array_equal(plan.decide(table).decision, same.decide(table).decision)
    assert plan.level == pytest.approx(0.9)
    covered = (plan.decide(table, None).decision >= table["sales"].to_numpy()).mean()
    assert covered == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"underage": 3}, "service_level must not be given with underage"),
        ({"overage_column": "a"}, "service_level must not be given with overage"),
        ({"problem": "pricing"}, "service_level must not be given with problem 'pricing'"),
        (
            {"service_level": 95},
            "service_level must be strictly between 0 and 1, such as .95, got 95",
        ),
    ],
)
def test_wrong_service_levels(words, sentence):
    with pytest.raises(InvalidInput) as error:
        plan_from_options("sales", ["price"], **{"service_level": 0.9, **words}).check()
    assert sentence in str(error.value)
