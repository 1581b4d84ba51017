"""`allocate`: a budget or a capacity that many products share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.allocation.laws import Function, Law, Samples, check_table, ordered
from unmet.allocation.search import Problem, Solved, read_problem
from unmet.allocation.solve import solve_continuous, solve_lots
from unmet.arrays import Array, Numbers, read_array
from unmet.bands import LatentBand
from unmet.costs import Cost
from unmet.errors import InvalidInput, Unsupported
from unmet.models.base import DecisionModel

# --- What `allocate` returns.


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
        lines = self._one_budget() if self.groups is None else self._many_budgets()
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

    def _one_budget(self) -> list[str]:
        count = self.decision.size
        who = f"{count:,} product{'' if count == 1 else 's'}"
        if not self.binds:
            verb = "uses" if count == 1 else "use"
            return [
                f"{who} {verb} {_say(self.used)} of a budget of {_say(self.budget)}: "
                "it does not bind, and more of it is worth nothing."
            ]
        verb = "shares" if count == 1 else "share"
        return [
            f"{who} {verb} a budget of {_say(self.budget)} and use {_say(self.used)} of it."
            if count > 1
            else f"{who} has a budget of {_say(self.budget)} and uses {_say(self.used)} of it.",
            f"One more unit of it would save {_say(self.shadow_price)}.",
        ]

    def _many_budgets(self) -> list[str]:
        assert self.groups is not None
        binds, price = np.asarray(self.binds), np.asarray(self.shadow_price)
        lines = [
            f"{self.decision.size:,} products share {self.groups.size:,} budgets, "
            f"{int(binds.sum()):,} of which bind."
        ]
        if binds.any():
            best = int(price.argmax())
            lines.append(
                f"One more unit is worth most in group {self.groups[best]!s}, where it would save "
                f"{_say(price[best])}."
            )
        return lines


def _say(value: Any) -> str:
    """Write a number with four digits, or all whole ones; never with an exponent above 1."""
    number = float(value)
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"


# --- `allocate`: a budget or a capacity that many products share.


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

    Expected costs of a quantile function, and its decisions in lots, rest on 65 of its quantiles.

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
    law = _read_law(truth, X, levels)
    problem = read_problem(
        law, cost, budget, use=use, lower=lower, upper=upper, step=step, groups=groups
    )
    solved = solve_continuous(problem) if problem.room.step is None else solve_lots(problem)
    return _told(problem, solved)


def _told(problem: Problem, solved: Solved) -> Allocation:
    spending = problem.spending
    paid = problem.expected_cost(solved.decision)
    free = problem.expected_cost(solved.free)

    def plain(values: Array) -> Numbers:
        return values if problem.names is not None else float(values[0])

    return Allocation(
        decision=solved.decision,
        unconstrained=solved.free,
        cost=paid,
        expected_cost=float(paid.sum()),
        unconstrained_cost=float(free.sum()),
        budget=plain(spending.budget),
        used=plain(spending.used(solved.decision)),
        shadow_price=plain(solved.price),
        binds=solved.binds if problem.names is not None else bool(solved.binds[0]),
        gap=plain(solved.gap),
        groups=problem.names,
    )


def _read_law(truth: Any, X: Any, levels: ArrayLike | None) -> Law:
    if isinstance(truth, DecisionModel | LatentBand):
        return _latent(truth, X, levels)
    if X is not None:
        raise InvalidInput(
            "X is only used where truth is a LatentBand or a model fitted with one, "
            f"got truth of type {type(truth).__name__}."
        )
    if callable(truth):
        _refuse_levels(levels, "a quantile function")
        first = np.asarray(truth(0.5), dtype=np.float64)
        if first.ndim != 1 or not first.size:
            raise InvalidInput(
                f"truth must return one quantile per product, got shape {first.shape} at level 0.5."
            )
        return Function(truth, first.size)
    values = _read_values(truth)
    if levels is None:
        return Samples(ordered(values))
    return check_table(_read_levels(levels, values.shape[1]), values)


def _latent(truth: DecisionModel | LatentBand, X: Any, levels: ArrayLike | None) -> Law:
    rule = truth if isinstance(truth, LatentBand) else getattr(truth, "band_rule_", None)
    if not isinstance(rule, LatentBand):
        raise Unsupported(
            f"allocate and {type(truth).__name__} without a LatentBand do not fit together, "
            "because nothing is known of the distribution of the truth: fit it with "
            "band=LatentBand(), or give quantiles."
        )
    _refuse_levels(levels, "a LatentBand")
    if X is None:
        raise InvalidInput("X must have one row per product where truth is a model, got None.")
    quantile = rule.quantile_function(X)
    return Function(quantile, quantile(0.5).size)


def _refuse_levels(levels: ArrayLike | None, kind: str) -> None:
    if levels is not None:
        raise InvalidInput(f"levels must be None where truth is {kind}, got {levels!r:.60}.")


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
