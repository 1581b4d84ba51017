"""Dask collections as a source, on a cluster of processes, some of which die."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from unmet import Band, LinearDecision, Newsvendor
from unmet.errors import InvalidInput
from unmet.solvers.blocks import DaskBlocks, source

MODEL = LinearDecision(Newsvendor(underage=7, overage=2), Band(0.3, 1.5))


@pytest.fixture
def small_memory(monkeypatch):
    """Keep the client from fetching all rows."""
    monkeypatch.setattr(source, "SAMPLE_ENTRIES", 15_000)
    monkeypatch.setattr(source, "SAMPLE_ROWS", 2000)


def data(n=12_000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, 9 + X @ [2.0, -1.0, 0.5] + rng.gamma(2, 1, n)


def objective(model, X, s):
    return float(np.mean(model.cost_.loss(X @ model.coef_ + model.intercept_, s, model.band_)))


def best():
    X, s = data()
    return LinearDecision(MODEL.cost, MODEL.band).fit(X, s).solution_.objective


@pytest.mark.usefixtures("cluster", "small_memory")
def test_arrays_on_a_cluster():
    import dask.array as da

    X, s = data()
    rows, seen = da.from_array(X, chunks=(2500, 2)), da.from_array(s, chunks=3500)
    rows, seen = rows.persist(), seen.persist()
    model = LinearDecision(MODEL.cost, MODEL.band).fit(DaskBlocks(rows, seen))
    assert objective(model, X, s) == pytest.approx(best(), rel=1e-8)
    assert model.solution_.gap <= 1e-9 * model.solution_.objective
    assert model.solution_.passes <= 5
    again = LinearDecision(MODEL.cost, MODEL.band).fit(DaskBlocks(rows, seen))
    np.testing.assert_array_equal(model.coef_, again.coef_)


def frame():
    import dask.dataframe as dd

    X, s = data()
    rows = pd.DataFrame(X, columns=["a", "b", "c"]).assign(sales=s, key="text", cost=7.0)
    return X, s, dd.from_pandas(rows, npartitions=5)


@pytest.mark.usefixtures("cluster", "small_memory")
def test_data_frames_on_a_cluster():
    X, s, rows = frame()
    source = DaskBlocks(rows, "sales", features=["a", "b", "c"], underage="cost")
    model = LinearDecision(Newsvendor(underage=1, overage=2), MODEL.band).fit(source)
    model.cost_ = MODEL.cost
    assert objective(model, X, s) == pytest.approx(best(), rel=1e-8)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert model.solution_.passes <= 6  # one of them counts the rows


def source_of(kind, X, s, folder):
    """Rows from a frame in memory or from files, as one would bring them."""
    import dask.dataframe as dd

    names = list("abcdef")
    table = dd.from_pandas(pd.DataFrame(X, columns=names).assign(sales=s), npartitions=8)
    if kind == "read_parquet":
        table.to_parquet(folder, write_index=False)
        table = dd.read_parquet(folder)
    return DaskBlocks(table, "sales", features=names)


@pytest.mark.filterwarnings("ignore:Sending large graph")
@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("kind", "n_rows"),
    [
        ("from_pandas", 30_000),
        pytest.param("read_parquet", 400_000, marks=pytest.mark.slow),
    ],
)
def test_coefficients_are_those_of_rows_in_memory(kind, n_rows, tmp_path, monkeypatch):
    """Rows that travel between processes lie elsewhere in memory in every pass."""
    if n_rows < 400_000:
        monkeypatch.setattr(source, "SAMPLE_ENTRIES", 30_000)
        monkeypatch.setattr(source, "SAMPLE_ROWS", 2000)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 6))
    s = 20 + X @ [1.0, 2, 3, 4, 5, 6] + rng.gamma(2, 1, n_rows)
    model = LinearDecision(Newsvendor(underage=7, overage=2), tol=1e-11)
    expected = clone(model).fit(X, s)
    model.fit(source_of(kind, X, s, tmp_path))
    assert model.solution_.passes >= 3  # or all rows were fetched at once
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6)
    assert model.intercept_ == pytest.approx(expected.intercept_, rel=1e-6)


def test_flags_in_files_may_be_missing_but_nothing_else(tmp_path):
    import dask
    import dask.dataframe as dd

    rows = {"price": [1.0, 2, 3, 4], "sales": [9.0, 7, 5, 3], "flag": [True, None, False, None]}
    pl.DataFrame(rows).write_parquet(tmp_path / "a.parquet")
    options = {"features": ["price"], "censored": "flag"}
    with dask.config.set(scheduler="threads"):
        (block,) = DaskBlocks(dd.read_parquet(tmp_path), "sales", **options).blocks()
        np.testing.assert_array_equal(block.censored, [1, np.nan, 0, np.nan])
        pl.DataFrame({**rows, "price": [1.0, None, 3, 4]}).write_parquet(tmp_path / "b.parquet")
        source = DaskBlocks(dd.read_parquet(tmp_path), "sales", features=["price"])
        words = r"features must hold finite numbers, got 1 that are not in partition 1\."
        with pytest.raises(InvalidInput, match=words):
            LinearDecision().fit(source)


def wrong(**changes):
    import dask.array as da

    X, s = data(100)
    if "weight" in changes:
        changes["weight"] = da.zeros(changes["weight"])
    given = {"data": da.from_array(X, chunks=50), "observed": da.from_array(s, chunks=50)}
    return DaskBlocks(**{**given, **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": np.zeros((3, 2))}, "data must be a Dask array"),
        ({"observed": np.zeros(100)}, "observation must be a Dask array"),
        ({"weight": 90}, "weight must have one entry per row, got 90"),
        ({"features": ["a"]}, "names must have one entry per feature"),
    ],
    ids=["numpy", "observed", "short", "names"],
)
def test_arrays_that_do_not_belong_together(changes, words):
    with pytest.raises(InvalidInput, match=words):
        wrong(**changes)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "features must name the columns"),
        ({"features": ["a", "d"]}, "must have a column 'd'"),
        ({"features": ["a", "key"]}, "must have numbers in column 'key'"),
    ],
    ids=["none", "missing", "text"],
)
def test_columns_that_are_not_there(options, words):
    with pytest.raises(InvalidInput, match=words):
        DaskBlocks(frame()[2], "sales", **options)
