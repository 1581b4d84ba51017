"""Value and slope of costs, in one family for networks, trees and descent.

A `Loss` evaluates several sets of decisions for the same rows at once, one set for each network (or
for each candidate of a linear decision), in scaled units (`Units`). It gives its value and its
slope, and the value and slope of the same loss smoothed:

=================  ===============================================================
`HingeLoss`        two slopes and a band, or several tiers of them, in closed form
`SquaredLoss`      squared distance to a band, already smooth
`ValueLoss`        any other cost by its values, and costs with a jump
=================  ===============================================================

**Smoothing.** Piecewise-linear costs have kinks, which mislead a quasi-Newton method. The cost is
therefore smoothed by a window of width w: it becomes the mean of the cost over [y − w/2, y + w/2].
A hinge (z)⁺ becomes ::

    h(z) = w q (t − q/2)   with   t = z/w + ½,   q = clip(t, 0, 1) = h'(z),

a parabola within w/2 of the kink and the hinge itself elsewhere. A cost that is known only by its
values is smoothed in the same way: the derivative of its window mean is exactly the central
difference (c(y + w/2) − c(y − w/2)) / w, which sees kinks and even jumps, and needs no derivative.
The mean itself is taken at a few points. A `JumpCost` gives its exact mean, because a few points
would turn a jump into a staircase, which misleads a line search.

**Tiers.** The k-th kinks above and below the truth are the ends of a band that contains all earlier
ones, and the additional slopes of a tier are paid outside that band. A tiered cost is therefore a
sum of newsvendors in nested bands, and everything that holds for one of them holds for the sum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from math import prod
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array, Band, Numbers
from unmet.costs import Cost, HingeCost, PiecewiseLinearCost, SquaredError
from unmet.costs.replacement import JumpCost
from unmet.rows import Rows

Floats: TypeAlias = NDArray[Any]
"""An array of float32 or float64, whichever is computed in."""
Index: TypeAlias = NDArray[np.intp]
ScalingName = Literal["standard", "min-max"]

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(8)
ABSENT = 1e30
"""Half the width of a band in which everything lies: what a row that is not there has."""


@dataclass(frozen=True)
class Units:
    """A scaled decision h stands for centre + unit · h; costs are divided by unit · steepness.

    The slope of the scaled cost in h is then the subgradient over the steepness, whatever the units
    of the observations and of the cost.
    """

    centre: float = 0.0
    unit: float = 1.0
    steepness: float = 1.0

    @classmethod
    def of(cls, rows: Rows, kind: ScalingName) -> Self:
        """Mean and standard deviation of the observations, or their minimum and range.

        The steepness makes slopes sum to one on average.
        """
        observation, share = rows.observation, rows.share
        if kind == "min-max":
            centre, spread = float(observation.min()), float(np.ptp(observation))
        else:
            centre = float(np.average(observation, weights=share))
            reach = float(np.ptp(observation))  # its shares have squares that are no trouble
            part = (observation - centre) / (reach or 1.0)
            spread = reach * float(np.sqrt(np.average(np.square(part), weights=share)))
        if not spread > 0:  # all the same: any unit of about its size will do
            spread = abs(centre) or 1.0
        if isinstance(rows.cost, PiecewiseLinearCost):
            steepness = mean_slopes(rows.cost, observation.size, share)
        elif isinstance(rows.cost, SquaredError):
            steepness = spread
        else:  # mean rise of the cost one unit away from the observation, per unit
            away = [rows.mean_cost(observation + sign * spread) for sign in (-1.0, 1.0)]
            at = rows.mean_cost(observation)
            steepness = float(np.mean(np.abs(np.asarray(away) - at))) / spread
            if not (np.isfinite(steepness) and steepness > 0):
                steepness = 1.0
        return cls(centre, spread, steepness)

    def decisions(self, scaled: Floats) -> Array:
        """Turn scaled decisions into decisions; one that is no number stays one."""
        return np.asarray(self.centre + self.unit * scaled.astype(np.float64))


def mean_slopes(cost: PiecewiseLinearCost, n_rows: int, weight: Array | None) -> float:
    """Weighted mean of what rows cost per unit below and above their band, added."""
    both = np.broadcast_to(cost.slopes.below + cost.slopes.above, (n_rows,))
    return float(np.average(both, weights=weight))


class Scratch:
    """Uninitialised arrays by name; asking again for a name gives the same memory.

    A fresh array of a few hundred kilobytes comes from the operating system page by page, and costs
    more than what is then computed in it: networks trained together took 1.7 times as long.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, Floats] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: Any) -> Floats:
        """Give an array of this shape; what was in it before does not count."""
        held = self._arrays.get(name)
        if held is not None and held.shape == shape and held.dtype == dtype:
            return held
        size = prod(shape)
        whole = None if held is None else held.base
        if whole is None or whole.size < size or whole.dtype != dtype:
            whole = np.empty(size, dtype)
        self._arrays[name] = whole[:size].reshape(shape)
        return self._arrays[name]

    def like(self, name: str, array: Floats) -> Floats:
        """Give an array of the shape and type of another."""
        return self.array(name, array.shape, array.dtype)


class Loss(ABC):
    """Weighted sum of the costs of all rows, for each set of decisions.

    Decisions have the shape (n_sets, n_rows), scaled; widths (n_sets,), scaled too.
    """

    @abstractmethod
    def value(self, decision: Floats) -> Array:
        """Sum for each set."""

    @abstractmethod
    def slope(self, decision: Floats, width: Array | None = None) -> Floats:
        """Slope in each decision: a subgradient where the cost gives one in closed form.

        Of a cost that gives values only it is that of the smoothed loss; without a width, the
        cost's own subgradient.
        """

    @abstractmethod
    def smoothed(self, decision: Floats, width: Array, scratch: Scratch) -> tuple[Array, Floats]:
        """Sum for each set and its slope in each decision, smoothed by `width`."""

    @abstractmethod
    def rows(self, index: Index, factor: float = 1.0) -> Self:
        """Take some rows, with weights multiplied by `factor`.

        Parameters
        ----------
        index : ndarray of shape (n_rows,), or (n_sets, n_rows)
        factor : float
        """

    @abstractmethod
    def part(self, rows: slice) -> Self:
        """Consecutive rows."""

    @abstractmethod
    def sets(self, index: Index) -> Self:
        """Take some sets of decisions."""


class Tier(NamedTuple):
    """Ends of each row's band, of shape (n_sets or 1, n_rows), and slopes outside of it.

    Slopes are multiplied by the share of the row, of shape (n_sets or 1, n_rows or 1).
    """

    bottom: Floats
    top: Floats
    below: Floats
    above: Floats


@dataclass(frozen=True)
class _BandLoss(Loss):
    """A cost that is known by the ends of bands and the slopes outside of them.

    Attributes
    ----------
    tiers : tuple of Tier
        Nested bands, the innermost first.
    """

    tiers: tuple[Tier, ...]

    def rows(self, index: Index, factor: float = 1.0) -> Self:
        """Take some rows; arrays that repeat one number are not copied."""
        tiers = []
        for tier in self.tiers:
            bottom, top, below, above = (_take_rows(array, index) for array in tier)
            if factor != 1.0:
                below, above = (each * each.dtype.type(factor) for each in (below, above))
            tiers.append(Tier(bottom, top, below, above))
        return type(self)(tuple(tiers))

    def reorder(self, order: Index, out: Self) -> None:
        """Write all rows in another order into the arrays of `out`, whose parts stay views."""
        for tier, into in zip(self.tiers, out.tiers, strict=True):
            for array, place in zip(tier, into, strict=True):
                if array.shape[1] > 1:
                    np.take(array, order, axis=1, out=place, mode="clip")  # "raise" would copy

    def part(self, rows: slice) -> Self:
        """Consecutive rows: views, not copies."""
        tiers = []
        for bottom, top, below, above in self.tiers:
            if below.shape[1] > 1:
                below = below[:, rows]
            if above.shape[1] > 1:
                above = above[:, rows]
            tiers.append(Tier(bottom[:, rows], top[:, rows], below, above))
        return type(self)(tuple(tiers))

    def sets(self, index: Index) -> Self:
        """Take some sets of decisions."""
        return self.each(lambda array: array if len(array) == 1 else array[index])

    def each(self, change: Callable[[Floats], Floats]) -> Self:
        """Change every array."""
        return type(self)(tuple(Tier(*map(change, tier)) for tier in self.tiers))


class HingeLoss(_BandLoss):
    """Newsvendor and every other cost that is linear between kinks."""

    def value(self, decision: Floats) -> Array:
        """Sum of all hinges."""
        total: Any = 0.0
        for bottom, top, below, above in self.tiers:
            total = total + _row_sum(above, np.maximum(decision - top, 0))
            total += _row_sum(below, np.maximum(bottom - decision, 0))
        return np.asarray(total)

    def slope(self, decision: Floats, width: Array | None = None) -> Floats:
        """Subgradient of Prop. LR-grad: 0 in the band and on its ends."""
        total: Any = None
        for bottom, top, below, above in self.tiers:
            slope: Floats = (decision > top) * above
            slope -= (decision < bottom) * below
            total = slope if total is None else np.add(total, slope, out=total)
        return np.asarray(total)

    def smoothed(self, decision: Floats, width: Array, scratch: Scratch) -> tuple[Array, Floats]:
        """Use the closed form of the module's docstring for both ends of every band."""
        wide = width.astype(decision.dtype)[:, np.newaxis]
        distance, steep = scratch.like("distance", decision), scratch.like("below", decision)
        value: Any = 0.0
        total: Any = None
        for bottom, top, below, above in self.tiers:
            slope = scratch.like("above" if total is None else "outer", decision)
            np.subtract(decision, top, out=distance)
            more = _hinge(distance, above, wide, slope)
            np.subtract(bottom, decision, out=distance)
            more += _hinge(distance, below, wide, steep)
            slope -= steep
            value = value + more
            total = slope if total is None else np.add(total, slope, out=total)
        return np.asarray(value), total


class SquaredLoss(_BandLoss):
    """Squared distance to the band; ``below`` holds the shares. It is smooth as it is."""

    def value(self, decision: Floats) -> Array:
        """Weighted sum of squares."""
        return self.smoothed(decision, np.ones(1), Scratch())[0]

    def slope(self, decision: Floats, width: Array | None = None) -> Floats:
        """Gradient."""
        return self.smoothed(decision, np.ones(1), Scratch())[1]

    def smoothed(self, decision: Floats, width: Array, scratch: Scratch) -> tuple[Array, Floats]:
        """Value and gradient."""
        ((bottom, top, share, _),) = self.tiers
        distance = decision - np.clip(decision, bottom, top)
        slope = distance * share
        value: Array = np.vecdot(slope, distance).astype(np.float64)
        slope += slope
        return value, slope


@dataclass(frozen=True)
class ValueLoss(Loss):
    """Your own cost, known by its values; one for each set of decisions.

    Attributes
    ----------
    costs, bands : sequence
        One per set, with numbers for the rows of this loss.
    observation, share : ndarray of shape (n_sets, n_rows)
    centre, unit, steepness : ndarray of shape (n_sets, 1)
        `Units` of each set.
    """

    costs: Sequence[Cost]
    bands: Sequence[Band | None]
    observation: Array
    share: Array
    centre: Array
    unit: Array
    steepness: Array

    def value(self, decision: Floats) -> Array:
        """Weighted sum of the cost."""
        return np.asarray(np.vecdot(self._losses(decision), self.share))

    def slope(self, decision: Floats, width: Array | None = None) -> Floats:
        """Central difference: the derivative of the mean over the box."""
        if width is None:
            rise = self._each("subgradient", decision)
            rise *= self.share / self.steepness
            return rise.astype(decision.dtype, copy=False)
        if self._jump:
            return self._box_means(decision, width)[1]
        half = 0.5 * width[:, np.newaxis]
        rise = self._losses(decision + half) - self._losses(decision - half)
        rise *= self.share
        rise /= width[:, np.newaxis]
        return rise.astype(decision.dtype, copy=False)

    def smoothed(self, decision: Floats, width: Array, scratch: Scratch) -> tuple[Array, Floats]:
        """Mean over the box, exact or at Gauss–Legendre points, and its exact derivative."""
        if self._jump:
            return self._box_means(decision, width)
        value = np.zeros(len(decision))
        for node, weight in zip(_NODES, _NODE_WEIGHTS, strict=True):
            value += 0.5 * weight * self.value(decision + 0.5 * node * width[:, np.newaxis])
        return value, self.slope(decision, width)

    def rows(self, index: Index, factor: float = 1.0) -> Self:
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
        return self.rows(np.arange(self.observation.shape[1])[rows])

    def sets(self, index: Index) -> Self:
        """Take some sets of decisions."""
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
        chosen, wide = self._decisions(decision), self.unit[:, 0] * width
        for place, cost in enumerate(self.costs):
            assert isinstance(cost, JumpCost)
            seen, band = self.observation[place], self.bands[place]
            means[place], slopes[place] = cost.box_mean(
                chosen[place], float(wide[place]), seen, band
            )
        total: Array = np.vecdot(means, self.share) / (self.unit * self.steepness)[:, 0]
        slopes *= self.share
        slopes /= self.steepness
        return total, slopes.astype(decision.dtype, copy=False)

    def _decisions(self, decision: Floats) -> Array:
        """Decisions in the user's units."""
        return np.asarray(self.centre + self.unit * decision.astype(np.float64))

    def _losses(self, decision: Floats) -> Array:
        """Scaled cost of every row of every set."""
        losses = self._each("loss", decision)
        losses /= self.unit * self.steepness
        return losses

    def _each(self, what: str, decision: Floats) -> Array:
        """Ask the cost of each set for ``loss`` or ``subgradient`` of its decisions."""
        asked = zip(
            self.costs, self._decisions(decision), self.observation, self.bands, strict=True
        )
        return np.stack([getattr(cost, what)(*decided) for cost, *decided in asked])


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
    """Weighted sum over the rows of each set, in float64 however it was computed."""
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


# --- From costs and bands to a loss.


def loss_kind(cost: Cost) -> Hashable:
    """Give what costs must have in common to be evaluated together."""
    if isinstance(cost, HingeCost):
        return HingeLoss, isinstance(cost, PiecewiseLinearCost)
    return SquaredLoss if isinstance(cost, SquaredError) else ValueLoss


def loss_of(
    rows: Sequence[Rows],
    units: Sequence[Units],
    dtype: Any = np.float64,
    *,
    places: Sequence[Index | None] | None = None,
    n_rows: int | None = None,
) -> Loss:
    """Loss of several sets of decisions, whose costs are of one kind.

    Parameters
    ----------
    rows : sequence of Rows
        Of each set; their features do not matter.
    units : sequence of Units
    dtype : dtype
        Of what is computed in closed form.
    places : sequence of ndarray, optional
        Which of `n_rows` common rows those of a set are; None is all of them, in their order.
    n_rows : int, optional
        Number of common rows. One more is then appended, number `n_rows`, that costs nothing: it
        fills gaps.
    """
    if places is None:
        places = [None] * len(rows)
    sets = list(zip(rows, units, places, strict=True))
    first = rows[0].cost
    if not isinstance(first, HingeCost | SquaredError):
        return _value_loss(sets, n_rows)
    nested = [_nested_bands(each) for each in rows]
    tiers = []
    for tier in range(max(map(len, nested))):
        columns = [
            _columns(each, scaled, place, bands[tier] if tier < len(bands) else _NO_TIER, n_rows)
            for (each, scaled, place), bands in zip(sets, nested, strict=True)
        ]
        sides = zip(*columns, strict=True)
        tiers.append(Tier(*(_stack([each.astype(dtype) for each in side]) for side in sides)))
    return (HingeLoss if isinstance(first, HingeCost) else SquaredLoss)(tuple(tiers))


def loss_of_kinks(
    position: Array, below: Array, above: Array, dtype: Any = np.float64
) -> HingeLoss:
    """Loss of one set of decisions, from hinges; nothing is copied but into another type.

    Parameters
    ----------
    position : ndarray of shape (n_kinks, n_rows)
    below, above : ndarray of shape (n_kinks, n_rows or 1)
        Slopes on either side of a kink, times the weight of its row.
    dtype : dtype
        Of slopes.
    """
    tiers = []
    for at, *slopes in zip(position[:, np.newaxis], below, above, strict=True):
        sides = (side.astype(dtype, copy=False)[np.newaxis] for side in slopes)
        tiers.append(Tier(at, at, *sides))
    return HingeLoss(tuple(tiers))


_Nested: TypeAlias = tuple[Numbers, Numbers, Numbers, Numbers]
"""Ends of a band relative to the observation, and slopes below and above it."""
_NO_TIER: _Nested = (0.0, 0.0, 0.0, 0.0)


def _nested_bands(rows: Rows) -> list[_Nested]:
    """Bands outside which each tier is paid, and what it adds to the slopes."""
    low, high = (0.0, 0.0) if rows.band is None else (rows.band.low, rows.band.high)
    if not isinstance(rows.cost, HingeCost):
        return [(low, high, 1.0, 1.0)]
    tiers = rows.cost.tiers
    sides = zip_longest(*tiers.kinks(), fillvalue=(0.0, 0.0))
    return [(low - down, high + up, below, above) for (down, below), (up, above) in sides]


def _columns(
    rows: Rows, units: Units, place: Index | None, band: _Nested, n_rows: int | None
) -> list[Array]:
    """Scaled ends of one set's bands, and slopes times shares; a number stays a number."""
    low, high, below, above = band
    seen = rows.observation - units.centre
    share = 1.0 / rows.n_rows if rows.share is None else rows.share
    if isinstance(rows.cost, HingeCost):
        below, above = below * share / units.steepness, above * share / units.steepness
    else:  # a square is in units of the square
        below = above = share * (units.unit / units.steepness)
    columns = (
        ((seen + low) / units.unit, -ABSENT),
        ((seen + high) / units.unit, ABSENT),
        (below, 0.0),
        (above, 0.0),
    )
    made = []
    for column, filler in columns:
        if np.ndim(column) == 0 or n_rows is None:
            made.append(np.atleast_1d(column))
            continue
        everywhere = np.full(n_rows + 1, filler)
        everywhere[slice(n_rows) if place is None else place] = column
        made.append(everywhere)
    return made


def _stack(arrays: Sequence[Floats]) -> Floats:
    """One row per set, or a single one where all are the same."""
    first = arrays[0]
    if all(each is first or np.array_equal(each, first) for each in arrays[1:]):
        return first[np.newaxis]
    size = max(each.size for each in arrays)
    return np.stack([np.broadcast_to(each, size) for each in arrays])


def _value_loss(sets: Sequence[tuple[Rows, Units, Index | None]], n_rows: int | None) -> ValueLoss:
    parts = []
    for rows, _, place in sets:
        cost, band, seen, share = rows.cost, rows.band, rows.observation, rows.share
        if share is None:
            share = np.full(seen.size, 1.0 / seen.size)
        if n_rows is not None:
            # A row that is not there is a copy of the first one that is, without weight.
            here = np.arange(n_rows) if place is None else place
            index = np.zeros(n_rows + 1, dtype=np.intp)
            index[here] = np.arange(here.size)
            everywhere = np.zeros(n_rows + 1)
            everywhere[here] = share
            cost, band = cost.take(index), None if band is None else band.take(index)
            seen, share = seen[index], everywhere
        parts.append((cost, band, seen, share))
    costs, bands, observation, shares = zip(*parts, strict=True)
    units = np.array([(each.centre, each.unit, each.steepness) for _, each, _ in sets]).T
    return ValueLoss(costs, bands, np.stack(observation), np.stack(shares), *units[..., np.newaxis])
