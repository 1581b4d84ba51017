"""More parameters than rows, without ℓ1: solve in the span of the rows.

A component of θ orthogonal to every (centred) row changes no decision, and ridge only charges for
it. So the problem is solved in the coordinates of an orthonormal basis of that span, of at most n
dimensions, and the answer is the one of minimum norm.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

Array = NDArray[np.float64]


def span_of_rows(features: Array) -> Array:
    """Orthonormal basis of the span of the rows, shape (n_features, rank)."""
    basis, triangle, _ = qr(features.T, mode="economic", pivoting=True)
    size = np.abs(triangle.diagonal())
    rank = int(np.count_nonzero(size > 1e-13 * max(size.max(initial=0.0), 1e-300)))
    return np.asarray(basis[:, : max(rank, 1)], dtype=np.float64)
