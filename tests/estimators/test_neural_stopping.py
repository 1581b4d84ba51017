"""Early stopping: on rows set aside, or on rows whose truth is known."""

import numpy as np
import pytest
from hilly import hill_rows
from sklearn.base import clone

from unmet import Band, NeuralDecision, Newsvendor, SquaredError
from unmet.errors import InvalidInput
from unmet.estimators.neural import read_tasks
from unmet.rows import Rows

COST = Newsvendor(underage=4, overage=1)


@pytest.fixture
def noisy():
    """Little data, much noise: a network that is trained to the end learns the noise."""
    X, s, _ = hill_rows(90, seed=1)
    generator = np.random.default_rng(1)
    return np.c_[X, generator.normal(size=(90, 4))], s + generator.gamma(1.0, 6.0, size=90)


def _model(**parameters):
    given = {"random_state": 3, "early_stopping": True, "hidden_layer_sizes": (8,), **parameters}
    return NeuralDecision(COST, Band(0, 2), **given)


@pytest.mark.parametrize(
    ("solver", "cost", "weighted"),
    [("lbfgs", COST, True), ("adam", COST, False), ("adam", SquaredError(), True)],
)
def test_the_best_network_on_the_rows_set_aside_is_kept(noisy, solver, cost, weighted):
    X, s = noisy
    weight = np.random.default_rng(5).uniform(0.1, 2, size=s.size) if weighted else None
    share = None if weight is None else weight / weight.sum()
    model = _model(solver=solver).set_params(cost=cost)
    model.fit(X, s, sample_weight=weight)
    _, (task,) = read_tasks(model, Rows(X, s, cost, share, Band(0, 2)))
    own, aside = task.set_aside(0.25)
    assert aside.index.size == 22
    assert np.array_equal(np.sort(np.r_[own.index, aside.index]), np.arange(90))
    decision = model.predict(X)
    expected = aside.rows.mean_cost(decision[aside.index])
    assert model.validation_cost_ == pytest.approx(expected, rel=1e-4)
    assert model.training_cost_ == pytest.approx(own.rows.mean_cost(decision[own.index]), rel=1e-4)
    blind = clone(model).set_params(early_stopping=False)
    blind.fit(X[own.index], s[own.index], sample_weight=own.rows.share)
    assert model.n_iter_ <= blind.n_iter_
    assert expected < aside.rows.mean_cost(blind.predict(X[aside.index]))


@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
def test_rows_with_a_known_truth_are_watched_instead(noisy, solver):
    """Their realised cost, without a band, stops the training, and all rows are trained on."""
    X, s = noisy
    generator = np.random.default_rng(2)
    other = generator.normal(size=(40, 6))
    truth = 45 + generator.gamma(2.0, 4.0, size=40)
    model = _model(solver=solver, early_stopping=False).fit(X, s, validation=(other, truth))
    assert model.validation_cost_ == pytest.approx(-model.score(other, truth), rel=1e-4)
    mean = COST.loss(model.predict(X), s, Band(0, 2)).mean()
    assert model.training_cost_ == pytest.approx(mean, rel=1e-4)
    blind = _model(solver=solver, early_stopping=False).fit(X, s)
    assert model.score(other, truth) > blind.score(other, truth)
    assert model.training_cost_ > blind.training_cost_


def test_restarts_are_compared_on_the_rows_set_aside(noisy):
    X, s = noisy
    model = _model(solver="adam", max_iter=25, dtype="float64")
    single, several = (clone(model).set_params(n_restarts=n).fit(X, s) for n in (1, 6))
    assert several.validation_cost_ < single.validation_cost_
    best = clone(model).set_params(n_restarts=6, early_stopping=False).fit(X, s)
    assert best.training_cost_ < several.training_cost_


@pytest.mark.parametrize(("n_rows", "size"), [(2, 0.25), (5, 0.01), (5, 0.95)])
def test_no_rows_left(n_rows, size):
    X, s = np.arange(10.0).reshape(-1, 2)[:n_rows], np.arange(5.0)[:n_rows]
    for solver in ("lbfgs", "adam"):
        with pytest.raises(InvalidInput) as caught:
            _model(validation_fraction=size, solver=solver).fit(X, s)
        assert str(caught.value) == (
            f"validation_fraction must leave rows on both sides, got {size} of {n_rows} rows."
        )


def test_what_validation_may_be(noisy):
    X, s = noisy
    model = _model(max_iter=3)
    for given in ([X, s], (X,), X, "rows"):
        with pytest.raises(
            InvalidInput, match=r"^validation must be a pair \(X, truth\) or None, got"
        ):
            model.fit(X, s, validation=given)
    with pytest.raises(InvalidInput, match=r"^validation must have the features of X: X has 5"):
        model.fit(X, s, validation=(X[:, 1:], s))
    with pytest.raises(InvalidInput, match=r"^validation needs one underage for all rows, got one"):
        model.fit(X, s, underage=s, validation=(X, s))
    with pytest.raises(InvalidInput, match="finite"):
        model.fit(X, s, validation=(X, np.full(90, np.nan)))
    assert not hasattr(model, "n_features_in_")
