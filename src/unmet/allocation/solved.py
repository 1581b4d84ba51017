"""What either way of solving hands back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array


class Solved(NamedTuple):
    """Decisions and their proof."""

    decision: Array
    """Shape (n_products,)."""
    free: Array
    """What the products would get if no budget bound; shape (n_products,)."""
    price: Array
    """Of a unit of each budget; shape (n_budgets,)."""
    gap: Array
    """Bound on how far the expected cost of each budget's products is from the optimum."""
    binds: NDArray[np.bool_]
    """Shape (n_budgets,)."""
