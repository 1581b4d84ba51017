"""Orders on a series' own past."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmet.errors import InvalidInput
from unmet.simulate import censor, history_orders

MONDAY = np.datetime64("2024-01-01")


def by_hand(demand, date, series, k, factor, on):
    """The rule as a planner with a notebook follows it, day by day."""
    notebook = defaultdict(list)
    order = {}
    for row in sorted(range(len(demand)), key=lambda row: date[row]):
        page = notebook[series[row], date[row].weekday()]
        stock = factor * sum(page[-k:]) / k if len(page) >= k else float("inf")
        order[row] = stock
        page.append(demand[row] if on == "demand" else min(demand[row], stock))
    return [order[row] for row in range(len(demand))]


@pytest.fixture(scope="module")
def market():
    generator = np.random.default_rng(8)
    days = np.sort(generator.choice(140, size=110, replace=False))
    date = np.concatenate([MONDAY + days, MONDAY + np.arange(60)])
    series = np.array(["a"] * 110 + ["b"] * 60)
    demand = generator.poisson(30, size=170).astype(float)
    shuffled = generator.permutation(170)
    return demand[shuffled], date[shuffled], series[shuffled]


@pytest.mark.parametrize("on", ["demand", "sales"])
@pytest.mark.parametrize(("k", "factor"), [(1, 1.0), (4, 0.8), (3, 1.25)])
def test_against_a_notebook(market, on, k, factor):
    demand, date, series = market
    found = history_orders(demand, date, series, k=k, factor=factor, on=on, round_up=False)
    expected = by_hand(demand, date.tolist(), series.tolist(), k, factor, on)
    assert found == pytest.approx(np.array(expected), rel=1e-12)
    finite = np.isfinite(found)
    assert (~finite).sum() == 2 * 7 * k
    if (k, on) == (4, "demand"):
        whole = history_orders(demand, date, series, k=k, factor=factor)
        assert np.array_equal(whole[finite], np.ceil(found[finite] - 1e-9))


def test_binary_factors_do_not_order_one_more():
    assert 1.1 * 50 > 55  # in binary
    weeks = MONDAY + np.array([0, 7])
    assert history_orders([50.0, 5.0], weeks, k=1, factor=1.1)[1] == 55
    assert history_orders([50.1, 5.0], weeks, k=1, factor=1.1)[1] == 56


@given(st.integers(0, 10**6), st.sampled_from(["demand", "sales"]))
def test_order_of_rows_does_not_matter(seed, on):
    generator = np.random.default_rng(seed)
    date = np.concatenate([MONDAY + np.arange(50)] * 2)
    series = np.repeat([3, 1], 50)
    demand = generator.integers(0, 9, size=100).astype(float)
    shuffled = generator.permutation(100)
    expected = history_orders(demand, date, series, k=2, on=on)[shuffled]
    found = history_orders(demand[shuffled], date[shuffled], series[shuffled], k=2, on=on)
    assert np.array_equal(found, expected)


def test_censor():
    sales, censored = censor([5, 8, 3, 4], [6, 6, np.inf, 4])
    assert sales.tolist() == [5, 6, 3, 4]
    assert censored.tolist() == [False, True, False, False]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"k": 0}, "k must be a whole number of at least 1, got 0"),
        ({"on": "stock"}, "on must be 'demand' or 'sales', got 'stock'"),
        ({"date": ["soon", "2024-01-02"]}, "date must be dates, got"),
        ({"date": ["2024-01-02"] * 2}, "date must not repeat within a series, got 2024-01-02"),
        ({"date": ["2024-01-02"]}, "date and series must have an entry for each of 2 rows"),
        ({"date": ["2024-01-02", "NaT"]}, "date and series must have an entry .* missing date"),
        ({"series": [1, 2, 3]}, "date and series must have an entry for each of 2 rows"),
        ({"demand": [1.0, np.nan]}, "demand must be a finite number, got nan in row 1"),
    ],
)
def test_bad_input_is_one_sentence(change, sentence):
    good = {"demand": [1.0, 2.0], "date": ["2024-01-01", "2024-01-02"]}
    with pytest.raises(InvalidInput, match=sentence):
        history_orders(**{**good, **change})
