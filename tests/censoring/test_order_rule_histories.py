"""Rules on the past, against a look-up in plain Python; dates and labels as users have them."""

import math
from collections import defaultdict
from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmet.censoring.order_rule import DEFAULT_RULES, Histories, OrderRule
from unmet.errors import InvalidInput


@st.composite
def rows(draw):
    """Observations, days with gaps, and labels of series, in any order."""
    n = draw(st.integers(1, 60))
    keys = st.tuples(st.sampled_from("ab"), st.integers(-40, 40))
    chosen = draw(st.lists(keys, min_size=n, max_size=n, unique=True))
    values = draw(st.lists(st.integers(0, 30), min_size=n, max_size=n))
    return np.array(values, float), [day for _, day in chosen], [label for label, _ in chosen]


def value_in_plain_python(rule, s, days, labels):
    """One row after the other, from a dictionary of what came before."""
    past = defaultdict(list)
    found = [math.nan] * len(s)
    for row in sorted(range(len(s)), key=lambda row: days[row]):
        chain = (labels[row], days[row] % 7 if rule.same_weekday else 0)
        before = past[chain]
        if len(before) >= rule.needs:
            if rule.kind == "smoothing":
                level = before[0]
                for value in before[1:]:
                    level += rule.of * (value - level)
                found[row] = level
            else:
                last = before[-rule.of :]
                found[row] = max(last) if rule.kind == "maximum" else sum(last) / rule.of
        before.append(s[row])
    return found


@given(
    rows(),
    st.sampled_from(DEFAULT_RULES + (OrderRule("smoothing", 1.0), OrderRule("smoothing", 0.9))),
)
def test_values_are_those_of_plain_python(data, rule):
    s, days, labels = data
    histories = Histories(s, days, labels)
    found = np.empty(len(s))
    found[histories.given] = rule.value(histories)
    expected = value_in_plain_python(rule, s, days, labels)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("rule", DEFAULT_RULES, ids=lambda rule: rule.name)
def test_the_future_is_not_looked_at(rule):
    s = np.random.default_rng(0).poisson(9.0, 300).astype(float)
    changed = s.copy()
    changed[200:] = 1000.0
    first, second = (rule.value(Histories(each, np.arange(300))) for each in (s, changed))
    np.testing.assert_array_equal(first[:201], second[:201])
    assert not np.array_equal(first[201:], second[201:], equal_nan=True)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("median", 4), "kind must be"),
        (("mean", 0), "of must be a whole number of at least 1, got 0."),
        (("smoothing", 0), "of must be a number above 0 and at most 1, got 0."),
        (("mean", True), "of must be a finite number, got True."),
        (("mean", "4"), "of must be a finite number, got '4'."),
    ],
)
def test_wrong_history_rules(arguments, sentence):
    with pytest.raises(InvalidInput) as caught:
        OrderRule(*arguments)
    assert sentence in str(caught.value)


START = date(2024, 2, 26)  # a Monday, in a leap year
DATES = [START + timedelta(days=k) for k in range(12)]
STAMPS = pd.date_range("2024-02-26 23:30", periods=12, tz="America/New_York")


@pytest.mark.parametrize(
    "time",
    [
        DATES,
        [datetime(day.year, day.month, day.day, 23, 59) for day in DATES],
        np.array(DATES, dtype="datetime64[D]"),
        np.array(DATES, dtype="datetime64[ns]") + np.timedelta64(5, "h"),
        pd.Series(pd.to_datetime(DATES)),
        pd.DatetimeIndex(pd.to_datetime(DATES)),
        pd.Series(STAMPS),
        STAMPS,
        pl.Series(DATES),
        pl.Series(DATES).cast(pl.Datetime("us")),
        pl.Series(STAMPS.tz_localize(None)).dt.replace_time_zone("America/New_York"),
        np.arange(12) + 4,
        list(range(4, 16)),
        np.arange(-17.0, -5.0),
    ],
    ids=lambda time: f"{type(time).__module__}.{type(time).__name__}",
)
def test_dates_of_every_kind_have_the_same_weeks(time):
    histories = Histories(np.arange(12.0), time)
    np.testing.assert_array_equal(histories.given, np.arange(12))
    week_before = histories.before(histories.s, 1, weekly=True)
    np.testing.assert_array_equal(week_before, [np.nan] * 7 + list(range(5)))


@pytest.mark.parametrize(
    "series",
    [
        ["b", "a", "b", "a"],
        np.array([3, 1, 3, 1]),
        pd.Series(["b", "a", "b", "a"], dtype="category"),
        pl.Series(["b", "a", "b", "a"]),
    ],
    ids=str,
)
def test_labels_of_every_kind(series):
    histories = Histories([10, 20, 30, 40], [5, 5, 1, 1], series, [1, 0, 1, 1])
    np.testing.assert_array_equal(histories.s, [30, 10, 40, 20])
    np.testing.assert_array_equal(histories.counts, [True, True, True, False])
    assert histories.labels == list(series)[:2]
    np.testing.assert_array_equal(histories.given, [2, 0, 3, 1])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"time": None}, "time must be given to find an order rule, one date per row, got None."),
        ({"time": [1]}, "time must have one entry per row of X, got 1 for 2 rows."),
        ({"time": ["Monday", "Tuesday"]}, "time must hold dates or whole day numbers, got Monday"),
        ({"time": [1, 2.5]}, "time must hold dates or whole day numbers, got 2.5 in row 1."),
        ({"time": [START, None]}, "time must hold dates or whole day numbers, got None in row 1."),
        ({"time": [3, 3]}, "time must name each day at most once in a series, got 1 again."),
        ({"series": ["a", None]}, "series must not be missing, got a row without a label."),
        ({"s": [1, -2]}, "s must be a non-negative number, got -2.0 in row 1."),
        ({"s": []}, "s must have at least one row, got none."),
    ],
)
def test_bad_input_is_one_sentence(arguments, sentence):
    with pytest.raises(InvalidInput) as caught:
        Histories(**{"s": [1, 2], "time": [0, 1]} | arguments)
    assert str(caught.value).startswith(sentence)
