"""From checked rows and a plan to a trained network."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from unmet.band import Array
from unmet.costs import Cost
from unmet.models.network_parameters import NetworkPlan
from unmet.models.training import Observed, Training
from unmet.solvers.neural.module_network import ModuleNetwork
from unmet.solvers.neural.objectives import Index
from unmet.solvers.neural.pricing import Priced
from unmet.solvers.neural.scaling import FeatureScaling
from unmet.solvers.neural.tasks import EarlyStopping, Trained
from unmet.solvers.neural.train import train


def priced_rows(training: Training, rows: Index | None = None) -> Priced:
    """Rows of a training without their features, of which they are some."""
    return Priced(training.observation, training.cost, training.band, training.share, rows)


def train_plan(
    plan: NetworkPlan,
    training: Training,
    start: Array | ModuleNetwork | None = None,
    scaling: FeatureScaling | None = None,
) -> Trained:
    """Best network of all restarts; parameters or a module to start with need no restarts."""
    if scaling is None:
        scaling = FeatureScaling.of(training.features, training.share, plan.options.scaling)
    if isinstance(start, ModuleNetwork):
        plan, start = replace(plan, module=start.again, n_restarts=1), None
    tasks = plan.tasks(priced_rows(training), start)
    if plan.backend == "torch":
        from unmet.solvers.neural.torch_backend import train_torch

        trained = train_torch(
            training.features,
            tasks,
            plan.options,
            scaling,
            module=plan.module,
            device=plan.device,
        )
    else:
        trained = train(training.features, tasks, plan.options, scaling)
    return best(trained)


def best(trained: list[Trained]) -> Trained:
    """Least objective, the first of equals."""
    return min(trained, key=lambda each: each.objective)


def watch_truth(
    plan: NetworkPlan, stopping: EarlyStopping, cost: Cost, given: tuple[Any, Any]
) -> NetworkPlan:
    """Stop early by the realised cost of other rows, whose truth is known."""
    rows = Observed.read(*given, None).priced(cost, None)
    watched = replace(stopping, features=rows.features, priced=priced_rows(rows))
    return replace(plan, options=replace(plan.options, stopping=watched))
