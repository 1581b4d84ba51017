"""Realised cost and the shares made of it, against scikit-learn and against theorems."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import mean_pinball_loss

from unmet.costs import Newsvendor
from unmet.evaluation import cost_saving, gap_closed, realised_cost

money = st.floats(0.01, 1e6)


@pytest.mark.parametrize("level", [0.05, 0.3, 0.85])
def test_normalised_newsvendor_cost_is_the_pinball_loss(level):
    rng = np.random.default_rng(1)
    truth, decision, weight = rng.gamma(2, 30, 80), rng.normal(60, 20, 80), rng.uniform(0, 2, 80)
    cost = Newsvendor.at_level(level)
    assert realised_cost(cost, decision, truth) == pytest.approx(
        mean_pinball_loss(truth, decision, alpha=level), rel=1e-12
    )
    assert realised_cost(cost, decision, truth, sample_weight=weight) == pytest.approx(
        mean_pinball_loss(truth, decision, alpha=level, sample_weight=weight), rel=1e-12
    )


def test_missing_units_cost_underage_and_left_over_units_cost_overage():
    cost = Newsvendor(underage=7, overage=2)
    assert realised_cost(cost, [10], [13]) == 21.0
    assert realised_cost(cost, [13], [10]) == 6.0


def test_cost_saving():
    assert cost_saving(9.0, 12.0) == pytest.approx(0.25)
    assert cost_saving(15.0, 12.0) == pytest.approx(-0.25)
    assert math.isnan(cost_saving(1.0, 0.0))


def test_gap_closed_reproduces_the_shares_of_the_notes():
    # cost of IEO, of the published ε, of the true quantile, at α = .65 and .95
    assert gap_closed(18.39, 18.53, 17.39) == pytest.approx(0.12, abs=0.005)
    assert gap_closed(16.79, 18.55, 4.90) == pytest.approx(0.13, abs=0.005)


@given(floor=money, gap=money, share=st.floats(-2, 2), scale=st.floats(0.1, 100), shift=money)
def test_gap_closed_knows_neither_currency_nor_fixed_costs(floor, gap, share, scale, shift):
    ignoring = floor + gap
    method = ignoring - share * gap
    assume(gap > 1e-6 * (ignoring + shift / scale))  # else no digits are left to compare
    moved = gap_closed(scale * method + shift, scale * ignoring + shift, scale * floor + shift)
    assert moved == pytest.approx(share, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("ignoring", "floor"),
    [(10.0, 10.0), (10.0, 10.0 - 1e-12), (9.0, 10.0), (0.0, 0.0)],
    ids=["equal", "within tolerance", "below the floor", "both nothing"],
)
def test_no_gap_to_close_is_nan(ignoring, floor):
    assert math.isnan(gap_closed(5.0, ignoring, floor))
