"""NeuralDecision: what it learns, and what it says about it."""

import numpy as np
import pytest
from hilly import hill_rows
from sklearn.base import clone

from unmet import Band, LinearDecision, NeuralDecision, Newsvendor, SquaredError

COST = Newsvendor(underage=4, overage=1)


@pytest.fixture
def hill():
    return hill_rows()


def test_squared_error_learns_the_mean_where_a_line_cannot(hill):
    X, s, mean = hill
    model = NeuralDecision(SquaredError(), random_state=0, strength=1e-4).fit(X, s)
    line = LinearDecision(SquaredError()).fit(X, s)
    error, straight = (np.sqrt(np.mean((m.predict(X) - mean) ** 2)) for m in (model, line))
    assert error < 0.25 * straight
    assert error < 1.0


def test_a_newsvendor_orders_its_level(hill):
    X, s, _ = hill
    for underage, overage in ((9, 1), (1, 9)):
        cost = Newsvendor(underage, overage)
        model = NeuralDecision(cost, random_state=0, hidden_layer_sizes=(5,)).fit(X, s)
        level = underage / (underage + overage)
        assert np.mean(model.predict(X) >= s) == pytest.approx(level, abs=0.04)
        line = LinearDecision(cost).fit(X, s)
        assert model.training_cost_ < 0.7 * line.solution_.objective


def test_a_band_costs_nothing_and_lifts_decisions(hill):
    X, s, _ = hill
    plain, banded = (
        NeuralDecision(COST, band, random_state=0, hidden_layer_sizes=(5,)).fit(X, s)
        for band in (None, Band(3, 8))
    )
    assert 3 <= np.mean(banded.predict(X) - plain.predict(X)) <= 8
    assert banded.training_cost_ < plain.training_cost_
    assert banded.training_cost_ == pytest.approx(
        COST.loss(banded.predict(X), s, Band(3, 8)).mean()
    )
    assert banded.band_ == Band(3, 8)


def test_attributes_say_what_was_trained(hill):
    X, s, _ = hill
    model = NeuralDecision(COST, hidden_layer_sizes=(4, 3), random_state=0, max_iter=30).fit(X, s)
    assert [w.shape for w in model.weights_] == [(4, 2), (3, 4), (1, 3)]
    assert [b.shape for b in model.biases_] == [(4,), (3,), (1,)]
    assert all(w.dtype == np.float32 for w in model.weights_)
    assert model.validation_cost_ is None
    assert model.n_features_in_ == 2
    assert (model.cost_, model.band_, model.band_rule_) == (COST, None, None)
    values = (X - model.network_.features.location) / model.network_.features.unit
    for place, (weights, biases) in enumerate(zip(model.weights_, model.biases_, strict=True)):
        values = values @ weights.T + biases
        values = 1 / (1 + np.exp(-values)) if place < 2 else values
    target = model.network_.target
    assert model.predict(X) == pytest.approx(target.centre + target.unit * values[:, 0], rel=1e-5)
    assert model.training_cost_ == pytest.approx(COST.loss(model.predict(X), s).mean(), rel=1e-6)
    double = clone(model).set_params(dtype="float64").fit(X, s)
    assert double.weights_[0].dtype == np.float64
    assert double.training_cost_ == pytest.approx(model.training_cost_, rel=0.05)


def test_the_published_training_is_the_papers():
    model = NeuralDecision.published(COST, Band(0, 2), random_state=4)
    given = model.get_params(deep=False)
    assert (given["cost"], given["band"], given["random_state"]) == (COST, Band(0, 2), 4)
    expected = {
        "hidden_layer_sizes": (9, 5),
        "activation": "sigmoid",
        "solver": "adam",
        "max_iter": 500,
        "batch_size": 79,
        "learning_rate": 1e-3,
        "schedule": "constant",
        "scaling": "min-max",
        "strength": 0.0,
        "early_stopping": False,
    }
    assert {name: given[name] for name in expected} == expected
    assert NeuralDecision.published(max_iter=3).max_iter == 3


@pytest.mark.parametrize(
    ("activation", "solver"),
    [("sigmoid", "lbfgs"), ("relu", "adam"), ("silu", "lbfgs"), ("tanh", "adam")],
)
def test_every_activation_beats_a_line(hill, activation, solver):
    X, s, _ = hill
    model = NeuralDecision(COST, activation=activation, solver=solver, random_state=1).fit(X, s)
    assert model.training_cost_ < 0.6 * LinearDecision(COST).fit(X, s).solution_.objective


def test_penalty_holds_weights_and_not_the_level(hill):
    X, s, _ = hill
    sizes, costs = [], []
    for strength in (0.0, 1e-3, 10.0):
        model = NeuralDecision(COST, strength=strength, random_state=0).fit(X, s)
        sizes.append(sum(float(np.sum(w**2)) for w in model.weights_))
        costs.append(model.training_cost_)
    assert sizes[0] > 3 * sizes[1] > 300 * sizes[2]
    assert costs == sorted(costs)
    assert model.predict(X) == pytest.approx(np.quantile(s, 0.8), rel=0.05)
