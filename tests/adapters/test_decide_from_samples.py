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


@pytest.mark.parametrize("name", ["newsvendor", "tiers"])
@pytest.mark.parametrize("step", [1, 9])
def test_lots_are_the_cheapest_ones(name, step):
    cost = COSTS[name]
    frame, values = _frame()
    found = decide_from_samples(frame, cost, step=step, upper=60)["decision"].to_numpy()
    lots = np.arange(0, 61, step, dtype=float)
    for row, decision in zip(values, found, strict=True):
        paid = [cost.cost(np.full(row.size, lot), row).mean() for lot in lots]
        assert decision in lots
        assert cost.cost(np.full(row.size, decision), row).mean() <= min(paid) + 1e-9


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
    with pytest.raises(InvalidInput, match="column 'no'"):
        decide_from_samples(frame, COSTS["tiers"], columns=["no"])
    with pytest.raises(InvalidInput, match="at least one column of samples"):
        decide_from_samples(frame[["unique_id", "ds"]], COSTS["tiers"])
    with pytest.raises(InvalidInput, match="at least one row"):
        decide_from_samples(frame[:0], COSTS["tiers"])
    with pytest.raises(Unsupported, match="piecewise linear or SquaredError, got AgeReplacement"):
        decide_from_samples(frame, AgeReplacement(1, 4))
