"""Learn decisions from data that never shows the whole truth.

Names are imported when they are first used, so that ``import unmet`` itself costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unmet.lazily import names_of

if TYPE_CHECKING:
    from unmet.arrays import Band as Band
    from unmet.arrays import Limits as Limits
    from unmet.censoring import AuditedBand as AuditedBand
    from unmet.censoring import FixedBand as FixedBand
    from unmet.censoring import LatentBand as LatentBand
    from unmet.censoring import OrderRuleDetection as OrderRuleDetection
    from unmet.censoring import SearchedBand as SearchedBand
    from unmet.costs import AgeReplacement as AgeReplacement
    from unmet.costs import CustomPricing as CustomPricing
    from unmet.costs import Newsvendor as Newsvendor
    from unmet.costs import PreventiveReplacement as PreventiveReplacement
    from unmet.costs import SquaredError as SquaredError
    from unmet.costs import TieredCost as TieredCost
    from unmet.costs import check_cost as check_cost
    from unmet.estimators import BoostedDecision as BoostedDecision
    from unmet.estimators import DistributionDecision as DistributionDecision
    from unmet.estimators import GroupedDecision as GroupedDecision
    from unmet.estimators import LinearDecision as LinearDecision
    from unmet.estimators import NeuralDecision as NeuralDecision
    from unmet.inventory.allocate import allocate as allocate
    from unmet.persistence import load as load
    from unmet.persistence import save as save
    from unmet.planning import DecisionPlan as DecisionPlan
    from unmet.planning import OrderPlan as OrderPlan

    __version__: str


_named, __dir__, __all__ = names_of(
    __name__,
    {
        "unmet": "__version__",  # see __getattr__
        "unmet.inventory": "allocate",
        "unmet.arrays": "Band Limits",
        "unmet.censoring": "AuditedBand FixedBand LatentBand OrderRuleDetection SearchedBand",
        "unmet.costs": "AgeReplacement CustomPricing Newsvendor PreventiveReplacement SquaredError "
        "TieredCost check_cost",
        "unmet.estimators": "BoostedDecision DistributionDecision GroupedDecision "
        "LinearDecision NeuralDecision",
        "unmet.persistence": "load save",
        "unmet.planning": "DecisionPlan OrderPlan",
    },
)


def __getattr__(name: str) -> Any:
    """Import a public name on its first use, and keep it."""
    if name != "__version__":
        return _named(name)
    from importlib.metadata import version

    return version("unmet")
