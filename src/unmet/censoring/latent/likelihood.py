"""Log-likelihood of the observations under S = min(D, Q), row by row, with its gradient.

With u = (s − location) / scale and v = (u − level) / spread, a truth D and an order Q that are
independent given the features have, per row, ::

    seen      ℓ₁ = log f(u) − log scale + log B(v)
    censored  ℓ₂ = log S(u) + log(1 − π) + log φ(v) − log(scale · spread)
    unknown   log(exp ℓ₁ + exp ℓ₂)
    floor     log(1 − S(u) B(v)),   the observation is a lower bound of what can be observed
    below     log F(u),             the truth is below a limit
    between   log(F(u + w) − F(u)), the truth is between two limits, w apart in units of scale

where f and S are density and survival of the family, B(v) = π + (1 − π) Φ(−v) is the chance that
the stock lasts, and π that it is unlimited. Without orders B is 1 and their factor is left out of
ℓ₂: where every row is known to be censored or seen, that is censored regression.
The last two kinds occur without orders only: limits of the truth ask nothing of those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from unmet.arrays import Array, Numbers
from unmet.censoring.latent.families import Family, Terms, hazard_of, normal_terms

UNKNOWN, CENSORED, SEEN, FLOOR, BELOW, BETWEEN = 0, 1, 2, 3, 4, 5
_NARROW = 1e-5  # width in units of scale below which a probability is density times width


class Orders(NamedTuple):
    """Orders in units of the truth's scale: level, spread, and the chance of unlimited stock."""

    level: float
    spread: float
    unlimited: float = 0.0


class RowGradient(NamedTuple):
    """Log-likelihood of each row and its derivatives, each of shape (n_rows,)."""

    value: Array
    point: Array
    """In u, the order's place held relative to the location."""
    level: Array
    log_spread: Array
    unlimited: Array
    """In π."""
    density: Array
    """1 where the row enters with a density, 0 where with a probability: slope in −log scale.

    Between for a row between two limits: from 0 where they are far apart to 1 where they touch.
    """


@dataclass(frozen=True)
class RowKinds:
    """Which rows are known to be what.

    Attributes
    ----------
    kind : ndarray of int
        UNKNOWN, CENSORED, SEEN, FLOOR, BELOW or BETWEEN.
    censored, floor, between : ndarray of bool or None
        Rows of these kinds, BELOW with FLOOR; None where there are none.
    width : ndarray of shape (n_rows,) or None
        How far the upper limit of rows between two lies above their point.
    """

    kind: Array
    censored: NDArray[np.bool_] | None
    floor: NDArray[np.bool_] | None
    between: NDArray[np.bool_] | None = None
    width: Array | None = None

    @classmethod
    def of(cls, kind: Array, width: Array | None = None) -> RowKinds:
        """Look for the rarer kinds once."""
        found = [kind == CENSORED, (kind == FLOOR) | (kind == BELOW), kind == BETWEEN]
        censored, floor, between = (each if each.any() else None for each in found)
        return cls(kind, censored, floor, between, width)

    @property
    def interval_censored(self) -> bool:
        """Whether some truth is below a limit, or between two."""
        return self.between is not None or bool((self.kind == BELOW).any())

    def take(self, index: NDArray[np.intp]) -> RowKinds:
        """Keep some rows."""
        return RowKinds.of(self.kind[index], None if self.width is None else self.width[index])


def row_likelihood(
    family: Family,
    shape: Numbers,
    orders: Orders | None,
    u: Array,
    log_scale: Array,
    rows: RowKinds,
    *,
    order: Terms | None = None,
    slopes: bool = True,
) -> RowGradient:
    """Log-likelihood and gradient of each row; no gradient without `slopes`.

    Who asks for several shapes hands over the terms of the orders, which are the same for all.
    """
    if orders is None:
        return _without_orders(family, shape, u, log_scale, rows)
    truth = family.terms(u, shape)
    v = (u - orders.level) / orders.spread
    order = normal_terms(v) if order is None else order
    # logarithm of the chance that stock lasts, and minus its derivative in v
    lasts, lasts_slope = order.log_survival, order.hazard
    if orders.unlimited > 0.0:
        chance = orders.unlimited + (1.0 - orders.unlimited) * np.exp(order.log_survival)
        lasts = np.log(chance)
        lasts_slope = (1.0 - orders.unlimited) * np.exp(order.log_density - lasts)
    seen = truth.log_density + lasts - log_scale
    short = (
        np.log1p(-orders.unlimited)
        + order.log_density
        + truth.log_survival
        - np.log(orders.spread)
        - log_scale
    )
    value = both = np.logaddexp(seen, short)
    if rows.kind.any():
        censored, uncensored = rows.kind == CENSORED, rows.kind == SEEN
        value = np.where(censored, short, np.where(uncensored, seen, value))
    if rows.floor is not None:
        at = rows.floor
        below = family.log_below(u[at], _at(shape, at))
        sold_out = special.log_ndtr(v[at]) + np.log1p(-orders.unlimited)
        value[at] = np.logaddexp(below, truth.log_survival[at] + sold_out)
    if not slopes:
        return RowGradient(value, *[np.empty(0)] * 5)
    # the probability of having been seen, given the observation
    share = np.exp(seen - both)
    if rows.kind.any():
        share = np.where(censored, 0.0, np.where(uncensored, 1.0, share))
    other = 1.0 - share
    point = share * truth.slope - other * truth.hazard
    in_v = -share * lasts_slope - other * v
    if orders.unlimited > 0.0:
        survival = np.exp(order.log_survival)
        chance = np.exp(lasts)
        unlimited = share * (1.0 - survival) / chance - other / (1.0 - orders.unlimited)
    else:
        unlimited = np.zeros_like(u)
    log_spread = -other - v * in_v
    density = np.ones_like(u)
    if rows.floor is not None:
        at = rows.floor
        point[at] = _ratio(truth.log_density[at] + lasts[at], value[at])
        in_v[at] = _ratio(
            truth.log_survival[at] + order.log_density[at] + np.log1p(-orders.unlimited), value[at]
        )
        log_spread[at] = -v[at] * in_v[at]
        unlimited[at] = -_ratio(truth.log_survival[at] + special.log_ndtr(v[at]), value[at])
        density[at] = 0.0
    return RowGradient(
        value, point + in_v / orders.spread, -in_v / orders.spread, log_spread, unlimited, density
    )


def _without_orders(
    family: Family, shape: Numbers, u: Array, log_scale: Array, rows: RowKinds
) -> RowGradient:
    """Censored regression; rows of which nothing is known count as seen."""
    log_density, point = family.density(u, shape)
    value, density = log_density - log_scale, np.ones_like(u)
    if rows.censored is not None:
        at = rows.censored
        value[at] = family.log_survival(u[at], _at(shape, at))
        point[at] = -hazard_of(log_density[at], value[at])
        density[at] = 0.0
    if rows.floor is not None:
        at = rows.floor
        value[at] = family.log_below(u[at], _at(shape, at))
        point[at] = _ratio(log_density[at], value[at])
        density[at] = 0.0
    if rows.between is not None:
        at = rows.between
        assert rows.width is not None
        width = rows.width[at] * np.exp(-log_scale[at])
        value[at], point[at], density[at] = between(family, _at(shape, at), u[at], width)
    nothing = np.zeros_like(u)
    return RowGradient(value, point, nothing, nothing, nothing, density)


def between(family: Family, shape: Numbers, u: Array, width: Array) -> tuple[Array, Array, Array]:
    """Log-probability of a truth between u and u + width, its slope in u, and in log width.

    A difference of probabilities loses its digits where both are nearly the same: the difference is
    taken of the smaller tail, by way of logarithms, and of narrow limits the density is.
    """
    top = u + width
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        above, above_top = family.log_survival(u, shape), family.log_survival(top, shape)
        under, under_top = family.log_below(u, shape), family.log_below(top, shape)
        lower = under_top < above
        value = np.where(
            lower,
            under_top + np.log(-np.expm1(under - under_top)),
            above + np.log(-np.expm1(above_top - above)),
        )
    at_bottom, _ = family.density(u, shape)
    at_top, _ = family.density(top, shape)
    rise = _ratio(at_top, value)
    slope, in_width = rise - _ratio(at_bottom, value), width * rise
    narrow = ~(width >= _NARROW)
    if narrow.any():
        middle, middle_slope = family.density(u + 0.5 * width, shape)
        value = np.where(narrow, middle + np.log(np.maximum(width, 1e-300)), value)
        slope = np.where(narrow, middle_slope, slope)
        in_width = np.where(narrow, 1.0 + 0.5 * width * middle_slope, in_width)
    return value, slope, in_width


def _at(shape: Numbers, rows: NDArray[np.bool_]) -> Numbers:
    return shape[rows] if isinstance(shape, np.ndarray) else shape


def _ratio(log_numerator: Array, log_denominator: Array) -> Array:
    return np.asarray(np.exp(np.minimum(log_numerator - log_denominator, 50.0)))
