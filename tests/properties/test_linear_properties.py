"""Theorems about the best linear decision, checked on random problems at asymmetric levels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from unmet import Band, LinearDecision, Newsvendor, SquaredError
from unmet.costs import AgeReplacement

LEVELS = st.sampled_from([0.03, 0.2, 0.37, 0.71, 0.9, 0.98])
SEEDS = st.integers(0, 10**6)


def _rows(seed, n_rows=83, n_features=3):
    """Continuous data: without a band the best decision is then almost surely unique."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, n_features)) * generator.uniform(0.2, 5, size=n_features)
    s = 20 + X @ generator.normal(size=n_features) + generator.gamma(2.0, 4.0, size=n_rows)
    return X, s, generator


def _fit(alpha, X, s, band=None, **keywords):
    return LinearDecision(Newsvendor.at_level(alpha), band).fit(X, s, **keywords)


def _same(model, other, X, factor=1.0, shift=0.0):
    """Decisions of one are those of the other, scaled and shifted; so is the objective scaled."""
    assert model.solution_.objective == pytest.approx(factor * other.solution_.objective, rel=1e-7)
    expected = factor * other.predict(X) + shift
    assert model.predict(X) == pytest.approx(expected, rel=1e-5, abs=1e-5 * factor)


@given(seed=SEEDS, alpha=LEVELS, power=st.integers(-6, 6))
def test_scaling_the_observations_scales_the_decisions(seed, alpha, power):
    X, s, _ = _rows(seed)
    factor = 10.0**power
    _same(_fit(alpha, X, factor * s), _fit(alpha, X, s), X, factor)
    with_band = _fit(alpha, X, factor * s, Band(factor, 9 * factor)).solution_
    plain = _fit(alpha, X, s, Band(1, 9)).solution_
    assert with_band.objective == pytest.approx(factor * plain.objective, rel=1e-7)


@given(seed=SEEDS, alpha=LEVELS)
def test_mirroring_the_observations_exchanges_the_levels(seed, alpha):
    X, s, _ = _rows(seed)
    model, mirrored = _fit(alpha, X, s), _fit(1 - alpha, X, -s)
    assert mirrored.predict(X) == pytest.approx(-model.predict(X), rel=1e-5, abs=1e-5)


@given(seed=SEEDS, alpha=LEVELS, shift=st.floats(-1e4, 1e4))
def test_shifting_the_observations_shifts_the_decisions(seed, alpha, shift):
    X, s, _ = _rows(seed)
    _same(_fit(alpha, X, s + shift), _fit(alpha, X, s), X, shift=shift)


@given(seed=SEEDS, alpha=LEVELS)
def test_adding_a_linear_term_adds_its_coefficients(seed, alpha):
    X, s, generator = _rows(seed)
    gamma = generator.normal(scale=10, size=3)
    model, tilted = _fit(alpha, X, s), _fit(alpha, X, s + X @ gamma)
    _same(tilted, model, X, shift=X @ gamma)
    assert tilted.coef_ == pytest.approx(model.coef_ + gamma, rel=1e-4, abs=1e-4)


@given(seed=SEEDS, alpha=LEVELS)
def test_decisions_do_not_depend_on_the_coordinates_of_the_features(seed, alpha):
    X, s, generator = _rows(seed)
    change = generator.normal(size=(3, 3)) + 3 * np.eye(3)
    offset = generator.normal(scale=5, size=3)
    other = X @ change + offset
    model, changed = _fit(alpha, X, s), _fit(alpha, other, s)
    assert changed.solution_.objective == pytest.approx(model.solution_.objective, rel=1e-7)
    assert changed.predict(other) == pytest.approx(model.predict(X), rel=1e-5, abs=1e-5)


@given(seed=SEEDS, alpha=LEVELS, band=st.sampled_from([None, Band(1, 6)]))
def test_integer_weights_are_repeated_rows(seed, alpha, band):
    X, s, generator = _rows(seed, n_rows=61)
    weight = generator.integers(0, 4, size=61)
    weighted = _fit(alpha, X, s, band, sample_weight=weight)
    repeated = _fit(alpha, X.repeat(weight, axis=0), s.repeat(weight), band)
    assert weighted.solution_.objective == pytest.approx(repeated.solution_.objective, rel=1e-7)
    if band is None:
        assert weighted.predict(X) == pytest.approx(repeated.predict(X), rel=1e-4, abs=1e-4)


@given(seed=SEEDS, alpha=LEVELS)
def test_the_order_of_the_rows_does_not_matter(seed, alpha):
    X, s, generator = _rows(seed)
    order = generator.permutation(83)
    high = generator.uniform(0, 5, size=83)
    model = _fit(alpha, X, s, Band(0, high))
    shuffled = _fit(alpha, X[order], s[order], Band(0, high[order]))
    assert shuffled.solution_.objective == pytest.approx(model.solution_.objective, rel=1e-7)


@given(seed=SEEDS, alpha=LEVELS)
def test_costs_per_row_act_as_weights(seed, alpha):
    X, s, generator = _rows(seed)
    weight = generator.uniform(0.1, 5, size=83)
    evaluated = _fit(alpha, X, s, underage=alpha * weight, overage=(1 - alpha) * weight)
    weighted = _fit(alpha, X, s, sample_weight=weight)
    assert evaluated.predict(X) == pytest.approx(weighted.predict(X), rel=1e-5, abs=1e-5)
    objective = weight.mean() * weighted.solution_.objective
    assert evaluated.solution_.objective == pytest.approx(objective, rel=1e-7)


@given(seed=SEEDS, alpha=LEVELS)
def test_a_wider_band_never_costs_more(seed, alpha):
    X, s, _ = _rows(seed)
    bands = [None, Band(0, 2), Band(0, 6), Band(1, 6)]
    costs = [_fit(alpha, X, s, band).solution_.objective for band in bands]
    slack = 1e-8 * costs[0]
    assert costs[0] >= costs[1] - slack
    assert costs[1] >= costs[2] - slack
    assert costs[3] >= costs[2] - slack  # a higher lower end is a narrower band


@given(seed=SEEDS, alpha=LEVELS, n_rows=st.integers(20, 120))
def test_the_share_of_observations_below_the_decision_is_the_level(seed, alpha, n_rows):
    X, s, _ = _rows(seed, n_rows)
    decision = _fit(alpha, X, s).predict(X)
    slack = 1e-5 * np.abs(s).max()
    below, reached = np.sum(s < decision - slack), np.sum(s <= decision + slack)
    assert below <= alpha * n_rows + 1e-9
    assert reached >= alpha * n_rows - 1e-9
    assert reached - below <= 8  # four parameters interpolate four rows, give or take rounding


@given(
    seed=SEEDS,
    alpha=LEVELS,
    band=st.sampled_from([None, Band(0, 3), Band(2, 15)]),
    penalty=st.sampled_from([None, "l1"]),
    intercept=st.booleans(),
    weighted=st.booleans(),
)
def test_the_objective_is_that_of_an_independent_solver(
    seed, alpha, band, penalty, intercept, weighted
):
    X, s, generator = _rows(seed, n_rows=int(np.random.default_rng(seed).integers(3, 90)))
    weight = generator.exponential(size=s.size) if weighted else None
    cost = Newsvendor(underage=7 * alpha, overage=7 * (1 - alpha))
    arguments = {"penalty": penalty, "strength": 0.05, "fit_intercept": intercept}
    exact = LinearDecision(cost, band, **arguments).fit(X, s, sample_weight=weight)
    highs = LinearDecision(cost, band, solver="highs", **arguments).fit(X, s, sample_weight=weight)
    scale = cost.loss(0.0, s, band).mean()
    assert exact.solution_.objective <= highs.solution_.objective * (1 + 1e-8) + 1e-12 * scale
    assert exact.solution_.objective >= highs.solution_.objective * (1 - 1e-7) - 1e-12 * scale


@given(
    seed=SEEDS,
    alpha=LEVELS,
    factor=st.sampled_from([1e-6, 37.0, 1e6]),
    penalty=st.sampled_from(["l1", "l2", "elasticnet"]),
    intercept=st.booleans(),
)
def test_no_penalty_depends_on_the_unit_of_the_observations(
    seed, alpha, factor, penalty, intercept
):
    X, s, _ = _rows(seed)
    model = LinearDecision(
        Newsvendor.at_level(alpha),
        penalty=penalty,
        strength=0.05,
        fit_intercept=intercept,
        tol=1e-10,  # a gap of 1e-9 leaves decisions up to 1e-5 apart
    )
    expected = factor * clone(model).fit(X, s).predict(X)
    slack = 1e-5 * np.abs(expected).max()
    np.testing.assert_allclose(model.fit(X, factor * s).predict(X), expected, atol=slack)


@pytest.mark.parametrize(
    ("cost", "solver"),
    [
        (Newsvendor(4, 1), "minibatch"),
        (Newsvendor(4, 1), "smoothed"),
        (SquaredError(), "exact"),
        (AgeReplacement(planned=1, failure=5, rate=0.01), "smoothed"),
    ],
)
def test_the_ridge_of_other_solvers_does_not_depend_on_it_either(cost, solver):
    X, s, _ = _rows(3)
    s = np.abs(s) + 1.0
    model = LinearDecision(cost, solver=solver, penalty="l2", strength=0.02)
    expected = 1e4 * clone(model).fit(X, s).predict(X)
    if isinstance(cost, AgeReplacement):  # time is worth as much less per unit
        model.set_params(cost=cost.at_rate(1e-6))
    found = model.fit(X, 1e4 * s).predict(X)
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())
