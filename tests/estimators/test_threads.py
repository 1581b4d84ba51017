import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from unmet import LinearDecision
from unmet.estimators import linear
from unmet.estimators.base import one_blas_thread


def _limits():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def _two_threads():
    """Otherwise a machine, or an environment, with one would pass without our doing anything."""
    with threadpool_limits(2, user_api="blas"):
        if set(_limits()) != {2}:
            pytest.skip("this BLAS cannot use two threads")
        yield


def test_one_thread_inside_and_as_many_as_before_outside():
    with one_blas_thread():
        assert set(_limits()) == {1}
        with one_blas_thread():
            assert set(_limits()) == {1}
        assert set(_limits()) == {1}
    assert set(_limits()) == {2}


def test_a_fit_uses_it(monkeypatch):
    seen = []
    solve = linear.solve_exact

    def spy(problem, **keywords):
        seen.extend(_limits())
        return solve(problem, **keywords)

    monkeypatch.setattr(linear, "solve_exact", spy)
    LinearDecision().fit(np.arange(6.0)[:, None], np.arange(6.0))
    assert set(seen) == {1}
    assert set(_limits()) == {2}
