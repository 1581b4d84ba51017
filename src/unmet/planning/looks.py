"""Looking on purpose on a sheet of orders: which rows get a few units more, and what is said of it.

`unmet.replenishment.look_on_purpose` chooses among series that are ordered for at the same time;
here are the flags that it is given, and sheets of several days.
"""

from __future__ import annotations

import numpy as np

from unmet.arrays import Array
from unmet.planning.panel import Places
from unmet.replenishment import look_on_purpose

NOTHING_TO_LOOK_AT = (
    "Nothing tells which days sold out, so that nothing is ordered in order to see more."
)
_FLAGS = 28  # of a series: the last ones that are known tell how often it sells out now


def last_flags(hidden: Array) -> Array:
    """Keep the last flags of each series that are known, at most `_FLAGS`; others are NaN."""
    known = ~np.isnan(hidden)
    later = np.cumsum(known[:, ::-1], axis=1)[:, ::-1]  # known flags from here on
    return np.where(known & (later <= _FLAGS), hidden, np.nan)


def look_over(
    order: Array,
    hidden: Array,
    series: Places,
    day: Places,
    level: float,
    *,
    share: float,
    lot: float | None,
    seed: int,
) -> Array:
    """Units to add to the rows of a sheet, chosen day by day.

    Parameters
    ----------
    order : ndarray of shape (n_rows,)
    hidden : ndarray of shape (n_series, n_days)
        Which days of the past sold out, as `Panel.hidden`.
    series, day : ndarray of shape (n_rows,)
        Of each row.
    level : float
        Share of days on which demand is to be met.
    share : float
        Of all units: what may be added. It is not exceeded, so that little sheets may get nothing.
    lot : float, optional
    seed : int
    """
    flags = last_flags(hidden)
    extra = np.zeros(order.size)
    left = share * float(order.sum())
    for place, each in enumerate(np.unique(day)):
        rows = np.flatnonzero(day == each)
        found = look_on_purpose(
            order[rows], flags[series[rows]], level, share=share, lot=lot, seed=seed + place
        ).extra
        for row, units in zip(rows, found, strict=True):
            if 0 < units <= left + 1e-9:
                extra[row] = units
                left -= units
    return extra


def looking_words(extra: Array, order: Array, share: float) -> str:
    """Say how many units are added in order to see more, and why."""
    rows = int((extra > 0).sum())
    if not rows:
        return (
            "No units are added in order to see more: no series sells out so much more often than "
            f"it should that it could be looked at for {100 * share:.3g}% of all units."
        )
    where = "1 order" if rows == 1 else f"{rows:,} orders"
    return (
        f"{extra.sum():,.4g} of {order.sum() + extra.sum():,.0f} units are added to {where} in "
        "order to see more: these series sell out far more often than they should, and what is "
        "asked for beyond that is never seen."
    )
