"""Costs on rows that may have sold out, against costs on the truth and weights of others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmet import Newsvendor, SquaredError
from unmet.errors import InvalidInput, Unsupported
from unmet.evaluation import censored_cost, realised_cost
from unmet.evaluation.censored import LEAST_REACHED

COST = Newsvendor(underage=4, overage=1)


def shop(n_rows=400, seed=0, ample=0.2):
    generator = np.random.default_rng(seed)
    demand = generator.gamma(9.0, 5.0, n_rows)
    stock = np.where(generator.random(n_rows) < ample, 1e3, generator.gamma(14.0, 4.0, n_rows))
    return demand, np.minimum(demand, stock), demand >= stock


def by_hand(cost, decisions, sales, sold_out, weight, level):
    """Each row by itself, straight from the definition."""
    place = sales / level  # few rows sold out: no line of orders

    def survival(value, strictly):
        share = 1.0
        for each in np.unique(place[sold_out & (weight > 0)]):
            if each < value or (strictly and each == value):
                ended = weight[sold_out & (place == each)].sum()
                share *= 1 - ended / weight[place >= each].sum()
        return share

    steps = np.unique(place[sold_out & (weight > 0)])
    ends = [each for each in steps if survival(each, strictly=True) < LEAST_REACHED]
    end = ends[0] if ends else np.inf
    total, paid = 0.0, dict.fromkeys(decisions, 0.0)
    for row in range(sales.size):
        top = min(max(decisions[name][row] for name in decisions), end * level[row])
        if sales[row] >= top:
            known = weight[row] / max(survival(top / level[row], strictly=False), LEAST_REACHED)
        elif not sold_out[row]:
            known = weight[row] / max(survival(place[row], strictly=True), LEAST_REACHED)
        else:
            continue
        total += known
        for name in decisions:
            short = min(sales[row], top) - min(decisions[name][row], top)
            paid[name] += known * max(cost.underage * short, -cost.overage * short)
    return {name: each / total for name, each in paid.items()}


@given(st.integers(0, 10_000), st.floats(0.6, 1.6), st.booleans())
def test_agrees_with_the_definition_row_by_row(seed, factor, rounded):
    generator = np.random.default_rng(seed)
    _, sales, sold_out = shop(24, seed, ample=0.3)
    first = np.flatnonzero(sold_out)[9:]  # few enough for orders to have a common place
    sold_out[first] = False
    if rounded:
        sales = np.round(sales)  # ties
    weight = generator.uniform(0, 2, 24) * (generator.random(24) < 0.9)
    level = generator.uniform(30, 60, 24)
    decisions = {"one": factor * level, "other": np.full(24, 50.0)}
    known = np.where(generator.random(24) < 0.9, sold_out.astype(float), np.nan)
    used = np.where(np.isnan(known), 0.0, weight)
    expected = by_hand(COST, decisions, sales, sold_out, used, level)
    found = censored_cost(COST, decisions, sales, known, level=level, sample_weight=weight)
    assert found.cost == pytest.approx(expected, rel=1e-9)
    assert found.cost[found.best] == min(found.cost.values())


def test_differences_are_those_on_the_truth_on_average():
    errors, standard, truths = [], [], []
    for seed in range(60):
        demand, sales, sold_out = shop(500, seed)
        decisions = {"low": np.full(500, 45.0), "high": np.full(500, 60.0)}
        found = censored_cost(COST, decisions, sales, sold_out)
        more, error = found.difference("low", "high")
        true = [realised_cost(COST, each, demand) for each in decisions.values()]
        truths.append(true[0] - true[1])
        errors.append(more - (true[0] - true[1]))
        standard.append(error)
    naive = [
        realised_cost(COST, 45.0, each[1]) - realised_cost(COST, 60.0, each[1])
        for each in (shop(500, seed) for seed in range(60))
    ]
    assert abs(np.mean(errors)) < 0.25
    assert np.mean(naive) < 0 < 2 < np.mean(truths)  # sales alone prefer the dearer order
    assert np.mean([shop(500, seed)[2].mean() for seed in range(60)]) > 0.2
    # part of the noise is that of the truth itself, which both have
    assert np.std(errors) < 2 * np.mean(standard)


@pytest.mark.parametrize("slope", [0.0, 0.4, 1.0])
def test_orders_need_not_move_with_demand(slope):
    """Rows of large demand sell out more often where orders do not follow it."""
    errors, truths = [], []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        level = generator.uniform(60, 140, 900)
        demand = level + generator.normal(0, 12, 900)
        stock = 108 + slope * (level - 100) + generator.normal(0, 9, 900)
        decisions = {"low": level - 6, "high": level + 10}
        sales, sold_out = np.minimum(demand, stock), demand >= stock
        found = censored_cost(COST, decisions, sales, sold_out)
        true = [COST.cost(each, demand) for each in decisions.values()]
        errors.append(found.difference("low", "high")[0] - np.mean(true[0] - true[1]))
        truths.append(np.mean(true[0] - true[1]))
    assert np.mean(errors) == pytest.approx(0, abs=0.25 * np.mean(truths))


def test_nothing_sold_out_is_the_realised_cost_but_for_what_all_share():
    demand = shop()[0]
    decisions = {"low": 40.0, "high": np.linspace(40, 70, 400)}
    found = censored_cost(COST, decisions, demand, np.zeros(400))
    more, error = found.difference("low", "high")
    paid = COST.cost(40.0, demand) - COST.cost(decisions["high"], demand)
    assert more == pytest.approx(paid.mean(), rel=1e-12)
    assert error == pytest.approx(paid.std(ddof=1) / 20, rel=0.01)
    assert found.reached == 1.0
    assert found.n_known == 400


def test_rows_of_a_group_are_not_independent():
    demand = np.repeat(shop(40)[0], 10)
    decisions = {"low": 40.0, "high": 60.0}
    alone = censored_cost(COST, decisions, demand, np.zeros(400))
    within = censored_cost(COST, decisions, demand, np.zeros(400), groups=np.arange(400) // 10)
    assert alone.cost == within.cost
    ratio = within.difference("low", "high")[1] / alone.difference("low", "high")[1]
    assert ratio == pytest.approx(np.sqrt(10), rel=0.05)
    one = censored_cost(COST, decisions, demand, np.zeros(400), groups=np.zeros(400))
    assert one.difference("low", "high")[1] == np.inf


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"cost": SquaredError()}, Unsupported, "two slopes"),
        ({"decisions": {}}, InvalidInput, "at least one method"),
        ({"decisions": {"a": [1.0, 2.0]}}, InvalidInput, "a must be one number or have 400 rows"),
        ({"censored": np.ones(400)}, InvalidInput, "some rows seen"),
        ({"censored": np.full(400, 2)}, InvalidInput, "censored must be True"),
        ({"groups": [1, 2]}, InvalidInput, "groups must have one entry per row"),
        ({"cost": Newsvendor([1, 2], 1)}, InvalidInput, "underage"),
    ],
)
def test_wrong_input_is_named(change, error, words):
    _, sales, sold_out = shop()
    words_given = {
        "cost": COST,
        "decisions": {"a": 50.0},
        "observation": sales,
        "censored": sold_out,
    }
    with pytest.raises(error, match=words):
        censored_cost(**{**words_given, **change})
