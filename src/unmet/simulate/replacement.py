"""Simulated parts that wear out, and planned replacements that hide when they would have failed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.costs import AgeReplacement
from unmet.costs.replacement import JumpCost
from unmet.lifetimes import Lognormal, Weibull, expected_cost, optimal_age
from unmet.lifetimes.distributions import Distribution, least_rate
from unmet.simulate.demand import Part, Simulated, streams
from unmet.validation import Number, OneOf, WholeNumber

LifetimeFamily = Literal["weibull", "lognormal"]
IntervalPolicy = Literal["fixed", "noisy", "features", "never"]

FEATURES = ("load", "temperature", "outdoors", "supplier")
_EFFECTS = np.array([-0.8, -0.25, -0.3, 0.0])  # on the logarithm of the lifetime


@dataclass(frozen=True, eq=False, kw_only=True)
class ReplacementPart(Part):
    """Parts of one period, with their lifetimes next to what the records show.

    Attributes
    ----------
    features : ndarray of shape (n_rows, 4)
        Load (0 to 1), temperature (standardised), outdoors and supplier (0 or 1). The supplier has
        no effect.
    feature_names : tuple of str
        Names of the features.
    distribution : Weibull or Lognormal
        Distribution of the lifetime, with one scale or median for each row.
    lifetimes : ndarray of shape (n_rows,)
        The truth: when each part fails if nobody replaces it.
    intervals : ndarray of shape (n_rows,)
        Planned replacement age; inf for none.
    times : ndarray of shape (n_rows,)
        The observation, min(lifetime, interval).

    Examples
    --------
    >>> from unmet.simulate import replacement
    >>> part = replacement(share=0.4).train
    >>> bool((part.times <= part.lifetimes).all()), round(part.share_censored, 1)
    (True, 0.4)
    """

    features: Array
    feature_names: tuple[str, ...]
    distribution: Distribution
    lifetimes: Array
    intervals: Array

    @cached_property
    def times(self) -> Array:
        """Observation, min(lifetime, interval)."""
        return np.minimum(self.lifetimes, self.intervals)

    @property
    def censored(self) -> NDArray[np.bool_]:
        """Rows replaced in time, whose lifetime is hidden."""
        return self.lifetimes > self.intervals

    def optimum(self, cost: JumpCost, *, together: bool = False) -> Array:
        """Find the best age of each row under its true distribution; inf if replacement never pays.

        Parameters
        ----------
        cost : AgeReplacement or PreventiveReplacement
            Cost of replacements.
        together : bool, default=False
            For `AgeReplacement` without a rate: whether to minimise the cost rate of all rows
            together and not that of each row.
        """
        if together and isinstance(cost, AgeReplacement) and cost.rate is None:
            cost = cost.at_rate(self.best_rate(cost))
        return np.broadcast_to(optimal_age(cost, self.distribution).age, self.times.shape)

    def best_rate(self, cost: AgeReplacement) -> float:
        """Find the least cost rate of all rows together under their true distributions.

        Parameters
        ----------
        cost : AgeReplacement
            Cost of replacements.
        """
        rate = float(
            np.sum(np.broadcast_to(cost.failure, len(self))) / np.sum(self.distribution.mean)
        )

        def cycles(rate: float) -> tuple[Array, Array]:
            age = optimal_age(cost.at_rate(rate), self.distribution).age
            return expected_cost(
                cost.at_rate(0.0), self.distribution, age
            ), self.distribution.interval_mean(age)

        return least_rate(cycles, rate, 1e-12)

    def to_polars(self) -> pl.DataFrame:
        """Make a table of features, times, suspensions and lifetimes."""
        columns = dict(zip(self.feature_names, self.features.T, strict=True))
        seen = {"time": self.times, "suspended": self.censored, "lifetime": self.lifetimes}
        return pl.DataFrame({**columns, **seen})


def replacement(
    family: LifetimeFamily = "weibull",
    *,
    policy: IntervalPolicy = "noisy",
    share: float = 0.5,
    n: int = 1000,
    n_test: int = 2000,
    seed: int = 0,
) -> Simulated[ReplacementPart]:
    """Simulate lifetimes with features, and the planned replacements that censor them.

    The logarithm of the lifetime is linear in the features (accelerated failure time)::

        log T = log 1000 − 0.8 load − 0.25 temperature − 0.3 outdoors + noise of the family

    The Weibull distribution has shape 3, and the logarithm of the lognormal one has deviation 0.4.

    Parameters
    ----------
    family : {"weibull", "lognormal"}, default="weibull"
        Family of the lifetime.
    policy : {"fixed", "noisy", "features", "never"}, default="noisy"
        Planned intervals: the same age for every part ("fixed"), scattered around one age
        ("noisy"), scattered around a share of the part's own median lifetime ("features"), or none
        ("never"). The scatter is a deviation of 0.4 of the logarithm.
    share : float, default=0.5
        Expected share of parts replaced in time, which determines the age. Ignored for "never".
    n, n_test : int
        Number of training rows and of test rows.
    seed : int, default=0
        Non-negative seed.

    Returns
    -------
    Simulated
        Data with `train` and `test`. Quantile functions transform uniform numbers into lifetimes,
        so families and policies of one seed share their randomness.

    Examples
    --------
    >>> from unmet import AgeReplacement
    >>> from unmet.simulate import replacement
    >>> data = replacement(share=0.4)
    >>> data.train.features.shape, round(data.train.share_censored, 1)
    ((1000, 4), 0.4)
    >>> cost = AgeReplacement(planned=1, failure=5)
    >>> best = data.test.optimum(cost, together=True)
    >>> cost.rate_of(best, data.test.lifetimes) < cost.rate_of(600, data.test.lifetimes)
    True
    """
    OneOf(*get_args(LifetimeFamily))("family", family)
    OneOf(*get_args(IntervalPolicy))("policy", policy)
    in_time = Number(above=0, below=1)("share", share)
    counts = WholeNumber(1)("n", n), WholeNumber(1)("n_test", n_test)
    drawn = streams(seed, 6)

    def part(count: int, design: np.random.Generator, luck: np.random.Generator) -> ReplacementPart:
        columns = (
            design.uniform(size=count),
            design.standard_normal(count),
            design.random(count) < 0.3,
            design.random(count) < 0.5,
        )
        features = np.column_stack(columns).astype(np.float64)
        middle = 1000.0 * np.exp(features @ _EFFECTS)
        distribution: Distribution = (
            Weibull(3.0, middle) if family == "weibull" else Lognormal(middle, 0.4)
        )
        # 0 is drawn once in 2⁵³ times, and would be a part that never worked
        lifetimes = np.maximum(distribution.quantile(luck.random(count)), np.finfo(np.float64).tiny)
        return ReplacementPart(
            features=features,
            feature_names=FEATURES,
            distribution=distribution,
            lifetimes=lifetimes,
            intervals=np.full(count, np.inf),
        )

    def plans(part: ReplacementPart, scattered: Array, age: float) -> Array:
        """Planned intervals around an age."""
        if policy == "fixed":
            return np.full(len(part), age)
        around = age * np.exp(0.4 * scattered)
        return around if policy == "noisy" else np.asarray(around * part.distribution.quantile(0.5))

    parts = [part(counts[0], *drawn[:2]), part(counts[1], *drawn[3:5])]
    if policy != "never":
        scattered = [drawn[2].standard_normal(counts[0]), drawn[5].standard_normal(counts[1])]
        # the age at which the expected share of the training rows is replaced in time
        low, high = np.log(1e-6), np.log(1e6 * float(np.max(parts[0].distribution.mean)))
        for _ in range(60):
            middle = 0.5 * (low + high)
            alive = parts[0].distribution.survival(
                plans(parts[0], scattered[0], float(np.exp(middle)))
            )
            low, high = (middle, high) if float(alive.mean()) > in_time else (low, middle)
        parts = [
            replace(each, intervals=plans(each, chance, float(np.exp(high))))
            for each, chance in zip(parts, scattered, strict=True)
        ]
    return Simulated(parts[0], parts[1], int(seed))
