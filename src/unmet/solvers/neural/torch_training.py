"""One more epoch in torch, for `partial_fit`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unmet.arrays import Features
from unmet.solvers.neural.adam import (
    EPSILON,
    FIRST_DECAY,
    SECOND_DECAY,
    AdamOptions,
    Moments,
    smoothing_width,
)
from unmet.solvers.neural.losses import (
    BandObjective,
    Index,
    Objective,
    Priced,
    SquareObjective,
    objective_of,
)
from unmet.solvers.neural.module_network import ModuleNetwork
from unmet.solvers.neural.networks import Floats
from unmet.solvers.neural.scaling import FeatureScaling, TargetScaling
from unmet.solvers.neural.tasks import NetworkOptions, Task, Trained, TrainedNetwork, outcome
from unmet.solvers.neural.torch_networks import (
    LayerTrainee,
    ModuleTrainee,
    Trainee,
    check_first,
    find_device,
    fitting_threads,
    is_finite,
    load_torch,
    own_randomness,
    torch_seed,
    trainee_of,
)

# --- Slopes of the cost for torch, which knows nothing of costs.


class Slopes(ABC):
    """Slope of the cost in the decisions of some rows, one network's."""

    @abstractmethod
    def of(self, decision: Any, rows: slice) -> Any:
        """Tensor of slopes of consecutive rows."""


class BandSlopes(Slopes):
    """Slopes that are known from the ends of the bands: computed on the device."""

    def __init__(self, objective: BandObjective, device: Any) -> None:
        torch = load_torch()
        self._square = isinstance(objective, SquareObjective)
        columns = (objective.bottom, objective.top, objective.below, objective.above)
        self._columns = [
            (torch.from_numpy(column[0]).to(device), column.size > 1) for column in columns
        ]

    def of(self, decision: Any, rows: slice) -> Any:
        """0 in the band and on its ends (Prop. LR-grad)."""
        bottom, top, below, above = (
            each[rows] if by_row else each for each, by_row in self._columns
        )
        if self._square:
            return (decision - decision.clamp(bottom, top)).mul_(2 * below)
        return (decision > top) * above - (decision < bottom) * below


class OwnSlopes(Slopes):
    """Slopes of a cost that knows only NumPy: decisions go to it, and slopes come back."""

    def __init__(self, objective: Objective, width: float) -> None:
        self._objective, self._width = objective, np.full(1, width)

    def of(self, decision: Any, rows: slice) -> Any:
        """Central difference over the width."""
        torch = load_torch()
        decided = decision.cpu().numpy()[np.newaxis]
        slope = self._objective.part(rows).slope(decided, self._width)[0]
        return torch.from_numpy(np.ascontiguousarray(slope)).to(decision.device)


def slopes_of(objective: Objective, width: float, device: Any) -> Slopes:
    """Slopes that fit the objective of one network."""
    if isinstance(objective, BandObjective):
        return BandSlopes(objective, device)
    return OwnSlopes(objective, width)


# --- An epoch in torch: rows to the device, slopes of the cost, Adam.

_RESIDENT = 1 << 30  # bytes of features that stay on the device from epoch to epoch
_NUMBERS_AT_A_TIME = 1 << 22  # of features that are put in order, or brought to the device
_ROWS_AT_A_TIME = 1 << 13  # that are decided: each takes as much memory as there are units


class DeviceRows:
    """Scaled features on a device: all of them if they are dense and not too many, else by blocks.

    Parameters
    ----------
    features : ndarray or csr_array of shape (n_rows, n_features)
    scaling : FeatureScaling
    dtype : {"float32", "float64"}
    device : torch.device
    """

    def __init__(
        self, features: Features, scaling: FeatureScaling, dtype: str, device: Any
    ) -> None:
        torch = load_torch()
        self.device = device
        self.n_rows, self.n_features = features.shape
        self._features, self._scaling, self._dtype = features, scaling, np.dtype(dtype)
        self._from_numpy, self._resident = torch.from_numpy, None
        n_bytes = self.n_rows * self.n_features * self._dtype.itemsize
        if isinstance(features, np.ndarray) and n_bytes <= _RESIDENT:
            shape = (self.n_rows, self.n_features)
            resident = torch.empty(shape, dtype=getattr(torch, dtype), device=device)
            for part in self.blocks(self.n_rows):
                resident[part] = self.part(part)
            self._resident = resident

    def blocks(
        self, n_rows: int, batch_size: int = 1, most: int = _NUMBERS_AT_A_TIME
    ) -> list[slice]:
        """Cut rows into blocks whose lengths are multiples of a batch, but for the last."""
        most = min(_NUMBERS_AT_A_TIME // max(self.n_features, 1), most)
        step = max(most // batch_size, 1) * batch_size
        return [slice(start, start + step) for start in range(0, n_rows, step)]

    def part(self, rows: slice | Index) -> Any:
        """Tensor of some rows."""
        if self._resident is None:
            scaled = self._scaling.dense(self._features[rows], self._dtype)
            return self._from_numpy(np.ascontiguousarray(scaled)).to(self.device)
        if isinstance(rows, slice):
            return self._resident[rows]
        return self._resident[self._from_numpy(rows).to(self.device)]


class TorchAdam:
    """Adam with the ε of Keras, as `Moments.update` does it.

    ``torch.optim.Adam`` puts ε elsewhere, and takes seconds to be imported.

    Parameters
    ----------
    trainee : Trainee
    penalty : float
    moments : Moments, optional
        To go on from; parameters stand in one row of them.
    """

    def __init__(self, trainee: Trainee, penalty: float, moments: Moments | None = None) -> None:
        torch = load_torch()
        self._no_grad = torch.no_grad
        self.parameters = trainee.parameters
        self._pulls = [2 * penalty * each for each in trainee.penalised] if penalty else None
        if moments is None:
            self.steps = 0
            self._means = [torch.zeros_like(each) for each in self.parameters]
            self._squares = [torch.zeros_like(each) for each in self.parameters]
        else:
            self.steps = moments.steps
            self._means = self._unpack(moments.mean)
            self._squares = self._unpack(moments.square)

    def _unpack(self, row: Any) -> list[Any]:
        torch = load_torch()
        like = self.parameters[0]
        flat = torch.tensor(row[0], dtype=like.dtype, device=like.device)
        pieces = flat.split([each.numel() for each in self.parameters])
        return [
            piece.view(each.shape).clone()
            for piece, each in zip(pieces, self.parameters, strict=True)
        ]

    def moments(self) -> Moments:
        """Where it stands, as NumPy arrays."""
        return Moments(self._pack(self._means), self._pack(self._squares), self.steps)

    def _pack(self, tensors: Sequence[Any]) -> Floats:
        return np.concatenate([each.cpu().numpy().ravel() for each in tensors])[np.newaxis]

    def update(self, gradients: Sequence[Any], rate: float) -> None:
        """Change parameters by one step; those without a gradient stay as they are."""
        self.steps += 1
        correction = np.sqrt(1 - SECOND_DECAY**self.steps) / (1 - FIRST_DECAY**self.steps)
        with self._no_grad():
            for place, gradient in enumerate(gradients):
                if gradient is None:
                    continue
                parameter, mean, square = (
                    each[place] for each in (self.parameters, self._means, self._squares)
                )
                if self._pulls is not None:
                    gradient = gradient + self._pulls[place] * parameter
                mean.mul_(FIRST_DECAY).add_(gradient, alpha=1 - FIRST_DECAY)
                square.mul_(SECOND_DECAY).addcmul_(gradient, gradient, value=1 - SECOND_DECAY)
                parameter.addcdiv_(mean, square.sqrt().add_(EPSILON), value=-rate * correction)


@dataclass(frozen=True)
class TorchBatches:
    """Everything that stays the same from epoch to epoch.

    Attributes
    ----------
    rows : DeviceRows
    objective : Objective
        Of all rows, for one network; shares sum to one over those in `index`.
    index : ndarray of shape (n_trained,)
        Rows to train on.
    batch_size : int
    """

    rows: DeviceRows
    objective: Objective
    index: Index
    batch_size: int

    def epoch(
        self,
        trainee: Trainee,
        adam: TorchAdam,
        generator: np.random.Generator,
        rates: Callable[[int], float],
        width: float,
    ) -> None:
        """Go once through the rows, in random order."""
        order = self.index[generator.permutation(self.index.size)]
        for block in self.rows.blocks(order.size, self.batch_size):
            self._block(trainee, adam, order[block], rates, width)

    def _block(
        self,
        trainee: Trainee,
        adam: TorchAdam,
        order: Index,
        rates: Callable[[int], float],
        width: float,
    ) -> None:
        """Take batches from rows that are put in order first."""
        torch = load_torch()
        inputs = self.rows.part(order)
        priced = self.objective.rows(order, self.index.size / self.batch_size)
        slopes = slopes_of(priced, width, self.rows.device)
        for start in range(0, order.size, self.batch_size):
            part = slice(start, start + self.batch_size)
            n_rows = min(self.batch_size, order.size - start)
            if n_rows == 1 < min(self.batch_size, self.index.size) and trainee.leaves_one_out:
                continue
            decision = trainee.decide(inputs[part])
            slope = slopes.of(decision.detach(), part)
            if n_rows < self.batch_size:  # the last of an epoch: a mean over fewer rows
                slope *= self.batch_size / n_rows
            # The slope is the derivative of the product. Handed over as `grad_outputs` it would
            # do the same, but torch then imports sympy: half a second.
            product = torch.dot(decision, slope)
            gradients = torch.autograd.grad(product, adam.parameters, allow_unused=True)
            adam.update(gradients, rates(adam.steps))


def answers(trainee: Trainee, rows: DeviceRows, index: Index | None = None) -> Floats:
    """Scaled decisions for some rows or all."""
    torch = load_torch()
    n_rows = rows.n_rows if index is None else index.size
    with torch.no_grad():
        parts = [
            trainee.answer(rows.part(block if index is None else index[block])).cpu().numpy()
            for block in rows.blocks(n_rows, most=_ROWS_AT_A_TIME)
        ]
    return np.concatenate(parts)


# --- Training in PyTorch: for large networks, for GPUs, and for modules of one's own.
#  Networks of our own layout take the same way as in NumPy, but for rounding: the same start, the
# same order of rows, the same Adam. The cost is not known to torch: its slope in the decisions is
# handed to the backward pass, so that costs of one's own need no more here than they need
# elsewhere.
#
# Torch uses as many threads as it is set to (``torch.set_num_threads``), but for networks so small
# that one is faster.


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


# --- One more epoch in torch, for `partial_fit`.


@dataclass(frozen=True)
class TorchStep:
    """One epoch for `partial_fit`.

    Attributes
    ----------
    options : NetworkOptions
    penalty, learning_rate, width : float
        The width is that by which costs of one's own are smoothed.
    seed : tuple of int
        Of the order of rows, and of what modules draw.
    device : str, torch.device or None
    """

    options: NetworkOptions
    penalty: float
    learning_rate: float
    width: float
    seed: tuple[int, ...]
    device: Any

    def epoch(
        self, network: TrainedNetwork, moments: Moments, features: Features, priced: Priced
    ) -> tuple[TrainedNetwork, Moments]:
        """Go once through some rows; what it is given is left as it is."""
        torch = load_torch()
        dtype = self.options.dtype
        place = find_device(self.device, dtype)
        rows = DeviceRows(features, network.features, dtype, place)
        objective = objective_of([priced], [network.target], rows.n_rows, dtype)
        index = np.arange(rows.n_rows)
        batches = TorchBatches(rows, objective, index, self.options.batch_size)
        trainee = trainee_of(network, rows.n_features, dtype, place)
        adam = TorchAdam(trainee, self.penalty, moments)
        generator = np.random.default_rng(self.seed)
        with (
            torch.enable_grad(),
            own_randomness(place, torch_seed(*self.seed)),
            fitting_threads(trainee.size, self.options.batch_size),
        ):
            if moments.steps == 0:
                check_first(answers(trainee, rows, index[: self.options.batch_size]))
            batches.epoch(trainee, adam, generator, lambda _: self.learning_rate, self.width)
        return trainee.network(network.features, network.target), adam.moments()


def first_module(
    module: Any,
    n_features: int,
    dtype: str,
    scaling: tuple[FeatureScaling, TargetScaling],
    *,
    seed: int,
    device: Any,
) -> ModuleNetwork:
    """Make a module that `partial_fit` will train, with units of features and observations."""
    load_torch()
    place = find_device(device, dtype)
    with own_randomness(place, torch_seed(seed, 0)):
        return ModuleTrainee(module, n_features, dtype, place).network(*scaling)
