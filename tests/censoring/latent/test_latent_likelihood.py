"""The likelihood of min(truth, order): densities that sum to one, simulation, differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from unmet.censoring.latent.families import FAMILIES
from unmet.censoring.latent.likelihood import (
    CENSORED,
    FLOOR,
    SEEN,
    UNKNOWN,
    LatentModel,
    Problem,
    _parameters,
    row_likelihood,
)

SHAPES = {"student": 0.4, "skewed": 0.2, "skewed_left": 0.2, "gamma": 0.7}
CONTINUOUS = [name for name, family in FAMILIES.items() if family.space != "counts"]
ORDERS = [None, (0.4, 0.6, 0.0), (-0.9, 0.06, 0.0), (0.7, 0.3, 0.35), (3.5, 2.0, 0.9)]
LOG_SCALE = np.log(1.7)


def values(name, orders, u, kind):
    log_scale, kinds = np.full(u.size, LOG_SCALE), np.full(u.size, kind)
    return row_likelihood(FAMILIES[name], SHAPES.get(name, 0.0), orders, u, log_scale, kinds)[0]


def grid(name, orders, bottom=None):
    """Points fine where the truth or the order may be, and where either bends."""
    levels = 1.0 / (1.0 + np.exp(-np.linspace(-25.0, 25.0, 6_001)))
    parts = [FAMILIES[name].quantile(levels, SHAPES.get(name, 0.0)), np.linspace(-4, 4, 2_001)]
    if orders is not None:
        parts.append(orders[0] + orders[1] * np.linspace(-9.0, 9.0, 2_001))
    points = np.unique(np.concatenate(parts))
    return points if bottom is None else np.append(bottom, points[points > bottom])


def mass(name, orders, u, kind):
    """Integral over observations in units of the scale's own units."""
    return np.trapezoid(np.exp(values(name, orders, u, kind)), u) * np.exp(LOG_SCALE)


@pytest.mark.parametrize("orders", ORDERS)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_the_density_of_an_observation_integrates_to_one(name, orders):
    assert mass(name, orders, grid(name, orders), UNKNOWN) == pytest.approx(1.0, abs=2e-5)


@pytest.mark.parametrize("orders", ORDERS)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_the_floor_holds_the_mass_below_it(name, orders):
    bottom = -0.7
    on_it = np.exp(values(name, orders, np.array([bottom]), FLOOR)[0])
    above = mass(name, orders, grid(name, orders, bottom), UNKNOWN)
    assert 0.01 < on_it < 0.9999
    assert on_it + above == pytest.approx(1.0, abs=2e-5)


@pytest.mark.parametrize("orders", ORDERS[1:])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_what_is_censored_integrates_to_the_share_censored(name, orders):
    model = LatentModel(FAMILIES[name], "mixture", least_spread=0.0)
    parameters, (level, spread, unlimited) = np.zeros(model.size), orders
    parameters[model.slices["shape"]] = SHAPES.get(name, 0.0)
    if FAMILIES[name].tied:
        parameters[model.slices["scale"]] = -0.5 * SHAPES[name]
    parameters[-3:] = level, np.log(spread), np.log(unlimited / (1 - unlimited) + 1e-30)
    points = grid(name, orders)
    censored, seen = (mass(name, orders, points, kind) for kind in (CENSORED, SEEN))
    assert censored + seen == pytest.approx(1.0, abs=2e-5)
    # 24 nodes see the kink of the Laplace only roughly
    assert model.share_censored(parameters) == pytest.approx(censored, abs=2e-3)


def a_problem(name, policy, generator, *, soft=False, n_scale=0, n_rows=23):
    """Rows of every kind, weights, and parameters somewhere near the observations."""
    family = FAMILIES[name]
    basis = np.column_stack([np.ones(n_rows), generator.normal(size=(n_rows, 2))])
    softness = (0.3 if soft else 0.0) if family.space != "linear" else 0.0
    model = LatentModel(
        family, policy, n_location=3, n_scale=n_scale, softness=softness, least_spread=0.05
    )
    kind = generator.choice([UNKNOWN, CENSORED, SEEN, FLOOR], n_rows, p=[0.4, 0.2, 0.2, 0.2])
    point = generator.normal(size=n_rows)
    parameters = 0.4 * generator.normal(size=model.size)
    if softness:
        parameters[0] += 2.0
    if family.space == "counts":
        parameters[0] += 1.0
        kind[kind == FLOOR] = UNKNOWN
        point = generator.poisson(3.0, n_rows).astype(float)
    weight = generator.gamma(2.0, size=n_rows)
    columns = generator.normal(size=(n_rows, n_scale))
    return Problem(model, basis, columns, point, kind, weight / weight.mean()), parameters


def by_difference(function, parameters, step=1e-5):
    columns = []
    for place in range(parameters.size):
        move = np.zeros(parameters.size)
        move[place] = step
        columns.append((function(parameters + move) - function(parameters - move)) / (2 * step))
    return np.array(columns)


@pytest.mark.parametrize("policy", ["absent", "noisy", "mixture"])
@pytest.mark.parametrize("name", FAMILIES)
@given(
    seed=st.integers(0, 10**6),
    soft=st.booleans(),
    n_scale=st.sampled_from([0, 2]),
)
@settings(max_examples=3)
def test_the_gradient_is_the_derivative(name, policy, seed, soft, n_scale):
    generator = np.random.default_rng(seed)
    problem, parameters = a_problem(name, policy, generator, soft=soft, n_scale=n_scale)
    if name == "laplace":  # it has no slope where an observation is its location
        assume(np.abs(problem.residual(parameters)[0]).min() > 1e-3)
    value, gradient = problem.objective(parameters)
    assert np.isfinite(value)
    expected = by_difference(lambda moved: problem.objective(moved)[0], parameters)
    size = np.maximum(1.0, np.abs(expected).max())
    np.testing.assert_allclose(gradient / size, expected / size, rtol=1e-4, atol=3e-5)


@pytest.mark.parametrize("policy", ["absent", "noisy", "mixture"])
def test_integer_weights_are_repeated_rows(policy):
    generator = np.random.default_rng(8)
    problem, parameters = a_problem("student", policy, generator, n_scale=1)
    count = generator.integers(0, 4, problem.point.size)
    repeated = problem.take(np.repeat(np.arange(count.size), count))
    weighted = replace(problem, weight=count / count.mean())
    plain = replace(repeated, weight=np.ones(repeated.point.size))
    for found, expected in zip(
        weighted.objective(parameters), plain.objective(parameters), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("name", ["normal", "student", "gamma", "negative_binomial"])
@pytest.mark.parametrize("policy", ["noisy", "mixture"])
def test_an_imposed_rate_is_met_on_the_way_and_the_slope_follows_it(name, policy):
    problem, parameters = a_problem(name, policy, np.random.default_rng(3), n_scale=1)
    problem = replace(problem, rate=0.2)
    place = problem.model.slices["level"].start
    here = np.delete(parameters, place)
    found, along = _parameters(problem, here)
    assert problem.model.share_censored(found) == pytest.approx(0.2, abs=1e-7)
    expected = by_difference(lambda moved: _parameters(problem, moved)[0][place], here, 1e-4)
    np.testing.assert_allclose(along, expected, rtol=2e-3, atol=2e-3)
