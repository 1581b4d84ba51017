"""The linear program against enumeration, scikit-learn and itself in other clothes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.linear_model import QuantileRegressor

from unmet.arrays import Band
from unmet.costs import Newsvendor
from unmet.costs.hinge import Kinks
from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.problem import HingeProblem


def problem(features, sales, alpha, band=None, weight=None, **options) -> HingeProblem:
    weight = np.ones(len(sales)) if weight is None else weight
    kinks = Newsvendor.at_level(alpha).kinks(sales, band, weight / weight.sum())
    return HingeProblem(features, kinks, **options)


def retail(seed, n, p):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n, p))
    sales = 20 + features @ rng.normal(0, 3, p) + rng.gamma(2.0, 3.0, n)
    return features, sales


def by_hand(alpha, low, high, decisions, sales):
    """Mean cost in plain Python, apart from all code of the package."""
    total = 0.0
    for y, s in zip(decisions, sales, strict=True):
        if y < s + low:
            total += alpha * (s + low - y)
        elif y > s + high:
            total += (1 - alpha) * (y - s - high)
    return total / len(sales)


class TestEnumeration:
    @pytest.mark.parametrize("alpha", [0.15, 0.85])
    def test_constant_decision_is_the_best_of_all_kinks(self, alpha):
        sales = retail(0, 31, 1)[1]
        low, high = 0.5, 4.0
        candidates = [s + edge for s in sales for edge in (low, high)]
        best = min(by_hand(alpha, low, high, [c] * 31, sales) for c in candidates)
        bare = problem(np.empty((31, 0)), sales, alpha, Band(low, high))
        solution = solve_highs(bare)
        assert solution.objective == pytest.approx(best, rel=1e-10)
        assert min(abs(solution.intercept - c) for c in candidates) < 1e-9

    @pytest.mark.parametrize(("low", "high"), [(0.0, 0.0), (0.3, 2.0)])
    def test_line_is_the_best_through_any_two_kinks(self, low, high):
        features, sales = retail(1, 11, 1)
        x = features[:, 0]
        edges = [(x[i], sales[i] + e) for i in range(11) for e in {low, high}]
        best = np.inf
        for (x1, b1), (x2, b2) in itertools.combinations(edges, 2):
            if x1 != x2:
                slope = (b2 - b1) / (x2 - x1)
                line = b1 + slope * (x - x1)
                best = min(best, by_hand(0.8, low, high, line, sales))
        band = Band(low, high) if high else None
        solution = solve_highs(problem(features, sales, 0.8, band))
        assert solution.objective == pytest.approx(best, rel=1e-10)


class TestScikitLearn:
    @pytest.mark.parametrize("alpha", [0.1, 0.85])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_quantile_regression(self, alpha, weighted):
        features, sales = retail(2, 120, 4)
        weight = np.random.default_rng(3).integers(1, 5, 120).astype(float) if weighted else None
        theirs = QuantileRegressor(quantile=alpha, alpha=0.0).fit(features, sales, weight)
        ours = problem(features, sales, alpha, weight=weight)
        solution = solve_highs(ours)
        assert solution.coefficients == pytest.approx(theirs.coef_, rel=1e-6)
        assert solution.intercept == pytest.approx(theirs.intercept_, rel=1e-6)
        assert solution.objective <= ours.objective(theirs.coef_, theirs.intercept_) * (1 + 1e-12)

    def test_lasso(self):
        # scikit-learn minimises the mean pinball loss + alpha · ‖θ‖₁: the same units as ours
        features, sales = retail(4, 90, 6)
        strength = 0.2
        theirs = QuantileRegressor(quantile=0.8, alpha=strength).fit(features, sales)
        solution = solve_highs(problem(features, sales, 0.8, lasso=np.full(6, strength)))
        assert solution.coefficients == pytest.approx(theirs.coef_, abs=1e-8)
        assert 0 < np.count_nonzero(solution.coefficients) < 6  # it selects, and exactly

    def test_each_coefficient_has_its_own_lasso(self):
        features, sales = retail(4, 90, 3)
        solution = solve_highs(problem(features, sales, 0.8, lasso=np.array([0.0, 1e6, 0.0])))
        reduced = solve_highs(problem(features[:, [0, 2]], sales, 0.8))
        assert solution.coefficients[1] == 0.0
        assert solution.objective == pytest.approx(reduced.objective, rel=1e-10)


def printed_program(sales, alpha, low, high):
    """LP.εLR exactly as printed, for a constant decision; variables y, u, o."""
    n = len(sales)
    one, eye, none = np.ones((n, 1)), np.eye(n), np.zeros((n, n))
    c = np.concatenate([[0.0], np.full(n, alpha / n), np.full(n, (1 - alpha) / n)])
    over = np.hstack([one, -eye, none])  # u ≥ y − s − ε₁
    short = np.hstack([-one, none, -eye])  # o ≥ s + ε₂ − y
    limits = np.concatenate([sales + high, -(sales + low)])
    bounds = [(None, None)] + [(0, None)] * (2 * n)
    return float(linprog(c, np.vstack([over, short]), limits, bounds=bounds).x[0])


@pytest.mark.parametrize("alpha", [0.2, 0.85])
def test_printed_program_finds_the_wrong_quantile(alpha):
    """Slip 1: as printed, LP.εLR optimises 1 − α; the corrected form hits α."""
    sales = retail(5, 201, 1)[1]
    ours = solve_highs(problem(np.empty((201, 0)), sales, alpha)).intercept
    printed = printed_program(sales, alpha, 0.0, 0.0)
    assert np.mean(sales <= ours + 1e-9) == pytest.approx(alpha, abs=0.01)
    assert np.mean(sales <= printed + 1e-9) == pytest.approx(1 - alpha, abs=0.01)


@st.composite
def small_problems(draw) -> HingeProblem:
    n, p = draw(st.integers(1, 12)), draw(st.integers(0, 3))
    number = st.integers(-20, 20).map(float)
    slope = st.integers(0, 8).map(lambda v: v / 8)
    features = np.array([[draw(number) for _ in range(p)] for _ in range(n)]).reshape(n, p)
    position, below, above = (
        np.array([[draw(values) for _ in range(n)] for _ in range(2)])
        for values in (number, slope, slope)
    )
    lasso = np.array([draw(slope) for _ in range(p)]) if draw(st.booleans()) else None
    return HingeProblem(features, Kinks(position, below, above), draw(st.booleans()), None, lasso)


@given(small_problems(), st.integers(0, 2**31))
def test_certificate_bounds_every_other_decision(small, seed):
    solution = solve_highs(small)
    assert solution.gap <= 1e-9 * max(1.0, solution.objective)
    rng = np.random.default_rng(seed)
    bound = solution.objective - solution.gap - 1e-9
    for radius in 10.0 ** rng.uniform(-6, 1, 20):
        nearby = solution.coefficients + radius * rng.standard_normal(len(solution.coefficients))
        intercept = solution.intercept + radius * rng.normal() * small.fit_intercept
        assert small.objective(nearby, intercept) >= bound
