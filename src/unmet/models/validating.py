"""Rows with a known truth that early stopping watches."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import _num_features, validate_data

from unmet.errors import InvalidInput


def read_validation_pair(given: Any, X: Any, by_row: tuple[str, ...]) -> tuple[Any, Any]:
    """Check a pair (X, truth) against the features that are trained on, names included.

    Parameters
    ----------
    given : object
    X : table, array-like or sparse matrix
        Features that are trained on.
    by_row : tuple of str
        Costs that `fit` was given one by one; they say nothing about other rows.
    """
    if not isinstance(given, tuple) or len(given) != 2:
        raise InvalidInput(f"validation must be a pair (X, truth) or None, got {given!r:.60}.")
    if by_row:
        raise InvalidInput(f"validation needs one {by_row[0]} for all rows, got one each.")
    reader = BaseEstimator()
    validate_data(reader, X, skip_check_array=True)
    found = _num_features(given[0])
    if found != reader.n_features_in_:
        raise InvalidInput(
            f"validation must have {reader.n_features_in_} features, as X has, got {found}."
        )
    try:
        validate_data(reader, given[0], reset=False, skip_check_array=True)
    except ValueError as error:
        words = " ".join(str(error).split()).replace("BaseEstimator", "the estimator")
        raise InvalidInput(f"validation must have the features of X: {words}") from None
    return given
