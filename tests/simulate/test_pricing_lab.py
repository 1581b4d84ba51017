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
    fixed = pricing(policy="fixed", list_price=1.3, level=50).train
    assert set(fixed.offer) == {65.0}
    cut = pricing(policy="discounts", list_price=1.2, discount=0.25, level=50).train.offer
    assert 45.0 <= cut.min() < 45.3
    assert 59.7 < cut.max() <= 60.0
    share = pricing(policy="forecast", share=0.8).train
    assert share.offer == pytest.approx(0.8 * share.mean)
    own = pricing(policy="personal", share=0.8, noise=0.1).train
    around = np.log(own.offer / (0.8 * own.mean))
    assert around.std() == pytest.approx(0.1, rel=0.06)
    assert around.mean() == pytest.approx(0.0, abs=0.01)


def test_the_optimum_is_the_cheapest_and_the_best_price_earns_most():
    part = pricing("lognormal", n=20_000, seed=3).train
    cost = CustomPricing(underprice=4, overprice=1)
    paid = [realised_cost(cost, part.optimum(level), part.truth) for level in (0.7, 0.8, 0.9)]
    assert paid[1] == min(paid)
    best = part.best_price(30)
    earned = part.expected_revenue(best, 30)
    assert earned > max(part.expected_revenue(best * f, 30) for f in (0.95, 1.05))
    assert realised_revenue(best, part.truth, unit_cost=30) == pytest.approx(earned, rel=0.02)
