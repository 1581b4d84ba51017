"""Counts against SciPy's distributions, closed forms and sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from unmet.censoring.latent.counts import (
    count_likelihood,
    count_quantile,
    count_share,
)
from unmet.censoring.latent.likelihood import CENSORED, SEEN, UNKNOWN, Orders

POLICIES = [
    Orders(0.2, 0.3),
    Orders(-0.4, 0.05, 0.3),
    Orders(0.1, 0.002),
    Orders(1.5, 1.2, 0.6),
]


def truth(location, shape):
    size = np.exp(shape)
    return stats.nbinom(size, size / (size + np.exp(location)))


def order_at_most(q, location, orders):
    """P(Q <= q) by SciPy's lognormal, rounded."""
    distribution = stats.lognorm(orders.spread, scale=np.exp(location + orders.level))
    return np.where(q < 0, 0.0, distribution.cdf(np.maximum(np.asarray(q) + 0.5, 0.0)))


def stock_exceeds(q, location, orders):
    return orders.unlimited + (1 - orders.unlimited) * (1 - order_at_most(q, location, orders))


def values(shape, orders, count, location, kind):
    count = np.asarray(count, dtype=float)
    location = np.broadcast_to(np.asarray(location, dtype=float), count.shape)
    rows = np.full(count.shape, kind)
    return count_likelihood(shape, orders, count, location, rows).value


@pytest.mark.parametrize("shape", [-4.9, -1.0, 0.7, 3.0, 8.0, 11.9])
@pytest.mark.parametrize("mean", [0.02, 0.3, 4.0, 70.0, 2500.0])
def test_seen_and_censored_rows_without_orders_are_the_negative_binomial(shape, mean):
    distribution = truth(np.log(mean), shape)
    count = np.unique(
        np.append(distribution.ppf([1e-9, 0.1, 0.5, 0.9, 0.999, 1 - 1e-9]), [0, 1, 2, 97])
    )
    seen = values(shape, None, count, np.log(mean), SEEN)
    np.testing.assert_allclose(seen, distribution.logpmf(count), rtol=1e-9, atol=1e-8)
    censored = values(shape, None, count, np.log(mean), CENSORED)
    np.testing.assert_allclose(censored, distribution.logsf(count - 1), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("orders", POLICIES)
@pytest.mark.parametrize(("mean", "shape"), [(0.4, 0.5), (9.0, -0.7), (60.0, 2.5), (60.0, 11.0)])
def test_each_probability_is_that_of_two_independent_draws(orders, mean, shape):
    location = np.log(mean)
    distribution = truth(location, shape)
    count = np.arange(0.0, 400.0)
    lasting = stock_exceeds(count, location, orders)
    placed = order_at_most(count, location, orders) - order_at_most(count - 1, location, orders)
    seen = distribution.pmf(count) * lasting
    censored = distribution.sf(count - 1) * (1 - orders.unlimited) * placed
    for kind, expected in [(SEEN, seen), (CENSORED, censored), (UNKNOWN, seen + censored)]:
        found = np.exp(values(shape, orders, count, location, kind))
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-14)


@given(
    mean=st.floats(0.01, 200.0),
    shape=st.floats(-1.5, 14.0),
    level=st.floats(-2.0, 2.0),
    spread=st.floats(1e-3, 2.0),
    unlimited=st.sampled_from([0.0, 0.01, 0.5, 0.99]),
)
def test_probabilities_of_all_observations_sum_to_one(mean, shape, level, spread, unlimited):
    distribution = truth(np.log(mean), np.clip(shape, -5.0, 12.0))
    count = np.arange(0.0, distribution.ppf(1 - 1e-10) + 2)
    total = np.exp(
        values(shape, Orders(level, spread, unlimited), count, np.log(mean), UNKNOWN)
    ).sum()
    assert total == pytest.approx(1.0, abs=1e-8)


@given(
    count=st.one_of(st.integers(0, 200), st.integers(0, 10**6), st.just(10**9)),
    location=st.floats(-700.0, 700.0),
    shape=st.floats(-1e3, 1e3),
    level=st.floats(-50.0, 50.0),
    spread=st.floats(1e-3, 150.0),
    unlimited=st.one_of(st.just(0.0), st.floats(1e-12, 1.0)),
    near=st.booleans(),
)
@example(10**6, 0.0, 12.0, 0.0, 1e-3, 1.0, True)
@example(10**6, 0.0, -5.0, 0.0, 1e-3, 0.0, False)
@example(0, -700.0, 12.0, -50.0, 1e-3, 0.0, False)
@example(10**15, 0.0, 0.0, 0.0, 150.0, 0.0, True)
@example(97, 700.0, -5.0, 50.0, 150.0, 1e-12, False)
def test_nothing_is_ever_infinite(count, location, shape, level, spread, unlimited, near):
    if near:  # an optimiser is mostly here
        location = float(np.log(count + 0.5)) + location / 300.0
    rows = np.full(4, float(count)), np.full(4, location), np.arange(4)
    for orders in (None, Orders(level, spread, unlimited)):
        found = count_likelihood(shape, orders, *rows)
        for name, column in found._asdict().items():
            assert np.isfinite(column).all(), (name, column)
        assert (found.value <= 1e-9).all()


@given(
    mean=st.floats(1e-3, 400.0),
    shape=st.floats(-4.0, 12.0),
    level=st.floats(0.01, 0.995),
)
def test_quantile_is_the_first_count_reached(mean, shape, level):
    below = np.cumsum(truth(np.log(mean), shape).pmf(np.arange(60_000)))
    found = count_quantile(level, np.array([np.log(mean)]), shape)[0]
    assert found == int(found) >= 0
    assert found < below.size
    assert below[int(found)] >= level - 1e-9
    assert found == 0 or below[int(found) - 1] < level + 1e-9


@given(
    mean=st.floats(0.05, 300.0),
    shape=st.floats(-2.0, 12.0),
    level=st.floats(0.02, 0.99),
    policy=st.integers(0, 3),
)
def test_observed_quantile_is_the_first_count_reached(mean, shape, level, policy):
    orders, location = POLICIES[policy], np.log(mean)
    q = np.arange(-1.0, 20_000.0)
    beyond = truth(location, shape).sf(q) * stock_exceeds(q, location, orders)
    found = count_quantile(level, np.array([location]), shape, orders)[0]
    assert found == int(found) >= 0
    assert found <= count_quantile(level, np.array([location]), shape)[0]
    assert 1 - beyond[int(found) + 1] >= level - 1e-9
    assert 1 - beyond[int(found)] < level + 1e-9


def share_row_by_row(location, shape, orders):
    """Every order up to far beyond the demand, for each row."""
    location, shape = location[:, None], np.broadcast_to(shape, location.shape)[:, None]
    distribution = truth(location, shape)
    q = np.arange(0.0, distribution.ppf(1 - 1e-9).max() + 2)
    placed = np.diff(order_at_most(np.append(-1.0, q), location, orders), axis=1)
    return float((1 - orders.unlimited) * (placed * distribution.sf(q)).sum(axis=1).mean())


@pytest.mark.parametrize("orders", POLICIES)
@pytest.mark.parametrize("shape", [-1.0, 1.5, 10.0])
def test_share_of_few_rows_is_the_sum_over_all_orders(orders, shape):
    location = np.log([0.2, 1.0, 7.3, 24.0, 90.0, 800.0])
    found = [count_share(location[i : i + 1], shape, orders) for i in range(location.size)]
    expected = [share_row_by_row(location[i : i + 1], shape, orders) for i in range(location.size)]
    np.testing.assert_allclose(found, expected, atol=2e-5)
    assert count_share(location, shape, orders) == pytest.approx(np.mean(expected), abs=1e-5)
