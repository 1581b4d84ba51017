"""Smoothed costs: the mean over a box, whatever is known of the cost, and its derivative."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import fixed_quad
from small_networks import evaluated_rows

from unmet import Band, CustomPricing, Newsvendor, PreventiveReplacement, SquaredError
from unmet.costs import Cost
from unmet.solvers.losses import HingeLoss, Scratch, SquaredLoss, Units, ValueLoss, loss_of

S = np.array([12.0, 30.0, 30.5, 41.0, 9.0])
SHARE = np.array([0.1, 0.3, 0.2, 0.15, 0.25])


@dataclass(frozen=True, eq=False)
class Unknown(Cost):
    """A newsvendor that says nothing of its slopes."""

    underage: float
    overage: float

    def loss(self, decision, observation, band=None):
        return Newsvendor(self.underage, self.overage).loss(decision, observation, band)

    def subgradient(self, decision, observation, band=None):
        raise AssertionError("training does not need it")


def _objective(evaluated, scaling="standard"):
    units = Units.of(evaluated, scaling)
    return loss_of([evaluated], [units]), units


def _box_means(evaluated, decision, width):
    """Mean cost of each row over its box, integrated from kink (or jump) to kink."""
    low, high = (0.0, 0.0) if evaluated.band is None else (evaluated.band.low, evaluated.band.high)
    ends = np.stack(
        np.broadcast_arrays(evaluated.observation + low, evaluated.observation + high), 1
    )
    means = []
    for row, y in enumerate(decision):
        one = np.array([row])
        cost = evaluated.cost.take(one)
        band = None if evaluated.band is None else evaluated.band.take(one)
        box = y - width / 2, y + width / 2
        stops = np.unique([*box, *np.clip(ends[row], *box)])

        def costs(points, cost=cost, seen=evaluated.observation[row], band=band):
            return np.array([cost.loss(at, seen, band)[0] for at in points])

        areas = [fixed_quad(costs, *piece, n=6)[0] for piece in pairwise(stops)]
        means.append(sum(areas) / width)
    return np.array(means)


BANDS = [None, Band(0, 0), Band(3, 3), Band(1, 6), Band([0, 1, 2, 0, 5], [4, 1, 2, 9, 5.5])]
COSTS = [
    Newsvendor.at_level(0.9),
    Newsvendor(1, 7),
    Newsvendor([1, 2, 3, 4, 5], [2.0, 0.1, 1, 1, 8]),
]


@pytest.mark.parametrize("band", BANDS)
@pytest.mark.parametrize(("cost", "share"), [*zip(COSTS, [None, SHARE, None], strict=True)])
def test_a_newsvendor_becomes_its_mean_over_a_box(cost, band, share):
    evaluated = evaluated_rows(S, cost, band, share)
    objective, units = _objective(evaluated)
    assert isinstance(objective, HingeLoss)
    scale = units.unit * units.steepness
    weight = np.full(S.size, 1 / S.size) if share is None else share
    for width in (0.03, 2.0):
        for shift in (-3.0, 0.2, 6.0):
            decision = S + shift
            scaled = ((decision - units.centre) / units.unit)[np.newaxis]
            value, slope = objective.smoothed(scaled, np.array([width]), Scratch())
            expected = _box_means(evaluated, decision, width * units.unit) @ weight / scale
            assert value[0] == pytest.approx(expected, rel=1e-8, abs=1e-10)
            ends = [
                evaluated.cost.loss(decision + sign * width * units.unit / 2, S, band)
                for sign in (1, -1)
            ]
            difference = weight * (ends[0] - ends[1]) / (width * scale)
            assert slope[0] == pytest.approx(difference, rel=1e-8, abs=1e-12)


def test_several_networks_have_their_own_widths_costs_and_bands():
    rows = [
        evaluated_rows(S, Newsvendor.at_level(0.9), None, None),
        evaluated_rows(S, Newsvendor(1, 7), Band(1, 6), SHARE),
        evaluated_rows(S, COSTS[2], BANDS[-1], None),
    ]
    units = [Units.of(each, "min-max") for each in rows]
    together = loss_of(rows, units)
    decision = np.random.default_rng(0).normal(0.5, 0.4, size=(3, S.size))
    width = np.array([0.1, 0.5, 0.3])
    value, slope = together.smoothed(decision, width, Scratch())
    plain = together.value(decision)
    for place, each in enumerate(rows):
        alone = loss_of([each], [units[place]])
        one = slice(place, place + 1)
        expected = alone.smoothed(decision[one], width[one], Scratch())
        assert value[place] == pytest.approx(expected[0][0], rel=1e-12)
        assert slope[place] == pytest.approx(expected[1][0], rel=1e-12)
        chosen = units[place].centre + units[place].unit * decision[place]
        cost = each.mean_cost(chosen) / (units[place].unit * units[place].steepness)
        assert plain[place] == pytest.approx(cost, rel=1e-12)


@pytest.mark.parametrize("band", BANDS)
def test_squared_error_is_left_as_it_is(band):
    evaluated = evaluated_rows(S, SquaredError(), band, SHARE)
    objective, units = _objective(evaluated)
    assert isinstance(objective, SquaredLoss)
    decision = S + np.array([-4, 0.5, 2, 7, 5.2])
    scaled = ((decision - units.centre) / units.unit)[np.newaxis]
    value, slope = objective.smoothed(scaled, np.array([0.7]), Scratch())
    square = units.unit**2
    assert value[0] * square == pytest.approx(SquaredError().loss(decision, S, band) @ SHARE)
    expected = SHARE * SquaredError().subgradient(decision, S, band)
    assert slope[0] * square / units.unit == pytest.approx(expected)


@pytest.mark.parametrize(
    "cost",
    [
        Unknown(5.0, 1.0),
        PreventiveReplacement(planned=1, failure=6, discount=0.05),
        PreventiveReplacement(planned=1, failure=6, discount=0.05, form="printed"),
        CustomPricing(4, 1),
    ],
)
@pytest.mark.parametrize("high", [0.0, 2.5])
def test_slopes_are_differences_over_the_box_also_across_jumps(cost, high):
    """The derivative of a mean over [y − w/2, y + w/2] is what its ends differ by, over w."""
    band = Band(high if isinstance(cost, PreventiveReplacement) else 0.0, high)
    evaluated = evaluated_rows(S, cost, band, SHARE)
    objective, units = _objective(evaluated)
    assert isinstance(objective, ValueLoss) == (not isinstance(cost, CustomPricing))
    width, step = 0.3, 1e-4
    wide = width * units.unit
    jumped = 0
    for shift in (-3.0, high - 0.4 * wide, high + 0.3 * wide, 6.0):
        decision = S + shift
        scaled = ((decision - units.centre) / units.unit)[np.newaxis]
        _, slope = objective.smoothed(scaled, np.array([width]), Scratch())
        if isinstance(objective, ValueLoss):
            assert np.array_equal(objective.slope(scaled, np.array([width])), slope)
        up = _box_means(evaluated, decision + step, wide)
        down = _box_means(evaluated, decision - step, wide)
        expected = SHARE * (up - down) / (2 * step) / units.steepness
        assert slope[0] == pytest.approx(expected, rel=1e-4, abs=1e-8)
        jumped += abs(shift - high) < wide / 2
    assert jumped == 2


def test_values_of_an_unknown_cost_are_near_the_mean_over_the_box():
    """Exact only between kinks: eight points see a kink in the box to a few hundredths."""
    unknown, known = (
        evaluated_rows(S, cost(5.0, 1.0), Band(1, 4), SHARE) for cost in (Unknown, Newsvendor)
    )
    objective, units = _objective(unknown)
    closed = loss_of([known], [units])
    for shift in np.linspace(-4, 8, 25):
        scaled = ((S + shift - units.centre) / units.unit)[np.newaxis]
        value, slope = objective.smoothed(scaled, np.array([0.25]), Scratch())
        expected = closed.smoothed(scaled, np.array([0.25]), Scratch())
        assert value[0] == pytest.approx(expected[0][0], rel=0.02, abs=2e-3)
        assert slope == pytest.approx(expected[1], rel=1e-9, abs=1e-13)


def test_steepness_makes_costs_comparable_whatever_their_units():
    for factor in (1e-9, 1.0, 1e7):
        for cost in (Newsvendor(3 * factor, factor), Unknown(3 * factor, factor)):
            evaluated = evaluated_rows(S * 100, cost, None, SHARE)
            assert Units.of(evaluated, "standard").steepness / factor == pytest.approx(3, rel=0.4)
    flat = PreventiveReplacement(planned=1, failure=2, discount=1e3)
    assert Units.of(evaluated_rows(S, flat), "standard").steepness == 1.0
