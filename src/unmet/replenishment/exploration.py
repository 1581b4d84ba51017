"""Looking on purpose: a few units more where they tell most, and pay for themselves.

A shelf that sells out tells that demand was at least what was there, and never how much more. Where
a series sells out more often than its orders mean to, its distribution is based on what nobody
saw; a few units more on such a day either sell, which is seen, or are left, which is seen as well.

What a look teaches is worth something, but nobody knows how much beforehand. So it is taken only
where it need not be paid for. Let p be the chance that more than the order is asked for, 1 − α what
it should be, and σ the spread of demand. If its upper half is that of a normal distribution, the
order lies where the distribution has the level 1 − p, and the one that costs least lies higher by::

    x = σ (Φ⁻¹(α) − Φ⁻¹(1 − p))

Every unit up to there is asked for with a chance above 1 − α, so that it earns more than it costs;
where p ≤ 1 − α none is. p is not known, so it is taken as low as what was seen allows (`SURE`).
Then the units pay for themselves even if the series has been unlucky, and what they teach is free.
A series that is known to sell out as often as it should gets nothing; neither does one of which
little is known.

Of many series some are unlucky by much, and those are the ones that would be chosen. How far rates
differ from 1 − α beyond chance is therefore estimated from all series together (empirical Bayes):
where chance alone explains them, each is believed to be as planned, and nobody is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from unmet.arrays import Array, read_array
from unmet.checks import Number
from unmet.errors import InvalidInput

SHARE = 0.01
"""Of all units: what is spent on looking at most."""
SURE = 0.95
"""Chance that a series sells out at least as often as it is taken to."""
_BELIEVED = 4.0  # periods that the belief in orders that are right is worth at least


@dataclass(frozen=True, eq=False)
class Look:
    """What is added to orders, and why.

    Attributes
    ----------
    extra : ndarray of shape (n_series,)
        Units; 0 where nothing is added.
    rate : ndarray of shape (n_series,)
        Share of periods that sell out, as low as what was seen allows.
    """

    extra: Array
    rate: Array


def look_on_purpose(
    order: ArrayLike,
    sold_out: ArrayLike,
    level: float,
    *,
    spread: ArrayLike | None = None,
    share: float = SHARE,
    lot: float | None = None,
    seed: int = 0,
) -> Look:
    """Choose where to order more than seems best, in order to see more.

    Parameters
    ----------
    order : array-like of shape (n_series,)
        What would be ordered.
    sold_out : array-like of shape (n_series, n_periods)
        Of the last periods: 1 where the series sold out, 0 where not, NaN where nobody knows.
        Where orders have changed since, the chance that this one would have sold out.
    level : float
        Share of periods in which demand is to be met: above 0 and below 1.
    spread : array-like of shape (n_series,), optional
        Standard deviation of demand. By default, and where it is NaN, nobody knows it: it is taken
        to be as large as the order.
    share : float, default=0.01
        Of all units that may be added.
    lot : float, optional
        What is added is a multiple of it.
    seed : int, default=0
        Who is looked at, where several would do, and whether the last of them still is: on average
        the share is spent, not more.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.replenishment import look_on_purpose
    >>> sold_out = np.array([[1, 1, 1, 1, 1, 0, 1, 1], [0, 0, 1, 0, 0, 0, 0, 0]])
    >>> look = look_on_purpose([20, 500], sold_out, 0.8, spread=[6, 80], share=0.05, lot=1)
    >>> look.extra
    array([4., 0.])
    """
    wanted = read_array("order", order)
    flags = np.asarray(sold_out, dtype=np.float64)
    if flags.ndim != 2 or flags.shape[0] != wanted.size:
        raise InvalidInput(
            f"sold_out must have a row for each of {wanted.size:,} series, got shape {flags.shape}."
        )
    Number(above=0, below=1)("level", level)
    Number(least=0, most=1)("share", share)
    known = ~np.isnan(flags)
    count, often = known.sum(axis=1), np.where(known, flags, 0.0).sum(axis=1)
    rate = _rates(count, often, 1.0 - level)
    more = _steps(wanted, rate, level, spread)
    if lot is not None:
        more = np.where(more > 0, np.maximum(np.round(more / lot), 1.0) * lot, 0.0)
    extra = np.zeros(wanted.size)
    generator = np.random.default_rng(seed)
    left = share * float(wanted.sum())
    # those that sell out most first, in an order that changes where they are much alike
    drawn = generator.random((2, wanted.size))
    for place in np.lexsort((drawn[0], -np.round(rate, 1))):
        if more[place] <= 0 or left <= 0:
            continue
        if more[place] <= left or drawn[1][place] < left / more[place]:
            extra[place] = more[place]
        left -= more[place]
    return Look(extra, rate)


def _rates(count: Array, often: Array, planned: float) -> Array:
    """Shares of periods that sell out, as low as what was seen allows, given those of all series.

    Rates are taken to have a beta distribution around the planned one. Its variance is that of the
    observed rates, less what chance adds; the smaller it is, the more periods the belief is worth.
    """
    noise = planned * (1.0 - planned)
    seen = count > 0
    if not seen.any():
        return np.full(count.size, planned)
    squares = (often[seen] / count[seen] - planned) ** 2 - noise / count[seen]
    beyond = float(np.average(squares, weights=count[seen]))
    if beyond <= 0:
        return np.full(count.size, planned)
    belief = max(noise / beyond - 1.0, _BELIEVED)
    before = belief * planned, belief * (1.0 - planned)
    return np.asarray(special.betaincinv(before[0] + often, before[1] + count - often, 1.0 - SURE))


def _steps(order: Array, rate: Array, level: float, spread: ArrayLike | None) -> Array:
    """Units above an order that sells out so often at which it costs least; 0 where it does."""
    beyond = order.copy()
    if spread is not None:
        given = np.asarray(spread, dtype=np.float64)
        if given.shape != order.shape or (given < 0).any():
            raise InvalidInput(
                f"spread must be 0 units or more for each of {order.size:,} series, "
                f"got {given.shape} of which the least is {np.nanmin(given, initial=np.inf):g}."
            )
        beyond = np.where(np.isnan(given), order, given)
    too_often = (rate > 1.0 - level) & (order > 0)
    steps = beyond * (special.ndtri(level) - special.ndtri(1.0 - np.where(too_often, rate, 0.5)))
    # where nearly everything sells out, nobody knows how far demand reaches: doubling finds it
    return np.where(too_often, np.minimum(steps, order), 0.0)
