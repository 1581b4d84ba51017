"""More parameters than rows, without ℓ1: solve in the span of the rows.

A component of θ orthogonal to every (centred) row changes no decision, and ridge only charges for
it. So the problem is solved in the coordinates of an orthonormal basis of that span, of at most n
dimensions. (Of all answers that give the same decisions, `shortest` then picks the shortest.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

Array = NDArray[np.float64]


def span_of_rows(features: Array, largest_rank: int, noise: float) -> Array:
    """Orthonormal basis of the span of the rows, shape (n_features, rank).

    Centred rows have one dimension less than there are rows; what stands in it is rounding, of the
    size ``noise``, and must not be taken for a direction.
    """
    basis, triangle, _ = qr(features.T, mode="economic", pivoting=True)
    size = np.abs(triangle.diagonal())
    smallest = max(1e-13 * size.max(initial=0.0), noise, 1e-300)
    rank = min(int(np.count_nonzero(size > smallest)), largest_rank)
    return np.asarray(basis[:, : max(rank, 1)], dtype=np.float64)
