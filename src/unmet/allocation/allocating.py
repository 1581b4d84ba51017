"""`allocate`: a budget or a capacity that many products share."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import ArrayLike

from unmet.allocation.continuous import solve_continuous
from unmet.allocation.laws import Function, Law, Samples, check_table, ordered
from unmet.allocation.lots import solve_lots
from unmet.allocation.problem import Problem, read_problem
from unmet.allocation.result import Allocation
from unmet.allocation.solved import Solved
from unmet.band import Array, Numbers, read_array
from unmet.bands import LatentBand
from unmet.costs import Cost
from unmet.errors import InvalidInput, Unsupported
from unmet.models.base import DecisionModel


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
