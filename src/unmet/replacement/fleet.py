"""Models whose decisions have the least long-run cost rate."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from unmet.band import Band
from unmet.costs.age_replacement import AgeReplacement
from unmet.errors import InvalidInput, SolverFailure
from unmet.models.base import DecisionModel
from unmet.replacement.fitting import failure_weights, read_lifetimes

Model = TypeVar("Model", bound=DecisionModel)

_ITERATIONS = 30


def fit_rate(
    model: Model,
    X: Any,
    y: ArrayLike,
    *,
    censored: Any = None,
    groups: Any = None,
    sample_weight: ArrayLike | None = None,
    tolerance: float = 1e-4,
) -> Model:
    """Train a model for the least cost per unit of time of all rows together.

    The cost rate of a fleet is a ratio of two sums. Dinkelbach's iteration turns it into sums:
    train at a price of time, take the cost rate of the decisions as the next price, until it no
    longer falls. The first price is the rate of running to failure.

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
    tolerance : float, default=1e-4
        Share by which the rate must fall to go on.

    Returns
    -------
    DecisionModel
        A fitted copy, of which ``cost_.rate`` is the cost rate found.

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
    best: Model | None = None
    for _ in range(_ITERATIONS):
        fresh = clone(model).set_params(cost=cost.at_rate(rate))
        fresh.fit(X, time, sample_weight=weight)
        new = cost.rate_of(fresh.predict(X), time, band, sample_weight=weight)
        if not new < rate * (1.0 - tolerance) and best is not None:
            return best if rate <= new else _at(fresh, cost, new)
        best, rate = _at(fresh, cost, min(new, rate)), min(new, rate)
    if best is None:  # pragma: no cover - the loop runs at least once
        raise SolverFailure("No model was trained.")
    return best


def _at(model: Model, cost: AgeReplacement, rate: float) -> Model:
    """Let a fitted model say the rate of its own decisions."""
    model.cost_ = cost.at_rate(rate)
    return model
