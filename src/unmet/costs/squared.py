"""Squared error: the cost of estimating first and deciding later."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from unmet.arrays import Array, Band
from unmet.costs.base import Cost


class SquaredError(Cost):
    """Squared distance to the truth (eq. MSELoss), or with a band to its nearest end.

    The paper trains its baselines (EAS) on it, without a band. It has no parameters.

    Examples
    --------
    >>> SquaredError().cost(decision=[7, 12], truth=10)
    array([9., 4.])
    >>> SquaredError().loss(decision=[7, 12, 16], observation=10, band=Band(low=1, high=4))
    array([16.,  0.,  4.])
    """

    convex: ClassVar[bool] = True

    def loss(self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None) -> Array:
        """Squared distance of each decision to its band; 0 in the band."""
        return self._distance(decision, observation, band) ** 2

    def subgradient(
        self, decision: ArrayLike, observation: ArrayLike, band: Band | None = None
    ) -> Array:
        """Twice the signed distance to the band: the gradient, as this cost has no kinks."""
        return 2.0 * self._distance(decision, observation, band)

    def _distance(self, decision: ArrayLike, observation: ArrayLike, band: Band | None) -> Array:
        """Signed distance to the band: positive above it, negative below it."""
        rows = self.align(decision, observation, band)
        distance: Array = rows.decision - np.clip(rows.decision, rows.bottom, rows.top)
        return distance
