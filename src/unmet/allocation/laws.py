"""What is known of the truth of each product: samples, quantiles, or a quantile function.

A law answers two questions, for all products at once: where a level is reached (`quantile`), and by
how much the truth exceeds a decision on average (`shortfall`). The expected cost of a decision y
with slopes u below and o above the truth D follows from the second::

    E c(y) = u E(D − y)⁺ + o E(y − D)⁺,    E(y − D)⁺ = y − E D + E(D − y)⁺
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from unmet.arrays import Array, Numbers
from unmet.errors import InvalidInput

QuantileFunction: TypeAlias = Callable[[Any], Array]

_CHUNK = 1 << 15  # entries that are worked on at once: they stay in the cache
_LEVEL_ROUNDING = 1e-12  # of a sample: levels this close to one of its steps are meant to be on it
_POINTS = np.linspace(-5.0, 5.0, 65)
_GRID = ndtr(_POINTS)
"""Levels at which a quantile function is read: as close together in the tails as is worthwhile."""
_AT_ONCE = 16  # columns of a table that are turned into rows together


class Law(ABC):
    """The distribution of the truth of each product."""

    n_products: int

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
    def take(self, index: NDArray[np.intp]) -> Law:
        """Keep some products, also several times."""

    def expected_cost(self, decision: Array, below: Array, above: Array) -> Array:
        """E c(y) of each product, never negative."""
        short = self.shortfall(decision)
        left = np.maximum(decision - self.mean + short, 0.0)
        return np.asarray(below * short + above * left)


@dataclass(frozen=True)
class Samples(Law):
    """Equally likely values of each product.

    Attributes
    ----------
    values : ndarray of shape (n_products, n_values)
        Each row in ascending order.
    """

    values: Array

    @property
    def n_products(self) -> int:  # type: ignore[override]
        """Number of products."""
        return len(self.values)

    @cached_property
    def mean(self) -> Array:
        """E D of each product."""
        return np.asarray(self.values.mean(axis=1))

    def quantile(self, level: Array) -> Array:
        """Least value that at least a share `level` of the values do not exceed."""
        count = self.values.shape[1]
        place = np.ceil(level * count - _LEVEL_ROUNDING).astype(np.intp) - 1
        return np.asarray(self.values[np.arange(self.n_products), np.clip(place, 0, count - 1)])

    def shortfall(self, decision: Array) -> Array:
        """E(D − y)⁺ of each product's decision."""
        answer = np.empty(self.n_products)
        for part in _parts(self.values.shape):
            over = self.values[part] - decision[part, np.newaxis]
            answer[part] = np.maximum(over, 0.0, out=over).mean(axis=1)
        return answer

    def take(self, index: NDArray[np.intp]) -> Samples:
        """Keep some products, also several times."""
        return Samples(self.values[index])


@dataclass(frozen=True)
class QuantileTable(Law):
    """Quantiles of each product, straight lines between them, nothing beyond the outer ones.

    The quantile function is linear between two levels, so the truth is uniform between the two
    quantiles; a share of the first level lies on the first quantile, and what is left above the
    last level on the last one.

    Attributes
    ----------
    levels : ndarray of shape (n_levels,)
        In ascending order, strictly between 0 and 1.
    values : ndarray of shape (n_products, n_levels)
        Each row in ascending order.
    """

    levels: Array
    values: Array

    @property
    def n_products(self) -> int:  # type: ignore[override]
        """Number of products."""
        return len(self.values)

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
        rows = np.arange(self.n_products)
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
        answer = np.empty(self.n_products)
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

    def take(self, index: NDArray[np.intp]) -> QuantileTable:
        """Keep some products, also several times."""
        return QuantileTable(self.levels, self.values[index])

    @cached_property
    def _share(self) -> Array:
        """Weights of the quantiles in the mean: half of each stretch beside them, and the ends."""
        stretch = np.diff(self.levels, prepend=0.0, append=1.0)
        share = 0.5 * (stretch[1:] + stretch[:-1])
        share[0] += 0.5 * stretch[0]
        share[-1] += 0.5 * stretch[-1]
        return share


@dataclass(frozen=True)
class Function(Law):
    """A quantile function, asked as it is for decisions; expectations are taken from a table.

    Attributes
    ----------
    ask : callable
        A level, or one for each product, in; the quantile of each product out.
    n_products : int
    """

    ask: QuantileFunction
    n_products: int

    @cached_property
    def table(self) -> QuantileTable:
        """Quantiles at 65 levels, half a kB for each product, mended for expectations."""
        values = np.empty((self.n_products, _GRID.size))
        parts = _parts(values.shape)
        for start in range(0, _GRID.size, _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            columns = np.stack([self._ask(float(level)) for level in _GRID[some]])
            for part in parts:  # piece by piece, which the cache likes better
                values[part, some] = columns[:, part].T
        _check_order(values)
        for part in parts:
            values[part, 1:-1] -= _bend(values[part])
            np.maximum.accumulate(values[part], axis=1, out=values[part])
        return QuantileTable(_GRID, values)

    @property
    def mean(self) -> Array:
        """E D of each product."""
        return self.table.mean

    def quantile(self, level: Array) -> Array:
        """Ask the function."""
        return self._ask(level)

    def _ask(self, level: Numbers) -> Array:
        value = np.asarray(self.ask(level), dtype=np.float64)
        if value.shape != (self.n_products,):
            raise InvalidInput(
                f"truth must return one quantile for each of {self.n_products} products, "
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

    def take(self, index: NDArray[np.intp]) -> Law:
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


def check_table(levels: Array, values: Array) -> QuantileTable:
    """Refuse quantiles that cross."""
    _check_order(values)
    return QuantileTable(levels, values)


def _check_order(values: Array) -> None:
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
