"""Reading the constructor parameters of networks when `fit` needs them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal, Protocol, get_args

import numpy as np

from unmet.band import Array
from unmet.errors import InvalidInput
from unmet.models.checks import number, one_of, read_seed, true_or_false, whole
from unmet.solvers.neural.activations import ActivationName
from unmet.solvers.neural.adam import ScheduleName
from unmet.solvers.neural.pricing import Priced
from unmet.solvers.neural.scaling import ScalingName
from unmet.solvers.neural.tasks import (
    DtypeName,
    EarlyStopping,
    NetworkOptions,
    NetworkSolver,
    Task,
)

_LARGEST = float(np.finfo(np.float32).max)
_BELOW_ONE = 1 - 1e-16
_PASSES = 200
_EPOCHS, _RATE, _NARROW = 80, 0.02, 10
_FEW, _MANY, _BATCHES = 32, 512, 50


BackendName = Literal["numpy", "torch"]


class NetworkParameters(Protocol):
    """Constructor parameters of an estimator that trains networks."""

    hidden: Any
    backend: BackendName
    module: Any
    device: Any
    activation: ActivationName
    solver: NetworkSolver
    epochs: int | None
    batch_size: int | None
    learning_rate: float | None
    schedule: ScheduleName | None
    penalty: float
    scaling: ScalingName
    early_stopping: bool
    validation_size: float
    patience: int
    n_restarts: int
    dtype: DtypeName
    random_state: Any


@dataclass(frozen=True)
class NetworkPlan:
    """Everything that the constructor says about training.

    Attributes
    ----------
    options : NetworkOptions
    hidden : tuple of int
    penalty, learning_rate : float
    seed, n_restarts : int
    backend : {"numpy", "torch"}
    module, device : what the torch backend is given
    """

    options: NetworkOptions
    hidden: tuple[int, ...]
    penalty: float
    learning_rate: float
    seed: int
    n_restarts: int
    backend: BackendName
    module: Any
    device: Any

    def tasks(self, priced: Priced, start: Array | None = None) -> Sequence[Task]:
        """One task for each restart; parameters to start with need no restarts."""
        first = Task(priced, self.hidden, self.penalty, self.learning_rate, self.seed, start=start)
        restarts = 1 if start is not None else self.n_restarts
        return [replace(first, restart=restart) for restart in range(restarts)]


def read_plan(model: NetworkParameters, n_rows: int) -> NetworkPlan:
    """How to train, from parameters that may hold anything."""
    one_of("backend", model.backend, get_args(BackendName))
    if model.module is not None and not callable(model.module):
        raise InvalidInput(
            "module must be a function that is given the number of features and returns a "
            f"torch.nn.Module, or None, got {model.module!r}."
        )
    if model.module is not None and model.backend != "torch":
        raise InvalidInput(f"module needs backend 'torch', got {model.backend!r}.")
    if model.backend == "torch" and model.solver != "adam":
        raise InvalidInput(f"solver must be 'adam' for backend 'torch', got {model.solver!r}.")
    hidden = read_hidden(model.hidden)
    return NetworkPlan(
        options=read_options(model, n_rows),
        hidden=hidden,
        penalty=number("penalty", model.penalty, "a finite non-negative number", 0.0, _LARGEST),
        learning_rate=read_rate(model.learning_rate, hidden),
        seed=read_seed(model.random_state),
        n_restarts=whole("n_restarts", model.n_restarts, 1),
        backend=model.backend,
        module=model.module,
        device=model.device,
    )


def read_options(model: NetworkParameters, n_rows: int) -> NetworkOptions:
    """How to train, from parameters that may hold anything; None is what suits the solver."""
    one_of("activation", model.activation, get_args(ActivationName))
    one_of("solver", model.solver, get_args(NetworkSolver))
    one_of("dtype", model.dtype, get_args(DtypeName))
    one_of("scaling", model.scaling, get_args(ScalingName))
    epochs = _PASSES if model.solver == "lbfgs" else _EPOCHS
    if model.epochs is not None:
        epochs = whole("epochs", model.epochs, 1)
    batch_size = int(np.clip(n_rows // _BATCHES, _FEW, _MANY))
    if model.batch_size is not None:
        batch_size = whole("batch_size", model.batch_size, 1)
    schedule: ScheduleName = "cosine"
    if model.schedule is not None:
        one_of("schedule", model.schedule, get_args(ScheduleName))
        schedule = model.schedule
    stopping = None
    if true_or_false("early_stopping", model.early_stopping):
        stopping = read_stopping(model)
    return NetworkOptions(
        activation=model.activation,
        solver=model.solver,
        epochs=epochs,
        batch_size=min(batch_size, n_rows),
        schedule=schedule,
        dtype=model.dtype,
        scaling=model.scaling,
        stopping=stopping,
    )


def read_stopping(model: NetworkParameters) -> EarlyStopping:
    """When to stop early."""
    size = number(
        "validation_size", model.validation_size, "a number above 0 and below 1", 1e-300, _BELOW_ONE
    )
    return EarlyStopping(size, whole("patience", model.patience, 1), 1e-7)


def read_hidden(hidden: Any) -> tuple[int, ...]:
    """Widths of the hidden layers; one number is one layer."""
    if isinstance(hidden, Integral) or (isinstance(hidden, np.ndarray) and hidden.ndim == 0):
        hidden = (hidden[()] if isinstance(hidden, np.ndarray) else hidden,)
    if isinstance(hidden, str) or not isinstance(hidden, Iterable):
        raise InvalidInput(f"hidden must be whole numbers of at least 1, got {hidden!r}.")
    return tuple(whole("hidden", width, 1) for width in hidden)


def read_rate(learning_rate: Any, hidden: tuple[int, ...]) -> float:
    """Learning rate of Adam; None is the fast schedule's, smaller steps for wide layers."""
    if learning_rate is None:
        return float(_RATE * np.sqrt(min(_NARROW / max(hidden, default=1), 1.0)))
    return number("learning_rate", learning_rate, "a positive number", 1e-300, _LARGEST)
