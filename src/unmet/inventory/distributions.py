"""What is known of the truth of each product: samples, quantiles, or a quantile function.

A distribution answers two questions, for all products at once: where a level is reached
(`quantile`), and by how much the truth exceeds a decision on average (`shortfall`). The expected
cost of a decision y with slopes u below and o above the truth D follows from the second::

    E c(y) = u E(D − y)⁺ + o E(y − D)⁺,    E(y − D)⁺ = y − E D + E(D − y)⁺
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from unmet.arrays import Array, Numbers
from unmet.errors import InvalidInput

_CHUNK = 1 << 15  # entries that are worked on at once: they stay in the cache
_LEVEL_ROUNDING = 1e-12  # of a sample: levels this close to one of its steps are meant to be on it
_POINTS = np.linspace(-5.0, 5.0, 65)
_GRID = ndtr(_POINTS)
"""Levels at which a quantile function is read: as close together in the tails as is worthwhile."""
_AT_ONCE = 16  # columns of a table that are turned into rows together


class Distribution(ABC):
    """The distribution of the truth D of each product."""

    @abstractmethod
    def __len__(self) -> int:
        """Count the products."""

    @abstractmethod
    def quantile(self, level: Array) -> Array:
        """Where each product reaches its level, strictly between 0 and 1; shape (n_products,)."""

    @abstractmethod
    def shortfall(self, decision: Array) -> Array:
        """E(D − y)⁺ of each product's decision."""

    @property
    @abstractmethod
    def mean(self) -> Array:
        """E D of each product."""

    @abstractmethod
    def take(self, index: NDArray[np.intp]) -> Distribution:
        """Keep some products, also several times."""

    def expected_cost(self, decision: Array, below: Array, above: Array) -> Array:
        """E c(y) of each product, never negative."""
        short = self.shortfall(decision)
        left = np.maximum(decision - self.mean + short, 0.0)
        return np.asarray(below * short + above * left)


@dataclass(frozen=True)
class Samples(Distribution):
    """Equally likely values of each product.

    Attributes
    ----------
    values : ndarray of shape (n_products, n_values)
        Each row in ascending order.
    """

    values: Array

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def mean(self) -> Array:
        """E D of each product."""
        return np.asarray(self.values.mean(axis=1))

    def quantile(self, level: Array) -> Array:
        """Least value that at least a share `level` of the values do not exceed."""
        count = self.values.shape[1]
        place = np.ceil(level * count - _LEVEL_ROUNDING).astype(np.intp) - 1
        return np.asarray(self.values[np.arange(len(self)), np.clip(place, 0, count - 1)])

    def shortfall(self, decision: Array) -> Array:
        """E(D − y)⁺ of each product's decision."""
        answer = np.empty(len(self))
        for part in _parts(self.values.shape):
            over = self.values[part] - decision[part, np.newaxis]
            answer[part] = np.maximum(over, 0.0, out=over).mean(axis=1)
        return answer

    def take(self, index: NDArray[np.intp]) -> Samples:
        """Keep some products, also several times."""
        return replace(self, values=self.values[index])


@dataclass(frozen=True)
class QuantileTable(Samples):
    """Quantiles of each product, straight lines between them, nothing beyond the outer ones.

    The quantile function is linear between two levels, so the truth is uniform between the two
    quantiles; a share of the first level lies on the first quantile, and what is left above the
    last level on the last one.

    Attributes
    ----------
    values : ndarray of shape (n_products, n_levels)
        Each row in ascending order.
    levels : ndarray of shape (n_levels,)
        In ascending order, strictly between 0 and 1.
    """

    levels: Array

    @cached_property
    def mean(self) -> Array:
        """E D of each product."""
        return self.values @ self._share

    def quantile(self, level: Array) -> Array:
        """Interpolate linearly between the levels."""
        inside = np.clip(level, self.levels[0], self.levels[-1])
        if self.levels.size == 1:
            return self.values[:, 0].copy()
        right = np.clip(np.searchsorted(self.levels, inside), 1, self.levels.size - 1)
        rows = np.arange(len(self))
        left = self.levels[right - 1]
        share = (inside - left) / (self.levels[right] - left)
        bottom, top = self.values[rows, right - 1], self.values[rows, right]
        return np.asarray(bottom + share * (top - bottom))

    def shortfall(self, decision: Array) -> Array:
        """E(D − y)⁺ of each product's decision.

        Over a stretch [a, b] of probability p that lies above y it is p times the middle less y,
        which is what half of p on either end gives. The stretch that y falls into counts
        p (b − y)² / (2 (b − a)) instead of p (b − y) / 2.
        """
        mass = np.append(np.diff(self.levels), 0.0)
        answer = np.empty(len(self))
        last = self.levels.size - 1
        for part in _parts(self.values.shape):
            values = self.values[part]
            over = values - decision[part, np.newaxis]
            np.maximum(over, 0.0, out=over)
            left = np.clip(last - np.count_nonzero(over, axis=1), -1, last - 1)
            rows = np.arange(len(values))
            ahead = over[rows, left + 1]
            width = values[rows, left + 1] - values[rows, np.maximum(left, 0)]
            share = np.divide(ahead, width, out=np.ones(len(values)), where=width > 0)
            answer[part] = over @ self._share + 0.5 * mass[left] * ahead * (share - 1.0)
        return answer

    @cached_property
    def _share(self) -> Array:
        """Weights of the quantiles in the mean: half of each stretch beside them, and the ends."""
        stretch = np.diff(self.levels, prepend=0.0, append=1.0)
        share = 0.5 * (stretch[1:] + stretch[:-1])
        share[0] += 0.5 * stretch[0]
        share[-1] += 0.5 * stretch[-1]
        return share


@dataclass(frozen=True)
class QuantileFunction(Distribution):
    """A quantile function, asked as it is for decisions; expectations are taken from a table.

    Attributes
    ----------
    ask : callable
        A level, or one for each product, in; the quantile of each product out.
    n_products : int
    """

    ask: Callable[[Any], Array]
    n_products: int

    def __len__(self) -> int:
        return self.n_products

    @cached_property
    def table(self) -> QuantileTable:
        """Quantiles at 65 levels, half a kB for each product, corrected for expectations."""
        values = np.empty((len(self), _GRID.size))
        parts = _parts(values.shape)
        for start in range(0, _GRID.size, _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            columns = np.stack([self.quantile(float(level)) for level in _GRID[some]])
            for part in parts:  # piece by piece, which the cache likes better
                values[part, some] = columns[:, part].T
        check_order(values)
        for part in parts:
            values[part, 1:-1] -= _bend(values[part])
            np.maximum.accumulate(values[part], axis=1, out=values[part])
        return QuantileTable(values, _GRID)

    @property
    def mean(self) -> Array:
        """E D of each product."""
        return self.table.mean

    def quantile(self, level: Numbers) -> Array:
        """Ask the function."""
        value = np.asarray(self.ask(level), dtype=np.float64)
        if value.shape != (len(self),):
            raise InvalidInput(
                f"truth must return one quantile for each of {len(self)} products, "
                f"got shape {value.shape}."
            )
        good = np.isfinite(value)
        if not good.all():
            product = int(np.argmin(good))
            asked = np.broadcast_to(level, value.shape)[product]
            raise InvalidInput(
                f"truth must return finite quantiles, got {value[product]} "
                f"at level {asked:.4g} for product {product}."
            )
        return value

    def shortfall(self, decision: Array) -> Array:
        """E(D − y)⁺ of each product's decision."""
        return self.table.shortfall(decision)

    def take(self, index: NDArray[np.intp]) -> Distribution:
        """Keep some products of the table."""
        return self.table.take(index)


def _bend(values: Array) -> Array:
    """Say how far straight lines between quantiles lie off the quantile function on average.

    Integrals over a stretch of length Δp are too large by Q''(p) Δp² / 12 times its length. With
    p = Φ(z) and points at equal distances h of z, Q'' Δp² = (Q_zz + z Q_z) h²; differences stand
    for the derivatives. With quantiles less that, expectations are right to the fourth order.
    """
    before, here, after = values[:, :-2], values[:, 1:-1], values[:, 2:]
    tilt = 0.5 * (_POINTS[1] - _POINTS[0]) * _POINTS[1:-1]
    bend: Array = ((1.0 + tilt) * after - 2.0 * here + (1.0 - tilt) * before) / 12.0
    return bend


def ordered(values: Array) -> Array:
    """Sort each row, without a copy where they are sorted."""
    if all((np.diff(values[part], axis=1) >= 0).all() for part in _parts(values.shape)):
        return values
    return np.sort(values, axis=1)


def check_order(values: Array) -> None:
    """Refuse quantiles that cross."""
    for part in _parts(values.shape):
        here = values[part]
        falls = np.diff(here, axis=1) < -1e-9 * (1.0 + np.abs(here[:, 1:]))
        if falls.any():
            product = part.start + int(falls.any(axis=1).argmax())
            raise InvalidInput(
                "truth must not fall from one level to the next, got quantiles that decrease as "
                f"the level grows for product {product}."
            )


def _parts(shape: tuple[int, ...]) -> list[slice]:
    """Cut rows into slices of a size that the cache holds."""
    n_rows, n_columns = shape
    rows = max(1, _CHUNK // max(n_columns, 1))
    return [slice(start, min(start + rows, n_rows)) for start in range(0, n_rows, rows)]
