"""A censored target is brought near the truth; one that is not censored is left alone."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

from unmet import LatentBand, OrderPlan
from unmet.cli.main import run
from unmet.errors import InvalidInput
from unmet.planning import Schema, uncensor

N = 420
NORMAL = LatentBand(families="normal", order_rule=None, random_state=0)


def _panel(seed=0, spread=12.0, margin=6.0):
    """Two series with a weekly pattern; orders around a level a little above the mean."""
    generator = np.random.default_rng(seed)
    day = pd.date_range("2023-01-02", periods=N // 2)
    week = np.tile([0, 0, 5, 5, 20, 30, -10], N)[: N // 2]
    mean = np.concatenate([100 + week, 160 + week])
    demand = mean + generator.normal(scale=spread, size=N)
    order = mean + margin + generator.normal(scale=3, size=N)
    return pd.DataFrame(
        {
            "unique_id": np.repeat(["a", "b"], N // 2),
            "ds": np.concatenate([day, day]),
            "y": np.minimum(demand, order),
            "sold_out": demand > order,
            "stock": order,
            "demand": demand,
        }
    )


def test_flagged_rows_become_their_mean_beyond_the_observation():
    frame = _panel()
    found = uncensor(frame, rule=NORMAL, censored_col="sold_out")
    seen = ~frame["sold_out"]
    assert (found.frame["y"][seen] == frame["y"][seen]).all()
    assert (found.frame["y"] >= frame["y"]).all()
    assert found.probability.tolist() == frame["sold_out"].astype(float).tolist()
    assert found.share == pytest.approx(frame["sold_out"].mean())
    truth, before, after = frame["demand"], frame["y"], found.frame["y"]
    assert abs(after.mean() - truth.mean()) < 0.15 * abs(before.mean() - truth.mean())
    hidden = (after - truth)[~seen]
    assert abs(hidden.mean()) < 0.1 * (truth - before)[~seen].mean() + 1.0
    assert found.diagnosis.share_censored == pytest.approx(frame["sold_out"].mean())


def test_the_mean_beyond_is_that_of_the_fitted_distribution():
    """One series without a pattern: E(D | D > y) of a normal is mean + sd · hazard."""
    frame = _panel()
    frame["zero"] = 0.0
    frame["y"] = np.minimum(
        stats.norm.ppf((np.random.default_rng(1).permutation(N) + 0.5) / N, 50, 10), 55
    )
    frame["sold_out"] = frame["y"] == 55
    found = uncensor(frame, rule=NORMAL, features=["zero"], censored_col="sold_out")
    score = (55 - 50) / 10
    expected = 50 + 10 * stats.norm.pdf(score) / stats.norm.sf(score)
    hidden = found.frame["y"][frame["sold_out"]]
    assert np.ptp(hidden) < 1e-9
    assert hidden.iloc[0] == pytest.approx(expected, abs=0.35)


def test_stock_says_the_same_as_flags():
    frame = _panel()
    by_stock = uncensor(frame, rule=NORMAL, stock_col="stock").frame["y"]
    by_flags = uncensor(frame, rule=NORMAL, censored_col="sold_out").frame["y"]
    assert np.allclose(by_stock, by_flags)


def test_missing_flags_are_guessed_and_known_ones_kept():
    frame = _panel()
    flags = frame["sold_out"].astype(object)
    flags[::3] = None
    found = uncensor(frame.assign(sold_out=flags), rule=NORMAL, censored_col="sold_out")
    known = flags.notna()
    assert (found.probability[known] == frame["sold_out"][known]).all()
    guessed = found.probability[~known]
    truth = frame["sold_out"][~known]
    assert guessed[truth].mean() > guessed[~truth].mean() + 0.2
    assert abs(found.frame["y"].mean() - frame["demand"].mean()) < 0.5 * abs(
        frame["y"].mean() - frame["demand"].mean()
    )


def test_without_flags_a_rate_brings_the_mean_closer():
    frame = _panel(margin=0.0)
    rule = LatentBand(0.5, families="normal", order_rule=None, random_state=0)
    found = uncensor(frame, rule=rule)
    truth, before, after = (each.mean() for each in (frame["demand"], frame["y"], found.frame["y"]))
    assert abs(after - truth) < 0.5 * abs(before - truth)
    assert found.share == pytest.approx(0.5, abs=0.08)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_the_same_kind_of_table_comes_back(kind):
    frame = _panel()[["unique_id", "ds", "y", "sold_out"]]
    made = {"pandas": frame, "polars": pl.DataFrame, "pyarrow": pa.Table.from_pandas}[kind]
    columns = {name: frame[name].to_numpy() for name in frame.columns}
    given = (
        frame.set_index(frame.index + 5)
        if kind == "pandas"
        else made(columns if kind == "polars" else frame)
    )
    found = uncensor(given, rule=NORMAL, censored_col="sold_out")
    assert type(found.frame) is type(given)
    assert type(found.training) is type(given)
    names = found.frame.column_names if kind == "pyarrow" else list(found.frame.columns)
    assert names == ["unique_id", "ds", "y", "sold_out", "y_observed", "y_censored"]
    own = found.training.column_names if kind == "pyarrow" else list(found.training.columns)
    assert own == ["unique_id", "ds", "y", "sold_out"]
    assert np.asarray(found.frame["y_observed"]).tolist() == frame["y"].tolist()
    if kind == "pandas":
        assert found.frame.index.equals(given.index)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"rule": 3}, "rule must be a LatentBand"),
        ({"target_col": "sales"}, "column 'sales'"),
        ({"features": ["no"]}, "column 'no'"),
        ({"censored_col": "y"}, "y must be True, False or missing"),
    ],
    ids=str,
)
def test_one_sentence_each(change, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        uncensor(**{"frame": _panel(), "rule": NORMAL, **change})


# --- The corrected history of a table, without ordering.


def flagged(n_days=120, seed=0):
    generator = np.random.default_rng(seed)
    demand = generator.poisson(20, (6, n_days)).astype(float)
    stock = np.full_like(demand, 21.0)
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(day) for day in range(n_days)]
    frame = pl.DataFrame(
        {
            "unique_id": np.repeat([f"item {place}" for place in range(6)], n_days),
            "ds": days * 6,
            "y": np.minimum(demand, stock).ravel(),
            "sold_out": (demand >= stock).ravel(),
        }
    )
    return frame, demand


def test_a_corrected_history_is_nearer_to_demand_than_sales():
    frame, demand = flagged()
    found = OrderPlan().correct(frame)
    assert found.columns == [
        *("unique_id", "ds", "y_observed", "stockout", "y", "low", "high", "why")
    ]
    sold, asked, flag = found["y_observed"], found["y"], frame["sold_out"]
    assert (asked.filter(~flag) == sold.filter(~flag)).all()
    assert abs(asked.mean() - demand.mean()) < 0.3 * abs(sold.mean() - demand.mean())
    asked_for = pl.Series(demand.ravel())
    inside = (found["low"] <= asked_for) & (asked_for <= found["high"])
    assert inside.filter(flag).tail(-200).mean() > 0.6
    assert set(found["why"]) == {"all demand was seen", "sold out: column sold_out"}


def test_the_same_history_comes_from_a_plan_and_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, _ = flagged(60)
    frame.write_csv("sales.csv")
    assert run(["uncensor", "sales.csv"]) == 0
    words = ["--model", "seasonal", "--demand-output", "again.csv", "--quantiles", ".2,.9"]
    assert run(["plan", "sales.csv", *words]) == 0
    demand, again = pl.read_csv("demand.csv"), pl.read_csv("again.csv")
    assert demand.equals(again)
    orders = pl.read_csv("orders.csv")
    assert (orders["demand_q0.2"] <= orders["demand_q0.9"]).all()
    assert (orders["demand_q0.9"] == orders["order"]).all()


def test_where_nothing_tells_sales_are_demand(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame, _ = flagged(60)
    found = OrderPlan(schema=Schema(sold_out="")).correct(frame.drop("sold_out").head(60))
    assert (found["y"] == found["y_observed"]).all()
    assert set(found["why"]) == {"unknown"}
    assert run(["plan", "sales.csv", "--quantiles", ".2,1"]) == 2
    assert "--quantiles must be numbers above 0 and below 1" in capsys.readouterr().err
