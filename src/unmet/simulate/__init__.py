"""Data whose truth is known: demand, an order policy, and the sales that hide the rest."""

from unmet.simulate.bank import BankCase, BankKind, BankPart, bank, bank_kinds
from unmet.simulate.base import DemandPart, Simulated
from unmet.simulate.censoring_lab import censoring_lab
from unmet.simulate.nonlinear import NonlinearPart, nonlinear_demand
from unmet.simulate.orders import Censored, censor, history_orders
from unmet.simulate.pricing import PricingPart, pricing
from unmet.simulate.replacement import ReplacementPart, replacement
from unmet.simulate.store10 import PUBLISHED_BANDS, PUBLISHED_LEVELS, store10

__all__ = [
    "PUBLISHED_BANDS",
    "PUBLISHED_LEVELS",
    "BankCase",
    "BankKind",
    "BankPart",
    "Censored",
    "DemandPart",
    "NonlinearPart",
    "PricingPart",
    "ReplacementPart",
    "Simulated",
    "bank",
    "bank_kinds",
    "censor",
    "censoring_lab",
    "history_orders",
    "nonlinear_demand",
    "pricing",
    "replacement",
    "store10",
]
