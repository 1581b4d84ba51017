"""Tables come back as the same kind, with one more column."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unmet import LinearDecision, Newsvendor
from unmet.errors import InvalidInput, Unsupported

GENERATOR = np.random.default_rng(0)
COLUMNS = {
    "store": np.array(["n", "s"] * 20),
    "price": GENERATOR.uniform(1, 3, 40),
    "warmth": GENERATOR.normal(size=40),
    "sales": GENERATOR.gamma(5.0, 6.0, 40),
}
FEATURES = ["warmth", "price"]
KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.fixture(scope="module")
def model():
    table = pd.DataFrame(COLUMNS)
    return LinearDecision(Newsvendor(3, 1)).fit(table[FEATURES], table["sales"])


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_kind_comes_back(kind, model):
    table = KINDS[kind](COLUMNS)
    found = model.decide_table(table, step=6, upper=36, minimum=12)
    assert type(found) is type(table)
    expected = model.decide(pd.DataFrame(COLUMNS)[FEATURES], step=6, upper=36, minimum=12)
    assert np.asarray(found["decision"]).tolist() == expected.tolist()
    names = found.column_names if kind == "pyarrow" else list(found.columns)
    assert names == [*COLUMNS, "decision"]
    given = table.column_names if kind == "pyarrow" else list(table.columns)
    assert given == list(COLUMNS)  # the table itself is left alone


def test_pandas_keeps_its_index_also_where_labels_repeat(model):
    table = pd.DataFrame(COLUMNS, index=np.repeat(np.arange(20)[::-1], 2))
    found = model.decide_table(table, name="order")
    assert found.index.equals(table.index)
    assert found["order"].tolist() == model.decide(table[FEATURES]).tolist()


def test_columns_may_be_named_by_the_caller():
    model = LinearDecision(Newsvendor(3, 1)).fit(
        np.column_stack([COLUMNS["price"], COLUMNS["warmth"]]), COLUMNS["sales"]
    )
    table = pl.DataFrame(COLUMNS)
    found = model.decide_table(table, features=["price", "warmth"], step=None)
    expected = model.decide(table.select("price", "warmth").to_numpy(), step=None)
    assert found["decision"].to_list() == expected.tolist()
    assert model.decide_table(table.select("price", "warmth")).width == 3


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"name": "store"}, "name must be that of a new column, got 'store'"),
        ({"name": 3}, "name must be the text over a column"),
        ({"features": ["warmth", "no"]}, "table must have the column 'no'"),
        ({"features": "warmth"}, "features must be a list of names"),
    ],
    ids=["taken", "number", "missing", "text"],
)
def test_one_sentence_each(options, sentence, model):
    with pytest.raises(InvalidInput, match=sentence):
        model.decide_table(pd.DataFrame(COLUMNS), **options)


def test_what_is_no_table_in_memory(model):
    with pytest.raises(Unsupported, match="got a lazy one of polars: call its collect"):
        model.decide_table(pl.LazyFrame(COLUMNS))
    with pytest.raises(Unsupported, match="got ndarray"):
        model.decide_table(np.zeros((2, 2)))
