"""Reading what `fit` is told of each row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from unmet.errors import InvalidInput


def read_known(fit_parameters: Any, n_rows: int) -> dict[str, Any]:
    """Things per row by name, those that are None left out."""
    if fit_parameters is None:
        return {}
    if not isinstance(fit_parameters, Mapping):
        raise InvalidInput(
            "fit_parameters must map names to columns, such as {'sample_weight': weight}, "
            f"got {fit_parameters!r:.60}."
        )
    known = {}
    for name, value in fit_parameters.items():
        if value is None:
            continue
        try:
            shape = np.shape(value)
        except ValueError:  # things of different lengths
            shape = (len(value), 0)
        if shape and (len(shape) != 1 or shape[0] != n_rows):
            raise InvalidInput(
                f"fit_parameters must have one entry per row of X, got shape {shape} "
                f"for {name} and {n_rows} rows."
            )
        known[str(name)] = value
    return known
