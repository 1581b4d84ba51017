"""What tests of large data share."""

import pytest


@pytest.fixture(scope="module")
def cluster():
    """Two workers, each in a process of its own.

    For one file, not for all: workers that wait for work take time, too.
    """
    from dask.distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        LocalCluster(**options, dashboard_address=":0", memory_limit=0) as started,
        Client(started) as client,
    ):
        yield client
