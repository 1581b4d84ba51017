"""Newsvendor: worked numbers, level, normalisation, kinks and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import mean_pinball_loss

from unmet.arrays import Band
from unmet.costs import Newsvendor
from unmet.errors import InvalidInput

ASYMMETRIC = [0.05, 0.3, 0.65, 0.95]


def refusal(call):
    with pytest.raises(InvalidInput) as caught:
        call()
    return str(caught.value)


def test_realised_cost_weighs_missing_units_with_underage():
    # 4 missing at 5 each; 3 left over at 2 each; a perfect order.
    newsvendor = Newsvendor(underage=5, overage=2)
    assert_array_equal(newsvendor.cost([6, 13, 10], [10, 10, 10]), [20.0, 6.0, 0.0])


def test_loss_starts_at_the_ends_of_the_band():
    newsvendor = Newsvendor(underage=5, overage=2)
    decision = [9, 11, 12, 13, 15, 18]
    # The band is [12, 15].
    expected = [15.0, 5.0, 0.0, 0.0, 0.0, 6.0]
    assert_array_equal(newsvendor.loss(decision, 10, Band(2, 5)), expected)


def test_subgradient_is_zero_in_the_band_and_on_its_ends():
    newsvendor = Newsvendor(underage=5, overage=2)
    decision = [11.75, 12, 13, 15, 15.25]
    assert_array_equal(newsvendor.subgradient(decision, 10, Band(2, 5)), [-5.0, 0, 0, 0, 2.0])


@pytest.mark.parametrize("band", [None, Band(0, 0)])
def test_subgradient_is_zero_on_a_single_kink(band):
    newsvendor = Newsvendor(underage=5, overage=2)
    assert_array_equal(newsvendor.subgradient([9, 10, 11], 10, band), [-5.0, 0.0, 2.0])


@pytest.mark.parametrize("alpha", ASYMMETRIC)
def test_cost_at_a_level_is_the_pinball_loss_of_scikit_learn(alpha):
    generator = np.random.default_rng(7)
    truth, decision = generator.normal(size=(2, 50))
    ours = Newsvendor.at_level(alpha).cost(decision, truth).mean()
    assert_allclose(ours, mean_pinball_loss(truth, decision, alpha=alpha), rtol=1e-12)


@pytest.mark.parametrize("alpha", ASYMMETRIC)
def test_at_level_has_that_level(alpha):
    assert Newsvendor.at_level(alpha).level == pytest.approx(alpha, rel=1e-15)


def test_level_is_the_share_of_underage():
    assert Newsvendor(underage=19, overage=1).level == 0.95
    assert_array_equal(Newsvendor([1, 3], [3, 1]).level, [0.25, 0.75])


def test_normalised_divides_the_loss_by_the_total():
    newsvendor, band = Newsvendor(underage=7, overage=2), Band(1, 3)
    decision = np.linspace(0, 20, 41)
    assert_allclose(
        newsvendor.normalised().loss(decision, 10, band) * 9,
        newsvendor.loss(decision, 10, band),
        rtol=1e-14,
    )


@pytest.mark.parametrize(
    ("underage", "overage", "sentence"),
    [
        (-1, 1, "underage must be a positive number, got -1.0."),
        (3, [1, 0, 2], "overage must be a positive number, got 0.0 in row 1."),
        (np.nan, 1, "underage must be a finite number, got nan."),
        (3, np.inf, "overage must be a finite number, got inf."),
    ],
)
def test_bad_costs_are_refused(underage, overage, sentence):
    assert refusal(lambda: Newsvendor(underage, overage)) == sentence


@pytest.mark.parametrize(
    ("alpha", "sentence"),
    [
        (0, "alpha must be strictly between 0 and 1, got 0.0."),
        (np.nan, "alpha must be a finite number, got nan."),
        ("high", "alpha must be a number or a 1-D array of numbers, got 'high'."),
    ],
)
def test_levels_outside_the_open_interval_are_refused(alpha, sentence):
    assert refusal(lambda: Newsvendor.at_level(alpha)) == sentence


def test_a_service_level_is_the_critical_ratio():
    cost = Newsvendor.from_service_level([0.95, 0.6])
    assert cost.level == pytest.approx([0.95, 0.6])
    assert repr(Newsvendor.from_service_level(0.8)) == repr(Newsvendor.at_level(0.8))
    with pytest.raises(
        InvalidInput, match=r"service_level must be strictly between 0 and 1, such as .95, got 95"
    ):
        Newsvendor.from_service_level(95)
