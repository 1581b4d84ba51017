"""Levels: closed forms, brute force over levels, and where none is good."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import poisson

from unmet.errors import InvalidInput
from unmet.inventory import StockState, SupplyRules, order_up_to, replenish


def textbook(level, mean, holding, shortage):
    """Mean cost of a period under a base-stock level with backorders, of Poisson demand."""
    count = np.arange(level + 200)
    chance = poisson.pmf(count, mean)
    left = np.maximum(level - count, 0) @ chance
    return holding * left + shortage * (np.maximum(count - level, 0) @ chance)


@pytest.mark.parametrize("lead", [0, 1, 4])
@pytest.mark.parametrize("shortage", [2.0, 9.0, 19.0])
def test_backorders_of_poisson_demand_have_the_cheapest_level(lead, shortage):
    paths = np.random.default_rng(lead).poisson(5.0, size=(1, 30_000, lead + 1))
    rules = SupplyRules(lead, holding=1.0, shortage=shortage, unmet="backordered")
    found = order_up_to(paths, rules)
    costs = [textbook(level, 5.0 * (lead + 1), 1.0, shortage) for level in range(60)]
    assert costs[int(found.order_up_to[0])] <= min(costs) * 1.002
    assert found.reorder_point == found.order_up_to - 1
    assert found.orders([found.order_up_to[0] - 3]) == [3.0]


def by_search(paths, rules, lead, levels):
    """Mean cost of each level, lost sales, in plain arithmetic on periods drawn again."""
    generator = np.random.default_rng(99)
    demand = generator.choice(paths.ravel(), size=(400, 300))
    stock = np.repeat(np.asarray(levels, dtype=float)[:, None], 400, axis=1)
    coming, total = [np.zeros_like(stock) for _ in range(lead)], np.zeros(len(levels))
    for period in range(300):
        coming.append(np.asarray(levels)[:, None] - stock - sum(coming))
        stock = stock + coming.pop(0)
        short = np.maximum(demand[:, period] - stock, 0)
        stock = np.maximum(stock - demand[:, period], 0)
        if period >= 30:
            total += (float(rules.holding) * stock + float(rules.shortage) * short).mean(axis=1)
    return total / 270


@pytest.mark.parametrize(("lead", "shortage"), [(1, 4.0), (3, 9.0)])
def test_lost_sales_have_a_level_that_a_search_does_not_better(lead, shortage):
    paths = np.random.default_rng(7).poisson(4.0, size=(1, 3000, lead + 1)).astype(float)
    lost = SupplyRules(lead, shortage=shortage)
    found = order_up_to(paths, lost).order_up_to[0]
    levels = np.arange(1, 40)
    costs = by_search(paths, lost, lead, levels)
    assert costs[levels == found][0] <= costs.min() * 1.02
    waits = order_up_to(paths, SupplyRules(lead, shortage=shortage, unmet="backordered"))
    assert found <= waits.order_up_to[0]


# optimal (s, S) and cost of a period with backorders, from stockpyl's s_s_discrete_exact
STOCKPYL = [
    (1.0, 10.0, 0, 5, 4.924),
    (1.0, 200.0, -2, 19, 19.167),
    (5.0, 50.0, 2, 24, 22.083),
    (30.0, 50.0, 24, 66, 50.765),
]


@pytest.mark.parametrize(("mean", "fixed", "low", "top", "cost"), STOCKPYL)
def test_a_fixed_cost_has_the_two_levels_of_stockpyl(mean, fixed, low, top, cost):
    paths = np.random.default_rng(1).poisson(mean, size=(1, 4000, 20))
    rules = SupplyRules(holding=1.0, shortage=9.0, unmet="backordered", fixed=fixed)
    found = order_up_to(paths, rules)
    assert abs(found.reorder_point[0] - low) <= 1
    assert abs(found.order_up_to[0] - top) <= 2
    demand = np.random.default_rng(2).poisson(mean, size=(800, 400))
    assert two_levels(demand, found, 9.0, fixed) == pytest.approx(cost, rel=0.02)


def two_levels(demand, levels, shortage, fixed):
    stock, total = np.full(len(demand), levels.order_up_to[0]), 0.0
    for period in range(demand.shape[1]):
        order = levels.orders(stock)
        stock = stock + order - demand[:, period]
        paid = np.maximum(stock, 0) + shortage * np.maximum(-stock, 0) + fixed * (order > 0)
        total += paid.mean() * (period >= 50)
    return total / (demand.shape[1] - 50)


@settings(max_examples=10)
@given(
    seed=st.integers(0, 10**6),
    fixed=st.sampled_from([0.0, 30.0]),
    scale=st.sampled_from([0.5, 64.0]),
)
def test_units_of_levels_do_not_matter(seed, fixed, scale):
    paths = np.random.default_rng(seed).gamma(3.0, 2.0, size=(2, 60, 6))
    kinds: dict = {"shortage": 6.0, "unmet": "backordered"}
    here = order_up_to(paths, SupplyRules(1, fixed=fixed, **kinds))
    there = order_up_to(scale * paths, SupplyRules(1, fixed=scale * fixed, **kinds))
    # the grid of pairs has a margin of one unit at both ends, whatever the unit
    room = 0.0 if fixed == 0 else 3.0 * scale
    np.testing.assert_allclose(there.order_up_to, scale * here.order_up_to, rtol=1e-9, atol=room)
    np.testing.assert_allclose(there.reorder_point, scale * here.reorder_point, atol=room + 1e-9)


def test_with_backorders_levels_order_what_replenish_orders():
    paths = np.random.default_rng(6).poisson(3.0, size=(3, 500, 3)).astype(float)
    rules = SupplyRules(2, shortage=7.0, unmet="backordered")
    state = StockState([4.0, -2.0, 0.0], [[1.0, 0.0], [3.0, 3.0], [9.0, 9.0]])
    np.testing.assert_array_equal(
        order_up_to(paths, rules).orders(state.position), replenish(paths, rules, state).order
    )


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        (SupplyRules(shelf_life=3), "shelf_life must be None for order-up-to levels"),
        (SupplyRules(4), "paths must reach 5 periods ahead, until the next order arrives, got 3."),
    ],
)
def test_what_has_no_level_is_refused(rules, sentence):
    with pytest.raises(InvalidInput) as caught:
        order_up_to(np.ones((1, 2, 3)), rules)
    assert str(caught.value).startswith(sentence)
