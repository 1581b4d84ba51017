"""Many rows: samples, near kinks, blocks, trust, and what happens when guesses fail."""

from __future__ import annotations

import numpy as np
import pytest
from small_problems import band_kinks, dense_data, full

from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem


@pytest.mark.parametrize("level", [0.07, 0.6, 0.95])
@pytest.mark.parametrize("band", [None, (0.1, 1.0)])
def test_screened_equals_all_rows(level, band):
    X, s = dense_data(9000, 6)
    problem = HingeProblem(X, band_kinks(s, level, *(band or ())))
    found = solve_exact(problem)
    assert found.method == "screened interior point"
    assert found.passes < 6
    assert found.gap <= 1e-9 * found.objective
    value = problem.objective(found.coefficients, found.intercept)
    assert found.objective == pytest.approx(value, rel=1e-10)
    assert value <= full(problem).objective * (1 + 2e-9)


@pytest.mark.parametrize("penalty", ["ridge", "lasso"])
def test_screened_with_penalties(penalty):
    X, s = dense_data(9000, 6)
    problem = HingeProblem(X, band_kinks(s, 0.85, 0.1, 0.9), **{penalty: np.full(6, 0.02)})
    found = solve_exact(problem)
    assert found.method == "screened interior point"
    assert found.objective == pytest.approx(full(problem).objective, rel=2e-9)


def test_a_dummy_that_no_sample_sees_is_still_fitted():
    X, s = dense_data(9000, 4)
    rare = np.zeros(9000)
    rare[[11, 4321]] = 1.0
    s = s + 80 * rare
    problem = HingeProblem(np.column_stack([X, rare]), band_kinks(s, 0.8))
    found = solve_exact(problem)
    assert found.objective == pytest.approx(full(problem).objective, rel=2e-9)
    assert found.coefficients[-1] > 60


def test_sorted_rows_do_not_mislead_the_samples():
    X, s = dense_data(9000, 4)
    order = np.argsort(s)
    problem = HingeProblem(np.ascontiguousarray(X[order]), band_kinks(s[order], 0.9))
    assert solve_exact(problem).objective == pytest.approx(full(problem).objective, rel=2e-9)
