"""An epoch in torch: rows to the device, slopes of the cost, Adam."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unmet.solvers.neural.activations import Floats
from unmet.solvers.neural.adam import EPSILON, FIRST_DECAY, SECOND_DECAY, Moments
from unmet.solvers.neural.objectives import Index, Objective
from unmet.solvers.neural.scaling import FeatureScaling
from unmet.solvers.neural.torch_devices import load_torch
from unmet.solvers.neural.torch_networks import Trainee
from unmet.solvers.neural.torch_slopes import slopes_of
from unmet.solvers.problem import Features

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
