"""The boosting of rows that lie in blocks, here or on the workers of a cluster.

The loop is that of `boost`. Gradients, trees and decisions stay where the rows are; LightGBM sums
its histograms over the workers through its own sockets, so that all of them grow the same tree.
What travels here is the weight of leaves, some of their kinks and their new values.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from unmet.arrays import Array
from unmet.costs import Kinks
from unmet.errors import InvalidInput, SolverFailure
from unmet.solvers import constants
from unmet.solvers.blocks.source import RowBlock, Workers, dense
from unmet.solvers.boosting.growing import (
    Boosted,
    BoostingSettings,
    Grower,
    Splits,
    Trees,
    keep_monotone,
    load_lightgbm,
    open_booster,
    refusing_options,
)
from unmet.solvers.boosting.leaves import HingeObjective, Index, Intervals, Single, order_within


@dataclass(frozen=True)
class ShardPlan:
    """What every worker is told.

    Attributes
    ----------
    settings : BoostingSettings
    sample : ndarray of shape (n_sampled, n_features)
        Encoded rows that the bins are made of.
    encode : callable
        From the features of a block to numbers, categories by number.
    price : callable
        From a block and a factor of its weights to its kinks.
    factor : float
        What makes weights one on average.
    n_rows : int
        Number of rows in all workers.
    categorical : tuple of int
    monotone : tuple of int or None
    """

    settings: BoostingSettings
    sample: Array
    encode: Callable[[Array], Array]
    price: Callable[[RowBlock, float], Kinks]
    factor: float
    n_rows: int
    categorical: tuple[int, ...] = ()
    monotone: tuple[int, ...] | None = None


# --- Trees on rows of which only LightGBM's bins are kept: one byte for each entry.

_HIDDEN = "[machines:", "[local_listen_port:"


class BinnedGrower(Grower):
    """Grows trees alone, or together with growers on other workers that have other rows.

    The bins are those of a sample, so that they are the same on all workers. Leaves of rows are
    told by LightGBM's scores alone, as rows cannot walk any more. Two leaves whose rows all lie on
    one side would get the same score. A random jitter of the curvatures keeps them apart; should it
    fail, which is next to impossible, they are refitted as one. Monotone constraints make many
    leaves the same: the rows are then kept, and walk.

    Parameters
    ----------
    plan : ShardPlan
    features : iterator of ndarray
        Blocks of rows.
    n_rows : int
        Number of rows in all blocks.
    number : int
        Of this worker: seeds the jitter.
    """

    def __init__(
        self, plan: ShardPlan, features: Iterator[Array], n_rows: int, number: int
    ) -> None:
        lightgbm = load_lightgbm()
        self._settings, self._width = plan.settings, plan.sample.shape[1]
        # Columns that cannot be split in the sample may be in all rows.
        parameters = plan.settings.for_lightgbm(plan.n_rows, plan.monotone)
        self._parameters = {**parameters, "feature_pre_filter": False}
        self._scores = np.zeros(n_rows)
        self._booster = None
        self.n_trees = 0
        self.n_leaves = 1
        self._twin: Index = np.zeros(1, dtype=np.intp)
        self._reach = 0.0  # no score is greater; the same on all workers
        generator = np.random.default_rng([plan.settings.seed, number])
        self._jitter = 1 + np.float32(constants.JITTER) * generator.random(n_rows, dtype=np.float32)
        self._kept: list[Array] | None = [] if "monotone_constraints" in parameters else None
        with refusing_options():
            how = {"params": self._parameters, "categorical_feature": list(plan.categorical)}
            nothing = np.zeros(max(n_rows, len(plan.sample)), dtype=np.float32)
            bins = lightgbm.Dataset(plan.sample, nothing[: len(plan.sample)], **how).construct()
            self._data = lightgbm.Dataset(
                _stream(self._keeping(features), n_rows), nothing[:n_rows], reference=bins, **how
            ).construct()
        if self._kept is not None:
            self._features = np.concatenate(self._kept)

    def connect(self, network: dict[str, Any]) -> None:
        """Start, with growers on other workers where the parameters name them."""
        parameters = {**self._parameters, **network}
        if "machines" not in network:
            with refusing_options():
                self._booster = open_booster(parameters, self._data)
            return
        lightgbm = load_lightgbm()
        try:
            self._booster = open_booster(parameters, self._data)
        except lightgbm.basic.LightGBMError as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise SolverFailure(f"LightGBM could not start on the workers: {reason}.") from None

    def disconnect(self) -> None:
        """Close what connects it with others."""
        if self._booster is not None:
            self._booster.free_network()

    def grow(self, gradient: Single, curvature: Single) -> Index | None:
        """Add a tree, and give the leaf of each row."""
        jittered = curvature * self._jitter
        if self._booster is None or self._booster.update(fobj=lambda *_: (gradient, jittered)):
            return None
        self.n_trees += 1
        return self._locate()

    def set_leaves(self, value: Array) -> None:
        """Replace the leaves of the newest tree."""
        super().set_leaves(value[self._twin])

    def text(self, n_trees: int) -> str:
        """Write the first trees, without the addresses of the workers."""
        lines = super().text(n_trees).splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith(_HIDDEN))

    def importances(self, n_trees: int) -> Array:
        """Share of each feature in the gain of all splits."""
        return super().importances(n_trees) if n_trees else np.zeros(self._width)

    def _keeping(self, features: Iterator[Array]) -> Iterator[Array]:
        """Pass blocks on, and keep them where rows must be able to walk."""
        for block in features:
            if self._kept is not None:
                self._kept.append(block)
            yield block

    def _locate(self) -> Index:
        """Leaf of each row, or the first of several whose scores are the same."""
        (output,) = self._read("leaf_value")
        self.n_leaves = output.size
        if self._kept is not None:
            self._twin = np.arange(output.size)
            return super()._locate()
        change = self._change()
        self._reach += float(np.abs(output).max())
        order = np.argsort(output, kind="stable")
        value = output[order]
        new = np.concatenate([[True], np.diff(value) > constants.SAME_LEAF * self._reach])
        first = order[np.flatnonzero(new)]  # of each group of leaves that look the same
        self._twin = np.empty(output.size, dtype=np.intp)
        self._twin[order] = first[np.cumsum(new) - 1]
        apart = output[first]
        return first[np.searchsorted(0.5 * (apart[1:] + apart[:-1]), change)]


def _stream(features: Iterator[Array], n_rows: int) -> Any:
    """Blocks as LightGBM wants to read them: from the first row to the last, in batches."""
    base: Any = load_lightgbm().Sequence

    class Stream(base):  # type: ignore[misc]
        batch_size = constants.STREAM_ROWS

        def __init__(self) -> None:
            self.rest = np.empty((0, 0))

        def __len__(self) -> int:
            return n_rows

        def __getitem__(self, wanted: Any) -> Array:
            parts, missing = [], wanted.stop - wanted.start
            while missing:
                if not len(self.rest):
                    self.rest = next(features)
                    continue
                parts.append(self.rest[:missing])
                self.rest = self.rest[missing:]
                missing -= len(parts[-1])
            return np.ascontiguousarray(np.concatenate(parts), dtype=np.float64)

    return Stream()


# --- Exact leaves of rows that lie on several workers.
#
# The value of a leaf is where the running sum of slopes over its sorted kinks reaches what all
# kinks cost below (`leaves.py`). Each worker sorts its own kinks. It is then asked for a few
# between two bounds, evenly spaced, with the running sums there: how much is certainly below each
# and how much may be. The sums of all workers tell between which two the value must lie. That is
# asked again more finely, until the kinks that are left are few enough to be sent: three rounds for
# millions of rows. What comes out is what sorting all kinks together would give.

_ROUNDING = 1e-10  # as in `hinge_minimisers`

#: Lower and upper bound of the values of some leaves: leaf, low, high, and how many kinks to send.
Question: TypeAlias = tuple[list[int], list[float], list[float], int]


@dataclass(frozen=True)
class Offer:
    """Kinks of one leaf on one worker, between two bounds.

    Attributes
    ----------
    point : ndarray of shape (n_offered,)
        Different positions, in order; the last is the greatest between the bounds.
    before, through : ndarray of shape (n_offered,)
        Sum of the jumps of the leaf's kinks below each position, and up to it.
    base : float
        Sum of the jumps up to the lower bound.
    complete : bool
        Whether there are no others between the bounds.
    """

    point: Array
    before: Array
    through: Array
    base: float
    complete: bool

    def certain(self, candidate: Array) -> Array:
        """Sum of the jumps up to each candidate, at least."""
        sums = np.concatenate([[self.base], self.through])
        return sums[np.searchsorted(self.point, candidate, side="right")]

    def possible(self, candidate: Array) -> Array:
        """Sum of the jumps up to each candidate, at most."""
        if self.complete:
            return self.certain(candidate)
        sums = np.concatenate([self.before, self.through[-1:]])
        return sums[np.searchsorted(self.point, candidate, side="right")]


@dataclass(frozen=True)
class Offers:
    """Offers of several leaves end to end: few arrays travel faster than many."""

    numbers: Array
    count: list[int]
    base: list[float]
    complete: list[bool]

    @classmethod
    def of(cls, offers: list[Offer]) -> Offers:
        """Put offers together."""
        parts = [np.stack([each.point, each.before, each.through]) for each in offers]
        return cls(
            np.concatenate(parts, axis=1),
            [each.point.size for each in offers],
            [each.base for each in offers],
            [each.complete for each in offers],
        )

    def apart(self) -> list[Offer]:
        """Take them apart again."""
        parts = np.split(self.numbers, np.cumsum(self.count)[:-1], axis=1)
        each = zip(parts, self.base, self.complete, strict=True)
        return [Offer(part[0], part[1], part[2], base, whole) for part, base, whole in each]


class SortedKinks:
    """Kinks of one worker, by leaf and position; parameters as in `hinge_minimisers`."""

    def __init__(
        self, position: Array, below: Array, jump: Array, leaf: Index, n_leaves: int
    ) -> None:
        order = order_within(leaf, position)
        self._point = position[order]
        count = np.bincount(leaf, minlength=n_leaves)
        self._bounds = np.concatenate([[0], np.cumsum(count)])
        if jump.size == 1:
            self._running = np.arange(leaf.size + 1) * jump[0]
            self.below = count * below[0]
        else:
            self._running = np.concatenate([[0.0], np.cumsum(jump[order])])
            self.below = np.bincount(leaf, below, n_leaves)
        self.total = np.diff(self._running[self._bounds])

    def offers(self, question: Question) -> Offers:
        """Answer for each leaf that is asked for."""
        leaves, low, high, few = question
        return Offers.of([self._offer(*each, few) for each in zip(leaves, low, high, strict=True)])

    def _offer(self, leaf: int, low: float, high: float, few: int) -> Offer:
        start, end = self._bounds[leaf], self._bounds[leaf + 1]
        points = self._point[start:end]
        first, last = np.searchsorted(points, [low, high], side="right")
        inside = points[first:last]
        complete = inside.size <= constants.TIES_LOOKED_AT * few
        if complete:
            chosen = (
                inside[np.concatenate([[True], np.diff(inside) > 0])] if inside.size else inside
            )
            complete = chosen.size <= few
        if not complete:
            chosen = np.unique(inside[np.linspace(0, inside.size - 1, few).astype(np.intp)])
        sums = self._running[start : end + 1] - self._running[start]
        before = sums[np.searchsorted(points, chosen, side="left")]
        through = sums[np.searchsorted(points, chosen, side="right")]
        return Offer(chosen, before, through, float(sums[first]), complete)


class _LeafSearch:
    """Looks for the interval of one leaf."""

    def __init__(self, below: float, total: float) -> None:
        slack = _ROUNDING * total
        self._targets = below - slack, below + slack
        self._open = below <= slack, total - below <= slack
        self.low, self.high = -np.inf, np.inf
        self.found: tuple[float, float] | None = None
        if all(self._open):
            self.found = (-np.inf, np.inf)

    def hear(self, offers: list[Offer]) -> None:
        """Narrow the bounds, or finish."""
        if all(offer.complete for offer in offers):
            self._finish(offers)
            return
        candidate = np.unique(np.concatenate([offer.point for offer in offers]))
        certain = sum(offer.certain(candidate) for offer in offers)
        possible = sum(offer.possible(candidate) for offer in offers)
        under = np.flatnonzero(possible < self._targets[0])
        over = np.flatnonzero(certain > self._targets[1])
        if under.size:
            self.low = float(candidate[under[-1]])
        if over.size:
            self.high = float(candidate[over[0]])

    def _finish(self, offers: list[Offer]) -> None:
        point = np.concatenate([offer.point for offer in offers])
        jump = np.concatenate([offer.through - offer.before for offer in offers])
        order = np.argsort(point, kind="stable")
        running = sum(offer.base for offer in offers) + np.cumsum(jump[order])
        sides = zip(self._targets, ("left", "right"), self._open, (-np.inf, np.inf), strict=True)
        ends = []
        for target, side, free, infinite in sides:
            index = np.searchsorted(running, target, side=side)  # type: ignore[call-overload]
            reached = point[order[min(int(index), point.size - 1)]]
            ends.append(infinite if free else float(reached))
        self.found = (ends[0], ends[1])


def select_intervals(workers: Workers, below: Array, total: Array) -> Intervals:
    """Minimise a sum of hinges in each leaf, with `offers` of all workers.

    Parameters
    ----------
    workers : Workers
        Whose method ``offers`` is that of `SortedKinks`.
    below, total : ndarray of shape (n_leaves,)
        Sums over all kinks of a leaf: of slopes below, and of jumps.
    """
    searches = [_LeafSearch(*each) for each in zip(below.tolist(), total.tolist(), strict=True)]
    few = constants.FEW_KINKS
    while left := [i for i, search in enumerate(searches) if search.found is None]:
        bounds = [searches[i].low for i in left], [searches[i].high for i in left]
        answers = [offers.apart() for offers in workers.ask("offers", (left, *bounds, few))]
        for i, offers in zip(left, zip(*answers, strict=True), strict=True):
            searches[i].hear(list(offers))
        few *= constants.KINK_GROWTH
    low, high = np.array([search.found for search in searches], dtype=np.float64).T
    return Intervals(low, high)


# --- The rows of one worker, and what the boosting asks of them.


class Shard:
    """Rows of one worker: their bins, kinks and decisions.

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
        found = list[Kinks]()
        reading = self._read(found)
        self._grower = BinnedGrower(self._plan, reading, self._n_rows, number)
        next(reading, None)  # there are no more
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
        """Start, together with other workers where there are any."""
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

        One worker has to keep the leaves in its tree.
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
        read = 0
        for each in self._blocks:
            block = each.counted()
            read += len(block)
            if read > self._n_rows:
                break
            if len(block):
                found.append(self._plan.price(block, self._plan.factor))
                yield np.asarray(self._plan.encode(dense(block.features)))
        if read != self._n_rows:
            raise _changed(read, self._n_rows)


def _changed(found: int, expected: int) -> InvalidInput:
    more = "at least " if found > expected else ""
    return InvalidInput(
        f"data must be the same in every pass, got {more}{found} rows with weight instead of "
        f"{expected}: were files replaced?"
    )


def _joined(found: list[Kinks]) -> Kinks:
    """Put the kinks of all blocks side by side."""
    most = max(len(kinks.position) for kinks in found)
    found = [kinks if len(kinks.position) == most else _split(kinks) for kinks in found]
    position = np.concatenate([kinks.position for kinks in found], axis=1)
    sides = []
    for parts in ([kinks.below for kinks in found], [kinks.above for kinks in found]):
        # One column where all rows of all blocks have the same slopes, else one for each row.
        same = all(part.strides[1] == 0 or part.shape[1] == 1 for part in parts)
        if same and all(np.array_equal(part[:, 0], parts[0][:, 0]) for part in parts):
            sides.append(np.broadcast_to(parts[0][:, :1], position.shape))
        else:
            sides.append(np.concatenate(parts, axis=1))
    return Kinks(position, *sides)


def _split(kinks: Kinks) -> Kinks:
    """Write a kink of two slopes as two, as blocks whose bands have width do."""
    nothing = np.zeros_like(kinks.above[:1])
    return Kinks(
        np.concatenate([kinks.position[:1], kinks.position]),
        np.concatenate([nothing, kinks.below]),
        np.concatenate([kinks.above[:1], nothing, kinks.above[1:]]),
    )


# --- The loop.


def boost_on_workers(workers: Workers, plan: ShardPlan) -> Boosted:
    """Boost trees on the rows of all workers, whose objects are `Shard`.

    Parameters
    ----------
    workers : Workers
    plan : ShardPlan
        With which the objects were made.
    """
    n_rows = _start(workers)
    if n_rows != plan.n_rows:
        raise _changed(n_rows, plan.n_rows)
    start = float(select_intervals(workers, *np.sum(workers.ask("together"), axis=0)).middle()[0])
    costs = [sum(workers.ask("begin", start)) / n_rows]
    for _ in range(plan.settings.max_iter):
        grown = workers.ask("grow")
        if grown[0] is None:
            break
        weight, below, total = np.sum(grown, axis=0)
        value = select_intervals(workers, below, total).nearest_to_zero()
        ridge = np.where(weight > 0, plan.settings.strength, 1.0)
        value *= plan.settings.learning_rate * weight / (weight + ridge)
        if plan.monotone is not None:
            splits = workers.ask_first("splits")
            value = keep_monotone(value, weight, splits, plan.monotone)
        moves = [(value, number == 0) for number in range(len(workers.hosts))]
        costs.append(sum(workers.ask_each("move", moves)) / n_rows)
    text, n_trees, importances = workers.ask_first("result")
    trees, nothing = Trees(text, start), np.empty(0)
    return Boosted(trees, n_trees, nothing, None, np.array(costs), None, importances)


def _start(workers: Workers) -> int:
    """Let all workers read their rows and find each other; number of rows."""
    loaded = workers.ask_each("load", [(number,) for number in range(len(workers.hosts))])
    workers.keep([rows > 0 for rows, _ in loaded])
    n_rows: int = sum(rows for rows, _ in loaded)
    steepness = sum(slopes for _, slopes in loaded) / n_rows
    networks: list[dict[str, Any]] = [
        {} if threads is None else {"num_threads": threads} for threads in workers.threads
    ]
    if len(networks) > 1:
        ports = workers.ask("listen")
        addresses = [f"{host}:{port}" for host, port in zip(workers.hosts, ports, strict=True)]
        for network, port in zip(networks, ports, strict=True):
            network |= {
                "machines": ",".join(addresses),
                "local_listen_port": port,
                "num_machines": len(addresses),
                "time_out": constants.WAIT_MINUTES,
                "tree_learner": "data",
            }
    workers.ask_each("connect", [(network, steepness) for network in networks])
    return n_rows
