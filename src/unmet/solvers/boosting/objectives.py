"""What a cost tells the boosting: gradients to grow trees on, and the best values of leaves."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array, Band
from unmet.costs import Cost, HingeCost, Kinks, SquaredError
from unmet.errors import SolverFailure
from unmet.solvers.boosting.leaves import (
    Index,
    Intervals,
    hinge_minimisers,
    mean_minimisers,
    search_minimisers,
    small,
    square_minimisers,
)

Single = NDArray[np.float32]

_WIDTH = 0.1  # of a central difference, as a share of the mean distance to the band


class Objective(Protocol):
    """Mean cost of some rows, as a function of their decisions.

    Attributes
    ----------
    weight : ndarray of shape (n_rows,)
        How much each row counts, one on average: its sample weight, and for a piecewise-linear cost
        its slopes.
    curvature : ndarray of shape (n_rows,), float32
        The same for LightGBM (see the package).
    """

    weight: Array
    curvature: Single

    def start(self) -> float:
        """Give the one decision for all rows that costs least; the middle, if there are many."""

    def gradient(self, decision: Array) -> Single:
        """Weighted subgradient of each row, in units that make it about one at the start."""

    def mean_cost(self, decision: Array) -> float:
        """Weighted mean of the cost, in its own units."""

    def minimisers(self, decision: Array, leaf: Index, n_leaves: int) -> Array:
        """By how much the decisions of each leaf should change, no more than needed."""


def read_objective(
    cost: Cost, observation: Array, band: Band | None, share: Array | None
) -> Objective:
    """Choose by the kind of cost.

    Parameters
    ----------
    cost : Cost
        Its parameters are numbers, or have one entry per row.
    observation : ndarray of shape (n_rows,)
    band : Band or None
    share : ndarray of shape (n_rows,) or None
        Positive weights; only their ratios matter.
    """
    if share is not None and (share == share[0]).all():
        share = None  # the same to the last bit as no weights at all
    weight = np.ones(observation.size) if share is None else share / share.mean()
    if isinstance(cost, HingeCost):
        factor = 1.0 if share is None else weight  # slopes of all rows stay one number
        return HingeObjective(cost.kinks(observation, band, factor))
    rows = cost.align(0.0, observation, band)
    if isinstance(cost, SquaredError):
        return SquareObjective(rows.bottom, rows.top, weight)
    return GeneralObjective(cost, observation, band, weight)


class HingeObjective:
    """A sum of hinges; its leaves are exact.

    Parameters
    ----------
    kinks : Kinks
    steepness : float, optional
        Mean over all rows of what a row adds to the slope; by default that of these rows.
    """

    def __init__(self, kinks: Kinks, steepness: float | None = None) -> None:
        self._kinks = kinks
        self._below, self._above = np.broadcast_arrays(_compact(kinks.below), _compact(kinks.above))
        jump = self._below + self._above
        n_kinks, n_rows = shape = kinks.position.shape
        added = np.broadcast_to(jump.sum(axis=0), (n_rows,))
        # Slopes are divided by their mean sum: a newsvendor then has α and 1 − α, as LightGBM's
        # quantile has, so that options such as min_gain_to_split mean the same.
        if steepness is None:
            steepness = float(added.mean())
        self.weight = added / steepness
        self.curvature = self.weight.astype(np.float32)
        self._slope_below = (self._below / steepness).astype(np.float32)
        self._slope_above = (self._above / steepness).astype(np.float32)
        uniform = jump.shape[1] == 1 and n_kinks == 1
        self._flat_below = self._below[0] if uniform else _flat(self._below, shape)
        self._flat_jump = jump[0] if uniform else _flat(jump, shape)

    def start(self) -> float:
        """Middle of the decisions that cost least."""
        nothing, one = np.zeros(self.weight.size), np.zeros(self.weight.size, dtype=np.uint8)
        return float(self._intervals(nothing, one, 1).middle()[0])

    def gradient(self, decision: Array) -> Single:
        """Subgradient, 0 at kinks where that is one."""
        position = self._kinks.position
        slope = self._slope_above * (decision > position) - self._slope_below * (
            decision < position
        )
        total: Single = slope[0] if len(slope) == 1 else slope.sum(axis=0, dtype=np.float32)
        return total

    def mean_cost(self, decision: Array) -> float:
        """Mean of all hinges."""
        over = decision - self._kinks.position
        under = np.minimum(over, 0.0)
        np.maximum(over, 0.0, out=over)
        if self._below.shape[1] == 1:  # one slope for all rows: sums first
            total = (self._above[:, 0] * over.sum(axis=1)).sum()
            total -= (self._below[:, 0] * under.sum(axis=1)).sum()
        else:
            total = (self._above * over - self._below * under).sum()
        return float(total) / decision.size

    def minimisers(self, decision: Array, leaf: Index, n_leaves: int) -> Array:
        """Exact, by sorting."""
        return self._intervals(decision, leaf, n_leaves).nearest_to_zero()

    def _intervals(self, decision: Array, leaf: Index, n_leaves: int) -> Intervals:
        return hinge_minimisers(*self.by_leaf(decision, leaf, n_leaves), n_leaves)

    def by_leaf(
        self, decision: Array, leaf: Index, n_leaves: int
    ) -> tuple[Array, Array, Array, Index]:
        """Position, slope below, jump and leaf of all kinks, as `hinge_minimisers` takes them."""
        distance = self._kinks.position - decision
        n_kinks = distance.shape[0]
        owner = small(leaf, n_leaves)
        owner = owner if n_kinks == 1 else np.tile(owner, n_kinks)
        return distance.reshape(-1), self._flat_below, self._flat_jump, owner


class SquareObjective:
    """Squared distance to bands; its leaves are exact."""

    def __init__(self, bottom: Array, top: Array, weight: Array) -> None:
        self.weight = weight
        self.curvature = weight.astype(np.float32)
        self._bottom, self._top = bottom, top
        self._banded = bool(np.any(top > bottom))
        # Float32 holds gradients in units of what remains at the start, whatever the data's are.
        first = self._distance(np.full(weight.size, self.start()))
        self._unit = float(np.abs(first).mean()) or 1.0

    def start(self) -> float:
        """Middle of the decisions that cost least: the mean, without a band."""
        one = np.zeros(self.weight.size, dtype=np.uint8)
        return float(self._intervals(np.zeros(self.weight.size), one, 1).middle()[0])

    def gradient(self, decision: Array) -> Single:
        """Signed distance to the band."""
        return (self.weight * (self._distance(decision) / self._unit)).astype(np.float32)

    def mean_cost(self, decision: Array) -> float:
        """Mean squared distance."""
        return float(self.weight @ self._distance(decision) ** 2) / decision.size

    def minimisers(self, decision: Array, leaf: Index, n_leaves: int) -> Array:
        """Means, or with a band the zero of a piecewise-linear slope."""
        return self._intervals(decision, leaf, n_leaves).nearest_to_zero()

    def _distance(self, decision: Array) -> Array:
        distance: Array = decision - np.clip(decision, self._bottom, self._top)
        return distance

    def _intervals(self, decision: Array, leaf: Index, n_leaves: int) -> Intervals:
        owner, bottom = small(leaf, n_leaves), self._bottom - decision
        if not self._banded:
            return mean_minimisers(bottom, self.weight, owner, n_leaves)
        return square_minimisers(bottom, self._top - decision, self.weight, owner, n_leaves)


class GeneralObjective:
    """Any other cost, by its values alone.

    The gradient is a central difference, which is the exact gradient of the cost averaged over a
    box around the decision: it sees jumps, as those of `PreventiveReplacement`, that a derivative
    does not. Leaves are searched (`search.py`).
    """

    def __init__(self, cost: Cost, observation: Array, band: Band | None, weight: Array) -> None:
        self.weight = weight
        self.curvature = weight.astype(np.float32)
        self._cost, self._observation, self._band = cost, observation, band
        rows = cost.align(0.0, observation, band)
        self._ends = [rows.top] if np.array_equal(rows.bottom, rows.top) else [*rows[2:]]
        self._start = self._find_start()
        spread = np.mean([np.abs(end - self._start).mean() for end in self._ends])
        self._width = _WIDTH * float(spread) or 1e-6 * max(abs(self._start), 1.0)
        self._unit = 1.0
        steepness = float(np.abs(self.gradient(np.full(weight.size, self._start))).mean())
        self._unit = steepness or 1.0

    def start(self) -> float:
        """Best of the decisions that were tried."""
        return self._start

    def gradient(self, decision: Array) -> Single:
        """Central difference."""
        with np.errstate(all="ignore"):
            rise = self._loss(decision + self._width) - self._loss(decision - self._width)
            slope = (self.weight * rise / (2.0 * self._width * self._unit)).astype(np.float32)
        if not np.isfinite(slope).all():
            row = int(np.argmin(np.isfinite(slope)))
            raise SolverFailure(
                f"The cost {type(self._cost).__name__} must be finite where decisions go, got a "
                f"slope of {float(slope[row])} at the decision {float(decision[row]):g}."
            )
        return slope

    def mean_cost(self, decision: Array) -> float:
        """Mean of the loss."""
        return float(self.weight @ self._loss(decision)) / decision.size

    def minimisers(self, decision: Array, leaf: Index, n_leaves: int) -> Array:
        """Best of the values that were tried; 0 is one of them."""
        owner = small(leaf, n_leaves)

        def price(value: Array) -> Array:
            with np.errstate(all="ignore"):
                loss = self.weight * self._loss(decision + value[leaf])
            total = np.bincount(owner, loss, n_leaves)
            return np.where(np.isnan(total), np.inf, total)

        ends = np.concatenate([end - decision for end in self._ends])
        return search_minimisers(price, ends, np.tile(owner, len(self._ends)), n_leaves)

    def _find_start(self) -> float:
        """Search around the median, which costs a finite amount."""
        n_rows = self.weight.size
        centre = float(np.median(np.concatenate(self._ends)))
        one = np.zeros(n_rows, dtype=np.intp)
        return centre + float(self.minimisers(np.full(n_rows, centre), one, 1)[0])

    def _loss(self, decision: Array) -> Array:
        return self._cost.loss(decision, self._observation, self._band)


def _compact(slopes: Array) -> Array:
    """One column where all rows share it: views that repeat one number have no stride."""
    return slopes[:, :1] if slopes.strides[1] == 0 else slopes


def _flat(slopes: Array, shape: tuple[int, ...]) -> Array:
    """One entry per kink."""
    return np.ascontiguousarray(np.broadcast_to(slopes, shape)).reshape(-1)
