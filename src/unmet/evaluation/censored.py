"""Cost of decisions if only some truths are seen: weight the seen rows for the others.

A row shows its truth D if its order Q was above D, which is likelier for small truths. A row that
was seen therefore stands for 1 / P(Q > D) rows (inverse probability of censoring; Robins &
Rotnitzky 1992, Graf et al. 1999). The Kaplan–Meier estimate gives P with truth and limit exchanged:
an order is seen if the row sold out, and known to be above the truth if it did not.

Two decisions y < y' do not differ by anything that happens above y': whatever D is there, the
cheaper one of two slopes is cheaper by the same amount. Truths need therefore only be known up to
τ, the largest decision of the row. The cost of min(D, τ) differs from that of D by the same amount
for all methods, and rows that sold out above τ count as well. That bounds the weights by
1 / P(Q ≥ τ).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from unmet.arrays import Array, common_rows, read_flags
from unmet.costs import Cost, PiecewiseLinearCost
from unmet.errors import InvalidInput, Unsupported
from unmet.evaluation.measures import read_columns
from unmet.rows import read_weights

LEAST_REACHED = 0.05
"""Share of orders that must reach a value for truths up to there to be told apart. Lower looks
further up, at weights of up to 1 / this share; decisions beyond are taken to be where it ends."""
_MIN_SOLD_OUT = 10  # rows from which a line of orders can be told
_ITERATIONS = 200


@dataclass(frozen=True)
class CensoredCost:
    """Costs of several methods on the same rows, not all of which show their truth.

    Attributes
    ----------
    cost : dict from str to float
        Mean cost of each method, without a part that is equal for all of them. Compare differences:
        they are those of the realised cost.
    per_row : dict from str to ndarray of shape (n_rows,)
        Cost of each row; 0 if nothing is known of it.
    weight : ndarray of shape (n_rows,)
        Weight of each row, one on average; 0 if too little is known of it.
    n_known : int
        Number of rows with weight.
    reached : float
        Share of rows whose decisions all lie where orders reach. Other rows are compared up to the
        largest orders, because no data show what happens beyond.
    groups : ndarray of shape (n_rows,) or None
        Groups of dependent rows.

    Examples
    --------
    >>> from unmet import Newsvendor
    >>> from unmet.evaluation import censored_cost
    >>> found = censored_cost(
    ...     Newsvendor(3, 1), {"low": 4, "high": 7}, [5, 8, 6, 4], [False, True, False, False]
    ... )
    >>> found.best, found.n_known
    ('high', 4)
    """

    cost: dict[str, float]
    per_row: dict[str, Array]
    weight: Array
    n_known: int
    reached: float
    groups: NDArray[np.intp] | None = None

    @property
    def best(self) -> str:
        """Name of the cheapest method."""
        return min(self.cost, key=self.cost.__getitem__)

    def cheapest(self, preferred: str) -> str:
        """Give the cheapest method, or the preferred one unless it costs significantly more.

        Parameters
        ----------
        preferred : str
            Name of the preferred method.
        """
        if preferred not in self.cost or preferred == self.best:
            return self.best
        more, error = self.difference(preferred, self.best)
        return preferred if more <= max(error, 1e-9 * self.cost[preferred]) else self.best

    def difference(self, method: str, other: str) -> tuple[float, float]:
        """Compute how much more one method costs than another, with its standard error.

        Parameters
        ----------
        method, other : str
            Names of the methods.

        Returns
        -------
        mean, standard_error : float
            Difference per row. Weights are taken as known, and groups as independent.
        """
        more = self.per_row[method] - self.per_row[other]
        share = self.weight / self.weight.sum()
        mean = float(share @ more)
        part, n = share * (more - mean), int(np.count_nonzero(share))
        if self.groups is not None:
            part, n = np.bincount(self.groups, weights=part), np.unique(self.groups[share > 0]).size
        if n < 2:
            return mean, np.inf
        return mean, float(np.sqrt(n / (n - 1) * (part @ part)))


def censored_cost(
    cost: Cost,
    decisions: Mapping[str, ArrayLike],
    observation: ArrayLike,
    censored: Any,
    *,
    level: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> CensoredCost:
    """Compare the cost of decisions on rows that may have sold out.

    Use rows that no method has learned from. Without flags there is no such score: sales alone
    favor the method that orders least.

    Parameters
    ----------
    cost : PiecewiseLinearCost
        Cost with two slopes, which may differ by row.
    decisions : mapping from name to array-like of shape (n_rows,) or float
        Decisions of each method.
    observation : array-like of shape (n_rows,)
        Observations, such as sales.
    censored : array-like of shape (n_rows,)
        True if the truth is at least the observation, False if the truth is the observation, None
        or NaN if unknown. Unknown rows do not count.
    level : array-like of shape (n_rows,), optional
        A quantity that orders move with; None takes the mean of the decisions. Orders are assumed
        to be linear in it, with deviations from one distribution. Deviations are relative to the
        level if all levels and observations are positive, and absolute otherwise.
    groups : array-like of shape (n_rows,), optional
        Groups of dependent rows, such as series. None takes rows as independent.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows. None weights all rows equally.

    Returns
    -------
    CensoredCost
        Mean cost of each method, and of each row.

    Notes
    -----
    The comparison assumes that orders are independent of the truth, given the level. This fails if
    orders follow demand that the level does not contain, as in every model of censored data.
    Decisions that fewer than one order in twenty reaches are cut to the point where that happens.

    Examples
    --------
    >>> import numpy as np
    >>> from unmet import Newsvendor
    >>> from unmet.evaluation import censored_cost
    >>> generator = np.random.default_rng(0)
    >>> demand, stock = generator.normal(50, 10, (2, 4000)) + [[0], [8]]
    >>> sales, sold_out = np.minimum(demand, stock), demand >= stock
    >>> cost, orders = Newsvendor(underage=4, overage=1), {"low": 50.0, "high": 58.4}
    >>> found = censored_cost(cost, orders, sales, sold_out)
    >>> more, error = found.difference("low", "high")
    >>> true = np.mean(cost.cost(np.full(4000, 50.0), demand) - cost.cost(58.4, demand))
    >>> bool(abs(more - true) < 2 * error), bool(more > 5 * error)
    (True, True)
    """
    if not isinstance(cost, PiecewiseLinearCost):
        raise Unsupported(
            f"cost must have two slopes where not every truth is seen, got {type(cost).__name__}."
        )
    if not decisions:
        raise InvalidInput("decisions must have at least one method, got none.")
    (seen,) = read_columns(observation=observation)
    n_rows = seen.size
    columns = read_columns(observation=seen, **dict(decisions))
    by_name = dict(zip(decisions, columns[1:], strict=True))
    common_rows({"observation": seen, **cost.parameters()})
    flags = read_flags("censored", censored, n_rows)
    share = read_weights(sample_weight, n_rows)
    given = np.ones(n_rows) if share is None else share * n_rows
    given = np.where(np.isnan(flags), 0.0, given)
    hidden = flags == 1.0
    if not (given[~hidden] > 0).any():
        raise InvalidInput("censored must leave some rows seen, got none.")
    if level is None:
        middle = np.mean(list(by_name.values()), axis=0)
    else:
        middle = read_columns(observation=seen, level=level)[1]
    positive = bool((middle > 0).all() and (seen >= 0).all())
    scale = middle if positive else np.ones(n_rows)
    usual = _usual_orders(seen / scale, middle / scale, 1.0 / scale, hidden, given)

    def place(value: Array) -> Array:
        return np.asarray(value / scale - usual)

    orders = _Orders.of(place(seen), hidden, given)
    end = (orders.end + usual) * scale
    top = np.max(list(by_name.values()), axis=0)
    reached = float(np.average(top <= end, weights=given))
    top = np.minimum(top, end)
    # known up to the top: a truth below it that was seen, or anything at least as high
    above = seen >= top
    known = (given > 0) & (above | ~hidden)
    probability = np.where(above, orders.at_least(place(top)), orders.above(place(seen)))
    weight = np.zeros(n_rows)
    weight[known] = given[known] / np.maximum(probability[known], LEAST_REACHED)
    if not known.any():
        raise InvalidInput(
            "censored must leave rows whose truth can be compared with the decisions, got none."
        )
    weight *= n_rows / weight.sum()
    truth = np.minimum(seen, top)
    per_row = {
        name: np.where(known, cost.cost(np.minimum(decision, top), truth), 0.0)
        for name, decision in by_name.items()
    }
    means = {name: float(weight @ each) / n_rows for name, each in per_row.items()}
    label = None
    if groups is not None:
        entries = np.asarray(groups)
        if entries.shape != (n_rows,):
            raise InvalidInput(
                f"groups must have one entry per row, got shape {entries.shape} for {n_rows} rows."
            )
        label = np.unique(entries, return_inverse=True)[1].astype(np.intp)
    return CensoredCost(means, per_row, weight, int(known.sum()), reached, label)


def _usual_orders(
    seen: Array, level: Array, one: Array, hidden: NDArray[np.bool_], weight: Array
) -> Array:
    """Order that is usual at each level, linear in it.

    By a normal distribution, of which rows that sold out are seen and all others known to be above
    (expectation and maximisation). All columns are in units of the row. Few rows that sold out say
    no more than a common place.
    """
    basis = np.column_stack([one, level])
    sold_out = weight[hidden].astype(np.bool_).sum()
    if sold_out < _MIN_SOLD_OUT or np.linalg.matrix_rank(basis) < 2:
        return np.zeros(seen.size)
    share = weight / weight.sum()
    normal = np.linalg.inv((basis * share[:, None]).T @ basis)
    guess, spread, fitted = seen, float(np.std(seen)) or 1.0, np.zeros(seen.size)
    for _ in range(_ITERATIONS):
        coefficients = normal @ (basis.T @ (share * guess))
        new = basis @ coefficients
        z = (seen - new) / spread
        hazard = np.exp(-0.5 * z * z - special.log_ndtr(-z)) / np.sqrt(2.0 * np.pi)
        guess = np.where(hidden, seen, new + spread * hazard)
        extra = np.where(hidden, 0.0, np.maximum(1.0 + z * hazard - hazard**2, 0.0))
        moved = float(np.abs(new - fitted).max())
        spread = float(np.sqrt(share @ ((guess - new) ** 2 + spread**2 * extra)))
        fitted = new
        if moved < 1e-4 * spread or spread == 0.0:
            break
    return fitted


@dataclass(frozen=True)
class _Orders:
    """How far orders reach: steps of the estimate of Kaplan and Meier.

    Attributes
    ----------
    value : ndarray of shape (n_steps,)
        Orders that were seen, increasing.
    survival : ndarray of shape (n_steps + 1,)
        Share of orders above each of them, one before the first.
    end : float
        Largest value that enough orders reach.
    """

    value: Array
    survival: Array
    end: float

    @classmethod
    def of(cls, place: Array, hidden: NDArray[np.bool_], weight: Array) -> _Orders:
        """Estimate from rows: an order is seen where a row sold out, and above it elsewhere."""
        value, at = np.unique(place[hidden & (weight > 0)], return_inverse=True)
        ended = np.bincount(at, weights=weight[hidden & (weight > 0)], minlength=value.size)
        order = np.argsort(place, kind="stable")
        left = np.append(np.cumsum(weight[order][::-1])[::-1], 0.0)  # of rows from each place on
        at_risk = left[np.searchsorted(place[order], value, side="left")]
        factor = 1.0 - np.minimum(ended / np.maximum(at_risk, ended), 1.0) if value.size else value
        survival = np.append(1.0, np.cumprod(factor))
        enough = np.flatnonzero(survival[1:] < LEAST_REACHED)
        # orders are at least the value at which too few are left above
        end = float(value[enough[0]]) if enough.size else np.inf
        return cls(value, survival, end)

    def above(self, place: Array) -> Array:
        """Probability that an order is above a value."""
        return np.asarray(self.survival[np.searchsorted(self.value, place, side="right")])

    def at_least(self, place: Array) -> Array:
        """Probability that an order is at least a value."""
        return np.asarray(self.survival[np.searchsorted(self.value, place, side="left")])
