"""Quantile forecasts become decisions: against scipy's quantiles and a grid of lots."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unmet import CustomPricing, Newsvendor, TieredCost
from unmet.adapters import decide_from_quantiles
from unmet.adapters.forecasting import read_level
from unmet.errors import InvalidInput, Unsupported

NINE = Newsvendor(underage=9, overage=1)


def _normal(mean, spread, levels=(50, 80, 95), model="ETS", **more):
    columns = {"unique_id": [f"s{i}" for i in range(len(mean))], "ds": list(range(len(mean)))}
    columns[model] = np.asarray(mean, float)
    for width in levels:
        score = stats.norm.ppf(0.5 + width / 200)
        columns[f"{model}-lo-{width}"] = np.asarray(mean) - score * np.asarray(spread)
        columns[f"{model}-hi-{width}"] = np.asarray(mean) + score * np.asarray(spread)
    return columns | more


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("AutoARIMA-lo-90", 0.05),
        ("AutoARIMA-hi-90", 0.95),
        ("NHITS-hi-80.0", 0.9),
        ("NHITS-lo-99.5", 0.0025),
        ("a-b-median", 0.5),
        ("NHITS_ql0.75", 0.75),
        ("mine-ql0.75", 0.75),
        ("mine-q-0.75", 0.75),
        ("mine-q-75", 0.75),
        ("mine_q75", 0.75),
    ],
)
def test_names_of_quantiles(name, level):
    model, found = read_level(name)
    assert found == pytest.approx(level, abs=1e-12)
    assert name.startswith(model)
    assert read_level(model) is None


@pytest.mark.parametrize("name", ["AutoARIMA", "y", "unique_id", "sq-", "x-lo-", "-hi-90"])
def test_other_columns(name):
    assert read_level(name) is None


@given(st.floats(0.03, 0.97), st.floats(-50, 500), st.floats(0.1, 90))
def test_normal_forecasts_are_read_exactly_at_any_level(alpha, mean, spread):
    frame = pd.DataFrame(_normal([mean], [spread]))
    found = decide_from_quantiles(frame, Newsvendor.at_level(alpha), step=None, lower=None)
    assert found["decision"][0] == pytest.approx(stats.norm.ppf(alpha, mean, spread), abs=1e-6)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pd", "pl", "pa"])
def test_the_same_kind_of_table_comes_back(make):
    found = decide_from_quantiles(make(_normal([50, 60], [5, 6])), NINE, name="order")
    assert type(found) is type(make({"a": [1]}))
    names = found.column_names if isinstance(found, pa.Table) else list(found.columns)
    assert names == ["unique_id", "ds", "order"]
    # 50 + 5 · 1.2816 and 60 + 6 · 1.2816; of the lots beside them the cheaper
    assert np.asarray(found["order"]).tolist() == [56.0, 68.0]


def test_costs_by_row_come_from_columns():
    frame = pd.DataFrame(_normal([50, 50], [5, 5], profit=[3.0, 1.0], waste=[1.0, 3.0]))
    found = decide_from_quantiles(
        frame, Newsvendor(1, 1), underage_col="profit", overage_col="waste", step=None
    )
    assert found["decision"].tolist() == pytest.approx(
        [stats.norm.ppf(0.75, 50, 5), stats.norm.ppf(0.25, 50, 5)]
    )


def test_crossing_quantiles_are_put_in_order():
    frame = {"unique_id": ["a"], "ds": [1], "m-q-0.1": [9.0], "m-q-0.5": [2.0], "m-q-0.9": [5.0]}
    found = [
        decide_from_quantiles(pl.DataFrame(frame), Newsvendor.at_level(alpha), step=None)
        for alpha in (0.1, 0.3, 0.5, 0.7, 0.9)
    ]
    values = [each["decision"][0] for each in found]
    assert values == sorted(values)
    assert [values[0], values[2], values[4]] == pytest.approx([2.0, 5.0, 9.0])


@given(st.floats(0.1, 0.9), st.sampled_from([1, 6, 25]), st.floats(20, 80))
def test_lots_are_the_best_ones(alpha, step, mean):
    frame = pd.DataFrame(_normal([mean], [8.0], levels=(50, 80, 95, 99)))
    cost = Newsvendor.at_level(alpha)
    found = float(decide_from_quantiles(frame, cost, step=step)["decision"][0])

    def expected(lot):
        """E c(lot; D) of a normal demand, by its loss function."""
        score = (lot - mean) / 8.0
        short = 8.0 * (stats.norm.pdf(score) - score * stats.norm.sf(score))
        return cost.underage * short + cost.overage * (lot - mean + short)

    best = expected(np.arange(0.0, 200.0, step)).min()
    assert found % step == 0
    assert expected(found) <= best + 1e-4


def test_levels_out_of_reach():
    frame = pd.DataFrame(_normal([50], [5], levels=(80,)))
    cost = Newsvendor.at_level(0.95)
    with pytest.raises(InvalidInput) as caught:
        decide_from_quantiles(frame, cost)
    assert "must reach the level 0.95 that the cost asks for, got the levels 0.1, 0.9" in str(
        caught.value
    )
    found = decide_from_quantiles(frame, cost, beyond="normal", step=None)
    assert found["decision"][0] == pytest.approx(stats.norm.ppf(0.95, 50, 5))
    single = pd.DataFrame({"unique_id": ["a"], "ds": [1], "m-median": [4.0]})
    with pytest.raises(InvalidInput, match="which needs two of them"):
        decide_from_quantiles(single, cost, beyond="normal")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"forecasts": pl.DataFrame({"unique_id": [1], "ds": [1], "m": [2.0]})},
            "columns of quant",
        ),
        ({"model": "no"}, "model must be one of A, B, got 'no'"),
        ({}, "model must be one of A, B, got None"),
        ({"model": "A", "beyond": "guess"}, "beyond must be"),
        ({"model": "A", "cost": 3}, "cost must be a Cost"),
        ({"model": "A", "name": "ds"}, "name must be that of a new column"),
        ({"model": "A", "underage_col": "no"}, "column 'no'"),
        ({"model": "A", "lower": 90, "upper": 5}, "lower"),
    ],
    ids=["none", "model", "which", "beyond", "cost", "name", "column", "bounds"],
)
def test_one_sentence_each(change, sentence):
    frame = _normal([50], [5], model="A") | _normal([50], [5], model="B")
    wanted = {"forecasts": pd.DataFrame(frame), "cost": NINE, **change}
    with pytest.raises(InvalidInput, match=sentence):
        decide_from_quantiles(**wanted)


def test_other_costs_and_tables_are_told_where_to_go():
    frame = pl.DataFrame(_normal([50], [5]))
    with pytest.raises(Unsupported, match="use decide_from_samples"):
        decide_from_quantiles(frame, TieredCost((1, 2), 1, underage_breaks=3))
    with pytest.raises(Unsupported, match="in memory, got a LazyFrame"):
        decide_from_quantiles(frame.lazy(), NINE)
    assert len(decide_from_quantiles(frame, CustomPricing(3, 1))) == 1
