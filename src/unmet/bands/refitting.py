"""Training the model that a rule is given, for rules that must see what a band does to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.base import clone

from unmet.arrays import Array, Band, Features, common_rows
from unmet.costs import Cost, HingeCost, PiecewiseLinearCost
from unmet.errors import InvalidInput, Unsupported
from unmet.rows import Rows
from unmet.solvers.exact.minimum_norm import shortest
from unmet.solvers.exact.solve import solve_exact
from unmet.solvers.problem import HingeProblem

# --- When an iteration stops: the two parameters that several rules share.


def read_iteration(tolerance: object, max_iter: object) -> tuple[float, int]:
    """Read the tolerance and the most steps of an iteration."""
    if (
        not isinstance(tolerance, Real)
        or isinstance(tolerance, bool)
        or not 0 < float(tolerance) < 1
    ):
        raise InvalidInput(f"tol must be a number above 0 and below 1, got {tolerance!r}.")
    return float(tolerance), positive_integer("max_iter", max_iter)


def positive_integer(name: str, value: object) -> int:
    """Read a count that must be at least one."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 1:
        raise InvalidInput(f"{name} must be a positive integer, got {value!r}.")
    return int(value)


# --- The shift of decisions that costs least once the truth is known.

_CANDIDATES = 400  # shifts tried for a cost without slopes
_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


def best_shift(cost: Cost, decision: Array, truth: Array, share: Array) -> float:
    """ε ≥ 0 for which decision + ε costs least; the smallest of several.

    Exact for a cost with slopes. With two of them it is a quantile of truth − decision in which
    each row counts with its weight times the sum of its slopes; with more, one of all their kinks.

    Parameters
    ----------
    cost : Cost
    decision, truth, share : ndarray of shape (n_rows,)
        Shares sum to one.

    Examples
    --------
    >>> from unmet import Newsvendor
    >>> truth = np.array([4.0, 1.0, 9.0, 6.0, 8.0])
    >>> best_shift(Newsvendor(underage=3, overage=1), np.zeros(5), truth, np.full(5, 0.2))
    8.0
    """
    if not isinstance(cost, HingeCost):
        return _best_tried(cost, decision, truth, share)
    kinks = cost.kinks(truth - decision, None, share)
    position = kinks.position.ravel()
    order = np.argsort(position)
    # slope of the total cost just above each kink: it starts at −Σ below
    gained = np.cumsum((kinks.below + kinks.above).ravel()[order])
    enough = gained >= float(kinks.below.sum()) * (1.0 - 1e-12)
    return max(0.0, float(position[order][np.argmax(enough)]))


def _best_tried(cost: Cost, decision: Array, truth: Array, share: Array) -> float:
    """Try what would meet the truth of each row, and just less; then between the neighbours."""

    def paid(shift: float) -> float:
        return float(share @ cost.cost(decision + shift, truth))

    meet = np.unique(np.maximum(truth - decision, 0.0))
    if meet.size > _CANDIDATES:
        meet = meet[np.linspace(0, meet.size - 1, _CANDIDATES).astype(np.intp)]
    # a decision that rounding puts above the truth may cost as much as one far above it
    just_less = np.maximum(meet - 1e-9 * max(float(np.abs(truth).max()), 1e-300), 0.0)
    tried = np.unique(np.concatenate([[0.0], meet, just_less]))
    costs = np.array([paid(float(shift)) for shift in tried])
    place = int(np.argmin(costs))
    ends = tried[max(place - 1, 0)], tried[min(place + 1, tried.size - 1)]
    if not ends[0] < ends[1]:
        return float(tried[place])
    found = minimize_scalar(lambda shift: paid(float(shift)), bounds=ends, method="bounded")
    return float(found.x if found.fun < costs[place] else tried[place])


def best_line(cost: HingeCost, decision: Array, truth: Array, share: Array) -> tuple[float, float]:
    """Intercept and slope for which decision + intercept + slope · decision costs least."""
    kinks = cost.kinks(truth - decision, None, share)
    solution = solve_exact(HingeProblem(np.ascontiguousarray(decision[:, None]), kinks))
    return solution.intercept, float(solution.coefficients[0])


def level_of_all(cost: Cost, share: Array) -> float:
    """Which quantile of truth − decision the best shift is; ½ for a cost without slopes."""
    if not isinstance(cost, PiecewiseLinearCost):
        return 0.5
    below, above = cost.slopes.rows(share.size)
    return float(share @ below) / float(share @ (below + above))


def standard_error(residual: Array, share: Array, level: float) -> float:
    """Half the distance between the quantiles one standard error below and above a level.

    The share of rows below the true quantile varies by √(α(1 − α)/n); quantiles at α ± that many
    need no estimate of the density (n is 1 / Σ share²). Where α + that is beyond the largest row,
    the answer is only a lower bound.
    """
    order = np.argsort(residual)
    reached = np.cumsum(share[order])
    spread = np.sqrt(level * (1.0 - level) * float(share @ share))
    ends = np.clip([level - spread, level + spread], 0.0, 1.0 - 1e-12)
    low, high = residual[order][np.searchsorted(reached, ends)]
    return 0.5 * float(high - low)


def golden_section(
    function: Callable[[float], float], known: dict[float, float], upper: float, most: int
) -> dict[float, float]:
    """Search a minimum between 0 and `upper`, or above if the function still falls there.

    Parameters
    ----------
    function : callable
    known : dict
        Values that are known already.
    upper : float
        Positive.
    most : int
        Largest number of calls.

    Returns
    -------
    dict
        Every argument tried, those known among them, with its value.
    """
    values = dict(known)

    def value(argument: float) -> float:
        if argument not in values:
            values[argument] = function(argument)
        return values[argument]

    most += len(known)
    while len(values) < most and value(upper) <= min(values.values()):
        upper *= 2.0
    low, high = 0.0, upper
    while len(values) < most - 1:
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if value(left) <= value(right):
            high = right
        else:
            low = left
        if high - low <= 1e-3 * upper:
            break
    return values


# --- Training the model that a rule is given, for rules that must see what a band does to it.

Answer = TypeVar("Answer")
Found = TypeVar("Found", covariant=True)


class Fitted(Protocol):
    """A trained model."""

    def predict(self, X: Any) -> Array:
        """Decide for each row."""


@dataclass(frozen=True)
class LinearRule:
    """Decisions of the exact linear program."""

    coefficients: Array
    intercept: float

    def predict(self, X: Features) -> Array:
        """Decide for each row."""
        return np.asarray(X @ self.coefficients + self.intercept)


@dataclass(frozen=True)
class Trainer:
    """Fits copies of an estimator; without one, linear decisions by the exact solver.

    Attributes
    ----------
    rule : str
        Who trains, for the sentence of the error.
    estimator : estimator or None
        Any that has ``fit(X, y)`` and ``predict(X)``; where it has parameters ``cost`` and
        ``band``, they are set.
    """

    rule: str
    estimator: Any = None

    def train(self, sample: Rows, band: Band | None = None) -> Fitted:
        """Fit on the rows of a sample, with their cost, weights and band."""
        if self.estimator is None:
            return self._solve(sample, band)
        model = clone(self.estimator)
        known = model.get_params(deep=False)
        if "cost" in known:
            model.set_params(cost=sample.cost)
        if band is not None:
            if "band" not in known:
                name = type(model).__name__
                raise Unsupported(f"{self.rule} needs a model that takes a band, got {name}.")
            model.set_params(band=band)
        weight = {} if sample.share is None else {"sample_weight": sample.share}
        fitted: Fitted = model.fit(sample.features, sample.observation, **weight)
        return fitted

    def _solve(self, sample: Rows, band: Band | None) -> LinearRule:
        if not isinstance(sample.cost, HingeCost):
            raise Unsupported(
                f"{self.rule} without a model solves a linear program, and "
                f"{type(sample.cost).__name__} has no slopes: give the rule to a model, as band=."
            )
        share = 1.0 / sample.n_rows if sample.share is None else sample.share
        kinks = sample.cost.kinks(sample.observation, band, share)
        problem = HingeProblem(sample.features, kinks)
        solution = shortest(problem, solve_exact(problem))
        return LinearRule(solution.coefficients, solution.intercept)


class Search(Protocol[Found]):
    """Looks for the answer to a cost."""

    def run(self, cost: Cost) -> Found:
        """Search for one cost."""


class Learned(Generic[Answer]):
    """What a rule has learned, cost by cost, for rules that must search again for another cost.

    Costs that differ by row belong to the rows of `fit`; all that can be said for the costs of
    other rows is what was learned from those.

    Parameters
    ----------
    rule : str
        Who learns, for the sentence of the error.
    search : Search
        From a cost to an answer.
    """

    def __init__(self, rule: str, search: Search[Answer]) -> None:
        self._rule = rule
        self._search = search
        # pairs, not a dictionary: costs are no keys in the formats that models are saved in
        self._answers: list[tuple[Cost | None, Answer]] = []

    def first(self, cost: Cost) -> Answer:
        """Learn from the cost of `fit`."""
        answer = self._search.run(cost)
        self._answers.append((_key(cost), answer))
        return answer

    def of(self, cost: Cost) -> Answer:
        """Look up a cost, and learn from it where it is new."""
        key = _key(cost)
        for known, answer in self._answers:
            if known == key:
                return answer
        if key is None:
            raise Unsupported(
                f"{self._rule} has learned from one cost for all rows and knows nothing of costs "
                "that differ by row: fit it with them."
            )
        return self.first(cost)


def _key(cost: Cost) -> Cost | None:
    return cost if common_rows(cost.parameters()) is None else None
