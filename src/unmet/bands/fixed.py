"""A band that is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unmet.arrays import Band, Features
from unmet.bands.diagnosis import Diagnosis
from unmet.bands.rule import BandRule
from unmet.costs import Cost
from unmet.errors import InvalidInput
from unmet.rows import Rows


class FixedBand(BandRule):
    """The same two numbers for every row.

    Parameters
    ----------
    low, high : float, default=0.0
        ε₂ and ε₁.
    scaled : bool, default=False
        Whether they are shares of the range of the observations, as in the paper's tables.

    Examples
    --------
    >>> from unmet import FixedBand, Newsvendor
    >>> rule = FixedBand(low=0.01, high=0.2, scaled=True)
    >>> rule.fit(Newsvendor(3, 1), [[0], [1], [2]], [10, 20, 60]).band([[5]])
    Band(low=0.5, high=10.0)
    """

    def __init__(
        self, low: ArrayLike = 0.0, high: ArrayLike = 0.0, *, scaled: bool = False
    ) -> None:
        self.low = low
        self.high = high
        self.scaled = scaled

    def _fit(self, sample: Rows, estimator: Any) -> Diagnosis:
        if np.ndim(self.low) or np.ndim(self.high):
            raise InvalidInput(
                "low and high of a FixedBand must be numbers; for one per row use Band(low, high)."
            )
        if self.scaled:
            self.band_ = Band.scaled(self.low, self.high, sample.observation)
        else:
            self.band_ = Band(self.low, self.high)
        return Diagnosis(rule="FixedBand", n_rows=sample.n_rows, notes=("The band was given.",))

    def _band(self, features: Features, cost: Cost) -> Band:
        return self.band_
