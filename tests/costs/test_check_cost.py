"""check_cost: what keeps the contract passes, and every kind of fault is told in its sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pytest

from unmet.costs import (
    AgeReplacement,
    Cost,
    CustomPricing,
    HingeCost,
    Newsvendor,
    PreventiveReplacement,
    SquaredError,
    TieredCost,
    check_cost,
)
from unmet.costs.hinge import Tiers
from unmet.errors import InvalidInput

GOOD = [
    Newsvendor(3, 1),
    Newsvendor(np.linspace(1, 9, 40), 2),
    CustomPricing(4, 1),
    SquaredError(),
    TieredCost((4, 9), (1, 2, 5), underage_breaks=20, overage_breaks=(10, 30)),
    TieredCost(0, (0, 5), overage_breaks=10),
    TieredCost((np.linspace(1, 3, 40), 9), 1, underage_breaks=(np.linspace(5, 9, 40),)),
    PreventiveReplacement(1, 5, discount=0.03),
    PreventiveReplacement(1, 5),
    PreventiveReplacement(1, 5, form="printed", discount=0.03),
    AgeReplacement(1, 5, rate=0.05),
]


@pytest.mark.parametrize("cost", GOOD, ids=lambda cost: repr(cost)[:60])
@pytest.mark.parametrize("random_state", [7])
def test_costs_of_the_package_pass(cost, random_state):
    assert check_cost(cost, random_state=random_state) == []


@dataclass(frozen=True, eq=False)
class Good(Cost):
    """A newsvendor by hand; each cost below breaks one thing of it."""

    convex = True
    underage: float = 3.0
    overage: float = 1.0

    def loss(self, decision, observation, band=None):
        rows = self.align(decision, observation, band)
        short = np.maximum(rows.bottom - rows.decision, 0.0)
        excess = np.maximum(rows.decision - rows.top, 0.0)
        return self.underage * short + self.overage * excess

    def subgradient(self, decision, observation, band=None):
        rows = self.align(decision, observation, band)
        over, under = rows.decision > rows.top, rows.decision < rows.bottom
        return self.overage * over - self.underage * under


def test_the_cost_by_hand_passes():
    assert check_cost(Good()) == []


class SignOfSlope(Good):
    def subgradient(self, decision, observation, band=None):
        return -super().subgradient(decision, observation, band)


class NotZeroOnKink(Good):
    def subgradient(self, decision, observation, band=None):
        rows = self.align(decision, observation, band)
        return np.where(rows.decision >= rows.top, self.overage, 0.0) - self.underage * (
            rows.decision < rows.bottom
        )


class FixedFee(Good):
    def loss(self, decision, observation, band=None):
        return super().loss(decision, observation, band) + 2.0


class Rebate(Good):
    def loss(self, decision, observation, band=None):
        return super().loss(decision, observation, band) - 0.5


class Capped(Good):
    def loss(self, decision, observation, band=None):
        return np.minimum(super().loss(decision, observation, band), 20.0)

    def subgradient(self, decision, observation, band=None):
        cheap = super().loss(decision, observation, band) < 20.0
        return cheap * super().subgradient(decision, observation, band)


class BandIgnored(Good):
    def loss(self, decision, observation, band=None):
        return super().loss(decision, observation)

    def subgradient(self, decision, observation, band=None):
        return super().subgradient(decision, observation)


class SumOfRows(Good):
    def loss(self, decision, observation, band=None):
        return float(super().loss(decision, observation, band).sum())


class SeesOtherRows(Good):
    def loss(self, decision, observation, band=None):
        loss = super().loss(decision, observation, band)
        return loss / max(np.mean(loss), 1.0)


class Forgetful(Good):
    def loss(self, decision, observation, band=None):
        noise = 1e-3 * np.random.default_rng().random()
        return super().loss(decision, observation, band) * (1.0 + noise)


class NotFinite(Good):
    def loss(self, decision, observation, band=None):
        loss = super().loss(decision, observation, band)
        return np.where(loss > 50.0, np.inf, loss)


class OtherCost(Good):
    def cost(self, decision, truth):
        return 2.0 * super().cost(decision, truth)


class TakesNothing(Good):
    def take(self, index):
        return type(self)(self.underage, 2.0 * np.asarray(self.overage))


class Raises(Good):
    def loss(self, decision, observation, band=None):
        if band is not None:
            raise RuntimeError("no band here.")
        return super().loss(decision, observation, band)


@dataclass(frozen=True, eq=False)
class OtherLoss(HingeCost):
    @property
    def tiers(self):
        return Tiers(below=3, above=(1, 4), above_breaks=10)

    def loss(self, decision, observation, band=None):
        return Newsvendor(3, 1).loss(decision, observation, band)

    def subgradient(self, decision, observation, band=None):
        return Newsvendor(3, 1).subgradient(decision, observation, band)


@dataclass(frozen=True, eq=False)
class WrongCurve(Cost):
    """Smooth, with two valleys, and a factor of the derivative forgotten."""

    def loss(self, decision, observation, band=None):
        rows = self.align(decision, observation, band)
        distance = rows.decision - np.clip(rows.decision, rows.bottom, rows.top)
        return 1.0 - np.cos(0.1 * distance)

    def subgradient(self, decision, observation, band=None):
        rows = self.align(decision, observation, band)
        distance = rows.decision - np.clip(rows.decision, rows.bottom, rows.top)
        return np.sin(0.1 * distance)


BAND = "loss must be 0 in the band and outside what its nearer end costs as the truth, got "
WRONG = [
    (
        SignOfSlope,
        r"subgradient must be the slope of loss, got 3 instead of -3 at decision .* and ",
    ),
    (NotZeroOnKink, r"subgradient must be 0 where 0 is one, .* got 1 at decision "),
    (FixedFee, r"a convex loss must be 0 at the truth, got 2 at truth "),
    (Rebate, r"a convex loss must not be negative, got -0\.\d+ at decision .* and truth "),
    (Capped, r"a loss that claims to be convex must lie below its chords, got 20 instead of "),
    (BandIgnored, BAND + r".* instead of 0 at decision .*, low .* and high "),
    (SumOfRows, r"loss must return an array of shape \(120,\) .* got shape \(\) of float\.$"),
    (SeesOtherRows, r"loss of a row must not depend on other rows, .* alone and .* among 120"),
    (Forgetful, r"loss must take"),
    (NotFinite, r"loss and subgradient must be finite, got inf at decision .* and truth "),
    (OtherCost, BAND),
    (TakesNothing, r"loss of a row must not depend"),
    (Raises, r"loss, subgradient and take must work on .* got RuntimeError: no band here\."),
    (OtherLoss, r"the hinges that the exact solvers train on must sum to loss, got "),
    (WrongCurve, r"subgradient must be the slope of loss, got .* instead of .* at decision "),
]


@pytest.mark.parametrize(
    ("kind", "sentence"), WRONG, ids=lambda value: getattr(value, "__name__", "")
)
def test_every_fault_is_told(kind, sentence):
    found = check_cost(kind())
    assert any(re.match(sentence, each) for each in found), found
    assert all(each.endswith(".") and "\n" not in each for each in found)


def test_a_fault_of_one_row_is_found():
    @dataclass(frozen=True, eq=False)
    class OneRow(Good):
        def subgradient(self, decision, observation, band=None):
            slope = Good.subgradient(self, decision, observation, band)
            return np.where(np.asarray(observation) == 7.0, 2.0 * slope, slope)

    truth = np.append(np.linspace(0, 50, 99), 7.0)
    assert any("truth 7" in each for each in check_cost(OneRow(), truth=truth))


def test_what_is_not_claimed_is_no_fault():
    class Gain(Rebate):
        convex = False

    class OwnBand(BandIgnored):
        own_band = True

    for kind in (Gain, OwnBand):
        assert check_cost(kind()) == []


def test_bad_input():
    with pytest.raises(InvalidInput, match=r"^cost must derive from unmet.costs.Cost, got 3\.$"):
        check_cost(3)
    with pytest.raises(InvalidInput, match=r"^truth must have at least one row, got none\.$"):
        check_cost(Good(), truth=[])
    with pytest.raises(InvalidInput, match=r"^truth must have as many rows as the cost, got 2"):
        check_cost(Newsvendor([1, 2, 3], 1), truth=[1.0, 2.0])
    with pytest.raises(InvalidInput, match=r"^truth must be a finite number, got nan"):
        check_cost(Good(), truth=[np.nan])
    with pytest.raises(
        InvalidInput, match=r"^random_state must be a whole number of at least 0, got None\.$"
    ):
        check_cost(Good(), random_state=None)
