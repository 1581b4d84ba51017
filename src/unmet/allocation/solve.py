"""Decisions in lots: marginal analysis.

The k-th lot of a product saves s_k = C(y + (k−1)L) − C(y + kL), less with every further lot since
the expected cost C is convex, and uses wL of the budget. Lots are taken by saving per unit of
budget, the largest first, until one does not fit (Fox, 1966). If that lot could be cut, this would
be the optimum, so no allocation in whole lots costs less than

    cost of the lots taken − λ · what is left of the budget,    λ = s / (wL) of the lot that does
                                                                not fit

and what is left is worth less than that lot. Where every lot uses the same, what cannot buy a lot
is no budget, nothing is left, and the lots taken are the optimum. Otherwise smaller lots that still
fit are taken as well; what remains of the bound is the gap.

Counting the lots that save more than λ needs no list of all lots: they end beside the decision in
fractions for that price. A search narrows the price until few lots lie between its two ends; those
are sorted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unmet.allocation.laws import Function, Law
from unmet.allocation.search import Bracket, Problem, Solved, Spending, find_bracket
from unmet.arrays import Array

# --- Decisions in fractions: one price for the budget, and every product at its quantile.
#
# With a price λ on the budget products no longer compete: each takes the quantile at the level
# (u − λw) / (u + o), clipped to its bounds. Where a law has gaps between its values, what products
# ask for jumps as the price moves; between the two sides of such a jump all mixtures cost the same
# under that price, and the one that uses up the budget is an optimum.

_TOLERANCE = 1e-13
_RAREST = 1e-12  # levels closer to 0 or 1 are not asked for


def solve_continuous(problem: Problem) -> Solved:
    """Decisions without lots."""
    bracket = _search(problem, _TOLERANCE)
    return Solved(
        decision=_mixture(problem, bracket),
        free=bracket.free,
        price=_price(bracket),
        gap=bracket.gap,
        binds=bracket.binds,
    )


def find_price(problem: Problem) -> Array:
    """Price of each budget to a few digits."""
    return _price(_search(problem, 1e-6))


def _search(problem: Problem, tolerance: float) -> Bracket:
    spending = problem.spending
    size = np.maximum(np.abs(spending.budget), spending.used(np.abs(problem.room.first)))

    def enough(bracket: Bracket) -> bool:
        return bool((bracket.gap <= tolerance * bracket.high * size).all())

    strict = isinstance(problem.law, Function)
    return find_bracket(
        lambda price: _respond(problem, price), spending, problem.top, enough, strict=strict
    )


def _price(bracket: Bracket) -> Array:
    """Take the end of the bracket that comes closer to the budget."""
    price = np.where(bracket.over < bracket.under, bracket.low, bracket.high)
    return np.where(bracket.binds, price, 0.0)


def _respond(problem: Problem, price: Array) -> Array:
    """Ask each product what it wants at a price."""
    level = problem.level(price)
    asked = problem.law.quantile(np.clip(level, _RAREST, 1.0 - _RAREST))
    least, most = problem.room.first, problem.room.last
    return np.where(level > 0, np.clip(asked, least, most), least)


def _mixture(problem: Problem, bracket: Bracket) -> Array:
    """Go from `less` towards `more` as far as the budget allows, and not a rounding further."""
    spending = problem.spending
    span = bracket.over + bracket.under
    share = np.where(bracket.binds, bracket.under / np.where(span > 0, span, 1.0), 1.0)
    share = np.clip(share, 0.0, 1.0)
    step = bracket.more - bracket.less
    for _ in range(4):
        decision = bracket.less + share[spending.group] * step
        excess = np.where(bracket.binds, spending.used(decision) - spending.budget, 0.0)
        if not (excess > 0).any():
            break
        back = 2.0 * np.maximum(excess, 0.0) / np.where(span > 0, span, 1.0)
        share = np.maximum(share - back, 0.0)
    return np.asarray(decision)


# --- Decisions in lots: marginal analysis.

_ROUNDING = 1e-12
_FEW = 1000  # lots that are sorted without a thought
_LATER = 20_000  # lots that may still be taken, one by one, after the first that does not fit
_RAREST_LOT = 1e-12
_CLOSE = 1e-3


@dataclass(frozen=True)
class Lots:
    """A problem counted in lots above the lower bounds; arrays of shape (n_products,)."""

    law: Law
    problem: Problem
    step: Array
    most: Array
    """Lots above the lower bound that there is room for; may be infinite."""

    @classmethod
    def of(cls, problem: Problem) -> Lots:
        """Read expectations from the table where the law is a function."""
        law = problem.law.table if isinstance(problem.law, Function) else problem.law
        step = problem.room.step
        assert step is not None
        most = np.round((problem.room.last - problem.room.first) / step)
        return cls(law, problem, step, most)

    @property
    def use(self) -> Array:
        """Of the budget, per lot."""
        return self.problem.spending.use * self.step

    def decision(self, count: Array) -> Array:
        """Units of so many lots above the lower bound; exact multiples of the step."""
        first = np.round(self.problem.room.first / self.step)
        return np.asarray((first + count) * self.step) + 0.0

    def saving(self, count: Array, index: NDArray[np.intp] | None = None) -> Array:
        """Value one lot more, after `count` lots; of some products, also several times."""
        rows = slice(None) if index is None else index
        law = self.law if index is None else self.law.take(index)
        step, problem = self.step[rows], self.problem
        start = problem.room.first[rows] + count * step
        sold = law.shortfall(start) - law.shortfall(start + step)
        above = problem.above[rows]
        return np.asarray((problem.below[rows] + above) * sold - above * step)

    def respond(self, price: Array) -> Array:
        """Count the lots of each product that save more than they use at a price."""
        problem = self.problem
        level = problem.level(price)
        place = self.law.quantile(np.clip(level, _RAREST_LOT, 1.0 - _RAREST_LOT))
        number = np.floor((place - problem.room.first) / self.step)
        count = np.clip(np.where(level > 0, number, 0.0), 0.0, self.most)
        paid = price[problem.spending.group] * self.use
        worth = (level > 0) & (count < self.most)
        worth &= self.saving(count) > paid * (1.0 + _ROUNDING) + _ROUNDING * self.step * (
            problem.below + problem.above
        )
        return count + worth


def solve_lots(problem: Problem) -> Solved:
    """Decisions that are multiples of the step."""
    lots = Lots.of(problem)
    spending = _left_for_lots(lots)
    few = max(_FEW, problem.law.n_products // 2)

    def enough(bracket: Bracket) -> bool:
        between = np.where(bracket.closed[spending.group], 0.0, bracket.more - bracket.less)
        return bool(between.sum() <= few)

    near = find_price(replace(problem, law=lots.law))  # quick, and close where products are many
    hints = [near * (1.0 - _CLOSE), near * (1.0 + _CLOSE)]
    bracket = find_bracket(lots.respond, spending, problem.top, enough, strict=False, hints=hints)
    runs = _runs(lots, bracket, spending)
    count, price, gap = _take(bracket, runs, spending)
    gap = gap - _take_smaller(lots, count, spending)
    return Solved(
        decision=lots.decision(count),
        free=lots.decision(bracket.free),
        price=np.where(bracket.binds, price, 0.0),
        gap=np.where(bracket.binds, np.maximum(gap, 0.0), 0.0),
        binds=bracket.binds,
    )


def _left_for_lots(lots: Lots) -> Spending:
    """Budgets less what the lower bounds use; a multiple of a lot's use where that is all alike."""
    spending = lots.problem.spending
    left = spending.budget - spending.used(lots.problem.room.first)
    left = np.maximum(left, 0.0)
    use, group = lots.use, spending.group
    least, most = np.full(left.size, np.inf), np.zeros(left.size)
    costly = use > 0
    np.minimum.at(least, group[costly], use[costly])
    np.maximum.at(most, group[costly], use[costly])
    alike = (most > 0) & (most - least <= _ROUNDING * most)
    whole = np.floor(left / np.where(alike, most, 1.0) * (1.0 + _ROUNDING) + _ROUNDING)
    # one rounding more than so many lots, lest their sum seems not to fit
    left = np.where(alike, whole * most * (1.0 + _ROUNDING), left)
    return Spending(use, group, left)


@dataclass(frozen=True)
class Runs:
    """Lots between the two ends of a bracket, best first within each budget; shape (n_runs,)."""

    product: NDArray[np.intp]
    count: Array
    """Lots with the same saving; they may be taken one by one."""
    rate: Array
    """Saving per unit of budget."""


def _runs(lots: Lots, bracket: Bracket, spending: Spending) -> Runs:
    """List the lots that `more` has and `less` has not."""
    between = bracket.more - bracket.less
    closed = bracket.closed[spending.group]
    tied = np.flatnonzero(closed & (between > 0))  # all of them save the price
    open_ones = np.flatnonzero(~closed & (between > 0))
    times = between[open_ones].astype(np.intp)
    product = np.repeat(open_ones, times)
    before = np.arange(product.size) - np.repeat(np.cumsum(times) - times, times)
    saved = lots.saving(bracket.less[product] + before, product)
    rate = np.concatenate([saved / lots.use[product], bracket.low[spending.group[tied]]])
    product = np.concatenate([product, tied])
    count = np.concatenate([np.ones(saved.size), between[tied]])
    order = np.lexsort((-rate, spending.group[product]))
    return Runs(product[order], count[order], rate[order])


def _take(bracket: Bracket, runs: Runs, spending: Spending) -> tuple[Array, Array, Array]:
    """Take runs while they fit: lots of each product, price, and worth of what is left."""
    n_budgets = spending.budget.size
    group = spending.group[runs.product]
    use = spending.use[runs.product]
    room = spending.budget - spending.used(bracket.less)
    total = np.cumsum(runs.count * use)
    starts = np.searchsorted(group, np.arange(n_budgets))
    offset = np.concatenate([[0.0], total])[starts]
    reached = total - offset[group]
    slack = _ROUNDING * np.maximum(spending.budget, 0.0)
    fits = reached <= (room + slack)[group]
    # first run of each budget that does not fit; lots after it wait, also if they would
    blocked = np.full(n_budgets, runs.product.size)
    np.minimum.at(blocked, group[~fits], np.flatnonzero(~fits))
    taken = np.where(np.arange(group.size) < blocked[group], runs.count, 0.0)
    stops = np.flatnonzero(blocked < runs.product.size)
    at = blocked[stops]
    before = reached[at] - runs.count[at] * use[at]
    some = np.floor((room[stops] + slack[stops] - before) / use[at])
    taken[at] = np.clip(some, 0.0, runs.count[at])
    count = bracket.less + np.bincount(runs.product, taken, minlength=bracket.less.size)
    price = np.zeros(n_budgets)
    price[stops] = runs.rate[at]
    left = np.maximum(spending.budget - spending.used(count), 0.0)
    left[left <= 2.0 * slack] = 0.0
    return count, price, price * left


def _take_smaller(lots: Lots, count: Array, spending: Spending) -> Array:
    """Take lots that still fit, the best first; changes `count`, returns savings by budget."""
    saved = np.zeros(spending.budget.size)
    left = spending.budget - spending.used(count)
    group, use = spending.group, spending.use
    fit = (use > 0) & (use <= left[group]) & (count < lots.most)
    index = np.flatnonzero(fit)
    gain = lots.saving(count[index], index)
    least = _ROUNDING * lots.step * (lots.problem.below + lots.problem.above)
    worth = gain > least[index]
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
        if count[product] >= lots.most[product] or more <= least[product]:
            more = -np.inf
        rate[best] = more / use[product]
    return saved
