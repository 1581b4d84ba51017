"""What is to be allocated: products, their costs and bounds, and the budgets they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.allocation.laws import Law
from unmet.allocation.search import Spending
from unmet.band import Array, common_rows, expand, non_negative, read_numbers
from unmet.costs import Cost, PiecewiseLinearCost
from unmet.errors import InvalidInput, Unsupported
from unmet.models.lots import Room, read_room

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
