"""Real forecasters of Nixtla, with censored sales before and decisions after them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import norm

from unmet import LatentBand, Newsvendor, TieredCost
from unmet.adapters import decide_from_quantiles, decide_from_samples
from unmet.planning import uncensor

# other packages warn of themselves
pytestmark = pytest.mark.filterwarnings("default:::(?!unmet)")

N = 210
COST = Newsvendor(underage=9, overage=1)
RULE = LatentBand(families="normal", order_rule=None, random_state=0)


def shop():
    """Two items with a week, and shelves that run empty on two days of five."""
    generator = np.random.default_rng(1)
    days, week = pd.date_range("2024-01-01", periods=N), np.arange(N) % 7
    parts = []
    for name, level in (("bread", 60.0), ("rolls", 200.0)):
        demand = level + 4 * week + generator.normal(scale=8, size=N)
        stock = level + 4 * week + 2 + generator.normal(scale=3, size=N)
        parts.append(
            pd.DataFrame(
                {
                    "unique_id": name,
                    "ds": days,
                    "y": np.minimum(demand, stock),
                    "sold_out": demand > stock,
                    "demand": demand,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def sales():
    return shop()


@pytest.fixture(scope="module")
def corrected(sales):
    return uncensor(sales.drop(columns="demand"), rule=RULE, censored_col="sold_out")


def training(corrected):
    return corrected.training.drop(columns="sold_out")


def test_statsforecast_intervals(corrected):
    forecast = pytest.importorskip("statsforecast")
    models = pytest.importorskip("statsforecast.models")
    both = [models.SeasonalNaive(7), models.HistoricAverage()]
    engine = forecast.StatsForecast(models=both, freq="D")
    found = engine.forecast(df=training(corrected), h=3, level=[50, 80, 95.5])
    orders = decide_from_quantiles(found, COST, "HistoricAverage", step=None)
    np.testing.assert_allclose(orders["decision"], found["HistoricAverage-hi-80"])
    # between levels along the normal score, in which these intervals are straight
    other = decide_from_quantiles(found, Newsvendor.at_level(0.85), "SeasonalNaive", step=None)
    spread = (found["SeasonalNaive-hi-80"] - found["SeasonalNaive"]) / norm.ppf(0.9)
    expected = found["SeasonalNaive"] + norm.ppf(0.85) * spread
    np.testing.assert_allclose(other["decision"], expected, rtol=1e-3)
    assert orders[["unique_id", "ds"]].equals(found[["unique_id", "ds"]])
    # the same from polars
    frame = pl.from_pandas(training(corrected))
    engine = forecast.StatsForecast(models=[models.HistoricAverage()], freq="1d")
    again = engine.forecast(df=frame, h=3, level=[80])
    np.testing.assert_allclose(
        decide_from_quantiles(again, COST, step=None)["decision"].to_numpy(), orders["decision"]
    )


def test_statsforecast_cross_validation_and_samples(corrected):
    forecast = pytest.importorskip("statsforecast")
    models = pytest.importorskip("statsforecast.models")
    engine = forecast.StatsForecast(models=[models.HistoricAverage()], freq="D")
    # windows that overlap: the same day more than once
    folds = engine.cross_validation(
        df=training(corrected), h=3, n_windows=3, step_size=1, level=[80]
    )
    found = decide_from_quantiles(folds, COST)
    assert found.columns.tolist() == ["unique_id", "ds", "cutoff", "y", "decision"]
    assert len(found) == 2 * 3 * 3
    assert COST.cost(found["decision"], found["y"]).mean() < 60
    paths = engine.simulate(df=training(corrected), h=3, n_paths=40, seed=1)
    wide = paths.pivot_table(
        index=["unique_id", "ds"], columns="sample_id", values="HistoricAverage"
    )
    table = wide.rename(columns=str).reset_index()
    orders = decide_from_samples(table, COST, step=None)
    # of 40 equally likely truths the 36th is the 90% quantile
    np.testing.assert_array_equal(orders["decision"], np.sort(wide, axis=1)[:, 35])
    tiers = TieredCost(9, (1, 6), overage_breaks=4)
    lower = decide_from_samples(table, tiers, step=None)
    assert (lower["decision"] <= orders["decision"]).all()


def test_mlforecast(corrected):
    mlforecast = pytest.importorskip("mlforecast")
    utils = pytest.importorskip("mlforecast.utils")
    from sklearn.linear_model import LinearRegression

    engine = mlforecast.MLForecast(
        models={"line": LinearRegression()}, freq="D", lags=[7, 14], date_features=["dayofweek"]
    )
    windows = utils.PredictionIntervals(n_windows=10, h=3)
    engine.fit(training(corrected), prediction_intervals=windows)
    found = engine.predict(3, level=[50, 80])
    orders = decide_from_quantiles(found, COST, step=None)
    np.testing.assert_allclose(orders["decision"], found["line-hi-80"])
    assert orders["unique_id"].tolist() == 3 * ["bread"] + 3 * ["rolls"]
