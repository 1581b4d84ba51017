"""Simulated data whose truth is known: demand, an order policy, and the censored sales."""

from unmet.simulate.demand import censor, censoring_lab, history_orders, nonlinear_demand
from unmet.simulate.pricing import pricing
from unmet.simulate.replacement import replacement
from unmet.simulate.shop import run_shop
from unmet.simulate.store10 import store10

__all__ = [
    "censor",
    "censoring_lab",
    "history_orders",
    "nonlinear_demand",
    "pricing",
    "replacement",
    "run_shop",
    "store10",
]
