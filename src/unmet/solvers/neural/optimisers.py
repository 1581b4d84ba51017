"""Optimisers: L-BFGS over all rows at once, and Adam over mini-batches.

Adam updates many networks in the same arrays, each with its own steps. The training of a network
does not depend on the other networks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from unmet.arrays import Array, Mask
from unmet.rows import Rows
from unmet.solvers.exact.features import groups_of
from unmet.solvers.losses import Floats, Index, Loss, ScalingName, Scratch
from unmet.solvers.neural.networks import ActivationName, Networks

NetworkSolver = Literal["lbfgs", "adam"]
DtypeName = Literal["float32", "float64"]
ScheduleName = Literal["cosine", "constant"]


@dataclass(frozen=True)
class EarlyStopping:
    """Stop when validation rows no longer gain.

    Attributes
    ----------
    share : float
        Of the rows that is set aside; without meaning where `rows` are given.
    patience : int
        Epochs without improvement.
    tolerance : float
        Share by which the cost must fall to count as one.
    rows : Rows or None
        Other rows to monitor instead, whose truth is known.
    """

    share: float
    patience: int
    tolerance: float
    rows: Rows | None = None


@dataclass(frozen=True)
class NetworkOptions:
    """What networks that are trained together have in common.

    ``epochs`` are passes over the data: evaluations for L-BFGS. With the schedule "cosine", the
    learning rate of Adam falls from its value to 0 along half a cosine.
    """

    activation: ActivationName
    solver: NetworkSolver
    epochs: int
    batch_size: int
    schedule: ScheduleName
    dtype: DtypeName
    scaling: ScalingName
    stopping: EarlyStopping | None

    def rate(self, progress: float) -> float:
        """Factor of the learning rate after a share of all steps."""
        return 0.5 * (1 + np.cos(np.pi * progress)) if self.schedule == "cosine" else 1.0


Look: TypeAlias = Callable[[Index, Floats], Mask]
"""Numbers and parameters of some networks → whether each of them may stop."""

LOOK_INTERVAL = 10
"""Iterations of L-BFGS between two looks at the progress."""
STAGES = ((0.25, 0.25), (0.08, 0.3), (0.025, 0.45))
"""Widths of the smoothed cost in the stages of L-BFGS, in spreads, and their shares of passes."""
STAGE_TOLERANCE = 1e-5
"""A stage ends when ten iterations gain less than this share."""
FIRST_DECAY, SECOND_DECAY, EPSILON = 0.9, 0.999, 1e-7
"""β₁, β₂ and ε of Adam in Keras, hence in the paper."""


# --- The smoothed loss over all rows: what L-BFGS minimises.


@dataclass(frozen=True)
class DistinctRows:
    """Rows with equal features need one run through the networks, not one each.

    Distinct rows are laid out as often as the most frequent of them occurs, in blocks of all of
    them; gaps are filled by the row that costs nothing. Then spreading decisions over rows and
    collecting slopes from them are copies and sums of whole blocks.

    Attributes
    ----------
    inputs : ndarray of shape (n_features, n_distinct)
    order : ndarray of shape (n_blocks · n_distinct,)
        Row of the data at each place.
    n_blocks : int
    place : ndarray of shape (n_rows,)
        Distinct row that each row equals.
    """

    inputs: Floats
    order: Index
    n_blocks: int
    place: Index

    @classmethod
    def of(cls, features: Floats) -> Self:
        """Look for equal rows, and use them where there is something to gain."""
        n_rows = len(features)
        groups = groups_of(features)
        if groups is not None:
            first, group = groups
            counts = np.bincount(group)
            if counts.max() * counts.size <= 1.5 * n_rows:  # padded
                by_group = np.argsort(group, kind="stable")
                place = np.arange(n_rows) - np.repeat(np.cumsum(counts) - counts, counts)
                order = np.full((counts.max(), counts.size), n_rows)
                order[place, group[by_group]] = by_group
                inputs = np.ascontiguousarray(features[first].T)
                return cls(inputs, order.ravel(), int(counts.max()), group)
        every = np.arange(n_rows)
        return cls(np.ascontiguousarray(features.T), every, 1, every)

    def spread(self, decision: Floats, scratch: Scratch) -> Floats:
        """Decisions of distinct rows → of all rows."""
        if self.n_blocks == 1:
            return decision
        shape = (len(decision), self.n_blocks, decision.shape[1])
        blocks = scratch.array("blocks", shape, decision.dtype)
        blocks[...] = decision[:, np.newaxis]
        return blocks.reshape(len(decision), -1)

    def collect(self, slope: Floats) -> Floats:
        """Slopes of all rows → of distinct rows."""
        if self.n_blocks == 1:
            return slope
        return np.asarray(np.add.reduce(slope.reshape(len(slope), self.n_blocks, -1), axis=1))


def smoothed_objective(
    networks: Networks, rows: DistinctRows, loss: Loss, penalty: Floats | None
) -> Evaluate:
    """Give what evaluates the smoothed mean cost plus penalty of networks, and its gradient.

    Parameters
    ----------
    networks : Networks
    rows : DistinctRows
    loss : Loss
        Of the rows in the order of `rows`.
    penalty : ndarray of shape (n_networks, n_parameters) or None
        λ of every parameter; 0 for biases.
    """
    scratch, inputs, views = Scratch(), rows.inputs, networks.layout.views

    def evaluate(parameters: Floats, width: Array) -> tuple[Array, Floats]:
        layers, gradient = views(parameters), np.empty_like(parameters)
        decision, memory = networks.forward(layers, inputs, scratch)
        value, slope = loss.smoothed(rows.spread(decision, scratch), width, scratch)
        slope = rows.collect(slope)
        networks.backward(layers, inputs, memory, slope, views(gradient), scratch)
        if penalty is not None:
            weighted = parameters * penalty
            value = value + np.vecdot(weighted, parameters)
            gradient += 2 * weighted
        return value, gradient

    return evaluate


# --- L-BFGS. The cost is smoothed with a width that shrinks from stage to stage; a network goes to
# its next stage when it no longer gains or has used up the passes of this one.

Evaluate: TypeAlias = Callable[[Floats, Array], tuple[Array, Floats]]
"""Parameters of networks and widths → their values and gradients."""
Stage: TypeAlias = tuple[float, int]
"""A width, and so many passes at it."""


def minimise(
    evaluate: Evaluate, start: Floats, stages: Sequence[Stage], monitor: Look | None = None
) -> tuple[Floats, int]:
    """Give the parameters of a network after all stages, and the passes it took.

    Parameters
    ----------
    evaluate : callable
    start : ndarray of shape (1, n_parameters)
    stages : sequence of Stage
    monitor : callable, optional
        Asked every ten iterations.
    """
    x, dtype, passes = start[0].astype(np.float64), start.dtype, 0
    for width, most in stages:

        def objective(point: Array, width: float = width) -> tuple[float, Array]:
            value, gradient = evaluate(point.astype(dtype)[np.newaxis], np.array([width]))
            return float(value[0]), gradient[0].astype(np.float64)

        pause: Any = _Pause(monitor)
        limits: Any = {"maxfun": most, "maxcor": 20, "ftol": 0.0, "gtol": 1e-9}
        found = minimize(objective, x, jac=True, method="L-BFGS-B", callback=pause, options=limits)
        passes += found.nfev
        if np.isfinite(found.x).all() and np.isfinite(found.fun):
            x = found.x
        if pause.stopped:
            break
    return x.astype(dtype)[np.newaxis], passes


class _Pause:
    """Asks the monitor, and looks at the progress, every ten iterations of SciPy."""

    def __init__(self, monitor: Look | None) -> None:
        self._monitor, self._calls, self._mark = monitor, 0, np.inf
        self.stopped = False

    def __call__(self, intermediate_result: OptimizeResult) -> None:
        self._calls += 1
        if self._calls % LOOK_INTERVAL:
            return
        value = float(intermediate_result.fun)
        gain, self._mark = self._mark - value, value
        if self._monitor is not None:
            alone, point = np.zeros(1, dtype=np.intp), intermediate_result.x[np.newaxis]
            self.stopped = bool(self._monitor(alone, point)[0])
        if self.stopped or gain <= STAGE_TOLERANCE * abs(value):
            raise StopIteration


# --- Adam for many networks at once, as Keras does it: the paper's training of NN-εNVC.
#
# Networks that go through the same rows in the same order share the work on their inputs (a
# stream); others have streams of their own.


def block_rows(n_features: int) -> int:
    """Rows put in order at a time: an epoch's copy of large data would be large too."""
    return max((1 << 22) // max(n_features, 1), 1)


@dataclass
class Moments:
    """Running means of gradients and of their squares, and how many steps they have seen."""

    mean: Floats
    square: Floats
    steps: int = 0

    @classmethod
    def none(cls, parameters: Floats) -> Moments:
        """Before the first step."""
        return cls(np.zeros_like(parameters), np.zeros_like(parameters))

    def update(self, parameters: Floats, gradient: Floats, rate: Floats, scratch: Scratch) -> None:
        """Change parameters by one step; the gradient is used up.

        Keras puts its ε beside the root of the second moment before that is corrected for its
        start at 0; Kingma and Ba do so after.
        """
        self.steps += 1
        part = scratch.like("part", gradient)
        self.mean *= FIRST_DECAY
        self.mean += np.multiply(gradient, 1 - FIRST_DECAY, out=part)
        self.square *= SECOND_DECAY
        gradient *= gradient
        gradient *= 1 - SECOND_DECAY
        self.square += gradient
        np.sqrt(self.square, out=gradient)
        gradient += EPSILON
        np.divide(self.mean, gradient, out=gradient)
        second, first = SECOND_DECAY**self.steps, FIRST_DECAY**self.steps  # moments begin at 0
        gradient *= rate * gradient.dtype.type(np.sqrt(1 - second) / (1 - first))
        parameters -= gradient


@dataclass(frozen=True)
class MiniBatches:
    """Everything that stays the same from epoch to epoch.

    Attributes
    ----------
    networks : Networks
    gather : callable
        Rows by number, of shape (n,) → scaled features of shape (n, n_features).
    loss : Loss
        Of all rows; shares sum to one over a network's rows.
    streams : sequence of ndarray
        Rows that each stream goes through, all equally many.
    generators : sequence of Generator
        One per stream; they shuffle.
    penalty : ndarray of shape (n_networks, n_parameters) or None
        As in `smoothed_objective`.
    scratch : Scratch
    """

    networks: Networks
    gather: Callable[[Index], Floats]
    loss: Loss
    streams: Sequence[Index]
    generators: Sequence[np.random.Generator]
    penalty: Floats | None
    scratch: Scratch = field(default_factory=Scratch)

    def epoch(
        self,
        parameters: Floats,
        moments: Moments,
        batch_size: int,
        rates: Callable[[int], Floats],
        widths: Array,
    ) -> None:
        """Go once through the rows of every stream, in random order."""
        order = np.stack(
            [
                rows[generator.permutation(rows.size)]
                for rows, generator in zip(self.streams, self.generators, strict=True)
            ]
        )
        n_each, n_total = len(parameters) // len(order), order.shape[1]
        gradient, scratch = np.empty_like(parameters), self.scratch
        layers, gradients = (self.networks.layout.views(each) for each in (parameters, gradient))
        block = max(block_rows(self.networks.layout.n_features) // batch_size, 1) * batch_size
        for first in range(0, n_total, block):  # rows that are put in order at a time
            rows = order[:, first : first + block]
            columns = [np.ascontiguousarray(self.gather(stream).T) for stream in rows]
            inputs = columns[0] if len(rows) == 1 else np.stack(columns)
            index = rows[0] if len(rows) == 1 else np.repeat(rows, n_each, axis=0)
            evaluated = self.loss.rows(index, n_total / batch_size)
            for start in range(0, rows.shape[1], batch_size):
                part = slice(start, start + batch_size)
                batch, some = evaluated.part(part), inputs[..., part]
                decision, memory = self.networks.forward(layers, some, scratch)
                slope = batch.slope(decision, widths)
                if some.shape[-1] < batch_size:  # the last of an epoch: a mean over fewer rows
                    slope *= slope.dtype.type(batch_size / some.shape[-1])
                self.networks.backward(layers, some, memory, slope, gradients, scratch)
                if self.penalty is not None:
                    gradient += 2 * self.penalty * parameters
                moments.update(parameters, gradient, rates(moments.steps), scratch)


def train_adam(
    batches: MiniBatches,
    parameters: Floats,
    learning_rate: Array,
    options: NetworkOptions,
    monitor: Look | None = None,
) -> tuple[Floats, Index]:
    """Parameters of each network after its last epoch, and how many epochs it went.

    A network that its monitor has stopped goes on with the others, but what it learns then is not
    kept: `monitor` remembers its best.
    """
    parameters = parameters.copy()
    moments = Moments.none(parameters)
    rate = learning_rate.astype(parameters.dtype)[:, np.newaxis]
    n_steps = -(-batches.streams[0].size // options.batch_size)
    total = max(n_steps * options.epochs, 1)
    epochs = np.full(len(parameters), options.epochs)
    going = np.ones(len(parameters), dtype=bool)
    for epoch in range(options.epochs):
        # a cost that gives no slopes is smoothed by so much, in units of the spread
        widths = np.full(len(parameters), 0.3 * (0.01 / 0.3) ** (epoch / options.epochs))

        def rates(step: int) -> Floats:
            return np.asarray(rate * rate.dtype.type(options.rate(step / total)))

        batches.epoch(parameters, moments, options.batch_size, rates, widths)
        if not np.isfinite(parameters).all():
            break
        if monitor is not None:
            names = np.flatnonzero(going)
            done = names[monitor(names, parameters[names])]
            going[done], epochs[done] = False, epoch + 1
            if not going.any():
                break
    return parameters, epochs
