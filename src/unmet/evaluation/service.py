"""How decisions serve the truth, whatever they cost: levels, fill rates, distance to optimum."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from unmet.arrays import Array
from unmet.errors import InvalidInput
from unmet.evaluation.price import as_column, as_decision, weighted_mean


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
    best = as_column("optimum", optimum)
    chosen = as_decision("decision", decision, best, like_name="optimum")
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
    actual = as_column("truth", truth)
    chosen = as_decision("decision", decision, actual)
    covered = chosen > actual if strict else chosen >= actual
    return weighted_mean(covered.astype(np.float64), sample_weight)


def service_level_gap(
    decision: ArrayLike,
    truth: ArrayLike,
    level: ArrayLike,
    *,
    strict: bool = False,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Absolute difference between the service level reached and the one aimed at.

    ::

        | service level − α |

    Table serviceLevel averages the service level over data sets *before* it takes the
    difference: concatenate the data sets for that, or give the rows of all of them at once.

    Parameters
    ----------
    decision : array-like of shape (n_rows,) or float
    truth : array-like of shape (n_rows,)
    level : float or array-like of shape (n_rows,)
        α in (0, 1); one per row when costs differ by row, then compared by its mean.
    strict : bool
        As in :func:`service_level`.
    sample_weight : array-like of shape (n_rows,), optional

    Examples
    --------
    >>> service_level_gap([3, 5, 1, 4], [3, 4, 2, 4], level=0.5)
    0.25
    """
    actual = as_column("truth", truth)
    target = as_decision("level", level, actual)
    outside = target[(target <= 0) | (target >= 1)]
    if outside.size:
        raise InvalidInput(f"level must lie strictly between 0 and 1, got {float(outside[0])}.")
    reached = service_level(decision, actual, strict=strict, sample_weight=sample_weight)
    return abs(reached - weighted_mean(target, sample_weight))


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
    actual = as_column("truth", truth)
    asked = np.maximum(actual, 0.0)
    offered = np.maximum(as_decision("decision", decision, actual), 0.0)
    return asked, np.maximum(asked - offered, 0.0)
