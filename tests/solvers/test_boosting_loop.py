"""Growing, refitting, judging: what the loop promises with LightGBM underneath."""

from __future__ import annotations

import numpy as np
import pytest

from unmet import Band, Newsvendor, PreventiveReplacement, SquaredError
from unmet.errors import InvalidInput
from unmet.rows import Rows
from unmet.solvers.boosting.growing import BoostingSettings, boost


def curved(n_rows, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 4))
    s = 20 + 5 * np.sin(2 * X[:, 0]) + 3 * X[:, 1] ** 2 + generator.gamma(2.0, 3.0, n_rows)
    return X, s


def part(X, s, cost=None, band=None, share=None):
    return Rows(X, s, cost or Newsvendor(9, 1), share, band)


@pytest.mark.parametrize(
    ("cost", "band"),
    [
        (Newsvendor(9, 1), None),
        (Newsvendor(1, 3), Band(1.0, 4.0)),
        (SquaredError(), None),
        (SquaredError(), Band(1.0, 4.0)),
    ],
    ids=str,
)
def test_the_cost_of_the_training_rows_never_rises(cost, band):
    X, s = curved(700)
    found = boost(part(X, s, cost, band), BoostingSettings(max_iter=40))
    assert found.n_trees == 40
    assert (np.diff(found.cost) <= 1e-12).all()
    assert found.cost[-1] < 0.7 * found.cost[0]
    assert found.cost[-1] == pytest.approx(cost.loss(found.decision, s, band).mean())
    assert found.trees.predict(X) == pytest.approx(found.decision, rel=1e-12)


def test_a_cost_that_is_not_convex_gets_cheaper():
    generator = np.random.default_rng(0)
    X = generator.uniform(size=(800, 2))
    failure = (4 + 12 * (X[:, 0] > 0.5)) * generator.weibull(4.0, 800)
    cost = PreventiveReplacement(planned=1.0, failure=5.0, discount=0.05)
    found = boost(part(X, failure, cost), BoostingSettings(max_iter=30))
    assert found.cost[-1] < 0.9 * found.cost[0]
    late = found.decision[X[:, 0] > 0.5].mean()
    assert late > 2 * found.decision[X[:, 0] < 0.5].mean()


def test_what_lightgbm_refuses_is_one_sentence():
    X, s = curved(100)
    with pytest.raises(InvalidInput, match=r"^options must be such as LightGBM takes, got: .*\.$"):
        boost(part(X, s), BoostingSettings(options={"max_bin": 1}))
