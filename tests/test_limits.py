"""Limits of the truth: what they say, what they refuse, and how rows of them are kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import _safe_indexing

from unmet import Limits, Newsvendor
from unmet.errors import InvalidInput
from unmet.rows import Rows

INF = float("inf")
NUMBERS = st.floats(-1e6, 1e6)


def test_each_kind_of_row_has_its_name():
    limits = Limits([-INF, 2, 3, 4, -INF], [1, 2, INF, 7, INF])
    assert limits.kinds.tolist() == ["left", "exact", "right", "interval", "nothing"]
    assert len(limits) == limits.n_rows == 5
    assert limits.shape == (5,)


def test_accepted_offers_bound_from_below_and_rejected_ones_from_above():
    limits = Limits.offers([9.0, 12.0, 7.5], [True, False, True])
    assert limits.lower.tolist() == [9.0, -INF, 7.5]
    assert limits.upper.tolist() == [INF, 12.0, INF]


def test_limits_that_say_no_more_than_flags_are_flags():
    limits = Limits([5, 8], [5, INF])
    assert limits.flags(np.array([5.0, 8.0])).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("limits", "observation"),
    [
        (Limits([5, 8], [5, INF]), [5.0, 7.0]),  # at least 8 is more than at least 7
        (Limits([5, -INF], [5, 8]), [5.0, 8.0]),
        (Limits([5, 8], [6, INF]), [5.0, 8.0]),
        (Limits([-INF, 8], [INF, INF]), [5.0, 8.0]),
    ],
)
def test_what_flags_cannot_say_is_not_said_by_flags(limits, observation):
    assert limits.flags(np.array(observation)) is None


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20), st.data())
def test_rows_can_be_chosen_like_those_of_a_column(pairs, data):
    lower, upper = (np.array(side) for side in zip(*map(sorted, pairs), strict=True))
    index = np.array(data.draw(st.lists(st.integers(0, len(pairs) - 1), min_size=1)))
    limits = Limits(lower, upper)
    expected = Limits(lower[index], upper[index])
    assert limits.take(index) == limits[index] == _safe_indexing(limits, index) == expected


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Limits([1, 5], [2, 4]), "got lower 5.0 and upper 4.0 in row 1"),
        (lambda: Limits([1, np.nan], [2, 4]), "lower must be a number, -inf or inf .*nan in row 1"),
        (lambda: Limits([1, 2], [3, None]), "upper must be a number or .*got None in row 1"),
        (lambda: Limits([1, 2], [3, 4, 5]), "upper must have as many rows as lower, got 3"),
        (lambda: Limits(1, 2), "lower or upper must have one entry per row"),
        (lambda: Limits([INF], [INF]), "with a number between them, got lower inf"),
        (lambda: Limits.offers([1, INF], [True, True]), "price must be a finite number"),
        (lambda: Limits.offers([1, 2], [True, None]), "accepted must be True or False.*nan in r"),
        (lambda: Limits.offers([1, 2], [True, 2]), "accepted must be True or False.*2 in row 1"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(make, sentence):
    with pytest.raises(InvalidInput, match=sentence) as caught:
        make()
    assert str(caught.value).endswith(".")


def test_stock_among_large_numbers_is_reached_by_those_who_reach_it():
    """What differs by units is not the same, however large the numbers; last digits may differ."""
    sales = np.array([1e9 + 1.0, 1e9 + 2.0, 1e9, 0.1 + 0.2])
    rows = Rows.of(Newsvendor(3, 1), np.ones((4, 1)), sales, stock=[1e9 + 2, 1e9 + 2, 1e9 + 1, 0.3])
    np.testing.assert_array_equal(rows.censored, [0.0, 1.0, 0.0, 1.0])
