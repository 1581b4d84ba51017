"""Looking on purpose on a table of orders: which rows get a few units more, and what is said of it.

`unmet.replenishment.look_on_purpose` chooses among series that are ordered for at the same time. It
is given how often an order *like the coming one* sells out, and how demand spreads;
both are read from past days here. A day that sold out when half as much was there says little
about a larger order, and as orders learn, the last weeks are full of such days.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from unmet.arrays import Array
from unmet.planning.panel import Panel, Places
from unmet.replenishment import look_on_purpose

NOTHING_TO_LOOK_AT = (
    "Nothing tells which days sold out, so that nothing is ordered in order to see more."
)
_FLAGS = 28  # of a series: the last ones that are known tell how often it sells out now
_STEPS = 25  # of EM: what is censored is filled in again and again
LOOKED_BACK = 56
"""Days before among which the last flags are looked for."""


def last_flags(panel: Panel) -> Array:
    """Keep the last flags of each series that are known, at most `_FLAGS`; others are NaN.

    A day on which nothing was there and nothing was sold, such as a Sunday, says nothing of orders
    that are too small.
    """
    assert panel.hidden is not None
    # the clock of the till gives probabilities: the likelier of the two counts
    flags = np.where(np.isnan(panel.hidden), np.nan, np.round(panel.hidden))
    told = np.where((flags == 1.0) & ~(panel.observed > 0), np.nan, flags)
    known = ~np.isnan(told)
    later = np.cumsum(known[:, ::-1], axis=1)[:, ::-1]  # known flags from here on
    return np.where(known & (later <= _FLAGS), told, np.nan)


def like_these_orders(
    observed: Array, flags: Array, before: Array, order: Array, level: float
) -> tuple[Array, Array]:
    """Say how often orders like these would have sold out, and how demand spreads.

    A day of the past is compared by what the same rule, as it is now, would have ordered for it: if
    it sold twice that, it stands for twice the coming order y. With something left, it shows its
    demand. Sold out at s, it shows that demand was at least s: that it was more than y has the
    chance P(D > y) / P(D ≥ s) under a normal distribution, fitted to the days of the series with
    those that sold out as censored (EM), and half a unit either way for whole units. One day more
    has the spread of all series and the demand that the order believes in: where all days sold out,
    only that keeps demand from being endless.

    Parameters
    ----------
    observed, flags, before : ndarray of shape (n_series, n_days)
        What was sold on the last days, which of them sold out (`last_flags`), and what the rule
        would have ordered for them.
    order : ndarray of shape (n_series,)
    level : float
        Share of days on which demand is to be met.

    Returns
    -------
    chance : ndarray of shape (n_series, n_days)
        NaN where nothing is known.
    spread : ndarray of shape (n_series,)
        In units; NaN where nothing is known.
    """
    seen = observed[~np.isnan(observed)]
    half = 0.5 if bool((seen == np.round(seen)).all()) else 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        told = np.where((before > 0) & (order > 0)[:, None] & ~np.isnan(observed), flags, np.nan)
        known, cut = ~np.isnan(told), told == 1.0
        share = np.where(known, (observed - half * cut) / before, 0.0)
        wanted = np.where(order > 0, 1.0 + half / order, 1.0)
    if not (known & ~cut).any():
        return np.where(known, (share >= wanted[:, None]).astype(np.float64), np.nan), np.full(
            order.size, np.nan
        )
    count = known.sum(axis=1)
    upper = special.ndtri(level)
    left = share[known & ~cut]
    mean, spread = np.full(order.size, float(left.mean())), np.full(order.size, float(left.std()))
    for _ in range(_STEPS):
        off = (share - mean[:, None]) / spread[:, None]
        tail = np.exp(_log_density(off) - special.log_ndtr(-off))
        expected = np.where(cut, mean[:, None] + spread[:, None] * tail, share)
        more = np.where(cut, spread[:, None] ** 2 * np.maximum(1.0 + off * tail - tail**2, 0.0), 0)
        mean = np.where(known, expected, 0.0).sum(axis=1) + wanted - upper * spread
        mean = mean / (count + 1.0)
        squares = np.where(known, (expected - mean[:, None]) ** 2 + more, 0.0).sum(axis=1)
        common = squares.sum() / count.sum()
        spread = np.sqrt(np.maximum((squares + common) / (count + 1.0), 1e-12))
    scores = [
        special.log_ndtr(-(at - mean[:, None]) / spread[:, None]) for at in (share, wanted[:, None])
    ]
    chance = np.where(cut & (share < wanted[:, None]), np.exp(scores[1] - scores[0]), 0.0)
    chance = np.where(share >= wanted[:, None], 1.0, chance)
    return np.where(known, chance, np.nan), spread * order


def _log_density(score: Array) -> Array:
    return np.asarray(-0.5 * (score**2 + np.log(2 * np.pi)))


def look_over(
    order: Array,
    panel: Panel,
    before: Array,
    series: Places,
    day: Places,
    level: float,
    *,
    share: float,
    lot: float | None,
    seed: int,
) -> Array:
    """Units to add to the rows of a table of orders, chosen day by day.

    Parameters
    ----------
    order : ndarray of shape (n_rows,)
    panel : Panel
        The past, with `Panel.hidden`.
    before : ndarray of shape (n_series, n_last)
        What the same rule would have ordered for the last days of the panel.
    series, day : ndarray of shape (n_rows,)
        Of each row.
    level : float
        Share of days on which demand is to be met.
    share : float
        Of all units: what may be added. It is not exceeded, so that little sheets may get nothing.
    lot : float, optional
    seed : int
    """
    last = panel.n_days - before.shape[1]
    observed, flags = panel.observed[:, last:], last_flags(panel)[:, last:]
    extra = np.zeros(order.size)
    left = share * float(order.sum())
    for place, each in enumerate(np.unique(day)):
        rows = np.flatnonzero(day == each)
        own = series[rows]
        chance, spread = like_these_orders(
            observed[own], flags[own], before[own], order[rows], level
        )
        found = look_on_purpose(
            order[rows], chance, level, spread=spread, share=share, lot=lot, seed=seed + place
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
            "No units are added in order to see more: no series surely sells out more often than "
            f"it should, or none could be looked at for {100 * share:.3g}% of all units."
        )
    where = "1 order" if rows == 1 else f"{rows:,} orders"
    return (
        f"{extra.sum():,.4g} of {order.sum() + extra.sum():,.0f} units are added to {where} in "
        "order to see more: these series surely sell out more often than they should, and what is "
        "asked for beyond that is never seen."
    )
