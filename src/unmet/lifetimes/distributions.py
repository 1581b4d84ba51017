"""Distributions of lifetimes, and the best age of replacement where they are known.

Every criterion has the same shape. Waiting a moment longer at age y costs h(y) (c − p) for the risk
of a failure, with h the hazard, p the planned and c the failure cost, and gains what time is worth:
the rate ρ of `AgeReplacement`, or r p where costs are discounted at r. So the best age is where a
rising hazard first reaches ::

    h(y) = ρ / (c − p)        or        h(y) = r p / (c − p),

unless running to failure is cheaper still. The long-run cost rate is its own price of time: start
with that of running to failure, take the best age at that price, its cost rate is the next price
(Dinkelbach 1967); the rates fall and converge faster than any geometric series.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from unmet.arrays import Array, Numbers, PerRow, common_rows, positive
from unmet.costs.replacement import AgeReplacement, JumpCost, PreventiveReplacement
from unmet.errors import InvalidInput, Unsupported
from unmet.validation import Number

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(96)  # of discounted failures


class Distribution(PerRow):
    """Distribution of a lifetime T; parameters are numbers, or one per part.

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
    def quantile(self, level: ArrayLike) -> Array:
        """Age by which the share `level` of parts has failed."""

    @abstractmethod
    def interval_mean(self, age: ArrayLike) -> Array:
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
class Weibull(Distribution):
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
        object.__setattr__(self, "shape", float(Number(above=0)("shape", shape)))
        object.__setattr__(self, "scale", positive("scale", scale))

    @property
    def mean(self) -> Numbers:
        """Mean lifetime."""
        return self.scale * float(special.gamma(1.0 + 1.0 / self.shape))

    def survival(self, age: ArrayLike) -> Array:
        """P(T ≥ age)."""
        return np.asarray(np.exp(-self._power(age)))

    def quantile(self, level: ArrayLike) -> Array:
        """Age by which the share `level` has failed."""
        with np.errstate(divide="ignore"):
            power = -np.log1p(-np.asarray(level, dtype=np.float64))
        return np.asarray(self.scale * power ** (1.0 / self.shape))

    def interval_mean(self, age: ArrayLike) -> Array:
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
class Lognormal(Distribution):
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
        object.__setattr__(self, "deviation", float(Number(above=0)("deviation", deviation)))

    @property
    def mean(self) -> Numbers:
        """Mean lifetime."""
        return self.median * float(np.exp(0.5 * self.deviation**2))

    def survival(self, age: ArrayLike) -> Array:
        """P(T ≥ age)."""
        return np.asarray(special.ndtr(-self._z(age)))

    def quantile(self, level: ArrayLike) -> Array:
        """Age by which the share `level` has failed."""
        z = special.ndtri(np.asarray(level, dtype=np.float64))
        return np.asarray(self.median * np.exp(self.deviation * z))

    def interval_mean(self, age: ArrayLike) -> Array:
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
        # the hazard is greatest where the normal hazard exceeds its argument by the deviation
        rises, falls = -40.0, 1e6
        for _ in range(100):
            peak = 0.5 * (rises + falls)
            below = float(np.exp(_log_mills(np.asarray(peak)))) - peak > self.deviation
            rises, falls = (peak, falls) if below else (rises, peak)
        low, high = np.full(shape, -40.0), np.full(shape, rises)
        shift = np.log(self.median) + np.log(self.deviation)

        def at_least(z: Array) -> Array:
            """Whether the hazard at this score reaches the value."""
            reached: Array = _log_mills(z) - (shift + self.deviation * z) >= log_hazard
            return reached

        reached = at_least(high)
        for _ in range(100):
            middle = 0.5 * (low + high)
            above = at_least(middle)
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return np.where(reached, self.median * np.exp(self.deviation * high), np.inf)

    def _z(self, age: ArrayLike) -> Array:
        with np.errstate(divide="ignore"):
            logarithm = np.log(np.maximum(np.asarray(age, dtype=np.float64), 0.0))
        return np.asarray((logarithm - np.log(self.median)) / self.deviation)


def _log_mills(z: Array) -> Array:
    """Logarithm of the hazard of a standard normal, without cancellation on either side."""
    right = -np.log(special.erfcx(np.maximum(z, 0.0) / np.sqrt(2.0))) + 0.5 * np.log(2.0 / np.pi)
    left = -0.5 * z**2 - 0.5 * np.log(2.0 * np.pi) - special.log_ndtr(-z)
    return np.asarray(np.where(z > 0.0, right, left))


@dataclass(frozen=True, eq=False)
class ReplacementAge:
    """When to replace.

    Attributes
    ----------
    age : float or ndarray of shape (n_parts,)
        inf where no planned replacement pays: run to failure.
    cost : float or ndarray of shape (n_parts,)
        At that age: per unit of time, or discounted.
    run_to_failure : float or ndarray of shape (n_parts,)
        The same without any planned replacement; nan where Kaplan and Meier cannot say, because
        parts of the largest time were suspended.
    distribution : Distribution or None
        As given or fitted; None for Kaplan and Meier.
    ages, costs : ndarray of shape (n_ages,)
        The whole curve, where the age comes from lifetimes.
    interval : tuple of two floats, or None
        Where the age lies, if lifetimes were drawn again; inf among the ends is possible.
    notes : tuple of str
        What the answer is based on, in a sentence each.
    """

    age: Numbers
    cost: Numbers
    run_to_failure: Numbers
    distribution: Distribution | None = None
    ages: Array = field(default_factory=lambda: np.empty(0), repr=False)
    costs: Array = field(default_factory=lambda: np.empty(0), repr=False)
    interval: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        if np.ndim(self.age):
            return f"Replacement ages of {np.size(self.age)} parts."
        said = f"Replace at age {float(self.age):.4g}: cost {float(self.cost):.4g}"
        saved = 1.0 - float(self.cost) / float(self.run_to_failure)
        if np.isinf(self.age):
            said = f"Replace at failure: cost {float(self.cost):.4g}"
        elif np.isfinite(saved):
            said += f", {saved:.0%} less than replacement at failure"
        lines = [f"{said}."]
        if self.interval is not None:
            lines.append("Confidence interval of the age: {:.4g} to {:.4g}.".format(*self.interval))
        return "\n".join([*lines, *self.notes])


def optimal_age(cost: JumpCost, distribution: Distribution) -> ReplacementAge:
    """Find the best age of replacement of parts whose distribution of lifetime is known.

    Parameters
    ----------
    cost : AgeReplacement or PreventiveReplacement
        `AgeReplacement` without a rate minimises the long-run cost per unit of time, of each part
        by itself; with a rate, the cost of a cycle less that price of its length.
        `PreventiveReplacement` minimises the expected discounted cost of the next replacement; its
        printed form is least for replacing at once, at age 0.
    distribution : Weibull or Lognormal

    Returns
    -------
    ReplacementAge
        Arrays where costs or distribution have one number per part.

    Notes
    -----
    A finite age pays only for parts that wear out. A Weibull distribution of shape 1 or less has no
    rising hazard: the answer is inf, never replace, or with a discounted cost that favours it 0, at
    once. A lognormal hazard falls again in old age, so running to failure may be best although the
    hazard rises at first.

    Examples
    --------
    >>> from unmet.costs import AgeReplacement
    >>> from unmet.lifetimes import Weibull, optimal_age
    >>> cost = AgeReplacement(planned=1, failure=5)
    >>> print(optimal_age(cost, Weibull(shape=2.5, scale=1000)))
    Replace at age 493: cost 0.003462, 39% less than replacement at failure.
    >>> print(optimal_age(cost, Weibull(shape=0.9, scale=1000)))
    Replace at failure: cost 0.004752.
    """
    _check(cost, distribution)
    common_rows({**cost.parameters(), **distribution.parameters()})
    never = expected_cost(cost, distribution, np.inf)
    if isinstance(cost, PreventiveReplacement):
        found = _at_price(cost, distribution, np.asarray(cost.discount) * cost.planned)
        found = np.zeros(found.shape) if cost.form == "printed" else found
    else:
        assert isinstance(cost, AgeReplacement)
        found = (
            _cheapest_rate(cost, distribution)
            if cost.rate is None
            else _at_price(cost, distribution, cost.rate)
        )
    value = expected_cost(cost, distribution, found)
    better = value < never * (1.0 - 1e-12) if np.all(never > 0) else value < never
    age, value = np.where(better, found, np.inf), np.where(better, value, never)
    if age.ndim == 0:
        return ReplacementAge(float(age), float(value), float(never), distribution)
    return ReplacementAge(age, value, np.broadcast_to(never, age.shape).copy(), distribution)


def expected_cost(cost: JumpCost, distribution: Distribution, age: ArrayLike) -> Array:
    """Cost that is to be expected of replacing at an age, or at failure if that comes first.

    Parameters
    ----------
    cost : AgeReplacement or PreventiveReplacement
    distribution : Weibull or Lognormal
    age : float or array-like of shape (n_parts,)
        Non-negative; inf is running to failure.

    Returns
    -------
    ndarray
        Per unit of time for `AgeReplacement` without a rate, otherwise of one cycle.

    Examples
    --------
    >>> from unmet.costs import AgeReplacement
    >>> from unmet.lifetimes import Weibull, expected_cost
    >>> cost, distribution = AgeReplacement(planned=1, failure=5), Weibull(shape=2.5, scale=1000)
    >>> ages = (250, 493, float("inf"))
    >>> [round(float(expected_cost(cost, distribution, age)), 6) for age in ages]
    [0.004532, 0.003462, 0.005635]
    """
    _check(cost, distribution)
    at = np.asarray(age, dtype=np.float64)
    if np.isnan(at).any() or (at < 0).any():
        raise InvalidInput("age must be non-negative or inf, got a negative one or nan.")
    survives = distribution.survival(at)
    if isinstance(cost, AgeReplacement):
        paid = cost.planned * survives + cost.failure * (1.0 - survives)
        served = distribution.interval_mean(at)
        if cost.rate is not None:
            return np.asarray(paid - cost.rate * served)
        with np.errstate(divide="ignore"):
            return np.asarray(paid / served)
    assert isinstance(cost, PreventiveReplacement)
    failed = cost.failure * distribution.discounted_failure(at, cost.discount)
    if cost.form == "printed":  # discounted at the failure, whichever comes first
        later = distribution.discounted_failure(np.inf, cost.discount) - failed / cost.failure
        return np.asarray(failed + cost.planned * later)
    with np.errstate(invalid="ignore"):
        waited = np.exp(-(cost.discount * at))
    return np.asarray(failed + cost.planned * waited * survives)


def _cheapest_rate(cost: AgeReplacement, distribution: Distribution) -> Array:
    """Ages at which the long-run cost rate is least, by Dinkelbach's iteration."""
    rate: Array = np.asarray(cost.failure / np.asarray(distribution.mean))
    age = np.full(rate.shape, np.inf)
    for _ in range(100):  # a handful suffice
        age = _at_price(cost, distribution, rate)
        new = np.minimum(expected_cost(cost, distribution, age), rate)
        if np.all(rate - new <= 1e-13 * rate):
            break
        rate = new
    return age


def _at_price(cost: JumpCost, distribution: Distribution, worth: Numbers) -> Array:
    """Best ages where time is worth so much: where the hazard pays, at once where it never does."""
    assert isinstance(cost, AgeReplacement | PreventiveReplacement)
    age = distribution.age_at_hazard(worth / (np.asarray(cost.failure) - cost.planned))
    evaluated = cost.at_rate(worth) if isinstance(cost, AgeReplacement) else cost
    never = expected_cost(evaluated, distribution, np.inf)
    return np.where(np.isinf(age) & (cost.planned < never), 0.0, age)


def least_rate(
    cycles: Callable[[float], tuple[Array, Array]], rate: float, tolerance: float
) -> float:
    """Least cost rate of parts together, from an upper bound on it (Dinkelbach 1967).

    Parameters
    ----------
    cycles : callable
        Price of time in; cost and length of the best cycle of each part out.
    rate : float
    tolerance : float
        Share by which the rate must fall to go on.
    """
    for _ in range(50):
        paid, served = cycles(rate)
        new = min(float(paid.sum() / served.sum()), rate)
        if rate - new <= tolerance * rate:
            break
        rate = new
    return rate


def _check(cost: object, distribution: object) -> None:
    if not isinstance(cost, AgeReplacement | PreventiveReplacement):
        raise Unsupported(
            f"cost must be AgeReplacement or PreventiveReplacement, got {type(cost).__name__}."
        )
    if not isinstance(distribution, Distribution):
        raise Unsupported(
            f"distribution must be Weibull or Lognormal, got {type(distribution).__name__}."
        )
