"""Standardised families of the truth: log-density, its slope, log-survival, hazard, quantile.

A truth is location + scale · Z, in units of the observation or, for positive data, of its
logarithm; a family is the law of Z. On the logarithmic scale the normal is the lognormal, the
smallest extreme value is the Weibull, and the log-gamma is the gamma.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy import special

from unmet.band import Array, Numbers

Space: TypeAlias = Literal["linear", "log", "counts"]
_HALF_LOG_TWO_PI = 0.5 * np.log(2.0 * np.pi)
_FURTHEST = 700.0  # exp underflows beyond
_STEEPEST = 30.0  # and its square, which whitening needs, overflows long before exp does


class Terms(NamedTuple):
    """What the likelihood needs of a family at the points u, each of their shape."""

    log_density: Array
    slope: Array
    """Derivative of the log-density."""
    log_survival: Array
    hazard: Array
    """Density over survival: minus the derivative of the log-survival."""


@dataclass(frozen=True)
class Family:
    """Law of a standardised truth.

    Attributes
    ----------
    name : str
        As users write it.
    space : {"linear", "log"}
        Whether the observation or its logarithm has a location and a scale.
    terms : callable
        ``terms(u, shape)``.
    log_below : callable
        ``log_below(u, shape)``: logarithm of the distribution function.
    quantile : callable
        ``quantile(level, shape)``.
    shape : float or None
        Logarithm of the shape parameter from which a fit starts; None for families without one.
    tied : bool
        Whether the shape follows from the scale, as −2 times its logarithm: the gamma's.
    """

    name: str
    space: Space
    terms: Callable[[Array, Numbers], Terms]
    log_below: Callable[[Array, Numbers], Array]
    quantile: Callable[[Numbers, Numbers], Array]
    shape: float | None = None
    tied: bool = False

    def __reduce__(self) -> tuple[Callable[[str], Family], tuple[str]]:
        """Travel by name: functions made on the spot cannot."""
        return family_named, (self.name,)


def family_named(name: str) -> Family:
    """One of `FAMILIES`."""
    return FAMILIES[name]


def normal_terms(u: Array, shape: Numbers = 0.0) -> Terms:
    """Evaluate the standard normal; also the law of orders around their level."""
    log_density = -0.5 * u * u - _HALF_LOG_TWO_PI
    log_survival = special.log_ndtr(-u)
    return Terms(log_density, -u, log_survival, _hazard(log_density, log_survival))


def _logistic(u: Array, shape: Numbers) -> Terms:
    log_survival = -np.logaddexp(0.0, u)
    below = special.expit(u)
    return Terms(
        log_survival + np.log(np.maximum(below, 1e-300)), 1.0 - 2.0 * below, log_survival, below
    )


def _laplace(u: Array, shape: Numbers) -> Terms:
    size = np.abs(u)
    log_density = -size - np.log(2.0)
    log_survival = np.where(u > 0, log_density, np.log1p(-0.5 * np.exp(-size)))
    return Terms(log_density, -np.sign(u), log_survival, _hazard(log_density, log_survival))


def _student(u: Array, shape: Numbers) -> Terms:
    freedom = _freedom(shape)
    square = u * u / freedom
    constant = (
        special.gammaln(0.5 * (freedom + 1))
        - special.gammaln(0.5 * freedom)
        - 0.5 * np.log(np.pi * freedom)
    )
    log_density = constant - 0.5 * (freedom + 1) * np.log1p(square)
    slope = -(freedom + 1) / freedom * u / (1.0 + square)
    survival = special.stdtr(freedom, -u)
    # Far up the survival underflows; there it is density over hazard, and the hazard about −slope.
    far = log_density - np.log(np.maximum(-slope, 1e-300))
    log_survival = np.where(survival > 1e-290, np.log(np.maximum(survival, 1e-300)), far)
    return Terms(log_density, slope, log_survival, _hazard(log_density, log_survival))


def _freedom(shape: Numbers) -> Array:
    """Degrees of freedom: at least 2, so that the scale keeps its meaning."""
    return np.asarray(2.0 + np.exp(np.clip(shape, -5.0, 6.0)))


def _gumbel(u: Array, shape: Numbers) -> Terms:
    spread, rise = _steep(-u)
    log_density = -u - spread
    # log(1 - exp(-spread)): for tiny spreads it is log(spread) = -u
    log_survival = np.where(u > 30.0, -u, np.log(np.maximum(-np.expm1(-spread), 1e-300)))
    return Terms(log_density, rise - 1.0, log_survival, _hazard(log_density, log_survival))


def _smallest(u: Array, shape: Numbers) -> Terms:
    spread, rise = _steep(u)
    return Terms(u - spread, 1.0 - rise, -spread, rise)


def _log_gamma(u: Array, shape: Numbers) -> Terms:
    """Logarithm of a gamma with mean one and coefficient of variation σ, divided by σ.

    Its shape is a = σ⁻² and so tied to the scale: with a scale of σ the truth is a gamma.
    """
    a, sigma = _gamma_shape(shape)
    value, rise = _steep(sigma * u)
    constant = a * np.log(a) - special.gammaln(a) + np.log(sigma)
    log_density = constant + a * (sigma * u - value)
    survival = special.gammaincc(a, a * value)
    far = log_density - np.log(sigma * a * np.maximum(rise, 1.0) * _gamma_hazard(a, a * value))
    log_survival = np.where(survival > 1e-290, np.log(np.maximum(survival, 1e-300)), far)
    slope = sigma * a * (1.0 - rise)
    return Terms(log_density, slope, log_survival, _hazard(log_density, log_survival))


def _skewed(u: Array, shape: Numbers) -> Terms:
    """Minus the logarithm of a gamma, standardised: skewed to the right, smooth everywhere.

    The Gumbel has the shape a = 1; as a grows it becomes a normal, as a falls the skewness nears 2.
    """
    bounded = _skewed_shape(shape)
    mirrored = _log_gamma(-u, bounded)
    log_survival = _log_gamma_below(-u, bounded)
    hazard = _hazard(mirrored.log_density, log_survival)
    return Terms(mirrored.log_density, -mirrored.slope, log_survival, hazard)


def _skewed_below(u: Array, shape: Numbers) -> Array:
    return _log_gamma(-u, _skewed_shape(shape)).log_survival


def _skewed_quantile(level: Numbers, shape: Numbers) -> Array:
    a, sigma = _gamma_shape(_skewed_shape(shape))
    value: Array = -np.log(np.maximum(special.gammainccinv(a, level), 1e-300) / a) / sigma
    return value


def _skewed_shape(shape: Numbers) -> Numbers:
    return np.asarray(np.clip(shape, -1.5, 7.0))


def _gamma_shape(shape: Numbers) -> tuple[Array, Array]:
    """Shape and coefficient of variation."""
    log_shape = np.clip(shape, -4.0, 12.0)
    return np.exp(log_shape), np.exp(-0.5 * log_shape)


def _gamma_hazard(a: Array, x: Array) -> Array:
    """Hazard of a gamma of scale one, so far up that its survival underflows.

    There the continued fraction of the incomplete gamma function needs but a few terms.
    """
    above = np.maximum(x - a, 1.0)
    rest = above + 3.0 + 2.0 * (a - 2.0) / (above + 5.0)
    hazard: Array = (above + 1.0 + (a - 1.0) / rest) / (a + above)
    return hazard


def _steep(x: Array) -> tuple[Array, Array]:
    """Exponential and its slope, continued as a line before it overflows.

    A row that can hardly be explained must still say truly which way things get better.
    """
    rise = np.exp(np.minimum(x, _STEEPEST))
    return rise * (1.0 + np.maximum(x - _STEEPEST, 0.0)), rise


def _hazard(log_density: Array, log_survival: Array) -> Array:
    hazard: Array = np.exp(np.minimum(log_density - log_survival, 50.0))
    return hazard


def _normal_quantile(level: Numbers, shape: Numbers) -> Array:
    return np.asarray(special.ndtri(level))


def _logistic_quantile(level: Numbers, shape: Numbers) -> Array:
    return np.asarray(special.logit(level))


def _gumbel_quantile(level: Numbers, shape: Numbers) -> Array:
    return np.asarray(-np.log(-np.log(level)))


def _smallest_quantile(level: Numbers, shape: Numbers) -> Array:
    return np.asarray(np.log(-np.log1p(-level)))


def _student_quantile(level: Numbers, shape: Numbers) -> Array:
    return np.asarray(special.stdtrit(_freedom(shape), level))


def _laplace_quantile(level: Numbers, shape: Numbers) -> Array:
    value: Array = np.where(level < 0.5, np.log(2 * level), -np.log(2 * (1 - level)))
    return value


def _log_gamma_quantile(level: Numbers, shape: Numbers) -> Array:
    a, sigma = _gamma_shape(shape)
    value: Array = np.log(np.maximum(special.gammaincinv(a, level), 1e-300) / a) / sigma
    return value


def _symmetric(terms: Callable[[Array, Numbers], Terms]) -> Callable[[Array, Numbers], Array]:
    """Distribution function of a symmetric law."""
    return lambda u, shape: terms(-u, shape).log_survival


def _gumbel_below(u: Array, shape: Numbers) -> Array:
    return -_steep(-u)[0]


def _smallest_below(u: Array, shape: Numbers) -> Array:
    spread = np.exp(np.clip(u, -_FURTHEST, _STEEPEST))
    value: Array = np.log(-np.expm1(-spread))
    return value


def _log_gamma_below(u: Array, shape: Numbers) -> Array:
    a, sigma = _gamma_shape(shape)
    x = a * _steep(sigma * u)[0]
    below = special.gammainc(a, x)
    # far down F(x) = x^a e^−x / Γ(a + 1) · (1 + x / (a + 1) + …), about a geometric series
    series = np.log1p(-np.minimum(x / (a + 1.0), 0.99))
    far = a * (np.log(a) + sigma * u) - x - special.gammaln(a + 1.0) - series
    value: Array = np.where(below > 1e-290, np.log(np.maximum(below, 1e-300)), far)
    return value


FAMILIES = {
    family.name: family
    for family in (
        Family("normal", "linear", normal_terms, _symmetric(normal_terms), _normal_quantile),
        Family("logistic", "linear", _logistic, _symmetric(_logistic), _logistic_quantile),
        Family("laplace", "linear", _laplace, _symmetric(_laplace), _laplace_quantile),
        Family("student", "linear", _student, _symmetric(_student), _student_quantile, shape=1.0),
        Family("gumbel", "linear", _gumbel, _gumbel_below, _gumbel_quantile),
        Family("skewed", "linear", _skewed, _skewed_below, _skewed_quantile, shape=1.0),
        Family("lognormal", "log", normal_terms, _symmetric(normal_terms), _normal_quantile),
        Family("weibull", "log", _smallest, _smallest_below, _smallest_quantile),
        Family("gamma", "log", _log_gamma, _log_gamma_below, _log_gamma_quantile, tied=True),
        Family(
            "negative_binomial", "counts", _log_gamma, _log_gamma_below, _normal_quantile, tied=True
        ),
    )
}
