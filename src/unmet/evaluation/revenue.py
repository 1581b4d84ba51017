"""What prices earn: a deal is made where the price is at most what the buyer would pay.

The cost of a price (eq. cp) charges every unit too high or too low, and its best price is a
quantile of the reservation price. Revenue is another matter: a price that is too high earns nothing
at all, one that is too low earns itself, and the best price maximises
(price − unit cost) · P(reservation price ≥ price).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc

from unmet.arrays import Array, Numbers, expand, read_numbers
from unmet.errors import InvalidInput
from unmet.evaluation.measures import read_columns, weighted_mean

# levels of the reservation price at which revenue is looked at before it is refined
_LEVELS = np.concatenate([[1e-4, 1e-3], np.linspace(0.01, 0.99, 50), [0.999, 0.9999]])
_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
_HALVINGS = 40


class PriceDistribution(Protocol):
    """All that `best_price` asks of a rule: quantiles of the truth, such as `LatentBand` has."""

    def quantile(self, X: Any, level: Any) -> Array:
        """Quantile of the truth of each row."""
        ...


def realised_revenue(
    price: ArrayLike,
    truth: ArrayLike,
    *,
    unit_cost: ArrayLike = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean revenue once it is known what each buyer would have paid.

    ::

        Σ_i w_i (p_i − k_i) 1{p_i ≤ d_i} / Σ_i w_i

    Parameters
    ----------
    price : array-like of shape (n_rows,) or float
    truth : array-like of shape (n_rows,)
        Reservation prices.
    unit_cost : float or array-like of shape (n_rows,), default=0
        What a deal costs the seller.
    sample_weight : array-like of shape (n_rows,), optional

    Examples
    --------
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
    """Mean revenue that prices earn on average: without the luck of single buyers.

    Parameters
    ----------
    price : array-like of shape (n_rows,) or float
    survival : array-like of shape (n_rows,)
        Probability that the buyer of each row would pay the price.
    unit_cost : float or array-like of shape (n_rows,), default=0
    sample_weight : array-like of shape (n_rows,), optional

    Examples
    --------
    >>> expected_revenue([10, 20], survival=[0.5, 0.1])
    3.5
    """
    chance, chosen, paid = read_columns(survival=survival, price=price, unit_cost=unit_cost)
    if (chance < 0).any() or (chance > 1).any():
        row = int(((chance < 0) | (chance > 1)).argmax())
        raise InvalidInput(f"survival must lie in [0, 1], got {chance[row]} in row {row}.")
    return weighted_mean((chosen - paid) * chance, sample_weight)


def best_price(rule: PriceDistribution, X: Any, *, unit_cost: ArrayLike = 0.0) -> Array:
    """Prices that earn most under the distribution of reservation prices that a rule has fitted.

    Parameters
    ----------
    rule : fitted LatentBand, or anything with ``quantile(X, level)``
        After ``model.fit(...)`` that is ``model.band_rule_``.
    X : table, array-like or sparse matrix of shape (n_rows, n_features)
    unit_cost : float or array-like of shape (n_rows,), default=0

    Returns
    -------
    ndarray of shape (n_rows,)
        Never below the unit cost.

    Examples
    --------
    >>> from unmet import CustomPricing, LatentBand, LinearDecision
    >>> from unmet.simulate import pricing
    >>> part = pricing(seed=0).train
    >>> model = LinearDecision(CustomPricing(1, 1), band=LatentBand(random_state=0))
    >>> model = model.fit(part.features, part.observation, censored=part.limits)
    >>> price = best_price(model.band_rule_, part.features, unit_cost=20)
    >>> best = part.expected_revenue(part.best_price(20), 20)
    >>> bool(part.expected_revenue(price, 20) > 0.98 * best)
    True
    """
    if not callable(getattr(rule, "quantile", None)):
        raise InvalidInput(
            "rule must have a method quantile(X, level), as a fitted LatentBand has, "
            f"got {type(rule).__name__}."
        )
    first = rule.quantile(X, 0.5)
    return most_revenue(lambda level: rule.quantile(X, level), first.size, unit_cost)


def most_revenue(
    quantile: Callable[[Numbers], Array], n_rows: int, unit_cost: ArrayLike = 0.0
) -> Array:
    """Price of each row with most expected revenue, for any distribution given by its quantiles.

    In terms of the level q of the reservation price the revenue is (Q(q) − unit cost) · (1 − q):
    best of a grid of levels, then golden sections between its neighbours, all rows at once.

    Parameters
    ----------
    quantile : callable
        ``quantile(level)`` for one level, or one per row.
    n_rows : int
    unit_cost : float or array-like of shape (n_rows,), default=0
    """
    paid = expand("unit_cost", read_numbers("unit_cost", unit_cost), n_rows)

    def revenue(level: Numbers) -> Array:
        return np.asarray((quantile(level) - paid) * (1.0 - level))

    best = np.stack([revenue(float(level)) for level in _LEVELS]).argmax(axis=0)
    low = _LEVELS[np.maximum(best - 1, 0)]
    high = _LEVELS[np.minimum(best + 1, _LEVELS.size - 1)]
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = revenue(left), revenue(right)
    for _ in range(_HALVINGS):
        down = at_left >= at_right  # the maximum lies below `right`
        low, high = np.where(down, low, left), np.where(down, right, high)
        new = np.where(down, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
        at_new = revenue(new)
        left, at_left, right, at_right = (
            np.where(down, new, right),
            np.where(down, at_new, at_right),
            np.where(down, left, new),
            np.where(down, at_left, at_new),
        )
    return np.maximum(quantile(0.5 * (low + high)), paid)


def calibrated_levels(rank: Array, accepted: NDArray[np.bool_], seed: int = 0) -> Array:
    """Levels at which to ask a learned distribution of reservation prices, by what offers showed.

    An offer at rank u of the learned distribution is rejected with probability u, if the family is
    right. What is rejected instead, G(u), is a mixture of Bernstein's polynomials of degree 24 (all
    alike they are u itself), by expectation-maximisation with 0.3 rows in advance for each; offers
    held out say how far it is mixed with u. No level lies above the rank of 99% of the offers: what
    lies beyond is the tail of a family, and a price there may find no buyer at all.

    Parameters
    ----------
    rank : ndarray of shape (n_offers,)
        Probability under the learned distribution that the buyer would pay less than was asked.
    accepted : ndarray of bool, shape (n_offers,)
    seed : int

    Returns
    -------
    ndarray of shape (2, n_levels)
        Levels of the truth, and of the learned distribution at which its quantile is the truth's.
    """
    degree, rejected = 24, ~accepted[:, np.newaxis]
    steps = np.arange(1, degree + 1)

    def basis(at: Array) -> Array:
        return np.asarray(betainc(steps, degree + 1 - steps, at[:, np.newaxis]))

    def weights(index: Any) -> Array:
        chance = np.where(rejected[index], below[index], 1.0 - below[index])
        found = np.full(degree, 1.0 / degree)
        for _ in range(300):
            part = chance * found
            found = (part / part.sum(axis=1, keepdims=True)).sum(axis=0) + 0.3
            found = found / found.sum()
        return found

    below, folds = basis(rank), np.random.default_rng(seed).permutation(rank.size) % 5
    held_out = np.empty(rank.size)
    for fold in range(5):
        held_out[folds == fold] = below[folds == fold] @ weights(folds != fold)
    plain, bent = (np.where(accepted, 1.0 - each, each) for each in (rank, held_out))
    shares = np.linspace(0.0, 1.0, 101)
    score = [np.log(np.maximum((1 - a) * plain + a * bent, 1e-9)).sum() for a in shares]
    share, level = shares[int(np.argmax(score))], np.linspace(0.0, 1.0, 2001)
    truth = level if not share else (1 - share) * level + share * (basis(level) @ weights(...))
    return np.stack([truth, np.minimum(level, np.quantile(rank, 0.99))])
