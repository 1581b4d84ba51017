"""What every cost promises: rows, copies, refusals; and what a user's own cost gets for it."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from unmet.arrays import Band, common_rows
from unmet.costs import (
    Cost,
    CustomPricing,
    Newsvendor,
    PiecewiseLinearCost,
    PreventiveReplacement,
    SquaredError,
    TieredCost,
)
from unmet.costs.hinge import Slopes
from unmet.errors import InvalidInput

COSTS = [
    Newsvendor(3, 1),
    Newsvendor([3, 4, 5], 1),
    CustomPricing(4, 1),
    CustomPricing(4, [1, 2, 3]),
    SquaredError(),
    TieredCost((4, 9), (1, 2, 5), underage_breaks=20, overage_breaks=(10, 30)),
    TieredCost(4, (1, [2, 3, 4]), overage_breaks=([5, 6, 7],)),
    PreventiveReplacement(1, 5),
    PreventiveReplacement([1, 2, 3], 5, form="printed", discount=[0.1, 0.2, 0.3]),
]
everywhere = pytest.mark.parametrize("cost", COSTS, ids=repr)


@everywhere
def test_copies_are_equal_and_work(cost):
    for made in (copy.deepcopy(cost), pickle.loads(pickle.dumps(cost)), clone(cost, safe=False)):
        assert made == cost
        assert hash(made) == hash(cost)
        assert_array_equal(made.cost(2, [1, 2, 3]), cost.cost(2, [1, 2, 3]))


@everywhere
def test_a_cost_answers_scikit_learns_protocol(cost):
    assert cost.get_params() == cost.get_params(deep=False) == cost.parameters()
    assert clone(cost) == cost
    assert cost.set_params() == cost
    with pytest.raises(InvalidInput, match=rf"^{type(cost).__name__} has the parameters .*'no'\.$"):
        cost.set_params(no=1)


def test_set_params_gives_another_cost_and_keeps_this_one():
    cost = Newsvendor(3, 1)
    assert cost.set_params(underage=[4, 5]) == Newsvendor([4, 5], 1)
    assert cost == Newsvendor(3, 1)
    printed = PreventiveReplacement(1, 5).set_params(form="printed")
    assert printed == PreventiveReplacement(1, 5, form="printed")
    tiers = TieredCost(4, (1, 2), overage_breaks=10)
    assert tiers.set_params(overage=(1, 3)) == TieredCost(4, (1, 3), overage_breaks=10)
    with pytest.raises(InvalidInput, match=r"^overage must be a positive number, got -1"):
        cost.set_params(overage=-1)


def test_a_cost_does_not_change():
    underage = np.array([3.0, 4.0])
    cost = Newsvendor(underage, 1)
    underage[0] = 100.0
    assert cost == Newsvendor([3, 4], 1)
    with pytest.raises(AttributeError, match="does not change"):
        cost.overage = 2.0


@everywhere
def test_results_have_one_entry_per_row(cost):
    rows = common_rows(cost.parameters()) or 1
    assert cost.cost(1, 2).shape == (rows,)
    for decision, observation in ((1, [1, 2, 3]), ([1, 2, 3], 2), ([1, 2, 3], [3, 2, 1])):
        assert cost.loss(decision, observation, Band(0, 1)).shape == (3,)
        assert cost.subgradient(decision, observation, Band(0, [1, 0, 2])).shape == (3,)


@everywhere
@pytest.mark.parametrize(
    ("decision", "truth", "sentence"),
    [
        ([1, 2, 3], [1, 2], "truth must be a number or have as many rows as decision, got 2 inst"),
        ([1, np.nan, 3], 2, "decision must be a finite number, got nan in row 1."),
        (2, [1, 2, np.inf], "truth must be a finite number, got inf in row 2."),
        ([[1], [2], [3]], 2, "decision must be a number or a 1-D array of numbers, got shape (3, "),
        (2, ["a", "b", "c"], "truth must be a number or a 1-D array of numbers, got 'a' in row 0."),
    ],
)
def test_bad_decisions_and_truths_are_refused(cost, decision, truth, sentence):
    with pytest.raises(InvalidInput) as caught:
        cost.cost(decision, truth)
    assert str(caught.value).startswith(sentence)


def test_parameters_must_fit_the_rows():
    with pytest.raises(InvalidInput) as caught:
        Newsvendor([3, 4], 1).cost([1, 2, 3], 2)
    assert str(caught.value) == (
        "underage must be a number or have as many rows as decision, got 2 instead of 3."
    )


def test_with_rows_replaces_what_is_given():
    cost = Newsvendor(3, 1)
    assert cost.with_rows(underage=[4, 5], overage=None) == Newsvendor([4, 5], 1)
    assert cost.with_rows(underage=4, overage=2) == Newsvendor(4, 2)
    assert cost.with_rows(underage=None) == cost
    assert cost == Newsvendor(3, 1)


@dataclass(frozen=True, eq=False)
class Waste(PiecewiseLinearCost):
    """A user's cost: margin lost below; price and disposal above."""

    margin: float
    price: float
    disposal: object = 0.0

    @property
    def slopes(self):
        return Slopes(below=self.margin, above=self.price + self.disposal)


def test_a_piecewise_linear_cost_of_ones_own_needs_only_slopes():
    own, known, band = Waste(3, 2, 0.5), Newsvendor(3, 2.5), Band(1, 2)
    decision = np.linspace(0, 20, 33)
    assert own.level == known.level
    assert_array_equal(own.cost(decision, 10), known.cost(decision, 10))
    assert_array_equal(own.loss(decision, 10, band), known.loss(decision, 10, band))
    assert_array_equal(own.subgradient(decision, 10, band), known.subgradient(decision, 10, band))
    assert_array_equal(own.kinks(10, band).position, known.kinks(10, band).position)


class Quartic(Cost):
    """A user's smooth cost, without the dataclass decorator."""

    def __init__(self, scale):
        self.scale = scale

    def loss(self, decision, observation, band=None):
        rows = self.align(decision, observation, band)
        nearest = np.clip(rows.decision, rows.bottom, rows.top)
        return ((rows.decision - nearest) / self.scale) ** 4

    def subgradient(self, decision, observation, band=None):
        rows = self.align(decision, observation, band)
        nearest = np.clip(rows.decision, rows.bottom, rows.top)
        return 4 * ((rows.decision - nearest) / self.scale) ** 3 / self.scale


def test_a_plain_class_is_a_cost_too():
    cost = Quartic(np.array([1.0, 2.0]))
    assert_allclose(cost.cost([3, 3], 1), [16.0, 1.0])
    assert_allclose(cost.loss([3, 3], 1, Band(0, 1)), [1.0, 1 / 16])
    assert cost.take(np.array([0])) == Quartic(np.array([1.0]))
    assert cost != Quartic(np.array([1.0, 3.0]))
    assert cost.with_rows(scale=np.array([5.0, 6.0])) == Quartic(np.array([5.0, 6.0]))
    assert repr(cost) == "Quartic(scale=[1.0, 2.0])"


def test_a_cost_without_loss_and_subgradient_cannot_be_made():
    class Half(Cost):
        def loss(self, decision, observation, band=None):
            return np.zeros(1)

    with pytest.raises(TypeError, match="subgradient"):
        Half()
