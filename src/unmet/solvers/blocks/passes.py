"""Passes over rows that sort kinks into far and near, and check an earlier sorting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from unmet.costs.hinge import Kinks
from unmet.solvers.exact.scaling import Frame
from unmet.solvers.problem import Hinges

# --- How solvers see data that is too large to copy: block by block.
#
# The screened solver touches the rows only through `Source`, so that the same code serves arrays in
# memory and anything else that can hand out blocks of rows.

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_BLOCK_BYTES = 1_000_000  # two sweeps over a block should find it in the cache


@dataclass(frozen=True)
class Block:
    """Some rows: where the first one stands, their features and their kinks."""

    first: int
    features: Array
    kinks: Kinks

    def __len__(self) -> int:
        return len(self.features)


class Source(Protocol):
    """Rows of a problem, read in order or by number."""

    n_rows: int
    n_features: int
    n_kinks: int

    def blocks(self) -> Iterator[Block]:
        """Yield every row once, in order."""
        ...

    def take(self, rows: Index) -> Block:
        """Return the given rows (sorted, no repeats) as one block."""
        ...


class ArraySource:
    """Rows of arrays in memory; blocks are views, never copies."""

    def __init__(self, features: Array, kinks: Kinks) -> None:
        self.features = features
        self.kinks = kinks
        self.n_rows, self.n_features = features.shape
        self.n_kinks = len(kinks.position)

    def blocks(self) -> Iterator[Block]:
        """Yield views of about a megabyte of features each."""
        size = max(512, _BLOCK_BYTES // (8 * self.n_features))
        kinks = self.kinks
        for first in range(0, self.n_rows, size):
            part = slice(first, first + size)
            yield Block(
                first,
                self.features[part],
                Kinks(kinks.position[:, part], kinks.below[:, part], kinks.above[:, part]),
            )

    def take(self, rows: Index) -> Block:
        """Copy the given rows."""
        kinks = self.kinks
        return Block(
            0,
            self.features.take(rows, axis=0),
            Kinks(kinks.position[:, rows], columns(kinks.below, rows), columns(kinks.above, rows)),
        )


def columns(values: Array, rows: Index) -> Array:
    """Take columns of an array; a view when all columns are one and the same."""
    if values.strides[1] == 0:
        return values[:, : len(rows)]
    return values[:, rows]


def spread_sample(n_rows: int, size: int, generator: np.random.Generator) -> Index:
    """Sorted row numbers without repeats, one at random from each of ``size`` equal stretches."""
    stretch = n_rows / size
    rows = (np.arange(size) * stretch).astype(np.intp)
    rows += generator.integers(0, max(1, int(stretch)), size)
    return rows


# --- How far a decision may move when θ is only known up to sampling error.
#  The error of x'θ̂ grows with the leverage of x. Where leverages are alike one width serves all
# rows; with rare dummies or heavy-tailed features it must be scaled row by row, and a direction
# that the sample has never seen is not known at all.

_ALIKE = 2.5  # ratio of the 99.5% leverage to the median up to which one width serves all rows
_ROUGH = 1.6  # how far the diagonal proxy may be from the leverage


class Trust(Protocol):
    """Relative uncertainty of the decision, row by row.

    ``unseen`` are the features that were constant in the sample.
    """

    @property
    def unseen(self) -> NDArray[np.intp]:
        """Numbers of these features."""
        ...

    def radius(self, features: Array) -> float | Array:
        """Return one number for all rows or one per row; about 1 on average."""
        ...


class Uniform:
    """All rows alike."""

    unseen: NDArray[np.intp] = np.empty(0, dtype=np.intp)

    def radius(self, features: Array) -> float:  # noqa: ARG002 (of the protocol)
        """Return 1."""
        return 1.0


@dataclass(frozen=True)
class Leverage:
    """√(x'M⁻¹x / p) with M from a sample, and no trust where the sample never varied.

    Attributes
    ----------
    frame : Frame
    root : ndarray
        A matrix L⁻ᵀ with M⁻¹ = L⁻ᵀL⁻¹, or only the diagonal of M^(−½).
    unseen : ndarray of int
        Features that were constant in the sample.
    """

    frame: Frame
    root: Array
    unseen: NDArray[np.intp]

    def radius(self, features: Array) -> Array:
        """Return the leverage of each row relative to the average; infinite where unknown."""
        leverage = _leverage(self.frame.design(features), self.root)
        if len(self.unseen):
            strange = features[:, self.unseen] != self.frame.centre[self.unseen]
            leverage[strange.any(axis=1)] = np.inf
        return leverage


def _leverage(design: Array, root: Array) -> Array:
    whitened = design * root if root.ndim == 1 else design @ root
    squared = np.einsum("ij,ij->i", whitened, whitened)
    result: Array = np.sqrt(squared / design.shape[1])
    return result


def choose_trust(frame: Frame, design: Array, features: Array) -> Trust:
    """Pick the cheapest of one width, a diagonal and a full leverage that fits the sample."""
    size = len(design)
    unseen = np.flatnonzero((features == features[0]).all(axis=0))
    moments = design.T @ design / size
    diagonal = moments.diagonal().copy()
    empty = diagonal <= 0
    diagonal[empty] = 1.0
    moments[empty, empty] = 1.0
    moments.flat[:: len(moments) + 1] += 1e-10 * diagonal
    try:
        lower = np.linalg.cholesky(moments)
    except np.linalg.LinAlgError:  # collinear beyond the shift: the proxy has to do
        return Leverage(frame, 1 / np.sqrt(diagonal), unseen)
    full = solve_triangular(lower, np.eye(len(lower)), lower=True).T
    leverage = _leverage(design, full)
    typical, largest = np.median(leverage), np.quantile(leverage, 0.995)
    if largest <= _ALIKE * typical and not len(unseen):
        return Uniform()
    proxy = _leverage(design, 1 / np.sqrt(diagonal))
    ratio = leverage / np.maximum(proxy, 1e-300)
    if np.quantile(ratio, 0.995) <= _ROUGH:
        return Leverage(frame, 1 / np.sqrt(diagonal), unseen)
    return Leverage(frame, full, unseen)


# --- Passes over rows that sort kinks into far and near, and check an earlier sorting.

Sides = NDArray[np.int8]  # +1 or −1: fixed on that side of the decision; 0: open


@dataclass(frozen=True)
class Decide:
    """The decision rule of one pass, for features as given."""

    coefficients: Array
    intercept: float

    def __call__(self, features: Array) -> Array:
        """Return the decisions."""
        decision: Array = features @ self.coefficients
        decision += self.intercept
        return decision


@dataclass
class Far:
    """What far kinks contribute: Σ y x, Σ y and Σ y r at the decision of the pass."""

    moments: Array
    total: float
    cost: float


class Near:
    """Open kinks, gathered one feature row each."""

    def __init__(self, n_features: int) -> None:
        self._features: list[Array] = [np.empty((0, n_features))]
        self._hinges: list[tuple[Array, Array, Array, Array]] = [(np.empty(0),) * 4]

    def add(self, block: Block, kink: int, index: Index) -> None:
        """Open one kink of some rows of a block."""
        if not len(index):
            return
        kinks = block.kinks
        below, above = columns(kinks.below, index), columns(kinks.above, index)
        idle = below[kink] + above[kink] <= 0
        if idle.any():  # costs nothing on either side
            self.add(block, kink, index[~idle])
            return
        self._features.append(block.features[index])
        self._hinges.append(
            (kinks.position[kink][index], below[kink], above[kink], (below + above).sum(axis=0))
        )

    def gather(self) -> tuple[Array, Hinges]:
        """Return the feature rows and their hinges."""
        return _joined(self._features, self._hinges)

    def thinned(self, keep: float, generator: np.random.Generator) -> tuple[Array, Hinges]:
        """Return a random share of the kinks, with slopes that stand for all of them."""
        features: list[Array] = []
        columns: list[tuple[Array, Array, Array, Array]] = []
        for rows, (position, below, above, weight) in zip(
            self._features, self._hinges, strict=True
        ):
            kept = np.flatnonzero(generator.random(len(rows)) < keep)
            features.append(rows[kept])
            columns.append(
                (position[kept], below[kept] / keep, above[kept] / keep, weight[kept] / keep)
            )
        return _joined(features, columns)

    def mean_square(self) -> float:
        """Σ y² over the open kinks, when each side of a kink is as likely as the other."""
        return 0.5 * sum(
            float(below @ below + above @ above) for _, below, above, _ in self._hinges
        )

    def __len__(self) -> int:
        return sum(len(part) for part in self._features)


def _joined(
    features: list[Array], columns: list[tuple[Array, Array, Array, Array]]
) -> tuple[Array, Hinges]:
    return np.concatenate(features), Hinges(
        *(np.concatenate(column) for column in zip(*columns, strict=True))
    )


def slopes_of(block: Block, kink: int) -> tuple[Array | float, Array | float]:
    """Slopes below and above; plain numbers where all rows share one, which saves work."""
    below, above = block.kinks.below[kink], block.kinks.above[kink]
    if below.strides[0] == 0 and above.strides[0] == 0 and len(block):
        return float(below[0]), float(above[0])
    return below, above


def sort_rows(
    blocks: Iterable[Block],
    decide: Decide,
    trust: Trust,
    width: float,
    ring: float = 0.0,
    sides: Sides | None = None,
) -> tuple[Far, Near, Index]:
    """Sum far kinks, gather near ones (within ``width``); note sides and rows within ``ring``."""
    n_features = len(decide.coefficients)
    far, near = Far(np.zeros(n_features), 0.0, 0.0), Near(n_features)
    in_ring: list[Index] = [np.empty(0, dtype=np.intp)]
    for block in blocks:
        decision = decide(block.features)
        radius = trust.radius(block.features)
        slope: Array | None = None
        close: NDArray[np.bool_] | None = None
        for k, position in enumerate(block.kinks.position):
            residual = decision - position
            over = residual > 0
            below, above = slopes_of(block, k)
            y = over * (below + above)
            y -= below
            distance = np.abs(residual)
            index = np.flatnonzero(distance <= width * radius)
            y[index] = 0.0
            far.cost += float(y @ residual)
            slope = y if slope is None else slope + y
            near.add(block, k, index)
            if sides is not None:
                _note(sides[k, block.first : block.first + len(block)], over, index)
                within = distance <= ring * radius
                close = within if close is None else close | within
        assert slope is not None
        far.moments += slope @ block.features
        far.total += float(slope.sum())
        if close is not None:
            in_ring.append(np.flatnonzero(close) + block.first)
    return far, near, np.concatenate(in_ring)


def _note(sides: Sides, over: NDArray[np.bool_], opened: Index) -> None:
    np.multiply(over, np.int8(2), out=sides, casting="unsafe")
    sides -= 1
    sides[opened] = 0


def sort_again(
    block: Block, rows: Index, decide: Decide, trust: Trust, width: float, sides: Sides
) -> tuple[Far, Near, float]:
    """Sort some rows again: the change of the far sums, the open kinks, the cost of flips."""
    decision = decide(block.features)
    radius = trust.radius(block.features)
    near = Near(len(decide.coefficients))
    change = np.zeros(len(block))
    cost = flips = 0.0
    for k, position in enumerate(block.kinks.position):
        below, above = slopes_of(block, k)
        residual = decision - position
        over = residual > 0
        before = sides[k][rows]
        old = np.where(before > 0, above, -below)
        old[before == 0] = 0.0
        new = over * (below + above)
        new -= below
        flipped = (before != 0) & ((before > 0) != over)
        if flipped.any():
            flips += float(((new - old) * residual)[flipped].sum())
        index = np.flatnonzero(np.abs(residual) <= width * radius)
        new[index] = 0.0
        side = np.empty(len(rows), dtype=np.int8)
        _note(side, over, index)
        sides[k][rows] = side
        new -= old
        cost += float(new @ residual)
        change += new
        near.add(block, k, index)
    return Far(change @ block.features, float(change.sum()), cost), near, flips


def verify_rows(blocks: Iterable[Block], decide: Decide, sides: Sides) -> tuple[float, float]:
    """Return the hinge cost of all rows, and the part due to kinks on the wrong side."""
    value = flips = 0.0
    for block in blocks:
        decision = decide(block.features)
        for k, position in enumerate(block.kinks.position):
            below, above = slopes_of(block, k)
            residual = decision - position
            over = residual > 0
            y = over * (below + above)
            y -= below
            value += float(y @ residual)
            side = sides[k, block.first : block.first + len(block)]
            wrong = (side != 0) & ((side > 0) != over)
            if wrong.any():
                flips += float((np.abs(residual) * (below + above))[wrong].sum())
    return value, flips
