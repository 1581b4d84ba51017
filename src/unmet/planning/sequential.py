"""Sequential tests that you may look at every day: they keep their level however often you look.

Each test is an *e-process*: a process that starts at 1 and whose mean is at most 1 whenever you
stop, as long as everything is as planned. By Ville's inequality it ever exceeds 1/level with a
chance of at most `level`. A planner may therefore look every day and stop at any time (Ramdas,
Grünwald, Vovk and Shafer 2023, "Game-theoretic statistics and safe anytime-valid inference",
Statistical Science 38). All functions take plain arrays with days along the last axis. Results are
logarithms and have one entry more than there are days, the first of which is 0.

Two kinds of promises are tested:

- a *rate*, such as the share of series that sell out (`rate_evidence`): the likelihood ratio of a
  higher or lower rate, a bet that loses on average while the rate is as planned;
- a *level* (`rank_evidence`): the rank of a day among similar earlier days, which is uniform while
  days are exchangeable, whatever their distribution is (conformal test martingales: Vovk,
  Nouretdinov and Gammerman 2003; Vovk 2021, "Testing randomness online", Statistical Science 36).

The size and the time of a change are unknown. Evidence is therefore a mixture over sizes of the
change and over the week in which it began. The k-th week has the weight 1 / (k (k + 1)), so a
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
    """Compute the logarithm of a mixture over bets, each of which may begin in any week.

    Parameters
    ----------
    increments : ndarray of shape (n_bets, ..., n_days)
        Logarithm of the daily return of each bet.
    period : int, default=7
        Days from one beginning to the next.

    Returns
    -------
    ndarray of shape (..., n_days + 1)
        Logarithms; the first entries are 0.

    Notes
    -----
    Let A be the wealth of all bets that have begun, of which the k-th gets w_k = 1 / (k (k + 1)). A
    day is then A ← (A + w_k) e, and 1 / (k + 1) waits for later weeks.

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
    """Compute the evidence that a rate is above, or below, the planned one.

    Parameters
    ----------
    share : ndarray of shape (..., n_days)
        Observed share of each day, between 0 and 1; NaN if unknown.
    planned : ndarray of shape (n_days,) or broadcastable
        Largest rate that is as planned (smallest, for evidence of a lower one). Days with 0 or 1
        add no evidence.
    trials : ndarray of shape (n_days,) or broadcastable
        Number of independent cases that a share counts for, known before the day
        (`independent_trials`).
    above : bool
        Whether to test for a higher rate (True) or a lower one.
    period : int, default=7
        Days between possible beginnings of a change.

    Returns
    -------
    ndarray of shape (..., n_days + 1)
        Logarithm of the evidence after each day.

    Notes
    -----
    A bet on the rate q returns ((q/p)^x ((1 − q)/(1 − p))^(1 − x))^n a day, with the share x, the
    planned rate p and n trials: the likelihood ratio of n independent cases. With n = 1 its mean is
    at most 1 for any share between 0 and 1 whose mean is p, whatever the dependence of the series
    on a day, because exp(θx) ≤ 1 − x + x exp(θ). The mean is that of a day *given the days before*.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.planning.sequential import rate_evidence
    >>> planned, trials = np.full(30, 0.1), np.full(30, 20.0)
    >>> calm = rate_evidence(np.full(30, 0.1), planned, trials, above=True)
    >>> busy = rate_evidence(np.full(30, 0.3), planned, trials, above=True)
    >>> bool(calm[-1] < np.log(100) < busy[-1])
    True
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
    """Count the independent cases that the share of each day stands for, from the days before it.

    Weather makes series sell out together, so 1,000 series may say no more than ten. The variance
    of daily shares relative to that of independent cases (the design effect) measures this. `ALIKE`
    days whose shares are 0 or 1 are added to it.

    Parameters
    ----------
    share, count : ndarray of shape (..., n_past + n_days)
        Share of each day, NaN if unknown, and the number of series behind it.
    n_past : int
        Number of days before the first tested day.

    Returns
    -------
    ndarray of shape (..., n_days)
        Numbers between 1 and `count`.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.planning.sequential import independent_trials
    >>> together = np.tile([0.0, 0.0, 0.0, 1.0], 16)  # all 50 series sell out on the same days
    >>> independent_trials(together, np.full(64, 50.0), 60).round()
    array([1., 1., 1., 1.])
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
    """Compute the evidence that a level has risen, or fallen, by more than a tolerance.

    Parameters
    ----------
    reference : ndarray of shape (..., n_reference)
        Earlier days; NaN if unknown.
    fresh : ndarray of shape (..., n_days)
        Days to test.
    tolerance : float
        Share by which a level may change. Larger values ignore larger changes.
    above : bool
        Whether to test for a rise (True) or a fall.
    of_reference, of_fresh : ndarray of int
        Weekday of each day: days are compared with those of the same number.
    alike : float, default=1
        Number of days in a row that count as one (`days_alike`), or an array that broadcasts.
    period : int, default=7
        Days between possible beginnings of a change.

    Returns
    -------
    ndarray of shape (..., n_days + 1)
        Logarithm of the evidence after each day.

    Notes
    -----
    New days are divided by 1 ± `tolerance`. If they are then exchangeable with the earlier days of
    their weekday, the ranks of the new days are independent and uniform. A bet that returns p^(κ −
    1) on the rank p, divided by the mean of that over all ranks, has mean 1. No distribution is
    assumed, and the unknown old level needs no estimate. Equal values share their ranks, which wins
    less.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.planning.sequential import rank_evidence
    >>> generator = np.random.default_rng(0)
    >>> before, after = generator.normal(100, 10, 112), generator.normal(150, 10, 28)
    >>> weekdays = {"of_reference": np.arange(112) % 7, "of_fresh": np.arange(28) % 7}
    >>> evidence = rank_evidence(before, after, tolerance=0.1, above=True, **weekdays)
    >>> bool(evidence[-1] > np.log(100))
    True
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
    """Count the days in a row that count as one, because a warm week is warm on each of its days.

    Bets on d dependent days may all win or lose at once. Their d-th roots may be multiplied
    whatever the dependence, because the mean of that product is at most the product of the means to
    the power 1/d (Hölder). d is (1 + φ) / (1 − φ), by which the autocorrelation φ stretches the
    variance of a mean. φ is that of one day with the next, without weekday effects. The largest
    number is four days: a longer effect is a change of level, and the tolerance says how much is
    allowed.

    Parameters
    ----------
    values : ndarray of shape (..., n_days)
        Past days; NaN if unknown. The autocorrelation of several series is pooled.
    of_day : ndarray of int, shape (n_days,)
        Weekday of each day.

    Returns
    -------
    float
        Number between 1 and 4.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.planning.sequential import days_alike
    >>> independent = np.random.default_rng(0).normal(size=700)
    >>> correlated = np.repeat(independent[:100], 7)  # one value for each week
    >>> weekday = np.arange(700) % 7
    >>> bool(days_alike(independent, weekday) < days_alike(correlated, weekday))
    True
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
    """Find the series that have changed, with a false discovery rate of at most `level` (e-BH).

    They are the k series with the most evidence, where k is the largest number of series whose
    evidence is at least n / (k level) (Wang and Ramdas 2022, "False discovery rate control with
    e-values", JRSS B 84). The rate holds for every dependence between series.

    Parameters
    ----------
    evidence : ndarray of shape (n_series,)
        Logarithm of the evidence of each series.
    level : float
        False discovery rate. Larger values find more series.

    Returns
    -------
    ndarray of bool, shape (n_series,)
        Whether each series has changed.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.planning.sequential import discoveries
    >>> discoveries(np.log([500.0, 2.0, 150.0, 0.1]), 0.02)
    array([ True, False,  True, False])
    """
    size = evidence.size
    descending = -np.sort(-evidence)
    enough = descending >= np.log(size) - np.log(np.arange(1, size + 1) * level)
    if not enough.any():
        return np.zeros(size, dtype=np.bool_)
    return np.asarray(evidence >= descending[np.flatnonzero(enough)[-1]])
