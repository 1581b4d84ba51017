"""Many networks at once: folds × candidates × costs × seeds in one call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal, Protocol, get_args

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, clone

from unmet.arrays import Array, Band, Features, common_rows
from unmet.checks import number, one_of, read_seed, true_or_false, whole
from unmet.costs import Cost
from unmet.errors import InvalidInput, SolverFailure, Unsupported
from unmet.models.training import (
    ChosenBand,
    check_used,
    choose_bands,
    read_band,
    read_cost,
)
from unmet.rows import Rows
from unmet.solvers.neural.adam import MiniBatches, Moments, ScheduleName
from unmet.solvers.neural.losses import Index, Priced, objective_of
from unmet.solvers.neural.module_network import ModuleNetwork
from unmet.solvers.neural.networks import ActivationName, Networks
from unmet.solvers.neural.scaling import FeatureScaling, ScalingName, TargetScaling
from unmet.solvers.neural.tasks import (
    HUGE,
    DtypeName,
    EarlyStopping,
    Network,
    NetworkOptions,
    NetworkSolver,
    Task,
    Trained,
    TrainedNetwork,
)
from unmet.solvers.neural.train import train

# --- Reading the constructor parameters of networks when `fit` needs them.

_LARGEST = float(np.finfo(np.float32).max)
_BELOW_ONE = 1 - 1e-16
_PASSES = 200
_EPOCHS, _RATE, _NARROW = 80, 0.02, 10
_FEW, _MANY, _BATCHES = 32, 512, 50


BackendName = Literal["numpy", "torch"]


class NetworkParameters(Protocol):
    """Constructor parameters of an estimator that trains networks."""

    hidden_layer_sizes: Any
    backend: BackendName
    module: Any
    device: Any
    activation: ActivationName
    solver: NetworkSolver
    max_iter: int | None
    batch_size: int | None
    learning_rate: float | None
    schedule: ScheduleName | None
    strength: float
    scaling: ScalingName
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
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
    hidden = read_hidden(model.hidden_layer_sizes)
    return NetworkPlan(
        options=read_options(model, n_rows),
        hidden=hidden,
        penalty=number("strength", model.strength, "a finite non-negative number", 0.0, _LARGEST),
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
    if model.max_iter is not None:
        epochs = whole("max_iter", model.max_iter, 1)
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
    allowed = "a number above 0 and below 1"
    share = number("validation_fraction", model.validation_fraction, allowed, 1e-300, _BELOW_ONE)
    return EarlyStopping(share, whole("n_iter_no_change", model.n_iter_no_change, 1), 1e-7)


def read_hidden(hidden: Any) -> tuple[int, ...]:
    """Widths of the hidden layers; one number is one layer."""
    if isinstance(hidden, Integral) or (isinstance(hidden, np.ndarray) and hidden.ndim == 0):
        hidden = (hidden[()] if isinstance(hidden, np.ndarray) else hidden,)
    if isinstance(hidden, str) or not isinstance(hidden, Iterable):
        raise InvalidInput(
            f"hidden_layer_sizes must be whole numbers of at least 1, got {hidden!r}."
        )
    return tuple(whole("hidden_layer_sizes", width, 1) for width in hidden)


def read_rate(learning_rate: Any, hidden: tuple[int, ...]) -> float:
    """Learning rate of Adam; None is the fast schedule's, smaller steps for wide layers."""
    if learning_rate is None:
        return float(_RATE * np.sqrt(min(_NARROW / max(hidden, default=1), 1.0)))
    return number("learning_rate", learning_rate, "a positive number", 1e-300, _LARGEST)


# --- From checked rows and a plan to a trained network.


def priced_rows(training: Rows, rows: Index | None = None) -> Priced:
    """Rows of a training without their features, of which they are some."""
    return Priced(training.observation, training.cost, training.band, training.share, rows)


def train_plan(
    plan: NetworkPlan,
    training: Rows,
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
        from unmet.solvers.neural.torch_training import train_torch

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
    rows = Rows.read(cost, *given)
    watched = replace(stopping, features=rows.features, priced=priced_rows(rows))
    return replace(plan, options=replace(plan.options, stopping=watched))


# --- One more epoch of Adam, for `partial_fit`.

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
    def begin(cls, plan: NetworkPlan, training: Rows) -> Steps:
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

    def epoch(self, plan: NetworkPlan, training: Rows, weight: Array | None) -> Steps:
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
        from unmet.solvers.neural.torch_training import TorchStep

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
    from unmet.solvers.neural.torch_training import first_module

    return first_module(
        plan.module,
        n_features,
        plan.options.dtype,
        (features, target),
        seed=plan.seed,
        device=plan.device,
    )


# --- Many networks at once: folds × candidates × costs × seeds in one call.


@dataclass(frozen=True)
class Job:
    """One network of many: an estimator with its own parameters, and the rows it learns from."""

    model: Any
    cost: Cost
    rows: Index | None


@dataclass(frozen=True)
class Done:
    """What a job has come to."""

    model: Any
    trained: Trained
    training: Rows
    cost: Cost
    chosen: ChosenBand


def read_jobs(model: BaseEstimator, jobs: Any, n_rows: int, costs: Mapping[str, Any]) -> list[Job]:
    """Make an estimator for each job; errors name the job."""
    if isinstance(jobs, Mapping | str) or not isinstance(jobs, Iterable):
        raise InvalidInput(f"jobs must be several mappings of parameters, got {jobs!r:.60}.")
    known = set(model.get_params(deep=False))
    read = []
    for place, job in enumerate(jobs):
        if not isinstance(job, Mapping):
            raise InvalidInput(f"jobs must be several mappings of parameters, got {job!r:.60}.")
        parameters = {name: value for name, value in job.items() if name != "rows"}
        for name in parameters:
            if name not in known:
                raise InvalidInput(
                    f"jobs must name parameters of the estimator or 'rows', "
                    f"got {name!r} in job {place}."
                )
        # Not `clone` and `set_params`: copies of a rule would each learn for themselves.
        own = type(model)(**{**model.get_params(deep=False), **parameters})
        cost = read_cost(own.cost).with_rows(**costs)
        ends = own.band.parameters() if isinstance(own.band, Band) else {}
        common_rows({"y": np.broadcast_to(0.0, n_rows), **ends, **cost.parameters()})
        read.append(Job(own, cost, _rows(job, place, n_rows)))
    return read


def _rows(job: Mapping[str, Any], place: int, n_rows: int) -> Index | None:
    """Row numbers of a job, from numbers or a mask."""
    given = job.get("rows")
    if given is None:
        return None
    try:
        rows = np.asarray(given)
    except ValueError:
        rows = np.empty(0)  # lists in lists, refused below
    if rows.dtype == bool and rows.shape == (n_rows,):
        rows = np.flatnonzero(rows)
    good = rows.ndim == 1 and rows.size > 0 and rows.dtype.kind in "iu"
    if not good or rows.min() < 0 or rows.max() >= n_rows or np.unique(rows).size < rows.size:
        raise InvalidInput(
            f"rows must be a mask of {n_rows} entries or different numbers from 0 to {n_rows - 1}, "
            f"got {given!r:.60} in job {place}."
        )
    return rows.astype(np.intp)


def fit_jobs(
    model: BaseEstimator,
    X: Any,
    y: Any,
    jobs: Any,
    known: Mapping[str, Any],
    costs: Mapping[str, Any],
    n_jobs: int,
) -> list[Done]:
    """Train the networks of all jobs, those with common options in the same arrays."""
    given = Rows.read(read_cost(None), X, y, at_least=2, **known)
    read = read_jobs(model, jobs, given.n_rows, costs)
    for job in read:
        rows = slice(None) if job.rows is None else job.rows
        if np.count_nonzero(given.weight[rows]) < 2:
            raise InvalidInput("rows must hold at least two rows with weight.")
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise InvalidInput(f"n_jobs must be a whole number other than 0, got {n_jobs!r}.")
    chosen = _choose(read, given, known)
    plans = []
    tasks: list[list[Task]] = []
    trainings = []
    for job, band in zip(read, chosen, strict=True):
        training, rows = _training(given, job, band)
        plan = read_plan(job.model, training.observation.size)
        _check(plan)
        plans.append(plan)
        trainings.append(training)
        tasks.append(list(plan.tasks(priced_rows(training, rows))))
    answers = _train(given.counted(), plans, tasks, n_jobs)
    return [
        Done(job.model, trained, training, job.cost, band)
        for job, trained, training, band in zip(read, answers, trainings, chosen, strict=True)
    ]


def _choose(jobs: Sequence[Job], given: Rows, known: Mapping[str, Any]) -> list[ChosenBand]:
    """Band of each job; a rule learns once for all jobs with the same rows."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for place, job in enumerate(jobs):
        groups[None if job.rows is None else job.rows.tobytes()].append(place)
    chosen: dict[int, ChosenBand] = {}
    for places in groups.values():
        rows = jobs[places[0]].rows
        pairs = []
        bands: dict[int, Any] = {}
        for place in places:
            job = jobs[place]
            band = bands.setdefault(id(job.model.band), read_band(job.model.band))
            check_used(band, censored=known["censored"], stock=known["stock"])
            pairs.append((job.cost, band) if rows is None else _some(job.cost, band, rows))
        model = clone(jobs[places[0]].model)
        found = choose_bands(model, pairs, given if rows is None else given.take(rows))
        chosen.update(zip(places, found, strict=True))
    return [chosen[place] for place in range(len(jobs))]


def _some(cost: Cost, band: Any, rows: Index) -> tuple[Cost, Any]:
    """Cost and band of some rows; a rule will be given these rows only."""
    return cost.take(rows), band.take(rows) if isinstance(band, Band) else band


def _training(given: Rows, job: Job, chosen: ChosenBand) -> tuple[Rows, Index | None]:
    """Rows of a job that have weight, and their numbers among all that have."""
    if job.rows is None:
        return given.priced(job.cost, chosen.band).counted(), None
    rows = given.take(job.rows).priced(job.cost.take(job.rows), chosen.band).counted()
    if given.share is None:
        return rows, job.rows
    numbers = np.cumsum(given.share > 0) - 1
    return rows, numbers[job.rows[given.share[job.rows] > 0]]


def _check(plan: NetworkPlan) -> None:
    if plan.backend != "numpy":
        raise Unsupported(
            f"fit_many and the backend {plan.backend!r} do not fit together, because only 'numpy' "
            "trains many networks at once."
        )


def _train(
    rows: Rows, plans: Sequence[NetworkPlan], tasks: Sequence[Sequence[Task]], n_jobs: int
) -> list[Trained]:
    """Train all tasks, option by option, and keep each job's best restart."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for place, plan in enumerate(plans):
        groups[plan.options].append(place)
    answers: dict[int, Trained] = {}
    for places in groups.values():
        options = plans[places[0]].options
        flat = [task for place in places for task in tasks[place]]
        scaling = FeatureScaling.of(rows.features, rows.share, options.scaling)
        trained = iter(train(rows.features, flat, options, scaling, effective_n_jobs(n_jobs)))
        for place in places:
            answers[place] = best([next(trained) for _ in tasks[place]])
    return [answers[place] for place in range(len(plans))]
