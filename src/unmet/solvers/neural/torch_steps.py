"""One more epoch in torch, for `partial_fit`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unmet.solvers.neural.adam import Moments
from unmet.solvers.neural.module_network import ModuleNetwork
from unmet.solvers.neural.pricing import Priced, objective_of
from unmet.solvers.neural.scaling import FeatureScaling, TargetScaling
from unmet.solvers.neural.tasks import NetworkOptions, TrainedNetwork
from unmet.solvers.neural.torch_batches import DeviceRows, TorchAdam, TorchBatches, answers
from unmet.solvers.neural.torch_devices import (
    find_device,
    fitting_threads,
    load_torch,
    own_randomness,
    torch_seed,
)
from unmet.solvers.neural.torch_networks import ModuleTrainee, check_first, trainee_of
from unmet.solvers.problem import Features


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
