"""The shop: closed forms, a loop without arrays, and what policies may and may not see."""

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson

from benchmarks.policies import BaseStock, MeanPlusSafety, Oracle, SalesQuantile, Tobit
from benchmarks.shop_demand import shop_demand
from unmet.errors import InvalidInput
from unmet.inventory import StockState, SupplyRules
from unmet.simulate import run_shop


class Watcher:
    """Orders the same every time, and keeps what it was shown."""

    def __init__(self, order=0.0, oracle=False):
        self.amount, self.oracle = order, oracle
        self.learned, self.asked, self.states = [], [], []

    def learn(self, seen):
        self.learned.append(seen)

    def order(self, seen, state):
        self.asked.append(seen)
        self.states.append(state)
        return np.full(state.n_series, self.amount)


# --- closed forms ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("lead", "level"), [(0, 7), (2, 19), (4, 28)])
def test_base_stock_with_backorders_costs_what_the_textbook_says(lead, level):
    demand = np.random.default_rng(lead).poisson(5.0, size=(200, 330))
    rules = SupplyRules(lead, holding=1.0, shortage=6.0, unmet="backordered")
    start = StockState(np.full(200, float(level)))
    run = run_shop(demand, {"base": BaseStock(level)}, rules, n_before=0, state=start)
    count = np.arange(200)
    chance = poisson.pmf(count, 5.0 * (lead + 1))
    expected = np.maximum(level - count, 0) @ chance + 6.0 * (np.maximum(count - level, 0) @ chance)
    assert run["base"].cost[:, 30:].mean() == pytest.approx(expected, rel=0.02)


def test_a_shelf_life_of_one_is_the_newsvendor():
    demand = np.random.default_rng(0).gamma(4.0, 5.0, size=(3, 200))
    rules = SupplyRules(shelf_life=1, shortage=4.0, waste=1.5)
    kept = run_shop(demand, {"base": BaseStock(23.0)}, rules, n_before=0)["base"]
    np.testing.assert_allclose(
        kept.cost, 4.0 * np.maximum(demand - 23.0, 0) + 1.5 * np.maximum(23.0 - demand, 0)
    )
    np.testing.assert_array_equal(kept.sold_out, demand >= 23.0)
    assert (kept.orders == 23.0).all()
    assert (kept.left == 0).all()


@given(
    seed=st.integers(0, 10**6),
    lead=st.integers(0, 3),
    review=st.integers(1, 3),
    life=st.sampled_from([None, 1, 3]),
    waits=st.booleans(),
)
def test_units_neither_appear_nor_vanish_and_cost_is_the_sum_of_its_parts(
    seed, lead, review, life, waits
):
    demand, _ = shop_demand("negative binomial", 3, 60, seed=seed)
    rules = SupplyRules(
        lead,
        review,
        shelf_life=life,
        fixed=3.0,
        waste=2.0,
        unmet="backordered" if waits else "lost",
    )
    policies = {"mean": MeanPlusSafety(rules), "base": BaseStock(60.0)}
    run = run_shop(demand, policies, rules, n_before=20, state=StockState([9.0, 0.0, 2.0]))
    for kept in run.policies.values():
        if not waits:
            paid = kept.left + 9.0 * kept.lost + 2.0 * kept.spoiled + 3.0 * (kept.orders > 0)
            np.testing.assert_allclose(kept.cost, paid)
        np.testing.assert_allclose(kept.sales + kept.lost, run.demand)
        arrived = np.zeros_like(kept.orders)
        arrived[:, lead:] = kept.orders[:, : 40 - lead]
        arrived[:, 0] += [9.0, 0.0, 2.0]
        if not waits:
            gone = kept.sales.sum(axis=1) + kept.spoiled.sum(axis=1) + kept.left[:, -1]
            np.testing.assert_allclose(arrived.sum(axis=1), gone)
        placed = np.flatnonzero(kept.orders.any(axis=0))
        assert (placed % review == 0).all()
        assert (kept.orders >= 0).all()


def test_policies_run_together_are_as_if_alone_and_series_too():
    demand, features = shop_demand("poisson+promotion", 4, 150, seed=5)
    rules = SupplyRules([0, 1, 2, 3], [1, 2, 1, 3], shelf_life=[2, 3, 4, 9], shortage=5.0)

    def some(rules):
        return {"sales": SalesQuantile(rules), "tobit": Tobit(rules), "oracle": Oracle(rules)}

    together = run_shop(demand, some(rules), rules, n_before=50, features=features)
    for name, policy in some(rules).items():
        alone = run_shop(demand, {name: policy}, rules, n_before=50)
        np.testing.assert_array_equal(alone[name].cost, together[name].cost)
    own = SupplyRules(2, 1, shelf_life=4, shortage=5.0)
    single = run_shop(demand[2:3], some(own), own, n_before=50)
    for name in single.policies:
        np.testing.assert_allclose(single[name].cost[0], together[name].cost[2])


# --- what is seen ---------------------------------------------------------------------------------


def test_a_policy_sees_the_history_and_its_own_sales_and_nothing_else():
    demand = np.array([[4.0, 9.0, 5.0, 3.0, 8.0]])
    watcher, knows = Watcher(4.0), Watcher(6.0, oracle=True)
    stock = np.array([[5.0, 6.0]])
    rules = SupplyRules(shelf_life=1)
    run_shop(
        demand, {"a": watcher, "b": knows}, rules, n_before=2, history_stock=stock, learn_every=2
    )
    last = watcher.asked[-1]
    np.testing.assert_array_equal(last.sales, [[4.0, 6.0, 4.0, 3.0]])
    np.testing.assert_array_equal(last.stock, [[np.nan, np.nan, 4.0, 4.0]])
    np.testing.assert_array_equal(last.sold_out, [[np.nan, np.nan, 1.0, 0.0]])
    assert last.demand is None
    np.testing.assert_array_equal(knows.asked[-1].demand, demand[:, :4])
    np.testing.assert_array_equal(knows.asked[-1].sales, [[4.0, 6.0, 5.0, 3.0]])
    assert [seen.n_periods for seen in watcher.learned] == [2, 4]
    assert [seen.n_periods for seen in watcher.asked] == [2, 3, 4]
    assert len({seen.seed for seen in watcher.asked}) == 3
    assert [seen.seed for seen in watcher.asked] == [seen.seed for seen in knows.asked]
    with pytest.raises(ValueError, match="read-only"):
        last.sales[0, 0] = 1.0


def test_where_demand_waits_it_is_booked_and_nothing_is_hidden():
    watcher = Watcher(2.0)
    rules = SupplyRules(unmet="backordered")
    kept = run_shop([[5.0, 1.0, 4.0]], {"a": watcher}, rules, n_before=0)["a"]
    np.testing.assert_array_equal(watcher.asked[-1].sales, [[5.0, 1.0]])
    np.testing.assert_array_equal(watcher.asked[-1].sold_out, [[0.0, 0.0]])
    np.testing.assert_array_equal(kept.lost, [[3.0, 1.0, 4.0]])
    np.testing.assert_array_equal(kept.cost, [[27.0, 18.0, 36.0]])


def test_orders_arrive_after_their_lead_time_and_are_on_their_way_until_then():
    watcher = Watcher(3.0)
    kept = run_shop(np.zeros((1, 5)), {"a": watcher}, SupplyRules(2), n_before=1)["a"]
    np.testing.assert_array_equal(kept.stock, [[0.0, 0.0, 3.0, 6.0]])
    assert [float(state.position[0]) for state in watcher.states] == [0.0, 3.0, 6.0, 9.0]
    np.testing.assert_array_equal(watcher.states[2].on_order[0, :2], [3.0, 3.0])


def test_a_shop_does_not_begin_with_nothing_on_its_way():
    demand = np.full((2, 8), [[4.0], [7.0]])
    watcher = Watcher()
    run_shop(demand, {"a": watcher}, SupplyRules([1, 3]), n_before=4)
    np.testing.assert_array_equal(watcher.states[0].arrivals(3), [[4, 0, 0], [7, 7, 7]])
    given_state = Watcher()
    state = StockState([1.0, 2.0], [[0, 0, 0, 0, 9.0], [0, 0, 0, 0, 0]])
    run_shop(demand, {"a": given_state}, SupplyRules([1, 3]), n_before=4, state=state)
    assert given_state.states[0].position.tolist() == [10.0, 2.0]


def test_what_cannot_be_ordered_is_made_orderable():
    rules = SupplyRules(lot=4.0, minimum=6.0, capacity=11.0, shelf_life=1)
    for wanted, placed in ((0.0, 0.0), (1.0, 8.0), (7.9, 8.0), (30.0, 8.0)):
        kept = run_shop(np.ones((1, 2)), {"a": Watcher(wanted)}, rules, n_before=0)["a"]
        assert (kept.orders == placed).all()


def test_series_that_began_late_have_no_sales_before():
    demand, _ = shop_demand("gamma", 3, 120, seed=2)
    demand[1, :30] = np.nan
    demand[2, :60] = np.nan
    rules = SupplyRules(1, lot=1.0)
    policies = {
        "mean": MeanPlusSafety(rules),
        "sales": SalesQuantile(rules, season=7),
        "tobit": Tobit(rules),
        "oracle": Oracle(rules),
    }
    run = run_shop(demand, policies, rules, n_before=60)
    assert all(np.isfinite(kept.cost).all() for kept in run.policies.values())


# --- tables ---------------------------------------------------------------------------------------


def test_tables_say_what_can_be_counted_by_hand():
    demand = np.array([[9.0, 4.0, 6.0, 6.0, 8.0]])
    rules = SupplyRules(shelf_life=1, shortage=3.0, waste=1.0)
    run = run_shop(
        demand, {"six": BaseStock(6.0)}, rules, n_before=1, first_day=datetime.date(2024, 2, 28)
    )
    row = run.total().row(0, named=True)
    assert row == {
        "policy": "six",
        "cost": 8.0,
        "cost_per_unit": 8 / 24,
        "service_level": 22 / 24,
        "sell_out_rate": 0.75,
        "waste": 2 / 24,
    }
    assert run.total(since=3)["cost"].to_list() == [6.0]
    table = run.over_time(3)
    assert table["cost"].to_list() == [2.0, 6.0]
    assert table["day"].to_list() == [datetime.date(2024, 2, 29), datetime.date(2024, 3, 3)]


# --- bad input ------------------------------------------------------------------------------------


ONE = {"a": BaseStock(1.0)}


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: run_shop([1.0, 2.0], ONE, SupplyRules(), n_before=1),
            "demand must have a row for",
        ),
        (
            lambda: run_shop([[1.0, np.nan]], ONE, SupplyRules(), n_before=1),
            "demand must be finite and 0 or more, and NaN in the history alone.",
        ),
        (lambda: run_shop([[1.0]], {}, SupplyRules(), n_before=0), "policies must be at least one"),
        (
            lambda: run_shop(
                [[1.0, 1.0]], ONE, SupplyRules(), n_before=1, history_stock=[[1.0, 2.0]]
            ),
            "history_stock must be numbers of at least 0 and of shape (1, 1)",
        ),
        (
            lambda: run_shop([[1.0]], ONE, SupplyRules(), n_before=0, step=2),
            "step must be 1 for days or 7 for weeks, got 2.",
        ),
        (
            lambda: run_shop([[1.0]], {"a": Watcher(-2.0)}, SupplyRules(), n_before=0),
            "orders of 'a' must be numbers of at least 0",
        ),
        (
            lambda: run_shop([[1.0]], ONE, SupplyRules(), n_before=0, state=StockState([-1.0])),
            "on_hand must be 0 or more if unmet demand is lost, got -1.",
        ),
    ],
)
def test_bad_input_of_a_shop_gets_one_sentence(call, sentence):
    with pytest.raises(InvalidInput) as caught:
        call()
    assert str(caught.value).startswith(sentence)
