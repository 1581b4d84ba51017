"""Band: what it stores, what it refuses, and in which words."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError
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

from unmet.arrays import Band, common_rows, expand, read_array, read_numbers
from unmet.errors import InvalidInput


def test_numbers_become_floats_and_arrays_become_float64():
    band = Band(1, np.array([2, 3], dtype=np.int16))
    assert isinstance(band.low, float)
    assert isinstance(band.high, np.ndarray)
    assert band.high.dtype == np.float64
    assert_array_equal(band.width, [1.0, 2.0])


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


def test_zero_dimensional_arrays_are_numbers():
    assert Band(np.array(0.5), np.float32(2)) == Band(0.5, 2.0)


def test_equal_ends_are_allowed():
    assert Band(3, 3).width == 0.0


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


def test_take_of_numbers_is_the_same_band():
    band = Band(1, 2)
    assert band.take(np.array([5, 6])) is band


def test_one_row_is_a_band_of_numbers():
    assert Band(1, [2, 3, 4]).take(1) == Band(1, 3)


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


def test_scaled_by_equal_observations_has_no_width():
    assert Band.scaled(0.1, 0.2, [7, 7, 7]) == Band(0, 0)


def test_scaled_takes_one_share_per_row():
    assert Band.scaled([0, 0.25], 0.5, [2, 10]) == Band([0, 2], 4)


def test_equality_compares_rows():
    assert Band(0, [1, 2]) == Band(0, [1, 2])
    assert Band(0, [1, 2]) != Band(0, [1, 3])
    assert Band(0, [1, 1]) != Band(0, 1)
    assert Band(0, 1) != (0.0, 1.0)


def test_equal_bands_have_equal_hashes():
    assert len({Band(0, [1, 2]), Band(-0.0, [1, 2]), Band(0, [1, 3])}) == 2


@pytest.mark.parametrize("band", [Band(1, 2), Band([0, 1], [5, 6])])
def test_copies_are_equal(band):
    assert copy.deepcopy(band) == band
    assert pickle.loads(pickle.dumps(band)) == band


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
    with pytest.raises(FrozenInstanceError):
        band.low = 1.0


@pytest.mark.parametrize(
    ("low", "high", "sentence"),
    [
        (-1, 2, "low must be a non-negative number, got -1.0."),
        ([0, -0.5], 2, "low must be a non-negative number, got -0.5 in row 1."),
        (0, -2, "high must be a non-negative number, got -2.0."),
        (0, np.inf, "high must be a finite number, got inf."),
        (0, [1, np.nan, 3], "high must be a finite number, got nan in row 1."),
        (3, 2, "low must be at most high, got low 3.0 and high 2.0."),
        (3, [4, 3, 2], "low must be at most high, got low 3.0 and high 2.0 in row 2."),
        ([1, 5], 2, "low must be at most high, got low 5.0 and high 2.0 in row 1."),
        ([0, 1], [2], "high must be a number or have as many rows as low, got 1 instead of 2."),
        ("1", 2, "low must be a number or a 1-D array of numbers, got '1'."),
        (0, ["a", "b"], "high must be a number or a 1-D array of numbers, got 'a' in row 0."),
        (0, [1, None], "high must be a number or a 1-D array of numbers, got None in row 1."),
        (None, 1, "low must be a number or a 1-D array of numbers, got None."),
        (True, 1, "low must be a number or a 1-D array of numbers, got True."),
        (1j, 1, "low must be a number or a 1-D array of numbers, got 1j."),
        (0, {"a": 1}, "high must be a number or a 1-D array of numbers, got {'a': 1}."),
        (0, [[1], [2]], "high must be a number or a 1-D array of numbers, got shape (2, 1)."),
        (0, np.zeros((0, 3)), "high must be a number or a 1-D array of numbers, got shape (0, 3)."),
        (
            0,
            [[1], [2, 3]],
            "high must be a number or a 1-D array of numbers, "
            "got nested sequences of different lengths.",
        ),
    ],
)
def test_bad_ends_are_refused_in_one_sentence(low, high, sentence):
    with pytest.raises(InvalidInput) as caught:
        Band(low, high)
    assert str(caught.value) == sentence


def test_wrong_number_of_rows_is_refused():
    with pytest.raises(InvalidInput) as caught:
        Band(0, [1, 2, 3]).rows(5)
    assert str(caught.value) == (
        "high must be a number or have one entry per row, got 3 entries for 5 rows."
    )


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


def test_numbers_too_large_for_a_float_are_refused():
    with pytest.raises(InvalidInput) as caught:
        Band(0, 10**400)
    assert str(caught.value) == "high must be a finite number, got inf."


def test_arrays_are_not_copied_on_reading_only():
    values = np.array([1.0, 2.0])
    assert read_array("values", values) is values
    kept = read_numbers("values", values)
    assert not np.shares_memory(kept, values)
    assert read_numbers("values", kept) is kept


def test_a_read_only_view_of_a_caller_is_still_copied():
    values = np.array([1.0, 2.0])
    view = values[:]
    view.flags.writeable = False
    assert not np.shares_memory(read_numbers("values", view), values)


def test_common_rows_ignores_numbers():
    assert common_rows({"a": 1.0, "b": np.array(2.0), "c": "word"}) is None
    assert common_rows({"a": 1.0, "b": np.zeros(4), "c": np.ones(4)}) == 4
    assert common_rows({"a": np.zeros(0)}) == 0


def test_expand_gives_a_view():
    values = np.array([1.0, 2.0])
    assert np.shares_memory(expand("values", values, 2), values)
    assert expand("value", 3.0, 2).strides == (0,)
