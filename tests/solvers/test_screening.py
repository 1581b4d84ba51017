"""Many rows: samples, near kinks, blocks, trust, and what happens when guesses fail."""

from __future__ import annotations

import numpy as np
import pytest
from small_problems import band_kinks, dense_data, full

from unmet.solvers import constants
from unmet.solvers.blocks.screening import (
    KinkBlock,
    Leverage,
    Screening,
    join_blocks,
    spread_sample,
)
from unmet.solvers.exact.features import Standardisation
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


def test_screening_is_the_same_every_time():
    X, s = dense_data(9000, 4)
    problem = HingeProblem(X, band_kinks(s, 0.7))
    first, second = solve_exact(problem), solve_exact(problem)
    np.testing.assert_array_equal(first.coefficients, second.coefficients)


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


def test_where_screening_gives_up_all_rows_are_solved(monkeypatch):
    X, s = dense_data(9000, 4)
    problem = HingeProblem(X, band_kinks(s, 0.8))
    monkeypatch.setattr(Screening, "run", lambda _: None)
    found = solve_exact(problem)
    assert found.method == "interior point"
    assert found.gap <= 1e-9 * found.objective


def test_a_too_narrow_near_zone_is_repaired(monkeypatch):
    """With guesses ten times too sure the certificate, not luck, must give the answer."""
    X, s = dense_data(20_000, 5)
    problem = HingeProblem(X, band_kinks(s, 0.8, 0.1, 0.8))
    reference = full(problem).objective
    monkeypatch.setattr(constants, "NEAR_WIDTHS", 0.25)
    found = solve_exact(problem)
    assert problem.objective(found.coefficients, found.intercept) <= reference * (1 + 2e-9)


def test_chunks_cover_every_row_once():
    X, s = dense_data(5000, 30)
    chunks = list(KinkBlock(X, band_kinks(s, 0.8)).chunks())
    assert len(chunks) > 1
    again = join_blocks(chunks, 30)
    np.testing.assert_array_equal(again.features, X)
    np.testing.assert_array_equal(again.kinks.position[0], s)


def test_rows_with_one_kink_beside_rows_with_two():
    X, s = dense_data(6, 2)
    one, two = KinkBlock(X, band_kinks(s, 0.8)), KinkBlock(X, band_kinks(s, 0.8, 0.1, 0.9))
    kinks = join_blocks([one, two], 2).kinks
    assert kinks.position.shape == (2, 12)
    np.testing.assert_array_equal(kinks.below[1, :6] + kinks.above[1, :6], 0.0)
    expected = np.concatenate([each.kinks.value(np.zeros(6)) for each in (one, two)])
    np.testing.assert_array_equal(kinks.value(np.zeros(12)), expected)


def test_samples_are_sorted_and_without_repeats():
    rows = spread_sample(10_007, 3000, np.random.default_rng(0))
    assert (np.diff(rows) > 0).all()
    assert rows.min() >= 0
    assert rows.max() < 10_007


def test_leverage_follows_the_features():
    rng = np.random.default_rng(0)
    even = rng.standard_normal((3000, 4))
    standard = Standardisation.of(even, True)
    assert Leverage.of(standard, standard.design(even), even)(even) == 1.0
    rare = even.copy()
    rare[:, 0] = rng.random(3000) < 0.01
    standard = Standardisation.of(rare, True)
    leverage = Leverage.of(standard, standard.design(rare), rare)(rare)
    assert leverage[rare[:, 0] == 1].min() > 2 * np.median(leverage)
    unseen = even.copy()
    unseen[:, 0] = 3.0
    standard = Standardisation.of(unseen, True)
    leverage = Leverage.of(standard, standard.design(unseen), unseen)
    assert np.isinf(leverage(np.array([[4.0, 0, 0, 0]]))).all()
