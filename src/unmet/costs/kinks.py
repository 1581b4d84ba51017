"""The common form of every convex piecewise-linear cost: a sum of hinges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Kinks:
    """Hinges that sum to one cost per row.

    Row i of the data costs ::

        Σ_k  below[k, i] · (position[k, i] − decision_i)⁺
           + above[k, i] · (decision_i − position[k, i])⁺

    A newsvendor without a band has one kink a row, with a band two; any convex piecewise-linear
    cost with a minimum of zero is a handful of them.

    Attributes
    ----------
    position : ndarray of shape (n_kinks, n_rows)
        Where the slope changes, in units of the observation.
    below, above : ndarray of shape (n_kinks, n_rows)
        Non-negative cost per unit below and above the position.
    """

    position: NDArray[np.float64]
    below: NDArray[np.float64]
    above: NDArray[np.float64]

    def value(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        """Cost of each row, shape (n_rows,)."""
        residual = decision - self.position
        cost: NDArray[np.float64] = np.where(
            residual > 0, self.above * residual, -self.below * residual
        ).sum(axis=0)
        return cost
