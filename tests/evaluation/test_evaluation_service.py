"""Service levels, fill rates and the distance to the optimum."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import mean_squared_error

from unmet.costs import Newsvendor
from unmet.evaluation import (
    fill_rate,
    lost_sales,
    realised_cost,
    rmse_to_optimum,
    service_level,
)

units = st.lists(st.integers(-3, 9), min_size=1, max_size=40)


def test_rmse_against_scikit_learn():
    rng = np.random.default_rng(2)
    optimum, decision, weight = rng.normal(size=(2, 50)).tolist() + [rng.uniform(0, 1, 50)]
    expected = math.sqrt(mean_squared_error(optimum, decision, sample_weight=weight))
    assert rmse_to_optimum(decision, optimum, sample_weight=weight) == pytest.approx(expected)


def test_decision_equal_to_the_truth_covers_it():
    assert service_level([4], [4]) == 1.0
    assert service_level([4], [4], strict=True) == 0.0
    assert service_level([0, 0, 0], [0, 0, 7]) == pytest.approx(2 / 3)


@given(truth=units, level=st.sampled_from([0.1, 0.3, 0.65, 0.9]))
def test_the_quantile_reaches_its_level_even_with_ties(truth, level):
    """The smallest order that covers a share α: one step below it does not."""
    order = float(np.quantile(truth, level, method="inverted_cdf"))
    reached = service_level(order, truth)
    below = service_level(order - 1e-9, truth)
    assert below < level + 1e-12
    assert reached >= level - 1e-12


def test_fill_rate_counts_units_and_service_level_counts_rows():
    decision, truth = [100, 1], [100, 2]
    assert fill_rate(decision, truth) == pytest.approx(101 / 102)
    assert service_level(decision, truth) == 0.5
    assert lost_sales(decision, truth) == 0.5


@given(truth=units, decision=st.floats(-5, 12))
def test_fill_rate_and_lost_sales_tell_the_same_story(truth, decision):
    demanded = sum(max(d, 0) for d in truth)
    assume(demanded > 0)
    rate = fill_rate(decision, truth)
    assert 0 <= rate <= 1
    assert lost_sales(decision, truth) * len(truth) == pytest.approx((1 - rate) * demanded)


MEASURES = {
    "cost": lambda y, d, w: realised_cost(Newsvendor(5, 2), y, d, sample_weight=w),
    "rmse": lambda y, d, w: rmse_to_optimum(y, d, sample_weight=w),
    "service": lambda y, d, w: service_level(y, d, sample_weight=w),
    "fill": lambda y, d, w: fill_rate(y, d, sample_weight=w),
    "lost": lambda y, d, w: lost_sales(y, d, sample_weight=w),
}


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_integer_weights_equal_repeated_rows(measure):
    rng = np.random.default_rng(8)
    truth, decision = rng.poisson(5, 30).astype(float), rng.poisson(5, 30).astype(float)
    weight = rng.integers(0, 4, 30)
    repeated = measure(np.repeat(decision, weight), np.repeat(truth, weight), None)
    assert measure(decision, truth, weight) == pytest.approx(repeated, rel=1e-12)
    assert measure(decision, truth, 0.01 * weight) == pytest.approx(repeated, rel=1e-12)
