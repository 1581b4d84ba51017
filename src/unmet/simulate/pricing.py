"""Simulated custom pricing with its truth: reservation prices, offers and answers.

An accepted price shows that the buyer would have paid at least that much, a rejected price that it
was too high. Neither shows the reservation price. Only buyers who haggle reveal it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.arrays import Array, Limits
from unmet.evaluation.measures import read_columns
from unmet.evaluation.revenue import expected_revenue, most_revenue
from unmet.simulate.demand import (
    COUNTS,
    FAMILIES,
    POSITIVE,
    Family,
    FamilyTruth,
    Part,
    Simulated,
    distribution,
    streams,
)
from unmet.validation import Number, OneOf, WholeNumber

PricePolicy = Literal["fixed", "discounts", "forecast", "personal"]

_LEVEL = 100.0  # mean reservation price of the first segment
# Shares of the level; the first segment is the baseline of the dummies.
_SEGMENTS = (0.0, 0.1837, -0.1523, 0.0714)
_EFFECTS = {"quantity": -0.2146, "loyalty": 0.1581, "urgency": 0.1192}
_NAMES = (*(f"segment {number}" for number in range(2, len(_SEGMENTS) + 1)), *_EFFECTS)


@dataclass(frozen=True, eq=False, kw_only=True)
class PricingPart(FamilyTruth, Part):
    """Offers of one period, with the reservation prices next to what a seller sees.

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_features)
        Segment dummies, quantity, loyalty and urgency.
    feature_names : tuple of str
        Names of the features.
    mean, deviation : ndarray of shape (n_rows,)
        Mean and standard deviation of the reservation price given the features.
    family : str
        Family of the distribution of the reservation price.
    truth : ndarray of shape (n_rows,)
        Reservation prices.
    offer : ndarray of shape (n_rows,)
        Offered prices.
    accepted : ndarray of bool, shape (n_rows,)
        Whether there was a deal.
    haggled : ndarray of bool, shape (n_rows,)
        Deals below the offer, at the reservation price itself.

    Examples
    --------
    >>> from unmet.simulate import pricing
    >>> part = pricing(seed=1).train
    >>> bool((part.truth[part.accepted] >= part.offer[part.accepted]).all())
    True
    """

    features: Array
    feature_names: tuple[str, ...]
    mean: Array
    deviation: Array
    family: Family
    truth: Array
    offer: Array
    accepted: NDArray[np.bool_]
    haggled: NDArray[np.bool_]

    @property
    def censored(self) -> NDArray[np.bool_]:
        """Rows whose reservation price is hidden: all except those who haggled."""
        return ~self.haggled

    @property
    def observation(self) -> Array:
        """Price of each deal, and the offered price if it was rejected."""
        return np.where(self.haggled, self.truth, self.offer)

    @property
    def limits(self) -> Limits:
        """Limits of the reservation prices: at least, below, or exactly the price."""
        price, no_deal = self.observation, ~self.accepted
        lower = np.where(no_deal, -np.inf, price)
        return Limits(lower, np.where(self.haggled | no_deal, price, np.inf))

    def survival(self, price: ArrayLike) -> Array:
        """Give the probability that each buyer would pay a price.

        Parameters
        ----------
        price : float or array-like of shape (n_rows,)
            Prices.
        """
        _, asked = read_columns(truth=self.truth, price=price)
        return np.asarray(self.distribution.sf(asked))

    def best_price(self, unit_cost: ArrayLike = 0.0) -> Array:
        """Find the prices with the most expected revenue under the true distribution.

        Parameters
        ----------
        unit_cost : float or array-like of shape (n_rows,), default=0
            What one deal costs the seller.
        """
        return most_revenue(self.distribution.ppf, self.survival, len(self), unit_cost)

    def expected_revenue(self, price: ArrayLike, unit_cost: ArrayLike = 0.0) -> float:
        """Compute the mean expected revenue of prices under the true distribution.

        Parameters
        ----------
        price : array-like of shape (n_rows,) or float
            Prices.
        unit_cost : float or array-like of shape (n_rows,), default=0
            What one deal costs the seller.
        """
        return expected_revenue(price, self.survival(price), unit_cost=unit_cost)


def pricing(
    family: Family = "normal",
    *,
    policy: PricePolicy = "discounts",
    haggling: float = 0.0,
    n: int = 3000,
    n_test: int = 3000,
    seed: int = 0,
) -> Simulated[PricingPart]:
    """Simulate offers to buyers whose reservation prices and best prices are known.

    Parameters
    ----------
    family : str
        Family of the reservation price: "normal", "logistic", "laplace", "student", "gumbel",
        "gamma", "lognormal", "weibull" or "gamma_noise".
    policy : {"fixed", "discounts", "forecast", "personal"}
        "fixed" offers the list price, 110, to everybody. "discounts" offers the list price minus a
        random discount of up to a half. "forecast" offers 90% of the mean reservation price of the
        row, known exactly. "personal" multiplies that by a lognormal number around one (deviation
        0.25 of its logarithm), because sales people differ.
    haggling : float
        Share of the buyers with too high an offer who name their reservation price and get the deal
        at it. Larger shares reveal more.
    n, n_test : int
        Number of training rows and of test rows. The mean reservation price of the first segment is
        100. The deviation is a quarter of the mean for positive families, and 25 for the others.
    seed : int
        Non-negative seed. Families and policies of one seed share their randomness.

    Returns
    -------
    Simulated
        Data with `train` and `test`.

    Examples
    --------
    >>> from unmet.simulate import pricing
    >>> part = pricing("lognormal", policy="discounts", seed=1).train
    >>> part.limits.kinds[:4]
    array(['right', 'right', 'left', 'right'], dtype='<U8')
    >>> expensive, cheap = part.best_price(unit_cost=60), part.best_price(unit_cost=0)
    >>> bool((expensive > cheap).all())
    True
    """
    OneOf(*(each for each in FAMILIES if each not in COUNTS))("family", family)
    OneOf(*get_args(PricePolicy))("policy", policy)
    Number(least=0, most=1)("haggling", haggling)
    counts = WholeNumber(1)("n", n), WholeNumber(1)("n_test", n_test)
    both = np.random.SeedSequence(WholeNumber(0)("seed", seed)).spawn(2)

    def part(count: int, stream: np.random.SeedSequence) -> PricingPart:
        buyers, luck, desk, talk = streams(stream, 4)
        # features, and the mean reservation price as a share of the level: linear in them
        draws = buyers.random((count, 2 + len(_EFFECTS)))
        segment = (draws[:, 0] * len(_SEGMENTS)).astype(np.intp)
        dummies = segment[:, None] == np.arange(1, len(_SEGMENTS))
        features = np.column_stack([dummies, draws[:, 1:3], draws[:, 3] < 0.3])
        mean = _LEVEL * (1.0 + features @ np.array([*_SEGMENTS[1:], *_EFFECTS.values()]))
        deviation = 0.25 * (mean if family in POSITIVE else np.full(count, _LEVEL))
        truth = np.asarray(distribution(family, mean, deviation).ppf(luck.random(count)))
        draw = desk.random(count), desk.standard_normal(count)
        offer = {
            "fixed": np.full(count, 1.1 * _LEVEL),
            "discounts": 1.1 * _LEVEL * (1.0 - 0.5 * draw[0]),
            "forecast": 0.9 * mean,
            "personal": 0.9 * mean * np.exp(0.25 * draw[1]),
        }[policy]
        taken = truth >= offer
        # nobody names a price that is none
        haggled = ~taken & (talk.random(count) < haggling) & (truth > 0)
        return PricingPart(
            features=features,
            feature_names=_NAMES,
            mean=mean,
            deviation=deviation,
            family=family,
            truth=truth,
            offer=offer,
            accepted=taken | haggled,
            haggled=haggled,
        )

    train, test = (part(count, stream) for count, stream in zip(counts, both, strict=True))
    return Simulated(train, test, int(seed))
