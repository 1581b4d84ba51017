"""Plans that are told what the hours of days say: costs, notes, files and reports."""

import datetime

import numpy as np
import polars as pl
import pytest

import unmet
from unmet import Newsvendor, OrderPlan
from unmet.censoring.hours import HourlySales, detect_stockouts, recover
from unmet.errors import InvalidInput
from unmet.report import render, report_data

pytestmark = pytest.mark.usefixtures("few_trees")

FIRST = datetime.date(2024, 1, 1)
N_SERIES, N_DAYS, HORIZON = 6, 63, 7
ITEMS = [f"{number:03}" for number in range(N_SERIES)]


def shop():
    """Demand by the hour of all days and of a week more, sales until the stock is gone, flags."""
    generator = np.random.default_rng(0)
    level = np.geomspace(15, 60, N_SERIES)[:, None] * np.ones(N_DAYS + HORIZON)
    asked = np.zeros((N_SERIES, N_DAYS + HORIZON, 24))
    day = level * generator.gamma(12, 1 / 12, level.shape)
    asked[:, :, 8:20] = generator.poisson(np.repeat(day[:, :, None] / 12, 12, axis=2))
    stock = np.round(level * generator.uniform(0.7, 1.2, level.shape))
    before = np.cumsum(asked, axis=2) - asked
    left = np.maximum(stock[:, :, None] - before, 0)
    return asked, np.minimum(asked, left)[:, :N_DAYS], (left <= 0)[:, :N_DAYS]


ASKED, SALES, OUT = shop()
KEYS = pl.DataFrame({"item": ITEMS})
TABLE = pl.DataFrame(
    {
        "date": [FIRST + datetime.timedelta(day) for day in range(N_DAYS)] * N_SERIES,
        "item": np.repeat(ITEMS, N_DAYS),
        "sales": SALES.sum(axis=2).ravel(),
    }
)
HOURS = HourlySales.from_arrays(SALES, FIRST, stock_out=OUT, keys=KEYS)
WORDS = {"horizon": HORIZON, "cost": Newsvendor(6, 1), "model": "linear"}


@pytest.fixture(scope="module")
def plans():
    told = {"nothing": None, "clock": detect_stockouts(HOURS), "hours": recover(HOURS, busier=True)}
    return {name: OrderPlan(**WORDS).fit(TABLE, hours=each) for name, each in told.items()}


def test_hours_make_orders_cheaper(plans):
    truth = ASKED[:, N_DAYS:].sum(axis=2)
    paid = {}
    for name, plan in plans.items():
        order = plan.orders().sort("item", "date")["order"].to_numpy().reshape(truth.shape)
        paid[name] = plan.cost_.cost(order.ravel(), truth.ravel()).mean()
    known = ASKED[:, :N_DAYS].sum(axis=2)
    demand = TABLE.with_columns(sales=pl.Series(known.ravel()))
    order = OrderPlan(**WORDS).fit(demand).orders().sort("item", "date")["order"].to_numpy()
    best = plans["nothing"].cost_.cost(order, truth.ravel()).mean()
    assert paid["nothing"] > 1.05 * best
    for name in ("clock", "hours"):
        assert paid["nothing"] - paid[name] > 0.4 * (paid["nothing"] - best)


def test_what_the_hours_say_is_what_the_plan_holds(plans):
    clock, hours = plans["clock"], plans["hours"]
    reading = detect_stockouts(HOURS)
    np.testing.assert_allclose(clock.panel_.hidden, np.round(reading.probability, 3))
    assert set(np.unique(hours.panel_.hidden)) == {0.0, 1.0}
    np.testing.assert_array_equal(hours.panel_.hidden == 1, OUT[:, :, 8:20].any(axis=2))
    for plan in (clock, hours):
        assert (plan.demand_ >= plan.panel_.observed - 1e-9).all()
        assert plan.demand_.sum() == pytest.approx(ASKED[:, :N_DAYS].sum(), rel=0.08)
    assert any("Stock-outs, detected by hours without sales" in note for note in clock.notes_)
    assert any("Stock-outs: " in note for note in hours.notes_)
    assert plans["nothing"].demand_ is None


def test_plans_with_hours_are_saved_and_reported(plans, tmp_path):
    for name in ("clock", "hours"):
        plan = plans[name]
        loaded = unmet.load(plan.save(tmp_path / f"{name}.unmet"))
        assert loaded.orders().equals(plan.orders())
        assert loaded.notes_ == plan.notes_
        np.testing.assert_allclose(loaded.demand_, plan.demand_, rtol=1e-6)
        assert loaded.explain().equals(plan.explain())
        page = render(report_data(plan))
        assert render(report_data(loaded)).count("vega") == page.count("vega")
        assert "above sales" in page


def test_a_contest_is_priced_on_what_hours_say():
    plan = OrderPlan(**{**WORDS, "model": ("seasonal", "linear")})
    plan.fit(TABLE, hours=detect_stockouts(HOURS))
    assert plan.choice_.censoring_adjusted
    assert set(plan.choice_.cost) == {"seasonal", "linear", "blend"}
    assert plan.choice_.cost["blend"] < max(plan.choice_.cost.values())


def test_flags_of_the_table_are_believed():
    """A day that is known to have had stock lost nothing, whatever its hours look like."""
    flags = TABLE.with_columns(sold_out=pl.Series(OUT[:, :, 19].ravel()))
    plan = OrderPlan(**WORDS).fit(flags, hours=detect_stockouts(HOURS))
    stocked = ~OUT[:, :, 19]
    np.testing.assert_array_equal(plan.panel_.hidden, OUT[:, :, 19])
    np.testing.assert_array_equal(plan.demand_[stocked], plan.panel_.observed[stocked])


def test_hours_of_some_series_and_days():
    some = HOURS.take(np.array([4, 1, 2]))
    plan = OrderPlan(**WORDS).fit(TABLE, hours=detect_stockouts(some))
    assert np.isnan(plan.panel_.hidden[[0, 3, 5]]).all()
    assert not np.isnan(plan.panel_.hidden[[1, 2, 4]]).any()
    assert "Series without hourly sales: 3 of 6." in plan.notes_
    assert (plan.orders()["order"] > 0).all()
    # the last weeks alone
    late = HourlySales.from_arrays(SALES[:, 30:], FIRST + datetime.timedelta(30), keys=KEYS)
    plan = OrderPlan(**WORDS).fit(TABLE, hours=detect_stockouts(late))
    assert np.isnan(plan.panel_.hidden[:, :30]).all()
    assert not np.isnan(plan.panel_.hidden[:, 30:]).any()


def test_hours_that_do_not_fit_get_one_sentence():
    plan, first = OrderPlan(**WORDS), HourlySales.from_arrays
    with pytest.raises(InvalidInput, match="must have the series of the table, item"):
        plan.fit(TABLE, hours=recover(first(SALES, FIRST, stock_out=OUT)))
    with pytest.raises(InvalidInput, match="must have days and series of the table, got none"):
        plan.fit(TABLE, hours=recover(first(SALES, "2019-01-01", stock_out=OUT, keys=KEYS)))
    same = KEYS.with_columns(item=pl.lit("000"))
    with pytest.raises(InvalidInput, match="one series for each of item, got several"):
        plan.fit(TABLE, hours=recover(first(SALES, FIRST, stock_out=OUT, keys=same)))
    with pytest.raises(InvalidInput, match="hours must be what detect_stockouts or recover gives"):
        plan.fit(TABLE, hours=HOURS)
