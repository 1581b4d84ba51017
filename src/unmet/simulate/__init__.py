"""Data whose truth is known: demand, an order policy, and the sales that hide the rest."""

from unmet.simulate.store10 import (
    PUBLISHED_BANDS,
    PUBLISHED_LEVELS,
    Store10,
    Store10Part,
    store10,
)

__all__ = ["PUBLISHED_BANDS", "PUBLISHED_LEVELS", "Store10", "Store10Part", "store10"]
