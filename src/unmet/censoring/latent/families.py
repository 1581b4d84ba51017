"""Standardised families of the truth: log-density, its slope, log-survival, quantile.

A truth is location + scale · Z, in units of the observation or, for positive data, of its logarithm
or its square root; a family is the distribution of Z. On the logarithmic scale the normal is the
lognormal, the smallest extreme value is the Weibull, and the log-gamma is the gamma. Mirrored, the
smallest extreme value is the Gumbel, and the log-gamma a family that is skewed to the right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import special

from unmet.arrays import Array, Numbers

Space: TypeAlias = Literal["linear", "root", "log", "counts"]
_LEAST = 1e-290  # probabilities that lose digits below
_STEEPEST = 30.0  # the square of its exponential, which whitening needs, is far from overflow


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
    base : str
        Which standardised distribution.
    mirrored : bool
        Whether minus Z follows the base.
    shape : float or None
        Logarithm of the shape parameter from which a fit starts; None for families without one.
    tied : bool
        Whether the shape follows from the scale, as −2 times its logarithm: the gamma's.
    shapes : tuple of two floats
        Range of the logarithm of the shape in which the distribution changes with it.
    """

    name: str
    space: Space
    base: str
    mirrored: bool = False
    shape: float | None = None
    tied: bool = False
    shapes: tuple[float, float] = (-np.inf, np.inf)

    def density(self, u: Array, shape: Numbers = 0.0) -> tuple[Array, Array]:
        """Logarithm of the density, and its slope."""
        sign = -1.0 if self.mirrored else 1.0
        value, slope = _BASES[self.base][0](sign * u, *self._shape(shape))
        return value, sign * slope

    def log_survival(self, u: Array, shape: Numbers = 0.0) -> Array:
        """Logarithm of the probability of more than u."""
        return self._log_tail(u, shape, above=not self.mirrored)

    def log_below(self, u: Array, shape: Numbers = 0.0) -> Array:
        """Logarithm of the probability of at most u."""
        return self._log_tail(u, shape, above=self.mirrored)

    def quantile(self, level: Numbers, shape: Numbers = 0.0) -> Array:
        """Quantile at a level."""
        quantile, known = _BASES[self.base][3], self._shape(shape)
        if self.mirrored:
            return np.asarray(-quantile(1.0 - np.asarray(level), *known))
        return np.asarray(quantile(np.asarray(level), *known))

    @property
    def deviation(self) -> float:
        """Half the distance between quantiles one normal deviation from the median, at a start."""
        if self.tied:
            return 1.0
        low, high = self.quantile(np.array([0.1587, 0.8413]), self.shape or 0.0)
        return float(0.5 * (high - low))

    def _shape(self, shape: Numbers) -> tuple[Numbers, ...]:
        """Give what functions of the base take beside the point."""
        return (np.clip(shape, *self.shapes),) if self.base in _SHAPED else ()

    def _log_tail(self, u: Array, shape: Numbers, *, above: bool) -> Array:
        """Logarithm of a tail of the base, above or below u, which is mirrored with the family.

        Distribution functions of a Student-t or a gamma take as long as several logarithms: at many
        points cubics between exact values with exact slopes, 0.02 apart, are right to 1e-9.
        """
        if self.mirrored:
            u = -u
        density, log_below, log_above, _ = _BASES[self.base]
        if log_above is None and above:  # symmetric
            u, above = -u, False
        exact, known = (log_above if above else log_below), self._shape(shape)
        slow = self.base in _SHAPED and np.ndim(shape) == 0 and np.size(u) > 2000
        reach = float(np.ptp(u)) if slow else np.inf
        if not reach < 0.005 * np.size(u):  # few points, or points far apart
            return np.asarray(exact(u, *known))
        step, low = 0.02, float(np.min(u))
        nodes = low + step * np.arange(int(reach / step) + 2, dtype=np.float64)
        value = exact(nodes, *known)
        slope = (-step if above else step) * ratio(density(nodes, *known)[0], value)
        at = (u - low) / step
        left = np.minimum(at.astype(np.intp), nodes.size - 2)
        part, rise = at - left, value[1:] - value[:-1]
        cubic = slope[:-1] + slope[1:] - 2.0 * rise
        square = 3.0 * rise - 2.0 * slope[:-1] - slope[1:]
        bent = part * (slope[left] + part * (square[left] + part * cubic[left]))
        return np.asarray(value[left] + bent)

    def __reduce__(self) -> tuple[Callable[[str], Family], tuple[str]]:
        """Travel by name."""
        return family_named, (self.name,)

    def __getstate__(self) -> dict[str, str]:
        """Give the name to formats that do not ask for more than the state."""
        return {"name": self.name}

    def __setstate__(self, state: dict[str, str]) -> None:
        vars(self).update(vars(family_named(state["name"])))


def family_named(name: str) -> Family:
    """One of `FAMILIES`, or one that only a stack has."""
    return FAMILIES.get(name) or STACKED[name]


def ratio(log_numerator: Array, log_denominator: Array) -> Array:
    """Quotient of two numbers whose logarithms are given, never infinite."""
    return np.asarray(np.exp(np.minimum(log_numerator - log_denominator, 50.0)))


def _normal(u: Array) -> tuple[Array, Array]:
    return -0.5 * u * u - 0.5 * np.log(2.0 * np.pi), -u


def _logistic(u: Array) -> tuple[Array, Array]:
    size = np.abs(u)
    return -size - 2.0 * np.log1p(np.exp(-size)), 1.0 - 2.0 * special.expit(u)


def _laplace(u: Array) -> tuple[Array, Array]:
    return -np.abs(u) - np.log(2.0), -np.sign(u)


def _laplace_below(u: Array) -> Array:
    size = np.abs(u)
    return np.where(u < 0, -size - np.log(2.0), np.log1p(-0.5 * np.exp(-size)))


def _laplace_quantile(level: Array) -> Array:
    return np.where(level < 0.5, np.log(2 * level), -np.log(2 * (1 - level)))


def _student(u: Array, shape: Numbers) -> tuple[Array, Array]:
    freedom = 2.0 + np.exp(shape)  # at least 2, so that the scale keeps its meaning
    square, half = u * u / freedom, 0.5 * freedom
    constant = special.gammaln(half + 0.5) - special.gammaln(half) - 0.5 * np.log(np.pi * freedom)
    slope = -(freedom + 1) / freedom * u / (1.0 + square)
    return constant - 0.5 * (freedom + 1) * np.log1p(square), slope


def _student_below(u: Array, shape: Numbers) -> Array:
    below = special.stdtr(2.0 + np.exp(shape), u)
    log_density, slope = _student(u, shape)
    # Far down it underflows; there it is density over hazard, and the hazard about the slope.
    far = log_density - np.log(np.maximum(slope, 1e-300))
    return np.where(below > _LEAST, np.log(np.maximum(below, 1e-300)), far)


def _student_quantile(level: Array, shape: Numbers) -> Array:
    return np.asarray(special.stdtrit(2.0 + np.exp(shape), level))


def _smallest(u: Array) -> tuple[Array, Array]:
    spread, rise = _steep(u)
    return u - spread, 1.0 - rise


def _smallest_below(u: Array) -> Array:
    # log(1 − exp(−e^u)), which is u far down
    return np.asarray(np.log(-np.expm1(-np.exp(np.clip(u, -700.0, _STEEPEST)))))


def _smallest_above(u: Array) -> Array:
    return -_steep(u)[0]


def _smallest_quantile(level: Array) -> Array:
    return np.asarray(np.log(-np.log1p(-level)))


def _log_gamma(u: Array, shape: Numbers) -> tuple[Array, Array]:
    """Logarithm of a gamma with mean one and coefficient of variation σ, divided by σ.

    Its shape is a = σ⁻²: with a scale of σ the truth is a gamma.
    """
    a, sigma = np.exp(shape), np.exp(-0.5 * shape)
    value, rise = _steep(sigma * u)
    constant = a * np.log(a) - special.gammaln(a) + np.log(sigma)
    return np.asarray(constant + a * (sigma * u - value)), sigma * a * (1.0 - rise)


def _log_gamma_above(u: Array, shape: Numbers) -> Array:
    a, sigma = np.exp(shape), np.exp(-0.5 * shape)
    value, rise = _steep(sigma * u)
    survival = special.gammaincc(a, a * value)
    # Far up the survival underflows; there it is density over hazard, whose continued fraction
    # needs but a few terms.
    above = np.maximum(a * value - a, 1.0)
    rest = above + 3.0 + 2.0 * (a - 2.0) / (above + 5.0)
    hazard = (above + 1.0 + (a - 1.0) / rest) / (a + above)
    far = _log_gamma(u, shape)[0] - np.log(sigma * a * np.maximum(rise, 1.0) * hazard)
    return np.asarray(np.where(survival > _LEAST, np.log(np.maximum(survival, 1e-300)), far))


def _log_gamma_below(u: Array, shape: Numbers) -> Array:
    a, sigma = np.exp(shape), np.exp(-0.5 * shape)
    x = a * _steep(sigma * u)[0]
    below = special.gammainc(a, x)
    # Far down F(x) = x^a e^−x / Γ(a + 1) · (1 + x / (a + 1) + …), about a geometric series.
    series = np.log1p(-np.minimum(x / (a + 1.0), 0.99))
    far = a * (np.log(a) + sigma * u) - x - special.gammaln(a + 1.0) - series
    return np.where(below > _LEAST, np.log(np.maximum(below, 1e-300)), far)


def _log_gamma_quantile(level: Array, shape: Numbers) -> Array:
    a, sigma = np.exp(shape), np.exp(-0.5 * shape)
    return np.asarray(np.log(np.maximum(special.gammaincinv(a, level), 1e-300) / a) / sigma)


def _steep(x: Array) -> tuple[Array, Array]:
    """Exponential and its slope, continued as a line before it overflows.

    A row that can hardly be explained must still say truly which way things get better.
    """
    rise = np.exp(np.minimum(x, _STEEPEST))
    return rise * (1.0 + np.maximum(x - _STEEPEST, 0.0)), rise


def _pair(share: float, gap: float) -> tuple[Any, Any, Any, Any]:
    """Two normals `gap` deviations apart, the lower of `share`; mean 0 and variance 1 in all."""
    size = float(np.sqrt(1.0 + share * (1.0 - share) * gap**2))
    logs, middles = np.log([share, 1.0 - share]), gap * np.array([share - 1.0, share])

    def mixed(u: Array, log_part: Callable[[Array], Array]) -> tuple[Array, list[Array]]:
        both = zip(logs, middles, strict=True)
        each = [log + log_part(size * np.asarray(u) - middle) for log, middle in both]
        return np.logaddexp(*each), each

    def density(u: Array) -> tuple[Array, Array]:
        value, each = mixed(u, lambda z: _normal(z)[0])
        low = ratio(each[0], value)
        return value + np.log(size), size * (low * middles[0] + (1.0 - low) * middles[1] - size * u)

    def below(u: Array) -> Array:
        return mixed(u, special.log_ndtr)[0]

    def above(u: Array) -> Array:
        return mixed(u, lambda z: special.log_ndtr(-z))[0]

    points = np.linspace(-8.0, 8.0, 4001)
    low, high = special.ndtri_exp(below(points)), -special.ndtri_exp(above(points))
    scores = np.where(points < 0, low, high)  # normal ones, nearly straight in the tails

    def quantile(level: Array) -> Array:
        return np.asarray(np.interp(special.ndtri(level), scores, points))

    return density, below, above, quantile


_PAIRS = {
    "flat": (0.5, 2.2),
    **{
        f"two groups ({share:.0%} low, {gap:g} deviations apart)": (share, gap)
        for share in (0.3, 0.5, 0.7)
        for gap in (3.0, 5.0)
    },
}
_BASES: dict[str, tuple[Any, Any, Any, Any]] = {
    "normal": (_normal, special.log_ndtr, None, special.ndtri),
    "logistic": (_logistic, special.log_expit, None, special.logit),
    "laplace": (_laplace, _laplace_below, None, _laplace_quantile),
    "student": (_student, _student_below, None, _student_quantile),
    "smallest": (_smallest, _smallest_below, _smallest_above, _smallest_quantile),
    "log_gamma": (_log_gamma, _log_gamma_below, _log_gamma_above, _log_gamma_quantile),
    **{name: _pair(*each) for name, each in _PAIRS.items()},
}
"""Log-density with its slope, log-probability below, above (None: symmetric), quantile."""
_SHAPED = ("student", "log_gamma")
"""Bases whose functions take the logarithm of a shape, too."""

FAMILIES = {
    family.name: family
    for family in (
        Family("normal", "linear", "normal"),
        Family("logistic", "linear", "logistic"),
        Family("laplace", "linear", "laplace"),
        Family("student", "linear", "student", shape=1.0, shapes=(-5.0, 6.0)),
        Family("gumbel", "linear", "smallest", mirrored=True),
        # the Gumbel where its shape is 1; a normal as the shape grows
        Family("skewed", "linear", "log_gamma", mirrored=True, shape=1.0, shapes=(-1.5, 7.0)),
        # As censoring makes any other distribution: the smaller of two normals, which is what sales
        # of a normal demand with scattered orders are, is close to it. Tried as a distribution of
        # which nothing is hidden only.
        Family("skewed_left", "linear", "log_gamma", shape=1.0, shapes=(-1.5, 7.0)),
        Family("lognormal", "log", "normal"),
        Family("weibull", "log", "smallest"),
        Family("gamma", "log", "log_gamma", tied=True, shapes=(-4.0, 12.0)),
        # counts.py has the likelihood; only the axis of a plot needs a quantile
        Family("negative_binomial", "counts", "normal", tied=True, shapes=(-5.0, 12.0)),
    )
}

#: Between the normal and the lognormal: a spread that grows with the level as that of counts does.
ROOT_NORMAL = Family("root_normal", "root", "normal")
#: Buyers of two kinds that features do not tell apart; a gap of 2.2 leaves one flat hump.
PAIRS = [Family(name, "linear", name) for name in _PAIRS]
STACKED = {family.name: family for family in (ROOT_NORMAL, *PAIRS)}
NORMAL = FAMILIES["normal"]
