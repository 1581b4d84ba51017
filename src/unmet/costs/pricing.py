"""Custom pricing: a price below what the buyer would pay gives money away, one above loses it."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from unmet.arrays import Numbers, positive
from unmet.costs.hinge import PiecewiseLinearCost, Slopes


@dataclass(frozen=True, init=False, eq=False, repr=False)
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
