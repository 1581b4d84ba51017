"""Networks from blocks: the same decisions as from arrays, more or less, and clear refusals."""

import numpy as np
import pytest

from unmet import LatentBand, NeuralDecision, Newsvendor
from unmet.errors import Unsupported
from unmet.estimators import blocks
from unmet.solvers.blocks import ArrayBlocks

COST = Newsvendor(underage=4, overage=1)


def bent(n_rows, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.uniform(-1, 1, size=(n_rows, 3))
    demand = 50 + 30 * X[:, 0] * X[:, 1] + generator.normal(scale=4, size=n_rows)
    return X, demand


@pytest.fixture
def small_memory(monkeypatch):
    """Pretend that only a thousand rows fit into memory."""
    read = blocks.read_sample
    monkeypatch.setattr(
        blocks, "read_sample", lambda source: read(source, size=800, in_memory=1000)
    )


def network(**parameters):
    return NeuralDecision(COST, **{"solver": "adam", "random_state": 0, **parameters})


def test_streaming_is_as_good_as_an_array(small_memory):
    X, demand = bent(12_000)
    whole = network(max_iter=8).fit(X, demand)
    blocks = network(max_iter=8).fit(ArrayBlocks(X, demand, block_rows=1500))
    assert blocks.n_iter_ == 8
    assert blocks.training_cost_ == pytest.approx(COST.cost(blocks.predict(X), demand).mean())
    assert blocks.training_cost_ < 1.05 * whole.training_cost_
    again = network(max_iter=8).fit(ArrayBlocks(X, demand, block_rows=1500))
    np.testing.assert_array_equal(again.predict(X), blocks.predict(X))


def test_weights_count_as_repeated_rows(small_memory):
    X, demand = bent(6000)
    far = demand + 40
    both, seen = np.vstack([X, X]), np.concatenate([demand, far])
    weight = np.concatenate([np.full(6000, 9.0), np.full(6000, 1.0)])
    mixed = np.random.default_rng(1).permutation(12_000)
    model = network(max_iter=8).fit(
        ArrayBlocks(both[mixed], seen[mixed], weight=weight[mixed], block_rows=2000)
    )
    decision = model.predict(X)
    # of nine low truths for one high one, the .8-quantile is still a low one
    assert np.mean(decision < demand + 20) > 0.95
    none = ArrayBlocks(both, seen, weight=np.repeat([1.0, 0.0], 6000), block_rows=2000)
    # of normal noise the best cost is 5 · 4 · 0.28 = 5.6; rows of weight 0 would raise it
    assert network(max_iter=30).fit(none).training_cost_ == pytest.approx(5.6, rel=0.1)


def test_a_rule_learns_from_the_sample_and_bands_follow_the_blocks(small_memory):
    X, noise = bent(6000)[0], np.random.default_rng(2).normal(scale=4, size=6000)
    level = 50 + 30 * X[:, 0]
    demand, sales = level + noise, np.minimum(level + noise, level + 1)
    source = ArrayBlocks(X, sales, block_rows=2000, censored=(noise > 1).astype(float))
    rule = LatentBand(families="normal", location=None, random_state=0)
    model = network(max_iter=20, band=rule).fit(source)
    plain = network(max_iter=20).fit(ArrayBlocks(X, sales, block_rows=2000))
    cost, ignoring = (COST.cost(each.predict(X), demand).mean() for each in (model, plain))
    assert cost < 0.85 * ignoring
    assert model.diagnosis_.share_censored == pytest.approx(0.4, abs=0.06)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"solver": "lbfgs"}, "solver='lbfgs'"),
        ({"early_stopping": True}, "early_stopping=True"),
        ({"n_restarts": 3}, "n_restarts=3"),
    ],
)
def test_what_needs_all_rows_is_refused(small_memory, parameters, said):
    X, demand = bent(3000)
    with pytest.raises(Unsupported, match=said):
        network(**parameters).fit(ArrayBlocks(X, demand, block_rows=1000))
