"""The best age of replacement from lifetimes, suspensions among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from unmet.band import Array, common_rows
from unmet.costs.age_replacement import AgeReplacement
from unmet.costs.jump import JumpCost, Walk
from unmet.costs.replacement import PreventiveReplacement
from unmet.errors import InvalidInput, Unsupported
from unmet.replacement.ages import expected_cost, optimal_age
from unmet.replacement.fitting import (
    Flags,
    failure_weights,
    fit_lognormal,
    fit_weibull,
    read_lifetimes,
)
from unmet.replacement.laws import Law

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Method: TypeAlias = Literal["kaplan-meier", "weibull", "lognormal"]

_CURVE = 200


@dataclass(frozen=True, eq=False)
class ReplacementAge:
    """When to replace, according to some lifetimes.

    Attributes
    ----------
    age : float
        inf where no planned replacement pays.
    cost : float
        At that age: per unit of time, or discounted.
    run_to_failure : float
        The same without any planned replacement; nan where Kaplan and Meier cannot say, because
        parts of the largest time were suspended.
    ages, costs : ndarray of shape (n_ages,)
        The whole curve.
    method : str
    law : Law or None
        As fitted; None for Kaplan and Meier.
    interval : tuple of two floats, or None
        Where the age lies, if lifetimes were drawn again; inf among the ends is possible.
    n_failures, n_suspended : int
    notes : tuple of str
        What the answer rests on, in a sentence each.
    """

    age: float
    cost: float
    run_to_failure: float
    ages: Array = field(repr=False)
    costs: Array = field(repr=False)
    method: Method
    law: Law | None
    interval: tuple[float, float] | None
    n_failures: int
    n_suspended: int
    notes: tuple[str, ...]

    def __str__(self) -> str:
        if np.isinf(self.age):
            first = f"Never replace before a failure: cost {self.cost:.4g}."
        else:
            saved = 1 - self.cost / self.run_to_failure
            below = f", {saved:.0%} below running to failure" if np.isfinite(saved) else ""
            first = f"Replace at age {self.age:.4g}: cost {self.cost:.4g}{below}."
        lines = [first]
        if self.interval is not None:
            lines.append("Interval of the age: {:.4g} to {:.4g}.".format(*self.interval))
        lines.append(
            f"From {self.n_failures} failures and {self.n_suspended} suspensions ({self.method})."
        )
        return "\n".join([*lines, *self.notes])

    def plot(self) -> Figure:
        """Draw the cost over the age; needs matplotlib."""
        from unmet.replacement.picture import draw

        return draw({self.method: self})


def replacement_age(
    cost: JumpCost,
    times: ArrayLike,
    *,
    censored: Any = None,
    method: Method = "kaplan-meier",
    sample_weight: ArrayLike | None = None,
    confidence: float | None = None,
    resamples: int = 200,
    random_state: int = 0,
) -> ReplacementAge:
    """Find the best age of replacement from lifetimes of parts of one kind.

    Parameters
    ----------
    cost : AgeReplacement without a rate, or PreventiveReplacement
        The long-run cost per unit of time, or the discounted cost of the next replacement. Planned
        and failure costs are numbers.
    times : array-like of shape (n_rows,)
        When parts failed, or were last seen at work.
    censored : array-like of shape (n_rows,), optional
        True for suspensions: parts that had not failed. None: all have.
    method : {"kaplan-meier", "weibull", "lognormal"}, default="kaplan-meier"
        "kaplan-meier" assumes no family, and is the exact optimum under the product-limit estimate;
        it knows nothing beyond the largest time. The others fit a law.
    sample_weight : array-like of shape (n_rows,), optional
    confidence : float, optional
        Draw rows again, and give the interval that holds this share of the ages so found.
    resamples, random_state : int
        How often, and with which seed.

    Returns
    -------
    ReplacementAge

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.costs import AgeReplacement
    >>> generator = np.random.default_rng(1)
    >>> lifetimes = 1000 * generator.weibull(2.5, size=500)
    >>> suspended = lifetimes > 600  # replaced in time
    >>> times = np.minimum(lifetimes, 600)
    >>> cost = AgeReplacement(planned=1, failure=5)  # best age under the true law: 493
    >>> print(replacement_age(cost, times, censored=suspended, method="weibull"))
    Replace at age 445.4: cost 0.003536, 44% below running to failure.
    From 138 failures and 362 suspensions (weibull).
    """
    _check(cost, method)
    time, suspended, weight = read_lifetimes(times, censored, sample_weight)
    answer = _answer(cost, method, time, suspended, weight)
    if confidence is None:
        return answer
    if not isinstance(confidence, float) or not 0 < confidence < 1:
        raise InvalidInput(f"confidence must be a number between 0 and 1, got {confidence!r}.")
    if not isinstance(resamples, int | np.integer) or resamples < 10:
        raise InvalidInput(f"resamples must be a whole number of at least 10, got {resamples!r}.")
    ages = _drawn_again(cost, method, (time, suspended, weight), resamples, random_state)
    tail = 0.5 * (1.0 - confidence)
    # one of the ages, since between a number and infinity nothing can be interpolated
    low, high = np.quantile(ages, [tail, 1.0 - tail], method="inverted_cdf")
    return ReplacementAge(**{**vars(answer), "interval": (float(low), float(high))})


def _kaplan_meier(cost: JumpCost, time: Array, suspended: Flags, weight: Array) -> ReplacementAge:
    mass = failure_weights(time, suspended, sample_weight=weight)
    mass = mass / mass.sum()
    largest = float(time[weight > 0].max())
    if isinstance(cost, AgeReplacement):
        walk = Walk.of(time)
        alive, gone = walk.not_below(mass), walk.below(mass)
        served = walk.below(mass * time) + walk.shift * alive
        ages, costs = walk.shift, (cost.planned * alive + cost.failure * gone) / served
    else:
        ages, costs = cost.shift_totals(np.zeros(time.size), time, None, mass)
    best = int(np.argmin(costs))
    age, value, never = float(ages[best]), float(costs[best]), float("nan")
    ends_suspended = bool(suspended[(time == largest) & (weight > 0)].any())
    if not ends_suspended and isinstance(cost, AgeReplacement):
        never = float(np.asarray(cost.failure)) / float(mass @ time)
    elif not ends_suspended:
        never = float(mass @ cost.loss(np.full(time.size, 2.0 * largest), time))
    notes: tuple[str, ...] = ()
    if age == largest and ends_suspended:
        notes = (
            f"The cost still falls at the largest time, {largest:g}, and nothing is known of later "
            "ages: the best one is at least that.",
        )
    elif age == largest:
        age, value = float("inf"), never
    ages, first = np.unique(ages, return_index=True)
    counts = int((~suspended).sum()), int(suspended.sum())
    return ReplacementAge(
        age, value, never, ages, costs[first], "kaplan-meier", None, None, *counts, notes
    )


def _by_law(
    cost: JumpCost, time: Array, suspended: Flags, law: Law, method: Method
) -> ReplacementAge:
    best = optimal_age(cost, law)
    age, value, never = (float(np.asarray(each)) for each in vars(best).values())
    largest = float(time.max())
    notes: tuple[str, ...] = ()
    if np.isinf(age):
        notes = ("The fitted law has no age at which planned replacement pays.",)
    elif age > largest:
        notes = (f"The age lies beyond the largest time, {largest:g}: the law is extrapolated.",)
    top = max(largest, 1.5 * age if np.isfinite(age) else 0.0)
    ages = np.linspace(0.0, top, _CURVE + 1)[1:]
    counts = int((~suspended).sum()), int(suspended.sum())
    costs = expected_cost(cost, law, ages)
    return ReplacementAge(age, value, never, ages, costs, method, law, None, *counts, notes)


def _answer(
    cost: JumpCost, method: Method, time: Array, suspended: Flags, weight: Array
) -> ReplacementAge:
    if method == "kaplan-meier":
        return _kaplan_meier(cost, time, suspended, weight)
    law = _FITS[method](time, suspended, sample_weight=weight)
    return _by_law(cost, time, suspended, law, method)


_FITS: dict[Method, Callable[..., Law]] = {"weibull": fit_weibull, "lognormal": fit_lognormal}


def _drawn_again(
    cost: JumpCost, method: Method, rows: tuple[Array, Flags, Array], resamples: int, seed: int
) -> Array:
    """Ages from rows drawn with replacement; a draw that tells none is drawn anew."""
    generator = np.random.default_rng(seed)
    time, suspended, weight = rows
    ages: list[float] = []
    for _ in range(20 * resamples):
        if len(ages) == resamples:
            break
        index = generator.integers(0, time.size, time.size)
        try:
            some = read_lifetimes(time[index], suspended[index], weight[index])
            if method == "kaplan-meier":
                ages.append(_kaplan_meier(cost, *some).age)
            else:
                law = _FITS[method](*some[:2], sample_weight=some[2])
                ages.append(float(np.asarray(optimal_age(cost, law).age)))
        except InvalidInput:
            continue
    return np.array(ages)


def _check(cost: object, method: object) -> None:
    if not isinstance(cost, AgeReplacement | PreventiveReplacement):
        raise Unsupported(
            f"cost must be AgeReplacement or PreventiveReplacement, got {type(cost).__name__}."
        )
    if isinstance(cost, AgeReplacement) and cost.rate is not None:
        raise InvalidInput(
            f"rate of the cost must be None, since it is to be found, got {cost.rate!r}."
        )
    if common_rows(cost.parameters()) is not None:
        raise InvalidInput("The cost must be the same for all lifetimes, got one per row.")
    if method not in get_args(Method):
        raise InvalidInput(
            f"method must be 'kaplan-meier', 'weibull' or 'lognormal', got {method!r}."
        )
