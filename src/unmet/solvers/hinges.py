"""The parts of a problem as the interior point sees it: hinges, a matrix, and their scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Hinges:
    """One entry per kink: its slopes (of positive sum) and the weight of its row."""

    position: Array
    below: Array
    above: Array
    weight: Array

    def take(self, index: NDArray[np.intp]) -> Hinges:
        """Return some of the kinks."""
        return Hinges(
            self.position[index], self.below[index], self.above[index], self.weight[index]
        )


class Scale(NamedTuple):
    """What is small for a problem, and what is far.

    Attributes
    ----------
    smallest : float
        The gap is relative to the objective, but never to less than this.
    reach : float
        How far decisions might reasonably move: the spread of the observations.
    """

    smallest: float
    reach: float


class Factor(Protocol):
    """Something that solves with the normal matrix."""

    def solve(self, right: Array) -> Array:
        """Solve (A'DA + ρ) x = right."""
        ...


class Operator(Protocol):
    """The matrix A of the module docstring; rows are kinks, whatever the storage."""

    n_parameters: int
    correctors: int  # centrality correctors that pay: more, the dearer the factor
    n_coefficient_kinks: int  # how many of the last kinks are rows e_j: ℓ1 penalties

    def decisions(self, theta: Array) -> Array:
        """Return Aθ, one entry per kink."""
        ...

    def moments(self, values: Array) -> Array:
        """Return A'values."""
        ...

    def factor(self, weights: Array, ridge: Array | None) -> Factor:
        """Factor A' diag(weights) A + diag(ridge)."""
        ...

    def leverage(self) -> Array | float:
        """Return how far a decision moves with an error of θ, relative to others."""
        ...

    def subset(self, kinks: NDArray[np.intp]) -> Operator:
        """Return the operator of some kinks only, given in increasing order."""
        ...
