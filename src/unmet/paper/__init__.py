"""The protocol of the paper, its published numbers, and ours beside them.

Names are imported when they are first used: worker processes need only a few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmet.paper.every_claim import all_claims
    from unmet.paper.outputs import write_everything
    from unmet.paper.results import FitRow, Results, SearchRow
    from unmet.paper.run import Standing, reproduce
    from unmet.paper.settings import METHODS, Method, Settings

_FILES = {
    "METHODS": "settings",
    "FitRow": "results",
    "Method": "settings",
    "Results": "results",
    "SearchRow": "results",
    "Settings": "settings",
    "Standing": "run",
    "all_claims": "every_claim",
    "reproduce": "run",
    "write_everything": "outputs",
}

__all__ = [
    "METHODS",
    "FitRow",
    "Method",
    "Results",
    "SearchRow",
    "Settings",
    "Standing",
    "all_claims",
    "reproduce",
    "write_everything",
]


def __getattr__(name: str) -> Any:
    """Import a public name on its first use, and keep it."""
    if name not in _FILES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_FILES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
