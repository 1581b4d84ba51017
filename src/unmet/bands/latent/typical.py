"""A few rows that stand for all of them when a diagnosis averages."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unmet.bands.sample import Sample
from unmet.costs import Cost

_TYPICAL = 400  # rows over which the numbers of a diagnosis are averaged


@dataclass(frozen=True)
class TypicalRows:
    """Rows spread evenly over the observations; all that a fitted rule keeps of its features.

    Attributes
    ----------
    sample : Sample
        The rows themselves.
    index : ndarray of shape (n_typical,)
        Their places among all rows.
    n_rows : int
        Number of all rows.
    """

    sample: Sample
    index: NDArray[np.intp]
    n_rows: int

    @classmethod
    def of(cls, sample: Sample) -> TypicalRows:
        """Choose them."""
        if sample.n_rows <= _TYPICAL:
            return cls(sample, np.arange(sample.n_rows), sample.n_rows)
        order = np.argsort(sample.observation, kind="stable")
        index = np.sort(order[np.linspace(0, order.size - 1, _TYPICAL).astype(int)])
        return cls(sample.take(index), index, sample.n_rows)

    def priced(self, cost: Cost) -> TypicalRows:
        """Let them cost something else: a number, or one for each of all rows."""
        return replace(self, sample=replace(self.sample, cost=cost.take(self.index)))
