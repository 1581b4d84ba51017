"""Exponential smoothing of all series of a panel at once.

The forecast of a day is level × weekday of all series × factor of the series for that weekday.
After each observed day, with the error e of the forecast made one day before,

    level  += max(α, 1 / (n + 2)) · e / weekday
    factor += γ · e / (level · weekday of all)

so the level of a new series is a running mean that begins at that of similar series. Every pair
(α, γ) of a grid is followed, and forecasts are averaged. The weight of a pair falls with its
squared errors so far, at the time ahead of the forecast. Nothing is optimised, and no later day
enters a state.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.planning.history import History
from unmet.tables.panel import Places

ALPHAS = (0.03, 0.08, 0.15, 0.3, 0.5)
"""Steps of the level, from one that remembers two months to one that forgets in two days."""
GAMMAS = (0.0, 0.05, 0.15)
"""Steps of the weekdays of a series; with 0 it has those of all."""
FADING = 0.99
"""How much errors of the day before count."""
_BLOCK = 4_000  # series at once: their states fit into the cache


def smoothed(history: History, series: Places, day: Places, gap: Places) -> Array:
    """Give the forecasts of rows as they were known `gap` days before.

    Parameters
    ----------
    history : History
        History of the panel.
    series, day, gap : ndarray of shape (n_rows,)
        Series and day of each row, and number of days before it.

    Returns
    -------
    ndarray of shape (n_rows,)
        Units.
    """
    state = np.maximum(day - gap + 1, 0)
    wanted, place = np.unique(state, return_inverse=True)
    steps = int(np.clip(np.median(gap), 1, 14)) if gap.size else 1
    found = np.empty(series.size)
    for start in range(0, history.panel.n_series, _BLOCK):
        rows = np.flatnonzero((series >= start) & (series < start + _BLOCK))
        if rows.size:
            table = _states(history, slice(start, start + _BLOCK), wanted, steps)
            cycle = day[rows] % history.cycle
            found[rows] = table[series[rows] - start, place[rows], cycle]
            found[rows] *= _of_all(history)[state[rows], cycle]
    # a level without a trend is not above all that was seen
    most = np.fmax.accumulate(np.insert(history.demand, 0, np.nan, axis=1), axis=1)
    most = np.fmax(most[series, state], history.similar[series, state])
    return np.asarray(np.minimum(found, most))


def _of_all(history: History) -> Array:
    """Share of each weekday in what all series sell; 1 where there are no weekdays."""
    if history.cycle == 1:
        return np.ones_like(history.profile)
    return np.asarray(np.maximum(history.profile, 0.05))


def _states(history: History, block: slice, wanted: NDArray[np.intp], steps: int) -> Array:
    """Level × factor of some series, (n_series, n_wanted, cycle), where so many days are known."""
    demand, usual = history.demand[block], history.similar[block]
    cycle, profile = history.cycle, _of_all(history)
    alpha, gamma = (each.ravel() for each in np.meshgrid(ALPHAS, GAMMAS if cycle > 1 else [0.0]))
    shape = (demand.shape[0], alpha.size)
    level, factor = np.zeros(shape), np.ones((cycle, *shape))
    before = [level] * steps  # levels of the last states
    squares, count, seen_so_far = np.zeros(shape), np.zeros((shape[0], 1)), np.zeros((shape[0], 1))
    found = np.empty((shape[0], wanted.size, cycle))
    for known in range(int(wanted[-1]) + 1):
        new = seen_so_far[:, 0] == 0
        level = np.where(new[:, None], usual[:, [known]], level).astype(np.float64)
        at = np.searchsorted(wanted, known)
        if at < wanted.size and wanted[at] == known:
            error = squares / np.maximum(count, 1e-9)
            low, high = (of(error, axis=1, keepdims=True) for of in (np.min, np.max))
            least = np.maximum(low, 1e-12 * high + 1e-300)
            share = np.exp(-0.5 * count * (error / least - 1.0))
            share = level * share / share.sum(axis=1, keepdims=True)
            found[:, at] = np.einsum("sk,csk->sc", share, factor)
        if known == demand.shape[1]:
            break
        came = demand[:, [known]].astype(np.float64)
        there = ~np.isnan(came)
        if known == 0:  # nobody has seen anything before, so that there are no units
            level = np.where(there, came, level)
        of_all = float(profile[known, known % cycle])
        own = factor[known % cycle]
        before = [*before[1:], level]
        ahead = np.where(there & (seen_so_far >= steps), came - before[0] * own * of_all, 0.0)
        squares = FADING * squares + ahead**2
        count = FADING * count + (there & (seen_so_far >= steps))
        error = np.where(there, came - level * own * of_all, 0.0)
        gain = np.maximum(alpha, 1.0 / (seen_so_far + 2.0))
        moved = np.maximum(level + gain * error / np.maximum(own * of_all, 0.3), 0.0)
        base = np.maximum(level, 0.1 * usual[:, [known]]) * of_all + 1e-12
        factor[known % cycle] = np.clip(own + gamma * error / base, 0.0, 5.0)
        level = moved
        seen_so_far = seen_so_far + there
    return found
