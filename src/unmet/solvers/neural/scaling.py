"""Units in which networks learn: raw ones saturate their units or leave them asleep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from unmet.arrays import Array, Features
from unmet.solvers.neural.networks import Floats

ScalingName = Literal["standard", "min-max"]


@dataclass(frozen=True)
class FeatureScaling:
    """Scaled features are (x − location) / unit, column by column.

    Attributes
    ----------
    location, unit : ndarray of shape (n_features,)
        Sparse features have the same: they are made dense, some rows at a time, anyway.
    """

    location: Array
    unit: Array

    @classmethod
    def of(cls, features: Features, share: Array | None, kind: ScalingName) -> Self:
        """Learn from rows: "standard" takes mean and standard deviation, "min-max" the range.

        Dummies of zeros and ones stay as they are under "min-max". Constant columns become 0.
        """
        low, high = _ends(features)
        reach = _positive(high - low)
        if kind == "min-max":
            return cls(low, reach)
        if sparse.issparse(features):
            mean, square = _sparse_moments(features, share, low, reach)
        else:
            # Shares of the range: columns far from zero keep their digits, squares stay small.
            part = (features - low) / reach
            mean = np.average(part, axis=0, weights=share)
            part -= mean
            square = np.average(np.square(part, out=part), axis=0, weights=share)
        spread = np.where(high > low, reach * np.sqrt(square), 0.0)
        return cls(low + reach * mean, _positive(spread))

    def dense(self, features: Features, dtype: Any) -> Floats:
        """Scaled features of shape (n_rows, n_features), dense, in another type."""
        if sparse.issparse(features):
            features = features.toarray()
        scaled: Floats = ((features - self.location) / self.unit).astype(dtype, copy=False)
        return scaled


@dataclass(frozen=True)
class TargetScaling:
    """A network's output h stands for the decision centre + unit · h; costs are per `steepness`.

    Attributes
    ----------
    centre, unit, steepness : float
    """

    centre: float
    unit: float
    steepness: float

    @classmethod
    def of(
        cls, observation: Array, share: Array | None, kind: ScalingName, steepness: float
    ) -> Self:
        """Units of some observations: mean and standard deviation, or minimum and range."""
        if kind == "min-max":
            centre, spread = float(observation.min()), float(np.ptp(observation))
        else:
            centre = float(np.average(observation, weights=share))
            reach = float(np.ptp(observation))  # its shares have squares that are no trouble
            part = (observation - centre) / (reach or 1.0)
            spread = reach * float(np.sqrt(np.average(np.square(part), weights=share)))
        if not spread > 0:  # all the same: any unit of about its size will do
            spread = abs(centre) or 1.0
        return cls(centre, spread, steepness)

    def decisions(self, outputs: Floats) -> Array:
        """Turn outputs of a network into decisions; an output that is no number stays one."""
        return np.asarray(self.centre + self.unit * outputs.astype(np.float64))


def _positive(spread: Array) -> Array:
    return np.where(spread > 0, spread, 1.0)


def _ends(features: Features) -> tuple[Array, Array]:
    """Least and greatest entry of each column."""
    if sparse.issparse(features):
        low, high = (np.asarray(each.todense()) for each in (features.min(0), features.max(0)))
        return low.ravel().astype(np.float64), high.ravel().astype(np.float64)
    return features.min(axis=0), features.max(axis=0)


def _sparse_moments(
    features: Any, share: Array | None, low: Array, reach: Array
) -> tuple[Array, Array]:
    """Mean and variance of (x − low) / reach, from the entries that are stored and the others."""
    n_rows, n_columns = features.shape
    weight = np.full(n_rows, 1.0 / n_rows) if share is None else share
    table = features.tocoo()
    table.sum_duplicates()
    column = table.col
    stored, zero = (table.data - low[column]) / reach[column], -low / reach
    each = weight[table.row]
    absent = np.maximum(1.0 - np.bincount(column, each, n_columns), 0.0)
    mean = np.bincount(column, each * stored, n_columns) + absent * zero
    square = np.bincount(column, each * np.square(stored - mean[column]), n_columns)
    return mean, square + absent * np.square(zero - mean)
