"""Quantiles of truth and observation: against simulation of min(truth, order)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from unmet.censoring.latent.families import FAMILIES
from unmet.censoring.latent.fitting import LatentModel, Located
from unmet.censoring.latent.likelihood import Orders
from unmet.censoring.latent.prediction import Prediction, orders_of_known

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


@pytest.mark.parametrize("name", CONTINUOUS)
@given(location=st.floats(-2.0, 3.0), log_scale=st.floats(-2.0, 0.5), level=st.floats(0.001, 0.999))
@settings(max_examples=8)
def test_below_undoes_the_quantile(name, location, log_scale, level):
    prediction = answer_of(name, unit=7.0, log_scale=log_scale)
    rows = one_row(location, log_scale)
    value = prediction.truth_quantile(rows, level)
    assert prediction.below(rows, value)[0] == pytest.approx(level, rel=1e-7)


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
