"""NeuralDecision with backend="torch": our own layers, and modules of the user's."""

import pickle
import sys

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from unmet import Band, NeuralDecision, Newsvendor
from unmet.errors import InvalidInput, SolverFailure
from unmet.solvers.neural.torch_networks import ModuleNetwork
from unmet.solvers.neural.training import Network

torch = pytest.importorskip("torch")

COST, BAND = Newsvendor(underage=4, overage=1), Band(0, 1.5)


def _model(**parameters):
    given = {
        "max_iter": 3,
        "hidden_layer_sizes": (5, 3),
        "random_state": 7,
        "dtype": "float64",
        **parameters,
    }
    return NeuralDecision(COST, BAND, solver="adam", **{"backend": "torch", **given})


class TwoLayers(torch.nn.Module):
    """At the top of a file, so that it can be pickled."""

    def __init__(self, n_features, flat):
        super().__init__()
        self.hidden = torch.nn.Linear(n_features, 5)
        self.inner = torch.nn.Linear(5, 3)
        self.out = torch.nn.Linear(3, 1)
        self.flat = flat

    def forward(self, inputs):
        outputs = self.out(torch.sigmoid(self.inner(torch.sigmoid(self.hidden(inputs)))))
        return outputs[:, 0] if self.flat else outputs


class Noisy(torch.nn.Module):
    """Draws random numbers while it trains, and needs two rows to do so."""

    def __init__(self, n_features):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(n_features, 8),
            torch.nn.BatchNorm1d(8),
            torch.nn.ReLU(),
            torch.nn.Dropout(0.3),
            torch.nn.Linear(8, 1),
        )

    def forward(self, inputs):
        return self.layers(inputs)


def flat_layers(n_features):
    return TwoLayers(n_features, True)


def column_layers(n_features):
    return TwoLayers(n_features, False)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [NeuralDecision(solver="adam", backend="torch", max_iter=2, hidden_layer_sizes=(4,))]
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


def test_fit_agrees_with_numpy_and_needs_torch_no_longer(rows, monkeypatch):
    X, s = rows
    weight = np.linspace(0, 2, s.size)
    costs = {"underage": np.linspace(1, 6, s.size), "sample_weight": weight}
    ours = _model(backend="numpy", n_restarts=2).fit(X, s, **costs)
    theirs = _model(n_restarts=2).fit(X, s, **costs)
    assert isinstance(theirs.network_, Network)
    assert np.allclose(theirs.predict(X), ours.predict(X), rtol=1e-10)
    for weights, others in zip(theirs.weights_, ours.weights_, strict=True):
        assert np.allclose(weights, others, atol=1e-10)
    saved = pickle.dumps(theirs)
    decisions = theirs.predict(X)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert np.array_equal(pickle.loads(saved).predict(X), decisions)


def test_early_stopping_agrees_with_numpy(rows):
    X, s = rows
    watched = (X[:50], s[:50] + 2)
    for given in ({}, {"validation": watched}):
        settings = {"early_stopping": not given, "n_iter_no_change": 2, "max_iter": 60}
        ours, theirs = (
            _model(backend=backend, **settings).fit(X, s, **given) for backend in ("numpy", "torch")
        )
        assert theirs.validation_cost_ == pytest.approx(ours.validation_cost_, rel=1e-9)
        assert theirs.n_iter_ == ours.n_iter_


def test_partial_fit_agrees_with_numpy_and_with_itself_in_turns(rows):
    X, s = rows
    parts = [slice(0, 70), slice(70, 201), slice(0, 1), slice(30, 90)]
    ours, theirs, turns = (
        _model(backend=name, strength=0.01) for name in ("numpy", "torch", "numpy")
    )
    for call, part in enumerate(parts):
        turns.set_params(backend=("numpy", "torch")[call % 2])
        weight = np.linspace(0.5, 2, s[part].size)
        for model in (ours, theirs, turns):
            model.partial_fit(X[part], s[part], sample_weight=weight)
    assert theirs.n_iter_ == 4
    for model in (theirs, turns):
        assert np.allclose(model.network_.parameters, ours.network_.parameters, atol=1e-10)
        assert model.training_cost_ == pytest.approx(ours.training_cost_)


def test_partial_fit_of_sparse_blocks_after_fit(rows):
    X, s = rows
    X = sparse.csr_array(X * (np.abs(X) > 0.5))
    ours, theirs = (_model(backend=name).fit(X, s) for name in ("numpy", "torch"))
    for model in (ours, theirs):
        model.partial_fit(X[:90], s[:90]).partial_fit(X[90:], s[90:])
    assert np.allclose(theirs.predict(X), ours.predict(X), rtol=1e-10)


@pytest.mark.parametrize("factory", [flat_layers, column_layers])
@pytest.mark.parametrize("strength", [0.0, 0.05])
def test_module_like_our_layers_goes_the_same_way(rows, factory, strength):
    X, s = rows
    ours = _model(strength=strength).fit(X, s)

    def same_start(n_features):
        module = factory(n_features)
        first = _start(n_features)
        with torch.no_grad():
            for layer, (weights, biases) in zip(module.children(), first, strict=True):
                layer.weight.copy_(torch.tensor(weights))
                layer.bias.copy_(torch.tensor(biases))
        return module

    theirs = _model(module=same_start, strength=strength).fit(X, s)
    assert isinstance(theirs.network_, ModuleNetwork)
    assert np.allclose(theirs.network_.parameters, ours.network_.parameters, atol=1e-6)
    assert np.allclose(theirs.predict(X), ours.predict(X), rtol=1e-6)
    assert theirs.training_cost_ == pytest.approx(ours.training_cost_, rel=1e-6)
    assert not hasattr(theirs, "weights_")


def _start(n_features):
    """First layers of a network that is hardly trained."""
    model = _model(learning_rate=1e-12, max_iter=1, strength=0.0)
    generator = np.random.default_rng(0)
    model.fit(generator.normal(size=(40, n_features)), generator.normal(size=40))
    return zip(model.weights_, model.biases_, strict=True)


def test_modules_repeat_and_leave_the_users_random_numbers_alone(rows):
    X, s = rows
    model = _model(module=Noisy, batch_size=40, early_stopping=True)  # 150 rows, 201 all in all
    state = torch.random.get_rng_state()
    first = model.fit(X, s).predict(X)
    torch.rand(5)
    second = clone(model).fit(X, s).predict(X)
    assert np.array_equal(first, second)
    model.network_.module.train()
    assert np.array_equal(model.predict(X), first)  # no dropout when it decides
    assert not np.array_equal(clone(model).set_params(random_state=8).fit(X, s).predict(X), first)
    torch.random.set_rng_state(state)
    model.partial_fit(X, s)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_restarts_and_seeds_draw_other_first_weights(rows):
    drawn = []

    def drawing(n_features):
        module = TwoLayers(n_features, True)
        drawn.append(module.out.weight.detach().clone())
        return module

    _model(module=drawing, n_restarts=2).fit(*rows)
    _model(module=drawing, random_state=8).fit(*rows)
    _model(module=drawing, random_state=8).partial_fit(*rows)
    assert len(drawn) == 4
    assert torch.equal(drawn[2], drawn[3])
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert not torch.equal(drawn[one], drawn[other])


def test_weights_of_another_backend_are_not_kept(rows):
    model = _model().fit(*rows)
    assert len(model.weights_) == 3
    model.set_params(module=flat_layers).fit(*rows)
    assert not hasattr(model, "weights_")
    assert not hasattr(model, "biases_")


def test_last_batch_of_one_row_is_no_trouble_for_batch_normalisation(rows):
    X, s = rows
    model = _model(module=Noisy, batch_size=40)
    model.fit(X, s)
    seen = model.network_.module.layers[1].running_var.clone()
    assert not torch.allclose(seen, torch.ones_like(seen), atol=0.01)  # it was in training mode
    model.partial_fit(X, s)
    assert not torch.equal(seen, model.network_.module.layers[1].running_var)
    assert np.isfinite(model.predict(X[:1])).all()


def test_early_stopping_keeps_the_best_module(rows):
    X, s = rows
    settings = {"module": Noisy, "early_stopping": True, "learning_rate": 0.05}
    model = _model(**settings, max_iter=25, n_iter_no_change=25).fit(X, s)
    watched = clone(model).set_params(early_stopping=False)
    watched.fit(X, s, validation=(X, s + 1.0))
    realised = COST.cost(watched.predict(X), s + 1.0).mean()
    assert watched.validation_cost_ == pytest.approx(realised, rel=1e-9)
    assert model.validation_cost_ > 0


def test_modules_are_saved_and_loaded(rows, tmp_path):
    X, s = rows
    model = _model(module=flat_layers, dtype="float32").fit(X, s).partial_fit(X, s)
    joblib.dump(model, tmp_path / "model.joblib")
    for again in (joblib.load(tmp_path / "model.joblib"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(again.predict(X), model.predict(X))
        assert np.allclose(
            again.partial_fit(X, s).predict(X), clone_of(model).partial_fit(X, s).predict(X)
        )


def clone_of(model):
    return pickle.loads(pickle.dumps(model))


def test_partial_fit_of_a_module_goes_on_and_leaves_the_past_alone(rows):
    X, s = rows
    model = _model(module=column_layers, learning_rate=0.05).partial_fit(X, s)
    first, then = model.network_, model.predict(X)
    costs = [model.partial_fit(X, s).training_cost_ for _ in range(30)]
    assert model.n_iter_ == 31
    assert costs[-1] < 0.7 * costs[0]
    assert np.array_equal(first.decide(X), then)
    with pytest.raises(InvalidInput, match="backend must be 'torch' to go on with a module"):
        model.set_params(backend="numpy", module=None).partial_fit(X, s)


def test_warm_start_goes_on_from_the_last_module(rows):
    X, s = rows
    model = _model(module=flat_layers, max_iter=10, warm_start=True).fit(X, s)
    cost, first = model.training_cost_, model.network_
    decisions = first.decide(X)
    model.set_params(learning_rate=1e-9, max_iter=1, n_restarts=3).fit(X, s)
    assert model.training_cost_ == pytest.approx(cost, rel=1e-6)
    model.set_params(learning_rate=0.01, max_iter=10).fit(X, s)
    assert model.training_cost_ < cost
    assert np.array_equal(first.decide(X), decisions)
    with pytest.raises(InvalidInput, match="warm_start needs the features, the activation"):
        model.fit(X[:, :2], s)
    with pytest.raises(InvalidInput, match="warm_start needs the features, the activation"):
        model.set_params(module=None).fit(X, s)


def test_sparse_rows_reach_a_module_dense(rows):
    X, s = rows
    X = X * (np.abs(X) > 0.5)
    model = _model(module=column_layers).fit(sparse.csr_array(X), s)
    assert np.allclose(model.predict(sparse.csr_array(X)), model.predict(X))


def test_frozen_and_unused_parameters_stay_as_they_are(rows):
    X, s = rows

    def frozen(n_features):
        module = TwoLayers(n_features, True)
        module.hidden.weight.requires_grad_(False)
        module.hidden.weight.fill_(0.25)
        module.idle = torch.nn.Linear(2, 2)
        torch.nn.init.constant_(module.idle.weight, 0.5)
        return module

    model = _model(module=frozen, strength=0.1).fit(X, s)
    assert (model.network_.module.hidden.weight == 0.25).all()
    assert (model.network_.module.idle.weight == 0.5).all()


@pytest.mark.parametrize(
    ("factory", "sentence"),
    [
        (lambda n: torch.nn.Linear(n, 2), "one number each, got the shape .\\d+, 2. for"),
        (lambda n: torch.nn.Flatten(0), "with parameters to train, got a Flatten without"),
        (lambda n: torch.nn.ReLU(), "with parameters to train, got a ReLU without"),
        (lambda n: "a network", "module must return a torch.nn.Module, got 'a network'"),
        (lambda n: torch.nn.LSTM(n, 1), "module must map rows to one number each, got a tuple"),
        (lambda n: Broken(n, "nan"), "module must return finite numbers before training"),
        (lambda n: Broken(n, "detach"), "module must return outputs that have gradients"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_modules_that_are_none_get_one_sentence(rows, factory, sentence, method):
    model = _model(module=factory)
    with pytest.raises(InvalidInput, match=sentence) as caught:
        getattr(model, method)(*rows)
    assert "\n" not in str(caught.value)
    assert not hasattr(model, "network_")


class Broken(torch.nn.Module):
    def __init__(self, n_features, how):
        super().__init__()
        self.layer, self.how = torch.nn.Linear(n_features, 1), how

    def forward(self, inputs):
        outputs = self.layer(inputs)
        return outputs.detach() if self.how == "detach" else outputs * float("nan")


@pytest.mark.parametrize("module", [None, flat_layers])
def test_divergence_leaves_nothing_half_fitted(rows, module):
    model = _model(module=module, learning_rate=1e37, dtype="float32")
    with pytest.raises(SolverFailure, match=r"^Training diverged .*learning_rate must be smaller"):
        model.fit(*rows)
    assert not hasattr(model, "network_")


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_unknown_devices_get_one_sentence(rows, method):
    with pytest.raises(
        InvalidInput, match=r"device must be one that torch finds here .* got 'gpu'"
    ):
        getattr(_model(device="gpu"), method)(*rows)
