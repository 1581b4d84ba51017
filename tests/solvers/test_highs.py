"""The linear program against enumeration, scikit-learn and itself in other clothes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from sklearn.linear_model import QuantileRegressor

from unmet.arrays import Band
from unmet.costs import Newsvendor
from unmet.costs.hinge import Kinks
from unmet.errors import InvalidInput, SolverFailure, Unsupported
from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.problem import HingeProblem

FORMS = [(form, method) for form in ("primal", "dual") for method in ("highs-ds", "highs-ipm")]


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
    @pytest.mark.parametrize(("form", "method"), FORMS)
    @pytest.mark.parametrize("alpha", [0.15, 0.85])
    def test_constant_decision_is_the_best_of_all_kinks(self, form, method, alpha):
        sales = retail(0, 31, 1)[1]
        low, high = 0.5, 4.0
        candidates = [s + edge for s in sales for edge in (low, high)]
        best = min(by_hand(alpha, low, high, [c] * 31, sales) for c in candidates)
        bare = problem(np.empty((31, 0)), sales, alpha, Band(low, high))
        solution = solve_highs(bare, form=form, method=method)
        assert solution.objective == pytest.approx(best, rel=1e-10)
        assert min(abs(solution.intercept - c) for c in candidates) < 1e-9

    @pytest.mark.parametrize("form", ["primal", "dual"])
    @pytest.mark.parametrize(("low", "high"), [(0.0, 0.0), (0.3, 2.0)])
    def test_line_is_the_best_through_any_two_kinks(self, form, low, high):
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
        solution = solve_highs(problem(features, sales, 0.8, band), form=form)
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

    @pytest.mark.parametrize("form", ["primal", "dual"])
    def test_lasso(self, form):
        # scikit-learn minimises the mean pinball loss + alpha · ‖θ‖₁: the same units as ours
        features, sales = retail(4, 90, 6)
        strength = 0.2
        theirs = QuantileRegressor(quantile=0.8, alpha=strength).fit(features, sales)
        solution = solve_highs(problem(features, sales, 0.8, lasso=np.full(6, strength)), form=form)
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


class TestOneProblemManyWays:
    def test_forms_and_methods_agree_and_certify(self):
        features, sales = retail(6, 150, 5)
        rng = np.random.default_rng(7)
        kinks = Kinks(  # per-row slopes; one-sided, two-sided and idle kinks mixed
            sales + rng.exponential(2.0, (3, 150)),
            rng.uniform(0, 1, (3, 150)) * rng.integers(0, 2, (3, 150)),
            rng.uniform(0, 1, (3, 150)) * rng.integers(0, 2, (3, 150)),
        )
        lasso = np.array([0.0, 3.0, 0.0, 90.0, 1.0])
        mixed = HingeProblem(features, kinks, lasso=lasso)
        ways = [*FORMS, ("dual", "highs")]
        solutions = [solve_highs(mixed, form=form, method=method) for form, method in ways]
        best = min(s.objective for s in solutions)
        for (form, method), solution in zip(ways, solutions, strict=True):
            assert solution.objective == pytest.approx(best, rel=1e-11)
            assert 0 <= solution.gap < 1e-10 * best
            assert 0 <= solution.residual < 1e-9 * best
            assert solution.iterations > 0
            assert solution.method == f"{method} ({form})"

    @pytest.mark.parametrize("form", ["primal", "dual"])
    @pytest.mark.parametrize("fit_intercept", [True, False])
    def test_sparse_equals_dense(self, form, fit_intercept):
        rng = np.random.default_rng(8)
        features = rng.standard_normal((80, 6)) * (rng.random((80, 6)) < 0.3)
        features[:, 5] = 2016 + rng.integers(0, 3, 80)  # no zeros, far from zero
        sales = 5 + features @ rng.normal(0, 2, 6) + rng.exponential(1.0, 80)
        options = {"fit_intercept": fit_intercept, "lasso": np.full(6, 1e-3)}
        dense, thin = (
            solve_highs(problem(x, sales, 0.7, Band(0.1, 1.0), **options), form=form)
            for x in (features, sparse.csr_array(features))
        )
        assert thin.objective == pytest.approx(dense.objective, rel=1e-12)
        assert thin.coefficients == pytest.approx(dense.coefficients, rel=1e-9, abs=1e-12)

    def test_integer_weights_equal_repeated_rows(self):
        features, sales = retail(9, 40, 2)
        weight = np.random.default_rng(1).integers(0, 4, 40)
        keep = weight > 0
        weighted = problem(features[keep], sales[keep], 0.9, Band(0, 2), weight[keep] * 1.0)
        repeated = problem(
            np.repeat(features, weight, axis=0), np.repeat(sales, weight), 0.9, Band(0, 2)
        )
        expected = solve_highs(repeated).objective
        assert solve_highs(weighted).objective == pytest.approx(expected, rel=1e-11)

    def test_features_are_not_touched(self):
        features, sales = retail(10, 30, 2)
        for x in (features, sparse.csr_array(features)):
            solve_highs(problem(x, sales, 0.7))
            assert np.array_equal(x if x is features else x.toarray(), retail(10, 30, 2)[0])


class TestAwkward:
    @pytest.mark.parametrize("form", ["primal", "dual"])
    def test_rank_deficiency_costs_nothing(self, form):
        rng = np.random.default_rng(11)
        day = np.eye(7)[rng.integers(0, 7, 120)]  # all seven dummies beside the intercept
        sales = day @ rng.normal(10, 4, 7) + rng.exponential(2.0, 120)
        redundant = np.hstack([day, day[:, :2], np.full((120, 1), 3.0), np.zeros((120, 1))])
        full, lean = problem(redundant, sales, 0.65), problem(day[:, 1:], sales, 0.65)
        expected = solve_highs(lean, form=form).objective
        assert solve_highs(full, form=form).objective == pytest.approx(expected, rel=1e-11)

    @pytest.mark.parametrize("form", ["primal", "dual"])
    def test_more_features_than_rows_interpolate(self, form):
        features, sales = retail(12, 8, 20)
        solution = solve_highs(problem(features, sales, 0.7), form=form)
        decisions = features @ solution.coefficients + solution.intercept
        assert decisions == pytest.approx(sales, rel=1e-11)
        assert solution.objective < 1e-11

    @pytest.mark.parametrize(("form", "method"), FORMS)
    def test_scales_and_offsets_do_not_matter(self, form, method):
        features, sales = retail(13, 100, 5)
        plain = solve_highs(problem(features, sales, 0.85, Band(0.1, 2.0)))
        stretch = 10.0 ** np.array([-8, -4, 0, 4, 8])
        moved = (features + np.array([0, 100, 0, 2016, 0])) * stretch
        far = problem(moved, 1e-6 * sales, 0.85, Band(1e-7, 2e-6))
        solution = solve_highs(far, form=form, method=method)
        assert solution.objective == pytest.approx(1e-6 * plain.objective, rel=1e-9)
        assert solution.coefficients * stretch == pytest.approx(1e-6 * plain.coefficients, rel=1e-6)

    @pytest.mark.parametrize("form", ["primal", "dual"])
    def test_tiny_remainders_are_solved_as_well_as_large_ones(self, form):
        # sales almost on a plane: relative to the objective, HiGHS's own tolerance is coarse
        rng = np.random.default_rng(14)
        features, noise = rng.standard_normal((60, 3)), rng.exponential(1.0, 60)
        plane = features @ np.array([300.0, -200.0, 100.0])
        alone = solve_highs(problem(features, noise, 0.8))
        small = solve_highs(problem(features, plane + 1e-7 * noise, 0.8), form=form)
        assert small.objective == pytest.approx(1e-7 * alone.objective, rel=1e-5)
        assert small.gap < 1e-5 * small.objective  # rounding of the plane itself

    @pytest.mark.parametrize("form", ["primal", "dual"])
    def test_steep_lasso_gives_exact_zeros(self, form):
        # one strength over columns of all scales: the smallest column must pay most for its θ,
        # and what rounding leaves instead of 0 would cost 1e-8 to 1e-6 of the objective
        rng = np.random.default_rng(4)
        features = rng.standard_normal((30, 6)) * 10.0 ** np.array([-8, -6, -2, 0, 2, 6])
        sales = 1e6 * rng.standard_normal(30)
        penalised = problem(features, sales, 0.7, lasso=np.full(6, 0.1))
        solution = solve_highs(penalised, form=form)
        assert list(solution.coefficients[:4]) == [0.0] * 4
        assert np.all(solution.coefficients[4:] != 0)
        assert solution.gap < 1e-11 * solution.objective

    def test_ties(self):
        sales = np.array([3.0, 3.0, 3.0, 4.0, 4.0, 9.0])
        solution = solve_highs(problem(np.empty((6, 0)), sales, 0.6))
        assert solution.intercept == pytest.approx(4.0, abs=1e-12)

    def test_one_row_and_no_row(self):
        one = solve_highs(problem(np.array([[2.0]]), np.array([7.0]), 0.7, Band(1, 3)))
        assert 8 - 1e-9 <= 2 * one.coefficients[0] + one.intercept <= 10 + 1e-9
        assert (one.objective, one.gap) == pytest.approx((0.0, 0.0), abs=1e-12)
        idle = Kinks(np.full((1, 4), 5.0), np.zeros((1, 4)), np.zeros((1, 4)))
        nothing = solve_highs(HingeProblem(np.ones((4, 2)), idle))
        assert (nothing.objective, nothing.gap, nothing.iterations) == (0.0, 0.0, 0)
        assert list(nothing.coefficients) == [0.0, 0.0]

    def test_nothing_to_choose(self):
        bare = problem(np.empty((2, 0)), np.array([4.0, 8.0]), 0.75, fit_intercept=False)
        solution = solve_highs(bare)
        assert (solution.objective, solution.gap, solution.intercept) == (4.5, 0.0, 0.0)


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


@given(small_problems(), st.sampled_from(["primal", "dual"]), st.integers(0, 2**31))
def test_certificate_bounds_every_other_decision(small, form, seed):
    solution = solve_highs(small, form=form)
    assert solution.gap <= 1e-9 * max(1.0, solution.objective)
    rng = np.random.default_rng(seed)
    bound = solution.objective - solution.gap - 1e-9
    for radius in 10.0 ** rng.uniform(-6, 1, 20):
        nearby = solution.coefficients + radius * rng.standard_normal(len(solution.coefficients))
        intercept = solution.intercept + radius * rng.normal() * small.fit_intercept
        assert small.objective(nearby, intercept) >= bound


class TestRefusals:
    def test_ridge(self):
        features, sales = retail(16, 10, 2)
        with pytest.raises(Unsupported, match=r"'highs' and a ridge penalty .* linear programs"):
            solve_highs(problem(features, sales, 0.7, ridge=np.array([0.0, 1.0])))
        zero = solve_highs(problem(features, sales, 0.7, ridge=np.zeros(2)))
        assert zero.objective == solve_highs(problem(features, sales, 0.7)).objective

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"form": "both"}, r"^form must be 'primal' or 'dual', got 'both'\.$"),
            ({"method": "simplex"}, r"^method must be 'highs', .*, got 'simplex'\.$"),
            ({"time_limit": 0.0}, r"^time_limit must be a finite positive number .*, got 0\.0\.$"),
            ({"time_limit": float("nan")}, r"^time_limit must be a finite positive .*, got nan\.$"),
        ],
    )
    def test_options(self, options, sentence):
        with pytest.raises(InvalidInput, match=sentence):
            solve_highs(problem(*retail(16, 10, 2), 0.7), **options)

    def test_infinite_kink(self):
        kinks = Kinks(np.array([[1.0, np.inf]]), np.ones((1, 2)), np.ones((1, 2)))
        with pytest.raises(InvalidInput, match=r"^kinks\.position must be finite"):
            solve_highs(HingeProblem(np.ones((2, 1)), kinks))

    @pytest.mark.parametrize("form", ["primal", "dual"])
    def test_out_of_time(self, form):
        with pytest.raises(SolverFailure, match=rf"^HiGHS \(highs-ds, {form} form\).*[Tt]ime"):
            solve_highs(problem(*retail(17, 400, 5), 0.7), form=form, time_limit=1e-9)
