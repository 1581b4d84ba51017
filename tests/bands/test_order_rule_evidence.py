"""The shape that orders leave: each way to miss it is enough to be refused."""

from dataclasses import replace

import numpy as np
import pytest

from unmet.bands.order_rule.evidence import Evidence, weigh
from unmet.bands.order_rule.lots import Rounding
from unmet.bands.order_rule.rules import read_histories

STEP = Rounding(1.0, "up")
DAYS = 1400


def evidence(s, order, *, exceptions=0.4, unit=1.0):
    """Evidence of one group of consecutive days."""
    histories = replace(read_histories(s, np.arange(len(s)), None, None), unit=unit)
    group = np.zeros(len(s), np.intp)
    return weigh(histories, group, 1, np.asarray(order, float), STEP, exceptions)


def bound_sales(generator, level=60, share=1.1, n=DAYS):
    """Sales and the orders that bound them, which vary from day to day."""
    order = np.round(level * share * generator.uniform(0.8, 1.2, n))
    return np.minimum(generator.negative_binomial(8, 8 / (8 + level), n), order).astype(
        float
    ), order


def test_bound_sales_fit():
    found = evidence(*bound_sales(np.random.default_rng(0)))
    assert found.fits[0]
    assert found.binding[0] == 1
    assert found.log_p[0] < -100
    assert found.n_rows[0] == DAYS


def test_both_nulls_must_be_wrong():
    one = np.ones(1)
    found = Evidence(one, one, one, one, np.array([True]), -3 * one, -50 * one)
    assert found.log_p[0] == -3
    found = Evidence(one, one, one, one, np.array([True]), -50 * one, -2 * one)
    assert found.log_p[0] == -2


def test_small_counts_that_tie_by_chance_do_not_fit():
    generator = np.random.default_rng(1)
    s = generator.poisson(1.0, 20_000).astype(float)
    order = generator.integers(3, 5, 20_000).astype(float)  # far out, where the hazard is high
    found = evidence(s, order)
    reached = found.n_at[0] + found.n_above[0]
    assert found.n_at[0] > 0.7 * reached  # the bare shape would be right
    assert reached > 500
    assert found.binding[0] < 0.2
    assert not found.fits[0]
    assert found.log_p[0] == 0
    bound = evidence(np.minimum(s, order), order)
    assert bound.fits[0]
    assert bound.log_p[0] < -20


def test_too_much_above_does_not_fit():
    generator = np.random.default_rng(2)
    s, order = bound_sales(generator)
    lifted = generator.permutation(np.flatnonzero(s == order))
    s[lifted[: lifted.size // 4]] += 9
    assert evidence(s, order, exceptions=0.35).fits[0]
    assert not evidence(s, order, exceptions=0.2).fits[0]


def test_sales_that_were_never_ordered_speak_against_an_order():
    s, order = bound_sales(np.random.default_rng(3))
    order[:300] = 0
    found = evidence(s, order)
    assert found.n_above[0] >= 295
    assert not found.fits[0]
    s[:300] = 0
    assert evidence(s, order).fits[0]
    assert evidence(s, order).n_rows[0] == DAYS - 300


def test_something_must_stay_below():
    generator = np.random.default_rng(4)
    order = np.round(60 * generator.uniform(0.8, 1.2, DAYS))
    s = order.copy()
    assert not evidence(s, order).fits[0]
    s[generator.permutation(DAYS)[:20]] -= 15
    assert not evidence(s, order).fits[0]
    s[generator.permutation(DAYS)[:40]] -= 15
    assert evidence(s, order).fits[0]


def test_what_stays_below_must_stay_well_below():
    generator = np.random.default_rng(5)
    order = np.round(60 * generator.uniform(0.8, 1.2, DAYS))
    below = generator.random(DAYS) < 0.6
    assert not evidence(order - below * generator.integers(1, 4, DAYS), order).fits[0]
    assert evidence(order - below * generator.integers(1, 14, DAYS), order).fits[0]
    # measured quantities have no unit to compare with
    assert evidence(order - below * generator.integers(1, 4, DAYS), order, unit=0.0).fits[0]


def test_observations_must_move():
    generator = np.random.default_rng(6)
    level = 1000 + np.cumsum(generator.integers(-1, 2, DAYS))
    s = level - 12.0 * (generator.random(DAYS) < 0.04)
    order = np.where(generator.random(DAYS) < 0.4, level, level + 25.0)
    assert not evidence(s, order).fits[0]
    wild = np.round(300 * generator.random(DAYS))
    assert evidence(s + wild, order + wild).fits[0]


@pytest.mark.parametrize("period", [1, 7])
def test_a_value_that_only_repeats_does_not_fit(period):
    generator = np.random.default_rng(7)
    # every weekday, or the only day there is, stands still for four rows
    stretch = np.repeat(generator.integers(30, 200, DAYS // (4 * period) + 1), 4)
    s = (stretch[:, None] + 40.0 * np.arange(period)).ravel()[:DAYS]
    order = np.roll(s, period)
    order[:period] = np.nan
    found = evidence(s, order)
    assert found.n_above[0] < 0.3 * (found.n_at[0] + found.n_above[0])
    assert not found.fits[0]


def test_groups_are_weighed_apart():
    generator = np.random.default_rng(8)
    s, order = bound_sales(generator)
    free = generator.negative_binomial(8, 8 / 68, DAYS).astype(float)
    both, orders = np.r_[s, free], np.r_[order, order]
    group = np.repeat([0, 1], DAYS)
    histories = replace(read_histories(both, np.tile(np.arange(DAYS), 2), group, None), unit=1.0)
    found = weigh(histories, group, 2, orders, STEP, 0.4)
    alone = evidence(s, order)
    np.testing.assert_array_equal(found.fits, [True, False])
    assert found.log_p[0] == pytest.approx(alone.log_p[0])
    assert found.binding[0] == alone.binding[0]
    assert found.rank[0] > found.rank[1]
