import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression

from unmet import GroupedDecision, LinearDecision, Newsvendor
from unmet.errors import InvalidInput, Unsupported
from unmet.solvers.blocks.dask import DaskBlocks

GENERATOR = np.random.default_rng(0)
X = np.column_stack([np.repeat(np.arange(4), 15), GENERATOR.normal(size=(60, 2))])
Y = 20 + GENERATOR.gamma(2, 2, 60)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model": LinearRegression()}, "model must be a decision model such as LinearDecision"),
        ({"pooled": 3}, "pooled must be a decision model such as LinearDecision"),
        ({"by": []}, "by must be a list of column names or places, each once, got []."),
        ({"by": [0, -3]}, "by must name columns of X, each once, got [0, -3]."),
        ({"by": ["store"]}, "by must name columns of X, each once, got 'store'."),
        ({"by": [3]}, "by must name columns of X, each once, got 3."),
        ({"by": [0, 1, 2]}, "X must have a feature beside the columns of by, got only [0, 1, 2]."),
        ({"shrink": -1}, "shrink must be 'auto', a non-negative number of rows or None, got -1."),
        ({"shrink": "much"}, "shrink must be 'auto', a non-negative number of rows or None"),
        ({"min_rows": 1}, "min_rows must be a whole number of at least 2 or None, got 1."),
        ({"n_jobs": 0}, "n_jobs must be a whole number other than 0, or None, got 0."),
        (
            {"random_state": -1},
            "random_state must be a whole number of at least 0, a RandomState or None, got -1.",
        ),
    ],
)
def test_parameters_are_refused_in_one_sentence(changes, sentence):
    model = GroupedDecision(LinearDecision(Newsvendor(3, 1)), [0]).set_params(**changes)
    with pytest.raises(InvalidInput) as caught:
        model.fit(X, Y)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    "column", [[None, "a"] * 30, [1, "a"] * 30, [np.nan, 1.0] * 30, [(1, 2)] * 60]
)
def test_names_of_groups_must_be_of_one_kind(column):
    sentence = "The column 'store' of by must hold only text, only numbers or only dates"
    table = pd.DataFrame({"store": column, "x": X[:, 1]})
    with pytest.raises(InvalidInput) as caught:
        GroupedDecision(LinearDecision(), "store").fit(table, Y)
    assert sentence in str(caught.value)


def test_tables_without_the_columns_are_refused():
    table = pl.DataFrame({"store": X[:, 0], "x": X[:, 1], "name": ["a"] * 60})
    with pytest.raises(InvalidInput, match="by must name columns of X, each once, got 'item'"):
        GroupedDecision(LinearDecision()).fit(table, Y)
    with pytest.raises(InvalidInput, match="X must hold numbers, got the text 'a' in row 0"):
        GroupedDecision(LinearDecision(), ["store"]).fit(table, Y)
    model = GroupedDecision(LinearDecision(), ["store"]).fit(table.drop("name"), Y)
    text = table.drop("name").with_columns(pl.col("store").cast(pl.String))
    with pytest.raises(InvalidInput, match=r"of by must hold numbers as in fit, got text\."):
        model.predict(text)


@pytest.mark.parametrize("kind", ["polars LazyFrame", "unmet DaskBlocks"])
def test_rows_that_are_not_in_memory_are_refused_by_their_kind(kind):
    table = pd.DataFrame({"store": X[:, 0], "x": X[:, 1], "sales": Y})
    rows = pytest.importorskip("dask.dataframe").from_pandas(table, npartitions=2)
    source = {
        "polars LazyFrame": pl.LazyFrame({"store": X[:, 0], "x": X[:, 1]}),
        "unmet DaskBlocks": DaskBlocks(rows[["x"]], rows["sales"]),
    }[kind]
    model = GroupedDecision(LinearDecision(), ["store"])
    words = f"X must be a table in memory for GroupedDecision, got {kind}: read "
    with pytest.raises(Unsupported, match=words):
        model.fit(source)
    with pytest.raises(Unsupported, match=words):
        model.fit(table[["store", "x"]], Y).predict(source)
