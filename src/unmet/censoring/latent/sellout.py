"""Estimate what stock-outs hide if only their rate is known, or not even the rate.

Koziol and Green (1976): if every observation was an order with the same probability r, the hazards
of observation and truth have the ratio 1 to 1 − r. Then P(D > y) = P(S > y)^(1 − r) for every row,
and the truth's α-quantile is the observation's quantile at another level, equal for all rows. The
right r is unknown even if you give the rate: a shelf that was empty for the last hour hides little,
and observations that are orders may lie high or low. So r is a random *effective rate*, and
decisions cost least on average where E P(S > y)^(1 − r) = 1 − α.

The prior of r, before the rows are seen:

- if a rate was given: uniform from 0 to that rate;
- otherwise: one half at 0, and a density that falls to 0 at `MAX_SOLD_OUT`.

Evidence from the rows: demand of shops is skewed to the right, and orders cut the right tail off.
The skewness of the residuals of a linear model therefore falls with the share of days that sold
out.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from unmet.arrays import Array, Numbers
from unmet.censoring.model import MAX_SOLD_OUT
from unmet.validation import Number, refusal

NOTHING_HIDDEN = 0.5
"""Prior probability that no row is censored, where nothing is known."""
SKEWNESS, FALL, SPREAD = 0.125, 0.45, 0.06
"""Skewness of demand on real sets, its fall for each unit of the effective rate, and how far sets
differ. A smaller spread believes skewness more: simulated normal demand, of which nothing is
hidden, then costs more than 6% too much at a level of .9."""
_STEP = 0.01
_HAZARDS = np.linspace(0.0, 12.0, 2401)
"""Integrated hazards of the observation; the last counts as its end: six rows in a million."""


class RateRange(NamedTuple):
    """Sell-out rates that are thought possible."""

    low: float
    high: float

    @property
    def imposed(self) -> tuple[float, float]:
        """The middle, and how far it may be missed: a range more than a number."""
        return 0.5 * (self.low + self.high), max(0.01, 0.25 * (self.high - self.low))


ANY_RATE = RateRange(0.0, 1.0)
"""Nothing is known of the rate."""


def read_rate(value: Any) -> RateRange | None:
    """Read a number, or two, in [0, 1)."""
    if value is None:
        return None
    listed = isinstance(value, Iterable) and not isinstance(value, str)
    ends = list(value) if listed else [value, value]
    inside = Number(least=0, below=1)
    try:
        low, high = (inside("sellout_rate", end) for end in ends)
    except ValueError:
        allowed = "a number from 0 to below 1, or a range of two"
        raise refusal("sellout_rate", allowed, value) from None
    if low > high:
        raise refusal("sellout_rate", "a rate or a range from low to high, such as .1,.3", value)
    return RateRange(low, high)


def skewness(residual: Array, weight: Array | None = None) -> tuple[float, float]:
    """Give the skewness of the outer quantiles of residuals, in [-1, 1], and its variance.

    Hinkley (1975): (q(.95) + q(.05) − 2 q(.5)) / (q(.95) − q(.05)), 0 for symmetric residuals.
    """
    weight = np.ones(residual.size) if weight is None else weight
    low, middle, high = np.quantile(
        residual, (0.05, 0.5, 0.95), weights=weight, method="inverted_cdf"
    )
    count = float(weight.sum() ** 2 / (weight @ weight))
    return float((high + low - 2.0 * middle) / max(high - low, 1e-300)), 2.5 / count


class SelloutProfile:
    """Distribution of the truth from a share of sold-out rows, if nothing else is known of them.

    Parameters
    ----------
    rate : RateRange
        Given rates, or `ANY_RATE`.
    skewness : tuple of two floats, optional
        Skewness of the observations, and its variance. None uses the prior alone.

    Attributes
    ----------
    rates, weights : ndarray of shape (n_rates,)
        Effective rates, and the probability of each.
    """

    def __init__(self, rate: RateRange, skewness: tuple[float, float] | None = None) -> None:
        self.rate = rate
        top = MAX_SOLD_OUT if rate == ANY_RATE else max(rate.high, 1e-9)
        rates = self.rates = np.linspace(0.0, top, max(int(np.ceil(top / _STEP)), 1) + 1)
        if rate == ANY_RATE:
            weights = (1.0 - rates / top) ** 2
            weights *= (1.0 - NOTHING_HIDDEN) / weights[1:].sum()
            weights[0] = NOTHING_HIDDEN
        else:
            given = np.linspace(rate.low, rate.high, 21)[:, None]
            weights = ((rates <= given + 1e-9) / np.maximum(given, _STEP)).sum(axis=0)
        if skewness is not None:
            seen, variance = skewness
            off = seen - (SKEWNESS - FALL * rates)
            weights = weights * np.exp(-0.5 * off**2 / (SPREAD**2 + variance))
        self.weights = weights / weights.sum()

    @classmethod
    def exactly(cls, rate: float) -> SelloutProfile:
        """Take a rate for the effective one."""
        found = cls(RateRange(rate, rate))
        found.rates, found.weights = np.array([rate]), np.ones(1)
        return found

    @property
    def mean(self) -> float:
        """Effective rate that is expected."""
        return float(self.weights @ self.rates)

    @property
    def likely(self) -> tuple[float, float]:
        """Effective rates between which the true one lies with a probability of 80%."""
        below = np.cumsum(self.weights)
        low, high = np.searchsorted(below, (0.1, 0.9))
        return float(self.rates[low]), float(self.rates[high])

    def truth_level(self, rank: Numbers) -> Array:
        """Probability that the truth is at most the observation's quantile at `rank`."""
        hazard = -np.log1p(-np.minimum(rank, 1.0 - 1e-15))
        above = np.exp(-np.multiply.outer(hazard, 1.0 - self.rates))
        return np.asarray(1.0 - above @ self.weights)

    def observed_level(self, level: Numbers) -> Array:
        """Level of the observation at whose quantile the truth has its quantile at `level`."""
        return np.asarray(-np.expm1(-np.interp(level, self._reached, _HAZARDS)))

    @cached_property
    def _reached(self) -> Array:
        """Levels of the truth at hazards of the observation."""
        return self.truth_level(-np.expm1(-_HAZARDS))

    def sold_out(self, rank: Numbers) -> Array:
        """Probability that a row observed at this rank hides something: the effective rate."""
        return np.full(np.shape(rank), self.mean)
