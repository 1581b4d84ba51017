"""Lemmas CostBound and lipschitz: against a search over all decisions and observations."""

import numpy as np
import pytest

from paper.theory import cost_supremum, lipschitz_constant, printed_cost_bound
from unmet import Band, CustomPricing, Newsvendor, SquaredError
from unmet.errors import InvalidInput, Unsupported


def largest_by_search(cost, band, top, least=0.0, most=None):
    decisions = np.linspace(least, top if most is None else most, 241)
    seen = np.linspace(0, top, 241)
    grid = [axis.ravel() for axis in np.meshgrid(decisions, seen)]
    return cost.loss(*grid, band).max()


@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.45, 0.55, 0.9])
@pytest.mark.parametrize("band", [None, Band(0, 8), Band(5, 20), Band(3, 500)])
def test_the_supremum_is_what_a_search_finds(alpha, band):
    cost = Newsvendor.at_level(alpha)
    found = largest_by_search(cost, band, top=120.0)
    assert cost_supremum(alpha, band, largest_truth=120.0) == pytest.approx(found)
    assert cost_supremum(cost, band, largest_truth=120) == pytest.approx(found)
    assert printed_cost_bound(alpha, band, largest_truth=120.0) >= found - 1e-9


def test_as_printed_it_is_attained_only_where_underage_is_steeper():
    band = Band(5, 20)
    for alpha, attained in [(0.55, True), (0.9, True), (0.45, False), (0.1, False)]:
        exact = cost_supremum(alpha, band, largest_truth=100)
        printed = printed_cost_bound(alpha, band, largest_truth=100)
        assert (exact == pytest.approx(printed)) is attained
    assert printed_cost_bound(0.3, band, largest_truth=100) == pytest.approx(73.5)
    assert cost_supremum(0.3, band, largest_truth=100) == pytest.approx(56.0)


def test_decisions_beyond_the_truth():
    cost, band = Newsvendor(2, 3), Band(1, 4)
    found = largest_by_search(cost, band, 50.0, least=-30.0, most=200.0)
    assert cost_supremum(cost, band, largest_truth=50, decisions=(-30, 200)) == pytest.approx(found)
    with pytest.raises(InvalidInput, match="the smaller first, got 3 and 2"):
        cost_supremum(cost, band, largest_truth=50, decisions=(3, 2))


def test_money_and_other_costs():
    assert cost_supremum(Newsvendor(30, 10), largest_truth=7) == 210
    assert cost_supremum(CustomPricing(5, 2), Band(0, 1), largest_truth=7) == 35
    assert lipschitz_constant(Newsvendor(3, 11)) == 11
    assert lipschitz_constant(0.2) == 0.8


def test_of_costs_and_bands_per_row_the_worst_counts():
    cost = Newsvendor([1, 9, 2], [4, 1, 30])
    band = Band([0, 2, 1], [6, 7, 5])
    assert lipschitz_constant(cost) == 30
    bound = cost_supremum(cost, band, largest_truth=10)
    rows = [
        largest_by_search(
            Newsvendor(cost.underage[i], cost.overage[i]), Band(band.low[i], band.high[i]), 10.0
        )
        for i in range(3)
    ]
    assert max(rows) <= bound
    assert bound == 30 * (10 - 5)


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5, float("nan")])
def test_a_level_outside_is_refused(alpha):
    with pytest.raises(InvalidInput, match="alpha must be"):
        cost_supremum(alpha, largest_truth=1)


def test_other_refusals():
    with pytest.raises(Unsupported, match="cost with two slopes"):
        lipschitz_constant(SquaredError())
    with pytest.raises(InvalidInput, match="largest_truth must be a finite positive number, got 0"):
        cost_supremum(0.3, largest_truth=0)
    with pytest.raises(InvalidInput, match="band must be a Band or None"):
        cost_supremum(0.3, (1, 2), largest_truth=1)
