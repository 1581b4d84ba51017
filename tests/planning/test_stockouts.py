"""A plan without flags asks the sales themselves which days sold out."""

import numpy as np
import polars as pl
import pytest
from sales_panel import sales_panel

from unmet import Newsvendor, OrderPlan
from unmet.data import load_bakery, load_yaz
from unmet.planning import example
from unmet.planning.example import DISHES

COST = Newsvendor(3, 1)


def planned(table, **parameters):
    return OrderPlan(horizon=7, cost=COST, model="linear", **parameters).fit(table)


def units(plan):
    return plan.orders()["order"].sum()


@pytest.fixture(scope="module")
def sales():
    return example().sales.select("date", "dish", "sales", "sold_out")


@pytest.fixture(scope="module")
def demand():
    """Real demand of a restaurant, uncensored."""
    open_days = load_yaz().filter(pl.col("is_closed") == 0)
    return pl.concat(
        open_days.select("date", pl.lit(dish).alias("dish"), pl.col(dish).alias("sales"))
        for dish in DISHES
    )


@pytest.fixture(scope="module")
def asked(sales):
    return planned(sales.drop("sold_out"))


def test_an_order_rule_tells_which_days_sold_out(sales, asked):
    """The example's sales stop at 1.15 times the mean of four same weekdays."""
    on_sales, flagged = planned(sales.drop("sold_out"), sellout_rate=0.0), planned(sales)
    assert units(asked) > units(on_sales) + 0.75 * (units(flagged) - units(on_sales))
    assert "end exactly at 1.15 × mean of the last 4 same weekdays" in asked.inferred_
    assert asked.inferred_ in asked.notes_
    assert not flagged.inferred_


def test_the_corrected_history(sales, asked):
    found = asked.demand()
    assert found.columns == ["dish", "date", "sales", "stockout", "demand", "low", "high", "why"]
    out = found.filter(pl.col("stockout") == 1)
    assert (out["demand"] >= out["sales"]).all()
    assert (out["low"] <= out["high"]).all()
    told = found.filter(pl.col("stockout") == 0)
    assert (told["demand"] == told["sales"]).all()


def test_what_a_user_says_counts_more(asked):
    told = asked.at(sellout_rate=0.1)
    assert told.rate_ is not None
    assert not told.inferred_
    assert told.panel_.hidden is None


@pytest.mark.parametrize("name", ["bakery", pytest.param("restaurant", marks=pytest.mark.slow)])
def test_little_is_added_to_uncensored_demand(demand, name):
    table = demand.filter(pl.col("date").dt.year() == 2015)
    if name == "bakery":
        table = load_bakery().filter(pl.col("store") == 2).select("date", "product", sales="demand")
        table = table.filter(pl.col("date") > pl.col("date").max() - pl.duration(days=150))
    found = planned(table)
    assert not found.inferred_
    assert found.panel_.hidden is None
    as_sold = planned(table, sellout_rate=0.0)
    assert as_sold.orders()["order"].sum() <= found.orders()["order"].sum()
    assert found.orders()["order"].sum() < 1.1 * as_sold.orders()["order"].sum()
    assert "orders assume that up to" in found.notes_[0]
    assert f"about {as_sold.orders()['order'].sum():,} without stock-outs" in found.notes_[0]


def test_a_limit_that_never_moves_is_seen_by_the_latent_model(demand):
    limit = pl.col("sales").quantile(0.7).over("dish")
    found = planned(demand.with_columns(sales=pl.min_horizontal("sales", limit)))
    assert "point mass at a limit" in found.inferred_
    assert np.nanmean(found.panel_.hidden) == pytest.approx(0.32, abs=0.05)
    assert found.orders()["hidden_demand"].sum() > 0


def test_quantiles_of_coming_demand(asked):
    found = asked.quantiles([0.9, 0.5])
    assert found.columns == ["dish", "date", "demand_q0.9", "demand_q0.5"]
    assert (found["demand_q0.9"] >= found["demand_q0.5"]).all()
    assert found.height == asked.orders().height


@pytest.mark.parametrize("seed", [5, 7])
def test_counts_of_slow_sellers_do_not_look_sold_out(seed):
    """Half a unit a day has a point mass at 1, which is no limit."""
    demand = np.random.default_rng(seed).poisson(0.5, (5, 200))
    series, day = np.nonzero(demand)
    first = np.datetime64("2024-04-08")
    rows = pl.DataFrame(
        {"date": first + day, "part": [f"P{each}" for each in series], "qty": demand[series, day]}
    )
    plan = OrderPlan(horizon=7, model="seasonal").fit(rows)
    assert plan.inferred_ == ""
    assert plan.orders()["order"].sum() < 6 * 7 * 2.5
    assert any("because series sell nothing on" in note for note in plan.notes_)


# --- Flags of some days.


@pytest.fixture(scope="module")
def orders_of():
    """Units ordered, and the plan, where only some flags of a panel are shown."""
    table = sales_panel([20, 30, 40, 50, 60, 70], 112, week=0.3, stock=(0.6, 1.2))
    dates = table["date"].rank("dense").to_numpy()
    generator = np.random.default_rng(1)

    def ordered(shown):
        flags = pl.when(pl.Series(shown(dates, generator))).then("sold_out")
        plan = planned(table.with_columns(sold_out=flags))
        return units(plan), plan

    return ordered


def test_few_flags_are_no_flags(orders_of):
    """Those of the last row alone leave orders as they are without any, and a note says so."""
    none, _ = orders_of(lambda dates, _: dates < 0)
    last, plan = orders_of(lambda dates, _: dates == dates.max())
    assert last == none
    assert any("Flags or stock were not used, because too few" in each for each in plan.notes_)


def test_days_without_a_flag_count_by_their_probability(orders_of):
    """A tenth of the flags says most of what all of them say; last weeks do as well."""
    none, _ = orders_of(lambda dates, _: dates < 0)
    every, _ = orders_of(lambda dates, _: dates >= 0)
    tenth, plan = orders_of(lambda dates, generator: generator.random(dates.size) < 0.1)
    late, _ = orders_of(lambda dates, _: dates > dates.max() - 28)
    assert every > 1.05 * none
    for some in (tenth, late):
        assert abs(some - every) < 0.5 * (every - none)
    found = plan.demand()
    perhaps = found.filter((pl.col("stockout") > 0) & (pl.col("stockout") < 1))
    assert perhaps.height > 0.5 * found.height
    assert (perhaps["demand"] >= perhaps["sales"] - 1e-9).all()
    assert perhaps["why"].unique().to_list() == [
        "perhaps sold out: estimated from days with a flag"
    ]
