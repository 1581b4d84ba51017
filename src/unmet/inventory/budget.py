"""Decisions that share budgets: one price for each budget, in fractions and in lots.

**In fractions.** With a price λ on the budget products no longer compete: each takes the quantile
at the level (u − λw) / (u + o), clipped to its bounds. Where a distribution has gaps between its
values, what products ask for jumps as the price moves; between the two sides of such a jump all
mixtures cost the same under that price, and the one that uses up the budget is an optimum.

**In lots: marginal analysis.** The k-th lot of a product saves s_k = C(y + (k−1)L) − C(y + kL),
less with every further lot since the expected cost C is convex, and uses wL of the budget. Lots are
taken by saving per unit of budget, the largest first, until one does not fit (Fox, 1966). If that
lot could be cut, this would be the optimum, so no allocation in whole lots costs less than

    cost of the lots taken − λ · what is left of the budget,    λ = s / (wL) of the lot that does
                                                                not fit

and what is left is worth less than that lot. Where every lot uses the same, what cannot buy a lot
is no budget, nothing is left, and the lots taken are the optimum. Otherwise smaller lots that still
fit are taken as well; what remains of the bound is the gap.

Counting the lots that save more than λ needs no list of all lots: they end beside the decision in
fractions for that price. A search narrows the price until few lots lie between its two ends; those
are sorted.

**The price of the budget** is a root search for all budgets at once, safeguarded. What products ask
for falls as the price λ of a unit of the budget rises. The search keeps two prices between which
the budget is just met: at `low` products ask for more than there is, at `high` they do not. It
steps by regula falsi (Illinois), which is quick where demand for the budget is smooth, and halves
the bracket whenever two steps have not; after many steps it halves the number of floating-point
numbers in it, which ends after 64 more whatever the scales are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmet.arrays import Array
from unmet.errors import InvalidInput
from unmet.estimators.lots import Room
from unmet.inventory.distributions import Distribution, QuantileFunction

_PATIENCE = 80  # steps of the search before it halves the numbers that are left
_STEPS = _PATIENCE + 70
_NOISE = 1e-6  # share of its size by which a decision may move the wrong way: rounding of quantiles
_TOLERANCE = 1e-13  # of the gap in fractions, against price times budget
_ROUGHLY = 1e-6  # the same where the price is only a hint for the search in lots
_CLOSE = 1e-3  # by which the prices tried first in lots lie beside that hint
_RAREST = 1e-12  # levels closer to 0 or 1 are not asked for
_ROUNDING = 1e-12
_FEW = 1000  # lots that are sorted without a thought
_LATER = 20_000  # lots that may still be taken, one by one, after the first that does not fit


@dataclass(frozen=True)
class AllocationProblem:
    """Products, their costs and bounds, and the budgets they share; arrays of shape (n_products,).

    Attributes
    ----------
    truth : Distribution
    below, above : ndarray
        Slopes of the cost.
    room : Room
        Lots and bounds.
    use : ndarray
        Of the budget, per unit of decision.
    group : ndarray
        Which budget.
    budget : ndarray of shape (n_budgets,)
    names : ndarray of shape (n_budgets,) or None
        Names of the groups in the order of the budgets.
    """

    truth: Distribution
    below: Array
    above: Array
    room: Room
    use: Array
    group: NDArray[np.intp]
    budget: Array
    names: NDArray[Any] | None

    def used(self, decision: Array) -> Array:
        """Sum of use times decision, for each budget."""
        spent = np.bincount(self.group, self.use * decision, minlength=self.budget.size)
        return spent.astype(np.float64, copy=False)

    def level(self, price: Array) -> Array:
        """Level at which a product's marginal cost is minus the price of what a unit uses.

        The expected cost has the slope (u + o) F(y) − u, and a unit uses w of a budget with price
        λ: at the optimum F(y) = (u − λw) / (u + o). Not clipped.
        """
        return np.asarray((self.below - price[self.group] * self.use) / (self.below + self.above))

    def quantile(self, level: Array) -> Array:
        """Where the truth of each product reaches a level."""
        return self.truth.quantile(np.clip(level, _RAREST, 1.0 - _RAREST))

    @property
    def top(self) -> Array:
        """For each budget, the price from which on no product asks for more than it must have."""
        with np.errstate(over="ignore"):
            dearest = np.divide(
                self.below, self.use, out=np.zeros(self.use.size), where=self.use > 0
            )
        highest = np.zeros(self.budget.size)
        np.maximum.at(highest, self.group, np.minimum(dearest, 1e300))
        return highest * (1.0 + 1e-9)

    def expected_cost(self, decision: Array) -> Array:
        """Take the expected cost of each product."""
        return self.truth.expected_cost(decision, self.below, self.above)


Solved = tuple[Array, Array, Array, Array, NDArray[np.bool_]]
"""Decisions, and what products would get if no budget bound, (n_products,); the price of a unit of
each budget, how far at most the cost of its products is from the optimum, and whether it binds,
(n_budgets,)."""


@dataclass
class Bracket:
    """Two prices for each budget, and what products ask for at each.

    Attributes
    ----------
    low, high : ndarray of shape (n_budgets,)
        Prices; both 0 where the budget does not bind.
    more, less : ndarray of shape (n_products,)
        Decisions at `low` and at `high`.
    over, under : ndarray of shape (n_budgets,)
        Use at `low` less the budget, above 0 where it binds; the budget less use at `high`.
    free : ndarray of shape (n_products,)
        Decisions where the budget costs nothing.
    """

    low: Array
    high: Array
    more: Array
    less: Array
    over: Array
    under: Array
    free: Array

    @property
    def binds(self) -> NDArray[np.bool_]:
        """Budgets that are too small for what products ask for when it costs nothing."""
        return self.over > 0

    @property
    def closed(self) -> NDArray[np.bool_]:
        """Budgets with no floating-point number between the two prices."""
        return ~self.binds | (np.nextafter(self.low, np.inf) >= self.high)

    @property
    def gap(self) -> Array:
        """Bound on the excess cost of any mixture of `more` and `less` that meets the budget.

        Between the two decisions of a product the cost falls by between `low` and `high` per unit
        of budget. Under the price `high` a mixture y is therefore at most (high − low) w (y − less)
        above the best, which sums to (high − low) · under; under `low` likewise to
        (high − low) · over.
        """
        distance = np.minimum(self.over, self.under)
        return np.where(self.binds, (self.high - self.low) * np.maximum(distance, 0.0), 0.0)

    @property
    def price(self) -> Array:
        """The end that comes closer to the budget."""
        price = np.where(self.over < self.under, self.low, self.high)
        return np.where(self.binds, price, 0.0)


def find_bracket(
    respond: Callable[[Array], Array],
    problem: AllocationProblem,
    top: Array,
    enough: Callable[[Bracket], bool],
    *,
    strict: bool,
    hints: Sequence[Array] = (),
) -> Bracket:
    """Narrow the prices until `enough`, or until no number is left between them.

    Parameters
    ----------
    respond : callable
        Price of each budget in, decision of each product out.
    problem : AllocationProblem
        Of which use and budgets are read.
    top : ndarray of shape (n_budgets,)
        Prices at which every product is content with its lower bound.
    enough : callable
    strict : bool
        Whether an answer that does not fall as the price rises is an error, or rounding.
    hints : sequence of ndarray of shape (n_budgets,)
        Prices to try first.
    """
    group, budget = problem.group, problem.budget
    # from a budget that costs nothing to one too dear for anybody
    low = np.zeros(budget.size)
    free = respond(low)
    over = problem.used(free) - budget
    high = np.where(over > 0, top, 0.0)
    less = np.where((over > 0)[group], respond(high), free)
    bracket = Bracket(low, high, free, less, over, budget - problem.used(less), free)
    weight_low, weight_high = bracket.over.copy(), bracket.under.copy()
    last_side = np.zeros(budget.size, dtype=np.int8)
    width = np.stack([bracket.high - bracket.low] * 2)  # before the last step, and the one before
    for step in range(_STEPS):
        if enough(bracket) or bracket.closed.all():
            break
        low, high, closed = bracket.low, bracket.high, bracket.closed
        if step < len(hints):
            price = hints[step]
        elif step > _PATIENCE:  # numbers that are not negative are ordered as their bits are
            bits = (low.view(np.int64) + (high.view(np.int64) - low.view(np.int64)) // 2).copy()
            price = bits.view(np.float64)
        else:
            total = weight_low + weight_high
            share = np.divide(weight_low, total, out=np.full(low.size, 0.5), where=total > 0)
            slow = (high - low > 0.5 * width[1]) & (step > 1)
            price = low + np.where(slow, 0.5, share) * (high - low)
        # strictly between the two ends, where there is a number between them
        price = np.clip(price, np.nextafter(low, np.inf), np.nextafter(high, 0.0))
        price = np.where(closed, high, price)
        asked = _between(respond(price), bracket, strict)
        over = problem.used(asked) - budget
        side = np.where(over > 0, 1, -1).astype(np.int8)
        up, down = ~closed & (side > 0), ~closed & (side < 0)
        width[1], width[0] = width[0], high - low
        low[up], bracket.over[up] = price[up], over[up]
        high[down], bracket.under[down] = price[down], -over[down]
        bracket.more = np.where(up[group], asked, bracket.more)
        bracket.less = np.where(down[group], asked, bracket.less)
        # Illinois: an end that stays twice counts half, so that the next step reaches beyond
        kept_low = np.where(last_side < 0, 0.5 * weight_low, bracket.over)
        kept_high = np.where(last_side > 0, 0.5 * weight_high, bracket.under)
        weight_low = np.where(up, over, kept_low)
        weight_high = np.where(down, -over, kept_high)
        last_side = side
    return bracket


def _between(asked: Array, bracket: Bracket, strict: bool) -> Array:
    """Keep what is asked at a price between that at the prices around it."""
    inside = np.clip(asked, bracket.less, bracket.more)
    wrong = np.abs(asked - inside) > _NOISE * (1.0 + np.abs(bracket.less) + np.abs(bracket.more))
    if strict and wrong.any():
        product = int(wrong.argmax())
        raise InvalidInput(
            "truth must not fall from one level to the next, got quantiles that decrease as the "
            f"level grows for product {product}."
        )
    return inside


# --- In fractions


def solve_continuous(problem: AllocationProblem) -> Solved:
    """Decisions without lots: a mixture of the two ends, and not a rounding beyond the budget."""
    bracket = _search(problem, _TOLERANCE)
    span = bracket.over + bracket.under
    span = np.where(span > 0, span, 1.0)
    share = np.clip(np.where(bracket.binds, bracket.under / span, 1.0), 0.0, 1.0)
    step = bracket.more - bracket.less
    for _ in range(4):
        decision = bracket.less + share[problem.group] * step
        excess = np.where(bracket.binds, problem.used(decision) - problem.budget, 0.0)
        if not (excess > 0).any():
            break
        share = np.maximum(share - 2.0 * np.maximum(excess, 0.0) / span, 0.0)
    return np.asarray(decision), bracket.free, bracket.price, bracket.gap, bracket.binds


def _search(problem: AllocationProblem, tolerance: float) -> Bracket:
    """Find the price of each budget at which products take their quantiles."""
    least, most = problem.room.first, problem.room.last
    size = np.maximum(np.abs(problem.budget), problem.used(np.abs(least)))

    def respond(price: Array) -> Array:
        level = problem.level(price)
        return np.where(level > 0, np.clip(problem.quantile(level), least, most), least)

    def enough(bracket: Bracket) -> bool:
        return bool((bracket.gap <= tolerance * bracket.high * size).all())

    strict = isinstance(problem.truth, QuantileFunction)
    return find_bracket(respond, problem, problem.top, enough, strict=strict)


# --- In lots


@dataclass(frozen=True)
class Lots:
    """A problem counted in lots above the lower bounds; arrays of shape (n_products,).

    Attributes
    ----------
    units : AllocationProblem
        In units, with expectations read from a table.
    counted : AllocationProblem
        The same with use per lot, and budgets less what the lower bounds use.
    step, most : ndarray
        Size of a lot; how many there is room for above the lower bound, may be infinite.
    least : ndarray
        A saving up to this is rounding.
    """

    units: AllocationProblem
    counted: AllocationProblem
    step: Array
    most: Array
    least: Array

    @classmethod
    def of(cls, problem: AllocationProblem) -> Lots:
        """Count; budgets are multiples of what a lot uses where that is all alike."""
        if isinstance(problem.truth, QuantileFunction):
            problem = replace(problem, truth=problem.truth.table)
        step, group = problem.room.step, problem.group
        assert step is not None
        use, left = problem.use * step, problem.budget - problem.used(problem.room.first)
        left = np.maximum(left, 0.0)
        least, most = np.full(left.size, np.inf), np.zeros(left.size)
        costly = use > 0
        np.minimum.at(least, group[costly], use[costly])
        np.maximum.at(most, group[costly], use[costly])
        alike = (most > 0) & (most - least <= _ROUNDING * most)
        whole = np.floor(left / np.where(alike, most, 1.0) * (1.0 + _ROUNDING) + _ROUNDING)
        # one rounding more than so many lots, or their sum might seem not to fit
        left = np.where(alike, whole * most * (1.0 + _ROUNDING), left)
        return cls(
            problem,
            replace(problem, use=use, budget=left),
            step,
            np.round((problem.room.last - problem.room.first) / step),
            _ROUNDING * step * (problem.below + problem.above),
        )

    def decision(self, count: Array) -> Array:
        """Units of so many lots above the lower bound; exact multiples of the step."""
        first = np.round(self.units.room.first / self.step)
        return np.asarray((first + count) * self.step) + 0.0

    def saving(self, count: Array, index: NDArray[np.intp] | None = None) -> Array:
        """Value one lot more, after `count` lots; of some products, also several times."""
        rows = slice(None) if index is None else index
        units, step = self.units, self.step[rows]
        truth = units.truth if index is None else units.truth.take(index)
        start = units.room.first[rows] + count * step
        sold = truth.shortfall(start) - truth.shortfall(start + step)
        above = units.above[rows]
        return np.asarray((units.below[rows] + above) * sold - above * step)

    def respond(self, price: Array) -> Array:
        """Count the lots of each product that save more than they use at a price."""
        level = self.units.level(price)
        number = np.floor((self.units.quantile(level) - self.units.room.first) / self.step)
        count = np.clip(np.where(level > 0, number, 0.0), 0.0, self.most)
        paid = price[self.counted.group] * self.counted.use
        worth = (level > 0) & (count < self.most)
        worth &= self.saving(count) > paid * (1.0 + _ROUNDING) + self.least
        return count + worth


def solve_lots(problem: AllocationProblem) -> Solved:
    """Decisions that are multiples of the step."""
    lots = Lots.of(problem)
    few = max(_FEW, len(problem.truth) // 2)

    def enough(bracket: Bracket) -> bool:
        between = np.where(bracket.closed[problem.group], 0.0, bracket.more - bracket.less)
        return bool(between.sum() <= few)

    near = _search(lots.units, _ROUGHLY).price  # quick, and close where products are many
    hints = [near * (1.0 - _CLOSE), near * (1.0 + _CLOSE)]
    bracket = find_bracket(
        lots.respond, lots.counted, problem.top, enough, strict=False, hints=hints
    )
    count, price, gap = _take_best(lots, bracket)
    gap = gap - _take_smaller(lots, count)
    return (
        lots.decision(count),
        lots.decision(bracket.free),
        np.where(bracket.binds, price, 0.0),
        np.where(bracket.binds, np.maximum(gap, 0.0), 0.0),
        bracket.binds,
    )


def _take_best(lots: Lots, bracket: Bracket) -> tuple[Array, Array, Array]:
    """Take the lots that `more` has and `less` has not, the best first, while they fit.

    Lots of a product with the same saving are one run, and may be taken one by one.

    Returns
    -------
    count : ndarray of shape (n_products,)
        Lots of each product.
    price, worth : ndarray of shape (n_budgets,)
        Saving per unit of budget of the first lot that did not fit; of what is left of the budget.
    """
    counted = lots.counted
    n_budgets = counted.budget.size
    between = bracket.more - bracket.less
    closed = bracket.closed[counted.group]
    tied = np.flatnonzero(closed & (between > 0))  # all of them save the price
    open_ones = np.flatnonzero(~closed & (between > 0))
    times = between[open_ones].astype(np.intp)
    product = np.repeat(open_ones, times)
    before = np.arange(product.size) - np.repeat(np.cumsum(times) - times, times)
    saved = lots.saving(bracket.less[product] + before, product)
    rate = np.concatenate([saved / counted.use[product], bracket.low[counted.group[tied]]])
    product = np.concatenate([product, tied])
    size = np.concatenate([np.ones(saved.size), between[tied]])
    order = np.lexsort((-rate, counted.group[product]))
    product, size, rate = product[order], size[order], rate[order]

    group, use = counted.group[product], counted.use[product]
    room = counted.budget - counted.used(bracket.less)
    total = np.cumsum(size * use)
    starts = np.searchsorted(group, np.arange(n_budgets))
    reached = total - np.concatenate([[0.0], total])[starts][group]
    slack = _ROUNDING * np.maximum(counted.budget, 0.0)
    fits = reached <= (room + slack)[group]
    # first run of each budget that does not fit; lots after it wait, also if they would
    blocked = np.full(n_budgets, product.size)
    np.minimum.at(blocked, group[~fits], np.flatnonzero(~fits))
    taken = np.where(np.arange(group.size) < blocked[group], size, 0.0)
    stops = np.flatnonzero(blocked < product.size)
    at = blocked[stops]
    ahead = reached[at] - size[at] * use[at]
    taken[at] = np.clip(np.floor((room[stops] + slack[stops] - ahead) / use[at]), 0.0, size[at])
    count = bracket.less + np.bincount(product, taken, minlength=bracket.less.size)
    price = np.zeros(n_budgets)
    price[stops] = rate[at]
    left = np.maximum(counted.budget - counted.used(count), 0.0)
    left[left <= 2.0 * slack] = 0.0
    return count, price, price * left


def _take_smaller(lots: Lots, count: Array) -> Array:
    """Take lots that still fit, the best first; changes `count`, returns savings by budget."""
    counted = lots.counted
    group, use = counted.group, counted.use
    saved = np.zeros(counted.budget.size)
    left = counted.budget - counted.used(count)
    index = np.flatnonzero((use > 0) & (use <= left[group]) & (count < lots.most))
    gain = lots.saving(count[index], index)
    worth = gain > lots.least[index]
    index, rate = index[worth], gain[worth] / use[index[worth]]
    for _ in range(_LATER):
        best = int(rate.argmax()) if index.size else -1
        if best < 0 or rate[best] <= 0:
            break
        product = index[best]
        place = group[product]
        if use[product] > left[place]:  # what is left only shrinks: these will never fit
            fit = use[index] <= left[group[index]]
            index, rate = index[fit], rate[fit]
            continue
        saved[place] += rate[best] * use[product]
        left[place] -= use[product]
        count[product] += 1
        more = lots.saving(count[[product]], index[[best]])[0]
        if count[product] >= lots.most[product] or more <= lots.least[product]:
            more = -np.inf
        rate[best] = more / use[product]
    return saved
