"""Data seen in blocks only: the optimum and certificate of all rows at once, in few reads."""

from __future__ import annotations

import numpy as np
import pytest
from block_problems import Evaluated, Watched, solve_watched
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from small_problems import dense_data

from unmet.arrays import Band
from unmet.errors import InvalidInput, Unsupported
from unmet.solvers.blocks.source import read_sample
from unmet.solvers.exact.highs import solve_highs
from unmet.solvers.exact.solve import solve_exact

BANDS = [None, Band(0.1, 0.9)]


def check(found, problem, *, within=2e-9):
    """Same optimum as all rows in memory, an honest objective and a certificate."""
    value = problem.objective(found.coefficients, found.intercept)
    assert found.objective == pytest.approx(value, rel=1e-10)
    reference = solve_exact(problem).objective
    assert found.objective <= reference * (1 + within)
    assert found.gap <= 1e-9 * found.objective
    assert found.objective - found.gap <= reference * (1 + max(within - 2e-9, 1e-12))


@pytest.mark.parametrize("level", [0.04, 0.7, 0.95])
@pytest.mark.parametrize("band", BANDS)
def test_blocks_equal_all_rows_in_three_reads(level, band):
    X, s = dense_data(40_000, 6)
    source, price = Watched(X, s), Evaluated(level, band)
    found = solve_watched(source, price, size=8000)
    check(found, price.problem(X, s))
    assert found.passes == source.reads <= 4
    assert found.method == "few-pass interior point"


@pytest.mark.parametrize("band", BANDS)
@pytest.mark.parametrize(
    "penalties",
    [
        {"ridge": np.full(6, 0.03)},
        {"lasso": np.full(6, 0.05)},
        {"ridge": np.full(6, 0.01), "lasso": np.full(6, 0.03)},
    ],
    ids=["ridge", "lasso", "both"],
)
def test_penalties(band, penalties):
    X, s = dense_data(30_000, 6, seed=3)
    source, price = Watched(X, s), Evaluated(0.8, band)
    found = solve_watched(source, price, size=6000, **penalties)
    check(found, price.problem(X, s, **penalties))
    assert source.reads <= 5


@pytest.mark.parametrize("band", [None, Band(0.0, 0.3)])
def test_half_of_all_observations_on_a_plane(band):
    """All of them are near the decision: where no sample tells them apart, all rows are read."""
    X, s = dense_data(30_000, 5)
    plane = np.minimum(s, X @ np.linspace(-1, 1, 5) + 2.0)
    source, price = Watched(X, plane), Evaluated(0.8, band)
    found = solve_watched(source, price, size=4000)
    check(found, price.problem(X, plane))
    assert found.residual <= 1e-9 * found.objective
    assert source.reads <= 9


def test_a_band_that_holds_everything_costs_nothing():
    X, s = dense_data(20_000, 3)
    found = solve_watched(Watched(X, s), Evaluated(0.8, Band(0.0, 60.0)), size=3000)
    assert found.objective == found.gap == found.residual == 0.0


def test_a_dummy_that_no_sample_sees():
    X, s = dense_data(40_000, 4)
    rare = np.zeros(40_000)
    rare[[11, 14_321]] = 1.0
    X, s, price = np.column_stack([X, rare]), s + 80 * rare, Evaluated(0.8)
    source = Watched(X, s)
    found = solve_watched(source, price, size=4000)
    check(found, price.problem(X, s))
    assert found.coefficients[-1] > 60
    assert source.reads <= 5


def test_sparse_and_single_precision_blocks():
    X, s = dense_data(20_000, 4)
    X = np.where(np.abs(X) > 0.5, X, 0.0).astype(np.float32)
    price = Evaluated(0.7)
    thin = solve_watched(Watched(sparse.csr_array(X.astype(float)), s), price, size=4000)
    single = solve_watched(Watched(X, s), price, size=4000)
    check(thin, price.problem(X.astype(float), s))
    np.testing.assert_array_equal(single.coefficients, thin.coefficients)


def test_same_blocks_same_bits_and_other_orders_the_same_answer():
    X, s = dense_data(30_000, 5)
    price = Evaluated(0.8, Band(0.1, 0.9))
    first, again = (solve_watched(Watched(X, s), price, size=5000) for _ in range(2))
    np.testing.assert_array_equal(first.coefficients, again.coefficients)
    assert (first.objective, first.gap) == (again.objective, again.gap)
    shuffled = Watched(X, s, order=np.random.default_rng(0).permutation(10))
    other = solve_watched(shuffled, price, size=5000)
    assert other.objective == pytest.approx(first.objective, rel=2e-9)


def test_too_many_features_are_refused():
    X = sparse.csr_array((50, 2001))
    source = Watched(X, np.arange(50.0))
    with pytest.raises(Unsupported, match="2001 features"):
        solve_watched(source, Evaluated(0.7), size=20)


@pytest.mark.parametrize(
    ("where", "what", "words"),
    [("X", np.nan, "features must hold finite"), ("s", np.inf, "observation must hold finite"),
     ("w", -1.0, "weight must be a non-negative")],
)  # fmt: skip
def test_bad_numbers_are_found_by_the_sampling_read(where, what, words):
    data = {"X": np.zeros((50, 2)), "s": np.zeros(50), "w": np.ones(50)}
    data[where][33] = what
    with pytest.raises(InvalidInput, match=f"{words}.*block 3"):
        read_sample(Watched(data["X"], data["s"], data["w"], block_rows=10))


@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(60, 4000),
    n_features=st.integers(1, 4),
    level=st.sampled_from([0.03, 0.3, 0.8, 0.97]),
    band=st.sampled_from([None, Band(0.0, 0.0), Band(0.0, 1.0), Band(1.0, 3.0)]),
    kind=st.sampled_from(["plain", "integers", "plane", "constant", "heavy", "twice"]),
    weighted=st.booleans(),
    block_rows=st.sampled_from([60, 400, 5000]),
)
def test_awkward_problems_against_a_linear_program(
    seed, n_rows, n_features, level, band, kind, weighted, block_rows
):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    s = X.sum(axis=1) + rng.gamma(2.0, 1.0, n_rows)
    if kind == "integers":
        X, s = np.round(X), np.round(s)
    elif kind == "plane":
        s = np.minimum(s, X.sum(axis=1) + 2)
    elif kind == "constant":
        s = np.full(n_rows, 3.0)
    elif kind == "heavy":
        X = rng.standard_t(1.2, X.shape)
    elif kind == "twice":
        X = np.column_stack([X, X[:, 0]])
    weight = rng.integers(0, 3, n_rows).astype(float) if weighted else None
    assume(weight is None or np.count_nonzero(weight) > 20)
    source, price = Watched(X, s, weight, block_rows=block_rows), Evaluated(level, band)
    assume(len(read_sample(source, size=n_rows // 3, in_memory=0).rows) > 10)
    found = solve_watched(source, price, size=n_rows // 3)
    problem = price.problem(X, s, weight)
    best = solve_highs(problem).objective
    scale = problem.objective(np.zeros(X.shape[1]), float(np.mean(s)))
    assert found.objective <= best + 1e-8 * best + 1e-12 * max(scale, 1.0)
    assert found.objective == pytest.approx(
        problem.objective(found.coefficients, found.intercept), rel=1e-9, abs=1e-13
    )
