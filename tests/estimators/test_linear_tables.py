"""The same numbers give the same decisions, whatever they come in."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from unmet import Band, LinearDecision, Newsvendor, SquaredError
from unmet.solvers.descent.minibatch import MiniBatchOptions

NAMES = ["price", "promo", "rain", "week"]


@pytest.fixture
def expected(rows):
    X, s = rows
    return LinearDecision(Newsvendor(3, 1)).fit(X, s).predict(X)


@pytest.mark.parametrize(
    ("table", "column"),
    [(pd.DataFrame, pd.Series), (pl.DataFrame, pl.Series), (pl.DataFrame, np.asarray)],
)
def test_tables_keep_their_names(rows, expected, table, column):
    X, s = rows
    frame = table(dict(zip(NAMES, X.T, strict=True)))
    model = LinearDecision(Newsvendor(3, 1)).fit(frame, column(s), sample_weight=column(s * 0 + 2))
    assert list(model.feature_names_in_) == NAMES
    assert model.predict(frame) == pytest.approx(expected, rel=1e-12)
    assert model.score(frame, column(s)) == pytest.approx(
        -Newsvendor(3, 1).cost(expected, s).mean()
    )


def test_mixed_and_nullable_columns_are_numbers():
    generator = np.random.default_rng(0)
    whole = generator.integers(0, 5, size=40)
    flag = generator.random(40) < 0.5
    s = 3.0 * whole + 2.0 * flag + generator.random(40)
    plain = LinearDecision(SquaredError()).fit(np.c_[whole, flag, s**0.5], s)
    mixed = pd.DataFrame(
        {"a": pd.array(whole, dtype="Int64"), "b": flag, "c": (s**0.5).astype(object)}
    )
    polar = pl.DataFrame({"a": whole, "b": flag, "c": s**0.5})
    for table in (mixed, polar):
        model = LinearDecision(SquaredError()).fit(table, pd.array(s, dtype="Float64"))
        assert model.coef_ == pytest.approx(plain.coef_, rel=1e-9)


@pytest.mark.parametrize(
    "convert",
    [
        np.asfortranarray,
        lambda X: X.tolist(),
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: X.astype(object),
        lambda X: X.astype(np.longdouble),
        np.matrix,
    ],
)
def test_layout_and_type_do_not_matter(rows, expected, convert):
    X, s = rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)  # of np.matrix itself
        given = convert(X)
    model = LinearDecision(Newsvendor(3, 1)).fit(given, s)
    assert model.predict(given) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize(
    "model",
    [
        LinearDecision(Newsvendor(3, 1), penalty="l2", strength=0.1),
        LinearDecision(Newsvendor(3, 1), Band(1, 3), penalty="l1", strength=0.1),
        LinearDecision(Newsvendor(3, 1), Band(1, 3), solver="highs"),
        LinearDecision(SquaredError()),
        LinearDecision(solver="minibatch", minibatch=MiniBatchOptions(epochs=5)),
    ],
)
def test_sparse_is_dense_with_fewer_numbers(rows, container, model):
    X, s = rows
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    dense = model.fit(X, s).solution_.objective
    decisions = model.predict(X)
    model.fit(container(X), s)
    assert model.solution_.objective == pytest.approx(dense, rel=1e-8)
    if model.solver != "highs":  # whose answer need not be the same corner
        assert model.predict(container(X)) == pytest.approx(decisions, abs=1e-4)
