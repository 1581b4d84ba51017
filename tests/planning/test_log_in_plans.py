"""The log in a fit: flags of logged days, and what overriding was worth."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest
from sales_table import refilling as refilling_with

from unmet import Newsvendor
from unmet.errors import InvalidInput
from unmet.inventory import SupplyRules
from unmet.planning import DecisionLog, OrderPlan, Schema
from unmet.report import render, report_data

pytestmark = pytest.mark.usefixtures("few_trees")

FIRST = datetime.date(2024, 1, 1)
N_DAYS, N_SERIES = 56, 12


def sold(n_days: int = N_DAYS) -> pl.DataFrame:
    """Sales cut by orders that are known, with what is left at the end of the day."""
    generator = np.random.default_rng(0)
    demand = generator.poisson(20, (N_SERIES, n_days))
    order = np.full((N_SERIES, n_days), 24)
    order[:2] = 12  # these sell out nearly always
    sales = np.minimum(demand, order)
    return pl.DataFrame(
        {
            "date": [FIRST + datetime.timedelta(int(day)) for day in range(n_days)] * N_SERIES,
            "item": np.repeat([f"i{number:02}" for number in range(N_SERIES)], n_days),
            "sales": sales.ravel(),
            "order": order.ravel(),
        }
    )


def refilling(**words) -> OrderPlan:
    """A plan by the simplest model: nothing here is about models."""
    return refilling_with(**{"model": "seasonal", **words})


TABLE = sold()
LAST = FIRST + datetime.timedelta(N_DAYS - 1)


@pytest.fixture(scope="module")
def log() -> DecisionLog:
    log = DecisionLog(["item"]).suggested(TABLE)
    day = TABLE.filter((pl.col("date") == LAST) & (pl.col("item") == "i05"))
    return log.changed(day.with_columns(order=pl.lit(34)))


@pytest.fixture(scope="module")
def plan(log: DecisionLog) -> OrderPlan:
    words = {"cost": Newsvendor(3, 1), "horizon": 3, "model": "linear"}
    return OrderPlan(**words).fit(TABLE.drop("order"), log=log)


def test_logged_days_are_known(plan: OrderPlan) -> None:
    """A day sold out if all that the log says was there was sold."""
    assert plan.panel_.hidden is not None
    stock = TABLE["order"].to_numpy().reshape(N_SERIES, N_DAYS).astype(float)
    stock[5, -1] = 34
    np.testing.assert_array_equal(plan.panel_.hidden, plan.panel_.observed >= stock)
    assert "Stock of 672 days was read from the log." in plan.notes_
    assert plan.demand_ is not None
    assert plan.demand_[0].mean() > plan.panel_.observed[0].mean() + 1


def test_overriding_is_priced(plan: OrderPlan) -> None:
    """Ten units too many instead of none or a few: one order, evaluated by hand."""
    assert plan.overrides_ is not None
    truth = TABLE.filter((pl.col("date") == LAST) & (pl.col("item") == "i05"))["sales"][0]
    assert truth < 24
    assert plan.overrides_.known == 1
    assert plan.overrides_.cost == pytest.approx(10.0)
    page = render(report_data(plan))
    assert "cost 10 more than the suggested orders" in page


def test_orders_learn_from_the_log(plan: OrderPlan) -> None:
    """Twelve were there and sold on nearly all days; the plan orders 20 by now, of 20 expected."""
    order_table = plan.orders()
    assert plan.panel_.hidden is not None
    assert plan.panel_.hidden[0].mean() > 0.9
    assert order_table.filter(pl.col("item") == "i00")["order"].min() >= 18


def test_log_of_other_series_is_refused() -> None:
    with pytest.raises(InvalidInput, match="log must be of series told apart by item, got one of"):
        OrderPlan(model="seasonal").fit(TABLE.drop("order"), log=DecisionLog(["store"]))


@pytest.mark.parametrize("supply", [None, SupplyRules()])
def test_columns_called_like_those_of_the_sheet_are_refused(supply) -> None:
    table = TABLE.drop("order").rename({"item": "order"})
    with pytest.raises(
        InvalidInput, match=r"must not have a name of a column of orders, got 'order': rename it"
    ):
        OrderPlan(supply=supply, schema=Schema(series=["order"])).fit(table)


# --- Replenishment.


@pytest.fixture(scope="module")
def lasting() -> pl.DataFrame:
    return TABLE.with_columns(left=pl.col("order") - pl.col("sales")).drop("order")


def test_overrides_of_lasting_stock_are_priced_until_the_next_arrival(
    lasting: pl.DataFrame,
) -> None:
    """Two days with what was left before them, evaluated by a loop."""
    arrives = LAST - datetime.timedelta(6)
    order_table = pl.DataFrame(
        {"item": ["i04", "i07"], "arrives": [arrives] * 2, "order": [20, 20]}
    )
    log = DecisionLog(["item"]).suggested(order_table, "arrives")
    log = log.changed(order_table.with_columns(order=pl.Series([20, 45])), "arrives")
    words = {"lead_time": 1, "review": 2, "holding": 1, "shortage": 5, "on_hand": "left"}
    plan = refilling(**words).fit(lasting, log=log)
    found = plan.overrides_
    assert found is not None
    assert (found.count, found.known) == (1, 1)
    own = lasting.filter(pl.col("item") == "i07").sort("date")
    place = own["date"].to_list().index(arrives)
    before = own["left"][place - 1]
    demand = plan.demand_[7, place : place + 2]

    def cost(order: float) -> float:
        stock, total = before + order, 0.0
        for asked in demand:
            total += 5 * max(asked - stock, 0) + max(stock - asked, 0)
            stock = max(stock - asked, 0)
        return total

    assert found.cost == pytest.approx(cost(45) - cost(20))
    # what the log says was delivered does not tell which periods sold out
    assert plan.panel_.hidden is not None
    assert float(np.nanmean(plan.panel_.hidden)) == pytest.approx((lasting["left"] == 0).mean())


def logged(**units: list[float | None]) -> DecisionLog:
    """Orders of three items that arrive one, two and three days after the last row."""
    keys = {
        "item": ["i04", "i05", "i07"],
        "date": [LAST + datetime.timedelta(each) for each in (1, 2, 3)],
    }
    log = DecisionLog(["item"]).suggested(pl.DataFrame({**keys, "order": [20, 30, 40]}))
    return log.changed(pl.DataFrame({**keys, **units})) if units else log


def on_its_way(plan: OrderPlan) -> dict[str, list[float]]:
    """What arrives on the coming days, of items that get anything."""
    assert plan.panel_.keys is not None
    coming = dict(zip(plan.panel_.keys["item"], plan.state_.arrivals(4).tolist(), strict=True))
    return {item: units for item, units in coming.items() if any(units)}


def test_logged_orders_that_have_not_arrived_are_on_their_way(lasting: pl.DataFrame) -> None:
    words = {"lead_time": 3, "on_hand": "left"}
    plan = refilling(**words).fit(lasting, log=logged())
    assert on_its_way(plan) == {"i04": [20, 0, 0, 0], "i05": [0, 30, 0, 0], "i07": [0, 0, 40, 0]}
    assert "Open orders: 3 orders of the log with 90 units." in plan.notes_
    same = refilling(**words).fit(
        lasting, on_order=logged().table.select("item", "date", order="suggested")
    )
    assert plan.orders().equals(same.orders())
    # what was delivered wins over what was decided, and that over what was suggested
    log = logged(order=[21, 31, None], delivered=[None, 5, None])
    plan = refilling(**words).fit(lasting, log=log)
    assert on_its_way(plan) == {"i04": [21, 0, 0, 0], "i05": [0, 5, 0, 0], "i07": [0, 0, 40, 0]}


def test_nothing_on_its_way_is_counted_twice(lasting: pl.DataFrame) -> None:
    told = pl.DataFrame(
        {"item": ["i04", "i07"], "arrives": [LAST + datetime.timedelta(1)] * 2, "units": [7, 0]}
    )
    plan = refilling(lead_time=3, on_hand="left")
    plan.fit(lasting, on_order=told, log=logged())
    assert on_its_way(plan) == {"i04": [7, 0, 0, 0], "i05": [0, 30, 0, 0]}
    assert (
        "Open orders: 1 order of the log with 30 units. For 2 more, the table of open orders was "
        "used (on_order=)."
    )


def test_planning_again_on_the_same_day_gives_the_same_orders(lasting: pl.DataFrame) -> None:
    words = {"lead_time": 2, "on_hand": "left"}
    first = refilling(**words).fit(lasting, log=logged())
    log = logged().suggested(first.orders(), date="arrives")
    assert refilling(**words).fit(lasting, log=log).orders().equals(first.orders())
    # a day later the order of today is on its way
    later = pl.concat(
        [
            lasting,
            lasting.filter(pl.col("date") == LAST).with_columns(pl.col("date").dt.offset_by("1d")),
        ]
    )
    found = on_its_way(refilling(**words).fit(later, log=log))
    for item, units in first.orders().select("item", "order").iter_rows():
        assert found.get(item, [0, 0])[1] == units


def test_several_arrivals_of_one_week_add_up() -> None:
    weeks = [FIRST + datetime.timedelta(weeks=week) for week in range(30)]
    table = pl.DataFrame({"date": weeks, "sales": [5, 6, 7] * 10, "left": [3] * 30})
    days = [weeks[-1] + datetime.timedelta(days=each) for each in (3, 7, 9)]
    log = DecisionLog([]).suggested(pl.DataFrame({"date": days, "order": [90, 2, 4]}))
    plan = refilling(lead_time=2, on_hand="left").fit(table, log=log)
    assert plan.state_.arrivals(3).tolist() == [[6, 0, 0]]


def test_without_a_shelf_overrides_are_not_priced(lasting: pl.DataFrame) -> None:
    order_table = pl.DataFrame({"item": ["i04"], "date": [LAST], "order": [20]})
    log = DecisionLog(["item"]).suggested(order_table)
    log = log.changed(order_table.with_columns(order=pl.Series([25])))
    found = refilling().fit(lasting.drop("left"), log=log).overrides_
    assert found is not None
    assert "Changed orders: 1. Their effect on cost is not known yet." in str(found)
