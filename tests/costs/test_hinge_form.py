"""Slopes, and the kinks that a piecewise-linear cost hands to the exact solvers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from unmet.arrays import Band
from unmet.costs import CustomPricing, Newsvendor
from unmet.costs.hinge import Slopes
from unmet.errors import InvalidInput

OBSERVATION = np.array([10.0, 20.0, 30.0])


@pytest.mark.parametrize("band", [None, Band(0, 0), Band([0, 0, 0], 0)])
def test_without_width_there_is_one_kink_at_the_observation(band):
    kinks = Newsvendor(5, 2).kinks(OBSERVATION, band)
    assert_array_equal(kinks.position, [[10, 20, 30]])
    assert_array_equal(kinks.below, [[5, 5, 5]])
    assert_array_equal(kinks.above, [[2, 2, 2]])


def test_a_band_without_width_moves_the_one_kink():
    kinks = Newsvendor(5, 2).kinks(OBSERVATION, Band([1, 2, 3], [1, 2, 3]))
    assert_array_equal(kinks.position, [[11, 22, 33]])


def test_a_band_has_first_its_upper_then_its_lower_end():
    kinks = Newsvendor(5, 2).kinks(OBSERVATION, Band(1, 4))
    assert_array_equal(kinks.position, [[14, 24, 34], [11, 21, 31]])
    assert_array_equal(kinks.below, [[0, 0, 0], [5, 5, 5]])
    assert_array_equal(kinks.above, [[2, 2, 2], [0, 0, 0]])


def test_one_row_with_width_is_enough_for_two_kinks():
    kinks = Newsvendor([5, 6, 7], 2).kinks(OBSERVATION, Band(1, [1, 1, 4]))
    assert_array_equal(kinks.position, [[11, 21, 34], [11, 21, 31]])
    assert_array_equal(kinks.below, [[0, 0, 0], [5, 6, 7]])
    assert_array_equal(kinks.above, [[2, 2, 2], [0, 0, 0]])


def test_weights_multiply_the_slopes():
    kinks = Newsvendor(5, [2, 4, 6]).kinks(OBSERVATION, Band(0, 1), sample_weight=[0, 1, 0.5])
    assert_array_equal(kinks.below, [[0, 0, 0], [0, 5, 2.5]])
    assert_array_equal(kinks.above, [[0, 4, 3], [0, 0, 0]])
    halved = Newsvendor(5, 2).kinks(OBSERVATION, sample_weight=0.5)
    assert_array_equal(halved.below, [[2.5, 2.5, 2.5]])


def test_what_is_the_same_in_every_row_takes_no_memory():
    kinks = Newsvendor(5, 2).kinks(OBSERVATION)
    assert np.shares_memory(kinks.position, OBSERVATION)
    assert kinks.below.strides[1] == 0
    assert kinks.above.strides[1] == 0
    banded = Newsvendor(5, 2).kinks(OBSERVATION, Band(0, 1), sample_weight=1 / 3)
    assert banded.below.strides[1] == 0


def test_a_number_is_one_row():
    assert Newsvendor(5, 2).kinks(10).position.shape == (1, 1)
    assert Newsvendor(5, [2, 3]).kinks(10).position.shape == (1, 2)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"sample_weight": [1, -1, 1]},
            "sample_weight must be a non-negative number, got -1.0 in row 1.",
        ),
        (
            {"sample_weight": [1, 1]},
            "sample_weight must be a number or have as many rows as observation, "
            "got 2 instead of 3.",
        ),
        (
            {"band": Band(0, [1, 2])},
            "high must be a number or have as many rows as observation, got 2 instead of 3.",
        ),
        ({"band": (0, 1)}, "band must be a Band or None, got (0, 1)."),
    ],
)
def test_kinks_of_bad_input_are_refused(arguments, sentence):
    with pytest.raises(InvalidInput) as caught:
        Newsvendor(5, 2).kinks(OBSERVATION, **arguments)
    assert str(caught.value) == sentence


def test_kinks_need_one_cost_per_row():
    with pytest.raises(InvalidInput) as caught:
        Newsvendor(5, [1, 2]).kinks(OBSERVATION)
    assert str(caught.value) == (
        "overage must be a number or have as many rows as observation, got 2 instead of 3."
    )


def test_kinks_of_a_price_may_start_higher():
    kinks = CustomPricing(5, 2).kinks(OBSERVATION, Band(1, 2))
    assert_array_equal(kinks.position, [OBSERVATION + 2, OBSERVATION + 1])


def test_slopes_may_vanish_on_one_side():
    assert Slopes(below=0, above=2).level == 0.0
    assert_array_equal(Slopes(below=[1, 0], above=[0, 3]).level, [1.0, 0.0])


def test_slopes_expand_to_rows():
    below, above = Slopes(3, [1, 2]).rows(2)
    assert_array_equal(below, [3, 3])
    assert_array_equal(above, [1, 2])


@pytest.mark.parametrize(
    ("below", "above", "sentence"),
    [
        (-1, 1, "below must be a non-negative number, got -1.0."),
        (1, [1, -2], "above must be a non-negative number, got -2.0 in row 1."),
        (0, 0, "below and above must not both be 0 in the same row."),
        ([0, 1], [0, 1], "below and above must not both be 0 in the same row."),
        (
            [1, 1],
            [1, 1, 1],
            "above must be a number or have as many rows as below, got 3 instead of 2.",
        ),
    ],
)
def test_bad_slopes_are_refused(below, above, sentence):
    with pytest.raises(InvalidInput) as caught:
        Slopes(below, above)
    assert str(caught.value) == sentence
