"""A report of a saved model shows what was computed when the model was saved."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import unmet
from unmet.censoring.latent import selection, stack
from unmet.cli.main import run
from unmet.planning import decision_table
from unmet.report import render, report_data

WORDS = ["--observed", "sales", "--features", "price", "--underage", "3", "--overage", "1"]


@pytest.fixture(scope="module")
def table():
    generator = np.random.default_rng(0)
    price = generator.normal(10, 2, 120).round(2)
    demand = 60 + 4 * price + generator.normal(0, 12, 120)
    stock = 105 + generator.normal(0, 8, 120)
    return pl.DataFrame({"price": price, "sales": np.minimum(demand, stock), "out": demand > stock})


@pytest.fixture
def count(monkeypatch):
    """Likelihood fits made since."""
    made = []

    def counting(climb):
        def counted(*given, **options):
            made.append(given)
            return climb(*given, **options)

        return counted

    monkeypatch.setattr(selection, "maximise", counting(selection.maximise))
    monkeypatch.setattr(
        stack, "_climb", counting(stack._climb)
    )  # of distributions with shrunken slopes
    return made


def test_decide_with_a_report_fits_nothing(table, count, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table.write_csv("sales.csv")
    assert run(["fit", "sales.csv", *WORDS, "--censored-column", "out", "-o", "model.unmet"]) == 0
    assert count
    count.clear()
    words = ["decide", "model.unmet", "sales.csv", "-o", "orders.csv", "--report", "report.html"]
    assert run(words) == 0
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert count == []


def test_the_report_of_a_loaded_plan_is_that_of_the_plan(table, count, tmp_path):
    plan = unmet.DecisionPlan("sales", ["price"], unmet.Newsvendor(3, 1)).fit(table)
    loaded = unmet.load(unmet.save(plan, tmp_path / "plan.unmet"))
    pages = []
    count.clear()
    for each in (plan, loaded):
        decisions = decision_table(table, each, each.decide(table))
        pages.append(render(report_data(each, decisions=decisions)))
    assert pages[0] == pages[1]
    assert count == []
