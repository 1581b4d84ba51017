"""LinearDecision learns from blocks what it learns from arrays."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from unmet import Band, BoostedDecision, LatentBand, LinearDecision, Newsvendor, SquaredError
from unmet.errors import InvalidInput, Unsupported
from unmet.solvers.blocks import ArrayBlocks, source


@pytest.fixture
def small_memory(monkeypatch):
    """Let sixty thousand entries be all that fits."""
    monkeypatch.setattr(source, "SAMPLE_ENTRIES", 60_000)
    monkeypatch.setattr(source, "SAMPLE_ROWS", 4000)


def data(n=30_000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 2, size=(n, 3))
    demand = 20 + X @ [6.0, -3.0, 2.0] + rng.normal(scale=2.0 + X[:, 0], size=n)
    return X, demand, rng


@pytest.mark.parametrize("band", [None, Band(0.5, 2.5)])
@pytest.mark.parametrize(
    "options",
    [{}, {"penalty": "l2", "strength": 0.02}, {"penalty": "elasticnet", "strength": 0.05},
     {"fit_intercept": False}],
    ids=["plain", "ridge", "elastic net", "through zero"],
)  # fmt: skip
@pytest.mark.usefixtures("small_memory")
def test_blocks_and_arrays_agree(band, options):
    X, s, _ = data()
    model = LinearDecision(Newsvendor(underage=7, overage=2), band, **options)
    known = clone(model).fit(X, s)
    model.fit(ArrayBlocks(X, s, block_rows=4000, names=["a", "b", "c"]))
    assert model.solution_.objective == pytest.approx(known.solution_.objective, rel=1e-8)
    assert model.solution_.gap <= 1e-9 * model.solution_.objective
    assert 3 <= model.solution_.passes <= 5
    decision = X[:200] @ model.coef_ + model.intercept_
    np.testing.assert_allclose(decision, known.predict(X[:200]), rtol=1e-4)
    assert model.n_features_in_ == 3
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert model.band_ == band
    assert model.cost_ == Newsvendor(underage=7, overage=2)


@pytest.mark.usefixtures("small_memory")
def test_costs_bands_and_weights_by_row():
    X, s, rng = data()
    underage, overage = rng.uniform(1, 9, len(s)), rng.uniform(0.5, 2, len(s))
    low = rng.uniform(0, 1, len(s))
    high, weight = low + rng.uniform(0, 2, len(s)), rng.integers(0, 4, len(s)) / 3
    high[:5000] = low[:5000]  # the first block has one kink a row, the others two
    known = LinearDecision(Newsvendor(1, 1), Band(low, high))
    known.fit(X, s, sample_weight=weight, underage=underage, overage=overage)
    columns = {"underage": underage, "overage": overage, "low": low, "high": high}
    model = LinearDecision(Newsvendor(1, 1))
    model.fit(ArrayBlocks(X, s, weight=weight, **columns, block_rows=5000))
    assert model.solution_.objective == pytest.approx(known.solution_.objective, rel=1e-8)
    assert model.solution_.passes <= 5
    rows = slice(0, 100)
    paid = {"underage": underage[rows], "overage": overage[rows]}
    assert model.score(X[rows], s[rows], **paid) == pytest.approx(
        known.score(X[rows], s[rows], **paid), rel=1e-3
    )
    with pytest.raises(InvalidInput, match="underage must be given to score"):
        model.score(X[rows], s[rows])


@pytest.mark.usefixtures("small_memory")
def test_a_rule_learns_from_a_sample_and_gives_each_block_its_band():
    X, demand, rng = data()
    order = 23 + X @ [5.0, -2.0, 1.0] + rng.normal(scale=1.0, size=len(demand))
    censored = demand > order
    sales = np.minimum(demand, order)
    cost = Newsvendor(underage=4, overage=1)
    ignoring = LinearDecision(cost).fit(ArrayBlocks(X, sales))
    seeing = LinearDecision(cost, LatentBand(families="normal", max_rows=1500, random_state=0))
    seeing.fit(ArrayBlocks(X, sales, censored=censored, block_rows=4000))
    assert seeing.diagnosis_.share_censored == pytest.approx(censored.mean(), abs=0.03)
    assert seeing.solution_.passes <= 5
    knowing = LinearDecision(cost).fit(X, demand).score(X, demand)
    lost, left = knowing - ignoring.score(X, demand), knowing - seeing.score(X, demand)
    assert left < 0.1 * lost
    band = seeing.band_rule_.band(X, cost=cost, observation=sales)
    exact = LinearDecision(cost, band).fit(X, sales)
    assert seeing.solution_.objective == pytest.approx(exact.solution_.objective, rel=1e-8)


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (LinearDecision(solver="highs"), {}, "solver 'highs' and a source of blocks"),
        (LinearDecision(SquaredError()), {}, "SquaredError has no slopes"),
        (LinearDecision(), {"y": [1, 2]}, "y must be None"),
        (LinearDecision(), {"overage": 2}, "overage must be None"),
        (LinearDecision(band=Band([0.0, 1.0], 2.0)), {}, "one number for each end"),
        (
            BoostedDecision(),
            {},
            "in memory for BoostedDecision, got unmet ArrayBlocks: read a sample",
        ),
    ],
    ids=["highs", "squares", "y", "overage", "band", "trees"],
)
def test_what_does_not_fit_blocks_is_said(model, options, words):
    source = ArrayBlocks(np.arange(6.0).reshape(-1, 2), np.arange(3.0))
    with pytest.raises((InvalidInput, Unsupported), match=words):
        model.fit(source, **options)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"low": np.zeros(3)}, "low and high must be given together"),
        ({"low": np.zeros(3), "high": np.ones(3)}, "band must be None"),
        ({"weight": np.array([0.0, 2.0, 0.0])}, "two rows with weight, got 1"),
        ({"censored": np.zeros(3)}, "censored is only used by a band rule"),
    ],
    ids=["one end", "two bands", "weights", "flags"],
)
def test_columns_that_contradict_the_model(columns, words):
    source = ArrayBlocks(np.arange(6.0).reshape(-1, 2), np.arange(3.0), **columns)
    with pytest.raises(InvalidInput, match=words):
        LinearDecision(band=Band(0, 1)).fit(source)
