"""skops, an extra of this package."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from unmet.errors import MissingPackage

# skops walks through all packages of scikit-learn, and these load torch and dask where they are
# installed: seconds that a model does not need. A walk passes over what cannot be imported.
_PASSED_OVER = (
    "sklearn.externals.array_api_compat.torch",
    "sklearn.externals.array_api_compat.dask",
)


def import_skops(user: str) -> Any:
    """Import ``skops.io``, or say how to get it."""
    try:
        with _passing_over():
            import skops.io
    except ImportError:
        raise MissingPackage.for_extra(user, "skops", "io") from None
    return skops.io


@contextmanager
def _passing_over() -> Iterator[None]:
    """Keep some packages from being imported, unless they already are."""
    modules: Any = sys.modules
    hidden = [] if "skops.io" in modules else [n for n in _PASSED_OVER if n not in modules]
    modules.update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        for name in hidden:
            modules.pop(name, None)
