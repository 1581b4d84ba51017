"""Examples of pages that want packages which `make test` does not install, run as they stand."""

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unmet import LatentBand, LinearDecision, Newsvendor
from unmet.adapters import decide_from_quantiles
from unmet.planning import uncensor

# other packages warn of themselves
pytestmark = pytest.mark.filterwarnings("default:::(?!unmet)")

GUIDES = Path(__file__).parents[2] / "docs" / "guides"


def run(page, heading, names):
    """Run the plain Python below a heading, and give its names."""
    text = (GUIDES / page).read_text(encoding="utf-8")
    part = text.split(f"\n{heading}\n", 1)[1].split("\n## ", 1)[0]
    blocks = re.findall(r"```python\n(.*?)```", part, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    return names


def history():
    generator = np.random.default_rng(0)
    days, week = pd.date_range("2024-01-01", periods=140), np.arange(140) % 7
    demand = 100 + 8 * week + generator.normal(scale=15, size=140)
    stock = 104 + 8 * week + generator.normal(scale=4, size=140)
    return pd.DataFrame({"unique_id": "bread", "ds": days, "y": np.minimum(demand, stock)})


def forecasting_names():
    return {
        "history": history(),
        "cost": Newsvendor(underage=9, overage=1),
        "rule": LatentBand(sellout_rate=0.4, families="normal", random_state=0),
        "Newsvendor": Newsvendor,
        "decide_from_quantiles": decide_from_quantiles,
        "uncensor": uncensor,
    }


def test_skpro():
    pytest.importorskip("skpro")
    generator = np.random.default_rng(0)
    X = pd.DataFrame({"warmth": generator.uniform(size=500)})
    demand = 50 + 30 * X["warmth"] + generator.normal(scale=12, size=500)
    stock = 60 + 20 * X["warmth"]
    sales = pd.DataFrame({"sales": np.minimum(demand, stock)})
    sold_out = pd.DataFrame({"sales": (demand > stock).astype(int)})
    given = {"X": X, "demand": demand, "sales": sales, "sold_out": sold_out}
    found = run("deploy.md", "## skpro", given)
    assert 6 < found["score"] < 7.5  # 12 / √π = 6.8
    assert found["diagnosis"].share_censored == found["sold_out"]["sales"].mean()


@pytest.mark.slow
def test_torch():
    pytest.importorskip("torch")
    found = run("models.md", "## Train your own PyTorch module", {})
    test, cost = found["data"].test, found["cost"]
    plain = LinearDecision(cost).fit(found["X"], found["sales"])
    assert found["paid"] < 0.9 * -plain.score(test.features, test.demand)


def test_mlflow(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    mlflow.set_experiment("orders")
    X = pd.DataFrame({"warmth": np.linspace(0, 1, 50)})
    sales = pd.DataFrame({"sales": 30 + 20 * X["warmth"] + np.arange(50) % 7})
    found = run("deploy.md", "## MLflow", {"X": X, "sales": sales})
    expected = found["model"].decide(X, step=6)
    np.testing.assert_array_equal(found["orders"], expected)
    np.testing.assert_array_equal(found["again"].decide(X, step=6), expected)


def test_statsforecast():
    pytest.importorskip("statsforecast")
    found = run("forecasting.md", "## From quantile forecasts to decisions", forecasting_names())
    assert len(found["orders"]) == 28
    assert 0 < found["paid"] < 100


def test_a_group_of_which_spark_learns_nothing():
    text = (GUIDES / "scale.md").read_text(encoding="utf-8").split("\n## Spark\n", 1)[1]
    block = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]
    names = {}
    exec(block.partition("\nschema")[0], names)
    group = pd.DataFrame({"store": "a", "item": "b", "date": [1, 2], "price": [1.0, 2.0]})
    group = group.assign(sales=[3.0, None], sold_out=[False, None])
    answer = names["orders_of"](group)
    assert answer["date"].tolist() == [2]
    assert answer["order"].isna().all()
    assert "must have at least two rows" in answer["error"].iloc[0]
