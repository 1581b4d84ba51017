"""Training in PyTorch: for large networks, for GPUs, and for modules of one's own.

Networks of our own layout take the same way as in NumPy, but for rounding: the same start, the same
order of rows, the same Adam. The cost is not known to torch: its slope in the decisions is handed
to the backward pass, so that costs of one's own need no more here than they need elsewhere.

Torch uses as many threads as it is set to (``torch.set_num_threads``), but for networks so small
that one is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from unmet.solvers.neural.adam import AdamOptions, smoothing_width
from unmet.solvers.neural.objectives import Index, Objective
from unmet.solvers.neural.outcome import outcome
from unmet.solvers.neural.pricing import Priced, objective_of
from unmet.solvers.neural.scaling import FeatureScaling
from unmet.solvers.neural.tasks import NetworkOptions, Task, Trained
from unmet.solvers.neural.torch_batches import DeviceRows, TorchAdam, TorchBatches, answers
from unmet.solvers.neural.torch_devices import (
    find_device,
    fitting_threads,
    load_torch,
    own_randomness,
    torch_seed,
)
from unmet.solvers.neural.torch_networks import (
    LayerTrainee,
    ModuleTrainee,
    Trainee,
    check_first,
    is_finite,
)
from unmet.solvers.problem import Features


def train_torch(
    features: Features,
    tasks: Sequence[Task],
    options: NetworkOptions,
    scaling: FeatureScaling,
    *,
    module: Any = None,
    device: Any = None,
) -> list[Trained]:
    """Train a network for each task with Adam, one after the other.

    Parameters
    ----------
    features : ndarray or csr_array of shape (n_rows, n_features)
    tasks : sequence of Task
    options : NetworkOptions
    scaling : FeatureScaling
    module : callable, optional
        Number of features → ``torch.nn.Module`` that maps scaled features of shape
        (n_rows, n_features) to outputs of shape (n_rows,) or (n_rows, 1); it is trained instead of
        the layers that a task asks for. Of its parameters, those with more than one dimension are
        penalised.
    device : str or torch.device, optional
        None is a CUDA GPU if there is one, else the CPU.

    Returns
    -------
    list of Trained
        With a `Network` of NumPy arrays, or a `ModuleNetwork` for a module.

    Raises
    ------
    MissingPackage
        If torch is not installed.
    SolverFailure
        If one of them diverges.
    """
    torch = load_torch()
    place = find_device(device, options.dtype)
    rows = DeviceRows(features, scaling, options.dtype, place)
    trained = []
    with torch.enable_grad():
        for task in tasks:
            with own_randomness(place, torch_seed(task.seed, task.restart)):
                trainee = _first(task, rows.n_features, options, module, place)
                with fitting_threads(trainee.size, options.batch_size):
                    trained.append(_Lesson(rows, scaling, options, task).train(trainee))
    return trained


def _first(
    task: Task, n_features: int, options: NetworkOptions, module: Any, device: Any
) -> Trainee:
    """Make what is to be trained, before its training."""
    if module is not None:
        return ModuleTrainee(module, n_features, options.dtype, device)
    layout, start = task.layout(n_features), task.first(n_features)
    return LayerTrainee(layout, options.activation, start, options.dtype, device)


class _Lesson:
    """Training of one network."""

    def __init__(
        self, rows: DeviceRows, scaling: FeatureScaling, options: NetworkOptions, task: Task
    ) -> None:
        self._rows, self._scaling, self._options, self._whole = rows, scaling, options, task
        self._task, self._aside = task, None
        stopping = options.stopping
        if stopping is not None and stopping.features is None:
            self._task, self._aside = task.set_aside(stopping.size)
        self._target = self._task.priced.scaling(options.scaling)

    def train(self, trainee: Trainee) -> Trained:
        """Train it, and see that it has not diverged."""
        task, watch = self._task, self._watch()
        before = answers(trainee, self._rows)
        check_first(before)
        epochs = self._descend(trainee, watch)
        if watch is not None:
            watch.restore(trainee)
        after = answers(trainee, self._rows)
        learned, all_rows = _index(task.priced), _index(self._whole.priced)
        return outcome(
            task,
            self._options,
            trainee.network(self._scaling, self._target),
            decision=self._target.decisions(after[learned]),
            first=self._target.decisions(before[learned]),
            squares=trainee.squares(),
            best=None if watch is None else watch.best,
            epochs=epochs,
            everywhere=self._target.decisions(after[all_rows]),
        )

    def _descend(self, trainee: Trainee, watch: _Watch | None) -> int:
        """Go through all epochs, or until nothing is gained any more; how many it were."""
        options, task = self._options, self._task
        how = AdamOptions(options.epochs, options.batch_size, options.schedule)
        index = _index(task.priced)
        objective = self._price(task.priced, self._rows.n_rows)
        batches = TorchBatches(self._rows, objective, index, options.batch_size)
        adam, generator = TorchAdam(trainee, task.penalty), task.shuffler()
        rates = _rates(how, task.learning_rate, index.size)
        for epoch in range(options.epochs):
            batches.epoch(trainee, adam, generator, rates, smoothing_width(epoch / options.epochs))
            if not is_finite(trainee):
                break
            if watch is not None and watch.look(trainee):
                return epoch + 1
        return options.epochs

    def _price(self, priced: Priced, n_rows: int) -> Objective:
        return objective_of([priced], [self._target], n_rows, self._options.dtype)

    def _watch(self) -> _Watch | None:
        """Rows to watch: some set aside, or others whose truth is known."""
        stopping, rows = self._options.stopping, self._rows
        if stopping is None:
            return None
        if self._aside is not None:
            watched = _index(self._aside)
            objective = self._price(self._aside, rows.n_rows).rows(watched, 1.0)
            return _Watch(rows, watched, objective, stopping.patience, stopping.tolerance)
        assert stopping.features is not None
        assert stopping.priced is not None
        rows = DeviceRows(stopping.features, self._scaling, self._options.dtype, rows.device)
        watched = np.arange(rows.n_rows)
        objective = self._price(stopping.priced, rows.n_rows).rows(watched, 1.0)
        return _Watch(rows, watched, objective, stopping.patience, stopping.tolerance)


class _Watch:
    """Remembers the state that was best on rows not trained on; `ValidationWatch` for torch."""

    def __init__(
        self,
        rows: DeviceRows,
        index: Index,
        objective: Objective,
        patience: int,
        tolerance: float,
    ) -> None:
        self._rows, self._index, self._objective = rows, index, objective
        self._patience, self._tolerance = patience, tolerance
        self._waited, self._floor, self._state = 0, np.inf, None
        self.best = np.inf

    def look(self, trainee: Trainee) -> bool:
        """Whether training may stop."""
        decision = answers(trainee, self._rows, self._index)
        cost = float(self._objective.value(decision[np.newaxis])[0])
        if cost < self.best:
            self.best, self._state = cost, trainee.state()
        if cost < self._floor * (1 - self._tolerance):
            self._floor, self._waited = cost, 0
        else:
            self._waited += 1
        return self._waited >= self._patience

    def restore(self, trainee: Trainee) -> None:
        """Go back to the best state."""
        if self._state is not None:
            trainee.restore(self._state)


def _rates(how: AdamOptions, learning_rate: float, n_rows: int) -> Callable[[int], float]:
    total = max(-(-n_rows // how.batch_size) * how.epochs, 1)
    return lambda step: learning_rate * how.rate(step / total)


def _index(priced: Priced) -> Index:
    return np.arange(priced.observation.size) if priced.rows is None else priced.rows
