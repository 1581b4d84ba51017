"""Shelves against a shop that counts units one by one, and what no shop may do."""

import numpy as np
import pytest
from by_hand import cost_of, follow
from hypothesis import given
from hypothesis import strategies as st

from unmet.errors import InvalidInput
from unmet.inventory import StockState, SupplyRules
from unmet.inventory.rules import Shelves

COUNTED = ("sold", "unmet", "left", "spoiled", "owed")


def after(shelves, arrivals, demand):
    """Periods of one series, as rows of (sold, unmet, left, spoiled, owed); and their cost."""
    rows, total = [], 0.0
    for came, asked in zip(arrivals, demand, strict=True):
        shelves.deliver(np.array([came], dtype=float))
        shelves.sell(np.array([asked], dtype=float))
        rows.append(tuple(float(getattr(shelves, name)[0]) for name in COUNTED))
        total += float(shelves.cost()[0])
    return rows, total


@given(
    life=st.sampled_from([None, 1, 2, 3, 5]),
    waits=st.booleans(),
    on_hand=st.integers(0, 6),
    data=st.data(),
)
def test_shelves_are_those_of_a_shop_that_counts_units(life, waits, on_hand, data):
    length = data.draw(st.integers(1, 12))
    some = st.lists(st.integers(0, 7), min_size=length, max_size=length)
    arrivals, demand = data.draw(some), data.draw(some)
    prices = {"holding": 0.7, "shortage": 5.0, "waste": 2.3}
    rules = SupplyRules(shelf_life=life, unmet="backordered" if waits else "lost", **prices)
    found, paid = after(Shelves(np.array([float(on_hand)]), rules), arrivals, demand)
    reference = follow(on_hand, arrivals, demand, life=life, waits=waits)
    assert found == [tuple(map(float, row)) for row in reference]
    assert paid == pytest.approx(cost_of(reference, waits=waits, **prices))


@given(
    seed=st.integers(0, 10**6),
    life=st.sampled_from([None, 1, 2, 4]),
    scale=st.sampled_from([1e-6, 1.0, 1e9]),
)
def test_what_was_delivered_was_sold_spoiled_or_is_left(seed, life, scale):
    generator = np.random.default_rng(seed)
    start = scale * generator.gamma(1.0, 2.0, size=(3, 4))
    shelves = Shelves(start, SupplyRules(shelf_life=life))
    delivered, gone = start.copy(), np.zeros_like(start)
    for _ in range(9):
        units, asked = scale * generator.gamma(0.5, 3.0, size=(2, 3, 4))
        shelves.deliver(units)
        delivered += units
        shelves.sell(asked)
        gone += shelves.sold + shelves.spoiled
        np.testing.assert_allclose(shelves.sold + shelves.unmet, asked)
        assert (shelves.left >= 0).all()
        assert (shelves.stock >= 0).all()
    np.testing.assert_allclose(delivered, gone + shelves.on_hand, rtol=1e-12)


def test_series_of_one_shop_may_have_lives_of_their_own():
    lives, generator = [1, 4, 2], np.random.default_rng(3)
    arrivals, demand = generator.integers(0, 6, size=(2, 3, 10))
    together = Shelves(np.zeros(3), SupplyRules(shelf_life=lives))
    for period in range(10):
        together.deliver(arrivals[:, period].astype(float))
        together.sell(demand[:, period].astype(float))
        for number, life in enumerate(lives):
            alone = follow(
                0, arrivals[number, : period + 1], demand[number, : period + 1], life=life
            )
            assert tuple(float(getattr(together, each)[number]) for each in COUNTED) == alone[-1]


def test_backorders_are_served_before_anybody_else():
    shelves = Shelves(np.array([-4.0]), SupplyRules(unmet="backordered"))
    shelves.deliver(np.array([3.0]))
    assert shelves.on_hand == [-1.0]
    rows, _ = after(shelves, [0, 10], [2, 2])
    assert rows == [(0, 2, 0, 0, 3), (2, 0, 5, 0, 0)]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"lead_time": 1.5}, "lead_time must be a whole number of periods from 0 to 366, got 1.5."),
        ({"review": 0}, "review must be a whole number of periods from 1 to 366, got 0."),
        ({"shelf_life": 0}, "shelf_life must be a whole number of periods from 1 to 366, got 0."),
        ({"unmet": "ignored"}, "unmet must be 'lost' or 'backordered', got 'ignored'."),
        ({"shortage": 0}, "shortage must be"),
        ({"holding": -1, "shortage": 1}, "holding must be"),
        (
            {"lead_time": [[3]]},
            "lead_time must have chances from 0 to 1 that add up to 1, such as 3:.6,4:.4, "
            "got [[3]].",
        ),
        ({"lead_time": {1: 0.5, 2: 0.4}}, "lead_time must have chances from 0 to 1 that add up"),
        (
            {"lead_time": {1.5: 1.0}},
            "lead_time must be a whole number of periods from 0 to 366, got 1.5.",
        ),
        ({"lead_time": {}}, "lead_time must have chances from 0 to 1 that add up"),
    ],
)
def test_rules_that_cannot_be_are_refused_in_one_sentence(wrong, sentence):
    with pytest.raises(InvalidInput) as caught:
        SupplyRules(**wrong)
    assert str(caught.value).startswith(sentence)
    assert str(caught.value).count(". ") == 0


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (
            lambda: StockState([1, 2], [[1.0]]),
            "on_order must have a row for each of 2 series, got 1.",
        ),
        (lambda: StockState([1], [1.0]), "on_order must have a row for each series and a column"),
        (lambda: StockState([1], [[-2.0]]), "on_order must be 0 or more, got -2."),
        (lambda: StockState([np.nan]), "on_hand must"),
        (
            lambda: StockState([-3.0]).check(SupplyRules(), 1),
            "on_hand must be 0 or more if unmet demand is lost, got -3.",
        ),
        (
            lambda: StockState([3.0]).check(SupplyRules(), 2),
            "state must have one entry for each of 2 series, got 1.",
        ),
    ],
)
def test_states_that_cannot_be_are_refused_in_one_sentence(state, sentence):
    with pytest.raises(InvalidInput) as caught:
        state()
    assert str(caught.value).startswith(sentence)
