"""What decisions are worth once the truth is known: what they cost, and how they serve it."""

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
    """All that evaluation asks of a cost: what each decision costs once the truth is known."""

    def cost(self, decision: Array, truth: Array, /) -> Array:
        """Cost of each row, shape (n_rows,)."""
        ...


def read_columns(**values: ArrayLike) -> list[Array]:
    """Read columns of finite numbers, by the names that sentences should use.

    The first has one number per row, and at least one row; each of the others has as many, or is a
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
    """One finite number, not negative where `least` is 0."""
    number = read_array(name, value)
    if number.ndim != 0:
        raise InvalidInput(f"{name} must be one number, got {number.size} of them.")
    if number < least:
        raise InvalidInput(f"{name} must not be negative, got {number}.")
    return float(number)


def weighted_mean(values: Array, sample_weight: ArrayLike | None) -> float:
    """Σ wᵢ vᵢ / Σ wᵢ, or the plain mean without weights."""
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
    """Mean cost of the decisions once the truth is known (NVCost, eq. nvcost).

    ::

        Σ_i w_i c(y_i; d_i) / Σ_i w_i

    Parameters
    ----------
    cost : object with ``cost(decision, truth)``
        One number per row, e.g. :class:`unmet.costs.Newsvendor`.
    decision : array-like of shape (n_rows,) or float
        A single number is that decision in every row.
    truth : array-like of shape (n_rows,)
        Demand, not sales: a cost on sales flatters orders that were too small.
    sample_weight : array-like of shape (n_rows,), optional
        Non-negative, not all zero.

    Examples
    --------
    >>> from unmet.costs import Newsvendor
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
    """Share of the baseline's cost that the method saves (Fig. percentage).

    ::

        (cost of baseline − cost of method) / cost of baseline

    Negative when the method costs more; ``nan`` when the baseline costs nothing, since nothing
    can be saved there. The same share of two service-level gaps is Table serviceLevel.

    Examples
    --------
    >>> cost_saving(15.0, 20.0)
    0.25
    """
    method = read_number("cost_of_method", cost_of_method)
    baseline = read_number("cost_of_baseline", cost_of_baseline, least=0)
    return math.nan if baseline == 0 else (baseline - method) / baseline


def gap_closed(
    cost_of_method: float, cost_ignoring_censoring: float, floor: float, *, tolerance: float = 1e-9
) -> float:
    """Share of the cost of ignoring censoring that the method wins back.

    ::

        (cost ignoring − cost of method) / (cost ignoring − floor)

    0 is as bad as ignoring censoring, 1 as good as can be; below 0 the method does harm, and on a
    finite test set it can be slightly above 1.

    Parameters
    ----------
    cost_of_method : float
    cost_ignoring_censoring : float
        Of the same model trained on the observations as if they were the truth (IEO).
    floor : float
        Lowest reachable cost: of the true quantile, or of a model trained on the truth.
    tolerance : float
        The answer is ``nan`` when there is no gap to close: when ignoring censoring costs no more
        than the floor, or exceeds it by less than `tolerance` times the larger of the two.

    Examples
    --------
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
    """Root mean squared distance to the best decision under the true distribution (eq. rmseq).

    ::

        √( Σ_i w_i (Q*_i − y_i)² / Σ_i w_i )

    Parameters
    ----------
    decision : array-like of shape (n_rows,) or float
    optimum : array-like of shape (n_rows,)
        Q*, which only a simulation knows (eq. qopt).
    sample_weight : array-like of shape (n_rows,), optional

    Examples
    --------
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
    """Share of rows whose decision covers the truth (§Service Level).

    A decision *equal* to the truth covers it: nobody is sent away. This is also the side the
    optimum is defined on, the smallest y with P(d ≤ y) ≥ α, so integer or clipped demand (an
    order of 0 against a demand of 0) reaches its level. The paper counts rows where the decision
    is *greater* than demand, which is the same for continuous demand; ``strict=True`` does that.

    Parameters
    ----------
    decision : array-like of shape (n_rows,) or float
    truth : array-like of shape (n_rows,)
    strict : bool
        Count only decisions greater than the truth.
    sample_weight : array-like of shape (n_rows,), optional

    Examples
    --------
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
    """Share of all demanded units that are served (type-2 service level).

    ::

        Σ_i w_i min(y_i⁺, d_i⁺) / Σ_i w_i d_i⁺

    A negative demand (net returns, or an unclipped simulation) asks for nothing and a negative
    decision serves nothing. ``nan`` when nothing is demanded in any row.

    Parameters
    ----------
    decision : array-like of shape (n_rows,) or float
    truth : array-like of shape (n_rows,)
    sample_weight : array-like of shape (n_rows,), optional

    Examples
    --------
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
    """Mean demanded units per row that are not served.

    ::

        Σ_i w_i (d_i⁺ − y_i⁺)⁺ / Σ_i w_i

    Parameters
    ----------
    decision : array-like of shape (n_rows,) or float
    truth : array-like of shape (n_rows,)
    sample_weight : array-like of shape (n_rows,), optional

    Examples
    --------
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
    """Minus the mean realised cost (eq. nvcost): greater is better.

    Parameters
    ----------
    cost : object with ``cost(decision, truth)``
        With the same parameters for every row: a search splits the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyRegressor
    >>> from unmet.costs import Newsvendor
    >>> X, truth = np.zeros((2, 1)), np.array([12.0, 6.0])
    >>> model = DummyRegressor(strategy="constant", constant=10.0).fit(X, truth)
    >>> make_cost_scorer(Newsvendor(underage=3, overage=1))(model, X, truth)
    -5.0
    """
    from sklearn.metrics import make_scorer

    return make_scorer(_score, greater_is_better=False, measure=partial(realised_cost, cost))
