"""The quantiles of a learned latent distribution are allocated without a refit."""

import numpy as np
import pytest
from scipy.special import ndtri

from unmet import LatentBand, LinearDecision, Newsvendor, allocate
from unmet.errors import InvalidInput
from unmet.simulate import store10


@pytest.fixture(scope="module")
def fitted():
    data = store10(seed=0, clip=False)
    model = LinearDecision(Newsvendor(3, 1), band=LatentBand(random_state=0))
    return data, model.fit(data.train.features, data.train.sales)


def test_learned_quantiles_are_those_of_the_truth(fitted):
    data, model = fitted
    rows = data.test.features[:50]
    ask = model.band_rule_.quantile_function(rows)
    levels = np.linspace(0.1, 0.95, 50)
    best = data.test.mean[:50] + 46.57 * ndtri(levels)
    assert ask(levels) == pytest.approx(best, abs=12)
    assert np.array_equal(ask(levels), model.band_rule_.quantile(rows, levels))
    assert np.array_equal(ask(0.8), ask(np.full(50, 0.8)))
    with pytest.raises(InvalidInput, match="level must be a number between 0 and 1, got 1"):
        ask(1.0)


def test_a_budget_is_shared_nearly_as_if_the_truth_were_known(fitted):
    data, model = fitted
    part = data.test
    day = part.dates == part.dates[40]
    margin = np.linspace(2, 9, day.sum())
    cost = Newsvendor(margin, 1)

    def distribution(level):
        return part.mean[day] + 46.57 * ndtri(level)

    best = allocate(cost, distribution, 1000.0)
    assert best.binds
    for known in (model, model.band_rule_):
        found = allocate(cost, known, 1000.0, X=part.features[day])
        assert found.decision == pytest.approx(best.decision, abs=15)
        assert found.shadow_price == pytest.approx(best.shadow_price, rel=0.05)
    with pytest.raises(InvalidInput, match="X must have one row per product"):
        allocate(cost, model, 1000.0)
    with pytest.raises(InvalidInput, match="levels must be None where truth is a LatentBand"):
        allocate(cost, model, 1000.0, X=part.features[day], levels=[0.5])
