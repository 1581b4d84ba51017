"""Quantiles of truth and observation: against simulation of min(truth, order)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from unmet.bands.latent.families import FAMILIES
from unmet.bands.latent.fitting import LatentModel, Located
from unmet.bands.latent.likelihood import Orders
from unmet.bands.latent.prediction import Prediction, orders_of_known

SIZE = 60_000
SHAPES = {"student": 0.4, "skewed": 0.2, "skewed_left": 0.2}
CONTINUOUS = [name for name, family in FAMILIES.items() if family.space != "counts"]
NOISY = Orders(0.3, 0.5)
MIXED = Orders(-0.2, 0.3, 0.4)
LEVELS = [0.07, 0.35, 0.62, 0.81, 0.95]


def answer_of(name, orders=None, *, unit=1.0, floor=None, log_scale=-0.4):
    """One location and a constant scale, in parameters that `orders` overrules."""
    model = LatentModel(FAMILIES[name], "absent", 1)
    parameters = np.zeros(model.slices.size)
    parameters[model.slices.scale] = log_scale
    parameters[model.slices.shape] = SHAPES.get(name, 0.0)
    return Prediction(model, parameters, unit, floor, orders)


def one_row(location=1.2, log_scale=-0.4, n_rows=1):
    return Located(np.full(n_rows, location), 1.0, np.full(n_rows, log_scale))


def draw(name, generator, location=1.2, log_scale=-0.4):
    """Truths in the space of the family."""
    scale, a = np.exp(log_scale), np.exp(SHAPES.get(name, 0.0))
    if name == "gamma":  # coefficient of variation = scale
        return np.log(generator.gamma(scale**-2, scale**2, SIZE)) + location
    return (
        location
        + scale
        * {
            "normal": lambda: generator.normal(size=SIZE),
            "lognormal": lambda: generator.normal(size=SIZE),
            "logistic": lambda: generator.logistic(size=SIZE),
            "laplace": lambda: generator.laplace(size=SIZE),
            "student": lambda: generator.standard_t(2.0 + a, size=SIZE),
            "gumbel": lambda: generator.gumbel(size=SIZE),
            "skewed_left": lambda: np.sqrt(a) * np.log(generator.gamma(a, 1 / a, size=SIZE)),
            "skewed": lambda: -np.sqrt(a) * np.log(generator.gamma(a, 1 / a, size=SIZE)),
            "weibull": lambda: np.log(generator.exponential(size=SIZE)),
        }[name]()
    )


def is_quantile(found, sample, level):
    """Whether a share `level` of a sample lies below, atoms and four standard errors allowed."""
    slack = 4.0 * np.sqrt(level * (1.0 - level) / sample.size)
    tiny = 1e-9 * max(1.0, abs(found))
    below, reached = np.mean(sample < found - tiny), np.mean(sample <= found + tiny)
    return below - slack <= level <= reached + slack


def observations(name, orders, seed):
    generator = np.random.default_rng(seed)
    truth = draw(name, generator)
    order = 1.2 + np.exp(-0.4) * (orders.level + orders.spread * generator.normal(size=SIZE))
    order[generator.random(SIZE) < orders.unlimited] = np.inf
    seen = np.minimum(truth, order)
    if FAMILIES[name].space == "log":
        return np.exp(truth), np.exp(seen)
    return truth, seen


@pytest.mark.parametrize("orders", [NOISY, MIXED])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_quantiles_are_those_of_simulated_truths_and_observations(name, orders):
    truth, seen = observations(name, orders, seed=1)
    prediction, unit = answer_of(name, orders, unit=3.0), 3.0
    for level in LEVELS:
        latent = prediction.truth_quantile(one_row(), level)[0]
        observed = prediction.observed_quantile(one_row(), level)[0]
        assert is_quantile(latent, unit * truth, level)
        assert is_quantile(observed, unit * seen, level)
        assert observed <= latent


@pytest.mark.parametrize("name", ["normal", "gamma"])
@pytest.mark.parametrize("unlimited", [0.0, 0.25])
def test_known_orders_cut_quantiles_where_they_stand(name, unlimited):
    generator = np.random.default_rng(2)
    truth = draw(name, generator)
    truth = np.exp(truth) if FAMILIES[name].space == "log" else truth
    order = float(np.quantile(truth, 0.55))
    seen = np.where(generator.random(SIZE) < unlimited, truth, np.minimum(truth, order))
    prediction = answer_of(name)
    for level in LEVELS:
        found = prediction.observed_quantile(one_row(), level, np.array([order]), unlimited)[0]
        assert is_quantile(found, seen, level)
        if unlimited == 0.0 and level > 0.6:
            assert found == order


def test_without_orders_truth_and_observation_are_the_same():
    prediction = answer_of("skewed", None)
    for level in LEVELS:
        np.testing.assert_array_equal(
            prediction.observed_quantile(one_row(), level),
            prediction.truth_quantile(one_row(), level),
        )


@pytest.mark.parametrize("name", CONTINUOUS)
@given(location=st.floats(-2.0, 3.0), log_scale=st.floats(-2.0, 0.5), level=st.floats(0.001, 0.999))
@settings(max_examples=8)
def test_below_undoes_the_quantile(name, location, log_scale, level):
    prediction = answer_of(name, unit=7.0, log_scale=log_scale)
    rows = one_row(location, log_scale)
    value = prediction.truth_quantile(rows, level)
    assert prediction.below(rows, value)[0] == pytest.approx(level, rel=1e-7)


def test_below_of_counts_stands_in_the_middle_of_a_step():
    prediction = answer_of("negative_binomial", unit=6.0, log_scale=-0.5)
    rows = one_row(np.log(4.0), -0.5, 8)
    size = np.exp(1.0)
    distribution = stats.nbinom(size, size / (size + 4.0))
    count = np.arange(8)
    found = prediction.below(rows, 6.0 * count)
    assert np.all(found > distribution.cdf(count - 1))
    assert np.all(found < distribution.cdf(count))


@pytest.mark.parametrize("policy", [None, NOISY])
def test_counts_are_quantiles_of_simulated_counts_in_lots(policy):
    generator = np.random.default_rng(3)
    size = np.exp(1.0)
    truth = generator.negative_binomial(size, size / (size + 9.0), SIZE).astype(float)
    seen = truth
    if policy is not None:
        order = np.log(9.0) + policy.level + policy.spread * generator.normal(size=SIZE)
        seen = np.minimum(truth, np.round(np.exp(order)))
    prediction = answer_of("negative_binomial", policy, unit=6.0, log_scale=-0.5)
    rows = one_row(np.log(9.0), -0.5)
    for level in LEVELS:
        assert is_quantile(prediction.truth_quantile(rows, level)[0], 6.0 * truth, level)
        assert is_quantile(prediction.observed_quantile(rows, level)[0], 6.0 * seen, level)


@pytest.mark.parametrize("name", ["logistic", "gamma", "student"])
def test_a_level_of_its_own_for_each_row(name):
    prediction = answer_of(name, MIXED, unit=2.0)
    level = np.array([0.9, 0.2, 0.9, 0.55, 0.7])
    location = np.linspace(0.0, 2.0, 5)
    rows = Located(location, 1.0, np.full(5, -0.4))
    for quantile in (prediction.truth_quantile, prediction.observed_quantile):
        found = quantile(rows, level)
        for row in range(5):
            alone = quantile(one_row(location[row]), float(level[row]))
            assert found[row] == pytest.approx(alone[0], rel=1e-9)


def test_a_gamma_whose_scale_varies_has_a_shape_in_each_row():
    prediction = answer_of("gamma", NOISY)
    log_scale = np.linspace(-1.5, 0.2, 12)
    rows = Located(np.full(12, 1.2), 1.0, log_scale)
    for level in (0.3, 0.9, np.where(np.arange(12) % 2, 0.3, 0.8)):
        found = prediction.observed_quantile(rows, level)
        levels = np.broadcast_to(level, 12)
        alone = [
            prediction.observed_quantile(one_row(1.2, each), float(own))[0]
            for each, own in zip(log_scale, levels, strict=True)
        ]
        np.testing.assert_allclose(found, alone, rtol=3e-3)


@pytest.mark.parametrize("orders", [NOISY, MIXED])
@pytest.mark.parametrize("name", ["normal", "gumbel", "gamma", "negative_binomial"])
def test_observations_are_censored_as_often_as_simulated_ones(name, orders):
    """Calibrated: among observations of about the same value, and over all of them."""
    generator = np.random.default_rng(7)
    if name == "negative_binomial":
        size, log_scale, location = np.exp(1.0), -0.5, np.log(9.0)
        truth = generator.negative_binomial(size, size / (size + 9.0), SIZE).astype(float)
        order = location + orders.level + orders.spread * generator.normal(size=SIZE)
        order = np.round(np.exp(order))
    else:
        log_scale, location = -0.4, 1.2
        truth = draw(name, generator)
        order = location + np.exp(log_scale) * (
            orders.level + orders.spread * generator.normal(size=SIZE)
        )
        if FAMILIES[name].space == "log":
            truth, order = np.exp(truth), np.exp(order)
    order[generator.random(SIZE) < orders.unlimited] = np.inf
    seen = np.minimum(truth, order)
    censored = truth >= order
    prediction = answer_of(name, orders, log_scale=log_scale)
    found = prediction.censored_probability(one_row(location, log_scale, SIZE), seen)
    assert np.all((found >= 0) & (found <= 1 + 1e-12))
    for part in np.array_split(np.argsort(seen), 12):
        slack = 4.5 * np.sqrt(0.25 / part.size)
        assert found[part].mean() == pytest.approx(censored[part].mean(), abs=slack)


def test_without_orders_nothing_is_censored():
    found = answer_of("normal").censored_probability(one_row(n_rows=3), np.arange(3.0))
    np.testing.assert_array_equal(found, 0.0)


def test_nothing_is_below_the_floor():
    prediction = answer_of("normal", NOISY, unit=2.0, floor=1.0)
    rows = Located(np.array([-3.0, 5.0]), 1.0, np.zeros(2))
    for quantile in (prediction.truth_quantile, prediction.observed_quantile):
        low, high = quantile(rows, 0.3)
        assert low == 1.0
        assert high > 1.0


@pytest.mark.parametrize("name", CONTINUOUS)
def test_hardly_binding_and_always_binding_orders(name):
    rows = one_row()
    for level in (0.1, 0.93):
        free = answer_of(name).truth_quantile(rows, level)
        never = answer_of(name, Orders(1e4, 1.0)).observed_quantile(rows, level)
        np.testing.assert_allclose(never, free, rtol=1e-7)
        # the truth so far up that only orders are seen: a normal quantile of theirs
        low = FAMILIES[name].quantile(1e-12, answer_of(name)._shape(rows))
        orders = Orders(float(np.ravel(low)[0]) - 60.0, 0.5)
        always = answer_of(name, orders).observed_quantile(rows, level)
        order = 1.2 + np.exp(-0.4) * (orders.level + 0.5 * stats.norm.ppf(level))
        expected = np.exp(order) if FAMILIES[name].space == "log" else order
        np.testing.assert_allclose(always, expected, rtol=1e-6)


def test_an_answer_locates_rows_by_its_parameters():
    model = LatentModel(FAMILIES["normal"], "absent", 2, 1)
    prediction = Prediction(model, np.array([1.0, 2.0, 0.5, -0.3]), 1.0, None, None)
    basis = np.array([[1.0, 0.0], [1.0, 3.0]])
    rows = prediction.model.locate(prediction.parameters, basis, np.array([[0.0], [2.0]]))
    np.testing.assert_allclose(rows.location, [1.0, 7.0])
    np.testing.assert_allclose(rows.log_scale, [0.5, -0.1])
    np.testing.assert_allclose(prediction.truth_quantile(rows, 0.5), [1.0, 7.0])


def known_orders(n_rows, seed):
    generator = np.random.default_rng(seed)
    truth, order = generator.normal(size=n_rows), 0.4 + 0.6 * generator.normal(size=n_rows)
    return np.minimum(truth, order), truth > order


def test_orders_of_known_rows_maximise_their_likelihood():
    """By SciPy: a normal seen where orders bind, and known to lie above elsewhere."""
    seen, bound = known_orders(700, 4)
    found = orders_of_known(seen, bound, np.ones(700))

    def loss(parameters):
        distribution = stats.norm(parameters[0], np.exp(parameters[1]))
        return -np.where(bound, distribution.logpdf(seen), distribution.logsf(seen)).sum()

    best = optimize.minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-6})
    assert found.level == pytest.approx(best.x[0], abs=1e-3)
    assert found.spread == pytest.approx(np.exp(best.x[1]), abs=1e-3)
    assert found.level == pytest.approx(0.4, abs=0.15)
    assert found.unlimited == 0.0


def test_weights_of_known_rows_are_repetitions():
    seen, bound = known_orders(200, 5)
    count = np.random.default_rng(6).integers(0, 4, 200)
    weighted = orders_of_known(seen, bound, count.astype(float))
    repeated = orders_of_known(
        np.repeat(seen, count), np.repeat(bound, count), np.ones(count.sum())
    )
    np.testing.assert_allclose(weighted, repeated, atol=2e-3)
