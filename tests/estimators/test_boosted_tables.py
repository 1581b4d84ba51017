"""Categories, missing values and sparse columns, from any table; and rules that see them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone

from unmet import Band, Newsvendor
from unmet.errors import InvalidInput, Unsupported
from unmet.estimators.boosted import BoostedDecision

STORES = np.array(["north", "south", "harbour", "airport", "old town"])
LEVELS = {"north": 10.0, "south": 60.0, "harbour": 20.0, "airport": 90.0, "old town": 30.0}


@pytest.fixture(scope="module")
def sales():
    """Store, price and promotion; the price is missing now and then, and that tells something."""
    generator = np.random.default_rng(0)
    n_rows = 900
    store = STORES[generator.integers(0, 5, n_rows)]
    price = generator.uniform(1, 3, n_rows)
    promotion = generator.random(n_rows) < 0.3
    seen = np.array([LEVELS[each] for each in store]) - 5 * price + 8 * promotion
    hole = generator.random(n_rows) < 0.15
    seen += 25 * hole + generator.gamma(2.0, 2.0, n_rows)
    return store, np.where(hole, np.nan, price), promotion, seen


def tables(store, price, promotion):
    missing = [None if np.isnan(each) else float(each) for each in price]
    text = store.tolist()
    category = pl.Series(text, dtype=pl.Categorical)
    enum = pl.Series(text, dtype=pl.Enum(sorted(STORES)))
    return {
        "pandas text": pd.DataFrame({"store": text, "price": price, "promotion": promotion}),
        "pandas category": pd.DataFrame(
            {"store": pd.Categorical(text), "price": price, "promotion": promotion}
        ),
        "pandas nullable": pd.DataFrame(
            {
                "store": pd.array(text, dtype="string"),
                "price": pd.array(missing, dtype="Float64"),
                "promotion": pd.array(promotion, dtype="boolean"),
            }
        ),
        "polars text": pl.DataFrame({"store": text, "price": missing, "promotion": promotion}),
        "polars category": pl.DataFrame(
            {"store": category, "price": missing, "promotion": promotion}
        ),
        "polars enum": pl.DataFrame({"store": enum, "price": missing, "promotion": promotion}),
    }


def test_every_table_says_the_same(sales):
    store, price, promotion, seen = sales
    place = np.searchsorted(np.sort(STORES), store)
    code = np.column_stack([place, price, promotion]).astype(float)
    model = BoostedDecision(Newsvendor(3, 1), max_iter=20)
    coded = clone(model).set_params(categorical_features=[0]).fit(code, seen)
    expected = coded.predict(code)
    for name, table in tables(store, price, promotion).items():
        fitted = clone(model).fit(table, seen)
        assert np.array_equal(fitted.predict(table), expected), name
        assert list(fitted.feature_names_in_) == ["store", "price", "promotion"]
    objects = np.empty(code.shape, dtype=object)
    objects[:, 0], objects[:, 1:] = store, code[:, 1:]
    listed = clone(model).set_params(categorical_features=[True, False, False])
    assert np.array_equal(listed.fit(objects, seen).predict(objects.tolist()), expected)
    named = clone(model).set_params(categorical_features=["store"])
    table = pd.DataFrame(code, columns=["store", "price", "promotion"])
    assert np.array_equal(named.fit(table, seen).predict(table), expected)


def test_categories_are_no_numbers(sales):
    """Names of stores are sorted without sense, yet one split sets apart any group of them."""
    store, price, promotion, seen = sales
    table = tables(store, price, promotion)["polars text"]
    code = np.searchsorted(np.sort(STORES), store)[:, None].astype(float)
    one = BoostedDecision(Newsvendor(1.2, 1), max_iter=1, learning_rate=1.0, max_leaf_nodes=2)
    by_group = clone(one).fit(table.select("store"), seen).predict(table.select("store"))
    high = np.isin(store, ["south", "airport"])
    assert by_group[high].min() > by_group[~high].max()
    by_number = clone(one).fit(code, seen).predict(code)
    assert not by_number[high].min() > by_number[~high].max()


def test_missing_is_an_answer(sales):
    store, price, promotion, seen = sales
    table = tables(store, price, promotion)["pandas text"]
    model = BoostedDecision(Newsvendor(3, 1)).fit(table, seen)
    hole = np.isnan(price)
    assert (seen - model.predict(table))[hole].mean() == pytest.approx(
        (seen - model.predict(table))[~hole].mean(), abs=2
    )


def test_unseen_categories_are_missing(sales):
    store, price, promotion, seen = sales
    store = store.astype(object)
    store[::9] = None
    table = pd.DataFrame({"store": store, "price": price, "promotion": promotion})
    model = BoostedDecision(Newsvendor(3, 1), max_iter=20).fit(table, seen)
    elsewhere = model.predict(table.assign(store="moon"))
    assert np.array_equal(elsewhere, model.predict(table.assign(store=None)))
    assert not np.array_equal(elsewhere, model.predict(table))


def test_a_number_that_was_never_missing_is_taken_for_the_median(sales):
    _, price, promotion, seen = sales
    X = np.column_stack([np.nan_to_num(price, nan=9.0) + 100, promotion])  # far from 0
    model = BoostedDecision(Newsvendor(3, 1), max_iter=20).fit(X, seen)
    hole, middle = X.copy(), X.copy()
    hole[:, 0], middle[:, 0] = np.nan, np.median(X[1:, 0])
    assert np.array_equal(model.predict(hole), model.predict(middle))
    assert not np.array_equal(model.predict(hole), model.predict(X * [0.0, 1.0]))


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_is_dense_with_fewer_numbers(sales, container):
    _, price, promotion, seen = sales
    X = np.column_stack([np.where(promotion, price, 0.0), promotion])
    model = BoostedDecision(Newsvendor(3, 1), Band(0, 2), max_iter=15)
    dense = clone(model).fit(X, seen).predict(X)
    assert np.isnan(X).any()
    fitted = clone(model).fit(container(X), seen)
    assert fitted.predict(container(X)) == pytest.approx(dense, rel=1e-9)
    assert fitted.predict(X) == pytest.approx(dense, rel=1e-9)


@pytest.mark.parametrize(
    ("asked", "arrived"),
    [
        ("store", "'store'"),
        (["shop"], "'shop'"),
        ([7], "7"),
        ([-1], "-1"),
        ([0.5], "0.5"),
        (3, "3"),
    ],
)
def test_categorical_features_that_are_none(sales, asked, arrived):
    store, price, promotion, seen = sales
    table = tables(store, price, promotion)["polars text"]
    with pytest.raises(InvalidInput) as caught:
        BoostedDecision(categorical_features=asked).fit(table, seen)
    assert str(caught.value) == (
        "categorical_features must be names or positions of columns of X, a mask of them or None, "
        f"got {arrived}."
    )


def test_categories_where_they_cannot_be(sales):
    store, price, promotion, seen = sales
    table = tables(store, price, promotion)["polars text"]
    with pytest.raises(InvalidInput, match="names or positions of columns of X, a mask of them"):
        BoostedDecision(categorical_features=[True, False]).fit(table, seen)
    with pytest.raises(Unsupported, match=r"^categorical_features and a sparse X do not fit"):
        BoostedDecision(categorical_features=[0]).fit(sparse.csr_array(np.eye(5)), np.arange(5))
    objects = np.array([["a", 1.0], ["b", "c"]], dtype=object)
    with pytest.raises(InvalidInput, match=r"^X must hold numbers, got the text 'c' in row 1, col"):
        BoostedDecision(categorical_features=[0]).fit(objects, [1.0, 2.0])
    with pytest.raises(InvalidInput, match=r"^X must hold finite numbers, got inf in row 0, col"):
        BoostedDecision().fit([[np.inf, np.nan], [1.0, 2.0]], [1.0, 2.0])
    sick = sparse.csr_array([[0.0, np.nan], [np.inf, 2.0]])
    with pytest.raises(InvalidInput, match=r"^X must hold finite numbers, got inf in row 1, col"):
        BoostedDecision().fit(sick, [1.0, 2.0])
    model = BoostedDecision(max_iter=2).fit(table, seen)
    with pytest.raises(InvalidInput, match="feature names should match"):
        model.predict(table.select("price", "store", "promotion"))
    with pytest.raises(InvalidInput, match="Reshape your data"):
        model.predict(price)
