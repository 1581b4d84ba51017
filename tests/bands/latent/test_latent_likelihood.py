"""The likelihood of min(truth, order): densities that sum to one, simulation, differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from unmet.bands.latent.families import FAMILIES
from unmet.bands.latent.fitting import (
    LatentModel,
    LikelihoodProblem,
    objective,
    row_gradients,
    row_values,
)
from unmet.bands.latent.likelihood import (
    CENSORED,
    FLOOR,
    SEEN,
    UNKNOWN,
    Orders,
    RowKinds,
    row_likelihood,
)

SHAPES = {"student": 0.4, "skewed": 0.2, "skewed_left": 0.2, "gamma": 0.7}
CONTINUOUS = [name for name, family in FAMILIES.items() if family.space != "counts"]
ORDERS = [None, Orders(0.4, 0.6), Orders(-0.9, 0.06), Orders(0.7, 0.3, 0.35), Orders(3.5, 2.0, 0.9)]
LOG_SCALE = np.log(1.7)


def values(name, orders, u, kind):
    rows = RowKinds.of(np.full(u.size, kind))
    log_scale = np.full(u.size, LOG_SCALE)
    return row_likelihood(FAMILIES[name], SHAPES.get(name, 0.0), orders, u, log_scale, rows).value


def grid(name, orders, bottom=None):
    """Points fine where the truth or the order may be, and where either bends."""
    levels = 1.0 / (1.0 + np.exp(-np.linspace(-25.0, 25.0, 6_001)))
    parts = [FAMILIES[name].quantile(levels, SHAPES.get(name, 0.0)), np.linspace(-4, 4, 2_001)]
    if orders is not None:
        parts.append(orders.level + orders.spread * np.linspace(-9.0, 9.0, 2_001))
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
    model = LatentModel(FAMILIES[name], "mixture", 1, least_spread=0.0)
    parameters = np.zeros(model.slices.size)
    parameters[model.slices.shape] = SHAPES.get(name, 0.0)
    if FAMILIES[name].tied:
        parameters[model.slices.scale] = -0.5 * SHAPES[name]
    parameters[model.slices.level] = orders.level
    parameters[model.slices.spread] = np.log(orders.spread)
    parameters[model.slices.unlimited] = np.log(orders.unlimited / (1 - orders.unlimited) + 1e-30)
    points = grid(name, orders)
    censored, seen = (mass(name, orders, points, kind) for kind in (CENSORED, SEEN))
    assert censored + seen == pytest.approx(1.0, abs=2e-5)
    # 24 nodes see the kink of the Laplace only roughly
    assert model.share_censored(parameters) == pytest.approx(censored, abs=2e-3)


def draw(name, size, generator):
    """Standardised truths by NumPy's own generators."""
    shape = SHAPES.get(name, 0.0)
    a = np.exp(shape)
    return {
        "normal": lambda: generator.normal(size=size),
        "lognormal": lambda: generator.normal(size=size),
        "logistic": lambda: generator.logistic(size=size),
        "laplace": lambda: generator.laplace(size=size),
        "student": lambda: generator.standard_t(2.0 + a, size=size),
        "gumbel": lambda: generator.gumbel(size=size),
        "weibull": lambda: np.log(generator.exponential(size=size)),
        "gamma": lambda: np.sqrt(a) * np.log(generator.gamma(a, 1 / a, size=size)),
        "skewed_left": lambda: np.sqrt(a) * np.log(generator.gamma(a, 1 / a, size=size)),
        "skewed": lambda: -np.sqrt(a) * np.log(generator.gamma(a, 1 / a, size=size)),
    }[name]()


@pytest.mark.parametrize("orders", [ORDERS[1], ORDERS[3]])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_simulated_observations_follow_the_density(name, orders):
    """Kolmogorov's distance, of all observations and of those that are censored."""
    size, generator = 20_000, np.random.default_rng(11)
    truth = draw(name, size, generator)
    order = orders.level + orders.spread * generator.normal(size=size)
    order[generator.random(size) < orders.unlimited] = np.inf
    seen = np.minimum(truth, order)
    points = grid(name, orders)
    for kind, picked in [(UNKNOWN, seen), (CENSORED, seen[truth > order])]:
        density = np.exp(values(name, orders, points, kind) + LOG_SCALE)
        pieces = 0.5 * (density[1:] + density[:-1]) * np.diff(points)
        below = np.append(0.0, np.cumsum(pieces))
        assert below[-1] == pytest.approx(picked.size / size, abs=4 / np.sqrt(size))
        expected = np.interp(np.sort(picked), points, below / below[-1])
        distance = stats.kstest(expected, "uniform").statistic
        assert distance < 1.95 / np.sqrt(picked.size)  # one in a thousand


@pytest.mark.parametrize("name", CONTINUOUS)
def test_a_floor_that_is_sure_or_impossible_stays_finite(name):
    for orders in ORDERS:
        found = values(name, orders, np.array([-60.0, -20.0, 20.0, 60.0]), FLOOR)
        assert np.isfinite(found).all()
        assert found[-1] == pytest.approx(0.0, abs=0.01)
        assert found[0] < -1.0


def a_problem(name, policy, generator, *, soft=False, imposed=False, n_scale=0, n_rows=23):
    """Rows of every kind, weights, and parameters somewhere near the observations."""
    family = FAMILIES[name]
    basis = np.column_stack([np.ones(n_rows), generator.normal(size=(n_rows, 2))])
    softness = (0.3 if soft else 0.0) if family.space != "linear" else 0.0
    model = LatentModel(family, policy, 3, n_scale, softness=softness, least_spread=0.05)
    kind = generator.choice([UNKNOWN, CENSORED, SEEN, FLOOR], n_rows, p=[0.4, 0.2, 0.2, 0.2])
    point = generator.normal(size=n_rows)
    parameters = 0.4 * generator.normal(size=model.slices.size)
    if softness:
        parameters[0] += 2.0
    if family.space == "counts":
        parameters[0] += 1.0
        kind[kind == FLOOR] = UNKNOWN
        point = generator.poisson(3.0, n_rows).astype(float)
    weight = generator.gamma(2.0, size=n_rows)
    rate = (0.3, 0.02) if imposed else None
    problem = LikelihoodProblem(
        model,
        basis,
        generator.normal(size=(n_rows, n_scale)),
        point,
        RowKinds.of(kind),
        weight / weight.mean(),
        rate,
    )
    return problem, parameters


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
    imposed=st.booleans(),
    n_scale=st.sampled_from([0, 2]),
)
@settings(max_examples=3)
def test_the_gradient_is_the_derivative(name, policy, seed, soft, imposed, n_scale):
    generator = np.random.default_rng(seed)
    problem, parameters = a_problem(
        name, policy, generator, soft=soft, imposed=imposed, n_scale=n_scale
    )
    if name == "laplace":  # it has no slope where an observation is its location
        located = problem.model.locate(parameters, problem.basis, problem.scale_basis)
        assume(np.abs(problem.point - located.location).min() > 1e-3)
    value, gradient = objective(problem, parameters)
    assert np.isfinite(value)
    expected = by_difference(lambda moved: objective(problem, moved)[0], parameters)
    size = np.maximum(1.0, np.abs(expected).max())
    np.testing.assert_allclose(gradient / size, expected / size, rtol=1e-4, atol=3e-5)


@pytest.mark.parametrize("policy", ["absent", "noisy", "mixture"])
@pytest.mark.parametrize("name", FAMILIES)
def test_rows_have_their_own_gradients(name, policy):
    problem, parameters = a_problem(name, policy, np.random.default_rng(5), n_scale=1)
    value, gradient = row_gradients(problem, parameters)
    np.testing.assert_allclose(value, row_values(problem, parameters))
    expected = by_difference(lambda moved: row_values(problem, moved), parameters).T
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-4)
    total, slope = objective(problem, parameters)
    assert total == pytest.approx(-np.average(value, weights=problem.weight))
    np.testing.assert_allclose(slope, -problem.weight @ gradient / value.size, atol=1e-12)


@pytest.mark.parametrize("imposed", [False, True])
@pytest.mark.parametrize("policy", ["absent", "noisy", "mixture"])
def test_integer_weights_are_repeated_rows(policy, imposed):
    generator = np.random.default_rng(8)
    problem, parameters = a_problem("student", policy, generator, imposed=imposed, n_scale=1)
    count = generator.integers(0, 4, problem.point.size)
    repeated = problem.take(np.repeat(np.arange(count.size), count))
    weighted = LikelihoodProblem(**{**vars(problem), "weight": count / count.mean()})
    plain = LikelihoodProblem(**{**vars(repeated), "weight": np.ones(repeated.point.size)})
    for found, expected in zip(
        objective(weighted, parameters), objective(plain, parameters), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_an_imposed_rate_costs_its_squared_miss_in_slacks():
    problem, parameters = a_problem("normal", "noisy", np.random.default_rng(2), imposed=True)
    free = LikelihoodProblem(**{**vars(problem), "rate": None})
    share = problem.model.share_censored(parameters)
    cost = objective(problem, parameters)[0] - objective(free, parameters)[0]
    assert cost == pytest.approx(((share - 0.3) / 0.02) ** 2 / 2)
    absent, parameters = a_problem("normal", "absent", np.random.default_rng(2), imposed=True)
    assert not absent.imposes


def test_unknown_rows_count_as_seen_where_there_are_no_orders():
    u = np.linspace(-2.0, 2.0, 9)
    np.testing.assert_array_equal(
        values("gumbel", None, u, UNKNOWN), values("gumbel", None, u, SEEN)
    )


def test_an_additive_location_is_the_logarithm_of_a_line_that_bends_towards_zero():
    model = LatentModel(FAMILIES["gamma"], "absent", 2, softness=0.1)
    line = np.array([30.0, 3.0, 0.5, 0.0, -0.5, -40.0])
    basis = np.column_stack([np.ones(6), line])
    located = model.locate(np.array([0.0, 1.0, 0.2]), basis, np.empty((6, 0)))
    level = np.exp(located.location)
    np.testing.assert_allclose(level[:2], line[:2], rtol=1e-9)
    assert np.all(np.diff(level) <= 0)
    assert np.all(level > 0)
    np.testing.assert_allclose(located.log_scale, 0.2)
