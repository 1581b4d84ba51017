"""Preventive replacement (eq. pr): both forms, against hand and quadrature."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from numpy.testing import assert_allclose

from unmet.arrays import Band
from unmet.costs import PreventiveReplacement
from unmet.errors import InvalidInput

# With this rate a cost halves per unit of time, so every value is a fraction.
HALVING = log(2)


def test_corrected_form_by_hand():
    cost = PreventiveReplacement(planned=2, failure=7, discount=HALVING)
    # Failure at 5: planned at 0, 3 and 5 halves 2 so often; 6 and 90 pay 7/32 at the failure.
    assert_allclose(cost.cost([0, 3, 5, 6, 90], 5), [2, 2 / 8, 2 / 32, 7 / 32, 7 / 32], rtol=1e-12)


def test_corrected_form_fails_at_the_upper_end_of_the_band():
    cost = PreventiveReplacement(planned=2, failure=7, discount=HALVING)
    assert_allclose(cost.loss([4, 5, 6], 3, Band(0, 2)), [2 / 16, 2 / 32, 7 / 32], rtol=1e-12)


def test_printed_form_by_hand():
    cost = PreventiveReplacement(planned=2, failure=7, form="printed", discount=HALVING)
    # Everything is discounted at s = 3; on equality nothing is due, as printed.
    assert_allclose(cost.loss([0, 4, 5, 6], 3, Band(0, 2)), [2 / 8, 2 / 8, 0, 7 / 8], rtol=1e-12)
    assert_allclose(cost.cost([0, 2, 3, 4], 3), [2 / 8, 2 / 8, 0, 7 / 8], rtol=1e-12)


def test_printed_form_is_indifferent_to_waiting_and_the_corrected_one_rewards_it():
    observation, band = np.array([4.0, 6.0, 9.0]), Band(0, 1)
    plans = np.linspace(0, 4.9, 20)

    def mean_losses(form):
        cost = PreventiveReplacement(1, 5, form=form, discount=0.2)
        return np.array([cost.loss(plan, observation, band).mean() for plan in plans])

    assert np.ptp(mean_losses("printed")) < 1e-15
    assert (np.diff(mean_losses("corrected")) < 0).all()


def test_expected_corrected_cost_is_that_of_one_stage_of_age_replacement():
    planned, failure, rate, hazard, interval = 1.0, 5.0, 0.3, 0.2, 4.0
    # Midpoint rule over the quantiles of an exponential lifetime.
    lifetimes = -np.log1p(-(np.arange(200_000) + 0.5) / 200_000) / hazard
    cost = PreventiveReplacement(planned, failure, discount=rate)
    survives = exp(-(hazard + rate) * interval)
    expected = planned * survives + failure * hazard / (hazard + rate) * (1 - survives)
    assert cost.cost(interval, lifetimes).mean() == pytest.approx(expected, rel=1e-4)


def test_subgradient_of_the_corrected_form_is_that_of_its_piece():
    cost = PreventiveReplacement(planned=2, failure=7, discount=HALVING)
    step = 1e-6
    slope = (cost.cost(3 + step, 5) - cost.cost(3 - step, 5)) / (2 * step)
    assert_allclose(cost.subgradient(3, 5), slope, rtol=1e-6)
    # On the jump: the piece on the left, to which the value belongs; behind it: flat.
    assert_allclose(cost.subgradient([5, 6], 5), [-HALVING * 2 / 32, 0], rtol=1e-12)


def test_the_band_has_one_epsilon():
    with pytest.raises(InvalidInput) as caught:
        PreventiveReplacement(1, 5).loss([1, 2], 3, Band([0, 0.5], 1))
    assert str(caught.value) == (
        "low of the band must be 0 or equal to high for PreventiveReplacement "
        "(eq. pr has one ε, the band's high), got low 0.5 and high 1.0 in row 1."
    )


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"planned": 0}, "planned must be a positive number, got 0.0."),
        ({"failure": -5}, "failure must be a positive number, got -5.0."),
        ({"planned": 5}, "failure must be greater than planned, got failure 5.0 and planned 5.0."),
        ({"discount": 0}, "discount must be a positive number, got 0.0."),
        ({"form": "typo"}, "form must be 'corrected' or 'printed', got 'typo'."),
        (
            {"planned": [1, 2], "discount": [1, 1, 1]},
            "discount must be a number or have as many rows as planned, got 3 instead of 2.",
        ),
    ],
)
def test_bad_parameters_are_refused(parameters, sentence):
    with pytest.raises(InvalidInput) as caught:
        PreventiveReplacement(**{"planned": 1, "failure": 5, **parameters})
    assert str(caught.value) == sentence
