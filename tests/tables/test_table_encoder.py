"""The encoder beside scikit-learn's parts, on tables of every kind."""

import datetime
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from unmet.errors import InvalidInput
from unmet.tables.encoding import TableEncoder

DAY = datetime.date(2024, 5, 31)


def reference(train, new, category, number):
    """OneHotEncoder and SimpleImputer side by side; None among text is a category of its own."""

    def text(table):
        return np.array([v or "(missing)" for v in table[category]], dtype=object)[:, None]

    def floats(table):
        return np.array([np.nan if v is None else v for v in table[number]], dtype=float)[:, None]

    hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(text(train))
    filled = SimpleImputer(strategy="median", add_indicator=True).fit(floats(train))
    return np.hstack([hot.transform(text(new)), filled.transform(floats(new))])


LETTERS = st.one_of(st.none(), st.sampled_from(["a", "b", "nan", "ä b"]))
FLOATS = st.one_of(st.none(), st.floats(-1e6, 1e6))
ROWS = st.lists(st.tuples(LETTERS, FLOATS), min_size=1, max_size=9)


def has_values(rows):
    return all(any(entry is not None for entry in column) for column in zip(*rows, strict=True))


@given(ROWS.filter(has_values), ROWS)
def test_the_same_as_scikit_learn(train, new):
    def table(rows):
        return pl.DataFrame(
            {"c": [c for c, _ in rows], "x": [n for _, n in rows]},
            schema={"c": pl.String, "x": pl.Float64},
        )

    train, new = table(train), table(new)
    encoder = TableEncoder(["c", "x"]).fit(train)
    np.testing.assert_array_equal(
        encoder.transform(new), reference(train.to_dict(), new.to_dict(), "c", "x")
    )


@pytest.fixture
def table():
    return pl.DataFrame(
        {
            "c": ["b", None, "a", "b"],
            "x": [1.0, None, 4.0, 2.5],
            "n": [3, 1, 2, 3],
            "t": [True, False, True, True],
            "d": [DAY, DAY + datetime.timedelta(1), DAY, DAY],
        }
    )


@pytest.mark.parametrize("kind", ["pandas", "pyarrow", "pandas with categories"])
def test_every_kind_of_table_gives_the_same(table, kind):
    encoder = TableEncoder(["c", "x", "n", "t"], ["n"], "d", ["weekday", "season"])
    if kind == "pyarrow":
        other = table.to_arrow()
        assert isinstance(other, pa.Table)
    else:
        other = pd.DataFrame(table.to_dict(as_series=False))
        if kind != "pandas":
            other["c"] = other["c"].astype("category")
            other["d"] = pd.to_datetime(other["d"])
    expected = encoder.fit(table).transform(table)
    learned = clone(encoder).fit(other)
    assert learned.feature_names_out_ == encoder.feature_names_out_
    np.testing.assert_array_equal(learned.transform(other), expected)
    np.testing.assert_array_equal(learned.transform(table), expected)
    assert learned.remarks(other) == encoder.remarks(table)


def test_what_was_never_seen_is_named(table):
    encoder = TableEncoder(["c", "x", "n"], ["n"]).fit(table)
    new = pl.DataFrame({"c": list("zyxwvuta"), "x": [None] * 7 + [1.0], "n": [3] * 7 + [4]})
    assert encoder.remarks(new) == [
        "Values of 'c' that are not in the training data: 't', 'u', 'v', 'w', 'x' and 2 more "
        "(7 rows).",
        "Empty cells of 'x' were filled with the training median, 2.5: 7 rows.",
        "Values of 'n' that are not in the training data: '4' (1 row).",
    ]
    assert encoder.remarks(table.head(1)) == []
    assert not encoder.transform(new)[0, :3].any()


def test_categories_whichever_way_they_arrive():
    """A store is 7, "7" or 7.0, the last where pandas has filled gaps."""
    trained = TableEncoder(["store"], ["store"]).fit(pl.DataFrame({"store": [7, 8]}))
    for same in ([7, 8], ["7", "8"], [7.0, 8.0]):
        np.testing.assert_array_equal(trained.transform(pl.DataFrame({"store": same})), np.eye(2))
    gaps = TableEncoder(["store"], ["store"]).fit(pd.DataFrame({"store": [7, None, 7.5]}))
    assert gaps.categories_ == {"store": ["(missing)", "7", "7.5"]}
    words = TableEncoder(["store"]).fit(pl.DataFrame({"store": ["7", "north"]}))
    np.testing.assert_array_equal(words.transform(pl.DataFrame({"store": [7]})), [[1.0, 0.0]])


def test_numbers_that_arrive_as_text():
    encoder = TableEncoder(["x"]).fit(pl.DataFrame({"x": [1.0, 2.0]}))
    np.testing.assert_array_equal(encoder.transform(pl.DataFrame({"x": [" 3 ", "4"]})), [[3], [4]])
    with pytest.raises(
        InvalidInput, match="features must have numbers, got 'many' in row 3 of column 'x'"
    ):
        encoder.transform(pl.DataFrame({"x": ["3", "many"]}))
    with pytest.raises(InvalidInput, match=r"got List\(Int64\) in column 'x'"):
        encoder.transform(pl.DataFrame({"x": [[3]]}))


@pytest.mark.parametrize("values", [["1,5", "2,5"], ["1", "2", "x"]])
def test_doubt_about_numbers_that_cannot_be_read(values):
    encoder = TableEncoder(["price"]).fit(pl.DataFrame({"price": values}))
    assert len(encoder.doubts_) == 1
    assert re.search(r"'price' was read as \d categories, because '(1,5|x)' is", encoder.doubts_[0])
    plain = pl.DataFrame({"price": ["S", "M", "1"]})
    assert TableEncoder(["price"]).fit(plain).doubts_ == []


@pytest.mark.parametrize("dates", [[DAY], ["31.05.2024", "01.06.2024"], ["2024/05/31"]])
def test_dates_are_no_categories(dates):
    with pytest.raises(InvalidInput, match="got dates in column 'd': use calendar features"):
        TableEncoder(["d"]).fit(pl.DataFrame({"d": dates}))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"columns": ["c", "c"]}, "features must have no column twice, got 'c' twice"),
        ({"columns": ["nope"]}, "features must be a column of the table, got 'nope'"),
        ({"columns": []}, "features must have at least one column"),
        ({"columns": ["c"], "categories": ["n"]}, "categories must be among the features, got 'n'"),
        ({"columns": ["c"], "calendar": ["weekday"]}, "calendar needs a column of dates"),
        ({"columns": ["c"], "date": "d", "calendar": ["hour"]}, "calendar must be among"),
        (
            {"columns": ["c"], "date": "e", "calendar": ["day"]},
            "date must be a column of the table",
        ),
    ],
)
def test_wrong_parameters(table, parameters, words):
    with pytest.raises(InvalidInput, match=re.escape(words)):
        TableEncoder(**parameters).fit(table)
