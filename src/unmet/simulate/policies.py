"""What was in stock: order policies of the censoring lab.

Every policy but "history" and "never" starts from a level that moves with the features: the
row's mean of demand plus one shift for all rows, or the row's own quantile of demand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.optimize import bisect
from scipy.special import ndtri

from unmet.band import Array
from unmet.errors import InvalidInput
from unmet.evaluation.checks import as_number
from unmet.simulate.market import Market
from unmet.simulate.orders import History

Policy = Literal["piled", "noisy", "mixture", "history", "never"]
POLICIES: tuple[Policy, ...] = get_args(Policy)


@dataclass(frozen=True)
class Rule:
    """A policy and its numbers, checked; see `censoring_lab` for what they mean."""

    policy: Policy
    share: float | None = None
    quantile: float | None = None
    noise: float = 0.5
    ample: float = 0.5
    factor: float = 1.0
    on: History = "demand"

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise InvalidInput(f"orders must be one of {', '.join(POLICIES)}, got {self.policy!r}.")
        for name in ("share", "quantile"):
            if getattr(self, name) is not None:
                self._check_level(name)
        if self.share is not None and self.quantile is not None:
            raise InvalidInput(
                f"share must be None when quantile says where orders stand, got {self.share}."
            )
        if as_number("noise", self.noise) < 0:
            raise InvalidInput(f"noise must not be negative, got {self.noise}.")
        if not 0 <= as_number("ample", self.ample) < 1:
            raise InvalidInput(f"ample must be at least 0 and below 1, got {self.ample}.")
        if self.policy == "mixture" and self.share is not None and self.share + self.ample >= 1:
            raise InvalidInput(
                f"share must be below 1 - ample = {1 - self.ample:g}, got {self.share}."
            )

    def _check_level(self, name: str) -> None:
        value = getattr(self, name)
        if self.policy in ("history", "never"):
            raise InvalidInput(f'{name} must be None with orders="{self.policy}", got {value!r}.')
        if not 0 < as_number(name, value) < 1:
            raise InvalidInput(f"{name} must lie strictly between 0 and 1, got {value}.")


def policy_orders(rule: Rule, market: Market, generator: np.random.Generator) -> Array:
    """Orders of every row, for each policy that does not look at the past.

    The draws are the same whatever the policy, so policies can be compared seed by seed.
    """
    draws = generator.random((len(market.mean), 2))
    scatter = np.zeros(len(market.mean))
    if rule.policy == "noisy":
        scatter = rule.noise * market.deviation * _normal(draws[:, 0])
    if rule.policy == "never":
        return _plenty(market)
    binding = market.stocked(_level(rule, market, scatter) + scatter)
    if rule.policy == "mixture":
        return np.where(draws[:, 1] < rule.ample, _plenty(market), binding)
    return binding


def _level(rule: Rule, market: Market, scatter: Array) -> Array:
    if rule.quantile is not None:
        level: Array = market.distribution.ppf(rule.quantile)
        return level
    if rule.share is None:
        return market.mean
    binding = 1 - rule.ample if rule.policy == "mixture" else 1.0
    return market.mean + _shift(rule.share / binding, market, scatter)


def _shift(share: float, market: Market, scatter: Array) -> float:
    """Shift of all orders at which the expected share of sold-out rows is `share`."""
    first = np.arange(len(market.mean)) < market.n_train

    def excess(shift: float) -> float:
        sold_out = market.distribution.sf(market.stocked(market.mean + shift + scatter))
        return float(sold_out[first].mean()) - share

    # beyond the smallest and largest quantile, plus what scatters, every row is on one side
    reach = np.abs(market.distribution.ppf([[1e-9], [1 - 1e-9]]) - market.mean).max()
    most = float(reach + np.abs(scatter).max())
    if excess(-most) < 0:
        raise InvalidInput(
            f"share must be at most {excess(-most) + share:.3f}, "
            f"the share of rows with any demand, got {share}."
        )
    return float(bisect(excess, -most, most, xtol=1e-8 * most))


def _plenty(market: Market) -> Array:
    """Stock that never runs out: above the .999-quantile, and above demand where it is higher."""
    usual = np.maximum(market.distribution.ppf(0.999), market.demand)
    return market.stocked(usual + market.deviation)


def _normal(uniform: Array) -> Array:
    return np.asarray(ndtri(np.maximum(uniform, 2.0**-54)), dtype=np.float64)
