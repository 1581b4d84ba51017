"""The store of the demonstration as the theorems want it: independent rows, bounded demand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from unmet.band import Array, Band
from unmet.costs import Newsvendor
from unmet.simulate.store10 import NOISE, store10

_QUANTILES = 400
_DEVIATIONS = 5  # of the noise, above the largest mean: there demand is cut off


@dataclass(frozen=True, eq=False)
class World:
    """Product, weekday and month drawn at random; everything in units of D̄.

    Attributes
    ----------
    features : ndarray of shape (n_cells, 26)
        Every kind of row there is, the first column ones.
    share : ndarray of shape (n_cells,)
        How often each comes, as in 2016.
    mean : ndarray of shape (n_cells,)
        Of demand, in units of D̄.
    noise : float
        Standard deviation of demand, in the same units.
    largest_truth : float
        D̄.
    """

    features: Array
    share: Array
    mean: Array
    noise: float
    largest_truth: float

    @classmethod
    def scaled(cls, largest_truth: float) -> World:
        """Store 10, with its largest demand scaled to `largest_truth`."""
        train = store10(0).train
        cells, where, counts = np.unique(
            train.features, axis=0, return_index=True, return_counts=True
        )
        factor = largest_truth / (float(train.mean.max()) + _DEVIATIONS * NOISE)
        features = np.hstack([np.ones((len(cells), 1)), cells])
        share = counts / counts.sum()
        return cls(features, share, train.mean[where] * factor, NOISE * factor, largest_truth)

    @property
    def longest(self) -> float:
        """Greatest length of a feature vector."""
        return float(np.sqrt((self.features**2).sum(axis=1).max()))

    def draw(self, n_rows: int, generator: np.random.Generator) -> tuple[NDArray[np.intp], Array]:
        """Cells and sales of independent rows."""
        cells = generator.choice(self.share.size, size=n_rows, p=self.share)
        return cells, self._sales(self.mean[cells], generator.standard_normal(n_rows))

    def expected_cost(self, decision: Array, cost: Newsvendor, band: Band) -> float:
        """Mean cost on all rows there could be: cells by their share, noise by its quantiles.

        Parameters
        ----------
        decision : ndarray of shape (n_cells,)
        """
        levels = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
        sales = self._sales(self.mean[:, None], ndtri(levels)[None, :])
        repeated = np.repeat(decision, _QUANTILES)
        costs = cost.loss(repeated, sales.ravel(), band).reshape(sales.shape)
        return float(self.share @ costs.mean(axis=1))

    def _sales(self, mean: Array, luck: Array) -> Array:
        demand = np.clip(mean + self.noise * luck, 0.0, self.largest_truth)
        sales: Array = np.minimum(demand, np.maximum(mean, 0.0))
        return sales
