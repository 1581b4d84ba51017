"""Reorder points and order-up-to levels, for systems that ask for such a table.

Backorders: the level S is the quantile of demand from now until the next order arrives, as for an
order from empty shelves; with a fixed cost it is meant for several reviews, and an order waits
until the position has fallen to s, where running short costs as much as a period of ordering does.

Lost sales: what is lost is never asked for again, so that levels are lower, the more so the longer
the lead time. The expected cost is convex in the level (Janakiraman & Roundy 2004); the level is
found by a search on simulated shelves whose periods are drawn from the paths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from unmet.arrays import Array
from unmet.errors import InvalidInput
from unmet.replenishment.orders import Part, alike, read_paths, some_rules
from unmet.replenishment.rules import ShopRules
from unmet.replenishment.shelves import Shelves

_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
_SEARCH = 14  # steps: the bracket shrinks to 0.1% of itself
_LENGTH, _WARM_UP, _COPIES = 60, 20, 24  # periods that are simulated, those not counted, copies


@dataclass(frozen=True, eq=False)
class StockLevels:
    """Order when the position (on hand and on its way) is at or below the reorder point.

    Attributes
    ----------
    reorder_point, order_up_to : ndarray of shape (n_series,)
        Orders raise the position to `order_up_to`.
    minimum : ndarray of shape (n_series,)
    lot : ndarray of shape (n_series,)
        NaN where any quantity can be ordered.
    """

    reorder_point: Array
    order_up_to: Array
    minimum: Array
    lot: Array

    def columns(self) -> dict[str, Array]:
        """Columns with one entry for each series, ready for any table."""
        return {
            "reorder_point": self.reorder_point,
            "order_up_to": self.order_up_to,
            "minimum": self.minimum,
            "lot": self.lot,
        }

    def orders(self, position: ArrayLike) -> Array:
        """Say what to order at a position, before lots and minima."""
        at = np.asarray(position, dtype=np.float64)
        return np.where(at <= self.reorder_point, np.maximum(self.order_up_to - at, 0.0), 0.0)


def order_up_to(paths: ArrayLike, rules: ShopRules, *, seed: int = 0) -> StockLevels:
    """Levels to which each order raises what is there and on its way.

    Parameters
    ----------
    paths : array-like of shape (n_series, n_paths, n_periods)
        Demand of the coming periods, drawn.
    rules : ShopRules
        Leftovers must last: with a shelf life no level is good, because what is about to spoil
        counts as much as what is fresh.
    seed : int, default=0

    Returns
    -------
    StockLevels

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.replenishment import ShopRules, order_up_to
    >>> demand = np.random.default_rng(0).poisson(4, size=(1, 5000, 4))
    >>> rules = ShopRules(lead_time=3, holding=0.2, shortage=1, unmet="backordered")
    >>> order_up_to(demand, rules).order_up_to
    array([20.])
    """
    drawn = read_paths(paths)
    n_series = drawn.shape[0]
    if not rules.lasting and int(np.min(rules.shelf_life)) > 1:  # type: ignore[arg-type]
        raise InvalidInput(
            "shelf_life must be None for order-up-to levels: what is about to spoil counts in them "
            "as much as what is fresh; use replenish instead."
        )
    needed = rules.periods(n_series)
    if drawn.shape[2] < needed:
        raise InvalidInput(
            f"paths must reach {needed} periods ahead, until the next order arrives, "
            f"got {drawn.shape[2]}."
        )
    upper, lower = np.empty(n_series), np.empty(n_series)
    for rows, lead, review, life in alike(rules, drawn):
        some = some_rules(rules, rows, n_series)
        waiting = _with(some, unmet="backordered")
        part = Part(drawn[rows], waiting, lead, review, life)
        nothing = np.zeros(rows.size)
        law, _ = part.decide(nothing, np.zeros((rows.size, 0)))
        level = law.best()
        if rules.unmet == "lost" and lead > 0:
            level = _search(drawn[rows], some, lead, review, level, seed)
        upper[rows] = level
        lower[rows] = _reorder_point(part, level)
    return StockLevels(
        lower,
        upper,
        np.array(rules.rows("minimum", n_series)),
        np.full(n_series, np.nan) if rules.lot is None else np.array(rules.rows("lot", n_series)),
    )


def _with(rules: ShopRules, **changed: object) -> ShopRules:
    values = {name: getattr(rules, name) for name in rules.__dataclass_fields__}
    return ShopRules(**{**values, **changed})


def _reorder_point(part: Part, level: Array) -> Array:
    """Position at or below which to order: just below the level, or lower with a fixed cost."""
    rules, n_series = part.rules, part.n_series
    fixed = rules.rows("fixed", n_series)
    whole = (part.paths == np.round(part.paths)).all()
    unit = np.full(n_series, 1.0 if whole else 0.0)
    if rules.lot is not None:
        unit = np.array(rules.rows("lot", n_series))
    below = level - unit
    if not fixed.any():
        return np.asarray(below)
    average, _ = part.cycles(fixed, part.most_reviews)
    shortage = rules.rows("shortage", n_series)
    until = part.paths[:, :, : part.lead + part.review].sum(axis=2)
    low, high = np.zeros(n_series), np.maximum(level, 0.0)
    for _ in range(40):
        middle = 0.5 * (low + high)
        short = shortage * np.maximum(until - middle[:, None], 0.0).mean(axis=1)
        waits = short <= average * part.review
        low, high = np.where(waits, low, middle), np.where(waits, middle, high)
    point = np.ceil(low - 1e-9) if whole else low
    return np.asarray(np.where(fixed > 0, np.minimum(point, below), below))


def _search(
    paths: Array, rules: ShopRules, lead: int, review: int, start: Array, seed: int
) -> Array:
    """Golden-section search for the level of least cost, all series at once."""
    _, n_paths, n_periods = paths.shape
    generator = np.random.default_rng(seed)
    which = generator.integers(n_paths, size=(_COPIES, _LENGTH))
    period = generator.integers(n_periods, size=(_COPIES, _LENGTH))
    demand = paths[:, which, period]
    whole = bool((paths == np.round(paths)).all())

    def cost(level: Array) -> Array:
        return _simulated(demand, rules, lead, review, level)

    low, high = 0.5 * start, 1.05 * start + 1e-9
    inner = high - _GOLDEN * (high - low)
    outer = low + _GOLDEN * (high - low)
    at_inner, at_outer = cost(inner), cost(outer)
    for _ in range(_SEARCH):
        left = at_inner <= at_outer
        low, high = np.where(left, low, inner), np.where(left, outer, high)
        new = np.where(left, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        at_new = cost(new)
        inner, outer = np.where(left, new, outer), np.where(left, inner, new)
        at_inner, at_outer = np.where(left, at_new, at_outer), np.where(left, at_inner, at_new)
    best = np.where(at_inner <= at_outer, inner, outer)
    if not whole:
        return np.asarray(best)
    down, up = np.floor(best), np.ceil(best)
    return np.asarray(np.where(cost(down) <= cost(up), down, up))


def _simulated(demand: Array, rules: ShopRules, lead: int, review: int, level: Array) -> Array:
    """Mean cost of a period under a base-stock level."""
    n_series, n_copies, length = demand.shape
    shelves = Shelves(np.repeat(level[:, None], n_copies, axis=1), rules)
    coming = np.zeros((lead + 1, n_series, n_copies))
    total = np.zeros(n_series)
    for period in range(length):
        if period % review == 0:
            position = shelves.on_hand + coming.sum(axis=0)
            coming[lead] = np.maximum(level[:, None] - position, 0.0)
        shelves.deliver(coming[0])
        coming = np.concatenate([coming[1:], np.zeros_like(coming[:1])])
        passed = shelves.sell(demand[:, :, period])
        if period >= _WARM_UP:
            total += shelves.cost(passed).mean(axis=1)
    return np.asarray(total / (length - _WARM_UP))
