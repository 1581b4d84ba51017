"""Minimum order quantities with lots and capacities, against every decision that is allowed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmet import Band, LinearDecision, Newsvendor, SquaredError
from unmet.errors import InvalidInput
from unmet.estimators.lots import to_lots


def _shift_cost(spread, cost, band=None, seed=0):
    """What a shift of all decisions costs: as a model keeps it, and computed anew."""
    s = np.random.default_rng(seed).gamma(1.5, spread, size=61)
    model = LinearDecision(cost, band).fit(np.zeros((61, 1)), s)
    best = float(model.predict(np.zeros((1, 1)))[0])

    def mean_cost(shift):
        return float(cost.loss(np.full(61, best + shift), s, band).mean())

    return model._shift_cost, mean_cost


@given(
    seed=st.integers(0, 10**6),
    level=st.sampled_from([0.04, 0.3, 0.8, 0.97]),
    step=st.sampled_from([None, 1.0, 2.5, 12.0]),
    lower=st.sampled_from([None, 0.0, 0.0, 7.0]),
    upper=st.sampled_from([None, 26.0, 60.0]),
    minimum=st.floats(0, 24),
    squared=st.booleans(),
)
def test_the_decision_is_the_cheapest_of_all_that_are_allowed(
    seed, level, step, lower, upper, minimum, squared
):
    cost = SquaredError() if squared else Newsvendor.at_level(level)
    band = None if squared or seed % 2 else Band(0, 3)
    shift_cost, mean_cost = _shift_cost(6.0, cost, band, seed)
    predicted = np.random.default_rng(seed).uniform(-10, 70, 8)
    found = to_lots(predicted, shift_cost, step, lower, upper, minimum)
    ceiling = 120.0 if upper is None else upper
    # fractions: the ends of what is allowed and the prediction itself; the cost is convex
    lots = np.arange(0, 1000) * step if step else np.append([0, minimum, lower or 0, ceiling], 0)
    for y, chosen in zip(predicted, found, strict=True):
        allowed = np.append(lots, y) if step is None else lots
        allowed = allowed[(allowed == 0) | (allowed >= minimum - 1e-9)]
        allowed = allowed[(allowed >= (lower or 0) - 1e-9) & (allowed <= ceiling + 1e-9)]
        assert np.abs(allowed - chosen).min() < 1e-9
        cheapest = min(mean_cost(one - y) for one in allowed)
        assert mean_cost(chosen - y) <= cheapest * (1 + 1e-6) + 1e-7


def test_rows_have_their_own_lots_minimum_and_capacity():
    model = LinearDecision(Newsvendor(3, 1)).fit(np.zeros((3, 1)), [20.0, 20, 20])
    X = np.zeros((6, 1))
    found = model.decide(
        X,
        step=[1, 6, 6, 12, 5, 1],
        minimum=[25, 30, 30, 0, 90, 21],
        upper=[100, 29, 30, 23, 100, 20.5],
    )
    # up by 5 costs 5, down by 20 costs 60; no room; just room; no minimum; up by 70 costs more;
    # a minimum above the capacity
    assert found.tolist() == [25, 0, 30, 12, 0, 0]


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"minimum": -1}, "minimum must be a non-negative number, got -1.0."),
        (
            {"minimum": 30, "lower": 5, "upper": 20},
            "minimum must leave a decision up to upper where lower is above 0, "
            "got minimum 30.0 and upper 20.0 in row 0.",
        ),
        (
            {"minimum": 5, "lower": None, "upper": -3},
            "lower and upper must have a multiple of step between them, "
            "got lower 0.0 and upper -3.0 in row 0.",
        ),
    ],
)
def test_bad_minimum(keywords, sentence):
    model = LinearDecision(Newsvendor(3, 1)).fit(np.zeros((3, 1)), [20.0, 20, 20])
    with pytest.raises(InvalidInput) as caught:
        model.decide(np.zeros((1, 1)), **keywords)
    assert str(caught.value) == sentence
