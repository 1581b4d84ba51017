"""Learning from some rows at a time."""

import numpy as np
import pytest
from hilly import hill_rows
from sklearn.base import clone

from unmet import Band, LatentBand, NeuralDecision, Newsvendor
from unmet.errors import InvalidInput, SolverFailure, Unsupported

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


def test_one_call_is_one_epoch_of_adam():
    """With one batch it is one step, and Adam's first step is its learning rate."""
    X, s, _ = hill_rows(64)
    start, first = (
        _model(batch_size=64, learning_rate=rate).partial_fit(X, s).network_.parameters
        for rate in (1e-12, 0.01)
    )
    assert np.abs(first - start) == pytest.approx(np.full(start.size, 0.01), rel=0.05)
    four = _model(batch_size=16).partial_fit(X, s)
    assert four._steps.moments.steps == 4


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


def test_seeds_reproduce_every_bit():
    X, s, _ = hill_rows()

    def run(seed):
        model = _model(random_state=seed, batch_size=7)
        return [model.partial_fit(X, s).network_.parameters.copy() for _ in range(3)]

    one, two, other = run(0), run(0), run(1)
    assert all(np.array_equal(*pair) for pair in zip(one, two, strict=True))
    assert not np.array_equal(one[0], other[0])


def test_every_call_has_an_order_of_its_own():
    """Means of gradients decay by 0.9 a batch: they tell which rows came last."""
    X, s, _ = hill_rows(40)
    model = _model(batch_size=4, learning_rate=1e-12)
    first, second = (model.partial_fit(X, s)._steps.moments.mean[0].copy() for _ in range(2))
    again = second - 0.9**10 * first
    assert np.abs(again - first).max() > 1e-3 * np.abs(first).max()
    fixed = _model(batch_size=40, learning_rate=1e-12)
    first, second = (fixed.partial_fit(X, s)._steps.moments.mean[0].copy() for _ in range(2))
    assert second - 0.9 * first == pytest.approx(first, rel=1e-6, abs=1e-9)


def test_a_single_row_is_enough():
    X, s, _ = hill_rows()
    model = _model(learning_rate=0.1)
    for x, seen in zip(X[:30], s[:30], strict=True):
        model.partial_fit(x[np.newaxis], [seen])
    assert model.n_iter_ == 30
    decision = model.predict(X[29:30])
    assert model.training_cost_ == pytest.approx(COST.loss(decision, s[29:30], BAND)[0])


def test_weights_mean_the_same_in_every_call():
    """Moments remember sizes: a row of weight 3 pulls them three times as much."""
    X, s, _ = hill_rows(40)

    def moments(weight):
        model = _model(batch_size=40, learning_rate=1e-9)
        model.partial_fit(X, s, sample_weight=weight)
        return model._steps.moments.mean[0]

    plain = moments(None)
    assert moments(np.full(40, 1.0)) == pytest.approx(plain, rel=1e-9)
    assert moments(np.full(40, 3.0)) == pytest.approx(3 * plain, rel=1e-6)
    half = (np.arange(40) % 2).astype(float)
    some = _model(batch_size=20, learning_rate=1e-9).partial_fit(X[half > 0], s[half > 0])
    assert moments(half) == pytest.approx(some._steps.moments.mean[0], rel=1e-6)


def test_costs_and_bands_per_row():
    X, s, _ = hill_rows(200)
    first = X[:, 0] > 0
    model = NeuralDecision(solver="adam", random_state=0)
    for _ in range(60):
        model.partial_fit(X, s, underage=np.where(first, 19.0, 1 / 19))
    shares = [np.mean(model.predict(X[rows]) >= s[rows]) for rows in (first, ~first)]
    assert shares[0] > 0.75 > 0.35 > shares[1]
    with pytest.raises(InvalidInput, match=r"^underage must be given to score"):
        model.score(X, s)
    with pytest.raises(InvalidInput, match=r"^high must be a number or have as many rows as y"):
        _model().set_params(band=Band(0, np.ones(7))).partial_fit(X, s)


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


def test_rows_of_another_width_are_refused():
    X, s, _ = hill_rows(20)
    model = _model().partial_fit(X, s)
    before = model.network_.parameters.copy()
    with pytest.raises(InvalidInput, match=r"^X has 1 features, but NeuralDecision is expecting 2"):
        model.partial_fit(X[:, :1], s)
    assert np.array_equal(model.network_.parameters, before)


@pytest.mark.parametrize("rate", [2e3, 1e20, 3e38])
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
