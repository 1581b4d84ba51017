"""Learning from some rows at a time."""

import numpy as np
import pytest
from hilly import hill_rows
from sklearn.base import clone

from unmet import Band, LatentBand, NeuralDecision, Newsvendor
from unmet.errors import SolverFailure, Unsupported

COST, BAND = Newsvendor(4, 1), Band(0, 2)


def _model(**parameters):
    given = {"solver": "adam", "random_state": 0, "learning_rate": 0.01, "dtype": "float64"}
    return NeuralDecision(COST, BAND, **{**given, **parameters})


def test_calls_go_on_in_the_units_of_the_first():
    X, s, _ = hill_rows()
    model = _model().partial_fit(X[:100], s[:100])
    network = model.network_
    assert model.n_iter_ == 1
    assert network.features.location == pytest.approx(X[:100].mean(axis=0))
    assert (network.target.centre, network.target.unit) == pytest.approx(
        (s[:100].mean(), s[:100].std())
    )
    model.partial_fit(100 * X[100:], 5 * s[100:])
    assert model.network_.features is network.features
    assert model.network_.target is network.target
    assert model.n_iter_ == 2
    assert not np.array_equal(model.network_.parameters, network.parameters)


def test_many_calls_come_near_a_fit():
    X, s, _ = hill_rows()
    model, costs = _model(), []
    for _ in range(80):
        model.partial_fit(X, s)
        costs.append(model.training_cost_)
        assert costs[-1] == pytest.approx(COST.loss(model.predict(X), s, BAND).mean())
    assert costs[-1] < 0.3 * costs[0]
    fitted = _model(max_iter=80, schedule="constant").fit(X, s)
    assert costs[-1] < 1.2 * fitted.training_cost_


def test_it_goes_on_from_a_fit_and_a_fit_starts_anew():
    X, s, _ = hill_rows()
    fitted = _model(max_iter=40).fit(X, s)
    before, cost = fitted.predict(X), fitted.training_cost_
    assert fitted.n_iter_ == 40
    fresh = _model().partial_fit(X, s)
    after = fitted.partial_fit(X, s).predict(X)
    assert fitted.n_iter_ == 1
    assert fitted.validation_cost_ is None
    assert np.abs(after - before).max() < 0.3 * np.abs(fresh.predict(X) - before).max()
    assert fitted.training_cost_ < 1.3 * cost
    assert np.array_equal(fresh.set_params(max_iter=40).fit(X, s).predict(X), before)


def test_only_adam_can_and_rules_cannot():
    X, s, _ = hill_rows(20)
    model = NeuralDecision()
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as caught:
        model.partial_fit(X, s)
    assert str(caught.value.__cause__) == (
        "partial_fit and the solver 'lbfgs' do not fit together, because only 'adam' learns from "
        "some rows at a time."
    )
    for band in ("latent", LatentBand()):
        with pytest.raises(Unsupported, match=r"^partial_fit and the rule LatentBand\(\) do not"):
            NeuralDecision(COST, band, solver="adam").partial_fit(X, s)


@pytest.mark.parametrize("rate", [2e3])
def test_divergence_leaves_everything_as_it_was(rate):
    X, s, _ = hill_rows(20)
    model = _model(dtype="float32").partial_fit(X, s)
    before, broken = model.predict(X), clone(model)
    sentence = rf"^Training diverged: learning_rate must be smaller, got {rate:g}\.$"
    for each in (model, broken):
        with pytest.raises(SolverFailure, match=sentence.replace("+", r"\+")):
            each.set_params(learning_rate=rate).partial_fit(X, s)
    assert np.array_equal(model.predict(X), before)
    assert model.n_iter_ == 1
    assert not any(name.endswith("_") for name in vars(broken))
    again = _model(dtype="float32").partial_fit(X, s).partial_fit(X, s)
    model.set_params(learning_rate=0.01).partial_fit(X, s)
    assert np.array_equal(model.predict(X), again.predict(X))
