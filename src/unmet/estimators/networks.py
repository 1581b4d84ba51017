"""From the parameters of an estimator to trained networks: one, one more epoch, or many at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from numbers import Integral
from typing import Any, TypeAlias, get_args

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, clone

from unmet.arrays import Array, Band, common_rows
from unmet.censoring.rule import BandRule
from unmet.costs import Cost
from unmet.errors import InvalidInput, SolverFailure, Unsupported
from unmet.estimators.base import ChosenBand, check_used, choose_bands, read_band, read_cost
from unmet.estimators.blocks import KEPT_ROWS, BlockFit, BlockStart, Pricing, training_rows
from unmet.rows import Rows, check_sizes
from unmet.solvers import constants
from unmet.solvers.blocks.source import BlockSample, BlockSource, RowBlock, check_block
from unmet.solvers.losses import Index, ScalingName, Units, loss_of
from unmet.solvers.neural.networks import ActivationName, FeatureScaling, Network, Networks
from unmet.solvers.neural.optimisers import (
    DtypeName,
    EarlyStopping,
    MiniBatches,
    Moments,
    NetworkOptions,
    NetworkSolver,
    ScheduleName,
)
from unmet.solvers.neural.training import Task, Trained, is_huge, train
from unmet.validation import (
    Constraint,
    Jobs,
    Maybe,
    Number,
    OneOf,
    Seed,
    TrueOrFalse,
    WholeNumber,
    read_parameters,
    refusal,
)

_ALLOWED: dict[str, Constraint] = {
    "activation": OneOf(*get_args(ActivationName)),
    "solver": OneOf(*get_args(NetworkSolver)),
    "max_iter": Maybe(WholeNumber(1)),
    "batch_size": Maybe(WholeNumber(1)),
    "learning_rate": Maybe(Number(above=0)),
    "schedule": OneOf(*get_args(ScheduleName), None),
    "strength": Number(least=0),
    "scaling": OneOf(*get_args(ScalingName)),
    "early_stopping": TrueOrFalse(),
    "validation_fraction": Number(above=0, below=1),
    "n_iter_no_change": WholeNumber(1),
    "n_restarts": WholeNumber(1),
    "warm_start": TrueOrFalse(),
    "dtype": OneOf(*get_args(DtypeName)),
    "random_state": Seed(),
}


@dataclass(frozen=True)
class NetworkPlan:
    """Everything that the constructor says about training.

    Attributes
    ----------
    options : NetworkOptions
    hidden : tuple of int
    strength, learning_rate : float
    seed, n_restarts : int
    """

    options: NetworkOptions
    hidden: tuple[int, ...]
    strength: float
    learning_rate: float
    seed: int
    n_restarts: int

    def tasks(
        self, rows: Rows, start: Array | None = None, index: Index | None = None
    ) -> Sequence[Task]:
        """One task for each restart; parameters to start with need no restarts."""
        bare = replace(rows, features=np.empty((rows.n_rows, 0)))  # they are common to all tasks
        how = self.hidden, self.strength, self.learning_rate, self.seed
        restarts = 1 if start is not None else self.n_restarts
        return [Task(bare, *how, restart, start, index) for restart in range(restarts)]


def read_plan(model: Any, n_rows: int, monitored: Rows | None = None) -> NetworkPlan:
    """How to train, from parameters that may hold anything; None is what suits the solver.

    Parameters
    ----------
    model : NeuralDecision
    n_rows : int
    monitored : Rows, optional
        Others whose truth is known: their realised cost then ends the training.
    """
    given = read_parameters(_ALLOWED, model)
    hidden = read_hidden(model.hidden_layer_sizes)
    usual_batch = int(np.clip(n_rows // constants.BATCHES, *constants.BATCH_ROWS))
    usual_epochs = {"lbfgs": constants.LBFGS_PASSES, "adam": constants.ADAM_EPOCHS}
    stopping = None
    if given["early_stopping"] or monitored is not None:
        stopping = EarlyStopping(
            given["validation_fraction"], given["n_iter_no_change"], 1e-7, monitored
        )
    options = NetworkOptions(
        activation=model.activation,
        solver=model.solver,
        epochs=given["max_iter"] or usual_epochs[model.solver],
        batch_size=min(given["batch_size"] or usual_batch, n_rows),
        schedule=model.schedule or "cosine",
        dtype=model.dtype,
        scaling=model.scaling,
        stopping=stopping,
    )
    return NetworkPlan(
        options=options,
        hidden=hidden,
        strength=given["strength"],
        learning_rate=read_rate(given["learning_rate"], hidden),
        seed=given["random_state"],
        n_restarts=given["n_restarts"],
    )


def read_hidden(sizes: Any) -> tuple[int, ...]:
    """Widths of the hidden layers; one number is one layer."""
    if isinstance(sizes, Integral) or (isinstance(sizes, np.ndarray) and sizes.ndim == 0):
        sizes = (sizes[()] if isinstance(sizes, np.ndarray) else sizes,)
    if isinstance(sizes, str) or not isinstance(sizes, Iterable):
        raise refusal("hidden_layer_sizes", "whole numbers of at least 1", sizes)
    return tuple(WholeNumber(1)("hidden_layer_sizes", width) for width in sizes)


def read_rate(learning_rate: float | None, hidden: tuple[int, ...]) -> float:
    """Learning rate of Adam; None is the fast schedule's, smaller steps for wide layers."""
    if learning_rate is not None:
        return learning_rate
    narrow = min(constants.NARROW_LAYER / max(hidden, default=1), 1.0)
    return float(constants.ADAM_RATE * np.sqrt(narrow))


def train_plan(plan: NetworkPlan, rows: Rows, start: Array | None = None) -> Trained:
    """Best network of all restarts; parameters to start with need no restarts."""
    scaling = FeatureScaling.of(rows.features, rows.share, plan.options.scaling)
    return _best(train(rows.features, plan.tasks(rows, start), plan.options, scaling))


def _best(trained: list[Trained]) -> Trained:
    """Least objective, the first of equals."""
    return min(trained, key=lambda each: each.objective)


# --- One more epoch of Adam, for `partial_fit`.


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
    network : Network
        Its units are those of the first call.
    moments : Moments
    calls : int
        Epochs so far; they seed the order of rows.
    """

    network: Network
    moments: Moments
    calls: int = 0

    @classmethod
    def begin(cls, plan: NetworkPlan, rows: Rows) -> Steps:
        """Start from random parameters, in units fixed by these rows."""
        options, n_features = plan.options, rows.features.shape[1]
        features = FeatureScaling.of(rows.features, rows.share, options.scaling)
        target = Units.of(rows, options.scaling)
        task = plan.tasks(rows)[0]
        parameters = task.first(n_features).astype(options.dtype)
        layout = task.layout(n_features)
        return cls.from_network(Network(layout, options.activation, parameters, features, target))

    @classmethod
    def from_network(cls, network: Network) -> Steps:
        """Start from a network that `fit` has trained."""
        return cls(network, Moments.none(network.parameters[np.newaxis]))

    def epoch(self, plan: NetworkPlan, rows: Rows, weight: Array | None) -> Steps:
        """Go once through some rows; `self` is left as it is.

        ``weight`` are weights as they came, since a share of one batch means nothing to the next.
        """
        rows = replace(rows, share=None if weight is None else weight / rows.n_rows)
        network, dtype = self.network, plan.options.dtype
        parameters = network.parameters[np.newaxis].copy()
        moments = Moments(self.moments.mean.copy(), self.moments.square.copy(), self.moments.steps)
        penalty = None
        if plan.strength:
            penalty = (plan.strength * network.layout.is_weight())[np.newaxis].astype(dtype)
        batches = MiniBatches(
            Networks(network.layout, network.activation),
            lambda index: network.features.dense(rows.features[index], dtype),
            loss_of([rows], [network.target], dtype),
            [np.arange(rows.n_rows)],
            [np.random.default_rng((plan.seed, 4, self.calls))],
            penalty,
            None,
        )
        rate = np.full((1, 1), plan.learning_rate, dtype=dtype)
        width = np.full(1, constants.PARTIAL_WIDTH)
        with np.errstate(over="ignore", invalid="ignore"):
            batches.epoch(parameters, moments, plan.options.batch_size, lambda _: rate, width)
        network = replace(network, parameters=parameters[0])
        if not np.isfinite(network.parameters).all() or is_huge(network):
            raise SolverFailure(
                f"Training diverged: learning_rate must be smaller, got {plan.learning_rate:g}."
            )
        return Steps(network, moments, self.calls + 1)


# --- Networks from blocks.
#
# Every epoch goes once through all blocks, with mini-batches drawn at random inside each of them;
# the learning rate falls from block to block. Rows of one block stay together, so blocks should be
# mixtures of the data: blocks sorted by time or store pull the network to and fro, the less the
# smaller the learning rate has become.

_ENOUGH = 200_000  # rows of which the usual number of epochs is enough; more rows need fewer
_FEWEST = 2


def fit_network_blocks(
    model: Any, source: BlockSource, cost: Cost, band: Band | BandRule | None
) -> BlockFit[Trained]:
    """Go through all blocks, epoch by epoch."""
    start = BlockStart(model, source, cost, band)
    sample, plan = start.sample, read_plan(model, start.sample.n_rows)
    if sample.complete:
        rows = start.training()
        return start.fit(train_plan(plan, rows), rows)
    for name, wanted in (("solver", "adam"), ("early_stopping", False), ("n_restarts", 1)):
        if getattr(model, name) != wanted:
            raise Unsupported(
                f"{name}={getattr(model, name)!r} and a source of blocks do not fit together, "
                f"because it needs all rows at once: use {name}={wanted!r}."
            )
    epochs = plan.options.epochs
    if model.max_iter is None:  # as many steps as for a table that is large, but fits into memory
        epochs = max(_FEWEST, ceil(epochs * _ENOUGH / sample.n_rows))
    network = _stream(source, plan, start.pricing, sample, epochs)
    sums = np.array(list(source.run(partial(_paid, network, start.pricing)))).sum(axis=0)
    paid, rows = float(sums[0] / sums[1]), start.training(KEPT_ROWS)
    decision = network.decide(rows.features)
    return start.fit(Trained(network, decision, paid, None, paid, epochs), rows)


def _stream(
    source: BlockSource, plan: NetworkPlan, pricing: Pricing, sample: BlockSample, epochs: int
) -> Any:
    """Go through all blocks as often as asked, ever more slowly."""
    steps = Steps.begin(plan, training_rows(sample.rows, pricing))
    mean = 1.0 if sample.rows.weight is None else float(sample.rows.weight.mean())
    done, total = 0, epochs * sample.n_rows
    for _ in range(epochs):
        for block in source.blocks():
            check_block(block)
            counted = block.counted()
            if not len(counted):
                continue
            rate = plan.learning_rate * plan.options.rate(min(done / total, 1.0))
            weight = None if counted.weight is None else counted.weight / mean
            training = training_rows(replace(counted, weight=None), pricing, at_least=1)
            slower = replace(plan, learning_rate=max(rate, 1e-12))
            size = min(plan.options.batch_size, len(counted))
            options = replace(plan.options, batch_size=size)
            steps = steps.epoch(replace(slower, options=options), training, weight)
            done += len(block)
    return steps.network


def _paid(network: Network, pricing: Pricing, block: RowBlock) -> tuple[float, float]:
    """Cost of the rows of a block, and their weight."""
    counted = block.counted()
    if not len(counted):
        return 0.0, 0.0
    rows = training_rows(counted, pricing, at_least=1)
    weight = float(len(counted) if counted.weight is None else counted.weight.sum())
    return rows.mean_cost(network.decide(rows.features)) * weight, weight


# --- Many networks at once: folds × candidates × costs × seeds in one call.


Job: TypeAlias = tuple[Any, Cost, Index | None]
"""One network of many: an estimator with its own parameters, its cost, and the rows it learns from;
None is all of them."""


def fit_jobs(
    model: BaseEstimator,
    X: Any,
    y: Any,
    jobs: Any,
    known: Mapping[str, Any],
    costs: Mapping[str, Any],
    n_jobs: int,
) -> list[tuple[Any, Trained, Rows, Cost, ChosenBand]]:
    """Train the networks of all jobs, those with common options in the same arrays.

    Returned are, for each job, the estimator and what it is to keep.
    """
    given = Rows.read(read_cost(None), X, y, at_least=2, **known)
    read = _read_jobs(model, jobs, given, costs)
    Jobs()("n_jobs", n_jobs)
    chosen = _choose_bands(read, given, known)
    evaluated: list[Rows] = []
    groups: dict[Hashable, list[tuple[int, Sequence[Task]]]] = defaultdict(list)
    taken: dict[Hashable, Rows] = {}  # jobs of the same fold share their rows
    for place, (own, cost, index) in enumerate(read):
        key = None if index is None else index.tobytes()
        seen = key in taken
        if not seen:
            taken[key] = given if index is None else given.take(index)
        some = taken[key]
        if index is not None:
            cost = cost.take(index)
            if given.share is not None:  # numbers among the rows that have weight
                numbers = np.cumsum(given.share > 0) - 1
                index = numbers[index[given.share[index] > 0]]
        rows = some.evaluated(cost, chosen[place].band).counted()
        check_sizes(rows, "a network", features=not seen)
        plan = read_plan(own, rows.n_rows)
        evaluated.append(rows)
        groups[plan.options].append((place, plan.tasks(rows, index=index)))
    common, best = given.counted(), {}
    for options, several in groups.items():
        assert isinstance(options, NetworkOptions)
        scaling = FeatureScaling.of(common.features, common.share, options.scaling)
        flat = [task for _, tasks in several for task in tasks]
        trained = iter(train(common.features, flat, options, scaling, effective_n_jobs(n_jobs)))
        for place, tasks in several:
            best[place] = _best([next(trained) for _ in tasks])
    return [
        (own, best[place], evaluated[place], cost, chosen[place])
        for place, (own, cost, _) in enumerate(read)
    ]


def _read_jobs(model: BaseEstimator, jobs: Any, given: Rows, costs: Mapping[str, Any]) -> list[Job]:
    """Make an estimator for each job; errors name the job."""
    if isinstance(jobs, Mapping | str) or not isinstance(jobs, Iterable):
        raise InvalidInput(f"jobs must be several mappings of parameters, got {jobs!r:.60}.")
    usual, read = model.get_params(deep=False), []
    for place, job in enumerate(jobs):
        if not isinstance(job, Mapping):
            raise InvalidInput(f"jobs must be several mappings of parameters, got {job!r:.60}.")
        parameters = {name: value for name, value in job.items() if name != "rows"}
        for name in parameters:
            if name not in usual:
                raise InvalidInput(
                    f"jobs must name parameters of the estimator or 'rows', "
                    f"got {name!r} in job {place}."
                )
        # Not `clone` and `set_params`: copies of a rule would each learn for themselves.
        own = type(model)(**{**usual, **parameters})
        cost = read_cost(own.cost).with_rows(**costs)
        ends = own.band.parameters() if isinstance(own.band, Band) else {}
        common_rows({"y": given.observation, **ends, **cost.parameters()})
        index = _read_index(job.get("rows"), place, given.n_rows)
        if index is not None and np.count_nonzero(given.weight[index]) < 2:
            raise InvalidInput("rows must hold at least two rows with weight.")
        read.append((own, cost, index))
    return read


def _read_index(given: Any, place: int, n_rows: int) -> Index | None:
    """Row numbers of a job, from numbers or a mask."""
    if given is None:
        return None
    try:
        rows = np.asarray(given)
    except ValueError:
        rows = np.empty(0)  # lists in lists, refused below
    if rows.dtype == bool and rows.shape == (n_rows,):
        rows = np.flatnonzero(rows)
    good = rows.ndim == 1 and rows.size > 0 and rows.dtype.kind in "iu"
    good = good and rows.min() >= 0 and rows.max() < n_rows
    if good:
        named = np.zeros(n_rows, dtype=bool)
        named[rows] = True
        good = np.count_nonzero(named) == rows.size  # none of them twice
    if not good:
        raise InvalidInput(
            f"rows must be a mask of {n_rows} entries or different numbers from 0 to {n_rows - 1}, "
            f"got {given!r:.60} in job {place}."
        )
    return rows.astype(np.intp)


def _choose_bands(
    jobs: Sequence[Job], given: Rows, known: Mapping[str, Any]
) -> dict[int, ChosenBand]:
    """Choose the band of each job; a rule learns once for all jobs with the same rows."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for place, (_, _, index) in enumerate(jobs):
        groups[None if index is None else index.tobytes()].append(place)
    done: dict[int, ChosenBand] = {}
    for places in groups.values():
        first, _, index = jobs[places[0]]
        pairs: list[tuple[Cost, Any]] = []
        bands: dict[int, Any] = {}
        for place in places:
            model, cost, _ = jobs[place]
            band = bands.setdefault(id(model.band), read_band(model.band))
            check_used(band, censored=known["censored"], stock=known["stock"])
            if index is None:
                pairs.append((cost, band))
            else:  # a rule will be given these rows only
                own = band.take(index) if isinstance(band, Band) else band
                pairs.append((cost.take(index), own))
        some = given if index is None else given.take(index)
        done.update(zip(places, choose_bands(clone(first), pairs, some), strict=True))
    return done
