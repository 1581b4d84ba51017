"""Data whose truth is known: demand, an order policy, and the sales that hide the rest."""

from unmet.simulate.bank import BankCase, BankKind, BankPart, bank, bank_kinds
from unmet.simulate.base import DemandPart, Simulated
from unmet.simulate.censoring_lab import censoring_lab
from unmet.simulate.nonlinear import NonlinearPart, nonlinear_demand
from unmet.simulate.orders import Censored, censor, history_orders
from unmet.simulate.policies import BaseStock, MeanPlusSafety, Oracle, SalesQuantile, Tobit
from unmet.simulate.pricing import PricingPart, pricing
from unmet.simulate.replacement import ReplacementPart, replacement
from unmet.simulate.shop import (
    SHOP_KINDS,
    Ledger,
    Policy,
    Seen,
    ShopDemand,
    ShopRun,
    run_shop,
    shop_demand,
)
from unmet.simulate.store10 import (
    PUBLISHED_BANDS,
    PUBLISHED_DISTRIBUTION,
    PUBLISHED_LEVELS,
    StoreModel,
    store10,
)

__all__ = [
    "PUBLISHED_BANDS",
    "PUBLISHED_DISTRIBUTION",
    "PUBLISHED_LEVELS",
    "SHOP_KINDS",
    "BankCase",
    "BankKind",
    "BankPart",
    "BaseStock",
    "Censored",
    "DemandPart",
    "Ledger",
    "MeanPlusSafety",
    "NonlinearPart",
    "Oracle",
    "Policy",
    "PricingPart",
    "ReplacementPart",
    "SalesQuantile",
    "Seen",
    "ShopDemand",
    "ShopRun",
    "Simulated",
    "StoreModel",
    "Tobit",
    "bank",
    "bank_kinds",
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
