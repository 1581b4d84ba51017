"""One pass over blocks: sort kinks around a decision rule, and check how an earlier pass sorted.

Every pass at θ sums the kinks that are far from the decision into one vector, and hands back the
rows of a *ring* around it together with the sides that their kinks were put on (0: near, open).
What is outside the ring is remembered by nobody: the next pass, at another θ, decides for every
row once more where it stood at the earlier θ. A kink outside the earlier ring that has changed its
side since was fixed wrongly, and costs c|r| in the certificate. Which rows were in the ring is
recomputed with a hair less than its width, so that rounding can only make the gap larger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from unmet.costs.hinge import Kinks
from unmet.solvers.blocks.passes import (
    ArraySource,
    Block,
    Decide,
    Far,
    Index,
    Near,
    Sides,
    Trust,
    columns,
    slopes_of,
)
from unmet.solvers.blocks.source import RowBlock, chunk_rows, dense

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Price = Callable[[RowBlock, float], Kinks]
"""From rows with weight, and a factor of their weights, to the kinks of their costs."""

_HAIR = 1e-9
_SEED = 30_323


def priced(block: RowBlock, price: Price, factor: float) -> Iterator[Block]:
    """Chunks of the rows that count, with dense float64 features and their kinks."""
    block = block.counted()
    if not len(block):
        return
    kinks = price(block, factor)
    size = chunk_rows(block.features.shape[1])
    for first in range(0, len(block), size):
        part = slice(first, first + size)
        yield Block(
            first,
            dense(block.features[part]),
            Kinks(kinks.position[:, part], kinks.below[:, part], kinks.above[:, part]),
        )


@dataclass(frozen=True)
class Earlier:
    """The decision rule of the pass before, and the ring outside which its sides are final."""

    decide: Decide
    ring: float


@dataclass(frozen=True)
class Ring:
    """Rows around the decision, of one chunk or of all: their kinks, and the sides of these."""

    features: Array
    kinks: Kinks
    sides: Sides

    def __len__(self) -> int:
        return len(self.features)


@dataclass
class Sorted:
    """What a pass, or a block of it, found.

    Attributes
    ----------
    far : Far
        Sums over the far kinks.
    value : float
        Cost of all kinks at the decision rule.
    flips : float
        The part of it that is due to kinks the earlier pass had fixed on the wrong side.
    near_square : float
        Σ y² over the near kinks, when each side of a kink is as likely as the other.
    rings : list of Ring
    """

    far: Far
    value: float = 0.0
    flips: float = 0.0
    near_square: float = 0.0
    rings: list[Ring] = field(default_factory=list)

    def add(self, other: Sorted) -> None:
        """Add what the next block found."""
        self.far.moments += other.far.moments
        self.far.total += other.far.total
        self.far.cost += other.far.cost
        self.value += other.value
        self.flips += other.flips
        self.near_square += other.near_square
        self.rings += other.rings

    def ring(self) -> Ring:
        """All rows of the ring in one piece; the pieces are given up."""
        rings, self.rings = self.rings, []
        return joined(rings, len(self.far.moments))


@dataclass(frozen=True)
class Sort:
    """Task: one pass of the module docstring.

    Attributes
    ----------
    price, factor
        Make kinks of rows.
    decide : Decide
    trust : Trust
    width, ring : float
        Near, and in the ring, is what lies within so many radii of the trust.
    keep : float
        Share of the ring's rows that is handed back, drawn at random.
    number : int
        Of the pass; seeds the draw.
    earlier : Earlier or None
    """

    price: Price
    factor: float
    decide: Decide
    trust: Trust
    width: float
    ring: float
    keep: float = 1.0
    number: int = 0
    earlier: Earlier | None = None

    def __call__(self, block: RowBlock) -> Sorted:
        """Sort the rows of a block."""
        n_features = len(self.decide.coefficients)
        found = Sorted(Far(np.zeros(n_features), 0.0, 0.0))
        generator = np.random.default_rng([_SEED, self.number, block.number])
        for chunk in priced(block, self.price, self.factor):
            self._sort(chunk, found, generator)
        if len(found.rings) > 1:
            found.rings = [joined(found.rings, n_features)]
        return found

    def _sort(self, chunk: Block, found: Sorted, generator: np.random.Generator) -> None:
        decision = self.decide(chunk.features)
        radius = self.trust.radius(chunk.features)
        before = None if self.earlier is None else self.earlier.decide(chunk.features)
        total = np.zeros(len(chunk))
        close = np.zeros(len(chunk), dtype=bool)
        sides = np.empty((len(chunk.kinks.position), len(chunk)), dtype=np.int8)
        for k, position in enumerate(chunk.kinks.position):
            below, above = slopes_of(chunk, k)
            residual = decision - position
            over = residual > 0
            y = over * (below + above)
            y -= below
            found.value += float(y @ residual)
            distance = np.abs(residual)
            close |= distance <= self.ring * radius
            near = np.flatnonzero(distance <= self.width * radius)
            found.near_square += _square(below, near) + _square(above, near)
            y[near] = 0.0
            found.far.cost += float(y @ residual)
            total += y
            np.subtract(2 * over.view(np.int8), 1, out=sides[k])
            sides[k][near] = 0
            if before is not None:
                found.flips += self._flips(before - position, distance, over, radius, below + above)
        found.far.moments += total @ chunk.features
        found.far.total += float(total.sum())
        rows = np.flatnonzero(close)
        if self.keep < 1.0:
            rows = rows[generator.random(len(rows)) < self.keep]
        if len(rows):
            found.rings.append(_taken(chunk, sides, rows))

    def _flips(
        self,
        before: Array,
        distance: Array,
        over: Flags,
        radius: float | Array,
        slope: float | Array,
    ) -> float:
        """Cost of kinks that were outside the earlier ring and have changed side."""
        assert self.earlier is not None
        wrong = np.flatnonzero((before > 0) != over)
        if not len(wrong):
            return 0.0
        limit = self.earlier.ring * (1 - _HAIR) * _at(radius, wrong)
        fixed = np.abs(before[wrong]) > limit
        return float((_at(slope, wrong) * distance[wrong])[fixed].sum())


def _at(values: float | Array, index: NDArray[np.intp]) -> float | Array:
    return values[index] if isinstance(values, np.ndarray) else values


def _square(slope: float | Array, near: NDArray[np.intp]) -> float:
    """Half the sum of the squared slopes of the near kinks."""
    if isinstance(slope, np.ndarray):
        return 0.5 * float(slope[near] @ slope[near])
    return 0.5 * slope * slope * len(near)


def _taken(chunk: Block, sides: Sides, rows: NDArray[np.intp]) -> Ring:
    kinks = chunk.kinks
    return Ring(
        chunk.features[rows],
        Kinks(kinks.position[:, rows], columns(kinks.below, rows), columns(kinks.above, rows)),
        sides[:, rows],
    )


def joined(rings: Iterable[Ring], n_features: int) -> Ring:
    """Put rings together; where rows have fewer kinks than others, kinks without cost fill up.

    A band without width makes one kink of two, so that blocks may differ in how many they have.
    """
    parts = list(rings)
    n_kinks = max((len(part.sides) for part in parts), default=1)
    n_rows = sum(map(len, parts))
    features = np.empty((n_rows, n_features))
    position, below, above = (np.zeros((n_kinks, n_rows)) for _ in range(3))
    sides = np.ones((n_kinks, n_rows), dtype=np.int8)
    start = 0
    for part in parts:
        own, rows = len(part.sides), slice(start, start + len(part))
        features[rows] = part.features
        position[:own, rows] = part.kinks.position
        position[own:, rows] = part.kinks.position[0]
        below[:own, rows] = part.kinks.below
        above[:own, rows] = part.kinks.above
        sides[:own, rows] = part.sides
        start += len(part)
    return Ring(features, Kinks(position, below, above), sides)


def near_kinks(ring: Ring) -> Near:
    """Open kinks of a ring, as the pass sorted them."""
    near, block = Near(ring.features.shape[1]), Block(0, ring.features, ring.kinks)
    for k, side in enumerate(ring.sides):
        near.add(block, k, np.flatnonzero(side == 0))
    return near


class HeldRows(ArraySource):
    """Rows of a ring; they are always wanted all at once, so nothing is copied."""

    def __init__(self, ring: Ring) -> None:
        super().__init__(ring.features, ring.kinks)

    def take(self, rows: Index) -> Block:  # noqa: ARG002 (of the protocol)
        """Return all rows."""
        return Block(0, self.features, self.kinks)
