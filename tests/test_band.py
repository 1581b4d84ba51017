"""Band: what it stores, what it refuses, and in which words."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.preprocessing import minmax_scale

from unmet.arrays import Band
from unmet.errors import InvalidInput


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 2.5],
        (1, Fraction(5, 2)),
        np.array([1.0, 2.5], dtype=np.float32),
        np.array([Decimal(1), Decimal("2.5")], dtype=object),
        pd.Series([1.0, 2.5], index=[7, 3]),
        pl.Series([1.0, 2.5]),
    ],
    ids=["list", "tuple", "float32", "decimal", "pandas", "polars"],
)
def test_every_column_of_numbers_is_read(values):
    assert_array_equal(Band(0, values).high, [1.0, 2.5])


def test_rows_repeat_numbers_and_keep_arrays():
    low, high = Band(1, [2, 3, 4]).rows(3)
    assert_array_equal(low, [1.0, 1.0, 1.0])
    assert_array_equal(high, [2.0, 3.0, 4.0])


@pytest.mark.parametrize(
    ("index", "kept"),
    [
        (np.array([2, 0]), [4.0, 2.0]),
        (np.array([True, False, True]), [2.0, 4.0]),
        (slice(1, None), [3.0, 4.0]),
        (np.array([], dtype=int), []),
    ],
)
def test_take_chooses_rows_of_arrays_only(index, kept):
    assert Band(1, [2, 3, 4]).take(index) == Band(1, np.array(kept))


@given(
    seen=st.lists(st.integers(-1000, 1000), min_size=2, max_size=20, unique=True),
    low=st.sampled_from([0.0, 0.0022, 0.125]),
    high=st.sampled_from([0.125, 0.1976, 1.0]),
)
def test_scaled_is_the_band_on_min_max_scaled_observations(seen, low, high):
    observation = np.array(seen, dtype=float)
    band = Band.scaled(low, high, observation)
    # Shrinking the ends of the band above the least observation gives back ε.
    ends = np.concatenate([[observation.min() + band.low, observation.min() + band.high], seen])
    np.testing.assert_allclose(minmax_scale(ends)[:2], [low, high], atol=1e-12)


def test_equality_compares_rows():
    assert Band(0, [1, 2]) == Band(0, [1, 2])
    assert Band(0, [1, 2]) != Band(0, [1, 3])
    assert Band(0, [1, 1]) != Band(0, 1)
    assert Band(0, 1) != (0.0, 1.0)


def test_repr_is_short_and_can_be_read_back():
    band = Band(0, [1, 2.5])
    assert repr(band) == "Band(low=0.0, high=[1.0, 2.5])"
    assert eval(repr(band)) == band
    assert repr(Band(0, np.arange(5000))) == "Band(low=0.0, high=[0.0, 1.0, ..., 4998.0, 4999.0])"


def test_a_band_does_not_change():
    high = np.array([1.0, 2.0])
    band = Band(0, high)
    high[0] = 9.0
    assert band == Band(0, [1, 2])
    with pytest.raises(ValueError, match="read-only"):
        band.high[0] = 9.0
    with pytest.raises(AttributeError, match="does not change"):
        band.low = 1.0


@pytest.mark.parametrize(
    ("low", "high", "sentence"),
    [
        (-1, 2, "low must be a non-negative number, got -1.0."),
        (0, -2, "high must be a non-negative number, got -2.0."),
        (0, np.inf, "high must be a finite number, got inf."),
        (3, 2, "low must be at most high, got low 3.0 and high 2.0."),
    ],
)
def test_bad_ends_are_refused_in_one_sentence(low, high, sentence):
    with pytest.raises(InvalidInput) as caught:
        Band(low, high)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("low", "observation", "sentence"),
    [
        (0, [], "observation must have at least one row, got none."),
        (0, [1, np.inf], "observation must be a finite number, got inf in row 1."),
        (0.7, [1, 2], "low must be at most high, got low 0.7 and high 0.5."),
    ],
)
def test_bad_scaling_is_refused(low, observation, sentence):
    with pytest.raises(InvalidInput) as caught:
        Band.scaled(low, 0.5, observation)
    assert str(caught.value) == sentence
