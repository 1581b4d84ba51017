"""Custom pricing with the truth kept: what buyers would have paid, what was asked, what was taken.

An accepted price says that the buyer would have paid at least so much, a rejected one that it was
too much; neither says what the reservation price is. Only buyers who haggle tell it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmet.arrays import Array, Limits
from unmet.errors import InvalidInput
from unmet.evaluation.price import as_decision, as_number
from unmet.evaluation.revenue import expected_revenue, most_revenue
from unmet.simulate.base import (
    COUNTS,
    FAMILIES,
    POSITIVE,
    Distribution,
    Family,
    check_shape,
    distribution,
)

PricePolicy = Literal["fixed", "discounts", "forecast", "personal"]
POLICIES: tuple[PricePolicy, ...] = get_args(PricePolicy)

# Shares of the level; the first segment is the baseline of the dummies.
_SEGMENTS = (0.0, 0.1837, -0.1523, 0.0714)
_EFFECTS = {"quantity": -0.2146, "loyalty": 0.1581, "urgency": 0.1192}
_NAMES = (*(f"segment {number}" for number in range(2, len(_SEGMENTS) + 1)), *_EFFECTS)


@dataclass(frozen=True, eq=False)
class PricingPart:
    """Offers of one period, the truth kept beside what a seller sees.

    Attributes
    ----------
    features : ndarray of shape (n_rows, n_features)
        Segment dummies, quantity, loyalty and urgency, named by `feature_names`.
    feature_names : tuple of str
    mean, deviation : ndarray of shape (n_rows,)
        Of the reservation price given the features.
    truth : ndarray of shape (n_rows,)
        Reservation prices.
    offer : ndarray of shape (n_rows,)
        What was asked.
    accepted : ndarray of bool, shape (n_rows,)
        Whether there was a deal.
    haggled : ndarray of bool, shape (n_rows,)
        Deals below the offer, at the reservation price itself.
    family : str
    shape : float
        Of families that have one.
    """

    features: Array
    feature_names: tuple[str, ...]
    mean: Array
    deviation: Array
    truth: Array
    offer: Array
    accepted: NDArray[np.bool_]
    haggled: NDArray[np.bool_]
    family: Family
    shape: float

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def observation(self) -> Array:
        """The price of each deal, and of each rejected offer what was asked."""
        return np.where(self.haggled, self.truth, self.offer)

    @property
    def limits(self) -> Limits:
        """What the answers say of the reservation prices: at least, below, or exactly so much."""
        price, no_deal = self.observation, ~self.accepted
        lower = np.where(no_deal, -np.inf, price)
        return Limits(lower, np.where(self.haggled | no_deal, price, np.inf))

    def optimum(self, level: float) -> Array:
        """Best prices by eq. cp: the conditional quantile of the reservation price.

        Parameters
        ----------
        level : float
            α = underprice / (underprice + overprice), in (0, 1).
        """
        alpha = as_number("level", level)
        if not 0 < alpha < 1:
            raise InvalidInput(f"level must lie strictly between 0 and 1, got {alpha}.")
        return np.asarray(self._law.ppf(alpha))

    def survival(self, price: ArrayLike) -> Array:
        """Probability that each buyer would pay a price."""
        return np.asarray(self._law.sf(as_decision("price", price, self.truth)))

    def best_price(self, unit_cost: ArrayLike = 0.0) -> Array:
        """Prices with most expected revenue under the true distribution.

        Parameters
        ----------
        unit_cost : float or array-like of shape (n_rows,), default=0
        """
        return most_revenue(self._law.ppf, len(self), unit_cost)

    def expected_revenue(self, price: ArrayLike, unit_cost: ArrayLike = 0.0) -> float:
        """Mean revenue of prices under the true distribution.

        Parameters
        ----------
        price : array-like of shape (n_rows,) or float
        unit_cost : float or array-like of shape (n_rows,), default=0
        """
        return expected_revenue(price, self.survival(price), unit_cost=unit_cost)

    @property
    def _law(self) -> Distribution:
        return distribution(self.family, self.mean, self.deviation, self.shape)


@dataclass(frozen=True, eq=False)
class Pricing:
    """Training and test rows of one seed."""

    train: PricingPart
    test: PricingPart
    seed: int


def pricing(
    family: Family = "normal",
    *,
    policy: PricePolicy = "discounts",
    list_price: float = 1.1,
    discount: float = 0.5,
    share: float = 0.9,
    noise: float = 0.25,
    haggling: float = 0.0,
    n: int = 3000,
    n_test: int = 3000,
    level: float = 100.0,
    spread: float = 0.25,
    shape: float | None = None,
    seed: int = 0,
) -> Pricing:
    """Simulate offers to buyers whose reservation prices and best prices are known.

    Parameters
    ----------
    family : str
        Of the reservation price: "normal", "logistic", "laplace", "student", "gumbel", "gamma",
        "lognormal", "weibull" or "gamma_noise".
    policy : {"fixed", "discounts", "forecast", "personal"}
        "fixed": the list price for everybody. "discounts": the list price less a random discount.
        "forecast": `share` of the mean reservation price of the row, known exactly. "personal": the
        same, times a number around one: sales people differ.
    list_price : float
        Of "fixed" and "discounts", as a multiple of `level`.
    discount : float
        Of "discounts": the largest, as a share of the list price; any up to it is as likely.
    share, noise : float
        Of "forecast" and "personal"; deviation of the logarithm of the number around one.
    haggling : float
        Of buyers to whom the offer was too high, the share that names its reservation price and
        gets the deal at that.
    n, n_test : int
        Rows to train on and to test on.
    level, spread : float
        Mean reservation price of the first segment, and its deviation as a share of it. The
        deviation of positive families is proportional to the mean, otherwise it is constant.
    shape : float, optional
        Degrees of freedom of "student" (5; above 2), shape of the noise of "gamma_noise" (2).
    seed : int
        Non-negative. Families and policies of one seed share their luck.

    Returns
    -------
    Pricing
        With `train` and `test`.

    Examples
    --------
    >>> part = pricing("lognormal", policy="discounts", seed=1).train
    >>> part.limits.kinds[:4]
    array(['right', 'right', 'left', 'right'], dtype='<U8')
    >>> bool((part.truth[part.accepted] >= part.offer[part.accepted]).all())
    True
    >>> dear, cheap = part.best_price(unit_cost=60), part.best_price(unit_cost=0)
    >>> bool((dear > cheap).all())
    True
    """
    if family not in FAMILIES or family in COUNTS:
        names = ", ".join(repr(each) for each in FAMILIES if each not in COUNTS)
        raise InvalidInput(f"family must be one of {names}, got {family!r}.")
    if policy not in POLICIES:
        names = ", ".join(repr(each) for each in POLICIES)
        raise InvalidInput(f"policy must be one of {names}, got {policy!r}.")
    kind = check_shape(family, shape)
    base, wide = _positive("level", level), _positive("spread", spread)
    most, asked = _positive("list_price", list_price), _positive("share", share)
    largest, gets = _part("discount", discount), _part("haggling", haggling)
    scatter = as_number("noise", noise)
    if scatter < 0:
        raise InvalidInput(f"noise must not be negative, got {noise!r}.")
    counts = _whole("n", n), _whole("n_test", n_test)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidInput(f"seed must be a non-negative integer, got {seed!r}.")

    def part(count: int, stream: np.random.SeedSequence) -> PricingPart:
        features, luck, desk, talk = (
            np.random.Generator(np.random.PCG64(child)) for child in stream.spawn(4)
        )
        columns, relative = _design(count, features)
        mean = base * relative
        deviation = wide * (mean if family in POSITIVE else np.full(count, base))
        truth = np.asarray(distribution(family, mean, deviation, kind).ppf(luck.random(count)))
        draw = desk.random(count), desk.standard_normal(count)
        offer = {
            "fixed": np.full(count, most * base),
            "discounts": most * base * (1.0 - largest * draw[0]),
            "forecast": asked * mean,
            "personal": asked * mean * np.exp(scatter * draw[1]),
        }[policy]
        taken = truth >= offer
        # nobody names a price that is none
        haggled = ~taken & (talk.random(count) < gets) & (truth > 0)
        deal = taken | haggled
        return PricingPart(
            columns, _NAMES, mean, deviation, truth, offer, deal, haggled, family, kind
        )

    streams = np.random.SeedSequence(int(seed)).spawn(2)
    train, test = (part(count, stream) for count, stream in zip(counts, streams, strict=True))
    return Pricing(train, test, int(seed))


def _design(n_rows: int, generator: np.random.Generator) -> tuple[Array, Array]:
    """Features, and the mean reservation price as a share of the level: linear in them."""
    draws = generator.random((n_rows, 2 + len(_EFFECTS)))
    segment = (draws[:, 0] * len(_SEGMENTS)).astype(np.intp)
    dummies = (segment[:, None] == np.arange(1, len(_SEGMENTS))).astype(np.float64)
    numbers = draws[:, 1:3]
    urgent = (draws[:, 3] < 0.3).astype(np.float64)
    columns = np.column_stack([dummies, numbers, urgent])
    effects = np.array([*_SEGMENTS[1:], *_EFFECTS.values()])
    return columns, 1.0 + columns @ effects


def _positive(name: str, value: float) -> float:
    number = as_number(name, value)
    if number <= 0:
        raise InvalidInput(f"{name} must be positive, got {value!r}.")
    return number


def _part(name: str, value: float) -> float:
    number = as_number(name, value)
    if not 0 <= number <= 1:
        raise InvalidInput(f"{name} must lie in [0, 1], got {value!r}.")
    return number


def _whole(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InvalidInput(f"{name} must be a positive integer, got {value!r}.")
    return int(value)
