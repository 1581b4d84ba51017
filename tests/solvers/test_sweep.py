"""The sweep: exact optima of costs with a jump, by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_networks import evaluated_rows

from unmet import Band, LinearDecision
from unmet.costs import AgeReplacement, PreventiveReplacement
from unmet.solvers.descent.jumps import best_shift

COSTS = [
    AgeReplacement(1, 6, rate=0.7),
    PreventiveReplacement(1, 6, discount=0.2),
    PreventiveReplacement(1, 6, form="printed", discount=0.2),
]


@given(
    st.lists(st.floats(0.1, 20.0), min_size=1, max_size=12),
    st.sampled_from(COSTS),
    st.sampled_from([None, Band(0.0, 1.5)]),
)
def test_no_constant_decision_is_cheaper(times, cost, band):
    """At every time, just below it and just above it, and between them."""
    observation = np.array(times)
    found = best_shift(evaluated_rows(observation, cost, band), np.zeros(observation.size))
    top = observation + (0.0 if band is None else 1.5)
    grid = np.concatenate([top, top - 1e-9, top + 1e-9, np.linspace(-1, 25, 20)])
    brute = min(cost.loss(each, observation, band).mean() for each in grid)
    assert cost.loss(found, observation, band).mean() <= brute + 1e-12


def test_rounding_does_not_make_a_decision_late():
    """0.1 + 0.2 is above 0.3: the row that decides must stay in time all the same."""
    cost = AgeReplacement(1, 100, rate=1.0)
    base, observation = np.array([0.1, 0.7, 1.1]), np.array([0.3, 0.9, 1.3])
    shift = best_shift(evaluated_rows(observation, cost), base)
    assert shift == pytest.approx(0.2)
    assert (base + shift <= observation).all()


def _groups(cost, n=90):
    generator = np.random.default_rng(1)
    group = generator.integers(0, 3, n)
    times = np.array([4.0, 8.0, 15.0])[group] * generator.weibull(3, n)
    return group, times


@pytest.mark.parametrize("cost", COSTS[:2])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_groups_are_solved_one_by_one(cost, fit_intercept):
    group, times = _groups(cost)
    dummies = np.eye(3)[group]
    model = LinearDecision(cost, fit_intercept=fit_intercept).fit(dummies, times)
    some = [evaluated_rows(times[group == g], cost) for g in range(3)]
    expected = [best_shift(each, np.zeros(each.n_rows)) for each in some]
    assert model.predict(np.eye(3)) == pytest.approx(expected, rel=1e-7)
    mean = np.mean([cost.loss(expected[g], t)[0] for g, t in zip(group, times, strict=True)])
    assert model.solution_.objective == pytest.approx(mean, rel=1e-6)
    assert model.solution_.gap == 0.0
    assert model.solution_.method == "sweep"


def test_integer_weights_equal_repeated_rows():
    cost = COSTS[1]
    _, times = _groups(cost)
    weight = np.random.default_rng(0).integers(0, 4, times.size)
    nothing = np.zeros((times.size, 1))
    weighted = LinearDecision(cost).fit(nothing, times, sample_weight=weight)
    repeated = LinearDecision(cost).fit(np.zeros((weight.sum(), 1)), np.repeat(times, weight))
    assert weighted.intercept_ == repeated.intercept_
    assert weighted.coef_ == [0.0]
