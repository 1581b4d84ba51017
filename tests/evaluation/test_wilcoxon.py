"""Paired Wilcoxon tests against an enumeration of all signs, and the paper's way to print them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import rankdata

from unmet.evaluation.comparison import WilcoxonCell, wilcoxon_cell


def enumerated_p_value(difference):
    """Share of the 2ⁿ sign patterns whose positive rank sum is at least as extreme."""
    difference = np.asarray([d for d in difference if d != 0])
    rank = rankdata(np.abs(difference))
    observed = rank[difference > 0].sum()
    sums = np.array([np.dot(signs, rank) for signs in product((0, 1), repeat=len(rank))])
    return np.mean(sums >= observed - 1e-9)


@pytest.mark.parametrize(
    "difference",
    [
        [1.5, -0.2, 3.1, 0.7, 2.2, -1.1, 4.0, 0.3],
        [-1.5, 0.2, -3.1, -0.7, -2.2, 1.1, -4.0],
        [1, 1, 2, -2, 3, 0, 0, 5],
        [2.0, 2.0],
        [-1.0],
        [3.0, 0.0, 0.0],
    ],
    ids=["closer", "farther", "ties and zeros", "two", "one", "one and zeros"],
)
def test_p_value_against_all_sign_patterns(difference):
    optimum = np.linspace(20, 90, len(difference))
    decision = optimum - 8  # 8 away; the baseline is 8 + difference away, on the other side
    baseline = optimum + 8 + np.array(difference)
    cell = wilcoxon_cell(decision, baseline, optimum)
    assert cell.p_value == pytest.approx(enumerated_p_value(difference))


def test_sign_of_the_difference_says_who_is_closer():
    optimum = np.arange(100.0)
    closer = wilcoxon_cell(optimum + 1, optimum - 3, optimum)
    farther = wilcoxon_cell(optimum - 3, optimum + 1, optimum)
    assert closer.median == 2.0
    assert closer.stars == "***"
    assert farther.median == -2.0
    assert farther.p_value > 0.999


@pytest.mark.parametrize("n_rows", [1, 5, 400])
def test_equal_decisions_are_not_significant(n_rows):
    optimum = np.linspace(1, 2, n_rows)
    cell = wilcoxon_cell(optimum + 0.1, optimum + 0.1, optimum)
    assert cell == WilcoxonCell(0.0, 0.0, 0.0, 1.0)
    assert str(cell) == "0.00 (0.00, 0.00)"


def test_cells_of_the_paper():
    assert str(WilcoxonCell(1.27, 1.03, 1.59, 1e-9)) == "1.27 (1.03, 1.59)***"
    assert str(WilcoxonCell(1.04, -4.76, 3.87, 0.004)) == "1.04 (-4.76, 3.87)**"
    assert str(WilcoxonCell(1.0, -11.84, 1.17, 0.3)) == "1.00 (-11.84, 1.17)"
