import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from unmet.solvers.exact import least_squares
from unmet.solvers.exact.least_squares import solve_least_squares


def _reference(X, t, share, ridge, intercept):
    """Augmented rows through LAPACK's SVD, the intercept as a column of its own."""
    n_rows, n_features = X.shape
    weight = np.full(n_rows, 1 / n_rows) if share is None else share
    root = np.sqrt(weight)[:, None]
    ones = np.ones((n_rows, int(intercept)))
    penalty = np.hstack(
        [np.sqrt(ridge) * np.eye(n_features), np.zeros((n_features, ones.shape[1]))]
    )
    rows = np.vstack([np.hstack([X, ones]) * root, penalty])
    goal = np.append(t * root[:, 0], np.zeros(n_features))
    found = np.linalg.lstsq(rows, goal, rcond=None)[0]
    return found, float(np.sum((rows @ found - goal) ** 2))


def _objective(X, t, share, ridge, solution):
    residual = X @ solution.coefficients + solution.intercept - t
    weight = np.full(len(t), 1 / len(t)) if share is None else share
    return float(weight @ residual**2 + ridge * solution.coefficients @ solution.coefficients)


@given(
    seed=st.integers(0, 10**6),
    shape=st.sampled_from([(2, 1), (40, 3), (40, 12), (8, 20), (500, 6), (3000, 4)]),
    ridge=st.sampled_from([0.0, 1e-6, 0.3, 50.0]),
    intercept=st.booleans(),
    weighted=st.booleans(),
    kind=st.sampled_from(["plain", "offset", "repeated column", "constant", "sparse"]),
)
def test_objective_is_the_least(seed, shape, ridge, intercept, weighted, kind):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=shape)
    if kind == "offset":
        X += 1e4 * generator.normal(size=shape[1])
    if kind == "repeated column":
        X[:, -1] = X[:, 0]
    if kind == "constant":
        X[:, 0] = 3.0
    t = 5 + X @ generator.normal(size=shape[1]) + generator.standard_t(3, size=shape[0])
    share = generator.dirichlet(np.ones(shape[0])) if weighted else None
    features = sparse.csr_array(X) if kind == "sparse" else X
    solution = solve_least_squares(features, t, share=share, ridge=ridge, fit_intercept=intercept)
    _, least = _reference(X, t, share, ridge, intercept)
    scale = np.average(t**2, weights=share)
    assert solution.objective == pytest.approx(
        _objective(X, t, share, ridge, solution), rel=1e-6, abs=1e-12 * scale
    )
    assert solution.objective <= least * (1 + 1e-7) + 1e-12 * scale
    if solution.method != "lsmr":
        assert solution.gap <= 1e-8 * max(solution.objective, 1e-6 * scale)
    if not intercept:
        assert solution.intercept == 0


@pytest.mark.parametrize("ridge", [0.0, 0.2])
def test_wide_sparse_features_are_left_to_iterations(monkeypatch, ridge):
    generator = np.random.default_rng(5)
    codes = generator.integers(0, 30, size=(400, 2)) + [0, 30]
    X = np.zeros((400, 60))
    np.put_along_axis(X, codes, 1.0, axis=1)  # two one-hot blocks: rank 59 with an intercept
    t = generator.normal(size=60)[codes].sum(axis=1) + generator.normal(size=400)
    direct = solve_least_squares(X, t, ridge=ridge)
    monkeypatch.setattr(least_squares, "DENSE_ENTRIES", 10)
    iterated = solve_least_squares(sparse.csr_array(X), t, ridge=ridge)
    assert iterated.method == "lsmr"
    assert np.isnan(iterated.gap)
    assert iterated.objective == pytest.approx(direct.objective, rel=1e-9)
    decisions = X @ direct.coefficients + direct.intercept
    assert X @ iterated.coefficients + iterated.intercept == pytest.approx(decisions, abs=1e-6)
    assert iterated.iterations > 0
