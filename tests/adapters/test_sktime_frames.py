"""Frames of sktime become long ones and come back."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from unmet import Newsvendor
from unmet.adapters import decide_from_quantiles, from_sktime, to_sktime
from unmet.errors import InvalidInput

COST = Newsvendor(underage=9, overage=1)
DAYS = pd.date_range("2024-05-01", periods=3)
ONE = pd.Series([8.0, 9.0, 7.0], index=DAYS.to_period("D"), name="bread")
PANEL = pd.DataFrame(
    {"sales": np.arange(6.0)},
    index=pd.MultiIndex.from_product([[11, 7], DAYS], names=["item", "day"]),
)
TREE = pd.DataFrame(
    {"sales": np.arange(6.0)},
    index=pd.MultiIndex.from_tuples(
        [("north", item, day) for item in ("a", "__total") for day in range(3)],
        names=["shop", "item", "day"],
    ),
)


def test_targets():
    long = from_sktime(ONE)
    assert long.columns.tolist() == ["unique_id", "ds", "y"]
    assert long["ds"].tolist() == DAYS.tolist()
    assert long["unique_id"].nunique() == 1
    assert from_sktime(PANEL)["unique_id"].tolist() == [11, 11, 11, 7, 7, 7]
    named = from_sktime(TREE, id_col="who", time_col="when", target_col="what")
    assert named["who"].unique().tolist() == ["north/a", "north/__total"]
    assert named.columns.tolist() == ["who", "when", "what"]


@pytest.mark.parametrize("frame", [ONE, ONE.to_frame(), PANEL, TREE], ids=str)
def test_back_again(frame):
    back = to_sktime(from_sktime(frame), frame)
    assert type(back) is type(frame)
    assert back.equals(frame)
    assert back.index.equals(frame.index)
    doubled = from_sktime(frame).assign(y=lambda table: 2 * table["y"])
    assert (to_sktime(doubled, frame) == 2 * frame).all(axis=None)


def test_quantiles_and_intervals_say_the_same():
    both = [[40.0, 60.0], [42.0, 68.0], [50.0, 50.5]]
    quantiles = pd.DataFrame(both, ONE.index, pd.MultiIndex.from_product([["bread"], [0.1, 0.9]]))
    interval = pd.DataFrame(
        both, ONE.index, pd.MultiIndex.from_product([["bread"], [0.8], ["lower", "upper"]])
    )
    expected = ["unique_id", "ds", "bread-q-0.1", "bread-q-0.9"]
    for frame in (quantiles, interval):
        long = from_sktime(frame)
        assert long.columns.tolist() == expected
        orders = to_sktime(decide_from_quantiles(long, COST), frame)
        assert orders.columns.tolist() == ["decision"]
        assert orders["decision"].tolist() == [60.0, 68.0, 51.0]
        assert orders.index.equals(ONE.index)
    # from polars, too
    again = decide_from_quantiles(pl.from_pandas(from_sktime(quantiles)), COST)
    assert to_sktime(again, quantiles)["decision"].tolist() == [60.0, 68.0, 51.0]


def test_refused():
    with pytest.raises(InvalidInput, match=r"^frame must be a Series or DataFrame of pandas"):
        from_sktime([1.0, 2.0])
    with pytest.raises(InvalidInput, match=r"as predict_quantiles or predict_interval"):
        from_sktime(pd.DataFrame([[1.0]], columns=pd.MultiIndex.from_tuples([("a", "b")])))
    with pytest.raises(InvalidInput, match=r"as predict_quantiles or predict_interval"):
        from_sktime(pd.DataFrame([[1.0]], columns=pd.MultiIndex.from_tuples([("a", 3.0)])))
    with pytest.raises(InvalidInput, match=r"^frame must not have the column 'ds' beside its"):
        from_sktime(pd.DataFrame({"ds": [1.0], "y": [2.0]}))
    with pytest.raises(InvalidInput, match=r"^frame must have columns of different names"):
        from_sktime(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]))
    long = from_sktime(PANEL)
    for other in (long[::-1], long[:-1], long.assign(unique_id="x")):
        with pytest.raises(InvalidInput, match=r"^frame must have the rows of like in the same"):
            to_sktime(other, PANEL)
    with pytest.raises(InvalidInput, match=r"must have the column 'ds'"):
        to_sktime(long.drop(columns="ds"), PANEL)
