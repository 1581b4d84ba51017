"""Costs with several tiers on every way of the exact solver: against HiGHS and against grids."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from unmet.arrays import Band
from unmet.costs import TieredCost
from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem

BANDS = [None, Band(2, 6)]


def tiers(n_rows=None, seed=0):
    """Four kinks without a band; by row some tiers add nothing to the slope."""
    if n_rows is None:
        return TieredCost((4, 9), (1, 2, 5), underage_breaks=10, overage_breaks=(4, 12))
    rng = np.random.default_rng(seed)
    factor = rng.uniform(0.5, 3, n_rows)
    over = (factor, factor + rng.integers(0, 2, n_rows), 5 * factor + 1)
    breaks = (rng.uniform(1, 5, n_rows), 12)
    return TieredCost((4 * factor, 30), over, underage_breaks=10, overage_breaks=breaks)


def data(n_rows, n_features, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n_rows, n_features))
    return features, 50 + features @ rng.normal(0, 3, n_features) + rng.gamma(2, 6, n_rows)


def agree(problem, method=None):
    ours, theirs = solve_exact(problem), solve_highs(problem)
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-8)
    assert ours.gap <= 1e-8 * ours.objective
    assert method is None or ours.method.startswith(method)
    return ours


@pytest.mark.parametrize("band", BANDS)
def test_many_rows_are_screened(band):
    X, s = data(8000, 4)
    agree(HingeProblem(X, tiers().kinks(s, band, 1 / 8000)), "screened")
    X, s = data(300_000, 4, seed=3)
    cost = tiers(300_000)
    solution = solve_exact(HingeProblem(X, cost.kinks(s, band, 1 / 300_000)))
    assert solution.method.startswith("screened")
    assert solution.gap <= 1e-9 * solution.objective
    # the certificate is its own; that the value is the mean of the loss is not
    decision = X @ solution.coefficients + solution.intercept
    assert solution.objective == pytest.approx(cost.loss(decision, s, band).mean(), rel=1e-9)
    rng = np.random.default_rng(4)
    for _ in range(5):
        other = decision + X @ rng.normal(0, 0.05, 4) + rng.normal(0, 0.05)
        assert cost.loss(other, s, band).mean() > solution.objective


amounts = st.integers(0, 6).map(float)


@st.composite
def problems(draw):
    """Random convex tiers, ties everywhere, any weights, with and without a band."""
    n_rows, n_features = draw(st.integers(1, 25)), draw(st.integers(0, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sides = []
    for least in (0.0, 0.25):
        n_tiers = draw(st.integers(1, 4))
        growth = draw(st.lists(amounts, min_size=n_tiers, max_size=n_tiers))
        gaps = draw(st.lists(st.integers(1, 5), min_size=n_tiers - 1, max_size=n_tiers - 1))
        slopes = np.cumsum(growth) + least
        if draw(st.booleans()):
            slopes = slopes[:, np.newaxis] * rng.uniform(0.5, 2, n_rows)
        sides.append((tuple(slopes), tuple(np.cumsum(gaps).astype(float))))
    (under, under_breaks), (over, over_breaks) = sides
    cost = TieredCost(under, over, underage_breaks=under_breaks, overage_breaks=over_breaks)
    width = draw(st.sampled_from([None, 0.0, 1.0, 3.0]))
    band = None if width is None else Band(1.0, 1.0 + width)
    X = rng.integers(-2, 3, (n_rows, n_features)).astype(float)
    s = rng.integers(0, 15, n_rows).astype(float)
    weight = rng.uniform(0.1, 2, n_rows)
    return HingeProblem(X, cost.kinks(s, band, weight / weight.sum()))


@given(problem=problems())
def test_random_convex_tiers_equal_highs(problem):
    ours, theirs = solve_exact(problem), solve_highs(problem)
    assert_allclose(ours.objective, theirs.objective, rtol=1e-8, atol=1e-10)
    value = problem.objective(ours.coefficients, ours.intercept)
    assert_allclose(ours.objective, value, rtol=1e-9, atol=1e-12)
