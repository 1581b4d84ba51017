"""Laws of lifetimes: what has to be known of them to choose an age of replacement."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from unmet.band import Array, Numbers, PerRow
from unmet.costs.parameters import positive
from unmet.errors import InvalidInput

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(96)
_BISECTIONS = 100


class Law(PerRow):
    """Law of a lifetime T; parameters are numbers, or one per part where the class says so.

    Ages may be numbers or arrays of one entry per part, and infinite.
    """

    @property
    @abstractmethod
    def mean(self) -> Numbers:
        """Mean lifetime."""

    @abstractmethod
    def survival(self, age: ArrayLike) -> Array:
        """P(T ≥ age)."""

    @abstractmethod
    def hazard(self, age: ArrayLike) -> Array:
        """Rate of failure at a finite positive age, given survival up to it."""

    @abstractmethod
    def quantile(self, level: ArrayLike) -> Array:
        """Age by which the share `level` of parts has failed."""

    @abstractmethod
    def limited_mean(self, age: ArrayLike) -> Array:
        """E[min(T, age)]: the mean length of a cycle that ends at `age` at the latest."""

    @abstractmethod
    def age_at_hazard(self, hazard: ArrayLike) -> Array:
        """First age at which a rising hazard reaches a value; inf where it never does."""

    def discounted_failure(self, age: ArrayLike, discount: Numbers) -> Array:
        """E[exp(−discount · T) · 1{T < age}]: today's value of one unit paid at such failures."""
        failed = 1.0 - self.survival(age)
        # quantiles are steep at both ends of [0, 1]; in v, where u = v⁴ / (v⁴ + (1 − v)⁴), not
        total: Array = np.zeros(np.shape(failed))
        for node, weight in zip(_NODES, _NODE_WEIGHTS, strict=True):
            v = 0.5 * (node + 1.0)
            both = v**4 + (1.0 - v) ** 4
            slope = 4.0 * (v * (1.0 - v)) ** 3 / both**2
            value = np.exp(-(discount * self.quantile(failed * v**4 / both)))
            total = total + 0.5 * weight * slope * value
        return np.asarray(failed * total)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Weibull(Law):
    """P(T ≥ t) = exp(−(t / scale)^shape).

    Parameters
    ----------
    shape : float
        Parts wear out where it is above 1; at 1 they do not age, below 1 they get better.
    scale : float or array-like of shape (n_parts,), default=1.0

    Examples
    --------
    >>> Weibull(shape=2.5, scale=100).survival([50, 100]).round(3)
    array([0.838, 0.368])
    """

    shape: float
    scale: Numbers

    def __init__(self, shape: float, scale: ArrayLike = 1.0) -> None:
        object.__setattr__(self, "shape", _one("shape", shape))
        object.__setattr__(self, "scale", positive("scale", scale))

    @property
    def mean(self) -> Numbers:
        """Mean lifetime."""
        return self.scale * float(special.gamma(1.0 + 1.0 / self.shape))

    def survival(self, age: ArrayLike) -> Array:
        """P(T ≥ age)."""
        return np.asarray(np.exp(-self._power(age)))

    def hazard(self, age: ArrayLike) -> Array:
        """Rate of failure: a power of the age."""
        ratio = np.asarray(age, dtype=np.float64) / self.scale
        return np.asarray(self.shape / self.scale * ratio ** (self.shape - 1.0))

    def quantile(self, level: ArrayLike) -> Array:
        """Age by which the share `level` has failed."""
        with np.errstate(divide="ignore"):
            power = -np.log1p(-np.asarray(level, dtype=np.float64))
        return np.asarray(self.scale * power ** (1.0 / self.shape))

    def limited_mean(self, age: ArrayLike) -> Array:
        """E[min(T, age)], an incomplete gamma function."""
        return np.asarray(self.mean * special.gammainc(1.0 / self.shape, self._power(age)))

    def age_at_hazard(self, hazard: ArrayLike) -> Array:
        """Invert the power; inf for parts that do not wear out."""
        value = np.asarray(hazard, dtype=np.float64)
        if self.shape <= 1.0:
            return np.full(np.broadcast_shapes(value.shape, np.shape(self.scale)), np.inf)
        ratio = value * self.scale / self.shape
        return np.asarray(self.scale * ratio ** (1.0 / (self.shape - 1.0)))

    def _power(self, age: ArrayLike) -> Array:
        at = np.maximum(np.asarray(age, dtype=np.float64), 0.0)
        return np.asarray((at / self.scale) ** self.shape)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Lognormal(Law):
    """A lifetime whose logarithm is normal: its hazard rises, and falls again in old age.

    Parameters
    ----------
    median : float or array-like of shape (n_parts,)
        exp of the mean of the logarithm.
    deviation : float
        Standard deviation of the logarithm.

    Examples
    --------
    >>> Lognormal(median=100, deviation=0.5).survival([50, 100]).round(3)
    array([0.917, 0.5  ])
    """

    median: Numbers
    deviation: float

    def __init__(self, median: ArrayLike, deviation: float) -> None:
        object.__setattr__(self, "median", positive("median", median))
        object.__setattr__(self, "deviation", _one("deviation", deviation))

    @property
    def mean(self) -> Numbers:
        """Mean lifetime."""
        return self.median * float(np.exp(0.5 * self.deviation**2))

    def survival(self, age: ArrayLike) -> Array:
        """P(T ≥ age)."""
        return np.asarray(special.ndtr(-self._z(age)))

    def hazard(self, age: ArrayLike) -> Array:
        """Rate of failure."""
        return np.asarray(np.exp(self._log_hazard(self._z(age))))

    def quantile(self, level: ArrayLike) -> Array:
        """Age by which the share `level` has failed."""
        z = special.ndtri(np.asarray(level, dtype=np.float64))
        return np.asarray(self.median * np.exp(self.deviation * z))

    def limited_mean(self, age: ArrayLike) -> Array:
        """E[min(T, age)], in closed form."""
        z, at = self._z(age), np.asarray(age, dtype=np.float64)
        failed = self.mean * special.ndtr(z - self.deviation)
        with np.errstate(invalid="ignore"):
            alive = np.where(np.isinf(at), 0.0, at * special.ndtr(-z))
        return np.asarray(failed + alive)

    def age_at_hazard(self, hazard: ArrayLike) -> Array:
        """Bisect on the rising branch; inf for hazards that are never reached."""
        log_hazard = np.log(np.asarray(hazard, dtype=np.float64))
        shape = np.broadcast_shapes(log_hazard.shape, np.shape(self.median))
        low, high = np.full(shape, -40.0), np.full(shape, self._peak())
        reached = self._log_hazard(high) >= log_hazard
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            above = self._log_hazard(middle) >= log_hazard
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return np.where(reached, self.median * np.exp(self.deviation * high), np.inf)

    def _z(self, age: ArrayLike) -> Array:
        with np.errstate(divide="ignore"):
            logarithm = np.log(np.maximum(np.asarray(age, dtype=np.float64), 0.0))
        return np.asarray((logarithm - np.log(self.median)) / self.deviation)

    def _log_hazard(self, z: Array) -> Array:
        age = np.log(self.median) + self.deviation * z + np.log(self.deviation)
        return np.asarray(_log_mills(z) - age)

    def _peak(self) -> float:
        """Where the hazard is greatest: the normal hazard exceeds its argument by the deviation."""
        low, high = -40.0, 1e6
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            if float(np.exp(_log_mills(np.asarray(middle)))) - middle > self.deviation:
                low = middle
            else:
                high = middle
        return low


def _log_mills(z: Array) -> Array:
    """Logarithm of the hazard of a standard normal, without cancellation on either side."""
    right = -np.log(special.erfcx(np.maximum(z, 0.0) / np.sqrt(2.0))) + 0.5 * np.log(2.0 / np.pi)
    left = -0.5 * z**2 - 0.5 * np.log(2.0 * np.pi) - special.log_ndtr(-z)
    return np.asarray(np.where(z > 0.0, right, left))


def _one(name: str, value: float) -> float:
    """Read a positive number that all parts share."""
    number = positive(name, value)
    if isinstance(number, float):
        return number
    raise InvalidInput(f"{name} must be one positive number for all parts, got {number.size}.")
