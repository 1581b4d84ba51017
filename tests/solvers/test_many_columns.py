"""More columns than rows, ridge, working sets, and flat optima."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from small_problems import band_kinks, dense_data

from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem


def test_more_columns_than_rows_interpolates_with_least_norm():
    X, s = dense_data(20, 60)
    problem = HingeProblem(X, band_kinks(s, 0.8))
    found = solve_exact(problem)
    assert found.objective <= 1e-12
    centred = X - X.mean(axis=0)
    least = np.linalg.pinv(centred) @ (s - s.mean())
    assert np.linalg.norm(found.coefficients) <= np.linalg.norm(least) * (1 + 1e-6)


@pytest.mark.parametrize(("n", "p"), [(40, 6), (25, 70)])
def test_ridge_against_an_independent_dual(n, p):
    """Without intercept the dual of ridge is a box-constrained least-squares problem."""
    X, s = dense_data(n, p)
    level, strength = 0.8, 0.05
    problem = HingeProblem(X, band_kinks(s, level), False, np.full(p, strength))
    found = solve_exact(problem)
    # max over y in the box of −b'y − ‖X'y‖²/(4λ)  =  λ‖θ‖² form with θ = −X'y/(2λ)
    root = X.T / np.sqrt(4 * strength)
    # ‖root y + c‖² completes the square; c exists where the columns of root are independent
    if p >= n:
        shift = np.linalg.lstsq(root.T, s / 2, rcond=None)[0]
        dual = lsq_linear(
            root, -shift, bounds=(-level / n, (1 - level) / n), tol=1e-14, method="bvls"
        )
        y = dual.x
        value = -s @ y - np.sum((root @ y) ** 2)
        assert found.objective == pytest.approx(value, rel=1e-7)
    theta = found.coefficients
    rng = np.random.default_rng(0)
    for size in (1e-5, 1e-2, 0.3):
        for _ in range(50):
            other = problem.objective(theta + size * rng.standard_normal(p), 0.0)
            assert other >= found.objective - found.gap


@pytest.mark.parametrize("band", [None, (0.05, 0.6)])
@pytest.mark.parametrize("strength", [0.3, 0.04])
def test_lasso_with_many_columns_equals_highs(band, strength):
    X, s = dense_data(60, 400)
    s = X[:, :4].sum(axis=1) * 2 + np.random.default_rng(3).standard_normal(60)
    problem = HingeProblem(X, band_kinks(s, 0.7, *(band or ())), lasso=np.full(400, strength))
    found = solve_exact(problem)
    value = problem.objective(found.coefficients, found.intercept)
    assert value <= solve_highs(problem).objective * (1 + 1e-8)
    assert found.method == "interior point"


def test_a_band_that_holds_everything_is_answered_by_its_middle():
    s = np.array([0.0, 1.0, 2.0])
    problem = HingeProblem(np.zeros((3, 1)), band_kinks(s, 0.9, 0.0, 10.0))
    found = solve_exact(problem)
    assert found.objective == found.gap == 0.0
    # the set of optima is [2, 10]; its analytic centre maximises the product of six slacks
    grid = np.linspace(2.001, 9.999, 100_000)
    products = np.prod([(grid - each) * (each + 10 - grid) for each in s], axis=0)
    assert found.intercept == pytest.approx(grid[products.argmax()], abs=1e-3)
