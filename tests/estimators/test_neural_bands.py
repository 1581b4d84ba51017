"""Every band rule gives a network its band."""

import numpy as np
import pytest

from unmet import Band, LatentBand, NeuralDecision, Newsvendor
from unmet.censoring import (
    FixedBand,
)

COST = Newsvendor(underage=4, overage=1)


@pytest.fixture(scope="module")
def shop():
    """Orders at the mean: half of the truth is lost, and it is known where."""
    generator = np.random.default_rng(4)
    X = generator.uniform(-2, 2, size=(240, 2))
    mean = 40 + X @ [6.0, -3.0]
    demand = mean + generator.normal(scale=4.0, size=240)
    return X, np.minimum(demand, mean), demand, demand > mean


def _fit(shop, rule, **known):
    X, sales, _, _ = shop
    model = NeuralDecision(COST, rule, hidden_layer_sizes=(4,), max_iter=60, random_state=0)
    return model.fit(X, sales, **known)


@pytest.mark.parametrize(
    ("rule", "flags"),
    [
        (FixedBand(low=0.0, high=0.1), False),
        (LatentBand(families=("normal",), sellout_rate=0.5), True),
    ],
)
def test_rules(shop, rule, flags):
    X, sales, demand, censored = shop
    model = _fit(shop, rule, **({"censored": censored} if flags else {}))
    assert type(model.band_rule_) is type(rule)
    assert model.diagnosis_.rule == type(rule).__name__
    assert isinstance(model.band_, Band)
    expected = COST.loss(model.predict(X), sales, model.band_).mean()
    assert model.training_cost_ == pytest.approx(expected, rel=1e-5)
    assert not hasattr(rule, "n_features_in_")
    ignoring = _fit(shop, None)
    assert model.predict(X).mean() > ignoring.predict(X).mean() - 0.1
    if flags:  # who knows where demand was lost must do better than who does not
        assert model.score(X, demand) > ignoring.score(X, demand)
