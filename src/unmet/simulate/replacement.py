"""Parts that wear out, and planned replacements that hide when they would have failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.costs import AgeReplacement
from unmet.costs.jump import JumpCost
from unmet.errors import InvalidInput
from unmet.evaluation.price import as_number
from unmet.replacement import Law, Lognormal, Weibull, expected_cost, optimal_age

if TYPE_CHECKING:
    import polars


LifetimeFamily: TypeAlias = Literal["weibull", "lognormal"]
IntervalPolicy: TypeAlias = Literal["fixed", "noisy", "features", "never"]

FEATURES = ("load", "temperature", "outdoors", "supplier")
_EFFECTS = np.array([-0.8, -0.25, -0.3, 0.0])  # on the logarithm of the lifetime
_BISECTIONS = 60
_ITERATIONS = 50


@dataclass(frozen=True, eq=False)
class ReplacementPart:
    """Parts of one period, the truth kept beside what the records show.

    Attributes
    ----------
    features : ndarray of shape (n_rows, 4)
        ``feature_names``: load (0 to 1), temperature (standardised), outdoors and supplier (0 or
        1). The supplier makes no difference.
    feature_names : tuple of str
    law : Weibull or Lognormal
        Of the lifetime, with one scale or median for each row.
    lifetimes : ndarray of shape (n_rows,)
        The truth: when each part fails if nobody replaces it.
    intervals : ndarray of shape (n_rows,)
        When it was to be replaced; inf where it never was.
    times : ndarray of shape (n_rows,)
        The observation, min(lifetime, interval).
    """

    features: Array
    feature_names: tuple[str, ...]
    law: Law
    lifetimes: Array
    intervals: Array
    times: Array

    def __len__(self) -> int:
        return len(self.times)

    @property
    def censored(self) -> NDArray[np.bool_]:
        """Rows replaced in time, whose lifetime is hidden."""
        return self.lifetimes > self.intervals

    @property
    def share_censored(self) -> float:
        """Share of rows replaced in time."""
        return float(self.censored.mean())

    def optimum(self, cost: JumpCost, *, together: bool = False) -> Array:
        """Best age of each row under its true law; inf where planned replacement does not pay.

        Parameters
        ----------
        cost : AgeReplacement or PreventiveReplacement
        together : bool, default=False
            Of `AgeReplacement` without a rate: the least cost rate of all rows together instead of
            each row's own.
        """
        if together and isinstance(cost, AgeReplacement) and cost.rate is None:
            cost = cost.at_rate(self.best_rate(cost))
        return np.broadcast_to(optimal_age(cost, self.law).age, self.times.shape)

    def best_rate(self, cost: AgeReplacement) -> float:
        """Least cost rate of all rows together under their true laws."""
        rate = float(np.sum(np.broadcast_to(cost.failure, len(self))) / np.sum(self.law.mean))
        for _ in range(_ITERATIONS):
            age = optimal_age(cost.at_rate(rate), self.law).age
            paid = expected_cost(cost.at_rate(0.0), self.law, age)
            new = float(paid.sum() / self.law.limited_mean(age).sum())
            if rate - new <= 1e-12 * rate:
                break
            rate = new
        return rate

    def to_polars(self) -> polars.DataFrame:
        """Make a table to look at: the features, time, suspended, lifetime."""
        import polars as pl

        columns = dict(zip(self.feature_names, self.features.T, strict=True))
        seen = {"time": self.times, "suspended": self.censored, "lifetime": self.lifetimes}
        return pl.DataFrame({**columns, **seen})


@dataclass(frozen=True, eq=False)
class ReplacementData:
    """Training and test rows of one seed."""

    train: ReplacementPart
    test: ReplacementPart
    seed: int


def replacement(
    family: LifetimeFamily = "weibull",
    *,
    policy: IntervalPolicy = "noisy",
    share: float = 0.5,
    noise: float = 0.4,
    level: float = 1000.0,
    shape: float = 3.0,
    deviation: float = 0.4,
    n: int = 1000,
    n_test: int = 2000,
    seed: int = 0,
) -> ReplacementData:
    """Simulate lifetimes with features, and the planned replacements that censor them.

    The logarithm of the lifetime is linear in the features (accelerated failure time)::

        log T = log level − 0.8 load − 0.25 temperature − 0.3 outdoors + noise of the family

    Parameters
    ----------
    family : {"weibull", "lognormal"}, default="weibull"
    policy : {"fixed", "noisy", "features", "never"}, default="noisy"
        Planned intervals: the same age for every part; around one age; around a share of the part's
        own median lifetime; none at all.
    share : float, default=0.5
        Expected share of parts replaced in time; it chooses that age. Without meaning for "never".
    noise : float, default=0.4
        Standard deviation of the logarithm of the interval, of "noisy" and "features".
    level : float, default=1000.0
        Scale (Weibull) or median (lognormal) of a part whose features are all 0.
    shape, deviation : float
        Of the Weibull law, and of the logarithm of the lognormal one.
    n, n_test : int
        Rows to train on and to test on.
    seed : int, default=0

    Returns
    -------
    ReplacementData
        With `train` and `test`. Uniform numbers are turned into lifetimes by their quantile
        function, so families and policies of one seed share their luck.

    Examples
    --------
    >>> data = replacement(share=0.4)
    >>> data.train.features.shape, round(data.train.share_censored, 1)
    ((1000, 4), 0.4)
    >>> cost = AgeReplacement(planned=1, failure=5)
    >>> best = data.test.optimum(cost, together=True)
    >>> cost.rate_of(best, data.test.lifetimes) < cost.rate_of(600, data.test.lifetimes)
    True
    """
    for name, value in (("noise", noise), ("level", level)):
        if as_number(name, value) <= 0:
            raise InvalidInput(f"{name} must be a positive number, got {value}.")
    if not 0 < as_number("share", share) < 1:
        raise InvalidInput(f"share must lie strictly between 0 and 1, got {share}.")
    _check(family, policy, n, n_test, seed)
    streams = [
        np.random.Generator(np.random.PCG64(child))
        for child in np.random.SeedSequence(int(seed)).spawn(6)
    ]
    sizes = ((n, streams[:3]), (n_test, streams[3:]))
    drawn = []
    for rows, (design, luck, plans) in sizes:
        features = _features(int(rows), design)
        typical = level * np.exp(features @ _EFFECTS)
        law: Law = Weibull(shape, typical) if family == "weibull" else Lognormal(typical, deviation)
        drawn.append((features, law, luck.random(rows), plans.standard_normal(rows)))
    age = _age(policy, share, noise, drawn[0])
    train, test = (_part(policy, noise, age, each) for each in drawn)
    return ReplacementData(train, test, int(seed))


_Drawn: TypeAlias = tuple[Array, Law, Array, Array]


def _features(n_rows: int, generator: np.random.Generator) -> Array:
    columns = (
        generator.uniform(size=n_rows),
        generator.standard_normal(n_rows),
        generator.random(n_rows) < 0.3,
        generator.random(n_rows) < 0.5,
    )
    return np.column_stack(columns).astype(np.float64)


def _plans(policy: IntervalPolicy, noise: float, age: float, drawn: _Drawn) -> Array:
    _, law, _, scatter = drawn
    if policy == "never":
        return np.full(scatter.size, np.inf)
    if policy == "fixed":
        return np.full(scatter.size, age)
    around = age * np.exp(noise * scatter)
    return around if policy == "noisy" else np.asarray(around * law.quantile(0.5))


def _age(policy: IntervalPolicy, share: float, noise: float, drawn: _Drawn) -> float:
    """Age at which the expected share of the training rows is replaced in time."""
    if policy == "never":
        return float("inf")
    low, high = np.log(1e-6), np.log(1e6 * float(np.max(drawn[1].mean)))
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        alive = drawn[1].survival(_plans(policy, noise, float(np.exp(middle)), drawn))
        low, high = (middle, high) if float(alive.mean()) > share else (low, middle)
    return float(np.exp(high))


def _part(policy: IntervalPolicy, noise: float, age: float, drawn: _Drawn) -> ReplacementPart:
    features, law, luck, _ = drawn
    lifetimes = law.quantile(luck)
    # 0 is drawn once in 2⁵³ times, and would be a part that never worked
    lifetimes = np.maximum(lifetimes, np.finfo(np.float64).tiny)
    intervals = _plans(policy, noise, age, drawn)
    times = np.minimum(lifetimes, intervals)
    return ReplacementPart(features, FEATURES, law, lifetimes, intervals, times)


def _check(family: object, policy: object, n: object, n_test: object, seed: object) -> None:
    if family not in get_args(LifetimeFamily):
        raise InvalidInput(f"family must be 'weibull' or 'lognormal', got {family!r}.")
    if policy not in get_args(IntervalPolicy):
        raise InvalidInput(
            f"policy must be 'fixed', 'noisy', 'features' or 'never', got {policy!r}."
        )
    for name, value, least in (("n", n, 1), ("n_test", n_test, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            kind = "a non-negative integer" if name == "seed" else "a positive integer"
            raise InvalidInput(f"{name} must be {kind}, got {value!r}.")
