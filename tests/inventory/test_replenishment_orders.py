"""Orders: closed forms, brute force over quantities, and what no order may do."""

from itertools import product

import numpy as np
import pytest
from by_hand import cost_of, follow
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson

from unmet.errors import InvalidInput
from unmet.inventory import StockState, SupplyRules, project, replenish
from unmet.inventory.orders import CARRIED

SHOPS = [
    {"unmet": "lost"},
    {"unmet": "backordered"},
    {"unmet": "lost", "shelf_life": 2, "waste": 3.0},
    {"unmet": "lost", "shelf_life": 4, "waste": 1.0},
    {"unmet": "backordered", "shelf_life": 3, "waste": 2.0},
]


def some_shop(seed, n_series=2, n_paths=30, n_periods=7):
    generator = np.random.default_rng(seed)
    paths = generator.poisson(
        generator.uniform(0.5, 6.0, (n_series, 1, 1)), size=(n_series, n_paths, n_periods)
    )
    state = StockState(generator.integers(0, 8, n_series), generator.integers(0, 6, (n_series, 3)))
    return paths.astype(float), state


def test_a_shelf_life_of_one_is_the_newsvendor():
    paths = np.random.default_rng(0).gamma(4.0, 5.0, size=(3, 4001, 1))
    rules = SupplyRules(shelf_life=1, shortage=4.0, waste=1.0, holding=7.0)
    best = np.quantile(paths[:, :, 0], 0.8, axis=1, method="inverted_cdf")
    np.testing.assert_allclose(replenish(paths, rules).order, best)


def test_backorders_of_poisson_demand_have_the_level_of_the_textbook():
    paths = np.random.default_rng(1).poisson(6.0, size=(1, 40_000, 4))
    rules = SupplyRules(3, holding=1.0, shortage=5.0, unmet="backordered")
    level = poisson.ppf(5 / 6, 24.0)
    for on_hand, on_order in ((0.0, [0, 0, 0]), (7.0, [3, 0, 4]), (-5.0, [2, 2, 2])):
        state = StockState([on_hand], [on_order])
        assert replenish(paths, rules, state).order == [max(level - state.position[0], 0.0)]


@pytest.mark.parametrize("shop", SHOPS, ids=lambda shop: " ".join(map(str, shop.values())))
@pytest.mark.parametrize(("lead", "review"), list(product((0, 1, 3), (1, 2, 3))))
def test_no_quantity_costs_less_until_the_next_order_arrives(shop, lead, review):
    life = shop.get("shelf_life")
    rules = SupplyRules(lead, review, holding=1.0, shortage=4.5, **shop)
    # what spoils later than the next order arrives is of this order as well: look as far as that
    reach = lead + max(review, life or 0)
    paths, state = some_shop(100 * lead + review, n_series=1, n_paths=25, n_periods=reach)
    state = StockState(state.on_hand, state.on_order[:, :lead])  # nothing overtakes
    order = replenish(paths, rules, state).order
    costs = [until_the_next(paths, rules, state, q, lead, review, life) for q in range(60)]
    assert costs[int(order[0])] == pytest.approx(min(costs), rel=1e-9, abs=1e-9)


def until_the_next(paths, rules, state, order, lead, review, life):
    """Expected cost of the periods up to the next arrival, and of what spoils of this order.

    Where sales are lost and leftovers last, those of the last period cost κ h L more.

    No unit is followed further than that: later periods neither hold nor lack anything.
    """
    waits, total = rules.unmet == "backordered", 0.0
    sold_until = lead + min(review, life or review)
    held_until = lead + (review if life is None else min(review, life - 1))
    prices = {"holding": float(rules.holding), "shortage": float(rules.shortage)}
    for path in paths[0]:
        arrivals = state.arrivals(path.size)[0].astype(int)
        arrivals[lead] += order
        periods = follow(int(state.on_hand[0]), arrivals, path.astype(int), life=life, waits=waits)
        for number, (sold, unmet, left, spoiled, owed) in enumerate(periods):
            seen = (
                sold,
                unmet * (lead <= number < sold_until),
                left * (lead <= number < held_until),
                spoiled * (life is not None and number == lead + life - 1),
                owed * (lead <= number < sold_until),
            )
            if not waits and life is None and number == sold_until - 1:
                total += CARRIED * lead * float(rules.holding) * left
            total += cost_of([seen], waste=float(rules.rows("waste", 1)[0]), waits=waits, **prices)
    return total / paths.shape[1]


@given(seed=st.integers(0, 10**6), shop=st.sampled_from(SHOPS), lead=st.integers(0, 3))
def test_more_stock_is_never_a_reason_to_order_more(seed, shop, lead):
    paths, state = some_shop(seed)
    rules = SupplyRules(lead, shortage=4.0, **shop)
    order = replenish(paths, rules, state).order
    assert (order >= 0).all()
    more = replenish(paths, rules, StockState(state.on_hand + 1, state.on_order)).order
    assert (more <= order).all()
    if lead:  # what comes before the order does
        coming = state.on_order.copy()
        coming[:, lead - 1] += 1
        assert (replenish(paths, rules, StockState(state.on_hand, coming)).order <= order).all()


@given(
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([2.0**-30, 0.25, 1024.0, 2.0**40]),
    shop=st.sampled_from(SHOPS),
    fixed=st.sampled_from([0.0, 20.0]),
)
def test_units_do_not_matter(seed, scale, shop, fixed):
    paths, state = some_shop(seed)
    here = replenish(paths, SupplyRules(2, shortage=4.0, fixed=fixed, **shop), state)
    there = replenish(
        scale * paths,
        SupplyRules(2, shortage=4.0, fixed=scale * fixed, **shop),
        StockState(scale * state.on_hand, scale * state.on_order),
    )
    np.testing.assert_allclose(there.order, scale * here.order)
    np.testing.assert_allclose(there.projection.cost, scale * here.projection.cost)


@given(
    seed=st.integers(0, 10**6),
    lot=st.sampled_from([None, 1.0, 4.0, 2.5]),
    minimum=st.sampled_from([0.0, 3.0, 9.0]),
    capacity=st.sampled_from([None, 10.0, 15.0]),
)
def test_lots_minima_and_capacities_are_kept_and_chosen_well(seed, lot, minimum, capacity):
    paths, state = some_shop(seed)
    waits: dict = {"shortage": 4.0, "unmet": "backordered"}
    rules = SupplyRules(1, lot=lot, minimum=minimum, capacity=capacity, **waits)
    order = replenish(paths, rules, state).order
    count = order / (lot or 1.0)
    assert lot is None or np.allclose(count, np.round(count))
    assert ((order == 0) | (order >= minimum)).all()
    assert (order <= (capacity or np.inf)).all()
    # every quantity that can be ordered, and one of them is no cheaper
    grid = np.arange(0.0, 60.0, lot or 1.0)
    grid = grid[((grid == 0) | (grid >= minimum)) & (grid <= (capacity or np.inf))]
    costs = np.array(
        [project(paths[:, :, :2], rules, state, np.full(2, each)).cost for each in grid]
    )
    ours = project(paths[:, :, :2], rules, state, order).cost
    wanted = replenish(paths, SupplyRules(1, **waits), state).order > 0
    assert (ours[wanted] <= costs.min(axis=0)[wanted] + 1e-9).all()


@given(
    seed=st.integers(0, 10**6), share=st.floats(0.05, 1.5), lot=st.sampled_from([None, 1.0, 3.0])
)
def test_a_budget_is_kept_and_spent_where_it_saves_most(seed, share, lot):
    paths, _ = some_shop(seed, n_series=4, n_paths=40)
    use = np.random.default_rng(seed).uniform(1.0, 3.0, 4)
    rules = SupplyRules(1, shortage=4.0, lot=lot)
    free = replenish(paths, rules)
    budget = share * float(use @ free.order)
    found = replenish(paths, rules.replace(budget=budget), use=use)
    assert use @ found.order <= budget * (1 + 1e-9) + 1e-9
    assert (found.order <= free.order + 1e-9).all()
    if share >= 1:
        np.testing.assert_allclose(found.order, free.order)


def test_a_budget_of_two_against_all_ways_to_share_it():
    generator = np.random.default_rng(5)
    paths = np.stack(
        [generator.poisson(4.0, (2000, 1)), generator.poisson(11.0, (2000, 1))]
    ).astype(float)
    rules = SupplyRules(shortage=[8.0, 3.0], lot=1.0)
    found = replenish(paths, rules.replace(budget=12.0))
    state = StockState(np.zeros(2))
    costs = [project(paths, rules, state, np.array([q, 12.0 - q])).cost.sum() for q in range(13)]
    assert found.projection.cost.sum() <= min(costs) * 1.005


def test_series_with_rules_of_their_own_are_as_if_alone():
    paths, _ = some_shop(8, n_series=4, n_periods=9)
    state = StockState([3, 0, 7, 1], np.arange(12.0).reshape(4, 3))
    own = {
        "lead_time": np.array([0, 3, 1, 3]),
        "review": np.array([1, 2, 3, 1]),
        "shelf_life": np.array([2, 4, 1, 4]),
        "shortage": np.array([2.0, 5.0, 9.0, 19.0]),
        "waste": np.array([1.0, 2.0, 3.0, 0.5]),
    }
    together = replenish(paths, SupplyRules(**own), state)
    for row in range(4):
        alone = replenish(
            paths[row : row + 1],
            SupplyRules(**{name: value[row] for name, value in own.items()}),
            StockState(state.on_hand[row], state.on_order[row : row + 1]),
        )
        assert together.order[row] == alone.order[0]
        assert together.projection.cost[row] == pytest.approx(alone.projection.cost[0])


def test_a_fixed_cost_waits_and_then_orders_for_several_periods():
    paths = np.full((1, 3, 12), 10.0)
    rules = SupplyRules(holding=1.0, shortage=50.0, fixed=60.0)
    # to order for n periods costs 60/n + 10 (n − 1)/2 a period: least at n = 3, 30
    found = replenish(paths, rules)
    assert (found.order, found.reviews) == ([30.0], [3])
    waits = replenish(paths, rules, StockState([10.0]))
    assert (waits.order, waits.reviews) == ([0.0], [0])


@pytest.mark.parametrize("shop", SHOPS, ids=lambda shop: " ".join(map(str, shop.values())))
def test_a_projection_is_what_a_shop_that_counts_units_pays(shop):
    paths, state = some_shop(11, n_series=1, n_paths=9)
    waits, life = shop["unmet"] == "backordered", shop.get("shelf_life")
    rules = SupplyRules(2, holding=0.5, shortage=3.0, fixed=7.0, **shop)
    found = project(paths, rules, state, np.array([6.0]))
    arrivals = state.arrivals(7)[0].astype(int)
    arrivals[2] += 6
    shops = [
        follow(int(state.on_hand[0]), arrivals, path.astype(int), life=life, waits=waits)
        for path in paths[0]
    ]
    prices = {"holding": 0.5, "shortage": 3.0, "waste": shop.get("waste", 0.5)}
    paid = np.mean([cost_of(periods, waits=waits, **prices) for periods in shops])
    assert found.cost[0] == pytest.approx(paid + 7.0)
    left = np.array([[left - owed for _, _, left, _, owed in periods] for periods in shops])
    np.testing.assert_array_equal(found.middle[0], np.sort(left, axis=0)[4])
    short = np.array([[unmet > 0 for _, unmet, *_ in periods] for periods in shops])
    np.testing.assert_allclose(found.empty[0], short.mean(axis=0))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: replenish(np.ones((1, 2, 3)), SupplyRules(3)), "paths must reach 4 periods ahead"),
        (
            lambda: replenish(np.full((1, 2, 3), np.nan), SupplyRules()),
            "paths must be finite and 0 or more, got nan.",
        ),
        (
            lambda: replenish(-np.ones((1, 2, 3)), SupplyRules()),
            "paths must be finite and 0 or more, got -1.",
        ),
        (
            lambda: replenish(np.ones((2, 3)), SupplyRules()),
            "paths must be numbers of shape (n_series, n_paths, n_periods), got float64",
        ),
        (
            lambda: replenish(np.ones((1, 2, 3)), SupplyRules(), StockState([-1.0])),
            "on_hand must be 0 or more if unmet demand is lost, got -1.",
        ),
        (
            lambda: replenish(np.ones((2, 2, 3)), SupplyRules(), StockState([1.0])),
            "state must have one entry for each of 2 series, got 1.",
        ),
        (
            lambda: replenish(np.ones((2, 2, 3)), SupplyRules([1, 2, 0])),
            "lead_time must have one entry for each of 2 series, got 3.",
        ),
    ],
)
def test_bad_input_gets_one_sentence(call, sentence):
    with pytest.raises(InvalidInput) as caught:
        call()
    assert str(caught.value).startswith(sentence)
