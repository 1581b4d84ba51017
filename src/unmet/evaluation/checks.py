"""What every measure asks of its arrays, and the weighted mean they all end in."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from unmet.band import Array, read_array
from unmet.errors import InvalidInput


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
