"""The interior point itself: certificate, starts, flat optima, extreme levels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmet.solvers.exact.direct import scale_of
from unmet.solvers.exact.interior_point import (
    GroupedKinks,
    KinkOrder,
    Operator,
    StackedKinks,
    factorise,
    solve_hinges,
)
from unmet.solvers.problem import Hinges


def random_problem(seed, n=60, p=3, level=0.8, band=0.0):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.standard_normal((n, p - 1)), np.ones(n)])
    s = rows @ rng.standard_normal(p) + rng.standard_normal(n)
    weight = rng.uniform(0.2, 2.0, n)
    weight /= weight.sum()
    if not band:
        return Operator(rows, KinkOrder()), Hinges(s, level * weight, (1 - level) * weight, weight)
    zero = np.zeros(n)
    hinges = Hinges(
        np.concatenate([s + band, s]),
        np.concatenate([zero, level * weight]),
        np.concatenate([(1 - level) * weight, zero]),
        np.concatenate([weight, weight]),
    )
    return Operator(rows, StackedKinks(2, n)), hinges


def solve(operator, hinges, start, **options):
    return solve_hinges(operator, hinges, start, scale_of(hinges, 1e-9), **options)


def value(operator, hinges, theta):
    residual = operator.decisions(theta) - hinges.position
    return float(np.where(residual > 0, hinges.above, -hinges.below) @ residual)


@given(
    seed=st.integers(0, 10_000),
    level=st.sampled_from([0.02, 0.2, 0.65, 0.9, 0.99]),
    band=st.sampled_from([0.0, 0.3, 2.0]),
)
def test_no_other_point_is_below_the_certificate(seed, level, band):
    operator, hinges = random_problem(seed, level=level, band=band)
    found = solve(operator, hinges, np.zeros(3))
    assert found.status == "optimal"
    assert found.objective == pytest.approx(value(operator, hinges, found.theta), rel=1e-12)
    rng = np.random.default_rng(seed + 1)
    floor = found.objective - found.gap - found.residual
    for size in (1e-6, 1e-3, 0.1, 1.0):
        for _ in range(20):
            other = found.theta + size * rng.standard_normal(3)
            assert value(operator, hinges, other) >= floor * (1 - 1e-12)


@given(level=st.sampled_from([0.1, 0.35, 0.8]), seed=st.integers(0, 1000))
@settings(max_examples=20)
def test_intercept_only_is_a_weighted_quantile(level, seed):
    rng = np.random.default_rng(seed)
    s = rng.standard_normal(41)
    weight = rng.uniform(0.5, 1.5, 41)
    operator = Operator(np.ones((41, 1)), KinkOrder())
    hinges = Hinges(s, level * weight, (1 - level) * weight, weight)
    found = solve(operator, hinges, np.zeros(1))
    candidates = [value(operator, hinges, np.array([x])) for x in s]
    assert found.objective == pytest.approx(min(candidates), rel=1e-9)


def test_optimum_is_the_same_from_any_start():
    operator, hinges = random_problem(3, level=0.7)
    near = solve(operator, hinges, np.zeros(3))
    far = solve(operator, hinges, np.array([1e4, -1e4, 1e3]))
    assert far.objective == pytest.approx(near.objective, rel=2e-9)


@pytest.mark.parametrize("level", [0.001, 0.999])
@pytest.mark.parametrize("band", [0.0, 0.5])
def test_extreme_levels_need_few_iterations(level, band):
    operator, hinges = random_problem(5, n=400, level=level, band=band)
    found = solve(operator, hinges, np.zeros(3))
    assert found.status == "optimal"
    assert found.iterations <= 60


def test_very_uneven_weights_need_few_iterations():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.standard_normal((500, 4)), np.ones(500)])
    s = rows @ rng.standard_normal(5) + rng.standard_normal(500)
    weight = 10.0 ** rng.uniform(-8, 0, 500)
    hinges = Hinges(s, 0.85 * weight, 0.15 * weight, weight)
    found = solve(Operator(rows, KinkOrder()), hinges, np.zeros(5))
    assert found.status == "optimal"
    assert found.iterations <= 40


def test_linear_term_and_ridge_against_a_grid():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((30, 1))
    s = 2 * x[:, 0] + rng.standard_normal(30)
    weight = np.full(30, 1 / 30)
    hinges = Hinges(s, 0.8 * weight, 0.2 * weight, weight)
    operator = Operator(x, KinkOrder())
    linear, ridge = np.array([0.05]), np.array([0.3])
    found = solve(operator, hinges, np.zeros(1), linear=linear, ridge=ridge)
    grid = np.linspace(-1, 4, 200_001)
    residual = np.outer(grid, x[:, 0]) - s
    cost = np.where(residual > 0, 0.2, -0.8) * residual
    total = cost.mean(axis=1) + 0.05 * grid + 0.15 * grid**2
    assert found.objective <= total.min() + 1e-12
    assert found.objective == pytest.approx(total.min(), rel=1e-7)


def test_unbounded_reduced_problem_is_noticed():
    operator, hinges = random_problem(1)
    found = solve(operator, hinges, np.zeros(3), linear=np.array([5.0, 0, 0]), constant=1.0)
    assert found.status == "unbounded"


def test_leaving_the_trust_region_is_noticed():
    operator, hinges = random_problem(1)
    start = np.array([0.0, 0.0, 100.0])
    found = solve(operator, hinges, start, trust_radius=0.01)
    assert found.status == "unbounded"


def test_iteration_limit_is_reported():
    operator, hinges = random_problem(1)
    found = solve(operator, hinges, np.zeros(3), max_iterations=2)
    assert found.status == "iteration limit"
    assert found.iterations == 2


def test_layouts_agree():
    """The same kinks as stacked blocks and as sorted groups give the same sums."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((7, 3))
    values = rng.standard_normal(14)
    stacked = Operator(rows, StackedKinks(2, 7))
    order = np.argsort(np.tile(np.arange(7), 2), kind="stable")
    row = np.tile(np.arange(7), 2)[order]
    grouped = Operator(rows, GroupedKinks(row, np.arange(0, 14, 2)))
    theta = rng.standard_normal(3)
    np.testing.assert_allclose(stacked.decisions(theta)[order], grouped.decisions(theta))
    np.testing.assert_allclose(stacked.moments(values), grouped.moments(values[order]))
    np.testing.assert_array_equal(stacked.order.rows_of(order), row)
    np.testing.assert_array_equal(grouped.order.rows_of(np.arange(14)), row)


def test_cholesky_survives_singular_zero_and_scaled():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3)) * [1e-8, 1.0, 1e8]
    X = np.column_stack([X, X[:, 0], np.zeros(20)])
    gram = X.T @ X
    target = gram @ np.array([1e8, 1.0, 1e-8, 0.0, 0.0])
    solution = factorise(gram).solve(target)
    np.testing.assert_allclose(gram @ solution, target, rtol=1e-9)
    assert solution[4] == 0.0
