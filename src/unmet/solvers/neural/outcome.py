"""What training has come to: a network with its cost, or the sentence that it has diverged."""

from __future__ import annotations

import numpy as np

from unmet.band import Array
from unmet.errors import SolverFailure
from unmet.solvers.neural.tasks import Network, NetworkOptions, Task, Trained, TrainedNetwork

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
