"""Tasks that wait for each other."""

import multiprocessing
import os
import time

import pytest

from unmet.errors import SolverFailure
from unmet.paper.run import PaperTask, run_tasks


def add(left, right):
    return left + right


def sleep_and_return(seconds, value):
    time.sleep(seconds)
    return value


def fail():
    raise ValueError("three")


def test_a_task_sees_the_results_of_those_before_it():
    kept = {}
    tasks = [
        PaperTask("sum", lambda: (add, (kept["one"], kept["two"])), after=("one", "two")),
        PaperTask("one", lambda: (add, (0, 1))),
        PaperTask("two", lambda: (add, (1, 1))),
    ]
    for task, result in run_tasks(tasks, jobs=1):
        kept[task.key] = result
    assert kept == {"one": 1, "two": 2, "sum": 3}


def own_children():
    """Processes of this one; other tests may have left some that wait for work."""
    return {child.pid for child in multiprocessing.active_children()}


def test_an_error_in_a_task_is_raised_and_ends_the_rest():
    before = own_children()
    tasks = [PaperTask(0, lambda: (fail, ())), PaperTask(1, lambda: (sleep_and_return, (3600, 1)))]
    with pytest.raises(ValueError, match="three"):
        list(run_tasks(tasks, jobs=2))  # and does not wait an hour for the other task
    assert own_children() <= before


@pytest.mark.slow  # `make kills` does so, too
def test_a_worker_that_is_killed_is_a_sentence():
    with pytest.raises(SolverFailure, match="--resume"):
        list(run_tasks([PaperTask(0, lambda: (os._exit, (9,)))], jobs=1))


@pytest.mark.slow
def test_leaving_early_ends_the_workers():
    before = own_children()
    tasks = [
        PaperTask(0, lambda: (add, (0, 0))),
        PaperTask(1, lambda: (sleep_and_return, (3600, 1))),
    ]
    results = run_tasks(tasks, jobs=2)
    task, result = next(results)
    assert (task.key, result) == (0, 0)
    results.close()
    assert own_children() <= before


def test_no_tasks_need_no_workers():
    assert list(run_tasks([], jobs=3)) == []
