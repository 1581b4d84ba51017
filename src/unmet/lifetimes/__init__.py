"""When to replace a part.

=================== ===========================================================================
what is known       function
=================== ===========================================================================
the distribution    `optimal_age`, for `Weibull` and `Lognormal` lifetimes
lifetimes of a kind `replacement_age`: suspensions and all, by Kaplan and Meier or a distribution
features as well    `fit_rate` trains any model; `latent_ages` decides by `LatentBand`
=================== ===========================================================================

The costs are `unmet.costs.AgeReplacement` (in the long run, per unit of time) and
`unmet.costs.PreventiveReplacement` (discounted, the paper's).
"""

from unmet.lifetimes.distributions import (
    Lognormal,
    Weibull,
    expected_cost,
    optimal_age,
)
from unmet.lifetimes.lifetimes import fit_rate, fleet_rate, latent_ages, replacement_age

__all__ = [
    "Lognormal",
    "Weibull",
    "expected_cost",
    "fit_rate",
    "fleet_rate",
    "latent_ages",
    "optimal_age",
    "replacement_age",
]
