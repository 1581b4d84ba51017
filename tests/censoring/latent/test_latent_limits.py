"""Rows whose truth has limits: probabilities of scipy, differences, and what must follow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from unmet.censoring.latent.families import FAMILIES
from unmet.censoring.latent.likelihood import (
    BELOW,
    BETWEEN,
    CENSORED,
    SEEN,
    LatentModel,
    Problem,
    maximise,
    row_likelihood,
)

SHAPES = {"student": 0.4, "skewed": 0.2, "skewed_left": 0.2, "gamma": 0.7}
CONTINUOUS = [name for name, family in FAMILIES.items() if family.space != "counts"]
DISTRIBUTIONS = {
    "normal": stats.norm(),
    "logistic": stats.logistic(),
    "laplace": stats.laplace(),
    "student": stats.t(2.0 + np.exp(SHAPES["student"])),
    "gumbel": stats.gumbel_r(),
    "weibull": stats.gumbel_l(),
}


def likelihood(name, u, kind, width=None, log_scale=0.0):
    scale, kinds = np.full(u.size, log_scale), np.full(u.size, kind)
    return row_likelihood(FAMILIES[name], SHAPES.get(name, 0.0), None, u, scale, kinds, width)[0]


def mixed_problem(name, seed, n_rows=60, width=0.8):
    """Problem with all four kinds of rows, limits of very different widths among them."""
    generator = np.random.default_rng(seed)
    family = FAMILIES[name]
    basis = np.column_stack([np.ones(n_rows), generator.normal(size=(n_rows, 2))])
    scale_basis = basis[:, 1:2]
    kind = generator.choice([SEEN, CENSORED, BELOW, BETWEEN], size=n_rows)
    spread = width * 10.0 ** generator.uniform(-7, 1, size=n_rows)
    point = generator.normal(size=n_rows)
    width = np.where(kind == BETWEEN, spread, 0.0)
    model = LatentModel(family, "absent", n_location=3, n_scale=1)
    weight = generator.uniform(0.5, 1.5, size=n_rows)
    parameters = generator.normal(scale=0.3, size=model.size)
    return Problem(model, basis, scale_basis, point, kind, weight, width), parameters


@pytest.mark.parametrize("name", sorted(DISTRIBUTIONS))
@pytest.mark.parametrize("width", [1e-8, 1e-3, 0.5, 6.0])
def test_the_probability_between_two_limits_is_that_of_scipy(name, width):
    u = np.array([-6.0, -2.0, -0.3, 0.0, 1.1, 3.0, 6.0])
    distribution = DISTRIBUTIONS[name]
    found = np.exp(likelihood(name, u, BETWEEN, np.full(u.size, width)))
    expected = np.array([integrate.quad(distribution.pdf, a, a + width, epsabs=0)[0] for a in u])
    assert found == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_far_out_limits_keep_their_digits(name, side):
    """Their probability is tiny, not nothing: next to each other they still compare."""
    at = np.array([side * 9.0])
    together = likelihood(name, at, BETWEEN, np.array([0.4]))
    parts = [likelihood(name, at + 0.1 * step, BETWEEN, np.array([0.1])) for step in range(4)]
    assert np.isfinite(together).all()
    assert together == pytest.approx(np.logaddexp.reduce(parts), rel=1e-9)


@pytest.mark.parametrize("name", CONTINUOUS)
@pytest.mark.parametrize("seed", [0, 1])
def test_gradients_are_those_of_differences(name, seed):
    problem, here = mixed_problem(name, seed)
    _, gradient = problem.objective(here)
    step = 1e-6
    for place in range(here.size):
        move = np.zeros(here.size)
        move[place] = step
        ends = [problem.objective(here + sign * move)[0] for sign in (1.0, -1.0)]
        assert gradient[place] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=2e-4)


@given(
    st.sampled_from(CONTINUOUS),
    st.floats(-6, 6),
    st.floats(1e-9, 5),
    st.floats(0, 3),
    st.floats(0, 3),
)
def test_wider_limits_are_never_less_likely(name, u, width, down, up):
    inner = likelihood(name, np.array([u]), BETWEEN, np.array([width]))[0]
    outer = likelihood(name, np.array([u - down]), BETWEEN, np.array([width + down + up]))[0]
    above = likelihood(name, np.array([u - down]), CENSORED)[0]
    below = likelihood(name, np.array([u + width + up]), BELOW)[0]
    slack = 1e-9 * max(1.0, abs(inner))
    assert inner <= outer + slack
    assert inner <= above + slack
    assert inner <= below + slack


def test_the_maximum_is_found_where_scipy_finds_it():
    """Current status data: the probit of an independent optimiser."""
    from scipy import optimize

    generator = np.random.default_rng(5)
    n_rows = 400
    x = generator.normal(size=n_rows)
    price = generator.uniform(-2, 3, size=n_rows)
    taken = 0.5 + 0.8 * x + 0.9 * generator.normal(size=n_rows) >= price
    kind = np.where(taken, CENSORED, BELOW)
    model = LatentModel(FAMILIES["normal"], "absent", n_location=2)
    basis = np.column_stack([np.ones(n_rows), x])
    problem = Problem(model, basis, np.empty((n_rows, 0)), price, kind, np.ones(n_rows))
    found, climbed = maximise(problem, np.zeros(3), rounds=30, tolerance=1e-9)

    def minus(parameters):
        z = (price - basis @ parameters[:2]) / np.exp(parameters[2])
        return -np.where(taken, stats.norm.logsf(z), stats.norm.logcdf(z)).sum()

    reference = optimize.minimize(minus, np.zeros(3), method="Nelder-Mead", tol=1e-10)
    assert n_rows * climbed == pytest.approx(-reference.fun, abs=1e-6)
    assert found == pytest.approx(reference.x, abs=1e-4)
