"""Costs with several tiers, for networks: a sum of costs with two slopes.

The k-th kinks above and below the truth are the ends of a band that holds all those before it; the
slopes that a tier adds are paid outside that band. So a tiered cost is a sum of newsvendors in
nested bands, and everything that is known of one of them holds for the sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from unmet.band import Array
from unmet.solvers.neural.activations import Floats
from unmet.solvers.neural.objectives import HingeObjective, Index, Objective
from unmet.solvers.neural.scratch import Scratch


@dataclass(frozen=True)
class TierObjective(Objective):
    """Sum of hinge objectives over nested bands.

    Attributes
    ----------
    parts : tuple of HingeObjective
        The innermost first.
    """

    parts: tuple[HingeObjective, ...]

    def smoothed(self, decision: Floats, width: Array, scratch: Scratch) -> tuple[Array, Floats]:
        """Sum of the closed forms."""
        value = np.zeros(len(decision))
        slope = scratch.like("tiers", decision)
        slope.fill(0.0)
        for part in self.parts:
            more, steep = part.smoothed(decision, width, scratch)
            value += more
            slope += steep  # at once: the next part writes into the same memory
        return value, slope

    def slope(self, decision: Floats, width: Array) -> Floats:
        """Sum of the subgradients."""
        first, *others = self.parts
        slope = first.slope(decision, width)
        for part in others:
            slope += part.slope(decision, width)
        return slope

    def value(self, decision: Floats) -> Array:
        """Sum of the values."""
        total: Array = np.sum([part.value(decision) for part in self.parts], axis=0)
        return total

    def rows(self, index: Index, factor: float) -> Self:
        """Take some rows."""
        return self._each(lambda part: part.rows(index, factor))

    def part(self, rows: slice) -> Self:
        """Consecutive rows."""
        return self._each(lambda part: part.part(rows))

    def networks(self, index: Index) -> Self:
        """Take some networks."""
        return self._each(lambda part: part.networks(index))

    def _each(self, change: Callable[[HingeObjective], HingeObjective]) -> Self:
        return type(self)(tuple(change(part) for part in self.parts))
