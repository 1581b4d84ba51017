"""How far a decision may move when θ is only known up to sampling error.

The error of x'θ̂ grows with the leverage of x. Where leverages are alike one width serves all rows;
with rare dummies or heavy-tailed features it must be scaled row by row, and a direction that the
sample has never seen is not known at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from unmet.solvers.frame import Frame

Array = NDArray[np.float64]

_ALIKE = 2.5  # ratio of the 99.5% leverage to the median up to which one width serves all rows
_ROUGH = 1.6  # how far the diagonal proxy may be from the leverage


class Trust(Protocol):
    """Relative uncertainty of the decision, row by row.

    ``unseen`` are the features that were constant in the sample.
    """

    @property
    def unseen(self) -> NDArray[np.intp]:
        """Numbers of these features."""
        ...

    def radius(self, features: Array) -> float | Array:
        """Return one number for all rows or one per row; about 1 on average."""
        ...


class Uniform:
    """All rows alike."""

    unseen: NDArray[np.intp] = np.empty(0, dtype=np.intp)

    def radius(self, features: Array) -> float:  # noqa: ARG002 (of the protocol)
        """Return 1."""
        return 1.0


@dataclass(frozen=True)
class Leverage:
    """√(x'M⁻¹x / p) with M from a sample, and no trust where the sample never varied.

    Attributes
    ----------
    frame : Frame
    root : ndarray
        A matrix L⁻ᵀ with M⁻¹ = L⁻ᵀL⁻¹, or only the diagonal of M^(−½).
    unseen : ndarray of int
        Features that were constant in the sample.
    """

    frame: Frame
    root: Array
    unseen: NDArray[np.intp]

    def radius(self, features: Array) -> Array:
        """Return the leverage of each row relative to the average; infinite where unknown."""
        leverage = _leverage(self.frame.design(features), self.root)
        if len(self.unseen):
            strange = features[:, self.unseen] != self.frame.centre[self.unseen]
            leverage[strange.any(axis=1)] = np.inf
        return leverage


def _leverage(design: Array, root: Array) -> Array:
    whitened = design * root if root.ndim == 1 else design @ root
    squared = np.einsum("ij,ij->i", whitened, whitened)
    result: Array = np.sqrt(squared / design.shape[1])
    return result


def choose_trust(frame: Frame, design: Array, features: Array) -> Trust:
    """Pick the cheapest of one width, a diagonal and a full leverage that fits the sample."""
    size = len(design)
    unseen = np.flatnonzero((features == features[0]).all(axis=0))
    moments = design.T @ design / size
    diagonal = moments.diagonal().copy()
    empty = diagonal <= 0
    diagonal[empty] = 1.0
    moments[empty, empty] = 1.0
    moments.flat[:: len(moments) + 1] += 1e-10 * diagonal
    try:
        lower = np.linalg.cholesky(moments)
    except np.linalg.LinAlgError:  # collinear beyond the shift: the proxy has to do
        return Leverage(frame, 1 / np.sqrt(diagonal), unseen)
    full = solve_triangular(lower, np.eye(len(lower)), lower=True).T
    leverage = _leverage(design, full)
    typical, largest = np.median(leverage), np.quantile(leverage, 0.995)
    if largest <= _ALIKE * typical and not len(unseen):
        return Uniform()
    proxy = _leverage(design, 1 / np.sqrt(diagonal))
    ratio = leverage / np.maximum(proxy, 1e-300)
    if np.quantile(ratio, 0.995) <= _ROUGH:
        return Leverage(frame, 1 / np.sqrt(diagonal), unseen)
    return Leverage(frame, full, unseen)
