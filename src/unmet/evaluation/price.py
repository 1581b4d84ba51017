"""What decisions cost, and how much of what could be saved they save."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from unmet.arrays import Array, read_array
from unmet.errors import InvalidInput

# --- What every measure asks of its arrays, and the weighted mean they all end in.


class RealisedCost(Protocol):
    """All that evaluation asks of a cost: what each decision costs once the truth is known."""

    def cost(self, decision: Array, truth: Array, /) -> Array:
        """Cost of each row, shape (n_rows,)."""
        ...


def as_column(name: str, value: ArrayLike) -> Array:
    """One finite number per row, at least one row."""
    numbers = read_array(name, value)
    if numbers.ndim != 1:
        raise InvalidInput(f"{name} must have one number per row, got the single {numbers}.")
    if numbers.size == 0:
        raise InvalidInput(f"{name} must have at least one row, got none.")
    return numbers


def as_decision(name: str, value: ArrayLike, like: Array, *, like_name: str = "truth") -> Array:
    """One finite number per row of `like`; a single number is that decision in every row."""
    numbers = read_array(name, value)
    if numbers.ndim == 0:
        return np.full(like.shape, float(numbers))
    if numbers.shape != like.shape:
        raise InvalidInput(
            f"{name} must be one number or have {like.size} rows like {like_name}, "
            f"got {numbers.size}."
        )
    return numbers


def as_number(name: str, value: float) -> float:
    """One finite number."""
    numbers = read_array(name, value)
    if numbers.ndim != 0:
        raise InvalidInput(f"{name} must be one number, got {numbers.size} of them.")
    return float(numbers)


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


def row_costs(cost: RealisedCost, decision: Array, truth: Array) -> Array:
    """``cost.cost(decision, truth)``, checked to be one number per row."""
    if isinstance(cost, type):
        raise InvalidInput(f"cost must be an instance, got the class {cost.__name__}.")
    if not callable(getattr(cost, "cost", None)):
        raise InvalidInput(
            f"cost must have a method cost(decision, truth), got {type(cost).__name__}."
        )
    costs = np.asarray(cost.cost(decision, truth), dtype=np.float64)
    if costs.shape != truth.shape:
        raise InvalidInput(
            f"cost must give one number for each of {truth.size} rows, "
            f"got shape {costs.shape} from {type(cost).__name__}."
        )
    if np.isnan(costs).any():
        raise InvalidInput(f"cost must not be NaN, got NaN from {type(cost).__name__}.")
    return costs


# --- What decisions cost, and how much of what could be saved they save.


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
        Demand, not sales: a cost on sales flatters whoever ordered too little.
    sample_weight : array-like of shape (n_rows,), optional
        Non-negative, not all zero.

    Examples
    --------
    >>> from unmet.costs import Newsvendor
    >>> realised_cost(Newsvendor(underage=3, overage=1), [10, 10], [12, 6])
    5.0
    """
    actual = as_column("truth", truth)
    chosen = as_decision("decision", decision, actual)
    return weighted_mean(row_costs(cost, chosen, actual), sample_weight)


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
    method = as_number("cost_of_method", cost_of_method)
    baseline = as_number("cost_of_baseline", cost_of_baseline)
    if baseline < 0:
        raise InvalidInput(f"cost_of_baseline must not be negative, got {baseline}.")
    return math.nan if baseline == 0 else (baseline - method) / baseline


def gap_closed(
    cost_of_method: float,
    cost_ignoring_censoring: float,
    floor: float,
    *,
    tolerance: float = 1e-9,
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
    method = as_number("cost_of_method", cost_of_method)
    ignoring = as_number("cost_ignoring_censoring", cost_ignoring_censoring)
    lowest = as_number("floor", floor)
    relative = as_number("tolerance", tolerance)
    if relative < 0:
        raise InvalidInput(f"tolerance must not be negative, got {relative}.")
    gap = ignoring - lowest
    if gap <= relative * max(abs(ignoring), abs(lowest)):
        return math.nan
    return (ignoring - method) / gap


def prescriptiveness(
    cost: RealisedCost,
    decision: ArrayLike,
    truth: ArrayLike,
    baseline: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Coefficient of prescriptiveness P, the R² of decisions (Bertsimas & Kallus 2020, §2).

    ::

        P = 1 − (C(method) − C(foresight)) / (C(baseline) − C(foresight))

    with C the mean realised cost and C(foresight) that of deciding the truth itself. It is
    :func:`gap_closed` with other ends: from a decision without features to perfect foresight. 0
    means that features bought nothing, 1 that nothing is left to buy; no real method reaches 1.

    Parameters
    ----------
    cost : object with ``cost(decision, truth)``
        Perfect foresight is priced as ``cost.cost(truth, truth)``, so deciding the truth must be
        the cheapest decision, as in every newsvendor.
    decision, truth : array-like of shape (n_rows,)
    baseline : float or array-like of shape (n_rows,)
        The decision without features: the best constant on the *training* rows (sample average
        approximation), e.g. ``numpy.quantile(observation, level, method="inverted_cdf")``.
    sample_weight : array-like of shape (n_rows,), optional

    Returns
    -------
    float
        ``nan`` when the baseline is already as good as foresight.

    Examples
    --------
    >>> from unmet.costs import Newsvendor
    >>> prescriptiveness(Newsvendor(3, 1), [10, 22], [12, 22], baseline=20)
    0.57...
    """
    actual = as_column("truth", truth)
    constant = as_decision("baseline", baseline, actual)

    def mean_cost(choice: ArrayLike) -> float:
        return realised_cost(cost, choice, actual, sample_weight=sample_weight)

    return gap_closed(mean_cost(decision), mean_cost(constant), mean_cost(actual))
