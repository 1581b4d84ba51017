"""Nonlinear demand: bends that a linear decision misses, and the truth kept beside them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from unmet import LinearDecision, Newsvendor
from unmet.simulate import nonlinear_demand
from unmet.simulate.demand import PRODUCTS

LEVELS = (0.15, 0.55, 0.75, 0.95)
# demand of the first two days with seed 0: a change here changes every published figure
PINNED = [
    165.0407019,
    177.4417482,
    192.4810491,
    94.45710936,
    132.8377726,
    148.3156075,
    152.4999374,
    133.0872047,
]


# --- what demand looks like ---------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["constant", "features"])
def test_linear_decisions_fail_even_if_they_see_the_truth(scale):
    data = nonlinear_demand(3, scale=scale)
    train, test = data.train, data.test
    for level in (0.85,):
        cost = Newsvendor.at_level(level)
        best = cost.cost(test.optimum(level), test.demand).mean()
        line = LinearDecision(cost).fit(train.features, train.demand)
        trees = HistGradientBoostingRegressor(
            loss="quantile", quantile=level, max_leaf_nodes=8, random_state=0
        ).fit(train.features, train.demand)
        assert -line.score(test.features, test.demand) > 1.35 * best
        assert cost.cost(trees.predict(test.features), test.demand).mean() < 1.2 * best


# --- the best decision, and what is censored ----------------------------------------------------


def test_optimum_is_the_quantile_of_demand_of_every_product():
    part = nonlinear_demand(5, n=12000, n_test=1).train
    for level in LEVELS:
        below = part.demand <= part.optimum(level)
        for product in PRODUCTS:
            rows = part.category == product
            error = 4.5 * math.sqrt(level * (1 - level) / rows.sum())
            assert below[rows].mean() == pytest.approx(level, abs=error)


# --- rows ---------------------------------------------------------------------------------------


def test_numbers_are_pinned():
    assert nonlinear_demand(0).train.demand[:8] == pytest.approx(PINNED, rel=1e-8)


def test_features_and_codes_say_the_same():
    part = nonlinear_demand(0, n=500).train
    assert part.features.shape == (500, 13)
    assert len(part.feature_names) == 13
    table = dict(zip(part.feature_names, part.features.T, strict=True))
    codes = dict(zip(part.code_names, part.codes.T, strict=True))
    for number, product in enumerate(PRODUCTS):
        rows = codes["product"] == number
        np.testing.assert_array_equal(rows, part.category == product)
        if number:
            np.testing.assert_array_equal(rows, table[product] == 1)
    np.testing.assert_array_equal(codes["weekday"] == 5, table["Saturday"] == 1)
    assert part.dates[table["Sunday"] == 1][0] == np.datetime64("2016-01-03")
    for name in ("promotion", "price", "temperature", "day"):
        np.testing.assert_array_equal(codes[name], table[name])
    assert np.ptp(codes["temperature"][:4]) == 0 < np.ptp(codes["temperature"])


# --- bad input ----------------------------------------------------------------------------------
