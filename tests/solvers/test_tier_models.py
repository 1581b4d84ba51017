"""Tiers in trees and networks: exact leaves, and sums of nested bands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from small_networks import evaluated_rows

from unmet.arrays import Band
from unmet.costs import Cost, TieredCost
from unmet.solvers.losses import HingeLoss, Scratch, Units, loss_of

COST = TieredCost((4, 9), (1, 2, 5), underage_breaks=10, overage_breaks=(4, 12))
BY_ROW = TieredCost(
    (4, np.linspace(5, 9, 30)), (1, 3), underage_breaks=6, overage_breaks=(np.linspace(1, 8, 30),)
)
values = st.integers(-6, 6).map(float)


class Unknown(Cost):
    """The same cost without its tiers, so that only its values are known."""

    def __init__(self, inner):
        self.inner = inner

    def loss(self, decision, observation, band=None):
        return self.inner.loss(decision, observation, band)

    def subgradient(self, decision, observation, band=None):
        return self.inner.subgradient(decision, observation, band)

    def take(self, index):
        return type(self)(self.inner.take(index))


def objectives(costs, band, seen, share=None):
    """Closed form and values alone, in the same units."""
    scalings = [Units(12.0, 7.0, 1.5) for _ in costs]
    made = []
    for kind in (lambda cost: cost, Unknown):
        evaluated = [evaluated_rows(seen, kind(cost), band, share) for cost in costs]
        made.append(loss_of(evaluated, scalings, n_rows=seen.size))
    return made


@pytest.mark.parametrize("band", [None, Band(2, 6)])
def test_networks_see_the_same_cost_as_by_its_values(band):
    rng = np.random.default_rng(1)
    seen = rng.uniform(0, 40, 30)
    share = rng.uniform(0.5, 1.5, 30)
    costs = [COST, BY_ROW, TieredCost(3, 1)]
    tiers, unknown = objectives(costs, band, seen, share / share.sum())
    assert isinstance(tiers, HingeLoss)
    assert not isinstance(unknown, HingeLoss)
    decision = np.hstack([rng.normal(0, 2, (3, 30)), np.zeros((3, 1))])
    width = np.array([0.8, 0.3, 1.1])
    assert_allclose(tiers.value(decision), unknown.value(decision), rtol=1e-12)
    value, slope = tiers.smoothed(decision, width, Scratch())
    other, differences = unknown.smoothed(decision, width, Scratch())
    assert_allclose(value, other, rtol=2e-3)  # that one is a rule of eight nodes
    assert_allclose(slope[:, :30], differences[:, :30], rtol=1e-9, atol=1e-12)
    tiny = np.full(3, 1e-7)
    assert_allclose(
        tiers.slope(decision, tiny)[:, :30],
        unknown.slope(decision, tiny)[:, :30],
        rtol=1e-6,
        atol=1e-8,
    )
