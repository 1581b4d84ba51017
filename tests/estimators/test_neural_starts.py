"""Seeds, restarts, warm starts; and training that leads nowhere."""

import numpy as np
import pytest
from hilly import hill_rows
from sklearn.base import clone

from unmet import NeuralDecision, Newsvendor
from unmet.errors import SolverFailure

COST = Newsvendor(underage=4, overage=1)


@pytest.fixture
def hill():
    return hill_rows()


@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
def test_seeds_reproduce_every_bit(hill, solver):
    X, s, _ = hill
    model = NeuralDecision(COST, solver=solver, max_iter=15, random_state=7, early_stopping=True)
    first, again, other = (
        clone(model).set_params(random_state=seed).fit(X, s) for seed in (7, 7, 8)
    )
    assert np.array_equal(first.network_.parameters, again.network_.parameters)
    assert np.array_equal(first.predict(X), again.predict(X))
    assert not np.array_equal(first.predict(X), other.predict(X))
    assert np.array_equal(first.fit(X, s).predict(X), again.predict(X))


def test_the_best_of_several_starts_is_kept(hill):
    X, s, _ = hill
    model = NeuralDecision(
        COST, hidden_layer_sizes=(2,), max_iter=40, random_state=0, dtype="float64"
    )
    single = [
        clone(model).set_params(random_state=seed).fit(X, s).training_cost_ for seed in range(4)
    ]
    assert np.ptp(single) > 0.01 * np.mean(single)  # starts matter here
    for seed in range(3):
        one, five = (
            clone(model).set_params(random_state=seed, n_restarts=n).fit(X, s) for n in (1, 5)
        )
        assert five.training_cost_ <= one.training_cost_ * 1.02
        assert five.training_cost_ < np.mean(single)
    assert five.training_cost_ == pytest.approx(COST.loss(five.predict(X), s).mean())


def _unfitted(model):
    return [name for name in vars(model) if name.endswith("_") or name.startswith("_")] == []


@pytest.mark.parametrize("early_stopping", [False, True])
def test_a_learning_rate_that_diverges_is_named_and_nothing_is_left_half_fitted(
    hill, early_stopping
):
    (X, s, _), rate = hill, 1e3
    model = NeuralDecision(COST, solver="adam", random_state=0, early_stopping=early_stopping)
    broken = clone(model).set_params(learning_rate=rate, n_iter_no_change=200)
    with pytest.raises(
        SolverFailure, match=r"^Training diverged \(.*\): learning_rate must be smaller"
    ) as caught:
        broken.fit(X, s)
    assert str(caught.value).endswith(f"got {rate:g}.")
    assert str(caught.value).count(". ") == 0
    assert _unfitted(broken)
    model.fit(X, s)
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    model.set_params(learning_rate=rate, n_iter_no_change=200)
    with pytest.raises(SolverFailure):
        model.fit(X[:, :1], s)
    assert all(vars(model)[name] is value for name, value in before.items())
