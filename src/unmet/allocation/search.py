"""The price of the budget: a root search for all budgets at once, safeguarded.

What products ask for falls as the price λ of a unit of the budget rises. The search keeps two
prices between which the budget is just met: at `low` products ask for more than there is, at `high`
they do not. It steps by regula falsi (Illinois), which is quick where demand for the budget is
smooth, and halves the bracket whenever two steps have not; after many steps it halves the number of
floating-point numbers in it, which ends after 64 more whatever the scales are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array
from unmet.errors import InvalidInput

_PATIENCE = 80
_STEPS = _PATIENCE + 70
_NOISE = 1e-6  # share of its size by which a decision may move the wrong way: rounding of a law


@dataclass(frozen=True)
class Spending:
    """What decisions use of each budget.

    Attributes
    ----------
    use : ndarray of shape (n_products,)
        Of the budget, per unit of decision.
    group : ndarray of shape (n_products,)
        Which budget.
    budget : ndarray of shape (n_budgets,)
    """

    use: Array
    group: NDArray[np.intp]
    budget: Array

    def used(self, decision: Array) -> Array:
        """Sum of use times decision, for each budget."""
        spent = np.bincount(self.group, self.use * decision, minlength=self.budget.size)
        return spent.astype(np.float64, copy=False)


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


def find_bracket(
    respond: Callable[[Array], Array],
    spending: Spending,
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
    spending : Spending
    top : ndarray of shape (n_budgets,)
        Prices at which every product is content with its lower bound.
    enough : callable
    strict : bool
        Whether an answer that does not fall as the price rises is an error, or rounding.
    hints : sequence of ndarray of shape (n_budgets,)
        Prices to try first.
    """
    bracket = _outset(respond, spending, top)
    group, budget = spending.group, spending.budget
    weight_low, weight_high = bracket.over.copy(), bracket.under.copy()
    last_side = np.zeros(budget.size, dtype=np.int8)
    width = np.stack([bracket.high - bracket.low] * 2)  # before the last step, and the one before
    for step in range(_STEPS):
        if enough(bracket) or bracket.closed.all():
            break
        if step < len(hints):
            price = _inside(hints[step], bracket)
        else:
            price = _next_price(bracket, weight_low, weight_high, width[1], step)
        asked = _between(respond(price), bracket, strict)
        over = spending.used(asked) - budget
        side = np.where(over > 0, 1, -1).astype(np.int8)
        live = ~bracket.closed
        up, down = live & (side > 0), live & (side < 0)
        width[1], width[0] = width[0], bracket.high - bracket.low
        bracket.low[up], bracket.over[up] = price[up], over[up]
        bracket.high[down], bracket.under[down] = price[down], -over[down]
        bracket.more = np.where(up[group], asked, bracket.more)
        bracket.less = np.where(down[group], asked, bracket.less)
        # Illinois: an end that stays twice counts half, so that the next step reaches beyond
        kept_low = np.where(last_side < 0, 0.5 * weight_low, bracket.over)
        kept_high = np.where(last_side > 0, 0.5 * weight_high, bracket.under)
        weight_low = np.where(up, over, kept_low)
        weight_high = np.where(down, -over, kept_high)
        last_side = side
    return bracket


def _outset(respond: Callable[[Array], Array], spending: Spending, top: Array) -> Bracket:
    """Start from a budget that costs nothing and one too dear for anybody."""
    free = np.zeros(spending.budget.size)
    more = respond(free)
    over = spending.used(more) - spending.budget
    binds = over > 0
    high = np.where(binds, top, 0.0)
    less = np.where(binds[spending.group], respond(high), more)
    under = spending.budget - spending.used(less)
    return Bracket(free, high, more, less, over, under, more)


def _next_price(
    bracket: Bracket, weight_low: Array, weight_high: Array, before: Array, step: int
) -> Array:
    low, high = bracket.low, bracket.high
    width = high - low
    total = weight_low + weight_high
    share = np.divide(weight_low, total, out=np.full(low.size, 0.5), where=total > 0)
    price = low + share * width
    slow = width > 0.5 * before if step > 1 else np.zeros(low.size, dtype=np.bool_)
    price = np.where(slow, low + 0.5 * width, price)
    if step > _PATIENCE:  # numbers that are not negative are ordered as their bits are
        bits = (low.view(np.int64) + (high.view(np.int64) - low.view(np.int64)) // 2).copy()
        price = bits.view(np.float64)
    return _inside(price, bracket)


def _inside(price: Array, bracket: Bracket) -> Array:
    """Move a price strictly between the two ends, where there is a number between them."""
    low, high = bracket.low, bracket.high
    inner = np.clip(price, np.nextafter(low, np.inf), np.nextafter(high, 0.0))
    return np.where(bracket.closed, high, inner)


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
