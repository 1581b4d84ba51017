"""Smoothed hinges: derivatives by differences, and what their multipliers prove."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from block_problems import Evaluated, Watched
from small_problems import band_kinks, dense_data

from unmet.arrays import Band
from unmet.solvers.blocks.screening import run_evaluated
from unmet.solvers.blocks.solve import CentralPath, smoothed
from unmet.solvers.exact.direct import FixedSigns
from unmet.solvers.exact.features import Standardisation
from unmet.solvers.exact.interior_point import InteriorPoint
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem

RESIDUAL = np.array([-3.0, -0.4, -1e-3, 0.0, 2e-3, 0.7, 5.0])


def at(residual, mu, push=None, n=7):
    below, above, weight = np.full(n, 0.8), np.full(n, 0.3), np.full(n, 1.7)
    return smoothed(residual, below, above, weight, mu, push)


@pytest.mark.parametrize("mu", [1e-3, 0.05, 2.0])
def test_slopes_are_derivatives(mu):
    step = 1e-6
    _, (y, change, curvature) = at(RESIDUAL, mu)
    for place, residual in enumerate(RESIDUAL):
        up, down = (at(np.array([residual + e]), mu, n=1) for e in (step, -step))
        rise, slope = up[0] - down[0], up[1] - down[1]
        assert y[place] == pytest.approx(rise[1] / (2 * step), abs=1e-7)
        assert curvature[place] == pytest.approx(slope[0, 0] / (2 * step), rel=1e-4)
    more, less = at(RESIDUAL, mu * (1 + step))[1], at(RESIDUAL, mu * (1 - step))[1]
    np.testing.assert_allclose(change, (more - less)[0] / (2 * step * mu), rtol=1e-5, atol=1e-9)


def test_multipliers_stay_in_their_box_and_the_gap_is_what_they_miss():
    (value, _, gap), (y, _, _) = at(RESIDUAL, 1e-4)
    assert (y > -0.8).all()
    assert (y < 0.3).all()
    assert gap == pytest.approx(value - y @ RESIDUAL, rel=1e-9)
    assert 0 < gap < 1e-2
    (value, _, gap), (y, _, _) = at(RESIDUAL, 1e-4, np.full(7, 1e9))
    np.testing.assert_array_equal(y, 0.3)
    assert gap == pytest.approx(value - 0.3 * RESIDUAL.sum())


@pytest.mark.parametrize("penalty", ["ridge", "lasso"])
def test_the_path_ends_at_the_optimum_with_its_own_proof(penalty):
    """Half of the rows on a plane, so that the path is smooth to its end."""
    X, s = dense_data(3000, 3)
    s = np.minimum(s, X.sum(axis=1) + 2)
    price, charge = Evaluated(0.85, Band(0.0, 0.2)), np.full(3, 0.02)
    problem = price.problem(X, s, **{penalty: charge})
    standard = Standardisation.of(X, True)
    inner = {"ridge": standard.ridge(charge), "lasso": standard.lasso(charge)}
    penalties = [inner[name] if name == penalty else None for name in ("ridge", "lasso")]
    blocks = partial(run_evaluated, Watched(X, s), price, 1 / 3000)
    path = CentralPath(blocks, standard, *penalties, 1.0)
    path.begin(np.zeros(4), 1.0)
    target = 1e-8 * solve_exact(problem).objective
    for _ in range(20):
        assert path.centre(0.0)
        if path.settled(target, 0.0):
            break
        assert path.advance()
    assert path.found.gap <= target
    assert path.residual <= target
    value = problem.objective(*standard.to_raw(path.theta))
    assert path.found.value == pytest.approx(value, rel=1e-10)
    assert value <= solve_exact(problem).objective + target


def test_penalties_of_fixed_sign_are_lines_with_their_multipliers():
    theta, lasso = np.array([2.0, -0.01, -3.0, 0.5]), np.array([0.1, 0.2, 0.3, 0.0])
    signs = FixedSigns.of(theta, lasso, 1.0)
    np.testing.assert_array_equal(signs.slope, [0.1, 0.0, -0.3, 0.0])
    np.testing.assert_array_equal(signs.rest, [0.0, 0.2, 0.0, 0.0])
    assert signs.cost == pytest.approx(1.1)
    dual, moved = np.array([7.0, 8.0, 0.15]), np.array([0.1, 5.0, -0.1, -1.0])
    found = InteriorPoint(moved, dual, np.zeros(2), 1.0, 0.0, 0.0, 9, "optimal")
    whole = signs.complete(found)
    np.testing.assert_array_equal(whole.dual, [7, 8, 0.1, 0.15, -0.3])
    assert whole.status == "optimal"
    lost = signs.complete(replace(found, theta=np.array([0.1, 5.0, 0.1, -1.0])))
    assert lost.status == "unbounded"
    assert FixedSigns.of(theta, lasso, 10.0) is None


def test_large_coefficients_under_lasso_are_still_screened():
    """Open, their penalties would be most of the reduced cost and throw its barrier off."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30_000, 20))
    s = X @ (3 * rng.standard_normal(20)) + rng.gamma(2.0, 1.0, 30_000)
    problem = HingeProblem(X, band_kinks(s, 0.3), lasso=np.full(20, 0.02))
    found = solve_exact(problem)
    assert found.method == "screened interior point"
    assert found.gap <= 1e-9 * found.objective
