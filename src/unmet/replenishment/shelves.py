"""Shelves that fill and empty: one period of many series, and of many copies of them, at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unmet.arrays import Array
from unmet.replenishment.rules import SupplyRules


class Period(NamedTuple):
    """What happened in a period; arrays of the shape of the shelves.

    Attributes
    ----------
    sold, unmet : ndarray
        Demand of this period that was met when it came up, and that was not.
    left, spoiled : ndarray
        Units at the end that can still be sold, and that cannot any more.
    owed : ndarray
        Backorders at the end; nothing where unmet demand is lost.
    """

    sold: Array
    unmet: Array
    left: Array
    spoiled: Array
    owed: Array


class Shelves:
    """Stock by the number of periods that it can still be sold, the oldest first.

    Parameters
    ----------
    on_hand : ndarray of shape (n_series, …)
        Units on the shelf; below 0 are backorders. Further axes are copies of the series, such as
        sample paths or policies. What is there is taken to be fresh.
    rules : SupplyRules

    Attributes
    ----------
    stock : ndarray of shape (n_series, …, n_ages)
    owed : ndarray of shape (n_series, …)
    """

    def __init__(self, on_hand: Array, rules: SupplyRules) -> None:
        on_hand = np.asarray(on_hand, dtype=np.float64)
        self.rules = rules
        self._lost = rules.unmet == "lost"
        n_series = on_hand.shape[0]
        ages = 1
        self._fresh = None
        if rules.shelf_life is not None:
            life = rules.whole("shelf_life", n_series)
            ages = int(life.max())
            if (life != ages).any():  # the place of fresh units differs
                marks = np.arange(ages) == life[:, None] - 1
                self._fresh = marks.reshape(n_series, *(1,) * (on_hand.ndim - 1), ages)
        self.stock = np.zeros((*on_hand.shape, ages))
        self.owed = np.zeros(on_hand.shape)
        self.deliver(np.maximum(on_hand, 0.0))
        if not self._lost:
            self.owed = np.maximum(-on_hand, 0.0)

    @property
    def on_hand(self) -> Array:
        """Units on the shelves, less what is owed."""
        return np.asarray(self.stock.sum(axis=-1) - self.owed)

    def deliver(self, units: Array) -> None:
        """Put fresh units on the shelves, after what is owed was served."""
        if not self._lost:
            served = np.minimum(self.owed, units)
            self.owed = self.owed - served
            units = units - served
        if self._fresh is None:
            self.stock[..., -1] += units
        else:
            self.stock += self._fresh * np.asarray(units)[..., None]

    def sell(self, demand: Array) -> Period:
        """Meet the demand of a period, the oldest units first; then a period has passed."""
        if self.rules.lasting:
            there = self.stock[..., 0]
            sold = np.minimum(there, demand)
            left = there - sold
            self.stock = left[..., None]
            unmet, spoiled = demand - sold, np.zeros_like(left)
        else:
            unmet = np.array(np.broadcast_to(demand, self.stock.shape[:-1]), dtype=np.float64)
            rest = np.zeros_like(self.stock)
            for age in range(self.stock.shape[-1]):
                there = self.stock[..., age]
                sold = np.minimum(there, unmet)
                unmet -= sold
                if age:
                    np.subtract(there, sold, out=rest[..., age - 1])
                else:
                    spoiled = there - sold
            self.stock, sold = rest, demand - unmet
            left = rest.sum(axis=-1)
        if not self._lost:
            self.owed = self.owed + unmet
        return Period(sold, unmet, left, spoiled, self.owed)

    def cost(self, period: Period) -> Array:
        """Evaluate a period, orders aside."""
        axes = (slice(None), *(None,) * (period.sold.ndim - 1))
        n_series = period.sold.shape[0]
        holding, shortage, waste = (
            self.rules.rows(name, n_series)[axes] for name in ("holding", "shortage", "waste")
        )
        short = period.unmet if self._lost else period.owed
        return np.asarray(holding * period.left + shortage * short + waste * period.spoiled)
