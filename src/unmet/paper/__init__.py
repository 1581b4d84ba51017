"""The protocol of the paper, its published numbers, and ours beside them.

Names are imported when they are first used: worker processes need only a few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmet.paper.claims import all_claims
    from unmet.paper.page import write_everything
    from unmet.paper.protocol import METHODS, FitRow, Method, PaperSettings, Results, SearchRow
    from unmet.paper.run import Standing, reproduce

_FILES = {
    "METHODS": "protocol",
    "FitRow": "protocol",
    "Method": "protocol",
    "Results": "protocol",
    "SearchRow": "protocol",
    "PaperSettings": "protocol",
    "Standing": "run",
    "all_claims": "claims",
    "reproduce": "run",
    "write_everything": "page",
}

__all__ = [
    "METHODS",
    "FitRow",
    "Method",
    "PaperSettings",
    "Results",
    "SearchRow",
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
