"""Columns of a table as trees want them: numbers, and categories by number; both may be missing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeAlias

import narwhals.stable.v1 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy import sparse

from unmet.band import Array
from unmet.errors import InvalidInput, Unsupported
from unmet.rows import read_features
from unmet.solvers.problem import Features

Category: TypeAlias = str | float | int


@dataclass(frozen=True)
class Columns:
    """What `fit` has learned about the columns, and how rows are read with it.

    A category is numbered by its place among those seen in `fit`, in the order of numbers and
    letters; one that was not seen is missing. A number that is missing where none was in `fit` is
    taken for the median: the trees have no branch for it, and LightGBM would take it for 0.

    Attributes
    ----------
    categories : tuple
        For each column the categories seen in `fit`, or None where it holds numbers.
    median : ndarray of shape (n_features,) or None
        Of each column that was never missing in `fit`, NaN for the others; None for sparse X.
    """

    categories: tuple[tuple[Category, ...] | None, ...]
    median: Array | None = None

    @classmethod
    def learn(cls, X: Any, categorical: Any, *, at_least: int) -> tuple[Columns, Features]:
        """Read the rows of `fit`, and remember how.

        Parameters
        ----------
        X : table, array-like or sparse matrix of shape (n_rows, n_features)
        categorical : array-like or None
            Names or positions of the columns that hold categories, or a mask. Columns of a table
            that hold text or categories by their type are taken for such in any case.
        at_least : int
            Fewest rows.
        """
        chosen = find_categorical(X, categorical)
        if not chosen:
            features = read_features(X, at_least=at_least, allow_missing=True)
            return cls((None,) * features.shape[1]), features
        entries = {column: _entries(X, column) for column in chosen}
        features = read_features(_without(X, chosen), at_least=at_least, allow_missing=True)
        seen: list[tuple[Category, ...] | None] = [None] * features.shape[1]
        for column, values in entries.items():
            seen[column] = _distinct(values)
        columns = cls(tuple(seen))
        return columns, columns._encode(features, entries)

    def with_medians(self, features: Features) -> Columns:
        """Remember the middle of each column of numbers, for those never missing in these rows."""
        if sparse.issparse(features):
            return self
        median = np.full(features.shape[1], np.nan)
        half = features.shape[0] // 2
        for i, column in enumerate(features.T):  # one by one: no second copy of everything
            if self.categories[i] is None and not np.isnan(column).any():
                median[i] = np.partition(column, half)[half]
        return Columns(self.categories, median)

    def check_width(self, name: str, X: Any) -> None:
        """Refuse rows that do not have as many columns as those of `fit`."""
        check_two_dimensions(X)
        expected, found = len(self.categories), np.shape(X)[1]
        if found != expected:
            raise InvalidInput(f"{name} must have {expected} features, as X has, got {found}.")

    @property
    def categorical(self) -> tuple[int, ...]:
        """Positions of the columns that hold categories."""
        return tuple(i for i, each in enumerate(self.categories) if each is not None)

    def read(self, X: Any) -> Features:
        """Read other rows, whose columns have been compared with those of `fit`."""
        chosen = self.categorical
        if not chosen:
            return self._filled(read_features(X, allow_missing=True))
        if sparse.issparse(X):
            stored: Any = X
            X = stored.toarray()
        entries = {column: _entries(X, column) for column in chosen}
        features = read_features(_without(X, chosen), allow_missing=True)
        return self._filled(self._encode(features, entries))

    def _encode(self, features: Features, entries: dict[int, list[Category | None]]) -> Array:
        """Put the numbers of categories into their columns."""
        encoded = np.array(features)
        for column, values in entries.items():
            number: dict[Any, float] = {
                category: float(i) for i, category in enumerate(self.categories[column] or ())
            }
            encoded[:, column] = [number.get(value, np.nan) for value in values]
        return encoded

    def _filled(self, features: Features) -> Features:
        """Replace what was never missing in `fit`."""
        if self.median is None or sparse.issparse(features):
            return features
        flat = features.reshape(-1)
        with np.errstate(over="ignore"):
            if not np.isnan(np.dot(flat, flat)):  # one number tells whether anything is missing
                return features
        missing = np.isnan(features) & ~np.isnan(self.median)
        return np.where(missing, self.median, features) if missing.any() else features


def names_of(X: Any) -> list[Any] | None:
    """Column names of a table; None for what has none."""
    if sparse.issparse(X) or not nw.dependencies.is_into_dataframe(X):
        return None
    return list(nw.from_native(X, eager_only=True).columns)


def check_two_dimensions(X: Any) -> None:
    """Refuse what is no table, in the words of `read_features`."""
    if sparse.issparse(X) or nw.dependencies.is_into_dataframe(X):
        return
    try:
        flat = np.asarray(X).ndim != 2
    except ValueError:  # sequences of different lengths
        flat = True
    if flat:
        read_features(X)


def find_categorical(X: Any, categorical: Any) -> tuple[int, ...]:
    """Positions of the columns that hold categories: those asked for, and those of such a type."""
    names = None
    by_type: set[int] = set()
    if nw.dependencies.is_into_dataframe(X):
        names, by_type = _read_types(X)
    if categorical is None:
        return tuple(sorted(by_type))
    check_two_dimensions(X)
    n_columns = len(names) if names is not None else np.shape(X)[1]
    asked = {_position(each, names, n_columns) for each in _asked(categorical, n_columns)}
    if asked and sparse.issparse(X):
        raise Unsupported(
            "categorical_features and a sparse X do not fit together, because zeros that are not "
            "stored are no category: give a dense X."
        )
    return tuple(sorted(asked | by_type))


def _read_types(X: Any) -> tuple[list[Any], set[int]]:
    """Names of a table, and the columns that hold categories by their type."""
    try:
        table = nw.from_native(X, eager_only=True)
        kinds = table.schema.dtypes()
    except (TypeError, DuplicateError):
        read_features(X)  # not in memory, or two columns of one name: says so
        raise
    categorical = {
        i
        for i, kind in enumerate(kinds)
        if kind in (nw.Categorical, nw.Enum, nw.String)
        or (kind == nw.Object and _holds_text(table[:, i]))
    }
    return list(table.columns), categorical


def _holds_text(column: Any) -> bool:
    """Whether every entry of a column of objects is text or missing."""
    values = column.to_list()
    return any(isinstance(value, str) for value in values) and all(
        isinstance(value, str) or _category(value) is None for value in values
    )


def _asked(categorical: Any, n_columns: int) -> Iterable[Any]:
    """Columns as they were asked for; a mask by positions."""
    if isinstance(categorical, str) or not isinstance(categorical, Iterable):
        raise _refuse_asked(categorical)
    asked = list(np.asarray(categorical, dtype=object).reshape(-1))
    if asked and all(isinstance(each, bool | np.bool_) for each in asked):
        if len(asked) != n_columns:
            raise InvalidInput(
                f"categorical_features must have one entry per column of X if it is a mask, "
                f"got {len(asked)} for {n_columns} columns."
            )
        return [i for i, each in enumerate(asked) if each]
    return asked


def _position(each: Any, names: list[Any] | None, n_columns: int) -> int:
    if isinstance(each, str) and names is not None and each in names:
        return names.index(each)
    if isinstance(each, Integral) and not isinstance(each, bool) and 0 <= int(each) < n_columns:
        return int(each)
    raise _refuse_asked(each)


def _refuse_asked(arrived: Any) -> InvalidInput:
    return InvalidInput(
        "categorical_features must be names or positions of columns of X, a mask of them or None, "
        f"got {arrived!r:.60}."
    )


def _entries(X: Any, column: int) -> list[Category | None]:
    """One column as categories, None where it is missing."""
    if nw.dependencies.is_into_dataframe(X):
        values = nw.from_native(X, eager_only=True)[:, column].to_list()
    else:
        if isinstance(X, np.ma.MaskedArray):
            X = np.ma.filled(X.astype(np.float64), np.nan)
        values = np.asarray(X, dtype=None if isinstance(X, np.ndarray) else object)[
            :, column
        ].tolist()
    return [_category(value) for value in values]


def _category(value: Any) -> Category | None:
    """Text and numbers are categories as they are, other things by their text."""
    if isinstance(value, str):
        return value
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, Integral):  # truth values among them
        return int(value)
    if isinstance(value, Real):
        number = float(value)
        return None if np.isnan(number) else number
    return str(value)


def _distinct(values: list[Category | None]) -> tuple[Category, ...]:
    """Categories in order: numbers, then text."""
    seen = {value for value in values if value is not None}
    return tuple(sorted(seen, key=lambda each: (isinstance(each, str), each)))


def _without(X: Any, columns: tuple[int, ...]) -> Any:
    """Replace the columns that hold categories by zeros, so that the others are read as always."""
    if nw.dependencies.is_into_dataframe(X):
        table = nw.from_native(X, eager_only=True)
        zeros = [nw.lit(0.0).alias(table.columns[i]) for i in columns]
        return table.with_columns(*zeros).to_native()
    array: NDArray[Any] = np.array(X, dtype=object if not isinstance(X, np.ndarray) else None)
    if array.dtype.kind not in "biuf":
        array = array.astype(object)
    array[:, list(columns)] = 0
    return array
