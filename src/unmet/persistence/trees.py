"""Trees of scikit-learn point at each other by number, and nobody checks the numbers.

A forged file could let a tree point outside its own memory, which skops cannot see because the
types are right. So every tree is looked at before anyone can use it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unmet.errors import InvalidInput
from unmet.persistence.parts import parts_of

_OWNER = "sklearn.ensemble._hist_gradient_boosting.gradient_boosting"


def check_trees(model: Any) -> None:
    """Refuse a loaded model with a boosted tree that points outside itself."""
    for each in parts_of(model):
        if type(each).__module__ == _OWNER:
            _check(each)


def _check(owner: Any) -> None:
    """Children come after their parents, within the tree; columns exist; so do sets of bins."""
    n_columns = getattr(owner, "n_features_in_", 0)
    for stage in getattr(owner, "_predictors", ()):
        for tree in stage:
            nodes, sets = tree.nodes, min(len(tree.raw_left_cat_bitsets), _binned(tree))
            inner = nodes[nodes["is_leaf"] == 0]
            place = np.flatnonzero(nodes["is_leaf"] == 0)
            splits = inner["is_categorical"] == 1
            good = [
                nodes.ndim == 1 and nodes.size > 0,
                (inner["left"] > place).all() and (inner["left"] < nodes.size).all(),
                (inner["right"] > place).all() and (inner["right"] < nodes.size).all(),
                (inner["feature_idx"] >= 0).all() and (inner["feature_idx"] < n_columns).all(),
                (inner["bitset_idx"][splits] < sets).all(),
            ]
            if not all(good):
                raise InvalidInput(
                    "The file was not loaded: it holds a tree that points outside itself, which "
                    "no model has."
                )


def _binned(tree: Any) -> int:
    return len(tree.binned_left_cat_bitsets)
