"""Histories of a few days: the simplest model decides, and no order is beyond all past sales."""

import datetime

import numpy as np
import polars as pl
import pytest
from sales_panel import sales_panel
from sales_table import refilling
from typer.testing import CliRunner

from unmet.cli.main import app
from unmet.errors import SolverFailure
from unmet.inventory import DemandDistribution
from unmet.planning import OrderPlan
from unmet.planning.candidates import DemandForecast, TrainingSet
from unmet.planning.history import History
from unmet.planning.stockouts import without_few_flags
from unmet.tables.panel import Panel, refuse_absurd

pytestmark = pytest.mark.usefixtures("few_trees")

FIRST = datetime.date(2024, 1, 1)


def poisson_sales(n_items, n_days):
    return sales_panel([5] * n_items, n_days, [f"item {place:04}" for place in range(n_items)])


@pytest.mark.parametrize("horizon", [1, 14])
@pytest.mark.parametrize(("n_items", "n_days"), [(1, 3), (30, 3), (30, 10), (100, 14), (500, 8)])
def test_orders_of_a_few_days_are_near_what_is_right(n_items, n_days, horizon):
    plan = OrderPlan(horizon=horizon).fit(poisson_sales(n_items, n_days))
    assert plan.choice_.model == "seasonal"
    right = 8 * horizon * n_items  # 8 a day meet demand on nine days of ten
    tolerance = 0.2 if n_items > 1 else 0.5
    assert plan.orders()["order"].sum() == pytest.approx(right, rel=tolerance)


def test_stock_that_lasts_follows_level_and_weekday_of_a_few_days():
    plan = refilling(lead_time=0).fit(poisson_sales(30, 8))
    assert plan.orders()["order"].sum() == pytest.approx(8 * 30, rel=0.2)
    assert plan.choice_.model == "seasonal"
    assert not plan.choice_.scored


def test_two_weeks_tell_weekdays_that_all_series_share():
    week = np.array([1, 1, 1, 1, 1, 3, 2]) * 0.7
    demand = np.random.default_rng(0).poisson(10 * np.tile(week, 2), (20, 14)).astype(float)
    expected, left_out = History(Panel(demand, None, FIRST)).usual(14)
    found = expected.mean(axis=0) / expected.mean()
    np.testing.assert_allclose(found, week, atol=0.35)
    assert found[5] > 1.7
    assert left_out.shape == demand.shape


# --- Orders that nothing explains.


def test_a_line_through_two_weeks_is_near_what_is_right():
    orders = OrderPlan(model="linear").fit(poisson_sales(100, 14)).orders()
    assert orders["order"].sum() == pytest.approx(8 * 7 * 100, rel=0.2)


def test_absurd_orders_are_refused_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = poisson_sales(100, 14)
    expected = DemandForecast.expected
    monkeypatch.setattr(DemandForecast, "expected", lambda self: 100.0 * expected(self))
    with pytest.raises(SolverFailure, match=r", \d+ for item item \d{4}, got [\d,.]+ \(and"):
        OrderPlan(model="linear").fit(table)
    with pytest.raises(SolverFailure, match=r": use model='seasonal', or"):
        OrderPlan(model="linear").fit(table)
    table.write_csv("sales.csv")
    result = CliRunner().invoke(app, ["plan", "sales.csv", "--model", "linear"])
    assert result.exit_code != 0
    assert not (tmp_path / "orders.csv").exists()


def test_a_price_that_is_mistyped_for_the_coming_days_is_refused():
    table = poisson_sales(10, 60)
    price = np.random.default_rng(1).choice([2.0, 2.5], table.height)
    table = table.with_columns(price=price, sales=pl.col("sales") + pl.Series(12 * (price < 2.2)))
    coming = pl.DataFrame(
        {"date": [FIRST + datetime.timedelta(60 + day) for day in range(7)], "price": [-250.0] * 7}
    )
    with pytest.raises(SolverFailure, match=r"check the table of coming days \(future=\), or"):
        OrderPlan(model="linear").fit(table, future=coming)


def test_stock_that_lasts_is_refused_alike(monkeypatch):
    expected = DemandForecast.expected
    monkeypatch.setattr(DemandForecast, "expected", lambda self: 100.0 * expected(self))
    with pytest.raises(SolverFailure, match="add more days of history"):
        refilling().fit(poisson_sales(3, 40))


def refused(observed, series, expected, group=None):
    panel = Panel(np.asarray(observed, float), None, FIRST, group=group)
    try:
        refuse_absurd(panel, np.array([series]), np.array([expected], float), "stop")
    except SolverFailure:
        return True
    return False


def test_ten_times_the_largest_sales_are_allowed_and_no_more():
    long, short = np.full(40, 2.0), np.r_[np.full(35, np.nan), np.full(5, 3.0)]
    rich, new = np.full(40, 100.0), np.full(40, np.nan)
    table = [long, short, rich, new]
    assert not refused(table, 0, 20)
    assert refused(table, 0, 20.1)  # a long history has its own largest sales
    assert not refused(table, 1, 1000)  # a short one may do as similar ones do
    assert refused(table, 1, 1001)
    assert not refused(table, 3, 1000)
    assert refused(table, 0, np.nan)
    alike = np.array([0, 0, 1, 0])
    assert refused(table, 1, 31, alike)
    assert refused(table, 3, 31, alike)


# --- A few flags.


def test_flags_of_the_last_row_do_not_silence_all_others():
    demand = np.random.default_rng(0).poisson(6, (320, 40)).astype(float)
    flags = np.full(demand.shape, np.nan)
    flags[:, -1] = demand[:, -1] > 8
    plain, told = (TrainingSet(Panel(demand, each, FIRST, "week"), 3, 0) for each in (None, flags))
    assert told.n_rows == plain.n_rows
    last = Panel(demand, flags, FIRST, "week")
    panel, notes = without_few_flags(last)  # 320 flags, but of one date
    assert panel.hidden is None
    assert "too few weeks have them: 320 of 12,800" in notes[0]
    flags[:, -25:] = demand[:, -25:] > 8
    most = Panel(demand, flags, FIRST, "week")
    assert without_few_flags(most) == (most, [])
    assert set(TrainingSet(most, 3, 0).day) == set(plain.day)  # all rows, with a flag or without


def test_nothing_left_is_sold_out_only_if_sales_reached_the_stock():
    table = pl.DataFrame(
        {
            "item": ["a"] * 4 + ["b"] * 3,
            "date": [FIRST + datetime.timedelta(day) for day in (0, 1, 2, 3, 0, 1, 2)],
            "sales": [5, 3, 6, 2, 4, 4, 1],
            "left": [9, 6, 0, 0, None, 0, 3],
        }
    ).sample(fraction=1.0, shuffle=True, seed=1)
    plan = refilling(on_hand="left")
    plan.schema_ = plan.columns(table)
    found = plan.with_flags(table).sort("item", "date")[plan.schema_.sold_out]
    assert found.to_list() == [False, False, True, True, None, True, False]
    alone = table.filter(item="a").drop("item")
    plan.schema_ = plan.columns(alone)
    found = plan.with_flags(alone).sort("date")[plan.schema_.sold_out]
    assert found.to_list() == [False, False, True, True]
    plan.schema_ = plan.columns(table)
    spoiled = table.with_columns(sales=pl.when(pl.col("left") == 0).then(1).otherwise("sales"))
    found = plan.with_flags(spoiled).sort("item", "date")[plan.schema_.sold_out]
    assert found.to_list() == [False, False, None, True, None, True, False]


@pytest.mark.parametrize(("n_days", "model"), [(48, "seasonal"), (60, "blend"), (90, "blend")])
def test_models_are_compared_where_the_horizon_is_a_large_part_of_the_past(n_days, model):
    sales = np.random.default_rng(0).poisson(5.0, (20, n_days)).astype(float)
    forecast = DemandForecast(28).fit(Panel(sales, None, FIRST, "day"))
    assert forecast.choice_.model == model
    assert (forecast._held_out is not None) == (model == "blend")


def test_orders_do_not_depend_on_the_unit():
    rows = sales_panel([9, 20], 40).with_columns(pl.col("sales") + 0.25)
    usual = OrderPlan(model="linear").fit(rows).orders()["order"]
    for unit in (1e-9, 1e-6, 1e-3, 1e12):
        other = rows.with_columns(pl.col("sales") * unit)
        orders = OrderPlan(model="linear").fit(other).orders()["order"] / unit
        np.testing.assert_allclose(orders, usual, rtol=1e-2)


def test_nor_where_the_first_sales_are_late():
    rows = sales_panel([9, 20], 90)
    late = pl.col("date") >= FIRST + datetime.timedelta(50)
    rows = rows.with_columns(sales=pl.when(late).then(pl.col("sales") + 0.25).otherwise(0.0))
    usual = OrderPlan(model="linear").fit(rows).orders()["order"]
    for unit in (1e-6, 1e6):
        other = rows.with_columns(pl.col("sales") * unit)
        orders = OrderPlan(model="linear").fit(other).orders()["order"] / unit
        np.testing.assert_allclose(orders, usual, rtol=1e-2)


def test_packs_are_ordered_as_units_are():
    rows = sales_panel([3], 70)
    usual = OrderPlan(model="seasonal").fit(rows).orders()["order"].sum()
    packs = rows.with_columns(pl.col("sales") * 1_000_000)
    orders = OrderPlan(model="seasonal").fit(packs).orders()["order"].sum()
    assert orders == pytest.approx(1e6 * usual, rel=0.25)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", ["smoothing", "linear", "auto"])
def test_orders_of_what_hardly_sells_stay_near_what_was_sold(model, seed):
    rows = sales_panel([8, 30, 3], 60)
    kept = np.random.default_rng(seed).random(rows.height) < 0.05
    rows = rows.with_columns(pl.Series("sales", np.where(kept, rows["sales"], 0)))
    orders = OrderPlan(model=model).fit(rows).orders()
    largest = rows.group_by("item").agg(pl.col("sales").max())
    both = orders.join(largest, "item")
    assert both.height == orders.height
    assert both.filter(pl.col("order") > 3 * pl.col("sales") + 1).is_empty()


@pytest.mark.parametrize("seed", range(4))
def test_a_linear_model_of_a_few_weeks_is_not_asked(seed):
    rows = sales_panel([7], 19, step=7, seed=seed)
    plan = OrderPlan(model="linear").fit(rows)
    assert plan.choice_.model == "seasonal"
    assert plan.orders()["order"].sum() > 40


def test_what_never_sold_beside_a_new_series_has_orders_of_zero():
    months = [datetime.date(2023 + place // 12, place % 12 + 1, 1) for place in range(19)]
    rows = pl.DataFrame(
        {
            "item": ["tea"] * 19 + ["new"],
            "date": [*months, months[-1]],
            "sales": [*[0] * 16, None, 0, 0, None],
        }
    )
    found = OrderPlan().fit(rows).orders()
    assert found["order"].sum() == 0
    assert not found["safety"].is_nan().any()


def test_a_quantile_far_beyond_what_is_expected_is_cut(monkeypatch):
    rows = sales_panel([8, 30], 60)
    quantile = DemandDistribution.quantile
    far = 100.0
    monkeypatch.setattr(DemandDistribution, "quantile", lambda *given: far * quantile(*given))
    orders = OrderPlan(model="seasonal").fit(rows).orders()
    largest = rows.group_by("item").agg(pl.col("sales").max())
    both = orders.join(largest, "item")
    assert (both["order"] == 3 * both["sales"]).all()
    far = np.nan
    with pytest.raises(SolverFailure, match="got nan"):
        OrderPlan(model="seasonal").fit(sales_panel([8, 30], 10))
