"""The log in a fit: flags of logged days, what overriding was worth, and looking on purpose."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

import unmet
from unmet.errors import InvalidInput
from unmet.planning import DecisionLog, OrderPlan, ReplenishmentPlan, order_report_data
from unmet.planning.explored_orders import last_flags, like_these_orders, look_over
from unmet.planning.panel import Panel
from unmet.report import render

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


TABLE = sold()
LAST = FIRST + datetime.timedelta(N_DAYS - 1)


@pytest.fixture(scope="module")
def log() -> DecisionLog:
    log = DecisionLog(["item"]).suggested(TABLE)
    day = TABLE.filter((pl.col("date") == LAST) & (pl.col("item") == "i05"))
    return log.changed(day.with_columns(order=pl.lit(34)))


@pytest.fixture(scope="module")
def plan(log: DecisionLog) -> OrderPlan:
    words = {"underage": 3, "overage": 1, "horizon": 3, "model": "linear", "look": 0.05}
    return OrderPlan(**words).fit(TABLE.drop("order"), log=log)


def test_logged_days_are_known(plan: OrderPlan) -> None:
    """A day sold out if all that the log says was there was sold."""
    assert plan.panel_.hidden is not None
    stock = TABLE["order"].to_numpy().reshape(N_SERIES, N_DAYS).astype(float)
    stock[5, -1] = 34
    np.testing.assert_array_equal(plan.panel_.hidden, plan.panel_.observed >= stock)
    assert "The log says of 672 days what was there to sell." in plan.notes_
    assert plan.demand_ is not None
    assert plan.demand_[0].mean() > plan.panel_.observed[0].mean() + 1


def test_overriding_is_priced(plan: OrderPlan) -> None:
    """Ten units too many instead of none or a few: one order, evaluated by hand."""
    assert plan.overrides_ is not None
    truth = TABLE.filter((pl.col("date") == LAST) & (pl.col("item") == "i05"))["sales"][0]
    assert truth < 24
    assert plan.overrides_.known == 1
    assert plan.overrides_.cost == pytest.approx(10.0)
    page = render(order_report_data(plan))
    assert "changing it has cost 10 against what was suggested" in page


@pytest.fixture(scope="module")
def looking() -> OrderPlan:
    """Two items have asked for three times as much of late; weekdays before follow slowly."""
    demand = np.random.default_rng(0).poisson(20, (N_SERIES, N_DAYS))
    demand[:2, -14:] = 60
    table = TABLE.drop("order").with_columns(
        sales=pl.Series(np.minimum(demand, 30).ravel()), stock=pl.lit(30)
    )
    words = {"underage": 3, "overage": 1, "horizon": 3, "model": "seasonal", "look": 0.05}
    return OrderPlan(**words).fit(table)


def test_looking_is_in_the_order_and_within_its_share(looking: OrderPlan) -> None:
    order_table = looking.orders()
    looked = order_table.filter(pl.col("looking") > 0)
    first = looked.filter(pl.col("item").is_in(["i00", "i01"]))["looking"].sum()
    assert first > 0.8 * looked["looking"].sum() > 0
    total = order_table["order"].sum() - order_table["looking"].sum()
    assert order_table["looking"].sum() <= 0.05 * total
    parts = (
        order_table["usual_sales"]
        + order_table["hidden_demand"]
        + order_table["safety"]
        + order_table["looking"]
    )
    np.testing.assert_allclose(parts, order_table["order"], atol=0.01)
    assert any("in order to see more: these series surely" in note for note in looking.notes_)
    assert looking.explain().columns[-2:] == ["looking", "order"]


def test_orders_that_have_learned_from_the_log_are_not_looked_at(plan: OrderPlan) -> None:
    """Twelve were there and sold on nearly all days; the plan orders 20 by now, of 20 expected."""
    order_table = plan.orders()
    assert plan.panel_.hidden is not None
    assert plan.panel_.hidden[0].mean() > 0.9
    assert order_table.filter(pl.col("item") == "i00")["order"].min() >= 18
    assert order_table["looking"].sum() == 0
    assert any("No units are added in order to see more" in note for note in plan.notes_)


def test_looking_without_flags_says_so() -> None:
    fitted = OrderPlan(horizon=2, model="seasonal", look=0.05).fit(TABLE.drop("order"))
    assert fitted.orders()["looking"].sum() == 0
    assert any("Nothing tells which days sold out, so that nothing" in x for x in fitted.notes_)


def test_only_the_last_flags_count() -> None:
    hidden = np.zeros((2, 60))
    hidden[1, ::2] = np.nan
    kept = last_flags(Panel(np.ones((2, 60)), hidden, FIRST))
    assert (~np.isnan(kept)).sum(axis=1).tolist() == [28, 28]
    assert not np.isnan(kept[0, -28:]).any()


def test_a_day_on_which_nothing_was_there_to_sell_tells_nothing() -> None:
    """Sundays: none there, none sold, which is no sign of orders that are too small."""
    observed = np.tile([5.0, 5, 5, 5, 5, 5, 0], (1, 4))
    kept = last_flags(Panel(observed, (observed == 0).astype(float), FIRST))
    assert np.isnan(kept[0, 6::7]).all()
    assert (kept[0, observed[0] > 0] == 0).all()


def test_days_are_asked_what_this_order_would_have_done() -> None:
    """As often as the distribution of demand says, though nearly half of the days are cut."""
    generator = np.random.default_rng(3)
    weekday = np.where(np.arange(56) % 7 < 5, 1.0, 3.0)  # the rule orders three times as much
    demand = generator.normal(20, 5, (200, 56)) * weekday
    stock = 20.5 * weekday * generator.uniform(0.8, 1.2, demand.shape)
    sales, flags = np.minimum(demand, stock), (demand >= stock).astype(float)
    assert flags.mean() > 0.4
    for order in (18.0, 22.0, 26.0):
        before = np.tile(order * weekday, (200, 1))
        chance, spread = like_these_orders(sales, flags, before, np.full(200, order), 0.9)
        assert chance.mean() == pytest.approx(stats.norm(20, 5).sf(order), abs=0.03)
        assert spread.mean() == pytest.approx(5.0, rel=0.1)


def test_where_all_days_sold_out_demand_is_beyond_them_but_not_endless() -> None:
    sales = np.vstack([np.full((1, 40), 12.0), np.tile([8.0, 10, 12, 14], (3, 10))])
    flags = np.vstack([np.ones((1, 40)), np.zeros((3, 40))])
    before = np.full((4, 40), 13.0)
    chance, spread = like_these_orders(sales, flags, before, np.full(4, 13.0), 0.9)
    assert 0.5 < chance[0].mean() < 1.0
    assert spread[0] < 13
    none, unknown = like_these_orders(sales[:1], flags[:1], before[:1], np.full(1, 13.0), 0.9)
    assert np.isnan(unknown).all()  # nothing was ever left
    assert not none.any()


def test_share_is_never_exceeded() -> None:
    generator = np.random.default_rng(1)
    panel = Panel(np.full((30, 40), 6.0), np.ones((30, 40)), FIRST)
    before = np.full((30, 20), 5.0)
    series, day = np.repeat(np.arange(30), 5), np.tile(np.arange(40, 45), 30)
    for seed in range(20):
        order = generator.poisson(6, 150).astype(float)
        words = {"share": 0.02, "lot": 1.0, "seed": seed}
        extra = look_over(order, panel, before, series, day, 0.9, **words)
        assert 0 < extra.sum() <= 0.02 * order.sum()


def test_log_of_other_series_is_refused() -> None:
    with pytest.raises(InvalidInput, match="log must be of series told apart by item, got one of"):
        OrderPlan(model="seasonal").fit(TABLE.drop("order"), log=DecisionLog(["store"]))


@pytest.mark.parametrize("kind", [OrderPlan, ReplenishmentPlan])
def test_columns_called_like_those_of_the_sheet_are_refused(kind: type) -> None:
    table = TABLE.drop("order").rename({"item": "order"})
    with pytest.raises(InvalidInput, match=r"must be called otherwise .* got 'order': rename it"):
        kind(series=["order"]).fit(table)


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
    plan = ReplenishmentPlan(
        lead_time=1, review=2, holding=1, shortage=5, on_hand="left", n_paths=50, look=0.2
    ).fit(lasting, log=log)
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
    order_table = plan.orders()
    # nearly all for the two that sell out every day; of the others one in six days is right
    always = order_table.filter(pl.col("item").is_in(["i00", "i01"]))["looking"]
    assert (always > 0).all()
    assert always.sum() >= 0.9 * order_table["looking"].sum()
    assert (order_table["order"] >= order_table["looking"]).all()
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


def on_its_way(plan: ReplenishmentPlan) -> dict[str, list[float]]:
    """What arrives on the coming days, of items that get anything."""
    assert plan.panel_.keys is not None
    coming = dict(zip(plan.panel_.keys["item"], plan.state_.arrivals(4).tolist(), strict=True))
    return {item: units for item, units in coming.items() if any(units)}


def test_logged_orders_that_have_not_arrived_are_on_their_way(lasting: pl.DataFrame) -> None:
    words = {"lead_time": 3, "on_hand": "left", "n_paths": 50}
    plan = ReplenishmentPlan(**words).fit(lasting, log=logged())
    assert on_its_way(plan) == {"i04": [20, 0, 0, 0], "i05": [0, 30, 0, 0], "i07": [0, 0, 40, 0]}
    assert "3 orders of the log, 90 units, are taken as on their way." in plan.notes_
    same = ReplenishmentPlan(**words).fit(
        lasting, on_order=logged().table.select("item", "date", order="suggested")
    )
    assert plan.orders().equals(same.orders())
    # what was delivered wins over what was decided, and that over what was suggested
    log = logged(order=[21, 31, None], delivered=[None, 5, None])
    plan = ReplenishmentPlan(**words).fit(lasting, log=log)
    assert on_its_way(plan) == {"i04": [21, 0, 0, 0], "i05": [0, 5, 0, 0], "i07": [0, 0, 40, 0]}


def test_nothing_on_its_way_is_counted_twice(lasting: pl.DataFrame) -> None:
    told = pl.DataFrame(
        {"item": ["i04", "i07"], "arrives": [LAST + datetime.timedelta(1)] * 2, "units": [7, 0]}
    )
    plan = ReplenishmentPlan(lead_time=3, on_hand="left", n_paths=50)
    plan.fit(lasting, on_order=told, log=logged())
    assert on_its_way(plan) == {"i04": [7, 0, 0, 0], "i05": [0, 30, 0, 0]}
    assert (
        "1 order of the log, 30 units, is taken as on its way; of 2 more the table of what is "
        "on its way speaks instead." in plan.notes_
    )


def test_planning_again_on_the_same_day_gives_the_same_orders(lasting: pl.DataFrame) -> None:
    words = {"lead_time": 2, "on_hand": "left", "n_paths": 50}
    first = ReplenishmentPlan(**words).fit(lasting, log=logged())
    log = logged().suggested(first.orders(), date="arrives")
    assert ReplenishmentPlan(**words).fit(lasting, log=log).orders().equals(first.orders())
    # a day later the order of today is on its way
    later = pl.concat(
        [
            lasting,
            lasting.filter(pl.col("date") == LAST).with_columns(pl.col("date").dt.offset_by("1d")),
        ]
    )
    found = on_its_way(ReplenishmentPlan(**words).fit(later, log=log))
    for item, units in first.orders().select("item", "order").iter_rows():
        assert found.get(item, [0, 0])[1] == units


def test_several_arrivals_of_one_week_add_up() -> None:
    weeks = [FIRST + datetime.timedelta(weeks=week) for week in range(30)]
    table = pl.DataFrame({"date": weeks, "sales": [5, 6, 7] * 10, "left": [3] * 30})
    days = [weeks[-1] + datetime.timedelta(days=each) for each in (3, 7, 9)]
    log = DecisionLog([]).suggested(pl.DataFrame({"date": days, "order": [90, 2, 4]}))
    plan = ReplenishmentPlan(lead_time=2, on_hand="left", n_paths=50).fit(table, log=log)
    assert plan.state_.arrivals(3).tolist() == [[6, 0, 0]]


def test_without_a_shelf_overrides_are_not_priced(lasting: pl.DataFrame) -> None:
    order_table = pl.DataFrame({"item": ["i04"], "date": [LAST], "order": [20]})
    log = DecisionLog(["item"]).suggested(order_table)
    log = log.changed(order_table.with_columns(order=pl.Series([25])))
    found = ReplenishmentPlan(n_paths=50).fit(lasting.drop("left"), log=log).overrides_
    assert found is not None
    assert "1 order was changed; what that was worth is not known yet." in str(found)


def test_a_saved_plan_keeps_what_was_added(looking: OrderPlan, tmp_path: Path) -> None:
    loaded = unmet.load(looking.save(tmp_path / "plan.unmet"))
    assert loaded.orders().equals(looking.orders())
    assert loaded.look == 0.05
    assert "in order to see more" in render(order_report_data(loaded))
