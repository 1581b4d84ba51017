"""Simulated offers: distributions, policies, answers, and the prices that are best."""

from __future__ import annotations

import numpy as np
import pytest

from unmet.costs import CustomPricing
from unmet.evaluation import realised_cost, realised_revenue
from unmet.simulate import pricing

FAMILIES = ["normal", "logistic", "student", "gumbel", "gamma", "lognormal", "weibull"]


@pytest.mark.parametrize("family", FAMILIES)
def test_reservation_prices_have_the_distribution_they_are_said_to_have(family):
    part = pricing(family, n=5000, seed=2).train
    for level in (0.1, 0.35, 0.9):
        assert np.mean(part.truth <= part.optimum(level)) == pytest.approx(level, abs=0.022)
    assert part.survival(part.optimum(0.3)) == pytest.approx(np.full(5000, 0.7))
    assert np.mean(part.truth - part.mean) == pytest.approx(0.0, abs=1.4)


def test_answers_follow_from_truth_and_offer():
    part = pricing("gumbel", policy="personal", haggling=0.4, seed=1).train
    asked = part.truth >= part.offer
    assert np.array_equal(part.accepted, asked | part.haggled)
    assert not (asked & part.haggled).any()
    assert part.haggled.sum() / (~asked).sum() == pytest.approx(0.4, abs=0.05)
    limits = part.limits
    assert (limits.lower <= part.truth).all()
    assert (part.truth <= limits.upper).all()
    assert np.array_equal(limits.kinds == "exact", part.haggled)
    assert np.array_equal(limits.kinds == "left", ~part.accepted)


def test_policies_ask_what_they_say():
    np.testing.assert_allclose(pricing(policy="fixed").train.offer, 110.0)
    cut = pricing(policy="discounts").train.offer
    assert 55 <= cut.min() < 56
    assert 109 < cut.max() <= 110
    share = pricing(policy="forecast").train
    np.testing.assert_allclose(share.offer, 0.9 * share.mean)
    own = pricing(policy="personal").train
    assert np.std(np.log(own.offer / own.mean)) == pytest.approx(0.25, rel=0.1)


def test_the_optimum_is_the_cheapest_and_the_best_price_earns_most():
    part = pricing("lognormal", n=20_000, seed=3).train
    cost = CustomPricing(underprice=4, overprice=1)
    paid = [realised_cost(cost, part.optimum(level), part.truth) for level in (0.7, 0.8, 0.9)]
    assert paid[1] == min(paid)
    best = part.best_price(30)
    earned = part.expected_revenue(best, 30)
    assert earned > max(part.expected_revenue(best * f, 30) for f in (0.95, 1.05))
    assert realised_revenue(best, part.truth, unit_cost=30) == pytest.approx(earned, rel=0.02)
