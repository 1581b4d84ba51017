"""How often orders are met by chance: bounds must hold, and be worth something."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logsumexp

from unmet.bands.order_rule.evidence import (
    Ordered,
    exchangeable,
    log_tail,
    neighbours_hazard,
    poisson_hazard,
)
from unmet.bands.order_rule.lots import Rounding
from unmet.bands.order_rule.rules import read_histories

WHOLE = Rounding(1.0, "up")


def ordered(s, order, group=None, step=WHOLE):
    group = np.zeros(s.size, np.intp) if group is None else group
    parts = (np.arange(s.size), group, order, step.gap(s, order))
    return Ordered(*parts, int(group.max()) + 1, step)


@given(st.integers(1, 400), st.floats(0.001, 0.999), st.integers(0, 400))
def test_the_tail_is_a_bound(trials, chance, successes):
    successes = min(successes, trials)
    bound = log_tail(*(np.array([float(x)]) for x in (successes, trials * chance, trials)))[0]
    exact = logsumexp(stats.binom.logpmf(np.arange(successes, trials + 1), trials, chance))
    assert bound >= exact - 1e-9 * abs(exact) - 1e-9
    if successes <= trials * chance:
        assert bound == 0


def test_the_tail_is_exact_when_everything_succeeds():
    bound = log_tail(np.array([50.0]), np.array([50 * 0.3]), np.array([50.0]))[0]
    assert bound == pytest.approx(50 * np.log(0.3))


def test_unequal_chances_are_bounded_too():
    generator = np.random.default_rng(0)
    chance = generator.uniform(0.05, 0.6, 60)
    sums = (generator.random((40_000, 60)) < chance).sum(axis=1)
    for successes in (25, 28, 32):
        bound = log_tail(*(np.array([x]) for x in (float(successes), chance.sum(), 60.0)))[0]
        assert np.mean(sums >= successes) <= np.exp(bound)


@given(st.integers(0, 300), st.floats(0.01, 200), st.sampled_from([1.0, 6.0, 0.01]))
def test_the_poisson_hazard_is_scipys(count, mean, unit):
    found = poisson_hazard(np.array([count * unit]), np.array([mean * unit]), unit)[0]
    tail = stats.poisson.sf(count - 1, mean)
    if tail > 1e-280:
        assert found == pytest.approx(min(stats.poisson.pmf(count, mean) / tail, 1), rel=1e-6)
    else:
        assert 0.9 < found <= 1


def test_nothing_around_is_no_evidence():
    level = np.array([np.nan, 5.0])
    assert poisson_hazard(np.array([4.0, 4.0]), level, 1.0)[0] == 1
    np.testing.assert_array_equal(poisson_hazard(np.array([4.0, 4.0]), level, 0.0), [1, 0])


@pytest.mark.parametrize(
    "family",
    [
        stats.poisson(30),
        stats.poisson(4),
        stats.nbinom(3, 0.1),
        stats.binom(40, 0.7),
        stats.geom(0.1),
    ],
    ids=["poisson", "few", "overdispersed", "underdispersed", "geometric"],
)
@pytest.mark.parametrize("quantile", [0.5, 0.8, 0.93])
def test_neighbours_bound_the_hazard_of_smooth_demand(family, quantile):
    generator = np.random.default_rng(1)
    n = 20_000
    s = family.rvs(n, random_state=generator).astype(float)
    # orders vary around the quantile, independently of the demand
    order = np.maximum(family.ppf(quantile) + generator.integers(-1, 2, n), 1.0)
    true = family.pmf(order) / family.sf(order - 1)
    rows = ordered(s, order)
    at_risk = rows.gap >= 0
    assert neighbours_hazard(rows)[at_risk].mean() >= 0.98 * true[at_risk].mean()


def test_a_hazard_that_grows_is_continued():
    # nearly all of a tight demand lies below the order, and too little above it to compare with
    generator = np.random.default_rng(6)
    s = np.round(generator.normal(50, 0.8, 2000))
    order = np.full(2000, 52.0)
    rows = ordered(s, order)
    assert np.count_nonzero(rows.gap > 0) < 10
    edges = stats.norm(50, 0.8).sf([51.5, 52.5])
    assert neighbours_hazard(rows)[0] >= 1 - edges[1] / edges[0]  # 0.97, one lot below 0.89


def test_neighbours_see_a_pile_up():
    generator = np.random.default_rng(2)
    demand = generator.poisson(60, 3000).astype(float)
    order = 60.0 + generator.integers(-4, 5, 3000)
    s = np.minimum(demand, order)
    rows = ordered(s, order)
    assert neighbours_hazard(rows)[rows.gap >= 0].mean() < 0.3  # all of them are at the order


def panel_of(s):
    return read_histories(s, np.arange(s.size), None, None)


def test_exchangeable_orders_have_honest_p_values():
    generator = np.random.default_rng(3)
    p_values = []
    for _ in range(300):
        s = generator.poisson(2.0, 210).astype(float)
        order = generator.poisson(2.0, 210) + 1.0
        p_values.append(np.exp(exchangeable(panel_of(s), ordered(s, order), order)[0]))
    for level in (0.02, 0.1, 0.3):
        assert np.mean(np.array(p_values) <= level) <= level + 0.02


def test_orders_that_are_followed_are_not_exchangeable():
    generator = np.random.default_rng(4)
    order = generator.integers(20, 60, 210).astype(float)
    s = np.minimum(generator.poisson(45, 210), order).astype(float)
    assert exchangeable(panel_of(s), ordered(s, order), order)[0] < -50


@pytest.mark.parametrize("length", [7, 30, 300])
def test_orders_that_stand_still_are_no_evidence(length):
    s = np.full(length, 7.0)
    assert exchangeable(panel_of(s), ordered(s, s), s)[0] == 0


def test_groups_are_judged_apart():
    generator = np.random.default_rng(5)
    order = generator.integers(20, 60, 400).astype(float)
    bound = np.minimum(generator.poisson(45, 400), order).astype(float)
    free = generator.poisson(45, 400).astype(float)
    s, orders = np.r_[bound, free], np.r_[order, order]
    panel = read_histories(s, np.tile(np.arange(400), 2), np.repeat([0, 1], 400), None)
    rows = ordered(s, orders, np.repeat([0, 1], 400))
    found = exchangeable(panel, rows, orders)
    assert found[0] < -50
    assert found[1] > -5
    alone = exchangeable(panel_of(bound), ordered(bound, order), order)
    assert found[0] == pytest.approx(alone[0])
