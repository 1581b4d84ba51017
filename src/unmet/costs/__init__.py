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
