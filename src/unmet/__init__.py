"""Learn decisions from data that never shows the whole truth.

Names are imported when they are first used, so that ``import unmet`` itself costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unmet.lazily import names_of

if TYPE_CHECKING:
    from unmet.arrays import Band, Limits
    from unmet.censoring import (
        AuditedBand,
        FixedBand,
        LatentBand,
        OrderRuleDetection,
        SearchedBand,
    )
    from unmet.costs import (
        AgeReplacement,
        CustomPricing,
        Newsvendor,
        PreventiveReplacement,
        SquaredError,
        TieredCost,
        check_cost,
    )
    from unmet.estimators import (
        BoostedDecision,
        DistributionDecision,
        GroupedDecision,
        LinearDecision,
        NeuralDecision,
    )
    from unmet.inventory.allocate import allocate
    from unmet.persistence import load, save
    from unmet.planning import DecisionPlan, OrderPlan

    __version__: str

__all__ = [
    "AgeReplacement",
    "AuditedBand",
    "Band",
    "BoostedDecision",
    "CustomPricing",
    "DecisionPlan",
    "DistributionDecision",
    "FixedBand",
    "GroupedDecision",
    "LatentBand",
    "Limits",
    "LinearDecision",
    "NeuralDecision",
    "Newsvendor",
    "OrderPlan",
    "OrderRuleDetection",
    "PreventiveReplacement",
    "SearchedBand",
    "SquaredError",
    "TieredCost",
    "__version__",
    "allocate",
    "check_cost",
    "load",
    "save",
]


_named = names_of(
    __name__,
    {
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


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
