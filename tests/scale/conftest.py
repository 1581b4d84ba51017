"""What tests of large data share."""

import pytest


@pytest.fixture(scope="session")
def local_cluster():
    """Two workers, each a process of its own, for all files that one process tests."""
    from dask.distributed import LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with LocalCluster(**options, dashboard_address=":0", memory_limit=0) as started:
        yield started


@pytest.fixture(scope="module")
def cluster(local_cluster):
    """A client, whose cluster does Dask's work."""
    from dask.distributed import Client

    with Client(local_cluster) as client:
        yield client
