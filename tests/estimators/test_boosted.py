"""What `BoostedDecision` learns, against LightGBM itself, against theorems and against itself."""

from __future__ import annotations

import lightgbm
import numpy as np
import pytest
from sklearn.base import clone

from unmet import Band, LinearDecision, Newsvendor, SquaredError
from unmet.estimators.boosted import BoostedDecision


def curved(n_rows, seed=0, n_features=5):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, n_features))
    mean = 30 + 6 * np.sin(2 * X[:, 0]) + 3 * X[:, 1] ** 2 + 2 * X[:, 0] * X[:, 2]
    return X, mean + generator.gamma(2.0, 3.0, n_rows)


def lightgbm_itself(X, y, **parameters):
    common = {"num_threads": 1, "verbosity": -1, "deterministic": True, "force_row_wise": True}
    data = lightgbm.Dataset(X, y)
    return lightgbm.train({**common, **parameters}, data, num_boost_round=40)


@pytest.fixture(scope="module")
def data():
    return curved(700)


@pytest.mark.parametrize("level", [0.1, 0.9])
def test_without_a_band_it_is_as_good_as_lightgbms_quantile(data, level):
    X, y = data
    test_X, test = curved(4000, seed=1)
    cost = Newsvendor.at_level(level)
    ours = BoostedDecision(cost, max_iter=40).fit(X, y).predict(test_X)
    theirs = lightgbm_itself(X, y, objective="quantile", alpha=level).predict(test_X)
    assert cost.cost(ours, test).mean() < 1.03 * cost.cost(theirs, test).mean()
    assert np.abs(ours - theirs).mean() < 0.2 * test.std()


def test_squared_error_is_lightgbms_regression(data):
    X, y = data
    ours = BoostedDecision(SquaredError(), max_iter=40, strength=2.0).fit(X, y)
    theirs = lightgbm_itself(X, y, objective="regression", lambda_l2=2.0)
    assert ours.baseline_ == pytest.approx(y.mean())
    assert ours.predict(X) == pytest.approx(theirs.predict(X), rel=1e-3)


def test_one_leaf_is_the_best_constant(rows):
    X, s = rows
    generator = np.random.default_rng(0)
    low = generator.random(s.size)
    band = Band(low, low + generator.random(s.size) * 4)
    weight, underage = generator.random(s.size), generator.random(s.size) + 2
    given = {"sample_weight": weight, "underage": underage}
    huge = BoostedDecision(Newsvendor(2, 1), band, min_samples_leaf=200).fit(X, s, **given)
    constant = LinearDecision(Newsvendor(2, 1), band).fit(0 * X, s, **given)
    assert huge.n_iter_ == 0
    assert huge.training_cost_[-1] == pytest.approx(constant.solution_.objective)


@pytest.mark.parametrize("scale", [1e-9])
def test_units_do_not_matter(data, scale):
    X, y = data
    for cost in (Newsvendor(3, 1), SquaredError()):
        model = BoostedDecision(cost, Band(1, 4), max_iter=10).fit(X, y)
        scaled = BoostedDecision(cost, Band(scale, 4 * scale), max_iter=10).fit(X, scale * y)
        assert scaled.predict(X) == pytest.approx(scale * model.predict(X), rel=1e-6)


def test_one_cost_per_row_is_one_weight_per_row(data):
    X, y = data
    weight = np.random.default_rng(2).uniform(0.2, 3.0, y.size)
    dear = BoostedDecision(Newsvendor(3, 1), Band(1, 4), max_iter=10)
    heavy = clone(dear)
    dear.fit(X, y, underage=3 * weight, overage=weight)
    heavy.fit(X, y, sample_weight=weight)
    assert dear.predict(X) == pytest.approx(heavy.predict(X), rel=1e-6)
    assert not np.allclose(clone(dear).fit(X, y).predict(X), dear.predict(X))
    with pytest.raises(ValueError, match="underage must be given to score"):
        dear.score(X, y)


def test_early_stopping(data):
    X, y = data
    model = BoostedDecision(
        Newsvendor(9, 1),
        early_stopping=True,
        validation_fraction=0.2,
        n_iter_no_change=5,
        learning_rate=0.3,
        max_iter=200,
        random_state=0,
    ).fit(X, y)
    assert model.n_iter_ == model.validation_cost_.argmin() < 190
    assert model.validation_cost_.size == model.training_cost_.size == model.n_iter_ + 6
    full = clone(model).set_params(early_stopping=False).fit(X, y)
    test_X, test = curved(3000, seed=1)
    assert full.n_iter_ == 200
    assert full.validation_cost_ is None
    assert model.score(test_X, test) > full.score(test_X, test)


def test_early_stopping_by_the_truth(data):
    X, y = data
    test_X, test = curved(800, seed=1)
    cost = Newsvendor(9, 1)
    model = BoostedDecision(cost, Band(0, 3), learning_rate=0.3, max_iter=300)
    model.fit(X, y, validation=(test_X, test))
    assert model.n_iter_ < 290
    assert -model.score(test_X, test) == pytest.approx(model.validation_cost_.min())
    other = clone(model).set_params(max_iter=model.n_iter_).fit(X, y)  # all rows were trained on
    assert np.array_equal(other.predict(X), model.predict(X))


@pytest.mark.parametrize("cost", [Newsvendor(9, 1), SquaredError()], ids=str)
def test_monotone_decisions_are_monotone(cost):
    X, y = curved(800, n_features=3)  # in truth a wave, a parabola and a saddle
    y = y + np.random.default_rng(5).gamma(1.0, 20.0, y.size)
    model = BoostedDecision(cost, max_iter=40, min_samples_leaf=5, monotonic_cst=[1, -1, 0])
    model.fit(X, y)
    grid = np.linspace(-3, 3, 40)
    free = clone(model).set_params(monotonic_cst=None).fit(X, y)
    for column, sign in ((0, 1), (1, -1)):
        lines = np.repeat(X[:40, None], grid.size, axis=1)
        lines[:, :, column] = grid
        flat = lines.reshape(-1, 3)
        step = sign * np.diff(model.predict(flat).reshape(40, -1), axis=1)
        assert step.min() >= -1e-9
        assert step.max() > 0.1
        assert (sign * np.diff(free.predict(flat).reshape(40, -1), axis=1)).min() < -1
    assert model.training_cost_[-1] < 0.95 * model.training_cost_[0]


def test_seeds_and_threads(data):
    X, y = data
    model = BoostedDecision(
        Newsvendor(3, 1), max_features=0.5, early_stopping=True, max_iter=15, random_state=3
    )
    first = clone(model).fit(X, y)
    assert np.array_equal(clone(model).fit(X, y).predict(X), first.predict(X))
    two = clone(model).set_params(n_jobs=2).fit(X, y)
    assert np.array_equal(two.predict(X), first.predict(X))
    assert two.training_cost_.tolist() == first.training_cost_.tolist()
    other = clone(model).set_params(random_state=4).fit(X, y)
    assert not np.array_equal(other.predict(X), first.predict(X))
