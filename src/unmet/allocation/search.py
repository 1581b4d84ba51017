"""The price of the budget: a root search for all budgets at once, safeguarded.

What products ask for falls as the price λ of a unit of the budget rises. The search keeps two
prices between which the budget is just met: at `low` products ask for more than there is, at `high`
they do not. It steps by regula falsi (Illinois), which is quick where demand for the budget is
smooth, and halves the bracket whenever two steps have not; after many steps it halves the number of
floating-point numbers in it, which ends after 64 more whatever the scales are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.allocation.laws import Law
from unmet.arrays import Array, common_rows, expand, non_negative, read_numbers
from unmet.costs import Cost, PiecewiseLinearCost
from unmet.errors import InvalidInput, Unsupported
from unmet.models.lots import Room, read_room

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


# --- What is to be allocated: products, their costs and bounds, and the budgets they share.

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Problem:
    """Everything that the two ways of solving it read; arrays of shape (n_products,).

    Attributes
    ----------
    law : Law
    below, above : ndarray
        Slopes of the cost.
    room : Room
        Lots and bounds.
    spending : Spending
        Use and budgets.
    names : ndarray of shape (n_budgets,) or None
        Names of the groups in the order of the budgets.
    """

    law: Law
    below: Array
    above: Array
    room: Room
    spending: Spending
    names: NDArray[Any] | None

    def level(self, price: Array) -> Array:
        """Level at which a product's marginal cost is minus the price of what a unit uses.

        The expected cost has the slope (u + o) F(y) − u, and a unit uses w of a budget with price
        λ: at the optimum F(y) = (u − λw) / (u + o). Not clipped.
        """
        paid = price[self.spending.group] * self.spending.use
        return np.asarray((self.below - paid) / (self.below + self.above))

    @property
    def top(self) -> Array:
        """For each budget, the price from which on no product asks for more than it must have."""
        use = self.spending.use
        with np.errstate(over="ignore"):
            dearest = np.divide(self.below, use, out=np.zeros(use.size), where=use > 0)
        highest = np.zeros(self.spending.budget.size)
        np.maximum.at(highest, self.spending.group, np.minimum(dearest, 1e300))
        return highest * (1.0 + 1e-9)

    def expected_cost(self, decision: Array) -> Array:
        """Take the expected cost of each product."""
        return self.law.expected_cost(decision, self.below, self.above)


def read_problem(
    law: Law,
    cost: Cost,
    budget: Any,
    *,
    use: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike | None,
    step: ArrayLike | None,
    groups: Any,
) -> Problem:
    """Check everything but the law, each error one sentence."""
    n_products = law.n_products
    below, above = _slopes(cost, n_products)
    if lower is None:
        raise InvalidInput("lower must be a finite number or one per product, got None.")
    room = read_room(step, lower, upper, n_products)
    each = expand("use", non_negative("use", use), n_products)
    names, group = _read_groups(groups, n_products)
    amounts = _read_budget(budget, names)
    spending = Spending(each, group, amounts)
    _check_feasible(spending, room, names)
    return Problem(law, below, above, room, spending, names)


def _slopes(cost: Cost, n_products: int) -> tuple[Array, Array]:
    if not isinstance(cost, Cost):
        raise InvalidInput(
            f"cost must be a Cost such as Newsvendor(underage=3, overage=1), got {cost!r}."
        )
    if not isinstance(cost, PiecewiseLinearCost):
        raise Unsupported(
            f"allocate and the cost {type(cost).__name__} do not fit together, because it has not "
            "one slope below the truth and one above."
        )
    slopes = cost.slopes
    count = common_rows(slopes.parameters())
    if count is not None and count != n_products:
        raise InvalidInput(
            f"cost must be the same for all products or have one entry for each of {n_products}, "
            f"got {count}."
        )
    return slopes.rows(n_products)


def _read_groups(groups: Any, n_products: int) -> tuple[NDArray[Any] | None, NDArray[np.intp]]:
    """Names of the groups, sorted, and the place of each product's among them."""
    if groups is None:
        return None, np.zeros(n_products, dtype=np.intp)
    labels = np.asarray(groups)
    if labels.shape != (n_products,):
        raise InvalidInput(
            f"groups must have one entry for each of {n_products} products, "
            f"got shape {labels.shape}."
        )
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        product = int(np.isnan(labels).argmax())
        raise InvalidInput(
            f"groups must be known for every product, got nan for product {product}."
        )
    try:
        names, place = np.unique(labels, return_inverse=True)
    except TypeError:
        raise InvalidInput(
            "groups must all be of one kind, got several that have no order."
        ) from None
    return names, place


def _read_budget(budget: Any, names: NDArray[Any] | None) -> Array:
    """One amount for each group, in the order of their names."""
    if not isinstance(budget, Mapping):
        amount = read_numbers("budget", budget)
        if np.ndim(amount):
            raise InvalidInput(
                "budget must be a number, or with groups also a mapping from names to numbers, "
                f"got an array of {np.size(amount)}."
            )
        return np.full(1 if names is None else names.size, float(amount))
    if names is None:
        raise InvalidInput("budget must be a number where there are no groups, got a mapping.")
    missing = [name for name in names.tolist() if name not in budget]
    if missing:
        raise InvalidInput(
            f"budget must have an entry for every group, got none for {missing[0]!r}."
        )
    amounts = read_numbers("budget", [budget[name] for name in names.tolist()])
    return np.array(amounts, dtype=np.float64)


def _check_feasible(spending: Spending, room: Room, names: NDArray[Any] | None) -> None:
    """Refuse budgets that lower bounds exceed; what is only rounding is let through."""
    if not np.isfinite(room.first).all():
        raise InvalidInput("lower must be finite for every product, got -inf.")
    least = spending.used(room.first)
    size = np.bincount(
        spending.group, spending.use * np.abs(room.first), minlength=spending.budget.size
    )
    good = least <= spending.budget + _ROUNDING * size
    if not good.all():
        place = int(np.argmin(good))
        where = "" if names is None else f" in group {names[place]!s}"
        raise InvalidInput(
            f"budget must be at least {least[place]:g}, which the lower bounds use, "
            f"got {spending.budget[place]:g}{where}."
        )


# --- What either way of solving hands back.


class Solved(NamedTuple):
    """Decisions and their proof."""

    decision: Array
    """Shape (n_products,)."""
    free: Array
    """What the products would get if no budget bound; shape (n_products,)."""
    price: Array
    """Of a unit of each budget; shape (n_budgets,)."""
    gap: Array
    """Bound on how far the expected cost of each budget's products is from the optimum."""
    binds: NDArray[np.bool_]
    """Shape (n_budgets,)."""
