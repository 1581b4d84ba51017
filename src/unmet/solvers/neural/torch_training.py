"""Training in PyTorch: for large networks, for GPUs, and for your own modules.

Networks of our own layout take the same way as in NumPy, but for rounding: the same start, the same
order of rows, the same Adam. The cost is not known to torch: its slope in the decisions is handed
to the backward pass, so that your own costs need no more here than they need elsewhere.

Torch uses as many threads as it is set to (``torch.set_num_threads``), but for networks so small
that one is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unmet.arrays import Features
from unmet.rows import Rows
from unmet.solvers import constants
from unmet.solvers.losses import Floats, HingeLoss, Index, Loss, SquaredLoss, Units, loss_of
from unmet.solvers.neural.networks import FeatureScaling
from unmet.solvers.neural.optimisers import (
    EarlyStopping,
    Moments,
    NetworkOptions,
    smoothing_width,
    start_correction,
)
from unmet.solvers.neural.torch_networks import (
    ModuleModel,
    ModuleNetwork,
    TorchModel,
    TrainedNetwork,
    check_first,
    find_device,
    fitting_threads,
    load_torch,
    model_of,
    own_randomness,
    torch_seed,
)
from unmet.solvers.neural.training import Progress, Task, Trained, outcome

# --- TorchSlopes of the cost for torch, which knows nothing of costs.


class TorchSlopes:
    """Slope of the cost in the decisions of some rows, one network's.

    What is known from the ends of bands is computed on the device. A cost of which only values are
    known is one of NumPy: decisions go to it, and slopes come back.
    """

    def __init__(self, loss: Loss, width: float, device: Any) -> None:
        torch = load_torch()
        self._loss, self._width, self._from_numpy = loss, np.full(1, width), torch.from_numpy
        self._tiers = None
        if isinstance(loss, HingeLoss | SquaredLoss):
            self._tiers = [
                [(torch.from_numpy(column[0]).to(device), column.size > 1) for column in tier]
                for tier in loss.tiers
            ]

    def of(self, decision: Any, rows: slice) -> Any:
        """Tensor of slopes of consecutive rows: 0 in the band and on its ends (Prop. LR-grad)."""
        if self._tiers is None:
            decided = decision.cpu().numpy()[np.newaxis]
            slope = self._loss.part(rows).slope(decided, self._width)[0]
            return self._from_numpy(np.ascontiguousarray(slope)).to(decision.device)
        total: Any = None
        for tier in self._tiers:
            bottom, top, below, above = (each[rows] if by_row else each for each, by_row in tier)
            if isinstance(self._loss, SquaredLoss):
                return (decision - decision.clamp(bottom, top)).mul_(2 * below)
            slope = (decision > top) * above - (decision < bottom) * below
            total = slope if total is None else total.add_(slope)
        return total


# --- An epoch in torch: rows to the device, slopes of the cost, Adam.


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
        if isinstance(features, np.ndarray) and n_bytes <= constants.RESIDENT_BYTES:
            shape = (self.n_rows, self.n_features)
            resident = torch.empty(shape, dtype=getattr(torch, dtype), device=device)
            for part in self.blocks(self.n_rows):
                resident[part] = self.part(part)
            self._resident = resident

    def blocks(self, n_rows: int, batch_size: int = 1, most: int | None = None) -> list[slice]:
        """Cut rows into blocks whose lengths are multiples of a batch, but for the last."""
        fitting = constants.BLOCK_NUMBERS // max(self.n_features, 1)
        step = max(min(fitting, most or fitting) // batch_size, 1) * batch_size
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
    model : TorchModel
    penalty : float
    moments : Moments, optional
        To go on from; parameters stand in one row of them.
    """

    def __init__(self, model: TorchModel, penalty: float, moments: Moments | None = None) -> None:
        torch = load_torch()
        self._no_grad = torch.no_grad
        self.parameters = model.parameters
        self._pulls = [2 * penalty * each for each in model.penalised] if penalty else None
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
        first, second = constants.FIRST_DECAY, constants.SECOND_DECAY
        step = -rate * start_correction(self.steps)
        with self._no_grad():
            for place, gradient in enumerate(gradients):
                if gradient is None:
                    continue
                parameter, mean, square = (
                    each[place] for each in (self.parameters, self._means, self._squares)
                )
                if self._pulls is not None:
                    gradient = gradient + self._pulls[place] * parameter
                mean.mul_(first).add_(gradient, alpha=1 - first)
                square.mul_(second).addcmul_(gradient, gradient, value=1 - second)
                parameter.addcdiv_(mean, square.sqrt().add_(constants.EPSILON), value=step)


@dataclass(frozen=True)
class TorchBatches:
    """Everything that stays the same from epoch to epoch.

    Attributes
    ----------
    rows : DeviceRows
    loss : Loss
        Of all rows, for one network; shares sum to one over those in `index`.
    index : ndarray of shape (n_trained,)
        Rows to train on.
    batch_size : int
    """

    rows: DeviceRows
    loss: Loss
    index: Index
    batch_size: int

    def epoch(
        self,
        model: TorchModel,
        adam: TorchAdam,
        generator: np.random.Generator,
        rates: Callable[[int], float],
        width: float,
    ) -> None:
        """Go once through the rows, in random order."""
        torch, size = load_torch(), self.batch_size
        order = self.index[generator.permutation(self.index.size)]
        for block in self.rows.blocks(order.size, size):  # rows that are put in order at a time
            rows = order[block]
            inputs = self.rows.part(rows)
            loss = self.loss.rows(rows, self.index.size / size)
            slopes = TorchSlopes(loss, width, self.rows.device)
            for start in range(0, rows.size, size):
                part = slice(start, start + size)
                n_rows = min(size, rows.size - start)
                if n_rows == 1 < min(size, self.index.size) and model.leaves_one_out:
                    continue
                decision = model.decide(inputs[part])
                slope = slopes.of(decision.detach(), part)
                if n_rows < size:  # the last of an epoch: a mean over fewer rows
                    slope *= size / n_rows
                # The slope is the derivative of the product. Handed over as `grad_outputs` it
                # would do the same, but torch then imports sympy: half a second.
                product = torch.dot(decision, slope)
                gradients = torch.autograd.grad(product, adam.parameters, allow_unused=True)
                adam.update(gradients, rates(adam.steps))


def answers(model: TorchModel, rows: DeviceRows, index: Index | None = None) -> Floats:
    """Scaled decisions for some rows or all."""
    torch = load_torch()
    n_rows = rows.n_rows if index is None else index.size
    with torch.no_grad():
        parts = [
            model.answer(rows.part(block if index is None else index[block])).cpu().numpy()
            for block in rows.blocks(n_rows, most=constants.ROWS_AT_A_TIME)
        ]
    return np.concatenate(parts)


# --- Training of one network after the other.


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
    found = find_device(device, options.dtype)
    rows = DeviceRows(features, scaling, options.dtype, found)
    trained = []
    with torch.enable_grad():
        for task in tasks:
            with own_randomness(found, torch_seed(task.seed, task.restart)):
                n_features, dtype = rows.n_features, options.dtype
                if module is not None:
                    model: TorchModel = ModuleModel(module, n_features, dtype, found)
                else:
                    layout, start = task.layout(n_features), task.first(n_features)
                    model = TorchModel(layout, options.activation, start, dtype, found)
                with fitting_threads(model.size, options.batch_size):
                    trained.append(_train_one(model, rows, scaling, options, task))
    return trained


def _train_one(
    model: TorchModel,
    rows: DeviceRows,
    scaling: FeatureScaling,
    options: NetworkOptions,
    whole: Task,
) -> Trained:
    """Train one network until nothing is gained any more, and see that it has not diverged."""
    stopping, task, aside = options.stopping, whole, None
    if stopping is not None and stopping.rows is None:
        task, aside = whole.set_aside(stopping.share)
    target = Units.of(task.rows, options.scaling)

    def evaluated(some: Task) -> Loss:
        return loss_of(
            [some.rows], [target], options.dtype, places=[some.index], n_rows=rows.n_rows
        )

    monitor = None
    if stopping is not None and aside is not None:
        monitor = _Monitoring(rows, aside.place, evaluated(aside).rows(aside.place), stopping)
    elif stopping is not None and stopping.rows is not None:
        monitored = DeviceRows(stopping.rows.features, scaling, options.dtype, rows.device)
        every = np.arange(monitored.n_rows)
        monitor = _Monitoring(
            monitored, every, loss_of([stopping.rows], [target], options.dtype), stopping
        )
    before = answers(model, rows)
    check_first(before)
    batches = TorchBatches(rows, evaluated(task), task.place, options.batch_size)
    adam, generator = TorchAdam(model, task.strength), task.shuffler()
    total = max(-(-task.rows.n_rows // options.batch_size) * options.epochs, 1)
    epochs = options.epochs
    for epoch in range(options.epochs):
        batches.epoch(
            model,
            adam,
            generator,
            lambda step: task.learning_rate * options.rate(step / total),
            smoothing_width(epoch / options.epochs),
        )
        if not model.is_finite:
            break
        if monitor is not None and monitor.look(model):
            epochs = epoch + 1
            break
    if monitor is not None:
        monitor.restore(model)
    return outcome(
        whole,
        task,
        options,
        model.network(scaling, target),
        before,
        answers(model, rows),
        squares=model.squares(),
        best=None if monitor is None else float(monitor.progress.best[0]),
        epochs=epochs,
    )


class _Monitoring:
    """Remembers the state that was best on rows not trained on; `EarlyStopping` for torch."""

    def __init__(self, rows: DeviceRows, index: Index, loss: Loss, stopping: EarlyStopping) -> None:
        self._rows, self._index, self._loss = rows, index, loss
        self.progress = Progress(1, stopping.patience, stopping.tolerance)
        self._state: Any = None

    def look(self, model: TorchModel) -> bool:
        """Whether training may stop."""
        decision, one = answers(model, self._rows, self._index), np.zeros(1, dtype=np.intp)
        if self.progress.hear(one, self._loss.value(decision[np.newaxis]))[0]:
            self._state = model.state()
        return bool(self.progress.stops(one)[0])

    def restore(self, model: TorchModel) -> None:
        """Go back to the best state."""
        if self._state is not None:
            model.restore(self._state)


def one_torch_epoch(
    network: TrainedNetwork,
    moments: Moments,
    rows: Rows,
    options: NetworkOptions,
    *,
    strength: float,
    learning_rate: float,
    width: float,
    seed: tuple[int, ...],
    device: Any,
) -> tuple[TrainedNetwork, Moments]:
    """Go once through some rows, for `partial_fit`; what it is given is left as it is.

    Parameters
    ----------
    network : Network or ModuleNetwork
    moments : Moments
    rows : Rows
    options : NetworkOptions
    strength, learning_rate, width : float
        The width is that by which your own costs are smoothed.
    seed : tuple of int
        Of the order of rows, and of what modules draw.
    device : str, torch.device or None
    """
    torch = load_torch()
    dtype = options.dtype
    found = find_device(device, dtype)
    table = DeviceRows(rows.features, network.features, dtype, found)
    index = np.arange(table.n_rows)
    loss = loss_of([rows], [network.target], dtype)
    batches = TorchBatches(table, loss, index, options.batch_size)
    model = model_of(network, table.n_features, dtype, found)
    adam = TorchAdam(model, strength, moments)
    generator = np.random.default_rng(seed)
    with (
        torch.enable_grad(),
        own_randomness(found, torch_seed(*seed)),
        fitting_threads(model.size, options.batch_size),
    ):
        if moments.steps == 0:
            check_first(answers(model, table, index[: options.batch_size]))
        batches.epoch(model, adam, generator, lambda _: learning_rate, width)
    return model.network(network.features, network.target), adam.moments()


def first_module(
    module: Any,
    n_features: int,
    dtype: str,
    scaling: tuple[FeatureScaling, Units],
    *,
    seed: int,
    device: Any,
) -> ModuleNetwork:
    """Make a module that `partial_fit` will train, with units of features and observations."""
    load_torch()
    place = find_device(device, dtype)
    with own_randomness(place, torch_seed(seed, 0)):
        return ModuleModel(module, n_features, dtype, place).network(*scaling)
