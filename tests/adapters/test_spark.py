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

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "spark.md"
ENDING = """
answers.to_pickle("answers.pkl")
everything.to_pickle("everything.pkl")
pd.concat(tables).to_pickle("sales.pkl")
planned.to_pickle("planned.pkl")
"""


@pytest.mark.slow
def test_the_page(tmp_path):
    pytest.importorskip("pyspark")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("there is no Java")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 5
    script = tmp_path / "page.py"
    script.write_text("".join(blocks) + ENDING, encoding="utf-8")
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
    sales, answers, everything, planned = (
        pd.read_pickle(tmp_path / f"{name}.pkl")
        for name in ("sales", "answers", "everything", "planned")
    )
    keys = ["store", "item", "day"]
    assert answers["error"].isna().all()
    assert len(answers) == 4 * 7
    cost = Newsvendor(underage=3, overage=1)
    for (store, item), group in sales.groupby(["store", "item"]):
        past, coming = group[group["day"] < 153], group[group["day"] >= 153]
        model = LinearDecision(cost, LatentBand(families="normal", random_state=0))
        model.fit(past[["price"]], past["sales"], censored=past["sold_out"])
        found = answers[(answers["store"] == store) & (answers["item"] == item)]
        expected = model.decide(coming[["price"]], step=6)
        np.testing.assert_array_equal(found.sort_values("day")["order"], expected)
        assert (expected > past["sales"].mean()).any()
    known = sales[sales["day"] < 153]
    common = LinearDecision(cost).fit(known[["price"]], known["sales"])
    expected = sales[keys].assign(order=common.decide(sales[["price"]], step=6))
    pd.testing.assert_frame_equal(
        everything.sort_values(keys, ignore_index=True),
        expected.sort_values(keys, ignore_index=True),
        check_dtype=False,
    )
    known = known.assign(date=pd.Timestamp("2024-01-01") + pd.to_timedelta(known["day"], "D"))
    known = known[["store", "item", "date", "sales", "sold_out"]]
    plan = OrderPlan(horizon=3, model="linear", schema=Schema(series=("store", "item")))
    plan.fit(known[known["store"] == "north"])
    keys = ["store", "item", "date"]
    expected = plan.decide(known).assign(date=lambda table: pd.to_datetime(table["date"]))
    pd.testing.assert_frame_equal(
        planned.assign(date=pd.to_datetime(planned["date"])).sort_values(keys, ignore_index=True),
        expected[[*keys, "order"]].sort_values(keys, ignore_index=True),
        check_dtype=False,
        check_exact=True,
    )
