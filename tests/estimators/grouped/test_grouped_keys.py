import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmet import GroupedDecision, LinearDecision, Newsvendor
from unmet.estimators.grouped import GroupIndex


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", "", "ab"]), st.integers(-2, 2)),
        min_size=1,
        max_size=30,
    ),
    st.lists(
        st.tuples(st.sampled_from(["a", "c", "abc"]), st.integers(-3, 3)), min_size=1, max_size=10
    ),
)
def test_groups_are_those_of_a_dictionary(seen, asked):
    def columns(rows):
        return [np.array([row[0] for row in rows]), np.array([row[1] for row in rows])]

    index = GroupIndex(columns(seen))
    codes, _ = index.lookup(columns(seen), ["first", "second"])
    assert [index.label(code) for code in codes.tolist()] == seen
    assert index.n_groups == len(set(seen))
    groups, entries = index.lookup(columns(asked), ["first", "second"])
    found = [index.label(group) if group >= 0 else None for group in groups.tolist()]
    assert found == [row if row in seen else None for row in asked]
    letters, numbers = {row[0] for row in seen}, {row[1] for row in seen}
    known = [[row[0] in letters, row[1] in numbers] for row in asked]
    assert ((entries >= 0) == np.array(known)).all()


def table(kind):
    generator = np.random.default_rng(0)
    data = {
        "x": generator.normal(size=90).tolist(),
        "store": [f"S{row % 3}" for row in range(90)],
        "promo": [float(row % 4 == 0) for row in range(90)],
        "opened": [datetime.date(2020, 1, 1 + row % 2) for row in range(90)],
    }
    if kind == "pandas":
        frame = pd.DataFrame(data)
        return frame.assign(
            opened=pd.to_datetime(frame["opened"]), store=frame["store"].astype("category")
        )
    return pl.DataFrame(data) if kind == "polars" else pa.table(data)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_tables_of_any_kind_give_the_same_decisions(kind):
    y = 20 + np.arange(90) % 3 * 10 + np.random.default_rng(1).gamma(2, 2, 90)
    X = np.column_stack(
        [table("polars")["x"], np.arange(90) % 3, np.arange(90) % 4 == 0, np.arange(90) % 2]
    )
    by_place = GroupedDecision(LinearDecision(Newsvendor(3, 1)), [1, 3], random_state=0).fit(X, y)
    by_name = GroupedDecision(LinearDecision(Newsvendor(3, 1)), ["store", "opened"], random_state=0)
    by_name.fit(table(kind), y)
    assert np.allclose(by_name.predict(table(kind)), by_place.predict(X))
    assert by_name.summary_["store"].tolist() == ["S0", "S0", "S1", "S1", "S2", "S2"]
    assert by_name.summary_["rows"].tolist() == [15] * 6
