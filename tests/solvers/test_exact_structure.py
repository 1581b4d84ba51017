"""The routes of the exact solver: grouping, screening, sparse, wide, working sets, paths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import lsq_linear

import unmet.solvers.sparse
from unmet.costs.kinks import Kinks
from unmet.solvers import exact, screened
from unmet.solvers.blocks import ArraySource, spread_sample
from unmet.solvers.dense import solve_dense
from unmet.solvers.exact import solve_exact
from unmet.solvers.frame import Frame
from unmet.solvers.grouping import groups_of
from unmet.solvers.highs import solve_highs
from unmet.solvers.hinges import Hinges, Scale
from unmet.solvers.interior_point import solve_hinges
from unmet.solvers.operators import DenseOperator, OneEach
from unmet.solvers.path import solve_path
from unmet.solvers.problem import HingeProblem
from unmet.solvers.shortest import shortest
from unmet.solvers.sparse import independent_columns
from unmet.solvers.trust import Leverage, Uniform, choose_trust


def band_kinks(s, level, low=None, high=None, weight=None):
    n = len(s)
    weight = np.full(n, 1 / n) if weight is None else weight / weight.sum()
    if low is None:
        return Kinks(s[None], (level * weight)[None], ((1 - level) * weight)[None])
    zero = np.zeros(n)
    return Kinks(
        np.stack([s + high, s + low]),
        np.stack([zero, level * weight]),
        np.stack([(1 - level) * weight, zero]),
    )


def dense_data(n, p, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X @ rng.standard_normal(p) + rng.gamma(2.0, 1.0, n)


def full(problem):
    """All rows at once, without grouping or screening."""
    return solve_dense(problem, np.asarray(problem.features), None, 1e-9)


# ---------------------------------------------------------------- grouping


def categorical(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    code = rng.integers(0, 40, n)
    X = np.column_stack([code % 5, code // 5, (code % 3) == 0]).astype(float)
    return X, rng.poisson(5 + code % 5).astype(float)


def test_groups_hold_equal_rows_only():
    X, _ = categorical()
    groups = groups_of(X)
    np.testing.assert_array_equal(X[groups.first][groups.group], X)
    assert len(groups.first) == len(np.unique(X, axis=0))


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
    groups = groups_of(X)
    assert len(groups.first) == len(np.unique(X, axis=0))
    problem = HingeProblem(X, band_kinks(s, 0.8))
    found = solve_exact(problem)
    assert found.objective == pytest.approx(full(problem).objective, rel=3e-9)


def test_distinct_rows_are_not_grouped():
    X, _ = dense_data(1000, 3)
    assert groups_of(X) is None


# ---------------------------------------------------------------- screening


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
    monkeypatch.setattr(exact, "solve_screened", lambda *_, **__: None)
    found = solve_exact(problem)
    assert found.method == "interior point"
    assert found.gap <= 1e-9 * found.objective


def test_a_too_narrow_near_zone_is_repaired(monkeypatch):
    """With guesses ten times too sure the certificate, not luck, must give the answer."""
    X, s = dense_data(20_000, 5)
    problem = HingeProblem(X, band_kinks(s, 0.8, 0.1, 0.8))
    reference = full(problem).objective
    monkeypatch.setattr(screened, "_WIDTHS", 0.25)
    found = solve_exact(problem)
    assert problem.objective(found.coefficients, found.intercept) <= reference * (1 + 2e-9)


def test_blocks_cover_every_row_once():
    X, s = dense_data(5000, 30)
    source = ArraySource(X, band_kinks(s, 0.8))
    blocks = list(source.blocks())
    assert len(blocks) > 1
    np.testing.assert_array_equal(np.vstack([block.features for block in blocks]), X)
    np.testing.assert_array_equal(np.concatenate([block.kinks.position[0] for block in blocks]), s)
    assert [block.first for block in blocks] == list(
        np.cumsum([0] + [len(block) for block in blocks[:-1]])
    )


def test_samples_are_sorted_and_without_repeats():
    rows = spread_sample(10_007, 3000, np.random.default_rng(0))
    assert (np.diff(rows) > 0).all()
    assert rows.min() >= 0
    assert rows.max() < 10_007


def test_trust_follows_the_features():
    rng = np.random.default_rng(0)
    even = rng.standard_normal((3000, 4))
    frame = Frame.of(even, True)
    assert isinstance(choose_trust(frame, frame.design(even), even), Uniform)
    rare = even.copy()
    rare[:, 0] = rng.random(3000) < 0.01
    frame = Frame.of(rare, True)
    trust = choose_trust(frame, frame.design(rare), rare)
    assert isinstance(trust, Leverage)
    radius = trust.radius(rare)
    assert radius[rare[:, 0] == 1].min() > 2 * np.median(radius)
    unseen = even.copy()
    unseen[:, 0] = 3.0
    frame = Frame.of(unseen, True)
    trust = choose_trust(frame, frame.design(unseen), unseen)
    assert np.isinf(trust.radius(np.array([[4.0, 0, 0, 0]]))).all()


# ---------------------------------------------------------------- frames


def test_frame_round_trip_with_dependent_columns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3)) * [1, 1e6, 1e-3] + [1e3, 0, 5]
    X = np.column_stack([X, X[:, 0] + 1e3 * X[:, 2]])
    for all_rows in (True, False):
        frame, _ = Frame.of(X, True).orthogonal(X, all_rows=all_rows)
        assert frame.n_parameters == (4 if all_rows else 5)
        theta = rng.standard_normal(frame.n_parameters)
        coefficients, intercept = frame.to_raw(theta)
        np.testing.assert_allclose(
            X @ coefficients + intercept, frame.design(X) @ theta, rtol=1e-6, atol=1e-6
        )


def test_frame_gradient_is_the_design_transposed():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3)) + 4
    X[:, 2] = X[:, 1] + 1e-4 * X[:, 2]
    y = rng.standard_normal(50)
    for frame in (
        Frame.of(X, True),
        Frame.of(X, False),
        Frame.of(X, True).orthogonal(X, all_rows=True)[0],
    ):
        np.testing.assert_allclose(
            frame.gradient(y @ X, y.sum()), y @ frame.design(X), rtol=1e-6, atol=1e-8
        )


# ---------------------------------------------------------------- sparse


def one_hot(n, levels, seed=0):
    rng = np.random.default_rng(seed)
    blocks = [
        sparse.csr_array((np.ones(n), (np.arange(n), rng.integers(0, k, n))), shape=(n, k))
        for k in levels
    ]
    X = sparse.csr_array(sparse.hstack(blocks))
    return X, X @ rng.standard_normal(X.shape[1]) + rng.standard_normal(n)


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


def test_many_sparse_rows_shrink_on_the_way():
    X, s = one_hot(30_000, (120, 12))
    problem = HingeProblem(X, band_kinks(s, 0.85))
    found = solve_exact(problem)
    assert found.gap <= 1e-9 * found.objective
    dense = replace(problem, features=np.ascontiguousarray(X.toarray()))
    assert found.objective == pytest.approx(solve_exact(dense).objective, rel=5e-9)


def test_independent_columns_never_meet(monkeypatch):
    X, _ = one_hot(4000, (300, 40, 5))
    chosen = independent_columns(X)
    assert len(chosen) >= 300
    monkeypatch.setattr(unmet.solvers.sparse, "_SAMPLE", 50)
    for columns in (chosen, independent_columns(X)):
        assert X[:, columns].sum(axis=1).max() <= 1
    assert len(columns) > 0


def test_few_sparse_columns_are_solved_dense():
    X, s = one_hot(500, (10, 4))
    found = solve_exact(HingeProblem(X, band_kinks(s, 0.8)))
    assert not found.method.startswith("sparse")


# ---------------------------------------------------------------- wide


def test_more_columns_than_rows_interpolates_with_least_norm():
    X, s = dense_data(20, 60)
    problem = HingeProblem(X, band_kinks(s, 0.8))
    found = shortest(problem, solve_exact(problem))
    assert found.objective <= 1e-12
    centred = X - X.mean(axis=0)
    least = np.linalg.pinv(centred) @ (s - s.mean())
    assert np.linalg.norm(found.coefficients) <= np.linalg.norm(least) * (1 + 1e-6)


@pytest.mark.parametrize(("n", "p"), [(40, 6), (25, 70)])
def test_ridge_against_an_independent_dual(n, p):
    """Without intercept the dual of ridge is a box-constrained least-squares problem."""
    X, s = dense_data(n, p)
    level, strength = 0.8, 0.05
    problem = HingeProblem(X, band_kinks(s, level), False, np.full(p, strength))
    found = solve_exact(problem)
    # max over y in the box of −b'y − ‖X'y‖²/(4λ)  =  λ‖θ‖² form with θ = −X'y/(2λ)
    root = X.T / np.sqrt(4 * strength)
    # ‖root y + c‖² completes the square; c exists where the columns of root are independent
    if p >= n:
        shift = np.linalg.lstsq(root.T, s / 2, rcond=None)[0]
        dual = lsq_linear(
            root, -shift, bounds=(-level / n, (1 - level) / n), tol=1e-14, method="bvls"
        )
        y = dual.x
        value = -s @ y - np.sum((root @ y) ** 2)
        assert found.objective == pytest.approx(value, rel=1e-7)
    theta = found.coefficients
    rng = np.random.default_rng(0)
    for size in (1e-5, 1e-2, 0.3):
        for _ in range(50):
            other = problem.objective(theta + size * rng.standard_normal(p), 0.0)
            assert other >= found.objective - found.gap


@pytest.mark.parametrize("band", [None, (0.05, 0.6)])
@pytest.mark.parametrize("strength", [0.3, 0.04])
def test_lasso_with_many_columns_equals_highs(band, strength):
    X, s = dense_data(60, 400)
    s = X[:, :4].sum(axis=1) * 2 + np.random.default_rng(3).standard_normal(60)
    problem = HingeProblem(X, band_kinks(s, 0.7, *(band or ())), lasso=np.full(400, strength))
    found = solve_exact(problem)
    value = problem.objective(found.coefficients, found.intercept)
    assert value <= solve_highs(problem).objective * (1 + 1e-8)
    assert found.method == "interior point"


# ---------------------------------------------------------------- flat optima


def test_a_band_that_holds_everything_is_answered_by_its_middle():
    s = np.array([0.0, 1.0, 2.0])
    problem = HingeProblem(np.zeros((3, 1)), band_kinks(s, 0.9, 0.0, 10.0))
    found = solve_exact(problem)
    assert found.objective == found.gap == 0.0
    # the set of optima is [2, 10]; its analytic centre maximises the product of six slacks
    grid = np.linspace(2.001, 9.999, 100_000)
    products = np.prod([(grid - each) * (each + 10 - grid) for each in s], axis=0)
    assert found.intercept == pytest.approx(grid[products.argmax()], abs=1e-3)


def test_the_middle_does_not_depend_on_the_order_of_rows():
    X, s = dense_data(200, 3)
    low, high = np.full(200, 0.0), np.full(200, 60.0)
    first = solve_exact(HingeProblem(X, band_kinks(s, 0.8, low, high)))
    second = solve_exact(
        HingeProblem(np.ascontiguousarray(X[::-1]), band_kinks(s[::-1], 0.8, low, high))
    )
    assert first.objective == 0.0
    np.testing.assert_allclose(first.coefficients, second.coefficients, atol=1e-3)


# ---------------------------------------------------------------- paths


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
        DenseOperator(rows, OneEach()),
        hinges,
        start=np.zeros(1),
        linear=np.array([-0.5]),
        constant=1.0,
        scale=Scale(0.0, 10.0),
    )
    # all kinks are hit exactly, yet the linear term pulls the decision away without end
    assert found.status == "adrift"


def test_path_with_penalties_and_for_sparse_features():
    X, s = one_hot(700, (110, 7))
    kinks = [band_kinks(s, level) for level in (0.6, 0.8)]
    lasso = np.full(117, 1e-3)
    for features in (X, np.ascontiguousarray(X.toarray())):
        for found, each in zip(solve_path(features, kinks, lasso=lasso), kinks, strict=True):
            single = solve_exact(HingeProblem(features, each, lasso=lasso))
            assert found.objective == pytest.approx(single.objective, rel=3e-9)
