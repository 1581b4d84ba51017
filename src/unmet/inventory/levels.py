"""Reorder points and order-up-to levels, for systems that need such a table.

Backorders: the level S is the quantile of demand until the next order arrives, as for an order from
empty shelves. With a fixed cost an order waits until the position has fallen to s, and all pairs
(s, S) of a grid are compared.

Lost sales: lost demand does not return, so levels are lower, and lower still for longer lead times.
The expected cost is convex in the level (Janakiraman & Roundy 2004). A search on simulated shelves,
whose periods are drawn from the paths, finds the level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from unmet.arrays import Array, Places, golden_section
from unmet.errors import InvalidInput
from unmet.inventory.orders import Part, alike, read_paths
from unmet.inventory.rules import Shelves, SupplyRules

_SEARCH = 10  # steps: the bracket shrinks to 0.8% of itself
_POINTS = 160  # of the grid in which s and S are looked for
_LEAST_HOLDING = 1e-3  # of shortage: who keeps for nothing would order once and for ever
_LENGTH, _WARM_UP, _COPIES = 60, 20, 60  # periods that are simulated, those not counted, copies


@dataclass(frozen=True, eq=False)
class StockLevels:
    """Reorder points and order-up-to levels of each series.

    Order if the position (stock on hand and on its way) is at or below the reorder point.

    Attributes
    ----------
    reorder_point, order_up_to : ndarray of shape (n_series,)
        Order at or below the first; orders raise the position to the second.
    minimum : ndarray of shape (n_series,)
        Smallest order.
    lot : ndarray of shape (n_series,)
        Size of a lot; NaN if any quantity can be ordered.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.inventory import SupplyRules, order_up_to
    >>> demand = np.random.default_rng(0).poisson(4, size=(1, 5000, 4))
    >>> rules = SupplyRules(lead_time=3, holding=0.2, shortage=1, unmet="backordered")
    >>> order_up_to(demand, rules).orders([12])
    array([8.])
    """

    reorder_point: Array
    order_up_to: Array
    minimum: Array
    lot: Array

    def columns(self) -> dict[str, Array]:
        """Give columns with one entry for each series, ready for any table."""
        return dict(vars(self))

    def orders(self, position: ArrayLike) -> Array:
        """Give the order at a position, before lots and minima.

        Parameters
        ----------
        position : float or array-like of shape (n_series,)
            Stock on hand and on its way.
        """
        at = np.asarray(position, dtype=np.float64)
        return np.where(at <= self.reorder_point, np.maximum(self.order_up_to - at, 0.0), 0.0)


def order_up_to(paths: ArrayLike, rules: SupplyRules, *, seed: int = 0) -> StockLevels:
    """Find the levels to which each order raises the stock on hand and on its way.

    Parameters
    ----------
    paths : array-like of shape (n_series, n_paths, n_periods)
        Sample paths of demand in the coming periods.
    rules : SupplyRules
        Lead time, review period and costs. A shelf life is refused: no level is good then, because
        units that are about to spoil would count as much as fresh ones.
    seed : int, default=0
        Seed of the simulated shelves, for lost sales.

    Returns
    -------
    StockLevels
        Levels of each series.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.inventory import SupplyRules, order_up_to
    >>> demand = np.random.default_rng(0).poisson(4, size=(1, 5000, 4))
    >>> rules = SupplyRules(lead_time=3, holding=0.2, shortage=1, unmet="backordered")
    >>> order_up_to(demand, rules).order_up_to
    array([20.])
    """
    if not rules.lasting and int(np.min(rules.shelf_life)) > 1:
        raise InvalidInput(
            "shelf_life must be None for order-up-to levels: what is about to spoil counts in them "
            "as much as what is fresh; use replenish instead."
        )
    drawn = read_paths(paths, rules)
    n_series = drawn.shape[0]
    upper, lower = np.empty(n_series), np.empty(n_series)
    for rows, lead, review, life in alike(rules, drawn):
        some = rules.take(rows, n_series)
        waiting = some.replace(unmet="backordered")
        part = Part(drawn[rows], waiting, lead, review, life)
        nothing = np.zeros(rows.size)
        distribution, _ = part.decide(nothing, np.zeros((rows.size, 0)))
        level = distribution.best()
        if rules.unmet == "lost" and lead > 0:
            level = _search(drawn[rows], some, review, level, seed)
        upper[rows], lower[rows] = level, _just_below(part, level)
        fixed = some.rows("fixed", rows.size)
        if fixed.any() and rules.lasting:
            s, top = _two_levels(part, fixed, rules.unmet == "lost")
            upper[rows] = np.where(fixed > 0, top, level)
            lower[rows] = np.where(fixed > 0, s, lower[rows])
    return StockLevels(
        lower,
        upper,
        np.array(rules.rows("minimum", n_series)),
        np.full(n_series, np.nan) if rules.lot is None else np.array(rules.rows("lot", n_series)),
    )


def _just_below(part: Part, level: Array) -> Array:
    """Position at or below which to order where that costs nothing: whatever is below the level."""
    rules = part.rules
    if rules.lot is not None:
        return np.asarray(level - rules.rows("lot", part.n_series))
    whole = (part.paths == np.round(part.paths)).all()
    return np.asarray(level - (1.0 if whole else 0.0))


def _two_levels(part: Part, fixed: Array, lost: bool) -> tuple[Array, Array]:
    """Levels (s, S) of least cost, by all pairs of a grid (Zheng & Federgruen 1991 count fewer).

    Let G(y) be the cost of a review period that begins, a lead time later, from a position y, and
    m(j) how many reviews a position is expected to spend j units below S. From one order to the
    next pass Σ m(j) reviews, j < S − s, so that a review costs on average::

        c(s, S) = [K + Σ_{j < S − s} m(j) G(S − j)] / Σ_{j < S − s} m(j)

    That is exact for backorders, and for lost sales without a lead time. With one, what is lost is
    counted once, as if orders never crossed.
    """
    rules, n_series = part.rules, part.n_series
    holding, shortage = (rules.rows(name, n_series) for name in ("holding", "shortage"))
    holding = np.maximum(holding, _LEAST_HOLDING * shortage)
    reached = np.cumsum(part.paths, axis=2)
    ahead = part.since_arrival(reached, part.review)
    before = part.since_arrival(np.pad(reached, ((0, 0), (0, 0), (1, 0))), 1)[..., 0]

    def cost(position: Array) -> Array:
        off = position[:, None, None] - ahead
        short = -np.minimum(off, 0.0).sum(axis=2)
        if lost:
            short = -np.minimum(off[..., -1], 0.0)
            short += np.minimum(position[:, None] - before, 0.0)
        left = np.maximum(off, 0.0).sum(axis=2)
        return np.asarray((holding[:, None] * left + shortage[:, None] * short).mean(axis=1))

    # no s below, and no S above, at which a review alone costs more than some policy does
    average, _ = part.cycles(fixed, part.most_reviews)
    most = average * part.review
    middle, last = ahead[..., -1].mean(axis=1), ahead[..., -1].max(axis=1)
    low = np.zeros(n_series) if lost else middle - most / (shortage * part.review) - 1.0
    high = np.maximum(last, middle + most / (holding * part.review)) + 1.0
    whole = bool((part.paths == np.round(part.paths)).all())
    unit = (high - low) / _POINTS
    if whole:
        unit, low = np.maximum(np.ceil(unit), 1.0), np.floor(low)

    # demand of a review, in units of the grid
    n_reviews = part.paths.shape[2] // part.review
    used = part.paths[..., : n_reviews * part.review]
    demand = used.reshape(n_series, -1, part.review).sum(axis=2)
    steps = np.minimum(np.round(demand / unit[:, None]), _POINTS).astype(np.intp)
    places = steps + (_POINTS + 1) * np.arange(n_series)[:, None]
    counted = np.bincount(places.ravel(), minlength=n_series * (_POINTS + 1))
    chance = counted.reshape(n_series, _POINTS + 1) / demand.shape[1]
    stays = np.maximum(1.0 - chance[:, 0], 1.0 / demand.shape[1])
    spent = np.zeros((n_series, _POINTS))
    spent[:, 0] = 1.0 / stays
    for j in range(1, _POINTS):
        spent[:, j] = (chance[:, 1 : j + 1] * spent[:, j - 1 :: -1]).sum(axis=1) / stays

    costs = np.stack([cost(low + unit * point) for point in range(_POINTS)], axis=1)
    passed = np.cumsum(spent, axis=1)
    least = np.full(n_series, np.inf)
    lower, upper = np.zeros(n_series), np.zeros(n_series)
    rows = np.arange(n_series)
    for top in range(1, _POINTS):
        within = np.cumsum(spent[:, :top] * costs[:, top:0:-1], axis=1)
        mean = (fixed[:, None] + within) / passed[:, :top]
        gap = mean.argmin(axis=1)
        better = mean[rows, gap] < least
        least = np.where(better, mean[rows, gap], least)
        upper = np.where(better, low + unit * top, upper)
        lower = np.where(better, low + unit * (top - gap - 1), lower)
    return lower, upper


def _search(paths: Array, rules: SupplyRules, review: int, start: Array, seed: int) -> Array:
    """Golden-section search for the level of least cost, all series at once."""
    _, n_paths, n_periods = paths.shape
    generator = np.random.default_rng(seed)
    which = generator.integers(n_paths, size=(_COPIES, _LENGTH))
    period = generator.integers(n_periods, size=(_COPIES, _LENGTH))
    demand, leads = paths[:, which, period], rules.leads(len(paths), _COPIES * _LENGTH)
    whole = bool((paths == np.round(paths)).all())

    def cost(level: Array) -> Array:
        return _simulated(demand, rules, leads, review, level)

    low, high = 0.5 * start, 1.05 * start + 1e-9
    _, _, best = golden_section(cost, low, high, _SEARCH)
    if not whole:
        return np.asarray(best)
    down, up = np.floor(best), np.ceil(best)
    return np.asarray(np.where(cost(down) <= cost(up), down, up))


def _simulated(
    demand: Array, rules: SupplyRules, leads: Places, review: int, level: Array
) -> Array:
    """Mean cost of a period under a base-stock level; orders do not overtake each other."""
    n_series, n_copies, length = demand.shape
    shelves = Shelves(np.repeat(level[:, None], n_copies, axis=1), rules)
    leads = leads.reshape(demand.shape)
    coming = np.zeros((int(leads.max()) + 1, n_series, n_copies))
    last = np.zeros((n_series, n_copies), dtype=np.intp)
    total = np.zeros(n_series)
    for period in range(length):
        if period % review == 0:
            position = shelves.on_hand + coming.sum(axis=0)
            last = np.maximum(leads[..., period], last - review)
            order = np.maximum(level[:, None] - position, 0.0)
            coming[last, np.arange(n_series)[:, None], np.arange(n_copies)] += order
        shelves.deliver(coming[0])
        coming = np.concatenate([coming[1:], np.zeros_like(coming[:1])])
        shelves.sell(demand[:, :, period])
        if period >= _WARM_UP:
            total += shelves.cost().mean(axis=1)
    return np.asarray(total / (length - _WARM_UP))
