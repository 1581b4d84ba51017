"""Import names of a package when they are first used.

A plain import should load only what it needs: ``from unmet import LinearDecision`` loads neither
trees nor networks nor the latent model.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_of(
    package: str, where: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make the ``__getattr__``, the ``__dir__`` and the ``__all__`` of a package.

    Parameters
    ----------
    package : str
        Name of the package.
    where : mapping of str to str
        From a module to its public names, separated by blanks.
    """
    module_of = {name: module for module, names in where.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    return get, names, sorted(module_of)
