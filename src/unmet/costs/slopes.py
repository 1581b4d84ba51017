"""The two slopes of a piecewise-linear cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from unmet.band import Array, Numbers, PerRow, common_rows, expand, non_negative
from unmet.errors import InvalidInput


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Slopes(PerRow):
    """Cost per unit that a decision lies below or above the truth.

    Parameters
    ----------
    below, above : float or array-like of shape (n_rows,)
        Non-negative, and not both zero in the same row (a row that should not count has
        ``sample_weight`` 0).

    Examples
    --------
    >>> Slopes(below=3, above=1).level
    0.75
    """

    below: Numbers
    above: Numbers

    def __init__(self, below: ArrayLike, above: ArrayLike) -> None:
        object.__setattr__(self, "below", non_negative("below", below))
        object.__setattr__(self, "above", non_negative("above", above))
        common_rows({"below": self.below, "above": self.above})
        if not np.all((self.below > 0) | (self.above > 0)):
            raise InvalidInput("below and above must not both be 0 in the same row.")

    @property
    def level(self) -> Numbers:
        """Share below / (below + above): the quantile of the truth that costs least."""
        # Halving is exact and keeps the sum of two huge slopes finite.
        return self.below * 0.5 / (self.below * 0.5 + self.above * 0.5)

    def rows(self, n_rows: int) -> tuple[Array, Array]:
        """Below and above with one entry for each of `n_rows` rows, as read-only views."""
        return expand("below", self.below, n_rows), expand("above", self.above, n_rows)
