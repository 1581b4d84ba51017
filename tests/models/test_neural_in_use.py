"""NeuralDecision as one estimator among others, and once it is fitted."""

import numpy as np
import pytest
import sklearn
from hilly import hill_rows
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unmet import Band, NeuralDecision, Newsvendor

COST = Newsvendor(underage=4, overage=1)


@pytest.fixture
def hill():
    return hill_rows()


def test_features_far_outside_those_seen_are_no_trouble(hill):
    X, s, _ = hill
    model = NeuralDecision(COST, random_state=0, max_iter=20).fit(X, s)
    far = model.predict(1e9 * X)
    assert np.isfinite(far).all()


def test_decides_in_lots(hill):
    X, s, _ = hill
    model = NeuralDecision(COST, random_state=0, max_iter=40).fit(X, s)
    lots = model.decide(X, step=4, lower=36, upper=48)
    assert set(lots) <= {36.0, 40.0, 44.0, 48.0}
    inside = (lots > 36) & (lots < 48)
    assert np.abs(lots - model.predict(X))[inside].max() <= 4


def test_clones_and_shows_its_parameters():
    model = NeuralDecision(COST, Band(0, 2), hidden_layer_sizes=(3,), random_state=1)
    fresh = clone(model)
    assert fresh.get_params(deep=False) == model.get_params(deep=False)
    assert "Newsvendor(underage=4.0, overage=1.0)" in repr(model)
    assert "NeuralDecision" in model._repr_html_()


def test_works_in_pipelines_and_searches(hill):
    X, s, _ = hill
    pipeline = make_pipeline(StandardScaler(), NeuralDecision(COST, random_state=0, max_iter=30))
    grid = {"neuraldecision__hidden_layer_sizes": [(4,)], "neuraldecision__strength": [1e3, 1e-4]}
    search = GridSearchCV(pipeline.set_output(transform="pandas"), grid, cv=3).fit(X, s)
    assert search.best_params_["neuraldecision__strength"] == 1e-4
    assert search.best_score_ < 0
    assert search.predict(X).shape == s.shape


def test_metadata_is_routed_to_fit_and_score(hill):
    X, s, _ = hill
    generator = np.random.default_rng(4)
    underage, weight = generator.uniform(1, 9, size=s.size), generator.uniform(size=s.size)
    model = NeuralDecision(random_state=0, max_iter=10)
    train, test = np.arange(200), np.arange(200, s.size)
    with sklearn.config_context(enable_metadata_routing=True):
        requests = clone(model)
        requests.set_fit_request(sample_weight=True, underage=True, overage=False)
        requests.set_score_request(sample_weight=True, underage=True)
        found = cross_validate(
            requests,
            X,
            s,
            cv=[(train, test)],
            params={"sample_weight": weight, "underage": underage},
            error_score="raise",
        )
    model.fit(X[train], s[train], sample_weight=weight[train], underage=underage[train])
    expected = model.score(X[test], s[test], weight[test], underage=underage[test])
    assert found["test_score"][0] == pytest.approx(expected, rel=1e-12)


def test_input_is_not_changed(hill):
    X, s, _ = hill
    before = X.copy(), s.copy()
    for solver in ("lbfgs", "adam"):
        NeuralDecision(COST, solver=solver, max_iter=3, scaling="min-max", dtype="float64").fit(
            X, s
        )
    assert np.array_equal(X, before[0])
    assert np.array_equal(s, before[1])
