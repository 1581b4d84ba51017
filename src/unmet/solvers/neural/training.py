"""Train networks: one alone, or many at once on the same features."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed

from unmet.arrays import Array, Features, Mask, slices
from unmet.costs import HingeCost
from unmet.errors import InvalidInput, SolverFailure
from unmet.rows import Rows
from unmet.solvers.losses import Floats, Index, Loss, Units, loss_kind, loss_of
from unmet.solvers.neural.networks import (
    ROWS_AT_A_TIME,
    FeatureScaling,
    Network,
    NetworkLayout,
    Networks,
    glorot,
)
from unmet.solvers.neural.optimisers import (
    LOOK_INTERVAL,
    STAGES,
    DistinctRows,
    MiniBatches,
    NetworkOptions,
    block_rows,
    minimise,
    smoothed_objective,
    train_adam,
)


@dataclass(frozen=True)
class Task:
    """One network to be trained.

    Attributes
    ----------
    rows : Rows
        To train on. Their features do not matter: those of all tasks are common.
    hidden : tuple of int
    strength : float
        λ of λ Σ θ² over the weights, beside the mean cost in scaled units.
    learning_rate : float
        Of Adam.
    seed, restart : int
        Tasks with the same seed begin alike but for `restart`, set the same rows aside and see
        their rows in the same order.
    index : ndarray of shape (n_rows,) or None
        Which rows of the common features these are; None is all of them, in their order.
    """

    rows: Rows
    hidden: tuple[int, ...]
    strength: float
    learning_rate: float
    seed: int
    restart: int = 0
    index: Index | None = None

    @property
    def place(self) -> Index:
        """Which rows of the common features these are."""
        return np.arange(self.rows.n_rows) if self.index is None else self.index

    def layout(self, n_features: int) -> NetworkLayout:
        """Layout of this network."""
        return NetworkLayout(n_features, self.hidden)

    def first(self, n_features: int) -> Array:
        """Parameters to begin with."""
        return glorot(self.layout(n_features), self._generator(1, self.restart))

    def shuffler(self) -> np.random.Generator:
        """Make the generator of the order of rows."""
        return self._generator(3)

    def stream(self) -> Hashable:
        """Key that tasks share which see the same rows in the same order."""
        return self.seed, b"" if self.index is None else self.index.tobytes()

    def set_aside(self, share: float) -> tuple[Task, Task]:
        """Split rows off for early stopping: the task without them, and one of these rows."""
        n_rows = self.rows.n_rows
        order = self._generator(2).permutation(n_rows)
        n_aside = round(share * n_rows)
        if not 0 < n_aside < n_rows:
            raise InvalidInput(
                f"validation_fraction must leave rows on both sides, got {share} of {n_rows} rows."
            )
        kept, aside = (
            replace(self, rows=self.rows.take(some), index=self.place[some])
            for some in (np.sort(order[n_aside:]), np.sort(order[:n_aside]))
        )
        return kept, aside

    def _generator(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, *purpose])


@dataclass(frozen=True)
class Trained:
    """A network and how its training went.

    Attributes
    ----------
    network : Network
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

    network: Network
    decision: Array
    cost: float
    validation_cost: float | None
    objective: float
    epochs: int


def is_huge(network: Network) -> bool:
    """Whether a network has weights that no scaled features need."""
    return float(np.abs(network.parameters).max()) > 1000


def train(
    features: Features,
    tasks: Sequence[Task],
    options: NetworkOptions,
    scaling: FeatureScaling | None = None,
    n_jobs: int = 1,
) -> list[Trained]:
    """Train a network for each task.

    Parameters
    ----------
    features : ndarray or csr_array of shape (n_rows, n_features)
        Common to all tasks; `Task.index` says which of them a task uses.
    tasks : sequence of Task
    options : NetworkOptions
    scaling : FeatureScaling, optional
        Units of the features; learned from all rows if not given.
    n_jobs : int, default=1
        Threads that train different networks.

    Raises
    ------
    SolverFailure
        If one of them diverges.
    """
    if scaling is None:
        scaling = FeatureScaling.of(features, None, options.scaling)
    inputs = _Inputs(features, scaling, options)
    # Under Adam tasks share their arrays if they have equal layers, costs of one kind and rows in
    # step.
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for place, task in enumerate(tasks):
        key = task.hidden, loss_kind(task.rows.cost), task.rows.n_rows
        alike[key if options.solver == "adam" else place].append(place)
    chunks = [chunk for group in alike.values() for chunk in _chunks(group, tasks, inputs)]
    # Threads suffice: the time goes into NumPy, which lets others run.
    done = Parallel(n_jobs=min(n_jobs, len(chunks)), prefer="threads")(
        delayed(_train_chunk)(inputs, [tasks[place] for place in chunk]) for chunk in chunks
    )
    answers: dict[int, Trained] = {}
    for chunk, trained in zip(chunks, done, strict=True):
        answers.update(zip(chunk, trained, strict=True))
    return [answers[place] for place in range(len(tasks))]


def _chunks(group: list[int], tasks: Sequence[Task], inputs: _Inputs) -> list[list[int]]:
    """Split a group into chunks that the cache can hold, of streams with equally many networks."""
    streams: dict[Hashable, list[int]] = defaultdict(list)
    for place in group:
        streams[tasks[place].stream()].append(place)
    # Numbers that one network works on at a time. Rows of a stream are put in order in blocks; they
    # are read once, so need no cache.
    first, width = tasks[group[0]], inputs.n_features
    block = width * min(first.rows.n_rows, block_rows(width))
    n_each = 2 * (sum(first.hidden) + 1) * inputs.options.batch_size
    n_each += int(len(streams) / len(group) * block / 16)
    size = max(2_000_000 // n_each, 1)
    by_length: dict[int, list[list[int]]] = defaultdict(list)
    for stream in streams.values():
        pieces = -(-len(stream) // size)
        for piece in np.array_split(np.asarray(stream), pieces):
            by_length[piece.size].append([int(place) for place in piece])
    chunks = []
    for length, equal in by_length.items():
        n_chunks = -(-len(equal) * length // size)
        parts = np.array_split(np.arange(len(equal)), min(n_chunks, len(equal)))
        chunks += [[place for row in part for place in equal[row]] for part in parts]
    return chunks


class _Inputs:
    """Features in the form that training needs, made once for all chunks."""

    def __init__(
        self, features: Features, scaling: FeatureScaling, options: NetworkOptions
    ) -> None:
        self.features, self.scaling, self.options = features, scaling, options
        self.n_rows, self.n_features = features.shape
        self.distinct: DistinctRows | None = None
        self._dense: Floats | None = None
        if options.solver == "lbfgs" or isinstance(features, np.ndarray):
            self._dense = scaling.dense(features, options.dtype)
        if options.solver == "lbfgs":
            assert self._dense is not None
            self.distinct = DistinctRows.of(self._dense)

    def decide(self, networks: Networks, parameters: Floats) -> Floats:
        """Scaled decisions of shape (n_networks, n_rows)."""
        if self.distinct is not None:
            return networks.decide(parameters, self.distinct.inputs)[:, self.distinct.place]
        decisions = np.empty((len(parameters), self.n_rows), dtype=parameters.dtype)
        for rows in slices(self.n_rows, ROWS_AT_A_TIME):
            inputs = np.ascontiguousarray(self.gather(rows).T)
            decisions[:, rows] = networks.decide(parameters, inputs)
        return decisions

    def gather(self, rows: Index | slice) -> Floats:
        """Scaled features of some rows."""
        if self._dense is not None:
            return self._dense[rows]
        return self.scaling.dense(self.features[rows], self.options.dtype)


def _train_chunk(inputs: _Inputs, whole: Sequence[Task]) -> list[Trained]:
    """Train networks in the same arrays (under L-BFGS one), and see that none has diverged."""
    options, n_features = inputs.options, inputs.n_features
    stopping, dtype = options.stopping, options.dtype
    layout = whole[0].layout(n_features)
    networks = Networks(layout, options.activation)
    tasks, aside = list(whole), None
    if stopping is not None and stopping.rows is None:
        split = [task.set_aside(stopping.share) for task in whole]
        tasks, aside = [kept for kept, _ in split], [rest for _, rest in split]
    units = [Units.of(task.rows, options.scaling) for task in tasks]
    start = np.stack([task.first(n_features) for task in tasks]).astype(dtype)
    strength: Array = np.array([task.strength for task in tasks])[:, np.newaxis]
    penalty = (strength * layout.is_weight()).astype(dtype) if strength.any() else None

    def evaluated(some: Sequence[Task]) -> Loss:
        index = [task.index for task in some]
        rows = [task.rows for task in some]
        return loss_of(rows, units, dtype, places=index, n_rows=inputs.n_rows)

    monitor = None
    if stopping is not None:
        if aside is not None:
            monitored = np.unique(np.concatenate([task.place for task in aside]))
            features, loss = inputs.gather(monitored), evaluated(aside).rows(monitored)
        else:
            assert stopping.rows is not None
            features = inputs.scaling.dense(stopping.rows.features, dtype)
            loss = loss_of([stopping.rows] * len(tasks), units, dtype)
        interval = LOOK_INTERVAL if options.solver == "lbfgs" else 1
        patience = -(-stopping.patience // interval)
        columns = np.ascontiguousarray(features.T)
        how = len(tasks), patience, stopping.tolerance
        monitor = BestSoFar(networks, columns, loss, *how)
    look = None if monitor is None else monitor.look
    with np.errstate(over="ignore", invalid="ignore"):
        if inputs.distinct is not None:
            loss = evaluated(tasks).rows(inputs.distinct.order)
            evaluate = smoothed_objective(networks, inputs.distinct, loss, penalty)
            unit = 1.0 if options.scaling == "standard" else 0.2  # a range is about five spreads
            stages = [
                (width * unit, max(round(share * options.epochs), 1)) for width, share in STAGES
            ]
            parameters, passes = minimise(evaluate, start, stages, look)
            epochs = np.array([passes])
            if monitor is not None:  # Adam's last epoch has been looked at
                monitor.look(np.arange(1), parameters)
        else:
            streams = {task.stream(): task for task in reversed(tasks)}
            firsts = [streams[key] for key in dict.fromkeys(task.stream() for task in tasks)]
            batches = MiniBatches(
                networks,
                inputs.gather,
                evaluated(tasks),
                [task.place for task in firsts],
                [task.shuffler() for task in firsts],
                penalty,
            )
            rates = np.array([task.learning_rate for task in tasks])
            parameters, epochs = train_adam(batches, start, rates, options, look)
        if monitor is not None:
            parameters = monitor.parameters.astype(dtype)
        if inputs.distinct is not None and _is_free(tasks[0], units[0]):
            parameters[:] = 0.0
        after, before = (inputs.decide(networks, each) for each in (parameters, start))
        trained = []
        for row, task in enumerate(tasks):
            rows, own = task.rows, units[row]
            scale, numbers = own.unit * own.steepness, parameters[row].copy()
            weights: Array = numbers[layout.is_weight()]
            network = Network(layout, options.activation, numbers, inputs.scaling, own)
            best = None if monitor is None else float(monitor.cost[row])
            decision, first = (own.decisions(each[row][task.place]) for each in (after, before))
            cost = np.inf
            # Where no epoch was better than none at all, there is no network to keep.
            if np.isfinite(decision).all() and (best is None or np.isfinite(best)):
                cost = rows.mean_cost(decision)
            # Cost of the first decisions, or of deciding the same everywhere if that is more.
            constant = np.full(rows.n_rows, own.centre)
            usual = max(rows.mean_cost(constant), rows.mean_cost(first))
            diverged = not cost <= usual + abs(usual) + 1e-6 * scale
            remedy = "solver 'lbfgs' needs other data or a penalty"
            if options.solver == "adam":
                remedy = f"learning_rate must be smaller, got {task.learning_rate:g}"
                # Steps may be so long that units are stuck: huge weights, or one decision for all.
                same = float(np.ptp(decision)) <= 1e-9 * own.unit
                stuck = same and task.learning_rate > 0.1 and not task.strength
                diverged |= cost > 0 and (stuck or is_huge(network))
            if diverged:
                costs = f"mean cost {usual:.4g} at the start, {cost:.4g} at the end"
                raise SolverFailure(f"Training diverged ({costs}): {remedy}.")
            everywhere = own.decisions(after[row][whole[row].place])
            objective = cost / scale + task.strength * float(weights @ weights)
            kept = None if best is None else best * scale
            objective = objective if best is None else best
            found = Trained(network, everywhere, cost, kept, objective, int(epochs[row]))
            trained.append(found)
    return trained


def _is_free(task: Task, units: Units) -> bool:
    """Whether deciding the centre for all rows costs nothing, the least that hinges can cost.

    Networks trained on rounded hinges would end beside it.
    """
    if not isinstance(task.rows.cost, HingeCost):
        return False
    cost = task.rows.mean_cost(np.full(task.rows.n_rows, units.centre))
    return bool(cost <= 1e-12 * units.unit * units.steepness)


class BestSoFar:
    """Remembers the parameters of each network that were best on its validation rows.

    Parameters
    ----------
    networks : Networks
    inputs : ndarray of shape (n_features, n_rows)
    loss : Loss
        Of these rows: insensitive to a band, or realised where their truth is known.
    n_networks : int
    patience : int
        Looks without improvement after which a network may stop.
    tolerance : float
        Share by which the cost must fall to count as an improvement.
    """

    def __init__(
        self,
        networks: Networks,
        inputs: Floats,
        loss: Loss,
        n_networks: int,
        patience: int,
        tolerance: float,
    ) -> None:
        self._networks, self._inputs, self._loss = networks, inputs, loss
        self._patience, self._tolerance = patience, tolerance
        self._waited = np.zeros(n_networks, dtype=np.intp)
        self._floor = np.full(n_networks, np.inf)
        self.cost = np.full(n_networks, np.inf)
        self.parameters = np.zeros((n_networks, networks.layout.n_parameters))

    def look(self, names: Index, parameters: Floats) -> Mask:
        """Whether each of these networks may stop: has waited long enough for a lower cost."""
        decision = self._networks.decide(parameters.astype(self._inputs.dtype), self._inputs)
        cost = self._loss.sets(names).value(decision)
        cost = np.where(np.isfinite(cost), cost, np.inf)
        better = cost < self.cost[names]
        self.cost[names[better]] = cost[better]
        self.parameters[names[better]] = parameters[better]
        clearly = cost < self._floor[names] * (1 - self._tolerance)
        self._floor[names[clearly]] = cost[clearly]
        self._waited[names] = np.where(clearly, 0, self._waited[names] + 1)
        return np.asarray(self._waited[names] >= self._patience)
