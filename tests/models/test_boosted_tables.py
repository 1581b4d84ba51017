"""Categories, missing values and sparse columns, from any table; and rules that see them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from unmet import AuditedBand, Band, FixedBand, LatentBand, Newsvendor, SearchedBand
from unmet.errors import InvalidInput, Unsupported
from unmet.models.boosted import BoostedDecision
from unmet.models.trees import Columns, Numbers

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


def test_other_things_are_categories_by_their_text():
    generator = np.random.default_rng(1)
    age = generator.uniform(0, 50, 300)
    table = pd.DataFrame({"age": pd.cut(age, [0, 10, 20, 50])})
    model = BoostedDecision(Newsvendor(3, 1)).fit(table, 10 * (age > 20) + generator.random(300))
    assert model.predict(table)[age > 20].min() > 9
    assert model.predict(pd.DataFrame({"age": ["(20, 50]"]}))[0] > 9


texts = st.one_of(st.none(), st.sampled_from(["a", "b", "c", ""]))


@given(st.lists(texts, min_size=2, max_size=12), st.lists(texts, min_size=1, max_size=12))
def test_codes_are_places_among_the_categories(first, then):
    columns, features = Columns.learn(
        pl.DataFrame({"x": first}, {"x": pl.String}), None, at_least=2
    )
    seen = sorted({each for each in first if each is not None})
    for given_, read in [
        (first, features),
        (then, columns.read(pl.DataFrame({"x": then}, {"x": pl.String}))),
    ]:
        expected = [seen.index(each) if each in seen else np.nan for each in given_]
        assert np.array_equal(read[:, 0], expected, equal_nan=True)


def test_numbers_for_rules():
    features = np.array([[1.0, 0.0], [np.nan, 1.0], [5.0, 1.0], [3.0, np.nan], [4.0, 2.0]])
    numbers = Numbers(features, np.arange(5.0), (1,))
    made = numbers.of(features)
    assert made[:, 0].tolist() == [1.0, 3.5, 5.0, 3.0, 4.0]  # median of the four
    assert made[:, 1].tolist() == [0, 1, 0, 0, 0]
    # Category 1 is the most frequent: missing, 0 and 2 have columns.
    assert made[:, 2:].tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 1]]
    assert numbers.spread((-1, 0)) == [-1, 0, 0, 0, 0]


def test_many_categories_are_one_number_for_rules():
    category = np.repeat(np.arange(60.0), 30)
    made = Numbers(category[:, None], 2.0 * category, (0,)).of(np.array([[0.0], [59.0], [np.nan]]))
    assert made[:, 0] == pytest.approx([59 / 4, 118 - 59 / 4, 59.0])  # ten rows of the mean added


@pytest.mark.parametrize(
    "rule",
    [
        FixedBand(0.0, 6.0),
        LatentBand(sellout_rate=0.4, families="normal", orders="noisy", random_state=0),
        "audited",
        SearchedBand(n_folds=1, n_trials=3, random_state=0),
    ],
    ids=lambda rule: rule if isinstance(rule, str) else type(rule).__name__,
)
@pytest.mark.filterwarnings("ignore:SearchedBand")
def test_rules_see_numbers(sales, rule):
    store, price, promotion, seen = sales
    table = tables(store, price, promotion)["pandas category"]
    stocked = np.minimum(seen, np.array([LEVELS[each] + 2 for each in store]))
    if rule == "audited":
        rule = AuditedBand(table[:120], stocked[:120], seen[:120])
    model = BoostedDecision(
        Newsvendor(3, 1),
        rule,
        max_iter=10,
        monotonic_cst={"price": -1},
        categorical_features=["store"],
    ).fit(table, stocked)
    assert model.diagnosis_ is model.band_rule_.diagnosis_
    assert model.band_rule_.n_features_in_ == 4 + 2 + 1
    assert (
        model.predict(table).mean()
        > clone(model).set_params(band=None).fit(table, stocked).predict(table).mean()
    )


def test_audited_rows_must_have_the_columns_of_the_others(sales):
    store, price, promotion, seen = sales
    table = tables(store, price, promotion)["pandas category"]
    rule = AuditedBand(table[["store", "price"]], seen, seen)
    with pytest.raises(InvalidInput) as caught:
        BoostedDecision(Newsvendor(3, 1), rule).fit(table, seen)
    assert str(caught.value) == "X of AuditedBand must have 3 features, as X has, got 2."


def test_categories_by_number_from_sparse_rows(sales):
    store, _, promotion, seen = sales
    code = np.column_stack([np.searchsorted(np.sort(STORES), store), promotion]).astype(float)
    model = BoostedDecision(Newsvendor(3, 1), max_iter=5, categorical_features=[0])
    model.fit(code, seen)
    assert np.array_equal(model.predict(sparse.csc_array(code)), model.predict(code))


def test_rules_see_plain_tables_as_they_are(rows):
    X, s = rows
    model = BoostedDecision(Newsvendor(3, 1), FixedBand(1.0, 2.0), max_iter=3).fit(X, s)
    assert model.band_rule_.n_features_in_ == 4
    assert model.band_rule_.band(X) == model.band_


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
    with pytest.raises(InvalidInput, match="if it is a mask, got 2 for 3 columns"):
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
