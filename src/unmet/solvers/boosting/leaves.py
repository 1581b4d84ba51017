"""Values of leaves with the least cost of the rows of each leaf, for all leaves at once.

A sum of hinges with kinks at r_k, slopes −b_k below and a_k above, has at t the slope ::

    Σ_{r_k < t} a_k − Σ_{r_k > t} b_k  =  Σ_{r_k < t} (a_k + b_k) − B,    B = Σ_k b_k,

so it is least where the running sum of a + b over the sorted kinks reaches B: at one kink, or
between two neighbors if the sum equals B after the first of them.

The kinks are sorted once by leaf and position, and one running sum serves all leaves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array, golden_section
from unmet.costs import HingeCost, SquaredError
from unmet.costs.hinge import Kinks
from unmet.errors import SolverFailure
from unmet.rows import Rows
from unmet.solvers.losses import Loss, SquaredLoss, Units, loss_of, loss_of_kinks

Index = NDArray[np.integer]
Single = NDArray[np.float32]


Intervals: TypeAlias = tuple[Array, Array]
"""Where the cost of each leaf is least, from low to high; ends may be infinite."""


def small(leaf: Index, n_leaves: int) -> Index:
    """Leaf numbers in the smallest type that holds them: NumPy sorts those by counting."""
    return leaf.astype(np.min_scalar_type(max(n_leaves - 1, 0)), copy=False)


def order_within(leaf: Index, position: Array) -> NDArray[np.intp]:
    """Sort by leaf, and by position within each: ``lexsort``, four times as fast."""
    by_position = np.argsort(position)
    return by_position[np.argsort(leaf[by_position], kind="stable")]


def hinge_minimisers(
    position: Array, below: Array, jump: Array, leaf: Index, n_leaves: int
) -> Intervals:
    """Minimise a sum of hinges in each leaf.

    Parameters
    ----------
    position : ndarray of shape (n_kinks,)
        Where slopes change, relative to the decision of the row.
    below, jump : ndarray of shape (n_kinks,) or (1,)
        Slope below each kink, and by how much it grows there, non-negative; a single entry holds
        for all kinks.
    leaf : ndarray of shape (n_kinks,)
        To which leaf a kink belongs, of the type that `small` gives.
    n_leaves : int
    """
    order = order_within(leaf, position)
    count = np.bincount(leaf, minlength=n_leaves)
    end = np.cumsum(count)
    if jump.size == 1:
        running = np.arange(1, leaf.size + 1) * jump[0]
        all_below = count * below[0]
    else:
        running = np.cumsum(jump[order])
        all_below = np.bincount(leaf, below, n_leaves)
    before = np.concatenate([[0.0], running])[end - count]
    total = np.concatenate([[0.0], running])[end] - before
    slack = 1e-10 * total  # a slope this small is zero
    first = np.searchsorted(running, before + all_below - slack, side="left")
    last = np.searchsorted(running, before + all_below + slack, side="right")
    at = position[order[np.minimum(np.stack([first, last]), leaf.size - 1)]]
    # Where nothing costs below, or nothing above, one end lies at infinity.
    low = np.where(all_below <= slack, -np.inf, at[0])
    high = np.where(total - all_below <= slack, np.inf, at[1])
    return low, high


# --- Best values of leaves for a cost of which only values are known.
#
# The cost of a leaf may have jumps and several valleys, with their edges at the ends of the rows'
# bands. So candidates are taken from those: 17 quantiles of them, then 17 more between the
# neighbours of the best, and at last a golden section between its neighbours for costs that are
# smooth. What is returned is the best value that was tried; the first of them is 0, so no leaf is
# ever made worse, and a leaf that cannot be made better does not move. About 50 evaluations of all
# rows.


def search_minimisers(
    price: Callable[[Array], Array], ends: Array, leaf: Index, n_leaves: int
) -> Array:
    """Search each leaf among the ends of its rows' bands, and between them.

    Parameters
    ----------
    price : callable
        From one value per leaf, shape (n_leaves,), to the cost of each leaf; inf is allowed.
    ends : ndarray of shape (n_ends,)
        Ends of bands, relative to the decision of the row.
    leaf : ndarray of shape (n_ends,)
        To which leaf each of them belongs; none is without any.
    n_leaves : int
    """
    best = np.zeros(n_leaves)
    least = price(best)

    def offer(value: Array) -> Array:
        """Evaluate one value per leaf, and keep those that cost less by more than rounding."""
        nonlocal best, least
        cost = price(value)
        with np.errstate(invalid="ignore"):
            better = cost < least - 1e-12 * np.abs(least)
        better |= np.isinf(least) & np.isfinite(cost)
        best, least = np.where(better, value, best), np.where(better, cost, least)
        return cost

    point, leaves = ends[order_within(leaf, ends)], np.arange(n_leaves)
    end = np.cumsum(np.bincount(leaf, minlength=n_leaves))
    first: Index = np.concatenate([[0], end[:-1]])
    last: Index = end - 1
    for _ in range(2):
        share = np.linspace(0.0, 1.0, 17)[:, np.newaxis]
        index: NDArray[np.intp] = np.rint(first + share * (last - first)).astype(np.intp)
        cheapest = np.argmin([offer(point[each]) for each in index], axis=0)
        at = index[cheapest, leaves]
        before = index[np.maximum(cheapest - 1, 0), leaves]
        after = index[np.minimum(cheapest + 1, 16), leaves]
        # Of few points some are candidates twice: their neighbours are the points next to them.
        first = np.maximum(np.minimum(before, at - 1), first)
        last = np.minimum(np.maximum(after, at + 1), last)
    golden_section(offer, point[first], point[last], 16)
    return best


# --- What a cost tells the boosting: gradients to grow trees on, and the best values of leaves.


class Objective(ABC):
    """Mean cost of some rows, as a function of their decisions.

    Attributes
    ----------
    weight : ndarray of shape (n_rows,)
        How much each row counts, one on average: its sample weight, and for a piecewise-linear cost
        its slopes.
    curvature : ndarray of shape (n_rows,), float32
        The same for LightGBM (see the package).
    loss : Loss
        Of one set of decisions in the cost's own units, with the sample weights of the rows.
    """

    def __init__(self, loss: Loss, weight: Array) -> None:
        self.loss, self.weight = loss, weight
        self.curvature = weight.astype(np.float32)

    @abstractmethod
    def gradient(self, decision: Array) -> Single:
        """Weighted subgradient of each row, in units that make it about one at the start."""

    @abstractmethod
    def intervals(self, decision: Array, leaf: Index, n_leaves: int) -> Intervals:
        """By how much the decisions of each leaf should change so that they cost least."""

    def minimisers(self, decision: Array, leaf: Index, n_leaves: int) -> Array:
        """By how much the decisions of each leaf should change, no more than needed."""
        low, high = self.intervals(decision, leaf, n_leaves)
        return np.minimum(np.maximum(low, 0.0), high)

    def start(self) -> float:
        """Give the one decision for all rows that costs least; the middle, if there are many."""
        nothing, one = np.zeros(self.weight.size), np.zeros(self.weight.size, dtype=np.uint8)
        ends = np.concatenate(self.intervals(nothing, one, 1))
        finite = ends[np.isfinite(ends)]
        return float(finite.mean()) if finite.size else 0.0

    def mean_cost(self, decision: Array) -> float:
        """Weighted mean of the cost, in its own units."""
        return float(self.loss.value(decision[np.newaxis])[0]) / decision.size


def read_objective(rows: Rows) -> Objective:
    """Choose by the kind of cost; only ratios of the rows' shares matter."""
    share = rows.share
    if share is not None and (share == share[0]).all():
        share = None  # the same to the last bit as no weights at all
    weight = np.ones(rows.n_rows) if share is None else share / share.mean()
    if isinstance(rows.cost, HingeCost):
        factor = 1.0 if share is None else weight  # slopes of all rows stay one number
        return HingeObjective(rows.cost.kinks(rows.observation, rows.band, factor))
    without_width = rows.band is None or not np.any(rows.band.width)
    if isinstance(rows.cost, SquaredError) and without_width:
        return SquareObjective(rows, weight)
    return ValueObjective(rows, weight)


class HingeObjective(Objective):
    """A sum of hinges; its leaves are exact.

    Parameters
    ----------
    kinks : Kinks
    """

    def __init__(self, kinks: Kinks) -> None:
        self._position = kinks.position
        # One column where all rows share it: views that repeat one number have no stride.
        below, above = np.broadcast_arrays(
            *(side[:, :1] if side.strides[1] == 0 else side for side in (kinks.below, kinks.above))
        )
        jump = below + above
        n_kinks, n_rows = shape = kinks.position.shape
        added = np.broadcast_to(jump.sum(axis=0), (n_rows,))
        # Slopes are divided by their mean sum: a newsvendor then has α and 1 − α, as LightGBM's
        # quantile has, so that options such as min_gain_to_split mean the same.
        steepness = float(added.mean())
        super().__init__(loss_of_kinks(self._position, below, above), added / steepness)
        scaled = below / steepness, above / steepness
        self._scaled = loss_of_kinks(self._position, *scaled, dtype=np.float32)
        if jump.shape[1] == 1 and n_kinks == 1:
            self._below, self._jump = below[0], jump[0]
        else:  # one entry per kink
            self._below, self._jump = (
                np.ascontiguousarray(np.broadcast_to(each, shape)).reshape(-1)
                for each in (below, jump)
            )

    def gradient(self, decision: Array) -> Single:
        """Subgradient, 0 at kinks where that is one."""
        return np.asarray(self._scaled.slope(decision[np.newaxis])[0])

    def intervals(self, decision: Array, leaf: Index, n_leaves: int) -> Intervals:
        """Exact, by sorting."""
        return hinge_minimisers(*self.by_leaf(decision, leaf, n_leaves), n_leaves)

    def by_leaf(
        self, decision: Array, leaf: Index, n_leaves: int
    ) -> tuple[Array, Array, Array, Index]:
        """Position, slope below, jump and leaf of all kinks, as `hinge_minimisers` takes them."""
        distance, owner = self._position - decision, small(leaf, n_leaves)
        if len(distance) > 1:
            owner = np.tile(owner, len(distance))
        return distance.reshape(-1), self._below, self._jump, owner


class SquareObjective(Objective):
    """Squared distance to the truth; its leaves are weighted means."""

    def __init__(self, rows: Rows, weight: Array) -> None:
        loss = loss_of([replace(rows, share=weight)], [Units()])
        super().__init__(loss, weight)
        assert isinstance(loss, SquaredLoss)
        self._truth = loss.tiers[0].bottom[0]
        # Float32 holds gradients in units of what remains at the start, whatever the data's are.
        self._unit = float(np.abs(self.start() - self._truth).mean()) or 1.0

    def gradient(self, decision: Array) -> Single:
        """Signed distance to the truth."""
        slope = self.loss.slope(decision[np.newaxis])[0]
        return np.asarray(0.5 * slope / self._unit, dtype=np.float32)

    def intervals(self, decision: Array, leaf: Index, n_leaves: int) -> Intervals:
        """Means."""
        owner, rest = small(leaf, n_leaves), self._truth - decision
        total = np.bincount(owner, self.weight, n_leaves)
        mean = np.bincount(owner, self.weight * rest, n_leaves) / np.where(total > 0, total, 1.0)
        return mean, mean


class ValueObjective(Objective):
    """Any other cost, by its values alone: leaves are searched, and may be of no width.

    The gradient is that of the cost averaged over a box around the decision: it sees jumps, as
    those of `PreventiveReplacement`, that a derivative does not.
    """

    def __init__(self, rows: Rows, weight: Array) -> None:
        super().__init__(loss_of([replace(rows, share=weight)], [Units()]), weight)
        self._rows = rows
        _, _, bottom, top = rows.cost.align(0.0, rows.observation, rows.band)
        self._ends = [top] if np.array_equal(bottom, top) else [bottom, top]
        centre = float(np.median(np.concatenate(self._ends)))  # it costs a finite amount
        everywhere, one = np.full(rows.n_rows, centre), np.zeros(rows.n_rows, dtype=np.intp)
        self._start = centre + float(self.minimisers(everywhere, one, 1)[0])
        spread = np.mean([np.abs(end - self._start).mean() for end in self._ends])
        half = 0.1 * float(spread) or 1e-6 * max(abs(self._start), 1.0)
        self._box, self._unit = np.array([2.0 * half]), 1.0
        steepness = float(np.abs(self.gradient(np.full(rows.n_rows, self._start))).mean())
        self._unit = steepness or 1.0

    def start(self) -> float:
        """Best of the decisions that were tried."""
        return self._start

    def gradient(self, decision: Array) -> Single:
        """Central difference."""
        with np.errstate(all="ignore"):
            rise = self.loss.slope(decision[np.newaxis], self._box)[0]
            slope: Single = (rise / self._unit).astype(np.float32)
        if not np.isfinite(slope).all():
            row = int(np.argmin(np.isfinite(slope)))
            raise SolverFailure(
                f"The cost {type(self._rows.cost).__name__} must be finite where decisions go, got "
                f"a slope of {float(slope[row])} at the decision {float(decision[row]):g}."
            )
        return slope

    def intervals(self, decision: Array, leaf: Index, n_leaves: int) -> Intervals:
        """Best of the values that were tried; 0 is one of them."""
        owner, rows = small(leaf, n_leaves), self._rows

        def price(value: Array) -> Array:
            with np.errstate(all="ignore"):
                loss = rows.cost.loss(decision + value[leaf], rows.observation, rows.band)
            total = np.bincount(owner, self.weight * loss, n_leaves)
            return np.where(np.isnan(total), np.inf, total)

        ends = np.concatenate([end - decision for end in self._ends])
        best = search_minimisers(price, ends, np.tile(owner, len(self._ends)), n_leaves)
        return best, best
