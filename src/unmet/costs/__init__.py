"""Costs of decisions: what you pay once the truth is known, and what models are trained on.

======================= ====================== ===========================================
cost                    equation of the paper  solvers
======================= ====================== ===========================================
`Newsvendor`            nvc-censored           exact, mini-batch, smoothed
`CustomPricing`         cp                     exact, mini-batch, smoothed
`TieredCost`            none: more slopes      exact, mini-batch, smoothed
`SquaredError`          MSELoss                least squares
`PreventiveReplacement` pr                     sweep or smoothed, as it is not convex
`AgeReplacement`        none: renewal–reward   sweep or smoothed, as it is not convex
======================= ====================== ===========================================

To write a cost of your own, derive from `Cost`, `HingeCost` or `PiecewiseLinearCost`. `check_cost`
tells you whether your cost meets the contract.
"""

from unmet.costs.base import Cost, Revenue, SquaredError
from unmet.costs.contract import check_cost
from unmet.costs.hinge import CustomPricing, HingeCost, Newsvendor, PiecewiseLinearCost, TieredCost
from unmet.costs.hinge import Slopes as Slopes
from unmet.costs.hinge import Tiers as Tiers
from unmet.costs.replacement import AgeReplacement, PreventiveReplacement

__all__ = [
    "AgeReplacement",
    "Cost",
    "CustomPricing",
    "HingeCost",
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
