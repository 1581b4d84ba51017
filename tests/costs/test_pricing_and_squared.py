"""Custom pricing (eq. cp) and squared error (eq. MSELoss)."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import mean_squared_error

from unmet.arrays import Band
from unmet.costs import CustomPricing, Newsvendor, SquaredError
from unmet.costs.hinge import Slopes


def test_a_low_price_costs_from_the_observation_a_high_one_from_the_end_of_the_band():
    pricing = CustomPricing(underprice=4, overprice=1)
    # The band is [10, 13].
    assert_array_equal(pricing.loss([8, 10, 12, 13, 18], 10, Band(0, 3)), [8.0, 0, 0, 0, 5.0])
    assert_array_equal(pricing.subgradient([8, 10, 12, 13, 18], 10, Band(0, 3)), [-4.0, 0, 0, 0, 1])


def test_pricing_is_the_newsvendor_with_low_zero():
    pricing, newsvendor = CustomPricing(4, 1), Newsvendor(4, 1)
    decision = np.linspace(0, 20, 81)
    assert pricing.level == newsvendor.level == 0.8
    assert pricing.slopes == Slopes(below=4, above=1)
    for band in (None, Band(0, 3)):
        assert_array_equal(pricing.loss(decision, 10, band), newsvendor.loss(decision, 10, band))


def test_squared_error_is_that_of_scikit_learn():
    truth, decision = np.random.default_rng(3).normal(size=(2, 40))
    assert_allclose(
        SquaredError().cost(decision, truth).mean(), mean_squared_error(truth, decision), rtol=1e-13
    )


def test_squared_error_with_a_band_measures_to_the_nearest_end():
    # The band is [11, 14].
    decision = [8, 11, 12.5, 14, 16]
    assert_array_equal(SquaredError().loss(decision, 10, Band(1, 4)), [9.0, 0, 0, 0, 4.0])
    assert_array_equal(SquaredError().subgradient(decision, 10, Band(1, 4)), [-6.0, 0, 0, 0, 4.0])
