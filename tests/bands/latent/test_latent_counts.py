"""Counts against SciPy's distributions, closed forms, sums, simulation and differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from unmet.bands.latent.counts import (
    count_likelihood,
    count_quantile,
    count_share,
)
from unmet.bands.latent.likelihood import CENSORED, FLOOR, SEEN, UNKNOWN, Orders

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


@pytest.mark.parametrize("mean", [0.02, 3.0, 40.0])
def test_a_large_size_is_poisson(mean):
    count = np.arange(0.0, 90.0)
    poisson = stats.poisson(mean)
    likely = poisson.pmf(count) > 1e-9
    for kind, expected in [(SEEN, poisson.pmf(count)), (CENSORED, poisson.sf(count - 1))]:
        found = np.exp(values(50.0, None, count, np.log(mean), kind))
        np.testing.assert_allclose(found[likely], expected[likely], rtol=2e-2, atol=1e-12)
        np.testing.assert_allclose(found, expected, atol=3e-4)


@pytest.mark.parametrize("mean", [1e-8, 0.5, 80.0, 1e5, 1e9])
def test_geometric_truth_has_closed_forms_however_far(mean):
    """With κ = 0, P(D >= s) = p^s."""
    count = np.array([0.0, 1.0, 30.0, 95.0, 96.0, 97.0, 98.0, 1e3, 1e6])
    rows = np.full(count.size, CENSORED)
    found = count_likelihood(0.0, None, count, np.full(count.size, np.log(mean)), rows)
    log_success = -np.log1p(1.0 / mean)
    np.testing.assert_allclose(found.value, count * log_success, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.location, count / (1.0 + mean), rtol=1e-6, atol=1e-9)
    seen = values(0.0, None, count, np.log(mean), SEEN)
    np.testing.assert_allclose(seen, count * log_success - np.log1p(mean), rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize(("mean", "shape", "count"), [(38e3, 12.0, 47e3), (5.0, 2.0, 900.0)])
def test_tail_below_the_smallest_number_is_the_sum_of_its_terms(mean, shape, count):
    size = np.exp(shape)
    j = np.arange(20_000.0)
    terms = np.cumprod(mean / (size + mean) * (count + size + j) / (count + 1.0 + j))
    censored, seen = (values(shape, None, [count], np.log(mean), kind) for kind in (CENSORED, SEEN))
    assert censored < -700.0
    np.testing.assert_allclose(censored - seen, np.log1p(terms.sum()), rtol=1e-10)


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


def log_interval(lower, upper):
    """Logarithm of a normal probability; far from the centre or narrow by plain quadrature."""
    if upper - lower > 1.0 and lower < 0.0 < upper:
        return np.log(stats.norm.cdf(upper) - stats.norm.cdf(lower))
    near = lower if lower + upper > 0 else -upper
    length = min(upper - lower, 60.0 / max(near, 1.0))
    node, weight = np.polynomial.legendre.leggauss(200)
    y = 0.5 * length * (node + 1.0)
    inside = 0.5 * length * weight @ np.exp(-near * y - 0.5 * y * y)
    return -0.5 * near**2 - 0.5 * np.log(2 * np.pi) + np.log(inside)


@pytest.mark.parametrize("count", [1.0, 2.0, 40.0, 3e3, 1e6])
@pytest.mark.parametrize("shift", [-60.0, -8.0, -1.0, 0.0, 0.3, 5.0, 45.0])
@pytest.mark.parametrize("spread", [0.01, 0.7, 20.0])
def test_orders_keep_their_digits_in_both_tails(count, shift, spread):
    location, level = np.log(count), -shift * spread
    ends = [(np.log(count + half) - location - level) / spread for half in (-0.5, 0.5)]
    given_order = values(1.0, Orders(level, spread), [count], location, CENSORED)
    alone = values(1.0, None, [count], location, CENSORED)
    np.testing.assert_allclose(given_order - alone, log_interval(*ends), rtol=1e-7, atol=1e-7)


def test_an_order_of_zero_has_everything_below_a_half():
    for level in (-3.0, -0.7, 0.4, 9.0):
        found = values(0.3, Orders(level, 0.4), [0.0], 0.0, CENSORED)[0]
        expected = stats.norm.logcdf((np.log(0.5) - level) / 0.4)
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-14)


def test_a_zero_on_the_floor_is_an_observation_like_any_other():
    count, location = np.array([0.0, 0.0]), np.array([0.4, 2.0])
    for orders, same in [(POLICIES[0], UNKNOWN), (None, SEEN)]:
        floor = count_likelihood(0.3, orders, count, location, np.full(2, FLOOR))
        other = count_likelihood(0.3, orders, count, location, np.full(2, same))
        np.testing.assert_array_equal(floor, other)


def differences(function, here, step=1e-4):
    return (function(here + step) - function(here - step)) / (2 * step)


@given(seed=st.integers(0, 10**6), policy=st.integers(-1, 3), varying=st.booleans())
def test_gradients_are_differences_of_values(seed, policy, varying):
    rng = np.random.default_rng(seed)
    n_rows = 40
    orders = None if policy < 0 else POLICIES[policy]
    shape = rng.uniform(-4.5, 11.5, n_rows) if varying else rng.uniform(-4.5, 11.5)
    location = rng.uniform(-3.0, 7.0, n_rows)
    # up to a few standard deviations from the truth's mean and from the orders, and zeros
    count = np.floor(np.exp(location + rng.normal(0.0, 0.7, n_rows)) * rng.integers(0, 6, n_rows))
    kind = rng.choice([UNKNOWN, CENSORED, SEEN, FLOOR], n_rows)
    found = count_likelihood(shape, orders, count, location, kind)

    def check(name, function, here, step=1e-4):
        coarse = differences(function, here, step)
        fine = differences(function, here, step / 2)
        expected = (4 * fine - coarse) / 3  # Richardson
        # a value of size v is rounded to about 1e-15 v, and that is divided by the step
        noise = 1e-14 * np.abs(found.value) / step + 1e-9 / step
        error = np.abs(getattr(found, name) - expected)
        # where the step is long for the function, its two estimates differ
        rough = np.abs(fine - coarse)
        assert (error <= 1e-5 * np.abs(expected) + 0.1 * rough + noise).all(), name

    check("location", lambda x: count_likelihood(shape, orders, count, x, kind).value, location)
    check("shape", lambda x: count_likelihood(x, orders, count, location, kind).value, shape)
    if orders is None:
        assert not np.any([found.level, found.log_spread, found.unlimited])
        return

    def moved(**change):
        return count_likelihood(shape, orders._replace(**change), count, location, kind).value

    step = 1e-2 * min(orders.spread, 1e-2)
    check("level", lambda x: moved(level=x), orders.level, step)
    log_spread = np.log(orders.spread)
    check("log_spread", lambda x: moved(spread=float(np.exp(x))), log_spread, 1e-5)
    if orders.unlimited:
        check("unlimited", lambda x: moved(unlimited=x), orders.unlimited)
    else:
        assert not found.unlimited.any()


def draw(rng, location, shape, orders):
    demand = truth(location, shape).rvs(random_state=rng)
    noise = orders.spread * rng.standard_normal(location.size)
    order = np.round(np.exp(location + orders.level + noise))
    unlimited = rng.random(location.size) < orders.unlimited
    return np.where(unlimited, demand, np.minimum(demand, order)), (demand > order) & ~unlimited


@pytest.mark.parametrize("orders", [Orders(0.1, 0.25), Orders(-0.2, 0.4, 0.35)])
def test_simulated_observations_come_as_often_as_said(orders):
    location = np.full(200_000, np.log(6.0))
    observed, _ = draw(np.random.default_rng(3), location, 1.1, orders)
    seen = np.bincount(observed.astype(int), minlength=40)[:15]
    expected = np.exp(values(1.1, orders, np.arange(15.0), location[0], UNKNOWN)) * location.size
    z = (seen - expected) / np.sqrt(expected)
    assert np.abs(z).max() < 4.5
    assert (z**2).mean() < 2.5


@pytest.mark.parametrize("mean", [5.0, 250.0])
def test_scores_of_simulated_rows_vanish_on_average(mean):
    """Known to hold of every likelihood at the truth, and so of no wrong derivative."""
    rng, orders = np.random.default_rng(11), Orders(0.1, 0.3, 0.25)
    location = np.log(mean) + 0.3 * rng.standard_normal(20_000)
    observed, _ = draw(rng, location, 1.4, orders)
    found = count_likelihood(1.4, orders, observed, location, np.zeros(location.size))
    for name in ("location", "shape", "level", "log_spread", "unlimited"):
        score = getattr(found, name)
        assert abs(score.mean()) < 4.0 * score.std() / np.sqrt(score.size), name
        assert score.std() > 0.05


def test_shape_is_clipped_and_flat_beyond():
    count, location = np.array([3.0, 40.0, 500.0]), np.array([1.0, 3.0, 6.5])
    kind = np.array([UNKNOWN, CENSORED, UNKNOWN])
    for at, beyond in [(-5.0, -40.0), (12.0, 60.0)]:
        inside = count_likelihood(at, POLICIES[0], count, location, kind)
        outside = count_likelihood(beyond, POLICIES[0], count, location, kind)
        np.testing.assert_array_equal(inside.value, outside.value)
        assert inside.shape.all()
        assert not outside.shape.any()


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


def test_no_rows_and_one_row():
    nothing = np.zeros(0)
    assert count_likelihood(0.5, POLICIES[0], nothing, nothing, nothing).value.shape == (0,)
    assert count_quantile(0.7, nothing, 0.5).shape == (0,)
    one = count_likelihood(0.5, POLICIES[0], np.array([4.0]), np.array([1.0]), np.array([SEEN]))
    assert one.shape.shape == (1,)


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


def test_quantiles_of_large_means_and_levels_by_row():
    location = np.log([2e4, 1e6, 3e5, 0.5, 1e-12])
    shape = np.array([2.0, 12.0, -3.0, 0.0, 3.0])
    level = np.array([0.93, 0.2, 0.999, 0.65, 0.9])
    expected = [truth(*each).ppf(q) for *each, q in zip(location, shape, level, strict=True)]
    np.testing.assert_array_equal(count_quantile(level, location, shape), expected)
    np.testing.assert_array_equal(count_quantile(level, location, shape, None), expected)


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


@pytest.mark.parametrize("orders", [Orders(0.1, 0.3), Orders(0.0, 0.01, 0.2)])
@pytest.mark.parametrize("mean", [3.0, 40.0])
@pytest.mark.parametrize("varying", [False, True])
def test_share_of_many_rows_is_that_of_all_of_them(orders, mean, varying):
    rng = np.random.default_rng(5)
    location = np.log(mean) + 0.5 * rng.standard_normal(300)
    shape = rng.uniform(0.0, 4.0, location.size) if varying else 1.2
    expected = share_row_by_row(location, shape, orders)
    assert count_share(location, shape, orders) == pytest.approx(expected, abs=2e-3)


def test_share_is_that_of_simulated_rows_and_nothing_without_orders():
    rng, orders = np.random.default_rng(7), Orders(0.05, 0.2, 0.3)
    location = 2.5 + 0.6 * rng.standard_normal(100_000)
    _, sold_out = draw(rng, location, 1.8, orders)
    error = np.sqrt(sold_out.mean() / sold_out.size)
    assert abs(count_share(location, 1.8, orders) - sold_out.mean()) < 4 * error + 1e-3
    assert count_share(location, 1.8, None) == 0.0


@pytest.mark.parametrize("spread", [0.15, 0.6])
@pytest.mark.parametrize("mean", [4.0, 60.0, 2000.0])
def test_share_is_smooth_enough_for_a_slope(spread, mean):
    """An imposed rate takes the share's slope by small differences: no step may show in them."""
    rng = np.random.default_rng(2)
    location = np.log(mean) + 0.4 * rng.standard_normal(500)

    def share(level):
        return count_share(location, 1.0, Orders(level, spread))

    for level in np.linspace(-0.3, 0.4, 8):
        small, large = (differences(share, level, step) for step in (1e-5, 1e-2))
        assert small == pytest.approx(large, rel=0.02)
        assert small < -0.05


@given(
    location=st.floats(-30.0, 30.0),
    shape=st.floats(-6.0, 13.0),
    level=st.floats(-40.0, 40.0),
    spread=st.floats(1e-3, 150.0),
    alpha=st.floats(1e-6, 1 - 1e-6),
)
def test_answers_are_always_numbers(location, shape, level, spread, alpha):
    at, orders = np.array([location, location + 1.0]), Orders(level, spread, 0.1)
    assert np.isfinite(count_quantile(alpha, at, shape)).all()
    assert np.isfinite(count_quantile(alpha, at, shape, orders)).all()
    assert -1e-9 <= count_share(at, shape, orders) <= 0.9 + 1e-9
