"""Rows to learn from and rows to price, read from whatever says how to split."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from unmet.errors import InvalidInput
from unmet.models.checks import whole
from unmet.tuning.splits import RollingOrigin, shuffled_splits

Index = NDArray[np.intp]


@dataclass(frozen=True)
class Fold:
    """Row numbers to learn from and row numbers held out."""

    train: Index
    held_out: Index


def read_folds(cv: Any, X: Any, y: Any, n_rows: int, time: Any, seed: int) -> tuple[Fold, ...]:
    """Folds of a number of random splits, a splitter, or pairs of row numbers."""
    if time is not None and not isinstance(cv, RollingOrigin):
        raise InvalidInput(f"time is only used by cv=RollingOrigin(), got cv={cv!r:.60}.")
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        pairs = shuffled_splits(whole("cv", cv, 1), random_state=seed).split(np.empty(n_rows))
    elif isinstance(cv, RollingOrigin):
        pairs = cv.split(X, y, groups=time)
    elif hasattr(cv, "split") and not isinstance(cv, str):
        pairs = cv.split(X, y)
    elif isinstance(cv, Iterable) and not isinstance(cv, str):
        pairs = cv
    else:
        raise InvalidInput(
            "cv must be a number of random splits, a splitter such as RollingOrigin(), or pairs "
            f"of row numbers, got {cv!r:.60}."
        )
    try:
        folds = tuple(_read_pair(pair, n_rows) for pair in pairs)
    except InvalidInput:
        raise
    except ValueError as error:  # of a splitter of scikit-learn
        raise InvalidInput(f"cv must be able to split {n_rows} rows: {error}") from None
    if not folds:
        raise InvalidInput("cv must have at least one split, got none.")
    return folds


def _read_pair(pair: Any, n_rows: int) -> Fold:
    try:
        train, held_out = pair
    except (TypeError, ValueError):
        raise InvalidInput(
            "cv must hold pairs: row numbers to learn from and row numbers held out, "
            f"got {pair!r:.60}."
        ) from None
    return Fold(_read_rows(train, n_rows), _read_rows(held_out, n_rows))


def _read_rows(rows: Any, n_rows: int) -> Index:
    """Row numbers, from numbers or a mask."""
    array = np.asarray(rows)
    if array.dtype == bool and array.shape == (n_rows,):
        array = np.flatnonzero(array)
    good = array.ndim == 1 and array.size > 0 and array.dtype.kind in "iu"
    if not good or array.min() < 0 or array.max() >= n_rows or np.unique(array).size < array.size:
        raise InvalidInput(
            f"cv must hold different row numbers from 0 to {n_rows - 1} in each part, and at least "
            f"one, got {rows!r:.60}."
        )
    return array.astype(np.intp)


def take(values: Any, rows: Index) -> Any:
    """Choose rows of a table or column, in its own kind; None and single numbers hold for all."""
    if values is None:
        return None
    array = values if hasattr(values, "shape") else np.asarray(values)
    return array if array.shape == () else _safe_indexing(array, rows)
