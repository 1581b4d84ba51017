"""Looking on purpose: a few units more where they tell most.

A shelf that sells out tells that demand was at least what was there, and never how much more. Where
a series sells out more often than its orders mean to, its law rests on what nobody saw; a few
units more on such a day either sell, which is seen, or are left, which is seen as well. A stated
share of all units is spent so, on series chosen by how sure it is that they sell out too often.
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
_SURE = 0.95  # chance that a series sells out too often, from which it is looked at
_TOO_OFTEN = 2.0  # times as often as it should: less than that, its own flags mend
_BELIEVED = 4.0  # periods that the belief in orders that are right is worth
_MORE = 0.25  # of an order is added


@dataclass(frozen=True, eq=False)
class Look:
    """What is added to orders, and why.

    Attributes
    ----------
    extra : ndarray of shape (n_series,)
        Units; 0 where nothing is added.
    chance : ndarray of shape (n_series,)
        That the series sells out far more often than it should.
    """

    extra: Array
    chance: Array


def look_on_purpose(
    order: ArrayLike,
    sold_out: ArrayLike,
    level: float,
    *,
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
    level : float
        Share of periods in which demand is to be met: above 0 and below 1.
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
    >>> look = look_on_purpose([20, 500], sold_out, 0.8, share=0.05, lot=1)
    >>> look.extra
    array([5., 0.])
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
    # rates that are high anyway cannot double: halfway to always, then
    limit = min(_TOO_OFTEN * (1.0 - level), 1.0 - 0.5 * level)
    before = _BELIEVED * (1.0 - level), _BELIEVED * level
    chance = 1.0 - special.betainc(before[0] + often, before[1] + count - often, limit)
    extra = np.zeros(wanted.size)
    more = _MORE * wanted
    if lot is not None:
        more = np.maximum(np.round(more / lot), 1.0) * lot
    generator = np.random.default_rng(seed)
    left = share * float(wanted.sum())
    # the surest first, in an order that changes where they are equally sure
    drawn = generator.random((2, wanted.size))
    for place in np.lexsort((drawn[0], -np.round(chance, 2))):
        if chance[place] < _SURE or wanted[place] <= 0 or left <= 0:
            continue
        if more[place] <= left or drawn[1][place] < left / more[place]:
            extra[place] = more[place]
        left -= more[place]
    return Look(extra, chance)
