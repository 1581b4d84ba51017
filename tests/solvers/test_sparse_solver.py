"""Sparse features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from small_problems import band_kinks, one_hot

from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("band", [None, (0.1, 0.8)])
def test_sparse_equals_highs(band, intercept):
    X, s = one_hot(1500, (90, 20, 5))
    problem = HingeProblem(X, band_kinks(s, 0.75, *(band or ())), intercept)
    found = solve_exact(problem)
    assert found.method.startswith("sparse")
    value = problem.objective(found.coefficients, found.intercept)
    assert value <= solve_highs(problem).objective * (1 + 1e-8)


def test_sparse_with_values_and_penalties_equals_dense():
    X, s = one_hot(1200, (110, 10))
    X = X.multiply(np.random.default_rng(1).uniform(0.5, 3, X.shape[1])).tocsr()
    for penalty in ("ridge", "lasso"):
        kinks = band_kinks(s, 0.3, 0.0, 0.5)
        problem = HingeProblem(sparse.csr_array(X), kinks, **{penalty: np.full(120, 1e-3)})
        dense = replace(problem, features=np.ascontiguousarray(X.toarray()))
        assert solve_exact(problem).objective == pytest.approx(
            solve_exact(dense).objective, rel=5e-9
        )
