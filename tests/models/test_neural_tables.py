"""The same numbers give the same decisions, whatever they come in; and awkward numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hilly import hill_rows
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from unmet import Band, LinearDecision, NeuralDecision, Newsvendor, SquaredError
from unmet.errors import InvalidInput

COST = Newsvendor(4, 1)


def _model(**parameters):
    return NeuralDecision(COST, Band(0, 1), **{"random_state": 0, "max_iter": 15, **parameters})


@pytest.mark.parametrize(
    ("table", "column"),
    [(pd.DataFrame, pd.Series), (pl.DataFrame, pl.Series), (pl.DataFrame, np.asarray)],
)
def test_tables_keep_their_names(table, column):
    X, s, _ = hill_rows()
    frame = table(dict(zip(["price", "promo"], X.T, strict=True)))
    model = _model().fit(frame, column(s), sample_weight=column(s * 0 + 2))
    assert list(model.feature_names_in_) == ["price", "promo"]
    expected = _model().fit(X, s, sample_weight=s * 0 + 2).predict(X)
    assert np.array_equal(model.predict(frame), expected)
    with pytest.raises(InvalidInput, match="feature names should match"):
        model.predict(frame[["promo", "price"]])
    with pytest.raises(InvalidInput, match="feature names should match"):
        _model(solver="adam").partial_fit(frame, s).partial_fit(frame[["promo", "price"]], s)


@pytest.mark.parametrize(
    "convert", [np.asfortranarray, np.ndarray.tolist, lambda X: X.astype(object)]
)
def test_layout_and_type_do_not_matter(convert):
    X, s, _ = hill_rows()
    expected = _model().fit(X, s).predict(X)
    assert np.array_equal(_model().fit(convert(X), s.tolist()).predict(convert(X)), expected)


def test_a_column_vector_is_taken_with_scikit_learns_warning():
    X, s, _ = hill_rows(40)
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        model = _model().fit(X, s[:, None])
    assert np.array_equal(model.predict(X), _model().fit(X, s).predict(X))


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
@pytest.mark.parametrize("scaling", ["standard", "min-max"])
def test_sparse_is_dense_with_fewer_numbers(container, solver, scaling):
    X, s, _ = hill_rows()
    X = np.column_stack([np.where(np.abs(X) < 0.7, 0.0, X), 2000.0 + np.arange(300) % 12])
    weight = np.linspace(0.1, 1, 300)
    model = _model(solver=solver, scaling=scaling, dtype="float64")
    dense = model.fit(X, s, sample_weight=weight).predict(X)
    thin = model.fit(container(X), s, sample_weight=weight)
    assert thin.predict(container(X)) == pytest.approx(dense, rel=1e-7)
    assert thin.predict(X) == pytest.approx(dense, rel=1e-7)


def _one_hot(generator, n_rows):
    return np.column_stack([np.eye(k)[generator.integers(0, k, n_rows)] for k in (7, 12, 3)])


@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
@pytest.mark.parametrize(
    "kind",
    ["more columns than rows", "constant", "collinear", "one-hot", "tiny and huge", "far", "ties"],
)
def test_awkward_features(kind, solver):
    generator = np.random.default_rng(1)
    X, s, _ = hill_rows(60)
    X = {
        "more columns than rows": generator.normal(size=(60, 90)),
        "constant": np.column_stack([X, np.full(60, 0.1), np.zeros(60)]),
        "collinear": np.column_stack([X, X, X.sum(axis=1)]),
        "one-hot": _one_hot(generator, 60),
        "tiny and huge": X * [1e-28, 1e28],
        "far": X + [1e6, -1e7],
        "ties": np.round(X),
    }[kind]
    model = _model(solver=solver, max_iter=60).fit(X, s)
    decision = model.predict(X)
    assert np.isfinite(decision).all()
    flat = LinearDecision(COST, Band(0, 1)).fit(np.zeros((60, 1)), s).solution_.objective
    assert model.training_cost_ < 0.95 * flat


def test_a_constant_column_changes_nothing():
    X, s, _ = hill_rows()
    wide = np.column_stack([X, np.full(300, 0.1)])
    model = _model(hidden_layer_sizes=(), max_iter=200).fit(wide, s)
    plain = LinearDecision(COST, Band(0, 1)).fit(X, s)
    assert model.training_cost_ == pytest.approx(plain.solution_.objective, rel=5e-3)
    moved = wide + [0, 0, 0.5]
    assert model.predict(moved) == pytest.approx(model.predict(wide), rel=0.2)


@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
def test_two_rows(solver):
    X, s = np.array([[1.0, 2.0], [2.0, 2.0]]), np.array([10.0, 20.0])
    model = NeuralDecision(COST, solver=solver, random_state=0, max_iter=300).fit(X, s)
    assert model.predict(X) == pytest.approx(s, abs=0.3)


@pytest.mark.parametrize("constant", [7.0, 0.0, -1e5, 1e-9])
@pytest.mark.parametrize("cost", [COST, SquaredError()])
@pytest.mark.parametrize("scaling", ["standard", "min-max"])
def test_observations_that_are_all_the_same(constant, cost, scaling):
    X, _, _ = hill_rows(40)
    model = NeuralDecision(cost, random_state=0, scaling=scaling).fit(X, np.full(40, constant))
    size = abs(constant) or 1.0
    assert model.predict(X) == pytest.approx(np.full(40, constant), abs=0.02 * size)


def test_merged_rows_are_the_same_as_distinct_ones():
    """Categories repeat; a last column that hardly differs keeps them apart."""
    generator = np.random.default_rng(2)
    X = np.round(generator.uniform(0, 4, size=(400, 2)))
    s = 20 + 5 * X[:, 0] * (X[:, 1] > 2) + generator.gamma(2.0, 2.0, size=400)
    merged = NeuralDecision(COST, random_state=0, dtype="float64", max_iter=15).fit(X, s)
    apart = NeuralDecision(COST, random_state=0, dtype="float64", max_iter=15).fit(
        X * (1 + 1e-13 * generator.normal(size=X.shape)), s
    )
    assert apart.predict(X) == pytest.approx(merged.predict(X), rel=1e-6)
