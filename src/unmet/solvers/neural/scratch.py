"""Arrays that are used again in every step.

A fresh array of a few hundred kilobytes comes from the operating system page by page, and costs
more than what is then computed in it: networks trained together took 1.7 times as long.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from unmet.solvers.neural.activations import Floats


class Scratch:
    """Uninitialised arrays by name; asking again for a name gives the same memory."""

    def __init__(self) -> None:
        self._arrays: dict[str, Floats] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave the arrays out of what is saved: nothing in them counts."""
        return {"_arrays": {}}

    def array(self, name: str, shape: tuple[int, ...], dtype: Any) -> Floats:
        """Give an array of this shape; what was in it before does not count."""
        held = self._arrays.get(name)
        if held is not None and held.shape == shape and held.dtype == dtype:
            return held
        size = prod(shape)
        whole = None if held is None else held.base
        if whole is None or whole.size < size or whole.dtype != dtype:
            whole = np.empty(size, dtype)
        self._arrays[name] = whole[:size].reshape(shape)
        return self._arrays[name]

    def like(self, name: str, array: Floats) -> Floats:
        """Give an array of the shape and type of another."""
        return self.array(name, array.shape, array.dtype)
