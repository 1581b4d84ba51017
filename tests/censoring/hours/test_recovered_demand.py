"""Recovered demand against demand that was simulated and then hidden; files like memory."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_hours import CLOSES, OPENS, cut_by_stock, demand

from unmet.censoring.hours import HourlySales, recover
from unmet.errors import InvalidInput


def hours_of(sales, out, **more):
    return HourlySales.from_arrays(
        sales, "2024-05-06", stock_out=out, opens=OPENS, closes=CLOSES, **more
    )


def hidden_by_chance(n_series=30, n_days=70, share=0.3, seed=0):
    """Demand, and hours from a random one on that are hidden on some days, whatever was sold."""
    asked = demand(np.geomspace(4, 60, n_series), n_days, seed=seed)
    generator = np.random.default_rng(seed + 1)
    since = generator.integers(OPENS + 1, CLOSES - 1, (n_series, n_days))
    since = np.where(generator.random(since.shape) < share, since, 24)
    out = np.arange(24) >= since[:, :, None]
    return asked, np.where(out, 0.0, asked), out


def hidden_by_stock(n_series=30, n_days=84, seed=0):
    """Demand, and sales of shelves that it empties: the busier the day, the sooner."""
    levels = np.geomspace(8, 60, n_series)
    asked = demand(levels, n_days, seed=seed, noise=6.0)
    generator = np.random.default_rng(seed + 1)
    stock = np.round(levels[:, None] * generator.lognormal(0.1, 0.2, (n_series, n_days)))
    sales, out = cut_by_stock(asked, np.where(generator.random(stock.shape) < 0.5, stock, np.inf))
    return asked, sales, out


def bias(found, truth, rows):
    return float((found - truth)[rows].sum() / truth[rows].sum())


# --- Right, and as sure as it says.


def test_hours_hidden_by_chance_are_recovered_without_bias():
    asked, sales, out = hidden_by_chance()
    found = recover(hours_of(sales, out))
    truth, rows = asked.sum(axis=2), out.any(axis=2)
    assert abs(bias(found.demand, truth, rows)) < 0.02
    sold = np.abs(sales.sum(axis=2) - truth)[rows].sum()
    assert np.abs(found.demand - truth)[rows].sum() < 0.5 * sold
    np.testing.assert_array_equal(found.demand[~rows], truth[~rows])
    assert found.busier == 1.0


def test_intervals_hold_the_truth_as_often_as_they_say():
    asked, sales, out = hidden_by_chance(n_series=40)
    found = recover(hours_of(sales, out))
    truth, rows = asked.sum(axis=2)[out.any(axis=2)], out.any(axis=2)
    for level in (0.1, 0.25, 0.5, 0.8, 0.95):
        at = found.quantile(level)[rows]
        # whole numbers: at least so often at or below it, at most so often below
        assert (truth <= at).mean() >= level - 0.04
        assert (truth < at).mean() <= level + 0.04


def test_busier_days_are_right_where_demand_empties_shelves():
    asked, sales, out = hidden_by_stock()
    truth = asked.sum(axis=2)
    rows = sales.sum(axis=2) < truth
    hours = hours_of(sales, out)
    plain, busier = recover(hours), recover(hours, busier=True)
    assert busier.busier > 1.1
    assert bias(plain.demand, truth, rows) < -0.03
    assert abs(bias(busier.demand, truth, rows)) < 0.04
    assert bias(sales.sum(axis=2), truth, rows) < -0.15
    # where hours are hidden by chance there is nothing to learn, but noise
    asked, sales, out = hidden_by_chance()
    by_chance = recover(hours_of(sales, out), busier=True)
    assert by_chance.busier == pytest.approx(1.0, abs=0.06)


# --- What must hold.


@given(st.integers(0, 1000), st.booleans())
@settings(max_examples=5)
def test_what_was_sold_is_never_recovered_away(seed, busier):
    _, sales, out = hidden_by_chance(4, 21, 0.5, seed)
    sales = np.where(
        out & (sales == 0), np.random.default_rng(seed).poisson(0.2, sales.shape), sales
    )
    sales[:, :, :OPENS], sales[:, :, CLOSES:] = 0, 0
    found = recover(hours_of(sales, out), busier=busier)
    sold = sales.sum(axis=2)
    for each in (found.demand, found.quantile(0.05), *found.sample(3)):
        assert (each >= sold - 1e-9).all()
    assert (found.quantile(0.9) >= found.quantile(0.6) - 1e-9).all()


@given(st.integers(0, 1000))
@settings(max_examples=5)
def test_neither_units_nor_the_order_of_series_matter(seed):
    _, sales, out = hidden_by_chance(4, 28, 0.4, seed)
    whole = recover(hours_of(sales, out))
    tenth = recover(hours_of(sales * 0.1, out))
    np.testing.assert_allclose(tenth.demand, 0.1 * whole.demand, rtol=1e-7, atol=1e-9)
    order = np.random.default_rng(seed).permutation(4)
    other = recover(hours_of(sales[order], out[order]))
    np.testing.assert_allclose(other.demand, whole.demand[order], rtol=1e-9, atol=1e-9)


def test_a_table_and_a_description():
    _, sales, out = hidden_by_chance(3, 28)
    sales[0, 2] = np.nan
    found = recover(hours_of(sales, out))
    table = found.table(interval=0.8)
    assert table.columns[2:] == ["sold", "sold_out", "hours_out", "demand", "low", "high"]
    assert table.height == 3 * 28 - 1
    assert (table["low"] <= table["high"]).all()
    hidden = table.filter(pl.col("hours_out") > 0)
    assert hidden.height == out.any(axis=2).sum() - out[0, 2].any()
    assert np.isnan(found.probability[0, 2])
    assert set(table["sold_out"]) == {0.0, 1.0}
    assert "above sales" in found.describe()


def test_hours_that_do_not_say_when_shelves_were_empty_get_one_sentence():
    _, sales, _ = hidden_by_chance(3, 28)
    with pytest.raises(InvalidInput, match="got none: without it, the silence of the till tells"):
        recover(HourlySales.from_arrays(sales, "2024-05-06"))
    with pytest.raises(InvalidInput, match=r"hours must be HourlySales, as .*, got 3"):
        recover(3)
