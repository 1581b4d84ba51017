"""The exact optimum of costs with a jump, where features do no more than tell groups apart.

A `JumpCost` falls until t and jumps there, so a weighted sum of them in one common decision is
least at one of the t: sort them, and running sums price all. Where the features allow every group
of equal rows a decision of its own, each group is such a sum, and the coefficients follow from the
decisions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array, Band
from unmet.costs.jump import JumpCost
from unmet.solvers.problem import Features, Solution

_MOST_GROUPS = 1000  # beyond, the rank of their features takes longer than a smoothed solve
_RANK = 1e-9
# A decision that rounding lifts above its t is too late: shares of the size by which to lower it.
_SLACKS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)


def best_shift(
    cost: JumpCost, base: Array, observation: Array, band: Band | None, share: Array | None
) -> float:
    """Find the amount by which to raise all decisions so that their total cost is least.

    Of several the smallest; rows of equal decisions get the common one that is best.

    Examples
    --------
    >>> from unmet.costs import AgeReplacement
    >>> cost = AgeReplacement(planned=1, failure=5, rate=0.5)
    >>> best_shift(cost, np.zeros(4), np.array([9.0, 4.0, 12.0, 11.0]), None, None)
    9.0
    """
    shift, total = cost.shift_totals(base, observation, band, share)
    best = float(shift[np.argmin(total)])
    if not np.any(base):
        return best
    size = float(np.abs(base).max() + abs(best))
    lowered = [best - slack * size for slack in _SLACKS]
    return min(lowered, key=lambda each: _mean(cost, base + each, observation, band, share))


def solve_sweep(
    features: Features,
    cost: JumpCost,
    observation: Array,
    band: Band | None,
    *,
    share: Array | None = None,
    fit_intercept: bool = True,
) -> Solution | None:
    """Minimise the mean cost of linear decisions if features only tell groups apart.

    Parameters
    ----------
    features : ndarray or csr_array of shape (n_rows, n_features)
    cost : JumpCost
    observation : ndarray of shape (n_rows,)
    band : Band or None
    share : ndarray of shape (n_rows,), optional
        Weights that sum to one.
    fit_intercept : bool

    Returns
    -------
    Solution or None
        The coefficients of all those that give the same decisions which are shortest; None where
        the decisions of groups depend on each other, or there are too many groups to see.
    """
    groups = _groups(features, fit_intercept)
    if groups is None:
        return None
    distinct, place = groups
    decision = np.empty(len(distinct))
    for group in range(decision.size):
        rows = np.flatnonzero(place == group)
        own = None if band is None else band.take(rows)
        weight = None if share is None else share[rows]
        decision[group] = best_shift(
            cost.take(rows), np.zeros(rows.size), observation[rows], own, weight
        )
    size = float(np.abs(decision).max())
    answers = []
    for slack in _SLACKS:
        coefficients, intercept = _solve(distinct, decision - slack * size, fit_intercept)
        chosen = (distinct @ coefficients + intercept)[place]
        value = _mean(cost, chosen, observation, band, share)
        answers.append(Solution(coefficients, intercept, value, 0.0, 0.0, 1, 1.0, "sweep"))
    return min(answers, key=lambda answer: answer.objective)


def _groups(features: Features, fit_intercept: bool) -> tuple[Array, NDArray[np.intp]] | None:
    """Distinct rows and the place of each row among them, if each may decide for itself."""
    n_features = features.shape[1]
    if n_features > _MOST_GROUPS:
        return None
    dense = features if isinstance(features, np.ndarray) else features.toarray()
    # so many distinct rows as parameters can be told apart, and no more
    if len(np.unique(dense[: 4 * _MOST_GROUPS], axis=0)) > n_features + fit_intercept:
        return None
    distinct, place = np.unique(dense, axis=0, return_inverse=True)
    if len(distinct) > n_features + fit_intercept:
        return None
    matrix = np.column_stack([distinct, np.ones(len(distinct))]) if fit_intercept else distinct
    size = np.abs(matrix).max(axis=0)
    scaled = matrix / np.where(size > 0, size, 1.0)
    independent = np.linalg.matrix_rank(scaled, tol=_RANK) == len(distinct)
    return (distinct, place.ravel().astype(np.intp)) if independent else None


def _solve(distinct: Array, decision: Array, fit_intercept: bool) -> tuple[Array, float]:
    """Shortest coefficients that give these decisions."""
    if not fit_intercept:
        return np.asarray(np.linalg.lstsq(distinct, decision, rcond=None)[0], np.float64), 0.0
    if len(distinct) == 1:
        return np.zeros(distinct.shape[1]), float(decision[0])
    # U θ + b = v holds for some b if and only if it holds after centring, without b
    centre = distinct.mean(axis=0)
    found = np.linalg.lstsq(distinct - centre, decision - decision.mean(), rcond=None)[0]
    coefficients = np.asarray(found, np.float64)
    return coefficients, float(decision.mean() - centre @ coefficients)


def _mean(
    cost: JumpCost, decision: Array, observation: Array, band: Band | None, share: Array | None
) -> float:
    loss = cost.loss(decision, observation, band)
    return float(loss.mean() if share is None else loss @ share)
