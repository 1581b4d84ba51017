"""Lifetimes with suspensions: weights of failures, distributions, the best age of replacement.

A suspension is a part that had not failed when it was last seen: replaced in time, or still at
work. Its lifetime is at least that long. To take it for a failure makes parts look worse than they
are, to leave it out makes them look worse still.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.optimize import brentq, minimize

from unmet.arrays import Array, common_rows, read_array
from unmet.costs.jump import JumpCost, Walk
from unmet.costs.replacement import AgeReplacement
from unmet.errors import InvalidInput, MissingPackage
from unmet.lifetimes.distributions import (
    Distribution,
    Lognormal,
    OptimalAge,
    Weibull,
    check_cost,
    expected_cost,
    optimal_age,
)
from unmet.validation import Number, OneOf, WholeNumber

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Flags: TypeAlias = NDArray[np.bool_]
Method: TypeAlias = Literal["kaplan-meier", "weibull", "lognormal"]

_CURVE = 200  # ages at which the cost under a fitted distribution is shown
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito


def failure_weights(
    times: ArrayLike,
    censored: Any = None,
    *,
    sample_weight: ArrayLike | None = None,
    groups: Any = None,
) -> Array:
    """Weights under which the failures alone have the distribution of Kaplan and Meier.

    The weight of a suspension is handed on to all later rows, in equal shares (Efron 1967), and of
    the last one it stays where it is. Given to any model as ``sample_weight``, they let it train on
    suspended lifetimes; rows of weight 0 do not count.

    Parameters
    ----------
    times : array-like of shape (n_rows,)
    censored : array-like of shape (n_rows,), optional
        True where the part had not failed. None: all have.
    sample_weight : array-like of shape (n_rows,), optional
    groups : array-like of shape (n_rows,), optional
        Weights are handed on within a group only. Suspensions must not depend on the lifetimes
        within a group, but may differ from group to group.

    Returns
    -------
    ndarray of shape (n_rows,)
        Non-negative, with the sum of the weights given.

    Examples
    --------
    >>> failure_weights([2, 3, 5, 8], [False, True, False, False])
    array([1. , 0. , 1.5, 1.5])
    """
    time, suspended, weight = read_lifetimes(times, censored, sample_weight)
    label = np.zeros(time.size) if groups is None else np.asarray(groups)
    if label.shape != time.shape:
        raise InvalidInput(
            f"groups must have one entry per row, got shape {label.shape} for {time.size} rows."
        )
    given = np.zeros(time.size)
    for each in np.unique(label):
        rows = np.flatnonzero(label == each)
        given[rows] = _handed_on(time[rows], suspended[rows], weight[rows])
    return given


def fit_weibull(
    times: ArrayLike, censored: Any = None, *, sample_weight: ArrayLike | None = None
) -> Weibull:
    """Weibull distribution of the greatest likelihood.

    Parameters
    ----------
    times, censored, sample_weight
        As in `failure_weights`; at least two different times, and one failure below the largest.

    Returns
    -------
    Weibull

    Examples
    --------
    >>> from unmet.data import load_sae
    >>> table = load_sae()
    >>> distribution = fit_weibull(table["time"], table["suspended"])
    >>> round(distribution.shape, 3), round(distribution.scale)
    (1.154, 134651)
    """
    time, suspended, weight = _enough(*read_lifetimes(times, censored, sample_weight))
    unit = float(np.exp(np.average(np.log(time), weights=weight)))
    logs, failed = np.log(time / unit), weight * ~suspended
    mean_log = float(failed @ logs / failed.sum())

    def slope(log_shape: float) -> float:
        """Profile score in the shape: rises from below 0 to above."""
        shape = float(np.exp(log_shape))
        power = weight * np.exp(shape * (logs - logs.max()))
        return float(power @ logs / power.sum()) - 1.0 / shape - mean_log

    shape = float(np.exp(brentq(slope, -12.0, 14.0, xtol=1e-13)))
    power = float(weight @ np.exp(shape * (logs - logs.max())) / failed.sum())
    scale = unit * float(np.exp(logs.max() + np.log(power) / shape))
    return Weibull(shape, scale)


def fit_lognormal(
    times: ArrayLike, censored: Any = None, *, sample_weight: ArrayLike | None = None
) -> Lognormal:
    """Lognormal distribution of the greatest likelihood.

    Parameters
    ----------
    times, censored, sample_weight
        As in `fit_weibull`.

    Returns
    -------
    Lognormal
    """
    time, suspended, weight = _enough(*read_lifetimes(times, censored, sample_weight))
    logs = np.log(time)
    centre, spread = float(np.average(logs, weights=weight)), float(np.std(logs))
    point, share = (logs - centre) / spread, weight / weight.sum()

    def minus_likelihood(theta: Array) -> tuple[float, Array]:
        """In location / deviation and 1 / deviation it is concave (Olsen 1978)."""
        steep = float(np.exp(theta[1]))
        z = steep * point - theta[0]
        hazard = np.exp(-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - special.log_ndtr(-z))
        value = np.where(suspended, special.log_ndtr(-z), theta[1] - 0.5 * z**2)
        by_z = np.where(suspended, -hazard, -z)
        by_steep = by_z * steep * point + ~suspended
        return -float(share @ value), np.array([share @ by_z, -(share @ by_steep)])

    found = minimize(minus_likelihood, np.zeros(2), jac=True, method="BFGS", options={"gtol": 1e-9})
    deviation = spread / float(np.exp(found.x[1]))
    return Lognormal(float(np.exp(centre + found.x[0] * deviation)), deviation)


def read_lifetimes(
    times: ArrayLike, censored: Any, sample_weight: ArrayLike | None
) -> tuple[Array, Flags, Array]:
    """Check times, flags and weights; keep every row."""
    time = np.atleast_1d(read_array("times", np.asarray(times, dtype=np.float64)))
    if not time.size:
        raise InvalidInput("times must hold at least one lifetime, got none.")
    if (time <= 0).any():
        row = int(np.argmax(time <= 0))
        raise InvalidInput(f"times must be positive, got {float(time[row])} in row {row}.")
    suspended = np.zeros(time.size, dtype=np.bool_)
    if censored is not None:
        given = np.asarray(censored)
        same = given.shape == time.shape
        if not same or not np.isin(given, (0, 1)).all():
            found = "something else" if same else f"{given.size} entries for {time.size} times"
            raise InvalidInput(
                f"censored must hold True or False for each of the times, got {found}."
            )
        suspended = given.astype(np.bool_)
    weight = np.ones(time.size)
    if sample_weight is not None:
        weight = np.asarray(sample_weight, dtype=np.float64)
        good = weight.shape == time.shape and np.isfinite(weight).all() and (weight >= 0).all()
        if not good or not weight.any():
            raise InvalidInput(
                "sample_weight must hold a non-negative number for each of the times, not all 0."
            )
    if not (weight > 0)[~suspended].any():
        raise InvalidInput(
            f"censored must be False in at least one row, got True in all {time.size} rows: "
            "without a failure nothing says how parts age."
        )
    return time, suspended, weight


def _enough(time: Array, suspended: Flags, weight: Array) -> tuple[Array, Flags, Array]:
    """Leave out rows without weight; refuse data for which no distribution is the likeliest."""
    kept = weight > 0
    time, suspended, weight = time[kept], suspended[kept], weight[kept]
    if time[~suspended].min() >= time.max():
        raise InvalidInput(
            "times must hold a failure below the largest time for a distribution to be fitted, "
            f"got none below {float(time.max()):g}."
        )
    return time, suspended, weight


def _handed_on(time: Array, suspended: Flags, weight: Array) -> Array:
    order = np.lexsort((suspended, time))  # where they tie, failures come first
    own, seen = weight[order], ~suspended[order]
    at_risk = np.cumsum(own[::-1])[::-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        dies = np.where(seen & (own > 0), own / at_risk, 0.0)
    alive = np.concatenate([[1.0], np.cumprod(1.0 - dies)])
    mass = alive[:-1] * dies
    # what was never seen to fail stays with the last rows, all suspended if anything is left
    last = (time[order] == time[weight > 0].max()) & ~seen
    if last.any():
        mass[last] += alive[-1] * own[last] / own[last].sum()
    given = np.zeros(time.size)
    given[order] = mass * weight.sum()
    return given


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
    distribution : Distribution or None
        As fitted; None for Kaplan and Meier.
    interval : tuple of two floats, or None
        Where the age lies, if lifetimes were drawn again; inf among the ends is possible.
    n_failures, n_suspended : int
    notes : tuple of str
        What the answer is based on, in a sentence each.
    """

    age: float
    cost: float
    run_to_failure: float
    ages: Array = field(repr=False)
    costs: Array = field(repr=False)
    method: Method
    distribution: Distribution | None
    interval: tuple[float, float] | None
    n_failures: int
    n_suspended: int
    notes: tuple[str, ...]

    def __str__(self) -> str:
        first = str(OptimalAge(self.age, self.cost, self.run_to_failure))
        lines = [f"{first.capitalize()}."]
        if self.interval is not None:
            lines.append("Interval of the age: {:.4g} to {:.4g}.".format(*self.interval))
        lines.append(
            f"From {self.n_failures} failures and {self.n_suspended} suspensions ({self.method})."
        )
        return "\n".join([*lines, *self.notes])

    def plot(self) -> Figure:
        """Draw the cost over the age; needs matplotlib."""
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
        it knows nothing beyond the largest time. The others fit a distribution.
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
    >>> cost = AgeReplacement(planned=1, failure=5)  # best age under the true distribution: 493
    >>> print(replacement_age(cost, times, censored=suspended, method="weibull"))
    Replace at age 445.4: cost 0.003536, 44% below running to failure.
    From 138 failures and 362 suspensions (weibull).
    """
    check_cost(cost)
    if isinstance(cost, AgeReplacement) and cost.rate is not None:
        raise InvalidInput(
            f"rate of the cost must be None, since it is to be found, got {cost.rate!r}."
        )
    if common_rows(cost.parameters()) is not None:
        raise InvalidInput("The cost must be the same for all lifetimes, got one per row.")
    OneOf(*get_args(Method))("method", method)
    time, suspended, weight = read_lifetimes(times, censored, sample_weight)
    if method == "kaplan-meier":
        answer = _kaplan_meier(cost, time, suspended, weight)
    else:
        distribution = _FITS[method](time, suspended, sample_weight=weight)
        answer = _by_distribution(cost, time, suspended, distribution, method)
    if confidence is None:
        return answer
    tail = 0.5 * (1.0 - Number(above=0, below=1)("confidence", confidence))
    count = WholeNumber(10)("resamples", resamples)
    ages = _drawn_again(cost, method, (time, suspended, weight), count, random_state)
    # one of the ages, since between a number and infinity nothing can be interpolated
    low, high = np.quantile(ages, [tail, 1.0 - tail], method="inverted_cdf")
    return replace(answer, interval=(float(low), float(high)))


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


def _by_distribution(
    cost: JumpCost, time: Array, suspended: Flags, distribution: Distribution, method: Method
) -> ReplacementAge:
    best = optimal_age(cost, distribution)
    age, value, never = (float(np.asarray(each)) for each in vars(best).values())
    largest = float(time.max())
    notes: tuple[str, ...] = ()
    if np.isinf(age):
        notes = ("The fitted distribution has no age at which planned replacement pays.",)
    elif age > largest:
        notes = (
            f"The age lies beyond the largest time, {largest:g}: the distribution is extrapolated.",
        )
    top = max(largest, 1.5 * age if np.isfinite(age) else 0.0)
    ages = np.linspace(0.0, top, _CURVE + 1)[1:]
    counts = int((~suspended).sum()), int(suspended.sum())
    costs = expected_cost(cost, distribution, ages)
    return ReplacementAge(
        age, value, never, ages, costs, method, distribution, None, *counts, notes
    )


_FITS: dict[Method, Callable[..., Distribution]] = {
    "weibull": fit_weibull,
    "lognormal": fit_lognormal,
}


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
                distribution = _FITS[method](*some[:2], sample_weight=some[2])
                ages.append(float(np.asarray(optimal_age(cost, distribution).age)))
        except InvalidInput:
            continue
    return np.array(ages)


def draw(answers: Mapping[str, ReplacementAge]) -> Figure:
    """Draw several answers to the same question in one plot; needs matplotlib.

    Parameters
    ----------
    answers : mapping of str to ReplacementAge
        By the names that the legend shows.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if not answers:
        raise InvalidInput("answers must hold at least one ReplacementAge, got none.")
    module = MissingPackage.or_load("plot()", "matplotlib.figure", "report")
    figure: Figure = module.Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    for place, (name, answer) in enumerate(answers.items()):
        colour = _COLOURS[place % len(_COLOURS)]
        style = "steps-pre" if answer.distribution is None else "default"
        axes.plot(answer.ages, answer.costs, color=colour, lw=1.8, label=name, drawstyle=style)
        if np.isfinite(answer.age):
            axes.plot(answer.age, answer.cost, "o", color=colour, ms=7)
        if answer.interval is not None:
            low, high = np.minimum(answer.interval, answer.ages[-1])
            axes.axvspan(low, high, color=colour, alpha=0.12, lw=0)
    least = [each.cost for each in answers.values()]
    axes.set_ylim(0.0, 2.5 * max(least))
    axes.set_xlim(left=0.0)
    axes.set_xlabel("age of replacement")
    axes.set_ylabel("cost")
    axes.legend(frameon=False)
    return figure
