"""Rows whose truth was counted, read and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from unmet.band import Array, common_rows
from unmet.bands.best_shift import level_of_all
from unmet.costs import Cost
from unmet.errors import InvalidInput
from unmet.rows import read_column, read_features, read_weights
from unmet.solvers.problem import Features


@dataclass(frozen=True)
class Audit:
    """Audited rows.

    Attributes
    ----------
    features : ndarray of shape (n_audited, n_features), or csr_array
    truth : ndarray of shape (n_audited,)
    observation : ndarray of shape (n_audited,) or None
    share : ndarray of shape (n_audited,)
        Weights that sum to one.
    """

    features: Features
    truth: Array
    observation: Array | None
    share: Array

    @classmethod
    def read(cls, X: Any, s: Any, truth: Any, sample_weight: Any, n_features: int) -> Audit:
        """Read what the constructor was given; each error is one sentence."""
        features = read_features(X)
        n_rows = features.shape[0]
        if features.shape[1] != n_features:
            raise InvalidInput(
                f"X of AuditedBand must have {n_features} columns, as the X of fit, "
                f"got {features.shape[1]}."
            )
        known = read_column("truth", truth, n_rows)
        seen = None if s is None else read_column("s", s, n_rows)
        if seen is not None and (seen > known).any():
            row = int(np.argmax(seen > known))
            raise InvalidInput(
                "truth of AuditedBand must not be below the observation, "
                f"got truth {known[row]:g} and observation {seen[row]:g} in row {row}."
            )
        share = read_weights(sample_weight, n_rows)
        return cls(features, known, seen, np.full(n_rows, 1.0 / n_rows) if share is None else share)

    @property
    def n_rows(self) -> int:
        """Number of audited rows."""
        return self.truth.size

    @property
    def share_censored(self) -> float | None:
        """Weighted share of rows whose truth lies above the observation."""
        if self.observation is None:
            return None
        return float(self.share @ (self.truth > self.observation))

    def n_beyond(self, cost: Cost) -> float:
        """How many rows are to be expected beyond the best shift, on its emptier side."""
        level = level_of_all(cost, self.share)
        return min(level, 1.0 - level) / float(self.share @ self.share)

    def priced(self, cost: Cost, underage: Any, overage: Any) -> Cost:
        """Cost of the audited rows: as of the others where it is the same for all of them."""
        given = {"underage": underage, "overage": overage}
        for name, value in cost.parameters().items():
            if common_rows({name: value}) is not None and given.get(name) is None:
                raise InvalidInput(
                    f"{name} must be given to AuditedBand, because fit was given one per row, "
                    "got None."
                )
        own = cost.with_rows(**given)
        count = common_rows(own.parameters())
        if count is not None and count != self.n_rows:
            raise InvalidInput(
                "underage and overage of AuditedBand must be numbers or have one entry per "
                f"audited row, got {count} for {self.n_rows} rows."
            )
        return own


def plain(value: Any) -> Any:
    """Turn a table or a column of one into an array; anything else stays as it is."""
    if nw.dependencies.is_into_series(value):
        return nw.from_native(value, series_only=True).to_numpy()
    if nw.dependencies.is_into_dataframe(value):
        return nw.from_native(value, eager_only=True).to_numpy()
    return value
