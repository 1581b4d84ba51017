import pickle

import numpy as np
import pytest
import sklearn
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unmet import Band, LinearDecision, Newsvendor, SquaredError
from unmet.simulate import store10
from unmet.solvers.descent.minibatch import MiniBatchOptions


def test_without_features_that_matter_the_decision_is_the_quantile_of_the_level():
    s = np.arange(1.0, 101.0)
    model = LinearDecision(Newsvendor(underage=4, overage=1)).fit(np.zeros((100, 1)), s)
    assert 80 <= model.predict([[0.0]])[0] <= 81
    assert model.coef_ == pytest.approx([0.0])


def test_underage_and_overage_are_not_crossed(rows):
    X, s = rows
    eager = LinearDecision(Newsvendor(underage=9, overage=1)).fit(X, s)
    shy = LinearDecision(Newsvendor(underage=1, overage=9)).fit(X, s)
    assert np.mean(eager.predict(X) >= s) == pytest.approx(0.9, abs=0.03)
    assert np.mean(shy.predict(X) >= s) == pytest.approx(0.1, abs=0.03)


@pytest.mark.parametrize("solver", ["exact", "highs"])
@pytest.mark.parametrize("band", [None, Band(1, 6)])
def test_solution_beats_a_general_optimiser_and_says_what_it_costs(rows, solver, band):
    X, s = rows
    cost = Newsvendor(underage=7, overage=2)
    model = LinearDecision(cost, band, solver=solver).fit(X, s)

    def objective(parameters):
        return cost.loss(X @ parameters[:-1] + parameters[-1], s, band).mean()

    start = np.append(model.coef_, model.intercept_)
    best = minimize(objective, start, method="Powell", options={"xtol": 1e-9, "ftol": 1e-13})
    assert objective(start) <= best.fun * (1 + 1e-9)
    assert model.solution_.objective == pytest.approx(objective(start), rel=1e-9)
    assert model.solution_.gap <= 1e-8 * model.solution_.objective


def test_a_band_lifts_decisions_to_its_lower_end_and_no_higher_than_its_upper(rows):
    X, s = rows
    plain = LinearDecision(Newsvendor(3, 1)).fit(X, s).predict(X)
    banded = LinearDecision(Newsvendor(3, 1), Band(low=2, high=5)).fit(X, s).predict(X)
    assert 2 <= np.mean(banded - plain) <= 5


@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet"])
def test_penalty_shrinks_coefficients_and_never_the_intercept(rows, penalty):
    X, s = rows
    cost = Newsvendor(5, 1)
    free = LinearDecision(cost).fit(X, s)
    held = LinearDecision(cost, penalty=penalty, strength=0.3).fit(X, s)
    crushed = LinearDecision(cost, penalty=penalty, strength=1e5).fit(X, s)
    assert 0 < np.abs(held.coef_).sum() < np.abs(free.coef_).sum()
    assert np.abs(crushed.coef_).max() < 1e-3
    assert crushed.intercept_ == pytest.approx(np.quantile(s, 5 / 6), rel=0.02)


def test_elastic_net_is_the_documented_mixture(rows):
    X, s = rows
    cost, strength, ratio = Newsvendor(5, 1), 0.2, 0.3
    model = LinearDecision(cost, penalty="elasticnet", strength=strength, l1_ratio=ratio).fit(X, s)

    def objective(parameters):
        theta = parameters[:-1]
        penalty = ratio * np.abs(theta).sum() + (1 - ratio) * theta @ theta / s.std()
        return cost.loss(X @ theta + parameters[-1], s).mean() + strength * penalty

    start = np.append(model.coef_, model.intercept_)
    assert model.solution_.objective == pytest.approx(objective(start), rel=1e-9)
    generator = np.random.default_rng(2)
    for size in (1e-4, 1e-2, 1.0):
        nearby = start + size * generator.normal(size=(200, start.size))
        assert min(objective(point) for point in nearby) >= objective(start) * (1 - 1e-9)


def test_squared_error_is_least_squares_and_ignores_no_offset_of_the_band(rows):
    X, s = rows
    reference = LinearRegression().fit(X, s)
    model = LinearDecision(SquaredError()).fit(X, s)
    assert model.coef_ == pytest.approx(reference.coef_, rel=1e-10)
    assert model.intercept_ == pytest.approx(reference.intercept_, rel=1e-10)
    moved = LinearDecision(SquaredError(), Band(4, 4)).fit(X, s)
    assert moved.intercept_ == pytest.approx(reference.intercept_ + 4, rel=1e-10)


def test_zero_weights_drop_rows_and_everything_that_belongs_to_them(rows):
    X, s = rows
    generator = np.random.default_rng(3)
    weight = generator.integers(0, 2, size=s.size).astype(float)
    kept = weight > 0
    high, underage = generator.uniform(0, 4, s.size), generator.uniform(1, 5, s.size)
    wild = s + np.where(kept, 0, 1e6)
    all_rows = LinearDecision(band=Band(0, high)).fit(
        X, wild, sample_weight=weight, underage=underage
    )
    some_rows = LinearDecision(band=Band(0, high[kept])).fit(
        X[kept], s[kept], underage=underage[kept]
    )
    assert all_rows.solution_.objective == pytest.approx(some_rows.solution_.objective, rel=1e-8)
    assert all_rows.predict(X) == pytest.approx(some_rows.predict(X), abs=1e-5)


def test_score_is_minus_the_mean_realised_cost(rows):
    X, s = rows
    model = LinearDecision(Newsvendor(9, 1), Band(0, 4)).fit(X, s)
    truth = s + 3
    decision = model.predict(X)
    paid = [9 * (d - y) if d > y else y - d for d, y in zip(truth, decision, strict=True)]
    assert model.score(X, truth) == pytest.approx(-np.mean(paid))
    weight = np.arange(s.size)
    assert model.score(X, truth, weight) == pytest.approx(-np.average(paid, weights=weight))
    rich = model.score(X, truth, underage=18, overage=np.full(s.size, 2.0))
    assert rich == pytest.approx(2 * model.score(X, truth))


def test_pickles_and_clones(rows):
    X, s = rows
    model = LinearDecision(Newsvendor(3, 1), Band(0, np.full(s.size, 2.0))).fit(X, s)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.decide(X, step=7), model.decide(X, step=7))
    fresh = clone(model)
    assert fresh.cost == model.cost
    assert fresh.band == model.band
    assert not hasattr(fresh, "coef_")
    assert "Newsvendor(underage=3.0, overage=1.0)" in repr(model)
    assert "LinearDecision" in model._repr_html_()


def test_works_in_pipelines_and_searches(rows):
    X, s = rows
    pipeline = make_pipeline(StandardScaler(), LinearDecision(Newsvendor(3, 1), penalty="l2"))
    grid = {"lineardecision__strength": [1e4, 1e-4], "lineardecision__band": [None, Band(0, 1)]}
    search = GridSearchCV(pipeline.set_output(transform="pandas"), grid, cv=3).fit(X, s)
    assert search.best_params_["lineardecision__strength"] == 1e-4
    assert search.best_score_ <= 0
    assert cross_val_score(LinearDecision(), X, s, cv=3).max() <= 0


def test_metadata_is_routed_to_fit_and_score(rows):
    X, s = rows
    generator = np.random.default_rng(4)
    underage = generator.uniform(1, 9, size=s.size)
    weight = generator.uniform(size=s.size)
    with sklearn.config_context(enable_metadata_routing=True):
        model = (
            LinearDecision()
            .set_fit_request(sample_weight=True, underage=True, overage=False)
            .set_score_request(sample_weight=True, underage=True)
        )
        splits = [(np.arange(0, 100), np.arange(100, s.size))]
        found = cross_validate(
            model,
            X,
            s,
            cv=splits,
            params={"sample_weight": weight, "underage": underage},
            error_score="raise",
        )
    train, test = splits[0]
    alone = LinearDecision().fit(
        X[train], s[train], sample_weight=weight[train], underage=underage[train]
    )
    expected = alone.score(X[test], s[test], weight[test], underage=underage[test])
    assert found["test_score"][0] == pytest.approx(expected, rel=1e-12)


def test_minibatch_comes_near_the_exact_objective(rows):
    X, s = rows
    cost, options = Newsvendor(4, 1), MiniBatchOptions(learning_rate=0.02, epochs=400)
    exact = LinearDecision(cost, Band(0, 2), penalty="l2", strength=0.01).fit(X, s)
    model = LinearDecision(
        cost, Band(0, 2), penalty="l2", strength=0.01, solver="minibatch", minibatch=options
    ).fit(X, s)
    excess = model.solution_.objective / exact.solution_.objective - 1
    assert -1e-8 < excess < 0.05
    assert np.isnan(model.solution_.gap)


def test_on_the_papers_data_the_published_band_helps_at_a_high_level():
    data = store10(seed=0)
    cost = Newsvendor.at_level(0.95)
    band = Band.scaled(low=0.0083, high=0.1827, observation=data.train.sales)
    arguments = data.train.features, data.train.sales
    ignoring = LinearDecision(cost).fit(*arguments)
    banded = LinearDecision(cost, band).fit(*arguments)
    seen = LinearDecision(cost).fit(data.train.features, data.train.demand)
    scores = [m.score(data.test.features, data.test.demand) for m in (ignoring, banded, seen)]
    assert scores == sorted(scores)
    assert banded.solution_.gap <= 1e-9 * banded.solution_.objective
