"""Orders now: a newsvendor on the quantity that will be missing when the order arrives.

Coming demand is given as sample paths. On each path, older stock on the shelf and on its way is
sold first. The demand that it does not meet, counted from the arrival of this order, is
C₁ ≤ C₂ ≤ … after one, two, … periods. Of an order q, (q − C_j)⁺ is left after j periods. The
expected cost until the next order arrives (R periods), without the part that q does not change, is
therefore::

    lost sales    h Σ_{j ≤ R} E(q − C_j)⁺ + p E(C_R − q)⁺ + κ h L E(q − C_R)⁺
    backorders    h Σ_{j ≤ R} E(q − C_j)⁺ + p Σ_{j ≤ R} E(C_j − q)⁺

With a shelf life of k periods, w E(q − C_k)⁺ is added for spoiled units. This does not depend on
later orders, because the oldest units are sold first. The cost is convex and piecewise linear in q,
with kinks at the C_j. Its slope is that of a newsvendor whose truth is a mixture of the C_j, so the
best q is a quantile of the mixture, found exactly by sorting.

Nothing beyond the arrival of the next order counts, because the next order can still correct it.
For backorders this is optimal if demand does not fall fast. For lost sales it is Morton's (1971)
myopic policy, which orders too much (Zipkin 2008): leftovers meet orders on the way that were
placed without knowing of them, one for each period of the lead time L. Leftovers are therefore
charged κ h L more, with κ = `CARRIED`. `benchmarks/replenishment.py` compares the result with the
best base-stock level.

If lead times vary, each path has its own lead time L, and the next order has L′. The j-th period
from the arrival counts with the chance P(R + L′ > L + j − 1) that the next order has not arrived,
and the shortage of lost sales counts when it arrives. For backorders this is exactly the cost of a
base-stock policy, if no order can overtake another.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from unmet.arrays import Array, Places, expand, positive
from unmet.costs import Newsvendor
from unmet.errors import InvalidInput
from unmet.inventory.allocate import allocate
from unmet.inventory.rules import Shelves, StockState, SupplyRules

MAX_REVIEWS = 12
"""Reviews that an order with a fixed cost may cover."""
_BLOCK = 8_000_000  # numbers of paths that are worked on at once
CARRIED = 0.2
"""Of holding, for each period of lead time: what a leftover costs later on, where unmet demand is
lost. Chosen on stationary Poisson and normal demand: against 0 it saved 0 to 10% of the cost at
lead times of 1 to 8; from .15 to .25 it makes little difference."""
_CYCLE_PATHS = 100  # enough for the length of a cycle
_SHARED = 256  # equally likely values that stand for a mixture where a budget is shared
_ROUNDING = 1e-9  # a share of a lot that is no share


@dataclass(frozen=True, eq=False)
class Projection:
    """Projected stock, if this order is placed and no other.

    Attributes
    ----------
    low, middle, high : ndarray of shape (n_series, n_periods)
        Units at the end of each period that 90, 50 and 10% of the paths exceed.
    empty : ndarray of shape (n_series, n_periods)
        Probability that demand of the period is not met in full.
    out : ndarray of shape (n_series, n_periods)
        Probability that demand of this or of an earlier period is not met in full.
    short : ndarray of shape (n_series, n_periods)
        Expected missing units; a backordered unit counts in each period that it waits.
    cost : ndarray of shape (n_series,)
        Expected cost of all these periods, including that of the order.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.inventory import SupplyRules, StockState, replenish
    >>> demand = np.random.default_rng(0).poisson(4, size=(1, 2000, 4))
    >>> rules = SupplyRules(lead_time=3, holding=0.2, shortage=1)
    >>> projection = replenish(demand, rules, StockState([8], [[0, 5, 0]])).projection
    >>> projection.middle, projection.runs_empty()
    (array([[4., 5., 1., 2.]]), array([-1]))
    """

    low: Array
    middle: Array
    high: Array
    empty: Array
    out: Array
    short: Array
    cost: Array

    def runs_empty(self) -> Places:
        """Find the first period in which demand is more likely than not to be unmet; −1 if none."""
        likely = self.empty >= 0.5
        return np.where(likely.any(axis=1), likely.argmax(axis=1), -1)

    def until_next(self, rules: SupplyRules) -> tuple[Array, Array]:
        """Give the chance of a stock-out before the next order arrives, and expected missing units.

        Parameters
        ----------
        rules : SupplyRules
            Lead time and review period.

        Returns
        -------
        chance, missing : ndarray of shape (n_series,)
            Probabilities and units.
        """
        n_series, n_periods = self.out.shape
        going_on = next_late(rules, n_series, n_periods)
        ends = going_on - np.pad(going_on[:, 1:], ((0, 0), (0, 1)))
        return (ends * self.out).sum(axis=1), (going_on * self.short).sum(axis=1)


@dataclass(frozen=True, eq=False)
class Replenishment:
    """Orders, and the stock that they lead to.

    Attributes
    ----------
    order : ndarray of shape (n_series,)
        Units to order.
    reviews : ndarray of int, shape (n_series,)
        Number of reviews that the order should last; 0 if a fixed cost makes it better to wait.
    projection : Projection
        Projected stock, computed on first access.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.inventory import SupplyRules, replenish
    >>> demand = np.random.default_rng(0).poisson(4, size=(1, 2000, 4))
    >>> found = replenish(demand, SupplyRules(lead_time=3, holding=0.2, shortage=1))
    >>> found.order, found.reviews
    (array([5.]), array([1]))
    """

    order: Array
    reviews: Places
    _given: tuple[Array, SupplyRules, StockState] | Projection = field(repr=False)

    @cached_property
    def projection(self) -> Projection:
        """Stock that the orders lead to."""
        if isinstance(self._given, Projection):  # of a plan that was loaded: it has no paths
            return self._given
        return project(*self._given, self.order)


@dataclass(frozen=True, eq=False)
class _Distribution:
    """A newsvendor whose truth is a mixture: values in ascending order, and how likely they are.

    `under` and `over` are costs per unit below and above.
    """

    values: Array
    shares: Array
    under: Array
    over: Array

    def best(self) -> Array:
        """Quantile that costs least; of several the smallest."""
        reached = np.cumsum(self.shares, axis=1)
        asked = (self.under / (self.under + self.over))[:, None]
        place = (reached >= asked - 1e-12).argmax(axis=1)
        return np.asarray(np.take_along_axis(self.values, place[:, None], axis=1)[:, 0])

    def cost(self, order: Array) -> Array:
        """Give the expected cost of an order, but for what it does not change."""
        off = order[:, None] - self.values
        below = (self.shares * np.maximum(-off, 0.0)).sum(axis=1)
        above = (self.shares * np.maximum(off, 0.0)).sum(axis=1)
        return np.asarray(self.under * below + self.over * above)

    def spread(self, count: int) -> Array:
        """Equally likely values that stand for the mixture, (n_series, count)."""
        reached = np.cumsum(self.shares, axis=1)
        levels = (np.arange(count) + 0.5) / count
        rows = [
            np.searchsorted(reach, levels * reach[-1]).clip(max=reach.size - 1) for reach in reached
        ]
        return np.take_along_axis(self.values, np.stack(rows), axis=1)


def replenish(
    paths: ArrayLike, rules: SupplyRules, state: StockState | None = None, *, use: ArrayLike = 1.0
) -> Replenishment:
    """Find the orders with the least expected cost from their arrival to that of the next order.

    Parameters
    ----------
    paths : array-like of shape (n_series, n_paths, n_periods)
        Sample paths of demand in the coming periods; at least `rules.periods(n_series)` periods.
    rules : SupplyRules
        Lead time, review period, costs and limits.
    state : StockState, optional
        Stock on hand and on its way. None is no stock.
    use : float or array-like of shape (n_series,), default=1
        Part of the rules' budget that one unit uses.

    Returns
    -------
    Replenishment
        Orders, and the projected stock.

    Examples
    --------
    The order arrives in three periods; 8 units are on hand and 5 more on their way:

    >>> import numpy as np
    >>> from unmet.inventory import SupplyRules, StockState, replenish
    >>> demand = np.random.default_rng(0).poisson(4, size=(1, 2000, 4))
    >>> rules = SupplyRules(lead_time=3, holding=0.2, shortage=1)
    >>> replenish(demand, rules, StockState([8], [[0, 5, 0]])).order
    array([4.])
    """
    drawn = read_paths(paths, rules)
    n_series = drawn.shape[0]
    shop = StockState(np.zeros(n_series)) if state is None else state
    shop.check(rules, n_series)
    order, reviews = np.zeros(n_series), np.ones(n_series, dtype=np.intp)
    budget = rules.budget
    shared = np.empty((n_series, _SHARED if budget is not None else 0))
    slopes = np.empty((2, n_series))
    for rows, lead, review, life in alike(rules, drawn):
        part = Part(drawn[rows], rules.take(rows, n_series), lead, review, life)
        distribution, reviews[rows] = part.decide(
            shop.on_hand[rows], shop.arrivals(lead + review)[rows]
        )
        order[rows] = to_order(
            distribution, np.where(reviews[rows] > 0, distribution.best(), 0.0), part.rules
        )
        slopes[:, rows] = distribution.under, distribution.over
        if budget is not None:
            shared[rows] = distribution.spread(_SHARED)
    if budget is not None and float(order @ expand("use", positive("use", use), n_series)) > budget:
        # share a budget: no series more than it would have, and what is missing least where it
        # hurts
        wanted = order > 0
        found = np.zeros(n_series)
        spent = expand("use", positive("use", use), n_series)[wanted]
        lot = None if rules.lot is None else rules.rows("lot", n_series)[wanted]
        cost, most = Newsvendor(*slopes[:, wanted]), order[wanted]
        asked = allocate(cost, shared[wanted], budget, use=spent, upper=most, step=lot)
        found[wanted] = asked.decision
        order = np.where(found >= rules.rows("minimum", n_series), found, 0.0)
    return Replenishment(order, reviews, (drawn, rules, shop))


def project(paths: Array, rules: SupplyRules, state: StockState, order: Array) -> Projection:
    """Simulate the stock on all paths, with an order that arrives after the lead time.

    Parameters
    ----------
    paths : ndarray of shape (n_series, n_paths, n_periods)
        Sample paths of demand in the coming periods.
    rules : SupplyRules
        Lead time, costs and shelf life.
    state : StockState
        Stock on hand and on its way.
    order : ndarray of shape (n_series,)
        Units to order now.

    Returns
    -------
    Projection
        Stock, stock-outs and cost of each period.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet.inventory import SupplyRules, StockState, project
    >>> demand = np.full((1, 10, 3), 4.0)
    >>> rules = SupplyRules(lead_time=1, holding=0.2, shortage=1)
    >>> project(demand, rules, StockState([5]), np.array([6.0])).middle
    array([[1., 3., 0.]])
    """
    n_series, n_paths, n_periods = paths.shape
    arrivals, shape = state.arrivals(n_periods), (n_series, n_periods)
    levels, (empty, out, short) = np.empty((3, *shape)), np.empty((3, *shape))
    cost = np.zeros(n_series)
    size = max(1, _BLOCK // (n_paths * max(1, _ages(rules))))
    for start in range(0, n_series, size):
        rows = np.arange(start, min(start + size, n_series))
        some = rules.take(rows, n_series)
        shelves = Shelves(np.repeat(state.on_hand[rows, None], n_paths, axis=1), some)
        lead, ever = some.leads(rows.size, n_paths), np.zeros((rows.size, n_paths), dtype=np.bool_)
        for period in range(n_periods):
            ordered = np.where(lead == period, order[rows, None], 0.0)
            shelves.deliver(arrivals[rows, period][:, None] + ordered)
            shelves.sell(paths[rows, :, period])
            levels[:, rows, period] = np.quantile(
                shelves.on_hand, [0.1, 0.5, 0.9], axis=1, method="inverted_cdf"
            )
            empty[rows, period] = (shelves.unmet > 0).mean(axis=1)
            ever |= shelves.unmet > 0
            out[rows, period] = ever.mean(axis=1)
            short[rows, period] = shelves.short.mean(axis=1)
            cost[rows] += shelves.cost().mean(axis=1)
    cost += rules.rows("fixed", n_series) * (order > 0)
    return Projection(levels[0], levels[1], levels[2], empty, out, short, cost)


def next_late(rules: SupplyRules, n_series: int, n_periods: int) -> Array:
    """Give the chance that the next order has not arrived in each period, (n_series, n_periods)."""
    late = rules.late(n_series, n_periods)
    before = np.arange(n_periods) - rules.whole("review", n_series)[:, None]
    return np.where(before < 0, 1.0, np.take_along_axis(late, np.maximum(before, 0), axis=1))


def read_paths(paths: ArrayLike, rules: SupplyRules) -> Array:
    """Read and check sample paths of demand."""
    drawn = np.asarray(paths)
    if drawn.dtype.kind not in "iuf" or drawn.ndim != 3 or not drawn.size:
        raise InvalidInput(
            "paths must be numbers of shape (n_series, n_paths, n_periods), "
            f"got {drawn.dtype} of shape {drawn.shape}."
        )
    drawn = drawn.astype(np.float64, copy=False)
    bad = ~np.isfinite(drawn) | (drawn < 0)
    if bad.any():
        raise InvalidInput(f"paths must be finite and 0 or more, got {drawn[bad][0]:g}.")
    needed = rules.periods(drawn.shape[0])
    if drawn.shape[2] < needed:
        raise InvalidInput(
            f"paths must reach {needed} periods ahead, until the next order arrives, "
            f"got {drawn.shape[2]}."
        )
    return drawn


def to_order(distribution: _Distribution, wanted: Array, rules: SupplyRules) -> Array:
    """Round quantities to allowed orders in the cheapest way."""
    n_series = wanted.size
    minimum = rules.rows("minimum", n_series)
    if rules.lot is None and rules.capacity is None and not minimum.any():
        return wanted
    most = np.full(n_series, np.inf)
    if rules.capacity is not None:
        most = rules.rows("capacity", n_series)
    least = minimum
    down, up = wanted, wanted
    if rules.lot is not None:
        lot = rules.rows("lot", n_series)
        count = wanted / lot
        down, up = np.floor(count + _ROUNDING) * lot, np.ceil(count - _ROUNDING) * lot
        least = np.ceil(minimum / lot - _ROUNDING) * lot
        most = np.floor(most / lot + _ROUNDING) * lot
    choices = np.stack([np.zeros(n_series), down, up, least, np.where(np.isinf(most), down, most)])
    allowed = (choices == 0) | ((choices >= least) & (choices <= most))
    costs = np.stack([distribution.cost(each) for each in choices])
    costs = np.where(allowed, costs, np.inf)
    # of equally cheap ones the first, whatever the last digits say
    best = (costs <= costs.min(axis=0) * (1.0 + _ROUNDING)).argmax(axis=0)
    found = choices[best, np.arange(n_series)]
    return np.where(wanted > 0, found, 0.0)


# --- One kind of rules at a time.


class Part:
    """Series that share the longest lead time, review period and shelf life."""

    def __init__(
        self, paths: Array, rules: SupplyRules, lead: int, review: int, life: int | None
    ) -> None:
        self.paths, self.rules = paths, rules
        self.lead, self.review, self.life = lead, review, life
        self.n_series = paths.shape[0]
        self.leads: Places | None = None  # of each path, where they vary
        if rules.varies:
            self.leads = rules.leads(self.n_series, paths.shape[1])

    def since_arrival(self, values: Array, count: int) -> Array:
        """Give values of periods from the arrival on; the last period repeats."""
        if self.leads is None:
            return values[..., self.lead : self.lead + count]
        places = np.minimum(self.leads[..., None] + np.arange(count), values.shape[2] - 1)
        return np.take_along_axis(values, places, axis=2)

    def decide(self, on_hand: Array, arrivals: Array) -> tuple[_Distribution, Places]:
        """Give the newsvendor problem of each series, and for how many reviews it is."""
        fixed = self.rules.rows("fixed", self.n_series)
        most = self.most_reviews
        missing = self.missing(on_hand, arrivals, most if fixed.any() else 1)
        distribution = self.distribution(missing, 1)
        count = np.ones(self.n_series, dtype=np.intp)
        if not fixed.any():
            return distribution, count
        average, reviews = self.cycles(fixed, most)
        reviews = np.where(fixed > 0, reviews, 1)
        joint = self._chosen(missing, reviews)
        shortage = self.rules.rows("shortage", self.n_series)
        short = missing[..., : self.review]
        short = short[..., -1].mean(axis=1) if self._lost else short.mean(axis=1).sum(axis=1)
        waits = (fixed > 0) & (shortage * short <= average * self.review)
        return joint, np.where(waits, 0, reviews)

    @property
    def _lost(self) -> bool:
        return self.rules.unmet == "lost"

    @property
    def most_reviews(self) -> int:
        """Largest number of reviews that an order can last."""
        ahead = self.paths.shape[2] - self.lead
        if self.life is not None:
            ahead = min(ahead, max(self.life, self.review))
        return max(1, min(MAX_REVIEWS, int(ahead) // self.review))

    def _reach(self, reviews: int) -> int:
        """Periods from the arrival on that what is missing must be known of."""
        first = 0 if self.leads is None else self.lead - int(self.leads.min())
        return max(reviews * self.review + first, 0 if self.life is None else self.life)

    def missing(self, on_hand: Array, arrivals: Array, reviews: int) -> Array:
        """Compute C₁ ≤ C₂ ≤ …: demand that older stock does not meet from the arrival on."""
        n_paths, reach = self.paths.shape[1], self._reach(reviews)
        shelves = Shelves(np.repeat(on_hand[:, None], n_paths, axis=1), self.rules)
        lead = self.lead if self.leads is None else self.leads
        found = np.empty((self.n_series, n_paths, min(self.lead + reach, self.paths.shape[2])))
        total = np.zeros((self.n_series, n_paths))
        for period in range(found.shape[2]):
            if period < arrivals.shape[1]:
                shelves.deliver(np.repeat(arrivals[:, period, None], n_paths, axis=1))
            shelves.sell(self.paths[:, :, period])
            total = np.where(period >= lead, total + shelves.unmet, 0.0)
            found[:, :, period] = total if self._lost else shelves.owed
        return self.since_arrival(found, reach)

    def covered(self, reviews: int, reach: int) -> Array:
        """Compute the chance that an order of so many reviews later has not arrived, (…, …, reach).

        The axes are series, path (1: the same for all) and period from the arrival on. Periods
        after the shelf life do not count.
        """
        ahead = np.arange(reach) - reviews * self.review
        if self.leads is None:
            found = (ahead < 0).astype(np.float64)[None, None]
        else:
            late = self.rules.late(self.n_series, self.lead + 1)
            place = self.leads[..., None] + ahead
            within = place.clip(0, self.lead).reshape(self.n_series, -1)
            later = np.take_along_axis(late, within, axis=1).reshape(place.shape)
            found = np.where(place < 0, 1.0, later)
        return found if self.life is None else found * (np.arange(reach) < self.life)

    def distribution(self, missing: Array, reviews: int) -> _Distribution:
        """Give the mixture of missing quantities whose quantile is the order."""
        n_paths, reach = missing.shape[1:]
        covered = self.covered(reviews, reach)
        ends = covered - np.pad(covered[..., 1:], ((0, 0), (0, 0), (0, 1)))
        holding, shortage, waste = (
            self.rules.rows(name, self.n_series)[:, None, None]
            for name in ("holding", "shortage", "waste")
        )
        above = holding * covered
        if self.life is not None:
            above[..., self.life - 1] = waste[..., 0]
        # with several reviews, what is missing early would be ordered early: as dear as waiting
        below = shortage * covered
        if self._lost and reviews == 1:
            below = shortage * ends
            if self.life is None:
                lead = self.lead if self.leads is None else self.leads.mean(axis=1)[:, None, None]
                above = above + CARRIED * lead * holding * ends
        under, over = (each.mean(axis=1).sum(axis=1) for each in (below, above))
        weight = above + below
        used = weight.any(axis=(0, 1))
        missing, weight = missing[..., used], weight[..., used]
        values = missing.reshape(self.n_series, -1)
        total = weight.mean(axis=1).sum(axis=1)[:, None, None]
        shares = np.broadcast_to(weight / total / n_paths, missing.shape).reshape(values.shape)
        if missing.shape[2] == weight.shape[1] == 1:  # equally likely: shares need no sorting
            values = np.sort(values, axis=1)
        else:
            order = np.argsort(values, axis=1, kind="stable")
            values = np.take_along_axis(values, order, axis=1)
            shares = np.take_along_axis(shares, order, axis=1)
        return _Distribution(values, shares, under, over)

    def _chosen(self, missing: Array, reviews: Places) -> _Distribution:
        """Give for each series the distribution of the reviews it asks for, padded to one width."""
        kinds = []
        for count in np.unique(reviews):
            rows = np.flatnonzero(reviews == count)
            kinds.append((rows, self.some(rows).distribution(missing[rows], int(count))))
        width = max(distribution.values.shape[1] for _, distribution in kinds)
        values, shares = np.zeros((2, self.n_series, width))
        under, over = np.empty((2, self.n_series))
        for rows, distribution in kinds:
            size = distribution.values.shape[1]
            values[rows, :size], shares[rows, :size] = distribution.values, distribution.shares
            values[rows, size:] = distribution.values[:, -1:]
            under[rows], over[rows] = distribution.under, distribution.over
        return _Distribution(values, shares, under, over)

    def some(self, rows: Places) -> Part:
        """Select series."""
        rules = self.rules.take(rows, self.n_series)
        return Part(self.paths[rows], rules, self.lead, self.review, self.life)

    def cycles(self, fixed: Array, most: int) -> tuple[Array, Places]:
        """Find the number of reviews that an order should last, and the mean cost of a period.

        Each cycle begins with empty shelves. The smallest mean cost of a period wins, as in Silver
        and Meal (1973).
        """
        some = self.paths[:, :: max(1, self.paths.shape[1] // _CYCLE_PATHS), self.lead :]
        ahead = np.cumsum(some, axis=2)
        average = np.full((most, self.n_series), np.inf)
        alike = copy(self)
        alike.leads = None  # the length of a cycle does not depend on when it begins
        for reviews in range(1, most + 1):
            distribution = alike.distribution(ahead[..., : alike._reach(reviews)], reviews)
            average[reviews - 1] = (fixed + distribution.cost(distribution.best())) / (
                reviews * self.review
            )
        best = average.argmin(axis=0)
        return average[best, np.arange(self.n_series)], best + 1


# --- Arithmetic of rows.


def alike(rules: SupplyRules, paths: Array) -> Iterator[tuple[Places, int, int, int | None]]:
    """Yield series that share the numbers of periods, in blocks that fit into memory."""
    n_series, n_paths, n_periods = paths.shape
    names = ("lead_time", "review", *(() if rules.lasting else ("shelf_life",)))
    kinds = np.stack([rules.whole(name, n_series) for name in names], axis=1)
    size = max(1, _BLOCK // (n_paths * max(n_periods, _ages(rules))))
    if rules.varies:  # weights of each path: a block that a processor keeps at hand is quicker
        kinds[:, 0], size = rules.longest(n_series), max(1, size // 32)
    unique, code = np.unique(kinds, axis=0, return_inverse=True)
    for number, kind in enumerate(unique):
        rows = np.flatnonzero(code.ravel() == number)
        life = None if rules.lasting else int(kind[2])
        for start in range(0, rows.size, size):
            yield rows[start : start + size], int(kind[0]), int(kind[1]), life


def _ages(rules: SupplyRules) -> int:
    return 1 if rules.shelf_life is None else int(np.max(rules.shelf_life))
