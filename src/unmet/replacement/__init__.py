"""When to replace a part.

=================== ===========================================================================
what is known       function
=================== ===========================================================================
the distribution             `optimal_age`, for `Weibull` and `Lognormal` lifetimes
lifetimes of a kind `replacement_age`: suspensions and all, by Kaplan and Meier or a fitted
distribution features as well    `fit_rate` trains any model; `latent_ages` decides by the
distribution of `LatentBand`
=================== ===========================================================================

The costs are `unmet.costs.AgeReplacement` (in the long run, per unit of time) and
`unmet.costs.PreventiveReplacement` (discounted, the paper's).
"""

from unmet.replacement.distributions import (
    Distribution,
    Lognormal,
    Weibull,
    expected_cost,
    optimal_age,
)
from unmet.replacement.features import latent_ages
from unmet.replacement.lifetimes import ReplacementAge, fit_lognormal, fit_weibull, replacement_age

__all__ = [
    "Distribution",
    "Lognormal",
    "ReplacementAge",
    "Weibull",
    "expected_cost",
    "fit_lognormal",
    "fit_weibull",
    "latent_ages",
    "optimal_age",
    "replacement_age",
]
