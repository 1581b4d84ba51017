"""Costs of decisions: what is paid once the truth is known, and what is trained on until then.

======================= ================= =======================================
cost                    paper             solvers
======================= ================= =======================================
`Newsvendor`            eq. nvc-censored  exact, or any that follows a subgradient
`CustomPricing`         eq. cp            the same
`TieredCost`            more slopes       the same
`SquaredError`          eq. MSELoss       least squares
`PreventiveReplacement` eq. pr            sweep, smoothed: not convex
`AgeReplacement`        renewal–reward    the same
======================= ================= =======================================

`Cost`, `HingeCost` and `PiecewiseLinearCost` are the contract for a cost of your own, `check_cost`
says whether a cost keeps it.
"""

from unmet.costs.base import Cost
from unmet.costs.contract import check_cost
from unmet.costs.hinge import HingeCost, PiecewiseLinearCost, Slopes, Tiers
from unmet.costs.jump import JumpCost
from unmet.costs.newsvendor import Newsvendor
from unmet.costs.pricing import CustomPricing, Revenue
from unmet.costs.replacement import AgeReplacement, PreventiveReplacement
from unmet.costs.squared import SquaredError
from unmet.costs.tiered import TieredCost

__all__ = [
    "AgeReplacement",
    "Cost",
    "CustomPricing",
    "HingeCost",
    "JumpCost",
    "Newsvendor",
    "PiecewiseLinearCost",
    "PreventiveReplacement",
    "Revenue",
    "Slopes",
    "SquaredError",
    "TieredCost",
    "Tiers",
    "check_cost",
]
