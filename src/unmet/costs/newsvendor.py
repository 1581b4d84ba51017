"""The newsvendor: too little stock costs one price a unit, too much another."""

from __future__ import annotations

from typing import Self

from numpy.typing import ArrayLike

from unmet.arrays import Numbers, positive, read_numbers
from unmet.costs.hinge import PiecewiseLinearCost, Slopes, Tiers


class Newsvendor(PiecewiseLinearCost):
    """Newsvendor cost (eq. nvc-uncensor) and its ε-insensitive form (eq. nvc-censored).

    An order y costs ``underage`` for each unit of demand it misses and ``overage`` for each unit
    left over; trained on sales s, only orders outside [s + low, s + high] cost anything.

    Parameters
    ----------
    underage, overage : float or array-like of shape (n_rows,)
        Positive cost per missing unit (c_u) and per unit left over (c_o).

    Examples
    --------
    >>> from unmet.arrays import Band
    >>> newsvendor = Newsvendor(underage=3, overage=1)
    >>> newsvendor.level
    0.75
    >>> newsvendor.cost(decision=[8, 12], truth=10)
    array([6., 2.])
    >>> newsvendor.loss(decision=[8, 12, 16], observation=10, band=Band(low=1, high=4))
    array([9., 0., 2.])
    """

    underage: Numbers
    overage: Numbers

    def __init__(self, underage: ArrayLike, overage: ArrayLike) -> None:
        self._keep(underage=positive("underage", underage), overage=positive("overage", overage))

    @classmethod
    def at_level(cls, alpha: ArrayLike) -> Self:
        """Newsvendor in the normalised units of the paper: underage α, overage 1 - α (eq. NVLoss).

        `from_service_level` is the same in the words of a planner.

        Parameters
        ----------
        alpha : float or array-like of shape (n_rows,)
            Critical ratio, strictly between 0 and 1.

        Examples
        --------
        >>> Newsvendor.at_level(0.75)
        Newsvendor(underage=0.75, overage=0.25)
        """
        return cls._at("alpha", alpha)

    @classmethod
    def from_service_level(cls, service_level: ArrayLike) -> Self:
        """Newsvendor whose orders should cover the demand in this share of rows.

        For those who have a target instead of two costs: the same as costs of a missing unit and of
        one left over in the ratio of `service_level` to the rest, with a sum of 1. What is lost is
        then in these units, not in money.

        Parameters
        ----------
        service_level : float or array-like of shape (n_rows,)
            Strictly between 0 and 1.

        Examples
        --------
        >>> Newsvendor.from_service_level(0.75)
        Newsvendor(underage=0.75, overage=0.25)
        """
        return cls._at("service_level", service_level)

    @classmethod
    def _at(cls, name: str, ratio: ArrayLike) -> Self:
        level = read_numbers(
            name, ratio, "strictly between 0 and 1", lambda ratio: (ratio > 0) & (ratio < 1)
        )
        return cls(underage=level, overage=1.0 - level)

    @property
    def slopes(self) -> Slopes:
        """Underage below the truth, overage above it."""
        return Slopes(below=self.underage, above=self.overage)

    @property
    def tiers(self) -> Tiers:
        """The same as one tier on either side."""
        return Tiers.checked((self.underage,), (self.overage,))

    def normalised(self) -> Self:
        """Rescale to slopes α and 1 - α (eq. le1e2, in-nvc-norm).

        With costs that differ by row this divides each row by its own total, which changes the
        weight of the rows against each other, though not the best decision of any one of them.

        Examples
        --------
        >>> Newsvendor(underage=3, overage=1).normalised()
        Newsvendor(underage=0.75, overage=0.25)
        """
        # Each share by its own division: 1 - α would lose digits when α is close to 1.
        above = Slopes(below=self.overage, above=self.underage).level
        return type(self)(underage=self.level, overage=above)
