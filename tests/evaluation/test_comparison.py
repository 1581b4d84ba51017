"""The summary table says what the single measures say."""

from __future__ import annotations

import numpy as np
import pytest

from unmet.costs import Newsvendor
from unmet.errors import InvalidInput
from unmet.evaluation import (
    fill_rate,
    lost_sales,
    realised_cost,
    rmse_to_optimum,
    service_level,
    summary,
)

COST = Newsvendor(underage=4, overage=1)
TRUTH = np.array([10.0, 20.0, 30.0, 44.0])
OPTIMUM = np.array([12.0, 24.0, 33.0, 40.0])
DECISIONS = {"IEO": TRUTH * 0.7, "ours": OPTIMUM - 1, "constant": 26.0}
WEIGHT = [1, 2, 0, 5]


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_every_row_agrees_with_the_single_measures(weight):
    table = summary(COST, DECISIONS, TRUTH, optimum=OPTIMUM, baseline="IEO", sample_weight=weight)
    assert [row.name for row in table] == list(DECISIONS)
    assert len(table) == 3
    ieo = realised_cost(COST, DECISIONS["IEO"], TRUTH, sample_weight=weight)
    best = realised_cost(COST, OPTIMUM, TRUTH, sample_weight=weight)
    for row in table:
        decision = DECISIONS[row.name]
        assert row.cost == realised_cost(COST, decision, TRUTH, sample_weight=weight)
        assert row.service_level == service_level(decision, TRUTH, sample_weight=weight)
        assert row.fill_rate == fill_rate(decision, TRUTH, sample_weight=weight)
        assert row.lost_sales == lost_sales(decision, TRUTH, sample_weight=weight)
        assert row.rmse == rmse_to_optimum(decision, OPTIMUM, sample_weight=weight)
        assert row.saving == pytest.approx(1 - row.cost / ieo)
        assert row.cost == pytest.approx(ieo - row.gap_closed * (ieo - best))


def test_bad_input():
    with pytest.raises(InvalidInput, match="at least one method"):
        summary(COST, {}, TRUTH)
    with pytest.raises(InvalidInput, match=r"^baseline must be one of .*'IEO'.*, got 'EAS'\.$"):
        summary(COST, DECISIONS, TRUTH, baseline="EAS")
    with pytest.raises(InvalidInput, match=r"^floor must be a finite number"):
        summary(COST, DECISIONS, TRUTH, baseline="IEO", floor=np.nan)
    with pytest.raises(InvalidInput, match=r"^decision must .*4 rows"):
        summary(COST, {"ours": [1, 2]}, TRUTH)
