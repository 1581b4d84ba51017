"""Plans of panels in files: the same after loading, small, and refused where they are not ours."""

import datetime
import json
import os
import zipfile

import numpy as np
import polars as pl
import pytest

import unmet
from unmet import OrderPlan
from unmet.errors import InvalidInput
from unmet.persistence.states import Reader, Writer, compact
from unmet.planning import order_report_data
from unmet.report import render

pytest.importorskip("skops")
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
    plan = OrderPlan(horizon=3, underage=4, overage=1, model=model)
    plan.fit(sales_table(), future=coming())
    loaded = again(plan, tmp_path)
    assert type(loaded) is OrderPlan
    assert loaded.get_params() == plan.get_params()
    assert loaded.orders().equals(plan.orders())
    assert loaded.orders().schema == plan.orders().schema
    assert loaded.explain().equals(plan.explain())
    assert loaded.choice_ == plan.choice_
    assert loaded.schema_ == plan.schema_
    assert render(order_report_data(loaded)) == render(order_report_data(plan))
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
    assert render(order_report_data(loaded)) == render(order_report_data(plan))


def test_one_series_and_a_plan_that_has_not_learned(tmp_path):
    plan = OrderPlan(horizon=2, model="linear").fit(sales_table(1).drop("store", "item", "price"))
    assert again(plan, tmp_path).orders().equals(plan.orders())
    assert again(OrderPlan(horizon=5), tmp_path).horizon == 5


def test_files_are_small(tmp_path):
    """90 days of 200 series are 18,000 numbers; features of them would be three million."""
    plan = OrderPlan(horizon=7, model="linear").fit(sales_table(200, 90))
    path = unmet.save(plan, tmp_path / "plan.unmet")
    assert path.stat().st_size < 18_000 * 8


def test_tables_of_every_type():
    table = pl.DataFrame(
        {
            "text": ["b", None, "a"],
            "whole": pl.Series([1, 2**40, None], dtype=pl.Int64),
            "small": pl.Series([1, 2, 3], dtype=pl.UInt8),
            "number": [0.1, None, float("nan")],
            "flag": [True, None, False],
            "day": [FIRST, None, FIRST],
            "kind": pl.Series(["x", "y", "x"], dtype=pl.Categorical),
            "enum": pl.Series(["z", None, "x"], dtype=pl.Enum(["z", "x", "unused"])),
            "none": pl.Series([None, None, None], dtype=pl.String),
        }
    )
    for each in (table, table.clear()):
        writer = Writer()
        state = writer.write(each)
        found = Reader(bytes(writer.arrays), []).read(state)
        assert found.schema == each.schema
        assert found.equals(each)


def test_numbers_are_kept_in_the_smallest_type_that_is_exact():
    for values, kind in (
        (np.array([1.0, np.nan, 2048.0]), np.float16),
        (np.array([1.0, np.nan, 4097.0]), np.float32),
        (np.array([0.1, 1e300]), np.float64),
        (np.array([-1, 100]), np.int8),
        (np.array([2**40]), np.int64),
    ):
        kept = compact(values)
        assert kept.dtype == kind
        np.testing.assert_array_equal(kept.astype(values.dtype), values)


# --- Files that are refused.


@pytest.fixture
def path(tmp_path):
    plan = OrderPlan(horizon=2, model="linear").fit(sales_table(3, flags=False))
    return unmet.save(plan, tmp_path / "plan.unmet")


def test_a_file_cut_short(path):
    whole = path.read_bytes()
    for share in (0.1, 0.5, 0.99):
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(InvalidInput, match="its end is missing"):
            unmet.load(path)


def forged(path, change):
    """Write the file again with another state."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    state = json.loads(members["state.json"])
    change(state)
    members["state.json"] = json.dumps(state).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_a_class_that_is_not_ours_is_refused(path, tmp_path):
    mark = tmp_path / "made"

    def change(state):
        state["state"]["_median"] = {"$is": "os.mkdir", "state": {"path": os.fspath(mark)}}

    forged(path, change)
    with pytest.raises(InvalidInput, match=r"it asks for 'os\.mkdir', which models of unmet do"):
        unmet.load(path)
    assert not mark.exists()
