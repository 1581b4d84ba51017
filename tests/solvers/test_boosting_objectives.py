"""Gradients and curvatures that trees are grown on."""

from __future__ import annotations

import numpy as np
import pytest
from small_networks import evaluated_rows

from unmet import Band, CustomPricing, Newsvendor, PreventiveReplacement, SquaredError
from unmet.errors import SolverFailure
from unmet.solvers.boosting import leaves


def read_objective(cost, observation, band, share):
    return leaves.read_objective(evaluated_rows(observation, cost, band, share))


@pytest.fixture
def rows():
    generator = np.random.default_rng(0)
    s = generator.gamma(2.0, 5.0, 80)
    y = s + generator.normal(scale=4.0, size=80)
    y[::7] = s[::7]
    return s, y, generator.uniform(0.5, 2.0, 80), generator


@pytest.mark.parametrize("banded", [False, True])
def test_gradients_are_weighted_subgradients_up_to_a_unit(rows, banded):
    s, y, weight, generator = rows
    high = generator.random(80) * 3
    band = Band(0.4 * high, high) if banded else None
    costs = [
        Newsvendor(9, 1),
        Newsvendor(generator.random(80) + 1, 0.5),
        Newsvendor(2.0, generator.random(80) + 1),
        CustomPricing(1, 4),
        SquaredError(),
    ]
    for cost in costs:
        for share in (None, weight):
            gradient = read_objective(cost, s, band, share).gradient(y)
            slope = cost.subgradient(y, s, band) * (1.0 if share is None else share)
            assert gradient.dtype == np.float32
            assert np.array_equal(gradient == 0, slope == 0)
            unit = gradient[slope != 0] / slope[slope != 0]
            assert unit == pytest.approx(unit[0], rel=1e-5)
            assert unit[0] > 0


def test_a_newsvendor_has_the_gradients_of_its_level():
    objective = read_objective(Newsvendor(36, 4), np.array([1.0, 2.0, 3.0]), None, None)
    assert objective.gradient(np.array([5.0, 2.0, 0.0])) == pytest.approx([0.1, 0.0, -0.9])
    assert objective.curvature.tolist() == [1.0, 1.0, 1.0]


def test_a_row_of_twice_the_costs_is_a_row_of_twice_the_weight(rows):
    s, y, weight, _ = rows
    dear = read_objective(Newsvendor(3 * weight, weight), s, Band(1, 2), None)
    heavy = read_objective(Newsvendor(3, 1), s, Band(1, 2), weight)
    assert dear.curvature == pytest.approx(weight / weight.mean())
    assert heavy.curvature == pytest.approx(weight / weight.mean())
    assert dear.gradient(y) == pytest.approx(heavy.gradient(y), rel=1e-5)
    assert dear.weight.mean() == pytest.approx(1.0)


def test_equal_weights_are_no_weights():
    for cost in (Newsvendor(3, 1), SquaredError()):
        objective = read_objective(cost, np.arange(7.0), None, np.full(7, 0.1))
        assert objective.weight.tolist() == [1.0] * 7  # although 0.1 / mean is not quite 1


@pytest.mark.parametrize(
    "cost",
    [Newsvendor(3, 1), SquaredError(), PreventiveReplacement(1.0, 4.0, discount=0.1)],
    ids=repr,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_mean_cost_is_that_of_the_cost(rows, cost, weighted):
    s, y, weight, generator = rows
    high = generator.random(80)
    low = high if isinstance(cost, PreventiveReplacement) else 0.5 * high
    for band in (None, Band(low, high)):
        share = weight if weighted else None
        expected = np.average(cost.loss(y, s, band), weights=share)
        objective = read_objective(cost, s, band, share)
        assert objective.mean_cost(y) == pytest.approx(expected, rel=1e-12)


def test_mean_cost_with_one_cost_per_row(rows):
    s, y, weight, _ = rows
    for cost in (Newsvendor(weight, 2.0), Newsvendor(2.0, weight)):
        for band in (None, Band(1.0, 3.0)):
            objective = read_objective(cost, s, band, None)
            assert objective.mean_cost(y) == pytest.approx(cost.loss(y, s, band).mean())


def test_a_difference_sees_jumps_that_a_derivative_does_not():
    cost = PreventiveReplacement(planned=1.0, failure=50.0, discount=0.01)
    failure = np.linspace(5.0, 15.0, 41)
    objective = read_objective(cost, failure, None, None)
    decision = failure - 1e-3  # just in time: a little more and the part fails
    assert (cost.subgradient(decision, failure) < 0).all()
    assert (objective.gradient(decision) > 0).all()
    assert (objective.gradient(failure - 4.0) < 0).all()


def test_a_cost_that_is_not_finite_is_named():
    cost = PreventiveReplacement(planned=1.0, failure=2.0, discount=1.0)
    objective = read_objective(cost, np.array([1.0, 2.0, 3.0]), None, None)
    with pytest.raises(SolverFailure, match=r"^The cost PreventiveReplacement must be finite"):
        objective.gradient(np.array([1.0, -1e4, 2.0]))
