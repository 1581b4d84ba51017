"""One more epoch of Adam, for `partial_fit`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unmet.band import Array
from unmet.errors import InvalidInput, SolverFailure, Unsupported
from unmet.models.network_parameters import NetworkPlan
from unmet.models.network_training import priced_rows
from unmet.models.training import Training
from unmet.solvers.neural.adam import MiniBatches, Moments
from unmet.solvers.neural.networks import Networks
from unmet.solvers.neural.outcome import HUGE
from unmet.solvers.neural.pricing import Priced, objective_of
from unmet.solvers.neural.scaling import FeatureScaling, TargetScaling
from unmet.solvers.neural.tasks import Network, TrainedNetwork
from unmet.solvers.problem import Features

_WIDTH = 0.03  # by which costs of one's own are smoothed, in units of the observations' spread


def trains_in_steps(model: Any) -> bool:
    """Whether `partial_fit` is there; scikit-learn shows the sentence below a missing attribute."""
    if model.solver != "adam":
        raise Unsupported(
            f"partial_fit and the solver {model.solver!r} do not fit together, because only "
            "'adam' learns from some rows at a time."
        )
    return True


@dataclass
class Steps:
    """Where Adam stands between two calls.

    Attributes
    ----------
    network : Network or ModuleNetwork
        Its units are those of the first call.
    moments : Moments
    calls : int
        Epochs so far; they seed the order of rows.
    """

    network: TrainedNetwork
    moments: Moments
    calls: int = 0

    @classmethod
    def begin(cls, plan: NetworkPlan, training: Training) -> Steps:
        """Start from random parameters, in units fixed by these rows."""
        priced = priced_rows(training)
        features = FeatureScaling.of(training.features, training.share, plan.options.scaling)
        (task, *_) = plan.tasks(priced)
        n_features = training.features.shape[1]
        target = priced.scaling(plan.options.scaling)
        if plan.module is not None:
            return cls.from_network(_first_module(plan, n_features, features, target))
        parameters = task.first(n_features).astype(plan.options.dtype)
        layout, activation = task.layout(n_features), plan.options.activation
        return cls.from_network(Network(layout, activation, parameters, features, target))

    @classmethod
    def from_network(cls, network: TrainedNetwork) -> Steps:
        """Start from a network that `fit` has trained."""
        return cls(network, Moments.none(network.parameters[np.newaxis]))

    def epoch(self, plan: NetworkPlan, training: Training, weight: Array | None) -> Steps:
        """Go once through some rows; `self` is left as it is.

        ``weight`` are weights as they came, since a share of one batch means nothing to the next.
        """
        n_rows = training.observation.size
        share = None if weight is None else weight / n_rows
        priced = replace(priced_rows(training), share=share)
        go = self._in_torch if plan.backend == "torch" else self._in_numpy
        network, moments = go(plan, training.features, priced)
        largest = float(np.abs(network.parameters).max())
        if not np.isfinite(largest) or (isinstance(network, Network) and largest > HUGE):
            raise SolverFailure(
                f"Training diverged: learning_rate must be smaller, got {plan.learning_rate:g}."
            )
        return Steps(network, moments, self.calls + 1)

    def _in_numpy(
        self, plan: NetworkPlan, features: Features, priced: Priced
    ) -> tuple[Network, Moments]:
        network, options = self.network, plan.options
        if not isinstance(network, Network):
            raise InvalidInput("backend must be 'torch' to go on with a module, got 'numpy'.")
        n_rows = priced.observation.size
        objective = objective_of([priced], [network.target], n_rows, options.dtype)
        parameters = network.parameters[np.newaxis].copy()
        moments = Moments(self.moments.mean.copy(), self.moments.square.copy(), self.moments.steps)
        penalty = None
        if plan.penalty:
            penalty = (plan.penalty * network.layout.is_weight())[np.newaxis].astype(options.dtype)
        batches = MiniBatches(
            Networks(network.layout, network.activation),
            lambda rows: network.features.dense(features[rows], options.dtype),
            objective,
            [np.arange(n_rows)],
            [np.random.default_rng(self._seed(plan))],
            penalty,
            None,
        )
        rate = np.full((1, 1), plan.learning_rate, dtype=options.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            batches.epoch(
                parameters, moments, options.batch_size, lambda _: rate, np.full(1, _WIDTH)
            )
        return replace(network, parameters=parameters[0]), moments

    def _in_torch(
        self, plan: NetworkPlan, features: Features, priced: Priced
    ) -> tuple[TrainedNetwork, Moments]:
        from unmet.solvers.neural.torch_steps import TorchStep

        step = TorchStep(
            plan.options,
            plan.penalty,
            plan.learning_rate,
            _WIDTH,
            self._seed(plan),
            plan.device,
        )
        return step.epoch(self.network, self.moments, features, priced)

    def _seed(self, plan: NetworkPlan) -> tuple[int, ...]:
        return plan.seed, 4, self.calls


def _first_module(
    plan: NetworkPlan, n_features: int, features: FeatureScaling, target: TargetScaling
) -> TrainedNetwork:
    from unmet.solvers.neural.torch_steps import first_module

    return first_module(
        plan.module,
        n_features,
        plan.options.dtype,
        (features, target),
        seed=plan.seed,
        device=plan.device,
    )
