"""Sample paths become decisions of least mean cost: against a fine grid."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unmet import (
    AgeReplacement,
    CustomPricing,
    Newsvendor,
    PreventiveReplacement,
    SquaredError,
    TieredCost,
)
from unmet.adapters import decide_from_samples
from unmet.errors import InvalidInput, Unsupported

COSTS = {
    "newsvendor": Newsvendor(7, 2),
    "pricing": CustomPricing(2, 5),
    "tiers": TieredCost((2, 6), (1, 3, 8), underage_breaks=4, overage_breaks=(5, 12)),
    "squared": SquaredError(),
    "jump": PreventiveReplacement(1, 4),
    "age": AgeReplacement(1, 4, rate=0.05),
}


def _frame(make=pd.DataFrame, n_rows=6, n_samples=40):
    values = np.random.default_rng(1).gamma(3.0, 10.0, size=(n_rows, n_samples))
    columns = {
        "unique_id": np.repeat(["a", "b"], n_rows // 2),
        "ds": np.tile(range(n_rows // 2), 2),
    }
    return make(columns | {f"s{i}": values[:, i] for i in range(n_samples)}), values


@pytest.mark.parametrize("name", COSTS)
def test_nothing_on_a_grid_costs_less(name):
    cost = COSTS[name]
    frame, values = _frame()
    found = decide_from_samples(frame, cost, step=None)["decision"].to_numpy()
    for row, decision in zip(values, found, strict=True):
        tried = np.append(np.linspace(row.min() - 5, row.max() + 5, 3001), decision)
        paid = cost.cost(np.repeat(tried, row.size), np.tile(row, tried.size))
        paid = paid.reshape(tried.size, row.size).mean(axis=1)
        assert paid[-1] <= paid.min() + 1e-9


@pytest.mark.parametrize("name", ["newsvendor", "tiers", "jump"])
@pytest.mark.parametrize("step", [1, 9])
def test_lots_are_the_cheapest_ones(name, step):
    cost = COSTS[name]
    frame, values = _frame()
    found = decide_from_samples(frame, cost, step=step, upper=60)["decision"].to_numpy()
    lots = np.arange(0, 61, step, dtype=float)
    for row, decision in zip(values, found, strict=True):
        paid = [cost.cost(np.full(row.size, lot), row).mean() for lot in lots]
        assert decision in lots
        if name != "jump":  # of several valleys the lot beside the deepest is taken
            assert cost.cost(np.full(row.size, decision), row).mean() <= min(paid) + 1e-9


def test_long_tables_give_the_same_in_the_order_of_first_rows():
    frame, _ = _frame()
    wide = decide_from_samples(frame, COSTS["tiers"])
    long = frame.melt(["unique_id", "ds"], var_name="sample", value_name="y")
    again = decide_from_samples(long, COSTS["tiers"], sample_col="sample")
    assert again.reset_index(drop=True).equals(wide)
    shuffled = long.sample(frac=1, random_state=0)
    mixed = decide_from_samples(shuffled, COSTS["tiers"], sample_col="sample")
    keys = shuffled.drop_duplicates(["unique_id", "ds"])[["unique_id", "ds"]]
    assert mixed[["unique_id", "ds"]].to_numpy().tolist() == keys.to_numpy().tolist()
    assert mixed.merge(wide, on=["unique_id", "ds"]).eval("decision_x == decision_y").all()


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table], ids=["pl", "pa"])
def test_other_tables(make):
    frame, _ = _frame(make)
    expected = decide_from_samples(_frame()[0], COSTS["newsvendor"])["decision"].tolist()
    found = decide_from_samples(frame, COSTS["newsvendor"])
    assert isinstance(found, type(frame))
    assert np.asarray(found["decision"]).tolist() == expected


def test_costs_of_each_row():
    frame, values = _frame()
    frame["profit"] = np.arange(1.0, 7.0)
    found = decide_from_samples(frame, Newsvendor(1, 2), underage_col="profit", step=None)
    for row, profit, decision in zip(values, frame["profit"], found["decision"], strict=True):
        level = profit / (profit + 2)
        assert decision == np.quantile(row, level, method="inverted_cdf")


def test_sentences():
    frame, _ = _frame()
    long = frame.melt(["unique_id", "ds"], var_name="sample", value_name="y")
    with pytest.raises(InvalidInput, match="as many samples, got between 39 and 40"):
        decide_from_samples(long[1:], COSTS["tiers"], sample_col="sample")
    with pytest.raises(InvalidInput, match="column 'no'"):
        decide_from_samples(frame, COSTS["tiers"], columns=["no"])
    with pytest.raises(InvalidInput, match="column 'v'"):
        decide_from_samples(long, COSTS["tiers"], sample_col="sample", value_col="v")
    with pytest.raises(InvalidInput, match="at least one column of samples"):
        decide_from_samples(frame[["unique_id", "ds"]], COSTS["tiers"])
    with pytest.raises(InvalidInput, match="at least one row"):
        decide_from_samples(frame[:0], COSTS["tiers"])
    with pytest.raises(Unsupported, match="without its rate"):
        decide_from_samples(frame, AgeReplacement(1, 4))
