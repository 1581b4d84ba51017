"""Best decisions under costs with a jump, for rows whose law is known by its quantiles.

At the decision y = q(u), the share u of truths lies below. So everything is an integral over
levels: E[min(T, y)] = ∫₀ᵘ q(v) dv + (1 − u) q(u), and likewise for what is discounted. One table of
quantiles prices all levels of all rows, whatever the family.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unmet.band import Array
from unmet.costs.age_replacement import AgeReplacement
from unmet.costs.jump import JumpCost
from unmet.costs.replacement import PreventiveReplacement
from unmet.errors import Unsupported

LEVELS: Array = np.concatenate(
    [np.geomspace(1e-5, 0.05, 70, endpoint=False), np.linspace(0.05, 0.99, 95), [0.995, 0.999]]
)
"""Dense where costly failures put the best decisions: among the early ones."""


class Ages(NamedTuple):
    """Decisions of rows, and what is to be expected of each; arrays of shape (n_rows,)."""

    age: Array
    """inf where waiting for the failure is best."""
    paid: Array
    """Expected cost: of a cycle, or discounted."""
    served: Array
    """E[min(T, age)]."""


def best_ages(cost: JumpCost, quantiles: Array) -> Ages:
    """Find the best decision of each row from quantiles of its truth.

    Parameters
    ----------
    cost : AgeReplacement or PreventiveReplacement
        Without a rate, each row has the age that is best for itself in the long run.
    quantiles : ndarray of shape (n_levels, n_rows)
        At `LEVELS`; what lies below 0 is 0.

    Returns
    -------
    Ages
    """
    time = np.maximum(quantiles, 0.0)
    level = LEVELS[:, np.newaxis]
    if isinstance(cost, AgeReplacement):
        paid = cost.planned * (1.0 - level) + cost.failure * level
        served = _integral(time) + (1.0 - level) * time
        never = np.broadcast_to(cost.failure, time.shape[1:])
        with np.errstate(divide="ignore"):
            value = paid / served if cost.rate is None else paid - cost.rate * served
            last = never / served[-1] if cost.rate is None else never - cost.rate * served[-1]
    elif isinstance(cost, PreventiveReplacement):
        served = _integral(time) + (1.0 - level) * time
        value = paid = _discounted(cost, time)
        last = never = np.asarray(cost.failure) * _integral(np.exp(-(cost.discount * time)))[-1]
    else:
        raise Unsupported(
            f"cost must be AgeReplacement or PreventiveReplacement, got {type(cost).__name__}."
        )
    age, place = _valley(time, value)
    rows = np.arange(time.shape[1])
    waits = (place == len(LEVELS) - 1) | (last < value[place, rows])
    return Ages(
        np.where(waits, np.inf, age),
        np.where(waits, never, np.broadcast_to(paid, time.shape)[place, rows]),
        np.where(waits, served[-1], served[place, rows]),
    )


def _discounted(cost: PreventiveReplacement, time: Array) -> Array:
    level = LEVELS[:, np.newaxis]
    factor = np.exp(-(cost.discount * time))
    failed = _integral(factor)
    if cost.form == "printed":
        return np.asarray(cost.failure * failed + cost.planned * (failed[-1] - failed))
    return np.asarray(cost.failure * failed + cost.planned * (1.0 - level) * factor)


def _integral(values: Array) -> Array:
    """Integral from level 0 to each level, of what is given at the levels."""
    below = LEVELS[0] * values[:1]
    pieces = 0.5 * np.diff(LEVELS)[:, np.newaxis] * (values[1:] + values[:-1])
    return np.concatenate([below, below + np.cumsum(pieces, axis=0)])


def _valley(time: Array, value: Array) -> tuple[Array, Array]:
    """Lowest point of each row: of the parabola through the least value and its neighbours."""
    rows = np.arange(time.shape[1])
    place = np.argmin(value, axis=0)
    middle = np.clip(place, 1, len(LEVELS) - 2)
    left, at, right = (time[middle + step, rows] for step in (-1, 0, 1))
    below, least, above = (value[middle + step, rows] for step in (-1, 0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        fall, rise = (least - below) / (at - left), (above - least) / (right - at)
        bend = (rise - fall) / (right - left)
        vertex = 0.5 * (left + at - fall / bend)
    inside = (bend > 0) & (vertex > left) & (vertex < right) & (place == middle)
    return np.where(inside, vertex, time[place, rows]), place
