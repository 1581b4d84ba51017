"""What the torch backend trains: a network of our own layout, or a module of the user's.

Nothing here imports torch before it is asked to.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from unmet.arrays import Array, Features
from unmet.errors import InvalidInput, MissingPackage
from unmet.solvers import constants
from unmet.solvers.losses import Floats, Units
from unmet.solvers.neural.networks import FeatureScaling, Network, NetworkLayout

# --- PyTorch where it is installed: its devices, its threads, its random numbers.


def load_torch() -> Any:
    """Import torch, or say how to install it."""
    try:
        import torch
    except ImportError:
        raise MissingPackage.for_extra("backend='torch'", "torch", "torch") from None
    return torch


def find_device(device: Any, dtype: str) -> Any:
    """Device by name; None is the first CUDA GPU if there is one, else the CPU.

    Apple's "mps" must be asked for, as it has no float64 and no answers that repeat bit for bit.

    Parameters
    ----------
    device : str, torch.device or None
    dtype : {"float32", "float64"}

    Returns
    -------
    torch.device
    """
    torch = load_torch()
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
        torch.zeros(1, dtype=getattr(torch, dtype), device=found).item()
    except (RuntimeError, AssertionError, TypeError, ValueError):
        raise InvalidInput(
            f"device must be one that torch finds here and that computes in {dtype}, "
            f"such as 'cpu', got {device!r}."
        ) from None
    return found


@contextmanager
def fitting_threads(n_parameters: int, batch_size: int) -> Iterator[None]:
    """Let torch use one thread inside the ``with`` where steps are too small to be shared.

    Threads that wait for each other in every product cost more than they bring: on two cores that
    were busy otherwise, two 256-unit layers took ten times as long with two threads. Larger
    networks get as many threads as torch is set to. The setting is the process's, and is put back:
    of fits that overlap in several Python threads, the first to end lifts it.
    """
    torch = load_torch()
    before = torch.get_num_threads()
    few = n_parameters * batch_size < constants.SHARED_WORK
    if few:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if few:
            torch.set_num_threads(before)


@contextmanager
def own_randomness(device: Any, seed: int) -> Iterator[None]:
    """Seed what modules draw inside the ``with``, and leave the user's random numbers alone."""
    torch = load_torch()
    gpus = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        if device.type == "cpu":
            torch.default_generator.manual_seed(seed)  # not those of idle GPUs, as manual_seed does
        else:
            torch.manual_seed(seed)
        yield


def torch_seed(*numbers: int) -> int:
    """One seed for torch from several numbers."""
    return int(np.random.default_rng([*numbers, 5]).integers(2**62))


# --- A trained module of your own.


@dataclass(frozen=True)
class ModuleNetwork:
    """A trained ``torch.nn.Module``: it decides in the user's units.

    It decides on the device that it was trained on; a copy or a saved one, on the CPU. Saving by
    `pickle` or `joblib` needs a class that can be imported; skops refuses modules, as it cannot
    know what is in them.

    Attributes
    ----------
    module : torch.nn.Module
    features : FeatureScaling
    target : Units
    """

    module: Any
    features: FeatureScaling
    target: Units

    @property
    def parameters(self) -> Floats:
        """Everything that is trained, in one row of shape (n_parameters,)."""
        trained = trained_parameters(self.module)
        return np.concatenate([each.detach().cpu().numpy().ravel() for each in trained])

    def decide(self, features: Features) -> Array:
        """Decide for each row, with layers such as dropout in the mode that they predict in."""
        import torch

        like = trained_parameters(self.module)[0]
        dtype = np.dtype(str(like.dtype).removeprefix("torch."))
        decisions = np.empty(features.shape[0])
        self.module.eval()
        with torch.no_grad():
            for start in range(0, decisions.size, constants.ROWS_AT_A_TIME):
                part = slice(start, start + constants.ROWS_AT_A_TIME)
                scaled = np.ascontiguousarray(self.features.dense(features[part], dtype))
                inputs = torch.from_numpy(scaled).to(like.device)
                decisions[part] = one_each(self.module(inputs), inputs).cpu().numpy()
        return self.target.decisions(decisions)

    def again(self, n_features: int) -> Any:  # noqa: ARG002 (stands in for the user's factory)
        """Copy the module, to go on from where it stands."""
        return copy.deepcopy(self.module)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "module": copy.deepcopy(self.module).cpu()}


def trained_parameters(module: Any) -> list[Any]:
    """Parameters that are not frozen."""
    return [each for each in module.parameters() if each.requires_grad]


def one_each(outputs: Any, inputs: Any) -> Any:
    """Give outputs of a module the shape (n_rows,), if they are one number for each row."""
    shape, n_rows = getattr(outputs, "shape", None), inputs.shape[0]
    if shape is None or tuple(shape) not in ((n_rows,), (n_rows, 1)):
        got = f"a {type(outputs).__name__}"
        if shape is not None:
            got = f"the shape {tuple(shape)} for {n_rows} rows"
        raise InvalidInput(f"module must map rows to one number each, got {got}.")
    return outputs.reshape(n_rows).to(inputs.dtype)


TrainedNetwork: TypeAlias = Network | ModuleNetwork


# --- What the torch backend trains: a network of our own layout, or a module of the user's.


class TorchModel:
    """A network of our own layout, with all its parameters in one tensor that has gradients.

    Parameters
    ----------
    layout : NetworkLayout
    activation : {"sigmoid", "relu", "silu", "tanh"}
    start : ndarray of shape (n_parameters,)
    dtype : {"float32", "float64"}
    device : torch.device

    Attributes
    ----------
    parameters : list of torch.Tensor
    penalised : list of torch.Tensor
        For each of them 1 where it is penalised and 0 where it is not, of its shape or of none.
    """

    parameters: list[Any]
    penalised: list[Any]
    leaves_one_out: bool = False
    """Whether a last batch of a single row is left out."""

    def __init__(
        self, layout: NetworkLayout, activation: Any, start: Floats, dtype: str, device: Any
    ) -> None:
        torch = load_torch()
        self._layout, self._name = layout, activation
        self._linear = torch.nn.functional.linear
        self._activation = getattr(torch.nn.functional, activation)
        flat = torch.tensor(start.astype(dtype), device=device, requires_grad=True)
        mask = torch.tensor(layout.is_weight().astype(dtype), device=device)
        self.parameters, self.penalised = [flat], [mask]
        sizes = layout.sizes
        self._shapes = list(zip(sizes[1:], sizes, strict=False))
        self._lengths = [n for n_out, n_in in self._shapes for n in (n_out * n_in, n_out)]

    def decide(self, inputs: Any) -> Any:
        """Compute scaled decisions of shape (n_rows,) while training, with what gradients need."""
        pieces = self.parameters[0].split(self._lengths)
        values = inputs
        for layer, shape in enumerate(self._shapes):
            if layer:
                values = self._activation(values)
            values = self._linear(values, pieces[2 * layer].view(shape), pieces[2 * layer + 1])
        return values[:, 0]

    def answer(self, inputs: Any) -> Any:
        """Compute scaled decisions of shape (n_rows,) as after training."""
        return self.decide(inputs)

    def state(self) -> Any:
        """Copy everything that training changes."""
        return self.parameters[0].detach().clone()

    def restore(self, state: Any) -> None:
        """Go back to a state."""
        self.parameters[0].detach().copy_(state)

    def network(self, features: FeatureScaling, target: Units) -> TrainedNetwork:
        """Put what was learned and its units together, in NumPy arrays that need torch no more."""
        flat = self.parameters[0].detach().cpu().numpy().copy()
        return Network(self._layout, self._name, flat, features, target)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(each.numel() for each in self.parameters)

    @property
    def is_finite(self) -> bool:
        """Whether all parameters are numbers."""
        return all(bool(np.isfinite(float(each.detach().sum()))) for each in self.parameters)

    def squares(self) -> float:
        """Sum of the squares that the penalty multiplies."""
        pairs = zip(self.parameters, self.penalised, strict=True)
        return sum(float((each.detach().square() * some).sum()) for each, some in pairs)


class ModuleModel(TorchModel):
    """A module of the user's; of its parameters, matrices are penalised and vectors are not.

    A last batch of one row is left out, since batch normalisation cannot do with one.

    Parameters
    ----------
    factory : callable
        Number of features → ``torch.nn.Module``.
    n_features : int
    dtype : {"float32", "float64"}
    device : torch.device
    """

    leaves_one_out = True

    def __init__(self, factory: Any, n_features: int, dtype: str, device: Any) -> None:
        torch = load_torch()
        module = factory(n_features)
        if not isinstance(module, torch.nn.Module):
            raise InvalidInput(f"module must return a torch.nn.Module, got {module!r:.60}.")
        if not trained_parameters(module):
            raise InvalidInput(
                "module must return a torch.nn.Module with parameters to train, "
                f"got a {type(module).__name__} without."
            )
        self._module = module.to(device=device, dtype=getattr(torch, dtype))
        self.parameters = trained_parameters(self._module)
        self.penalised = [
            torch.tensor(float(each.ndim > 1), dtype=each.dtype, device=device)
            for each in self.parameters
        ]

    def decide(self, inputs: Any) -> Any:
        """Call the module in the mode in which it trains."""
        self._module.train()
        outputs = one_each(self._module(inputs), inputs)
        if not outputs.requires_grad:
            raise InvalidInput("module must return outputs that have gradients, got none.")
        return outputs

    def answer(self, inputs: Any) -> Any:
        """Call the module in the mode in which it predicts."""
        self._module.eval()
        return one_each(self._module(inputs), inputs)

    def state(self) -> Any:
        """Copy parameters and buffers."""
        return copy.deepcopy(self._module.state_dict())

    def restore(self, state: Any) -> None:
        """Write parameters and buffers back."""
        self._module.load_state_dict(state)

    def network(self, features: FeatureScaling, target: Units) -> ModuleNetwork:
        """Hand the module over."""
        return ModuleNetwork(self._module.eval(), features, target)


def model_of(network: TrainedNetwork, n_features: int, dtype: str, device: Any) -> TorchModel:
    """Copy a trained network, to go on with it."""
    if isinstance(network, ModuleNetwork):
        return ModuleModel(network.again, n_features, dtype, device)
    return TorchModel(network.layout, network.activation, network.parameters, dtype, device)


def check_first(outputs: Floats) -> None:
    """Refuse a module that does not begin with numbers: no learning rate would help it."""
    if not np.isfinite(outputs).all():
        raise InvalidInput("module must return finite numbers before training, got nan or inf.")
