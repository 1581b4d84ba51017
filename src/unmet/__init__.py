"""Learn decisions from data that never shows the whole truth.

Names are imported when they are first used, so that ``import unmet`` itself costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmet.band import Band
    from unmet.bands import FixedBand
    from unmet.costs import CustomPricing, Newsvendor, PreventiveReplacement, SquaredError
    from unmet.models import LinearDecision

    __version__: str

_ROOMS = {
    "Band": "unmet.band",
    "CustomPricing": "unmet.costs",
    "FixedBand": "unmet.bands",
    "LinearDecision": "unmet.models",
    "Newsvendor": "unmet.costs",
    "PreventiveReplacement": "unmet.costs",
    "SquaredError": "unmet.costs",
}

__all__ = [
    "Band",
    "CustomPricing",
    "FixedBand",
    "LinearDecision",
    "Newsvendor",
    "PreventiveReplacement",
    "SquaredError",
    "__version__",
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
