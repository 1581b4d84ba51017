"""Learn decisions from data that never shows the whole truth.

Names are imported when they are first used, so that ``import unmet`` itself costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmet.allocation.allocate import allocate
    from unmet.arrays import Band, Limits
    from unmet.bands import (
        AuditedBand,
        EMBand,
        FixedBand,
        KaplanMeierBand,
        LatentBand,
        OrderFingerprint,
        ProjectionBand,
        QuantileTailBand,
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
    from unmet.models import BoostedDecision, LinearDecision, NeuralDecision
    from unmet.persistence import load, save
    from unmet.scale.grouped.model import GroupedDecision

    __version__: str

_ROOMS = {
    "AgeReplacement": "unmet.costs",
    "AuditedBand": "unmet.bands",
    "Band": "unmet.arrays",
    "BoostedDecision": "unmet.models",
    "CustomPricing": "unmet.costs",
    "EMBand": "unmet.bands",
    "FixedBand": "unmet.bands",
    "GroupedDecision": "unmet.scale",
    "KaplanMeierBand": "unmet.bands",
    "LatentBand": "unmet.bands",
    "Limits": "unmet.arrays",
    "LinearDecision": "unmet.models",
    "NeuralDecision": "unmet.models",
    "Newsvendor": "unmet.costs",
    "OrderFingerprint": "unmet.bands",
    "PreventiveReplacement": "unmet.costs",
    "ProjectionBand": "unmet.bands",
    "QuantileTailBand": "unmet.bands",
    "SearchedBand": "unmet.bands",
    "SquaredError": "unmet.costs",
    "TieredCost": "unmet.costs",
    "allocate": "unmet.allocation",
    "check_cost": "unmet.costs",
    "load": "unmet.persistence",
    "save": "unmet.persistence",
}

__all__ = [
    "AgeReplacement",
    "AuditedBand",
    "Band",
    "BoostedDecision",
    "CustomPricing",
    "EMBand",
    "FixedBand",
    "GroupedDecision",
    "KaplanMeierBand",
    "LatentBand",
    "Limits",
    "LinearDecision",
    "NeuralDecision",
    "Newsvendor",
    "OrderFingerprint",
    "PreventiveReplacement",
    "ProjectionBand",
    "QuantileTailBand",
    "SearchedBand",
    "SquaredError",
    "TieredCost",
    "__version__",
    "allocate",
    "check_cost",
    "load",
    "save",
]


def __getattr__(name: str) -> Any:
    """Import a public name on its first use, and keep it."""
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("unmet")
    elif name in _ROOMS:
        value = getattr(import_module(_ROOMS[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
