"""Revenue of prices: a buyer accepts a price that is at most the reservation price.

The cost of a price (eq. cp) charges each unit too high or too low, and its best price is a quantile
of the reservation price. Revenue differs: a price that is too high earns nothing at all, and a
price that is too low earns itself. The best price maximises
(price − unit cost) · P(reservation price ≥ price).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from unmet.arrays import Array, expand, golden_section, read_numbers
from unmet.errors import InvalidInput
from unmet.evaluation.measures import read_columns, weighted_mean

# levels of the reservation price between which revenue is looked at before it is refined
_LEVELS, _PARTS = (1e-4, 0.01, 0.2, 0.5, 0.8, 0.95, 0.999), np.arange(8) / 8
_STEPS = 26  # of golden sections: what is left of a bracket is 4e-6


class PriceDistribution(Protocol):
    """Interface of the rules that `best_price` accepts, such as `LatentBand`."""

    def quantile_function(self, X: Any) -> Callable[[ArrayLike], Array]:
        """Give quantiles of the truth of these rows as a function of the level."""
        ...

    def survival_function(self, X: Any) -> Callable[[ArrayLike], Array]:
        """Give the probability that the truths of these rows are above a value."""
        ...


def realised_revenue(
    price: ArrayLike,
    truth: ArrayLike,
    *,
    unit_cost: ArrayLike = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the mean revenue once it is known what each buyer would have paid.

    ::

        Σ_i w_i (p_i − k_i) 1{p_i ≤ d_i} / Σ_i w_i

    Parameters
    ----------
    price : array-like of shape (n_rows,) or float
        Prices. A number is the price of every row.
    truth : array-like of shape (n_rows,)
        Reservation prices: the most that each buyer would pay.
    unit_cost : float or array-like of shape (n_rows,), default=0
        What one deal costs the seller.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows. None weights all rows equally.

    Examples
    --------
    >>> from unmet.evaluation import realised_revenue
    >>> realised_revenue([9, 11, 8], truth=[10, 10, 8], unit_cost=2)
    4.333...
    """
    actual, chosen, paid = read_columns(truth=truth, price=price, unit_cost=unit_cost)
    return weighted_mean(np.where(chosen <= actual, chosen - paid, 0.0), sample_weight)


def expected_revenue(
    price: ArrayLike,
    survival: ArrayLike,
    *,
    unit_cost: ArrayLike = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Compute the mean expected revenue of prices, from the probability that buyers accept them.

    Parameters
    ----------
    price : array-like of shape (n_rows,) or float
        Prices. A number is the price of every row.
    survival : array-like of shape (n_rows,)
        Probability that the buyer of each row would pay the price.
    unit_cost : float or array-like of shape (n_rows,), default=0
        What one deal costs the seller.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows. None weights all rows equally.

    Examples
    --------
    >>> from unmet.evaluation import expected_revenue
    >>> expected_revenue([10, 20], survival=[0.5, 0.1])
    3.5
    """
    chance, chosen, paid = read_columns(survival=survival, price=price, unit_cost=unit_cost)
    if (chance < 0).any() or (chance > 1).any():
        row = int(((chance < 0) | (chance > 1)).argmax())
        raise InvalidInput(f"survival must lie in [0, 1], got {chance[row]} in row {row}.")
    return weighted_mean((chosen - paid) * chance, sample_weight)


def best_price(
    rule: PriceDistribution, X: Any, *, unit_cost: ArrayLike = 0.0, highest: float = 0.9999
) -> Array:
    """Find the prices that earn most under the estimated distribution of reservation prices.

    Parameters
    ----------
    rule : fitted LatentBand, or anything with its quantile_function and survival_function
        The fitted distribution. After ``model.fit(...)`` it is ``model.band_rule_``.
    X : table, array-like or sparse matrix of shape (n_rows, n_features)
        Features of the rows to price.
    unit_cost : float or array-like of shape (n_rows,), default=0
        What one deal costs the seller. Larger values give higher prices.
    highest : float, default=0.9999
        Level of the quantile of the reservation price that no price may exceed, above 0 and below
        1. Beyond nearly all prices that were asked, a distribution is only the tail of its family.

    Returns
    -------
    ndarray of shape (n_rows,)
        Prices, never below the unit cost.

    Examples
    --------
    >>> from unmet import CustomPricing, LatentBand, LinearDecision
    >>> from unmet.evaluation import best_price
    >>> from unmet.simulate import pricing
    >>> part = pricing(seed=0).train.take(slice(400))
    >>> model = LinearDecision(CustomPricing(1, 1), band=LatentBand(random_state=0))
    >>> model = model.fit(part.features, part.observation, censored=part.limits)
    >>> price = best_price(model.band_rule_, part.features, unit_cost=20)
    >>> best = part.expected_revenue(part.best_price(20), 20)
    >>> bool(part.expected_revenue(price, 20) > 0.95 * best)
    True
    """
    names = ("quantile_function", "survival_function")
    if not all(callable(getattr(rule, name, None)) for name in names):
        raise InvalidInput(
            "rule must have methods quantile_function(X) and survival_function(X), as a fitted "
            f"LatentBand has, got {type(rule).__name__}."
        )
    quantile, survival = rule.quantile_function(X), rule.survival_function(X)
    return most_revenue(quantile, survival, quantile(0.5).size, unit_cost, highest)


def most_revenue(
    quantile: Callable[[float], Array],
    survival: Callable[[Array], Array],
    n_rows: int,
    unit_cost: ArrayLike = 0.0,
    highest: float = 0.9999,
) -> Array:
    """Find the price of each row with the most expected revenue, for any distribution.

    The search takes the best of the prices at a few quantiles, then golden sections between its
    neighbors, for all rows at once.

    Parameters
    ----------
    quantile, survival : callable
        Quantiles of the reservation prices of all rows at a level, and the probability that each of
        them is above a price.
    n_rows : int
        Number of rows.
    unit_cost : float or array-like of shape (n_rows,), default=0
        What one deal costs the seller.
    highest : float, default=0.9999
        Highest level of a price.
    """
    paid = expand("unit_cost", read_numbers("unit_cost", unit_cost), n_rows)

    def revenue(price: Array) -> Array:
        return np.asarray((price - paid) * survival(price))

    levels = np.array([*(each for each in _LEVELS if each < highest), highest])
    ends = np.stack([np.broadcast_to(quantile(float(each)), n_rows) for each in levels])
    steps = [start + part * (end - start) for start, end in pairwise(ends) for part in _PARTS]
    prices = np.stack([*steps, ends[-1]])
    best = np.stack([revenue(price) for price in prices]).argmax(axis=0)
    rows = np.arange(n_rows)
    low = prices[np.maximum(best - 1, 0), rows]
    high = prices[np.minimum(best + 1, len(prices) - 1), rows]
    low, high, _ = golden_section(lambda price: -revenue(price), low, high, _STEPS)
    return np.asarray(np.maximum(0.5 * (low + high), paid))
