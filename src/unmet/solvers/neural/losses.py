"""From costs and bands to an objective of many networks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array, Band, Numbers
from unmet.costs import Cost, HingeCost, JumpCost, PiecewiseLinearCost, SquaredError
from unmet.solvers.neural.networks import Floats, Scratch
from unmet.solvers.neural.scaling import ScalingName, TargetScaling

# --- Costs of the decisions of many networks, in scaled units, with their slopes.
#  Piecewise-linear costs have kinks, where a quasi-Newton method goes astray. So the cost is
# smoothed by a box of width w: it becomes the mean of the cost over [y − w/2, y + w/2]. A hinge
# (z)⁺ becomes
#
#     h(z) = w q (t − q/2)   with   t = z/w + ½,   q = clip(t, 0, 1) = h'(z),
#
# a parabola within w/2 of the kink and the hinge itself elsewhere. A cost of which nothing is known
# but its values is smoothed in the same way: the derivative of its box mean is exactly the central
# difference (c(y + w/2) − c(y − w/2)) / w, which sees kinks and even jumps, and needs no
# derivative. The mean itself is taken at a few points, but for a `JumpCost`, which knows it: points
# see a jump as a staircase, on which a line search goes astray.

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


# --- Costs with several tiers, for networks: a sum of costs with two slopes.
#  The k-th kinks above and below the truth are the ends of a band that holds all those before it;
# the slopes that a tier adds are paid outside that band. So a tiered cost is a sum of newsvendors
# in nested bands, and everything that is known of one of them holds for the sum.


@dataclass(frozen=True)
class TierObjective(Objective):
    """Sum of hinge objectives over nested bands.

    Attributes
    ----------
    parts : tuple of HingeObjective
        The innermost first.
    """

    parts: tuple[HingeObjective, ...]

    def smoothed(self, decision: Floats, width: Array, scratch: Scratch) -> tuple[Array, Floats]:
        """Sum of the closed forms."""
        value = np.zeros(len(decision))
        slope = scratch.like("tiers", decision)
        slope.fill(0.0)
        for part in self.parts:
            more, steep = part.smoothed(decision, width, scratch)
            value += more
            slope += steep  # at once: the next part writes into the same memory
        return value, slope

    def slope(self, decision: Floats, width: Array) -> Floats:
        """Sum of the subgradients."""
        first, *others = self.parts
        slope = first.slope(decision, width)
        for part in others:
            slope += part.slope(decision, width)
        return slope

    def value(self, decision: Floats) -> Array:
        """Sum of the values."""
        total: Array = np.sum([part.value(decision) for part in self.parts], axis=0)
        return total

    def rows(self, index: Index, factor: float) -> Self:
        """Take some rows."""
        return self._each(lambda part: part.rows(index, factor))

    def part(self, rows: slice) -> Self:
        """Consecutive rows."""
        return self._each(lambda part: part.part(rows))

    def networks(self, index: Index) -> Self:
        """Take some networks."""
        return self._each(lambda part: part.networks(index))

    def _each(self, change: Callable[[HingeObjective], HingeObjective]) -> Self:
        return type(self)(tuple(change(part) for part in self.parts))


# --- From costs and bands to an objective of many networks.

ABSENT = 1e30
"""Half the width of a band in which everything lies: what a row that is not there has."""


@dataclass(frozen=True)
class Priced:
    """Rows of one network, without their features.

    Attributes
    ----------
    observation : ndarray of shape (n_rows,)
    cost : Cost
    band : Band or None
    share : ndarray of shape (n_rows,) or None
        Weights that sum to one; None where all rows count the same.
    rows : ndarray of shape (n_rows,) or None
        Which rows of the common features these are; None is all of them, in their order.
    """

    observation: Array
    cost: Cost
    band: Band | None
    share: Array | None
    rows: Index | None = None

    @property
    def kind(self) -> type[Objective]:
        """Objective that fits the cost."""
        if isinstance(self.cost, PiecewiseLinearCost):
            return HingeObjective
        if isinstance(self.cost, HingeCost):
            return TierObjective
        return SquareObjective if isinstance(self.cost, SquaredError) else ValueObjective

    def take(self, index: Index) -> Priced:
        """Keep some rows; their weights sum to one again."""
        share = None if self.share is None else self.share[index]
        return Priced(
            self.observation[index],
            self.cost.take(index),
            None if self.band is None else self.band.take(index),
            None if share is None else share / share.sum(),
            index if self.rows is None else self.rows[index],
        )

    def scaling(self, kind: ScalingName) -> TargetScaling:
        """Units of these rows; the steepness makes slopes sum to one on average."""
        units = TargetScaling.of(self.observation, self.share, kind, 1.0)
        if isinstance(self.cost, PiecewiseLinearCost):
            slopes = self.cost.slopes
            steepness = float(
                np.average(self._each(slopes.below + slopes.above), weights=self.share)
            )
        elif isinstance(self.cost, SquaredError):
            steepness = units.unit
        else:
            steepness = self._steepness(units)
        return TargetScaling(units.centre, units.unit, steepness)

    def mean_cost(self, decision: Array) -> float:
        """Weighted mean of the loss, in the units of the user."""
        loss = self.cost.loss(decision, self.observation, self.band)
        return float(loss.mean() if self.share is None else loss @ self.share)

    def _steepness(self, units: TargetScaling) -> float:
        """Mean rise of an unknown cost one unit away from the observation, per unit."""
        at = self.mean_cost(self.observation)
        away = [self.mean_cost(self.observation + sign * units.unit) for sign in (-1.0, 1.0)]
        rise = float(np.mean(np.abs(np.asarray(away) - at))) / units.unit
        return rise if np.isfinite(rise) and rise > 0 else 1.0

    def _each(self, value: Numbers) -> Array:
        return np.broadcast_to(value, self.observation.shape)


def objective_of(
    priced: Sequence[Priced], scalings: Sequence[TargetScaling], n_rows: int, dtype: Any
) -> Objective:
    """Objective of networks whose costs are of one kind, over the rows of the common features.

    One row more is appended, number `n_rows`, that costs nothing: it fills gaps.
    """
    kind = priced[0].kind
    if kind is ValueObjective:
        return _value_objective(priced, scalings, n_rows)
    if kind is TierObjective:
        return _tier_objective(priced, scalings, n_rows, dtype)
    assert issubclass(kind, BandObjective)
    return kind(*_columns(priced, scalings, [_nested(rows, 0) for rows in priced], n_rows, dtype))


_Nested: TypeAlias = tuple[Numbers, Numbers, Numbers, Numbers]
"""Ends of a band relative to the observation, and slopes below and above it."""


def _tier_objective(
    priced: Sequence[Priced], scalings: Sequence[TargetScaling], n_rows: int, dtype: Any
) -> TierObjective:
    """One part for each tier of the cost that has most of them."""
    tiers = [rows.cost.tiers for rows in priced if isinstance(rows.cost, HingeCost)]
    depth = max(len(side) for each in tiers for side in (each.below, each.above))
    nested = [[_nested(rows, tier) for rows in priced] for tier in range(depth)]
    return TierObjective(
        tuple(HingeObjective(*_columns(priced, scalings, bands, n_rows, dtype)) for bands in nested)
    )


def _nested(rows: Priced, tier: int) -> _Nested:
    """Band outside which a tier is paid, and what it adds to the slopes; nothing if it is not."""
    low, high = (0.0, 0.0) if rows.band is None else (rows.band.low, rows.band.high)
    if not isinstance(rows.cost, HingeCost):
        return low, high, 1.0, 1.0
    down, up = (
        [*kinks, *[(0.0, 0.0)] * (tier + 1)][tier]
        for kinks in (rows.cost.tiers.kinks_below(), rows.cost.tiers.kinks_above())
    )
    return low - down[0], high + up[0], down[1], up[1]


def _columns(
    priced: Sequence[Priced],
    scalings: Sequence[TargetScaling],
    nested: Sequence[_Nested],
    n_rows: int,
    dtype: Any,
) -> list[Floats]:
    """Stack ends and slopes of all networks."""
    parts = [
        _ends_and_slopes(rows, scaling, band, n_rows, dtype)
        for rows, scaling, band in zip(priced, scalings, nested, strict=True)
    ]
    return [_stack(arrays) for arrays in zip(*parts, strict=True)]


def _ends_and_slopes(
    rows: Priced, scaling: TargetScaling, band: _Nested, n_rows: int, dtype: Any
) -> tuple[Floats, Floats, Floats, Floats]:
    """Scaled ends of one network's bands, and slopes times shares."""
    low, high, below, above = band
    seen = rows.observation - scaling.centre
    share = 1.0 / rows.observation.size if rows.share is None else rows.share
    steepness = scaling.steepness if isinstance(rows.cost, HingeCost) else 1.0
    below, above = below * share / steepness, above * share / steepness
    columns = ((seen + low) / scaling.unit, (seen + high) / scaling.unit, below, above)
    fillers = (-ABSENT, ABSENT, 0.0, 0.0)
    bottom, top, below, above = (
        _over_all(column, filler, rows.rows, n_rows).astype(dtype)
        for column, filler in zip(columns, fillers, strict=True)
    )
    return bottom, top, below, above


def _over_all(column: Numbers, filler: float, rows: Index | None, n_rows: int) -> Array:
    """Column over all rows and the one that fills gaps; a number stays a number."""
    if np.ndim(column) == 0:
        return np.full(1, column)
    everywhere = np.full(n_rows + 1, filler)
    everywhere[slice(n_rows) if rows is None else rows] = column
    return everywhere


def _stack(arrays: Sequence[Floats]) -> Floats:
    """One row per network, or a single one where all are the same."""
    first = arrays[0]
    if all(each is first or np.array_equal(each, first) for each in arrays[1:]):
        return first[np.newaxis]
    size = max(each.size for each in arrays)
    return np.stack([np.broadcast_to(each, size) for each in arrays])


def _value_objective(
    priced: Sequence[Priced], scalings: Sequence[TargetScaling], n_rows: int
) -> ValueObjective:
    observation = np.empty((len(priced), n_rows + 1))
    share = np.zeros((len(priced), n_rows + 1))
    costs, bands = [], []
    for place, rows in enumerate(priced):
        # A row that is not there is a copy of the first one that is, without weight.
        index = np.zeros(n_rows + 1, dtype=np.intp)
        here = np.arange(n_rows) if rows.rows is None else rows.rows
        index[here] = np.arange(here.size)
        observation[place] = rows.observation[index]
        share[place, here] = 1.0 / here.size if rows.share is None else rows.share
        costs.append(rows.cost.take(index))
        bands.append(None if rows.band is None else rows.band.take(index))
    units = np.array([(each.centre, each.unit, each.steepness) for each in scalings]).T
    return ValueObjective(costs, bands, observation, share, *units)
