"""Measures of decisions once the truth is known: their cost and their service."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from unmet.arrays import Array, read_array
from unmet.errors import InvalidInput


class RealisedCost(Protocol):
    """Interface of a cost in evaluation: the cost of each decision once the truth is known."""

    def cost(self, decision: Array, truth: Array, /) -> Array:
        """Compute the cost of each row, shape (n_rows,)."""
        ...


def read_columns(**values: ArrayLike) -> list[Array]:
    """Read columns of finite numbers, by the names that error messages use.

    The first has one number per row, and at least one row. Each of the others has as many, or is a
    single number that holds for every row.
    """
    (first, given), *others = values.items()
    column = read_array(first, given)
    if column.ndim != 1:
        raise InvalidInput(f"{first} must have one number per row, got the single {column}.")
    if column.size == 0:
        raise InvalidInput(f"{first} must have at least one row, got none.")
    columns = [column]
    for name, value in others:
        numbers = read_array(name, value)
        if numbers.ndim and numbers.shape != column.shape:
            raise InvalidInput(
                f"{name} must be one number or have {column.size} rows like {first}, "
                f"got {numbers.size}."
            )
        columns.append(numbers if numbers.ndim else np.full(column.shape, float(numbers)))
    return columns


def read_number(name: str, value: float, *, least: float = -math.inf) -> float:
    """Read one finite number, not negative if `least` is 0."""
    number = read_array(name, value)
    if number.ndim != 0:
        raise InvalidInput(f"{name} must be one number, got {number.size} of them.")
    if number < least:
        raise InvalidInput(f"{name} must not be negative, got {number}.")
    return float(number)


def weighted_mean(values: Array, sample_weight: ArrayLike | None) -> float:
    """Compute Σ wᵢ vᵢ / Σ wᵢ, or the plain mean without weights."""
    if sample_weight is None:
        return float(values.mean())
    weight = read_array("sample_weight", sample_weight)
    if weight.shape != values.shape:
        raise InvalidInput(
            f"sample_weight must have one number for each of {values.size} rows, got {weight.size}."
        )
    if (weight < 0).any():
        raise InvalidInput(f"sample_weight must not be negative, got {float(weight.min())}.")
    if not weight.any():
        raise InvalidInput("sample_weight must have a positive entry, got only zeros.")
    # divided by the largest weight first: a sum of huge weights would overflow
    share = weight / weight.max()
    return float((share * values).sum() / share.sum())


def realised_cost(
    cost: RealisedCost,
    decision: ArrayLike,
    truth: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the mean cost of decisions once the truth is known (NVCost, eq. nvcost).

    ::

        Σ_i w_i c(y_i; d_i) / Σ_i w_i

    Parameters
    ----------
    cost : object with ``cost(decision, truth)``
        Cost that gives one number per row, such as :class:`unmet.costs.Newsvendor`.
    decision : array-like of shape (n_rows,) or float
        Decisions. A number is the decision of every row.
    truth : array-like of shape (n_rows,)
        Demand, not sales: a cost on sales favors orders that are too small.
    sample_weight : array-like of shape (n_rows,), optional
        Non-negative weights, not all zero. None weights all rows equally.

    Returns
    -------
    float
        Mean cost per row.

    Examples
    --------
    >>> from unmet import Newsvendor
    >>> from unmet.evaluation import realised_cost
    >>> realised_cost(Newsvendor(underage=3, overage=1), [10, 10], [12, 6])
    5.0
    """
    actual, chosen = read_columns(truth=truth, decision=decision)
    if isinstance(cost, type):
        raise InvalidInput(f"cost must be an instance, got the class {cost.__name__}.")
    name = type(cost).__name__
    if not callable(getattr(cost, "cost", None)):
        raise InvalidInput(f"cost must have a method cost(decision, truth), got {name}.")
    costs = np.asarray(cost.cost(chosen, actual), dtype=np.float64)
    if costs.shape != actual.shape:
        raise InvalidInput(
            f"cost must give one number for each of {actual.size} rows, "
            f"got shape {costs.shape} from {name}."
        )
    if np.isnan(costs).any():
        raise InvalidInput(f"cost must not be NaN, got NaN from {name}.")
    return weighted_mean(costs, sample_weight)


def cost_saving(cost_of_method: float, cost_of_baseline: float) -> float:
    """Compute the share of the baseline's cost that a method saves (Fig. percentage).

    ::

        (cost of baseline − cost of method) / cost of baseline

    Parameters
    ----------
    cost_of_method, cost_of_baseline : float
        Mean costs, or two service-level gaps as in Table serviceLevel.

    Returns
    -------
    float
        Share; negative if the method costs more, ``nan`` if the baseline costs nothing.

    Examples
    --------
    >>> from unmet.evaluation import cost_saving
    >>> cost_saving(15.0, 20.0)
    0.25
    """
    method = read_number("cost_of_method", cost_of_method)
    baseline = read_number("cost_of_baseline", cost_of_baseline, least=0)
    return math.nan if baseline == 0 else (baseline - method) / baseline


def gap_closed(
    cost_of_method: float, cost_ignoring_censoring: float, floor: float, *, tolerance: float = 1e-9
) -> float:
    """Compute the share of the avoidable cost that a method recovers.

    ::

        (cost ignoring − cost of method) / (cost ignoring − floor)

    0 is as bad as ignoring censoring, and 1 is the best possible. A negative share means that the
    method does harm. On a finite test set the share can slightly exceed 1.

    Parameters
    ----------
    cost_of_method : float
        Mean cost of the method.
    cost_ignoring_censoring : float
        Mean cost of the same model trained on observations as if they were the truth (IEO).
    floor : float
        Least possible mean cost: of the true quantile, or of a model trained on the truth.
    tolerance : float, default=1e-9
        Smallest gap, relative to the larger of the two costs. A smaller gap gives ``nan``.

    Returns
    -------
    float
        Share; ``nan`` if there is no gap to close.

    Examples
    --------
    >>> from unmet.evaluation import gap_closed
    >>> gap_closed(12.0, 20.0, 10.0)
    0.8
    >>> gap_closed(12.0, 10.0, 10.0)
    nan
    """
    method = read_number("cost_of_method", cost_of_method)
    ignoring = read_number("cost_ignoring_censoring", cost_ignoring_censoring)
    lowest = read_number("floor", floor)
    relative = read_number("tolerance", tolerance, least=0)
    gap = ignoring - lowest
    if gap <= relative * max(abs(ignoring), abs(lowest)):
        return math.nan
    return (ignoring - method) / gap


# --- How decisions serve the truth, whatever they cost.


def rmse_to_optimum(
    decision: ArrayLike, optimum: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Compute the root mean squared distance to the best decisions (eq. rmseq).

    ::

        √( Σ_i w_i (Q*_i − y_i)² / Σ_i w_i )

    Parameters
    ----------
    decision : array-like of shape (n_rows,) or float
        Decisions. A number is the decision of every row.
    optimum : array-like of shape (n_rows,)
        Best decisions Q* under the true distribution, which only a simulation knows (eq. qopt).
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows. None weights all rows equally.

    Examples
    --------
    >>> from unmet.evaluation import rmse_to_optimum
    >>> rmse_to_optimum([3.0, 0.0], [0.0, 1.0])
    2.23606797749979
    """
    best, chosen = read_columns(optimum=optimum, decision=decision)
    return math.sqrt(weighted_mean((best - chosen) ** 2, sample_weight))


def service_level(
    decision: ArrayLike,
    truth: ArrayLike,
    *,
    strict: bool = False,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the share of rows whose decision covers the truth (§Service Level).

    A decision that *equals* the truth covers it, because no customer goes without. The optimum is
    defined in the same way, as the smallest y with P(d ≤ y) ≥ α. Integer or clipped demand (an
    order of 0 against a demand of 0) therefore reaches its level. The paper counts rows whose
    decision is *greater* than demand, which is the same for continuous demand; ``strict=True`` does
    that.

    Parameters
    ----------
    decision : array-like of shape (n_rows,) or float
        Decisions. A number is the decision of every row.
    truth : array-like of shape (n_rows,)
        Demand, not sales.
    strict : bool, default=False
        Whether to count only decisions greater than the truth.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows. None weights all rows equally.

    Examples
    --------
    >>> from unmet.evaluation import service_level
    >>> service_level([3, 5, 1, 4], [3, 4, 2, 4])
    0.75
    >>> service_level([3, 5, 1, 4], [3, 4, 2, 4], strict=True)
    0.25
    """
    actual, chosen = read_columns(truth=truth, decision=decision)
    covered = chosen > actual if strict else chosen >= actual
    return weighted_mean(covered.astype(np.float64), sample_weight)


def fill_rate(
    decision: ArrayLike, truth: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Compute the share of all demanded units that are served (type-2 service level).

    ::

        Σ_i w_i min(y_i⁺, d_i⁺) / Σ_i w_i d_i⁺

    A negative demand (net returns, or an unclipped simulation) counts as 0, and so does a negative
    decision.

    Parameters
    ----------
    decision : array-like of shape (n_rows,) or float
        Decisions. A number is the decision of every row.
    truth : array-like of shape (n_rows,)
        Demand, not sales.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows. None weights all rows equally.

    Returns
    -------
    float
        Share; ``nan`` if there is no demand in any row.

    Examples
    --------
    >>> from unmet.evaluation import fill_rate
    >>> fill_rate([10, 2], [8, 12])
    0.5
    """
    asked, missed = _asked_and_missed(decision, truth)
    demanded = weighted_mean(asked, sample_weight)
    if demanded == 0:
        return math.nan
    # what is served, not 1 − missed/asked: exact at both ends
    return weighted_mean(asked - missed, sample_weight) / demanded


def lost_sales(
    decision: ArrayLike, truth: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Compute the mean number of demanded units per row that are not served.

    ::

        Σ_i w_i (d_i⁺ − y_i⁺)⁺ / Σ_i w_i

    Parameters
    ----------
    decision : array-like of shape (n_rows,) or float
        Decisions. A number is the decision of every row.
    truth : array-like of shape (n_rows,)
        Demand, not sales.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows. None weights all rows equally.

    Examples
    --------
    >>> from unmet.evaluation import lost_sales
    >>> lost_sales([10, 2], [8, 12])
    5.0
    """
    return weighted_mean(_asked_and_missed(decision, truth)[1], sample_weight)


def _asked_and_missed(decision: ArrayLike, truth: ArrayLike) -> tuple[Array, Array]:
    actual, chosen = read_columns(truth=truth, decision=decision)
    asked, offered = np.maximum(actual, 0.0), np.maximum(chosen, 0.0)
    return asked, np.maximum(asked - offered, 0.0)


# --- The measures as scikit-learn scorers.


def _score(
    truth: ArrayLike, decision: ArrayLike, *, measure: Callable[..., float], **keywords: Any
) -> float:
    """Swap the two: scikit-learn hands over the truth first, the measures take it second.

    A plain function with keywords, not a closure: scorers must survive pickling.
    """
    return measure(decision, truth, **keywords)


def make_cost_scorer(cost: RealisedCost) -> Any:
    """Make a scikit-learn scorer: the negative mean realised cost (eq. nvcost).

    Parameters
    ----------
    cost : object with ``cost(decision, truth)``
        Cost with the same parameters for every row, because a search splits the rows.

    Returns
    -------
    callable
        Scorer ``(model, X, truth) → float`` for ``scoring=``; greater is better.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyRegressor
    >>> from unmet import Newsvendor
    >>> from unmet.evaluation import make_cost_scorer
    >>> X, truth = np.zeros((2, 1)), np.array([12.0, 6.0])
    >>> model = DummyRegressor(strategy="constant", constant=10.0).fit(X, truth)
    >>> make_cost_scorer(Newsvendor(underage=3, overage=1))(model, X, truth)
    -5.0
    """
    from sklearn.metrics import make_scorer

    return make_scorer(_score, greater_is_better=False, measure=partial(realised_cost, cost))
