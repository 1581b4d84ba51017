"""Models trained on a cost with tiers, and band rules that are given one."""

from __future__ import annotations

import numpy as np
import pytest

from unmet import LinearDecision
from unmet.arrays import Band
from unmet.costs import Newsvendor, TieredCost
from unmet.errors import Unsupported
from unmet.simulate import store10

COST = TieredCost((4, 9), (1, 2, 5), underage_breaks=20, overage_breaks=(10, 30))


@pytest.fixture(scope="module")
def shop():
    return store10(seed=0)


def test_linear_decisions_are_exact_and_better_than_a_newsvendors(shop):
    train = shop.train
    for band in (None, Band(10, 30)):
        exact = LinearDecision(COST, band=band).fit(train.features, train.sales)
        highs = LinearDecision(COST, band=band, solver="highs").fit(train.features, train.sales)
        assert exact.solution_.objective == pytest.approx(highs.solution_.objective, rel=1e-8)
        plain = LinearDecision(Newsvendor(4, 1), band=band).fit(train.features, train.sales)
        theirs = COST.loss(plain.predict(train.features), train.sales, band).mean()
        assert exact.solution_.objective < theirs


def test_tiers_by_row_travel_with_their_rows(shop):
    train = shop.train
    rng = np.random.default_rng(0)
    n_rows = len(train.sales)
    cost = TieredCost(
        (rng.uniform(2, 5, n_rows), 9),
        (1, 2, 5),
        underage_breaks=20,
        overage_breaks=(rng.uniform(5, 15, n_rows), 30),
    )
    weight = np.where(rng.random(n_rows) < 0.3, 0.0, 1.0)
    kept = np.flatnonzero(weight)
    some = LinearDecision(cost).fit(train.features, train.sales, sample_weight=weight)
    rest = LinearDecision(cost.take(kept)).fit(train.features[kept], train.sales[kept])
    assert some.solution_.objective == pytest.approx(rest.solution_.objective, rel=1e-8)
    with pytest.raises(Unsupported, match=r"^TieredCost has no parameter overage per row"):
        LinearDecision(COST).fit(train.features, train.sales, overage=np.ones(n_rows))
