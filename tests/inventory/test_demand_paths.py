"""Sample paths: moments, dependence and shape are those that were put in, or learned."""

import numpy as np
import pytest
from scipy.stats import gamma, nbinom, norm

from unmet.errors import InvalidInput
from unmet.inventory import DemandDistribution


def distribution_of(n_series, *, counted=True, **kept):
    kept = {
        "linear": 1.0,
        "quadratic": 0.1,
        "factor": np.ones(n_series),
        "growth": np.ones(1),
    } | kept
    return DemandDistribution(counted=counted, **kept)


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("mean", [0.05, 0.8, 6.0, 39.0, 41.0, 900.0])
def test_draws_have_the_mean_and_the_variance_of_the_distribution(counted, mean):
    distribution = distribution_of(2, counted=counted, factor=np.array([1.0, 2.0]))
    paths = distribution.draw(np.full((2, 3), mean), 20_000, seed=1)
    variance = (mean + 0.1 * mean**2) * np.array([1.0, 2.0])
    np.testing.assert_allclose(paths.mean(axis=1), mean, rtol=0.02, atol=0.005)
    np.testing.assert_allclose(
        paths.var(axis=1), np.repeat(variance[:, None], 3, axis=1), rtol=0.06
    )
    assert counted == bool((paths == np.round(paths)).all())


def test_quantiles_are_those_of_scipy():
    levels = (np.arange(999) + 0.5) / 999
    counts = np.sort(distribution_of(1).draw(np.array([[7.0]]), 999)[0, :, 0])
    variance = 7.0 + 4.9
    np.testing.assert_array_equal(counts, nbinom(49 / 4.9, 7.0 / variance).ppf(levels))
    for mean, wide, close in ((3.0, 0.3, 1e-6), (60.0, 0.02, 5e-3)):  # skewed, or by a cube
        distribution = distribution_of(1, counted=False, linear=0.0, quadratic=wide)
        amounts = np.sort(distribution.draw(np.array([[mean]]), 999)[0, :, 0])
        exact = gamma(1 / wide, scale=mean * wide).ppf(levels)
        np.testing.assert_allclose(amounts, exact, rtol=close)


def test_periods_hang_together_as_much_as_they_are_told_to():
    distribution = distribution_of(
        1, counted=False, linear=0.0, quadratic=0.01, common=0.3, decay=0.6
    )
    paths = distribution.draw(np.full((1, 5), 100.0), 20_000)
    lag = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    expected = np.where(lag == 0, 1.0, 0.3 + 0.7 * 0.6**lag)
    np.testing.assert_allclose(np.corrcoef(paths[0].T), expected, atol=0.03)


def forecasts(seed, common, decay, counted=True, n_series=150, n_origins=30, n_periods=6):
    """Forecasts that are right on average, and demand with scores that hang together."""
    generator = np.random.default_rng(seed)
    mean = np.repeat(generator.gamma(2.0, 20.0, (n_series, n_origins, 1)) + 2.0, n_periods, axis=2)
    lag = np.abs(np.subtract.outer(np.arange(n_periods), np.arange(n_periods)))
    matrix = np.where(lag == 0, 1.0, common + (1 - common) * float(decay) ** lag)
    scores = generator.standard_normal(mean.shape) @ np.linalg.cholesky(matrix).T
    variance = mean + 0.1 * mean**2 if counted else 0.1 * mean**2
    if counted:
        return mean, nbinom(mean**2 / (variance - mean), mean / variance).ppf(norm.cdf(scores))
    return mean, gamma(mean**2 / variance, scale=variance / mean).ppf(norm.cdf(scores))


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize(("common", "decay"), [(0.0, 0.0), (0.3, 0.0), (0.0, 0.6), (0.3, 0.5)])
def test_variance_and_dependence_are_learned(counted, common, decay):
    distribution = DemandDistribution.fit(*forecasts(0, common, decay, counted), counted=counted)
    assert distribution.quadratic == pytest.approx(0.1, abs=0.03)
    assert distribution.linear == pytest.approx(1.0 if counted else 0.0, abs=0.6)
    for lag in (1, 3, 5):
        expected = common + (1 - common) * float(decay) ** lag
        found = distribution.common + (1 - distribution.common) * distribution.decay**lag
        assert found == pytest.approx(expected, abs=0.08)
    np.testing.assert_allclose(distribution.factor, 1.0, atol=0.3)
    np.testing.assert_allclose(distribution.growth, 1.0, atol=0.1)


@pytest.mark.parametrize("counted", [True, False])
def test_closed_days_say_nothing_of_the_spread_of_the_others(counted):
    mean, came = forecasts(1, 0.0, 0.0, counted)
    closed = np.random.default_rng(2).random(came.shape) < 0.05
    spread = DemandDistribution.fit(mean, np.where(closed, 0.0, came), counted=counted)
    assert spread.quadratic == pytest.approx(0.1, abs=0.03)
    assert spread.linear == pytest.approx(1.0 if counted else 0.0, abs=0.8)
    series, period = np.zeros(1, int), np.zeros(1, int)
    order = spread.quantile(np.array([40.0]), series, period, 0.9)
    variance = 200.0 if counted else 160.0
    exact = gamma(1600 / variance, scale=variance / 40).ppf(0.9)
    assert order[0] == pytest.approx(exact, rel=0.07)


@pytest.mark.parametrize("seed", range(3))
def test_a_level_that_was_missed_once_does_not_shift_every_order(seed):
    """Forecasts of two months that missed one season are one error, not a thousand."""
    mean, came = forecasts(seed, 0.0, 0.0, n_series=6, n_origins=30, n_periods=28)
    late = DemandDistribution.fit(mean, np.round(1.15 * came), counted=True)
    middle = late.quantile(np.array([50.0]), np.zeros(1, int), np.zeros(1, int), 0.5)
    assert 45 <= middle[0] <= 51


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: DemandDistribution.fit(np.ones((2, 3)), np.ones((2, 3)), counted=True),
            "expected and truth must have the same shape (n_series, n_origins, n_periods)",
        ),
        (
            lambda: DemandDistribution.fit(np.ones((2, 3, 1)), np.ones((2, 3, 2)), counted=True),
            "expected and truth must have the same shape (n_series, n_origins, n_periods)",
        ),
        (
            lambda: DemandDistribution(1.0, 0.0, np.ones(2), np.ones(1)).draw(np.ones((3, 4))),
            "mean must have a row for each of 2 series and a column for each period, got shape",
        ),
    ],
)
def test_bad_input_of_distributions_gets_one_sentence(call, sentence):
    with pytest.raises(InvalidInput) as caught:
        call()
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("counted", [True, False])
def test_quantiles_are_the_least_values_that_reach_their_level(counted):
    generator = np.random.default_rng(4)
    mean = np.repeat(np.geomspace(0.3, 300, 60), 200).reshape(60, 40, 5)
    drawn = generator.negative_binomial(4, 4 / (4 + mean))
    drawn = drawn if counted else drawn * generator.uniform(0.8, 1.2, drawn.shape)
    spread = DemandDistribution.fit(mean, drawn, counted=counted)
    series, period = np.arange(60), np.arange(60) % 5
    for level in (0.3, 0.75, 0.97):
        value = spread.quantile(mean[:, 0, 0], series, period, level)
        reached = spread.reached(value, mean[:, 0, 0], series, period)
        if counted:
            below = spread.reached(value - 1.0, mean[:, 0, 0], series, period)
            assert (reached >= level - 1e-9).all()
            assert (np.where(value > 0, below, 0.0) < level + 1e-9).all()
        else:
            np.testing.assert_allclose(reached, level, atol=1e-6)


def test_counts_that_vary_less_than_chance_have_orders_near_what_is_expected():
    """A Poisson distribution of mean 20 has 26 at a level of .9; these counts are 19 to 21."""
    came = np.random.default_rng(5).integers(19, 22, (10, 40, 4)).astype(float)
    spread = DemandDistribution.fit(np.full(came.shape, 20.0), came, counted=True)
    order = spread.quantile(np.array([20.0]), np.zeros(1, int), np.zeros(1, int), 0.9)
    assert order[0] == 21.0
    assert spread.reached(order, np.array([20.0]), np.zeros(1, int), np.zeros(1, int))[0] >= 0.9
    drawn = spread.draw(np.full((10, 4), 20.0), 200)
    assert drawn.std() == pytest.approx(came.std(), rel=0.2)
