"""Dates in the forms people write, and calendars against Python's own."""

import datetime
import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmet.errors import InvalidInput
from unmet.planning import read_table
from unmet.tables.dates import PARTS, calendar, date_form, read_dates

MAY = datetime.date(2024, 5, 31)


@pytest.mark.parametrize(
    "form",
    [
        *("%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y"),
        *("%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d %b %y", "%b %d, %Y"),
    ],
)
def test_usual_forms(form):
    days = [MAY, datetime.date(2024, 6, 30)]
    table = pl.DataFrame({"d": [f" {day.strftime(form)}" for day in days]})
    assert read_dates(table, "d").to_list() == days
    assert date_form(table, "d") == form


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([MAY]),
        pl.Series([datetime.datetime(2024, 5, 31, 23, 59)]),
        pl.Series([20240531]),
        pl.Series(["2024-05-31 00:00:00"]),
        pl.Series(["2024-05-31T00:00"]),
        pl.Series(["2024-05-31"], dtype=pl.Categorical),
        pl.Series(["2024-05-31T23:30:00+02:00"]),
        pl.Series(["2024-05-31T23:30:00.5Z"]),
        pl.Series(["2024-05-31 23:30 -0500"]),
        pl.Series(["31.05.2024 9:15"]),
        pl.Series(["31-MAY-24"]),
        pl.Series(["2024-W22-5"]),
        pl.Series(["2024W225"]),
    ],
)
def test_kinds_of_columns(column):
    assert read_dates(column.to_frame("d"), "d").to_list() == [MAY]


def test_files_with_zones_and_months(tmp_path):
    """Moments keep the clock that they were written with, also over the change to summer time."""
    path = tmp_path / "a.csv"
    path.write_text(
        "moment,day,n\n2023-03-25T23:30:00+01:00,25-Mar-23,1\n2023-03-26T23:30:00+02:00,26-Mar-23,2\n"
    )
    table = read_table(path)
    assert table["moment"].to_list() == [
        datetime.datetime(2023, 3, day, 23, 30) for day in (25, 26)
    ]
    for name in ("moment", "day"):
        days = read_dates(table, name).to_list()
        assert days == [datetime.date(2023, 3, 25), datetime.date(2023, 3, 26)]


def test_day_and_month_must_be_told_apart_in_all_rows():
    often = ["01/01/2024"] * 60
    doubtful = pl.DataFrame({"d": [*often, "02/01/2024"]})
    with pytest.raises(InvalidInput, match=r"'d' must have one format.*%d/%m/%Y and %m/%d/%Y"):
        read_dates(doubtful, "d")
    assert date_form(doubtful, "d") is None
    first, second = datetime.date(2024, 1, 2), datetime.date(2024, 2, 1)
    assert read_dates(doubtful, "d", "%d/%m/%Y")[-1] == first
    assert read_dates(doubtful, "d", "%m/%d/%Y")[-1] == second
    same = pl.DataFrame({"d": ["01/01/2024", "02/02/2024"]})  # both forms mean the same
    assert read_dates(same, "d")[1] == datetime.date(2024, 2, 2)
    settled = pl.DataFrame({"d": [*often, "13/01/2024"]})
    assert read_dates(settled, "d")[-1] == datetime.date(2024, 1, 13)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["2024-05-31", "soon"], "got 'soon' in row 3"),
        (["24-05-31"], "got '24-05-31' in row 2"),
        (["2024-05-31", None, None], "got an empty cell in row 3, the first of 2"),
        ([1.5], "got Float64"),
        ([True], "got Boolean"),
    ],
)
def test_what_is_no_date(values, words):
    with pytest.raises(InvalidInput, match="'when'") as error:
        read_dates(pl.DataFrame({"when": values}), "when")
    assert words in str(error.value)


@given(
    st.lists(
        st.dates(datetime.date(1990, 1, 1), datetime.date(2060, 12, 31)), min_size=1, max_size=8
    )
)
def test_calendars_agree_with_python(days):
    dates, start = pl.Series(days), min(days)
    made = {
        part: calendar(dates, part, start).to_dict(as_series=False)
        for part in PARTS
        if part != "season"
    }
    for row, day in enumerate(days):
        assert made["weekday"]["weekday"][row] == day.strftime("%A")
        assert made["month"]["month"][row] == day.strftime("%B")
        assert made["quarter"]["quarter"][row] == f"Q{(day.month + 2) // 3}"
        assert made["weekend"]["weekend"][row] == (day.isoweekday() > 5)
        assert made["day"]["day"][row] == day.day
        assert made["trend"]["trend"][row] == pytest.approx((day - start).days / 365.25)
    season = calendar(dates, "season", start)
    turn = 2 * math.pi * days[0].timetuple().tm_yday / 365.25
    expected = [math.sin(turn), math.cos(turn), math.sin(2 * turn), math.cos(2 * turn)]
    assert list(season.row(0)) == pytest.approx(expected)
