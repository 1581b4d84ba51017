"""Several problems on the same features."""

from __future__ import annotations

import numpy as np
import pytest
from small_problems import band_kinks

from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.exact.interior_point import Operator, follow_central_path
from unmet.solvers.exact.path import solve_path
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem, Hinges


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
    found = follow_central_path(
        Operator(rows),
        hinges,
        np.zeros(1),
        (0.0, 10.0),
        linear=np.array([-0.5]),
        constant=1.0,
    )
    # all kinks are hit exactly, yet the linear term pulls the decision away without end
    assert found.status == "unbounded"


# --- Every member of a path is as good as a fit of its own, whatever the data are like.

KINDS = (
    "ties",
    "repeated",
    "collinear",
    "weights",
    "wide",
    "ridge",
    "lasso",
    "both",
    "no intercept",
)


def _hostile(kind):
    """Features, observations, weights and penalties of one kind of trouble."""
    rng = np.random.default_rng([0, KINDS.index(kind)])
    n, p = int(rng.integers(60, 400)), int(rng.integers(2, 9))
    X = rng.standard_normal((n, p)) * 10.0 ** rng.integers(-2, 3, p)
    weight, options = None, {}
    if kind == "wide":
        X = rng.standard_normal((20, 30))
    elif kind == "collinear":
        X = np.column_stack([X, X[:, 0] - X[:, 1], np.full(n, 3.0)])
    elif kind == "repeated":
        X = rng.integers(0, 3, size=(1500, 3)).astype(float)
    s = X @ (rng.standard_normal(X.shape[1]) / np.abs(X).max(axis=0)) + rng.gamma(2.0, 1.0, len(X))
    if kind in ("ties", "repeated"):
        s = np.round(2 * s)
    if kind == "weights":
        weight = rng.integers(0, 5, n) + 10.0 ** rng.uniform(-3, 0, n)
    penalty = 10.0 ** rng.uniform(-4, -1) * np.ones(X.shape[1])
    if kind in ("ridge", "both"):
        options["ridge"] = penalty
    if kind in ("lasso", "both"):
        options["lasso"] = penalty
    options["fit_intercept"] = kind != "no intercept"
    return X, s, weight, options


def _grid(s, weight):
    """Asymmetric levels, with and without bands, not even sorted."""
    spread = float(np.ptp(s))
    return [band_kinks(s, level, weight=weight) for level in (0.07, 0.35, 0.8, 0.97)] + [
        band_kinks(s, level, 0.01 * spread, share * spread, weight)
        for level in (0.12, 0.85)
        for share in (0.02, 0.05, 0.15)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_each_member_is_as_good_as_alone(kind):
    X, s, weight, options = _hostile(kind)
    kinks = _grid(s, weight)
    for found, each in zip(solve_path(X, kinks, **options), kinks, strict=True):
        problem = HingeProblem(X, each, **options)
        single = solve_exact(problem)
        value = problem.objective(found.coefficients, found.intercept)
        assert found.objective == value
        nothing = 1e-13 * float(np.ptp(s))  # a cost of zero, up to rounding
        assert abs(value - single.objective) <= 1e-9 * single.objective + nothing
        assert 0 <= found.gap <= 1e-9 * value + nothing
        if "ridge" not in options:
            reference = solve_highs(problem).objective
            assert value <= reference + 1e-8 * abs(reference) + nothing
            assert value - found.gap <= reference + 1e-8 * abs(reference) + nothing
