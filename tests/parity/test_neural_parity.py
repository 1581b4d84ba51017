"""Networks against models whose best answer is known, and ways of training against each other."""

from dataclasses import dataclass

import numpy as np
import pytest

from unmet import (
    Band,
    LinearDecision,
    NeuralDecision,
    Newsvendor,
    PreventiveReplacement,
    SquaredError,
)
from unmet.costs import Cost


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(250, 4)) * [1, 30, 0.01, 1]
    s = 40 + X @ [6.0, -0.1, 300.0, 0.0] + generator.gamma(2.0, 3.0, size=250)
    return X, s


@dataclass(frozen=True, eq=False)
class OwnNewsvendor(Cost):
    """What a user may write: values only, and nothing about slopes."""

    underage: float
    overage: float

    def loss(self, decision, observation, band=None):
        rows = self.align(decision, observation, band)
        missing = np.maximum(rows.bottom - rows.decision, 0)
        return self.underage * missing + self.overage * np.maximum(rows.decision - rows.top, 0)

    def subgradient(self, decision, observation, band=None):
        raise AssertionError("not needed")


@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
@pytest.mark.parametrize("band", [None, Band(0, 3)])
@pytest.mark.parametrize("alpha", [0.1, 0.85])
def test_without_hidden_layers_it_is_the_exact_linear_decision(rows, solver, band, alpha):
    X, s = rows
    cost = Newsvendor.at_level(alpha)
    exact = LinearDecision(cost, band).fit(X, s)
    model = NeuralDecision(
        cost,
        band,
        hidden_layer_sizes=(),
        solver=solver,
        max_iter=300,
        random_state=0,
        dtype="float64",
    ).fit(X, s)
    assert 1 - 1e-9 < model.training_cost_ / exact.solution_.objective < 1.003
    assert np.abs(model.predict(X) - exact.predict(X)).mean() < 0.1 * s.std()


@pytest.mark.parametrize("scaling", ["standard", "min-max"])
def test_without_hidden_layers_squared_error_is_least_squares(rows, scaling):
    X, s = rows
    exact = LinearDecision(SquaredError()).fit(X, s)
    model = NeuralDecision(
        SquaredError(),
        hidden_layer_sizes=(),
        random_state=0,
        dtype="float64",
        scaling=scaling,
        max_iter=400,
    ).fit(X, s)
    assert model.predict(X) == pytest.approx(exact.predict(X), rel=1e-3)


@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
@pytest.mark.parametrize("band", [None, Band(1, 4)])
def test_a_cost_of_ones_own_trains_like_the_closed_form(rows, solver, band):
    X, s = rows
    costs = [
        [
            NeuralDecision(
                cost(5.0, 1.0),
                band,
                hidden_layer_sizes=(4,),
                solver=solver,
                random_state=seed,
                max_iter=60,
            )
            .fit(X, s)
            .training_cost_
            for seed in range(3)
        ]
        for cost in (OwnNewsvendor, Newsvendor)
    ]
    assert np.mean(costs[0]) == pytest.approx(np.mean(costs[1]), rel=0.05)


@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
def test_a_cost_with_jumps_is_trained_past_its_derivatives(solver):
    """All but the jump draws the interval up; the best one stays below nearly all failures."""
    generator = np.random.default_rng(1)
    X = generator.uniform(-1, 1, size=(300, 1))
    failure = 10 + 5 * X[:, 0] + generator.gamma(2.0, 1.0, size=300)
    cost = PreventiveReplacement(planned=1, failure=8, discount=0.05)
    model = NeuralDecision(cost, hidden_layer_sizes=(3,), solver=solver, random_state=0).fit(
        X, failure
    )
    decision = model.predict(X)
    grid = [
        cost.cost(10 + 5 * X[:, 0] + shift, failure).mean() for shift in np.linspace(-3, 3, 121)
    ]
    assert model.training_cost_ < 1.05 * min(grid)
    assert np.mean(decision > failure) < 0.1
    assert np.corrcoef(decision, X[:, 0])[0, 1] > 0.95
