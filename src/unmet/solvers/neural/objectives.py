"""Costs of the decisions of many networks, in scaled units, with their slopes.

Piecewise-linear costs have kinks, where a quasi-Newton method goes astray. So the cost is smoothed
by a box of width w: it becomes the mean of the cost over [y − w/2, y + w/2]. A hinge (z)⁺ becomes

    h(z) = w q (t − q/2)   with   t = z/w + ½,   q = clip(t, 0, 1) = h'(z),

a parabola within w/2 of the kink and the hinge itself elsewhere. A cost of which nothing is known
but its values is smoothed in the same way: the derivative of its box mean is exactly the central
difference (c(y + w/2) − c(y − w/2)) / w, which sees kinks and even jumps, and needs no derivative.
The mean itself is taken at a few points, but for a `JumpCost`, which knows it: points see a jump as
a staircase, on which a line search goes astray.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array, Band
from unmet.costs import Cost, JumpCost
from unmet.solvers.neural.activations import Floats
from unmet.solvers.neural.scratch import Scratch

Index: TypeAlias = NDArray[np.intp]

# Values of a smoothed cost of which only values are known: the mean at so many points.
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(8)


class Objective(ABC):
    """Weighted sum of the costs of all rows, for each network.

    Decisions have the shape (n_networks, n_rows), scaled; widths (n_networks,), scaled too.
    """

    @abstractmethod
    def smoothed(self, decision: Floats, width: Array, scratch: Scratch) -> tuple[Array, Floats]:
        """Objective of each network and its slope in each decision, smoothed by `width`."""

    @abstractmethod
    def slope(self, decision: Floats, width: Array) -> Floats:
        """Slope alone: a subgradient where the cost gives one in closed form, else smoothed."""

    @abstractmethod
    def value(self, decision: Floats) -> Array:
        """Objective of each network, not smoothed."""

    @abstractmethod
    def rows(self, index: Index, factor: float) -> Self:
        """Take some rows, with weights multiplied by `factor`.

        Parameters
        ----------
        index : ndarray of shape (n_rows,), or (n_networks, n_rows)
        """

    @abstractmethod
    def part(self, rows: slice) -> Self:
        """Consecutive rows: views, not copies."""

    @abstractmethod
    def networks(self, index: Index) -> Self:
        """Take some networks."""


@dataclass(frozen=True)
class BandObjective(Objective):
    """A cost that is known by the two ends of each row's band, and a slope on either side.

    Attributes
    ----------
    bottom, top : ndarray of shape (n_networks or 1, n_rows)
        Scaled ends of the band.
    below, above : ndarray of shape (n_networks or 1, n_rows or 1)
        Scaled slopes times the share of the row.
    """

    bottom: Floats
    top: Floats
    below: Floats
    above: Floats

    def rows(self, index: Index, factor: float) -> Self:
        """Take some rows; arrays that repeat one number are not copied."""
        taken = self._each(lambda array: _take_rows(array, index))
        below, above = (each * each.dtype.type(factor) for each in (taken.below, taken.above))
        return replace(taken, below=below, above=above)

    def part(self, rows: slice) -> Self:
        """Consecutive rows."""
        below, above = self.below, self.above
        if below.shape[1] > 1:
            below = below[:, rows]
        if above.shape[1] > 1:
            above = above[:, rows]
        return type(self)(self.bottom[:, rows], self.top[:, rows], below, above)

    def networks(self, index: Index) -> Self:
        """Take some networks."""
        return self._each(lambda array: array if len(array) == 1 else array[index])

    def _each(self, change: Callable[[Floats], Floats]) -> Self:
        return type(self)(*(change(each) for each in vars(self).values()))


class HingeObjective(BandObjective):
    """Newsvendor and every other cost that is linear on both sides of its band."""

    def smoothed(self, decision: Floats, width: Array, scratch: Scratch) -> tuple[Array, Floats]:
        """Use the closed form of the module's docstring for both ends of the band."""
        wide = width.astype(decision.dtype)[:, np.newaxis]
        distance = scratch.like("distance", decision)
        np.subtract(decision, self.top, out=distance)
        slope = scratch.like("above", decision)
        value = _hinge(distance, self.above, wide, slope)
        np.subtract(self.bottom, decision, out=distance)
        steep = scratch.like("below", decision)
        more = _hinge(distance, self.below, wide, steep)
        value += more
        slope -= steep
        return value, slope

    def slope(self, decision: Floats, width: Array) -> Floats:
        """Subgradient of Prop. LR-grad: 0 in the band and on its ends."""
        slope: Floats = (decision > self.top) * self.above
        slope -= (decision < self.bottom) * self.below
        return slope

    def value(self, decision: Floats) -> Array:
        """Sum of both hinges."""
        value = _row_sum(self.above, np.maximum(decision - self.top, 0))
        value += _row_sum(self.below, np.maximum(self.bottom - decision, 0))
        return value


class SquareObjective(BandObjective):
    """Squared distance to the band; ``below`` holds the shares. It is smooth as it is."""

    def smoothed(
        self,
        decision: Floats,
        width: Array,
        scratch: Scratch,
    ) -> tuple[Array, Floats]:
        """Value and gradient."""
        distance = decision - np.clip(decision, self.bottom, self.top)
        slope = distance * self.below
        value: Array = np.vecdot(slope, distance).astype(np.float64)
        slope += slope
        return value, slope

    def slope(self, decision: Floats, width: Array) -> Floats:
        """Gradient."""
        return self.smoothed(decision, width, Scratch())[1]

    def value(self, decision: Floats) -> Array:
        """Weighted sum of squares."""
        return self.smoothed(decision, np.ones(1), Scratch())[0]


@dataclass(frozen=True)
class ValueObjective(Objective):
    """A cost of one's own, known by its values; one for each network.

    Attributes
    ----------
    costs, bands : sequence
        One per network, with numbers for the rows of this objective.
    observation : ndarray of shape (n_networks, n_rows)
    share : ndarray of shape (n_networks, n_rows)
    centre, unit, steepness : ndarray of shape (n_networks,)
        A scaled decision h stands for centre + unit · h; costs are divided by unit · steepness.
    """

    costs: Sequence[Cost]
    bands: Sequence[Band | None]
    observation: Array
    share: Array
    centre: Array
    unit: Array
    steepness: Array

    def smoothed(self, decision: Floats, width: Array, scratch: Scratch) -> tuple[Array, Floats]:
        """Mean over the box, exact or at Gauss–Legendre points, and its exact derivative."""
        if self._jump:
            return self._box_means(decision, width)
        value = np.zeros(len(decision))
        for node, weight in zip(_NODES, _NODE_WEIGHTS, strict=True):
            value += 0.5 * weight * self.value(decision + 0.5 * node * width[:, np.newaxis])
        return value, self.slope(decision, width)

    def slope(self, decision: Floats, width: Array) -> Floats:
        """Central difference: the derivative of the mean over the box."""
        if self._jump:
            return self._box_means(decision, width)[1]
        half = 0.5 * width[:, np.newaxis]
        rise = self._losses(decision + half) - self._losses(decision - half)
        rise *= self.share
        rise /= width[:, np.newaxis]
        return rise.astype(decision.dtype)

    def value(self, decision: Floats) -> Array:
        """Weighted sum of the cost."""
        total: Array = np.vecdot(self._losses(decision), self.share)
        return total

    def rows(self, index: Index, factor: float) -> Self:
        """Take some rows."""
        each = np.broadcast_to(np.atleast_2d(index), (len(self.costs), index.shape[-1]))
        return replace(
            self,
            costs=[cost.take(rows) for cost, rows in zip(self.costs, each, strict=True)],
            bands=[
                None if band is None else band.take(rows)
                for band, rows in zip(self.bands, each, strict=True)
            ],
            observation=np.take_along_axis(self.observation, each, axis=1),
            share=np.take_along_axis(self.share, each, axis=1) * factor,
        )

    def part(self, rows: slice) -> Self:
        """Consecutive rows."""
        return self.rows(np.arange(self.observation.shape[1])[rows], 1.0)

    def networks(self, index: Index) -> Self:
        """Take some networks."""
        arrays = ("observation", "share", "centre", "unit", "steepness")
        return replace(
            self,
            costs=[self.costs[place] for place in index],
            bands=[self.bands[place] for place in index],
            **{name: getattr(self, name)[index] for name in arrays},
        )

    @property
    def _jump(self) -> bool:
        return all(isinstance(cost, JumpCost) for cost in self.costs)

    def _box_means(self, decision: Floats, width: Array) -> tuple[Array, Floats]:
        """Value and slope of the mean over the box, for costs that know it."""
        means, slopes = np.empty(decision.shape), np.empty(decision.shape)
        chosen, wide = self._decisions(decision), self.unit * width
        for place, cost in enumerate(self.costs):
            assert isinstance(cost, JumpCost)
            seen, band = self.observation[place], self.bands[place]
            means[place], slopes[place] = cost.box_mean(
                chosen[place], float(wide[place]), seen, band
            )
        total: Array = np.vecdot(means, self.share) / (self.unit * self.steepness)
        slopes *= self.share
        slopes /= self.steepness[:, np.newaxis]
        return total, slopes.astype(decision.dtype, copy=False)

    def _decisions(self, decision: Floats) -> Array:
        """Decisions in the user's units."""
        return np.asarray(
            self.centre[:, np.newaxis] + self.unit[:, np.newaxis] * decision.astype(np.float64)
        )

    def _losses(self, decision: Floats) -> Array:
        """Scaled cost of every row of every network."""
        chosen = self._decisions(decision)
        losses = np.stack(
            [
                cost.loss(decided, seen, band)
                for cost, decided, seen, band in zip(
                    self.costs, chosen, self.observation, self.bands, strict=True
                )
            ]
        )
        losses /= (self.unit * self.steepness)[:, np.newaxis]
        return losses


def _hinge(distance: Floats, weight: Floats, wide: Floats, slope: Floats) -> Array:
    """Weighted sum of smoothed hinges; their slopes go into `slope`, distances are used up."""
    distance *= 1 / wide
    distance += 0.5
    np.clip(distance, 0, 1, out=slope)
    if weight.shape[1] == 1:
        area = np.vecdot(slope, distance) - 0.5 * np.vecdot(slope, slope)
        slope *= weight
        return np.asarray(area * (wide * weight)[:, 0], dtype=np.float64)
    distance -= 0.5 * slope
    slope *= weight
    return np.asarray(np.vecdot(slope, distance) * wide[:, 0], dtype=np.float64)


def _row_sum(weight: Floats, values: Floats) -> Array:
    """Weighted sum over the rows of each network, in float64 however it was computed."""
    if weight.shape[1] == 1:
        total = values.sum(axis=1)
        return np.asarray(total * weight[:, 0], dtype=np.float64)
    if len(weight) == 1:
        return np.asarray(values @ weight[0], dtype=np.float64)
    return np.asarray(np.vecdot(values, weight), dtype=np.float64)


def _take_rows(array: Floats, index: Index) -> Floats:
    if array.shape[1] == 1:
        return array
    if index.ndim == 1:
        return array[:, index]
    return array[0][index] if len(array) == 1 else np.take_along_axis(array, index, axis=1)
