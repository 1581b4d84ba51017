"""Ages by features: the iteration on the rate, and the distributions of LatentBand."""

from __future__ import annotations

import numpy as np
import pytest

from unmet import Band, LatentBand, LinearDecision, NeuralDecision, Newsvendor
from unmet.costs import AgeReplacement, PreventiveReplacement
from unmet.errors import InvalidInput, Unsupported
from unmet.lifetimes import expected_cost, latent_ages, replacement_age
from unmet.lifetimes.lifetimes import fit_rate
from unmet.persistence import load
from unmet.simulate import replacement

COST = AgeReplacement(1, 6)


@pytest.fixture(scope="module")
def data():
    return replacement(n=300, n_test=300, share=0.4, seed=5)


@pytest.fixture(scope="module")
def rule(data):
    part = data.train
    learner = LatentBand(families=["weibull", "lognormal"], random_state=0)
    return learner.fit(COST, part.features, part.times, censored=part.censored)


def _rate(part, age):
    paid = expected_cost(COST.at_rate(0.0), part.distribution, age)
    return float(paid.sum() / part.distribution.interval_mean(age).sum())


def test_the_iteration_finds_the_least_rate_of_constants():
    times = 50 * np.random.default_rng(0).weibull(2.5, 120)
    found = fit_rate(LinearDecision(COST), np.zeros((120, 1)), times, tol=1e-12)
    grid = {age: COST.rate_of(age, times) for age in times}
    assert found.cost_.rate == pytest.approx(min(grid.values()), rel=1e-12)
    assert found.intercept_ == min(grid, key=grid.get)
    # and the same by the running sums of replacement_age
    assert replacement_age(COST, times, method="kaplan-meier").age == found.intercept_


def test_groups_share_one_rate():
    """No pair of ages has a smaller ratio of sums."""
    generator = np.random.default_rng(1)
    group = np.repeat([0.0, 1.0], 40)
    times = np.where(group > 0, 20, 60) * generator.weibull(3, 80)
    found = fit_rate(LinearDecision(COST), group[:, None], times, tol=1e-12)
    pairs = [
        COST.rate_of(np.where(group > 0, one, other), times)
        for one in times[group > 0]
        for other in times[group == 0]
    ]
    assert found.cost_.rate == pytest.approx(min(pairs), rel=1e-9)
    assert COST.rate_of(found.predict(group[:, None]), times) == pytest.approx(found.cost_.rate)


def test_suspensions_hand_their_weight_on():
    generator = np.random.default_rng(2)
    lifetimes, planned = 50 * generator.weibull(2.5, 200), 60 * generator.uniform(size=200)
    times, suspended = np.minimum(lifetimes, planned), lifetimes > planned
    found = fit_rate(LinearDecision(COST), np.zeros((200, 1)), times, censored=suspended)
    expected = replacement_age(COST, times, censored=suspended, method="kaplan-meier")
    assert found.intercept_ == expected.age
    assert found.cost_.rate == pytest.approx(expected.cost)
    ignoring = fit_rate(LinearDecision(COST), np.zeros((200, 1)), times)
    assert ignoring.intercept_ < found.intercept_


def test_models_with_features_beat_one_age_for_all(data):
    train, test = data.train, data.test
    common = fit_rate(LinearDecision(COST), np.zeros((300, 1)), train.lifetimes)
    floor = test.best_rate(COST)
    one = _rate(test, np.full(300, common.intercept_))
    for model in (
        LinearDecision(COST, solver="smoothed"),
        NeuralDecision(COST, hidden_layer_sizes=(8,), strength=1e-3, random_state=0),
    ):
        fitted = fit_rate(model, train.features, train.lifetimes)
        assert not hasattr(model, "cost_")
        rate = _rate(test, fitted.predict(test.features))
        assert floor < rate < one - 0.3 * (one - floor)


def test_no_age_is_below_the_first_failure(tmp_path):
    """A steep line through few lifetimes goes below 0; before the first failure waiting is free."""
    generator = np.random.default_rng(0)
    hot = generator.uniform(size=(150, 1))
    times = 1000 * np.exp(-4 * hot[:, 0]) * generator.weibull(4, size=150)
    fitted = fit_rate(LinearDecision(COST, solver="smoothed"), hot, times)
    asked = np.array([[0.0], [1.0], [3.0]])
    assert (asked @ fitted.coef_ + fitted.intercept_).min() < 0.0  # the line itself
    assert fitted.predict(asked).min() == fitted.least_ == times.min()
    ages = fitted.predict(hot)
    assert fitted.cost_.rate == pytest.approx(COST.rate_of(ages, times))
    assert load(fitted.save(tmp_path / "ages.unmet")).predict(asked).min() == times.min()
    assert fitted.fit(hot, times).predict(asked).min() < 0.0  # another fit has no such floor


def test_distributions_of_the_latent_band_come_close_to_the_optimum(data, rule):
    part = data.test
    ages = latent_ages(rule, part.features)
    assert np.median(np.abs(ages / part.optimum(COST) - 1)) < 0.15
    assert abs(np.mean(ages / part.optimum(COST)) - 1) < 0.1
    together = latent_ages(rule, part.features, together=True)
    floor = part.best_rate(COST)
    assert floor <= _rate(part, together) < 1.02 * floor
    assert _rate(part, together) < _rate(part, ages)  # a common price of time is another question
    discounted = PreventiveReplacement(1, 6, discount=0.001)
    by_distribution = latent_ages(rule, part.features, discounted)
    assert np.mean(by_distribution / part.optimum(discounted)) == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("seed", [106])
def test_sure_and_anything_is_possible_are_not_said_together(seed):
    """Half of the parts were taken out in time; without flags nothing shows it."""
    part = replacement(n=400, n_test=1, share=0.5, policy="noisy", seed=seed).train
    rule = LatentBand(families=["weibull", "lognormal"], random_state=0)
    found = rule.fit(COST, part.features, part.times).diagnosis_
    low, high = found.share_range
    assert (low, high > 0.4, found.identified) == (0.0, True, "no")
    assert any("other models that fit as well have up to" in note for note in found.notes)


def test_bad_input_is_one_sentence(rule):
    X, y = np.zeros((3, 1)), [1.0, 2.0, 3.0]
    with pytest.raises(InvalidInput, match=r"^cost of the model must be AgeReplacement, got Newsv"):
        fit_rate(LinearDecision(Newsvendor(1, 2)), X, y)
    with pytest.raises(
        InvalidInput, match=r"^band of the model must be a Band or None, got Latent"
    ):
        fit_rate(LinearDecision(COST, LatentBand()), X, y)
    with pytest.raises(Unsupported, match=r"^rule must be a fitted LatentBand, got Band\.$"):
        latent_ages(Band(0, 1), X)
    with pytest.raises(Unsupported, match=r"^cost must be AgeReplacement .* got Newsvendor\.$"):
        latent_ages(rule, np.zeros((1, 4)), Newsvendor(1, 2))
    with pytest.raises(InvalidInput, match="rate must be a number to evaluate single rows"):
        LinearDecision(COST).fit(X, y)
