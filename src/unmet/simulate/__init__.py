"""Data whose truth is known: demand, an order policy, and the sales that hide the rest."""

from unmet.simulate.censoring_lab import censoring_lab
from unmet.simulate.nonlinear import nonlinear_demand
from unmet.simulate.orders import censor, history_orders
from unmet.simulate.pricing import pricing
from unmet.simulate.replacement import replacement
from unmet.simulate.shop import Policy, Seen, run_shop, shop_demand
from unmet.simulate.store10 import (
    PUBLISHED_BANDS,
    PUBLISHED_LEVELS,
    PUBLISHED_STORE,
    StoreModel,
    store10,
)

__all__ = [
    "PUBLISHED_BANDS",
    "PUBLISHED_LEVELS",
    "PUBLISHED_STORE",
    "Policy",
    "Seen",
    "StoreModel",
    "censor",
    "censoring_lab",
    "history_orders",
    "nonlinear_demand",
    "pricing",
    "replacement",
    "run_shop",
    "shop_demand",
    "store10",
]
