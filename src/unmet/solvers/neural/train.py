"""Train networks: one alone, or many at once on the same features."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from unmet.arrays import Array, Features
from unmet.solvers.neural.adam import AdamOptions, MiniBatches, block_rows, train_adam
from unmet.solvers.neural.lbfgs import DistinctRows, FullBatch, Stage, minimise, minimise_one
from unmet.solvers.neural.losses import Index, Objective, Priced, objective_of
from unmet.solvers.neural.networks import Floats, Layout, Networks
from unmet.solvers.neural.scaling import FeatureScaling
from unmet.solvers.neural.tasks import Network, NetworkOptions, Task, Trained, outcome

# --- Early stopping: the cost of rows that are not trained on, and the best parameters so far.


class ValidationWatch:
    """Remembers the parameters of each network that were best on its validation rows.

    Parameters
    ----------
    networks : Networks
    inputs : ndarray of shape (n_features, n_rows)
    objective : Objective
        Cost of these rows: insensitive to a band, or realised where their truth is known.
    patience : int
        Looks without improvement after which a network may stop.
    tolerance : float
        Share by which the cost must fall to count as an improvement.
    """

    def __init__(
        self,
        networks: Networks,
        inputs: Floats,
        objective: Objective,
        n_networks: int,
        patience: int,
        tolerance: float,
    ) -> None:
        self._networks, self._inputs, self._objective = networks, inputs, objective
        self._patience, self._tolerance = patience, tolerance
        self._waited = np.zeros(n_networks, dtype=np.intp)
        self._floor = np.full(n_networks, np.inf)
        self.best = np.full(n_networks, np.inf)
        self.parameters = np.zeros((n_networks, networks.layout.n_parameters))

    def look(self, names: Index, parameters: Floats) -> NDArray[np.bool_]:
        """Whether each of these networks may stop."""
        decision = self._networks.decide(parameters.astype(self._inputs.dtype), self._inputs)
        cost: Array = self._objective.networks(names).value(decision)
        cost = np.where(np.isfinite(cost), cost, np.inf)
        better = cost < self.best[names]
        self.parameters[names[better]] = parameters[better]
        self.best[names[better]] = cost[better]
        clearly = cost < self._floor[names] * (1 - self._tolerance)
        self._floor[names[clearly]] = cost[clearly]
        self._waited[names] = np.where(clearly, 0, self._waited[names] + 1)
        return np.asarray(self._waited[names] >= self._patience)


# --- Train networks: one alone, or many at once on the same features.

# Widths of the smoothed cost, in units of the observations' spread, and shares of the passes.
_WIDTHS, _SHARES = (0.25, 0.08, 0.025), (0.25, 0.3, 0.45)
_TOLERANCE = 1e-5
_CACHE = 1_000_000  # numbers that networks of one chunk work on: more do not stay in the cache
_ROWS_AT_A_TIME = 1 << 13


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
        Common to all tasks; `Priced.rows` says which of them a task uses.
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
    room = _Room(features, scaling, options)
    chunks = [
        chunk
        for group in _alike(tasks, options).values()
        for chunk in _chunks(group, tasks, room.n_each([tasks[place] for place in group]))
    ]
    # Threads suffice: the time goes into NumPy, which lets others run.
    done = Parallel(n_jobs=min(n_jobs, len(chunks)), prefer="threads")(
        delayed(room.train)([tasks[place] for place in chunk]) for chunk in chunks
    )
    answers: dict[int, Trained] = {}
    for chunk, trained in zip(chunks, done, strict=True):
        answers.update(zip(chunk, trained, strict=True))
    return [answers[place] for place in range(len(tasks))]


def _alike(tasks: Sequence[Task], options: NetworkOptions) -> dict[Hashable, list[int]]:
    """Group tasks that can share their arrays: equally deep, costs of one kind, rows in step."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for place, task in enumerate(tasks):
        n_rows = task.priced.observation.size if options.solver == "adam" else 0
        groups[len(task.hidden), task.priced.kind, n_rows].append(place)
    return groups


def _chunks(group: list[int], tasks: Sequence[Task], n_each: int) -> list[list[int]]:
    """Split a group into chunks that the cache can hold, of streams with equally many networks."""
    size = max(_CACHE // max(n_each, 1), 1)
    streams: dict[Hashable, list[int]] = defaultdict(list)
    for place in group:
        streams[tasks[place].stream()].append(place)
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


@dataclass
class _Room:
    """Features in the form that training needs, made once for all chunks."""

    features: Features
    scaling: FeatureScaling
    options: NetworkOptions

    def __post_init__(self) -> None:
        self._dtype = np.dtype(self.options.dtype)
        self._dense: Floats | None = None
        self._distinct: DistinctRows | None = None
        if self.options.solver == "lbfgs":
            self._dense = self.scaling.dense(self.features, self._dtype)
            self._distinct = DistinctRows.of(self._dense)
        elif isinstance(self.features, np.ndarray):
            self._dense = self.scaling.dense(self.features, self._dtype)

    @property
    def n_rows(self) -> int:
        """Rows of the common features."""
        return int(self.features.shape[0])

    def n_each(self, tasks: Sequence[Task]) -> int:
        """Numbers that one network works on at a time."""
        units = max(sum(task.hidden) for task in tasks) + 1
        if self._distinct is None:
            # Rows of a stream are put in order in blocks. They are read once, so need no cache.
            streams = len({task.stream() for task in tasks}) / len(tasks)
            n_features = self.features.shape[1]
            block = n_features * min(tasks[0].priced.observation.size, block_rows(n_features))
            return int(2 * units * self.options.batch_size + streams * block / 16)
        return int(2 * units * self._distinct.inputs.shape[1] + 4 * self._distinct.order.size)

    def decide(self, networks: Networks, parameters: Floats) -> Floats:
        """Scaled decisions of shape (n_networks, n_rows)."""
        if self._distinct is not None:
            distinct = networks.decide(parameters, self._distinct.inputs)
            return distinct[:, self._distinct.place]
        decisions = np.empty((len(parameters), self.n_rows), dtype=parameters.dtype)
        for start in range(0, self.n_rows, _ROWS_AT_A_TIME):
            rows = np.arange(start, min(start + _ROWS_AT_A_TIME, self.n_rows))
            inputs = np.ascontiguousarray(self.gather(rows).T)
            decisions[:, rows] = networks.decide(parameters, inputs)
        return decisions

    def gather(self, rows: Index) -> Floats:
        """Scaled features of some rows."""
        if self._dense is not None:
            return self._dense[rows]
        return self.scaling.dense(self.features[rows], self._dtype)

    def train(self, tasks: Sequence[Task]) -> list[Trained]:
        """Train one chunk."""
        return _Chunk(self, tasks).train()


class _Chunk:
    """Networks that are trained in the same arrays."""

    def __init__(self, room: _Room, tasks: Sequence[Task]) -> None:
        self._room, self._options = room, room.options
        self._whole = list(tasks)
        n_features = room.features.shape[1]
        self._layouts = [task.layout(n_features) for task in tasks]
        self._networks = Networks(Layout.covering(self._layouts), room.options.activation)
        self._places = [self._networks.layout.embed(each) for each in self._layouts]
        self._aside: list[Priced] | None = None
        self._tasks = self._set_aside(self._whole)
        self._scalings = [task.priced.scaling(room.options.scaling) for task in self._tasks]
        self._objective = self._price([task.priced for task in self._tasks], room.n_rows)
        self._start = np.zeros((len(tasks), self._networks.layout.n_parameters))
        for row, place, task in zip(self._start, self._places, tasks, strict=True):
            row[place] = task.first(n_features)

    def train(self) -> list[Trained]:
        """Train them, and see that none has diverged."""
        watch = self._watch()
        start = self._start.astype(self._options.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            move = self._lbfgs if self._options.solver == "lbfgs" else self._adam
            parameters, epochs = move(start, watch)
            if watch is not None:
                if self._options.solver == "lbfgs":  # Adam's last epoch has been looked at
                    watch.look(np.arange(len(parameters)), parameters)
                parameters = watch.parameters.astype(self._options.dtype)
            finished = self._room.decide(self._networks, parameters)
            before = self._room.decide(self._networks, start)
            return [
                self._finish(place, parameters, epochs, watch, before[place], finished[place])
                for place in range(len(epochs))
            ]

    def _set_aside(self, tasks: list[Task]) -> list[Task]:
        """Split validation rows off, where early stopping is to use its own."""
        stopping = self._options.stopping
        if stopping is None or stopping.features is not None:
            return tasks
        kept = []
        self._aside = []
        for task in tasks:
            own, aside = task.set_aside(stopping.size)
            self._aside.append(aside)
            kept.append(own)
        return kept

    def _price(self, priced: Sequence[Priced], n_rows: int) -> Objective:
        return objective_of(priced, self._scalings, n_rows, self._options.dtype)

    def _watch(self) -> ValidationWatch | None:
        stopping, room = self._options.stopping, self._room
        if stopping is None:
            return None
        if self._aside is not None:
            rows = np.unique(np.concatenate([_rows(each) for each in self._aside]))
            inputs = room.gather(rows)
            objective = self._price(self._aside, room.n_rows).rows(rows, 1.0)
        else:
            assert stopping.features is not None
            assert stopping.priced is not None
            inputs = room.scaling.dense(stopping.features, self._options.dtype)
            objective = self._price([stopping.priced] * len(self._tasks), len(inputs))
            objective = objective.rows(np.arange(len(inputs)), 1.0)
        interval = 10 if self._options.solver == "lbfgs" else 1
        patience = -(-stopping.patience // interval)
        inputs = np.ascontiguousarray(inputs.T)
        return ValidationWatch(
            self._networks, inputs, objective, len(self._tasks), patience, stopping.tolerance
        )

    def _lbfgs(self, start: Floats, watch: ValidationWatch | None) -> tuple[Floats, Index]:
        distinct = self._room._distinct
        assert distinct is not None
        evaluate = FullBatch(
            self._networks,
            distinct,
            self._objective.rows(distinct.order, 1.0),
            self._penalty(),
            self._mask(),
            len(start),
        )
        passes = [max(round(share * self._options.epochs), 1) for share in _SHARES]
        stages = [Stage(*each, _TOLERANCE) for each in zip(_WIDTHS, passes, strict=True)]
        unit = 1.0 if self._options.scaling == "standard" else 0.2  # a range is about five spreads
        stages = [replace(stage, width=stage.width * unit) for stage in stages]
        if len(start) == 1:
            return minimise_one(evaluate, start, stages, watch)
        return minimise(evaluate, start, stages, watch)

    def _adam(self, start: Floats, watch: ValidationWatch | None) -> tuple[Floats, Index]:
        streams: dict[Hashable, list[int]] = defaultdict(list)
        for place, task in enumerate(self._tasks):
            streams[task.stream()].append(place)
        firsts = [places[0] for places in streams.values()]
        batches = MiniBatches(
            self._networks,
            self._room.gather,
            self._objective,
            [_rows(self._tasks[place].priced) for place in firsts],
            [self._tasks[place].shuffler() for place in firsts],
            self._penalty(),
            self._mask(),
        )
        options = self._options
        how = AdamOptions(options.epochs, options.batch_size, options.schedule)
        rates = np.array([task.learning_rate for task in self._tasks])
        return train_adam(batches, start, rates, how, watch)

    def _penalty(self) -> Floats | None:
        strength = np.array([task.penalty for task in self._tasks])
        if not strength.any():
            return None
        return np.asarray(
            strength[:, np.newaxis] * self._networks.layout.is_weight(), dtype=self._options.dtype
        )

    def _mask(self) -> Floats | None:
        if all(layout == self._networks.layout for layout in self._layouts):
            return None
        mask = np.zeros(self._start.shape, dtype=self._options.dtype)
        for row, place in zip(mask, self._places, strict=True):
            row[place] = 1
        return mask

    def _finish(
        self,
        place: int,
        parameters: Floats,
        epochs: Index,
        watch: ValidationWatch | None,
        before: Floats,
        after: Floats,
    ) -> Trained:
        """Put one network together, with decisions at the start and the end of its training."""
        task, scaling, layout = self._tasks[place], self._scalings[place], self._layouts[place]
        own = parameters[place][self._places[place]].copy()
        weights: Array = own[layout.is_weight()]
        trained_on = _rows(task.priced)
        return outcome(
            task,
            self._options,
            Network(layout, self._options.activation, own, self._room.scaling, scaling),
            decision=scaling.decisions(after[trained_on]),
            first=scaling.decisions(before[trained_on]),
            squares=float(weights @ weights),
            best=None if watch is None else float(watch.best[place]),
            epochs=int(epochs[place]),
            everywhere=scaling.decisions(after[_rows(self._whole[place].priced)]),
        )


def _rows(priced: Priced) -> Index:
    return np.arange(priced.observation.size) if priced.rows is None else priced.rows
