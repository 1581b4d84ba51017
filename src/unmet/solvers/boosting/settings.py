"""How to boost, and what LightGBM is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_MOST_LEAVES = 131_072  # LightGBM's own limit


@dataclass(frozen=True)
class Settings:
    """Checked numbers; the estimator's documentation says what they do.

    Attributes
    ----------
    max_iter : int
    learning_rate : float
    max_leaf_nodes, max_depth : int or None
        None is no limit.
    min_samples_leaf : int
    l2_regularization : float
    max_features : float
    n_iter_no_change : int
        Trees without progress on held-out rows that are waited for.
    n_threads : int
    seed : int
    options : mapping
        Further parameters of LightGBM.
    """

    max_iter: int = 100
    learning_rate: float = 0.1
    max_leaf_nodes: int | None = 31
    max_depth: int | None = None
    min_samples_leaf: int = 20
    l2_regularization: float = 0.0
    max_features: float = 1.0
    n_iter_no_change: int = 10
    n_threads: int = 1
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    def for_lightgbm(self, n_rows: int, monotone: tuple[int, ...] | None) -> dict[str, Any]:
        """Parameters under LightGBM's names."""
        most = max(2, n_rows // self.min_samples_leaf)  # room is set aside for all of them
        leaves = min(_MOST_LEAVES, most if self.max_leaf_nodes is None else self.max_leaf_nodes)
        parameters: dict[str, Any] = {
            "objective": "none",
            "metric": "none",
            "learning_rate": self.learning_rate,
            "num_leaves": leaves,
            "max_depth": -1 if self.max_depth is None else self.max_depth,
            "min_data_in_leaf": self.min_samples_leaf,
            "lambda_l2": self.l2_regularization,
            "feature_fraction_bynode": self.max_features,
            "num_threads": self.n_threads,
            "seed": self.seed,
            "deterministic": True,
            "verbosity": -1,
        }
        if not self.options.get("force_col_wise"):
            parameters["force_row_wise"] = True  # else a stopwatch chooses, and rounding with it
        if monotone is not None:
            parameters["monotone_constraints"] = list(monotone)
        return {**parameters, **self.options}
