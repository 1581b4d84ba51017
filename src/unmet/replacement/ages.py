"""The best age of replacement when the law of the lifetime is known.

Every criterion here has the same shape. Waiting a moment longer at age y costs h(y) (c − p) for the
risk of a failure, with h the hazard, p the planned and c the failure cost, and gains what time is
worth: the rate ρ of `AgeReplacement`, or r p where costs are discounted at r. So the best age is
where a rising hazard first reaches ::

    h(y) = ρ / (c − p)        or        h(y) = r p / (c − p),

unless running to failure is cheaper still. The long-run cost rate is its own price of time: start
with that of running to failure, take the best age at that price, its cost rate is the next price
(Dinkelbach 1967); the rates fall and converge faster than any geometric series.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from unmet.band import Array, Numbers, common_rows, read_array
from unmet.costs.age_replacement import AgeReplacement
from unmet.costs.jump import JumpCost
from unmet.costs.replacement import PreventiveReplacement
from unmet.errors import InvalidInput, Unsupported
from unmet.replacement.laws import Law

_ITERATIONS = 100
_CONVERGED = 1e-13


@dataclass(frozen=True)
class OptimalAge:
    """When to replace.

    Attributes
    ----------
    age : float or ndarray of shape (n_parts,)
        inf where no planned replacement pays: run to failure.
    cost : float or ndarray of shape (n_parts,)
        At that age: per unit of time, or discounted.
    run_to_failure : float or ndarray of shape (n_parts,)
        The same without any planned replacement.
    """

    age: Numbers
    cost: Numbers
    run_to_failure: Numbers

    def __str__(self) -> str:
        if np.ndim(self.age):
            return f"replacement ages of {np.size(self.age)} parts"
        if np.isinf(self.age):
            return f"never replace before a failure: cost {float(self.cost):.4g}"
        saved = 1.0 - float(self.cost) / float(self.run_to_failure)
        return (
            f"replace at age {float(self.age):.4g}: cost {float(self.cost):.4g}, "
            f"{saved:.0%} below running to failure"
        )


def optimal_age(cost: JumpCost, law: Law) -> OptimalAge:
    """Find the best age of replacement of parts whose law of lifetime is known.

    Parameters
    ----------
    cost : AgeReplacement or PreventiveReplacement
        `AgeReplacement` without a rate minimises the long-run cost per unit of time, of each part
        by itself; with a rate, the cost of a cycle less that price of its length.
        `PreventiveReplacement` minimises the expected discounted cost of the next replacement; its
        printed form is least for replacing at once, at age 0.
    law : Weibull or Lognormal

    Returns
    -------
    OptimalAge
        Arrays where costs or law have one number per part.

    Notes
    -----
    A finite age pays only for parts that wear out. A Weibull law of shape 1 or less has no rising
    hazard: the answer is inf, never replace, or with a discounted cost that favours it 0, at once.
    A lognormal hazard falls again in old age, so running to failure may be best although the hazard
    rises at first.

    Examples
    --------
    >>> from unmet.costs import AgeReplacement
    >>> from unmet.replacement import Weibull, optimal_age
    >>> cost = AgeReplacement(planned=1, failure=5)
    >>> print(optimal_age(cost, Weibull(shape=2.5, scale=1000)))
    replace at age 493: cost 0.003462, 39% below running to failure
    >>> print(optimal_age(cost, Weibull(shape=0.9, scale=1000)))
    never replace before a failure: cost 0.004752
    """
    _check(cost, law)
    common_rows({**cost.parameters(), **law.parameters()})
    never = expected_cost(cost, law, np.inf)
    if isinstance(cost, AgeReplacement):
        found = _cheapest_rate(cost, law) if cost.rate is None else _at_price(cost, law, cost.rate)
    else:
        assert isinstance(cost, PreventiveReplacement)
        found = _discounted(cost, law)
    value = expected_cost(cost, law, found)
    better = value < never * (1.0 - 1e-12) if np.all(never > 0) else value < never
    age, value = np.where(better, found, np.inf), np.where(better, value, never)
    if age.ndim == 0:
        return OptimalAge(float(age), float(value), float(never))
    return OptimalAge(age, value, np.broadcast_to(never, age.shape).copy())


def expected_cost(cost: JumpCost, law: Law, age: ArrayLike) -> Array:
    """Cost that is to be expected of replacing at an age, or at failure if that comes first.

    Parameters
    ----------
    cost : AgeReplacement or PreventiveReplacement
    law : Weibull or Lognormal
    age : float or array-like of shape (n_parts,)
        Non-negative; inf is running to failure.

    Returns
    -------
    ndarray
        Per unit of time for `AgeReplacement` without a rate, otherwise of one cycle.

    Examples
    --------
    >>> from unmet.costs import AgeReplacement
    >>> from unmet.replacement import Weibull, expected_cost
    >>> cost, law = AgeReplacement(planned=1, failure=5), Weibull(shape=2.5, scale=1000)
    >>> [round(float(expected_cost(cost, law, age)), 6) for age in (250, 493, float("inf"))]
    [0.004532, 0.003462, 0.005635]
    """
    _check(cost, law)
    at = np.asarray(age, dtype=np.float64)
    if np.isnan(at).any() or (at < 0).any():
        raise InvalidInput("age must be non-negative or inf, got a negative one or nan.")
    survives = law.survival(at)
    if isinstance(cost, AgeReplacement):
        paid = cost.planned * survives + cost.failure * (1.0 - survives)
        served = law.limited_mean(at)
        if cost.rate is not None:
            return np.asarray(paid - cost.rate * served)
        with np.errstate(divide="ignore"):
            return np.asarray(paid / served)
    assert isinstance(cost, PreventiveReplacement)
    failed = cost.failure * law.discounted_failure(at, cost.discount)
    if cost.form == "printed":  # discounted at the failure, whichever comes first
        later = law.discounted_failure(np.inf, cost.discount) - failed / cost.failure
        return np.asarray(failed + cost.planned * later)
    with np.errstate(invalid="ignore"):
        waited = np.exp(-(cost.discount * at))
    return np.asarray(failed + cost.planned * waited * survives)


def _cheapest_rate(cost: AgeReplacement, law: Law) -> Array:
    """Ages at which the long-run cost rate is least, by Dinkelbach's iteration."""
    rate: Array = np.asarray(cost.failure / np.asarray(law.mean))
    age = np.full(rate.shape, np.inf)
    for _ in range(_ITERATIONS):
        age = _at_price(cost, law, rate)
        new = np.minimum(expected_cost(cost, law, age), rate)
        if np.all(rate - new <= _CONVERGED * rate):
            break
        rate = new
    return age


def _at_price(cost: AgeReplacement, law: Law, rate: Numbers) -> Array:
    """Best ages at a price of time: where the hazard reaches it, at once where it never does."""
    age = law.age_at_hazard(rate / (np.asarray(cost.failure) - cost.planned))
    never = expected_cost(cost.at_rate(rate), law, np.inf)
    return np.where(np.isinf(age) & (cost.planned < never), 0.0, age)


def _discounted(cost: PreventiveReplacement, law: Law) -> Array:
    """Where the hazard reaches r p / (c − p); at once where it never rises to it."""
    worth = np.asarray(cost.discount) * cost.planned
    age = law.age_at_hazard(worth / (np.asarray(cost.failure) - cost.planned))
    if cost.form == "printed":
        return np.zeros(age.shape)
    at_once = np.isinf(age) & (cost.planned < expected_cost(cost, law, np.inf))
    return np.where(at_once, 0.0, age)


def _check(cost: object, law: object) -> None:
    if not isinstance(cost, AgeReplacement | PreventiveReplacement):
        raise Unsupported(
            f"cost must be AgeReplacement or PreventiveReplacement, got {type(cost).__name__}."
        )
    if not isinstance(law, Law):
        raise Unsupported(f"law must be Weibull or Lognormal, got {type(law).__name__}.")


def read_times(name: str, times: ArrayLike) -> Array:
    """Read lifetimes, which are positive."""
    read = np.atleast_1d(read_array(name, times))
    if not read.size:
        raise InvalidInput(f"{name} must hold at least one lifetime, got none.")
    if (read <= 0).any():
        row = int(np.argmax(read <= 0))
        raise InvalidInput(f"{name} must be positive, got {float(read[row])} in row {row}.")
    return read
