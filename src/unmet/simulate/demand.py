"""Families of demand, each given by the mean and the standard deviation of every row.

Mean and deviation mean the same in every family, so a grid over families compares shapes and
nothing else. The quantile functions are those of ``scipy.stats``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from scipy import special, stats

from unmet.band import Array
from unmet.errors import InvalidInput
from unmet.evaluation.checks import as_number

Family = Literal[
    "normal",
    "logistic",
    "laplace",
    "student",
    "gumbel",
    "gamma",
    "gamma_noise",
    "lognormal",
    "weibull",
    "poisson",
    "negative_binomial",
]
FAMILIES: tuple[Family, ...] = get_args(Family)

#: Whole numbers, so orders are whole numbers, too.
COUNTS = frozenset({"poisson", "negative_binomial"})

#: Never negative: the spread of these grows with the mean unless something else is asked for.
POSITIVE = COUNTS | {"gamma", "lognormal", "weibull"}

#: What `shape` means: the degrees of freedom of Student's t, the shape of the gamma noise.
DEFAULT_SHAPES: Mapping[str, float] = MappingProxyType({"student": 5.0, "gamma_noise": 2.0})
_LEAST_SHAPES = {"student": 2.0, "gamma_noise": 0.0}

# a frozen distribution of scipy.stats with one entry per row: .ppf(level) and .sf(quantity)
Distribution: TypeAlias = Any


def distribution(family: Family, mean: Array, deviation: Array, shape: float = 0.0) -> Distribution:
    """Give the conditional distribution of demand, one for each row.

    Parameters
    ----------
    family : str
        One of `FAMILIES`.
    mean, deviation : ndarray of shape (n_rows,)
        Of demand. A Poisson demand has only a mean; a negative binomial one needs a variance
        above its mean; positive families need a positive mean.
    shape : float
        Of "student" and "gamma_noise" only, see `DEFAULT_SHAPES`.

    Examples
    --------
    >>> demand = distribution("laplace", np.array([100.0, 50.0]), np.array([20.0, 5.0]))
    >>> demand.ppf(0.75).round(2)
    array([109.8 ,  52.45])
    """
    if family in POSITIVE:
        return _positive(family, mean, deviation)
    return _location_scale(family, mean, deviation, shape)


def check_shape(family: Family, shape: float | None) -> float:
    """Read the shape of a family; 0 for a family without one."""
    if family not in DEFAULT_SHAPES:
        if shape is not None:
            raise InvalidInput(f'shape must be None for family "{family}", got {shape!r}.')
        return 0.0
    least = _LEAST_SHAPES[family]
    given = as_number("shape", DEFAULT_SHAPES[family] if shape is None else shape)
    if given <= least:
        raise InvalidInput(f'shape must be above {least:g} for family "{family}", got {shape!r}.')
    return given


def _location_scale(family: str, mean: Array, deviation: Array, shape: float) -> Distribution:
    """Families with a location and a scale."""
    match family:
        case "normal":
            return stats.norm(mean, deviation)
        case "logistic":
            return stats.logistic(mean, deviation * np.sqrt(3) / np.pi)
        case "laplace":
            return stats.laplace(mean, deviation / np.sqrt(2))
        case "student":
            return stats.t(shape, mean, deviation * np.sqrt((shape - 2) / shape))
        case "gumbel":
            unit = deviation * np.sqrt(6) / np.pi
            return stats.gumbel_r(mean - np.euler_gamma * unit, unit)
        case _:  # gamma noise: skewed like a gamma demand, but not tied to zero
            unit = deviation / np.sqrt(shape)
            return stats.gamma(shape, mean - shape * unit, unit)


def _positive(family: str, mean: Array, deviation: Array) -> Distribution:
    """Families that live above zero."""
    match family:
        case "gamma":
            return stats.gamma((mean / deviation) ** 2, scale=deviation**2 / mean)
        case "lognormal":
            variance = np.log1p((deviation / mean) ** 2)
            return stats.lognorm(np.sqrt(variance), scale=mean * np.exp(-variance / 2))
        case "weibull":
            exponent = _weibull_exponent(deviation / mean)
            return stats.weibull_min(exponent, scale=mean / special.gamma(1 + 1 / exponent))
        case "poisson":
            return stats.poisson(mean)
        case _:  # negative binomial: what exceeds the Poisson variance gives the size
            return stats.nbinom(mean**2 / (deviation**2 - mean), mean / deviation**2)


def _weibull_exponent(ratio: Array) -> Array:
    """Exponent k with deviation / mean = `ratio`; it falls in k, so bisection is safe.

    1 + ratio² = Γ(1 + 2/k) / Γ(1 + 1/k)².
    """
    target = np.log1p(ratio**2)
    low, high = np.full_like(ratio, np.log(0.1)), np.full_like(ratio, np.log(1e4))
    for _ in range(60):
        middle = (low + high) / 2
        inverse = np.exp(-middle)
        too_wide = special.gammaln(1 + 2 * inverse) - 2 * special.gammaln(1 + inverse) > target
        low, high = np.where(too_wide, middle, low), np.where(too_wide, high, middle)
    exponent: Array = np.exp((low + high) / 2)
    return exponent
