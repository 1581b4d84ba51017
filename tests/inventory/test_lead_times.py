"""Lead times that vary: the same as fixed ones where they do not, and brute force over levels."""

import numpy as np
import pytest

from unmet.inventory import StockState, SupplyRules, order_up_to, project, replenish
from unmet.simulate import run_shop


def paths_of(mean, n_paths=400, n_periods=9, n_series=1, seed=0):
    shape = (n_series, n_paths, n_periods)
    return np.random.default_rng(seed).poisson(mean, shape).astype(float)


@pytest.mark.parametrize("unmet", ["lost", "backordered"])
@pytest.mark.parametrize("more", [{}, {"fixed": 30.0}, {"shelf_life": 3, "waste": 2.0}])
def test_a_certain_lead_time_gives_what_the_number_gives(unmet, more):
    paths, state = paths_of(4.0, 60, n_series=3), StockState([0, 5, 9], [[1, 0], [0, 4], [2, 2]])
    words = {"review": 2, "holding": 0.3, "shortage": 2.0, "unmet": unmet, **more}
    fixed, chance = SupplyRules(3, **words), SupplyRules({3: 1.0}, **words)
    one, other = replenish(paths, fixed, state), replenish(paths, chance, state)
    np.testing.assert_array_equal(one.order, other.order)
    for name in ("low", "high", "empty", "out", "short", "cost"):
        here, there = (getattr(each.projection, name) for each in (one, other))
        np.testing.assert_array_equal(here, there)
    np.testing.assert_allclose(
        one.projection.until_next(fixed), other.projection.until_next(chance)
    )
    if "shelf_life" not in more:
        levels = [order_up_to(paths, rules).order_up_to for rules in (fixed, chance)]
        np.testing.assert_array_equal(*levels)


def simulated_cost(level, leads, demand, review, holding, shortage, *, lost):
    """Mean cost of a period of a base-stock level, in plain arithmetic; nothing overtakes."""
    stock, arrivals, total, on_way = level, np.zeros(demand.size + 20), 0.0, 0.0
    for period, asked in enumerate(demand):
        if period % review == 0:
            order = max(level - stock - on_way, 0.0)
            arrivals[period + leads[period // review]] += order
            on_way += order
        stock += arrivals[period]
        on_way -= arrivals[period]
        short = max(asked - stock, 0.0) if lost else max(asked - max(stock, 0.0), 0.0)
        stock -= asked
        owed, stock = (short, max(stock, 0.0)) if lost else (max(-stock, 0.0), stock)
        total += holding * max(stock, 0.0) + shortage * owed
    return total / demand.size


@pytest.mark.parametrize(("review", "chances"), [(1, {1: 0.7, 2: 0.3}), (4, {1: 0.6, 5: 0.4})])
def test_backorders_have_the_best_level_of_a_grid(review, chances):
    """Orders cannot overtake each other here, so the best level is known up to noise."""
    generator, holding, shortage = np.random.default_rng(2), 1.0, 6.0
    demand = generator.poisson(5.0, 4000).astype(float)
    leads = generator.choice(list(chances), 4000, p=list(chances.values()))
    words = {"holding": holding, "shortage": shortage, "unmet": "backordered"}
    rules = SupplyRules(chances, review, **words)
    paths = paths_of(5.0, 4000, max(chances) + review)
    level = replenish(paths, rules, StockState([0.0])).order[0]
    assert order_up_to(paths, rules).order_up_to[0] == level
    grid = np.arange(level - 12, level + 13, 2)
    costs = [
        simulated_cost(each, leads, demand, review, holding, shortage, lost=False) for each in grid
    ]
    assert costs[6] <= 1.01 * min(costs)
    # what half of the deliveries, or their mean, would ask for is dearer
    usual = SupplyRules(min(chances), review, **words)
    short = replenish(paths, usual, StockState([0.0])).order[0]
    assert simulated_cost(short, leads, demand, review, holding, shortage, lost=False) > 1.1 * min(
        costs
    )


def test_lost_sales_cost_little_more_than_the_best_level_of_a_grid():
    generator, chances = np.random.default_rng(3), {1: 0.6, 3: 0.4}
    demand = generator.poisson(5.0, 2000).astype(float)
    rules = SupplyRules(chances, 2, holding=1.0, shortage=9.0)
    paths = paths_of(5.0, 300, 5)
    leads = rules.leads(1, 2000)[0, ::2]  # as the shop draws them
    grid = np.arange(14.0, 44.0, 2)
    costs = [simulated_cost(each, leads, demand, 2, 1.0, 9.0, lost=True) for each in grid]
    best = min(costs)
    level = order_up_to(paths, rules).order_up_to[0]
    assert simulated_cost(level, leads, demand, 2, 1.0, 9.0, lost=True) <= 1.03 * best

    class Fed:
        def learn(self, seen):
            """Nothing: the distribution is known."""

        def order(self, seen, state):
            return replenish(paths, rules, state).order

    run = run_shop(demand[None], {"ours": Fed()}, rules, n_before=0, learn_every=10**6)
    assert run["ours"].cost.mean() <= 1.1 * best


@pytest.mark.parametrize("unmet", ["lost", "backordered"])
def test_the_more_lead_times_vary_the_more_is_kept(unmet):
    """Their mean is 3 in all of these."""
    words = {"review": 2, "holding": 0.2, "shortage": 2.0, "unmet": unmet}
    paths = paths_of(6.0, 1000)
    kinds = [{3: 1.0}, {2: 0.25, 3: 0.5, 4: 0.25}, {2: 0.5, 4: 0.5}, {1: 0.5, 5: 0.5}]
    orders = [
        replenish(paths, SupplyRules(kind, **words), StockState([8.0])).order for kind in kinds
    ]
    assert (np.diff(np.ravel(orders)) > 0).all()


def test_shelves_are_followed_by_the_chance_of_each_arrival():
    """Demand of 1 a day, 2 there and 3 ordered for day 1 or day 4: out on days 2 and 3 or never."""
    rules = SupplyRules([[0, 0.75, 0, 0, 0.25]], 2, holding=1.0, shortage=1.0)
    ahead = project(np.ones((1, 400, 7)), rules, StockState([2.0]), np.array([3.0]))
    np.testing.assert_allclose(ahead.empty[0, :5], [0, 0, 0.25, 0.25, 0])
    np.testing.assert_allclose(ahead.out[0, :5], [0, 0, 0.25, 0.25, 0.25])
    # the next order is there on day 3 with a chance of 75%, else on day 6, when day 5 may lack
    chance, short = ahead.until_next(rules)
    assert chance[0] == pytest.approx(0.75 * 0.25 + 0.25 * ahead.out[0, 5])
    late = 0.25 * (ahead.short[0, 3:6].sum())
    assert short[0] == pytest.approx(ahead.short[0, :3].sum() + late)


def test_the_middle_of_lead_times_and_their_longest():
    rules = SupplyRules({3: 0.5, 7: 0.5}, 2)
    assert rules.whole("lead_time", 2).tolist() == [3, 3]
    assert rules.periods(2) == 9
    assert sorted(set(rules.leads(1, 100)[0])) == [3, 7]
    assert (rules.leads(1, 100) == 3).mean() == 0.5
    assert SupplyRules(**rules.given).late(1, 8).tolist() == [[1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0]]
