"""Plans of panels in files: the same after loading, small, and refused where they are not ours."""

import datetime

import numpy as np
import polars as pl
import pytest

import unmet
from unmet import Newsvendor, OrderPlan
from unmet.report import render, report_data

pytestmark = pytest.mark.usefixtures("few_trees")

FIRST = datetime.date(2024, 1, 1)


def sales_table(n_series=6, n_days=40, flags=True):
    generator = np.random.default_rng(0)
    level = np.geomspace(4, 90, n_series)[:, None]
    demand = generator.poisson(level, (n_series, n_days))
    stock = np.ceil(level * generator.uniform(0.8, 1.5, (n_series, n_days)))
    rows = {
        "date": [FIRST + datetime.timedelta(day) for day in range(n_days)] * n_series,
        "store": np.repeat(np.arange(n_series) % 3, n_days),
        "item": np.repeat([f"00{place}" for place in range(n_series)], n_days),
        "sales": np.minimum(demand, stock).ravel() * 0.1,
        "price": generator.uniform(1, 2, n_series * n_days),
    }
    if flags:
        rows["sold_out"] = (demand >= stock).ravel()
    return pl.DataFrame(rows)


def coming():
    days = [FIRST + datetime.timedelta(40 + day) for day in range(3)]
    return pl.DataFrame({"date": days, "price": [1.5, 1.2, 1.9]})


def again(plan, tmp_path):
    return unmet.load(plan.save(tmp_path / "plan.unmet"))


@pytest.mark.parametrize(
    "model", ["seasonal", "linear", "distribution", "neural", "boosted", "blend"]
)
def test_the_same_bit_for_bit(model, tmp_path):
    if model in ("boosted", "blend"):
        pytest.importorskip("lightgbm")
    plan = OrderPlan(horizon=3, cost=Newsvendor(4, 1), model=model)
    plan.fit(sales_table(), future=coming())
    loaded = again(plan, tmp_path)
    assert type(loaded) is OrderPlan
    assert loaded.get_params() == plan.get_params()
    assert loaded.orders().equals(plan.orders())
    assert loaded.orders().schema == plan.orders().schema
    assert loaded.explain().equals(plan.explain())
    assert loaded.choice_ == plan.choice_
    assert loaded.schema_ == plan.schema_
    assert render(report_data(loaded)) == render(report_data(plan))
    np.testing.assert_array_equal(loaded.panel_.observed, plan.panel_.observed)
    np.testing.assert_array_equal(loaded.panel_.known["price"], plan.panel_.known["price"])


def test_a_contest_a_range_and_pandas(tmp_path):
    pd = pytest.importorskip("pandas")
    rows = sales_table(flags=False)
    table = pd.DataFrame({name: rows[name].to_list() for name in rows.columns})
    plan = OrderPlan(horizon=2, model=["seasonal", "linear"], sellout_rate=(0.1, 0.3)).fit(table)
    loaded = again(plan, tmp_path)
    assert isinstance(loaded.orders(), pd.DataFrame)
    pd.testing.assert_frame_equal(loaded.orders(), plan.orders())
    assert render(report_data(loaded)) == render(report_data(plan))


def test_one_series_and_a_plan_that_has_not_learned(tmp_path):
    plan = OrderPlan(horizon=2, model="linear").fit(sales_table(1).drop("store", "item", "price"))
    assert again(plan, tmp_path).orders().equals(plan.orders())
    assert again(OrderPlan(horizon=5), tmp_path).horizon == 5


def test_files_are_small(tmp_path):
    """90 days of 200 series are 18,000 numbers; features of them would be three million."""
    plan = OrderPlan(horizon=7, model="linear").fit(sales_table(200, 90))
    path = unmet.save(plan, tmp_path / "plan.unmet")
    assert path.stat().st_size < 18_000 * 8
