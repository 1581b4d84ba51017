"""The rows of one place, and what the boosting asks of them."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from unmet.band import Array
from unmet.costs import Kinks
from unmet.solvers.blocks_rows import RowBlock, dense
from unmet.solvers.boosting.binned import BinnedGrower
from unmet.solvers.boosting.growing import Splits
from unmet.solvers.boosting.leaves import Index
from unmet.solvers.boosting.objectives import HingeObjective
from unmet.solvers.boosting.selecting import Offers, Question, SortedKinks
from unmet.solvers.boosting.settings import Settings


@dataclass(frozen=True)
class ShardPlan:
    """What every place is told.

    Attributes
    ----------
    settings : Settings
    sample : ndarray of shape (n_sampled, n_features)
        Encoded rows that the bins are made of.
    encode : callable
        From the features of a block to numbers, categories by number.
    price : callable
        From a block and a factor of its weights to its kinks.
    factor : float
        What makes weights one on average.
    n_rows : int
        Number of rows in all places.
    categorical : tuple of int
    monotone : tuple of int or None
    """

    settings: Settings
    sample: Array
    encode: Callable[[Array], Array]
    price: Callable[[RowBlock, float], Kinks]
    factor: float
    n_rows: int
    categorical: tuple[int, ...] = ()
    monotone: tuple[int, ...] | None = None


class Shard:
    """Rows of one place: their bins, kinks and decisions.

    Parameters
    ----------
    plan : ShardPlan
    blocks : iterable of RowBlock
        Read once.
    n_rows : int
        How many of their rows have weight.
    """

    def __init__(self, plan: ShardPlan, blocks: Iterable[RowBlock], n_rows: int) -> None:
        self._plan, self._n_rows = plan, n_rows
        self._blocks: Iterator[RowBlock] = iter(blocks)
        self._socket: socket.socket | None = None
        self._sorted: SortedKinks | None = None

    def load(self, number: int) -> tuple[int, float]:
        """Read all blocks; number of rows, and the sum of their slopes."""
        if not self._n_rows:
            return 0, 0.0
        plan, found = self._plan, list[Kinks]()
        parameters = plan.settings.for_lightgbm(plan.n_rows, plan.monotone)
        self._grower = BinnedGrower(
            self._read(found),
            self._n_rows,
            plan.sample,
            plan.settings,
            parameters,
            plan.categorical,
            number,
        )
        self._kinks = _joined(found)
        del self._blocks
        slopes = self._kinks.below.sum() + self._kinks.above.sum()
        return self._n_rows, float(slopes)

    def listen(self) -> int:
        """Reserve a port, and say which."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.bind(("", 0))
        return int(self._socket.getsockname()[1])

    def connect(self, network: dict[str, Any], steepness: float) -> None:
        """Start, together with other places where there are any."""
        if self._socket is not None:
            self._socket.close()
        self._objective = HingeObjective(self._kinks, steepness)
        self._decision = np.zeros(self._n_rows)
        self._grower.connect(network)

    def begin(self, start: float) -> float:
        """Take the first decision; the cost of all rows."""
        self._decision = np.full(self._n_rows, start)
        return self._cost()

    def together(self) -> Array:
        """Look at all rows as one leaf: sums of slopes below and of jumps, shape (2, 1)."""
        return self._sort(np.zeros(self._n_rows, dtype=np.uint8), 1)

    def grow(self) -> Array | None:
        """Add a tree: weight, sums of slopes below and of jumps of each leaf, shape (3, n_leaves).

        None if no split promises to lower the cost.
        """
        gradient = self._objective.gradient(self._decision)
        leaf = self._grower.grow(gradient, self._objective.curvature)
        if leaf is None:
            return None
        self._leaf, n_leaves = leaf, self._grower.n_leaves
        weight = np.bincount(leaf, self._objective.weight, n_leaves)
        return np.vstack([weight, self._sort(leaf, n_leaves)])

    def offers(self, question: Question) -> Offers:
        """Give some of the kinks of leaves; see `SortedKinks.offers`."""
        assert self._sorted is not None
        return self._sorted.offers(question)

    def move(self, value: Array, keep: bool) -> float:
        """Add the newest tree with these leaves to the decisions; the cost of all rows.

        One place has to keep the leaves in its tree.
        """
        if keep:
            self._grower.set_leaves(value)
        self._sorted = None
        self._decision += value[self._leaf]
        return self._cost()

    def splits(self) -> Splits:
        """Structure of the newest tree."""
        return self._grower.splits()

    def result(self) -> tuple[str, int, Array]:
        """Text of all trees, their number, and the importance of columns."""
        n_trees = self._grower.n_trees
        return self._grower.text(n_trees), n_trees, self._grower.importances(n_trees)

    def close(self) -> None:
        """Disconnect, and forget the rows."""
        if hasattr(self, "_grower"):
            self._grower.disconnect()
            del self._grower

    def _sort(self, leaf: Index, n_leaves: int) -> Array:
        by_leaf = self._objective.by_leaf(self._decision, leaf, n_leaves)
        self._sorted = SortedKinks(*by_leaf, n_leaves)
        return np.stack([self._sorted.below, self._sorted.total])

    def _cost(self) -> float:
        return self._objective.mean_cost(self._decision) * self._n_rows

    def _read(self, found: list[Kinks]) -> Iterator[Array]:
        """Features of one block after the other; kinks are kept on the way."""
        for each in self._blocks:
            block = each.counted()
            if len(block):
                found.append(self._plan.price(block, self._plan.factor))
                yield np.asarray(self._plan.encode(dense(block.features)))


def _joined(found: list[Kinks]) -> Kinks:
    """Put the kinks of all blocks side by side."""
    most = max(len(kinks.position) for kinks in found)
    found = [kinks if len(kinks.position) == most else _split(kinks) for kinks in found]
    position = np.concatenate([kinks.position for kinks in found], axis=1)
    below, above = (_slopes([getattr(kinks, name) for kinks in found]) for name in _SIDES)
    return Kinks(
        position, np.broadcast_to(below, position.shape), np.broadcast_to(above, position.shape)
    )


_SIDES = ("below", "above")


def _split(kinks: Kinks) -> Kinks:
    """Write a kink of two slopes as two, as blocks whose bands have width do."""
    nothing = np.zeros_like(kinks.above[:1])
    return Kinks(
        np.concatenate([kinks.position[:1], kinks.position]),
        np.concatenate([nothing, kinks.below]),
        np.concatenate([kinks.above[:1], nothing, kinks.above[1:]]),
    )


def _slopes(parts: list[Array]) -> Array:
    """One column where all rows of all blocks have the same slopes, else one for each row."""
    same = all(part.strides[1] == 0 or part.shape[1] == 1 for part in parts)
    if same and all(np.array_equal(part[:, 0], parts[0][:, 0]) for part in parts):
        return parts[0][:, :1]
    return np.concatenate(parts, axis=1)
