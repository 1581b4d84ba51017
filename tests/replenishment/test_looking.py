"""Looking on purpose: who is looked at, and what it may cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unmet.errors import InvalidInput
from unmet.replenishment import look_on_purpose


def flags(rates, n_periods=28, seed=0):
    drawn = np.random.default_rng(seed).random((len(rates), n_periods))
    return (drawn < np.asarray(rates)[:, None]).astype(float)


def test_only_series_that_surely_sell_out_too_often_are_looked_at():
    often = flags([0.9, 0.1, 0.05, 0.8])
    look = look_on_purpose([20.0] * 4, often, 0.9, spread=[3.0] * 4, share=1.0)
    assert (look.extra > 0).tolist() == [True, False, False, True]
    assert (look.rate <= often.mean(axis=1) + 0.03).all()  # as low as what was seen allows


def test_the_step_costs_least_under_a_normal_distribution():
    """Evaluated by adding unit after unit, for the rate that is taken."""
    level, spread = 0.8, 6.0
    look = look_on_purpose([40.0], np.ones((1, 40)), level, spread=[spread], share=1.0)
    steps = np.linspace(0, 30, 3001)
    start = stats.norm.isf(look.rate[0])
    asked = stats.norm.sf(start + steps / spread)  # chance that the next unit is asked for
    gain = np.cumsum(asked - (1 - level)) * (steps[1] - steps[0])
    assert look.extra[0] == pytest.approx(steps[gain.argmax()], abs=0.05)
    assert gain.max() > 0


@pytest.mark.parametrize(
    "distribution", [stats.norm(50, 10), stats.gamma(4, scale=10), stats.expon(0, 40)]
)
def test_looks_pay_for_themselves_where_orders_are_too_small(distribution):
    """Orders at the median: units that sell earn more than those that are left cost."""
    level, order = 0.9, np.full(30, distribution.median())
    generator = np.random.default_rng(5)
    earned = 0.0
    for seed in range(40):
        seen = (distribution.rvs((30, 28), random_state=generator) > order[:, None]).astype(float)
        words = {"spread": np.full(30, distribution.std()), "share": 1.0, "seed": seed}
        look = look_on_purpose(order, seen, level, **words)
        assert (look.extra > 0).mean() > 0.9
        sold = np.clip(distribution.rvs(30, random_state=generator) - order, 0, look.extra)
        earned += float((sold - (1 - level) * look.extra).sum())
    assert earned > 0


def test_series_that_are_unlucky_by_chance_are_left_alone():
    """Hundreds of series that sell out as planned: some by chance twice as often."""
    looked = 0
    for seed in range(20):
        often = flags([0.1] * 300, seed=seed)
        assert often.mean(axis=1).max() >= 0.2
        look = look_on_purpose(np.full(300, 20.0), often, 0.9, spread=np.full(300, 3.0), share=1.0)
        looked += int((look.extra > 0).sum())
    assert looked <= 0.005 * 20 * 300


def test_nobody_knows_how_far_demand_reaches():
    """The spread is taken to be the order, and never more than twice the order is ordered."""
    often = flags([0.4, 1.0])
    look = look_on_purpose([10.0, 10.0], often, 0.9, spread=[np.nan] * 2, share=1.0)
    step = 10 * (stats.norm.ppf(0.9) - stats.norm.isf(look.rate[0]))
    assert look.extra[0] == pytest.approx(step)
    assert 0 < step < 10
    assert look.extra[1] == pytest.approx(10.0)
    same = look_on_purpose([10.0, 10.0], often, 0.9, share=1.0)
    np.testing.assert_array_equal(same.extra, look.extra)


def test_nothing_is_added_where_nobody_knows_or_little_was_seen():
    unknown = np.full((2, 28), np.nan)
    unknown[1, :1] = 1.0
    assert not look_on_purpose([10.0, 10.0], unknown, 0.9, share=1.0).extra.any()


@pytest.mark.parametrize("level", [0.3, 0.6, 0.9])
def test_always_sold_out_is_too_often_at_any_level(level):
    assert look_on_purpose([8.0], np.ones((1, 60)), level, share=1.0).extra[0] > 0
    as_planned = flags([1.0 - level], 200)
    assert look_on_purpose([8.0], as_planned, level, share=1.0).extra[0] == 0


def test_share_is_spent_on_average_and_not_more():
    order, often = np.full(40, 10.0), flags([0.9] * 40)
    words = {"spread": np.full(40, 1.0), "share": 0.01}
    spent = [
        look_on_purpose(order, often, 0.9, **words, seed=each).extra.sum() for each in range(2000)
    ]
    assert np.mean(spent) == pytest.approx(0.01 * order.sum(), rel=0.1)
    assert np.max(spent) <= 0.01 * order.sum() + 2.5  # the last one may not have fitted


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=8),
    st.floats(0.05, 0.95),
    st.floats(0, 0.2),
    st.integers(0, 99),
)
def test_what_is_added_is_in_lots_and_the_same_for_a_seed(order, level, share, seed):
    often = np.ones((len(order), 30))
    first, again = (
        look_on_purpose(order, often, level, share=share, lot=3.0, seed=seed).extra
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(first % 3.0, 0.0)
    assert (first[np.asarray(order) <= 0] == 0).all()
    if share == 0:
        assert not first.any()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"sold_out": np.ones(3)}, "sold_out must have a row for each of 2 series"),
        ({"level": 1.0}, "level must be a number above 0 and below 1"),
        ({"share": 2.0}, "share must be"),
        ({"order": [1.0, np.nan]}, "order must be a finite number"),
        ({"spread": [1.0]}, "spread must be 0 units or more for each of 2 series"),
        ({"spread": [1.0, -1.0]}, "spread must be 0 units or more for each of 2 series"),
    ],
)
def test_bad_words_are_one_sentence(words, sentence):
    given_words = {"order": [1.0, 2.0], "sold_out": np.ones((2, 5)), "level": 0.9, **words}
    with pytest.raises(InvalidInput, match=sentence):
        look_on_purpose(
            given_words["order"],
            given_words["sold_out"],
            given_words["level"],
            spread=given_words.get("spread"),
            share=given_words.get("share", 0.01),
        )
