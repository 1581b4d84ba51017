"""Counts against SciPy's distributions, closed forms and sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unmet.censoring.latent.counts import (
    count_likelihood,
    count_quantile,
    count_share,
)
from unmet.censoring.latent.likelihood import CENSORED, SEEN, UNKNOWN

POLICIES = [(0.2, 0.3, 0.0), (-0.4, 0.05, 0.3), (0.1, 0.002, 0.0), (1.5, 1.2, 0.6)]


def truth(location, shape):
    size = np.exp(shape)
    return stats.nbinom(size, size / (size + np.exp(location)))


def order_at_most(q, location, orders):
    """P(Q <= q) by SciPy's lognormal, rounded."""
    distribution = stats.lognorm(orders[1], scale=np.exp(location + orders[0]))
    return np.where(q < 0, 0.0, distribution.cdf(np.maximum(np.asarray(q) + 0.5, 0.0)))


def stock_exceeds(q, location, orders):
    return orders[2] + (1 - orders[2]) * (1 - order_at_most(q, location, orders))


def values(shape, orders, count, location, kind):
    count = np.asarray(count, dtype=float)
    location = np.broadcast_to(np.asarray(location, dtype=float), count.shape)
    known = np.full(count.shape, kind == CENSORED), np.full(count.shape, kind == SEEN)
    return count_likelihood(shape, orders, count, location, *known)[0]


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
    censored = distribution.sf(count - 1) * (1 - orders[2]) * placed
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
    total = np.exp(values(shape, (level, spread, unlimited), count, np.log(mean), UNKNOWN)).sum()
    assert total == pytest.approx(1.0, abs=1e-8)


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


def share_row_by_row(location, shape, orders):
    """Every order up to far beyond the demand, for each row."""
    location, shape = location[:, None], np.broadcast_to(shape, location.shape)[:, None]
    distribution = truth(location, shape)
    q = np.arange(0.0, distribution.ppf(1 - 1e-9).max() + 2)
    placed = np.diff(order_at_most(np.append(-1.0, q), location, orders), axis=1)
    return float((1 - orders[2]) * (placed * distribution.sf(q)).sum(axis=1).mean())


@pytest.mark.parametrize("orders", POLICIES)
@pytest.mark.parametrize("shape", [-1.0, 1.5, 10.0])
def test_share_of_few_rows_is_the_sum_over_all_orders(orders, shape):
    location = np.log([0.2, 1.0, 7.3, 24.0, 90.0, 800.0])
    found = [count_share(location[i : i + 1], shape, orders) for i in range(location.size)]
    expected = [share_row_by_row(location[i : i + 1], shape, orders) for i in range(location.size)]
    # large orders are integrated, as if they were not rounded
    np.testing.assert_allclose(found, expected, atol=1e-2)
    assert count_share(location, shape, orders) == pytest.approx(np.mean(expected), abs=2e-3)
