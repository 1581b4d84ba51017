"""Custom pricing: a price below what the buyer would pay gives money away, one above loses it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unmet.arrays import Array, Band, Numbers, positive, read_numbers
from unmet.costs.base import Cost
from unmet.costs.hinge import PiecewiseLinearCost, Slopes


class CustomPricing(PiecewiseLinearCost):
    """ε-insensitive cost of a price (eq. cp).

    The truth is the buyer's reservation price, the observation the price that was accepted. A price
    y costs ``underprice`` for each unit below the accepted price s and ``overprice`` for each unit
    above s + ε, with ε the band's ``high``. It is the newsvendor cost with low = 0 and level
    α = underprice / (underprice + overprice). The paper thinks of underprice as the larger of the
    two; any positive pair is allowed.

    Parameters
    ----------
    underprice, overprice : float or array-like of shape (n_rows,)
        Positive cost per unit of price too low (c₂) and too high (c₁).

    Notes
    -----
    Eq. cp has one ε, the band's ``high``. A ``low`` above 0 says that the buyer would surely have
    paid so much more than the accepted price.

    Examples
    --------
    >>> from unmet import Band, CustomPricing
    >>> pricing = CustomPricing(underprice=4, overprice=1)
    >>> pricing.level
    0.8
    >>> pricing.loss(decision=[9, 12, 15], observation=10, band=Band(low=0, high=3))
    array([4., 0., 2.])
    """

    underprice: Numbers
    overprice: Numbers

    def __init__(self, underprice: ArrayLike, overprice: ArrayLike) -> None:
        self._keep(
            underprice=positive("underprice", underprice),
            overprice=positive("overprice", overprice),
        )

    @property
    def slopes(self) -> Slopes:
        """Underprice below the truth, overprice above it."""
        return Slopes(below=self.underprice, above=self.overprice)


class Revenue(Cost):
    """Minus the revenue of a price: a deal is made where the price is at most the truth.

    A price y at or below the reservation price d costs ``unit_cost − y``, one above it nothing. It
    says what `unmet.DecisionPlan` is to find: prices of most revenue, under the distribution of
    what buyers would pay.

    Parameters
    ----------
    unit_cost : float or array-like of shape (n_rows,), default=0.0
        What a deal costs the seller.

    Examples
    --------
    >>> from unmet.costs import Revenue
    >>> Revenue(unit_cost=2).cost(decision=[9, 11], truth=10)
    array([-7.,  0.])
    """

    unit_cost: Numbers

    def __init__(self, unit_cost: ArrayLike = 0.0) -> None:
        self._keep(unit_cost=read_numbers("unit_cost", unit_cost))

    def loss(self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None) -> Array:
        """Minus the revenue if the truth is the upper end of the band."""
        rows = self.align(decision, observation, band)
        return np.where(rows.decision <= rows.top, self.unit_cost - rows.decision, 0.0)

    def subgradient(
        self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None
    ) -> Array:
        """Minus 1 where a deal is made, 0 beyond; the jump is invisible to it."""
        rows = self.align(decision, observation, band)
        return np.where(rows.decision <= rows.top, -1.0, 0.0)
