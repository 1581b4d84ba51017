"""Several problems on the same features."""

from __future__ import annotations

import numpy as np
import pytest
from small_problems import band_kinks, categorical, dense_data, one_hot

from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.exact.interior_point import KinkOrder, Operator, solve_hinges
from unmet.solvers.exact.solve import solve_exact, solve_path
from unmet.solvers.problem import HingeProblem, Hinges, Scale


@pytest.mark.parametrize("data", [categorical(), dense_data(800, 5)], ids=["repeated", "distinct"])
def test_path_equals_single_solves(data):
    X, s = data
    kinks = [
        band_kinks(s, level, 0.1, high) for level in (0.55, 0.75, 0.95) for high in (0.4, 1.0, 2.0)
    ] + [band_kinks(s, 0.3)]
    for found, each in zip(solve_path(X, kinks), kinks, strict=True):
        problem = HingeProblem(X, each)
        assert problem.objective(found.coefficients, found.intercept) == pytest.approx(
            solve_exact(problem).objective, rel=3e-9
        )


def test_path_is_not_fooled_by_kinks_at_zero_distance():
    """Half the sales lie on a plane, so the neighbour's decisions hit many kinks exactly.

    A certificate that measured the dual residual by the residuals of the open kinks, which are
    all zero here, once passed answers that were 33% too dear.
    """
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(12)[:, 1:], 80, axis=0)
    mean = np.repeat(rng.uniform(-20, 200, 12), 80)
    demand = np.maximum(mean + 46 * rng.standard_normal(960), 0)
    s = np.minimum(demand, np.maximum(mean, 0))
    for band in ((), (0.6, 50.0)):
        kinks = [band_kinks(s, level, *band) for level in (0.55, 0.65, 0.75, 0.85, 0.95)]
        for found, each in zip(solve_path(X, kinks), kinks, strict=True):
            problem = HingeProblem(X, each)
            value = problem.objective(found.coefficients, found.intercept)
            reference = solve_highs(problem).objective
            assert value <= reference * (1 + 1e-8)


def test_certificate_sees_a_dual_residual_even_on_the_kinks():
    rows = np.ones((4, 1))
    weight = np.full(4, 0.25)
    hinges = Hinges(np.zeros(4), 0.9 * weight, 0.1 * weight, weight)
    found = solve_hinges(
        Operator(rows, KinkOrder()),
        hinges,
        np.zeros(1),
        Scale(0.0, 10.0),
        linear=np.array([-0.5]),
        constant=1.0,
    )
    # all kinks are hit exactly, yet the linear term pulls the decision away without end
    assert found.status == "unbounded"


def test_path_with_penalties_and_for_sparse_features():
    X, s = one_hot(700, (110, 7))
    kinks = [band_kinks(s, level) for level in (0.6, 0.8)]
    lasso = np.full(117, 1e-3)
    for features in (X, np.ascontiguousarray(X.toarray())):
        for found, each in zip(solve_path(features, kinks, lasso=lasso), kinks, strict=True):
            single = solve_exact(HingeProblem(features, each, lasso=lasso))
            assert found.objective == pytest.approx(single.objective, rel=3e-9)
