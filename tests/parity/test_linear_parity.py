"""Against the estimators that solve the same problem under another name."""

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.linear_model import LinearRegression, QuantileRegressor, Ridge

from unmet import Band, LinearDecision, Newsvendor, SquaredError
from unmet.simulate import store10

LEVELS = (0.1, 0.65, 0.95)


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(150, 5)) * [1, 3, 0.1, 10, 1] + [0, 5, 0, -20, 1]
    s = 30 + X @ [1.0, -2.0, 30.0, 0.2, 0.0] + generator.gamma(1.5, 6.0, size=150)
    return X, s, generator.uniform(0.1, 3, size=150)


def _pinball(decision, s, level, weight=None):
    miss = s - decision
    return np.average(np.maximum(level * miss, (level - 1) * miss), weights=weight)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("alpha", [0.0, 0.05])
@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learn_quantile_regressor(rows, level, alpha, weighted):
    X, s, weight = rows
    weight = weight if weighted else None
    reference = QuantileRegressor(quantile=level, alpha=alpha).fit(X, s, sample_weight=weight)
    model = LinearDecision(
        Newsvendor.at_level(level), penalty="l1" if alpha else None, strength=alpha
    ).fit(X, s, sample_weight=weight)
    least = _pinball(reference.predict(X), s, level, weight)
    least += alpha * np.abs(reference.coef_).sum()
    assert model.solution_.objective == pytest.approx(least, rel=1e-7)
    assert model.predict(X) == pytest.approx(reference.predict(X), rel=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_scikit_learn_linear_regression(rows, weighted, intercept):
    X, s, weight = rows
    weight = weight if weighted else None
    reference = LinearRegression(fit_intercept=intercept).fit(X, s, sample_weight=weight)
    model = LinearDecision(SquaredError(), fit_intercept=intercept).fit(X, s, sample_weight=weight)
    assert model.coef_ == pytest.approx(reference.coef_, rel=1e-9)
    assert model.intercept_ == pytest.approx(reference.intercept_, rel=1e-9)


@pytest.mark.parametrize("strength", [1e-4, 0.3, 40.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learn_ridge(rows, strength, weighted):
    X, s, weight = rows
    weight = weight if weighted else None
    total = len(s) if weight is None else weight.sum()  # Ridge sums where we average
    reference = Ridge(alpha=strength * total, solver="svd").fit(X, s, sample_weight=weight)
    model = LinearDecision(SquaredError(), penalty="l2", strength=strength)
    model.fit(X, s, sample_weight=weight)
    assert model.coef_ == pytest.approx(reference.coef_, rel=1e-8, abs=1e-10)
    assert model.intercept_ == pytest.approx(reference.intercept_, rel=1e-8)


@pytest.mark.parametrize("level", LEVELS)
def test_scipy_linprog_on_the_papers_program_and_data(level):
    """LP.εLR with the constraints on u and o the right way round, written out anew."""
    data = store10(seed=3).train
    X, s = data.features[::9], data.sales[::9]  # one category, weekday and month dummies vary
    band = Band.scaled(low=0.0022, high=0.1976, observation=data.sales)
    n_rows, design = len(s), np.column_stack([X, np.ones(len(s))])
    eye, zero = np.eye(n_rows), np.zeros((n_rows, n_rows))
    prices = np.repeat([0.0, level / n_rows, (1 - level) / n_rows], [26, n_rows, n_rows])
    short = np.hstack([-design, -eye, zero])  # u ≥ s + low − y
    over = np.hstack([design, zero, -eye])  # o ≥ y − s − high
    result = linprog(
        prices,
        A_ub=np.vstack([short, over]),
        b_ub=np.append(-(s + band.low), s + band.high),
        bounds=[(None, None)] * 26 + [(0, None)] * (2 * n_rows),
    )
    model = LinearDecision(Newsvendor.at_level(level), band).fit(X, s)
    assert model.solution_.objective == pytest.approx(result.fun, rel=1e-8)
