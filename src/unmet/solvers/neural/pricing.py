"""From costs and bands to an objective of many networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from unmet.band import Array, Band, Numbers
from unmet.costs import Cost, HingeCost, PiecewiseLinearCost, SquaredError
from unmet.solvers.neural.activations import Floats
from unmet.solvers.neural.objectives import (
    BandObjective,
    HingeObjective,
    Index,
    Objective,
    SquareObjective,
    ValueObjective,
)
from unmet.solvers.neural.scaling import ScalingName, TargetScaling
from unmet.solvers.neural.tier_objective import TierObjective

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
