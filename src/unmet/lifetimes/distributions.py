"""Distributions of lifetimes, and the best replacement age if the distribution is known.

Every criterion has the same form. To wait a moment longer at age y costs h(y) (c − p) for the risk
of a failure, with the hazard h, the planned cost p and the failure cost c. It gains the value of
time: the rate ρ of `AgeReplacement`, or r p if costs are discounted at r. The best age is therefore
where a rising hazard first reaches ::

    h(y) = ρ / (c − p)        or        h(y) = r p / (c − p),

unless running to failure is cheaper still. The long-run cost rate is its own price of time. The
algorithm starts with the rate of running to failure and takes the best age at that price; the cost
rate of this age is the next price (Dinkelbach 1967). The rates fall and converge faster than any
geometric series.
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
    """Base class of the distributions of a lifetime T; parameters are numbers, or one per part.

    Ages may be numbers or arrays with one entry per part, and infinite.

    Examples
    --------
    >>> from unmet.lifetimes import Weibull
    >>> lifetime = Weibull(shape=2.5, scale=100)
    >>> round(float(lifetime.quantile(0.5)), 1), round(float(lifetime.interval_mean(50)), 1)
    (86.4, 47.6)
    """

    @property
    @abstractmethod
    def mean(self) -> Numbers:
        """Mean lifetime."""

    @abstractmethod
    def survival(self, age: ArrayLike) -> Array:
        """Compute P(T ≥ age).

        Parameters
        ----------
        age : float or array-like of shape (n_parts,)
            Ages.
        """

    @abstractmethod
    def quantile(self, level: ArrayLike) -> Array:
        """Give the age by which a share of parts has failed.

        Parameters
        ----------
        level : float or array-like of shape (n_parts,)
            Shares between 0 and 1.
        """

    @abstractmethod
    def interval_mean(self, age: ArrayLike) -> Array:
        """Compute E[min(T, age)], the mean length of a cycle that ends at `age` at the latest.

        Parameters
        ----------
        age : float or array-like of shape (n_parts,)
            Ages.
        """

    @abstractmethod
    def age_at_hazard(self, hazard: ArrayLike) -> Array:
        """Give the first age at which a rising hazard reaches a value; inf if it never does.

        Parameters
        ----------
        hazard : float or array-like of shape (n_parts,)
            Failures per unit of time among the parts that still work.
        """

    def discounted_failure(self, age: ArrayLike, discount: Numbers) -> Array:
        """Compute E[exp(−discount · T) · 1{T < age}]: the present value of paying 1 at failures.

        Parameters
        ----------
        age : float or array-like of shape (n_parts,)
            Ages; failures after it do not count.
        discount : float or ndarray of shape (n_parts,)
            Discount rate per unit of time.
        """
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


class Weibull(Distribution):
    """Weibull distribution: P(T ≥ t) = exp(−(t / scale)^shape).

    Parameters
    ----------
    shape : float
        Positive. Parts wear out if it is above 1, do not age at 1, and improve below 1.
    scale : float or array-like of shape (n_parts,), default=1.0
        Positive age by which 63% of the parts have failed. Larger values mean longer lives.

    Examples
    --------
    >>> from unmet.lifetimes import Weibull
    >>> Weibull(shape=2.5, scale=100).survival([50, 100]).round(3)
    array([0.838, 0.368])
    """

    shape: float
    scale: Numbers

    def __init__(self, shape: float, scale: ArrayLike = 1.0) -> None:
        size = float(Number(above=0)("shape", shape))
        self._keep(shape=size, scale=positive("scale", scale))

    @property
    def mean(self) -> Numbers:
        """Mean lifetime."""
        return self.scale * float(special.gamma(1.0 + 1.0 / self.shape))

    def survival(self, age: ArrayLike) -> Array:
        """Compute P(T ≥ age).

        Parameters
        ----------
        age
            As in `Distribution.survival`.
        """
        return np.asarray(np.exp(-self._power(age)))

    def quantile(self, level: ArrayLike) -> Array:
        """Give the age by which a share of parts has failed.

        Parameters
        ----------
        level
            As in `Distribution.quantile`.
        """
        with np.errstate(divide="ignore"):
            power = -np.log1p(-np.asarray(level, dtype=np.float64))
        return np.asarray(self.scale * power ** (1.0 / self.shape))

    def interval_mean(self, age: ArrayLike) -> Array:
        """Compute E[min(T, age)], an incomplete gamma function.

        Parameters
        ----------
        age
            As in `Distribution.interval_mean`.
        """
        return np.asarray(self.mean * special.gammainc(1.0 / self.shape, self._power(age)))

    def age_at_hazard(self, hazard: ArrayLike) -> Array:
        """Give the age at which the hazard reaches a value; inf for parts that do not wear out.

        Parameters
        ----------
        hazard
            As in `Distribution.age_at_hazard`.
        """
        value = np.asarray(hazard, dtype=np.float64)
        if self.shape <= 1.0:
            return np.full(np.broadcast_shapes(value.shape, np.shape(self.scale)), np.inf)
        ratio = value * self.scale / self.shape
        return np.asarray(self.scale * ratio ** (1.0 / (self.shape - 1.0)))

    def _power(self, age: ArrayLike) -> Array:
        at = np.maximum(np.asarray(age, dtype=np.float64), 0.0)
        return np.asarray((at / self.scale) ** self.shape)


class Lognormal(Distribution):
    """Distribution of a lifetime whose logarithm is normal: its hazard rises, then falls.

    Parameters
    ----------
    median : float or array-like of shape (n_parts,)
        Positive age by which half of the parts have failed. Larger values mean longer lives.
    deviation : float
        Positive standard deviation of the logarithm. Larger values spread lifetimes more.

    Examples
    --------
    >>> from unmet.lifetimes import Lognormal
    >>> Lognormal(median=100, deviation=0.5).survival([50, 100]).round(3)
    array([0.917, 0.5  ])
    """

    median: Numbers
    deviation: float

    def __init__(self, median: ArrayLike, deviation: float) -> None:
        spread = float(Number(above=0)("deviation", deviation))
        self._keep(median=positive("median", median), deviation=spread)

    @property
    def mean(self) -> Numbers:
        """Mean lifetime."""
        return self.median * float(np.exp(0.5 * self.deviation**2))

    def survival(self, age: ArrayLike) -> Array:
        """Compute P(T ≥ age).

        Parameters
        ----------
        age
            As in `Distribution.survival`.
        """
        return np.asarray(special.ndtr(-self._z(age)))

    def quantile(self, level: ArrayLike) -> Array:
        """Give the age by which a share of parts has failed.

        Parameters
        ----------
        level
            As in `Distribution.quantile`.
        """
        z = special.ndtri(np.asarray(level, dtype=np.float64))
        return np.asarray(self.median * np.exp(self.deviation * z))

    def interval_mean(self, age: ArrayLike) -> Array:
        """Compute E[min(T, age)], in closed form.

        Parameters
        ----------
        age
            As in `Distribution.interval_mean`.
        """
        z, at = self._z(age), np.asarray(age, dtype=np.float64)
        failed = self.mean * special.ndtr(z - self.deviation)
        with np.errstate(invalid="ignore"):
            alive = np.where(np.isinf(at), 0.0, at * special.ndtr(-z))
        return np.asarray(failed + alive)

    def age_at_hazard(self, hazard: ArrayLike) -> Array:
        """Bisect on the rising branch of the hazard; inf for hazards that are never reached.

        Parameters
        ----------
        hazard
            As in `Distribution.age_at_hazard`.
        """
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
            return np.asarray(_log_mills(z) - (shift + self.deviation * z) >= log_hazard)

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
    """Best replacement age, with its cost; ``str()`` says it in words.

    Attributes
    ----------
    age : float or ndarray of shape (n_parts,)
        Best age; inf if no planned replacement pays, so run to failure.
    cost : float or ndarray of shape (n_parts,)
        Cost at that age: per unit of time, or discounted.
    run_to_failure : float or ndarray of shape (n_parts,)
        Cost without any planned replacement; nan if Kaplan–Meier cannot tell, because parts of the
        largest time were suspended.
    distribution : Distribution or None
        Given or fitted distribution; None for Kaplan–Meier.
    ages, costs : ndarray of shape (n_ages,)
        The whole cost curve, if the age comes from lifetimes.
    interval : tuple of two floats, or None
        Confidence interval of the age; an end may be inf.
    notes : tuple of str
        Data that the result is based on, one sentence each.

    Examples
    --------
    >>> from unmet import AgeReplacement
    >>> from unmet.lifetimes import Weibull, optimal_age
    >>> best = optimal_age(AgeReplacement(planned=1, failure=5), Weibull(shape=2.5, scale=1000))
    >>> round(float(best.age)), bool(best.cost < best.run_to_failure)
    (493, True)
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
    """Find the best replacement age of parts whose distribution of lifetimes is known.

    Parameters
    ----------
    cost : AgeReplacement or PreventiveReplacement
        `AgeReplacement` without a rate minimises the long-run cost per unit of time, for each part
        by itself. With a rate it minimises the cost of a cycle minus that price of its length.
        `PreventiveReplacement` minimises the expected discounted cost of the next replacement; its
        printed form is least for an immediate replacement, at age 0.
    distribution : Weibull or Lognormal
        Distribution of lifetimes.

    Returns
    -------
    ReplacementAge
        Age and cost; arrays if costs or distribution have one number per part.

    Notes
    -----
    A finite age pays only for parts that wear out. A Weibull distribution of shape 1 or less has no
    rising hazard: the result is inf, never replace, or 0 with a discounted cost that favors an
    immediate replacement. A lognormal hazard falls again in old age, so running to failure may be
    best although the hazard rises at first.

    Examples
    --------
    >>> from unmet import AgeReplacement
    >>> from unmet.lifetimes import Weibull, optimal_age
    >>> cost = AgeReplacement(planned=1, failure=5)
    >>> round(float(optimal_age(cost, Weibull(shape=2.5, scale=1000)).age))
    493
    >>> optimal_age(cost, Weibull(shape=0.9, scale=1000)).age  # never before a failure
    inf
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
    """Compute the expected cost of replacing at an age, or at failure if that comes first.

    Parameters
    ----------
    cost : AgeReplacement or PreventiveReplacement
        Cost of replacements.
    distribution : Weibull or Lognormal
        Distribution of lifetimes.
    age : float or array-like of shape (n_parts,)
        Non-negative age of the planned replacement; inf is running to failure.

    Returns
    -------
    ndarray
        Cost per unit of time for `AgeReplacement` without a rate, otherwise of one cycle.

    Examples
    --------
    >>> from unmet import AgeReplacement
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
    """Find the least cost rate of parts together, from an upper bound (Dinkelbach 1967).

    Parameters
    ----------
    cycles : callable
        Function from a price of time to cost and length of the best cycle of each part.
    rate : float
        Upper bound.
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
