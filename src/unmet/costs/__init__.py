"""Costs of decisions: what is paid once the truth is known, and what is trained on until then.

======================= ================= =======================================
cost                    paper             solvers
======================= ================= =======================================
`Newsvendor`            eq. nvc-censored  exact, or any that follows a subgradient
`CustomPricing`         eq. cp            the same
`SquaredError`          eq. MSELoss       least squares
`PreventiveReplacement` eq. pr            not convex
======================= ================= =======================================

`Cost` and `PiecewiseLinearCost` are the contract for a cost of your own.
"""

from unmet.costs.base import Cost, PiecewiseLinearCost, Rows
from unmet.costs.kinks import Kinks
from unmet.costs.newsvendor import Newsvendor
from unmet.costs.pricing import CustomPricing
from unmet.costs.replacement import PreventiveReplacement
from unmet.costs.slopes import Slopes
from unmet.costs.squared import SquaredError

__all__ = [
    "Cost",
    "CustomPricing",
    "Kinks",
    "Newsvendor",
    "PiecewiseLinearCost",
    "PreventiveReplacement",
    "Rows",
    "Slopes",
    "SquaredError",
]
