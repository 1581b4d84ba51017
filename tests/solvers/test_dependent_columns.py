"""Columns that others explain: left out of the solve, and given their share afterwards."""

import numpy as np
import pytest
from block_problems import Evaluated, Watched, solve_watched
from scipy import sparse

from unmet import Band, LinearDecision, Newsvendor
from unmet.errors import SolverFailure
from unmet.solvers.exact import direct
from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem

COST = Newsvendor(3, 1)


def sales(n_rows=40, seed=0, typo=1e8):
    """Two prices, their sum, and rain with one mistyped cell."""
    generator = np.random.default_rng(seed)
    first, second = np.round(generator.uniform(1, 20, (2, n_rows)), 2)
    rain = np.round(generator.gamma(0.5, 8.0, n_rows), 1)
    rain[7] = typo
    X = np.column_stack([first, second, first + second, rain])
    return X, np.round(100 - 3 * first + 2 * second + generator.normal(0, 5, n_rows))


def moved_by_a_cent(model, X):
    off = X.copy()
    off[:, 2] += 0.01
    return float(np.abs(model.predict(off) - model.predict(X)).max())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("options", [{}, {"band": Band(0, 5)}, {"fit_intercept": False}])
def test_a_sum_that_is_off_by_a_cent_moves_orders_by_a_cent(seed, options):
    X, y = sales(seed=seed)
    model = LinearDecision(COST, **options).fit(X, y)
    assert moved_by_a_cent(model, X) < 0.1
    assert model.solution_.gap <= 1e-8 * model.solution_.objective
    reference = LinearDecision(COST, solver="highs", **options).fit(X, y)
    assert model.solution_.objective <= reference.solution_.objective * (1 + 1e-8)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("strength", [1e-9, 1e-3])
def test_so_it_does_under_a_penalty(penalty, strength):
    X, y = sales()
    model = LinearDecision(COST, penalty=penalty, strength=strength).fit(X, y)
    assert moved_by_a_cent(model, X) < 0.1
    assert model.solution_.gap <= 1e-6 * model.solution_.objective


def test_so_it_does_in_sparse_storage():
    X, y = sales()
    dense, thin = (LinearDecision(COST).fit(each, y) for each in (X, sparse.csr_array(X)))
    assert moved_by_a_cent(thin, X) < 0.1
    assert dense.solution_.objective == pytest.approx(thin.solution_.objective, rel=1e-8)


@pytest.mark.parametrize("typo", [3.0, 1e8])
@pytest.mark.parametrize("penalty", [None, "l2"])
def test_so_it_does_with_many_rows_and_in_blocks(typo, penalty):
    X, y = sales(9000, typo=typo)
    model = LinearDecision(Newsvendor(0.75, 0.25), penalty=penalty, strength=1e-6).fit(X, y)
    assert moved_by_a_cent(model, X) < 0.1
    ridge = None if penalty is None else np.full(4, 1e-6 / y.std())
    found = solve_watched(Watched(X, y), Evaluated(0.75), size=3000, ridge=ridge)
    assert np.abs(found.coefficients[:3]).max() < 10
    assert found.objective == pytest.approx(model.solution_.objective, rel=1e-8)
    for each in (found, model.solution_):
        assert each.gap <= 1e-8 * each.objective


def test_columns_that_only_a_sample_takes_for_dependent_are_solved():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(20_000, 3))
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    rare = generator.choice(20_000, 15, replace=False)
    X[rare, 3] += 4.0  # hardly a sample has one of these
    y = X[:, :2].sum(axis=1) + 10 * (X[:, 3] - X[:, 0] - X[:, 1]) + generator.normal(size=20_000)
    problem = Evaluated(0.75).problem(X, y)
    found = solve_exact(problem)
    assert found.coefficients[3] > 5
    assert found.objective <= solve_highs(problem).objective * (1 + 1e-8)
    in_blocks = solve_watched(Watched(X, y), Evaluated(0.75), size=3000)
    assert in_blocks.objective == pytest.approx(found.objective, rel=1e-8)


@pytest.mark.parametrize("share", [1e-6, 1e-9, 1e-10, 1e-12])
def test_the_last_digits_of_a_sum_are_used_or_left_out_and_never_denied(share):
    """Sales follow what a sum is off by: rules that use it are up to a thousand times cheaper."""
    proved = 0
    for seed in range(20):
        generator = np.random.default_rng(seed)
        first, second, rest = generator.normal(size=(3, 60))
        y = 10 + rest + 1e-3 * generator.normal(size=60)
        X = np.column_stack([first, second, first + second + share * rest])
        known, unknown = (
            LinearDecision(COST).fit(np.column_stack([first, second, *more]), y).solution_.objective
            for more in ([rest], [])
        )
        try:
            found = LinearDecision(COST).fit(X, y).solution_
        except SolverFailure:
            continue
        assert found.objective == pytest.approx(known if share > 1e-11 else unknown, rel=1e-2)
        proved += 1
    assert proved >= 5


# --- Least norm.


def _problem(features, intercept):
    s = np.random.default_rng(5).gamma(2.0, 3.0, size=features.shape[0])
    return HingeProblem(features, COST.kinks(s, None, 1 / len(s)), intercept)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(5, 9), (20, 9), (300, 9)])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_norm_is_that_of_the_pseudoinverse(shape, intercept, container):
    generator = np.random.default_rng(0)
    rank = 4
    features = generator.normal(size=(shape[0], rank)) @ generator.normal(size=(rank, shape[1]))
    features[:, 2] = 7.0 if intercept else 0.0  # a column that cannot matter
    features *= 10.0 ** generator.uniform(-2, 2, size=shape[1])
    found = solve_exact(_problem(container(features), intercept))
    centred = features - features.mean(axis=0) if intercept else features
    centred[:, 2] = 0.0
    least = np.linalg.pinv(centred, rcond=1e-12) @ (centred @ found.coefficients)
    assert found.coefficients == pytest.approx(least, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_all_levels_of_a_category_share_by_least_norm(intercept):
    generator = np.random.default_rng(1)
    level = generator.integers(0, 5, 200)
    X = np.column_stack([np.eye(5)[level], 1e6 * np.eye(5)[level]])
    y = 3.0 * level + generator.normal(size=200)
    model = LinearDecision(COST, fit_intercept=intercept).fit(X, y)
    assert np.abs(model.coef_[5:]).max() < 1e-4  # the larger unit needs the smaller coefficient
    assert np.abs(model.coef_[:5]).max() < 1e-3
    if intercept:
        assert model.coef_.sum() == pytest.approx(0, abs=1e-9)


# --- What is not proved is not handed on.


@pytest.mark.parametrize("share", [1e-5, np.nan])
def test_an_answer_with_a_gap_above_the_tolerance_is_refused(monkeypatch, share):
    X, y = sales()
    problem = HingeProblem(X, COST.kinks(y, None, 1 / 40))
    found = solve_exact(problem)
    doubtful = direct.replace(found, gap=share * found.objective)
    assert direct.proved(problem, doubtful, None, 1e-9) is None
    assert direct.proved(problem, found, None, 1e-9) is not None
    monkeypatch.setattr("unmet.solvers.exact.solve.minimise_rows", lambda *given: None)
    monkeypatch.setattr("unmet.solvers.exact.solve._program", lambda *given: None)
    with pytest.raises(SolverFailure, match="no solver could prove an answer to 1e-06 of its cost"):
        LinearDecision(COST).fit(X, y)
