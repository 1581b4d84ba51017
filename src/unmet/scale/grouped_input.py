"""What `fit` is given, checked, with the group of each row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmet.band import Array
from unmet.costs import Cost
from unmet.errors import InvalidInput
from unmet.models.parameters import read_cost
from unmet.rows import read_column, read_weights
from unmet.scale.grouped_keys import GroupIndex, split_table
from unmet.scale.grouped_parameters import Settings


@dataclass(frozen=True)
class Input:
    """Rows in the order in which they came.

    Attributes
    ----------
    index : GroupIndex
    codes : ndarray of shape (n_rows,)
        Group of each row.
    features : ndarray of shape (n_rows, n_features)
    observation : ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,) or None
        As given.
    cost : Cost
        With the numbers per row that were given.
    known : dict
        What a band rule is told.
    """

    index: GroupIndex
    codes: NDArray[np.int64]
    features: Array
    observation: Array
    weight: Array | None
    cost: Cost
    known: dict[str, Any]

    def about(self) -> dict[str, Any]:
        """Say what makes two runs the same, but for the parameters."""
        return {
            "X": (self.index.names, self.codes, self.features),
            "y": self.observation,
            "weights or costs": (self.weight, type(self.cost).__name__, self.cost.parameters()),
            "flags, stock or times": {
                name: value for name, value in self.known.items() if value is not None
            },
        }


def read_input(
    settings: Settings, X: Any, y: Any, given: Mapping[str, Any], known: Mapping[str, Any]
) -> Input:
    """Check what `fit` is given; each error is one sentence."""
    split = split_table(X, settings.by)
    n_rows = split.features.shape[0]
    if n_rows < 2:
        raise InvalidInput("X must have at least two rows, got one sample.")
    observation = read_column("y", y, n_rows)
    weight = None
    if read_weights(given["sample_weight"], n_rows, at_least=2) is not None:
        weight = np.asarray(given["sample_weight"], dtype=np.float64)
    index, codes = GroupIndex.learn(split.keys)
    told = dict(known)
    if told["time"] is not None and told["series"] is None:
        told["series"] = codes
    cost = read_cost(settings.model.get_params(deep=False)["cost"])
    return Input(
        index,
        codes,
        split.features,
        observation,
        weight,
        cost.with_rows(underage=given["underage"], overage=given["overage"]),
        told,
    )
