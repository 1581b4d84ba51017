"""What a reader is told: the stake, the answer, and what a report is made of."""

import dataclasses

import polars as pl
import pytest
from sales_table import sales_table

from unmet.planning import decision_table
from unmet.planning.decision_report import Comparison, MethodCost
from unmet.planning.plan_options import plan_from_options
from unmet.report import report_data
from unmet.report.sentences import answer

BASE = {"observed": "sales", "features": ["price", "kind"], "underage": 3, "overage": 1}


@pytest.fixture(scope="module")
def table():
    return sales_table(50)


@pytest.fixture(scope="module")
def fitted(table):
    return plan_from_options(**BASE, date="date", series=["store"], censored_column="out").fit(
        table
    )


@pytest.fixture(scope="module")
def decided(table, fitted):
    return decision_table(table, fitted, fitted.decide(table))


COMPARISON = Comparison(
    "truth",
    (MethodCost("ieo", "ignoring", 10.0, 5.0), MethodCost("plan", "this", 8.0, 6.0, saving=0.2)),
    40,
)


def test_the_stake_is_that_of_the_diagnosis(fitted):
    per_row, low, high = report_data(fitted)["stake"]
    assert per_row == fitted.diagnosis_.stake
    assert low <= per_row <= high


def test_columns_of_the_decisions(table, fitted, decided):
    names = ["date", "store", "price", "kind", "ignoring", "decision", "outside_data"]
    assert decided.columns == names
    assert decided.height == table.height
    plain = plan_from_options(**BASE, band="none").fit(table)
    found = decision_table(table, plain, plain.decide(table))
    assert found.columns == ["price", "kind", "decision"]


def test_the_answer(fitted, decided):
    said = answer(fitted, decided, COMPARISON)
    more = (decided["decision"] - decided["ignoring"]).mean()
    assert said[0] == (
        f"150 orders, on average {decided['decision'].mean():,.1f}, {more:,.1f} more than if sales "
        "are taken as demand."
    )
    assert said[1] == f"{fitted.diagnosis_.share_censored:.0%} of the rows sold out (counted)."
    assert said[2] == (
        "In a backtest on 40 rows, orders cost 20.0% less than if sales are taken as demand "
        "(evaluated on the true values)."
    )
    assert answer(fitted, None, None) == [said[1], fitted.choice_.why]


def test_a_comparison_that_went_badly_is_told_as_well(fitted):
    worse = dataclasses.replace(
        COMPARISON, basis="estimate", methods=(MethodCost("plan", "this", 12.0, 6.0, saving=-0.2),)
    )
    assert "cost 20.0% more than" in answer(fitted, None, worse)[-2]
    assert "evaluated on estimated demand" in answer(fitted, None, worse)[-2]


def test_the_content_of_a_report(table, fitted, decided):
    long = pl.concat([decided] * 2)
    found = report_data(fitted, decisions=long, notes=["a", "a"], command="unmet decide …")
    assert found["decisions"].height == 300
    assert found["decisions"].equals(long)
    assert found["n_rows"] == 300
    assert found["notes"] == [*fitted.notes_, "a"]
    assert fitted.choice_.why in found["answer"]
    assert (found["title"], found["problem"]) == ("Order quantities", "newsvendor")
    assert found["diagnosis"] is fitted.diagnosis_
    assert found["command"] == "unmet decide …"
    assert found["inputs"]["flags"] == "out"
    assert found["inputs"]["underage"] == "3"
    assert all(isinstance(value, str) and value for value in found["inputs"].values())
    assert report_data(fitted)["n_rows"] == fitted.n_rows_ == 150
    assert report_data(fitted, comparison=COMPARISON)["comparison"] is COMPARISON
    by_column = plan_from_options(
        "sales", ["price"], underage_column="margin", overage=1, band="none"
    ).fit(table)
    shown = report_data(by_column, title="Mine")
    assert shown["inputs"]["underage"] == "column margin"
    assert (shown["title"], shown["level"], shown["stake"]) == ("Mine", None, None)
