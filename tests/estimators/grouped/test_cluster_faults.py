"""Clusters that lose workers or their scheduler, and data that change under a fit.

The answer is the same, or there is one sentence of ours, in bounded time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from pathlib import Path
from types import SimpleNamespace

import dask
import dask.array as da
import numpy as np
import pytest

from unmet import GroupedDecision, LinearDecision, Newsvendor
from unmet.errors import InvalidInput
from unmet.solvers.blocks import DaskBlocks, source
from unmet.solvers.blocks import dask as ours
from unmet.solvers.blocks.dask import LostCluster, faults_of, result_of

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.fuzz

COST = Newsvendor(underage=7, overage=2)
PATIENCE = 90  # seconds of the clock, on a busy machine, until a sentence must have come


def data(n=6000):
    rng = np.random.default_rng(0)
    X = rng.integers(-5, 6, size=(n, 3)) / 3.0
    return X, 9 + X @ [2.0, -1.0, 0.5] + rng.gamma(2, 1, n)


@pytest.fixture(autouse=True)
def small_memory(monkeypatch):
    """Keep the client from fetching all rows."""
    monkeypatch.setattr(source, "SAMPLE_ENTRIES", 15_000)
    monkeypatch.setattr(source, "SAMPLE_ROWS", 2000)


# --- What is said.


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (lambda: distributed.KilledWorker("t", None, 3), "got a task on which 4 of them died"),
        (lambda: CancelledError("lost"), "got no scheduler any more: its client is closed"),
        (lambda: distributed.comm.CommClosedError("x"), "got no scheduler any more"),
        (lambda: TimeoutError("x"), "got no scheduler any more"),
    ],
)
def test_faults_are_one_sentence(error, words):
    with (
        pytest.raises(LostCluster, match=words) as caught,
        faults_of(SimpleNamespace(status="closed")),
    ):
        raise error()
    assert "\n" not in str(caught.value)


def refuse(*_):
    raise TimeoutError("of the task itself")


def test_a_cluster_without_workers_is_not_waited_for_without_end(monkeypatch):
    monkeypatch.setattr(ours, "_ALONE", 0.5)
    monkeypatch.setattr(ours, "_GLANCE", 0.1)
    X, s = data(400)
    with distributed.Client(
        n_workers=0, threads_per_worker=1, processes=False, dashboard_address=None
    ) as client:
        source = DaskBlocks(da.from_array(X, chunks=(200, 3)), da.from_array(s, chunks=200))
        with pytest.raises(LostCluster, match=r"must have a worker, got none for 0 seconds\.$"):
            list(source.run(len))
        grouped = GroupedDecision(LinearDecision(COST), [0], backend="dask", random_state=0)
        with pytest.raises(LostCluster, match="must have a worker, got none"):
            grouped.fit(X, s)
        client.cluster.scale(1)
        assert sum(source.run(len)) == 400
        with pytest.raises(TimeoutError, match="of the task itself"):
            result_of(client, client.submit(refuse))


# --- Data that change between passes.


def read_block(path, first, last):
    return np.load(path)[first:last]


def test_partitions_that_change_between_passes_are_named(tmp_path):
    X, s = data()
    path = tmp_path / "seen.npy"
    np.save(path, s)
    parts = [dask.delayed(read_block)(path, at, at + 1500) for at in range(0, 6000, 1500)]
    seen = da.concatenate([da.from_delayed(part, (1500,), float) for part in parts])
    source = DaskBlocks(da.from_array(X, chunks=(1500, 3)), seen)
    with dask.config.set(scheduler="threads"):
        assert [len(block) for block in source.blocks()] == [1500] * 4
        assert sum(source.run(len)) == 6000
        np.save(path, np.concatenate([s[:3000], s[3000:] + 1]))
        with pytest.raises(InvalidInput, match="same in every pass, got other rows in partition 2"):
            LinearDecision(COST).fit(source)


# --- Workers that die.


def first_of_all(folder):
    """Whether this process is the first to come here; who is says so in a file."""
    mark = os.path.join(folder, "pid")
    own = f"{mark}.{os.getpid()}"
    with open(own, "w") as file:
        file.write(str(os.getpid()))
    try:
        os.link(own, mark)
    except FileExistsError:
        return False
    return True


def dying(part, folder):
    """End the worker that comes here first, as the system does for want of memory."""
    if first_of_all(folder):
        os.kill(os.getpid(), signal.SIGKILL)
    return part


@pytest.mark.usefixtures("cluster")
def test_a_worker_that_dies_during_predictions_changes_nothing(tmp_path):
    X, s = data()
    model = LinearDecision(COST).fit(X, s)
    rows = da.from_array(X, chunks=(1500, 3))
    mortal = rows.map_blocks(dying, str(tmp_path), dtype=float, meta=np.empty((0, 0)))
    found = mortal.map_blocks(model.decide, drop_axis=1, dtype=float, meta=np.empty(0))
    np.testing.assert_array_equal(found.compute(), model.decide(X))
    assert (tmp_path / "pid").exists()


def deadly(part):
    os.kill(os.getpid(), signal.SIGKILL)
    return part


@pytest.mark.usefixtures("cluster")
def test_a_task_that_all_workers_die_of_is_one_sentence():
    X, s = data()
    rows = da.from_array(X, chunks=(3000, 3)).map_blocks(deadly, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(LostCluster, match="got a task on which 4 of them died: give them more"):
        LinearDecision(COST).fit(DaskBlocks(rows, da.from_array(s, chunks=3000)))


# --- A scheduler that is lost.


@pytest.fixture
def mortal(tmp_path):
    """A scheduler and two workers, each a process of its own; the scheduler, to be killed."""
    file = tmp_path / "scheduler.json"
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, "PYTHONPATH": paths}
    shared = ["--scheduler-file", str(file), "--no-dashboard"]
    worker = ["distributed.cli.dask_worker", "--nthreads", "1", "--death-timeout", "20", *shared]
    words = [["distributed.cli.dask_scheduler", "--port", "0", *shared], worker, worker]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", *each],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for each in words
    ]
    end = time.monotonic() + PATIENCE
    while not file.exists() and time.monotonic() < end:
        time.sleep(0.1)
    # it also waits so long for a scheduler that is lost, where it does not notice at once
    client = distributed.Client(scheduler_file=str(file), timeout=30)
    try:
        client.wait_for_workers(2, timeout=PATIENCE)
        with client.as_current():  # that of another fixture may still be
            yield started[0]
    finally:
        for process in started:
            process.kill()
            process.wait()
        client.close(timeout=1)


def slowly(part, folder):
    Path(folder, f"begun-{os.getpid()}").touch()
    time.sleep(0.5)
    return part


def killer_of(process, folder):
    """Kill the scheduler as soon as some worker has begun."""

    def wait_and_kill():
        while not list(Path(folder).glob("begun-*")):
            time.sleep(0.01)
        process.kill()
        killed.append(time.monotonic())

    killed: list[float] = []
    threading.Thread(target=wait_and_kill, daemon=True).start()
    return killed


@pytest.mark.filterwarnings("ignore")  # of distributed, about what it has lost
def test_a_scheduler_that_is_lost_is_one_sentence(mortal, tmp_path):
    X, s = data()
    rows, seen = da.from_array(X, chunks=(1500, 3)), da.from_array(s, chunks=1500)
    slow = rows.map_blocks(slowly, str(tmp_path), dtype=float, meta=np.empty((0, 0)))
    model = LinearDecision(COST)
    killed = killer_of(mortal, tmp_path)
    with pytest.raises(LostCluster, match="The Dask cluster must answer until the work is done"):
        model.fit(DaskBlocks(slow, seen))
    assert time.monotonic() - killed[0] < PATIENCE
