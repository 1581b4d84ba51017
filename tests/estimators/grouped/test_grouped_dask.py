import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from unmet import DistributionDecision, GroupedDecision, LinearDecision, Newsvendor
from unmet.errors import InvalidInput, Unsupported

COLUMNS = ["store", "item", "x"]


def pair(*, empty=False, divisions=True):
    """Rows of groups that lie in several partitions, in memory and as a Dask frame."""
    dd = pytest.importorskip("dask.dataframe")
    generator = np.random.default_rng(0)
    code = generator.permutation(np.repeat(np.arange(12), 40))
    table = pd.DataFrame(
        {
            "store": [f"S{each % 3}" for each in code],
            "item": code // 3,
            "x": generator.normal(size=code.size),
            "w": generator.integers(0, 3, code.size),
            "day": np.arange(code.size),
            "cost": generator.uniform(2, 9, code.size),
        }
    )
    table["sales"] = 20 + 5 * code + table["x"] * (code % 4) + generator.gamma(2, 2, code.size)
    rows = dd.from_pandas(table, npartitions=6)
    if empty:
        table, rows = table[table["day"] > 100], rows[rows["day"] > 100]
    return table, rows if divisions else rows.clear_divisions()


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("changes", [{}, {"empty": True}, {"divisions": False}])
@pytest.mark.usefixtures("cluster")
def test_a_dask_frame_gives_the_model_of_the_same_rows_in_memory(changes, shuffled):
    table, rows = pair(**changes)
    if shuffled:
        rows = rows.shuffle(on=["store", "item"]).persist()
        table = rows.compute()
    model = GroupedDecision(LinearDecision(Newsvendor(7, 2)), ["store", "item"], random_state=0)
    here, there = (
        clone(model).fit(
            each[COLUMNS], each["sales"], sample_weight=each["w"], underage=each["cost"]
        )
        for each in (table, rows)
    )
    assert here.shrink_ == there.shrink_
    np.testing.assert_array_equal(here.coef_, there.coef_)
    np.testing.assert_array_equal(here.weight_, there.weight_)
    decisions = there.predict(rows[COLUMNS])
    assert decisions.npartitions == rows.npartitions
    np.testing.assert_array_equal(decisions.compute(), here.predict(table[COLUMNS]))
    lots = there.decide(rows[COLUMNS], step=6).compute()
    np.testing.assert_array_equal(lots, here.decide(table[COLUMNS], step=6))


def test_flags_of_a_dask_frame_give_one_distribution():
    table, rows = pair()
    model = GroupedDecision(
        DistributionDecision(Newsvendor(7, 2)), ["store", "item"], random_state=0
    )
    here, there = (
        clone(model).fit(each[COLUMNS], each["sales"].clip(upper=60), censored=each["sales"] >= 60)
        for each in (table, rows)
    )
    assert there.diagnosis_.share_censored > 0
    np.testing.assert_array_equal(
        here.predict(table[COLUMNS]), there.predict(rows[COLUMNS]).compute()
    )


def test_series_that_are_not_beside_the_frame():
    table, rows = pair()
    model = GroupedDecision(LinearDecision(Newsvendor(7, 2)), ["store", "item"])
    with pytest.raises(InvalidInput, match="y must have the 6 partitions of X, got 2"):
        model.fit(rows[COLUMNS], rows["sales"].repartition(npartitions=2))
    with pytest.raises(InvalidInput, match=r"sample_weight must be a Dask Series .* pandas Series"):
        model.fit(rows[COLUMNS], rows["sales"], sample_weight=table["w"])
    mixed = rows["sales"].map_partitions(lambda part: part[::-1], meta=("sales", "f8"))
    with pytest.raises(InvalidInput, match="y must have the rows of X in their order"):
        model.fit(rows[COLUMNS], mixed)
    with pytest.raises(Unsupported, match="got dask DataFrame: read a sample"):
        model.fit(table[COLUMNS], table["sales"]).unseen_groups(rows[COLUMNS])


def test_a_cluster_gives_the_same_answer():
    distributed = pytest.importorskip("distributed")
    generator = np.random.default_rng(0)
    code = np.repeat(np.arange(12), 12)
    X = np.column_stack([code, generator.normal(size=(code.size, 2))])
    y = code + X[:, 1] + generator.gamma(2, 2, code.size)
    here = GroupedDecision(LinearDecision(Newsvendor(3, 1)), [0], random_state=0).fit(X, y)
    with (
        distributed.Client(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ),
        joblib.parallel_config(backend="dask"),
    ):
        there = GroupedDecision(LinearDecision(Newsvendor(3, 1)), [0], random_state=0).fit(X, y)
    assert here.shrink_ == there.shrink_
    assert np.array_equal(here.predict(X), there.predict(X))
