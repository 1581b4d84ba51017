"""Rows of data as mini-batch descent reads them: scaled, in batches, reordered every epoch.

Batches are slices of one reordered copy; nothing is indexed row by row inside an epoch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from unmet.band import Band, read_array
from unmet.costs import Cost, HingeCost, PiecewiseLinearCost
from unmet.errors import InvalidInput, SolverFailure, Unsupported
from unmet.solvers.problem import Features

Floats = NDArray[np.float64]
Order = NDArray[np.intp]


@dataclass(frozen=True)
class Units:
    """Scaled decisions u, with decision = offset + unit · u, and the unit of the cost's slope.

    The cost in scaled units is ``cost / (steepness · unit)``; its slope in u is then
    ``subgradient / steepness``, whatever the units of the observation and of the cost.
    """

    offset: float = 0.0
    unit: float = 1.0
    steepness: float = 1.0


@dataclass(frozen=True)
class Data:
    """Rows with positive weight, checked and of equal length."""

    features: Features
    cost: Cost
    observation: Floats
    band: Band | None
    weight: Floats

    def take(self, index: Order) -> Data:
        """Keep some rows, in the order of ``index``."""
        band = None if self.band is None else self.band.take(index)
        cost, observation = self.cost.take(index), self.observation[index]
        return Data(self.features[index], cost, observation, band, self.weight[index])

    def normalised(self) -> Data:
        """Weights with mean one, so that a mean over rows is a weighted mean."""
        return replace(self, weight=self.weight * (len(self.weight) / self.weight.sum()))

    def costs(self, units: Units, batches: list[slice]) -> RowCosts:
        """Loss and slope by the shortest way that this cost allows."""
        hinges = getattr(type(self.cost), "subgradient", None) is HingeCost.subgradient
        return (HingeRows if hinges else GeneralRows)(self, units, batches)


def read_data(
    features: Features,
    cost: Cost,
    observation: ArrayLike,
    band: Band | None,
    sample_weight: ArrayLike | None,
) -> Data:
    """Check the rows against each other and leave out those without weight."""
    for name in ("loss", "subgradient", "take"):
        if not hasattr(cost, name):
            raise Unsupported(
                f"The solver 'minibatch' needs a cost with {name}, and {cost!r} has none."
            )
    rows = sparse.csr_array(features) if sparse.issparse(features) else np.asarray(features)
    if rows.ndim != 2 or not rows.shape[0]:
        raise InvalidInput(
            f"features must be a 2-D array with at least one row, got shape {rows.shape}."
        )
    if not np.isfinite(rows.data if sparse.issparse(rows) else rows).all():
        raise InvalidInput("features must be finite, got nan or inf.")
    seen = read_array("observation", observation)
    n_rows = rows.shape[0]
    _same_length("observation", seen, n_rows)
    weight = (
        np.ones(n_rows) if sample_weight is None else read_array("sample_weight", sample_weight)
    )
    _same_length("sample_weight", weight, n_rows)
    if weight.min() < 0 or weight.max() == 0:
        allowed = "non-negative numbers that are not all zero"
        raise InvalidInput(f"sample_weight must hold {allowed}, got a least of {weight.min()}.")
    cost.subgradient(seen, seen, band)  # a cost knows best what fits it, and says so
    data = Data(rows.astype(np.float64, copy=False), cost, seen, band, weight)
    return data if weight.min() > 0 else data.take(np.flatnonzero(weight))


def _same_length(name: str, values: Floats, n_rows: int) -> None:
    """Refuse a column of another table."""
    if values.shape != (n_rows,):
        raise InvalidInput(
            f"{name} must have one entry per row of features, got {values.size} for {n_rows} rows."
        )


def choose_units(data: Data, fit_intercept: bool) -> Units:
    """Min-max units of the observation, and the total slope of the cost."""
    low, high = float(data.observation.min()), float(data.observation.max())
    if fit_intercept:
        offset, unit = low, high - low
    else:  # a decision of 0 must stay 0
        offset, unit = 0.0, max(-low, high)
    if isinstance(data.cost, PiecewiseLinearCost):
        slopes = sum(data.cost.slopes.rows(len(data.weight)))
    else:
        ends = (np.full_like(data.observation, end) for end in (low, high))
        slopes = sum(np.abs(data.cost.subgradient(end, data.observation)) for end in ends)
    steepness = float(np.average(slopes, weights=data.weight))
    return Units(offset, unit or 1.0, steepness or 1.0)


class RowCosts(Protocol):
    """Weighted loss and slope of the rows, as functions of the scaled decision."""

    def reorder(self, order: Order) -> None:
        """Put the rows in this order for the coming epoch."""

    def slope(self, batch: int, scaled: Floats) -> Floats:
        """Slope of each row of a batch."""

    def loss(self, scaled: Floats) -> float:
        """Mean loss of all rows, in the order in which they came."""


class HingeRows:
    """Costs with slopes and a band: Prop. LR-grad on four numbers per row and tier.

    What a tier adds to the slopes is paid outside a band that holds those of all tiers before it.
    """

    def __init__(self, data: Data, units: Units, batches: list[slice]) -> None:
        assert isinstance(data.cost, HingeCost)
        n_rows = len(data.observation)
        low, high = (0.0, 0.0) if data.band is None else data.band.rows(n_rows)
        share = data.weight / units.steepness
        seen = data.observation - units.offset
        tiers = data.cost.tiers
        nothing = (0.0, 0.0)
        sides = zip_longest(tiers.kinks_below(), tiers.kinks_above(), fillvalue=nothing)
        self._table = np.stack(
            [
                np.broadcast_to(column, (n_rows,))
                for (down, below), (up, above) in sides
                for column in (
                    (seen + low - down) / units.unit,
                    (seen + high + up) / units.unit,
                    -below * share,
                    above * share,
                )
            ]
        )
        self._ordered = self._table.copy()
        self._batches = [_by_tier(self._ordered[:, batch]) for batch in batches]

    def reorder(self, order: Order) -> None:
        """Put the rows in this order for the coming epoch."""
        np.take(self._table, order, axis=1, out=self._ordered, mode="clip")  # "raise" would copy

    def slope(self, batch: int, scaled: Floats) -> Floats:
        """−α below the band, 1 − α above it, 0 in it and on its ends, each times its weight."""
        (bottom, top, minus_below, above), *outer = self._batches[batch]
        slope = np.zeros(len(scaled))
        np.copyto(slope, above, where=scaled > top)
        np.copyto(slope, minus_below, where=scaled < bottom)
        for bottom, top, minus_below, above in outer:
            np.add(slope, above, out=slope, where=scaled > top)
            np.add(slope, minus_below, out=slope, where=scaled < bottom)
        return slope

    def loss(self, scaled: Floats) -> float:
        """Mean loss of all rows, in the order in which they came."""
        total = 0.0
        for bottom, top, minus_below, above in _by_tier(self._table):
            short, excess = np.minimum(scaled - bottom, 0.0), np.maximum(scaled - top, 0.0)
            total += float(minus_below @ short + above @ excess)
        return total / len(scaled)


def _by_tier(table: Floats) -> list[tuple[Floats, ...]]:
    """Split into views of four rows each: bottom, top, and the slopes outside."""
    return [tuple(table[first : first + 4]) for first in range(0, len(table), 4)]


class GeneralRows:
    """Any cost, by its own ``loss`` and ``subgradient``; slower, as a cost checks its input."""

    def __init__(self, data: Data, units: Units, batches: list[slice]) -> None:
        self._data, self._units, self._batches = data, units, batches
        self._order = np.arange(len(data.observation))

    def reorder(self, order: Order) -> None:
        """Put the rows in this order for the coming epoch."""
        self._order = order

    def slope(self, batch: int, scaled: Floats) -> Floats:
        """Slope of each row of a batch."""
        index = self._order[self._batches[batch]]
        data, decision = self._data, self._decision(scaled)
        band = None if data.band is None else data.band.take(index)
        slope = data.cost.take(index).subgradient(decision, data.observation[index], band)
        return slope * (data.weight[index] / self._units.steepness)

    def loss(self, scaled: Floats) -> float:
        """Mean loss of all rows, in the order in which they came."""
        data = self._data
        loss = data.cost.loss(self._decision(scaled), data.observation, data.band)
        total = float(loss @ data.weight) / len(scaled)
        return total / (self._units.steepness * self._units.unit)

    def _decision(self, scaled: Floats) -> Floats:
        """Decisions in the user's units; a cost would refuse infinite ones in words of its own."""
        decision = self._units.offset + self._units.unit * scaled
        if not np.isfinite(decision).all():
            raise diverged()
        return decision


def diverged() -> SolverFailure:
    """Build the error that names the cure."""
    return SolverFailure("Mini-batch descent diverged: lower learning_rate.")


class Design:
    """Features (and a column of ones, if an intercept is fitted) in batches."""

    def __init__(self, features: Features, fit_intercept: bool, batches: list[slice]) -> None:
        self._rows = _append_ones(features) if fit_intercept else features
        self._batches = batches
        self._ordered: Floats | None = None
        self.blocks = self._cut(self._rows)

    def reorder(self, order: Order) -> None:
        """Put the rows in this order for the coming epoch."""
        if not isinstance(self._rows, np.ndarray):
            self.blocks = self._cut(self._rows[order])
            return
        if self._ordered is None:  # the blocks stay views of this copy
            self._ordered = np.empty_like(self._rows)
            self.blocks = self._cut(self._ordered)
        np.take(self._rows, order, axis=0, out=self._ordered, mode="clip")  # "raise" would copy

    def _cut(self, rows: Features) -> list[tuple[Any, Any]]:
        """Each batch of rows and its transpose."""
        blocks = [rows[batch] for batch in self._batches]
        return [(block, block.T) for block in blocks]

    def decide(self, parameters: Floats) -> Floats:
        """Scaled decisions of all rows, in the order in which they came."""
        return np.asarray(self._rows @ parameters)


def _append_ones(features: Features) -> Features:
    """Features with a last column of ones."""
    ones = np.ones((features.shape[0], 1))
    if isinstance(features, np.ndarray):
        return np.hstack([features, ones])
    return sparse.csr_array(sparse.hstack([features, sparse.csr_array(ones)], format="csr"))
