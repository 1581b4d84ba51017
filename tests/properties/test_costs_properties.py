"""Theorems about the costs, on random rows.

Numbers are eighths, so sums and products of them are exact and equality means equality; decisions
off the kinks are odd sixteenths.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from unmet.arrays import Band
from unmet.costs import (
    Cost,
    CustomPricing,
    Newsvendor,
    PiecewiseLinearCost,
    PreventiveReplacement,
    SquaredError,
)


def eighths(low: int, high: int) -> st.SearchStrategy[float]:
    return st.integers(8 * low, 8 * high).map(lambda count: count / 8)


def columns(entries: st.SearchStrategy[float], size: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(entries, min_size=size, max_size=size).map(np.array)


class Case(NamedTuple):
    cost: Cost
    band: Band | None
    decision: np.ndarray
    observation: np.ndarray


@st.composite
def numbers(draw, entries, size):
    """One number for all rows, or one for each."""
    return draw(entries | columns(entries, size))


@st.composite
def bands(draw, size, start):
    low, width = draw(numbers(start, size)), draw(numbers(eighths(0, 9), size))
    return draw(st.sampled_from([None, Band(low, low + width)]))


@st.composite
def piecewise_cases(draw):
    size = draw(st.integers(1, 6))
    slope = eighths(0, 9).map(lambda number: number + 0.125)
    below, above = draw(numbers(slope, size)), draw(numbers(slope, size))
    kind = draw(st.sampled_from([Newsvendor, CustomPricing]))
    start = st.just(0.0) if kind is CustomPricing else eighths(0, 5)
    band = draw(bands(size, start))
    rows = [draw(columns(eighths(-30, 30), size)) for _ in range(2)]
    return Case(kind(below, above), band, *rows)


@st.composite
def squared_cases(draw):
    size = draw(st.integers(1, 6))
    rows = [draw(columns(eighths(-30, 30), size)) for _ in range(2)]
    return Case(SquaredError(), draw(bands(size, eighths(0, 5))), *rows)


@st.composite
def replacement_cases(draw):
    size = draw(st.integers(1, 6))
    planned, more = (draw(numbers(eighths(1, 9), size)) for _ in range(2))
    rate = draw(numbers(st.sampled_from([0.125, 0.25, 0.5]), size))
    form = draw(st.sampled_from(["corrected", "printed"]))
    cost = PreventiveReplacement(planned, planned + more, form=form, discount=rate)
    rows = [draw(columns(eighths(0, 12), size)) for _ in range(2)]
    return Case(cost, draw(bands(size, st.just(0.0))), *rows)


convex_cases = piecewise_cases() | squared_cases()
all_cases = convex_cases | replacement_cases()


@given(all_cases)
def test_without_a_band_the_loss_is_the_realised_cost(case):
    cost, _, decision, truth = case
    realised = cost.cost(decision, truth)
    assert_array_equal(cost.loss(decision, truth), realised)
    assert_array_equal(cost.loss(decision, truth, Band(0, 0)), realised)


@given(convex_cases)
def test_the_loss_is_the_cost_of_the_kindest_truth_in_the_band(case):
    cost, band, decision, observation = case
    low, high = (band or Band(0, 0)).rows(observation.size)
    steps = int(8 * (high - low).max())  # every eighth of the widest band
    shifts = np.arange(steps + 1)[:, np.newaxis] / 8
    truths = observation + np.minimum(low + shifts, high)
    kindest = np.min([cost.cost(decision, truth) for truth in truths], axis=0)
    assert_array_equal(cost.loss(decision, observation, band), kindest)


@given(convex_cases)
def test_the_loss_is_zero_in_the_band_and_nowhere_else(case):
    cost, band, decision, observation = case
    low, high = (band or Band(0, 0)).rows(observation.size)
    inside = (observation + low <= decision) & (decision <= observation + high)
    assert_array_equal(cost.loss(decision, observation, band) == 0, inside)
    assert_array_equal(cost.subgradient(decision, observation, band) == 0, inside)


@given(all_cases)
def test_the_subgradient_is_the_numerical_derivative_off_the_kinks(case):
    cost, band, decision, observation = case
    decision, step = decision + 1 / 16, 1 / 1024
    ends = [cost.loss(decision + shift, observation, band) for shift in (step, -step)]
    slope = (ends[0] - ends[1]) / (2 * step)
    subgradient = cost.subgradient(decision, observation, band)
    assert_allclose(subgradient, slope, rtol=1e-6, atol=1e-6)


@given(convex_cases, eighths(-30, 30))
def test_the_subgradient_supports_the_loss_from_below_also_on_kinks(case, other):
    cost, band, decision, observation = case
    tangent = cost.loss(decision, observation, band) + cost.subgradient(
        decision, observation, band
    ) * (other - decision)
    assert (cost.loss(other, observation, band) >= tangent).all()


@given(convex_cases, eighths(-30, 30), st.sampled_from([0.25, 0.5, 0.875]))
def test_the_loss_is_convex(case, other, share):
    cost, band, decision, observation = case
    between = share * decision + (1 - share) * other
    chord = share * cost.loss(decision, observation, band) + (1 - share) * cost.loss(
        other, observation, band
    )
    assert (cost.loss(between, observation, band) <= chord).all()


@given(convex_cases, eighths(-50, 50))
def test_moving_decision_and_observation_together_changes_nothing(case, shift):
    cost, band, decision, observation = case
    assert_array_equal(
        cost.loss(decision + shift, observation + shift, band),
        cost.loss(decision, observation, band),
    )


@given(piecewise_cases())
def test_the_kinks_add_up_to_the_loss(case):
    cost, band, decision, observation = case
    assert isinstance(cost, PiecewiseLinearCost)
    kinks = cost.kinks(observation, band)
    assert_array_equal(kinks.value(decision), cost.loss(decision, observation, band))


@given(all_cases)
def test_parameters_per_row_are_the_numbers_of_each_row(case):
    cost, band, decision, observation = case
    together = cost.loss(decision, observation, band)
    slopes = cost.subgradient(decision, observation, band)
    for row in range(decision.size):
        alone, here = cost.take(row), None if band is None else band.take(row)
        # NumPy's exp may differ in the last bit between one number and many.
        one = {"rtol": 1e-14, "atol": 0}
        assert_allclose(alone.loss(decision[row], observation[row], here), together[row], **one)
        assert_allclose(
            alone.subgradient(decision[row], observation[row], here), slopes[row], **one
        )


@given(piecewise_cases())
def test_level_is_the_normalised_slope_below(case):
    below, above = case.cost.slopes.rows(case.decision.size)
    normalised = Newsvendor(below, above).normalised()
    assert_allclose(case.cost.level * np.ones(below.size), normalised.underage, rtol=1e-15)
    assert_allclose(normalised.underage + normalised.overage, 1, rtol=1e-15)
    assert_allclose(normalised.underage / normalised.overage, below / above, rtol=1e-14)


levels = st.sampled_from([0.05, 0.15, 0.35, 0.65, 0.85, 0.95])


@given(st.lists(st.integers(-99, 99), min_size=1, max_size=25, unique=True), levels)
def test_the_cheapest_constant_is_the_quantile_of_numpy(values, alpha):
    truth = np.array(values, dtype=float)
    assume(abs(truth.size * alpha - round(truth.size * alpha)) > 1e-9)  # else it is an interval
    candidates = np.arange(-100.0, 101.0)
    pairs = np.repeat(candidates, truth.size), np.tile(truth, candidates.size)
    means = Newsvendor.at_level(alpha).cost(*pairs).reshape(-1, truth.size).mean(axis=1)
    assert candidates[np.argmin(means)] == np.quantile(truth, alpha, method="inverted_cdf")
