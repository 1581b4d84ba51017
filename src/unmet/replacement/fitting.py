"""What lifetimes with suspensions say: weights of the failures, and laws by maximum likelihood.

A suspension is a part that had not failed when it was last seen: replaced in time, or still at
work. Its lifetime is at least that long. To take it for a failure makes parts look worse than they
are, to leave it out makes them look worse still.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.optimize import brentq, minimize

from unmet.band import Array
from unmet.bands.product_limit import in_order
from unmet.errors import InvalidInput
from unmet.replacement.ages import read_times
from unmet.replacement.laws import Lognormal, Weibull

Flags = NDArray[np.bool_]


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
    if groups is None:
        return _handed_on(time, suspended, weight)
    label = np.asarray(groups)
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
    """Weibull law of the greatest likelihood.

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
    >>> law = fit_weibull(table["time"], table["suspended"])
    >>> round(law.shape, 3), round(law.scale)
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
    """Lognormal law of the greatest likelihood.

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
    time = read_times("times", np.asarray(times, dtype=np.float64))
    suspended = np.zeros(time.size, dtype=np.bool_)
    if censored is not None:
        given = np.asarray(censored)
        if given.shape != time.shape or not np.isin(given, (0, 1)).all():
            raise InvalidInput(
                "censored must hold True or False for each of the times, got "
                f"{given.size} entries for {time.size} times."
                if given.shape != time.shape
                else "censored must hold True or False for each of the times, got something else."
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
    """Leave out rows without weight; refuse data for which no law is the likeliest."""
    kept = weight > 0
    time, suspended, weight = time[kept], suspended[kept], weight[kept]
    if time[~suspended].min() >= time.max():
        raise InvalidInput(
            "times must hold a failure below the largest time for a law to be fitted, "
            f"got none below {float(time.max()):g}."
        )
    return time, suspended, weight


def _handed_on(time: Array, suspended: Flags, weight: Array) -> Array:
    order = in_order(time, suspended)
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
