"""Standardised families of the truth: log-density, its slope, log-survival, hazard, quantile.

A truth is location + scale · Z, in units of the observation or, for positive data, of its logarithm
or its square root; a family is the distribution of Z. On the logarithmic scale the normal is the
lognormal, the smallest extreme value is the Weibull, and the log-gamma is the gamma.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from scipy import special

from unmet.arrays import Array, Numbers

Space: TypeAlias = Literal["linear", "root", "log", "counts"]
_Tail: TypeAlias = Callable[[Array, Numbers], Array]
_Value = TypeVar("_Value")
# Logarithms of shapes beyond which a distribution no longer changes in what can be computed.
_STUDENT_SHAPES, _SKEWED_SHAPES, _GAMMA_SHAPES = (-5.0, 6.0), (-1.5, 7.0), (-4.0, 12.0)
COUNT_SHAPES = (-5.0, 12.0)
_LOG_TWO = float(np.log(2.0))
_HALF_LOG_TWO_PI = 0.5 * np.log(2.0 * np.pi)
_FURTHEST = 700.0  # exp underflows beyond
_LEAST = 1e-290  # probabilities that lose digits below
_MANY, _APART = 2000, 0.02  # points that are interpolated, and distance of the exact ones
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
    """Distribution of a standardised truth.

    Attributes
    ----------
    name : str
        As users write it.
    space : {"linear", "root", "log", "counts"}
        Whether the observation, its square root or its logarithm has a location and a scale, or it
        is a count.
    density : callable
        ``density(u, shape)``: logarithm of the density, and its slope.
    log_survival, log_below : callable
        ``log_survival(u, shape)`` and ``log_below(u, shape)``: logarithms of the survival and of
        the distribution function.
    quantile : callable
        ``quantile(level, shape)``.
    shape : float or None
        Logarithm of the shape parameter from which a fit starts; None for families without one.
    tied : bool
        Whether the shape follows from the scale, as −2 times its logarithm: the gamma's.
    shapes : tuple of two floats
        Range of the logarithm of the shape in which it means something.
    left : bool
        Whether it is skewed to the left, as censoring makes any other distribution: tried by itself
        as a distribution of which nothing is hidden only.
    """

    name: str
    space: Space
    density: Callable[[Array, Numbers], tuple[Array, Array]]
    log_survival: _Tail
    log_below: _Tail
    quantile: Callable[[Numbers, Numbers], Array]
    shape: float | None = None
    tied: bool = False
    shapes: tuple[float, float] = (-np.inf, np.inf)
    left: bool = False

    def terms(self, u: Array, shape: Numbers) -> Terms:
        """Evaluate everything at once."""
        log_density, slope = self.density(u, shape)
        log_survival = self.log_survival(u, shape)
        return Terms(log_density, slope, log_survival, hazard_of(log_density, log_survival))

    def __reduce__(self) -> tuple[Callable[[str], Family], tuple[str]]:
        """Travel by name: functions made on the spot cannot."""
        return family_named, (self.name,)

    def __getstate__(self) -> dict[str, str]:
        """Give the name to formats that do not ask for more than the state."""
        return {"name": self.name}

    def __setstate__(self, state: dict[str, str]) -> None:
        vars(self).update(vars(family_named(state["name"])))


def family_named(name: str) -> Family:
    """One of `FAMILIES`, or the one that only a stack has."""
    return ROOT_NORMAL if name == ROOT_NORMAL.name else FAMILIES[name]


def hazard_of(log_density: Array, log_survival: Array) -> Array:
    """Density over survival."""
    return np.asarray(np.exp(np.minimum(log_density - log_survival, 50.0)))


def normal_terms(u: Array) -> Terms:
    """Evaluate the standard normal, the distribution of orders around their level."""
    return FAMILIES["normal"].terms(u, 0.0)


def _normal(u: Array, shape: Numbers) -> tuple[Array, Array]:
    return -0.5 * u * u - _HALF_LOG_TWO_PI, -u


def _normal_survival(u: Array, shape: Numbers) -> Array:
    return np.asarray(special.log_ndtr(-u))


def _logistic(u: Array, shape: Numbers) -> tuple[Array, Array]:
    size = np.abs(u)
    return -size - 2.0 * np.log1p(np.exp(-size)), 1.0 - 2.0 * special.expit(u)


def _logistic_survival(u: Array, shape: Numbers) -> Array:
    return np.asarray(-np.logaddexp(0.0, u))


def _laplace(u: Array, shape: Numbers) -> tuple[Array, Array]:
    return -np.abs(u) - _LOG_TWO, -np.sign(u)


def _laplace_survival(u: Array, shape: Numbers) -> Array:
    size = np.abs(u)
    return np.where(u > 0, -size - _LOG_TWO, np.log1p(-0.5 * np.exp(-size)))


def _student(u: Array, shape: Numbers) -> tuple[Array, Array]:
    freedom = _freedom(shape)
    square = u * u / freedom
    half = 0.5 * freedom
    constant = special.gammaln(half + 0.5) - special.gammaln(half) - 0.5 * np.log(np.pi * freedom)
    slope = -(freedom + 1) / freedom * u / (1.0 + square)
    return constant - 0.5 * (freedom + 1) * np.log1p(square), slope


def _student_survival(u: Array, shape: Numbers) -> Array:
    if np.size(u) < _MANY or np.ndim(shape) > 0:
        return _exact_student(u, shape)
    root = float(np.sqrt(_freedom(shape)))
    stretch = max(root / 1.5, 1.0)  # of a distribution that is nearly normal the middle bends most

    def exact(x: Array) -> tuple[Array, Array]:
        at = root * np.sinh(x / stretch)
        value = _exact_student(at, shape)
        return value, -hazard_of(_student(at, shape)[0], value) * np.hypot(at, root) / stretch

    x = stretch * np.arcsinh(u / root)
    return _interpolated(np.asarray(x, dtype=np.float64), exact, lambda: _exact_student(u, shape))


def _interpolated(
    x: Array, exact: Callable[[Array], tuple[Array, Array]], otherwise: Callable[[], Array]
) -> Array:
    """Values at many points by cubics between exact values with exact slopes, to 1e-9.

    Distribution functions of a Student-t or a gamma take as long as thirty logarithms. `exact`
    gives values and slopes in a coordinate in which the curve bends little anywhere.
    """
    low, high = float(np.min(x)), float(np.max(x))
    if not high - low < 0.5 * x.size * _APART:  # few of them, or so far out that they are none
        return otherwise()
    n_nodes = int((high - low) / _APART) + 2
    value, slope = exact(low + _APART * np.arange(n_nodes, dtype=np.float64))
    slope = _APART * slope
    place = (x - low) / _APART
    left = np.minimum(place.astype(np.intp), n_nodes - 2)
    part = place - left
    rise = value[1:] - value[:-1]
    cubic, square = slope[:-1] + slope[1:] - 2.0 * rise, 3.0 * rise - 2.0 * slope[:-1] - slope[1:]
    return np.asarray(
        value[left] + part * (slope[left] + part * (square[left] + part * cubic[left]))
    )


def _exact_student(u: Array, shape: Numbers) -> Array:
    survival = special.stdtr(_freedom(shape), -u)
    log_density, slope = _student(u, shape)
    # Far up the survival underflows; there it is density over hazard, and the hazard about −slope.
    far = log_density - np.log(np.maximum(-slope, 1e-300))
    return np.where(survival > _LEAST, np.log(np.maximum(survival, 1e-300)), far)


def _freedom(shape: Numbers) -> Array:
    """Degrees of freedom: at least 2, so that the scale keeps its meaning."""
    least, most = _STUDENT_SHAPES
    return np.asarray(2.0 + np.exp(np.minimum(np.maximum(shape, least), most)))


def _gumbel(u: Array, shape: Numbers) -> tuple[Array, Array]:
    spread, rise = _steep(-u)
    return -u - spread, rise - 1.0


def _gumbel_survival(u: Array, shape: Numbers) -> Array:
    spread = np.exp(np.minimum(-u, _STEEPEST))
    # log(1 - exp(-spread)): for tiny spreads it is log(spread) = -u
    return np.where(u > 30.0, -u, np.log(np.maximum(-np.expm1(-spread), 1e-300)))


def _gumbel_below(u: Array, shape: Numbers) -> Array:
    return -_steep(-u)[0]


def _smallest(u: Array, shape: Numbers) -> tuple[Array, Array]:
    spread, rise = _steep(u)
    return u - spread, 1.0 - rise


def _smallest_survival(u: Array, shape: Numbers) -> Array:
    return -_steep(u)[0]


def _smallest_below(u: Array, shape: Numbers) -> Array:
    spread = np.exp(np.clip(u, -_FURTHEST, _STEEPEST))
    return np.asarray(np.log(-np.expm1(-spread)))


def _log_gamma(u: Array, shape: Numbers) -> tuple[Array, Array]:
    """Logarithm of a gamma with mean one and coefficient of variation σ, divided by σ.

    Its shape is a = σ⁻² and so tied to the scale: with a scale of σ the truth is a gamma.
    """
    a, sigma = _gamma_shape(shape)
    value, rise = _steep(sigma * u)
    constant = a * np.log(a) - special.gammaln(a) + np.log(sigma)
    return constant + a * (sigma * u - value), sigma * a * (1.0 - rise)


def _log_gamma_survival(u: Array, shape: Numbers) -> Array:
    return _of_many(u, shape, _exact_log_gamma_survival, -1.0)


def _of_many(u: Array, shape: Numbers, exact: _Tail, sign: float) -> Array:
    """Logarithm of a tail of the log-gamma, which falls or rises (`sign`) by its density."""
    if np.size(u) < _MANY or np.ndim(shape) > 0:
        return exact(u, shape)

    def both(at: Array) -> tuple[Array, Array]:
        value = exact(at, shape)
        return value, sign * hazard_of(_log_gamma(at, shape)[0], value)

    return _interpolated(u, both, lambda: exact(u, shape))


def _exact_log_gamma_survival(u: Array, shape: Numbers) -> Array:
    a, sigma = _gamma_shape(shape)
    value, rise = _steep(sigma * u)
    survival = special.gammaincc(a, a * value)
    # Far up the survival underflows; there it is density over hazard, whose continued fraction
    # needs but a few terms.
    above = np.maximum(a * value - a, 1.0)
    rest = above + 3.0 + 2.0 * (a - 2.0) / (above + 5.0)
    hazard = (above + 1.0 + (a - 1.0) / rest) / (a + above)
    far = _log_gamma(u, shape)[0] - np.log(sigma * a * np.maximum(rise, 1.0) * hazard)
    return np.where(survival > _LEAST, np.log(np.maximum(survival, 1e-300)), far)


def _log_gamma_below(u: Array, shape: Numbers) -> Array:
    return _of_many(u, shape, _exact_log_gamma_below, 1.0)


def _exact_log_gamma_below(u: Array, shape: Numbers) -> Array:
    a, sigma = _gamma_shape(shape)
    x = a * _steep(sigma * u)[0]
    below = special.gammainc(a, x)
    # Far down F(x) = x^a e^−x / Γ(a + 1) · (1 + x / (a + 1) + …), about a geometric series.
    series = np.log1p(-np.minimum(x / (a + 1.0), 0.99))
    far = a * (np.log(a) + sigma * u) - x - special.gammaln(a + 1.0) - series
    return np.where(below > _LEAST, np.log(np.maximum(below, 1e-300)), far)


def _steep(x: Array) -> tuple[Array, Array]:
    """Exponential and its slope, continued as a line before it overflows.

    A row that can hardly be explained must still say truly which way things get better.
    """
    rise = np.exp(np.minimum(x, _STEEPEST))
    return rise * (1.0 + np.maximum(x - _STEEPEST, 0.0)), rise


def _gamma_shape(shape: Numbers) -> tuple[Array, Array]:
    """Shape and coefficient of variation."""
    log_shape = np.clip(shape, *_GAMMA_SHAPES)
    return np.exp(log_shape), np.exp(-0.5 * log_shape)


def _skewed(u: Array, shape: Numbers) -> tuple[Array, Array]:
    """Minus the logarithm of a gamma, standardised: skewed to the right, smooth everywhere.

    The Gumbel has the shape a = 1; as a grows it becomes a normal, as a falls the skewness nears 2.
    """
    log_density, slope = _log_gamma(-u, _skewed_shape(shape))
    return log_density, -slope


def _skewed_quantile(level: Numbers, shape: Numbers) -> Array:
    a, sigma = _gamma_shape(_skewed_shape(shape))
    return np.asarray(-np.log(np.maximum(special.gammainccinv(a, level), 1e-300) / a) / sigma)


def _skewed_shape(shape: Numbers) -> Array:
    return np.asarray(np.clip(shape, *_SKEWED_SHAPES))


def _in_skewed_range(
    function: Callable[[Any, Numbers], _Value],
) -> Callable[[Any, Numbers], _Value]:
    """Clip the shape to those of skewed families."""
    return lambda u, shape: function(u, _skewed_shape(shape))


def _mirrored(tail: _Tail) -> _Tail:
    """Give the other tail of the mirrored distribution: of a symmetric one, its own."""
    return lambda u, shape: tail(-u, shape)


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
    return np.asarray(np.where(level < 0.5, np.log(2 * level), -np.log(2 * (1 - level))))


def _log_gamma_quantile(level: Numbers, shape: Numbers) -> Array:
    a, sigma = _gamma_shape(shape)
    return np.asarray(np.log(np.maximum(special.gammaincinv(a, level), 1e-300) / a) / sigma)


_NORMAL = (_normal, _normal_survival, _mirrored(_normal_survival), _normal_quantile)
_LOGISTIC = (_logistic, _logistic_survival, _mirrored(_logistic_survival), _logistic_quantile)
_LAPLACE = (_laplace, _laplace_survival, _mirrored(_laplace_survival), _laplace_quantile)
_STUDENT = (_student, _student_survival, _mirrored(_student_survival), _student_quantile)
_GUMBEL = (_gumbel, _gumbel_survival, _gumbel_below, _gumbel_quantile)
_SKEWED = (
    _skewed,
    _mirrored(_in_skewed_range(_log_gamma_below)),
    _mirrored(_in_skewed_range(_log_gamma_survival)),
    _skewed_quantile,
)
# Logarithm of a gamma, standardised: the mirror image, skewed to the left. The smaller of two
# normals, which is what sales of a normal demand with scattered orders are, is a skew-normal: this
# distribution comes close to it with nothing hidden.
_SKEWED_LEFT = (
    _in_skewed_range(_log_gamma),
    _in_skewed_range(_log_gamma_survival),
    _in_skewed_range(_log_gamma_below),
    _in_skewed_range(_log_gamma_quantile),
)
_SMALLEST = (_smallest, _smallest_survival, _smallest_below, _smallest_quantile)
_LOG_GAMMA = (_log_gamma, _log_gamma_survival, _log_gamma_below)

FAMILIES = {
    family.name: family
    for family in (
        Family("normal", "linear", *_NORMAL),
        Family("logistic", "linear", *_LOGISTIC),
        Family("laplace", "linear", *_LAPLACE),
        Family("student", "linear", *_STUDENT, shape=1.0, shapes=_STUDENT_SHAPES),
        Family("gumbel", "linear", *_GUMBEL),
        Family("skewed", "linear", *_SKEWED, shape=1.0, shapes=_SKEWED_SHAPES),
        Family("skewed_left", "linear", *_SKEWED_LEFT, shape=1.0, shapes=_SKEWED_SHAPES, left=True),
        Family("lognormal", "log", *_NORMAL),
        Family("weibull", "log", *_SMALLEST),
        Family("gamma", "log", *_LOG_GAMMA, _log_gamma_quantile, tied=True, shapes=_GAMMA_SHAPES),
        # counts.py has the likelihood; only the axis of a plot needs a quantile
        Family(
            "negative_binomial",
            "counts",
            *_LOG_GAMMA,
            _normal_quantile,
            tied=True,
            shapes=COUNT_SHAPES,
        ),
    )
}

#: Between the normal and the lognormal: a spread that grows with the level as that of counts does.
ROOT_NORMAL = Family("root_normal", "root", *_NORMAL)
