"""The next order from a history, what is there and what is on its way."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sales_table import refilling as refilling_with

import unmet
from unmet import Newsvendor, OrderPlan
from unmet.errors import InvalidInput
from unmet.planning import DecisionLog
from unmet.report import render, report_data

pytestmark = pytest.mark.usefixtures("few_trees")

FIRST = datetime.date(2024, 1, 1)
N_DAYS = 84


def history(n_series: int = 6, n_days: int = N_DAYS, seed: int = 0) -> pl.DataFrame:
    """Poisson demand of weekdays; what is left at the end is written down."""
    generator = np.random.default_rng(seed)
    week = np.array([1.0, 0.8, 0.9, 1.0, 1.3, 1.6, 0.4])
    level = np.linspace(4.0, 30.0, n_series)
    day = np.arange(n_days)
    demand = generator.poisson(level[:, None] * week[day % 7])
    there = np.ceil(level[:, None] * week[day % 7] * 1.3)
    sales = np.minimum(demand, there)
    return pl.DataFrame(
        {
            "date": [FIRST + datetime.timedelta(int(each)) for each in np.tile(day, n_series)],
            "item": np.repeat([f"i{number}" for number in range(n_series)], n_days),
            "sales": sales.ravel().astype(int),
            "left": (there - sales).ravel().astype(int),
        }
    )


def refilling(**words) -> OrderPlan:
    """A plan by the simplest model: nothing here is about models."""
    return refilling_with(**{"model": "seasonal", **words})


TABLE = history()
LAST = FIRST + datetime.timedelta(N_DAYS - 1)


@pytest.fixture(scope="module")
def plan() -> OrderPlan:
    on_its_way = pl.DataFrame(
        {
            "item": ["i0", "i5", "i5"],
            "date": [LAST + datetime.timedelta(each) for each in (1, 1, 2)],
            "units": [4, 100, 20],
        }
    )
    words = {"lead_time": 2, "holding": 1, "shortage": 4, "on_hand": "left"}
    return refilling(**words, model="auto").fit(TABLE, on_order=on_its_way)


def test_state_is_the_last_row_and_what_is_on_its_way(plan: OrderPlan) -> None:
    last = TABLE.filter(pl.col("date") == LAST)["left"].to_list()
    assert plan.orders()["on_hand"].to_list() == last
    assert plan.orders()["on_order"].to_list() == [4, 0, 0, 0, 0, 120]
    np.testing.assert_array_equal(plan.state_.on_order[5], [100, 20])


def test_sheet_of_the_last_order_is_on_its_way(plan: OrderPlan) -> None:
    before = plan.orders()
    again = refilling(lead_time=4, on_hand="left").fit(TABLE, on_order=before)
    assert again.orders()["on_order"].to_list() == before["order"].to_list()
    assert (again.state_.on_order[:, :2] == 0).all()


def test_empty_shelves_tell_which_days_sold_out(plan: OrderPlan) -> None:
    assert plan.panel_.hidden is not None
    share = float((TABLE["left"] == 0).mean())
    assert float(np.nanmean(plan.panel_.hidden)) == pytest.approx(share)


def test_more_on_hand_means_less_to_order() -> None:
    words = {"lead_time": 1, "holding": 1.0, "shortage": 3.0, "on_hand": "left"}
    few = refilling(**words).fit(TABLE).orders()["order"].to_numpy()
    more = TABLE.with_columns(
        left=pl.when(pl.col("date") == LAST).then(pl.col("left") + 15).otherwise(pl.col("left"))
    )
    many = refilling(**words).fit(more).orders()["order"].to_numpy()
    assert (many <= few).all()
    assert many.sum() < few.sum()


def test_orders_meet_the_critical_level_on_the_coming_days() -> None:
    """Order for one day from empty shelves: demand of that day is met at shortage / both."""
    table, level = history(n_series=40, n_days=N_DAYS + 1, seed=3), 0.8
    generator = np.random.default_rng(5)
    past = table.filter(pl.col("date") <= LAST)
    plan = refilling(holding=1 - level, shortage=level).fit(
        past.drop("left").with_columns(sold_out=past["left"] == 0)
    )
    order = plan.orders().sort("item")["order"].to_numpy()
    usual = dict(zip([f"i{each}" for each in range(40)], np.linspace(4.0, 30.0, 40), strict=True))
    weekday = np.array([1.0, 0.8, 0.9, 1.0, 1.3, 1.6, 0.4])[N_DAYS % 7]
    mean = np.array([usual[name] for name in sorted(usual)]) * weekday
    met = (generator.poisson(mean, (2000, 40)) <= order).mean()
    assert level - 0.05 < met < level + 0.1


def test_as_many_run_out_as_are_expected_to() -> None:
    """Truth is known: demand of the coming days is drawn anew, from some stock and one order."""
    table, generator = history(n_series=40, seed=4), np.random.default_rng(6)
    there = np.round(np.linspace(4.0, 30.0, 40) * generator.uniform(0.5, 3.5, 40))
    names = pl.DataFrame({"item": [f"i{each}" for each in range(40)], "left": there})
    flags = table.with_columns(sold_out=table["left"] == 0).drop("left").join(names, on="item")
    words = {"lead_time": 2, "holding": 0.25, "shortage": 1.0, "on_hand": "left"}
    plan = refilling(**words).fit(flags)
    order_table = plan.orders().join(names.with_row_index(), on="item").sort("index")
    week = np.array([1.0, 0.8, 0.9, 1.0, 1.3, 1.6, 0.4])[(N_DAYS + np.arange(3)) % 7]
    demand = generator.poisson(np.linspace(4.0, 30.0, 40)[:, None] * week, (500, 40, 3))
    stock, missing = np.tile(there, (500, 1)), np.zeros((500, 40))
    for day in range(3):
        stock = stock + order_table["order"].to_numpy() * (day == 2)
        missing += np.maximum(demand[..., day] - stock, 0.0)
        stock = np.maximum(stock - demand[..., day], 0.0)
    seen = (missing > 0).mean(axis=0).sum()
    assert 5 < seen < 35  # some of the stocks last, others do not
    assert order_table["chance_of_running_out"].sum() == pytest.approx(seen, rel=0.15)
    loss = order_table["expected_loss"]
    assert loss.to_list() == order_table["expected_shortage"].to_list()
    assert loss.sum() == pytest.approx(missing.mean(axis=0).sum(), rel=0.15)
    assert f"about {order_table['chance_of_running_out'].sum():.0f} of 40 series" in plan.in_words()
    promised, did, count = plan.checked_
    assert 0.7 * promised < did < 1.3 * promised < 0.4 * count


def test_numbers_may_be_columns() -> None:
    table = TABLE.with_columns(
        days=pl.when(pl.col("item") == "i0").then(0).otherwise(3), pack=pl.lit(6)
    )
    plan = refilling(lead_time="days", lot="pack", service_level=0.9).fit(table)
    order_table = plan.orders()
    assert order_table["arrives"].to_list() == [
        LAST + datetime.timedelta(1),
        *[LAST + datetime.timedelta(4)] * 5,
    ]
    assert (order_table["order"] % 6 == 0).all()


def deliveries(days: dict[str, list[int]]) -> pl.DataFrame:
    """Deliveries of which each could be sold so many days after the one that follows the order."""
    rows = [(item, FIRST, FIRST + datetime.timedelta(1 + n)) for item in days for n in days[item]]
    return pl.DataFrame(rows, schema=["item", "ordered", "received"], orient="row")


def test_deliveries_tell_lead_times_and_few_are_shrunk() -> None:
    seen = {"i0": [2] * 20, "i1": [2, 6] * 10, "i2": [6], "gone": [40]}
    plan = refilling(holding=1, shortage=4).fit(TABLE, deliveries=deliveries(seen))
    chances = plan.rules_.lead_time
    assert chances.shape == (6, 41)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    pooled, late = chances[3], chances[:, 6]
    assert late[0] < pooled[6] < late[2] < 1.0  # one late delivery is not yet a habit
    assert late[1] == pytest.approx(0.5, abs=0.05)
    np.testing.assert_allclose(chances[4], pooled)  # nothing is known of these
    note = next(
        each
        for each in plan.notes_
        if each.startswith("Lead times vary, and orders cover that: 2 to 40 days")
    )
    assert "Not used: 1 row" in note
    assert (
        plan.orders()["order"][1]
        > refilling(holding=1, shortage=4, lead_time=2).fit(TABLE).orders()["order"][1]
    )
    assert "2 to 40 days" in render(report_data(plan))


def test_a_column_of_lead_times_that_varies_is_a_distribution() -> None:
    days = pl.when(pl.col("date").dt.day() % 4 == 0).then(5).otherwise(2)
    varies = TABLE.with_columns(days=pl.when(pl.col("item") == "i3").then(days).otherwise(2))
    chances = refilling(lead_time="days").fit(varies).rules_.lead_time
    share = float((varies.filter(item="i3")["days"] == 5).mean())
    assert chances[3, 5] == pytest.approx(share, abs=0.03)
    assert (chances[[0, 1, 2, 4, 5], 2] > 0.97).all()


def test_budget_is_kept() -> None:
    plan = refilling(service_level=0.9, budget=50).fit(TABLE.drop("left"))
    assert plan.orders()["order"].sum() <= 50


def _arrives(day: int, item: str = "i0", units: float = 3) -> pl.DataFrame:
    date = LAST + datetime.timedelta(day)
    return pl.DataFrame({"item": [item], "date": [date], "units": [units]})


@pytest.mark.parametrize(
    ("words", "more", "sentence"),
    [
        ({"lead_time": 1.5}, {}, "lead_time must be a whole number of periods"),
        ({"holding": 1}, {}, "shortage must be given with holding"),
        ({"holding": 1, "shortage": 2, "service_level": 0.9}, {}, "cost must not be given with"),
        ({"unmet": "gone"}, {}, "unmet must be"),
        ({"on_hand": "shelf"}, {}, "shelf"),
        ({}, {"on_order": _arrives(0)}, "on_order must have dates from 2024-03-25 on"),
        ({}, {"on_order": _arrives(1, "i9")}, "only series of the table, got item i9"),
        (
            {},
            {"on_order": _arrives(1, units=-2)},
            "on_order must have 0 units or more in every row, got -2",
        ),
        ({}, {"on_order": _arrives(1).drop("units")}, "one column of units, got none"),
        ({}, {"on_order": _arrives(1).drop("item")}, "got no 'item'"),
        (
            {},
            {"deliveries": deliveries({"i0": [-3]})},
            "received after they were ordered, got 2023",
        ),
        ({}, {"deliveries": deliveries({"i0": [1]}).drop("received")}, "got no 'received'"),
        ({}, {"deliveries": deliveries({"i0": [1]}).with_columns(received=None)}, "no row with"),
        ({}, {"deliveries": deliveries({"i0": [500]})}, "from 0 to 366, got 500"),
        ({"lead_time": 2}, {"deliveries": deliveries({"i0": [1]})}, "without lead_time"),
    ],
)
def test_bad_words_are_one_sentence(words: dict, more: dict, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        refilling(**words).fit(TABLE, **more)


def test_negative_and_absent_stock_name_the_series() -> None:
    last = (pl.col("date") == LAST) & (pl.col("item") == "i2")
    negative = TABLE.with_columns(left=pl.when(last).then(-4).otherwise(pl.col("left")))
    with pytest.raises(InvalidInput, match="got -4 for item i2"):
        refilling(on_hand="left").fit(negative)
    absent = TABLE.with_columns(left=pl.when(last).then(None).otherwise(pl.col("left")))
    with pytest.raises(InvalidInput, match="got none in column 'left' for item i2"):
        refilling(on_hand="left").fit(absent)


def test_backorders_may_be_negative() -> None:
    last = (pl.col("date") == LAST) & (pl.col("item") == "i2")
    negative = TABLE.with_columns(left=pl.when(last).then(-4).otherwise(pl.col("left")))
    words = {"on_hand": "left", "unmet": "backordered", "lead_time": 1}
    owed = refilling(**words).fit(negative).orders()["order"][2]
    assert owed > refilling(**words).fit(TABLE).orders()["order"][2]


# --- In files.


def loaded(plan: OrderPlan, folder: Path) -> OrderPlan:
    return unmet.load(plan.save(folder / "plan.unmet"))


def closed_on_sundays() -> pl.DataFrame:
    return TABLE.filter(pl.col("date").dt.weekday() < 7)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (TABLE, {"lead_time": 2, "holding": 1, "shortage": 4, "on_hand": "left"}),
        (TABLE.with_columns(days=2, sales=pl.col("sales") + 0.25), {"lead_time": "days"}),
        (closed_on_sundays(), {"review": 3, "lead_time": 1, "on_hand": "left"}),
        (TABLE.filter(pl.col("item") == "i3").drop("item"), {"lead_time": 1, "budget": 9}),
    ],
)
def test_loaded_plans_are_the_same_bit_for_bit(
    table: pl.DataFrame, words: dict, tmp_path: Path
) -> None:
    plan = refilling(**words).fit(table)
    again = loaded(plan, tmp_path)
    assert type(again) is OrderPlan
    assert repr(again.get_params()) == repr(plan.get_params())
    for name in ("orders", "levels", "projection"):
        ours, theirs = (getattr(each, name)() for each in (again, plan))
        assert ours.schema == theirs.schema
        assert ours.equals(theirs)
    np.testing.assert_array_equal(again.replenishment_.order, plan.replenishment_.order)
    np.testing.assert_array_equal(again.demand_, plan.demand_)
    assert again.in_words() == plan.in_words()
    assert render(report_data(again)) == render(report_data(plan))


def test_what_changing_orders_was_worth_is_kept_and_pandas_stays_pandas(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    arrives = LAST - datetime.timedelta(5)
    order_table = pl.DataFrame({"item": ["i1"], "date": [arrives], "order": [9]})
    log = (
        DecisionLog(["item"])
        .suggested(order_table)
        .changed(order_table.with_columns(order=pl.lit(20)))
    )
    table = pd.DataFrame({name: TABLE[name].to_list() for name in TABLE.columns})
    plan = refilling(lead_time=1, holding=1, shortage=4, on_hand="left").fit(table, log=log)
    again = loaded(plan, tmp_path)
    assert again.overrides_ == plan.overrides_
    assert again.overrides_.known == 1
    pd.testing.assert_frame_equal(again.orders(), plan.orders())


def test_a_plan_that_has_not_learned_and_one_that_learns_again(tmp_path: Path) -> None:
    assert loaded(refilling(lead_time=3), tmp_path).supply.lead_time == 3
    plan = refilling(lead_time=1, on_hand="left").fit(TABLE)
    again = loaded(plan, tmp_path).fit(TABLE.filter(pl.col("item") != "i0"))
    assert again.orders().height == plan.orders().height - 1


def test_files_hold_no_sample_paths(tmp_path: Path) -> None:
    """84 days of 6 series are 504 numbers; 400 paths of three days would be 7,200."""
    plan = refilling(lead_time=2, on_hand="left").fit(TABLE)
    assert plan.save(tmp_path / "plan.unmet").stat().st_size < 7_200 * 8 / 3


# --- Other costs.


def test_other_costs_give_what_a_new_plan_would(tmp_path: Path) -> None:
    costs = Newsvendor(underage=5, overage=3)
    words = {"lead_time": 2, "review": 2, "shelf_life": 6, "on_hand": "left"}
    base = refilling(**words, service_level=0.8).fit(TABLE)
    direct = refilling(**words, cost=costs).fit(TABLE)
    for plan in (base, loaded(base, tmp_path)):
        found = plan.at(cost=costs)
        assert found.orders().equals(direct.orders())
        assert found.projection().equals(direct.projection())
        assert found.notes_ == direct.notes_
    assert base.orders().equals(refilling(**words, service_level=0.8).fit(TABLE).orders())
