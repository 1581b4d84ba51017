"""Dates and labels as users have them."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest

from unmet.censoring.order_rule.rules import read_histories
from unmet.errors import InvalidInput

START = date(2024, 2, 26)  # a Monday, in a leap year
DATES = [START + timedelta(days=k) for k in range(12)]
STAMPS = pd.date_range("2024-02-26 23:30", periods=12, tz="America/New_York")


@pytest.mark.parametrize(
    "time",
    [
        DATES,
        tuple(DATES),
        [datetime(day.year, day.month, day.day, 23, 59) for day in DATES],
        np.array(DATES, dtype="datetime64[D]"),
        np.array(DATES, dtype="datetime64[ns]") + np.timedelta64(5, "h"),
        list(np.array(DATES, dtype="datetime64[D]")),
        pd.Series(pd.to_datetime(DATES)),
        pd.DatetimeIndex(pd.to_datetime(DATES)),
        pd.Series(STAMPS),
        STAMPS,
        pd.Series(DATES, dtype=object),
        pl.Series(DATES),
        pl.Series(DATES).cast(pl.Datetime("us")),
        pl.Series(STAMPS.tz_localize(None)).dt.replace_time_zone("America/New_York"),
        np.arange(12) + 4,
        list(range(4, 16)),
        [float(day) for day in range(4, 16)],
        pl.Series(range(4, 16)),
        np.arange(4, 16, dtype=np.uint8),
        np.arange(-17.0, -5.0),
    ],
    ids=lambda time: f"{type(time).__module__}.{type(time).__name__}",
)
def test_dates_of_every_kind_have_the_same_weeks(time):
    panel = read_histories(np.arange(12.0), time, None, None)
    np.testing.assert_array_equal(panel.given, np.arange(12))
    week_before = panel.weeks.row_before(1)
    np.testing.assert_array_equal(week_before, [-1] * 7 + list(range(5)))


def test_the_day_is_that_of_the_zone_it_is_written_in():
    late = [datetime(2024, 3, 1, 23, tzinfo=UTC), datetime(2024, 3, 2, 1, tzinfo=UTC)]
    read_histories([1, 2], pl.Series(late), None, None)
    moved = pl.Series(late).dt.convert_time_zone("Asia/Tokyo")  # both on 2 March
    with pytest.raises(InvalidInput, match="at most once"):
        read_histories([1, 2], moved, None, None)


@pytest.mark.parametrize(
    "series",
    [
        ["b", "a", "b", "a"],
        np.array([3, 1, 3, 1]),
        pd.Series(["b", "a", "b", "a"], dtype="category"),
        pl.Series(["b", "a", "b", "a"]),
        [("s", 1), ("s", 2), ("s", 1), ("s", 2)],
        [1, "1", 1, "1"],
    ],
    ids=str,
)
def test_labels_of_every_kind(series):
    panel = read_histories([10, 20, 30, 40], [5, 5, 1, 1], series, [1, 0, 1, 1])
    np.testing.assert_array_equal(panel.s, [30, 10, 40, 20])
    np.testing.assert_array_equal(panel.counts, [True, True, True, False])
    assert panel.labels == list(series)[:2]
    np.testing.assert_array_equal(panel.as_given(panel.s), [10, 20, 30, 40])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"time": None},
            "time must be given to find an order rule, one date per row, got None.",
        ),
        ({"time": [1]}, "time must have one entry per row of s, got 1 for 2 rows."),
        (
            {"time": ["2024-01-01", "2024-01-02"]},
            "time must hold dates or whole day numbers, got '2024-01-01' in row 0.",
        ),
        (
            {"time": np.array(["2024-01-01", "2024-01-02"])},
            "time must hold dates or whole day numbers, got the text '2024-01-01'.",
        ),
        (
            {"time": [1, 2.5]},
            "time must hold dates or whole day numbers, got 2.5 in row 1.",
        ),
        (
            {"time": np.array([True, False])},
            "time must hold dates or whole day numbers, got bool.",
        ),
        ({"time": [START, None]}, "time must not be missing, got None in row 1."),
        ({"time": 5}, "time must have one entry per row, got 5."),
        ({"time": np.zeros((2, 2))}, "time must have one entry per row, got shape (2, 2)."),
        ({"time": [3, 3]}, "time must name each day at most once in a series, got 1 day again."),
        ({"series": ["a"]}, "series must have one label per row of s, got 1 for 2 rows."),
        ({"series": ["a", None]}, "series must not be missing, got None in row 1."),
        (
            {"series": [[1], [2]]},
            "series must hold labels such as text or numbers, got entries of type list.",
        ),
        ({"s": [1, -2]}, "s must be a non-negative number, got -2.0 in row 1."),
        ({"s": [1, np.nan]}, "s must hold finite numbers, got NaN in row 1."),
        ({"s": []}, "s must have at least one row, got none."),
        ({"sample_weight": [1, -1]}, "sample_weight must be a non-negative number, got -1.0"),
    ],
)
def test_bad_input_is_one_sentence(arguments, sentence):
    given = {"s": [1, 2], "time": [0, 1], "series": None, "sample_weight": None} | arguments
    with pytest.raises(InvalidInput) as caught:
        read_histories(**given)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)
