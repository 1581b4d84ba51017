"""The suite: what is hidden and from whom, shares by hand, and methods where they are right."""

import json
import sys

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks.suite import run
from benchmarks.suite.data import DATASETS, Series, exposure
from benchmarks.suite.methods import METHODS, same_weekdays
from benchmarks.suite.page import Results
from benchmarks.suite.scenarios import KNOWN, Panel, Rows, Scenario, sold

DATES = np.datetime64("2024-01-01") + np.arange(70)


def gaussian_rows(n=2000, seed=0):
    """Demand 50 + 8 x + 6 z, half of the training rows cut by an order of the mean."""
    generator = np.random.default_rng(seed)
    x, z = generator.normal(size=(2, 2 * n))
    demand = 50 + 8 * x + 6 * z
    order = 50 + 8 * x + 3 * generator.normal(size=2 * n)
    train, test = slice(0, n), slice(n, None)
    return Rows(
        X=x[train, None],
        sales=np.minimum(demand, order)[train],
        dates=np.datetime64("2020-01-01") + np.arange(n),
        series=np.zeros(n, dtype=int),
        X_test=x[test, None],
        truth=demand[test],
        censored=(demand > order)[train],
        demand=demand[train],
    )


def test_order_policies_by_hand():
    demand = np.tile([10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0], 10)
    demand[35] = 13.0  # a Monday after four of 10
    demand[42] = 9.0
    series = Series("a", DATES, demand)
    sales, flags = sold(series, "A")
    assert (sales[:28] == demand[:28]).all()
    assert sales[35] == 10.0
    assert flags[35]
    assert sales[42] == 9.0
    assert not flags[42]
    sales, flags = sold(series, "B")  # 1.15 × 10, rounded up
    assert sales[35] == 12.0
    assert flags[35]
    assert not flags[42]
    sales, flags = sold(series, "none")
    assert (sales == demand).all()
    assert not flags.any()


def test_demand_from_the_hours_in_stock():
    sold_by_hour = np.zeros((4, 24))
    sold_by_hour[:, 8:12] = 5.0
    out = np.zeros((4, 24))
    sold_by_hour[3, 10:12], out[3, 10:12] = 0.0, 1.0  # empty in the second half
    share, demand = exposure(sold_by_hour, out, np.array([True, True, False, False]))
    np.testing.assert_allclose(share, [1, 1, 1, 0.5])
    np.testing.assert_allclose(demand[:3], 20.0)
    assert demand[3] == pytest.approx(20.0)  # 10 sold in half of the usual day, mean 20


@pytest.mark.parametrize("known", KNOWN)
def test_only_what_is_known_is_told(known):
    told = gaussian_rows(200).told(known)
    assert (told.censored is not None) == (known == "flags")
    assert (told.demand is not None) == (known == "truth")
    assert (told.rate is not None) == known.startswith("rate")
    if known == "rate +.15":
        assert told.rate == pytest.approx(gaussian_rows(200).censored.mean() + 0.15)


def test_methods_reach_the_quantile_where_they_are_right():
    rows, level = gaussian_rows(), 0.85
    best = 50 + 8 * rows.X_test[:, 0] + 6 * norm.ppf(level)
    for name, known in (
        ("Tobit", "flags"),
        ("unmet, distribution", "flags"),
        ("linear on demand", "truth"),
    ):
        decided = METHODS["rows"][name].decide(rows.told(known), level)
        assert np.abs(decided - best).mean() < 0.8, name
    sales = METHODS["rows"]["linear on sales"].decide(rows.told("nothing"), level)
    assert (best - sales).mean() > 2.0


@pytest.mark.parametrize("method", METHODS["rows"].values(), ids=lambda method: method.name)
def test_every_method_decides_for_every_row(method):
    if method.missing():
        pytest.skip(method.missing())
    rows = gaussian_rows(300)
    for known in method.knows:
        told = rows.told(known)
        low, high = (np.asarray(method.decide(told, level)) for level in (0.65, 0.95))
        assert low.shape == rows.truth.shape
        assert np.isfinite(low).all()
        assert (high > low).mean() > 0.9


def test_same_weekdays_by_hand():
    sales = np.arange(70.0)[None]
    panel = Panel(
        names=("a",),
        dates=DATES,
        sales=sales,
        coming=np.zeros((1, 7)),
        censored=np.zeros((1, 70), dtype=bool),
        demand=sales,
    )
    orders = same_weekdays(panel.told("nothing"), 0.95)
    np.testing.assert_allclose(orders[0], np.arange(63.0, 70.0))  # the largest is last week's


def results_of(costs):
    """One scenario of two models and one level."""
    keys = {
        "sales": "bakery A | nothing | linear on sales",
        "truth": "bakery A | truth | linear on demand",
        "tobit": "bakery A | flags | Tobit",
    }
    return Results(
        {
            "setting": {},
            "scenarios": {"bakery A": {"units": 2, "weight": [10, 30], "true": [0.5, 0.5]}},
            "cells": {keys[name]: {"cost": [[each] for each in some]} for name, some in costs},
        }
    )


def test_share_recovered_and_its_standard_error():
    costs = (("sales", (4.0, 2.0)), ("truth", (2.0, 1.0)), ("tobit", (3.0, 1.0)))
    share, error = results_of(costs).recovered("bakery A", "flags", "Tobit")
    # sums over models: 100, 50 and 60; without the first 60, 30, 30; without the second 40, 20, 30
    assert share == pytest.approx(80.0)
    assert error == pytest.approx(np.sqrt(0.5 * ((100 - 75) ** 2 + (50 - 75) ** 2)))


def test_no_share_where_there_is_nothing_to_recover():
    costs = (("sales", (2.0, 1.01)), ("truth", (2.0, 1.0)), ("tobit", (3.0, 1.0)))
    assert results_of(costs).recovered("bakery A", "flags", "Tobit") is None


def test_a_set_whose_file_is_absent_is_left_out(monkeypatch, tmp_path):
    monkeypatch.setenv("UNMET_DATA", str(tmp_path))
    assert "m5_foods_daily.parquet" in DATASETS["M5 foods"].missing()
    assert DATASETS["bakery"].missing() == ""


def test_a_run_goes_on_and_keeps_what_is_measured(monkeypatch, tmp_path):
    path = tmp_path / "suite.json"
    words = ["suite", "--quick", "--sets", "restaurant A", "--known", "flags"]
    monkeypatch.setattr(sys, "argv", [*words, "--methods", "Tobit", "--output", str(path)])
    run.main()
    first = json.loads(path.read_text(encoding="utf-8"))
    assert "restaurant A | flags | Tobit" in first["cells"]
    assert "Tobit" in path.with_suffix(".md").read_text(encoding="utf-8")
    cell = first["cells"]["restaurant A | flags | Tobit"]
    assert np.shape(cell["cost"]) == (3, 4)
    monkeypatch.setattr(run, "measure", lambda cell, quick: {"cost": [[1.0]], "seconds": 0.0})
    run.main()
    assert json.loads(path.read_text(encoding="utf-8"))["cells"] == first["cells"]


def test_failures_get_the_decisions_of_the_linear_model_on_sales(monkeypatch):
    def fail(rows, level):
        raise RuntimeError("no")

    broken = run.Method("Tobit", fail, ("flags",))
    monkeypatch.setitem(METHODS["rows"], "Tobit", broken)
    scenario = Scenario("rows", "restaurant", "A")
    found = run.measure(run.Cell(scenario, "flags", "Tobit"), quick=True)
    plain = run.measure(run.Cell(scenario, "nothing", "linear on sales"), quick=True)
    assert found["cost"] == plain["cost"]
    assert len(found["failed"]) == 12
