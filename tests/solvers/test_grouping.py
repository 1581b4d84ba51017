"""Equal rows: found, merged, and not imagined."""

from __future__ import annotations

import numpy as np
import pytest
from small_problems import band_kinks, categorical, dense_data, full

from unmet.solvers.exact.features import groups_of
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem


def test_groups_hold_equal_rows_only():
    X, _ = categorical()
    first, group = groups_of(X)
    np.testing.assert_array_equal(X[first][group], X)
    assert len(first) == len(np.unique(X, axis=0))


@pytest.mark.parametrize("band", [None, (0.4, 2.5)])
def test_grouped_equals_ungrouped(band):
    X, s = categorical()
    rng = np.random.default_rng(1)
    low_high = () if band is None else band
    kinks = band_kinks(s, 0.8, *low_high, weight=rng.uniform(0.5, 2, len(s)))
    problem = HingeProblem(X, kinks)
    assert groups_of(X) is not None
    assert solve_exact(problem).objective == pytest.approx(full(problem).objective, rel=3e-9)


def test_many_repeated_rows_are_found_by_a_sample():
    X, s = categorical(30_000)
    first, _ = groups_of(X)
    assert len(first) == len(np.unique(X, axis=0))
    problem = HingeProblem(X, band_kinks(s, 0.8))
    found = solve_exact(problem)
    assert found.objective == pytest.approx(full(problem).objective, rel=3e-9)


def test_distinct_rows_are_not_grouped():
    X, _ = dense_data(1000, 3)
    assert groups_of(X) is None
