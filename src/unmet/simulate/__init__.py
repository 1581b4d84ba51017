"""Data whose truth is known: demand, an order policy, and the sales that hide the rest."""

from unmet.simulate.censoring_lab import CensoringLab, LabPart, censoring_lab
from unmet.simulate.nonlinear import NonlinearDemand, NonlinearPart, nonlinear_demand
from unmet.simulate.orders import Censored, censor, history_orders
from unmet.simulate.pricing import Pricing, PricingPart, pricing
from unmet.simulate.replacement import ReplacementData, ReplacementPart, replacement
from unmet.simulate.store10 import (
    PUBLISHED_BANDS,
    PUBLISHED_LEVELS,
    Store10,
    Store10Part,
    store10,
)

__all__ = [
    "PUBLISHED_BANDS",
    "PUBLISHED_LEVELS",
    "Censored",
    "CensoringLab",
    "LabPart",
    "NonlinearDemand",
    "NonlinearPart",
    "Pricing",
    "PricingPart",
    "ReplacementData",
    "ReplacementPart",
    "Store10",
    "Store10Part",
    "censor",
    "censoring_lab",
    "history_orders",
    "nonlinear_demand",
    "pricing",
    "replacement",
    "store10",
]
