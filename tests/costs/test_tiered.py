"""Costs with several slopes a side: values by hand, bands, rows, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from unmet.arrays import Band
from unmet.costs import Newsvendor, TieredCost
from unmet.errors import InvalidInput

# Overage 1 up to 10 units, 2 up to 30, 5 beyond; underage 4, 9 beyond 20.
COST = TieredCost((4, 9), (1, 2, 5), underage_breaks=20, overage_breaks=(10, 30))


def test_values_by_hand():
    decision = [100, 95, 80, 70, 103, 110, 130, 133]
    paid = [0, 20, 80, 80 + 90, 3, 10, 10 + 40, 50 + 15]
    assert_allclose(COST.cost(decision, 100), paid, rtol=1e-14)


def test_the_slope_on_a_kink_is_that_towards_the_truth():
    kinks = [80, 100, 110, 130]
    assert_array_equal(COST.subgradient(kinks, 100), [-4, 0, 1, 2])
    assert_array_equal(COST.subgradient([79.9, 99.9, 110.1, 130.1], 100), [-9, -4, 2, 5])
    assert_array_equal(COST.subgradient([105, 112], 100, Band(5, 12)), [0, 0])


def test_kinks_in_the_order_of_their_docstring():
    kinks = COST.kinks([100.0, 200.0], Band(5, 12), sample_weight=0.5)
    assert_array_equal(kinks.position[:, 0], [112, 105, 122, 142, 85])
    assert_array_equal(kinks.below[:, 0], [0, 2, 0, 0, 2.5])
    assert_array_equal(kinks.above[:, 0], [0.5, 0, 0.5, 1.5, 0])
    assert kinks.below.strides[1] == 0
    known = COST.kinks([100.0, 200.0])
    assert_array_equal(known.position[:, 1], [200, 210, 230, 180])
    assert_array_equal(known.below[:, 1], [4, 0, 0, 5])
    assert_array_equal(known.above[:, 1], [1, 1, 3, 0])


def test_one_tier_a_side_is_the_newsvendor():
    cost, newsvendor = TieredCost(3, 1), Newsvendor(3, 1)
    decision = np.linspace(0, 20, 41)
    for band in (None, Band(2, 5)):
        assert_array_equal(cost.loss(decision, 10, band), newsvendor.loss(decision, 10, band))
        ours, theirs = cost.kinks([10.0], band), newsvendor.kinks([10.0], band)
        assert_array_equal(ours.position, theirs.position)
        assert_array_equal(ours.above, theirs.above)


def test_tiers_may_differ_by_row():
    steep, far = np.array([2.0, 7.0, 3.0]), np.array([5.0, 10.0, 20.0])
    cost = TieredCost((4, 9), (1, steep), underage_breaks=20, overage_breaks=(far,))
    assert_allclose(cost.cost(130, 100), [5 + 50, 10 + 140, 20 + 30])
    assert_allclose(cost.take([2, 0]).cost(130, 100), [50, 55])
    assert_allclose(cost.take(np.array([False, True, False])).cost(130, 100), [150])
    with pytest.raises(InvalidInput, match=r"^overage\[1\] must be a number or have as many rows"):
        cost.cost([1, 2], [3, 4])
    with pytest.raises(InvalidInput, match=r"as many rows as overage\[1\], got 2 instead of 3"):
        TieredCost((4, 9), (1, steep), underage_breaks=20, overage_breaks=([5.0, 10.0],))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"underage": 4, "overage": (5, 2), "overage_breaks": 10},
            r"^overage must not fall from tier to tier, got 2.0 after 5.0: such a cost is not "
            r"convex\.$",
        ),
        (
            {"underage": ([3, 3], [4, 2]), "overage": 1, "underage_breaks": 10},
            r"^underage must not fall from tier to tier, got 2.0 after 3.0 in row 1: such",
        ),
        (
            {"underage": 4, "overage": (-1, 2), "overage_breaks": 10},
            r"^overage must be a non-negative number, as the truth must cost least, got -1.0\.$",
        ),
        (
            {"underage": 4, "overage": (1, 2), "overage_breaks": 0},
            r"^overage_breaks must be a positive distance from the truth, got 0.0\.$",
        ),
        (
            {"underage": 4, "overage": (1, 2, 3), "overage_breaks": (10, 10)},
            r"^overage_breaks must grow from break to break, got 10.0 after 10.0\.$",
        ),
        ({"underage": (), "overage": 1}, r"^underage must have one tier more .* got 0 and 0 "),
    ],
)
def test_what_is_not_convex_or_not_least_at_the_truth_is_refused(arguments, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        TieredCost(**arguments)


amounts = st.floats(0, 8).map(lambda number: round(number, 2))


@st.composite
def tiered_costs(draw):
    """Any convex tiers, with ties between slopes and a side that may cost nothing."""
    sides = []
    for least in (0.0, 0.5):
        growth = draw(st.lists(amounts, min_size=1, max_size=4))
        gaps = draw(st.lists(st.floats(0.1, 6), min_size=len(growth) - 1, max_size=len(growth) - 1))
        slopes = np.cumsum(growth) + least
        sides.append((tuple(slopes), tuple(np.cumsum(gaps)) if gaps else ()))
    (under, under_breaks), (over, over_breaks) = sides
    return TieredCost(under, over, underage_breaks=under_breaks, overage_breaks=over_breaks)


@given(cost=tiered_costs(), low=st.floats(0, 5), width=st.floats(0, 5), weight=st.floats(0.1, 3))
def test_hinges_sum_to_the_loss(cost, low, width, weight):
    decision, band = np.linspace(-30, 50, 33), Band(low, low + width)
    seen = np.full(33, 7.5)
    hinges = cost.kinks(seen, band, weight).value(decision)
    assert_allclose(hinges, weight * cost.loss(decision, seen, band), rtol=1e-12, atol=1e-10)


@given(cost=tiered_costs(), low=st.floats(0, 5), width=st.floats(0, 5))
def test_every_tangent_lies_below_the_loss(cost, low, width):
    band, breaks = Band(low, low + width), cost.overage_breaks
    decision = np.concatenate([np.linspace(-20, 40, 25), 7.5 + low + width + np.array(breaks)])
    loss, slope = cost.loss(decision, 7.5, band), cost.subgradient(decision, 7.5, band)
    lines = loss[:, None] + slope[:, None] * (decision - decision[:, None])
    assert (lines <= loss + 1e-9).all()
