"""What stock-outs hide where only their rate is known, or nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmet import LatentBand, LinearDecision, Newsvendor
from unmet.censoring.latent.sellout import ANY_RATE, RateRange, SelloutProfile, skewness

LEVELS = (0.65, 0.8, 0.95)
PROFILES = {
    "nothing known": SelloutProfile(ANY_RATE),
    "nothing known, left-skewed": SelloutProfile(ANY_RATE, (-0.1, 0.003)),
    "a rate": SelloutProfile(RateRange(0.5, 0.5), (0.0, 0.003)),
    "a range": SelloutProfile(RateRange(0.1, 0.4)),
}


@given(st.floats(0.0, 0.95), st.floats(0.02, 0.98), st.floats(-0.5, 0.5))
def test_levels_invert_and_are_never_below_the_level_asked_for(rate, level, skewed):
    profile = SelloutProfile(RateRange(rate, rate), (skewed, 0.003))
    seen = float(profile.observed_level(level))
    assert level - 1e-6 <= seen <= 1.0
    assert profile.weights.sum() == pytest.approx(1.0)
    assert 0.0 <= profile.mean <= rate + 1e-9
    if seen < 1 - 1e-4:
        assert float(profile.truth_level(seen)) == pytest.approx(level, abs=1e-4)


def test_a_rate_of_zero_takes_observations_for_the_truth():
    profile = SelloutProfile(RateRange(0.0, 0.0), (-0.3, 0.003))
    assert profile.observed_level(np.array(LEVELS)) == pytest.approx(LEVELS, abs=1e-4)


@pytest.mark.parametrize("name", PROFILES)
def test_decisions_cost_least_on_average_over_all_rates(name):
    """Independent of the formula: costs of a grid of decisions on truths drawn for each rate."""
    profile, rng = PROFILES[name], np.random.default_rng(0)
    rate = rng.choice(profile.rates, size=40_000, p=profile.weights)
    truth = rng.exponential(1.0 / (1.0 - rate))  # hazard 1 - r; the observation has hazard 1
    grid = np.linspace(0.2, 8.0, 120)
    for level in LEVELS:
        cost = Newsvendor.at_level(level)
        paid = [float(cost.cost(np.full(truth.size, each), truth).mean()) for each in grid]
        decided = -np.log1p(-float(profile.observed_level(level)))
        at = float(cost.cost(np.full(truth.size, decided), truth).mean())
        assert at <= min(paid) * (1 + 2e-3)


def test_proportional_hazards_give_the_truth_back():
    """With one effective rate Koziol and Green's model holds."""
    rng = np.random.default_rng(0)
    truth, order = rng.exponential(1.0, 200_000), rng.exponential(1.5, 200_000)
    seen, rate = np.minimum(truth, order), float((truth > order).mean())
    profile = SelloutProfile.exactly(rate)
    for level in (0.3, 0.8, 0.9):
        at = float(profile.observed_level(level))
        assert np.quantile(seen, at) == pytest.approx(-np.log1p(-level), rel=0.03)


def test_more_is_hidden_where_rates_are_higher_and_observations_less_skewed():
    rates = [SelloutProfile(RateRange(each, each)) for each in (0.1, 0.3, 0.6)]
    shapes = [SelloutProfile(ANY_RATE, (each, 0.003)) for each in (0.3, 0.1, 0.0, -0.15)]
    for profiles in (rates, shapes):
        found = [float(each.observed_level(0.85)) for each in profiles]
        assert found == sorted(found)
        assert found[-1] > found[0] + 0.02
        assert [each.mean for each in profiles] == sorted(each.mean for each in profiles)
    assert shapes[0].likely[1] < 0.1 < shapes[-1].likely[1]


def test_skewness_is_that_of_quantiles_and_weights_repeat_rows():
    rng = np.random.default_rng(0)
    assert skewness(rng.standard_normal(100_000))[0] == pytest.approx(0.0, abs=0.01)
    low, middle, high = -np.log(0.95), np.log(2.0), -np.log(0.05)
    exact = (high + low - 2 * middle) / (high - low)
    assert skewness(rng.exponential(size=200_000))[0] == pytest.approx(exact, abs=0.01)
    values, times = rng.exponential(size=50), rng.integers(1, 4, 50)
    weighted, repeated = skewness(values, 1.0 * times), skewness(np.repeat(values, times))
    assert weighted[0] == pytest.approx(repeated[0])
    assert weighted[1] > repeated[1]  # rows that are repeated are no new ones


def shop(seed: int, hidden: bool, n: int = 600):
    """Right-skewed demand, and orders that scatter around its level."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    level = 40 + 4 * X[:, 0] - 3 * X[:, 1]
    demand = level * rng.gamma(10, 0.1, n)
    order = 1.1 * level * np.exp(0.25 * rng.normal(size=n)) if hidden else np.full(n, np.inf)
    return X, np.minimum(demand, order), demand


@pytest.mark.parametrize("seed", [0, 1])
def test_where_nothing_is_known_some_hidden_demand_is_recovered_and_little_is_invented(seed):
    cost = Newsvendor.at_level(0.85)
    cheaper = []
    for hidden in (True, False):
        X, sales, demand = shop(seed, hidden)
        X_test, _, demand_test = shop(seed + 100, hidden, 4000)
        paid = {}
        for name, band, y in (
            ("sales", None, sales),
            ("unmet", LatentBand(random_state=0), sales),
            ("demand", None, demand),
        ):
            model = LinearDecision(cost, band=band).fit(X, y)
            paid[name] = float(cost.cost(model.predict(X_test), demand_test).mean())
        cheaper.append(paid)
    assert cheaper[0]["unmet"] < cheaper[0]["sales"] - 0.2 * (
        cheaper[0]["sales"] - cheaper[0]["demand"]
    )
    assert cheaper[1]["unmet"] < 1.03 * cheaper[1]["demand"]


def test_the_diagnosis_says_what_is_assumed_and_least_censoring_assumes_nothing():
    X, sales, _ = shop(0, True)
    cost = Newsvendor.at_level(0.85)
    found = LinearDecision(cost, band=LatentBand(random_state=0)).fit(X, sales).diagnosis_
    assert found.identified == "no"
    low, high = found.share_assumed
    assert 0.0 <= low < high <= 0.6
    assert found.shift > 0
    least = LatentBand(when_unidentified="least_censoring", random_state=0)
    other = LinearDecision(cost, band=least).fit(X, sales)
    assert other.diagnosis_.share_assumed is None
    assert other.diagnosis_.shift == 0.0
    plain = LinearDecision(cost).fit(X, sales)
    assert other.predict(X) == pytest.approx(plain.predict(X))
