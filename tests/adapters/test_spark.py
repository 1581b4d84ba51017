"""The page on Spark, run as it stands, beside the same without Spark."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import unmet
from unmet import LatentBand, LinearDecision, Newsvendor, OrderPlan
from unmet.planning import Schema

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "scale.md"
START = """
import numpy as np
import pandas as pd
from pyspark.sql import SparkSession

from unmet import LinearDecision, Newsvendor, OrderPlan
from unmet.planning import Schema

spark = SparkSession.builder.appName("orders").getOrCreate()
generator = np.random.default_rng(0)
tables = []
for store in ("north", "south"):
    for item, level in (("bread", 60.0), ("rolls", 200.0)):
        price = generator.uniform(1, 3, size=160)
        demand = level - 8 * price + generator.normal(scale=9, size=160)
        stock = level - 12 + generator.normal(scale=4, size=160)
        table = pd.DataFrame({"store": store, "item": item, "price": price})
        table["date"] = pd.date_range("2024-01-01", periods=160).date
        table["sales"] = np.minimum(demand, stock).round()
        table["sold_out"] = demand >= stock
        table.loc[153:, "sales"] = None
        tables.append(table)
sales = spark.createDataFrame(pd.concat(tables))
known = pd.concat(tables).dropna(subset="sales")
common = LinearDecision(Newsvendor(underage=3, overage=1)).fit(known[["price"]], known["sales"])
common.save("model.unmet")
schema = Schema(series=("store", "item"))
some = known[known["store"] == "north"].drop(columns="price")
OrderPlan(horizon=3, model="linear", schema=schema).fit(some).save("plan.unmet")
"""
ENDING = """
orders.toPandas().to_pickle("orders.pkl")
decided.toPandas().to_pickle("decided.pkl")
planned.toPandas().to_pickle("planned.pkl")
pd.concat(tables).to_pickle("sales.pkl")
spark.stop()
"""


@pytest.mark.slow
def test_the_page(tmp_path):
    pytest.importorskip("pyspark")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("there is no Java")
    part = PAGE.read_text(encoding="utf-8").split("\n## Spark\n", 1)[1]
    blocks = re.findall(r"```python\n(.*?)```", part, re.DOTALL)
    assert len(blocks) == 2
    script = tmp_path / "page.py"
    script.write_text(START + "".join(blocks) + ENDING, encoding="utf-8")
    package = str(Path(unmet.__file__).parents[1])
    given = {
        "PYSPARK_PYTHON": sys.executable,  # workers must have what the driver has
        "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")])),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    run = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**os.environ, **given},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    # all of them were written by the script above
    sales, orders, decided, planned = (
        pd.read_pickle(tmp_path / f"{name}.pkl")
        for name in ("sales", "orders", "decided", "planned")
    )
    keys = ["store", "item", "date"]
    assert orders["error"].isna().all()
    assert len(orders) == 4 * 7
    cost = Newsvendor(underage=3, overage=1)
    for (store, item), group in sales.groupby(["store", "item"]):
        past, coming = group[group["sales"].notna()], group[group["sales"].isna()]
        model = LinearDecision(cost, LatentBand(families="normal", random_state=0))
        model.fit(past[["price"]], past["sales"], censored=past["sold_out"])
        found = orders[(orders["store"] == store) & (orders["item"] == item)]
        expected = model.decide(coming[["price"]], step=6)
        np.testing.assert_array_equal(found.sort_values("date")["order"], expected)
        assert (expected > past["sales"].mean()).any()
    known = sales.dropna(subset="sales")
    common = LinearDecision(cost).fit(known[["price"]], known["sales"])
    expected = sales[keys].assign(order=common.decide(sales[["price"]], step=6))
    pd.testing.assert_frame_equal(
        decided.sort_values(keys, ignore_index=True),
        expected.sort_values(keys, ignore_index=True),
        check_dtype=False,
    )
    known = known.drop(columns="price")
    plan = OrderPlan(horizon=3, model="linear", schema=Schema(series=("store", "item")))
    plan.fit(known[known["store"] == "north"])
    expected = plan.decide(known).assign(date=lambda table: pd.to_datetime(table["date"]))
    pd.testing.assert_frame_equal(
        planned.assign(date=pd.to_datetime(planned["date"])).sort_values(keys, ignore_index=True),
        expected[[*keys, "order"]].sort_values(keys, ignore_index=True),
        check_dtype=False,
        check_exact=True,
    )
