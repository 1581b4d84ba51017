"""`allocate`: a budget or a capacity that many products share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.arrays import Array, Numbers, common_rows, expand, non_negative, read_array, read_numbers
from unmet.censoring import LatentBand
from unmet.costs import Cost, PiecewiseLinearCost
from unmet.errors import InvalidInput, Unsupported
from unmet.estimators.base import DecisionModel
from unmet.estimators.lots import read_room
from unmet.inventory.budget import AllocationProblem, solve_continuous, solve_lots
from unmet.inventory.distributions import (
    Distribution,
    QuantileFunction,
    QuantileTable,
    Samples,
    check_order,
    ordered,
)

_ROUNDING = 1e-12  # share of the budget by which lower bounds may exceed it


@dataclass(frozen=True, eq=False)
class Allocation:
    """Decisions that share a budget; ``str()`` says it in words.

    With `groups`, numbers that belong to a budget are arrays with one entry per group, in the order
    of `groups`; without, they are plain numbers.

    Attributes
    ----------
    decision : ndarray of shape (n_products,)
    unconstrained : ndarray of shape (n_products,)
        What the products would get if there were no budget; bounds and lots are kept.
    cost : ndarray of shape (n_products,)
        Expected cost of each decision.
    expected_cost, unconstrained_cost : float
        Sums over all products: of `decision`, and of `unconstrained`.
    budget, used : float or ndarray of shape (n_groups,)
    shadow_price : float or ndarray of shape (n_groups,)
        What one more unit of the budget would save; 0 where it does not bind. In lots: the saving
        of the next lot per unit of budget.
    binds : bool or ndarray of shape (n_groups,)
        Whether the budget is less than what the products would get without it.
    gap : float or ndarray of shape (n_groups,)
        Proven bound on how far the expected cost is above the least possible one.
    groups : ndarray of shape (n_groups,) or None
        Names of the groups, sorted.
    """

    decision: Array
    unconstrained: Array
    cost: Array
    expected_cost: float
    unconstrained_cost: float
    budget: Numbers
    used: Numbers
    shadow_price: Numbers
    binds: bool | NDArray[np.bool_]
    gap: Numbers
    groups: NDArray[Any] | None = None

    def columns(self) -> dict[str, Array]:
        """Columns with one entry per product, ready for any table."""
        return {
            "decision": self.decision,
            "unconstrained": self.unconstrained,
            "expected_cost": self.cost,
        }

    def __str__(self) -> str:
        count = self.decision.size
        who = f"{count:,} product{'' if count == 1 else 's'}"
        binds, price = np.atleast_1d(self.binds), np.atleast_1d(self.shadow_price)
        if self.groups is not None:
            lines = [
                f"{who} share {self.groups.size:,} budgets, {int(binds.sum()):,} of which bind."
            ]
            if binds.any():
                best = int(price.argmax())
                lines.append(
                    f"One more unit is worth most in group {self.groups[best]!s}, where it would "
                    f"save {_say(price[best])}."
                )
        elif self.binds:
            of_it = f"a budget of {_say(self.budget)} and use{'s' * (count == 1)} {_say(self.used)}"
            lines = [
                f"{who} {'has' if count == 1 else 'share'} {of_it} of it.",
                f"One more unit of it would save {_say(self.shadow_price)}.",
            ]
        else:
            lines = [
                f"{who} use{'s' * (count == 1)} {_say(self.used)} of a budget of "
                f"{_say(self.budget)}: it does not bind, and more of it is worth nothing."
            ]
        extra = self.expected_cost - self.unconstrained_cost
        lines.append(
            f"The expected cost is {_say(self.expected_cost)}, of which {_say(max(extra, 0.0))} is "
            f"due to the budget{'' if self.groups is None else 's'}."
        )
        gap = float(np.sum(self.gap))
        if gap <= 1e-9 * max(self.expected_cost, 1e-300):
            lines.append("No allocation costs less.")
        else:
            lines.append(f"No allocation saves more than another {_say(gap)}.")
        return "\n".join(lines)


def _say(value: Any) -> str:
    """Write a number with four digits, or all whole ones; never with an exponent above 1."""
    number = float(value)
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"


def allocate(
    cost: Cost,
    truth: Any,
    budget: Any,
    *,
    X: Any = None,
    levels: ArrayLike | None = None,
    use: ArrayLike = 1.0,
    lower: ArrayLike = 0.0,
    upper: ArrayLike | None = None,
    step: ArrayLike | None = None,
    groups: Any = None,
) -> Allocation:
    """Share a budget among products so that their expected cost is least.

    ::

        minimise  Σ_i E c_i(y_i)  subject to  Σ_i use_i · y_i ≤ budget,  lower_i ≤ y_i ≤ upper_i

    Parameters
    ----------
    cost : Newsvendor, or another cost with one slope on either side of the truth
        The same for all products, or with one entry per product.
    truth : callable, table, LatentBand or fitted model
        What is known of each product's truth:

        - a quantile function, vectorised: it takes a level, or one per product, and returns one
          quantile per product, e.g. ``scipy.stats.norm(mean, deviation).ppf``;
        - an array or table of shape (n_products, n_values): equally likely values of each
          product, such as simulated or past truths; with `levels`, its quantiles;
        - a fitted `LatentBand`, or a model that was fitted with one: with `X`, one row per product,
          the quantiles of the latent truth are taken. Nothing is fitted again.
    budget : float or mapping from group names to floats
        Money, space or time that the products share. A number holds for every group.
    X : table, array-like or sparse matrix of shape (n_products, n_features), optional
        Features of the products; for a `LatentBand` or a model.
    levels : array-like of shape (n_values,), optional
        Says that `truth` holds quantiles at these levels. The truth is taken as uniform between two
        neighbours, and as never beyond the outer ones.
    use : float or array-like of shape (n_products,), default=1
        Budget that one unit of a product uses, not negative.
    lower, upper : float or array-like of shape (n_products,), default=0 and None
        Bounds of the decisions; None is no upper bound.
    step : float or array-like of shape (n_products,), optional
        Size of a lot: decisions are multiples of it. None allows fractions.
    groups : array-like of shape (n_products,), optional
        Which products share a budget, for instance the store. Groups are solved at once.

    Returns
    -------
    Allocation

    Notes
    -----
    In fractions, one multiplier λ per budget, its shadow price, leads to the optimum (Hadley and
    Whitin, 1963): each product gets its quantile at the level (underage − λ·use) / (underage +
    overage). λ is found until the proven gap is down to rounding, also where samples make the
    quantile functions jump; the budget is then used up exactly.

    In lots, marginal analysis takes those first that save most per unit of budget (Fox, 1966). That
    is the optimum where all lots of a budget use the same (`use` times `step`), and wherever `gap`
    is 0. Otherwise this is a knapsack problem; the answer is less than what one lot saves from the
    optimum, and `gap` bounds by how much.

    Expected costs of a quantile function, and its decisions in lots, are based on 65 of its
    quantiles.

    Examples
    --------
    Two products compete for 100 units of shelf space; the second is twice as profitable:

    >>> from scipy.stats import norm
    >>> from unmet import Newsvendor, allocate
    >>> cost = Newsvendor(underage=[2, 4], overage=1)
    >>> shared = allocate(cost, norm([50, 70], [10, 20]).ppf, budget=100)
    >>> shared.decision.round(1)
    array([33.5, 66.5])
    >>> print(shared)
    2 products share a budget of 100 and use 100 of it.
    One more unit of it would save 1.851.
    The expected cost is 79.37, of which 40.47 is due to the budget.
    No allocation costs less.
    """
    known = _read_truth(truth, X, levels)
    n_products = len(known)
    below, above = _read_slopes(cost, n_products)
    if lower is None:
        raise InvalidInput("lower must be a finite number or one per product, got None.")
    names, group = _read_groups(groups, n_products)
    problem = AllocationProblem(
        known,
        below,
        above,
        read_room(step, lower, upper, n_products),
        expand("use", non_negative("use", use), n_products),
        group,
        _read_budget(budget, names),
        names,
    )
    _check_feasible(problem)
    solve = solve_continuous if problem.room.step is None else solve_lots
    decision, free, price, gap, binds = solve(problem)
    paid = problem.expected_cost(decision)

    def plain(values: NDArray[Any]) -> Any:
        return values if names is not None else values[0].item()

    return Allocation(
        decision=decision,
        unconstrained=free,
        cost=paid,
        expected_cost=float(paid.sum()),
        unconstrained_cost=float(problem.expected_cost(free).sum()),
        budget=plain(problem.budget),
        used=plain(problem.used(decision)),
        shadow_price=plain(price),
        binds=plain(binds),
        gap=plain(gap),
        groups=names,
    )


def _read_truth(truth: Any, X: Any, levels: ArrayLike | None) -> Distribution:
    """Read what is known of the products, in whatever form."""
    latent = isinstance(truth, DecisionModel | LatentBand)
    if (latent or callable(truth)) and levels is not None:
        kind = "a LatentBand" if latent else "a quantile function"
        raise InvalidInput(f"levels must be None where truth is {kind}, got {levels!r:.60}.")
    if latent:
        rule = truth if isinstance(truth, LatentBand) else getattr(truth, "band_rule_", None)
        if not isinstance(rule, LatentBand):
            raise Unsupported(
                f"allocate and {type(truth).__name__} without a LatentBand do not fit together, "
                "because nothing is known of the distribution of the truth: fit it with "
                "band=LatentBand(), or give quantiles."
            )
        if X is None:
            raise InvalidInput("X must have one row per product where truth is a model, got None.")
        quantile = rule.quantile_function(X)
        return QuantileFunction(quantile, quantile(0.5).size)
    if X is not None:
        raise InvalidInput(
            "X is only used where truth is a LatentBand or a model fitted with one, "
            f"got truth of type {type(truth).__name__}."
        )
    if callable(truth):
        first = np.asarray(truth(0.5), dtype=np.float64)
        if first.ndim != 1 or not first.size:
            raise InvalidInput(
                f"truth must return one quantile per product, got shape {first.shape} at level 0.5."
            )
        return QuantileFunction(truth, first.size)
    values = _read_values(truth)
    if levels is None:
        return Samples(ordered(values))
    known = _read_levels(levels, values.shape[1])
    check_order(values)
    return QuantileTable(values, known)


def _read_values(truth: Any) -> Array:
    """Finite values of shape (n_products, n_values)."""
    if nw.dependencies.is_into_dataframe(truth):
        truth = nw.from_native(truth, eager_only=True).to_numpy()
    try:
        values = np.ascontiguousarray(truth, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(
            "truth must be a quantile function, a table of numbers or a fitted model, "
            f"got {truth!r:.60}."
        ) from None
    if values.ndim != 2 or not values.size:
        raise InvalidInput(
            "truth must have one row per product and one column per value, "
            f"got shape {values.shape}."
        )
    if not np.isfinite(values).all():
        product = int((~np.isfinite(values)).any(axis=1).argmax())
        raise InvalidInput(f"truth must hold finite numbers, got NaN or inf for product {product}.")
    return values


def _read_levels(levels: ArrayLike, n_values: int) -> Array:
    read = read_array("levels", levels)
    if read.shape != (n_values,):
        raise InvalidInput(
            f"levels must have one entry for each of {n_values} columns of truth, "
            f"got shape {read.shape}."
        )
    rule = "levels must rise and lie strictly between 0 and 1"
    outside = ~((read > 0) & (read < 1))
    if outside.any():
        raise InvalidInput(f"{rule}, got {read[outside][0]}.")
    back = np.flatnonzero(np.diff(read) <= 0)
    if back.size:
        raise InvalidInput(f"{rule}, got {read[back[0] + 1]} after {read[back[0]]}.")
    return read


def _read_slopes(cost: Cost, n_products: int) -> tuple[Array, Array]:
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


def _check_feasible(problem: AllocationProblem) -> None:
    """Refuse budgets that lower bounds exceed; what is only rounding is let through."""
    first, budget = problem.room.first, problem.budget
    if not np.isfinite(first).all():
        raise InvalidInput("lower must be finite for every product, got -inf.")
    least = problem.used(first)
    good = least <= budget + _ROUNDING * problem.used(np.abs(first))
    if not good.all():
        place = int(np.argmin(good))
        where = "" if problem.names is None else f" in group {problem.names[place]!s}"
        raise InvalidInput(
            f"budget must be at least {least[place]:g}, which the lower bounds use, "
            f"got {budget[place]:g}{where}."
        )
