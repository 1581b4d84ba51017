"""Packages that only the reproduction needs."""

from __future__ import annotations

from importlib.util import find_spec

from unmet.errors import MissingPackage


def check_packages() -> None:
    """Say before any work which package is missing."""
    for package in ("optuna", "lightgbm", "matplotlib"):
        if find_spec(package) is None:
            raise MissingPackage.for_extra("unmet reproduce", package, "paper")
