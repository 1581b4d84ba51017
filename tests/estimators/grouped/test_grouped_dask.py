import joblib
import numpy as np
import pytest

from unmet import GroupedDecision, LinearDecision, Newsvendor


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
