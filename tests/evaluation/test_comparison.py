"""The summary table says what the single measures say."""

from __future__ import annotations

import math

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


def test_a_floor_given_by_hand_wins_over_the_optimum():
    table = summary(COST, DECISIONS, TRUTH, optimum=OPTIMUM, baseline="IEO", floor=0.0)
    assert table["ours"].gap_closed == pytest.approx(table["ours"].saving)


def test_what_was_not_given_is_left_out():
    table = summary(COST, DECISIONS, TRUTH)
    row = table["ours"]
    assert (row.saving, row.gap_closed, row.rmse) == (None, None, None)
    assert list(table.columns()) == ["method", "cost", "service level", "fill rate", "lost sales"]


def test_a_measure_without_meaning_prints_as_a_dash():
    table = summary(COST, {"all": TRUTH, "none": 0.0}, TRUTH, baseline="all")
    assert math.isnan(table["none"].saving)
    assert "saving" not in table.columns()
    partly = summary(COST, DECISIONS, TRUTH, baseline="IEO", floor=1.0)
    assert partly.columns()["gap closed"][0] == "0.0%"


def test_text_is_aligned():
    table = summary(COST, DECISIONS, TRUTH, optimum=OPTIMUM, baseline="IEO")
    lines = str(table).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[0].startswith("method ")
    assert lines[2].startswith("IEO ")


def test_unknown_name_is_a_key_error():
    with pytest.raises(KeyError, match="EAS"):
        summary(COST, DECISIONS, TRUTH)["EAS"]


def test_bad_input():
    with pytest.raises(InvalidInput, match="at least one method"):
        summary(COST, {}, TRUTH)
    with pytest.raises(InvalidInput, match=r"^baseline must be one of .*'IEO'.*, got 'EAS'\.$"):
        summary(COST, DECISIONS, TRUTH, baseline="EAS")
    with pytest.raises(InvalidInput, match=r"^floor must be a finite number"):
        summary(COST, DECISIONS, TRUTH, baseline="IEO", floor=np.nan)
    with pytest.raises(InvalidInput, match=r"^decision must .*4 rows"):
        summary(COST, {"ours": [1, 2]}, TRUTH)
