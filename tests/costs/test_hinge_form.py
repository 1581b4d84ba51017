"""Slopes, and the kinks that a piecewise-linear cost hands to the exact solvers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from unmet.arrays import Band
from unmet.costs import Newsvendor
from unmet.errors import InvalidInput

OBSERVATION = np.array([10.0, 20.0, 30.0])


def test_a_band_has_first_its_upper_then_its_lower_end():
    kinks = Newsvendor(5, 2).kinks(OBSERVATION, Band(1, 4))
    assert_array_equal(kinks.position, [[14, 24, 34], [11, 21, 31]])
    assert_array_equal(kinks.below, [[0, 0, 0], [5, 5, 5]])
    assert_array_equal(kinks.above, [[2, 2, 2], [0, 0, 0]])


def test_weights_multiply_the_slopes():
    kinks = Newsvendor(5, [2, 4, 6]).kinks(OBSERVATION, Band(0, 1), sample_weight=[0, 1, 0.5])
    assert_array_equal(kinks.below, [[0, 0, 0], [0, 5, 2.5]])
    assert_array_equal(kinks.above, [[0, 4, 3], [0, 0, 0]])
    halved = Newsvendor(5, 2).kinks(OBSERVATION, sample_weight=0.5)
    assert_array_equal(halved.below, [[2.5, 2.5, 2.5]])


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
