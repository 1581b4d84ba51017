"""Data that look censored and are not: the band must stay out of the way."""

from __future__ import annotations

import numpy as np
import pytest

from unmet import LatentBand, LinearDecision, Newsvendor

COST = Newsvendor(17, 3)
N_ROWS = 200


def test_small_counts_are_judged_by_probabilities():
    generator, mean = np.random.default_rng(5), 0.5
    features = generator.uniform(size=(N_ROWS, 2))
    seen = generator.poisson(mean * np.exp(features @ [0.8, -0.5])).astype(float)
    rule = LatentBand(random_state=0).fit(COST, features, seen)
    assert rule.diagnosis_.share_censored == 0.0


def test_copies_of_rows_are_no_pile():
    generator = np.random.default_rng(2)
    features = np.repeat(generator.uniform(size=(50, 3)), 10, axis=0)
    seen = np.repeat(50 + 5 * generator.normal(size=50), 10)
    rule = LatentBand(families="normal", random_state=0).fit(COST, features, seen)
    assert rule.model_.order_plane is None


def test_flags_that_are_all_false_add_nothing():
    generator = np.random.default_rng(3)
    features = generator.uniform(size=(N_ROWS, 3))
    seen = 50 + 5 * generator.normal(size=N_ROWS)
    flags = np.zeros(N_ROWS, dtype=bool)
    rule = LatentBand(families=("normal", "gumbel"), random_state=0)
    rule.fit(COST, features, seen, censored=flags)
    assert not np.any(rule.band(features).high)
    flags[7] = True
    rule.fit(COST, features, seen, censored=flags)
    assert rule.diagnosis_.shift < 0.02 * seen.std()


def test_each_cost_of_a_path_has_its_own_diagnosis():
    generator = np.random.default_rng(6)
    features = generator.uniform(size=(150, 2))
    seen = 50 + 5 * generator.normal(size=150)
    costs = [Newsvendor.at_level(level) for level in (0.55, 0.95)]
    rule = LatentBand(0.4, families="normal", orders="noisy", random_state=0)
    low, high = LinearDecision(band=rule).fit_path(features, seen, costs=costs)
    alone = LinearDecision(costs[1], band=rule).fit(features, seen)
    assert high.diagnosis_.shift == pytest.approx(alone.diagnosis_.shift)
    assert low.diagnosis_.decision < high.diagnosis_.decision


def test_partly_known_rows_do_not_hide_a_pile():
    generator = np.random.default_rng(7)
    features = generator.uniform(size=(N_ROWS, 2))
    order = 50 + features @ [10.0, 5.0]
    demand = order + 5 * generator.normal(size=N_ROWS)
    flags = (demand > order).astype(object)
    flags[::2] = None
    rule = LatentBand(families="normal", random_state=0)
    rule.fit(COST, features, np.minimum(demand, order), censored=flags)
    assert rule.diagnosis_.chosen.orders == "at_mass"
    assert rule.diagnosis_.share_censored == pytest.approx((demand > order).mean(), abs=1e-9)


def test_flags_help_less_than_the_column_that_the_planner_had():
    """Orders that know more of demand than the features do break the independence of A1."""
    paid = np.zeros(3)
    for seed in range(3):
        festival, noise = np.random.default_rng(seed).normal(0.0, 15.0, (2, 1000))
        stock, demand = 100 + festival, 100 + festival + noise
        sales, flags, cost = np.minimum(demand, stock), demand > stock, Newsvendor(4, 1)
        past, later = slice(0, 500), slice(500, 1000)
        known = {"censored": flags[past]}
        for place, (X, band, told) in enumerate(
            (
                (np.zeros((1000, 1)), None, {}),
                (np.zeros((1000, 1)), LatentBand(random_state=0), known),
                (festival[:, None], LatentBand(random_state=0), known),
            )
        ):
            model = LinearDecision(cost, band=band).fit(X[past], sales[past], **told)
            paid[place] += cost.cost(model.predict(X[later]), demand[later]).mean()
    nothing, with_flags, with_the_column = paid
    assert with_flags > 0.9 * nothing
    assert with_the_column < 0.75 * nothing
