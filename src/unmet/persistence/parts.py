"""Everything a model holds, object by object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

_PLAIN = (str, bytes, int, float, np.ndarray, type)


def parts_of(model: Any) -> Iterator[Any]:
    """Walk through containers and attributes, each object once; plain values are left out."""
    waiting, known = [model], dict[int, Any]()  # keeps them alive: numbers of objects are reused
    while waiting:
        each = waiting.pop()
        if isinstance(each, _PLAIN) or id(each) in known:
            continue
        known[id(each)] = each
        yield each
        if isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, list | tuple | set):
            waiting.extend(each)
        else:
            waiting.extend(getattr(each, "__dict__", {}).values())
