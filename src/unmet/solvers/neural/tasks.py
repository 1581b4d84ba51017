"""What is to be trained, how, and what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from unmet.arrays import Array, Features
from unmet.errors import InvalidInput, SolverFailure
from unmet.solvers.neural.adam import ScheduleName
from unmet.solvers.neural.losses import Priced
from unmet.solvers.neural.module_network import ModuleNetwork
from unmet.solvers.neural.networks import ActivationName, Floats, Layout, Networks, glorot
from unmet.solvers.neural.scaling import FeatureScaling, ScalingName, TargetScaling

NetworkSolver = Literal["lbfgs", "adam"]
DtypeName = Literal["float32", "float64"]
StreamKey: TypeAlias = tuple[int, bytes]

_ROWS_AT_A_TIME = 1 << 13


@dataclass(frozen=True)
class EarlyStopping:
    """Stop when validation rows no longer gain.

    Attributes
    ----------
    size : float
        Share of the rows that is set aside; without meaning where `features` are given.
    patience : int
        Epochs without improvement.
    tolerance : float
        Share by which the cost must fall to count as one.
    features, priced : Features and Priced, or None
        Other rows to watch instead, whose truth is known.
    """

    size: float
    patience: int
    tolerance: float
    features: Features | None = None
    priced: Priced | None = None


@dataclass(frozen=True)
class NetworkOptions:
    """What networks that are trained together have in common.

    ``epochs`` are passes over the data: evaluations for L-BFGS.
    """

    activation: ActivationName
    solver: NetworkSolver
    epochs: int
    batch_size: int
    schedule: ScheduleName
    dtype: DtypeName
    scaling: ScalingName
    stopping: EarlyStopping | None


@dataclass(frozen=True)
class Task:
    """One network to be trained.

    Attributes
    ----------
    priced : Priced
    hidden : tuple of int
    penalty : float
        λ of λ Σ θ² over the weights, beside the mean cost in scaled units.
    learning_rate : float
        Of Adam.
    seed, restart : int
        Tasks with the same seed begin alike but for `restart`, set the same rows aside and see
        their rows in the same order.
    start : ndarray of shape (n_parameters,) or None
        Parameters to begin with.
    """

    priced: Priced
    hidden: tuple[int, ...]
    penalty: float
    learning_rate: float
    seed: int
    restart: int = 0
    start: Array | None = None

    def layout(self, n_features: int) -> Layout:
        """Layout of this network."""
        return Layout(n_features, self.hidden)

    def first(self, n_features: int) -> Array:
        """Parameters to begin with."""
        if self.start is not None:
            return self.start
        return glorot(self.layout(n_features), self._generator(1, self.restart))

    def shuffler(self) -> np.random.Generator:
        """Make the generator of the order of rows."""
        return self._generator(3)

    def stream(self) -> StreamKey:
        """Key that tasks share which see the same rows in the same order."""
        rows = self.priced.rows
        return self.seed, b"" if rows is None else rows.tobytes()

    def set_aside(self, size: float) -> tuple[Task, Priced]:
        """Split rows off for early stopping: the task without them, and these rows."""
        n_rows = self.priced.observation.size
        order = self._generator(2).permutation(n_rows)
        n_aside = round(size * n_rows)
        if not 0 < n_aside < n_rows:
            raise InvalidInput(
                f"validation_fraction must leave rows on both sides, got {size} of {n_rows} rows."
            )
        own = replace(self, priced=self.priced.take(np.sort(order[n_aside:])))
        return own, self.priced.take(np.sort(order[:n_aside]))

    def _generator(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *purpose])


@dataclass(frozen=True)
class Network:
    """A trained network: it decides in the user's units.

    Attributes
    ----------
    layout : Layout
    activation : str
    parameters : ndarray of shape (n_parameters,)
    features : FeatureScaling
    target : TargetScaling
    """

    layout: Layout
    activation: ActivationName
    parameters: Floats
    features: FeatureScaling
    target: TargetScaling

    def decide(self, features: Features) -> Array:
        """Decide for each row."""
        # In float64, so that a decision does not depend on the rows that come with it.
        parameters = self.parameters[np.newaxis].astype(np.float64)
        networks = Networks(self.layout, self.activation)
        decisions = np.empty(features.shape[0])
        for start in range(0, decisions.size, _ROWS_AT_A_TIME):
            part = slice(start, start + _ROWS_AT_A_TIME)
            inputs = self.features.dense(features[part], parameters.dtype).T
            decisions[part] = networks.decide(parameters, np.ascontiguousarray(inputs))[0]
        return self.target.decisions(decisions)

    def layers(self) -> Sequence[tuple[Floats, Floats]]:
        """Weights (n_out, n_in) and biases (n_out,) of each layer, from the input on."""
        views = self.layout.views(self.parameters[np.newaxis])
        return [(weights[0], biases[0, :, 0]) for weights, biases in views]


TrainedNetwork: TypeAlias = Network | ModuleNetwork


@dataclass(frozen=True)
class Trained:
    """A network and how its training went.

    Attributes
    ----------
    network : Network, or ModuleNetwork for a module of one's own
    decision : ndarray of shape (n_rows,)
        For the rows of the task.
    cost : float
        Mean cost of the rows trained on, with their bands, in the user's units.
    validation_cost : float or None
        Least mean cost of the rows set aside.
    objective : float
        What restarts are compared by: cost plus penalty in scaled units, or the validation cost.
    epochs : int
    """

    network: TrainedNetwork
    decision: Array
    cost: float
    validation_cost: float | None
    objective: float
    epochs: int


# --- What training has come to: a network with its cost, or the sentence that it has diverged.

_WORST = 2.0  # times the cost at the start: beyond, training has diverged
HUGE = 1000.0  # a weight that no scaled features need: training has diverged
_LONG = 0.1  # a learning rate beyond which units that are stuck are its fault


def outcome(
    task: Task,
    options: NetworkOptions,
    network: TrainedNetwork,
    decision: Array,
    first: Array,
    squares: float,
    best: float | None,
    epochs: int,
    everywhere: Array,
) -> Trained:
    """Price a network that has been trained.

    Parameters
    ----------
    task, options
        What was to be trained, without the rows set aside, and how.
    network : Network or ModuleNetwork
    decision, first : ndarray of shape (n_rows,)
        Decisions for the rows trained on, after training and before it.
    everywhere : ndarray
        Decisions for all rows of the task, those set aside among them.
    squares : float
        Sum of the squares that the penalty multiplies.
    best : float or None
        Least cost of the rows watched, in scaled units.
    epochs : int

    Raises
    ------
    SolverFailure
        If training has made things worse instead of better.
    """
    scale = network.target.unit * network.target.steepness
    cost = np.inf
    # Where no epoch was better than none at all, there is no network to keep.
    if np.isfinite(decision).all() and (best is None or np.isfinite(best)):
        cost = task.priced.mean_cost(decision)
    before = _cost_at_start(task, network, first)
    worse = not cost <= before + (_WORST - 1) * abs(before) + 1e-6 * scale
    if worse or (options.solver == "adam" and cost > 0 and _lost(task, network, decision)):
        remedy = "solver 'lbfgs' needs other data or a penalty"
        if options.solver == "adam":
            remedy = f"learning_rate must be smaller, got {task.learning_rate:g}"
        costs = f"mean cost {before:.4g} at the start, {cost:.4g} at the end"
        raise SolverFailure(f"Training diverged ({costs}): {remedy}.")
    if best is None:
        objective = cost / scale + task.penalty * squares
        return Trained(network, everywhere, cost, None, objective, epochs)
    return Trained(network, everywhere, cost, best * scale, best, epochs)


def _cost_at_start(task: Task, network: TrainedNetwork, first: Array) -> float:
    """Cost of the first decisions, or of deciding the same everywhere if that is more."""
    constant = np.full(task.priced.observation.size, network.target.centre)
    return max(task.priced.mean_cost(constant), task.priced.mean_cost(first))


def _lost(task: Task, network: TrainedNetwork, decision: Array) -> bool:
    """Whether steps were so long that units are stuck: huge weights, or one decision for all."""
    if isinstance(network, Network) and float(np.abs(network.parameters).max()) > HUGE:
        return True
    same = float(np.ptp(decision)) <= 1e-9 * network.target.unit
    return same and task.learning_rate > _LONG and task.penalty == 0
