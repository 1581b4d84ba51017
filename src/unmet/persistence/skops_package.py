"""skops, an extra of this package."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from unmet.errors import MissingPackage


def import_skops(user: str) -> Any:
    """Import ``skops.io``, or say how to get it."""
    try:
        return import_module("skops.io")
    except ImportError:
        raise MissingPackage.for_extra(user, "skops", "io") from None
