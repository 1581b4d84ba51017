"""Boosted trees on data in blocks: on a cluster of processes, and in one."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from unmet import Band, BoostedDecision, LatentBand, Newsvendor, SquaredError, load
from unmet.errors import InvalidInput, Unsupported
from unmet.scale import ArrayBlocks, DaskBlocks
from unmet.scale.dask import DaskWorkers
from unmet.solvers import constants

COST = Newsvendor(underage=7, overage=2)
#: Few trees, on columns of few values: then a sample has the bins that all rows have.
FEW = {"max_iter": 12, "learning_rate": 0.3, "max_leaf_nodes": 8, "random_state": 0}


@pytest.fixture(autouse=True)
def small_memory(monkeypatch):
    """Keep all rows from being trained on as an array."""
    monkeypatch.setattr(constants, "SAMPLE_ENTRIES", 15_000)
    monkeypatch.setattr(constants, "SAMPLE_ROWS", 4000)


def data(n=6000):
    rng = np.random.default_rng(0)
    X = rng.integers(-5, 6, size=(n, 3)) / 3.0  # few values: a sample has all bins
    return X, 9 + 3 * X[:, 0] * X[:, 1] + rng.gamma(2, 1, n)


def columns(n=6000):
    rng = np.random.default_rng(1)
    low = rng.uniform(0, 1, n)
    return {
        "weight": rng.uniform(0.2, 2, n) * (rng.random(n) < 0.95),
        "underage": rng.uniform(2, 9, n),
        "low": low,
        "high": low + rng.uniform(0, 2, n),
    }


def chunked(X, s, sizes=(2500, 700, 2800), **given):
    chunks = (sizes,)
    rows = {name: da.from_array(value, chunks=chunks) for name, value in given.items()}
    return DaskBlocks(da.from_array(X, chunks=(sizes, -1)), da.from_array(s, chunks=chunks), **rows)


def paid(model, X, s, band=None, **costs):
    loss = COST.with_rows(**costs).loss(model.predict(X), s, band)
    return float(loss.mean())


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    "band",
    [pytest.param(None, marks=pytest.mark.slow), Band(0.3, 1.5)],
    ids=["point", "band"],
)
def test_a_cluster_decides_as_memory_does(band):
    X, s = data()
    model = BoostedDecision(COST, band, **FEW).fit(chunked(X, s))
    expected = BoostedDecision(COST, band, **FEW).fit(X, s)
    assert model.n_iter_ == expected.n_iter_ == 12
    assert model.training_cost_[0] == pytest.approx(expected.training_cost_[0], rel=1e-12)
    # Ties between splits may be broken otherwise, no more: costs differ by much less than a tree.
    assert model.training_cost_[-1] == pytest.approx(expected.training_cost_[-1], rel=1e-9)
    assert paid(model, X, s, band) == pytest.approx(model.training_cost_[-1], rel=1e-9)
    assert expected.training_cost_[-1] < 0.7 * expected.training_cost_[0]


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_the_same_cluster_gives_the_same_trees():
    X, s = data()
    texts = {BoostedDecision(COST, **FEW).fit(chunked(X, s)).trees_.text for _ in range(2)}
    (text,) = texts
    assert "127.0.0.1" not in text


@pytest.mark.usefixtures("cluster")
def test_weights_costs_and_bands_of_each_row():
    X, s = data()
    given = columns()
    model = BoostedDecision(COST, **FEW).fit(chunked(X, s, **given))
    band = Band(given["low"], given["high"])
    expected = BoostedDecision(COST, band, **FEW).fit(
        X, s, sample_weight=given["weight"], underage=given["underage"]
    )
    assert model.training_cost_[0] == pytest.approx(expected.training_cost_[0], rel=1e-12)
    assert model.training_cost_[-1] == pytest.approx(expected.training_cost_[-1], rel=1e-9)
    assert model.score(X[:9], s[:9], underage=given["underage"][:9]) < 0
    with pytest.raises(InvalidInput, match="underage must be given to score"):
        model.score(X, s)


@pytest.mark.usefixtures("cluster")
def test_a_rule_learns_from_a_sample_and_gives_every_partition_its_band():
    X, s = data()
    stock = np.random.default_rng(2).gamma(20, 0.6, s.size)
    seen = np.minimum(s, stock)
    flags = (s >= stock).astype(float)
    options = {**FEW, "max_iter": 4}
    source = chunked(X, seen, censored=flags)
    rule = LatentBand(families=["gamma"], max_rows=1000, random_state=0)
    model = BoostedDecision(COST, rule, **options).fit(source)
    blind = BoostedDecision(COST, **options).fit(X, seen)
    assert model.band_rule_ is not None
    assert model.diagnosis_ is not None
    assert model.predict(X).mean() > blind.predict(X).mean() + 0.1


@pytest.mark.usefixtures("cluster")
def test_a_data_frame_with_categories_and_directions(tmp_path):
    X, s = data()
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["kind"] = np.tile([30.0, 10.0, 20.0], 2000)
    table["sales"] = s + np.tile([8.0, 0.0, 4.0], 2000)
    names = ["a", "b", "c", "kind"]
    source = DaskBlocks(dd.from_pandas(table, npartitions=3), "sales", features=names)
    options = {**FEW, "categorical_features": ["kind"], "monotonic_cst": {"a": 1}}
    model = BoostedDecision(COST, **options).fit(source)
    expected = BoostedDecision(COST, **options).fit(table[names], table["sales"])
    assert list(model.feature_names_in_) == names
    assert model.feature_importances_[3] > 0.2
    line = pd.DataFrame({**table.iloc[5][names], "a": np.linspace(-3, 3, 200)})
    assert (np.diff(model.predict(line)) >= 0).all()
    costs = [each.score(table[names], table["sales"]) for each in (model, expected)]
    assert costs[0] > 1.02 * costs[1]  # LightGBM keeps directions otherwise on a cluster
    again = load(model.save(tmp_path / "trees.unmet"))
    np.testing.assert_array_equal(again.decide(table[names]), model.decide(table[names]))


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_workers_without_rows_stay_away():
    X, s = data()
    weight = np.concatenate([np.ones(3200), np.zeros(2800)])
    source = chunked(X, s, sizes=(2500, 700, 2800), weight=weight)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "SAMPLE_ROWS", 1000)
        patch.setattr(constants, "SAMPLE_ENTRIES", 9000)
        model = BoostedDecision(COST, **FEW).fit(source)
    expected = BoostedDecision(COST, **FEW).fit(X[:3200], s[:3200])
    assert model.training_cost_[-1] == pytest.approx(expected.training_cost_[-1], rel=0.02)


def test_without_a_cluster_and_from_arrays():
    X, s = data()
    expected = BoostedDecision(COST, **FEW).fit(X, s).training_cost_[-1]
    with dask.config.set(scheduler="threads"):
        here = BoostedDecision(COST, **FEW).fit(chunked(X, s, sizes=(1700, 1700, 1700, 900)))
    arrays = BoostedDecision(COST, **FEW).fit(ArrayBlocks(X, s, block_rows=1700))
    assert here.trees_.text == arrays.trees_.text
    assert arrays.training_cost_[-1] == pytest.approx(expected, rel=1e-9)
    assert paid(arrays, X, s) == pytest.approx(arrays.training_cost_[-1], rel=1e-9)


def test_rows_that_fit_into_memory_are_an_array():
    X, s = data(900)
    model = BoostedDecision(COST, **FEW).fit(ArrayBlocks(X, s))
    assert model.trees_.text == BoostedDecision(COST, **FEW).fit(X, s).trees_.text


def test_leaves_that_look_the_same_to_lightgbm_differ():
    each = [1.0, 9000.0, 1000.0, 8000.0, 2000.0]  # below and above the first decision in turn
    kinds = np.arange(5.0)[:, np.newaxis] * [1, 0, 0]
    X, s = np.repeat(kinds, 1200, axis=0), np.repeat(each, 1200)
    model = BoostedDecision(Newsvendor(5, 4), max_iter=1, learning_rate=1.0, random_state=0)
    model.fit(ArrayBlocks(X, s, block_rows=1000))
    np.testing.assert_allclose(model.predict(kinds), each)


@pytest.mark.parametrize(
    ("options", "given", "words"),
    [
        ({"early_stopping": True}, {}, "early_stopping=True and a source of blocks"),
        ({"cost": SquaredError()}, {}, "SquaredError has no slopes"),
        ({"band": LatentBand(), "categorical_features": [0]}, {}, "the band rule LatentBand"),
        ({"categorical_features": ["a"]}, {}, "must be names or positions"),
        ({"options": {"max_bin": 1}}, {}, "options must be such as LightGBM takes"),
        ({}, {"y": [1.0]}, "y must be None"),
        ({}, {"validation": ([[1.0]], [1.0])}, "validation must be None"),
    ],
    ids=["stopping", "squares", "rule", "names", "options", "y", "validation"],
)
def test_what_does_not_fit_blocks_is_said(options, given, words):
    with pytest.raises((InvalidInput, Unsupported), match=words):
        BoostedDecision(**{**FEW, **options}).fit(ArrayBlocks(*data()), **given)


def test_missing_numbers_are_refused():
    X, s = data()
    X[77, 1] = np.nan
    with pytest.raises(InvalidInput, match="features must hold finite numbers, got 1"):
        BoostedDecision(COST, **FEW).fit(ArrayBlocks(X, s))


def listening():
    """Addresses and ports that this process listens on, as Linux lists them."""
    own = set()
    for name in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # closed meanwhile, as the list itself
            own.add(os.readlink(f"/proc/self/fd/{name}"))
    with open("/proc/self/net/tcp") as table:
        lines = [line.split() for line in table.readlines()[1:]]
    return {each[1] for each in lines if each[3] == "0A" and f"socket:[{each[9]}]" in own}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux who listens")
def test_sockets_of_trees_are_what_the_security_page_says(cluster, monkeypatch):
    """On all addresses, while workers look for each other; afterwards nobody can join."""
    X, s = data()
    before = cluster.run(listening)
    during, opened, ask = [], [], DaskWorkers.ask_each

    def look(self, method, given):
        if method in ("connect", "grow"):
            during.append((method, cluster.run(listening)))
        answers = ask(self, method, given)
        if method == "listen":
            opened.extend(answers)
        return answers

    monkeypatch.setattr(DaskWorkers, "ask_each", look)
    BoostedDecision(COST, **{**FEW, "max_iter": 3}).fit(chunked(X, s))
    assert len(opened) == 2
    assert during[0][0] == "connect"
    for worker in before:
        for method, found in during:
            new = found[worker] - before[worker]
            assert new == set() or method == "connect", (method, new)
        assert cluster.run(listening)[worker] == before[worker]


@pytest.mark.slow
def test_a_worker_that_dies_costs_time_only(cluster, monkeypatch):
    X, s = data()
    expected = BoostedDecision(COST, **FEW).fit(X, s)
    victims, calls = sorted(cluster.run(os.getpid).values()), []
    ask = DaskWorkers.ask_each

    def ask_and_kill(self, method, given):
        calls.append(method)
        if calls.count("grow") == 4 and victims:
            os.kill(victims.pop(), signal.SIGKILL)
            victims.clear()
        return ask(self, method, given)

    monkeypatch.setattr(DaskWorkers, "ask_each", ask_and_kill)
    model = BoostedDecision(COST, **FEW).fit(chunked(X, s))
    assert calls.count("load") == 2
    assert model.training_cost_[-1] == pytest.approx(expected.training_cost_[-1], rel=1e-9)
