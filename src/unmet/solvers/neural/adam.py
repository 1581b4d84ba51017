"""Adam for many networks at once, as Keras does it: the paper's training of NN-εNVC.

Networks that go through the same rows in the same order share the work on their inputs (a stream);
others have streams of their own. A network's way does not depend on the company it is in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from unmet.arrays import Array
from unmet.solvers.neural.losses import Index, Objective
from unmet.solvers.neural.networks import Floats, Networks, Scratch

ScheduleName = Literal["cosine", "constant"]

FIRST_DECAY, SECOND_DECAY, EPSILON = 0.9, 0.999, 1e-7  # β₁, β₂ and ε of Keras
_BLOCK = 1 << 22


def block_rows(n_features: int) -> int:
    """Rows put in order at a time: an epoch's copy of large data would be large too."""
    return max(_BLOCK // max(n_features, 1), 1)


class Stops(Protocol):
    """Looks at networks after an epoch, and says which of them need not go on."""

    def look(self, names: Index, parameters: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether each network may stop."""


@dataclass(frozen=True)
class AdamOptions:
    """How long and how fast.

    Attributes
    ----------
    epochs : int
    batch_size : int
    schedule : {"cosine", "constant"}
        "cosine" lets the learning rate fall from its value to 0 along half a cosine.
    """

    epochs: int
    batch_size: int
    schedule: ScheduleName

    def rate(self, progress: float) -> float:
        """Factor of the learning rate after a share of all steps."""
        return 0.5 * (1 + np.cos(np.pi * progress)) if self.schedule == "cosine" else 1.0


@dataclass
class Moments:
    """Running means of gradients and of their squares, and how many steps they have seen."""

    mean: Floats
    square: Floats
    steps: int = 0
    scratch: Scratch = field(default_factory=Scratch, repr=False)

    @classmethod
    def none(cls, parameters: Floats) -> Moments:
        """Before the first step."""
        return cls(np.zeros_like(parameters), np.zeros_like(parameters))

    def update(self, parameters: Floats, gradient: Floats, rate: Floats) -> None:
        """Change parameters by one step; the gradient is used up.

        Keras puts its ε beside the root of the second moment before that is corrected for its
        start at 0; Kingma and Ba do so after.
        """
        self.steps += 1
        part = self.scratch.like("part", gradient)
        self.mean *= FIRST_DECAY
        self.mean += np.multiply(gradient, 1 - FIRST_DECAY, out=part)
        self.square *= SECOND_DECAY
        gradient *= gradient
        gradient *= 1 - SECOND_DECAY
        self.square += gradient
        np.sqrt(self.square, out=gradient)
        gradient += EPSILON
        np.divide(self.mean, gradient, out=gradient)
        correction = np.sqrt(1 - SECOND_DECAY**self.steps) / (1 - FIRST_DECAY**self.steps)
        gradient *= rate * gradient.dtype.type(correction)
        parameters -= gradient


@dataclass(frozen=True)
class MiniBatches:
    """Everything that stays the same from epoch to epoch.

    Attributes
    ----------
    networks : Networks
    gather : callable
        Rows by number, of shape (n,) → scaled features of shape (n, n_features).
    objective : Objective
        Of all rows; shares sum to one over a network's rows.
    streams : sequence of ndarray
        Rows that each stream goes through, all equally many.
    generators : sequence of Generator
        One per stream; they shuffle.
    penalty, mask : ndarray of shape (n_networks, n_parameters) or None
        As in `FullBatch`.
    scratch : Scratch
    """

    networks: Networks
    gather: Callable[[Index], Floats]
    objective: Objective
    streams: Sequence[Index]
    generators: Sequence[np.random.Generator]
    penalty: Floats | None
    mask: Floats | None
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
        block = max(block_rows(self.networks.layout.n_features) // batch_size, 1) * batch_size
        for start in range(0, order.shape[1], block):
            self._block(
                parameters, moments, order[:, start : start + block], batch_size, rates, widths
            )

    def _block(
        self,
        parameters: Floats,
        moments: Moments,
        order: Index,
        batch_size: int,
        rates: Callable[[int], Floats],
        widths: Array,
    ) -> None:
        """Take batches from rows that are put in order first."""
        n_total = self.streams[0].size
        n_each = len(parameters) // len(order)
        inputs = self._inputs(order)
        index = order[0] if len(order) == 1 else np.repeat(order, n_each, axis=0)
        priced = self.objective.rows(index, n_total / batch_size)
        gradient, scratch = np.empty_like(parameters), self.scratch
        layers, gradients = (self.networks.layout.views(each) for each in (parameters, gradient))
        for start in range(0, order.shape[1], batch_size):
            part = slice(start, start + batch_size)
            batch, some = priced.part(part), inputs[..., part]
            n_rows = some.shape[-1]
            decision, memory = self.networks.forward(layers, some, scratch)
            slope = batch.slope(decision, widths)
            if n_rows < batch_size:  # the last batch of an epoch: a mean over fewer rows
                slope *= slope.dtype.type(batch_size / n_rows)
            self.networks.backward(layers, some, memory, slope, gradients, scratch)
            if self.penalty is not None:
                gradient += 2 * self.penalty * parameters
            if self.mask is not None:
                gradient *= self.mask
            moments.update(parameters, gradient, rates(moments.steps))

    def _inputs(self, order: Index) -> Floats:
        if len(order) == 1:
            return np.ascontiguousarray(self.gather(order[0]).T)
        return np.stack([np.ascontiguousarray(self.gather(rows).T) for rows in order])


def train_adam(
    batches: MiniBatches,
    parameters: Floats,
    learning_rate: Array,
    options: AdamOptions,
    watch: Stops | None = None,
) -> tuple[Floats, Index]:
    """Parameters of each network after its last epoch, and how many epochs it went.

    A network that its watch has stopped goes on with the others, but what it learns then is not
    kept: `watch` remembers its best.
    """
    parameters = parameters.copy()
    moments = Moments.none(parameters)
    rate = learning_rate.astype(parameters.dtype)[:, np.newaxis]
    n_steps = -(-batches.streams[0].size // options.batch_size)
    total = max(n_steps * options.epochs, 1)
    epochs = np.full(len(parameters), options.epochs)
    going = np.ones(len(parameters), dtype=bool)
    for epoch in range(options.epochs):
        widths = np.full(len(parameters), smoothing_width(epoch / options.epochs))

        def rates(step: int) -> Floats:
            factor: Floats = rate * rate.dtype.type(options.rate(step / total))
            return factor

        batches.epoch(parameters, moments, options.batch_size, rates, widths)
        if not np.isfinite(parameters).all():
            break
        if watch is not None:
            names = np.flatnonzero(going)
            done = names[watch.look(names, parameters[names])]
            going[done], epochs[done] = False, epoch + 1
            if not going.any():
                break
    return parameters, epochs


def smoothing_width(progress: float) -> float:
    """Width by which a cost is smoothed that gives no slopes: from 0.3 to 0.01 of the spread."""
    return float(0.3 * (0.01 / 0.3) ** progress)
