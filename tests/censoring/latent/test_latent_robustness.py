"""What a verdict must survive where nothing is known: smooth distributions, other views."""

import numpy as np

from unmet import LatentBand, Newsvendor
from unmet.censoring.latent.orders import find_order_plane
from unmet.simulate import censoring_lab

COST = Newsvendor.at_level(0.85)
DISTRIBUTIONS = {
    "two humps": lambda generator, n: (
        np.where(generator.random(n) < 0.3, -1.2, 0.5) + 0.6 * generator.standard_normal(n)
    ),
    "normal": lambda generator, n: generator.standard_normal(n),
}


def shop(distribution, n=700):
    """Features and demand."""
    generator = np.random.default_rng(0)
    x = generator.random((n, 2))
    noise = DISTRIBUTIONS[distribution](generator, n)
    mean = 100 + 20 * x[:, 0] - 15 * x[:, 1]
    return x, mean + 20 * (noise - noise.mean()) / noise.std()


def learn(X, s, **options):
    return LatentBand(random_state=0, **options).fit(COST, X, s)


# --- nothing hidden -------------------------------------------------------------------------------


def test_demand_of_two_humps_that_hides_nothing_is_left_alone():
    X, demand = shop("two humps", 250)
    rule = learn(X, demand, when_unidentified="least_censoring")
    assert rule.diagnosis_.share_censored == 0.0
    assert rule.diagnosis_.identified == "no"  # orders that scatter would not have been seen
    np.testing.assert_array_equal(rule.band(X).low, 0.0)


def test_scattered_orders_look_like_demand_that_is_skewed_to_the_left():
    train = censoring_lab(orders="noisy", share=0.3, n=700, seed=0).train
    found = learn(train.features, train.sales).diagnosis_
    low, high = found.interval
    assert found.identified == "no"
    assert found.share_censored == 0.0
    assert low == 0.0
    assert high > train.share_censored  # what is true cannot be ruled out
    assert any("censoring is not ruled out" in note for note in found.notes)
    assert any("sell-out rate" in note for note in found.notes)


def test_a_distribution_that_the_user_names_is_taken_at_its_word():
    train = censoring_lab(orders="noisy", share=0.3, noise=0.3, n=2000, seed=0).train
    found = learn(train.features, train.sales, families="normal").diagnosis_
    low, high = found.interval
    assert found.identified in ("yes", "weakly")
    assert low <= train.share_censored <= high
    assert len(found.robustness_checks) == 2
    assert all(each.holds and low <= each.share <= high for each in found.robustness_checks)


def test_censoring_that_only_one_half_shows_is_not_believed():
    """Uncensored demand with a shift of its level must not mislead a named distribution."""
    X, demand = shop("normal", 1500)
    later = np.arange(1500) >= 750
    sales = np.where(later, np.minimum(demand, 100 + 0 * demand), demand)
    sales = sales - 0.3 * np.abs(np.random.default_rng(1).standard_normal(1500))
    found = learn(X, sales, families="normal").diagnosis_
    failed = [each for each in found.robustness_checks if not each.holds]
    assert found.identified == "no"
    assert failed or found.share_censored == 0.0


# --- one capacity ---------------------------------------------------------------------------------


def test_one_capacity_is_found_whole():
    """A quantile of the sales would leave it in groups that hardly ever reach it."""
    generator = np.random.default_rng(0)
    group = generator.integers(0, 6, 900)
    X = (group[:, None] == np.arange(1, 6)).astype(float)
    demand = 100 - 12 * group + 15 * generator.standard_normal(900)
    sales = np.minimum(demand, 95.0)
    found = find_order_plane(X, sales, 0.0, np.ones(900, dtype=bool))
    np.testing.assert_array_equal(found.on, sales == 95.0)
