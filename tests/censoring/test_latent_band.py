"""LatentBand from the outside: what a planner gets."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor

from unmet import (
    CustomPricing,
    LatentBand,
    LinearDecision,
    Newsvendor,
    PreventiveReplacement,
    SquaredError,
)
from unmet.simulate import censoring_lab, store10

LEVELS = (0.65, 0.85)


def _closed(lab, models, levels):
    """Share of the gap closed, by level."""
    train, test, shares = lab.train, lab.test, []
    for model, level in zip(models, levels, strict=True):
        cost = Newsvendor.at_level(level)
        ignoring = LinearDecision(cost).fit(train.features, train.sales)
        paid = [
            cost.cost(decision, test.demand).mean()
            for decision in (
                ignoring.predict(test.features),
                model.predict(test.features),
                test.optimum(level),
            )
        ]
        shares.append((paid[0] - paid[1]) / (paid[0] - paid[2]))
    return np.array(shares)


def _fit_all(lab, rule, levels=LEVELS, **known):
    costs = [Newsvendor.at_level(level) for level in levels]
    return LinearDecision(band=rule).fit_path(
        lab.train.features, lab.train.sales, costs=costs, **known
    )


@pytest.mark.parametrize(("clip", "least"), [(False, 0.95), (True, 0.75)])
def test_the_papers_data_need_nothing_known(clip, least):
    lab = store10(seed=1, clip=clip)
    models = _fit_all(lab, LatentBand(random_state=0))
    assert _closed(lab, models, LEVELS).min() > least
    found = models[0].diagnosis_
    assert found.identified == "yes"
    assert found.chosen.truth == "normal"
    assert found.chosen.orders == "at_mass"
    assert found.share_is_seen
    censored = lab.train.demand > lab.train.order
    assert found.share_censored == pytest.approx(censored.mean(), abs=0.02)


def test_uncensored_data_are_left_alone():
    lab = censoring_lab("normal", scale="features", orders="never", n=200, seed=2)
    band = LatentBand(when_unidentified="least_censoring", random_state=0)
    model = LinearDecision(Newsvendor(7, 3), band=band)
    model.fit(lab.train.features, lab.train.sales)
    assert model.diagnosis_.share_censored == 0.0
    assert not np.any(model.band_.high)
    ignoring = LinearDecision(Newsvendor(7, 3)).fit(lab.train.features, lab.train.sales)
    np.testing.assert_array_equal(
        model.predict(lab.test.features), ignoring.predict(lab.test.features)
    )


def test_noisy_orders_are_not_overrated():
    lab = censoring_lab("normal", orders="noisy", noise=0.3, share=0.5, n=1500, seed=3)
    models = _fit_all(lab, _rule())
    assert models[0].diagnosis_.share_censored > 0.1
    assert _closed(lab, models, LEVELS).min() > 0.3
    low, high = models[0].diagnosis_.shift_range
    assert low <= models[0].diagnosis_.shift <= high


@pytest.fixture(scope="module")
def small():
    """Few rows and features, so that a race takes a fraction of a second."""
    generator = np.random.default_rng(7)
    features = generator.uniform(size=(300, 2))
    location = 50 + features @ [30.0, -20.0]
    demand = location + generator.normal(scale=8, size=300)
    order = location + generator.normal(2.0, 4.0, size=300)
    return features, np.minimum(demand, order), demand, order


def _rule(**parameters):
    """Few candidates, so that fits are quick."""
    few = {"orders": "noisy"} if "sellout_rate" in parameters else {}
    return LatentBand(families=("normal", "logistic"), random_state=0, **few, **parameters)


@pytest.fixture(scope="module")
def free(small):
    """A model whose rule was told nothing."""
    return LinearDecision(Newsvendor(7, 3), band=_rule()).fit(*small[:2])


@pytest.fixture(scope="module")
def told(small):
    """A rule that was told how often orders sold out."""
    return _rule(sellout_rate=0.4).fit(Newsvendor(7, 3), *small[:2])


def test_flags_are_used_and_may_be_missing(small):
    features, sales, demand, order = small
    cost = Newsvendor(17, 3)
    truth = LinearDecision(cost).fit(features, demand).predict(features)
    censored = demand > order

    def error(**known):
        model = LinearDecision(cost, band=_rule()).fit(features, sales, **known)
        return np.abs(model.predict(features) - truth).mean(), model.diagnosis_

    all_known, found = error(censored=censored)
    assert found.share_censored == pytest.approx(censored.mean())
    assert found.interval == (found.share_censored, found.share_censored)
    stock = np.where(censored, order, order + 1e-3)
    by_stock, _ = error(stock=stock)
    assert by_stock == pytest.approx(all_known, abs=1e-9)
    some = censored.astype(object)
    some[::2] = None
    half_known, partly = error(censored=some)
    ignoring = np.abs(LinearDecision(cost).fit(features, sales).predict(features) - truth).mean()
    assert all_known < 0.5 * ignoring
    assert half_known < 0.7 * ignoring
    assert not partly.share_is_seen


def test_an_imposed_rate_is_met_and_moves_decisions_up(small):
    features, sales, _, _ = small
    shifts = []
    for rate in (0.2, 0.5):
        rule = _rule(sellout_rate=rate).fit(Newsvendor(7, 3), features, sales)
        assert rule.diagnosis_.share_censored == pytest.approx(rate, abs=0.01)
        shifts.append(rule.diagnosis_.shift)
    assert shifts[0] < shifts[1]


def test_a_range_of_rates_gives_both_ends(small):
    features, sales, _, _ = small
    rule = _rule(sellout_rate=(0.2, 0.5)).fit(Newsvendor(7, 3), features, sales)
    low, high = rule.band_range(features)
    middle = rule.band(features)
    assert low.low.mean() < middle.low.mean() < high.low.mean()
    assert rule.diagnosis_.share_given == (0.2, 0.5)
    single = _rule(sellout_rate=0.3).fit(Newsvendor(7, 3), features, sales)
    assert single.diagnosis_.share_given == (0.3, 0.3)
    assert "the data can tell" not in str(single.diagnosis_)
    assert single.band_range(features)[0] == single.band(features)


def test_one_fit_serves_every_level_and_any_rows(small, told):
    features = small[0]
    mean = [
        told.band(features[:50], cost=Newsvendor.at_level(level)).low.mean()
        for level in (0.3, 0.6, 0.9)
    ]
    assert mean == sorted(mean)
    by_row = told.band(features[:2], underage=[3.0, 19.0], overage=1.0)
    alone = [
        told.band(features[row : row + 1], underage=under, overage=1.0).low[0]
        for row, under in enumerate((3.0, 19.0))
    ]
    np.testing.assert_allclose(by_row.low, alone, rtol=1e-9)


def test_units_do_not_matter(small, told):
    features, sales, _, _ = small
    thousand = _rule(sellout_rate=0.4).fit(Newsvendor(7, 3), features, 1000 * sales)
    np.testing.assert_allclose(
        thousand.band(features).low, 1000 * told.band(features).low, rtol=1e-3, atol=1.0
    )


def test_boosted_trees_may_stand_for_the_features():
    generator = np.random.default_rng(11)
    features = generator.uniform(-2, 2, size=(500, 2))
    location = 40 + 10 * np.sin(2 * features[:, 0]) * (features[:, 1] > 0)
    demand = location + generator.normal(scale=4, size=500)
    sales = np.minimum(demand, location)
    trees = GradientBoostingRegressor(n_estimators=40, random_state=0)
    rule = LatentBand(0.5, "normal", "noisy", location=trees, random_state=0)
    shift = rule.fit(Newsvendor(17, 3), features, sales).diagnosis_.shift
    # the α-quantile stands 4.1 above the level on which half of the observations are at_mass up
    assert 2.0 < shift < 6.5


def test_a_large_table_is_sampled_and_says_so(small):
    features, sales, _, _ = small
    rule = _rule(max_rows=200, sellout_rate=0.4).fit(Newsvendor(7, 3), features, sales)
    assert rule.diagnosis_.n_rows == 200
    assert any("sample of 200 of 300 rows" in note for note in rule.diagnosis_.notes)
    assert rule.band(features).low.shape == (300,)


def test_weights_count_rows(small):
    features, sales, _, _ = small
    weight = np.ones(300)
    weight[150:] = 0
    cost = Newsvendor(7, 3)
    kept = _rule(sellout_rate=0.4).fit(cost, features[:150], sales[:150])
    weighted = _rule(sellout_rate=0.4).fit(cost, features, sales, sample_weight=weight)
    np.testing.assert_allclose(
        weighted.band(features).low, kept.band(features).low, rtol=1e-6, atol=1e-9
    )


def test_prices_and_squared_errors_work_too(small):
    features, sales, demand, _ = small
    rule = LatentBand(0.4, families="normal", orders="noisy", random_state=0)
    pricing = LinearDecision(CustomPricing(17, 3), band=rule)
    newsvendor = LinearDecision(Newsvendor(17, 3), band=rule)
    np.testing.assert_allclose(
        pricing.fit(features, sales).predict(features),
        newsvendor.fit(features, sales).predict(features),
    )
    mean = LinearDecision(SquaredError(), band=rule).fit(features, sales)
    assert sales.mean() < mean.predict(features).mean() < demand.mean() + 4


def test_failure_times_are_moved_out_of_sight_of_planned_replacements():
    generator = np.random.default_rng(3)
    features = generator.uniform(size=(300, 1))
    failure = 10 * generator.weibull(4.0, size=300) * (1 + features[:, 0])
    planned = 9.0 * (1 + features[:, 0]) * generator.uniform(0.8, 1.2, size=300)
    seen = np.minimum(failure, planned)
    cost = PreventiveReplacement(planned=1, failure=3, discount=0.05)
    rule = LatentBand(families="weibull", random_state=0)
    rule.fit(cost, features, seen, censored=failure > planned)
    assert rule.diagnosis_.share_censored == pytest.approx((failure > planned).mean())
    band = rule.band(features)
    assert (band.low >= 0).all()
    assert cost.loss(seen, seen, band).shape == (300,)


def test_the_probability_of_a_stock_out_follows_the_truth(small):
    features, sales, demand, order = small
    rule = _rule(sellout_rate=float((demand > order).mean())).fit(Newsvendor(7, 3), features, sales)
    chance = rule.censored_probability(features, sales)
    assert ((chance >= 0) & (chance <= 1)).all()
    assert chance.mean() == pytest.approx((demand > order).mean(), abs=0.05)
    assert chance[demand > order].mean() > chance[demand <= order].mean() + 0.1


def test_the_diagnosis_prints_draws_and_travels(small, free):
    features = small[0]
    found = free.diagnosis_
    low, high = found.interval
    assert low <= found.share_censored <= high
    assert json.loads(json.dumps(found.to_dict()))["rule"] == "LatentBand"
    assert "held-out" in str(found)
    again = pickle.loads(pickle.dumps(free))
    np.testing.assert_array_equal(again.predict(features), free.predict(features))
    assert again.diagnosis_.sensitivity.rate == found.sensitivity.rate


def test_the_estimator_keeps_its_own_rule_unfitted(small):
    features, sales, _, _ = small
    rule = _rule(sellout_rate=0.3)
    model = LinearDecision(Newsvendor(7, 3), band=rule).fit(features, sales)
    assert not hasattr(rule, "model_")
    assert model.band_rule_.diagnosis_.share_censored == pytest.approx(0.3, abs=0.01)
    copy = clone(model)
    assert copy.band.get_params() == rule.get_params()
    copy.set_params(band__sellout_rate=0.1)
    assert rule.sellout_rate == 0.3


def test_flags_without_a_rule_are_refused(small):
    features, sales, demand, order = small
    with pytest.raises(ValueError, match=r"^censored is only used by a band rule"):
        LinearDecision().fit(features, sales, censored=demand > order)
