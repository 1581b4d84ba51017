"""Find when to replace a part.

=================== ===========================================================================
known               function
=================== ===========================================================================
the distribution    `optimal_age`, for `Weibull` and `Lognormal` lifetimes
lifetimes           `replacement_age`, including suspensions and delayed entries
features as well    `latent_ages` decides by `LatentBand`; `fit_rate` trains any model
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
