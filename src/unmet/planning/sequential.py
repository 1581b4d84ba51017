"""Tests that may be looked at every day: evidence that grows, and keeps its level however often.

Each test is an *e-process*: a process that starts at 1 and whose mean is at most 1 whenever one
stops, as long as all is as planned. By Ville's inequality it ever exceeds 1/level with a chance of
at most `level`, so that a planner may look every day and stop when it pleases (Ramdas, Grünwald,
Vovk and Shafer 2023, "Game-theoretic statistics and safe anytime-valid inference", Statistical
Science 38). Everything here is plain arrays with days along the last axis; results are logarithms
and have one entry more than there are days, the first of which is 0.

Two kinds of plans' promises are tested:

- a *rate*, such as the share of series that sell out (`rate_evidence`): the likelihood ratio of a
  higher or lower rate, which is a bet that loses on average while the rate is as planned;
- a *level* (`rank_evidence`): the rank of a day among like days before it, which is uniform while
  days are exchangeable, whatever their distribution is (conformal test martingales: Vovk,
  Nouretdinov and Gammerman 2003; Vovk 2021, "Testing randomness online", Statistical Science 36).

Nobody knows how large a change will be, nor when it comes: evidence is a mixture over sizes of the
change and over the week in which it began. The k-th week has the weight 1 / (k (k + 1)), so that a
change after half a year of calm is found nearly as soon as one in the first week.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array

ODDS = (1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0)
"""By how much the odds of a rate may have changed: what bets on rates are spread over."""
POWERS = (0.1, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9)
"""Bets p^(κ − 1) on small ranks p: the smaller κ, the larger the change that it waits for."""
ALIKE = 7
"""Days on which all series are taken to sell out together, beside the days that say how far they
do (`independent_trials`): a few days of calm must not pass for proof that series go their own
ways."""

_MAX_ALIKE = 4.0  # days


def started_anew(increments: Array, period: int = 7) -> Array:
    """Logarithm of a mixture over bets, each of which may begin in any week.

    Parameters
    ----------
    increments : ndarray of shape (n_bets, ..., n_days)
        Logarithm of what each bet returns each day.
    period : int, default=7
        Days from one beginning to the next.

    Returns
    -------
    ndarray of shape (..., n_days + 1)
        Its first entries are 0.

    Notes
    -----
    With A the wealth of all bets that have begun, of which the k-th gets w_k = 1 / (k (k + 1)), a
    day is A ← (A + w_k) e; 1 / (k + 1) waits for later weeks and stays as it is.

    Examples
    --------
    >>> import numpy as np
    >>> started_anew(np.log([[2.0, 2.0]])).round(2)  # half of the wealth is doubled twice
    array([0.  , 0.41, 0.92])
    """
    n_days = increments.shape[-1]
    found = np.zeros((*increments.shape[1:-1], n_days + 1))
    wealth = np.full(increments.shape[:-1], -np.inf)
    weeks = 0
    for day in range(n_days):
        if day % period == 0:
            weeks += 1
            wealth = np.logaddexp(wealth, -np.log(weeks * (weeks + 1.0)))
        wealth = wealth + increments[..., day]
        most = wealth.max(axis=0)
        mean = most + np.log(np.exp(wealth - most).mean(axis=0))
        found[..., day + 1] = np.logaddexp(mean, -np.log(weeks + 1.0))
    return found


# --- Rates.


def rate_evidence(
    share: Array, planned: Array, trials: Array, *, above: bool, period: int = 7
) -> Array:
    """Evidence that a rate is above, or below, what was planned.

    Parameters
    ----------
    share : ndarray of shape (..., n_days)
        Seen share of each day, between 0 and 1; NaN where nothing is known.
    planned : ndarray of shape (n_days,) or broadcastable
        The largest rate that is as planned (the least, for evidence of a lower one). Days with 0
        or 1 say nothing.
    trials : ndarray of shape (n_days,) or broadcastable
        How many independent cases a share counts for, known before the day (`independent_trials`).
    above : bool
    period : int, default=7

    Returns
    -------
    ndarray of shape (..., n_days + 1)
        Logarithm.

    Notes
    -----
    A bet on the rate q returns ((q/p)^x ((1 − q)/(1 − p))^(1 − x))^n a day, with the share x, the
    planned rate p and n trials: the likelihood ratio of n independent cases. With n = 1 its mean is
    at most 1 for any share between 0 and 1 whose mean is p, however the series of a day go
    together, since exp(θx) ≤ 1 − x + x exp(θ). The mean is that of a day *given the days before*.
    """
    planned, trials = (np.broadcast_to(each, share.shape) for each in (planned, trials))
    told = ~np.isnan(share) & (planned > 0.0) & (planned < 1.0)
    rate = np.where(told, planned, 0.5)
    seen = np.where(told, share, 0.5)
    odds = np.asarray(ODDS) if above else 1.0 / np.asarray(ODDS)
    slope = np.log(odds).reshape(-1, *np.ones(share.ndim, dtype=int))
    # q has the odds r p / (1 − p): x log(q/p) + (1 − x) log((1 − q)/(1 − p)) = x log r − log(…)
    returns = seen * slope - np.log1p(rate * np.expm1(slope))
    return started_anew(np.where(told, trials * returns, 0.0), period)


def independent_trials(share: Array, count: Array, n_past: int) -> Array:
    """How many independent cases the share of each day counts for, by the days before it.

    Series sell out together where the weather sells: 1,000 series may say no more than ten. The
    variance of daily shares against that of independent cases (the design effect) tells how far;
    `ALIKE` days of shares that are all or nothing are added to it.

    Parameters
    ----------
    share, count : ndarray of shape (..., n_past + n_days)
        Share of each day, NaN where unknown, and how many series it is of.
    n_past : int
        Days before the first one that is tested.

    Returns
    -------
    ndarray of shape (..., n_days)
        At least 1, at most `count`.
    """
    told = ~np.isnan(share)
    seen, cases = np.where(told, share, 0.0), np.where(told, count, 0.0)

    def before(values: Array) -> Array:
        sums = np.cumsum(values, axis=-1)[..., :-1]
        none = np.zeros((*values.shape[:-1], 1))
        return np.concatenate([none, sums], axis=-1)[..., n_past:]

    days, total = before(told * 1.0), before(cases)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = before(cases * seen) / total
        # Σ n (x − mean)², with n cases each; of independent cases each term has the mean m (1 − m)
        spread = before(cases * seen**2) - total * mean**2
        effect = spread / (mean * (1.0 - mean))
        size = total / days
        effect = (np.maximum(effect, days) + ALIKE * size) / (days + ALIKE)
        found = np.where((mean > 0.0) & (mean < 1.0), count[..., n_past:] / effect, 1.0)
    return np.asarray(np.clip(np.nan_to_num(found, nan=1.0), 1.0, None))


# --- Levels.


def rank_evidence(
    reference: Array,
    fresh: Array,
    *,
    tolerance: float,
    above: bool,
    of_reference: NDArray[np.intp],
    of_fresh: NDArray[np.intp],
    alike: Array | float = 1.0,
    period: int = 7,
) -> Array:
    """Evidence that a level has risen, or fallen, by more than a tolerance.

    Parameters
    ----------
    reference : ndarray of shape (..., n_reference)
        Days before; NaN where nothing is known.
    fresh : ndarray of shape (..., n_days)
        The days that are tested.
    tolerance : float
        Share by which a level may change.
    above : bool
    of_reference, of_fresh : ndarray of int
        Weekday of each day: days are compared with those of the same number.
    alike : float, default=1
        How many days in a row count as one (`days_alike`); or an array that broadcasts.
    period : int, default=7

    Returns
    -------
    ndarray of shape (..., n_days + 1)
        Logarithm.

    Notes
    -----
    New days are divided by 1 ± `tolerance`. If they are then exchangeable with the old ones of
    their weekday, the ranks of the new days are independent of each other and uniform, and a bet
    that returns p^(κ − 1) on the rank p, divided by the mean of that over all ranks, has the mean
    1. No distribution is assumed, and what is not known exactly, the old level, needs no estimate.
    Equal values share their ranks, which wins less.
    """
    factor = 1.0 + tolerance if above else 1.0 - tolerance
    sign = 1.0 if above else -1.0
    old, new = sign * reference, sign * fresh / factor
    power = np.asarray(POWERS).reshape(-1, *np.ones(fresh.ndim - 1, dtype=int))
    fair = np.log(_mean_returns(reference.shape[-1] + fresh.shape[-1]))
    returns = np.zeros((power.size, *fresh.shape))
    for day in range(fresh.shape[-1]):
        before = of_fresh[:day] == of_fresh[day]
        like = np.concatenate(
            [old[..., of_reference == of_fresh[day]], new[..., :day][..., before]], axis=-1
        )
        now = new[..., day, None]
        beyond = (like > now).sum(axis=-1) + 0.5 * (like == now).sum(axis=-1)
        count = (~np.isnan(like)).sum(axis=-1)
        rank = (beyond + 0.5) / (count + 1.0)
        won = (power - 1.0) * np.log(rank) - fair[:, count]
        returns[..., day] = np.where(np.isnan(new[..., day]) | (count == 0), 0.0, won)
    return started_anew(returns / alike, period)


def _mean_returns(most: int) -> Array:
    """Mean of p^(κ − 1) over the ranks p among 0, 1, …, `most` others, (n_powers, most + 1)."""
    power = np.asarray(POWERS)[:, None] - 1.0
    found = np.ones((len(POWERS), most + 1))
    for count in range(most + 1):
        ranks = (np.arange(count + 1) + 0.5) / (count + 1.0)
        found[:, count] = (ranks**power).mean(axis=1)
    return found


def days_alike(values: Array, of_day: NDArray[np.intp]) -> float:
    """How many days in a row count as one, because a warm week is warm on each of its days.

    Bets on d days that go together all win or lose at once. Their d-th roots may be multiplied
    however they go together, since the mean of that product is at most the product of the means to
    the power 1/d (Hölder). d is (1 + φ) / (1 − φ), by which autocorrelation φ stretches the
    variance of a mean; φ is that of one day with the next, less what weekdays explain. Four days
    are the most: what stays for longer is a change of level, and the tolerance says how much is
    allowed.

    Parameters
    ----------
    values : ndarray of shape (..., n_days)
        Past days; NaN where nothing is known. The autocorrelation of several series is pooled.
    of_day : ndarray of int, shape (n_days,)
        Weekdays.

    Returns
    -------
    float
        Between 1 and 4.
    """
    rows = np.atleast_2d(values)
    rest = np.full(rows.shape, np.nan)
    for each in np.unique(of_day):
        own = rows[:, of_day == each]
        count = (~np.isnan(own)).sum(axis=1, keepdims=True)
        rest[:, of_day == each] = own - np.nansum(own, axis=1, keepdims=True) / np.maximum(count, 1)
    there = ~np.isnan(rest)
    rest = np.where(there, rest, 0.0)
    size = there.sum(axis=1, keepdims=True)
    spread = np.sqrt((rest**2).sum(axis=1, keepdims=True) / np.maximum(size, 1))
    rest = np.divide(rest, spread, out=np.zeros_like(rest), where=spread > 0)
    pairs = int((there[:, 1:] & there[:, :-1]).sum())
    if not pairs:
        return _MAX_ALIKE
    found = float((rest[:, 1:] * rest[:, :-1]).sum()) / pairs
    found = min(max(found, 0.0), (_MAX_ALIKE - 1.0) / (_MAX_ALIKE + 1.0))
    return (1.0 + found) / (1.0 - found)


# --- Several at once.


def discoveries(evidence: Array, level: float) -> NDArray[np.bool_]:
    """Series that have changed, with a false discovery rate of at most `level` (e-BH).

    The k largest, where k is the largest number of series whose evidence is at least n / (k level)
    (Wang and Ramdas 2022, "False discovery rate control with e-values", JRSS B 84). It holds
    however series depend on each other.

    Parameters
    ----------
    evidence : ndarray of shape (n_series,)
        Logarithm.
    level : float

    Returns
    -------
    ndarray of bool, shape (n_series,)

    Examples
    --------
    >>> import numpy as np
    >>> discoveries(np.log([500.0, 2.0, 150.0, 0.1]), 0.02)
    array([ True, False,  True, False])
    """
    size = evidence.size
    descending = -np.sort(-evidence)
    enough = descending >= np.log(size) - np.log(np.arange(1, size + 1) * level)
    if not enough.any():
        return np.zeros(size, dtype=np.bool_)
    return np.asarray(evidence >= descending[np.flatnonzero(enough)[-1]])
