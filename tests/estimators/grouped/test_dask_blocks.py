"""Dask frames, on a cluster of processes and without one."""

from __future__ import annotations

import os
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from unmet import (
    Band,
    BoostedDecision,
    DistributionDecision,
    LatentBand,
    LinearDecision,
    NeuralDecision,
    Newsvendor,
)
from unmet.errors import InvalidInput, MissingPackage, Unsupported
from unmet.solvers.blocks import source
from unmet.solvers.blocks.dask import DaskBlocks

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


def frame():
    import dask.dataframe as dd

    X, s = data()
    rows = pd.DataFrame(X, columns=["a", "b", "c"]).assign(sales=s, key="text", cost=7.0)
    return X, s, dd.from_pandas(rows, npartitions=5)


@pytest.mark.usefixtures("cluster", "small_memory")
def test_data_frames_on_a_cluster():
    X, s, rows = frame()
    model = LinearDecision(Newsvendor(underage=1, overage=2), MODEL.band)
    model.fit(rows[["a", "b", "c"]], rows["sales"], underage=rows["cost"])
    model.cost_ = MODEL.cost
    assert objective(model, X, s) == pytest.approx(best(), rel=1e-8)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert model.solution_.gap <= 1e-9 * model.solution_.objective
    assert model.solution_.passes <= 6  # one of them counts the rows
    again = clone(model).fit(rows[["a", "b", "c"]], rows["sales"], underage=rows["cost"])
    np.testing.assert_array_equal(model.coef_, again.coef_)


def frame_of(kind, X, s, folder):
    """Rows from a frame in memory or from files, as one would bring them."""
    import dask.dataframe as dd

    names = list("abcdef")
    table = dd.from_pandas(pd.DataFrame(X, columns=names).assign(sales=s), npartitions=8)
    if kind == "read_parquet":
        table.to_parquet(folder, write_index=False)
        table = dd.read_parquet(folder)
    return table[names], table["sales"]


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
    model.fit(*frame_of(kind, X, s, tmp_path))
    assert model.solution_.passes >= 3  # or all rows were fetched at once
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6)
    assert model.intercept_ == pytest.approx(expected.intercept_, rel=1e-6)


def test_flags_in_files_may_be_missing_but_nothing_else(tmp_path):
    import dask
    import dask.dataframe as dd

    rows = {"price": [1.0, 2, 3, 4], "sales": [9.0, 7, 5, 3], "flag": [True, None, False, None]}
    pl.DataFrame(rows).write_parquet(tmp_path / "a.parquet")
    with dask.config.set(scheduler="threads"):
        read = dd.read_parquet(tmp_path)
        found = DaskBlocks(read[["price"]], read["sales"], censored=read["flag"])
        (block,) = found.blocks()
        np.testing.assert_array_equal(block.censored, [1, np.nan, 0, np.nan])
        pl.DataFrame({**rows, "price": [1.0, None, 3, 4]}).write_parquet(tmp_path / "b.parquet")
        read = dd.read_parquet(tmp_path)
        words = r"features must hold finite numbers, got 1 that are not in partition 1\."
        with pytest.raises(InvalidInput, match=words):
            LinearDecision().fit(read[["price"]], read["sales"])


NAMES = ["a", "b", "c"]


def test_features_are_numbers():
    rows = frame()[2]
    with pytest.raises(InvalidInput, match="must have numbers in column 'key'"):
        LinearDecision().fit(rows[["a", "key"]], rows["sales"])


@pytest.fixture(params=["processes", "threads"])
def scheduler(request):
    """Workers of a cluster, or the threads that Dask has without a client."""
    import dask

    if request.param == "processes":
        request.getfixturevalue("cluster")
        yield
    else:
        with dask.config.set(scheduler="threads"):
            yield


def pair(*, empty=False, divisions=True):
    """The same rows as a table in memory and as a Dask frame."""
    import dask.dataframe as dd

    X, s = data()
    rng = np.random.default_rng(1)
    table = pd.DataFrame(X, columns=NAMES).assign(
        sales=s, w=rng.integers(0, 3, len(s)), cost=rng.uniform(4, 9, len(s)), key="text"
    )
    table["day"] = np.arange(len(s))
    rows = dd.from_pandas(table, npartitions=5)
    if empty:  # the first two partitions, and a part of the third
        table, rows = table[table["day"] > 5000], rows[rows["day"] > 5000]
    return table, rows if divisions else rows.clear_divisions()


@pytest.mark.filterwarnings("ignore:Sending large graph")
@pytest.mark.usefixtures("scheduler")
@pytest.mark.parametrize("memory", ["small_memory", "enough"])
@pytest.mark.parametrize("changes", [{}, {"empty": True}, {"divisions": False}])
def test_a_dask_frame_gives_the_model_of_the_same_rows_in_memory(changes, memory, request):
    if memory == "small_memory":
        request.getfixturevalue(memory)
    table, rows = pair(**changes)
    here, there = (
        clone(MODEL).fit(each[NAMES], each["sales"], sample_weight=each["w"], underage=each["cost"])
        for each in (table, rows)
    )
    assert there.solution_.objective == pytest.approx(here.solution_.objective, rel=1e-8)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-5)
    assert (there.solution_.passes >= 3) == (memory == "small_memory")
    assert list(there.feature_names_in_) == NAMES
    given = [each["sales"] for each in (table, rows)]
    weights = [each["w"] for each in (table, rows)]
    scores = [
        here.score(each[NAMES], truth, weight, underage=each["cost"])
        for each, truth, weight in zip((table, rows), given, weights, strict=True)
    ]
    assert scores[0] == scores[1]


@pytest.mark.filterwarnings("ignore:Sending large graph")
@pytest.mark.usefixtures("scheduler")
@pytest.mark.parametrize("changes", [{}, {"empty": True}, {"divisions": False}])
def test_decisions_of_a_dask_frame_are_a_series_that_waits(changes):
    import dask.dataframe as dd

    table, rows = pair(**changes)
    model = clone(MODEL).fit(table[NAMES], table["sales"])
    decisions = model.predict(rows[NAMES])
    lots = model.decide(rows[NAMES], 6, upper=rows["cost"] * 2)
    for each in (decisions, lots):
        assert isinstance(each, dd.Series)
        assert each.npartitions == rows.npartitions
    np.testing.assert_array_equal(decisions.compute(), model.predict(table[NAMES]))
    expected = model.decide(table[NAMES], 6, upper=table["cost"] * 2)
    np.testing.assert_array_equal(lots.compute(), expected)
    assert lots.compute().index.equals(table.index)


def die_once(part, marker):
    """End the process that holds this part, the first time anyone works on it."""
    if len(part) and part["a"].iloc[0] == data()[0][2400, 0] and not marker.exists():
        marker.touch()
        os._exit(1)
    return part


@pytest.mark.filterwarnings("ignore:Sending large graph")
@pytest.mark.usefixtures("cluster", "small_memory")
def test_a_worker_that_dies_does_not_change_the_answer(tmp_path):
    table, rows = pair()
    marker = tmp_path / "died"
    undisturbed = clone(MODEL).fit(rows[NAMES], rows["sales"])
    fragile = rows[NAMES].map_partitions(die_once, marker, meta=table[NAMES])
    model = clone(MODEL).fit(fragile, rows["sales"])
    assert marker.exists()
    np.testing.assert_array_equal(model.coef_, undisturbed.coef_)


def test_nothing_is_computed_before_decisions_are_asked_for():
    table, rows = pair()
    model = clone(MODEL).fit(table[NAMES], table["sales"])

    def fails(part):
        raise RuntimeError("computed")

    broken = rows[NAMES].map_partitions(fails, meta=table[NAMES])
    decisions = model.predict(broken)
    with pytest.raises(RuntimeError, match="computed"):
        decisions.compute()
    with pytest.raises(InvalidInput, match="feature names"):
        model.predict(rows[["a", "b"]])


def test_a_rule_reads_flags_of_a_dask_frame():
    table, rows = pair()
    model = LinearDecision(MODEL.cost, LatentBand(families="normal", random_state=0))
    limit = 12.0
    here, there = (
        clone(model).fit(
            each[NAMES], each["sales"].clip(upper=limit), censored=each["sales"] >= limit
        )
        for each in (table.head(2000), rows.partitions[:1])
    )
    assert there.diagnosis_.share_censored > 0
    expected = clone(model).fit(
        table[NAMES][:2400],
        table["sales"][:2400].clip(upper=limit),
        censored=table["sales"][:2400] >= limit,
    )
    np.testing.assert_allclose(there.coef_, expected.coef_, rtol=1e-8)
    assert not np.allclose(there.coef_, here.coef_, rtol=1e-8)


@pytest.mark.parametrize(
    ("argument", "change", "words"),
    [
        ("y", lambda rows: "sales", "y must be a Dask Series .* got str: take both"),
        ("y", lambda rows: None, "y must be a Dask Series .* got NoneType: take both"),
        ("y", lambda rows: rows["sales"].compute(), "y must be a Dask Series .* pandas Series:"),
        ("y", lambda rows: rows[["sales"]], "y must be a Dask Series .* dask DataFrame:"),
        ("y", lambda rows: rows["key"], "y must hold numbers, got "),
        (
            "sample_weight",
            lambda rows: rows["w"].repartition(npartitions=3),
            "sample_weight must have the 5 partitions of X, got 3: take both",
        ),
        (
            "underage",
            lambda rows: rows["cost"].repartition(divisions=(0, 9, 99, 999, 9999, 11_999)),
            "underage must have the divisions of X, got others: take both",
        ),
        (
            "sample_weight",
            lambda rows: rows["w"].map_partitions(lambda part: part[::-1], meta=("w", "i8")),
            "sample_weight must have the rows of X in their order, got others",
        ),
        ("sample_weight", lambda rows: "w", "sample_weight must be a Dask Series .* got str:"),
        ("stock", lambda rows: rows["w"], "stock must be None where X is a Dask frame, got Series"),
    ],
)
def test_series_that_are_not_beside_the_frame(argument, change, words):
    _, rows = pair()
    given = {"y": rows["sales"], argument: change(rows)}
    with pytest.raises(InvalidInput, match=words):
        clone(MODEL).fit(rows[NAMES], given.pop("y"), **given)


def test_numbers_per_row_of_a_decision_must_be_beside_the_frame():
    table, rows = pair()
    model = clone(MODEL).fit(table[NAMES], table["sales"])
    with pytest.raises(InvalidInput, match=r"step must be a Dask Series .* got numpy ndarray:"):
        model.decide(rows[NAMES], step=np.ones(len(table)))


@pytest.mark.parametrize("kind", [BoostedDecision, DistributionDecision, NeuralDecision])
def test_models_of_rows_in_memory_refuse_a_dask_frame(kind):
    _, rows = pair()
    words = rf"X must be a table in memory for {kind.__name__}, got dask DataFrame: read a sample"
    with pytest.raises(Unsupported, match=words):
        kind().fit(rows[NAMES], rows["sales"])


@pytest.mark.parametrize("kind", [BoostedDecision, DistributionDecision, NeuralDecision])
def test_models_of_rows_in_memory_decide_for_a_dask_frame(kind):
    table, rows = pair()
    some = table[:150]
    model = kind(MODEL.cost, random_state=0).fit(some[NAMES], some["sales"])
    there = model.predict(rows.partitions[:2][NAMES]).compute()
    np.testing.assert_allclose(there, model.predict(table[:4800][NAMES]), rtol=1e-12)
    lots = model.decide(rows.partitions[:2][NAMES], step=4).compute()
    np.testing.assert_array_equal(lots, model.decide(table[:4800][NAMES], step=4))


def test_a_spark_frame_is_sent_to_its_page():
    frame = type("DataFrame", (), {"columns": ["a"], "__module__": "pyspark.sql.dataframe"})()
    words = r"X must be a table in memory for LinearDecision, got pyspark DataFrame: .*scale\.md\."
    with pytest.raises(Unsupported, match=words):
        LinearDecision().fit(frame, "sales")
    with pytest.raises(Unsupported, match=words):
        LinearDecision().fit([[1], [2]], [1, 2]).predict(frame)


def test_a_missing_package_is_named(monkeypatch):
    _, rows = pair()
    X, y = rows[NAMES], rows["sales"]
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(MissingPackage, match="A Dask frame needs dask: install it with pip"):
        LinearDecision().fit(X, y)


def test_small_partitions_of_files_keep_their_columns_together(tmp_path):
    """Dask joins partitions of which few columns are read: alike for features and observations."""
    import dask
    import dask.dataframe as dd

    table, rows = pair()
    wide = rows.assign(**{f"more{place}": 0.0 for place in range(20)})
    wide.to_parquet(tmp_path, write_index=False)
    read = dd.read_parquet(tmp_path)
    with dask.config.set(scheduler="threads"):
        there = clone(MODEL).fit(read[NAMES], read["sales"], sample_weight=read["w"])
    here = clone(MODEL).fit(table[NAMES], table["sales"], sample_weight=table["w"])
    assert there.solution_.objective == pytest.approx(here.solution_.objective, rel=1e-8)
