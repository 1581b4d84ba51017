"""Categories and missing values as plain numbers, for band rules.

A rule learns from finite numbers. Where a table has more than those, it is given, in this order of
the columns,

- a column of numbers with its missing entries replaced by the median, and then, if there are any, a
  column that says where they were;
- for categories one column each that says which rows are of it, but for the most frequent; missing
  is a category of its own. Beyond fifty of them one column instead, with the mean observation of
  the category, drawn towards that of all rows where it has few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.base import BaseEstimator, clone

from unmet.band import Array
from unmet.bands import BandRule
from unmet.models.boosted_columns import Columns
from unmet.models.training import Observed
from unmet.solvers.problem import Features

_MANY = 50
_PULL = 10.0  # rows of the mean of all rows that are added to each category


def readable(
    model: BaseEstimator,
    rule: BandRule,
    columns: Columns,
    features: Features,
    observed: Observed,
    monotone: tuple[int, ...] | None,
) -> tuple[BaseEstimator, BandRule, Array] | None:
    """Give model, rule and X as a rule can read them; None where it can read X as it came.

    A rule that refits the model is given one that takes the rule's columns for what they are.

    Parameters
    ----------
    model : BoostedDecision
    rule : BandRule
    columns : Columns
    features : ndarray of shape (n_rows, n_features), or csr_array
        Of all rows that `fit` was given.
    observed : Observed
        Rows that have weight.
    monotone : tuple of int or None
    """
    if not isinstance(features, np.ndarray) or not isinstance(observed.features, np.ndarray):
        return None
    if not columns.categorical and not np.isnan(features).any():
        return None
    numbers = Numbers(observed.features, observed.observation, columns.categorical)
    signs = None if monotone is None else numbers.spread(monotone)
    stand_in = clone(model).set_params(categorical_features=None, monotonic_cst=signs)
    if "X" in rule.get_params(deep=False):  # rows of its own, as those of AuditedBand
        columns.check_width(f"X of {type(rule).__name__}", rule.X)
        own = np.asarray(columns.read(rule.X))
        rule = clone(rule).set_params(X=numbers.of(own))
    return stand_in, rule, numbers.of(features)


class Numbers:
    """Learns from the rows of `fit` how each column becomes numbers."""

    def __init__(self, features: Array, observation: Array, categorical: Sequence[int]) -> None:
        self._makers = [
            _categories(column, observation) if i in categorical else _numbers(column)
            for i, column in enumerate(features.T)
        ]
        self._categorical = categorical
        self._widths = [make(features[:1, i]).shape[1] for i, make in enumerate(self._makers)]

    def of(self, features: Array) -> Array:
        """Columns of plain numbers, of any rows."""
        made = [make(features[:, i]) for i, make in enumerate(self._makers)]
        return np.ascontiguousarray(np.concatenate(made, axis=1))

    def spread(self, monotone: tuple[int, ...]) -> list[int]:
        """Constraints of the columns that were made: the first of each has that of its own."""
        spread: list[int] = []
        for sign, width in zip(monotone, self._widths, strict=True):
            spread += ([sign] + [0] * (width - 1))[:width]
        return spread


def _numbers(column: Array) -> Callable[[Array], Array]:
    missing = np.isnan(column)
    median = float(np.median(column[~missing])) if not missing.all() else 0.0

    def make(entries: Array) -> Array:
        holes = np.isnan(entries)
        filled = np.where(holes, median, entries)
        return np.column_stack([filled, holes] if missing.any() else [filled])

    return make


def _categories(column: Array, observation: Array) -> Callable[[Array], Array]:
    values, place = np.unique(np.nan_to_num(column, nan=-1.0), return_inverse=True)
    count = np.bincount(place)
    if values.size <= _MANY:
        others = np.delete(values, int(np.argmax(count)))
        return lambda entries: (np.nan_to_num(entries, nan=-1.0)[:, np.newaxis] == others).astype(
            np.float64
        )
    overall = float(observation.mean())
    mean = (np.bincount(place, observation) + _PULL * overall) / (count + _PULL)

    def make(entries: Array) -> Array:
        numbers = np.nan_to_num(entries, nan=-1.0)
        found = np.minimum(np.searchsorted(values, numbers), values.size - 1)
        return np.where(values[found] == numbers, mean[found], overall)[:, np.newaxis]

    return make
