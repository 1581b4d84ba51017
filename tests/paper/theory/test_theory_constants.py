"""Lemmas CostBound and lipschitz: against a search over all decisions and observations."""

import numpy as np
import pytest

from paper.theory import cost_supremum, printed_cost_bound
from unmet import Band, Newsvendor
from unmet.errors import InvalidInput


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


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5, float("nan")])
def test_a_level_outside_is_refused(alpha):
    with pytest.raises(InvalidInput, match="alpha must be"):
        cost_supremum(alpha, largest_truth=1)
