"""Plans that explain orders, in Python and on the command line."""

import json

import numpy as np
import polars as pl
import pytest
from sales_table import sales_table

import unmet
import unmet.planning.decision_plan as plan_module
from unmet.cli.main import run
from unmet.errors import InvalidInput, Unsupported
from unmet.estimators.explaining import PARTS
from unmet.planning.plan_options import plan_from_options

BASE = {"observed": "sales", "features": ["price", "kind"], "underage": 3, "overage": 1}
WORDS = ["--observed", "sales", "--features", "price,kind", "--underage", "3", "--overage", "1"]


@pytest.fixture(scope="module")
def table():
    return sales_table(40)


@pytest.fixture(scope="module")
def plan(table):
    return plan_from_options(**BASE, band=(2.0, 5.0)).fit(table, explain=True)


def test_parts_add_up_to_the_orders(table, plan, monkeypatch):
    found = plan.explain(table, 6, contributions=True)
    assert found.columns == [*PARTS, "decision", "mean_decision", "from_price", "from_kind"]
    decided = plan.decide(table, 6).decision
    np.testing.assert_array_equal(found["decision"], decided)
    np.testing.assert_allclose(found.select(pl.sum_horizontal(PARTS)).to_series(), decided)
    columns = pl.sum_horizontal("mean_decision", "from_price", "from_kind")
    before = decided - found["rounding"].to_numpy()
    np.testing.assert_allclose(found.select(columns).to_series(), before)
    assert (found["hidden_demand"] > 0).all()
    # what a column adds averages out over the rows that were learned from
    assert found["from_price"].mean() == pytest.approx(0.0, abs=1e-9)
    monkeypatch.setattr(plan_module, "_BLOCK", 7)
    steps = np.full(table.height, 6.0)
    assert plan.explain(table, steps, contributions=True).equals(found)


def test_a_plan_keeps_its_reasons(table, plan, tmp_path):
    again = unmet.load(unmet.save(plan, tmp_path / "plan.unmet"))
    assert again.explain(table).equals(plan.explain(table))
    assert again.explainer_.model is again.estimator_.model_  # written once


def test_refusals(table, plan):
    with pytest.raises(InvalidInput, match=r"^table must have at least one row, got none\.$"):
        plan.explain(table.head(0))
    plain = plan_from_options(**BASE, band="none").fit(table)
    with pytest.raises(InvalidInput, match=r"fitted with explain=True: fit it again\.$"):
        plain.explain(table)
    words = {"observed": "sales", "problem": "pricing", "features": ["price"], "band": "none"}
    with pytest.raises(Unsupported, match=r"^explain needs .* got problem 'pricing'\.$"):
        plan_from_options(**words, underage=1, overage=2).fit(table, explain=True)
    with pytest.raises(Unsupported, match=r"^explain needs .* one model .* got by=\['kind'\]\.$"):
        plan_from_options(**{**BASE, "features": ["price"]}, by=["kind"], band="none").fit(
            table, explain=True
        )


def test_the_command(table, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table.write_csv("sales.csv")
    table.drop("sales").write_csv("coming.csv")
    assert run(["fit", "sales.csv", *WORDS, "--band", "2,5", "--explain"]) == 0
    words = ["decide", "model.unmet", "coming.csv", "--explain", "-o", "orders.csv"]
    assert run(words) == 0
    orders = pl.read_csv("orders.csv")
    assert orders.columns[-6:] == [*PARTS, "decision", "outside_data"]
    summed = orders.select(pl.sum_horizontal(PARTS)).to_series()
    np.testing.assert_allclose(summed, orders["decision"], atol=3e-4)
    capsys.readouterr()
    assert run([*words, "--json"]) == 0
    parts = json.loads(capsys.readouterr().out)["parts"]
    assert parts["hidden_demand"] == pytest.approx(orders["hidden_demand"].sum())
    # names that are taken, and a model that has kept nothing
    table.drop("sales").with_columns(rounding=1).write_csv("taken.csv")
    for wrong in (
        ["decide", "model.unmet", "taken.csv", "--explain"],
        ["decide", "model.unmet", "coming.csv", "--explain", "--name", "rounding"],
    ):
        assert run(wrong) == 2
        assert "--explain adds a column 'rounding', which" in capsys.readouterr().err
    assert run(["fit", "sales.csv", *WORDS, "--band", "none"]) == 0
    capsys.readouterr()
    assert run(["decide", "model.unmet", "coming.csv", "--explain"]) == 2
    assert "a plan fitted with --explain" in capsys.readouterr().err
