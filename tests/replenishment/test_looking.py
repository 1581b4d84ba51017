"""Looking on purpose: who is looked at, and what it may cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmet.errors import InvalidInput
from unmet.replenishment import look_on_purpose


def flags(rates, n_periods=28, seed=0):
    drawn = np.random.default_rng(seed).random((len(rates), n_periods))
    return (drawn < np.asarray(rates)[:, None]).astype(float)


def test_only_series_that_sell_out_far_too_often_are_looked_at():
    look = look_on_purpose([20.0] * 4, flags([0.9, 0.1, 0.05, 0.8]), 0.9, share=1.0)
    assert (look.extra > 0).tolist() == [True, False, False, True]
    assert look.extra[0] == pytest.approx(5.0)


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
    spent = [
        look_on_purpose(order, often, 0.9, share=0.01, seed=each).extra.sum()
        for each in range(2000)
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
    ],
)
def test_bad_words_are_one_sentence(words, sentence):
    given_words = {"order": [1.0, 2.0], "sold_out": np.ones((2, 5)), "level": 0.9, **words}
    with pytest.raises(InvalidInput, match=sentence):
        look_on_purpose(
            given_words["order"],
            given_words["sold_out"],
            given_words["level"],
            share=given_words.get("share", 0.01),
        )
