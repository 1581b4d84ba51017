"""Early stopping, look by look."""

from dataclasses import dataclass

import numpy as np

from unmet.solvers.neural.networks import NetworkLayout, Networks
from unmet.solvers.neural.training import EarlyStopping, Progress


@dataclass
class _Read:
    """An objective whose value is the decision itself: costs can be dictated."""

    index: np.ndarray

    def sets(self, index):
        return _Read(index)

    def value(self, decision):
        return decision[:, 0].astype(float)


def _watch(n_networks, patience, tolerance=1e-3):
    networks = Networks(NetworkLayout(1, ()), "relu")
    progress = Progress(n_networks, patience, tolerance)
    return EarlyStopping(networks, np.zeros((1, 1)), _Read(np.arange(n_networks)), progress)


def _look(watch, names, costs):
    """Parameters (place, cost): the second is the bias, and the decision where features are 0."""
    parameters = np.column_stack([np.arange(len(costs)), costs]).astype(float)
    return watch.look(np.asarray(names), parameters).tolist()


def test_a_network_may_stop_after_so_many_looks_without_a_gain():
    watch = _watch(2, patience=3)
    costs = [(5, 9), (6, 8), (7, 7), (4, 6), (4.5, 5), (4.4, 4), (4.3, 3)]
    answers = [_look(watch, [0, 1], pair) for pair in costs]
    assert answers[:-1] == [[False, False]] * 6
    assert answers[-1] == [True, False]
    assert watch.progress.best.tolist() == [4.0, 3.0]
    assert watch.parameters.tolist() == [[0.0, 4.0], [1.0, 3.0]]


def test_gains_below_the_tolerance_are_kept_but_do_not_count():
    watch = _watch(1, patience=2, tolerance=0.1)
    assert [_look(watch, [0], [cost])[0] for cost in (10, 9.9, 9.8)] == [False, False, True]
    assert watch.progress.best.tolist() == [9.8]
    watch = _watch(1, patience=2, tolerance=0.1)
    assert [_look(watch, [0], [cost])[0] for cost in (10, 9.9, 8.9, 8.8)] == [False] * 4


def test_some_of_the_networks_are_looked_at():
    watch = _watch(3, patience=1)
    _look(watch, [0, 1, 2], [3, 3, 3])
    assert _look(watch, [0, 2], [4, 2]) == [True, False]
    assert watch.progress.best.tolist() == [3.0, 3.0, 2.0]
    assert watch.parameters[2].tolist() == [1.0, 2.0]


def test_a_cost_that_is_no_number_is_never_the_best():
    watch = _watch(1, patience=5)
    for cost in (np.nan, np.inf, 7.0, np.nan):
        _look(watch, [0], [cost])
    assert watch.progress.best.tolist() == [7.0]
    assert watch.parameters[0].tolist() == [0.0, 7.0]
