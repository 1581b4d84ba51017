"""Lifetimes with suspensions: weights of failures, distributions, the best age of replacement.

A suspension is a part that had not failed when it was last seen: replaced in time, or still at
work. Its lifetime is at least that long. To take it for a failure makes parts look worse than they
are, to leave it out makes them look worse still.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.optimize import brentq, minimize
from sklearn.base import clone

from unmet.arrays import (
    Array,
    Band,
    Features,
    check_length,
    common_rows,
    non_negative,
    positive,
    read_flags,
)
from unmet.censoring.latent.band import LatentBand
from unmet.costs.replacement import AgeReplacement, JumpCost, Walk
from unmet.errors import InvalidInput, Unsupported
from unmet.estimators.base import DecisionModel
from unmet.lifetimes.distributions import (
    Distribution,
    Lognormal,
    ReplacementAge,
    Weibull,
    expected_cost,
    least_rate,
    optimal_age,
)
from unmet.rows import read_features
from unmet.solvers.descent.jumps import LEVELS, best_ages
from unmet.validation import Number, OneOf, WholeNumber

Model = TypeVar("Model", bound=DecisionModel)
Flags: TypeAlias = NDArray[np.bool_]
Method: TypeAlias = Literal["weibull", "lognormal", "kaplan-meier"]
_FEW = 10  # failures below which an age is called a guess


def failure_weights(
    times: ArrayLike, censored: Any = None, *, sample_weight: ArrayLike | None = None
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


def fit_weibull(
    times: ArrayLike,
    censored: Any = None,
    *,
    sample_weight: ArrayLike | None = None,
    entry: ArrayLike | None = None,
) -> Weibull:
    """Weibull distribution of the greatest likelihood.

    Parameters
    ----------
    times, censored, sample_weight
        As in `failure_weights`; at least two different times, and one failure below the largest.
    entry : array-like of shape (n_rows,), optional
        Age of each part when records began, below its time; 0 for one that was new. Parts that had
        failed before are not in the records, so a part says nothing of the ages before its entry.

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
    time, suspended, weight = read_lifetimes(times, censored, sample_weight)
    began = read_entry(entry, time)[weight > 0]
    time, suspended, weight = _enough(time, suspended, weight)
    unit = float(np.exp(np.average(np.log(time), weights=weight)))
    logs, failed = np.log(time / unit), weight * ~suspended
    mean_log, late = float(failed @ logs / failed.sum()), began > 0.0
    # what a part had survived before records began is taken off its integrated hazard
    ends = np.concatenate([logs, np.log(began[late] / unit)])
    counts = np.concatenate([weight, -weight[late]])

    def slope(log_shape: float) -> float:
        """Profile score in the shape: without entries it rises from below 0 to above."""
        shape = float(np.exp(log_shape))
        power = counts * np.exp(shape * (ends - logs.max()))
        return float(power @ ends / power.sum()) - 1.0 / shape - mean_log

    least = -3.0 if late.any() else -12.0
    if slope(least) >= 0.0:
        raise InvalidInput(
            "entry must leave parts that were seen long enough to tell how they age, got parts for "
            "which no Weibull distribution is the likeliest."
        )
    shape = float(np.exp(brentq(slope, least, 14.0, xtol=1e-13)))
    power = float(counts @ np.exp(shape * (ends - logs.max())) / failed.sum())
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
    time = np.atleast_1d(np.asarray(positive("times", np.asarray(times, dtype=np.float64))))
    suspended = np.zeros(time.size, dtype=np.bool_)
    if censored is not None:
        suspended = read_flags("censored", censored, time.size, missing=False) == 1
    weight = np.ones(time.size)
    if sample_weight is not None:
        weight = np.asarray(non_negative("sample_weight", sample_weight))
        check_length("sample_weight", weight.size, time.size)
    if not (weight > 0)[~suspended].any():
        raise InvalidInput(
            f"censored must be False in at least one row with weight, got {time.size} rows without "
            "a failure: nothing says how parts age."
        )
    return time, suspended, weight


def read_entry(entry: ArrayLike | None, time: Array) -> Array:
    """Ages at which parts came into the records, each below its time; 0 where nobody says."""
    if entry is None:
        return np.zeros(time.size)
    began = np.asarray(non_negative("entry", np.asarray(entry, dtype=np.float64)))
    check_length("entry", began.size, time.size)
    if (began >= time).any():
        row = int((began >= time).argmax())
        raise InvalidInput(
            f"entry must be below the time of each row, got {began[row]:g} and {time[row]:g} in "
            f"row {row}."
        )
    return began


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


def replacement_age(
    cost: JumpCost,
    times: ArrayLike,
    *,
    censored: Any = None,
    method: Method = "weibull",
    sample_weight: ArrayLike | None = None,
    entry: ArrayLike | None = None,
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
    method : {"weibull", "lognormal", "kaplan-meier"}, default="weibull"
        The first two fit a distribution. "kaplan-meier" assumes no family, and is the exact optimum
        under the product-limit estimate; it knows nothing beyond the largest time, and needs many
        failures (with 50 of 100 Weibull lives seen to end it costs 4.9% more than the best age, a
        Weibull distribution 0.2%).
    sample_weight : array-like of shape (n_rows,), optional
    entry : array-like of shape (n_rows,), optional
        Age of each part when records began, 0 for one that was new (delayed entry); of the method
        "weibull".
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
    Replace at age 445.4: cost 0.003536, 44% less than replacement at failure.
    Failures: 138, suspensions: 362 (method weibull).
    """
    if isinstance(cost, AgeReplacement) and cost.rate is not None:
        raise InvalidInput(
            f"rate of the cost must be None, since it is to be found, got {cost.rate!r}."
        )
    if common_rows(cost.parameters()) is not None:
        raise InvalidInput("The cost must be the same for all lifetimes, got one per row.")
    OneOf(*get_args(Method))("method", method)
    if entry is not None and method != "weibull":
        raise Unsupported(f"entry is only used by method 'weibull', got method {method!r}.")
    time, suspended, weight = read_lifetimes(times, censored, sample_weight)
    began = read_entry(entry, time)
    answer = _found(cost, method, time, suspended, weight, began)
    if confidence is None:
        return answer
    tail = 0.5 * (1.0 - Number(above=0, below=1)("confidence", confidence))
    count = WholeNumber(10)("resamples", resamples)
    generator = np.random.default_rng(random_state)
    ages: list[float] = []
    for _ in range(20 * count):
        if len(ages) == count:
            break
        index = generator.integers(0, time.size, time.size)
        try:
            some = read_lifetimes(time[index], suspended[index], weight[index])
            ages.append(float(_found(cost, method, *some, began[index]).age))
        except InvalidInput:  # rows that tell no age are drawn anew
            continue
    # one of the ages, since between a number and infinity nothing can be interpolated
    low, high = np.quantile(ages, [tail, 1.0 - tail], method="inverted_cdf")
    return replace(answer, interval=(float(low), float(high)))


def few_failures(count: int) -> tuple[str, ...]:
    """Warn of ages that follow from hardly any failure."""
    if count >= _FEW:
        return ()
    return (f"The age is very uncertain with fewer than {_FEW} failures: there are {count}.",)


def _found(
    cost: JumpCost, method: Method, time: Array, suspended: Flags, weight: Array, entry: Array
) -> ReplacementAge:
    """Best age from lifetimes, without its interval."""
    notes: tuple[str, ...] = (
        f"Failures: {(~suspended).sum()}, suspensions: {suspended.sum()} (method {method}).",
        *few_failures(int((~suspended).sum())),
    )
    if method == "kaplan-meier":
        return _kaplan_meier(cost, time, suspended, weight, notes)
    distribution: Distribution = (
        fit_weibull(time, suspended, sample_weight=weight, entry=entry)
        if method == "weibull"
        else fit_lognormal(time, suspended, sample_weight=weight)
    )
    best, largest = optimal_age(cost, distribution), float(time.max())
    age = float(best.age)
    if np.isinf(age):
        notes += ("In the fitted distribution, replacement at failure is cheapest.",)
    elif age > largest:
        notes += (
            f"The age is beyond the largest time, {largest:g}: the distribution is extrapolated.",
        )
    top = max(largest, 1.5 * age if np.isfinite(age) else 0.0)
    ages = np.linspace(0.0, top, 201)[1:]
    return replace(best, ages=ages, costs=expected_cost(cost, distribution, ages), notes=notes)


def _kaplan_meier(
    cost: JumpCost, time: Array, suspended: Flags, weight: Array, notes: tuple[str, ...]
) -> ReplacementAge:
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
    if age == largest and ends_suspended:
        notes += (
            f"The best age is at least the largest time, {largest:g}: the cost still falls there, "
            "and there are no data beyond it.",
        )
    elif age == largest:
        age, value = float("inf"), never
    ages, first = np.unique(ages, return_index=True)
    return ReplacementAge(age, value, never, None, ages, costs[first], notes=notes)


# --- Ages by features: trained, or from the distribution of a latent model.


def fit_rate(
    model: Model,
    X: Any,
    y: ArrayLike,
    *,
    censored: Any = None,
    sample_weight: ArrayLike | None = None,
    tol: float = 1e-4,
) -> Model:
    """Train a model for the least cost per unit of time of all rows together.

    The cost rate of a fleet is a ratio of two sums. Dinkelbach's iteration turns it into sums:
    train at a price of time, take the cost rate of the decisions as the next price, until it no
    longer falls. The first price is the rate of running to failure.

    No age is below the first failure: until then no part had failed, so waiting costs nothing in
    any row. A linear model would go on below it, and below 0, so its ages are held there.

    Parameters
    ----------
    model : LinearDecision, NeuralDecision or BoostedDecision
        With the cost `AgeReplacement`, whose rate is to be found, and no band rule. It is not
        fitted itself. `LinearDecision` takes ``solver="smoothed"``, or "exact" for groups.
    X : table or array-like of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
        When parts failed, or were last seen at work.
    censored : array-like of shape (n_rows,), optional
        True for suspensions; their weight is handed on to later failures (`failure_weights`), so
        suspensions must not depend on the features. Where they do, see `latent_ages`.
    sample_weight : array-like of shape (n_rows,), optional
    tol : float, default=1e-4
        Share by which the rate must fall to go on.

    Returns
    -------
    DecisionModel
        A fitted copy, of which ``cost_.rate`` is the cost rate found and ``least_`` the first
        failure, the least age that it predicts.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import LinearDecision
    >>> from unmet.costs import AgeReplacement
    >>> generator = np.random.default_rng(0)
    >>> hot = np.repeat([0.0, 1.0], 1000)[:, None]
    >>> times = 1000 * 0.5 ** hot[:, 0] * generator.weibull(3, size=2000)
    >>> fitted = fit_rate(LinearDecision(AgeReplacement(planned=1, failure=5)), hot, times)
    >>> fitted.predict([[0], [1]]).round(), round(fitted.cost_.rate, 5)
    (array([546., 150.]), 0.00384)
    """
    cost = model.cost
    if not isinstance(cost, AgeReplacement):
        raise InvalidInput(f"cost of the model must be AgeReplacement, got {cost!r}.")
    band = model.band
    if band is not None and not isinstance(band, Band):
        raise InvalidInput(
            f"band of the model must be a Band or None, got {band!r}: give censored= instead, or "
            "see latent_ages."
        )
    time, suspended, own = read_lifetimes(y, censored, sample_weight)
    weight = failure_weights(time, suspended, sample_weight=own)
    if sample_weight is None and not suspended.any():
        weight = np.ones(time.size)
    never = np.full(time.size, 2.0 * float(cost.align(0.0, time, band).top.max()))
    rate = cost.rate_of(never, time, band, sample_weight=weight)
    first = float(cost.align(0.0, time, band).top[weight > 0].min())
    best: Model | None = None
    for round_ in range(30):  # a handful suffice
        fresh = clone(model).set_params(cost=cost.at_rate(rate))
        fresh.fit(X, time, sample_weight=weight)
        fresh.least_ = first
        new = cost.rate_of(fresh.predict(X), time, band, sample_weight=weight)
        falls = new < rate * (1.0 - tol)
        if best is None or new < rate:
            best, rate = fresh, min(new, rate)
            best.cost_ = cost.at_rate(rate)  # the rate of its own decisions
        if not falls and round_:
            break
    assert best is not None
    late = float(np.mean(best.predict(X) > time.max()))
    if late > 0.05:
        warnings.warn(
            f"{late:.0%} of the ages are beyond the longest time, {time.max():g}, without data "
            "there: use latent_ages for these rows.",
            UserWarning,
            stacklevel=2,
        )
    return best


def latent_ages(
    rule: LatentBand, X: Any, cost: JumpCost | None = None, *, together: bool = False
) -> Array:
    """Best age of replacement of each row under the distribution that the rule has learned.

    `LatentBand` fits families of lifetimes ("weibull", "lognormal" and others) in the features, in
    which suspensions count as what they are: give it ``censored=``. Its distribution of each row
    prices every age, so no further model is trained.

    Parameters
    ----------
    rule : LatentBand
        Fitted to the times.
    X : table, array-like or sparse matrix of shape (n_rows, n_features)
    cost : AgeReplacement or PreventiveReplacement, optional
        Another one than `fit` was given.
    together : bool, default=False
        Of `AgeReplacement` without a rate. False gives each row the least cost rate of its own:
        features belong to the place, and every successor has the same. True gives the least rate
        of all rows together: each successor is a new draw of a row.

    Returns
    -------
    ndarray of shape (n_rows,)
        inf where no planned replacement pays.

    Examples
    --------
    >>> from unmet import LatentBand
    >>> from unmet.costs import AgeReplacement
    >>> from unmet.simulate import replacement
    >>> train = replacement(n=600, seed=1).train
    >>> cost = AgeReplacement(planned=1, failure=8)
    >>> rule = LatentBand(families="weibull", random_state=0)
    >>> rule = rule.fit(cost, train.features, train.times, censored=train.censored)
    >>> ages = latent_ages(rule, train.features)
    >>> bool(abs(ages / train.optimum(cost) - 1).mean() < 0.15)
    True
    """
    features, used = _read_rule(rule, X, cost)
    if together and isinstance(used, AgeReplacement) and used.rate is None:
        used = used.at_rate(fleet_rate(rule, features, used))
    ages = np.empty(features.shape[0])
    for start in range(0, ages.size, _ROWS):
        index = np.arange(start, min(start + _ROWS, ages.size))
        ages[index] = best_ages(used.take(index), _quantiles(rule, features[index])).age
    return ages


def fleet_rate(rule: LatentBand, X: Any, cost: AgeReplacement | None = None) -> float:
    """Least cost per unit of time of parts together, under the distribution that the rule learned.

    At this price of time ``latent_ages(rule, X, cost.at_rate(rate))`` decides for any parts, few as
    they may be, as for members of this fleet. Of a large fleet 1,000 parts say enough.

    Parameters
    ----------
    rule, X, cost
        As in `latent_ages`; a cost without a rate.

    Returns
    -------
    float
    """
    features, used = _read_rule(rule, X, cost)
    if not isinstance(used, AgeReplacement) or used.rate is not None:
        raise Unsupported(f"cost must be AgeReplacement without a rate, got {used!r}.")
    some = np.unique(np.linspace(0, features.shape[0] - 1, 1000).astype(np.intp))
    free, table = used.take(some), _quantiles(rule, features[some])

    def cycles(cost: AgeReplacement) -> tuple[Array, Array]:
        found = best_ages(cost, table)
        return found.paid, found.served

    paid, served = cycles(free)
    start = float(paid.sum() / served.sum())
    return least_rate(lambda rate: cycles(free.at_rate(rate)), start, 1e-9)


_ROWS = 4000  # tables of quantiles of so many parts at once


def _read_rule(rule: Any, X: Any, cost: Any) -> tuple[Features, JumpCost]:
    if not isinstance(rule, LatentBand) or not hasattr(rule, "model_"):
        raise Unsupported(f"rule must be a fitted LatentBand, got {type(rule).__name__}.")
    used = rule.cost_ if cost is None else cost
    if not isinstance(used, JumpCost):
        raise Unsupported(
            f"cost must be AgeReplacement or PreventiveReplacement, got {type(used).__name__}."
        )
    return read_features(X), used


def _quantiles(rule: LatentBand, features: Features) -> Array:
    """Quantiles of lifetimes at the levels of `best_ages`, of shape (n_levels, n_rows)."""
    return rule.model_.at(rule.model_.chosen, features).truth(LEVELS[:, np.newaxis])
