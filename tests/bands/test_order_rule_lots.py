"""Units, lots and rounding, against exact arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from unmet.bands.order_rule.lots import Rounding, read_lots
from unmet.errors import InvalidInput

ROUNDINGS = ("up", "nearest", "down")


def on_paper(value, lot, rounding):
    """Exact rounding, halves up."""
    lots = Fraction(value) / Fraction(lot)
    if rounding == "nearest":
        return math.floor(lots + Fraction(1, 2)) * lot
    return (math.ceil(lots) if rounding == "up" else math.floor(lots)) * lot


@given(
    st.integers(0, 4000),
    st.integers(1, 300),
    st.sampled_from([1, 3, 6, 10]),
    st.sampled_from(ROUNDINGS),
)
def test_orders_are_rounded_as_on_paper(total, percent, lot, rounding):
    exact = on_paper(Fraction(total * percent, 400), lot, rounding)
    found = Rounding(lot, rounding).order(np.array([percent / 100 * (total / 4)]))
    assert found[0] == exact


def test_computers_round_in_their_own_way():
    asked = np.array([1.1 * 50, 2.5])
    assert Rounding(1, "up").order(asked)[0] == 55
    assert Rounding(1, "up", literal=True).order(asked)[0] == 56
    assert Rounding(1, "nearest").order(asked)[1] == 3
    assert Rounding(1, "nearest", literal=True).order(asked)[1] == 2


@given(
    st.integers(0, 200),
    st.integers(1, 2000),
    st.sampled_from([1.0, 2.0, 5.0, 12.0]),
    st.sampled_from(ROUNDINGS),
    st.booleans(),
)
def test_reach_says_when_an_observation_is_at_or_above_its_order(tens, asked, lot, rounding, off):
    s = tens / 2 + 0.13 * off
    wanted = asked / 7
    start, stop, above = (end[0] for end in Rounding(lot, rounding).reach(np.array([s])))
    assume(not any(abs(wanted - end) <= 1e-6 for end in (start, stop, above)))
    order = on_paper(Fraction(wanted), int(lot), rounding)
    assert (start < wanted < stop) == (order == s)  # NaN is between nothing
    assert (wanted < above) == (s > order)


def test_the_gap_forgives_arithmetic_only():
    step = Rounding(0.1, "up")
    np.testing.assert_array_equal(
        step.gap(np.array([0.3, 0.4, 0.2]), np.array([0.1 * 3] * 3)) == 0, [True, False, False]
    )
    free = Rounding(0.0, "none")
    np.testing.assert_array_equal(
        free.gap(np.array([7.0000001, 7.001]), np.full(2, 7.0)) == 0, [True, False]
    )


@pytest.mark.parametrize("unit", [1, 6, 0.25, 10, 0.01, 1200, 0.0371, 1 / 3, 1e-8])
def test_the_unit_is_what_observations_are_multiples_of(unit):
    s = unit * np.random.default_rng(0).poisson(37, 500)
    assert read_lots("auto", s)[0] == pytest.approx(unit)


def test_a_few_odd_observations_do_not_change_the_unit():
    s = np.random.default_rng(0).poisson(37, 500).astype(float)
    s[:3] += 0.5
    assert read_lots("auto", s)[0] == 1


def test_measured_quantities_have_no_unit_and_are_not_rounded():
    unit, roundings = read_lots("auto", np.random.default_rng(0).gamma(4.0, 9.0, 500))
    assert unit == 0
    assert [each.direction for each in roundings] == ["none"]


def test_lots_are_tried_when_their_multiples_are_too_many():
    generator = np.random.default_rng(0)
    s = generator.poisson(60, 900).astype(float)
    assert {step.lot for step in read_lots("auto", s)[1]} == {1.0}
    s[:200] = 12 * np.ceil(s[:200] / 12)
    lots = {step.lot for step in read_lots("auto", s)[1]}
    assert {1.0, 12.0} <= lots
    assert len(lots) <= 5


def test_orders_off_the_unit_are_tried_without_rounding():
    s = np.random.default_rng(0).poisson(60, 900).astype(float)
    s[:40] *= 1.0371
    assert Rounding(0.0, "none") in read_lots("auto", s)[1]


def test_lots_of_the_user_are_taken_as_they_are():
    steps = read_lots([6, 0], np.arange(50.0))[1]
    assert {(step.lot, step.direction) for step in steps} == {
        (6.0, "up"),
        (6.0, "nearest"),
        (6.0, "down"),
        (0.0, "none"),
    }
    assert {step.lot for step in read_lots(4, np.arange(50.0))[1]} == {4.0}


@pytest.mark.parametrize("s", [np.zeros(5), np.ones(1), np.full(4, 1e12), np.full(3, 1e-9)])
def test_strange_observations_have_a_lattice(s):
    assert read_lots("auto", s)[1]


@pytest.mark.parametrize(
    ("lots", "sentence"),
    [
        ("six", "lots must be \"auto\" or positive numbers, got 'six'."),
        (None, 'lots must be "auto" or positive numbers, got None.'),
        ([], "lots must hold at least one number, got none."),
        (
            [6, -1],
            "lots must be positive numbers, or 0 for orders that are not rounded, got -1.0.",
        ),
        ([math.nan], "lots must be a finite number, got nan in row 0."),
    ],
)
def test_wrong_lots(lots, sentence):
    with pytest.raises(InvalidInput) as caught:
        read_lots(lots, np.arange(9.0))
    assert str(caught.value) == sentence
