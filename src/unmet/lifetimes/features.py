"""Ages of replacement by features: trained, or from the distribution of a latent model."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from unmet.arrays import Array, Band
from unmet.censoring.latent.band import LatentBand
from unmet.costs.jump import JumpCost
from unmet.costs.replacement import AgeReplacement
from unmet.errors import InvalidInput, Unsupported
from unmet.estimators.base import DecisionModel
from unmet.lifetimes.distributions import least_rate
from unmet.lifetimes.lifetimes import failure_weights, read_lifetimes
from unmet.rows import read_features
from unmet.solvers.descent.jumps import LEVELS, best_ages

Model = TypeVar("Model", bound=DecisionModel)


def fit_rate(
    model: Model,
    X: Any,
    y: ArrayLike,
    *,
    censored: Any = None,
    groups: Any = None,
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
        suspensions must not depend on the features, or only on `groups`. Where they depend on more,
        see `latent_ages`.
    groups : array-like of shape (n_rows,), optional
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
    weight = failure_weights(time, suspended, sample_weight=own, groups=groups)
    if sample_weight is None and not suspended.any():
        weight = np.ones(time.size)
    never = np.full(time.size, 2.0 * float(cost.align(0.0, time, band).top.max()))
    rate = cost.rate_of(never, time, band, sample_weight=weight)
    first = float(cost.align(0.0, time, band).top[weight > 0].min())
    best: Model | None = None
    for _ in range(30):  # a handful suffice
        fresh = clone(model).set_params(cost=cost.at_rate(rate))
        fresh.fit(X, time, sample_weight=weight)
        fresh.least_ = first
        new = cost.rate_of(fresh.predict(X), time, band, sample_weight=weight)
        if not new < rate * (1.0 - tol) and best is not None:
            return best if rate <= new else _at(fresh, cost, new)
        best, rate = _at(fresh, cost, min(new, rate)), min(new, rate)
    assert best is not None
    return best


def _at(model: Model, cost: AgeReplacement, rate: float) -> Model:
    """Let a fitted model say the rate of its own decisions."""
    model.cost_ = cost.at_rate(rate)
    return model


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
    if not isinstance(rule, LatentBand) or not hasattr(rule, "model_"):
        raise Unsupported(f"rule must be a fitted LatentBand, got {type(rule).__name__}.")
    features = read_features(X)
    used = rule.cost_ if cost is None else cost
    if not isinstance(used, JumpCost):
        raise Unsupported(
            f"cost must be AgeReplacement or PreventiveReplacement, got {type(used).__name__}."
        )

    def cycles(cost: JumpCost) -> Array:
        """Ages, costs and lengths of cycles, of shape (3, n_rows)."""
        n_rows = features.shape[0]
        answer = np.empty((3, n_rows))
        for start in range(0, n_rows, 4000):  # so many tables of quantiles at once
            index = np.arange(start, min(start + 4000, n_rows))
            rows = rule.model_.at(rule.model_.chosen, features[index])
            table = np.stack([rows.truth(float(level)) for level in LEVELS])
            answer[:, index] = best_ages(cost.take(index), table)
        return answer

    if together and isinstance(used, AgeReplacement) and used.rate is None:
        free = used
        _, paid, served = cycles(free)
        start = float(paid.sum() / served.sum())
        used = free.at_rate(
            least_rate(lambda rate: tuple(cycles(free.at_rate(rate))[1:]), start, 1e-9)
        )
    ages: Array = cycles(used)[0]
    return ages
